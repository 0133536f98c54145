"""The markup of a report: the same sections written as HTML, as Markdown, or (sentences only) as plain text.

Every method returns marked-up text. `text`, `strong` and `code` make strings of the user harmless; the other methods
expect strings that are marked up already, unless they say otherwise.
"""

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

import drsvm

ROBUST = "WassersteinSVC"  # the name of the classifier that the report is about

BREAKABLE = {
    ROBUST: "Wasserstein<wbr>SVC",
    "LinearSVC": "Linear<wbr>SVC",
    "LogisticRegression": "Logistic<wbr>Regression",
}
COLOURS = dict(zip(BREAKABLE, ("--blue", "--vermillion", "--green"), strict=True))


class Figure(NamedTuple):
    """A plot; the description is for screen readers."""

    name: str
    description: str
    caption: str


class Bars(NamedTuple):
    """A last column of a table: bars of lengths −1 to 1 from its centre, and the names of its two ends."""

    ends: tuple[str, str]
    lengths: Sequence[float]


class Plain:
    """Sentences without markup."""

    def text(self, words) -> str:
        return str(words)

    def strong(self, words) -> str:
        return self.text(words)

    def code(self, words) -> str:
        return self.text(words)

    def power(self, value: float) -> str:
        """Return a small number with its power of ten; negative rounding errors count as 0."""
        return "0" if value <= 0 else f"{value:.1e}"


class Markdown(Plain):
    """A text file, without the plots."""

    def text(self, words) -> str:
        return re.sub(r"([\\`*_\[\]<>#|&$])", r"\\\1", _on_one_line(words))

    def strong(self, words) -> str:
        return f"**{self.text(words)}**"

    def code(self, words) -> str:
        fence = "``" if "`" in str(words) else "`"
        return f"{fence}{_on_one_line(words)}{fence}"

    def paragraph(self, text: str, kind: str = "") -> str:
        return text

    def caption(self, text: str) -> str:
        return ""

    def items(self, lines: Sequence[str]) -> str:
        return "\n".join(f"- {line}" for line in lines)

    def notes(self, items: Sequence[str]) -> str:
        return "\n".join(f"> **Note:** {item}" for item in items)

    def command(self, text: str) -> str:
        return f"```\n{text}\n```"

    def key(self, name: str) -> str:
        return name

    def table(self, head, rows, *, own: int | None = None, n_text: int = 1, bars: Bars | None = None) -> str:
        rule = [":---" if k < n_text else "---:" for k in range(len(head))]
        return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))

    def figures(self, *items: Figure) -> str:
        return ""

    def card(self, title: str, *blocks: str, kind: str = "") -> str:
        return _joined([f"### {title}" if title else "", *blocks], "\n\n")

    def side_by_side(self, *cards: str) -> str:
        return _joined(cards, "\n\n")

    def section(self, title: str, text: str, *blocks: str) -> str:
        return _joined([f"## {title}", text, *blocks], "\n\n")

    def document(self, title: str, opening: Sequence[str], sections: Sequence[str], footer: str) -> str:
        return _joined([f"# {title}", *opening, *sections, "---", footer], "\n\n") + "\n"


class Html(Plain):
    """A page with the given plots."""

    def __init__(self, drawn: dict[str, str]):
        self.drawn = drawn

    def text(self, words) -> str:
        return escape(str(words))

    def strong(self, words) -> str:
        return f"<strong>{escape(str(words))}</strong>"

    def code(self, words) -> str:
        return f"<code>{escape(str(words))}</code>"

    def power(self, value: float) -> str:
        if value <= 0:
            return "0"
        mantissa, exponent = f"{value:.1e}".split("e")
        return f'<span class="power">{mantissa} · 10<sup>{int(exponent)}</sup></span>'.replace("-", "−")

    def paragraph(self, text: str, kind: str = "") -> str:
        """Return a paragraph; `kind` is lead, soft or nothing."""
        return f"<p{_class(kind)}>{text}</p>"

    def caption(self, text: str) -> str:
        return self.paragraph(text)

    def items(self, lines: Sequence[str], attributes: str = "") -> str:
        listed = "".join(f"<li>{line}</li>" for line in lines)
        return f"<ul{attributes}>{listed}</ul>"

    def notes(self, items: Sequence[str]) -> str:
        """Return warnings that must not be missed, or nothing if there are none."""
        return self.items(items, ' class="notes" aria-label="Warnings"') if items else ""

    def command(self, text: str) -> str:
        """Return a command to copy, given without markup."""
        return f'<pre class="command"><code>{escape(text)}</code></pre>'

    def key(self, name: str) -> str:
        """Return the name of a classifier with its colour in the plots."""
        return f'<span class="key" style="border-color:var({COLOURS[name]})">{BREAKABLE[name]}</span>'

    def table(self, head, rows, *, own: int | None = None, n_text: int = 1, bars: Bars | None = None) -> str:
        """Return a table; `own` is the row to highlight, `n_text` the number of leading columns with text."""
        kinds = ["text" if k < n_text else "" for k in range(len(head))]
        titles = [f'<th scope="col"{_class(kind)}>{title}</th>' for kind, title in zip(kinds, head, strict=True)]
        lines = [[f"<td{_class(kind)}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)] for row in rows]
        if bars is not None:
            ends = f'<span class="ends"><span>← {bars.ends[0]}</span><span>{bars.ends[1]} →</span></span>'
            titles.append(f'<th scope="col">{ends}</th>')
            lines = [[*line, _bar(length)] for line, length in zip(lines, bars.lengths, strict=True)]
        body = "".join(f"<tr{_class('own' if k == own else '')}>{''.join(line)}</tr>\n" for k, line in enumerate(lines))
        titles = "".join(titles)
        return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead>\n<tbody>{body}</tbody></table></div>'

    def figures(self, *items: Figure) -> str:
        wide = _class("wide" if len(items) == 1 else "")
        drawn = "\n".join(
            f'<figure{wide}><div role="img" aria-label="{item.description}">{self.drawn[item.name]}</div>'
            f"<figcaption>{item.caption}</figcaption></figure>"
            for item in items
        )
        return drawn if wide else f'<div class="pair">\n{drawn}\n</div>'

    def card(self, title: str, *blocks: str, kind: str = "") -> str:
        heading = f"<h3>{title}</h3>" if title else ""
        return f"<div{_class(f'card {kind}'.strip())}>{heading}{_joined(blocks)}</div>"

    def side_by_side(self, *cards: str) -> str:
        return f'<div class="pair">{"".join(cards)}</div>'

    def section(self, title: str, text: str, *blocks: str) -> str:
        """Return a section with a title, and a first paragraph if `text` is not empty."""
        first = self.paragraph(text) if text else ""
        return f"<section>\n<h2>{title}</h2>\n{_joined([first, *blocks])}\n</section>"

    def document(self, title: str, opening: Sequence[str], sections: Sequence[str], footer: str) -> str:
        page, style = (files("drsvm.report").joinpath(name).read_text("utf-8") for name in ("page.html", "page.css"))
        texts = {"title": title, "opening": _joined(opening), "sections": _joined(sections), "footer": footer}
        return Template(page).substitute(version=drsvm.__version__, style=style, **texts)


Writer = Html | Markdown


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _bar(length: float) -> str:
    side, width = ("right" if length > 0 else "left"), f"{100 * abs(length):.1f}%"
    return f'<td class="bar"><div class="track"><span class="{side}" style="width:{width}"></span></div></td>'


def _joined(blocks: Sequence[str], gap: str = "\n") -> str:
    return gap.join(block for block in blocks if block)


def _on_one_line(words) -> str:
    return " ".join(str(words).splitlines())


def number(value, digits: int = 4) -> str:
    """Return a formatted number."""
    return f"{float(value):.{digits}g}".replace("-", "−")


def percent(share, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100 * float(share):.{digits}f}\u202f%"  # a narrow non-breaking space


def listed(items: list[str]) -> str:
    """Return items as an enumeration: a, b and c."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
