"""What a classifier sees of rows: for every class, their signed distances from where this class begins.

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

from drsvm.audit import linear_model
from drsvm.audit.adversary import Adversary, AdversaryParameters, DecisionValues
from drsvm.audit.columns import Summary, summaries
from drsvm.audit.worst_case import adversary_for, ball_of, values_of
from drsvm.problem.backends import backend_of, is_remote, to_numpy
from drsvm.utils.annotations import Labels, Matrix, Values


@dataclass(frozen=True, eq=False)
class SeenRows:
    """What is known of rows: numbers of 32 bits, so that equal ones are equal however they were computed."""

    classes: np.ndarray
    distances: np.ndarray  # of shape (1 or number of classes, n)
    # What columns that cannot shift add to the distances, for pairs of classes
    fixed: np.ndarray
    columns: list[Summary]
    # The place of each row's label among the classes, if labels are known
    codes: Labels = None
    prices: Values = None  # at which rows become errors, where wanted

    @property
    def by_class(self) -> np.ndarray:
        """The signed distances for every class."""
        if len(self.distances) == 1:
            return np.concatenate([-self.distances, self.distances])
        return self.distances

    @property
    def errors(self) -> np.ndarray:
        return self.by_class[self.codes, np.arange(self.distances.shape[1])] <= 0.0

    @property
    def shares(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.classes)) / len(self.codes)

    def some(self, rows, columns: list[Summary]) -> "SeenRows":
        """Return some of the rows, with the summaries of their columns."""
        codes, prices = (
            None if each is None else each[rows] for each in (self.codes, self.prices)
        )
        return SeenRows(
            self.classes,
            self.distances[:, rows],
            self.fixed[:, rows],
            columns,
            codes,
            prices,
        )

    def by_name(self, figures: np.ndarray) -> dict[Any, float]:
        """Return figures of the classes by their names."""
        return dict(zip(self.classes.tolist(), figures.tolist(), strict=True))


def seen_rows(
    model,
    X: Matrix,
    y,
    given: AdversaryParameters,
    classes: Values = None,
    *,
    priced=False,
    columns=None,
) -> SeenRows:
    """Return what a classifier sees of rows; without labels, the classes are needed."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    labels = np.resize(classes, X.shape[0]) if y is None else y  # any will do
    if is_remote(X):
        data = _remote_values(model, X, labels)
    else:
        data = values_of(model, X, labels, None, None)
    # Labels with costs of their own are not known here
    own = data.trained_parameters.get("flip_cost", math.inf)
    ball = ball_of(
        model,
        data,
        {
            "flip_cost": own if isinstance(own, Real) else math.inf,
            **given,
            "radius": 0.0,
        },
    )
    adversary = adversary_for(data, ball)
    if priced:
        prices = np.minimum(adversary.distances, adversary.problem.flip_costs)
    else:
        prices = None
    return SeenRows(
        classes=data.classes,
        distances=_signed_distances(adversary).astype(np.float32),
        fixed=_of_fixed_columns(adversary, model, X).astype(np.float32),
        columns=summaries(X) if columns is None else columns,
        codes=None if y is None else data.codes,
        prices=None if prices is None else prices.astype(np.float32),
    )


def _remote_values(model, X: Matrix, y: Labels) -> DecisionValues:
    """Return decision values on rows elsewhere, which are fetched: a number per row."""
    functions, X = linear_model.functions_for(model, X)
    if len(functions.coef) > 1:
        raise ValueError(
            "more than two classes need rows in memory: a random sample of some 10,000 of them will do."
        )
    values = _products(X, functions.coef).T + functions.intercept
    # Whose entries are not needed here
    there = sparse.csr_array((values.shape[1], functions.coef.shape[1]))
    return linear_model.compared(functions, there, np.asarray(to_numpy(y)), values)


def _products(X: Matrix, coef: np.ndarray) -> np.ndarray:
    backend = backend_of(X)
    if backend is None:
        values = X @ coef.T
    else:
        values = backend.decision_values(X, coef, np.zeros(len(coef)))
    return np.asarray(to_numpy(values)).reshape(X.shape[0], len(coef))


def _signed_distances(adversary: Adversary) -> np.ndarray:
    n_classes, n = adversary.data.values.shape
    reaches = (adversary.reaches(np.full(n, k)) for k in range(n_classes))
    distances = np.array(
        [np.where(np.isnan(reach), 0.0, reach).min(axis=0) for reach in reaches]
    )
    return distances[1:] if n_classes == 2 else distances


def _of_fixed_columns(adversary: Adversary, model, X: Matrix) -> np.ndarray:
    """Return what columns with an infinite price add to the leads of pairs of classes, in units of shifts."""
    prices = adversary.problem.feature_cost
    coef = adversary.data.coef
    if prices is None or np.isfinite(prices).all():
        return np.empty((0, X.shape[0]))
    pairs = [(j, k) for j, k in np.argwhere(np.tril(adversary.rates > 0.0, -1))]
    weights = np.array(
        [
            np.where(np.isinf(prices), coef[j] - coef[k], 0.0) / adversary.rates[j, k]
            for j, k in pairs
        ]
    )
    return _products(
        linear_model.last_step(model, X)[1], weights.reshape(len(pairs), len(prices))
    ).T
