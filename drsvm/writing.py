"""Files that are written completely or not at all; errors name the file."""

import errno
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

before_replacing: ContextVar[Callable[[], object]] = ContextVar("before_replacing", default=bool)
"""Called when everything is on the disk, before files are replaced: a command then no longer reacts to Ctrl-C."""


@contextmanager
def written(path: str | Path) -> Iterator[None]:
    """Name the file, and the remedy, in errors of the operating system while it is being written."""
    try:
        yield
    except OSError as error:
        raise not_written(path, error) from None


def not_written(path: str | Path, error: OSError) -> OSError:
    """Return an error with the file, and with the remedy if a disk is full."""
    remedy = ": free some space, or choose another disk" if error.errno in FULL else ""
    return OSError(error.errno, f"cannot be written ({error.strerror or error}){remedy}.", str(path))


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file atomically."""
    write_files({Path(path): content})


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write all files or none: first to temporary files in the same folders, which then replace them."""
    drafts: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            with written(path):
                if path.exists() and not path.is_file():  # a device such as /dev/stdout
                    path.write_bytes(content)
                else:
                    target = path.resolve()  # a link stays a link
                    _write_draft(drafts.setdefault(target, _draft_of(target)), content, target)
        before_replacing.get()()
        for target, draft in drafts.items():
            with written(target):
                draft.replace(target)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _draft_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")


def _write_draft(draft: Path, content: bytes, target: Path) -> None:
    with draft.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    if target.exists():
        draft.chmod(target.stat().st_mode & 0o777)
