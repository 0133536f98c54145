"""Data shared by tests of the estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def three_classes():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture
def rare():
    """Overlapping classes, 8 % of the rows positive."""
    return make_classification(500, 8, n_informative=4, weights=[0.92], class_sep=0.7, flip_y=0.02, random_state=3)
