"""Messages whose parameters every interface spells in its own way; values as text."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter, perhaps with a value to try, in place of an old one if there is one.

    As text, it is spelled as in Python.
    """

    name: str
    value: object = None
    old: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        return f"{self.name}={self.value!r}"


class Message(str):
    """A text with parameters: ``Message("Allow more {}.", Parameter("max_time"))``.

    As a str it has the spelling of Python; the command line writes ``--max-time``.

    Parameters
    ----------
    template : str
        The text, as `str.format` takes it.
    *values : object
        What stands in it, such as a `Parameter` or another message.
    fixes : sequence of Parameter
        Parameters to add, replace or remove, which solve the problem that it names.
    """

    _template: str
    _values: tuple[Any, ...]
    fixes: Sequence[Parameter]

    def __new__(cls, template: str, *values: object, fixes: Sequence[Parameter] = ()):
        # A text without values may contain braces.
        text = template.format(*values) if values else template
        message = super().__new__(cls, text)
        message._template = template
        message._values = values
        message.fixes = fixes
        return message

    # Pickle makes a message of these arguments, and then sets its attributes.
    def __getnewargs__(self):
        return self._template, *self._values

    def spelled(self, spell: Callable[[Parameter], str]) -> str:
        """Return the text with another spelling of the parameters."""
        if not self._values:
            return str(self)
        values = []
        for value in self._values:
            if isinstance(value, Message):
                value = value.spelled(spell)
            elif isinstance(value, Parameter):
                value = spell(value)
            values.append(value)
        return self._template.format(*values)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2,000 rows."""
    end = "" if number == 1 else "s"
    return f"{number:,} {noun}{end}"


def number(value: float) -> str:
    """Return a number of a column as text."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def plain(value: Any) -> Any:
    """Return a value for JSON: arrays as lists, infinities as text, NaN as null."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, str | int | float | bool | None):
        return value
    return str(value)


def right_aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns are aligned on the right."""
    widths = []
    for column in zip(*lines, strict=True):
        widths.append(max(map(len, column)))
    aligned = []
    for line in lines:
        aligned.append("  ".join(map(str.rjust, line, widths)))
    return aligned
