"""When another classifier is called clearly ahead."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier

from drsvm import WassersteinSVC
from drsvm.audit.performance import leads, scores
from drsvm.report.page import next_step
from drsvm.report.rivals import boosted_trees, clearly_ahead

N = 8000
CLASSES = np.array([0, 1])


def ahead(own, rival, y, model=None, costs=None):
    model = model or WassersteinSVC()
    found = leads(own, rival, y, CLASSES, costs)
    figures = scores(rival, y, CLASSES, new_rows=True, costs=costs)
    return clearly_ahead(found, figures, model)


def ranks(rng, y, lift):
    """Return decision values; the larger the lift, the better they rank."""
    return rng.normal(size=len(y)) + lift * (2 * y - 1)


@pytest.mark.parametrize(
    "own, rival, figure",
    [
        (0.0, 0.08, None),  # an ROC AUC of 0.54 and one of 0.5
        (0.08, 0.5, "roc_auc"),
        (0.5, 0.08, None),
        (0.5, 0.5, None),
    ],
)
def test_a_rival_that_hardly_beats_guessing_is_not_ahead(own, rival, figure):
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    assert ahead(ranks(rng, y, own), ranks(rng, y, rival), y) == figure


def test_with_costs_only_they_count():
    rng = np.random.default_rng(0)
    y = (rng.random(N) < 0.2).astype(int)
    costs = {0: 1.0, 1: 10.0}
    model = WassersteinSVC(threshold=costs)
    values = ranks(rng, y, 1.0)
    # The same ranks: decisions by cost have the lower accuracy, and cost less.
    by_cost = values + 0.5
    assert ahead(values, by_cost, y, model, costs) == "cost"
    assert ahead(by_cost, values, y, model, costs) is None
    always = np.ones(N)
    assert ahead(-values, always, y, model, costs) is None  # a constant answer


@pytest.mark.parametrize("names", [("no", "yes"), (0, 1)])
def test_trees_learn_costs_of_any_labels(names):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.array(names)[(X[:, 0] + rng.normal(size=300) > 0).astype(int)]
    dear = boosted_trees(X, y, {names[0]: 1.0, names[1]: 10.0})
    same = boosted_trees(X, y, None)
    assert (dear.predict(X) == names[1]).sum() > (same.predict(X) == names[1]).sum()


def test_columns_that_trees_cannot_split_change_nothing():
    rng = np.random.default_rng(0)
    # A leaf has 20 rows: some columns have fewer entries, some just enough.
    filled = np.array([300, 20, 19, *rng.integers(10, 30, 37)])
    X = np.where(np.arange(300)[:, None] < filled, rng.normal(size=(300, 40)), 0.0)
    X = rng.permuted(X, axis=0)
    y = (X @ rng.normal(size=40) + rng.normal(size=300) > 0).astype(int)
    whole = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
    of_all = whole.fit(X, y).decision_function(X)
    rows = csr_array(X)
    found = boosted_trees(rows, y, None).decision_function(rows)
    np.testing.assert_array_equal(found, of_all)
    # Nor is it an error if there is no other column.
    few = rows[:, np.flatnonzero(filled < 20)]
    constant = boosted_trees(few, y, None).decision_function(few)
    assert np.ptp(constant) < 1e-12


@pytest.mark.usefixtures("no_plots")
def test_a_report_with_costs_is_about_costs():
    from drsvm.report.computations import analyse
    from drsvm.report.inputs import Given

    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    noise = (rng.random(600) < 0.5).astype(int)
    given = Given(X, noise)
    analysis = analyse(WassersteinSVC(threshold={0: 1.0, 1: 4.0}), given, positive=None)
    step = next_step(analysis)
    assert "always answering 1 does not cost clearly more" in step.why
    # One lead for each rival, over which nothing else decides
    assert all("cost" in lead for lead in analysis.leads.values())
    own = analysis.own
    recall = own["recall"]
    share = np.mean(analysis.judged.y)
    expected = 4 * share * (1 - recall[1]) + (1 - share) * (1 - recall[0])
    assert own["cost"] == pytest.approx(expected)
    constant = own["constant"]
    assert constant["label"] == 1 and constant["cost"] == pytest.approx(1 - share)
    low, high = constant["costs_more"]
    assert low <= constant["cost"] - own["cost"] <= high
    low, high = own["intervals"]["cost"]
    assert low <= own["cost"] <= high
