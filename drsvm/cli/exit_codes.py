"""The exit codes of commands that train, by the status of their results."""

from collections.abc import Iterable

CODES = {"optimal": 0, "optimal within bounds": 3}  # any other status is 1

FROM_BEST_TO_WORST = (0, 3, 1)


def of_all(statuses: Iterable[str]) -> int:
    """Return the code of the worst status."""
    return max((CODES.get(status, 1) for status in statuses), key=FROM_BEST_TO_WORST.index)


def of_any(statuses: Iterable[str]) -> int:
    """Return the code of the best status."""
    return min((CODES.get(status, 1) for status in statuses), key=FROM_BEST_TO_WORST.index)
