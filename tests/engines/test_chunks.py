"""Chunks of given data: errors, weights and chunks without rows.

And quantiles of numbers in several places.
"""

import math

import numpy as np
import pytest
from sharded_here import check, samples, sharded_problem
from thorough import for_each

from drsvm import Problem
from drsvm.engines.sharded import MASS, MOMENT, Bins, Histogram, crossing

DATA = samples()


def test_errors_name_the_chunk():
    X, y = DATA
    broken = X.copy()
    broken[150, 2] = np.nan
    for columns, message in [
        ((broken, y), "In chunk 1: X has nan at row 50, column 2"),
        ((X, np.arange(400) % 3), "exactly two labels, got 3"),
        ((X, np.ones(400)), "exactly two labels, got 1"),
        ((X, y, -np.ones(400)), "In chunk 0: sample_weight has -1"),
        ((X, y, np.zeros(400)), "sample_weight is 0 for every row"),
    ]:
        with pytest.raises(ValueError, match=message):
            sharded_problem(*columns[:2], [100], *columns[2:])


def test_chunks_must_have_the_same_features():
    class Uneven:
        def __getitem__(self, rows):
            return np.ones((rows.stop - rows.start, 2 if rows.start == 0 else 3))

    with pytest.raises(
        ValueError, match="Chunk 1 of X has 3 columns, but chunk 0 has 2"
    ):
        sharded_problem(Uneven(), np.array([1, -1, 1, -1]), [2])


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_huge_and_tiny_weights(scale):
    check(sharded_problem(*DATA, [100], np.full(400, scale)), Problem(*DATA))


def test_empty_chunks_and_chunks_without_weight():
    weights = np.ones(400)
    weights[100:200] = 0.0
    problem = sharded_problem(*DATA, [0, 100, 200, 200], weights)
    assert (problem.n_given, problem.n_rows, len(problem.rows.coordinator.shards)) == (
        400,
        300,
        2,
    )
    check(problem, Problem(*DATA, sample_weight=weights))


@pytest.fixture
def few_numbers(set_values):
    """Numbers are fetched only when very few are left, so that several histograms are needed."""
    set_values(numbers_to_fetch=3, n_bins=8)


def looks(numbers, masses, cuts=(10, 50)):
    """Return a function for histograms of numbers in shards, and the list of all queries."""
    asked = []

    def look(path, lam):
        asked.append((path, lam))
        pieces = zip(np.split(numbers, cuts), np.split(masses, cuts), strict=True)
        first, *others = (Histogram.of(*piece, path, lam) for piece in pieces)
        return sum(others, first), None

    return look, asked


@for_each(
    kind=["even", "ties", "outliers", "tiny"],
    which=[MASS, MOMENT],
    descending=[False, True],
)
def test_quantiles_from_histograms_are_exact(few_numbers, descending, which, kind):
    rng = np.random.default_rng(3)
    numbers = rng.exponential(size=200)
    masses = rng.random(200)
    numbers = {
        "even": numbers,
        "ties": np.ceil(2 * numbers),
        "outliers": np.where(numbers > 2, 1e9 * numbers, numbers),
        "tiny": 1e-12 * numbers,
    }[kind]
    order = np.argsort(numbers)[:: -1 if descending else 1]
    sums = np.cumsum([masses[order], (masses * numbers)[order]], axis=1)
    look, asked = looks(numbers, masses)
    for share in (0.0, 0.01, 0.5, 0.97):
        goal = share * sums[which, -1]
        first = int(np.searchsorted(sums[which], goal, side="right"))
        number, mass, moment = crossing(
            look, Bins(0.0, math.inf, 1.0, descending), goal, which
        )
        assert number == numbers[order][first]
        before = numbers[order] > number if descending else numbers[order] < number
        assert mass == pytest.approx(masses[order][before].sum())
        assert moment == pytest.approx((masses * numbers)[order][before].sum())
    assert max(len(path) for path, _ in asked) >= 2


def test_numbers_beyond_the_limits(few_numbers):
    numbers = np.array([-1.0, 0.0, 1e300, math.inf])
    with np.errstate(all="ignore"):
        assert Bins(0.0, math.inf, 1.0).bins_of(numbers).tolist() == [
            0,
            0,
            7,
            7,
        ]
    assert (
        Bins(0.0, 2.0, 1.0, descending=True).bins_of(numbers).tolist()
        == [7] * 2 + [0] * 2
    )


def test_many_equal_numbers_are_few(few_numbers):
    numbers = np.full(30, 2.5)
    look, asked = looks(numbers, np.ones(len(numbers)))
    assert crossing(look, Bins(0.0, math.inf, 1.0), 7.0, MASS)[0] == 2.5
    assert len(asked) == 1
