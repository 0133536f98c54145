"""Epochs of dual coordinate ascent, for every norm."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS

from drsvm import certify
from drsvm.solvers.base import check_limits
from drsvm.solvers.dual_coordinate.solver import DualCoordinate, ascent_for


def ascent_of(problem, shrinking=True):
    return ascent_for(problem, check_limits(problem, DualCoordinate()), shrinking)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_an_epoch_improves_the_dual_value(norm, fit_intercept):
    """The terms around the centre vanish in the limit; with a ridge the dual value must nearly always increase."""
    problem = well_conditioned_instance(5, 200, 6, norm=norm, flip_cost=1.0, l2=0.5, fit_intercept=fit_intercept)
    ascent = ascent_of(problem)
    bounds = []
    for _ in range(30):
        ascent.epoch()
        bounds.append(certify(problem, ascent.w, ascent.b, ascent.hinge, ascent.flip).lower_bound)
    assert bounds[-1] >= max(bounds) - 1e-3
    assert np.mean(np.diff(bounds) >= -1e-3) > 0.8


@pytest.mark.parametrize("norm", NORMS)
def test_sums_belong_to_the_multipliers(norm):
    problem = well_conditioned_instance(6, 80, 5, norm=norm, flip_cost=0.7, fit_intercept=True)
    ascent = ascent_of(problem)
    for _ in range(12):
        ascent.epoch()
    v, imbalance = problem.weighted_sum(ascent.hinge - ascent.flip)
    np.testing.assert_allclose(ascent.v, v, atol=1e-10)
    assert ascent.imbalance == pytest.approx(imbalance, abs=1e-9)
    assert (ascent.hinge >= 0).all() and (ascent.flip >= 0).all()
    assert (ascent.hinge + ascent.flip <= problem.sample_weight * (1 + 1e-12)).all()


@pytest.mark.parametrize("norm", NORMS)
def test_the_estimate_is_close_to_the_gap_in_the_end(norm):
    problem = well_conditioned_instance(7, 400, 5, norm=norm, flip_cost=math.inf, radius=0.2, l2=0.1)
    ascent = ascent_of(problem, shrinking=False)
    while ascent.estimate > 1e-4 and ascent.count < 300:
        ascent.epoch()
    point = ascent.candidate()
    gap = certify(problem, point.weights, point.intercept, point.hinge_dual, point.flip_dual).gap
    assert ascent.count < 300 and gap <= 5 * ascent.estimate
