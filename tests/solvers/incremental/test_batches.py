"""Proximal steps on batches: runs with every batch size, what a step guarantees, and passes with several threads."""

import math

import numpy as np
import pytest
from instances import sparse_rows, well_conditioned_instance
from problems import NORMS

from drsvm import Problem, solve
from drsvm.kernels.memory_epochs import Batching
from drsvm.parallel import threads_limited
from drsvm.solvers.incremental import epochs as epochs_module
from drsvm.solvers.incremental.epochs import Epochs
from drsvm.solvers.incremental.step_sizes import SPAN, Descent

N = 300

for_each_norm = pytest.mark.parametrize("norm", NORMS)


@pytest.fixture
def always_threads(monkeypatch):
    """Let the smallest batch be large enough for several threads."""
    monkeypatch.setattr(epochs_module, "WORTH_A_THREAD", 1.0)


def epochs_of(problem, order="shuffled"):
    return Epochs.of(problem, order, np.random.default_rng(0))


def flat(point, epochs):
    """Return a point as a vector, in the units of the steps."""
    intercept = point.scalars[1] / math.sqrt(epochs.terms.free) if epochs.terms.free > 0 else 0.0
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
    result = solve(problem, "ippa", batch_size=batch_size, hand_over=False, tol=tol, random_state=0)
    assert result.status.name == "OPTIMAL"
    assert result.info["epochs"]["batches"] > 0
    assert result.gap <= tol
    assert result.lower_bound <= solve(problem).objective <= result.objective + 1e-9


@for_each_norm
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_the_batch_of_all_rows_ends_after_a_handful_of_steps(norm, l2):
    problem = well_conditioned_instance(3, N, 8, norm=norm, l2=l2)
    result = solve(problem, "ippa", batch_size=None, hand_over=False, tol=1e-6, random_state=0)
    assert result.status.name == "OPTIMAL"
    assert result.info["epochs"]["batches"] <= 20


def test_the_second_phase_of_hybrid_takes_batches():
    problem = well_conditioned_instance(3, N, 8)
    result = solve(problem, "hybrid", proximal_batch_size=50, hand_over=False, tol=1e-3, random_state=0)
    assert set(result.info["epochs"]) == {"subgradient", "batches"}
    assert result.gap <= 1e-3


@for_each_norm
@pytest.mark.parametrize("path", ["small", "large", "three threads"])
def test_no_step_on_all_rows_leads_away_from_the_optimum(request, norm, path):
    """Whether a kernel or several threads take it, and although it is not exact."""
    if path != "small":
        request.getfixturevalue("always_threads")
    problem = well_conditioned_instance(4, N, 6, norm=norm, l2=0.3, fit_intercept=True)
    best, epochs = solve(problem, tol=1e-10), epochs_of(problem)
    target = epochs.origin()
    target.w[:], target.scalars[:] = best.weights, (best.radius_price, best.intercept, best.radius_price)
    point, latest = epochs.origin(), np.stack([np.ones(N), np.zeros(N)])
    distance = math.inf
    with threads_limited(3 if path == "three threads" else 1):
        for _ in range(8):
            epochs.batches(point, Batching(N, latest, 0.0, 64), 3.0 * epochs.natural_step, 1.0)
            before, distance = distance, float(np.linalg.norm(flat(point, epochs) - flat(target, epochs)))
            assert distance <= before + 1e-9
    np.testing.assert_array_equal(point.hinge, latest[0])


@for_each_norm
def test_no_pass_of_several_threads_lowers_the_dual_value(always_threads, norm):
    problem = well_conditioned_instance(5, N, 6, norm=norm, l2=0.5, fit_intercept=True)
    epochs = epochs_of(problem)
    total, centre, weights = 20.0 * epochs.natural_step, epochs.origin(), problem.sample_weight
    centre.scalars[0] = 1.0
    state = epochs._centred(centre, total, np.ones(N), np.zeros(N))
    epochs_module.memory_epochs.contribute(epochs.samples.rows, np.arange(N), state, epochs.terms, total / N)

    def dual_value():
        """Return the value of the Lagrangian at the point of the multipliers."""
        point = epochs._nearest(state, total)
        m, lam = problem.margins(point.w, point.scalars[1]), point.scalars[0]
        pieces = float(weights @ (state.hinge * (1 - m) + state.flip * (1 + m - problem.flip_cost * lam)))
        moved = epochs._distance_square(point, centre) / (2 * total)
        return pieces + problem.radius * lam + problem.l2 / 2 * point.w @ point.w + moved

    values = [dual_value()]
    with threads_limited(3):
        for _ in range(30):
            epochs._pass(state, np.random.default_rng(len(values)).permutation(N), total / N, total)
            values.append(dual_value())
    assert np.diff(values).min() >= -1e-12
    assert values[-1] > values[0]
    assert values[-1] - values[-2] <= 1e-3 * (values[1] - values[0])


def test_runs_are_the_same_for_a_seed_and_a_number_of_threads(always_threads):
    X, y = sparse_rows(0, n=400, d=100)
    problem = Problem(X, y, norm=2, fit_intercept=True)
    runs = [
        solve(problem, "ippa", batch_size=150, hand_over=False, tol=1e-3, random_state=1, n_threads=n_threads)
        for n_threads in (2, 2, 1)
    ]
    np.testing.assert_array_equal(runs[0].weights, runs[1].weights)
    assert runs[0].gap <= 1e-3
    assert runs[2].gap <= 1e-3


def test_drawn_batches_contain_no_row_twice():
    epochs = epochs_of(well_conditioned_instance(3, 100, 2), "with-replacement")
    order = epochs._next_order(distinct=30)
    assert len(order) == 100
    assert all(len(set(order[first : first + 30])) == len(order[first : first + 30]) for first in range(0, 100, 30))
    assert len(set(order)) < 100


def test_steps_follow_the_objective():
    steps = Descent(1.0, slack=0.01, lowest=5.0, ratio=0.3)
    for objective, step in ((4.0, 2.0), (3.95, 2.0), (3.945, 4.0), (3.96, 1.2)):  # quickly, slowly, hardly; it rises
        steps.judge(objective)
        assert steps.step(1) == pytest.approx(step)
    while steps.step(1) < 4.0:
        assert steps.step(1) >= 4.0 * SPAN
        steps.judge(5.0)
    assert 0.3 < steps.ratio < 1.0
