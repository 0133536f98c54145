"""The size of the automatic ball: smaller where rows out of fold are ranked clearly better for it, and only there."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC
from drsvm.defaults import select_by_folds as evidence
from drsvm.defaults.select_by_folds import SHARES

pytestmark = pytest.mark.filterwarnings("ignore:Different scales")


@pytest.fixture(scope="module")
def uneven():
    """Return rows in which columns of a small scale decide, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    scores = X @ rng.normal(size=20) + rng.normal(size=3000)
    return X * np.logspace(-3, 0, 20), (scores > 0).astype(int)


def in_full(monkeypatch, *data, **options):
    with monkeypatch.context() as patched:
        patched.setattr(evidence, "MIN_SAMPLE", np.inf)
        return WassersteinSVC(**options).fit(*data)


def test_less_is_taken_where_it_ranks_better_and_not_with_wrong_labels(
    uneven, monkeypatch
):
    (X, new), (y, y_new) = ((one[:1200], one[1200:]) for one in uneven)
    full = in_full(monkeypatch, X, y)
    model = WassersteinSVC().fit(X, y)
    share = model.radius_ / full.radius_
    assert (
        share == pytest.approx(min(SHARES, key=lambda one: abs(one - share)))
        and share < 0.5
        and model.l2_ == pytest.approx(share**2 * full.l2_)
    )
    assert model.gap_ <= 1e-6 and model.result_.status.reached
    auc, before = (
        roc_auc_score(y_new, one.decision_function(new)) for one in (model, full)
    )
    assert auc > before + 0.01
    given = WassersteinSVC(l2=full.l2_).fit(X, y)
    assert given.l2_ == full.l2_ and given.radius_ < full.radius_
    given = WassersteinSVC(0.1 * full.radius_).fit(X, y)
    assert given.radius_ == 0.1 * full.radius_ and given.l2_ <= full.l2_
    wrong = np.where(np.random.default_rng(1).random(1200) < 0.4, 1 - y, y)
    assert (
        WassersteinSVC().fit(X, wrong).radius_ == in_full(monkeypatch, X, wrong).radius_
    )


def test_order_copies_and_few_rows(uneven, monkeypatch):
    X = uneven[0][:700]
    y = uneven[1][:700]
    counts = np.random.default_rng(0).integers(1, 4, 700)
    weighted = WassersteinSVC().fit(X, y, counts)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(700), counts))
    repeated = WassersteinSVC().fit(X[order], y[order])
    assert weighted.radius_ < 0.5 * in_full(monkeypatch, X, y, counts).radius_
    assert repeated.radius_ == pytest.approx(weighted.radius_, rel=1e-6)
    np.testing.assert_allclose(
        repeated.decision_function(X), weighted.decision_function(X), atol=1e-5
    )
    few = X[:59], y[:59]
    assert WassersteinSVC().fit(*few).radius_ == in_full(monkeypatch, *few).radius_, (
        "these prove nothing"
    )


def test_many_rows_are_judged_by_some(uneven, monkeypatch):
    monkeypatch.setattr(evidence, "MAX_SAMPLE", 1000)
    X, y = uneven
    radius = WassersteinSVC().fit(X, y).radius_
    full = in_full(monkeypatch, X, y).radius_
    assert radius < 0.5 * full
    for data in ((X[::-1], y[::-1]), (X, y, np.ones(3000))):
        assert WassersteinSVC().fit(*data).radius_ == pytest.approx(radius, rel=1e-6)


def final_boards():
    """Return the boards in which tic-tac-toe can end, as 27 columns of 0 and 1, and whether the first player won."""
    square = np.arange(9).reshape(3, 3)
    lines = np.array(
        [*square, *square.T, square.diagonal(), np.fliplr(square).diagonal()]
    )
    boards = np.array(list(product((0, 1, 2), repeat=9)))
    won = [(boards == player)[:, lines].all(axis=2).any(axis=1) for player in (0, 1, 2)]
    moves = [(boards == player).sum(axis=1) for player in (0, 1, 2)]
    first = won[1] & ~won[2] & (moves[1] == moves[2] + 1)
    second = won[2] & ~won[1] & (moves[1] == moves[2])
    ended = first | second | (~won[1] & ~won[2] & (moves[1] == 5) & (moves[2] == 4))
    return np.eye(3)[boards[ended]].reshape(-1, 27), first[ended].astype(int)


def test_a_sharp_rule_is_found_among_wrong_labels():
    """All rows look wrong to the rules: many columns, each of which says little."""
    X, y = final_boards()
    assert X.shape == (958, 27)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    train = order[:400]
    test = order[400:]
    X = StandardScaler().fit_transform(X)
    wrong = np.where(rng.random(958) < 0.2, 1 - y, y)
    model = WassersteinSVC().fit(X[train], wrong[train])
    assert (
        model.score(X[test], y[test])
        > 0.95
        > 0.8
        > in_full_score(X, wrong, y, train, test)
    )
    reordered = WassersteinSVC(n_jobs=2).fit(
        X[train[::-1]][:, ::-1], wrong[train[::-1]]
    )
    assert (reordered.radius_, reordered.l2_) == pytest.approx(
        (model.radius_, model.l2_), rel=1e-6
    )
    thin = WassersteinSVC().fit(sparse.csr_array(X[train]), wrong[train])
    assert thin.score(X[test], y[test]) > 0.95


def in_full_score(X, wrong, y, train, test):
    with pytest.MonkeyPatch.context() as patched:
        return in_full(patched, X[train], wrong[train]).score(X[test], y[test])


def test_several_classes_are_judged_too(uneven, monkeypatch):
    X = uneven[0][:900]
    y = uneven[1][:900]
    three = np.where(X[:, -1] > 1.0, 2, y)
    assert (
        WassersteinSVC().fit(X, three).radius_ < in_full(monkeypatch, X, three).radius_
    )


@pytest.mark.parametrize(("n", "d"), [(100, 10), (400, 20)])
def test_the_first_stays_where_there_is_nothing_to_find(n, d, monkeypatch):
    stayed = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d))
        y = rng.integers(0, 2, n)
        stayed.append(
            WassersteinSVC().fit(X, y).radius_ == in_full(monkeypatch, X, y).radius_
        )
    assert np.mean(stayed) > 0.8


def test_a_candidate_that_trails_is_given_up_early(uneven, monkeypatch):
    solved = []
    decide = evidence.decisions_of_folds

    def counted(parts, balls, *options):
        solved.extend(len(parts) * balls)
        return decide(parts, balls, *options)

    monkeypatch.setattr(evidence, "decisions_of_folds", counted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = X @ rng.normal(size=30) + 3.0 * rng.normal(size=400) > 0
    radius = WassersteinSVC().fit(X, y).radius_
    assert len(solved) < 2 * evidence.FOLDS, "of both candidates"
    # The one that leads is not, and every fold of the four candidates is solved once.
    solved.clear()
    WassersteinSVC().fit(uneven[0][:1200], uneven[1][:1200])
    assert len(solved) == 4 * evidence.FOLDS
    monkeypatch.setattr(evidence, "MOST_BEHIND", np.inf)
    assert WassersteinSVC().fit(X, y).radius_ == radius


def test_a_perfect_candidate_is_ahead_of_a_constant_one():
    """No row tells more than another then: the lead has no variance."""
    labels = np.arange(80) % 2
    ones = np.ones(80)
    judged = evidence.EvaluationRows([], labels, labels, ones, 80.0)
    ranks = {1: np.zeros((80, 1)), 2: labels[:, None].astype(float)}
    assert evidence.best_if_significant([[1], [2]], ranks.get, judged) == 2
    assert evidence.best_if_significant([[2], [1]], ranks.get, judged) == 2
    assert (
        evidence.best_if_significant(
            [[2], [1]], lambda one: ranks[2] if one == 2 else None, judged
        )
        == 2
    )
