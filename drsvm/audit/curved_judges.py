"""Judges of labels that follow curved boundaries, and when they are believed.

Linear classifiers withstand wrong labels best, but they contradict correct labels where
the boundary is curved. So a kernel and trees judge the same rows, and all of them rank
the given labels of rows that they have not seen. If the kernel, the trees, or both
together rank clearly better than the linear classifiers, the best of these decide.
Otherwise the linear ones do, and those that rank about as well count beside them: their
mistakes are others. Differences shrink with the share of wrong labels, as evidence
should.

Both are chosen for their speed. The kernel's classifier is a ridge regression of the
labels in the span of some rows, which takes one product per fold. The trees split at
random places; each of them learns from rows that are drawn with replacement, and judges
those that are not drawn.
"""

from collections.abc import Mapping

import numpy as np
from scipy.linalg import solve
from sklearn import config_context
from sklearn.kernel_approximation import Nystroem
from sklearn.tree import ExtraTreeRegressor

from drsvm.audit.label_scores import (
    LINEAR,
    Judged,
    Opinion,
    opinions_of,
    probabilities_of,
)
from drsvm.defaults.folds import Folds
from drsvm.defaults.one_vs_rest import is_constant
from drsvm.defaults.roc_auc import auc_parts, errors_ahead
from drsvm.defaults.select_by_folds import EVIDENCE
from drsvm.estimators.fold_decisions import Table
from drsvm.utils.annotations import Matrix

# What follows was fixed on eleven tables of 1,000 rows with 20 % wrong labels, those
# that benchmarks/results/public/value_of_rows.md says it was chosen on.
# Numbers in the largest tables that are not left to linear classifiers alone
MOST_CELLS = 5_000_000
# Standard errors by which a judge may be behind the linear ones and count beside them.
# With 2, by seven tables of 2,500 rows with 10 to 30 % wrong labels, 3 points fewer of
# the first 50 labels of german.numer are wrong; with 0, the area under the ROC curve
# gains half as much.
AS_GOOD = 1.0
# Rows that span the functions of the kernel, γ times the mean squared distance from the
# centre, and the ridge as a share of the rows
LANDMARKS = 100
WIDTH = 0.6
RIDGE = 0.003
# Trees, the rows drawn for each at most, the columns that a split looks at, and the
# weight of a leaf: with one row, trees learn single labels
TREES = 50
DRAWN = 1000
COLUMNS = 40
LEAF = 3.0


def are_few(rows: Matrix) -> bool:
    """Return whether a kernel and trees judge rows in little time."""
    n, d = rows.shape
    return n * max(d, LANDMARKS) <= MOST_CELLS


def best_judges(
    judges: Mapping[str, list[Opinion]], judged: Judged
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return who decides: linear judges and those as good, or others if clearly better.

    Parameters
    ----------
    judges : dict of lists
        The opinions of linear judges, of a kernel and of trees.
    judged : Judged
        The labels.

    Returns
    -------
    judged_by : tuple of str
        Their names.
    leads : dict
        Leads over the linear ones, in standard errors.
    """
    given = judged.given[judged.counted]
    weights = judged.weights[judged.counted]
    of_linear = _auc_parts(judges["linear"], judged)
    chosen = LINEAR
    highest = -np.inf
    leads = {}
    for names in (("kernel",), ("trees",), ("kernel", "trees")):
        parts = _auc_parts(opinions_of(judges, names), judged)
        lead = errors_ahead(parts, of_linear, given, weights)
        leads[" and ".join(names)] = lead
        auc = float(weights @ parts)
        if lead > EVIDENCE and auc > highest:
            chosen = names
            highest = auc
    if chosen == LINEAR:
        as_good = [name for name in ("kernel", "trees") if leads[name] > -AS_GOOD]
        chosen = (*LINEAR, *as_good)
    return chosen, leads


def _auc_parts(opinions: list[Opinion], judged: Judged) -> np.ndarray:
    """Return what the rows that count contribute to the ROC AUC of opinions."""
    # A single one ranks as its probabilities do.
    values = opinions[0].in_folds
    if len(opinions) > 1:
        values = probabilities_of(opinions, judged)
    if values.shape[1] == 2:
        values = values[:, 1]
    counted = judged.counted
    parts = auc_parts(values[counted], judged.given[counted], judged.weights[counted])
    # Every class has rows that count, as `find_label_issues` has checked.
    assert parts is not None
    return parts


# --- kernel


def opinion_of_kernel(table: Table, judged: Judged, folds: Folds) -> Opinion:
    """Return the opinion of a kernel's ridge regression on dense and scaled rows."""
    weights = judged.weights[judged.counted]
    rows = table.X[judged.counted]
    centre = np.average(rows, axis=0, weights=weights)
    spread = float(np.average(((rows - centre) ** 2).sum(axis=1), weights=weights))
    # Evenly spaced among sorted rows: neither order nor copies matter.
    rows = np.unique(rows, axis=0)
    few = min(len(rows), LANDMARKS)
    rows = rows[np.linspace(0, len(rows) - 1, few, dtype=int)]
    gamma = WIDTH / (spread or 1.0)
    basis = Nystroem(gamma=gamma, n_components=few, random_state=0).fit(rows)
    features = basis.transform(table.X)

    # A ridge regression of −1 and 1 for each class, or of half of these for two classes
    # (see `decisions_in_folds`). With RidgeClassifier, 400 rows take 2.8 times as long.
    members = judged.given[:, None] == np.arange(judged.given.max() + 1)
    targets = np.where(members, 1.0, -1.0)
    if targets.shape[1] == 2:
        targets *= 0.5
    ridge = RIDGE * weights.sum() * np.eye(few)
    decisions = np.zeros(targets.shape)
    for train, test in folds:
        shares = judged.weights[train]
        mean = np.average(features[train], axis=0, weights=shares)
        offset = np.average(targets[train], axis=0, weights=shares)
        centred = features - mean
        weighted = shares[:, None] * centred[train]
        matrix = weighted.T @ centred[train] + ridge
        right = weighted.T @ (targets[train] - offset)
        values = centred @ solve(matrix, right, assume_a="pos") + offset
        # A constant classifier has no information about single rows.
        if not is_constant(values):
            decisions[test] = values[test]
    return Opinion(decisions)


# --- trees


def opinion_of_trees(rows: np.ndarray, judged: Judged) -> Opinion:
    """Return the mean of trees that have not seen a row: shares less 1 / n_classes."""
    n, d = rows.shape
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    # A regression of memberships has the splits and shares of a classifier.
    members = np.eye(judged.given.max() + 1)[judged.given]
    # Equal rows are drawn together. The last group has no weight, and is never drawn.
    counted, places = np.unique(rows[judged.counted], axis=0, return_inverse=True)
    group = np.full(n, len(counted))
    group[judged.counted] = places
    random = np.random.default_rng(0)
    size = min(len(counted), DRAWN)

    shares = np.zeros(members.shape)
    times_judged = np.zeros((n, 1))
    # Rows have been checked, and checks would take as long as the trees.
    with config_context(skip_parameter_validation=True, assume_finite=True):
        for number in range(TREES):
            drawn = random.integers(0, len(counted), size)
            counts = np.bincount(drawn, minlength=len(counted) + 1)[group]
            tree = ExtraTreeRegressor(
                max_features=min(d, COLUMNS),
                min_weight_fraction_leaf=LEAF / size,
                random_state=number,
            )
            tree.fit(rows, members, counts * judged.weights, check_input=False)
            test = np.flatnonzero(counts == 0)
            found = tree.predict(rows[test], check_input=False)
            shares[test] += found - 1.0 / members.shape[1]
            times_judged[test] += 1.0
    # Rows that are always drawn are not known: 0.
    return Opinion(shares / np.maximum(times_judged, 1.0))
