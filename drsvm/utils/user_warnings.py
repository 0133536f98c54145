"""Warnings at the user's own line, which loops of scikit-learn do not repeat."""

import re
import sys
import warnings
from traceback import walk_stack
from types import FrameType

from drsvm.utils.messages import Message

# Packages whose lines mean nothing to a user
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
NUMBER = re.compile(r"\d[\d., e+-]*")

# The first of several warnings that differ in numbers only, by file, line and text
_first: dict[tuple[str, int, str], str] = {}


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line of the user's code that led here.

    In a loop of scikit-learn, such as that over the folds of GridSearchCV, every fit
    would issue it, each with its own numbers. It then appears once per line, as
    Python's default filter shows equal texts, unless a filter shows all.

    Parameters
    ----------
    message : str
        The text.
    category : type, default=UserWarning
        The class of the warning.
    """
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    level = 0
    while level < len(frames) - 1 and _package(frames[level]) in LIBRARIES:
        level += 1
    # joblib runs all such loops.
    if "joblib" in map(_package, frames[:level]):
        message = Message(
            "{} (In one of several fits; similar warnings are not repeated.)", message
        )
        _count_as_repeated(message, category, frames[level])
    warnings.warn(message, category, stacklevel=level + 2)


def _package(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _count_as_repeated(message: str, category: type[Warning], frame: FrameType) -> None:
    """Mark a text as shown if one was shown that differs from it in numbers only.

    Python notes in the registry of a module which texts were shown at a line and need
    not be repeated. It does so, and looks there, only where its filters demand that,
    and clears the registry when these change.
    """
    line = frame.f_lineno
    alike = (frame.f_code.co_filename, line, NUMBER.sub("#", message))
    first = _first.setdefault(alike, str(message))
    registry = frame.f_globals.get("__warningregistry__", {})
    if registry.get((first, category, line)):
        registry[str(message), category, line] = 1
