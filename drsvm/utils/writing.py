"""Files that are written completely or not at all."""

import errno
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

# What systems report if a disk is full, a quota is used up, or a file is too large
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Whether the process is a command, which ends when its files are written
ends_soon = ContextVar("ends_soon", default=False)


@contextmanager
def written(path: str | Path) -> Iterator[None]:
    """Name the file, and the remedy, in the error if a disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        remedy = "free some space, or choose another disk."
        what = f"cannot be written ({error.strerror}): {remedy}"
        raise OSError(error.errno, what, str(path)) from None


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write all files or none.

    They are first written to temporary files in the same folders, which then replace
    them.
    """
    # The temporary file of each file. Devices such as /dev/stdout have none, and are
    # written at once; of a link, the file to which it points is replaced.
    drafts: dict[Path, Path] = {}
    for path in contents:
        target = path.resolve()
        if not target.parent.is_dir():
            what = "cannot be written: there is no such folder, create it first"
            raise FileNotFoundError(errno.ENOENT, what, str(path))
        if path.is_file() or not path.exists():
            draft = f".{target.name}.{os.urandom(4).hex()}"
            drafts[target] = target.with_name(draft)
    try:
        for path, content in contents.items():
            target = path.resolve()
            try:
                with written(path), drafts.get(target, path).open("wb") as stream:
                    stream.write(content)
                    if target in drafts:
                        stream.flush()
                        os.fsync(stream.fileno())
            except OSError as error:
                # The file that was asked for, not the temporary one
                error.filename = str(path)
                raise
            # An existing file keeps its permissions.
            if target.is_file():
                drafts[target].chmod(target.stat().st_mode & 0o777)
        # Ctrl-C is too late from now on; if it came before, this raises
        # KeyboardInterrupt.
        if ends_soon.get():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        for target, draft in drafts.items():
            draft.replace(target)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
