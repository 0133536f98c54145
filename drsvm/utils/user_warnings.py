"""Warnings that point at the user's own line, and that the loops of scikit-learn do not repeat."""

import re
import sys
import warnings
from traceback import walk_stack
from types import FrameType

from drsvm.utils.messages import Message

# Packages whose lines mean nothing to a user.
LIBRARIES = (
    "drsvm",
    "sklearn",
    "joblib",
    "concurrent",
    "contextlib",
    "functools",
    "multiprocessing",
    "threading",
)

# Actions of a filter other than showing a warning once per line
EVERY_TIME = (
    "always",
    "all",
    "error",
    "ignore",
)

_shown: set[tuple[str, int, str]] = set()


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line of the user's code that led here, outside this library, scikit-learn and joblib.

    In a loop of scikit-learn, such as that over the folds of GridSearchCV, every fit
    would issue it, each with its own numbers. It then appears once per line, as
    Python's default filter shows equal texts, unless a filter shows all.
    """
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    level = next(
        (k for k, frame in enumerate(frames) if _package(frame) not in LIBRARIES),
        len(frames) - 1,
    )
    if any(
        _package(frame) == "joblib" for frame in frames[:level]
    ):  # which runs all such loops
        alike = (
            frames[level].f_code.co_filename,
            frames[level].f_lineno,
            re.sub(r"\d[\d., e+-]*", "#", message),
        )
        if (
            alike in _shown
            and _action(message, category, frames[level]) not in EVERY_TIME
        ):
            return
        _shown.add(alike)
        message = Message(
            "{} (In one of several fits; similar warnings are not repeated.)", message
        )
    warnings.warn(message, category, stacklevel=level + 2)


def _package(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _action(message: str, category: type[Warning], frame: FrameType) -> str:
    """Return the action of Python's filters for a warning."""

    def fits(pattern: str | re.Pattern[str] | None, text: str) -> bool:
        return pattern is None or bool(
            pattern == text if isinstance(pattern, str) else pattern.match(text)
        )

    module = frame.f_globals.get("__name__", "")
    line = frame.f_lineno
    for action, text, kind, where, at in warnings.filters:
        if (
            fits(text, message)
            and fits(where, module)
            and issubclass(category, kind)
            and at in (0, line)
        ):
            return action
    return "default"
