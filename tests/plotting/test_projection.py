"""Two-dimensional projections."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from drsvm.plotting.worst_case_contents import plane_for


def test_the_second_coordinate_is_the_first_principal_component_of_the_rest(data):
    rows, y = data
    coef = LinearSVC().fit(rows, y).coef_[0]
    unit = coef / np.linalg.norm(coef)
    rest = rows - np.outer(rows @ unit, unit)
    expected = np.linalg.svd(rest - rest.mean(axis=0))[2][0]
    for X in (rows, sparse.csr_array(rows), rows.astype(np.float32)):
        across = plane_for(X, coef, 0.0).axes[1]
        assert abs(across @ expected) == pytest.approx(1, abs=1e-4)
        assert across @ unit == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("n_features", [3, 5])
def test_rows_that_are_all_equal_have_a_plane(n_features):
    plane = plane_for(np.ones((6, n_features)), np.zeros(n_features), 0.5)
    assert np.isfinite(plane.axes).all() and plane.offset == 0.5
