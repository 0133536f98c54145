"""Working sets of features: few features are used, and the proof covers all."""

import math

import numpy as np
import pytest
from instances import check_against_interior_point, random_instance
from scipy import sparse
from thorough import for_each

from drsvm import Problem, Status, radius_path, solve


def wordy_rows(seed, n=400, d=3000):
    """Return sparse rows over features of very different frequencies.

    Few of them are informative.
    """
    rng = np.random.default_rng(seed)
    frequency = np.minimum(0.5, 30.0 / (10.0 + np.arange(d)))
    X = sparse.csr_array(
        (rng.random((n, d)) < frequency) * rng.uniform(0.5, 1.0, size=(n, d))
    )
    y = np.where(X[:, :40] @ rng.normal(size=40) + 0.1 * rng.normal(size=n) > 0, 1, -1)
    return X, y


def wordy_problem(seed, fraction, **parameters):
    X, y = wordy_rows(seed)
    return Problem(
        X,
        y,
        radius=fraction * np.abs(X.T @ (y / len(y))).max(),
        norm=math.inf,
        **parameters,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("chunk", range(2))
def test_random_instances_agree_with_the_interior_point(chunk):
    for seed in range(2000 + 100 * chunk, 2100 + 100 * chunk):
        problem = random_instance(seed).replace(norm=math.inf)
        check_against_interior_point(problem, "feature-working-set", tol=1e-6)


@pytest.mark.thorough
@for_each(fit_intercept=[False, True], flip_cost=[0.5, 4.0, math.inf])
@pytest.mark.parametrize(("fraction", "l2"), [(0.1, 0.0), (0.5, 0.0), (0.2, 1e-3)])
def test_the_proof_holds_for_all_features(fraction, l2, fit_intercept, flip_cost):
    problem = wordy_problem(
        0, fraction, l2=l2, flip_cost=flip_cost, fit_intercept=fit_intercept
    )
    result = solve(problem, "feature-working-set")
    assert result.gap <= 1e-6 and (result.info.get("features") or 0) < 1000
    assert abs(result.objective - solve(problem, "interior-point").objective) <= 1e-6


@pytest.mark.parametrize(("fraction", "most"), [(0.2, 5), (0.02, 30)])
def test_epochs_continue_if_too_many_features_have_a_weight(fraction, most):
    problem = wordy_problem(2, fraction, flip_cost=math.inf)
    result = solve(problem, "feature-working-set", most_features=most, tol=1e-3)
    assert (
        result.gap <= 1e-3
        and result.info["rounds"] == 0
        and result.info["features"] is None
    )


def test_a_modest_tolerance_needs_no_round():
    result = solve(
        wordy_problem(3, 0.5, flip_cost=math.inf), "feature-working-set", tol=1e-3
    )
    assert result.gap <= 1e-3 and result.info["rounds"] == 0


def test_a_path_from_large_to_small():
    X, y = wordy_rows(4)
    largest = np.abs(X.T @ (y / len(y))).max()
    radii = largest * np.array([0.8, 0.4, 0.2, 0.1])
    path = radius_path(
        Problem(X, y, norm=math.inf, flip_cost=1.0), radii, solver="feature-working-set"
    )
    assert max(result.gap for result in path.results) <= 1e-6
    counts = [
        np.count_nonzero(np.abs(result.weights) > 1e-6) for result in path.results
    ]
    assert counts[0] < counts[-1]


def test_weights_of_zero_rows_are_spread():
    X, y = wordy_rows(5)
    weight = np.ones(len(y))
    weight[::7] = 0.0
    result = solve(
        Problem(X, y, radius=0.005, norm=math.inf, sample_weight=weight),
        "feature-working-set",
    )
    assert (
        result.gap <= 1e-6
        and len(result.hinge_dual) == len(y)
        and not result.hinge_dual[::7].any()
    )


def test_other_norms_are_rejected():
    X, y = wordy_rows(6)
    with pytest.raises(
        ValueError, match="for norm=inf, where weights are sparse, got norm=2"
    ):
        solve(Problem(X, y, norm=2), "feature-working-set")


@pytest.mark.parametrize(("n_features", "call"), [(20, 2), (3000, 1)])
def test_ctrl_c_in_a_round_keeps_the_round(interrupt_in, n_features, call):
    interrupt_in("compiled steps", call)
    result = solve(
        wordy_problem(7, 0.3).on_features(np.arange(n_features)), "feature-working-set"
    )
    assert result.status is Status.INTERRUPTED and result.gap < 0.1


def test_rounds_that_add_too_many_features_give_way_to_epochs(set_values):
    set_values(few_features=5, explored_share=0.5, memory=1.0)
    result = solve(
        wordy_problem(8, 0.1, flip_cost=math.inf),
        "feature-working-set",
        most_features=60,
        tol=1e-3,
    )
    assert result.gap <= 1e-3 and result.info["features"] is None
    assert (
        result.info["rounds"] > 0
        and result.n_iter == result.info["rounds"] + result.info["epochs"]
    )
