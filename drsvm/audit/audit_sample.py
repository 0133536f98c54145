"""Signed distances of rows from where each class begins, as a classifier sees them.

With the decision values f_k, s_k = min_{j ≠ k} (f_k − f_j)/‖(w_k − w_j)/a‖_q changes by
no more than a row moves. A row with the label k is an error where s_k ≤ 0. With two
classes s_0 = −s_1, and only s_1 is kept.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.audit.adversary import Adversary
from drsvm.audit.class_codes import PREDICTED
from drsvm.audit.column_shifts import Summary, summaries
from drsvm.audit.decision_values import (
    DecisionValues,
    decision_functions,
    decision_values,
    labelled,
)
from drsvm.audit.model_layers import AdversaryParameters
from drsvm.audit.worst_case import adversary_for, ball_of
from drsvm.problem.backends import backend_of, is_remote, to_numpy
from drsvm.utils.annotations import Classifier, Labels, Matrix, Values
from drsvm.utils.arguments import about


@dataclass(frozen=True, eq=False)
class AuditSample:
    """What is known of audited or new rows.

    Numbers have the digits of 32 bits, so that equal ones are equal however they were
    computed, but may be larger.
    """

    classes: np.ndarray
    # Of shape (1 or number of classes, n)
    distances: np.ndarray
    # What columns that cannot shift add to the distances, for pairs of classes
    fixed: np.ndarray
    columns: list[Summary]
    # The place of each row's label among the classes, if labels are known
    codes: Labels = None
    # What it costs to turn each row into an error, where wanted
    error_costs: Values = None

    @property
    def by_class(self) -> np.ndarray:
        """The signed distances for every class."""
        if len(self.distances) == 1:
            return np.concatenate([-self.distances, self.distances])
        return self.distances

    @property
    def errors(self) -> np.ndarray:
        """Whether each row is an error."""
        return self.by_class[self.codes, np.arange(self.distances.shape[1])] <= 0.0

    @property
    def shares(self) -> np.ndarray:
        """The shares of the classes."""
        return np.bincount(self.codes, minlength=len(self.classes)) / len(self.codes)

    @property
    def predicted_shares(self) -> np.ndarray:
        """The shares of the predicted classes."""
        predicted = self.by_class.argmax(axis=0)
        return np.bincount(predicted, minlength=len(self.classes)) / len(predicted)

    def some(self, rows, columns: list[Summary]) -> "AuditSample":
        """Return some of the rows, with the summaries of their columns."""
        codes = self.codes
        if codes is not None:
            codes = codes[rows]
        error_costs = self.error_costs
        if error_costs is not None:
            error_costs = error_costs[rows]
        distances = self.distances[:, rows]
        fixed = self.fixed[:, rows]
        return AuditSample(self.classes, distances, fixed, columns, codes, error_costs)

    def in_order(self) -> "AuditSample":
        """Return the rows in an order that does not depend on the given one."""
        keys = [*self.fixed, *self.distances]
        # Of rows that are seen alike, the classes may differ.
        if self.codes is not None:
            keys.insert(0, self.codes)
        return self.some(np.lexsort(keys), self.columns)

    def by_name(self, figures: np.ndarray) -> dict[Any, float]:
        """Return figures of the classes by their labels."""
        return dict(zip(self.classes.tolist(), figures.tolist(), strict=True))


def audit_sample(
    model: Classifier,
    X: Matrix,
    y: Labels | None,
    given: AdversaryParameters,
    classes: Values = None,
    *,
    with_error_costs: bool = False,
    columns: list[Summary] | None = None,
) -> AuditSample:
    """Return what a classifier sees of rows.

    Parameters
    ----------
    model : fitted classifier
        As in `drsvm.worst_case_risk`.
    X, y : array, data frame or sparse matrix, array or None
        Rows, and their labels if these are known.
    given : dict
        Parameters of the adversary; the others are those of the training, or defaults.
    classes : array, optional
        The classes, which are needed without labels, and where the model does not know
        them and labels may lack some.
    with_error_costs : bool, default=False
        Whether to compute what it costs to turn each row into an error.
    columns : list of Summary, optional
        The summaries of the columns; by default they are made of X.

    Returns
    -------
    AuditSample
    """
    if not hasattr(X, "shape"):
        with about("X"):
            X = np.asarray(X)
    labels = PREDICTED if y is None else y
    if is_remote(X):
        data, rows = _remote_values(model, X, labels, classes)
    else:
        data = decision_values(model, X, labels, classes=classes)
        rows = data.X
    # Flip costs of single rows or classes of the training are not known here.
    flip_cost = data.trained_parameters.get("flip_cost", math.inf)
    if not isinstance(flip_cost, Real):
        flip_cost = math.inf
    ball = ball_of(model, data, {"flip_cost": flip_cost, **given, "radius": 0.0})
    adversary = adversary_for(data, ball)
    error_costs = None
    if with_error_costs:
        # A row becomes an error by a shift or by a flip, whichever costs less.
        costs = np.minimum(adversary.distances, adversary.problem.flip_costs)
        error_costs = _with_fewer_digits(costs)
    codes = None
    if y is not None:
        codes = data.codes
        classes = data.classes
    if columns is None:
        columns = summaries(X)
    distances = _with_fewer_digits(_signed_distances(adversary))
    fixed = _with_fewer_digits(_of_fixed_columns(adversary, rows))
    return AuditSample(classes, distances, fixed, columns, codes, error_costs)


def _with_fewer_digits(numbers: np.ndarray) -> np.ndarray:
    """Return numbers with the digits of 32 bits, and the range of 64."""
    digits, exponents = np.frexp(numbers)
    return np.ldexp(digits.astype(np.float32).astype(np.float64), exponents)


def _remote_values(
    model: Classifier, X: Matrix, y: Labels, classes: Values
) -> tuple[DecisionValues, Matrix]:
    """Return decision values on a cluster or a GPU: a number per row is fetched.

    The rows follow as the last step of the model gets them.
    """
    functions, X = decision_functions(model, X)
    if len(functions.coef) > 1:
        raise ValueError(
            "more than two classes need rows in memory: a random sample of some 10,000 "
            "of them will do."
        )
    values = _products(X, functions.coef).T + functions.intercept
    # The entries of the rows are not needed here; an empty matrix has their shape.
    empty = sparse.csr_array((values.shape[1], functions.coef.shape[1]))
    labels = y if y is PREDICTED else to_numpy(y)
    return labelled(functions, empty, labels, values, all_labels=classes), X


def _products(X: Matrix, coef: np.ndarray) -> np.ndarray:
    """Return X @ coef.T as an array of numpy, wherever the rows are."""
    backend = backend_of(X)
    if backend is None:
        values = X @ coef.T
    else:
        values = backend.decision_values(X, coef, np.zeros(len(coef)))
    return np.asarray(to_numpy(values)).reshape(X.shape[0], len(coef))


def _signed_distances(adversary: Adversary) -> np.ndarray:
    """Return the signed distances of `AuditSample`, with all digits."""
    n_classes, n = adversary.data.values.shape
    distances = np.zeros((n_classes, n))
    for label in range(n_classes):
        to_classes = adversary.distances_to_classes(np.full(n, label))
        # NaN where two classes lead alike, by the same weights: no distance at all
        to_classes[np.isnan(to_classes)] = 0.0
        distances[label] = to_classes.min(axis=0)
    if n_classes == 2:
        # The other one is its negative.
        return distances[1:]
    return distances


def _of_fixed_columns(adversary: Adversary, X: Matrix) -> np.ndarray:
    """Return what columns that cannot shift add to the leads of pairs of classes.

    It is in units of shifts, of shape (number of pairs, n).
    """
    costs = adversary.problem.feature_cost
    if costs is None or np.isfinite(costs).all():
        return np.empty((0, X.shape[0]))
    coef = adversary.data.coef
    weights = []
    # Each pair once, without those of which no shift changes the lead
    for j, k in np.argwhere(np.tril(adversary.rates > 0.0, -1)):
        fixed = np.where(np.isinf(costs), coef[j] - coef[k], 0.0)
        weights.append(fixed / adversary.rates[j, k])
    return _products(X, np.reshape(weights, (len(weights), len(costs)))).T
