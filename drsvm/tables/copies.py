"""Rows that occur more than once: copies of each other, or alike by nature.

Copies on both sides of a split make held-out figures too good, so they are kept
together. Rows of a table with a few categories often coincide, and keeping those
together would leave a test of unseen combinations only. They differ from copies in a
column with many different values: if rows that agree in all other columns agree in this
one, too, far more often than chance explains, they are copies. A table of categories
only, or of one such column, has none.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from drsvm.tables.arrow_tables import Column, Table
from drsvm.tables.values import Coded, coded, typed
from drsvm.utils.annotations import Matrix

# Times more often than by chance that a column agrees in rows that agree in all others
CLEARLY_MORE = 20.0


def copies_of(X: Table | Matrix) -> np.ndarray | None:
    """Return a number for every row of a table, array or sparse matrix, the same for copies; None if there are none."""
    if not hasattr(X, "tocsr"):
        if len(X.shape) != 2:
            return None
        if hasattr(X, "column_names"):  # pyarrow
            return copies_among(X.columns)
        cells = getattr(X, "iloc", X)  # pandas; polars has the indices of arrays
        return copies_among(cells[:, place] for place in range(X.shape[1]))
    X = X.tocsr()
    entries = _mixed(_mixed(X.indices.astype(np.uint64)) ^ _codes(X.data))
    sums = np.concatenate(
        [np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)]
    )
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))

    def terms() -> Iterator[np.ndarray]:
        # A column that is mostly 0 agrees too often by chance to be informative.
        for column in np.flatnonzero(
            np.bincount(X.indices, minlength=X.shape[1]) > 0.8 * X.shape[0]
        ):
            mine = column == X.indices
            term = np.zeros(X.shape[0], dtype=np.uint64)
            term[rows[mine]] = entries[mine]
            yield term

    return _groups(sums[X.indptr[1:]] - sums[X.indptr[:-1]], terms())


def copies_among(columns: Iterable[Column | Coded]) -> np.ndarray | None:
    """Return the same for rows given by their columns: of pyarrow, pandas or numpy, or coded."""
    # The place is mixed in, too: equal numbers in two columns must not change places
    # unnoticed.
    terms = [
        _mixed(_mixed(_codes(column)) + np.uint64(place))
        for place, column in enumerate(columns)
    ]
    return _groups(sum(terms, start=np.zeros(1, dtype=np.uint64)), iter(terms))


def held_out_rows(
    y: np.ndarray,
    size: float,
    seed: int | np.random.RandomState | None,
    copies: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return training rows and a share or number of test rows, stratified.

    Copies stay together where possible.
    """
    from sklearn.model_selection import train_test_split
    from sklearn.utils import check_random_state

    if copies is None or not can_stay_together(y, copies):
        train, test = train_test_split(
            np.arange(len(y)), test_size=size, random_state=seed, stratify=y
        )
        return train, test
    first = first_of_each(copies)
    share = size / len(y) if size >= 1 else size
    test = train_test_split(
        first, test_size=share, random_state=seed, stratify=y[first]
    )[1]
    is_test = np.isin(copies, copies[test])
    rows = check_random_state(seed).permutation(len(y))
    return rows[~is_test[rows]], rows[is_test[rows]]


def first_of_each(copies: np.ndarray) -> np.ndarray:
    """Return the first one of all rows that are copies of each other, in the order of the table."""
    return np.sort(np.unique(copies, return_index=True)[1])


def can_stay_together(y: np.ndarray, copies: np.ndarray) -> bool:
    """Return True if every class has at least two different rows, one for each side of a split."""
    classes, counts = np.unique(y[first_of_each(copies)], return_counts=True)
    return len(classes) == len(np.unique(y)) and bool(counts.min() >= 2)


def about_copies(y: np.ndarray, copies: np.ndarray | None) -> list[str]:
    """Return a note on the copies in a split."""
    if copies is None:
        return []
    counts = np.unique(copies, return_counts=True)[1]
    repeated = (
        f"{counts[counts > 1].sum():,} of {len(copies):,} rows occur more than once"
    )
    if can_stay_together(y, copies):
        return [f"{repeated}; copies of a row are held out together, or not at all."]
    return [
        f"{repeated}, some of them both in training and in the test, whose figures are therefore too good."
    ]


def _groups(hashes: np.ndarray, terms: Iterator[np.ndarray]) -> np.ndarray | None:
    """Return the group of every row if there are copies.

    The terms are what each column adds to the hashes.
    """
    different, groups = np.unique(hashes, return_inverse=True)
    if len(different) == len(hashes):
        return None
    equal = _equal_pairs(hashes)
    pairs = 0.5 * len(hashes) * (len(hashes) - 1.0)
    for term in terms:
        chance = _equal_pairs(term) / pairs
        if CLEARLY_MORE * chance < 1.0 and equal > CLEARLY_MORE * chance * _equal_pairs(
            hashes - term
        ):
            return groups
    return None


def _equal_pairs(values: np.ndarray) -> float:
    counts = np.unique(values, return_counts=True)[1]
    return 0.5 * float((counts * (counts - 1.0)).sum())


def _codes(column: Column | Coded) -> np.ndarray:
    """Return a column as 64-bit numbers that are equal where the cells are."""
    numbers = None if isinstance(column, Coded) else typed(column)
    if numbers is None:
        cells = column if isinstance(column, Coded) else coded(column)
        return cells.codes.astype(np.int64).view(np.uint64)
    # One kind of NaN, and no -0.0
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return 64-bit numbers in which every bit depends on all bits of the given ones (SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))
