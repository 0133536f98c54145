"""Gram matrices formed by one or several threads, against numpy."""

import numpy as np
import pytest
from scipy import sparse
from thorough import unless_long

from drsvm import Problem
from drsvm.engines import (
    DENSE_FROM,
    BlasMatrices,
    CpuEngine,
    OwnMatrices,
    SharedMatrix,
    WideRows,
    in_fastest_form,
)
from drsvm.utils import threads_limited

ROWS_OF_BLOCKS = unless_long(np.asarray, np.float32)  # float32 takes time to compile
WAYS = {
    "tiles": (np.asarray, OwnMatrices, {"rows_for_blas": 0}),
    "tiles, float32": (np.float32, OwnMatrices, {"rows_for_blas": 0}),
    "BLAS": (np.asarray, BlasMatrices, {"features_for_blas": 0}),
    "BLAS, many blocks": (
        ROWS_OF_BLOCKS,
        BlasMatrices,
        {"features_for_blas": 0, "gram_block_bytes": 1, "gram_block_rows": 100},
    ),
    "sparse, one each": (sparse.csr_array, OwnMatrices, {}),
    "sparse, shared": (
        sparse.csr_array,
        SharedMatrix,
        {"own_gram_bytes": 1, "shared_gram_rows": 300},
    ),
    "sparse, a part each": (sparse.csr_array, SharedMatrix, {"own_gram_bytes": 4}),
}


def rows_and_labels(n, d):
    """Return rows of small integers, exact in float32, with zeros, a zero row and a zero column."""
    rng = np.random.default_rng(n + d)
    X = np.round(4 * rng.normal(size=(n, d))) * (rng.random((n, d)) < 0.25)
    X[7] = 0.0
    X[:, d // 2] *= d == 1
    return X, np.where(np.arange(n) % 3, 1, -1)


@pytest.mark.parametrize(
    ("container", "kind", "settings"), WAYS.values(), ids=WAYS.keys()
)
@pytest.mark.parametrize("n_threads", [1, 5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("n", "d"), [(700, 1), (700, 2), (700, 5), (9000, 8), (700, 17), (700, 64)]
)
def test_the_equations_are_those_of_numpy(
    set_values, container, kind, settings, n_threads, intercept, n, d
):
    set_values(thread_work=1, share_work=1, small_matrix=0, **settings)
    X, y = rows_and_labels(n, d)
    engine = CpuEngine(Problem(container(X), y, fit_intercept=intercept), n_threads)
    assert isinstance(engine._matrices, kind)
    engine.center(np.random.default_rng(1).normal(size=engine.n_linear), 1.7, 0.3)
    _, curvature = engine.curvature()
    alpha, beta, gamma, g1, g2, g3 = engine.states
    d1 = alpha / g1
    d2 = beta / g2
    d3 = gamma / g3
    h = (4 * d1 * d2 + d3 * (d1 + d2)) / (d1 + d2 + d3)
    np.testing.assert_allclose(
        np.triu(curvature.gram), np.triu(X.T @ (h[:, None] * X)), rtol=1e-11, atol=1e-13
    )
    column = -np.where(y > 0, 1, -1) * d2 * (2 * d1 + d3) / (d1 + d2 + d3)
    extended = np.column_stack([X, np.ones(n)])[:, : engine.n_linear]
    np.testing.assert_allclose(
        curvature.column, extended.T @ column, rtol=1e-10, atol=1e-13
    )
    np.testing.assert_allclose(
        curvature.border, (extended.T @ h) * intercept, rtol=1e-11, atol=1e-13
    )


def test_a_matrix_can_be_formed_again():
    X, y = rows_and_labels(6000, 6)
    engine = CpuEngine(Problem(X, y), 1)
    engine.center(np.zeros(6), 1.0, 1.0)
    first = engine.curvature()[1].gram.copy()
    np.testing.assert_array_equal(engine.curvature()[1].gram, first)


def test_threads_share_features_evenly():
    X = sparse.random_array(
        (4000, 900), density=0.02, rng=np.random.default_rng(0), format="csr"
    )
    engine = CpuEngine(Problem(X, np.where(np.arange(4000) % 2, 1, -1)), 1)
    shared = SharedMatrix(engine.rows.X, 4, 4, np.empty(0))
    widths = np.array([after - begin for begin, after in shared.parts])
    assert len(widths) == 4 and widths.min() > 0
    assert (
        widths[0] < widths[-1]
    )  # of a triangle: the rows of the first features are longer


def test_groups_of_threads_have_a_matrix_each_if_there_is_room():
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(900, 20)))
    many = SharedMatrix(X, 9, 9, np.empty(900))
    assert len(many.matrices) == 3 and many.in_group == 3
    assert many.row_cuts == [0, 300, 600, 900]
    few = SharedMatrix(X[:30], 9, 9, np.empty(30))
    assert len(few.matrices) == 1 and few.in_group == 9


def test_sparse_rows_stay_sparse_unless_they_are_small_or_have_few_zeros(set_values):
    rows = in_fastest_form(sparse.csr_array(np.eye(3, dtype=np.float32)))
    assert not rows.is_sparse and rows.dtype == np.float32
    np.testing.assert_array_equal(rows.X, np.eye(3))
    set_values(small_matrix=0)
    share = np.zeros((10, 10))
    share.flat[: int(100 * DENSE_FROM)] = 2.0
    few = sparse.csr_array(share)
    assert in_fastest_form(few).X is few
    share.flat[int(100 * DENSE_FROM)] = 2.0
    many = in_fastest_form(sparse.csr_array(share))
    assert not many.is_sparse
    np.testing.assert_array_equal(many.X, share)
    assert np.shares_memory(in_fastest_form(share).X, share)


@pytest.mark.parametrize("container", [np.asarray, np.float32, sparse.csr_array])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 40), (20, 25)])
def test_gram_matrices_of_rows_are_those_of_numpy(
    set_values, container, n_threads, n, d
):
    set_values(features_at_a_time=8)
    rng = np.random.default_rng(n)
    X = np.round(3 * rng.normal(size=(n, d)))
    h = rng.random(n)
    scale = rng.random(d)
    with threads_limited(n_threads):
        rows = WideRows(container(X), n_threads)
        for metric in (scale, np.full(d, 0.3), np.full(d, 2.0)):
            expected = (X * metric**2) @ X.T
            np.testing.assert_allclose(
                np.triu(rows.gram(metric)), np.triu(expected), rtol=1e-6, atol=1e-9
            )
        assert rows.curvature_of_features(h).sum() == pytest.approx(
            (h @ X**2).sum(), rel=1e-6
        )
