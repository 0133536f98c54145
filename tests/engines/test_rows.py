"""Products with blocks of rows, dense and sparse, against numpy."""

import numpy as np
import pytest
from scipy import sparse

from drsvm.engines.rows import DENSE_FROM, DenseRows, SparseRows, rows_of


def with_long_indices(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def read_only(X):
    X = np.array(X)
    X.flags.writeable = False
    return X


CONTAINERS = {
    "dense": lambda X: DenseRows(read_only(X)),
    "dense float32": lambda X: DenseRows(X.astype(np.float32)),
    "sparse": lambda X: SparseRows(sparse.csr_array(X)),
    "sparse float32": lambda X: SparseRows(sparse.csr_array(X.astype(np.float32))),
    "sparse int64": lambda X: SparseRows(with_long_indices(X)),
}
for_each_container = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
for_each_shape = pytest.mark.parametrize("d", [1, 3, 4, 17, 49])
BLOCKS = [(0, 300), (5, 6), (10, 277), (299, 300), (0, 256), (20, 20)]


def some_rows(d, n=300):
    """Return rows of small integers, exact in float32, with zeros, a zero row and a zero column."""
    rng = np.random.default_rng(d)
    X = np.round(4 * rng.normal(size=(n, d))) * (rng.random((n, d)) < 0.6)
    X[7] = 0.0
    X[:, d // 2] *= d == 1
    return X


@for_each_container
@for_each_shape
def test_products_are_those_of_numpy(container, d):
    X = some_rows(d)
    rows = container(X)
    for first, last in BLOCKS:
        check_products(rows, X, first, last)


def check_products(rows, X, first, last):
    rng = np.random.default_rng(1)
    block, d = X[first:last], X.shape[1]
    v, coefficients = rng.normal(size=d), rng.normal(size=(2, last - first))
    out = np.full(last - first, np.nan)  # previous contents are overwritten
    rows.dot(first, last, v, out)
    np.testing.assert_allclose(out, block @ v, rtol=1e-12, atol=1e-12)

    totals = np.ones((d, 2))  # sums are added to the contents
    rows.transposed_dot(first, last, coefficients, totals)
    np.testing.assert_allclose(totals, 1 + block.T @ coefficients.T, rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(rows.block(first, last), block)
    assert rows.block(first, last).dtype == np.float64


def test_small_sparse_rows_are_treated_as_dense():
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    assert isinstance(rows_of(X), DenseRows) and rows_of(X).X.dtype == np.float32
    np.testing.assert_array_equal(rows_of(X).X, np.eye(3))


def test_sparse_rows_stay_sparse_unless_they_have_few_zeros(monkeypatch):
    monkeypatch.setattr("drsvm.engines.rows.SMALL", 0)
    share = np.zeros((10, 10))
    share.flat[: int(100 * DENSE_FROM)] = 2.0
    few = sparse.csr_array(share)
    assert isinstance(rows_of(few), SparseRows)
    share.flat[int(100 * DENSE_FROM)] = 2.0
    many = sparse.csr_array(share)
    assert isinstance(rows_of(many), DenseRows)
    np.testing.assert_array_equal(rows_of(many).X, share)
    assert np.shares_memory(rows_of(share).X, share)


def test_the_matrix_is_not_copied(monkeypatch):
    monkeypatch.setattr("drsvm.engines.rows.SMALL", 0)
    X = sparse.csr_array(some_rows(17) * (np.arange(300) % 5 == 0)[:, None])
    rows = rows_of(X)
    assert isinstance(rows, SparseRows) and rows.X is X
    assert all(np.shares_memory(ours, theirs) for ours, theirs in zip(rows.parts, (X.data, X.indices), strict=False))
