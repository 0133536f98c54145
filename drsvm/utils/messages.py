"""Messages that name parameters, for which every interface has its own spelling.

Values as text and for JSON.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter, perhaps with a value to try, in place of an old one if there is one.

    Spelled as in Python.
    """

    name: str
    value: object = None
    old: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        return f"{self.name}={self.value!r}"


class Message(str):
    """A text with parameters: ``Message("Allow more with {}.", Parameter("max_time"))``; without values, any text.

    `fixes` are parameters to add, replace or remove, which solve the problem that it
    names.
    """

    _template: str
    _values: tuple[Any, ...]
    fixes: Sequence[Parameter]

    def __new__(cls, template: str, *values: object, fixes: Sequence[Parameter] = ()):
        message = super().__new__(cls, template.format(*values) if values else template)
        message._template = template
        message._values = values
        message.fixes = fixes
        return message

    def __getnewargs__(self):
        return self._template, *self._values

    def spelled(self, spell: Callable[[Parameter], str]) -> str:
        """Return the text with another spelling of the parameters."""
        values = list(self._values)
        for place, value in enumerate(values):
            if isinstance(value, Message):
                values[place] = value.spelled(spell)
            elif isinstance(value, Parameter):
                values[place] = spell(value)
        return self._template.format(*values) if values else str(self)


def number(value: float) -> str:
    """Return a number of a column as text."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def plain(value: Any) -> Any:
    """Return a JSON-compatible value: arrays as lists, infinite numbers as text, NaN as null."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, str | int | float | bool | None):
        return value
    return str(value)
