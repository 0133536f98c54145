"""Rules of an interior-point step."""

import numpy as np
import pytest

from drsvm import Problem, solve
from drsvm.compiled import step_rules
from drsvm.solvers import InteriorPoint


def test_steps_go_nearer_to_the_boundary_as_mu_falls():
    assert step_rules.covered(0.98, 1.0) == 0.98
    assert step_rules.covered(0.98, 1e-4) == pytest.approx(0.99, abs=1e-12)
    assert step_rules.covered(0.98, 1e-6) == 1.0 - step_rules.NEAREST
    assert step_rules.covered(1.0 - 1e-6, 1e-6) == 1.0 - 1e-6
    assert step_rules.covered(0.98, 1e-9) == 0.98


def test_steps_near_the_end_save_iterations(monkeypatch):
    random = np.random.default_rng(0)
    X = random.standard_normal((2000, 5))
    y = np.sign(X[:, 0] + 0.5 * random.standard_normal(2000))
    problem = Problem(X, y, radius=0.1, norm=1)
    solver = InteriorPoint(compiled_steps=False)
    near = solve(problem, solver, tol=1e-10)
    monkeypatch.setattr(step_rules, "covered", lambda least, mu: least)
    far = solve(problem, solver, tol=1e-10)
    assert near.n_iter < far.n_iter
    assert near.objective == pytest.approx(far.objective, abs=1e-9)
