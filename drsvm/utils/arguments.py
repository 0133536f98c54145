"""Errors about arguments that name them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def about(*names: str) -> Iterator[None]:
    """Let errors of other libraries name the arguments that the block converts."""
    try:
        yield
    except (AttributeError, LookupError, OverflowError) as error:
        raise ValueError(f"{', '.join(names)}: {error}") from error
    except (TypeError, ValueError) as error:
        if any(re.search(rf"\b{name}\b", str(error)) for name in names):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{', '.join(names)}: {error}") from error


def check_single(**arguments: object) -> None:
    """Raise an error that names an argument that is an array but must be one value."""
    for name, value in arguments.items():
        if getattr(value, "shape", ()):
            kind = type(value).__name__
            raise TypeError(f"{name} must be a single value, got an object of {kind}.")


def check_kind(value: object, kind: type, name: str) -> None:
    """Raise an error that names an argument unless it is of a class."""
    if not isinstance(value, kind):
        found = type(value).__name__
        raise TypeError(f"{name} must be a drsvm {kind.__name__}, got {found}.")
