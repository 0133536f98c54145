"""Heavy tails, outliers, near-duplicates, and weights and columns over many decades: `auto` proves its answer."""

import numpy as np
import pytest
from thorough import LONG, unless_long

from drsvm import Problem, Status, solve

KINDS = {
    "normal": lambda r, n, d: r.normal(size=(n, d)),
    "cauchy": lambda r, n, d: r.standard_t(1.0, size=(n, d)),
    "t2": lambda r, n, d: r.standard_t(2.0, size=(n, d)),
    "outliers": lambda r, n, d: with_outliers(r, r.normal(size=(n, d))),
    "near-duplicates": lambda r, n, d: (
        r.normal(size=(200, d))[r.integers(0, 200, n)] + 1e-9 * r.normal(size=(n, d))
    ),
    "lognormal": lambda r, n, d: np.exp(2 * r.normal(size=(n, d))),
    "lattice": lambda r, n, d: r.integers(-1, 2, size=(n, d)).astype(float),
    "clusters": lambda r, n, d: (
        r.normal(size=(n, d)) * 0.01 + 10.0 * r.integers(0, 3, size=(n, 1))
    ),
    "scales": lambda r, n, d: r.normal(size=(n, d)) * 10.0 ** r.uniform(-3, 3, d),
}
"""Ways to draw rows."""


def with_outliers(r, X, n_outliers=30, decades=(2, 6)):
    outliers = r.choice(len(X), n_outliers, replace=False)
    X[outliers] *= 10.0 ** r.uniform(*decades, (n_outliers, 1))
    return X


def instance(seed, sizes):
    """Return a problem: most have heavy tails, extreme weights or prices that differ from row to row."""
    r = np.random.default_rng(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    n = int(r.choice(sizes))
    d = int(r.choice([5, 10, 20]))
    y = np.where(r.random(n) < r.choice([0.5, 0.05, 0.01]), 1.0, -1.0)
    y[0] = 1
    y[-1] = -1
    X = KINDS[kind](r, n, d) + 0.5 * np.outer(y, r.normal(size=d))
    y[r.choice(n, n // 10)] *= -1
    decades = r.choice([0, 0, 3, 12])
    flip_cost = (
        r.choice([0.3, 1.0, 100.0, np.inf], n)
        if r.random() < 0.4
        else float(r.choice([0.3, 1, 5, np.inf]))
    )
    return (
        X.astype(np.float32) if LONG and r.random() < 0.3 else X,
        y,
        {
            "radius": float(10.0 ** r.uniform(-3, 0)),
            "norm": (1, 2, np.inf)[seed // len(KINDS) % 3],
            "flip_cost": flip_cost,
            "fit_intercept": bool(r.random() < 0.7),
            "sample_weight": 10.0 ** r.uniform(-decades, decades, n)
            if decades
            else None,
            "l2": float(r.choice([0, 0, 0.01])),
        },
    )


@pytest.mark.parametrize("seed", unless_long((3, 10, 21), range(0, 121, 3)))
def test_auto_proves_its_answer(seed):
    X, y, options = instance(seed, unless_long([12_000], [200_000, 300_000, 500_000]))
    assert solve(Problem(X, y, **options)).gap <= 1e-6


@pytest.mark.parametrize("screening", [True, False])
def test_a_few_rows_that_a_sample_misses_do_not_spoil_the_start(screening):
    r = np.random.default_rng(0)
    y = np.where(r.random(20_000) < 0.5, 1, -1)
    X = with_outliers(
        r, r.normal(size=(20_000, 20)) + 0.5 * np.outer(y, r.normal(size=20))
    )
    y[r.choice(20_000, 2_000)] *= -1
    problem = Problem(X, y, radius=0.1, flip_cost=1.0, norm=np.inf, fit_intercept=True)
    result = solve(problem, "interior-point", screening=screening)
    assert result.gap <= 1e-8 and result.n_iter < 60


@pytest.mark.parametrize("seed", unless_long((1, 12, 19, 63), range(400)))
def test_weights_over_many_decades(seed):
    r = np.random.default_rng(seed)
    d = int(r.integers(1, 6))
    X = r.normal(size=(5, d)) * 10.0 ** r.uniform(-3, 3, d)
    y = np.append(np.where(r.random(3) < 0.5, 1, -1), [1, -1])
    options = {
        "radius": float(10 ** r.uniform(-4, 0)),
        "flip_cost": float(r.choice([0.3, 1, 5, np.inf])),
    }
    options |= {
        "norm": (1, 2, np.inf)[seed % 3],
        "fit_intercept": bool(r.random() < 0.7),
    }
    assert (
        solve(Problem(X, y, sample_weight=10.0 ** r.uniform(-13, 0, 5), **options)).gap
        <= 1e-6
    )


def test_auto_tries_another_solver_if_the_first_one_fails(set_values):
    X, y, options = instance(2, [100])
    problem = Problem(X, y, **options)
    set_values(default_max_iter=2)
    assert solve(problem, "interior-point").gap > 1e-3
    result = solve(problem)
    assert result.gap <= 1e-6 and result.n_iter > 2
    assert result.info["handed_over_to"] != "interior-point"
    assert solve(problem, max_iter=2).status is Status.ITERATION_LIMIT  # as asked for
