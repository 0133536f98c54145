"""Compiled steps on few rows: they are those of any other run."""

import math

import numpy as np
import pytest
from instances import random_instance, well_conditioned_instance
from numba import typeof
from problems import NORMS
from scipy import sparse
from thorough import for_each, unless_long

from drsvm import Problem, Status, solve
from drsvm.solvers import InteriorPoint, check_limits
from drsvm.solvers.interior_point import OrthogonalSystem, SmallState, is_small

ROWS = 150
FEATURES = 6
SIGNS = np.array([1, -1, 0, 0, 1, 0])
PRICES = np.array([0.5, 1.0, 2.0, math.inf, 1.0, 3.0])


def both_roads(problem, **options):
    """Return the results with and without compiled steps."""
    return (
        solve(problem, "interior-point", compiled_steps=compiled, **options)
        for compiled in (True, False)
    )


@for_each(
    norm=NORMS,
    radius=[0.0, 0.05],
    l2=[0.0, 0.1],
    fit_intercept=[False, True],
    flip_cost=[1.0, math.inf, np.geomspace(0.1, 10.0, ROWS)],
    prices=[
        {},
        {"feature_cost": PRICES},
        {"monotonic_cst": SIGNS},
        {"feature_cost": PRICES, "monotonic_cst": SIGNS},
    ],
    form=[
        np.asarray,
        sparse.csr_array,
        *unless_long([], [lambda X: X.astype(np.float32)]),
    ],
)
def test_the_steps_are_the_same(
    count_calls, norm, radius, l2, fit_intercept, flip_cost, prices, form
):
    parameters = {
        "radius": radius,
        "l2": l2,
        "fit_intercept": fit_intercept,
        "flip_cost": flip_cost,
        **prices,
    }
    if fit_intercept and "feature_cost" in prices:
        parameters["intercept_cost"] = 2.0
    problem = well_conditioned_instance(3, ROWS, FEATURES, norm=norm, **parameters)
    problem = problem.on_rows(form(problem.X))
    calls = count_calls("compiled steps")
    compiled, ordinary = both_roads(
        problem, max_iter=6, callback=lambda progress: False
    )
    assert calls and compiled.n_iter == ordinary.n_iter
    assert compiled.history.objective == pytest.approx(
        ordinary.history.objective, rel=1e-8, abs=1e-10
    )
    assert compiled.history.lower_bound == pytest.approx(
        ordinary.history.lower_bound, rel=1e-6, abs=1e-8
    )


@pytest.mark.parametrize("seed", range(unless_long(40, 400)))
def test_random_problems_have_the_same_optimum(set_values, seed):
    # Sparse rows stay sparse, or not
    set_values(small_matrix=1000 * (seed % 2))
    problem = random_instance(1000 + seed, max_rows=80, max_features=30)
    compiled, ordinary = both_roads(problem, tol=1e-7)
    if ordinary.status.reached:
        assert compiled.status.reached
    assert (
        compiled.lower_bound <= ordinary.objective + 1e-12
        and ordinary.lower_bound <= compiled.objective + 1e-12
    )


def test_rows_of_all_kinds_have_the_same_form():
    """Each form would be compiled separately, which takes longer than most fits."""

    def form_of(problem):
        return typeof(
            SmallState(problem, check_limits(problem, InteriorPoint())).arguments[:2]
        )

    problem = well_conditioned_instance(0, 50, 3)
    dense = [
        problem.X.astype(np.float32),
        np.asfortranarray(problem.X),
        sparse.csr_array(problem.X),
    ]
    assert {form_of(problem.on_rows(X)) for X in dense} == {
        form_of(problem.replace(flip_cost=np.ones(50)))
    }
    assert form_of(
        Problem(problem.X, problem.signs, sample_weight=np.arange(50.0))
    ) == form_of(problem)
    rows, other = (
        sparse.random_array((400, 350), density=0.1, format="csr", rng=0)
        for _ in range(2)
    )
    other.indices, other.indptr = (
        other.indices.astype(np.int64),
        other.indptr.astype(np.int64),
    )
    assert form_of(Problem(rows, np.arange(400) % 2)) == form_of(
        Problem(other, np.arange(400) % 2)
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_runs_in_the_memory_of_others_are_the_same(set_values, form):
    """With other radii and ridges, affordable flips or not."""
    set_values(small_matrix=0)  # sparse rows stay sparse
    problem = well_conditioned_instance(0, 400, 5, radius=0.05, fit_intercept=True)
    problem = problem.on_rows(form(problem.X))
    limits = check_limits(problem, InteriorPoint(), tol=1e-4)
    run = SmallState(problem, limits)
    for radius, l2 in ((0.1, 0.0), (0.0, 0.1), (0.0, 0.2), (0.02, 0.0)):
        other = problem.replace(radius=radius, l2=l2)
        run.restart(other, None)
        alone = SmallState(other, limits)
        assert run.run_to_the_end() and alone.run_to_the_end()
        np.testing.assert_array_equal(run.classifier[0], alone.classifier[0])
        assert run.classifier[1] == alone.classifier[1]
        for found, known in zip(run._multipliers(), alone._multipliers(), strict=True):
            np.testing.assert_array_equal(found, known)


def test_many_rows_or_features_or_views_are_not_small():
    assert is_small(well_conditioned_instance(0, 50, 3))
    assert not is_small(well_conditioned_instance(0, 50, 500))
    assert not is_small(well_conditioned_instance(0, 20_000, 2))


def test_steps_that_lead_nowhere_end_the_run(set_values, monkeypatch):
    """A start that breaks down is followed by careful ones, and if these do, too, by a status."""
    set_values(result_of_compiled_steps=(1, False, 1.0, 1.0, 1.0, 0, 1.0))
    problem = well_conditioned_instance(0, 50, 3)
    assert solve(problem, "interior-point").status is Status.OPTIMAL
    monkeypatch.setattr(
        OrthogonalSystem, "apply_inverse", lambda system, right: np.nan * right
    )
    result = solve(problem, "interior-point")
    assert result.status is Status.STALLED and result.n_iter < 100


def test_an_interrupt_before_the_first_step_leaves_a_candidate():
    problem = well_conditioned_instance(0, 50, 3)
    state = SmallState(problem, check_limits(problem, InteriorPoint()))
    assert np.isfinite(state.candidate().hinge_dual).all()
