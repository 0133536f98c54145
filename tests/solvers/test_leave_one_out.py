"""Decisions without a row, from a formula: compared with training again, and on what they do not depend."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from thorough import examples

from drsvm import Problem, solve
from drsvm.solvers import MAX_FEATURES, can_leave_out, decisions_without

NORMS = (1, 2, math.inf)
BALL = {"radius": 0.05, "l2": 0.05, "flip_cost": math.inf, "fit_intercept": True}


def drawn(seed: int, n: int = 60, d: int = 8, **parameters) -> Problem:
    """Return rows of two overlapping classes, some with wrong labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.3, 1, -1)
    return Problem(X, y, **(BALL | parameters))


def without(problem: Problem, counts=1.0) -> np.ndarray:
    result = solve(problem, tol=1e-8)
    return decisions_without(problem, result.weights, result.intercept, counts)


def trained_again(problem: Problem) -> np.ndarray:
    values = []
    for i in range(problem.n_rows):
        others = np.flatnonzero(np.arange(problem.n_rows) != i)
        result = solve(problem.subset(others), tol=1e-8)
        values.append(problem.X[i] @ result.weights + result.intercept)
    return np.array(values)


@examples(4, 100)
@given(
    seed=st.integers(0, 10_000),
    norm=st.sampled_from(NORMS),
    cost=st.sampled_from([1.0, math.inf]),
    l2=st.sampled_from([0.02, 0.1]),
    priced=st.booleans(),
    shift=st.sampled_from([0.0, 0.1, 0.3]),
)
def test_they_are_nearly_those_of_training_again(seed, norm, cost, l2, priced, shift):
    rng = np.random.default_rng(seed)
    prices = rng.uniform(0.5, 2.0, size=8) if priced else None
    parameters = {"norm": norm, "intercept_cost": cost, "feature_cost": prices}
    if shift:
        parameters["row_radius"] = shift * rng.uniform(size=60)
    problem = drawn(seed, l2=l2, **parameters)
    result = solve(problem, tol=1e-8)
    seen = problem.decision_values(result.weights, result.intercept)
    # Large shifts make constant classifiers.
    assume(np.ptp(seen) > 0.1)
    again = trained_again(problem)
    unseen = without(problem)
    assert np.linalg.norm(unseen - again) < np.linalg.norm(seen - again)
    assert np.corrcoef(unseen - seen, again - seen)[0, 1] > 0.4


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"fit_intercept": False},
        {"radius": 0.0, "l2": 0.3},
        {"norm": 1},
        {"row_radius": 0.2},
    ],
    ids=str,
)
def test_a_weight_is_as_good_as_copies_and_storage_does_not_matter(parameters):
    problem = drawn(0, **parameters)
    counts = np.random.default_rng(0).integers(1, 4, 60)
    weighted = drawn(0, sample_weight=counts, **parameters)
    copies = np.repeat(np.arange(60), counts)
    repeated = Problem(problem.X[copies], problem.signs[copies], **(BALL | parameters))
    of_counts = without(weighted, counts)
    np.testing.assert_allclose(without(repeated), of_counts[copies], atol=1e-4)
    assert np.abs(without(weighted) - of_counts).max() > 0.01, (
        "all of a row, or one of those that it counts for"
    )
    stored = weighted.on_rows(sparse.csr_array(problem.X))
    np.testing.assert_allclose(without(stored, counts), of_counts, atol=1e-4)


def test_every_row_moves_against_its_label_and_those_beyond_the_margin_hardly():
    problem = drawn(1, n=200)
    result = solve(problem, tol=1e-8)
    seen = problem.decision_values(result.weights, result.intercept)
    moves = problem.signs * (without(problem) - seen)
    assert (moves < 0.0).all()
    beyond = -moves[problem.signs * seen > 1.5]
    active = -moves[problem.signs * seen < 1.0]
    assert beyond.max() < 0.1 * active.mean()


def test_where_the_formula_does_not_hold():
    assert can_leave_out(drawn(0)) and can_leave_out(drawn(0, radius=0.0))
    assert not can_leave_out(drawn(0, flip_cost=1.0))
    assert not can_leave_out(drawn(0, monotonic_cst=[1] + [0] * 7))
    assert not can_leave_out(drawn(0, radius=0.0, l2=0.0))
    assert not can_leave_out(drawn(0, d=MAX_FEATURES + 1))
