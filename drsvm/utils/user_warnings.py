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
# A number in a message, such as 1,000 or 2.5e-07
NUMBER = re.compile(r"\d[\d., e+-]*")
# Actions of a filter other than showing a text once per line, or more rarely
EVERY_TIME = ("always", "all", "error", "ignore")

# Warnings that were issued in loops: their files, lines and texts without numbers
_issued: set[tuple[str, int, str]] = set()


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
    # The callers, this function's first, down to the first that is no library
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    level = 0
    while level < len(frames) - 1 and _package(frames[level]) in LIBRARIES:
        level += 1
    # joblib runs all such loops.
    if "joblib" in map(_package, frames[:level]):
        if _is_repeated(message, category, frames[level]):
            return
        message = Message(
            "{} (In one of several fits; similar warnings are not repeated.)", message
        )
    warnings.warn(message, category, stacklevel=level + 2)


def _package(frame: FrameType) -> str:
    """Return the name of the package whose code runs in a frame."""
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _is_repeated(message: str, category: type[Warning], frame: FrameType) -> bool:
    """Return whether a line has issued a text before that differs in numbers only.

    Python has a record of its own of the texts that were shown, but drops it when a
    filter changes, and scikit-learn sets the filters again for every fit of a loop.
    """
    alike = (frame.f_code.co_filename, frame.f_lineno, NUMBER.sub("#", message))
    if alike not in _issued:
        _issued.add(alike)
        return False
    return _action(message, category, frame) not in EVERY_TIME


def _action(message: str, category: type[Warning], frame: FrameType) -> str:
    """Return what the first of Python's filters that fits does with a warning."""
    own_module = frame.f_globals.get("__name__", "")
    for action, text, kind, module, line in warnings.filters:
        if text is not None and not text.match(message):
            continue
        if not issubclass(category, kind):
            continue
        if not _is_module(module, own_module):
            continue
        # 0 stands for every line.
        if line in (0, frame.f_lineno):
            return action
    return "default"


def _is_module(wanted: str | re.Pattern[str] | None, name: str) -> bool:
    """Return whether a module is one that a filter is for."""
    if wanted is None:
        return True
    # Python's own filters have plain names.
    if isinstance(wanted, str):
        return wanted == name
    return wanted.match(name) is not None
