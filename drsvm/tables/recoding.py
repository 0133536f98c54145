"""Files that are read as CSV: JSON, Excel workbooks, and text in UTF-16."""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from drsvm.utils.lazy import optional

# The bytes at the start of a file that show what it is
START = 1 << 16
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# An object, or a list of objects
JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*\{)')
ZIP = b"PK\x03\x04"


class Recoded(NamedTuple):
    """The content of a file as CSV in UTF-8, or UTF-16 text in UTF-8."""

    kind: str | None  # "json" or "excel"; None for text
    content: bytes
    notes: list[str]


def recoded(stream: IO[bytes]) -> Recoded | None:
    """Return the content of a file as CSV or UTF-8; None if it needs no recoding.

    Raises
    ------
    ValueError
        If it is damaged; the message says what is wrong with it, and the remedy.
    """
    start = stream.read(START)
    if start.startswith(ZIP) and b"xl/" in start:
        return _first_sheet(start + stream.read())
    if not start.startswith(UTF16) and not JSON.match(start):
        return None
    content = start + stream.read()
    if content.startswith(UTF16):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise ValueError("is not UTF-16 text, but starts like it.") from None
    if JSON.match(content):
        return Recoded("json", _as_csv(_rows_of_json(content)), [])
    return Recoded(None, content, [])


def _first_sheet(content: bytes) -> Recoded:
    openpyxl = optional("openpyxl", "reading Excel workbooks needs")
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    except Exception as error:
        # Zip archives and XML raise many kinds.
        raise ValueError(f"is a damaged workbook ({error}): save it again.") from None
    sheet, *others = book.worksheets
    notes = []
    if others:
        notes.append(f"The sheet {sheet.title!r} is read, the first of the workbook.")
    return Recoded("excel", _as_csv(sheet.iter_rows(values_only=True)), notes)


def _rows_of_json(content: bytes) -> Iterator[list[object]]:
    """Yield the names of all columns, then the cells of every object."""
    content = content.removeprefix(codecs.BOM_UTF8).strip()
    parts = content.splitlines()
    if content.startswith(b"["):
        parts = [content]
    # A dict keeps the order of the names.
    names: dict[str, object] = {}
    objects = []
    for line, part in enumerate(parts, 1):
        try:
            found = json.loads(part or b"[]")
            if isinstance(found, dict):
                found = [found]
            for each in found:
                names |= dict.fromkeys(each.keys())
                objects.append(each)
        except (ValueError, AttributeError, TypeError) as error:
            raise ValueError(
                f"line {line} is not a JSON object ({error}): write one object in each "
                "line, or a list of objects."
            ) from None
    yield list(names)
    for each in objects:
        yield [each.get(name) for name in names]


def _as_csv(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows as CSV; a line break in a text becomes a blank.

    Rows without any cell become empty lines, which do not count.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        cells = list(row)
        for place, cell in enumerate(cells):
            if isinstance(cell, str):
                cells[place] = " ".join(cell.splitlines())
        if cells.count(None) == len(cells):
            cells = []
        writer.writerow(cells)
    return out.getvalue().encode()
