"""Solvers by name."""

import pytest
from scripted import BALL, GOOD, X, Y, scripted

from drsvm import Problem, solve
from drsvm.solvers import make_solver, solver_names
from drsvm.solvers.base import Solver


@pytest.fixture
def problem():
    return Problem(X, Y, **BALL)


def test_unknown_solvers_and_settings_are_refused(problem):
    with pytest.raises(ValueError, match=r"solver must be one of auto, .*conic.*, got solver='simplex'"):
        solve(problem, "simplex")
    with pytest.raises(ValueError, match="got solver=None"):
        solve(problem, None)
    with pytest.raises(TypeError, match="solver 'conic' has no setting batch_size; its settings: backend, accuracy"):
        solve(problem, "conic", batch_size=3)
    with pytest.raises(TypeError, match=r"settings \['every'\] go into the Scripted object"):
        solve(problem, scripted(GOOD), every=2)


@pytest.mark.parametrize("wrong", [(X, Y), None, "problem", Problem])
def test_only_a_problem_can_be_solved(wrong):
    with pytest.raises(TypeError, match=r"solve takes a drsvm.Problem, got .*build one with Problem\(X, y"):
        solve(wrong)


def test_every_registered_solver_can_be_made(problem):
    for name in solver_names():
        solver = make_solver(name, problem)
        assert isinstance(solver, Solver) and make_solver(solver, problem) is solver
        assert name in ("auto", solver.name) and solver.default_tol > 0 and solver.default_max_iter >= 1
