"""How much a classifier without weights rests on each column."""

import numpy as np
import pytest

from drsvm import WassersteinKernelSVC
from drsvm.report.column_importances import column_importances


@pytest.mark.parametrize("sign", [1, -1])
def test_an_auc_of_0_is_not_missing(sign):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    classifier = WassersteinKernelSVC(kernel="linear", threshold="optimum").fit(
        [[-sign, 0], [sign, 0]], [0, 1]
    )
    falls = column_importances(classifier, X, y, ["a", "b"])
    # From an AUC of 1 or 0, shuffling leads to about 0.5; the other column has no weight.
    assert falls["a"] * sign == pytest.approx(0.5, abs=0.15)
    assert falls["b"] == pytest.approx(0.0, abs=0.01)
