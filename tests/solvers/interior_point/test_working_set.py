"""Interior-point runs on a working set of rows."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import well_conditioned_instance
from problems import NORMS
from thorough import examples

from drsvm import Problem, Status, radius_path, solve
from drsvm.problem import losses, typical_row_norm
from drsvm.solvers import EVERY_CAPABILITY, Solver
from drsvm.solvers.interior_point import (
    Estimate,
    InteriorPointState,
    WorkingSetRun,
    WorkingSetState,
    pieces_at,
)
from drsvm.utils import stage

for_each_norm = pytest.mark.parametrize("norm", NORMS)


def with_expected_error(problem, near, margin_error):
    """Return an estimate at the solution for another radius."""
    result = solve(problem.replace(radius=near), tol=1e-8)
    point = np.append(result.weights, [result.intercept] * problem.fit_intercept)
    return Estimate(point, result.radius_price, margin_error, 0.01)


@pytest.mark.parametrize(
    "flip_cost", [0.3, 1.0, math.inf, np.geomspace(0.05, 5.0, 500)]
)
def test_certain_rows_stay_on_their_pieces_within_the_errors(flip_cost):
    problem = well_conditioned_instance(
        0, 500, 5, flip_cost=flip_cost, fit_intercept=True, radius=0.05
    )
    estimate = with_expected_error(problem, 0.05, 0.1)._replace(lam_error=0.05)
    pieces = pieces_at(problem, estimate)
    certain = np.setdiff1d(np.arange(500), pieces.uncertain)
    assert len(certain) > 0
    assert (pieces.hinge_dual[pieces.uncertain] == 0).all() and (
        pieces.flip_dual[pieces.uncertain] == 0
    ).all()
    margins = problem.margins(estimate.point[:-1], estimate.point[-1])
    for margin_error, lam_error in product((-0.1, 0.0, 0.1), (-0.05, 0.0, 0.05)):
        m = margins + margin_error
        lam = estimate.lam + lam_error
        flipped = pieces.flip_dual * np.where(
            problem.can_flip, 1 + m - problem.flip_costs * lam, 0.0
        )
        linear = pieces.hinge_dual * (1 - m) + np.nan_to_num(flipped)
        expected = problem.sample_weight * losses(m, lam, problem.flip_cost)
        np.testing.assert_allclose(linear[certain], expected[certain], atol=1e-15)


def test_rows_at_a_kink_are_uncertain():
    X = np.array([[-2.0], [-1.0], [1.0], [1.5], [3.0], [4.0], [9.0], [-9.0]])
    problem = Problem(X, np.append(np.ones(7), -1.0), radius=0.1, flip_cost=1.0)
    # Kinks at the margins 1 and 4
    pieces = pieces_at(problem, Estimate(np.ones(1), 5.0, 0.1, 0.1))
    assert pieces.uncertain.tolist() == [2, 5]
    assert np.flatnonzero(pieces.hinge_dual).tolist() == [0, 1]
    assert np.flatnonzero(pieces.flip_dual).tolist() == [6, 7]


class FromEstimate(Solver):
    """Runs that begin on the working set of an estimate."""

    name = "from an estimate"
    default_tol = 1e-6
    default_max_iter = 200
    capabilities = EVERY_CAPABILITY

    def __init__(self, estimate):
        self.estimate = estimate

    def start(self, problem, limits):
        pieces = pieces_at(problem, self.estimate)
        first = WorkingSetState(problem, limits, self.estimate, pieces)
        self.first_set = set(pieces.uncertain.tolist())
        self.run = WorkingSetRun(first)
        return self.run


@for_each_norm
@pytest.mark.parametrize("radius", [0.1, 0.01])
def test_a_good_estimate_needs_no_other_rows(norm, radius):
    problem = well_conditioned_instance(
        1, 2000, 5, norm=norm, radius=radius, fit_intercept=True
    )
    solver = FromEstimate(with_expected_error(problem, radius, 0.1))
    result = solve(problem, solver, tol=1e-8)
    assert result.status is Status.OPTIMAL and result.gap <= 1e-8
    assert result.info["row_iterations"] < 0.5 * result.n_iter
    assert (
        solver.run.on_working_set
        and set(solver.run.current.pieces.uncertain.tolist()) == solver.first_set
    )
    assert result.objective == pytest.approx(
        solve(problem, tol=1e-8).objective, abs=2e-8
    )
    assert len(result.hinge_dual) == len(result.flip_dual) == 2000


@for_each_norm
@pytest.mark.parametrize("widenings", [2, 0])
def test_rows_that_leave_their_pieces_are_found(set_values, norm, widenings):
    set_values(widenings=widenings)
    problem = well_conditioned_instance(
        2, 2000, 5, norm=norm, radius=0.01, flip_cost=math.inf
    )
    solver = FromEstimate(with_expected_error(problem, 0.008, 0.02))
    result = solve(problem, solver)
    assert result.status is Status.OPTIMAL and result.gap <= 1e-6
    assert result.objective == pytest.approx(
        solve(problem, tol=1e-8).objective, abs=2e-6
    )
    if solver.run.on_working_set:
        assert (
            set(solver.run.on_working_set.pieces.uncertain.tolist()) > solver.first_set
        )
    assert solver.run.widenings > 0
    assert (solver.run.on_working_set is None) >= (widenings == 0)


def test_the_share_done_is_that_of_the_whole_run(told):
    problem = well_conditioned_instance(4, 20_000, 5, radius=0.02, fit_intercept=True)
    with stage("solving"):
        result = solve(problem, "interior-point", tol=1e-6, compiled_steps=False)
    assert result.info["row_iterations"] < result.n_iter - 1, "a working set took over"
    shares = [share for _, share in told]
    assert len(shares) == result.n_iter, (
        "one for every iteration but the last, and the end"
    )
    assert (
        all(after >= before for before, after in pairwise(shares))
        and shares[0] > 0.0
        and shares[-2] > 0.5
    )


def test_a_working_set_that_bounds_nothing_is_given_up():
    problem = well_conditioned_instance(3, 2000, 5, radius=0.001)
    estimate = with_expected_error(problem, 0.001, 0.02)
    # Nearly every label is worth a flip
    too_small = estimate._replace(lam=0.5 * estimate.lam, lam_error=0.0)
    assert not pieces_at(problem, too_small).useful_for(problem)
    result = solve(problem, FromEstimate(too_small))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(
        solve(problem, tol=1e-8).objective, abs=2e-6
    )


def test_a_breakdown_is_followed_by_a_run_on_all_rows(monkeypatch):
    monkeypatch.setattr(
        WorkingSetState, "step", lambda self: setattr(self, "finished", True)
    )
    problem = well_conditioned_instance(4, 2000, 5)
    solver = FromEstimate(with_expected_error(problem, 0.1, 0.1))
    result = solve(problem, solver)
    assert (
        result.status is Status.OPTIMAL
        and type(solver.run.current) is InteriorPointState
    )


def test_an_interrupt_while_rows_are_screened(interrupt_in):
    """The run on all rows has already freed its memory then, and the next one does not exist yet."""
    interrupt_in("screening")
    problem = well_conditioned_instance(2, 20_000, 5, radius=0.05)
    result = solve(problem, "interior-point", tol=1e-8, compiled_steps=False)
    assert (
        result.status is Status.INTERRUPTED
        and 0 <= result.lower_bound <= result.objective <= 1
    )


@for_each_norm
def test_many_rows_are_screened(norm):
    problem = well_conditioned_instance(
        5, 8000, 10, norm=norm, radius=0.02, fit_intercept=True
    )
    result = solve(problem, "interior-point", tol=1e-8, compiled_steps=False)
    assert (
        result.status is Status.OPTIMAL
        and result.info["row_iterations"] < result.n_iter
    )
    on_all_rows = solve(
        problem, "interior-point", tol=1e-8, screening=False, compiled_steps=False
    )
    assert "row_iterations" not in on_all_rows.info
    assert result.objective == pytest.approx(on_all_rows.objective, abs=2e-8)


@st.composite
def tall_problems(draw):
    """Draw problems with many rows per feature, with every kind of parameter."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(200, 600))
    d = draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 1.0]))
    if draw(st.booleans()):
        X = np.round(X)  # many equal margins
    y = np.where(
        X @ rng.normal(size=d) + draw(st.sampled_from([0.0, 1.0])) * rng.normal(size=n)
        > 0,
        1,
        -1,
    )
    y[:2] = 1, -1
    choices = {
        "norm": NORMS,
        "flip_cost": (
            0.2,
            1.0,
            5.0,
            math.inf,
            rng.uniform(0.1, 3.0, n),
            np.where(rng.random(n) < 0.5, 1.0, math.inf),
        ),
        "l2": (0.0, 0.1),
        "sample_weight": (
            None,
            rng.uniform(0.1, 2.0, n),
            np.append([1.0, 1.0], rng.integers(0, 3, n - 2)),
        ),
        "fit_intercept": (False, True),
        "intercept_cost": (math.inf, 1.0),
        "feature_cost": (None, rng.uniform(0.5, 2.0, d)),
        "monotonic_cst": (None, rng.integers(-1, 2, d)),
    }
    return Problem(
        X,
        y,
        **{name: draw(st.sampled_from(values)) for name, values in choices.items()},
    )


@examples(4, 200)
@given(tall_problems(), st.sampled_from([6, 12]))
def test_a_path_on_working_sets_has_the_optima_of_separate_solves(problem, n_radii):
    radii = typical_row_norm(problem) * np.geomspace(0.3, 1e-3, n_radii)
    path = radius_path(problem, radii, solver="interior-point", tol=1e-6)
    for radius, result in zip(radii, path.results, strict=True):
        alone = solve(
            problem.replace(radius=radius), "interior-point", tol=1e-6, screening=False
        )
        assert result.status is alone.status is Status.OPTIMAL and result.gap <= 1e-6
        assert result.objective == pytest.approx(alone.objective, abs=2e-6)
        again = problem.replace(radius=radius).objective(
            result.weights, result.intercept
        )
        assert result.objective == pytest.approx(again, rel=1e-12)


@for_each_norm
@pytest.mark.parametrize("flip_cost", [1.0, math.inf])
def test_most_iterations_of_a_path_are_on_few_rows(norm, flip_cost):
    problem = well_conditioned_instance(
        6, 8000, 8, norm=norm, flip_cost=flip_cost, fit_intercept=True
    )
    path = radius_path(
        problem,
        np.geomspace(0.2, 1e-3, 20),
        solver="interior-point",
        tol=1e-6,
        compiled_steps=False,
    )
    assert all(result.status is Status.OPTIMAL for result in path.results)
    row_iterations = [
        result.info.get("row_iterations", result.n_iter) for result in path.results
    ]
    assert sum(row_iterations) < 0.5 * path.table()["n_iter"].sum()
