"""The parts of a report, before they are written as HTML or Markdown. Strings in them are marked up already."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Text(NamedTuple):
    """A paragraph; `kind` is lead, soft or nothing."""

    text: str
    kind: str = ""


class Caption(NamedTuple):
    """A paragraph about the plots; only in HTML."""

    text: str


class Notes(NamedTuple):
    """Warnings that must not be missed."""

    items: Sequence[str]


class Command(NamedTuple):
    """A command to copy; not marked up."""

    text: str


class Bar(NamedTuple):
    """A cell with a bar from the centre to the left (negative) or right, of length 0 to 1; only in HTML."""

    share: float


class Key(NamedTuple):
    """A cell with the name of a classifier and its colour in the plots."""

    name: str


class Table(NamedTuple):
    """A table; `own` is the row to highlight, `text` the number of leading columns with text."""

    head: Sequence[Any]
    rows: Sequence[Sequence[Any]]
    own: int | None = None
    text: int = 1


class Figure(NamedTuple):
    """A plot; the description is for screen readers. Only in HTML."""

    name: str
    description: str
    caption: str


class Figures(NamedTuple):
    """Plots side by side, or a single one."""

    items: Sequence[Figure]


class Card(NamedTuple):
    """A box with a title."""

    title: str
    blocks: Sequence[Any]
    kind: str = ""


class Cards(NamedTuple):
    """Boxes side by side."""

    items: Sequence[Card]


class Section(NamedTuple):
    """A part of the report."""

    title: str
    blocks: Sequence[Any]


class Document(NamedTuple):
    """A report: what comes first, the sections, and the last line."""

    title: str
    opening: Sequence[Any]
    sections: Sequence[Section]
    footer: str
