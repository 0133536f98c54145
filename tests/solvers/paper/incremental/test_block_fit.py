"""Fitting to blocks of rows."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS
from scipy import sparse

from drsvm import solve
from drsvm.solvers.paper.incremental import BlockFit


def fed(problem, rounds, blocks, **settings):
    same = ("radius", "norm", "l2", "fit_intercept", "intercept_cost")
    fit = BlockFit(
        problem.n_features,
        **{name: getattr(problem, name) for name in same},
        **settings,
    )
    for _ in range(rounds):
        for rows in np.array_split(np.arange(problem.n_rows), blocks):
            weights = problem.n_rows * problem.sample_weight[rows]
            fit.feed(
                problem.X[rows], problem.signs[rows], weights, problem.flip_costs[rows]
            )
    return fit


PARAMETERS = {
    "plain": {},
    "ridge": {"l2": 0.5},
    "intercept": {"fit_intercept": True},
    "priced intercept": {"fit_intercept": True, "intercept_cost": 0.5},
    "priced intercept with ridge": {
        "fit_intercept": True,
        "intercept_cost": 0.5,
        "l2": 0.5,
    },
    "rows": {"flip_cost": np.resize([0.5, 2.0, math.inf], 600)},
}


@pytest.mark.thorough
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_blocks_fed_repeatedly_solve_the_whole_problem(norm, parameters):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 600)
    problem = well_conditioned_instance(
        2, 600, 6, norm=norm, sample_weight=weights, **parameters
    )
    optimum = solve(problem).objective
    few, many = (
        problem.objective(fit.weights, fit.intercept) - optimum
        for fit in (fed(problem, 3, 4), fed(problem, 60, 4))
    )
    assert many <= 1e-2 and many < few


@pytest.mark.parametrize("norm", NORMS)
def test_the_intercept_is_priced_at_the_centre(norm):
    """Rows relative to a centre, and the same rows with the centre stated, give the same classifier."""
    problem = well_conditioned_instance(
        2, 200, 4, norm=norm, fit_intercept=True, intercept_cost=0.3
    )
    centre = np.array([3.0, -1.0, 0.0, 5.0])
    there = problem.on_rows(problem.X + centre)
    at_origin = fed(problem, 2, 4)
    at_centre = fed(there, 2, 4, centre=centre)
    np.testing.assert_allclose(at_centre.weights, at_origin.weights, atol=1e-9)
    np.testing.assert_array_equal(
        fed(there.on_rows(sparse.csr_array(there.X)), 2, 4, centre=centre).weights,
        at_centre.weights,
    )
    assert at_centre.intercept + at_centre.weights @ centre == pytest.approx(
        at_origin.intercept, abs=1e-9
    )
    start = at_origin.weights, at_centre.intercept, at_origin.radius_price
    again = BlockFit(
        4, fit_intercept=True, intercept_cost=0.3, start=start, centre=centre
    )
    assert again.intercept == pytest.approx(at_centre.intercept)
    assert again.value_at_centre == pytest.approx(at_origin.intercept)


def test_flip_costs_of_a_block_replace_the_common_one():
    X = well_conditioned_instance(2, 60, 3).X
    signs = well_conditioned_instance(2, 60, 3).signs
    common = BlockFit(3, flip_cost=0.7).feed(X, signs)
    given = BlockFit(3, flip_cost=9.0).feed(X, signs, flip_cost=np.full(60, 0.7))
    assert (common.weights == given.weights).all() and (
        common.weights != BlockFit(3).feed(X, signs).weights
    ).any()


def test_a_seed_determines_every_bit_nothing_is_proven_and_sparse_blocks_are_accepted():
    problem = well_conditioned_instance(2, 60, 3)
    fit = fed(problem, 1, 3)
    assert math.isnan(fit.lower_bound) and math.isnan(fit.gap)
    assert (fit.n_blocks, fit.n_rows) == (3, 60)
    one = fed(problem, 2, 3, random_state=5)
    other = fed(problem, 2, 3, random_state=5)
    assert (one.weights == other.weights).all()
    assert (one.weights != fed(problem, 2, 3, random_state=6).weights).any()
    rows = BlockFit(3, random_state=5).feed(sparse.csr_array(problem.X), problem.signs)
    dense = BlockFit(3, random_state=5).feed(problem.X, problem.signs)
    np.testing.assert_allclose(rows.weights, dense.weights, rtol=1e-12)


def test_a_block_of_one_class_or_one_row_is_enough():
    fit = (
        BlockFit(2, fit_intercept=True)
        .feed([[1.0, 2.0]], [1])
        .feed([[0.0, 0.0], [-1.0, 0.0]], [-1, -1])
    )
    assert (
        np.isfinite(fit.weights).all()
        and math.isfinite(fit.intercept)
        and fit.radius_price >= 0
    )


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (([[1.0, 2.0, 3.0]], [1]), "X has 3 features, but BlockFit expects 2"),
        (([[1.0, 2.0]], [0]), "signs must contain 1 values of -1 or 1"),
        (([[1.0, 2.0]], [1, -1]), "signs must contain 1 values"),
        (([[1.0, 2.0]], [1], [-1.0]), "sample_weight"),
        (([[1.0, 2.0]], [1], None, [-1.0]), "flip_cost has -1 at row 0"),
        (
            ([[1.0, 2.0]], [1], None, [1.0, 1.0]),
            "flip_cost must be a number or have one entry per row",
        ),
    ],
)
def test_invalid_blocks_are_rejected(block, message):
    with pytest.raises(ValueError, match=message):
        BlockFit(2).feed(*block)
