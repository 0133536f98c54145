"""Gram matrices of rows in a metric of the features, against numpy."""

import numpy as np
import pytest
from scipy import sparse

import drsvm.engines.wide as wide
from drsvm.engines.wide import WideRows
from drsvm.parallel import threads_limited

CONTAINERS = {
    "dense": np.asarray,
    "dense float32": np.float32,
    "sparse": sparse.csr_array,
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 40), (20, 25)])
def test_gram_matrices_are_those_of_numpy(monkeypatch, container, n_threads, n, d):
    monkeypatch.setattr(wide, "CHUNK", 8)
    rng = np.random.default_rng(n)
    X = np.round(3 * rng.normal(size=(n, d)))
    h, scale = rng.random(n), rng.random(d)
    with threads_limited(n_threads):
        rows = WideRows(container(X), n_threads)
        for metric in (scale, np.full(d, 0.3), np.full(d, 2.0)):
            expected = (X * metric**2) @ X.T
            np.testing.assert_allclose(np.triu(rows.gram(metric)), np.triu(expected), rtol=1e-6, atol=1e-9)
        curvature = rows.curvature_of_features(h)
        assert curvature.sum() == pytest.approx((h @ X**2).sum(), rel=1e-6)
