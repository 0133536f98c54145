"""Arguments of a run: starts, limits and seeds."""

import math

import numpy as np
import pytest
from scripted import BAD, BALL, GOOD, ScriptedState, X, Y, scripted, value

from drsvm import Problem, Status, solve
from drsvm.solvers import Candidate


def test_a_start_is_a_classifier(problem):
    result = solve(problem, scripted(BAD), start=(GOOD.weights, 0.0), max_iter=1)
    assert result.objective == value(problem, GOOD)
    assert (ScriptedState.runs[-1].limits.start.weights == GOOD.weights).all()


def test_a_start_is_a_result_with_its_multipliers(problem, optimum):
    result = solve(problem, scripted(BAD), start=optimum, tol=1e-6)
    assert (result.status, result.n_iter) == (Status.OPTIMAL, 0)
    assert result.lower_bound == pytest.approx(optimum.lower_bound, rel=1e-12)


def test_multipliers_of_other_rows_are_dropped(problem, optimum):
    fewer = Problem(X[:3], Y[:3], **BALL)
    solve(fewer, scripted(BAD), start=optimum, max_iter=1)
    start = ScriptedState.runs[-1].limits.start
    assert start.hinge_dual is None and (start.weights == optimum.weights).all()
    weighted = Problem(X, Y, sample_weight=[1, 0, 1, 1], **BALL)
    solve(weighted, scripted(BAD), start=optimum, max_iter=1, tol=0)
    np.testing.assert_array_equal(
        ScriptedState.runs[-1].limits.start.hinge_dual, optimum.hinge_dual[[0, 2, 3]]
    )


def test_a_start_from_another_radius_is_accepted(problem, optimum):
    other = problem.replace(radius=0.2, fit_intercept=True)
    result = solve(other, scripted(BAD), start=optimum, max_iter=1)
    assert result.objective <= other.objective(optimum.weights)
    assert 0 < result.lower_bound <= result.objective


def test_an_intercept_is_dropped_if_none_is_fitted(problem):
    assert (
        solve(problem, scripted(BAD), start=(GOOD.weights, 5.0), max_iter=1).intercept
        == 0.0
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tol": -1e-6}, ValueError, "tol must be a number ≥ 0, got tol=-1e-06"),
        ({"tol": math.nan}, ValueError, "tol=nan"),
        ({"tol": "tight"}, ValueError, "tol='tight'"),
        (
            {"max_iter": 0},
            ValueError,
            "max_iter must be an integer ≥ 1, got max_iter=0",
        ),
        ({"max_iter": 2.5}, ValueError, "max_iter=2.5"),
        ({"max_iter": True}, ValueError, "max_iter=True"),
        (
            {"max_time": 0},
            ValueError,
            "max_time must be a number of seconds > 0, got max_time=0",
        ),
        ({"max_time": -1}, ValueError, "max_time=-1"),
        ({"max_time": math.nan}, ValueError, "max_time=nan"),
        ({"max_time": "long"}, ValueError, "max_time='long'"),
        (
            {"n_threads": 0},
            ValueError,
            "n_threads must be an integer ≥ 1, got n_threads=0",
        ),
        ({"n_threads": 1.5}, ValueError, "n_threads=1.5"),
        (
            {"start": 3.0},
            TypeError,
            r"start must be a Result or \(weights, intercept\), got float",
        ),
        ({"start": "zero"}, TypeError, "start must be a Result"),
        (
            {"start": ([1.0, 2.0, 3.0], 0.0)},
            ValueError,
            r"start must have one entry per feature of X \(2\), got shape \(3,\)",
        ),
        (
            {"start": ([1.0, math.nan], 0.0)},
            ValueError,
            "start has NaN or infinite entries",
        ),
        (
            {"start": ([1.0, 2.0], math.nan)},
            ValueError,
            "start must have a finite intercept, got nan",
        ),
        (
            {"start": ([1.0, 2.0], None)},
            ValueError,
            "start must have a finite intercept, got None",
        ),
    ],
)
def test_bad_arguments_are_rejected(problem, arguments, error, message):
    with pytest.raises(error, match=message):
        solve(problem, scripted(GOOD), **arguments)


def test_a_start_with_other_features_is_rejected(problem):
    other = solve(Problem(X[:, :1], Y), scripted(Candidate(np.ones(1))), max_iter=1)
    with pytest.raises(
        ValueError,
        match=r"start must have one entry per feature of X \(2\), got shape \(1,\)",
    ):
        solve(problem, scripted(GOOD), start=other)
