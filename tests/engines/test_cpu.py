"""The engine against its formulas: the Newton equations of each sample, solved with numpy."""

import itertools
import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from scipy import sparse
from thorough import LONG, unless_long

from drsvm import Problem
from drsvm.compiled import interior_point_sample as kernel
from drsvm.compiled.step_rules import TIE
from drsvm.engines import CpuEngine, Steps, WideRows, matrices_for

TARGET = 0.004

KINDS = {
    "plain": {},
    "no flips": {"flip_cost": math.inf},
    "intercept": {"fit_intercept": True},
    "weights": {"sample_weight": np.random.default_rng(1).random(N := 300) + 0.1},
    "free flips": {"flip_cost": 0.0},
    "no radius": {"radius": 0.0, "l2": 0.1, "fit_intercept": True},
    "flip costs": {
        "flip_cost": np.random.default_rng(2).choice(
            [0.0, 0.3, 1.0, 5.0, math.inf], size=N
        )
    },
    "flip costs without radius": {
        "flip_cost": np.resize([0.0, 1.0, math.inf], N),
        "radius": 0.0,
        "l2": 0.1,
    },
}
if not LONG:  # costs of rows are other kernels; runs on few rows always have them
    KINDS = {
        name: kind for name, kind in KINDS.items() if not name.startswith("flip costs")
    }
THREADS = {"small": None, "one thread": 1, "three threads": 3}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def problem(request):
    return well_conditioned_instance(0, N, 5, **request.param)


@pytest.fixture(params=THREADS.values(), ids=THREADS.keys())
def engine(request, problem, set_values):
    """An engine whose state is off the central path: for a small problem, or with one or several threads."""
    engine = make_engine(problem, request.param, set_values)
    leave_the_path(engine)
    return engine


def make_engine(problem, n_threads, set_values):
    if n_threads is not None:
        set_values(thread_work=1)
    engine = CpuEngine(problem, n_threads)
    assert engine.n_threads == (n_threads or 1)
    assert engine.small is (n_threads is None)
    return engine


def leave_the_path(engine, seed=3):
    """Take a few short steps in random directions from the central path."""
    rng = np.random.default_rng(seed)
    engine.center(rng.normal(size=engine.n_linear), 1.7, 0.3)
    for _ in range(3):
        direction = rng.normal(size=engine.n_linear), float(rng.normal())
        engine.predict(*direction)
        primal, dual = engine.longest_steps(*direction, 0.1).tolerating(0.0)
        engine.curvature(Steps(0.5 / max(primal, 1.0), 0.4 / max(dual, 1.0)))


class Samples:
    """The samples of an engine in plain arrays, and their Newton equations in plain linear algebra."""

    def __init__(self, engine, problem):
        self.multipliers, self.slacks = np.split(engine.states.copy(), 2)
        self.rows = np.column_stack([problem.X, np.ones(problem.n_rows)])[
            :, : engine.n_linear
        ]
        self.signs = problem.signs
        self.weights = problem.sample_weight
        self.can_flip = problem.can_flip
        self.kappa = np.where(self.can_flip, problem.flip_costs, 0.0)
        self.used = np.stack(
            [np.ones_like(self.can_flip), self.can_flip, np.ones_like(self.can_flip)]
        )

    def direction(self, direction, lam, target=0.0, correction=None):
        """Return the changes of multipliers and slacks, sample by sample."""
        correction = np.zeros_like(self.slacks) if correction is None else correction
        margins = self.signs * (self.rows @ direction)
        slopes = np.array([margins, self.kappa * lam - margins, np.zeros_like(margins)])
        d_multipliers = np.zeros_like(self.slacks)
        d_slacks = np.zeros_like(self.slacks)
        for i in range(len(margins)):
            used = np.flatnonzero(self.used[:, i])
            m = self.multipliers[used, i]
            g = self.slacks[used, i]
            k = len(used)
            # m·(ds + slope) + g·dm = target·π − m·g − correction, Σ dm = π − Σ m;
            # unknowns: dm and ds
            matrix = np.zeros((k + 1, k + 1))
            matrix[:k, :k] = np.diag(g)
            matrix[:k, k] = m
            matrix[k, :k] = 1.0
            right = (
                target * self.weights[i]
                - m * g
                - correction[used, i]
                - m * slopes[used, i]
            )
            solution = np.linalg.solve(
                matrix, np.append(right, self.weights[i] - m.sum())
            )
            d_multipliers[used, i] = solution[:k]
            d_slacks[used, i] = solution[k] + slopes[used, i]
        return d_multipliers, d_slacks

    def dual_sum(self, multipliers):
        """Return the contribution of the multipliers to the optimality conditions in (w, b) and in λ."""
        alpha, beta, _ = multipliers
        return self.rows.T @ (self.signs * (beta - alpha)), -self.kappa @ beta

    def rates(self, d_multipliers, d_slacks):
        return (
            -min(0.0, (d_slacks / self.slacks)[self.used].min()),
            -min(
                0.0,
                (d_multipliers / np.where(self.multipliers > 0, self.multipliers, 1.0))[
                    self.used
                ].min(),
            ),
        )


def assert_no_flips_where_impossible(samples):
    impossible = ~samples.can_flip
    assert (
        not samples.multipliers[1, impossible].any()
        and (samples.slacks[1, impossible] == 1.0).all()
    )


def random_direction(engine, seed=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=engine.n_linear), float(rng.normal())


def full_matrix(curvature):
    """Return the symmetric matrix in (w, b)."""
    n = len(curvature.column)
    d = len(curvature.gram)
    matrix = np.zeros((n, n))
    matrix[:d, :d] = np.triu(curvature.gram) + np.triu(curvature.gram, 1).T
    if n > d:
        matrix[:, d] = matrix[d, :] = curvature.border
    return matrix


def assert_close(actual, expected, relative=1e-9):
    size = max(float(np.abs(expected).max(initial=0.0)), 1e-12)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=relative * size)


@pytest.mark.parametrize("lam", [0.5, 2.0, 1e3])
@pytest.mark.parametrize("mu", [1.0, 1e-3, 1e-9])
def test_samples_are_put_on_the_central_path(problem, mu, lam):
    engine = CpuEngine(problem)
    point = np.random.default_rng(5).normal(size=engine.n_linear)
    engine.center(point, lam, mu)
    samples = Samples(engine, problem)
    margins = samples.signs * (samples.rows @ point)
    s = samples.slacks[2]
    assert samples.slacks.min() > 0
    assert_close(samples.slacks[0], s - (1 - margins))
    used = samples.used
    np.testing.assert_allclose(
        (samples.multipliers * samples.slacks / samples.weights)[used], mu, rtol=1e-6
    )
    np.testing.assert_allclose(
        samples.multipliers.sum(axis=0), samples.weights, rtol=1e-14
    )
    flips = problem.can_flip
    assert_close(
        samples.slacks[1, flips], (s - (1 + margins - samples.kappa * lam))[flips]
    )
    assert_no_flips_where_impossible(samples)


def test_curvature_is_the_derivative_of_the_dual_sums(engine, problem):
    """Predictor: the sums after a full step are the matrix times the direction, plus a constant."""
    samples = Samples(engine, problem)
    _, curvature = engine.curvature()
    direction, lam = random_direction(engine)
    d_multipliers, _ = samples.direction(direction, lam)
    sums, sums_lam = samples.dual_sum(samples.multipliers + d_multipliers)
    assert_close(
        full_matrix(curvature) @ direction
        + curvature.column * lam
        + curvature.predictor,
        sums,
    )
    lam_sum = (
        curvature.column @ direction + curvature.square * lam + curvature.predictor_lam
    )
    assert lam_sum == pytest.approx(sums_lam, rel=1e-9, abs=1e-12)


def test_the_wide_form_has_the_same_curvature(problem, set_values):
    tall = CpuEngine(problem)
    leave_the_path(tall)
    set_values(wide_from=0)
    few = problem.subset(
        np.r_[
            np.flatnonzero(problem.signs > 0)[:2], np.flatnonzero(problem.signs < 0)[:2]
        ]
    )
    assert CpuEngine(few).wide and not CpuEngine(problem).wide
    wide = CpuEngine(problem)
    wide.wide = WideRows(wide.rows.X)
    wide._matrices = matrices_for(wide.rows, 1, 1, wide=True)
    wide._state[:] = tall._state
    (_, expected), (_, curvature) = tall.curvature(), wide.curvature()
    X = wide.rows.X
    h = curvature.h
    assert curvature.gram is None and expected.h is None
    assert_close(np.triu(X.T @ (h[:, None] * X)), np.triu(expected.gram))
    for name in ("column", "square", "predictor", "predictor_lam", "border"):
        assert_close(getattr(curvature, name), getattr(expected, name), 1e-14)


def test_a_prediction_describes_the_predictor_step(engine, problem):
    samples = Samples(engine, problem)
    direction, lam = random_direction(engine)
    rates, ahead = engine.predict(direction, lam)
    d_multipliers, d_slacks = samples.direction(direction, lam)
    primal, dual = samples.rates(d_multipliers, d_slacks)
    assert rates.tolerating(0.0) == pytest.approx((primal, dual), rel=1e-8)
    used = samples.used
    assert ahead.slack_change == pytest.approx(
        (samples.multipliers * d_slacks)[used].sum(), rel=1e-8
    )
    assert ahead.multiplier_change == pytest.approx(
        (samples.slacks * d_multipliers)[used].sum(), rel=1e-8
    )
    assert ahead.both_change == pytest.approx(
        (d_multipliers * d_slacks).sum(), rel=1e-8
    )


def corrected_direction(engine, problem, target=TARGET):
    """Follow a predictor and then another direction.

    Return the changes that the engine should compute.
    """
    samples = Samples(engine, problem)
    predictor = random_direction(engine, 5)
    engine.predict(*predictor)
    d_multipliers, d_slacks = samples.direction(*predictor)
    most = kernel.MAX_CORRECTION * samples.multipliers * samples.slacks
    correction = np.clip(d_multipliers * d_slacks, -most, most)
    direction = random_direction(engine, 6)
    return (
        samples,
        direction,
        correction,
        samples.direction(*direction, target, correction),
    )


def test_correction_and_target_change_the_dual_sums_as_predicted(engine, problem):
    _, curvature = engine.curvature()
    _, ahead = engine.predict(*random_direction(engine, 5))
    samples, (direction, lam), _, (d_multipliers, _) = corrected_direction(
        engine, problem
    )
    sums, sums_lam = samples.dual_sum(samples.multipliers + d_multipliers)
    constant = curvature.predictor + ahead.correction + TARGET * ahead.targeted
    constant_lam = (
        curvature.predictor_lam + ahead.correction_lam + TARGET * ahead.targeted_lam
    )
    assert_close(
        full_matrix(curvature) @ direction + curvature.column * lam + constant, sums
    )
    lam_sum = curvature.column @ direction + curvature.square * lam + constant_lam
    assert lam_sum == pytest.approx(sums_lam, rel=1e-8, abs=1e-11)


def test_a_move_goes_the_given_steps_of_which_the_longest_stay_inside(engine, problem):
    samples, direction, _, (d_multipliers, d_slacks) = corrected_direction(
        engine, problem
    )
    primal, dual = engine.longest_steps(*direction, TARGET).tolerating(0.0)
    assert (primal, dual) == pytest.approx(
        samples.rates(d_multipliers, d_slacks), rel=1e-8
    )
    primal = 0.9 / max(primal, 0.9)
    dual = 0.7 / max(dual, 0.7)
    products, _ = engine.curvature(Steps(primal, dual))
    after = Samples(engine, problem)
    assert_close(after.slacks, samples.slacks + primal * d_slacks)
    assert_close(after.multipliers, samples.multipliers + dual * d_multipliers)
    np.testing.assert_allclose(
        after.multipliers.sum(axis=0), samples.weights, rtol=1e-14
    )
    assert products == pytest.approx(
        (after.multipliers * after.slacks).sum(), rel=1e-12
    )
    assert_no_flips_where_impossible(after)


def test_rounds_that_move_first_return_what_is_there_then(engine, problem):
    _, direction, _, _ = corrected_direction(engine, problem)
    engine.longest_steps(*direction, TARGET)
    before = engine._state.copy()
    steps = Steps(0.2, 0.1, 0.02)
    products, sums = engine.dual_sums(steps)
    arrived = engine.states.copy()
    engine._state[:] = before
    others, curvature = engine.curvature(steps)
    matrix = full_matrix(curvature)
    assert others == pytest.approx(products, rel=1e-14)
    assert_close(arrived, engine.states, 1e-14)
    for one, two in zip(sums, engine.dual_sums()[1], strict=True):
        assert_close(one, two, 1e-12)
    for one, two in zip(curvature[1:-1], engine.curvature()[1][1:-1], strict=True):
        assert_close(one, two, 1e-12)
    assert_close(matrix, full_matrix(engine.curvature()[1]), 1e-12)


@pytest.mark.parametrize("share", [0.004, 0.11, 0.61])
def test_longer_steps_leave_no_more_than_a_share_of_the_weight_behind(
    engine, problem, share
):
    samples, direction, _, changes = corrected_direction(engine, problem)
    exact = samples.rates(*changes)
    relative = (
        changes[1] / samples.slacks,
        changes[0] / np.where(samples.multipliers > 0, samples.multipliers, 1.0),
    )
    for k, rate in enumerate(
        engine.longest_steps(*direction, TARGET).tolerating(share)
    ):
        worst = -np.where(samples.used, relative[k], 0.0).min(axis=0)
        assert samples.weights[worst > rate * (1 + 1e-9)].sum() <= share * TIE
        assert rate <= exact[k] * (1 + 1e-8)
        # Steps are binned: the next bin would leave too many behind
        longer = 1 / rate + 1.01 / kernel.BINS
        assert samples.weights[worst > 1 / longer].sum() > share * TIE or rate <= 1.0


@pytest.mark.parametrize("times", [2.0, 5.0, 40.0])
def test_samples_that_cannot_follow_stop_short_on_their_own(engine, problem, times):
    samples, direction, _, (_, d_slacks) = corrected_direction(engine, problem)
    primal, dual = (
        times / rate
        for rate in engine.longest_steps(*direction, TARGET).tolerating(0.0)
    )
    engine.curvature(Steps(primal, dual, 0.02))
    after = Samples(engine, problem)
    assert (after.multipliers[samples.used] > 0).all() and (
        after.slacks[samples.used] > 0
    ).all()
    np.testing.assert_allclose(
        after.multipliers.sum(axis=0), samples.weights, rtol=1e-14
    )
    if times > 2.0:  # too many of them
        return
    wanted = samples.slacks + primal * d_slacks
    stopped = (wanted < 0.02 * samples.slacks).any(axis=0)
    assert stopped.any() and not stopped.all()
    assert_close(after.slacks[:, ~stopped], wanted[:, ~stopped])
    assert (after.slacks[samples.used] >= 0.0199 * samples.slacks[samples.used]).all()
    # Raising the sample's own slack s changes all three equally, and no margin.
    lifts = after.slacks - wanted
    expected = np.where(samples.used, lifts[0], 0.0)
    np.testing.assert_allclose(lifts, expected, atol=1e-9 * np.abs(wanted).max())


def test_dual_sums_are_those_of_the_multipliers(engine, problem):
    samples = Samples(engine, problem)
    _, sums = engine.dual_sums()
    alpha, beta = engine.multipliers()
    positive = problem.signs > 0
    sides = np.where(positive, alpha, beta), np.where(positive, beta, alpha)
    assert_close(
        sums.rows, np.stack([problem.X.T @ side for side in sides], axis=1), 1e-12
    )
    assert_close(sums.mass, np.array([side.sum() for side in sides]), 1e-12)
    costs = samples.kappa * beta
    assert_close(
        sums.flip_cost, np.array([costs[~positive].sum(), costs[positive].sum()]), 1e-12
    )
    np.testing.assert_array_equal(np.array([alpha, beta]), samples.multipliers[:2])


@pytest.mark.parametrize(
    "container",
    [
        sparse.csr_array,
        *unless_long(
            (), (np.float32, lambda X: sparse.csr_array(X.astype(np.float32)))
        ),
    ],
)
@pytest.mark.parametrize("n_threads", THREADS.values(), ids=THREADS.keys())
def test_containers_and_threads_make_no_difference(container, n_threads, set_values):
    rng = np.random.default_rng(9)
    X = np.round(rng.normal(size=(N, 7))) * (rng.random((N, 7)) < 0.3)
    y = np.where(rng.random(N) < 0.5, 1, -1)
    reference = CpuEngine(Problem(X, y, fit_intercept=True), 1)
    leave_the_path(reference)
    other = make_engine(
        Problem(container(X), y, fit_intercept=True), n_threads, set_values
    )
    leave_the_path(other)
    assert_close(other.states, reference.states, 1e-10)
    for one, two in zip(
        other.curvature()[1][:-1], reference.curvature()[1][:-1], strict=True
    ):
        assert_close(one, two, 1e-10)


def test_methods_return_only_small_arrays_of_numbers(engine):
    """An engine on another machine would have to send everything that its methods return."""
    _, curvature = engine.curvature()
    direction = random_direction(engine)
    _, ahead = engine.predict(*direction)
    returned = [
        curvature,
        ahead,
        engine.longest_steps(*direction, TARGET).smallest_change,
        engine.dual_sums()[1],
    ]
    for value in itertools.chain(*returned):
        assert value is None or np.asarray(value).dtype.kind == "f"
        assert np.size(value) <= engine.n_linear**2
