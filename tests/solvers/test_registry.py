"""Solvers by name."""

import math

import numpy as np
import pytest
from scripted import GOOD, Scripted, ScriptedState, X, Y, scripted

from drsvm import Problem, auto_radius, certify, radius_max, radius_path, solve
from drsvm.solvers import (
    DualCoordinate,
    InteriorPoint,
    Solver,
    choose,
    make_solver,
    solver_names,
)


def test_unknown_solvers_and_settings_are_rejected(problem):
    with pytest.raises(
        ValueError, match=r"solver must be one of auto, .*conic.*, got solver='simplex'"
    ):
        solve(problem, "simplex")
    with pytest.raises(ValueError, match="got solver=None"):
        solve(problem, None)
    with pytest.raises(
        TypeError,
        match="solver 'conic' has no setting batch_size; its settings: backend, accuracy",
    ):
        solve(problem, "conic", batch_size=3)
    with pytest.raises(
        TypeError,
        match=r"pass settings \['every'\] to the Scripted object, not to solve",
    ):
        solve(problem, scripted(GOOD), every=2)


@pytest.mark.parametrize(
    "function", [solve, radius_path, radius_max, auto_radius, certify]
)
@pytest.mark.parametrize("wrong", [X, (X, Y), None, Problem])
def test_only_a_problem_can_be_solved(function, wrong):
    name = function.__name__
    weights = [[0.0]] if function is certify else []
    with pytest.raises(
        TypeError,
        match=rf"{name} takes a drsvm.Problem, got .*: write {name}\(Problem\(X, y, radius=",
    ):
        function(wrong, *weights)


def test_every_registered_solver_can_be_made(problem):
    problem = problem.replace(norm=math.inf)  # which all of them accept
    for name in solver_names():
        solver = make_solver(name, problem)
        assert isinstance(solver, Solver) and make_solver(solver, problem) is solver
        assert (
            name in ("auto", solver.name)
            and solver.default_tol > 0
            and solver.default_max_iter >= 1
        )


# Refusals


class Picky(Scripted):
    """A solver that rejects radii above 0.15."""

    def unsupported_reason(self, problem):
        return (
            f"too large a radius, got radius={problem.radius}: take 0.15."
            if problem.radius > 0.15
            else None
        )


def test_a_rejected_problem_is_an_error_before_anything_starts(problem):
    solver = Picky((GOOD,))
    runs = len(ScriptedState.runs)
    assert solve(problem, solver, max_iter=1).n_iter == 1
    for call in (
        lambda: solve(problem.replace(radius=0.2), solver),
        lambda: radius_path(problem, [0.1, 0.2], solver=solver),
        lambda: radius_path(problem.replace(radius=0.2), solver=solver),
    ):
        with pytest.raises(
            ValueError, match=r"too large a radius, got radius=0\.2: take 0\.15"
        ):
            call()
    assert len(ScriptedState.runs) == runs + 1


def refuse(monkeypatch, solver, reason):
    monkeypatch.setattr(solver, "unsupported_reason", lambda self, problem: reason)


def test_auto_picks_a_solver_that_accepts_the_problem(problem, monkeypatch):
    refuse(monkeypatch, InteriorPoint, "no time.")
    assert choose(problem) == solve(problem, tol=1e-3).solver == "dual-coordinate"
    assert choose(problem.replace(norm=math.inf)) == "feature-working-set"
    refuse(monkeypatch, DualCoordinate, "no rows.")
    with pytest.raises(
        ValueError,
        match=r"'auto' found no solver that accepts this problem: no time\. no rows\.",
    ):
        solve(problem)


@pytest.mark.parametrize("solver", ["dual-coordinate", "hybrid"])
def test_no_run_is_handed_over_to_a_solver_that_rejects_it(monkeypatch, solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1e-3, 1.0, 10.0, 1e3]
    problem = Problem(
        X,
        np.where(X @ [1e3, 1.0, 0.1, 1e-3] + rng.normal(size=200) > 0, 1, -1),
        radius=1e-4,
    )
    limits = {"tol": 1e-8, "max_iter": 150}
    assert solve(problem, solver, **limits).info["handed_over_to"] == "interior-point"
    refuse(monkeypatch, InteriorPoint, "no time.")
    assert "handed_over_to" not in solve(problem, solver, **limits).info
