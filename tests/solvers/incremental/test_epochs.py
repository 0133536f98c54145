"""Epochs in slices: the same steps as in one call, and a valid point whenever time runs out."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS

from drsvm import Status, solve
from drsvm.clock import TimeLimit
from drsvm.solvers.incremental import epochs as module
from drsvm.solvers.incremental.epochs import MEMORY, Epochs

for_each_norm = pytest.mark.parametrize("norm", NORMS)


class Looks(TimeLimit):
    """A time limit that expires after it has been checked the given number of times."""

    def __init__(self, number):
        super().__init__(1e6)
        self.number = number

    def left(self):
        self.number -= 1
        return 1e6 if self.number >= 0 else -1e-9


@pytest.fixture
def short_slices(monkeypatch):
    """Make slices a few rows long, or one batch if that is more."""
    monkeypatch.setattr(module, "SLICE", 1000.0)
    monkeypatch.setattr(module, "SLICE_BY_SIZE", 0.0)


def epochs_of(problem, time=None):
    return Epochs.of(problem, "cyclic", np.random.default_rng(0), time=time)


KINDS = {
    "proximal": lambda epochs, problem, point: epochs.proximal(point, 0.1 * epochs.natural_step, 0.5),
    "subgradient": lambda epochs, problem, point: epochs.subgradient(problem, point, 0.1 * epochs.natural_step, 0.5, 8),
    "memory": lambda epochs, problem, point: epochs.memory(problem, point, 0.3 * epochs.natural_step),
}
for_each_kind = pytest.mark.parametrize("kind", KINDS)


@for_each_norm
@for_each_kind
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_slices_take_the_same_steps_as_an_undivided_epoch(monkeypatch, norm, kind, l2):
    problem = well_conditioned_instance(2, 100, 6, norm=norm, l2=l2, fit_intercept=True)
    ends, calls = [], []
    for work in (1e12, 1000.0):
        monkeypatch.setattr(module, "SLICE", work)
        monkeypatch.setattr(module, "SLICE_BY_SIZE", 0.0)
        epochs = epochs_of(problem)
        calls.append(math.ceil(100 / epochs._slice_length(MEMORY[problem.norm.q], 1)))
        point = epochs.origin()
        for _ in range(3):
            KINDS[kind](epochs, problem, point)
        ends.append(point)
    assert calls[0] == 1 < calls[1]
    for name in ("w", "scalars", "hinge", "flip"):
        np.testing.assert_allclose(getattr(ends[1], name), getattr(ends[0], name), rtol=1e-7, atol=1e-9)


def test_slices_consist_of_whole_batches(short_slices):
    epochs = epochs_of(well_conditioned_instance(2, 100, 6))
    for kind in MEMORY.values():
        assert epochs._slice_length(kind, 8) % 8 == 0
        assert epochs._slice_length(kind, 1000) == 1000


@for_each_norm
@for_each_kind
def test_rows_not_visited_in_time_keep_their_multipliers(short_slices, kind, norm):
    problem = well_conditioned_instance(2, 100, 6, norm=norm, fit_intercept=True)
    whole, cut = epochs_of(problem), epochs_of(problem, Looks(1))
    points = whole.origin(), cut.origin()
    for epochs, point in zip((whole, cut), points, strict=True):
        point.hinge[:] = 0.25
        KINDS[kind](epochs, problem, point)
    visited = (points[1].hinge != 0.25) | (points[1].flip != 0.0)
    seen = int(np.flatnonzero(visited)[-1]) + 1
    assert 0 < seen < 60
    np.testing.assert_allclose(points[1].hinge[:seen], points[0].hinge[:seen], rtol=1e-9)
    np.testing.assert_allclose(points[1].flip[:seen], points[0].flip[:seen], rtol=1e-9)
    assert problem.norm.value(points[1].w) <= points[1].scalars[0] * (1 + 1e-9)


@for_each_norm
def test_a_memory_epoch_cut_short_ends_at_the_point_of_its_multipliers(short_slices, norm):
    problem = well_conditioned_instance(2, 100, 6, norm=norm, l2=0.1, fit_intercept=True)
    epochs = epochs_of(problem, Looks(2))
    point, step = epochs.origin(), 0.3 * epochs.natural_step
    epochs.memory(problem, point, step)
    total, pi = 100 * step, problem.sample_weight
    gradient, turn = problem.weighted_sum(pi * (point.hinge - point.flip))
    lam = total * (problem.flip_cost * float(pi @ point.flip) - problem.radius)
    w, lam = problem.norm.project_epigraph(total * gradient / (1 + total * 0.1), lam, 1 + total * 0.1)
    np.testing.assert_allclose(point.w, w, rtol=1e-9, atol=1e-12)
    assert point.scalars[:2] == pytest.approx([lam, total * epochs.terms.free * turn], rel=1e-9, abs=1e-12)


@for_each_kind
def test_without_time_only_the_first_slice_is_done(short_slices, kind):
    problem = well_conditioned_instance(2, 100, 6, fit_intercept=True)
    epochs = epochs_of(problem, Looks(0))
    point = epochs.origin()
    point.hinge[:] = 0.25
    KINDS[kind](epochs, problem, point)
    first = point.copy()
    assert (first.hinge != 0.25).any()
    KINDS[kind](epochs, problem, point)
    np.testing.assert_array_equal(point.hinge, first.hinge)
    np.testing.assert_array_equal(point.flip, first.flip)


@for_each_norm
@pytest.mark.parametrize("method", ["isg", "ippa", "hybrid"])
@pytest.mark.parametrize("looks", [1, 10, 40, 100])
def test_whenever_time_runs_out_the_result_is_proven(short_slices, method, norm, looks):
    problem = well_conditioned_instance(3, 300, 8, norm=norm, fit_intercept=True)
    optimum = solve(problem)
    result = solve(problem, method, tol=0.0, max_time=Looks(looks))
    assert result.status is Status.TIME_LIMIT
    assert result.lower_bound <= optimum.objective + 1e-9 and optimum.lower_bound <= result.objective + 1e-9
    assert result.objective == pytest.approx(problem.objective(result.weights, result.intercept), abs=1e-12)


def test_a_trial_is_kept_if_there_is_no_time_for_another(short_slices):
    problem = well_conditioned_instance(3, 300, 8)
    assert solve(problem, "isg", tol=0.0, max_time=Looks(7)).objective < 0.99
