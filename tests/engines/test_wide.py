"""Products with all rows, against numpy."""

import numpy as np
import pytest
from scipy import sparse

import drsvm.engines.wide as wide
from drsvm.engines.rows import DenseRows, SparseRows
from drsvm.engines.wide import WideRows
from drsvm.parallel import threads_limited

CONTAINERS = {
    "dense": DenseRows,
    "dense float32": lambda X: DenseRows(X.astype(np.float32)),
    "sparse": lambda X: SparseRows(sparse.csr_array(X)),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 40), (20, 25)])
def test_products_and_gram_matrices_are_those_of_numpy(monkeypatch, container, n_threads, n, d):
    monkeypatch.setattr(wide, "CHUNK", 8)
    rng = np.random.default_rng(n)
    X = np.round(3 * rng.normal(size=(n, d)))
    v, c, h, scale = rng.normal(size=d), rng.normal(size=n), rng.random(n), rng.random(d)
    with threads_limited(n_threads):
        rows = WideRows(container(X), n_threads)
        np.testing.assert_allclose(rows.dot(v), X @ v, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(rows.transposed_dot(c), X.T @ c, rtol=1e-12, atol=1e-12)
        for metric in (scale, np.full(d, 0.3), np.full(d, 2.0)):
            expected = (X * metric**2) @ X.T
            np.testing.assert_allclose(np.triu(rows.gram(metric)), np.triu(expected), rtol=1e-6, atol=1e-9)
        curvature = rows.curvature_of_features(h)
        assert curvature.sum() == pytest.approx((h @ X**2).sum(), rel=1e-6)
