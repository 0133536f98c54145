"""The figures in the prose of a page, and what backs them.

A figure is a number, or several that belong together (``86.5 / 79.6 / 87.9``, ``+1.7 ±
0.9``, ``43 of 192``). It is backed by a block of the page that has it (or from which it
is rounded), by a result of a benchmark that the page names, or by an entry of
`prose_sources`. In the tables of a result only long figures are looked up: short ones
occur in any long table, so `prose_sources` names their row.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from documents import RST, blocks_of

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"

WORDS = [
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
COUNTED = "cells|data|epochs|fits|names|passes|points|rounds|rows|seeds|tables|times"
PLAIN = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
NUMBER = re.compile(rf"(?<![\w.,/#\d-])[-+−]?{PLAIN}(?![\w]|[.,]\d|-\w)")
WORD = re.compile(
    rf"\b(?:{'|'.join(WORDS)})\b(?=(?:\s[a-z]+)?\s(?:{COUNTED})\b)", re.IGNORECASE
)
JOINED = re.compile(r"\s+%?(?:/|±|of|to|→|against|instead of)\s+")
PERCENT = re.compile(r"[^.;]{0,12}(?:%|point|per cent)")
MILLION = re.compile(r"[\s-]*million")
LONG = 4  # digits; of two numbers, five

NOT_PROSE = {
    ".rst": [
        RST.pattern,
        r"^( *)\.\. math::.*\n(?:\n|\1 +.*\n)*",
        (
            r"^ *\.\."
            r" (?:include|literalinclude|toctree|figure|plot|currentmodule|autosummary|_).*"
        ),
        # Options of directives
        r"^ *:(?!alt|math|doc|func|class|download|ref)[\w-]+:.*",
        r"``[^`]*``",
        r":\w+:`[^`]*`",
        r"`[^`]*`_?_?",
        r"^ *\d\. ",  # numbers of a list
    ],
    ".md": [r"^```(?s:.*?)^```$", r"`[^`]*`", r"\]\([^)]*\)"],
}


class Figure(NamedTuple):
    """Numbers that belong together, with their places in the prose, and what follows
    the last one.
    """

    line: int
    text: str
    numbers: tuple[str, ...]
    places: tuple[int, ...]
    after: str


def prose_of(path: Path) -> str:
    """Return a page in which everything but its sentences and tables is replaced by
    blanks.
    """
    return _without_the_rest(path.read_text(encoding="utf-8"), path.suffix)


@cache
def _without_the_rest(page: str, suffix: str) -> str:
    for pattern in NOT_PROSE[suffix]:
        page = re.sub(
            pattern,
            lambda found: re.sub(r"[^\n]", " ", found[0]),
            page,
            flags=re.MULTILINE,
        )
    return page


def figures_of(path: Path) -> Iterator[Figure]:
    """Yield the figures in the prose of a page, but not 0, 1 and 2 alone."""
    text = prose_of(path)
    found = sorted(
        [*NUMBER.finditer(text), *WORD.finditer(text)], key=lambda one: one.start()
    )
    while found:
        group = [found.pop(0)]
        while found and JOINED.fullmatch(text[group[-1].end() : found[0].start()]):
            group.append(found.pop(0))
        first = group[0].start()
        last = group[-1].end()
        if len(group) > 1 or group[0][0] not in ("0", "1", "2", "-1"):
            numbers, places = zip(
                *((one[0], one.start()) for one in group), strict=True
            )
            line = text[:first].count("\n") + 1
            yield Figure(
                line,
                " ".join(text[first:last].split()),
                numbers,
                places,
                text[last : last + 25],
            )


def value_of(number: str) -> float:
    """Return the value of a number in prose or in a table."""
    plain = number.lower().replace(",", "").replace("−", "-")
    return float(WORDS.index(plain) + 3 if plain in WORDS else plain)


def digits_of(number: str) -> int:
    """Return how many digits a number has, without zeros before them and exponents."""
    return len(re.sub(r"\D", "", number.partition("e")[0]).lstrip("0")) or 1


def shows(source: np.ndarray, shown: str, after: str) -> np.ndarray:
    """Whether numbers of a source, rounded, are the one shown.

    Millions and shares in per cent may be shown as such.
    """
    digits, _, exponent = shown.partition("e") if shown[-1].isdigit() else ("", "", "")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    scaled = (source if shown[0] in "+-−" else abs(source)) / (
        1e6 if MILLION.match(after) else 1
    )
    factors = (1, 100) if PERCENT.match(after) else (1,)
    return np.any(
        [
            abs(factor * scaled - value_of(shown)) <= 0.5 * unit + 1e-12
            for factor in factors
        ],
        axis=0,
    )


@cache
def numbers_of(text: str) -> np.ndarray:
    """Return the numbers of every line of a text, then those of its columns: NaN ends a
    line or column.
    """
    lines = [
        [value_of(number) for number in NUMBER.findall(line.replace("*", " "))]
        for line in text.splitlines()
    ]
    return np.concatenate([[*line, np.nan] for line in (*lines, *columns_of(text))])


def columns_of(text: str) -> Iterator[list[float]]:
    """Yield the first numbers of cells at the same place of three tables of one shape
    that follow each other.
    """
    cells: dict[tuple[str, str, str, int], list[float]] = {}
    section = header = ""
    for line in text.splitlines():
        row = (
            [cell.strip() for cell in line.strip("|\n ").split("|")]
            if line.startswith("|")
            else []
        )
        section = line if line.startswith("#") else section
        header = (header or line) if row else ""
        for place, cell in enumerate(row[1:]):
            if number := NUMBER.search(cell):
                cells.setdefault((section, header, row[0], place), []).append(
                    value_of(number[0])
                )
    for column in cells.values():
        yield from (column[first : first + 3] for first in range(0, len(column) - 2, 3))


def is_in(figure: Figure, text: str) -> bool:
    """Whether the numbers of a figure are in one line of a text, one, two or three
    numbers apart, or in one column.
    """
    numbers = numbers_of(text)
    first, *others = (
        np.append(shows(numbers, shown, figure.after), np.zeros(40, bool))
        for shown in figure.numbers
    )
    for start in np.flatnonzero(first):
        end = start + int(np.argmax(np.isnan(numbers[start:])))
        for distance in (1, 2, 3):
            places = range(
                start + distance, start + distance * len(figure.numbers), distance
            )
            if all(
                place < end and other[place]
                for place, other in zip(places, others, strict=True)
            ):
                return True
    return False


def results_of(path: Path) -> list[str]:
    """Return the results of benchmarks that a page includes or names, or names the
    command of.
    """
    page = path.read_text(encoding="utf-8")
    names = set(re.findall(r"\b([\w/-]+)\.(?:md|txt)\b", page)) | set(
        re.findall(r"benchmarks/(\w+)(?:\.py)?\b", page)
    )
    names |= set(re.findall(r"--name ([\w-]+)", page))
    stems = {name.rpartition("results/")[2] for name in names}
    return [
        file.read_text("utf-8")
        for name in sorted(stems)
        for file in RESULTS.glob(f"{name}.[mt][dx]*")
    ]


def unbacked(path: Path, entries: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the figures of a page that nothing backs, as ``page:line: figure``."""
    blocks = [block.text for block in blocks_of(path)]
    results = results_of(path)
    listed = {place for entry in entries for place in places_of(path, *entry)}
    return [
        f"{path.name}:{figure.line}: {figure.text}"
        for figure in figures_of(path)
        if not listed >= {*figure.places}
        and not any(is_in(figure, text) for text in blocks)
        and not any(
            is_in(figure, text if is_long(figure) else settings_of(text))
            for text in results
        )
    ]


def is_long(figure: Figure) -> bool:
    """Whether it is unlikely that a figure is in a long table by chance."""
    return len(figure.numbers) > 2 or sum(map(digits_of, figure.numbers)) >= LONG + (
        len(figure.numbers) > 1
    )


@cache
def settings_of(result: str) -> str:
    """Return the lines of a result outside of its tables, and the headers of these, but
    not its machine and load.
    """
    lines = [
        line
        for line in result.splitlines()
        if not re.match("- (?:date|machine|load)", line)
    ]
    return "\n".join(
        line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if not line.startswith("|") or following.startswith("| ---")
    )


def places_of(path: Path, words: str, source: str, row: str = "") -> Iterator[int]:
    """Yield the places of the numbers in some words of a page which are in a row of a
    source.

    The row is given by what it contains, after lines that contain other texts, with " >
    " in between. Without a row, the source is a reason why nothing can back the
    numbers.
    """
    found = re.search(r"\s+".join(map(re.escape, words.split())), prose_of(path))
    assert found, f"{path.name} does not have the words {words!r}"
    line = (
        line_of(
            next(file for file in (RESULTS / source, ROOT / source) if file.is_file()),
            row,
        )
        if row
        else ""
    )
    for number in (*NUMBER.finditer(found[0]), *WORD.finditer(found[0] + " rows")):
        after = prose_of(path)[found.start() + number.end() :][:25]
        if not row or shows(numbers_of(line), number[0], after).any():
            yield found.start() + number.start()


def line_of(file: Path, row: str) -> str:
    """Return the line of a file that contains the last of the given texts, after lines
    that contain those before it.
    """
    lines = iter(
        re.sub(r"(?<=\d)_(?=\d)", "", file.read_text(encoding="utf-8")).splitlines()
    )
    line = ""
    for text in row.split(" > "):
        line = next((line for line in lines if text in line), "")
        assert line, f"{file.name} does not have the row {row!r}"
    return line
