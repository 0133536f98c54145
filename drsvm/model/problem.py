"""One binary problem: data and parameters, checked once and frozen.

    minimise over w, b, λ     ε λ + Σ_i π_i max(1 − m_i, 1 + m_i − κ λ, 0) + (c/2) ‖w‖₂²
    subject to                ‖w‖_q ≤ λ,       m_i = y_i (w·x_i + b)

with the radius ε, the flip cost κ, the ridge coefficient c and the sample weights π.
"""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model.norms import Norm, norm_for
from drsvm.model.risk import losses, smallest_best_price
from drsvm.model.validation import (
    check_flip_cost,
    check_labels,
    check_number,
    check_rows,
    check_weights,
    row_blocks,
    row_norms,
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem:
    """A Wasserstein distributionally robust SVM on given data.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features. A C-ordered float32 or float64 array (including a read-only memory map) or a canonical CSR matrix is
        used without a copy; anything else is copied once (Fortran order, integers, other sparse formats, unsorted or
        duplicate sparse indices, 64-bit indices that fit into 32 bits, rows with weight 0). X is never modified.
    y : array of shape (n,)
        Labels with exactly two distinct values; the larger one is the positive class.
    radius : float
        Radius ε ≥ 0 of the Wasserstein ball: the adversary's budget for the average shift.
    flip_cost : float
        Cost κ ≥ 0 of flipping a label; with ``inf`` the labels are trusted.
    norm : {1, 2, inf}
        Norm p in which feature shifts are measured; the weights are measured in the dual norm.
    l2 : float
        Ridge coefficient c ≥ 0.
    sample_weight : array of shape (n,), optional
        Weights of the rows, scaled to sum to 1. A weight of 0 removes the row.
    fit_intercept : bool
        Whether to fit b, which is not regularised; otherwise b = 0.
    """

    radius: float
    flip_cost: float
    norm: Norm
    l2: float
    fit_intercept: bool
    X: Any = field(repr=False)
    signs: np.ndarray = field(repr=False)
    sample_weight: np.ndarray = field(repr=False)
    classes: np.ndarray = field(repr=False)
    kept: np.ndarray | None = field(repr=False)
    n_given: int = field(repr=False)

    def __init__(
        self,
        X,
        y,
        radius: float = 0.1,
        flip_cost: float = 1.0,
        norm: Any = 2,
        l2: float = 0.0,
        sample_weight=None,
        fit_intercept: bool = False,
    ):
        X = check_rows(X)
        n = X.shape[0]
        classes, signs = check_labels(y, n)
        weights = check_weights(sample_weight, n)
        kept = None
        if weights is None:
            weights = np.full(n, 1.0 / n)
        elif (weights == 0).any():
            kept = np.flatnonzero(weights)
            X, signs, weights = X[kept], signs[kept], weights[kept]
            if abs(signs.sum()) == len(signs):
                left = classes.tolist()[int(signs[0] > 0)]
                raise ValueError(
                    f"Only the label {left!r} remains after removing the rows with sample_weight 0: "
                    "at least one row of each class needs a positive weight."
                )
        self._set(X=X, signs=signs, sample_weight=weights, classes=classes, kept=kept, n_given=n)
        self._set(**_check_parameters(radius, flip_cost, norm, l2, fit_intercept))

    def _set(self, **values) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def subset(self, rows) -> "Problem":
        """Return the problem on some rows, of both classes (indices among the rows with positive weight)."""
        other = object.__new__(type(self))
        other._set(**{f.name: getattr(self, f.name) for f in fields(self)})
        weights = self.sample_weight[rows]
        other._set(
            X=self.X[rows], signs=self.signs[rows], sample_weight=weights / weights.sum(), kept=None, n_given=len(rows)
        )
        return other

    def relabelled(self, positive, sample_weight=None) -> "Problem":
        """Return the problem with other labels and weights; the rows are neither copied nor checked again.

        The same rows must have weight 0. `positive` is a mask over the given rows; both classes must have rows.
        """
        weights = check_weights(sample_weight, self.n_given)
        weights = np.full(self.n_given, 1.0 / self.n_given) if weights is None else weights
        signs = np.where(positive, 1.0, -1.0)
        if self.kept is not None:
            signs, weights = signs[self.kept], weights[self.kept]
        other = self.replace()
        other._set(signs=signs, sample_weight=weights, classes=np.array([False, True]))
        return other

    def on_features(self, features) -> "Problem":
        """Return the problem with some of the features (sorted indices), which are copied unless all are selected."""
        if len(features) == self.n_features:
            return self
        X = self.X[:, features]
        return self.on_rows(X if sparse.issparse(X) else np.ascontiguousarray(X))

    def on_rows(self, X) -> "Problem":
        """Return the problem with other features for the same samples; `X` must already be in its checked form."""
        other = self.replace()
        other._set(X=X)
        return other

    def replace(self, **parameters) -> "Problem":
        """Return the problem with other values of radius, flip_cost, norm, l2 or fit_intercept; the data are shared."""
        current = {name: getattr(self, name) for name in _PARAMETERS}
        unknown = set(parameters) - set(current)
        if unknown:
            raise TypeError(f"replace takes {', '.join(_PARAMETERS)}, not {', '.join(sorted(unknown))}.")
        other = object.__new__(type(self))
        other._set(**{f.name: getattr(self, f.name) for f in fields(self) if f.name not in current})
        other._set(**_check_parameters(**{**current, **parameters}))
        return other

    @property
    def n_rows(self) -> int:
        """Number of rows with a positive weight."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def flips_possible(self) -> bool:
        """Whether the adversary can afford to flip any label."""
        return self.flip_cost == 0 or (self.radius > 0 and np.isfinite(self.flip_cost))

    def decision_values(self, w, b: float = 0.0) -> np.ndarray:
        """Return w·x_i + b for every row."""
        if self.X.dtype == np.float64:
            return self.X @ w + b
        values = np.empty(self.n_rows)
        for block in row_blocks(self.X):  # float32: converts a few rows at a time to float64
            values[block] = self.X[block] @ w
        return values + b

    def margins(self, w, b: float = 0.0) -> np.ndarray:
        """Return m_i = y_i (w·x_i + b) for every row."""
        return self.signs * self.decision_values(w, b)

    def weighted_sum(self, coefficients) -> tuple[np.ndarray, float]:
        """Return Σ_i g_i y_i x_i and Σ_i g_i y_i for given coefficients g."""
        signed = coefficients * self.signs
        if self.X.dtype == np.float64:
            return self.X.T @ signed, float(signed.sum())
        total = np.zeros(self.n_features)
        for block in row_blocks(self.X):
            total += self.X[block].T @ signed[block]
        return total, float(signed.sum())

    def radius_price(self, w, margins) -> float:
        """Return the smallest optimal λ ≥ ‖w‖_q for the given weights."""
        return float(smallest_best_price(margins, self.sample_weight, self.norm.value(w), self.radius, self.flip_cost))

    def objective(self, w, b: float = 0.0, radius_price: float | None = None) -> float:
        """Return the objective at (w, b), by default with the optimal λ."""
        margins = self.margins(w, b)
        price = self.radius_price(w, margins) if radius_price is None else radius_price
        return self.objective_at(w, margins, price)

    def objective_at(self, w, margins, radius_price: float) -> float:
        """Return the objective from margins that are already known."""
        risk = self.radius * radius_price + float(self.sample_weight @ losses(margins, radius_price, self.flip_cost))
        return risk + 0.5 * self.l2 * float(w @ w)

    def typical_row_norm(self) -> float:
        """Return the mean p-norm of the nonzero rows (1 if there are none), as a scale for shifts."""
        norms = np.concatenate([row_norms(self.X[block], self.norm.p) for block in row_blocks(self.X)])
        positive = norms > 0
        return float(np.average(norms[positive], weights=self.sample_weight[positive])) if positive.any() else 1.0

    def to_kept_rows(self, values) -> np.ndarray:
        """Select the values of the kept rows from values for all given rows."""
        return values if self.kept is None else values[self.kept]

    def to_given_rows(self, values) -> np.ndarray:
        """Expand values of the kept rows to all given rows, with 0 for rows with weight 0."""
        if self.kept is None:
            return values
        spread = np.zeros(self.n_given)
        spread[self.kept] = values
        return spread

    def __repr__(self) -> str:
        kind = "sparse" if sparse.issparse(self.X) else "dense"
        parameters = ", ".join(f"{name}={getattr(self, name)}" for name in _PARAMETERS)
        return f"Problem({self.n_rows} × {self.n_features} {kind}, {parameters})"


_PARAMETERS = ("radius", "flip_cost", "norm", "l2", "fit_intercept")


def _check_parameters(radius, flip_cost, norm, l2, fit_intercept) -> dict[str, Any]:
    return {
        "radius": check_number(radius, "radius"),
        "flip_cost": check_flip_cost(flip_cost),
        "norm": norm_for(norm),
        "l2": check_number(l2, "l2"),
        "fit_intercept": bool(fit_intercept),
    }
