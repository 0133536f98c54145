"""Interior-point runs that continue from the previous radius."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS, optimum

from drsvm import Status, radius_path, solve
from drsvm.engines.cpu import CpuEngine
from drsvm.solvers.path.continuation import ContinuedState

for_each_norm = pytest.mark.parametrize("norm", NORMS)


@for_each_norm
def test_a_path_takes_fewer_iterations_than_separate_solves(norm):
    problem = well_conditioned_instance(4, 300, 10, norm=norm, flip_cost=math.inf, fit_intercept=True)
    radii = np.geomspace(0.3, 0.01, 40)
    alone = [solve(problem.replace(radius=radius)).n_iter for radius in radii]
    assert radius_path(problem, radii).table()["n_iter"].sum() < sum(alone)


def test_a_continued_run_that_stalls_is_restarted(monkeypatch):
    continue_with = ContinuedState.continue_with

    def continue_and_stall(self, problem, limits):
        continue_with(self, problem, limits)
        self.step = lambda: setattr(self, "finished", True)

    monkeypatch.setattr(ContinuedState, "continue_with", continue_and_stall)
    problem = well_conditioned_instance(8, 60, 4)
    path = radius_path(problem, [0.3, 0.1], tol=1e-8)
    assert [result.status for result in path.results] == [Status.OPTIMAL, Status.OPTIMAL]
    assert path[1].objective == pytest.approx(optimum(problem, 0.1), abs=1e-8)


def test_engines_are_closed_at_the_end_of_a_path(monkeypatch):
    opened, closed = [], []
    start, close = CpuEngine.__init__, CpuEngine.close
    monkeypatch.setattr(CpuEngine, "__init__", lambda self, *a, **k: opened.append(self) or start(self, *a, **k))
    monkeypatch.setattr(CpuEngine, "close", lambda self: closed.append(self) or close(self))
    problem = well_conditioned_instance(9, 40, 3)
    radius_path(problem, [0.2, 0.1])
    assert opened and set(map(id, opened)) == set(map(id, closed))
    with pytest.raises(LookupError):
        radius_path(problem, [0.2, 0.1], callback=lambda index, result: {}["missing"])
    assert set(map(id, opened)) == set(map(id, closed))
