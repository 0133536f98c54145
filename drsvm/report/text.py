"""The report as Markdown, without the plots."""

from collections.abc import Callable
from typing import Any

from drsvm.report import blocks


def render(document: blocks.Document) -> str:
    """Return the text."""
    parts = [f"# {document.title}", *_all(document.opening)]
    for section in document.sections:
        parts += [f"## {section.title}", *_all(section.blocks)]
    return "\n\n".join([*parts, "---", document.footer]) + "\n"


def _all(parts) -> list[str]:
    return [text for part in parts for text in [_WRITERS[type(part)](part)] if text]


def _table(part: blocks.Table) -> str:
    shown = [k for k, title in enumerate(part.head) if not isinstance(title, list)]  # bars cannot be written
    lines = [[_cell(row[k]) for k in shown] for row in (part.head, *part.rows)]
    rule = [":---" if k < part.text else "---:" for k in shown]
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:]))


def _cell(cell) -> str:
    return cell.name if isinstance(cell, blocks.Key) else cell


def _card(part: blocks.Card) -> str:
    return "\n\n".join([*([f"### {part.title}"] if part.title else []), *_all(part.blocks)])


_WRITERS: dict[type, Callable[[Any], str]] = {
    blocks.Text: lambda part: part.text,
    blocks.Notes: lambda part: "\n".join(f"> **Note:** {item}" for item in part.items),
    blocks.Command: lambda part: f"```\n{part.text}\n```",
    blocks.Table: _table,
    blocks.Figures: lambda part: "",
    blocks.Caption: lambda part: "",
    blocks.Card: _card,
    blocks.Cards: lambda part: "\n\n".join(_card(item) for item in part.items),
}
