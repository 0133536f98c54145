"""CSV files: parsed by pyarrow or, where that fails, by the csv module.

The csv module knows the line of every row, and is strict about quotes: it is slow, but
it locates errors. What pyarrow infers about columns is not used, apart from numbers:
it does not know decimal commas, most dates, or the words for missing values.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from drsvm.tables.arrow_tables import (
    Column,
    Table,
    cleaned,
    columns_of,
    pyarrow_or_error,
)
from drsvm.tables.cell_styles import MISSING, as_number
from drsvm.tables.files import (
    LONGEST_LINE,
    OTHER_COLUMNS,
    DataFileError,
    files_of,
    head_and_format,
    invalid,
    opened,
)
from drsvm.tables.values import shown
from drsvm.utils.messages import Message, Parameter

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank"}
NAMED_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "blank": " ",
    "bar": "|",
}
# Pyarrow reads a file in blocks of at most this size.
LARGEST_BLOCK = (1 << 31) - 1
NOT_UTF8 = (
    "is not UTF-8 text: convert the file, for instance with iconv -f latin1 -t utf-8."
)
BAD_QUOTES = (
    "line {}: a closing quote is missing, or one in a cell is not doubled ({})."
)
# A record of a file, with the line break behind it.
_RECORD = re.compile(rb'(?:[^"\r\n]|"[^"]*")*[\r\n]*')
_LINE = re.compile(rb"[^\r\n]+")

csv.field_size_limit(LONGEST_LINE)


class CsvFile:
    """A CSV file, or all of a folder with the same columns.

    The names of the columns are read at once, their values on demand.
    """

    def __init__(
        self, path: Path, head: bytes, delimiter: str | None, header: bool | None
    ):
        self.path = path
        self.files = files_of(path)
        self.notes: list[str] = []
        self._check_lines(head)
        # The head may end within a line, even within a character.
        end = max(head.rfind(b"\n"), head.rfind(b"\r")) + 1
        try:
            text = (head[:end] or head).decode("utf-8-sig")
            self.delimiter = likely_delimiter(text)
            if delimiter:
                self.delimiter = NAMED_DELIMITERS.get(delimiter, delimiter)
            if len(self.delimiter) != 1:
                names = ", ".join(NAMED_DELIMITERS)
                what = f"the delimiter must be a single character or one of {names}"
                raise DataFileError(f"{what}, got {delimiter!r}.")
            first = self._first_record(text)
        except UnicodeDecodeError as error:
            line = head[: error.start].count(b"\n") + 1
            raise invalid(path, f"line {line} {NOT_UTF8}") from None
        except csv.Error as error:
            raise invalid(path, BAD_QUOTES.format(1, error)) from None
        self.has_header = self._is_header(first) if header is None else header
        if not self.has_header:
            reason = "The first line has only numbers: " if header is None else ""
            self.notes.append(f"{reason}the columns are called column0, column1, ...")
        self.names = self._distinct_names(first)
        if len(first) == 1:
            raise invalid(path, self._about_delimiter(text))
        for file in self.files[1:]:
            head = head_and_format(file, "csv")[0]
            other = CsvFile(file, head, self.delimiter, header)
            if (other.names, other.has_header) != (self.names, self.has_header):
                raise invalid(file, OTHER_COLUMNS.format(self.files[0].name))

    def _check_lines(self, content: bytes) -> None:
        """Raise an error if a line is too long.

        Each step goes to the last line break within the limit.
        """
        start = 0
        while len(content) - start > LONGEST_LINE:
            limit = start + LONGEST_LINE
            end = max(content.rfind(mark, start, limit) for mark in (b"\n", b"\r"))
            if end < 0:
                line = content[:start].count(b"\n") + 1
                what = f"line {line} is longer than {LONGEST_LINE >> 20} MB, too long"
                why = "is a line break missing, or is it no CSV file?"
                raise invalid(self.path, f"{what} for a row: {why}")
            start = end + 1

    def _first_record(self, text: str) -> list[str]:
        lines = io.StringIO(text, newline="")
        rows = csv.reader(lines, delimiter=self.delimiter, strict=True)
        first = next(filter(None, rows), None)
        if first is None or not text.strip():
            raise invalid(self.path, "no rows found.")
        for cell in first:
            # A name may contain a line break or the delimiter, but rarely both.
            if self.delimiter in cell and ("\n" in cell or "\r" in cell):
                what = f"the name {shown(cell)} in the header spans several lines"
                why = f"contains the delimiter {self.delimiter!r}"
                remedy = "add the missing closing quote."
                raise invalid(self.path, f"{what} and {why}: {remedy}")
        return [" ".join(cell.splitlines()).strip() for cell in first]

    def _is_header(self, cells: list[str]) -> bool:
        """Return True if a record has a text that is neither a number nor missing."""
        words = set(cells) - MISSING
        return any(as_number(word) is None for word in words)

    def _distinct_names(self, first: list[str]) -> list[str]:
        """Return the names of the columns without repetitions: a, a.1, a.2."""
        self.renamed: dict[str, str] = {}
        distinct: list[str] = []
        for index, cell in enumerate(first):
            name = cell if cell and self.has_header else f"column{index}"
            new = name
            number = 0
            while new in distinct:
                number += 1
                new = f"{name}.{number}"
            if new != name:
                self.renamed[new] = name
            distinct.append(new)
        if self.renamed:
            pairs = list(self.renamed.items())[:5]
            listed = ", ".join(f"{old!r} as {new!r}" for new, old in pairs)
            what = "Some columns have the same name; they are read under other names"
            self.notes.append(f"{what}: {listed}.")
        return distinct

    def _about_delimiter(self, text: str) -> Message:
        """Return why a file has only one column."""
        line = text.lstrip().splitlines()[0]
        hint = "is it a CSV file?"
        for mark, name in DELIMITERS.items():
            if mark in line and mark != self.delimiter:
                hint = f"the delimiter seems to be a {name}."
                break
        used = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        what = "line 1 has only one column with the delimiter {} ({}): {}"
        return Message(what, used, Parameter("delimiter"), hint)

    def read(
        self, wanted: list[str], label: str | None, empty: frozenset[str]
    ) -> Table:
        """Return columns as a table: numbers where all cells are, otherwise text.

        The label is text.
        """
        table = self._text_table(wanted)
        if not table.num_rows:
            raise invalid(self.path, "no rows found below the header.")
        columns = columns_of(table)
        for name, column in columns.items():
            column = cleaned(column, empty)
            columns[name] = column if name == label else _as_numbers(column)
        return pyarrow_or_error().table(columns)

    def as_written(
        self, table: Table, names: list[str], empty: frozenset[str]
    ) -> Table:
        """Return a table of this file in which some columns are text."""
        columns = columns_of(table)
        if names:
            for name, column in columns_of(self._text_table(names)).items():
                columns[name] = cleaned(column, empty)
        return pyarrow_or_error().table(columns)

    def texts(self, wanted: list[str]) -> dict[str, list[str]]:
        """Return columns as they are written."""
        if not wanted:
            return {}
        table = self._text_table(wanted)
        return {name: table.column(name).to_pylist() for name in wanted}

    def _text_table(self, wanted: list[str]) -> Table:
        """Return columns as they are written."""
        table = self._parsed_by_pyarrow(wanted)
        if table is not None:
            return table
        rows = [cells for _, cells in self._records()]
        pyarrow = pyarrow_or_error()
        columns = {}
        for name in wanted:
            place = self.names.index(name)
            columns[name] = pyarrow.array([row[place] for row in rows], "string")
        return pyarrow.table(columns)

    def _parsed_by_pyarrow(self, wanted: list[str]) -> Table | None:
        """Return columns as text, or None if pyarrow cannot parse the file."""
        pyarrow = pyarrow_or_error()
        from pyarrow import csv as arrow_csv  # pyright: ignore[reportMissingImports]

        content = self._content()
        has_quotes = b'"' in content
        if content.count(b'"') % 2:
            # A closing quote is missing; the csv module locates it.
            return None
        reading = arrow_csv.ReadOptions(
            column_names=self.names,
            skip_rows_after_names=int(self.has_header),
            use_threads=False,
            block_size=min(max(len(content), 1), LARGEST_BLOCK),
        )
        parsing = arrow_csv.ParseOptions(
            delimiter=self.delimiter, newlines_in_values=has_quotes
        )
        converting = arrow_csv.ConvertOptions(
            include_columns=wanted,
            column_types=dict.fromkeys(wanted, pyarrow.string()),
        )
        source = pyarrow.BufferReader(content)
        try:
            table = arrow_csv.read_csv(source, reading, parsing, converting)
        except pyarrow.ArrowInvalid:
            return None
        if has_quotes:
            n_lines = sum(1 for _ in _LINE.finditer(content))
            if n_lines != table.num_rows + self.has_header:
                # A cell spans several lines: perhaps for want of a closing quote.
                return None
        return table

    def _content(self) -> bytes:
        """Return the lines of all files, with the header of the first."""
        contents: list[bytes] = []
        for file in self.files:
            with opened(file) as stream:
                content = stream.read()
            self._check_lines(content)
            # Pyarrow would take blank lines before the header for the header.
            content = content.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
            if contents and self.has_header:
                content = _RECORD.sub(b"", content, count=1)
            contents.append(content)
        if len(contents) == 1:
            return contents[0]
        return b"".join(content.rstrip(b"\r\n") + b"\n" for content in contents)

    def swallowed(self, name: str, cell: str) -> bool:
        """Return True for a cell that seems to contain other rows.

        That happens where a closing quote is missing. A row that goes on behind such a
        cell has the usual number of columns only if the last line of the cell ends in
        the same column.
        """
        if "\n" not in cell and "\r" not in cell:
            return False
        counts = [line.count(self.delimiter) for line in re.split(r"\r\n?|\n", cell)]
        column = self.names.index(name)
        widest = len(self.names) - 1
        if widest in counts[1:-1]:
            return True
        if column == 0:
            return counts[0] == widest
        return counts[-1] == column

    def place(self, row: int) -> str:
        """Return the line where a row starts, for an error message."""
        for index, (place, _) in enumerate(self._records()):
            if index == row:
                return place
        return f"row {row}"

    def _records(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the place and the cells of every row, of the usual length."""
        for file in self.files:
            within = f" of {file.name}" if len(self.files) > 1 else ""
            for line, cells in self._records_of(file):
                yield f"line {line}{within}", cells

    def _records_of(self, file: Path) -> Iterator[tuple[int, list[str]]]:
        line = 1
        is_header = self.has_header
        with (
            opened(file) as stream,
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines,
        ):
            rows = csv.reader(lines, delimiter=self.delimiter, strict=True)
            try:
                for cells in rows:
                    if cells and not is_header:
                        self._check_length(file, line, len(cells))
                        yield line, cells
                    if cells:
                        is_header = False
                    line = rows.line_num + 1
            except csv.Error as error:
                raise invalid(file, BAD_QUOTES.format(line, error)) from None
            except UnicodeDecodeError:
                raise invalid(file, NOT_UTF8) from None

    def _check_length(self, file: Path, line: int, length: int) -> None:
        """Raise an error if a row has another length than the first."""
        expected = len(self.names)
        if length == expected:
            return
        what = f"line {line} has {length} columns, but the first has {expected}"
        comma = " (perhaps a decimal comma)" if self.delimiter == "," else ""
        why = "is the line cut off, or does a cell contain an unquoted"
        raise invalid(file, f"{what}: {why} {self.delimiter!r}{comma}?")


def _as_numbers(column: Column) -> Column:
    """Return a column of texts as integers or floats, or as it is."""
    from pyarrow import compute  # pyright: ignore[reportMissingImports]

    floats = _converted(column, "double")
    if floats is None or column.null_count == len(column):
        return column
    # The conversion to integers takes long where it fails.
    is_whole = compute.all(compute.equal(floats, compute.trunc(floats))).as_py()
    integers = _converted(column, "int64") if is_whole else None
    return floats if integers is None else integers


def _converted(column: Column, kind: str) -> Column | None:
    try:
        return column.cast(kind)
    except pyarrow_or_error().ArrowInvalid:
        return None


def likely_delimiter(text: str) -> str:
    """Return the delimiter that splits the first lines evenly, into two or more."""
    start = "\n".join(text.splitlines()[:10])
    even = {}
    for mark in DELIMITERS:
        rows = list(filter(None, csv.reader(io.StringIO(start), delimiter=mark)))
        # The last row may be cut off, since the text may be only the head of a file.
        widths = {len(row) for row in rows[: max(1, len(rows) - 1)]}
        if len(widths) == 1 and widths != {1}:
            even[mark] = max(widths)
    if len(even) > 1:
        # Texts contain spaces, too.
        even.pop(" ", None)
    if ";" in even:
        # Commas are decimal ones.
        even.pop(",", None)
    if not even:
        # The lines are ragged: the first one decides.
        first = text.lstrip().splitlines()[0] if text.strip() else ""
        even = {mark: first.count(mark) for mark in DELIMITERS if mark != " "}
    return max(even, key=lambda mark: even[mark])
