"""Prices as columns: an exact restatement of the problem."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS
from scipy import sparse
from thorough import for_each

from drsvm.certificate import certify
from drsvm.solvers import Candidate
from drsvm.solvers.reformulation import CostsAsColumns, with_constant


def priced_problem(norm=2, **prices):
    rng = np.random.default_rng(0)
    given = {
        "intercept_cost": 0.3,
        "feature_cost": rng.uniform(0.2, 3.0, 4),
        "fit_intercept": True,
    }
    costs = rng.choice([0.5, 2.0, math.inf], size=40)
    return well_conditioned_instance(
        0, 40, 4, norm=norm, flip_cost=costs, **{**given, **prices}
    )


@for_each(container=[np.asarray, sparse.csr_array], norm=NORMS)
def test_objective_and_bound_are_the_same(container, norm):
    problem = priced_problem(norm)
    problem = problem.on_rows(container(problem.X))
    columns = CostsAsColumns.of(problem)
    assert not columns.problem.fit_intercept and columns.problem.feature_cost is None
    rng = np.random.default_rng(1)
    for _ in range(10):
        there = Candidate(
            rng.normal(size=5), 0.0, *(rng.random((2, 40)) * problem.sample_weight)
        )
        back = columns.to_outer(there)
        certificates = [
            certify(
                problem, back.weights, back.intercept, back.hinge_dual, back.flip_dual
            ),
            certify(
                columns.problem, there.weights, 0.0, there.hinge_dual, there.flip_dual
            ),
        ]
        assert certificates[0].objective == pytest.approx(
            certificates[1].objective, rel=1e-12
        )
        # The original may also be proven with balanced multipliers.
        assert (
            certificates[0].dual.lower_bound >= certificates[1].dual.lower_bound - 1e-12
        )
        again = columns.to_inner(back)
        np.testing.assert_allclose(again.weights, there.weights, rtol=1e-14)
        assert again.intercept == 0.0 and again.hinge_dual is there.hinge_dual


def test_a_free_intercept_and_trusted_features_stay_as_they_are():
    problem = priced_problem(
        intercept_cost=math.inf, feature_cost=[2.0, math.inf, 1.0, 1.0]
    )
    columns = CostsAsColumns.of(problem)
    assert columns.problem.fit_intercept and columns.intercept_cost is None
    assert columns.problem.feature_cost is not None
    assert columns.problem.feature_cost.tolist() == [1.0, math.inf, 1.0, 1.0]
    np.testing.assert_array_equal(columns.problem.X, problem.X * [2.0, 1.0, 1.0, 1.0])
    back = columns.to_outer(Candidate(np.ones(4), 0.5))
    assert back.weights.tolist() == [2.0, 1.0, 1.0, 1.0] and back.intercept == 0.5


def test_nothing_is_copied_without_prices():
    problem = well_conditioned_instance(0, 20, 3, fit_intercept=True)
    candidate = Candidate(np.ones(3), 2.0)
    columns = CostsAsColumns.of(problem)
    assert columns.problem is problem
    for converted in (columns.to_outer(candidate), columns.to_inner(candidate)):
        assert (
            converted.weights is candidate.weights
            and converted.intercept == candidate.intercept
        )


@pytest.mark.parametrize("container", [np.ascontiguousarray, sparse.csr_array])
@pytest.mark.parametrize(("size", "kept"), [(0.5, True), (0.1, False)])
def test_rows_of_float32_stay_so_if_the_constant_is_exact(size, kept, container):
    X = container(np.array([[1.0, 0.0], [0.0, 0.0]], dtype=np.float32))
    rows = with_constant(X, size)
    assert rows.dtype == (np.float32 if kept else np.float64) and type(rows) is type(X)
    dense = rows.toarray() if sparse.issparse(rows) else rows
    assert dense.tolist() == [[1.0, 0.0, size], [0.0, 0.0, size]]
