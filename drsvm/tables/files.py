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
from pathlib import Path
from typing import IO

from drsvm.utils.lazy import missing
from drsvm.utils.messages import Message, Parameter

HEAD_BYTES = 1 << 16
LONGEST_LINE = 1 << 24  # bytes of a line of a CSV file: two million cells
# Suffixes of compressed files and the bytes they start with.
COMPRESSIONS = {
    ".gz": b"\x1f\x8b",
    ".bz2": b"BZh",
    ".xz": b"\xfd7zXZ\x00",
    ".zst": b"\x28\xb5\x2f\xfd",
}
ARROW = (".arrow", ".feather", ".ipc")
FORMATS = {
    **dict.fromkeys([".svm", ".svmlight", ".libsvm"], "svmlight"),
    **dict.fromkeys([".csv", ".tsv"], "csv"),
    **dict.fromkeys([".parquet", ".pq", *ARROW], "parquet"),
}
MAGIC = b"PAR1", b"ARROW1"  # what Parquet and Arrow files start with
OTHER_COLUMNS = "has other columns than {}, or in another order: correct it, or move it to another folder."
# Without commas: a line of a table may contain the time of day, as in 31.12.2024 12:30.
SVMLIGHT_LINE = re.compile(
    rb"\s*+[+-]?[\w.][^\s,;]*+(\s+qid:\S+)?(\s+[+-]?\d+:[^\s,;]*+)+\s*(#.*)?$"
)
UNSUPPORTED = {
    b"PK\x03\x04": "is a zip archive (or an Excel workbook): unpack it, or save the sheet as CSV",
    b"\x89HDF": "is an HDF5 file: convert it to Parquet or CSV",
    b"\x80\x04\x95": "is a pickle: save the table as Parquet or CSV",
    b"\x93NUMPY": "is a NumPy array: save it as Parquet or CSV",
}


class DataFileError(ValueError):
    """A data file cannot be used.

    The message names the file, the position and the remedy.

    `what` is the message without the file; `fixes` are parameters of `ReadOptions` with
    which the file can be used.
    """

    def __init__(
        self, what: str, path: Path | None = None, fixes: Sequence[Parameter] = ()
    ):
        super().__init__(what if path is None else Message("{}: {}", path, what))
        self.what = what
        self.fixes = tuple(fixes)


def invalid(path: Path, *problems: str) -> DataFileError:
    """Return one error about the problems with a file."""
    n = len(problems)
    what = problems[0]
    if n > 1:
        what = Message("{} things need a decision." + n * "\n  - {}", n, *problems)
    return DataFileError(
        what,
        path,
        [fix for problem in problems for fix in getattr(problem, "fixes", ())],
    )


def files_of(path: Path) -> list[Path]:
    """Return the data files of a folder, sorted, which all have one format.

    Or the file itself.
    """
    if not path.is_dir():
        return [path]
    inside = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and format_of_name(file)
    ]
    # Other programs put notes such as _SUCCESS or .ipynb_checkpoints beside the data.
    files = [
        file
        for file in inside
        if not any(part[0] in "._" for part in file.relative_to(path).parts)
    ]
    kinds = sorted({str(format_of_name(file)) for file in files})
    if not files:
        raise invalid(
            path,
            "contains no CSV, Parquet or Arrow files, by their names: give the folder of the data.",
        )
    if len(kinds) > 1:
        raise invalid(
            path,
            f"contains {' and '.join(kinds)} files: move those of one kind to another folder.",
        )
    if kinds == ["svmlight"]:
        raise invalid(
            path,
            "contains svmlight files: give one of them, or join them first, with cat or zcat.",
        )
    return files


def _check_readable(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise invalid(
            path,
            "is a pipe or a device and cannot be read more than once: save it to a file first.",
        )
    try:
        with path.open("rb") as stream:
            stream.read(1)
    except FileNotFoundError:
        names = [entry.name for entry in path.parent.glob("*") if entry.is_file()]
        near = get_close_matches(path.name, names, n=1)
        raise invalid(
            path, f"no such file; did you mean {near[0]}?" if near else "no such file."
        ) from None
    except PermissionError:
        raise invalid(
            path,
            "permission denied: change its permissions (chmod +r), or ask its owner.",
        ) from None
    except OSError as error:
        raise invalid(path, f"cannot be read ({error.strerror or error}).") from None


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading decompressed bytes.

    Damage found later in the block is reported too.
    """
    _check_readable(path)
    ending = compression_of(path)
    try:
        with _open(path, ending) as stream:
            yield stream
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        ordinary = ending is None or isinstance(
            error, FileNotFoundError | PermissionError
        )
        if isinstance(error, OSError) and ordinary:
            raise
        raise invalid(
            path, f"is truncated or damaged ({error}): copy or download it again."
        ) from None


def compression_of(path: Path) -> str | None:
    """Return the suffix for the compression of a file's content, or None if it is not compressed."""
    with path.open("rb") as stream:
        start = stream.read(8)
    actual = next(
        (ending for ending, magic in COMPRESSIONS.items() if start.startswith(magic)),
        None,
    )
    expected = path.suffix.lower()
    if expected in COMPRESSIONS and actual != expected:
        if not start:
            raise invalid(path, "is empty.")
        if actual:
            description = f"compressed as {actual}"
        else:
            description = "not compressed, or damaged"
        raise invalid(
            path,
            f"ends in {expected}, but is {description}: rename it, or copy or download it again.",
        )
    return actual


def _open(path: Path, ending: str | None) -> IO[bytes]:
    if ending != ".zst":
        return {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, None: open}[
            ending
        ](path, "rb")
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise invalid(
            path,
            f"files compressed with zstd need {missing('pyarrow')} Or unpack it with unzstd.",
        ) from None
    with pyarrow.CompressedInputStream(
        pyarrow.OSFile(str(path), "rb"), "zstd"
    ) as stream:
        return io.BytesIO(stream.read())  # pyarrow's stream cannot be read by lines


def head_and_format(path: Path, wanted: str | None) -> tuple[bytes, str, list[str]]:
    """Return the first bytes of a file, its format (by its content, unless one is wanted), and notes on it."""
    with opened(
        path
    ) as stream:  # at least the first line, unless that is too long for a table
        head = stream.read(HEAD_BYTES)
        if b"\n" not in head and b"\r" not in head and not head.startswith(MAGIC):
            head += stream.readline(LONGEST_LINE)
    if not head:
        raise invalid(path, "is empty.")
    named = format_of_name(path)
    notes = []
    kind = wanted or ("parquet" if head.startswith(MAGIC) else "csv")
    if kind != "parquet":
        _check_text(path, head)
    if not wanted:
        lines = [
            line
            for line in head.splitlines()[:20]
            if line.strip() and not line.lstrip().startswith(b"#")
        ]
        if kind == "csv" and any(map(SVMLIGHT_LINE.match, lines)):
            kind = "svmlight"
        else:
            kind = kind
        if named == "parquet" != kind:
            what = "is not a Parquet file despite its name: is it complete? Otherwise use {}."
            raise invalid(path, Message(what, Parameter("format")))
        if (
            named == "svmlight" != kind
        ):  # the svmlight reader explains what is wrong with the first line
            kind = "svmlight"
            _check_text(path, head)
        elif named not in (None, kind):
            notes.append(f"{path.name} contains {kind} data and is read as such.")
    if kind == "parquet":
        return head, kind, notes
    if not compression_of(path):
        with path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            ended = stream.read() in (b"\n", b"\r")
        what = f"{path.name} does not end in a line break: if it is truncated, its last row is incomplete."
        notes += [] if ended else [what]
    return head, kind, notes


def format_of_name(path: Path) -> str | None:
    """Return the format that the name of a file suggests."""
    endings = [ending.lower() for ending in path.suffixes]
    return next(
        (FORMATS[ending] for ending in reversed(endings) if ending in FORMATS), None
    )


def _check_text(path: Path, head: bytes) -> None:
    for magic, what in UNSUPPORTED.items():
        if head.startswith(magic):
            raise invalid(path, f"{what}.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise invalid(
            path,
            "is UTF-16 text: save it as UTF-8, for instance with iconv -f utf-16 -t utf-8.",
        )
    if b"\x00" in head:
        raise invalid(
            path,
            "contains binary data, not text: drsvm reads svmlight, CSV and Parquet files.",
        )
