"""Epochs in slices: the same steps as in one call, and a valid point whenever time runs out.

And steps on batches: runs with every batch size, and what a step guarantees.
"""

import math

import numpy as np
import pytest
from instances import sparse_rows, well_conditioned_instance
from problems import NORMS
from thorough import for_each

from drsvm import Problem, Status, solve
from drsvm.compiled.memory_epochs import Batching
from drsvm.solvers.paper.incremental import MEMORY, SPAN, Descent, Epochs
from drsvm.utils import TimeLimit

N = 300

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
def short_slices(set_values):
    """Make slices a few rows long, or one batch if that is more."""
    set_values(slice_work=1000.0, slice_work_by_size=0.0)


def epochs_of(problem, time=None, order="cyclic"):
    return Epochs.of(problem, order, np.random.default_rng(0), time=time)


KINDS = {
    "proximal": lambda epochs, problem, point: epochs.proximal(
        point, 0.1 * epochs.natural_step, 0.5
    ),
    "subgradient": lambda epochs, problem, point: epochs.subgradient(
        point, 0.1 * epochs.natural_step, 0.5, 8
    ),
    "memory": lambda epochs, problem, point: epochs.memory(
        point, 0.3 * epochs.natural_step
    ),
}
for_each_kind = pytest.mark.parametrize("kind", KINDS)


@for_each(l2=[0.0, 0.5], kind=KINDS, norm=NORMS)
def test_slices_take_the_same_steps_as_an_undivided_epoch(set_values, norm, kind, l2):
    problem = well_conditioned_instance(2, 100, 6, norm=norm, l2=l2, fit_intercept=True)
    ends = []
    calls = []
    for work in (1e12, 1000.0):
        set_values(slice_work=work, slice_work_by_size=0.0)
        epochs = epochs_of(problem)
        calls.append(math.ceil(100 / epochs._slice_length(MEMORY[problem.norm.q], 1)))
        point = epochs.origin()
        for _ in range(3):
            KINDS[kind](epochs, problem, point)
        ends.append(point)
    assert calls[0] == 1 < calls[1]
    for name in ("w", "scalars", "hinge", "flip"):
        np.testing.assert_allclose(
            getattr(ends[1], name), getattr(ends[0], name), rtol=1e-7, atol=1e-9
        )


def test_slices_consist_of_whole_batches(short_slices):
    epochs = epochs_of(well_conditioned_instance(2, 100, 6))
    for kind in MEMORY.values():
        assert epochs._slice_length(kind, 8) % 8 == 0
        assert epochs._slice_length(kind, 1000) == 1000


@for_each(kind=KINDS, norm=NORMS)
def test_rows_not_visited_in_time_keep_their_multipliers(short_slices, kind, norm):
    problem = well_conditioned_instance(2, 100, 6, norm=norm, fit_intercept=True)
    whole = epochs_of(problem)
    cut = epochs_of(problem, Looks(1))
    points = whole.origin(), cut.origin()
    for epochs, point in zip((whole, cut), points, strict=True):
        point.hinge[:] = 0.25
        KINDS[kind](epochs, problem, point)
    visited = (points[1].hinge != 0.25) | (points[1].flip != 0.0)
    seen = int(np.flatnonzero(visited)[-1]) + 1
    assert 0 < seen < 60
    np.testing.assert_allclose(
        points[1].hinge[:seen], points[0].hinge[:seen], rtol=1e-9
    )
    np.testing.assert_allclose(points[1].flip[:seen], points[0].flip[:seen], rtol=1e-9)
    assert problem.norm.value(points[1].w) <= points[1].scalars[0] * (1 + 1e-9)


@for_each_norm
def test_a_memory_epoch_cut_short_ends_at_the_point_of_its_multipliers(
    short_slices, norm
):
    problem = well_conditioned_instance(
        2, 100, 6, norm=norm, l2=0.1, fit_intercept=True
    )
    epochs = epochs_of(problem, Looks(2))
    point = epochs.origin()
    step = 0.3 * epochs.natural_step
    epochs.memory(point, step)
    total = 100 * step
    pi = problem.sample_weight
    gradient, turn = problem.weighted_sum(pi * (point.hinge - point.flip))
    lam = total * (problem.flip_cost * float(pi @ point.flip) - problem.radius)
    w, lam = problem.norm.project_epigraph(
        total * gradient / (1 + total * 0.1), lam, 1 + total * 0.1
    )
    np.testing.assert_allclose(point.w, w, rtol=1e-9, atol=1e-12)
    assert point.scalars[:2] == pytest.approx(
        [lam, total * epochs.terms.free * turn], rel=1e-9, abs=1e-12
    )


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


@for_each(looks=[1, 10, 40, 100], method=["isg", "ippa", "hybrid"], norm=NORMS)
def test_whenever_time_runs_out_the_result_is_proven(short_slices, method, norm, looks):
    problem = well_conditioned_instance(3, 300, 8, norm=norm, fit_intercept=True)
    optimum = solve(problem)
    result = solve(problem, method, tol=0.0, max_time=Looks(looks))
    assert result.status is Status.TIME_LIMIT
    assert (
        result.lower_bound <= optimum.objective + 1e-9
        and optimum.lower_bound <= result.objective + 1e-9
    )
    assert result.objective == pytest.approx(
        problem.objective(result.weights, result.intercept), abs=1e-12
    )


def test_a_trial_is_kept_if_there_is_no_time_for_another(short_slices):
    problem = well_conditioned_instance(3, 300, 8)
    assert solve(problem, "isg", tol=0.0, max_time=Looks(9)).objective < 0.99


def flat(point, epochs):
    """Return a point as a vector, in the units of the steps."""
    intercept = (
        point.scalars[1] / math.sqrt(epochs.terms.free)
        if epochs.terms.free > 0
        else 0.0
    )
    return np.r_[point.w, point.scalars[0], intercept]


@for_each_norm
@pytest.mark.parametrize(("batch_size", "tol"), [(30, 0.02), (None, 1e-4)])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"l2": 1.0, "fit_intercept": True, "intercept_cost": 2.0},
        {"fit_intercept": True, "sample_weight": np.linspace(0.5, 2.0, N)},
        {"flip_cost": np.where(np.arange(N) % 3, 1.0, math.inf)},
        {"flip_cost": 0.5, "feature_cost": np.linspace(0.5, 2.0, 8)},
    ],
    ids=["plain", "ridge", "intercept", "flip costs", "feature costs"],
)
def test_every_batch_size_ends_with_a_proof(norm, batch_size, tol, parameters):
    problem = well_conditioned_instance(3, N, 8, norm=norm, **parameters)
    result = solve(
        problem, "ippa", batch_size=batch_size, hand_over=False, tol=tol, random_state=0
    )
    assert (
        result.status is Status.OPTIMAL
        and result.gap <= tol
        and result.info["epochs"]["batches"] > 0
    )
    assert result.lower_bound <= solve(problem).objective <= result.objective + 1e-9


@for_each(l2=[0.0, 0.5], norm=NORMS)
def test_the_batch_of_all_rows_ends_after_a_handful_of_steps(norm, l2):
    problem = well_conditioned_instance(3, N, 8, norm=norm, l2=l2)
    result = solve(
        problem, "ippa", batch_size=None, hand_over=False, tol=1e-6, random_state=0
    )
    assert result.status is Status.OPTIMAL and result.info["epochs"]["batches"] <= 20


def test_the_second_phase_of_hybrid_takes_batches():
    problem = well_conditioned_instance(3, N, 8)
    result = solve(
        problem,
        "hybrid",
        proximal_batch_size=50,
        hand_over=False,
        tol=1e-3,
        random_state=0,
    )
    assert set(result.info["epochs"]) == {"subgradient", "batches"}
    assert result.gap <= 1e-3


@for_each(long_pass=[0.0, math.inf], norm=NORMS)
def test_no_step_on_all_rows_leads_away_from_the_optimum(set_values, norm, long_pass):
    """Whether one call of a kernel takes it or several, and although it is not exact."""
    set_values(long_pass=long_pass)
    problem = well_conditioned_instance(4, N, 6, norm=norm, l2=0.3, fit_intercept=True)
    best = solve(problem, tol=1e-10)
    epochs = epochs_of(problem, order="shuffled")
    target = epochs.origin()
    target.w[:], target.scalars[:] = (
        best.weights,
        (best.radius_price, best.intercept, best.radius_price),
    )
    point = epochs.origin()
    latest = np.stack([np.ones(N), np.zeros(N)])
    distance = math.inf
    for _ in range(8):
        epochs.batches(
            point, Batching(N, latest, 0.0, 64), 3.0 * epochs.natural_step, 1.0
        )
        before = distance
        distance = float(np.linalg.norm(flat(point, epochs) - flat(target, epochs)))
        assert distance <= before + 1e-9
    np.testing.assert_array_equal(point.hinge, latest[0])


def test_long_batches_are_proven_like_short_ones(set_values):
    X, y = sparse_rows(0, n=400, d=100)
    problem = Problem(X, y, norm=2, fit_intercept=True)
    for long_pass in (0.0, math.inf):
        set_values(long_pass=long_pass)
        assert (
            solve(
                problem,
                "ippa",
                batch_size=150,
                hand_over=False,
                tol=1e-3,
                random_state=1,
            ).gap
            <= 1e-3
        )


def test_drawn_batches_contain_no_row_twice():
    epochs = epochs_of(well_conditioned_instance(3, 100, 2), order="with-replacement")
    order = epochs._next_order(distinct=30)
    assert len(order) == 100
    assert all(
        len(set(order[first : first + 30])) == len(order[first : first + 30])
        for first in range(0, 100, 30)
    )
    assert len(set(order)) < 100


def test_steps_follow_the_objective():
    steps = Descent(1.0, slack=0.01, lowest=5.0, ratio=0.3)
    for objective, step in (
        (4.0, 2.0),
        (3.95, 2.0),
        (3.945, 4.0),
        (3.96, 1.2),
    ):  # quickly, slowly, hardly; it rises
        steps.judge(objective)
        assert steps.step(1) == pytest.approx(step)
    while steps.step(1) < 4.0:
        assert steps.step(1) >= 4.0 * SPAN
        steps.judge(5.0)
    assert 0.3 < steps.ratio < 1.0
