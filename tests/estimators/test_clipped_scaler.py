"""ClippedScaler: gross errors do not change what the other rows look like."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from drsvm import ClippedScaler, WassersteinSVC, load_model, save_model
from drsvm.tables.clipped_cells import clipped_cells
from drsvm.utils import number


@pytest.mark.filterwarnings("ignore:Skipping check")
@parametrize_with_checks(
    [ClippedScaler(), ClippedScaler(limit=np.inf, with_mean=False, with_std=False)]
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    """Return 300 rows: normal ones, heavy tails, whole numbers, a rare 0/1 column, amounts that are mostly 0."""
    rng = np.random.default_rng(0)
    rare = rng.random(300) < 0.04
    amounts = rng.lognormal(size=300) * (rng.random(300) < 0.07)
    columns = (
        rng.normal(size=300),
        rng.standard_t(2, size=300),
        rng.poisson(3.0, 300),
        rare,
        amounts,
    )
    return np.column_stack([*columns, np.full(300, 7.0)])


def test_limits_are_robust_deviations_from_the_median(rows):
    scaler = ClippedScaler().fit(rows)
    column = rows[:, 0]
    low, middle, high = np.quantile(
        column, [0.1, 0.5, 0.9], method="averaged_inverted_cdf"
    )
    reach = 4.0 * (high - low) / 2.5631031310892
    np.testing.assert_allclose(
        [scaler.lower_[0], scaler.upper_[0]], [middle - reach, middle + reach]
    )
    clipped = np.clip(rows, scaler.lower_, scaler.upper_)
    np.testing.assert_allclose(
        scaler.transform(rows), StandardScaler().fit_transform(clipped)
    )
    np.testing.assert_allclose(
        scaler.inverse_transform(scaler.transform(rows)), clipped, atol=1e-9
    )
    np.testing.assert_allclose(
        ClippedScaler(np.inf).fit_transform(rows), StandardScaler().fit_transform(rows)
    )


def test_mostly_equal_cells_are_clipped_by_those_that_differ(rows):
    scaler = ClippedScaler().fit(rows)
    amounts = rows[:, 4]
    middle = np.sort(amounts[amounts > 0])[(np.count_nonzero(amounts) - 1) // 2]
    assert scaler.upper_[4] == pytest.approx(4.0 * middle)
    below, above = scaler.count_clipped(rows)
    assert above[3] == 0 and scaler.upper_[5] == np.inf  # 0/1, and constant
    assert (
        above.tolist() == (rows > scaler.upper_).sum(axis=0).tolist()
        and below.sum() > 0
    )


@pytest.mark.parametrize("error", [999.0, -1e6, 1e200])
def test_other_rows_hardly_change_with_an_error(rows, error):
    wrong = rows.copy()
    wrong[17, :5] = error
    before, after = (ClippedScaler().fit(X).transform(rows) for X in (rows, wrong))
    others = np.arange(300) != 17
    np.testing.assert_allclose(after[others, :3], before[others, :3], atol=0.2)
    assert (
        0.5 < np.std(after[others, 3:5]) / np.std(before[others, 3:5]) < 1
    )  # of 12 and 19 cells one is wrong


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_weights_are_copies_and_signs_do_not_matter(seed, gaps, stored_sparsely):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < [1.0, 0.5, 0.15, 0.06])
    X[rng.random(X.shape) < (0.1 if gaps else 0.0)] = np.nan
    weights = rng.integers(0, 4, 30)
    weights[0] = 1
    kind = sparse.csr_array if stored_sparsely else np.asarray
    weighted = ClippedScaler().fit(kind(X), None, weights)
    copied = ClippedScaler().fit(kind(np.repeat(X, weights, 0)))
    np.testing.assert_allclose(weighted.upper_, copied.upper_)
    other = ClippedScaler().fit(kind(-X), None, weights)
    np.testing.assert_allclose(
        [-other.upper_, -other.lower_], [weighted.lower_, weighted.upper_]
    )
    found, same = (scaler.transform(kind(X)) for scaler in (weighted, copied))
    np.testing.assert_allclose(
        *(one.toarray() if stored_sparsely else one for one in (found, same)), atol=1e-9
    )


def test_gaps_stay_and_do_not_count(rows):
    gaps = rows.copy()
    gaps[:50, 0] = np.nan
    gaps[:, 1] = np.nan
    scaler = ClippedScaler().fit(gaps)
    assert scaler.upper_[0] == ClippedScaler().fit(rows[50:, :1]).upper_[0]
    np.testing.assert_array_equal(np.isnan(scaler.transform(gaps)), np.isnan(gaps))


def test_sparse_rows_keep_their_zeros(rows):
    X = sparse.csr_array(rows)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        found = ClippedScaler().fit(kind(rows)).transform(kind(rows))
        np.testing.assert_array_equal(found.toarray() == 0, rows == 0)
    # The limits of others may lie beyond 0
    dense = ClippedScaler(with_mean=False).fit_transform(rows[:, 3:])
    np.testing.assert_allclose(ClippedScaler().fit_transform(X[:, 3:]).toarray(), dense)
    assert X.nnz == np.count_nonzero(rows)  # the caller's matrix is not changed


def with_duplicates(X):
    """Return CSR rows in which every entry is stored in two unordered parts."""
    whole = sparse.coo_array(X)
    row, column = whole.coords
    parts = np.append(0.25 * whole.data, 0.75 * whole.data)
    order = np.argsort(np.append(row, row), kind="stable")
    columns = np.append(column, column)[order]
    starts = np.append(0, np.cumsum(2 * np.bincount(row, minlength=len(X))))
    return sparse.csr_array((parts[order], columns, starts), shape=X.shape)


CONTAINERS = (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, with_duplicates)


@given(st.integers(0, 2**32 - 1), st.sampled_from(CONTAINERS), st.booleans())
def test_a_matrix_is_the_same_in_every_container(seed, kind, fitted_sparse):
    rng = np.random.default_rng(seed)
    # Eighths, which have no rounding errors, also far from 0 on either side
    X = rng.integers(-40, 40, (12, 4)) / 8.0 + [0.0, 30.0, -30.0, 0.0]
    X[rng.random(X.shape) < [0.3, 0.1, 0.1, 0.9]] = 0.0
    given = kind(X)
    before = given.copy()
    rows = given if fitted_sparse else X
    same = sparse.csr_array(X) if fitted_sparse else X
    scaler = ClippedScaler(limit=1.0, with_mean=False).fit(rows)
    expected = ClippedScaler(limit=1.0, with_mean=False).fit(same)
    np.testing.assert_array_equal(scaler.upper_, expected.upper_)
    np.testing.assert_allclose(
        scaler.transform(given).toarray(), expected.transform(X), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_array_equal(
        scaler.count_clipped(given), expected.count_clipped(X)
    )
    scaler.partial_fit(given)
    expected.partial_fit(X if not fitted_sparse else same)
    np.testing.assert_allclose(scaler.scaler_.scale_, expected.scaler_.scale_)
    # The given matrix is not changed.
    np.testing.assert_array_equal(given.data, before.data)


def test_sparse_rows_cannot_be_centred(rows):
    scaler = ClippedScaler().fit(rows)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        with pytest.raises(ValueError, match=r"X is sparse.* pass X\.toarray\(\)"):
            scaler.transform(kind(rows))
    # What was fitted on sparse rows does not centre dense ones either.
    scaler = ClippedScaler().fit(sparse.csr_array(rows))
    np.testing.assert_allclose(
        scaler.transform(rows), scaler.transform(sparse.csr_array(rows)).toarray()
    )


def test_half_floats_are_read_as_doubles(rows):
    half = rows[:, :4].astype(np.float16)
    np.testing.assert_array_equal(
        ClippedScaler().fit_transform(half),
        ClippedScaler().fit_transform(half.astype(np.float64)),
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [1e150, 1e300, 1e308])
def test_cells_whose_squares_overflow_are_named(rows, kind, size):
    wrong = rows[:, :3] / [1.0, np.abs(rows[:, 1]).max(), 1.0] * [1.0, size, 1.0]
    wrong[:2] = [[np.nan, 0.0, 0.0], [0.0, 0.0, np.nan]]
    scaler = ClippedScaler()
    with pytest.raises(ValueError, match="which is too large, at row 2, column 1:"):
        scaler.fit(kind(wrong))
    assert scaler.partial_fit(kind(rows)).scaler_.n_samples_seen_ == len(rows)


def test_blocks_share_the_limits_of_the_first(rows):
    scaler = ClippedScaler().partial_fit(rows[:200])
    upper = scaler.upper_.copy()
    scaler.partial_fit(rows[200:])
    np.testing.assert_array_equal(scaler.upper_, upper)
    np.testing.assert_allclose(
        scaler.scaler_.mean_, np.clip(rows, scaler.lower_, upper).mean(axis=0)
    )
    assert scaler.fit(rows[:100]).scaler_.n_samples_seen_ == 100


def test_frames_keep_their_names_and_types(rows):
    frame = pd.DataFrame(rows, columns=[*"abcdef"]).astype(np.float32)
    scaler = ClippedScaler().set_output(transform="pandas").fit(frame)
    assert scaler.transform(frame).columns.tolist() == [*"abcdef"]
    assert (scaler.transform(frame).dtypes == np.float32).all()
    with pytest.raises(ValueError, match="feature names"):
        scaler.transform(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("limit", [0, -1.0, "four", None])
def test_limits_must_be_positive_numbers(rows, limit):
    with pytest.raises((ValueError, TypeError), match="limit must be"):
        ClippedScaler(limit).fit(rows)


def test_the_farthest_cells_come_first(rows):
    wrong = rows.copy()
    wrong[[3, 4], 0] = [9999.0, 50.0]
    wrong[5, 2] = -999.0
    scaler = ClippedScaler().fit(wrong)
    texts, in_tails = clipped_cells(
        scaler, ["height", *"bcdef"], wrong, lambda _, value: number(value)
    )
    assert [*texts] == ["height", "c", "b"]  # the tails of b are heavy
    assert in_tails == (sum(scaler.count_clipped(wrong))[[3, 4, 5]].sum(), 1)
    assert texts["height"] == f"2 cells above {scaler.upper_[0]:.3g}, up to 9,999"
    assert texts["c"].startswith("1 cell below -") and texts["c"].endswith(
        "down to -999"
    )
    wrong = sparse.csr_array(wrong)
    assert (
        "9999"
        in clipped_cells(
            ClippedScaler().fit(wrong), [*"abcdef"], wrong, lambda _, value: str(value)
        ).far["a"]
    )


def test_one_bad_row_does_not_ruin_the_classifier(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    train = np.arange(len(y)) % 2 == 0
    wrong = X[train].copy()
    wrong[3] = 1000.0 * wrong.max(axis=0)
    model = make_pipeline(ClippedScaler(), WassersteinSVC()).fit(wrong, y[train])
    assert model.score(X[~train], y[~train]) > 0.95
    save_model(model, tmp_path / "model.drsvm")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.drsvm").decision_function(X),
        model.decision_function(X),
    )
