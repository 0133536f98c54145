"""A weight is a number of copies of its row, for everything that takes weights: rows of
weight 0 are as good as absent, and the order of rows does not matter.
"""

import numpy as np
import pytest
from thorough import for_each, unless_long

import drsvm
from drsvm import Problem

N = 40
# Radii of audits and of paths
RADII = [0.1, 0.3]
MODEL = ([0.6, 0.5, 0.4], -0.2)
ELSEWHERE = np.random.default_rng(5).normal(size=(7, 3))


def problem(X, y, weights, **parameters):
    return Problem(X, y, sample_weight=weights, fit_intercept=True, **parameters)


def solution(X, y, weights):
    result = drsvm.solve(problem(X, y, weights))
    return [*result.weights, result.intercept, result.objective]


def objectives(X, y, weights):
    return [at.objective for at in drsvm.radius_path(problem(X, y, weights), RADII)]


def largest_radius(X, y, weights):
    return drsvm.radius_max(problem(X, y, weights))


def automatic_radius(X, y, weights):
    counts = np.ones(len(X)) if weights is None else weights
    return drsvm.auto_radius(problem(X, y, weights), counts=counts)


def certified(X, y, weights):
    certificate = drsvm.certify(problem(X, y, weights), MODEL[0], MODEL[1])
    return [certificate.primal.objective, certificate.primal.radius_price]


def labels_of(y):
    """Return the labels ±1: those of a classifier that is given by its weights."""
    return 2 * np.asarray(y) - 1


def certified_share(X, y, weights):
    labels = labels_of(y)
    return drsvm.certified_accuracy(MODEL, X, labels, 0.3, sample_weight=weights)


def risks(**options):
    """Return a function: the risks of a linear classifier."""

    def audited(X, y, weights):
        given = {"radius": RADII, "sample_weight": weights, **options}
        return drsvm.worst_case_risk(MODEL, X, labels_of(y), **given)

    return audited


def worst_distribution(X, y, weights):
    worst = drsvm.worst_case_distribution(
        MODEL, X, labels_of(y), radius=0.1, sample_weight=weights, flip_cost=0.5
    )
    return [worst.risk, worst.transport_cost]


def curve(X, y, weights):
    pytest.importorskip("matplotlib")
    display = drsvm.RiskCurveDisplay.from_estimators(
        MODEL, X, labels_of(y), radii=RADII, sample_weight=weights
    )
    return np.concatenate(list(display.risks.values()))


def clipped(X, y, weights):
    return drsvm.ClippedScaler().fit(X, sample_weight=weights).transform(ELSEWHERE)


def decisions(kind, **parameters):
    """Return a function: the decisions of an estimator."""

    def fitted(X, y, weights):
        model = kind(**parameters).fit(X, y, sample_weight=weights)
        return model.decision_function(ELSEWHERE)

    return fitted


def accuracy(X, y, weights):
    model = drsvm.WassersteinSVC(0.1).fit(ELSEWHERE, [0, 1, 0, 1, 0, 1, 1])
    return model.score(X, y, sample_weight=weights)


def movement(X, y, weights):
    """Return how far rows have moved; it has no weights, but an order of rows."""
    shift = drsvm.measure_shift(MODEL, X, labels_of(y), ELSEWHERE, random_state=0)
    return [shift.moved, shift.moved_by_chance, shift.worst_error]


def movements(X, y, weights):
    model = drsvm.WassersteinSVC(0.1)
    # Two batches of rows with both classes
    batches = np.zeros(len(X), dtype=int)
    for label in (0, 1):
        of_class = X[y == label, 2]
        batches[y == label] = of_class > np.median(of_class)
    shifts = drsvm.radius_from_batches(model, X, y, batches, random_state=0)
    return [shifts.radius, *shifts.to_dict()["moved_by_chance"]]


WEIGHTED = {
    "solve": solution,
    "radius_path": objectives,
    "radius_max": largest_radius,
    "auto_radius": automatic_radius,
    "certify": certified,
    "worst_case_risk": risks(flip_cost=0.5),
    "error rates": risks(flip_cost=0.5, loss="zero-one"),
    "error rates of single rows": risks(loss="zero-one", limit="row"),
    "certified_accuracy": certified_share,
    "costs": risks(loss="zero-one", costs={-1: 2.0, 1: 3.0}),
    "confidence": risks(loss="zero-one", confidence=0.9),
    "worst_case_distribution": worst_distribution,
    "RiskCurveDisplay": curve,
    "ClippedScaler": clipped,
    "WassersteinSVC": decisions(drsvm.WassersteinSVC),
    "WassersteinSVC in full": decisions(
        drsvm.WassersteinSVC, radius=0.1, norm=1, flip_cost=1.0, threshold="optimum"
    ),
    "WassersteinKernelSVC": decisions(drsvm.WassersteinKernelSVC),
    "WassersteinSVCCV": decisions(drsvm.WassersteinSVCCV, radii=[0.1, 1.0], cv=2),
    "score": accuracy,
    "measure_shift": movement,
    "radius_from_batches": movements,
}
# What takes no weights: only the order of rows is tried
IN_ANY_ORDER = ("measure_shift", "radius_from_batches")


def without_zeros(X, y, weights, rng):
    counted = weights > 0
    return X[counted], y[counted], weights[counted]


def repeated(X, y, weights, rng):
    copies = weights.astype(int)
    return np.repeat(X, copies, axis=0), np.repeat(y, copies), None


def shuffled(X, y, weights, rng):
    order = rng.permutation(len(X))
    return X[order], y[order], weights[order]


@for_each(what=WEIGHTED, seed=unless_long([0], range(30)))
def test_a_weight_is_a_number_of_copies(what, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    X = np.round(rng.normal(size=(N, 3)) + y[:, None], 3)
    weights = rng.integers(0, 4, N).astype(float)
    expected = WEIGHTED[what](X, y, weights)
    changes = [shuffled]
    if what not in IN_ANY_ORDER:
        changes += [without_zeros, repeated]
    for change in changes:
        changed = WEIGHTED[what](*change(X, y, weights, rng))
        about = change.__name__
        np.testing.assert_allclose(changed, expected, 1e-9, 1e-9, err_msg=about)
