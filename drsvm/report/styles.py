"""How words are marked up: the sentences of a report are written once, for HTML and for Markdown."""

import re
from html import escape
from typing import Protocol


class Style(Protocol):
    """A markup. `text` makes strings of the user harmless; the other methods do so too."""

    def text(self, words) -> str:
        """Return plain text."""
        ...

    def strong(self, words) -> str:
        """Return stressed text."""
        ...

    def code(self, words) -> str:
        """Return a command, a name or a digest."""
        ...

    def power(self, value: float) -> str:
        """Return a small number with its power of ten; negative rounding errors count as 0."""
        ...


class Html:
    """The markup of the page."""

    def text(self, words) -> str:
        """Return escaped text."""
        return escape(str(words))

    def strong(self, words) -> str:
        """Return stressed text."""
        return f"<strong>{escape(str(words))}</strong>"

    def code(self, words) -> str:
        """Return a command, a name or a digest."""
        return f"<code>{escape(str(words))}</code>"

    def power(self, value: float) -> str:
        """Return a small number with its power of ten."""
        if value <= 0:
            return "0"
        mantissa, exponent = f"{value:.1e}".split("e")
        return f'<span class="power">{mantissa} · 10<sup>{int(exponent)}</sup></span>'.replace("-", "−")


class Plain:
    """No markup."""

    def text(self, words) -> str:
        """Return the text."""
        return str(words)

    strong = code = text

    def power(self, value: float) -> str:
        """Return a small number in scientific notation."""
        return "0" if value <= 0 else f"{value:.1e}"


class Markdown(Plain):
    """The markup of a text file."""

    def text(self, words) -> str:
        """Return text without active characters, on one line."""
        return re.sub(r"([\\`*_\[\]<>#|&$])", r"\\\1", _on_one_line(words))

    def strong(self, words) -> str:
        """Return stressed text."""
        return f"**{self.text(words)}**"

    def code(self, words) -> str:
        """Return a command, a name or a digest."""
        fence = "``" if "`" in str(words) else "`"
        return f"{fence}{_on_one_line(words)}{fence}"


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
