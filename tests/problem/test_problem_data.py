"""The data of a problem: labels, weights and rows that it accepts and rejects, and what it copies."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import FIVE_LABELS as Y
from problems import FIVE_ROWS as X
from problems import NORMS, Plain, classifiers, problems
from scipy import sparse

from drsvm import (
    ClippedScaler,
    Problem,
    WassersteinKernelSVC,
    WassersteinSVC,
    find_label_issues,
    solve,
    worst_case_risk,
)
from drsvm.problem import typical_row_norm
from drsvm.utils import row_blocks

W = np.array([0.5, -1.0, 0.25])


# Labels


@pytest.mark.parametrize(
    ("labels", "negative", "positive"),
    [
        (["spam", "ham", "spam"], "ham", "spam"),
        ([True, False, True], False, True),
        ([1, -1, 1], -1, 1),
        ([0.5, -2.5, 0.5], -2.5, 0.5),
        (np.array(["b", "a", "b"], dtype=object), "a", "b"),
        (np.array([[1], [0], [1]]), 0, 1),
        (np.array([2, 1, 2], dtype=np.uint8), 1, 2),
    ],
)
def test_the_larger_of_any_two_labels_is_positive(labels, negative, positive):
    problem = Problem(X[:3], labels)
    assert problem.classes.tolist() == [negative, positive]
    assert problem.signs.tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (
            [1, 1, 1],
            ValueError,
            "exactly two labels, got 1 .*one class cannot be separated",
        ),
        (
            [1, 2, 3],
            ValueError,
            "exactly two labels, got 3 .*one problem per class against the rest",
        ),
        ([1, 0], ValueError, "X has 3 rows, y has shape"),
        ([[1, 0], [0, 1], [1, 1]], ValueError, "X has 3 rows, y has shape"),
        ([1.0, math.nan, 0.0], ValueError, "y has nan among its labels: drop"),
        ([1j, 0, 1], TypeError, "complex"),
        (
            np.array(["a", 1, "a"], dtype=object),
            TypeError,
            r"with each other \(int, str\): use",
        ),
    ],
)
def test_bad_labels_are_rejected(labels, error, message):
    with pytest.raises(error, match=message):
        Problem(X[:3], labels)


# Sparse matrices


@pytest.mark.parametrize("index", [-1, max(X.shape), 2**31 - 1])
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_indices_out_of_range_are_rejected(form, kind, index):
    rows = getattr(sparse, f"{form}_{kind}")(X)
    indices = rows.col if form == "coo" else rows.indices
    indices[0] = index
    before = indices.copy()
    for function in (
        lambda: Problem(rows, Y),
        lambda: WassersteinSVC().fit(rows, Y),
        lambda: WassersteinSVC(radius=0.1).fit(X, Y).predict(rows),
        lambda: WassersteinKernelSVC(radius=0.1).fit(X, Y).predict(rows),
        lambda: ClippedScaler().fit(rows),
        lambda: find_label_issues(rows, Y),
        lambda: worst_case_risk((W, 0.0), rows, Y, radius=0.1),
    ):
        with pytest.raises(ValueError, match=f"X is no {form.upper()} matrix of shape"):
            function()
    np.testing.assert_array_equal(indices, before)


# Sample weights


@pytest.mark.parametrize("factor", [1.0, 1e300, 1e-300, 5e-324])
def test_weights_are_scaled_to_sum_one(factor):
    weights = Problem(
        X, Y, sample_weight=np.array([1, 2, 3, 4, 6]) * factor
    ).sample_weight
    np.testing.assert_allclose(weights, np.array([1, 2, 3, 4, 6]) / 16, rtol=1e-15)


def test_equal_weights_by_any_name():
    for given_weights in (None, 3, np.ones(5, dtype=bool), [2] * 5, np.full(5, 1e308)):
        np.testing.assert_allclose(
            Problem(X, Y, sample_weight=given_weights).sample_weight, 0.2, rtol=1e-15
        )


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weight_zero_removes_the_row(container):
    weights = np.array([1.0, 0.0, 2.0, 3.0, 0.0])
    problem = Problem(container(X), Y, sample_weight=weights, flip_cost=2.0)
    kept = [0, 2, 3]
    removed = Problem(
        container(X[kept]), Y[kept], sample_weight=weights[kept], flip_cost=2.0
    )
    assert (problem.n_rows, problem.n_given, removed.n_given) == (3, 5, 3)
    assert problem.objective(W) == removed.objective(W)
    np.testing.assert_array_equal(
        problem.to_given_rows(np.array([1.0, 2.0, 3.0])), [1, 0, 2, 3, 0]
    )
    result = solve(problem, "conic")
    assert result.hinge_dual.shape == result.flip_dual.shape == (5,)
    assert (
        not result.hinge_dual[weights == 0].any()
        and not result.flip_dual[weights == 0].any()
    )
    assert result.objective == pytest.approx(
        solve(removed, "conic").objective, rel=1e-9
    )


@given(problems(scales=(1.0,)), st.integers(1, 4), st.data())
def test_a_repeated_row_counts_like_a_larger_weight(problem, times, data):
    plain = Plain.of(problem)
    parameters = {
        "radius": problem.radius,
        "flip_cost": problem.flip_cost,
        "norm": problem.norm,
        "l2": problem.l2,
    }
    repeats = np.ones(problem.n_rows, dtype=int)
    repeats[0] = times
    repeated = Problem(
        np.repeat(plain.X, repeats, axis=0), np.repeat(plain.y, repeats), **parameters
    )
    weighted = Problem(plain.X, plain.y, sample_weight=repeats, **parameters)
    w, _ = data.draw(classifiers(weighted))
    assert repeated.objective(w) == pytest.approx(weighted.objective(w), rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1, -1, 1, 1, 1], ValueError, "sample_weight has -1 at row 1"),
        ([1, 1, math.nan, 1, 1], ValueError, "sample_weight has nan at row 2"),
        (
            [0, 0, 0, 0, 0],
            ValueError,
            "0 for every row: at least one row of each class",
        ),
        (
            [1, 1, 1],
            ValueError,
            r"sample_weight must be .* one entry per row of X \(5\), got shape",
        ),
        (
            [1, 0, 1, 0, 1],
            ValueError,
            "Only the label 1 remains .* each class needs a positive weight",
        ),
        (["a"] * 5, TypeError, "sample_weight must contain real numbers"),
    ],
)
def test_bad_weights_are_rejected(weights, error, message):
    with pytest.raises(error, match=message):
        Problem(X, Y, sample_weight=weights)


# Containers


class FrameLike:
    """Mimics a data frame: converted to an array only on request."""

    def __init__(self, values):
        self._values = values

    def __array__(self, dtype=None, copy=None):
        return self._values if dtype is None else self._values.astype(dtype)


def with_duplicates(values):
    """Return a COO array in which every entry is split into two halves, in a random order."""
    coo = sparse.coo_array(values)
    order = np.random.default_rng(0).permutation(2 * coo.nnz)
    row, column, data = (np.tile(a, 2)[order] for a in (*coo.coords, coo.data / 2))
    return sparse.coo_array((data, (row, column)), shape=values.shape)


def messy_csr(values, container=sparse.csr_array, index=np.int64):
    """Return a CSR array with unsorted and repeated column indices of 64 bits."""
    indptr = [0]
    indices = []
    data = []
    for row in values:
        columns = np.flatnonzero(row)[::-1]
        indices += [*columns, *columns]
        data += [*(row[columns] - 1), *np.ones(len(columns))]
        indptr.append(len(indices))
    messy = container(values.shape)
    messy.data = np.array(data)
    messy.indices = np.array(indices, index)
    messy.indptr = np.array(indptr, index)
    return messy


CONTAINERS = {
    "integers": lambda a: a.astype(np.int64),
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "long double": lambda a: a.astype(np.longdouble),
    "big-endian": lambda a: a.astype(">f8"),
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "list": lambda a: a.tolist(),
    "frame": FrameLike,
    "csr": sparse.csr_array,
    "csr matrix": sparse.csr_matrix,
    "csr integers": lambda a: sparse.csr_array(a.astype(np.int32)),
    "csr float32": lambda a: sparse.csr_array(a.astype(np.float32)),
    "csr messy": messy_csr,
    "csr matrix messy": lambda a: messy_csr(a, sparse.csr_matrix, np.int32),
    "csc": sparse.csc_array,
    "csc of messy": lambda a: sparse.csc_array(messy_csr(a)),
    "coo": sparse.coo_array,
    "coo with duplicates": with_duplicates,
    "dia": sparse.dia_array,
}


def assert_same_problem(problem, reference):
    """Compare everything that is computed from the rows."""
    np.testing.assert_allclose(
        problem.margins(W, 0.3), reference.margins(W, 0.3), rtol=1e-12, atol=1e-12
    )
    g = np.arange(1.0, 1.0 + problem.n_rows)
    np.testing.assert_allclose(
        problem.weighted_sum(g)[0], reference.weighted_sum(g)[0], rtol=1e-12, atol=1e-12
    )
    assert problem.objective(W) == pytest.approx(reference.objective(W), rel=1e-12)
    assert typical_row_norm(problem) == pytest.approx(
        typical_row_norm(reference), rel=1e-12
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_gives_the_same_problem(name, norm):
    problem = Problem(CONTAINERS[name](X), Y, norm=norm, flip_cost=0.5)
    assert_same_problem(problem, Problem(X, Y, norm=norm, flip_cost=0.5))
    assert problem.X.dtype in (np.float32, np.float64)
    if sparse.issparse(problem.X):
        assert problem.X.format == "csr" and problem.X.has_canonical_format
        assert problem.X.indices.dtype == problem.X.indptr.dtype == np.int32


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_booleans_are_numbers(container):
    assert_same_problem(Problem(container(X > 0), Y), Problem((X > 0).astype(float), Y))


@given(problems(), st.data())
def test_dense_and_sparse_agree(problem, data):
    compressed = problem.on_rows(sparse.csr_array(problem.X))
    w, b = data.draw(classifiers(problem))
    size = 1 + np.abs(problem.X) @ np.abs(w) + abs(b)
    np.testing.assert_array_less(
        np.abs(compressed.margins(w, b) - problem.margins(w, b)), 1e-12 * size
    )
    assert compressed.objective(w, b) == pytest.approx(
        problem.objective(w, b), rel=1e-12, abs=1e-12 * size.max()
    )


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_are_processed_in_blocks(set_values, container):
    reference = Problem(X, Y, norm=1)
    set_values(block_bytes=48)
    assert len(list(row_blocks(X))) == 3
    assert_same_problem(Problem(container(X), Y, norm=1), reference)
    spoilt = X.copy()
    spoilt[3, 1] = -np.inf
    with pytest.raises(ValueError, match="X has -inf at row 3, column 1"):
        Problem(container(spoilt), Y)


# Memory


def test_a_dense_array_or_memory_map_is_not_copied(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    for given_rows in (
        X.astype(np.float32),
        X.copy(),
        np.load(tmp_path / "rows.npy", mmap_mode="r"),
    ):
        writeable = given_rows.flags.writeable
        problem = Problem(given_rows, Y)
        assert np.shares_memory(problem.X, given_rows)
        assert given_rows.flags.writeable == writeable and not problem.X.flags.writeable
        assert_same_problem(problem, Problem(X, Y))


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_a_canonical_csr_array_is_not_copied(container):
    given_rows = container(X)
    problem = Problem(given_rows, Y)
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(problem.X, part), getattr(given_rows, part))
        assert getattr(given_rows, part).flags.writeable


def snapshot(rows):
    """Return copies of everything that a caller can see of an array."""
    if not sparse.issparse(rows):
        return [np.array(rows), rows.flags.writeable, rows.flags.f_contiguous]
    if rows.format == "coo":
        return [
            rows.data.copy(),
            *[c.copy() for c in rows.coords],
            rows.has_canonical_format,
        ]
    seen = [
        rows.data.copy(),
        rows.indices.copy(),
        rows.indptr.copy(),
        rows.indices.dtype,
        rows.data.flags.writeable,
    ]
    return [
        *seen,
        "_has_canonical_format" in vars(rows),
        "_has_sorted_indices" in vars(rows),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "integers",
        "float32",
        "Fortran",
        "csr",
        "csr messy",
        "csr matrix messy",
        "csc of messy",
        "coo with duplicates",
    ],
)
def test_the_given_data_are_not_modified(name):
    given_rows = CONTAINERS[name](X)
    labels = Y.copy()
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0])
    before = snapshot(given_rows)
    problem = Problem(given_rows, labels, sample_weight=weights, fit_intercept=True)
    solve(problem, "conic")
    for seen, now in zip(before, snapshot(given_rows), strict=True):
        np.testing.assert_array_equal(seen, now)
    assert labels.tolist() == Y.tolist() and labels.flags.writeable
    assert weights.tolist() == [1, 2, 0, 1, 1] and weights.flags.writeable


# Invalid features


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e101])
@pytest.mark.parametrize(("i", "j"), [(0, 0), (3, 0), (4, 2)])
def test_errors_give_the_position_of_an_unusable_entry(container, value, i, j):
    spoilt = X.copy()
    spoilt[i, j] = value
    large = ", which is too large," if value == 1e101 else ""
    with pytest.raises(
        ValueError,
        match=re.escape(
            f"X has {value:g}{large} at row {i}, column {j}: impute or drop"
        ),
    ):
        Problem(container(spoilt), Y)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (np.zeros((0, 3)), ValueError, r"X is empty: its shape is \(0, 3\)"),
        (sparse.csr_array((5, 0)), ValueError, r"X is empty: its shape is \(5, 0\)"),
        (np.zeros(5), ValueError, r"two dimensions .*reshape\(-1, 1\)"),
        (sparse.coo_array(np.ones(5)), ValueError, "two dimensions"),
        (None, ValueError, "two dimensions"),
        (X * 1j, TypeError, "complex128: take the real part"),
        (X.astype(object), TypeError, r"dtype object: convert it .*X.astype\(float\)"),
        (X.astype(str), TypeError, "must contain real numbers"),
        (X.astype("datetime64[s]"), TypeError, "must contain real numbers"),
    ],
)
def test_bad_features_are_rejected(rows, error, message):
    with pytest.raises(error, match=message):
        Problem(rows, Y)
