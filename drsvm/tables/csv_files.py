"""CSV files: parsed by pyarrow and, where that fails, by the csv module.

The csv module knows the line of every row, and is strict about quotes: it is slow, but
it locates errors. Pyarrow's types of columns are not used: it does not know decimal
commas, most dates, or the words for missing values. All columns are read as text.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from drsvm.tables.arrow_columns import Table, pyarrow_or_error
from drsvm.tables.arrow_tables import TableFile
from drsvm.tables.cell_styles import MISSING, as_number
from drsvm.tables.files import (
    LONGEST_LINE,
    OTHER_COLUMNS,
    DataFileError,
    head_and_format,
    invalid,
    opened,
)
from drsvm.tables.values import shown
from drsvm.utils.messages import Message, Parameter, counted

# The delimiters that are tried, with their names for messages
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank"}
# What users may write for a delimiter besides the character itself
NAMED_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "blank": " ",
    "bar": "|",
}
# Pyarrow reads a file in blocks of at most this size: its lengths have 32 bits.
LARGEST_BLOCK = (1 << 31) - 1
NOT_UTF8 = (
    "is not UTF-8 text: convert the file, for instance with iconv -f latin1 -t utf-8."
)
BAD_QUOTES = (
    "line {}: a closing quote is missing, or one in a cell is not doubled ({})."
)
_LINE = re.compile(rb"[^\r\n]+")

csv.field_size_limit(LONGEST_LINE)


class CsvFile(TableFile):
    """A CSV file, or all of a folder with the same columns.

    Parameters
    ----------
    path : Path
        The file or the folder.
    head : bytes
        How the first file begins: at least its first line.
    delimiter : str or None
        A character or one of `NAMED_DELIMITERS`; by default the likely one.
    header : bool or None
        Whether the first line contains the names of the columns; by default it does
        unless it has only numbers.
    """

    first_line = 1  # the number of the first line

    def __init__(
        self, path: Path, head: bytes, delimiter: str | None, header: bool | None
    ):
        super().__init__(path)
        _check_lines(path, head)
        text = _decoded(path, head)
        try:
            self.delimiter = likely_delimiter(text)
            if delimiter:
                self.delimiter = NAMED_DELIMITERS.get(delimiter, delimiter)
            if len(self.delimiter) != 1:
                raise DataFileError(
                    "the delimiter must be a single character or one of "
                    f"{', '.join(NAMED_DELIMITERS)}, got {delimiter!r}."
                )
            first = self._first_record(text)
        except csv.Error as error:
            raise invalid(path, BAD_QUOTES.format(1, error)) from None
        # Unless it is given, a header has a text that is neither a number nor missing.
        words = set(first) - MISSING
        self.has_header = None in map(as_number, words)
        if header is not None:
            self.has_header = header
        if not self.has_header:
            note = "the columns are called column0, column1, ..."
            if header is None:
                note = f"The first line has only numbers: {note}"
            self.notes.append(note)
        self.names = self._distinct_names(first)
        if len(first) == 1:
            raise invalid(path, self._about_delimiter(text))
        # The other files of a folder must begin in the same way.
        for file in self.files[1:]:
            head = head_and_format(file, "csv")[0]
            other = CsvFile(file, head, self.delimiter, header)
            if (other.names, other.has_header) != (self.names, self.has_header):
                raise invalid(file, OTHER_COLUMNS.format(self.files[0].name))

    def _first_record(self, text: str) -> list[str]:
        """Return the cells of the first line that is not empty."""
        lines = io.StringIO(text, newline="")
        rows = csv.reader(lines, delimiter=self.delimiter, strict=True)
        first = next(filter(None, rows), None)
        if first is None or not text.strip():
            raise invalid(self.path, "no rows found.")
        for cell in first:
            # A name may contain a line break or the delimiter, but rarely both.
            if self.delimiter in cell and ("\n" in cell or "\r" in cell):
                raise invalid(
                    self.path,
                    f"the name {shown(cell)} in the header spans several lines and "
                    f"contains the delimiter {self.delimiter!r}: add the missing "
                    "closing quote.",
                )
        return [" ".join(cell.splitlines()).strip() for cell in first]

    def _distinct_names(self, first: list[str]) -> list[str]:
        """Return the names of the columns without repetitions: a, a.1, a.2.

        Columns without a name are called column0, column1 and so on. What is renamed
        is noted.
        """
        # A dict finds a name among many at once, and keeps their order.
        distinct: dict[str, None] = {}
        for index, cell in enumerate(first):
            name = f"column{index}"
            if cell and self.has_header:
                name = cell
            new = name
            number = 0
            while new in distinct:
                number += 1
                new = f"{name}.{number}"
            if new != name:
                self.renamed[new] = name
            distinct[new] = None
        if self.renamed:
            pairs = list(self.renamed.items())[:5]
            listed = ", ".join(f"{old!r} as {new!r}" for new, old in pairs)
            self.notes.append(
                "Some columns have the same name; they are read under other names: "
                f"{listed}."
            )
        return list(distinct)

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

    def stored(self, names: list[str]) -> Table:
        tables = [self._parsed(file, names) for file in self.files]
        table = pyarrow_or_error().concat_tables(tables)
        if not table.num_rows:
            raise invalid(self.path, "no rows found below the header.")
        return table

    def _parsed(self, file: Path, names: list[str]) -> Table:
        """Return the columns of a file as text."""
        pyarrow = pyarrow_or_error()
        from pyarrow import csv as arrow_csv  # pyright: ignore[reportMissingImports]

        with opened(file) as stream:
            content = stream.read()
        _check_lines(self.path, content)
        # Pyarrow would take blank lines before the header for the header.
        content = content.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
        n_quotes = content.count(b'"')
        # One block, since a quoted cell may span any number of lines.
        block_size = min(max(len(content), 1), LARGEST_BLOCK)
        try:
            table = arrow_csv.read_csv(
                pyarrow.BufferReader(content),
                arrow_csv.ReadOptions(
                    column_names=self.names,
                    skip_rows_after_names=int(self.has_header),
                    use_threads=False,
                    block_size=block_size,
                ),
                arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=n_quotes > 0
                ),
                arrow_csv.ConvertOptions(
                    include_columns=names,
                    column_types=dict.fromkeys(names, pyarrow.string()),
                ),
            )
        except pyarrow.ArrowInvalid as error:
            self._check_records(file)
            raise invalid(file, f"cannot be parsed ({error}).") from None
        if n_quotes:
            # Pyarrow overlooks some wrong quotes. If a closing one is missing, their
            # number is odd, or a cell goes on over several lines, of which there are
            # then more than rows.
            n_lines = sum(1 for _ in _LINE.finditer(content))
            if n_quotes % 2 or n_lines != table.num_rows + self.has_header:
                self._check_records(file)
        return table

    def _check_records(self, file: Path) -> None:
        """Raise the first error of the csv module, which is strict, if there is any."""
        for _ in self._records(file):
            pass

    def contains_rows(self, name: str, cell: str) -> bool:
        """Return True for a cell that seems to contain other rows.

        That happens where a closing quote is missing. A row that goes on behind such a
        cell has the usual number of columns only if the last line of the cell ends in
        the same column.
        """
        if "\n" not in cell and "\r" not in cell:
            return False
        # The number of delimiters in every line of the cell
        lines = re.split(r"\r\n?|\n", cell)
        counts = [line.count(self.delimiter) for line in lines]
        column = self.names.index(name)
        of_a_row = len(self.names) - 1
        if of_a_row in counts[1:-1]:
            return True
        if column == 0:
            return counts[0] == of_a_row
        return counts[-1] == column

    def place(self, row: int) -> str:
        """Return the line where a row starts."""
        n_before = 0
        for file in self.files:
            for line, _ in self._records(file):
                if n_before == row and len(self.files) > 1:
                    return f"line {line} of {file.name}"
                if n_before == row:
                    return f"line {line}"
                n_before += 1
        return f"row {row}"

    def _records(self, file: Path) -> Iterator[tuple[int, list[str]]]:
        """Yield the line and the cells of every row, which has the usual length."""
        expected = len(self.names)
        is_header = self.has_header
        line = self.first_line
        with (
            opened(file) as stream,
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines,
        ):
            rows = csv.reader(lines, delimiter=self.delimiter, strict=True)
            try:
                for cells in rows:
                    if cells and is_header:
                        is_header = False
                    elif cells:
                        if len(cells) != expected:
                            raise invalid(file, self._wrong_length(line, len(cells)))
                        yield line, cells
                    line = rows.line_num + self.first_line
            except csv.Error as error:
                raise invalid(file, BAD_QUOTES.format(line, error)) from None
            except UnicodeDecodeError:
                raise invalid(file, NOT_UTF8) from None

    def _wrong_length(self, line: int, length: int) -> str:
        """Return what is wrong with a line that has another number of columns."""
        comma = ""
        if self.delimiter == ",":
            comma = " (perhaps a decimal comma)"
        columns = counted(length, "column")
        return (
            f"line {line} has {columns}, but the first has {len(self.names)}: "
            "is the line cut off, or does a cell contain an unquoted "
            f"{self.delimiter!r}{comma}?"
        )


class JsonFile(CsvFile):
    """A JSON file, whose header is in no line of its own."""

    first_line = 0


def _decoded(path: Path, head: bytes) -> str:
    """Return the whole lines at the head of a file as text."""
    # The head may end within a line, even within a character.
    end = max(head.rfind(b"\n"), head.rfind(b"\r")) + 1
    try:
        return (head[:end] or head).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise invalid(path, f"line {line} {NOT_UTF8}") from None


def _check_lines(path: Path, content: bytes) -> None:
    """Raise an error if a line is too long."""
    start = 0
    # Each step goes to the last line break within the limit.
    while len(content) - start > LONGEST_LINE:
        limit = start + LONGEST_LINE
        end = max(
            content.rfind(b"\n", start, limit), content.rfind(b"\r", start, limit)
        )
        if end < 0:
            line = content[:start].count(b"\n") + 1
            raise invalid(
                path,
                f"line {line} is longer than {LONGEST_LINE >> 20} MB, too long for a "
                "row: is a line break missing, or is it no CSV file?",
            )
        start = end + 1


def likely_delimiter(text: str) -> str:
    """Return the delimiter that splits the first lines evenly, into two or more.

    If several do, it is the one that gives the most columns.
    """
    start = "\n".join(text.splitlines()[:10])
    # The number of columns by delimiter
    even = {}
    for mark in DELIMITERS:
        rows = list(filter(None, csv.reader(io.StringIO(start), delimiter=mark)))
        # The last row may be cut off, since the text may be only the head of a file.
        widths = set(map(len, rows[: max(1, len(rows) - 1)]))
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
        [first, *_] = text.lstrip().splitlines() or [""]
        even = dict(zip(DELIMITERS, map(first.count, DELIMITERS), strict=True))
        del even[" "]
    return max(even, key=even.__getitem__)
