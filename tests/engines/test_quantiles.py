"""Quantiles from histograms of numbers in several places, against sorting all of them."""

import math

import numpy as np
import pytest

from drsvm.engines.sharded import quantiles
from drsvm.engines.sharded.quantiles import MASS, MOMENT, Bins, Histogram, crossing


@pytest.fixture
def few_numbers(monkeypatch):
    """Numbers are fetched only when very few are left, so that several histograms are needed."""
    monkeypatch.setattr(quantiles, "FEW", 3)
    monkeypatch.setattr(quantiles, "N_BINS", 8)


def looks(numbers, masses, cuts=(10, 50)):
    """Return a function for histograms of numbers in shards, and the list of all queries."""
    asked = []

    def look(path, lam):
        asked.append((path, lam))
        pieces = zip(np.split(numbers, cuts), np.split(masses, cuts), strict=True)
        first, *others = (Histogram.of(*piece, path, lam) for piece in pieces)
        return sum(others, first), None

    return look, asked


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("which", [MASS, MOMENT])
@pytest.mark.parametrize("kind", ["even", "ties", "outliers", "tiny"])
def test_quantiles_from_histograms_are_exact(few_numbers, descending, which, kind):
    rng = np.random.default_rng(3)
    numbers, masses = rng.exponential(size=200), rng.random(200)
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
        number, mass, moment = crossing(look, Bins(0.0, math.inf, 1.0, descending), goal, which)
        assert number == numbers[order][first]
        before = numbers[order] > number if descending else numbers[order] < number
        assert mass == pytest.approx(masses[order][before].sum())
        assert moment == pytest.approx((masses * numbers)[order][before].sum())
    assert max(len(path) for path, _ in asked) >= 2


def test_numbers_beyond_the_limits():
    numbers = np.array([-1.0, 0.0, 1e300, math.inf])
    with np.errstate(all="ignore"):
        assert Bins(0.0, math.inf, 1.0).bins_of(numbers).tolist() == [0, 0, quantiles.N_BINS - 1, quantiles.N_BINS - 1]
    assert Bins(0.0, 2.0, 1.0, descending=True).bins_of(numbers).tolist() == [quantiles.N_BINS - 1] * 2 + [0] * 2


def test_many_equal_numbers_are_few():
    numbers = np.full(10 * quantiles.FEW, 2.5)
    look, asked = looks(numbers, np.ones(len(numbers)))
    assert crossing(look, Bins(0.0, math.inf, 1.0), 7.0, MASS)[0] == 2.5
    assert len(asked) == 1
