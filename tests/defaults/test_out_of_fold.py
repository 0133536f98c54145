"""Decisions about rows that a classifier has not seen: how they are made, and in which folds."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from thorough import examples

from drsvm import Problem, Status, WassersteinSVC
from drsvm.defaults import folds, out_of_fold
from drsvm.defaults.folds import folds_by_content


def test_rows_are_judged_by_a_formula_in_folds_or_as_they_are(monkeypatch):
    X, y = make_classification(900, 6, weights=[0.8], random_state=0)
    solved = []
    left_out = []
    formula = out_of_fold.decisions_without
    monkeypatch.setattr(
        out_of_fold,
        "rough_classifiers",
        lambda parts, starts, **_: solved.extend(parts) or starts,
    )
    monkeypatch.setattr(
        out_of_fold,
        "decisions_without",
        lambda *given: left_out.append(given) or formula(*given),
    )
    ball = {"radius": 0.02, "l2": 0.001}
    WassersteinSVC(**ball).fit(X, y)
    assert len(left_out) == 1 and not solved
    # The formula is for labels that cannot be flipped
    WassersteinSVC(**ball, flip_cost=1.0).fit(X, y)
    assert len(solved) == 5 and {part.n_rows for part in solved} <= {*range(718, 723)}
    for few_rows, per_feature, expected in ((100, 1000, 1), (100, 20, 0)):
        solved.clear()
        for module in (folds, out_of_fold):
            monkeypatch.setattr(module, "MAX_IN_ALL_FOLDS", few_rows)
        monkeypatch.setattr(out_of_fold, "ROWS_PER_FEATURE", per_feature)
        assert (
            np.isfinite(WassersteinSVC(**ball, flip_cost=1.0).fit(X, y).threshold_)
            and len(solved) == expected
        )
    assert len(left_out) == 1
    for cv in (3, StratifiedKFold(4)):
        solved.clear()
        WassersteinSVC(**ball, cv=cv).fit(X, y)
        assert len(solved) == (3 if cv == 3 else 4)


# The clock does not know that there is no time.
@pytest.mark.filterwarnings("ignore:No row of class")
@pytest.mark.parametrize("status", [Status.INTERRUPTED, Status.TIME_LIMIT])
def test_ctrl_c_and_lack_of_time_leave_the_threshold_of_the_problem(
    rare, status, monkeypatch
):
    def stopped(parts, starts, **_):
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return [None] * len(parts)

    monkeypatch.setattr(out_of_fold, "rough_classifiers", stopped)
    model = WassersteinSVC(radius=0.02, l2=0.001, threshold="balanced_accuracy", cv=5)
    with (
        pytest.raises(KeyboardInterrupt)
        if status is Status.INTERRUPTED
        else nullcontext()
    ):
        model.fit(*rare)
    assert (
        model.threshold_ == 0.0
        and model.intercept_[0] == model.result_.intercept
        and model.gap_ <= 1e-6
    )


def test_pairs_of_indices_are_about_the_given_rows(rare):
    X, y = rare
    weights = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    folds = list(StratifiedKFold(4).split(X, y))
    kept = np.flatnonzero(weights)
    places = np.full(len(y), -1)
    places[kept] = np.arange(len(kept))
    of_kept = [
        (places[train][places[train] >= 0], places[test][places[test] >= 0])
        for train, test in folds
    ]
    one = WassersteinSVC(0.3, cv=folds, threshold="balanced_accuracy").fit(
        X, y, weights
    )
    other = WassersteinSVC(0.3, cv=of_kept, threshold="balanced_accuracy").fit(
        X[kept], y[kept]
    )
    assert (
        one.threshold_ == pytest.approx(other.threshold_, abs=1e-8)
        and one.threshold_ != 0.0
    )


def test_folds_by_content_have_all_classes_and_do_not_depend_on_the_storage(rare):
    X, y = rare
    problem = Problem(X, y)
    folds = folds_by_content(problem, y, np.ones(len(y)))
    assert np.bincount(folds).min() >= len(y) // 5 - 2
    # Two rows with close keys share a fold
    assert all(
        np.ptp([(folds[y == label] == k).sum() for k in range(5)]) <= 2
        for label in (0, 1)
    )
    np.testing.assert_array_equal(
        folds_by_content(problem.on_rows(sparse.csr_array(X)), y, np.ones(len(y))),
        folds,
    )


@examples(20, 200)
@given(seed=st.integers(0, 2**32 - 1), n_columns=st.integers(1, 5))
def test_origins_units_and_the_order_of_columns_do_not_matter_to_folds(seed, n_columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, n_columns))
    y = (X[:, 0] + rng.normal(size=100) > 0.3).astype(int)
    weights = rng.integers(1, 4, 100).astype(float)

    def folds(rows, signs=y, counts=weights):
        problem = Problem(rows, signs, sample_weight=counts)
        return folds_by_content(problem, signs, counts)

    expected = folds(X)
    units = 10.0 ** rng.uniform(-3, 3, n_columns)
    origins = 100.0 * rng.normal(size=n_columns)
    order = rng.permutation(n_columns)
    np.testing.assert_array_equal(folds((X * units + origins)[:, order]), expected)
    copies = np.repeat(np.arange(100), weights.astype(int))
    copied = folds(X[copies], signs=y[copies], counts=np.ones(len(copies)))
    np.testing.assert_array_equal(copied, expected[copies])
