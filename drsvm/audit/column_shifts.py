"""How far single columns have moved, each in its own units, from short summaries that a model file can keep."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.problem.backends import backend_of
from drsvm.utils.annotations import Matrix

ROWS = 10_000  # at most as many evenly spaced rows are summarised
# of numbers, and of texts
QUANTILES = 33
LEVELS = 50
EMPTY = "(empty)"
CHANCE = 1.96  # 95 % of a share lie within as many of its standard errors


class Summary(NamedTuple):
    """Quantiles of the numbers in a column, or shares of its texts.

    Empty cells have a share, too.
    """

    name: str
    n: int
    quantiles: list[float] | None
    shares: dict[str, float]


class ColumnShift(NamedTuple):
    """How far a column has moved."""

    name: str
    # In the units of the column; of texts or empty cells: the share that is now another
    # one
    distance: float
    by_chance: float
    # The distance in standard deviations of the column before; of texts: the share
    size: float

    def __str__(self) -> str:
        return f"{self.name} {self.distance:.3g} (by chance {self.by_chance:.2g})"


def summaries(X: Matrix, names: Sequence[str] | None = None) -> list[Summary]:
    """Return a summary of every column of a table, an array or a sparse matrix, perhaps under other names."""
    if names is not None:
        known = zip(names, (values for _, values in _columns(X)), strict=False)
    else:
        known = _columns(X)
    return [_summary(str(name), values) for name, values in known]


def _columns(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    backend = backend_of(X)
    X = X if backend is None else backend.sample(X, ROWS)
    rows = slice(None, None, max(1, -(-X.shape[0] // ROWS)))
    if hasattr(X, "columns"):
        yield from ((name, np.asarray(X[name])[rows]) for name in X.columns)
    elif sparse.issparse(X):
        some = X.tocsr()[rows].tocsc()
        yield from (
            (place, some[:, [place]].toarray()[:, 0]) for place in range(X.shape[1])
        )
    else:
        yield from enumerate(np.asarray(X)[rows].T)


def _summary(name: str, values: np.ndarray) -> Summary:
    n = len(values)
    try:
        if values.dtype.kind == "M":
            numbers = values.astype("datetime64[s]")
        else:
            numbers = values
        if values.dtype == object and any(
            isinstance(value, str) for value in values.tolist()
        ):
            raise TypeError  # codes such as 01 are levels
        numbers = numbers.astype(np.float64)
    except (TypeError, ValueError):
        texts = np.array(
            [
                EMPTY if value is None or value != value else str(value)
                for value in values.tolist()
            ]
        )
        levels, counts = np.unique(texts, return_counts=True)
        most = np.argsort(-counts, kind="stable")[:LEVELS]
        return Summary(
            name,
            n,
            None,
            dict(zip(levels[most].tolist(), (counts[most] / n).tolist(), strict=True)),
        )
    known = numbers[np.isfinite(numbers)]
    places = (np.arange(QUANTILES) + 0.5) / QUANTILES
    if len(known):
        quantiles = np.quantile(known, places, method="inverted_cdf").tolist()
    else:
        quantiles = None
    return Summary(name, n, quantiles, {EMPTY: 1.0 - len(known) / max(n, 1)})


def column_shifts(before: list[Summary], after: list[Summary]) -> list[ColumnShift]:
    """Return how far columns with the same names have moved, if they have, from the one that moved most."""
    known = {each.name: each for each in before}
    shifts = [
        part
        for each in after
        if each.name in known
        for part in _moves(known[each.name], each)
    ]
    return sorted(
        (each for each in shifts if each.distance > 0.0), key=lambda each: -each.size
    )


def _moves(old: Summary, new: Summary) -> Iterator[ColumnShift]:
    noise = CHANCE * np.sqrt(1.0 / old.n + 1.0 / new.n)
    if old.quantiles is not None and new.quantiles is not None:
        step = len(new.quantiles) // len(old.quantiles)  # a file may have few
        were = np.array(old.quantiles)
        now = np.array(new.quantiles[step // 2 :: step])
        distance = float(np.abs(were - now).mean())
        both = np.sort(np.concatenate([were, now]))
        share = np.arange(1, len(both)) / len(both)
        deviation = float(were.std() or both.std() or 1.0)
        chance = float(noise * (np.sqrt(share * (1.0 - share)) @ np.diff(both)))
        yield ColumnShift(old.name, distance, chance, distance / deviation)
    names = sorted(old.shares.keys() | new.shares.keys())
    if names == [EMPTY] and old.quantiles is None and new.quantiles is None:
        return
    p, q = (
        np.array([each.shares.get(name, 0.0) for name in names]) for each in (old, new)
    )
    middle = 0.5 * (p + q)
    chance = 0.5 * noise * float(np.sqrt(middle * (1.0 - middle)).sum())
    moved = max(
        float(np.maximum(p - q, 0.0).sum()), float(np.maximum(q - p, 0.0).sum())
    )
    yield ColumnShift(
        old.name if old.quantiles is None else f"{old.name} {EMPTY}",
        moved,
        chance,
        moved,
    )
