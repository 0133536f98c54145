"""CSV files: read with pyarrow or, where that fails, with the csv module, which locates errors."""

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from drsvm.tables.arrow_tables import Table, cleaned, columns_of, pyarrow_or_error
from drsvm.tables.files import (
    LONGEST_LINE,
    OTHER_COLUMNS,
    DataFileError,
    files_of,
    head_and_format,
    invalid,
    opened,
)
from drsvm.tables.values import MISSING, as_number, shown
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
# Pyarrow guesses the types of columns from one block; it can read no larger one
LARGEST_BLOCK = (1 << 31) - 1
NOT_UTF8 = (
    "is not UTF-8 text: convert the file, for instance with iconv -f latin1 -t utf-8."
)
BAD_QUOTES = (
    "line {}: a closing quote is missing, or one in a cell is not doubled ({})."
)

csv.field_size_limit(LONGEST_LINE)


class CsvFile:
    """A CSV file, or all of a folder with the same columns: reads their names at once, their values on demand."""

    def __init__(
        self, path: Path, head: bytes, delimiter: str | None, header: bool | None
    ):
        self.path = path
        self.files = files_of(path)
        self.notes: list[str] = []
        # Do not split a multi-byte character
        cut = max(self._checked(head).rfind(b"\n"), head.rfind(b"\r")) + 1
        try:
            text = (head[:cut] or head).decode("utf-8-sig")
            if delimiter:
                self.delimiter = NAMED_DELIMITERS.get(delimiter, delimiter)
            else:
                self.delimiter = likely_delimiter(text)
            if len(self.delimiter) != 1:
                names = ", ".join(NAMED_DELIMITERS)
                raise DataFileError(
                    f"the delimiter must be a single character or one of {names}, got {delimiter!r}."
                )
            first = self._first_record(text)
        except UnicodeDecodeError as error:
            raise invalid(
                path, f"line {head[: error.start].count(10) + 1} {NOT_UTF8}"
            ) from None
        except csv.Error as error:
            raise invalid(path, BAD_QUOTES.format(1, error)) from None
        words = [
            cell for cell in first if cell not in MISSING and as_number(cell) is None
        ]
        self.has_header = bool(words) if header is None else header
        if not self.has_header:
            if header is False:
                reason = ""
            else:
                reason = "The first line has only numbers: "
            self.notes.append(f"{reason}the columns are called column0, column1, ...")
        names = [
            cell if cell and self.has_header else f"column{index}"
            for index, cell in enumerate(first)
        ]
        self.names = self._distinct(names)
        if len(first) == 1:
            line = text.lstrip().splitlines()[0]
            other = next(
                (
                    mark
                    for mark in DELIMITERS
                    if mark in line and mark != self.delimiter
                ),
                None,
            )
            if other:
                hint = f"the delimiter seems to be a {DELIMITERS[other]}."
            else:
                hint = "is it a CSV file?"
            used = DELIMITERS.get(self.delimiter, repr(self.delimiter))
            what = "line 1 has only one column with the delimiter {} ({}): {}"
            raise invalid(path, Message(what, used, Parameter("delimiter"), hint))
        for file in self.files[1:]:
            other = CsvFile(
                file, head_and_format(file, "csv")[0], self.delimiter, header
            )
            if (other.names, other.has_header) != (self.names, self.has_header):
                raise invalid(file, OTHER_COLUMNS.format(self.files[0].name))

    def _distinct(self, names: list[str]) -> list[str]:
        """Return names without repetitions, as pandas chooses them: a, a.1, a.2."""
        distinct: dict[str, None] = {}
        for name in names:
            numbered = (f"{name}.{number}" for number in itertools.count(1))
            distinct[
                name
                if name not in distinct
                else next(new for new in numbered if new not in distinct)
            ] = None
        self.renamed = {
            new: old for old, new in zip(names, distinct, strict=True) if old != new
        }
        if self.renamed:
            listed = ", ".join(
                f"{old!r} as {new!r}" for new, old in list(self.renamed.items())[:5]
            )
            self.notes.append(
                f"Some columns have the same name; they are read under other names: {listed}."
            )
        return list(distinct)

    def _checked(self, content: bytes) -> bytes:
        """Return bytes unless a line of them is too long.

        Each step goes to the last line break within the limit.
        """
        start = 0
        while len(content) - start > LONGEST_LINE:
            end = max(
                content.rfind(mark, start, start + LONGEST_LINE)
                for mark in (b"\n", b"\r")
            )
            if end < 0:
                what = f"line {content[:start].count(10) + 1} is longer than {LONGEST_LINE >> 20} MB"
                raise invalid(
                    self.path,
                    f"{what}, too long for a row: is a line break missing, or is it no CSV file?",
                )
            start = end + 1
        return content

    def _first_record(self, text: str) -> list[str]:
        reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True
        )
        first = next((row for row in reader if row), None)
        if first is None or not text.strip():
            raise invalid(self.path, "no rows found.")
        for (
            cell
        ) in first:  # a name may contain a line break or the delimiter, but rarely both
            if self.delimiter in cell and ("\n" in cell or "\r" in cell):
                what = (
                    f"spans several lines and contains the delimiter {self.delimiter!r}"
                )
                raise invalid(
                    self.path,
                    f"the name {shown(cell)} in the header {what}: add the missing closing quote.",
                )
        return [" ".join(cell.splitlines()).strip() for cell in first]

    def read(
        self, wanted: list[str], as_text: str | None, empty: frozenset[str]
    ) -> Table:
        """Return columns as a table; `as_text` is not converted to numbers."""
        table = self._table(wanted, [as_text] if as_text else [], empty)
        if not table.num_rows:
            raise invalid(self.path, "no rows found below the header.")
        return table

    def _table(
        self, wanted: list[str], as_text: list[str], empty: frozenset[str]
    ) -> Table:
        if (table := self._fast_table(wanted, as_text, empty)) is not None:
            return table
        # Which locates errors; all columns are texts
        rows = [cells for _, cells in self._records()]
        places = {name: place for place, name in enumerate(self.names)}
        pyarrow = pyarrow_or_error()
        columns = {
            name: pyarrow.array([row[places[name]] for row in rows], "string")
            for name in wanted
        }
        return cleaned(pyarrow.table(columns), empty)

    def _fast_table(
        self, wanted: list[str], as_text: list[str], empty: frozenset[str]
    ) -> Table | None:
        """Return columns read by pyarrow, those in `as_text` as text.

        None if it cannot parse the file.
        """
        pyarrow = pyarrow_or_error()
        from pyarrow import csv as arrow_csv  # pyright: ignore[reportMissingImports]

        content = self._content()
        if (
            content.count(b'"') % 2
        ):  # a missing closing quote; the csv module locates it
            return None
        size = min(max(len(content), 1), LARGEST_BLOCK)
        reading = arrow_csv.ReadOptions(
            column_names=self.names,
            skip_rows_after_names=int(self.has_header),
            use_threads=False,
            block_size=size,
        )
        parsing = arrow_csv.ParseOptions(
            delimiter=self.delimiter, newlines_in_values=b'"' in content
        )

        def table(columns: list[str], texts: Iterable[str]) -> Table:
            types = dict.fromkeys(texts, pyarrow.string())
            converting = arrow_csv.ConvertOptions(
                include_columns=columns,
                column_types=types,
                null_values=sorted(empty),
                strings_can_be_null=True,
            )
            return arrow_csv.read_csv(
                pyarrow.BufferReader(content), reading, parsing, converting
            )

        try:
            read = table(wanted, as_text)
            # Dates and times stay text, since Python reads them from data frames as
            # such, too.
            temporal = [
                field.name
                for field in read.schema
                if pyarrow.types.is_temporal(field.type)
            ]
            if temporal:
                read = pyarrow.table(
                    columns_of(read) | columns_of(table(temporal, temporal))
                )
            else:
                read = read
        except pyarrow.ArrowInvalid:
            return None
        if b'"' in content:
            expected = read.num_rows + self.has_header
            n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
            if n_lines != expected or b"\r" in content:  # some may be empty
                n_lines = sum(map(bool, content.splitlines()))
            if n_lines != expected:
                # A cell spans several lines; the csv module is strict about its quotes
                return None
        return cleaned(read, empty)

    def _content(self) -> bytes:
        """Return the lines of all files, with the header of the first."""
        contents: list[bytes] = []
        for file in self.files:
            with opened(file) as stream:
                # pyarrow would take blank lines before the header for the header.
                content = (
                    self._checked(stream.read())
                    .removeprefix(codecs.BOM_UTF8)
                    .lstrip(b"\r\n")
                )
            if contents and self.has_header:  # a name may contain line breaks
                content = re.sub(
                    rb'(?:[^"\r\n]|"[^"]*")*[\r\n]*', b"", content, count=1
                )
            contents.append(
                content if len(self.files) == 1 else content.rstrip(b"\r\n") + b"\n"
            )
        return b"".join(contents)

    def texts(self, wanted: list[str]) -> dict[str, list[str]]:
        """Return columns as they are written."""
        if wanted:
            columns = self._table(wanted, wanted, frozenset()).columns
        else:
            columns = []
        return {
            name: column.to_pylist()
            for name, column in zip(wanted, columns, strict=True)
        }

    def as_written(
        self, table: Table, names: list[str], empty: frozenset[str]
    ) -> Table:
        """Return a table of this file in which columns of numbers are texts."""
        numbers = [
            name for name in names if str(table.schema.field(name).type) == "double"
        ]
        if numbers:
            texts = columns_of(self._table(numbers, numbers, empty))
        else:
            texts = {}
        return pyarrow_or_error().table(columns_of(table) | texts)

    def swallowed(self, name: str, cell: str) -> bool:
        """Return True for a cell of several lines that seems to contain other rows, for want of a closing quote."""
        # A row that goes on behind such a cell has the usual number of columns only if
        # the last line of the cell ends in the same column.
        if "\n" not in cell and "\r" not in cell:
            return False
        first, *between, last = (
            line.count(self.delimiter) for line in re.split(r"\r\n?|\n", cell)
        )
        column = self.names.index(name)
        widest = len(self.names) - 1
        return widest in between or (first == widest if column == 0 else last == column)

    def place(self, row: int) -> str:
        return next(
            (place for index, (place, _) in enumerate(self._records()) if index == row),
            f"row {row}",
        )

    def _records(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the place and the cells of every row.

        Raise an error if a row has another length.
        """
        for file in self.files:
            yield from self._records_of(
                file, f" of {file.name}" if len(self.files) > 1 else ""
            )

    def _records_of(self, file: Path, within: str) -> Iterator[tuple[str, list[str]]]:
        with (
            opened(file) as stream,
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines,
        ):
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            before = 0
            is_header = self.has_header
            try:
                for cells in reader:
                    if cells and not is_header:
                        if len(cells) != len(self.names):
                            if self.delimiter == ",":
                                comma = " (perhaps a decimal comma)"
                            else:
                                comma = ""
                            what = f"line {before + 1} has {len(cells)} columns, but the first has {len(self.names)}"
                            why = f"is the line cut off, or does a cell contain an unquoted {self.delimiter!r}{comma}?"
                            raise invalid(file, f"{what}: {why}")
                        yield f"line {before + 1}{within}", cells
                    is_header = is_header and not cells
                    before = reader.line_num
            except csv.Error as error:
                raise invalid(file, BAD_QUOTES.format(before + 1, error)) from None
            except UnicodeDecodeError:
                raise invalid(file, NOT_UTF8) from None


def likely_delimiter(text: str) -> str:
    """Return the delimiter that splits the first lines into the same number of columns, at least two."""
    start = "\n".join(text.splitlines()[:10])
    even = {}
    for mark in DELIMITERS:
        rows = [row for row in csv.reader(io.StringIO(start), delimiter=mark) if row]
        # The last row may be cut off, since the text may be only the head of a file.
        widths = {len(row) for row in rows[: max(1, len(rows) - 1)]}
        if len(widths) == 1 and widths != {1}:
            even[mark] = max(widths)
    if len(even) > 1:
        even.pop(" ", None)  # texts contain spaces too
    if ";" in even:
        even.pop(",", None)  # decimal commas
    if not even:  # a ragged file: use its first line
        first = text.lstrip().splitlines()[0] if text.strip() else ""
        even = {mark: first.count(mark) for mark in DELIMITERS if mark != " "}
    return max(even, key=lambda mark: even[mark])
