"""The exit codes of commands that train, by the status of their results."""

from collections.abc import Callable, Iterable

CODES = {"optimal": 0, "optimal within bounds": 3}  # any other status is 1

FROM_BEST_TO_WORST = (0, 3, 1)


def of(statuses: Iterable[str], choose: Callable[..., int] = max) -> int:
    """Return the code of the worst status, or with `choose=min` that of the best."""
    return choose((CODES.get(status, 1) for status in statuses), key=FROM_BEST_TO_WORST.index)
