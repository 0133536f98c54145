"""How far single columns have moved, from short summaries that a model file can keep.

Distances are in the units of each column.
"""

import math
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.problem.backends import backend_of
from drsvm.utils.annotations import Matrix

# The largest number of rows that are summarised; they are evenly spaced
MOST_ROWS = 10_000
# Number of quantiles of a column of numbers (a multiple of 3, since model files may
# keep every third), and of the levels of a text that are kept
QUANTILES = 33
LEVELS = 50
EMPTY = "(empty)"
# All levels that are not known, and a share below which there are none
OTHERS = "(others)"
NO_SHARE = 1e-9
# The normal quantile of intervals of 95 %
STANDARD_ERRORS = 1.96


class Summary(NamedTuple):
    """Quantiles of the numbers in a column, or shares of its texts.

    Empty cells have a share, too.
    """

    name: str
    # Number of cells
    n: int
    # None if the column has texts, or no number
    quantiles: list[float] | None
    # Shares of the most frequent texts; of numbers: the share of empty cells
    shares: dict[str, float]


class ColumnShift(NamedTuple):
    """How far a column has moved."""

    name: str
    # In the units of the column; of texts or empty cells: the share that has changed
    distance: float
    by_chance: float
    # The distance in standard deviations of the column before; of texts: the share
    size: float

    def __str__(self) -> str:
        return f"{self.name} {self.distance:.3g} (by chance {self.by_chance:.2g})"


def summaries(X: Matrix, names: Iterable[Any] | None = None) -> list[Summary]:
    """Return a summary of every column of a table, an array or a sparse matrix.

    They may be given other names; columns without a name are then left out.
    """
    backend = backend_of(X)
    if backend is not None:
        X = backend.sample(X, MOST_ROWS)
    own_names: Iterable[Any] = getattr(X, "columns", range(X.shape[1]))
    if names is None:
        names = own_names
    step = max(1, math.ceil(X.shape[0] / MOST_ROWS))
    rows = slice(None, None, step)
    if sparse.issparse(X):
        X = X.tocsr()[rows].tocsc()
    found = []
    for name, own_name in zip(names, own_names, strict=False):
        if sparse.issparse(X):
            cells = X[:, [own_name]].toarray()[:, 0]
        elif hasattr(X, "columns"):
            cells = np.asarray(X[own_name])[rows]
        else:
            cells = np.asarray(X)[rows, own_name]
        numbers = _numbers(cells)
        if numbers is None:
            summary = _summary_of_texts(str(name), cells)
        else:
            summary = _summary_of_numbers(str(name), numbers)
        found.append(summary)
    return found


def _summary_of_numbers(name: str, numbers: np.ndarray) -> Summary:
    """Return quantiles of the finite numbers; the other cells are empty."""
    known = numbers[np.isfinite(numbers)]
    quantiles = None
    if len(known):
        # The middles of parts of equal mass
        places = (np.arange(QUANTILES) + 0.5) / QUANTILES
        quantiles = np.quantile(known, places, method="inverted_cdf").tolist()
    n = len(numbers)
    empty = 1.0 - len(known) / max(n, 1)
    return Summary(name, n, quantiles, {EMPTY: empty})


def _numbers(cells: np.ndarray) -> np.ndarray | None:
    """Return a column as numbers, dates in seconds, or None if it has texts."""
    if cells.dtype == object:
        # Codes such as "01" are texts, although they can be read as numbers.
        for cell in cells.tolist():
            if isinstance(cell, str):
                return None
    if cells.dtype.kind == "M":
        cells = cells.astype("datetime64[s]")
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _summary_of_texts(name: str, cells: np.ndarray) -> Summary:
    """Return the shares of the most frequent texts."""
    texts = []
    for cell in cells.tolist():
        # NaN, which is not equal to itself, is an empty cell as well.
        if cell is None or cell != cell:
            texts.append(EMPTY)
        else:
            texts.append(str(cell))
    levels, counts = np.unique(texts, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:LEVELS]
    shares = (counts[most] / len(cells)).tolist()
    named_shares = dict(zip(levels[most].tolist(), shares, strict=True))
    return Summary(name, len(cells), None, named_shares)


def column_shifts(before: list[Summary], after: list[Summary]) -> list[ColumnShift]:
    """Return how far columns of the same names have moved, the largest first.

    Columns that have not moved are left out.
    """
    known = {summary.name: summary for summary in before}
    shifts = []
    for new in after:
        if new.name not in known:
            continue
        old = known[new.name]
        # The error of a difference of shares, in units of √(p (1 − p))
        noise = STANDARD_ERRORS * math.sqrt(1.0 / old.n + 1.0 / new.n)
        if old.quantiles is not None and new.quantiles is not None:
            shift = _shift_of_numbers(old.name, old.quantiles, new.quantiles, noise)
            shifts.append(shift)
        if old.quantiles is not None:
            # The shares of a column of numbers are those of its empty cells.
            name = f"{old.name} {EMPTY}"
            shares = old.shares, new.shares
        else:
            name = old.name
            shares = _with_others(old.shares, new.shares)
        shifts.append(_shift_of_shares(name, *shares, noise))
    moved = [shift for shift in shifts if shift.distance > 0.0]
    return sorted(moved, key=attrgetter("size"), reverse=True)


def _with_others(
    before: dict[str, float], now: dict[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the shares of the levels that are known before, and of all others.

    Not all may be known: those of single rows, and beyond the most frequent ones.
    """
    others = 1.0 - sum(before.values())
    if others < NO_SHARE:
        return before, now
    same = {level: now.get(level, 0.0) for level in before}
    others_now = 1.0 - sum(same.values())
    return {**before, OTHERS: others}, {**same, OTHERS: others_now}


def _shift_of_numbers(
    name: str,
    quantiles_before: list[float],
    quantiles_now: list[float],
    noise: float,
) -> ColumnShift:
    """Return the mean distance of quantiles: the one-dimensional transport distance."""
    # A file may have kept fewer quantiles: the middle ones of as many parts.
    step = len(quantiles_now) // len(quantiles_before)
    before = np.array(quantiles_before)
    now = np.array(quantiles_now[step // 2 :: step])
    distance = float(np.abs(before - now).mean())
    # The distance is ∫ |F − G|, and F − G has the standard error √(p (1 − p)) (up to
    # the noise) where the share p of all rows is below. Its integral is what the
    # distance may be by chance.
    pooled = np.sort(np.concatenate([before, now]))
    below = np.arange(1, len(pooled)) / len(pooled)
    spread = np.sqrt(below * (1.0 - below)) @ np.diff(pooled)
    deviation = float(before.std() or pooled.std() or 1.0)
    return ColumnShift(name, distance, float(noise * spread), distance / deviation)


def _shift_of_shares(
    name: str,
    shares_before: dict[str, float],
    shares_now: dict[str, float],
    noise: float,
) -> ColumnShift:
    """Return the share of rows that has another level than before."""
    levels = sorted(shares_before.keys() | shares_now.keys())
    before = np.array([shares_before.get(level, 0.0) for level in levels])
    now = np.array([shares_now.get(level, 0.0) for level in levels])
    middle = 0.5 * (before + now)
    spread = float(np.sqrt(middle * (1.0 - middle)).sum())
    # Rare levels may be missing from either summary, so that sums differ.
    lost = float(np.maximum(before - now, 0.0).sum())
    gained = float(np.maximum(now - before, 0.0).sum())
    moved = max(lost, gained)
    # Half of the changes of all levels together is the share that has moved.
    return ColumnShift(name, moved, 0.5 * noise * spread, moved)
