"""Rows in an order: of names, and as blocks of rows show it."""

import numpy as np
import pytest
from scipy import sparse

from drsvm.tables.row_order import columns_in_order
from drsvm.tables.values import in_order

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["10", "9", "-1"], ["-1", "9", "10"]),
        (["2024-10", "2024-09"], ["2024-09", "2024-10"]),
        (["03.02.2024", "04.01.2024"], ["04.01.2024", "03.02.2024"]),
        (
            ["2024-01-02 10:00", "2024-01-02 09:00"],
            ["2024-01-02 09:00", "2024-01-02 10:00"],
        ),
        (["winter", "autumn"], None),
    ],
)
def test_names_that_are_numbers_months_or_dates_are_sorted(names, expected):
    assert in_order(names) == expected


def table(n, kind, seed=0):
    """Return rows of several kinds of columns, rare ones among them, and labels of 10 %."""
    rng = RNG(seed)
    X = np.column_stack(
        [
            rng.standard_cauchy(n),
            rng.integers(0, 3, n),
            rng.random(n) < 0.01,
            rng.random(n) < 60 / n,
            np.zeros(n),
        ]
    )
    y = rng.random(n) < 0.1
    time = np.arange(n) / n
    if kind == "moved":
        X[:, 0] = rng.normal(size=n) + 0.5 * time
    elif kind == "grows":
        X[:, 0] = time + 0.02 * rng.normal(size=n)
    elif kind == "labels":
        y = rng.random(n) < 0.1 + 0.2 * time
    return X, y


def test_what_differs_between_blocks_and_what_grows():
    for kind, differing, growing in [
        ("moved", [0], []),
        ("grows", [0], [0]),
        ("labels", [], []),
    ]:
        X, y = table(20_000, kind)
        for rows in (X, sparse.csr_array(X)):
            found = columns_in_order(rows, y)
            assert found is not None, kind
            assert np.flatnonzero(found[0]).tolist() == differing
            assert np.flatnonzero(found[1]).tolist() == growing
        order = RNG(1).permutation(len(y))
        assert columns_in_order(X[order], y[order]) is None


def test_rows_that_are_sorted_by_their_labels_are_not_in_the_order_of_time():
    X, y = table(2000, "grows")
    order = np.argsort(y, kind="stable")
    assert columns_in_order(X[order], y[order]) is None


@pytest.mark.thorough
@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_shuffled_rows_are_not_in_an_order(n):
    found = 0
    for seed in range(400):
        X, y = table(n, "independent", seed)
        found += columns_in_order(X, y) is not None
    assert found == 0
