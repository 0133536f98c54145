"""Numbers and words as they are written in a report: as plain text, in Markdown, or in HTML.

The methods make strings of the user harmless.
"""

import re
from html import escape

ROBUST = "WassersteinSVC"  # the name of the classifier that the report is about


class Plain:
    """Sentences without markup."""

    def text(self, words: object) -> str:
        return str(words)

    def strong(self, words: object) -> str:
        return self.text(words)

    def code(self, words: object) -> str:
        return self.text(words)

    def power(self, value: float) -> str:
        """Return a small number with its power of ten; negative rounding errors count as 0."""
        return "0" if value <= 0 else f"{value:.1e}"


class Markdown(Plain):
    """A text file, without the plots."""

    template = "page.md"

    def text(self, words: object) -> str:
        return re.sub(r"([\\`*_\[\]<>#|&$])", r"\\\1", _on_one_line(words))

    def strong(self, words: object) -> str:
        return f"**{self.text(words)}**"

    def code(self, words: object) -> str:
        fence = "``" if "`" in str(words) else "`"
        return f"{fence}{_on_one_line(words)}{fence}"


class Html(Plain):
    """A page with the plots."""

    template = "page.html"

    def text(self, words: object) -> str:
        return escape(str(words))

    def strong(self, words: object) -> str:
        return f"<strong>{escape(str(words))}</strong>"

    def code(self, words: object) -> str:
        return f"<code>{escape(str(words))}</code>"

    def power(self, value: float) -> str:
        if value <= 0:
            return "0"
        mantissa, exponent = f"{value:.1e}".split("e")
        return f'<span class="power">{mantissa} · 10<sup>{int(exponent)}</sup></span>'.replace("-", "−")


def _on_one_line(words: object) -> str:
    return " ".join(str(words).splitlines())


def number(value: float, digits: int = 4) -> str:
    """Return a formatted number."""
    return f"{float(value):.{digits}g}".replace("-", "−")


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return "–" if share is None else f"{100 * float(share):.{digits}f}\u202f%"  # a narrow non-breaking space


def listed(items: list[str]) -> str:
    """Return items as an enumeration: a, b and c."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
