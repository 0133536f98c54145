"""Rows that occur more than once: copies of each other, or alike by nature.

Copies on both sides of a split make held-out figures too good, so they are kept
together. Rows of a table with a few categories often coincide, and keeping those
together would leave a test of unseen combinations only. They differ from copies in a
column with many different values: if rows that agree in all other columns agree in this
one, too, far more often than chance explains, they are copies. A table of categories
only, or of one such column, has none.

A row is known by its hash: the sum, in 64-bit integers, of one number for each of its
cells. Without a column, it is the sum without that column's number.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from drsvm.tables.arrow_columns import Column, Table
from drsvm.tables.values import Coded, as_floats, coded
from drsvm.utils.annotations import Matrix

# Times more often than by chance that a column agrees in rows that agree in all others
CLEARLY_MORE = 20.0
# A column of a sparse matrix with fewer entries than this share of its rows is mostly
# zero: it agrees too often by chance to be informative.
FILLED = 0.8
MIXED_CELLS = 1 << 16


def copies_of(X: Table | Matrix) -> np.ndarray | None:
    """Return a number for every row, the same for copies; None if there are none.

    Parameters
    ----------
    X : table, data frame, array or sparse matrix of shape (n, d)
        The rows.

    Returns
    -------
    array of shape (n,), or None
        The groups of rows that are copies of each other.
    """
    if hasattr(X, "tocsr"):
        return _copies_of_sparse(X.tocsr())
    if len(X.shape) != 2:
        return None
    if hasattr(X, "column_names"):
        return copies_among(X.columns)
    # A data frame of pandas has positions in `iloc`, one of polars like an array.
    cells = getattr(X, "iloc", X)
    return copies_among(cells[:, place] for place in range(X.shape[1]))


def copies_among(columns: Iterable[Column | Coded]) -> np.ndarray | None:
    """Return the same as `copies_of` for rows given by their columns."""
    terms = list(map(_codes, columns))
    # Many short columns are mixed at once.
    size = 1
    if terms:
        size = max(1, MIXED_CELLS // max(1, len(terms[0])))
    for first in range(0, len(terms), size):
        codes = np.stack(terms[first : first + size])
        # The place of the column is mixed in, too: otherwise, (1, 2) and (2, 1) would
        # have the same sum.
        places = np.arange(first, first + len(codes), dtype=np.uint64)
        terms[first : first + size] = _mixed(_mixed(codes) + places[:, None])
    return _groups(sum(terms, start=np.zeros(1, dtype=np.uint64)), iter(terms))


def _copies_of_sparse(X: Matrix) -> np.ndarray | None:
    """Return the same as `copies_of` for a CSR matrix; zeros add nothing to a hash."""
    entries = _mixed(_mixed(X.indices.astype(np.uint64)) ^ _codes(X.data))
    n, d = X.shape
    # What each entry adds to the hash of its row
    added = type(X)((entries, X.indices, X.indptr), shape=(n, d))
    filled = np.flatnonzero(np.bincount(X.indices) > FILLED * n)
    terms = (added[:, [column]].toarray().ravel() for column in filled)
    return _groups(added @ np.ones(d, dtype=np.uint64), terms)


def held_out_rows(
    y: np.ndarray,
    size: float,
    seed: int | np.random.RandomState | None,
    copies: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into training and test rows, stratified by class.

    Copies stay together where possible.

    Parameters
    ----------
    y : array of shape (n,)
        The classes.
    size : float
        The share of the rows for the test or, from 1 on, their number.
    seed : int, RandomState or None
        For the random choice.
    copies : array of shape (n,), or None
        What `copies_of` returns.

    Returns
    -------
    train, test : arrays
        The positions of the rows.
    """
    from sklearn.model_selection import train_test_split
    from sklearn.utils import check_random_state

    if copies is None or not can_stay_together(y, copies):
        rows = np.arange(len(y))
        train, test = train_test_split(
            rows, test_size=size, random_state=seed, stratify=y
        )
        return train, test
    # One row of each group is drawn, and the others go with it.
    first = first_of_each(copies)
    share = size / len(y) if size >= 1 else size
    _, test = train_test_split(
        first, test_size=share, random_state=seed, stratify=y[first]
    )
    is_test = np.isin(copies, copies[test])
    rows = check_random_state(seed).permutation(len(y))
    return rows[~is_test[rows]], rows[is_test[rows]]


def first_of_each(copies: np.ndarray) -> np.ndarray:
    """Return the first of all rows that are copies of each other, in their order."""
    return np.sort(np.unique(copies, return_index=True)[1])


def can_stay_together(y: np.ndarray, copies: np.ndarray) -> bool:
    """Return True if every class has a different row for each side of a split."""
    classes, counts = np.unique(y[first_of_each(copies)], return_counts=True)
    return len(classes) == len(np.unique(y)) and bool(counts.min() >= 2)


def about_copies(y: np.ndarray, copies: np.ndarray | None) -> list[str]:
    """Return a note on the copies in a split."""
    if copies is None:
        return []
    counts = np.unique(copies, return_counts=True)[1]
    n_repeated = counts[counts > 1].sum()
    repeated = f"{n_repeated:,} of {len(copies):,} rows occur more than once"
    if can_stay_together(y, copies):
        return [f"{repeated}; copies of a row are held out together, or not at all."]
    why = "some of them both in training and in the test, whose figures are therefore"
    return [f"{repeated}, {why} too good."]


def _groups(hashes: np.ndarray, terms: Iterator[np.ndarray]) -> np.ndarray | None:
    """Return the group of every row if there are copies.

    Parameters
    ----------
    hashes : array of shape (n,)
        The hashes of the rows.
    terms : iterator over arrays of shape (n,)
        What each column adds to the hashes.
    """
    different, groups = np.unique(hashes, return_inverse=True)
    if len(different) == len(hashes):
        return None
    n_equal = _equal_pairs(hashes)
    n_pairs = 0.5 * len(hashes) * (len(hashes) - 1.0)
    for term in terms:
        # The share of all pairs of rows that agree in this column: as many of those
        # that agree in all others would agree in it, if it did not depend on them.
        chance = _equal_pairs(term) / n_pairs
        needed = CLEARLY_MORE * chance
        # No share is above 1; the sums without the column take long to count.
        if needed < 1.0 and n_equal > needed * _equal_pairs(hashes - term):
            return groups
    return None


def _equal_pairs(values: np.ndarray) -> float:
    """Return the number of pairs of entries that are equal."""
    counts = np.unique(values, return_counts=True)[1]
    return 0.5 * float((counts * (counts - 1.0)).sum())


def _codes(column: Column | Coded) -> np.ndarray:
    """Return a column as 64-bit numbers that are equal where the cells are."""
    if isinstance(column, Coded):
        cells = column
    else:
        numbers = as_floats(column)
        if numbers is not None:
            # Equal numbers get the same bits: NaN has many, and −0.0 + 0.0 is 0.0.
            numbers = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
            return numbers.view(np.uint64)
        cells = coded(column)
    return cells.codes.astype(np.int64).view(np.uint64)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return 64-bit numbers whose every bit depends on all given bits (SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))
