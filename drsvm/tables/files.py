"""Opening files: compression, format, and signs of damage."""

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import IO

from drsvm.tables.recoding import Recoded, recoded
from drsvm.utils.lazy import missing
from drsvm.utils.messages import Message, Parameter

# What is read of a file to find out its format: enough for hundreds of lines
HEAD_BYTES = 1 << 16
LONGEST_LINE = 1 << 24  # bytes of a line of a CSV file: two million cells
# Suffixes of compressed files and the bytes they start with.
COMPRESSIONS = {
    ".gz": b"\x1f\x8b",
    ".bz2": b"BZh",
    ".xz": b"\xfd7zXZ\x00",
    ".zst": b"\x28\xb5\x2f\xfd",
}
OPENERS = {None: open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ARROW = (".arrow", ".feather", ".ipc")
FORMATS = {
    **dict.fromkeys([".svm", ".svmlight", ".libsvm"], "svmlight"),
    **dict.fromkeys([".csv", ".tsv"], "csv"),
    **dict.fromkeys([".parquet", ".pq", *ARROW], "parquet"),
    **dict.fromkeys([".jsonl", ".ndjson"], "json"),
}
MAGIC = (b"PAR1", b"ARROW1")  # what Parquet and Arrow files start with
# A label, perhaps qid:number, and pairs index:value; then a comment may follow. Values
# are without commas: a line of a table may contain the time of day, as in
# 31.12.2024 12:30.
SVMLIGHT_LINE = re.compile(
    rb"\s*+[+-]?[\w.][^\s,;]*+(\s+qid:\S+)?(\s+[+-]?\d+:[^\s,;]*+)+\s*(#.*)?$"
)
# What files that are not text start with, and what to do with them.
UNSUPPORTED = {
    b"PK\x03\x04": "is a zip archive: unpack it.",
    b"\xd0\xcf\x11\xe0": (
        "is an Excel workbook of the old format, or with a password: save it as .xlsx "
        "without one, or as CSV."
    ),
    b"\x89HDF": "is an HDF5 file: convert it to Parquet or CSV.",
    b"\x80\x04\x95": "is a pickle: save the table as Parquet or CSV.",
    b"\x93NUMPY": "is a NumPy array: save it as Parquet or CSV.",
}

OTHER_COLUMNS = (
    "has other columns than {}, or in another order: correct it, or move it to another "
    "folder."
)
NO_TABLES = (
    "contains no CSV, Parquet or Arrow files, by their names: give the folder of the "
    "data."
)
SVMLIGHT_FILES = (
    "contains svmlight files: give one of them, or join them first, with cat or zcat."
)
NO_FILE = (
    "is a pipe or a device and cannot be read more than once: save it to a file first."
)
NO_PERMISSION = (
    "permission denied: change its permissions (chmod +r), or ask its owner."
)
BINARY = "contains binary data: drsvm reads svmlight, CSV, Parquet, JSON and Excel."
NO_PARQUET = "is not a Parquet file despite its name: is it complete? Otherwise use {}."
NO_LINE_BREAK = (
    "{} does not end in a line break: if it is truncated, its last row is incomplete."
)


class DataFileError(ValueError):
    """A data file cannot be used.

    The message names the file, the position and the remedy. `what` is the message
    without the file; `fixes` are parameters of `ReadOptions` with which the file can be
    used.
    """

    def __init__(
        self, what: str, path: Path | None = None, fixes: Sequence[Parameter] = ()
    ):
        message = what
        if path is not None:
            message = Message("{}: {}", path, what)
        super().__init__(message)
        self.what = what
        self.fixes = tuple(fixes)


def invalid(path: Path, *problems: str) -> DataFileError:
    """Return one error about the problems with a file."""
    fixes: list[Parameter] = []
    for problem in problems:
        fixes += getattr(problem, "fixes", ())
    if len(problems) == 1:
        return DataFileError(problems[0], path, fixes)
    template = "{} things need a decision." + "\n  - {}" * len(problems)
    return DataFileError(Message(template, len(problems), *problems), path, fixes)


def files_of(path: Path) -> list[Path]:
    """Return the data files of a folder, sorted, or the file itself.

    All files of a folder have one format.
    """
    if not path.is_dir():
        return [path]
    files = []
    formats = set()
    for file in sorted(path.rglob("*")):
        # Other programs put notes such as _SUCCESS or .ipynb_checkpoints beside the
        # data.
        hidden = re.search(r"(^|/)[._]", file.relative_to(path).as_posix())
        kind = format_of_name(file)
        if file.is_file() and kind and not hidden:
            files.append(file)
            formats.add(kind)
    if not files:
        raise invalid(path, NO_TABLES)
    if len(formats) > 1:
        kinds = " and ".join(sorted(formats))
        raise invalid(
            path, f"contains {kinds} files: move those of one kind to another folder."
        )
    if formats == {"svmlight"}:
        raise invalid(path, SVMLIGHT_FILES)
    return files


def format_of_name(path: Path) -> str | None:
    """Return the format that the name of a file suggests."""
    for ending in reversed(path.suffixes):
        if ending.lower() in FORMATS:
            return FORMATS[ending.lower()]
    return None


def compression_of(path: Path) -> str | None:
    """Return the suffix for the compression of a file's content.

    None if it is not compressed.
    """
    with path.open("rb") as stream:
        start = stream.read(8)
    actual = None
    for ending, magic in COMPRESSIONS.items():
        if start.startswith(magic):
            actual = ending
    expected = path.suffix.lower()
    if expected not in COMPRESSIONS or actual == expected:
        return actual
    if not start:
        raise invalid(path, "is empty.")
    description = "not compressed, or damaged"
    if actual:
        description = f"compressed as {actual}"
    raise invalid(
        path,
        f"ends in {expected}, but is {description}: rename it, or copy or download it "
        "again.",
    )


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading decompressed bytes, of CSV if it is to be recoded.

    Damage that shows while it is read, in the ``with`` block, is reported, too.
    """
    check_readable(path)
    ending = compression_of(path)
    try:
        found = recoded_file(path)
        if found is not None:
            yield io.BytesIO(found.content)
            return
        with _open(path, ending) as stream:
            yield stream
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        # Errors of the system, which are not about the content of this file
        from_system = ending is None or isinstance(
            error, FileNotFoundError | PermissionError
        )
        if isinstance(error, OSError) and from_system:
            raise
        what = f"is truncated or damaged ({error}): copy or download it again."
        raise invalid(path, what) from None


def recoded_file(path: Path) -> Recoded | None:
    """Return JSON, a workbook or UTF-16 text as CSV in UTF-8; None for other files."""
    state = path.stat()
    return _recoded(path, state.st_size, state.st_mtime_ns)


# A file is read more than once, and size and time show whether it has changed.
@lru_cache(maxsize=1)
def _recoded(path: Path, size: int, time: int) -> Recoded | None:
    with _open(path, compression_of(path)) as stream:
        try:
            return recoded(stream)
        except ValueError as error:
            raise invalid(path, str(error)) from None


def check_readable(path: Path) -> None:
    """Raise an error with a remedy if a file cannot be opened."""
    if path.exists() and not path.is_file():
        raise invalid(path, NO_FILE)
    try:
        with path.open("rb") as stream:
            stream.read(1)
    except FileNotFoundError:
        names = [entry.name for entry in path.parent.glob("*") if entry.is_file()]
        near = get_close_matches(path.name, names, n=1)
        hint = "."
        if near:
            hint = f"; did you mean {near[0]}?"
        raise invalid(path, f"no such file{hint}") from None
    except PermissionError:
        raise invalid(path, NO_PERMISSION) from None
    except OSError as error:
        raise invalid(path, f"cannot be read ({error.strerror or error}).") from None


def _open(path: Path, ending: str | None) -> IO[bytes]:
    """Return a stream of the decompressed bytes of a file."""
    if ending != ".zst":
        return OPENERS[ending](path, "rb")
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
    except ImportError:
        need = f"files compressed with zstd need {missing('pyarrow')}"
        raise invalid(path, f"{need} Or unpack it with unzstd.") from None
    # Pyarrow's stream cannot be read by lines.
    with pyarrow.input_stream(str(path), compression="zstd") as stream:
        return io.BytesIO(stream.read())


def head_and_format(path: Path, wanted: str | None) -> tuple[bytes, str, list[str]]:
    """Return the first bytes of a file, its format, and notes on it.

    Parameters
    ----------
    path : Path
        The file.
    wanted : str or None
        The format ("svmlight", "csv", "parquet", "json" or "excel"); by default, it is
        found by the content.

    Returns
    -------
    head : bytes
        How the file begins, decompressed: at least its first line.
    kind : str
        The format; that of Arrow files is "parquet", too.
    notes : list of str
        What the user should know about the file.
    """
    with opened(path) as stream:
        head = stream.read(HEAD_BYTES)
        is_binary = head.startswith(MAGIC)
        if not is_binary and b"\n" not in head and b"\r" not in head:
            # At least the first line, unless that is too long for a table.
            head += stream.readline(LONGEST_LINE)
    if not head:
        raise invalid(path, "is empty.")
    notes = []
    kind = "parquet" if is_binary else "csv"
    if wanted:
        kind = wanted
    if kind != "parquet":
        _check_text(path, head)
    if not wanted:
        kind, note = _format_of_content(path, head, kind)
        notes += note
    found = recoded_file(path)
    if found is not None:
        notes += found.notes
    elif kind != "parquet" and not compression_of(path):
        with path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            if stream.read() not in (b"\n", b"\r"):
                notes.append(NO_LINE_BREAK.format(path.name))
    return head, kind, notes


def _format_of_content(path: Path, head: bytes, kind: str) -> tuple[str, list[str]]:
    """Return the format of a file, with a note if its name suggests another one."""
    named = format_of_name(path)
    found = recoded_file(path)
    if found is not None and found.kind:
        kind = found.kind
    # Some lines of an svmlight file may be empty or comments.
    elif kind == "csv" and any(map(SVMLIGHT_LINE.match, head.splitlines()[:20])):
        kind = "svmlight"
    if named is None or named == kind:
        return kind, []
    if named == "parquet":
        raise invalid(path, Message(NO_PARQUET, Parameter("format")))
    if named == "svmlight":
        # No line looks like one of such a file: its reader explains what is wrong with
        # the first.
        _check_text(path, head)
        return "svmlight", []
    return kind, [f"{path.name} contains {kind} data and is read as such."]


def _check_text(path: Path, head: bytes) -> None:
    """Raise an error if a file is not text in UTF-8 or a similar encoding."""
    for magic, what in UNSUPPORTED.items():
        if head.startswith(magic):
            raise invalid(path, what)
    if b"\x00" in head:
        raise invalid(path, BINARY)
