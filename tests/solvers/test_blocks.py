"""Fitting to blocks of rows."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS
from scipy import sparse

from drsvm import solve
from drsvm.solvers.blocks import BlockFit


def fed(problem, rounds, blocks, **settings):
    fit = BlockFit(
        problem.n_features,
        radius=problem.radius,
        flip_cost=problem.flip_cost,
        norm=problem.norm,
        l2=problem.l2,
        fit_intercept=problem.fit_intercept,
        **settings,
    )
    for _ in range(rounds):
        for rows in np.array_split(np.arange(problem.n_rows), blocks):
            fit.feed(problem.X[rows], problem.signs[rows], problem.n_rows * problem.sample_weight[rows])
    return fit


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("parameters", [{}, {"l2": 0.5}, {"fit_intercept": True}], ids=["plain", "ridge", "intercept"])
def test_blocks_fed_repeatedly_solve_the_whole_problem(norm, parameters):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 600)
    problem = well_conditioned_instance(2, 600, 6, norm=norm, sample_weight=weights, **parameters)
    optimum = solve(problem).objective
    few, many = (
        problem.objective(fit.weights, fit.intercept) - optimum for fit in (fed(problem, 3, 4), fed(problem, 60, 4))
    )
    assert many <= 1e-2 and many < few


def test_nothing_is_proven():
    fit = fed(well_conditioned_instance(2, 60, 3), 1, 3)
    assert math.isnan(fit.lower_bound) and math.isnan(fit.gap)
    assert (fit.n_blocks, fit.n_rows) == (3, 60)


def test_a_seed_determines_every_bit_and_sparse_blocks_are_accepted():
    problem = well_conditioned_instance(2, 60, 3)
    one, other = fed(problem, 2, 3, random_state=5), fed(problem, 2, 3, random_state=5)
    assert (one.weights == other.weights).all()
    assert (one.weights != fed(problem, 2, 3, random_state=6).weights).any()
    rows = BlockFit(3, random_state=5).feed(sparse.csr_array(problem.X), problem.signs)
    dense = BlockFit(3, random_state=5).feed(problem.X, problem.signs)
    np.testing.assert_allclose(rows.weights, dense.weights, rtol=1e-12)


def test_a_block_of_one_class_or_one_row_is_enough():
    fit = BlockFit(2, fit_intercept=True).feed([[1.0, 2.0]], [1]).feed([[0.0, 0.0], [-1.0, 0.0]], [-1, -1])
    assert np.isfinite(fit.weights).all() and math.isfinite(fit.intercept) and fit.radius_price >= 0


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (([[1.0, 2.0, 3.0]], [1]), "X has 3 features, but BlockFit expects 2"),
        (([[1.0, 2.0]], [0]), "signs must contain 1 values of -1 or 1"),
        (([[1.0, 2.0]], [1, -1]), "signs must contain 1 values"),
        (([[1.0, 2.0]], [1], [-1.0]), "sample_weight"),
    ],
)
def test_invalid_blocks_are_rejected(block, message):
    with pytest.raises(ValueError, match=message):
        BlockFit(2).feed(*block)
