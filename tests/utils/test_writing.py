"""Files are written completely or not at all, and errors name them."""

import errno
import os
import signal
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from drsvm.utils import ends_soon, write_files


def write_whole(path, content):
    write_files({Path(path): content})


def full(*_, code=errno.ENOSPC, **__):
    raise OSError(code, os.strerror(code))


@pytest.mark.parametrize("failing", ["fsync", "replace", "chmod"])
def test_a_write_that_fails_leaves_everything_as_it_was(tmp_path, monkeypatch, failing):
    target = tmp_path / "out.csv"
    target.write_text("old")
    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_whole(target, b"new")
    assert caught.value.errno == errno.ENOSPC
    if failing == "fsync":
        assert caught.value.filename == str(target) and "free some space" in str(
            caught.value
        )
    monkeypatch.undo()
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("folder", ["no-such-folder", "file"])
def test_a_folder_that_does_not_exist_is_named(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("no folder")
    with pytest.raises(FileNotFoundError, match="create it first") as caught:
        write_whole(f"{folder}/x.drsvm", b"new")
    assert caught.value.filename == f"{folder}/x.drsvm"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_file_that_cannot_be_created_is_named(tmp_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError) as caught:
        write_whole(tmp_path / "x.drsvm", b"new")
    assert caught.value.filename == str(tmp_path / "x.drsvm")


def test_links_and_permissions_are_kept(tmp_path):
    target = tmp_path / "real.csv"
    link = tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, b"new")
    assert (
        link.is_symlink()
        and target.read_text() == "new"
        and target.stat().st_mode & 0o777 == 0o640
    )
    write_whole(tmp_path / "fresh", b"x")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "fresh").stat().st_mode & 0o777 == 0o666 & ~mask


def test_of_several_files_all_are_written_or_none(tmp_path, monkeypatch):
    targets = [tmp_path / name for name in ("first", "second")]
    targets[0].write_text("old")
    syncs = iter([os.fsync, partial(full, code=errno.EDQUOT)])
    monkeypatch.setattr(os, "fsync", lambda number: next(syncs)(number))
    with pytest.raises(OSError, match=r"quota exceeded.: free some space") as caught:
        write_files(dict.fromkeys(targets, b"new"))
    assert caught.value.filename == str(targets[1])
    assert targets[0].read_text() == "old" and list(tmp_path.iterdir()) == targets[:1]
    monkeypatch.undo()
    write_files(dict.fromkeys(targets, b"new"))
    assert [target.read_text() for target in targets] == ["new", "new"] and len(
        list(tmp_path.iterdir())
    ) == 2


@pytest.mark.parametrize("is_command", [False, True])
def test_an_interrupt_before_and_after_files_are_replaced(
    tmp_path, monkeypatch, is_command
):
    """Python raises KeyboardInterrupt in any case.

    A command that has replaced files goes on to its end.
    """
    target = tmp_path / "out.csv"
    handler = signal.getsignal(signal.SIGINT)
    token = ends_soon.set(is_command)
    target.write_text("old")
    try:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "fsync", lambda _: signal.raise_signal(signal.SIGINT))
            write_whole(target, b"new")
        assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
        write_whole(target, b"new")
        with nullcontext() if is_command else pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert target.read_text() == "new" and list(tmp_path.iterdir()) == [target]
    finally:
        ends_soon.reset(token)
        signal.signal(signal.SIGINT, handler)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_is_written_to_and_named_if_it_has_no_space():
    write_whole(os.devnull, b"x")
    assert not os.path.isfile(os.devnull)
    with pytest.raises(
        OSError,
        match=r"cannot be written \(No space left.*free some space.*/dev/full",
    ):
        write_whole("/dev/full", b"x")
