"""The size of the automatic ball: smaller where rows out of fold are ranked clearly better for it, and only there."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from drsvm import WassersteinSVC
from drsvm.learn.choosing import evidence
from drsvm.learn.choosing.evidence import SHARES_OF_BALL


@pytest.fixture(scope="module")
def uneven():
    """Return rows in which columns of a small scale decide, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    scores = X @ rng.normal(size=20) + rng.normal(size=3000)
    return X * np.logspace(-3, 0, 20), (scores > 0).astype(int)


def in_full(monkeypatch, *data, **options):
    with monkeypatch.context() as patched:
        patched.setattr(evidence, "MIN_JUDGED", np.inf)
        return WassersteinSVC(**options).fit(*data)


def test_less_is_taken_where_it_ranks_better_and_not_with_wrong_labels(uneven, monkeypatch):
    (X, new), (y, y_new) = ((one[:1200], one[1200:]) for one in uneven)
    full, model = in_full(monkeypatch, X, y), WassersteinSVC().fit(X, y)
    share = model.radius_ / full.radius_
    assert share == pytest.approx(SHARES_OF_BALL[2]) and model.l2_ == pytest.approx(share**2 * full.l2_)
    assert model.gap_ <= 1e-6 and model.result_.status.reached
    auc, before = (roc_auc_score(y_new, one.decision_function(new)) for one in (model, full))
    assert auc > before + 0.01
    given = WassersteinSVC(l2=full.l2_).fit(X, y)
    assert given.l2_ == full.l2_ and given.radius_ < full.radius_
    wrong = np.where(np.random.default_rng(1).random(1200) < 0.4, 1 - y, y)
    assert WassersteinSVC().fit(X, wrong).radius_ == in_full(monkeypatch, X, wrong).radius_


def test_order_copies_and_few_rows(uneven, monkeypatch):
    X, y = uneven[0][:700], uneven[1][:700]
    counts = np.random.default_rng(0).integers(1, 4, 700)
    weighted = WassersteinSVC().fit(X, y, counts)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(700), counts))
    repeated = WassersteinSVC().fit(X[order], y[order])
    assert weighted.radius_ < 0.5 * in_full(monkeypatch, X, y, counts).radius_
    assert repeated.radius_ == pytest.approx(weighted.radius_, rel=1e-6)
    np.testing.assert_allclose(repeated.decision_function(X), weighted.decision_function(X), atol=1e-5)
    assert WassersteinSVC().fit(X, y).radius_ == in_full(monkeypatch, X, y).radius_, "700 rows are too few"


def test_many_rows_are_judged_by_some(uneven, monkeypatch):
    monkeypatch.setattr(evidence, "MAX_JUDGED", 1000)
    X, y = uneven
    radius, full = WassersteinSVC().fit(X, y).radius_, in_full(monkeypatch, X, y).radius_
    assert radius < 0.5 * full
    for data in ((X[::-1], y[::-1]), (X, y, np.ones(3000))):
        assert WassersteinSVC().fit(*data).radius_ == pytest.approx(radius, rel=1e-6)
