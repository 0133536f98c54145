"""Products with the rows for ADMM, and their Gram matrix."""

import numpy as np
import pytest
from instances import well_conditioned_instance
from scipy import sparse

from drsvm import Problem
from drsvm.solvers.admm import subproblem
from drsvm.solvers.admm.subproblem import CentredRows


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_gram_matrix_is_that_around_the_mean(container, fit_intercept):
    problem = well_conditioned_instance(7, 50, 4)
    rows = CentredRows(Problem(container(problem.X), problem.signs, fit_intercept=fit_intercept))
    centred = problem.X - problem.X.mean(axis=0) * fit_intercept
    expected = centred.T @ centred / 50
    matrix, noise = rows.gram()
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=noise)
    w = np.arange(4.0)
    np.testing.assert_allclose(rows.curvature(w), expected @ w, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(expected)[-1] <= rows.largest_eigenvalue(rows.curvature) * (1 + 1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_gram_matrix_may_be_computed_in_parts(monkeypatch, container):
    problem = well_conditioned_instance(7, 50, 4)
    rows = CentredRows(Problem(container(problem.X), problem.signs))
    whole, _ = rows.gram()
    monkeypatch.setattr(subproblem, "BLOCK_SECONDS", 7.5 / 50 * rows.gram_seconds())
    assert [block.stop for block in rows._gram_blocks()][:2] == [7, 14]
    np.testing.assert_allclose(rows.gram()[0], whole, rtol=1e-12, atol=1e-14)
