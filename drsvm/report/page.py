"""The report as one HTML page. Strings in the blocks are HTML already, except where noted."""

from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import Any

import drsvm
from drsvm.report import blocks
from drsvm.report.analysis import ROBUST

_BREAKABLE = {
    ROBUST: "Wasserstein<wbr>SVC",
    "LinearSVC": "Linear<wbr>SVC",
    "LogisticRegression": "Logistic<wbr>Regression",
}
_COLOURS = dict(zip(_BREAKABLE, ("--blue", "--vermillion", "--green"), strict=True))


def render(document: blocks.Document, figures: dict[str, str]) -> str:
    """Return the page; `figures` are the plots by name."""
    sections = "\n".join(
        f"<section>\n<h2>{section.title}</h2>\n{_all(section.blocks, figures)}\n</section>"
        for section in document.sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="drsvm {drsvm.__version__}">
<title>{document.title}</title>
<style>
{files("drsvm.report").joinpath("page.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{document.title}</h1>
{_all(document.opening, figures)}
</header>
<main>
{sections}
</main>
<footer>
<p>{document.footer}</p>
</footer>
</body>
</html>
"""


def _all(parts, figures: dict[str, str]) -> str:
    return "\n".join(_WRITERS[type(part)](part, figures) for part in parts)


def _text(part: blocks.Text, figures) -> str:
    kind = f' class="{part.kind}"' if part.kind else ""
    return f"<p{kind}>{part.text}</p>"


def _notes(part: blocks.Notes, figures) -> str:
    items = "".join(f"<li>{item}</li>" for item in part.items)
    return f'<ul class="notes" aria-label="Warnings">{items}</ul>'


def _command(part: blocks.Command, figures) -> str:
    return f'<pre class="command"><code>{escape(part.text)}</code></pre>'


def _table(part: blocks.Table, figures) -> str:
    mark, stressed = ' class="text"', ' class="own"'
    titles = "".join(
        f'<th scope="col"{mark if k < part.text else ""}>{_cell(title)}</th>' for k, title in enumerate(part.head)
    )
    body = "".join(
        f"<tr{stressed if k == part.own else ''}>"
        + "".join(f"<td{mark if j < part.text else _kind(cell)}>{_cell(cell)}</td>" for j, cell in enumerate(row))
        + "</tr>\n"
        for k, row in enumerate(part.rows)
    )
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _kind(cell) -> str:
    return ' class="bar"' if isinstance(cell, blocks.Bar) else ""


def _cell(cell) -> str:
    """Return a cell: text, a bar, the two ends of bars, or a classifier with its colour."""
    if isinstance(cell, blocks.Bar):
        side, width = ("right" if cell.share > 0 else "left"), f"{100 * abs(cell.share):.1f}%"
        return f'<div class="track"><span class="{side}" style="width:{width}"></span></div>'
    if isinstance(cell, blocks.Key):
        return f'<span class="key" style="border-color:var({_COLOURS[cell.name]})">{_BREAKABLE[cell.name]}</span>'
    if isinstance(cell, list):
        return f'<span class="ends"><span>← {cell[0]}</span><span>{cell[1]} →</span></span>'
    return cell


def _figures(part: blocks.Figures, figures: dict[str, str]) -> str:
    wide = ' class="wide"' if len(part.items) == 1 else ""
    drawn = "\n".join(
        f'<figure{wide}><div role="img" aria-label="{item.description}">{figures[item.name]}</div>'
        f"<figcaption>{item.caption}</figcaption></figure>"
        for item in part.items
    )
    return drawn if wide else f'<div class="pair">\n{drawn}\n</div>'


def _card(part: blocks.Card, figures) -> str:
    title = f"<h3>{part.title}</h3>" if part.title else ""
    kind = f"card {part.kind}".strip()
    return f'<div class="{kind}">{title}{_all(part.blocks, figures)}</div>'


def _cards(part: blocks.Cards, figures) -> str:
    return f'<div class="pair">{"".join(_card(item, figures) for item in part.items)}</div>'


_WRITERS: dict[type, Callable[[Any, dict[str, str]], str]] = {
    blocks.Text: _text,
    blocks.Caption: lambda part, figures: f"<p>{part.text}</p>",
    blocks.Notes: _notes,
    blocks.Command: _command,
    blocks.Table: _table,
    blocks.Figures: _figures,
    blocks.Card: _card,
    blocks.Cards: _cards,
}
