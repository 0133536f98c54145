"""One binary problem: data and parameters, checked once and frozen.

    minimise over w, b, λ     ε λ + Σ_i π_i max(1 − m_i, 1 + m_i − κ_i λ, 0) + (c/2) ‖w‖₂²
    subject to                ‖(w/a, b/a_0)‖_q ≤ λ,   s_j w_j ≥ 0 where s_j = ±1,       m_i = y_i (w·x_i + b)

with the radius ε, the flip costs κ, the ridge coefficient c, the sample weights π, the prices a of a shift of each
feature, the price a_0 of the intercept and the signs s. By default all a_j = 1, a_0 = ∞ (the intercept is outside the
norm), no sign is prescribed, and κ is one number.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model import products
from drsvm.model.elsewhere import problem_class
from drsvm.model.large_rows import changed, copied, selected, shifted_rows
from drsvm.model.norms import Norm, norm_for
from drsvm.model.risk import expected_loss, smallest_best_price
from drsvm.model.row_operations import RowOperations
from drsvm.model.validation import (
    check_feature_costs,
    check_flip_costs,
    check_intercept_cost,
    check_labels,
    check_monotonic_signs,
    check_number,
    check_rows,
    check_weights,
)
from drsvm.parallel import elementwise, over_parts, total


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem(RowOperations):
    """A Wasserstein distributionally robust SVM on given data.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features. A C-ordered float32 or float64 array (including a read-only memory map) or a canonical CSR matrix is
        used without a copy; anything else is copied once (Fortran order, integers, other sparse formats, unsorted or
        duplicate sparse indices, 64-bit indices that fit into 32 bits, rows with weight 0). A large dense array in a
        file, which is a memory map, is not copied for weights of 0 or by shifting its columns. X is never modified.
        Rows on a Dask cluster stay there: a Dask array or data frame, or a list of futures.
    y : array of shape (n,)
        Labels with exactly two distinct values; the larger one is the positive class.
    radius : float
        Radius ε ≥ 0 of the Wasserstein ball: the adversary's budget for the average shift.
    flip_cost : float or array of shape (n,)
        Cost κ ≥ 0 of flipping a label, one number or one per row; with ``inf`` the label is trusted.
    norm : {1, 2, inf}
        Norm p in which feature shifts are measured; the weights are measured in the dual norm.
    l2 : float
        Ridge coefficient c ≥ 0.
    sample_weight : array of shape (n,), optional
        Weights of the rows, scaled to sum to 1. A weight of 0 removes the row.
    fit_intercept : bool
        Whether to fit b; otherwise b = 0.
    intercept_cost : float
        Price a_0 > 0 of the intercept, as if b were the weight of a constant column of size a_0; without ridge. With
        ``inf`` the intercept is outside the norm. Ignored if `fit_intercept` is False.
    feature_cost : array of shape (d,) or float, optional
        Prices a_j > 0: a shift Δx costs ‖a ⊙ Δx‖_p. By default 1; a feature with the price ``inf`` cannot shift, and
        its weight is outside the norm.
    monotonic_cst : array of shape (d,) or int, optional
        1 where the weight must be at least 0, −1 where it must be at most 0, 0 (the default) where it is free.

    Notes
    -----
    The defaults are those of the paper: a flip costs 1, and there is no intercept. Those of `WassersteinSVC` differ:
    labels are trusted, and there is an intercept with a price.

    Not every solver takes every price (see `solve`); ``solver="auto"`` picks one that does.

    Examples
    --------
    >>> from drsvm import Problem
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"], radius=0.1, fit_intercept=True)
    >>> problem.n_rows, problem.n_features, problem.classes.tolist()
    (4, 1, ['high', 'low'])
    >>> problem.replace(radius=0.2).radius
    0.2
    """

    radius: float
    flip_cost: Any
    norm: Norm
    l2: float
    fit_intercept: bool
    intercept_cost: float
    feature_cost: np.ndarray | None = field(repr=False)
    monotonic_cst: np.ndarray | None = field(repr=False)
    X: Any = field(repr=False)
    signs: np.ndarray = field(repr=False)
    sample_weight: np.ndarray = field(repr=False)
    classes: np.ndarray = field(repr=False)
    kept: np.ndarray | None = field(repr=False)
    n_given: int = field(repr=False)

    def __new__(cls, X=None, *args, **kwargs):
        """Return an uninitialised problem: one whose rows stay where they are, if X is not in this memory."""
        return object.__new__(problem_class(X, cls) if cls is Problem else cls)

    def __init__(
        self,
        X,
        y,
        radius: float = 0.1,
        flip_cost: Any = 1.0,
        norm: Any = 2,
        l2: float = 0.0,
        sample_weight=None,
        fit_intercept: bool = False,
        intercept_cost: float = math.inf,
        feature_cost=None,
        monotonic_cst=None,
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
            X, signs, weights = selected(X, kept), signs[kept], weights[kept]
            if abs(signs.sum()) == len(signs):
                left = classes.tolist()[int(signs[0] > 0)]
                raise ValueError(
                    f"Only the label {left!r} remains after removing the rows with sample_weight 0: "
                    "at least one row of each class needs a positive weight."
                )
        self._set(X=X, signs=signs, sample_weight=weights, classes=classes, kept=kept, n_given=n)
        self._set_parameters(
            radius=radius,
            flip_cost=flip_cost,
            norm=norm,
            l2=l2,
            fit_intercept=fit_intercept,
            intercept_cost=intercept_cost,
            feature_cost=feature_cost,
            monotonic_cst=monotonic_cst,
        )

    @classmethod
    def of_checked(cls, X, signs, weights, **others) -> "Problem":
        """Return a problem from rows, signs, weights and everything else in the form in which a problem has them."""
        problem = object.__new__(cls)
        problem._set(X=X, signs=signs, sample_weight=weights, kept=None, n_given=len(signs), **others)
        return problem

    def _set(self, **values) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def _set_parameters(self, **given) -> None:
        """Check and set the given parameters; those with one entry per row or feature need the rows."""
        self._set(**{name: _CHECKS[name](value, self) for name, value in given.items()})

    def nearby(self, most_entries: float) -> "Problem":
        """Return the problem with its rows in this memory, unless they are elsewhere and have more stored entries."""
        return self

    def subset(self, rows, weights=None) -> "Problem":
        """Return the problem on some rows, of both classes (indices among the rows with positive weight).

        By default their weights are scaled to sum to 1; other weights are used as they are.
        """
        if weights is None:
            weights = self.sample_weight[rows]
            weights = weights / weights.sum()
        other = object.__new__(type(self))
        other._set(**{f.name: getattr(self, f.name) for f in fields(self)})
        other._set(X=copied(self.X, rows), signs=self.signs[rows], sample_weight=weights, kept=None, n_given=len(rows))
        if isinstance(self.flip_cost, np.ndarray):
            other._set_parameters(flip_cost=self.flip_cost[rows])
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
        other = self.on_rows(changed(self.X, lambda rows: _columns(rows, features)))
        other._set_parameters(**self.prices_of(features))
        return other

    def prices_of(self, features) -> dict[str, np.ndarray | None]:
        """Return the prices and signs of some of the features."""
        known = {name: getattr(self, name) for name in ("feature_cost", "monotonic_cst")}
        return {name: None if values is None else values[features] for name, values in known.items()}

    def shifted(self, offset) -> "Problem":
        """Return the problem with x − offset in place of x: a copy, or a view of large rows in a file."""
        return self.on_rows(shifted_rows(self.X, offset))

    def on_rows(self, X) -> "Problem":
        """Return the problem with other features for the same samples; `X` must already be in its checked form."""
        other = self.replace()
        other._set(X=X)
        return other

    def replace(self, **parameters) -> "Problem":
        """Return the problem with other values of parameters except X, y and sample_weight; the data are shared."""
        unknown = set(parameters) - set(_CHECKS)
        if unknown:
            raise TypeError(f"replace takes {', '.join(_CHECKS)}, not {', '.join(sorted(unknown))}.")
        other = object.__new__(type(self))
        other._set(**{f.name: getattr(self, f.name) for f in fields(self)})
        other._set_parameters(**parameters)
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
    def is_sparse(self) -> bool:
        """Whether the rows are stored in a sparse format."""
        return sparse.issparse(self.X)

    @property
    def flip_costs(self) -> np.ndarray:
        """The flip cost of every row."""
        return np.broadcast_to(np.asarray(self.flip_cost, dtype=np.float64), (self.n_rows,))

    @property
    def can_flip(self) -> np.ndarray:
        """Whether the adversary can afford to flip some of this row's mass, for every row."""
        costs = self.flip_costs
        return (costs == 0) | (np.isfinite(costs) & (self.radius > 0))

    @property
    def flips_possible(self) -> bool:
        """Whether the adversary can afford to flip any label."""
        if isinstance(self.flip_cost, np.ndarray):
            return bool(self.can_flip.any())
        return self.flip_cost == 0 or (self.radius > 0 and math.isfinite(self.flip_cost))

    @property
    def prices_intercept(self) -> bool:
        """Whether there is an intercept inside the norm."""
        return self.fit_intercept and math.isfinite(self.intercept_cost)

    @property
    def has_prices(self) -> bool:
        """Whether rows, features or the intercept have prices of their own, or weights a prescribed sign."""
        given = self.feature_cost is not None or self.monotonic_cst is not None
        return given or self.prices_intercept or isinstance(self.flip_cost, np.ndarray)

    @property
    def trusted_features(self) -> np.ndarray:
        """Mask of the features that cannot shift, whose weights are outside the norm."""
        return np.zeros(self.n_features, dtype=bool) if self.feature_cost is None else np.isinf(self.feature_cost)

    def cost_of_flips(self, flip_dual) -> float:
        """Return Σ_i κ_i β_i; where no flip is possible, β_i is taken to be 0."""
        if isinstance(self.flip_cost, np.ndarray):
            return float(np.where(self.can_flip, self.flip_cost, 0.0) @ flip_dual)
        return self.flip_cost * float(flip_dual.sum()) if self.flips_possible else 0.0

    def with_signs(self, w) -> np.ndarray:
        """Return w with 0 where a weight has the opposite of its prescribed sign: v⁺ of the dual, or the nearest w."""
        return w if self.monotonic_cst is None else np.where(self.monotonic_cst * w < 0, 0.0, w)

    def norm_of(self, w, b: float = 0.0) -> float:
        """Return ‖(w/a, b/a_0)‖_q, where an infinite price removes the entry."""
        scaled = w if self.feature_cost is None else w / self.feature_cost
        if not self.prices_intercept:
            return self.norm.value(scaled)
        return self.norm.value(np.append(scaled, b / self.intercept_cost))

    def decision_values(self, w, b: float = 0.0) -> np.ndarray:
        """Return w·x_i + b for every row."""
        values = products.dot(self.X, w)
        if b != 0.0:
            over_parts(len(values), lambda part: np.add(values[part], b, out=values[part]))
        return values

    def margins(self, w, b: float = 0.0) -> np.ndarray:
        """Return m_i = y_i (w·x_i + b) for every row."""
        margins = self.decision_values(w, b)
        over_parts(len(margins), lambda part: np.multiply(margins[part], self.signs[part], out=margins[part]))
        return margins

    def weighted_sum(self, coefficients) -> tuple[np.ndarray, float]:
        """Return Σ_i g_i y_i x_i and Σ_i g_i y_i for given coefficients g."""
        return self.signed_sum(elementwise(len(coefficients), lambda part: coefficients[part] * self.signs[part]))

    def signed_sum(self, signed) -> tuple[np.ndarray, float]:
        """Return Σ_i s_i x_i and Σ_i s_i for coefficients that include the signs of the labels."""
        return products.transposed_dot(self.X, signed), total(len(signed), lambda part: signed[part].sum())

    def radius_price(self, w, margins, b: float = 0.0) -> float:
        """Return the smallest optimal λ ≥ ‖(w/a, b/a_0)‖_q for the given weights; b matters if it has a price."""
        return float(smallest_best_price(margins, self.sample_weight, self.norm_of(w, b), self.radius, self.flip_cost))

    def objective(self, w, b: float = 0.0, radius_price: float | None = None) -> float:
        """Return the objective at (w, b), by default with the optimal λ."""
        if radius_price is None:
            return self.price_and_objective(w, b)[1]
        return self.objective_at(w, self.margins(w, b), radius_price)

    def objective_at(self, w, margins, radius_price: float) -> float:
        """Return the objective from margins that are already known."""
        risk = self.radius * radius_price + expected_loss(margins, self.sample_weight, radius_price, self.flip_cost)
        return risk + 0.5 * self.l2 * float(w @ w)

    def to_kept_rows(self, values) -> np.ndarray:
        """Select the values of the kept rows from values for all given rows."""
        return values if self.kept is None else values[self.kept]

    def multipliers_from(self, values) -> Any:
        """Return the multipliers in a result for the kept rows, or None if they are those of other rows."""
        return self.to_kept_rows(values) if len(values) == self.n_given else None

    def to_given_rows(self, values) -> np.ndarray:
        """Expand values of the kept rows to all given rows, with 0 for rows with weight 0."""
        if self.kept is None:
            return values
        spread = np.zeros(self.n_given)
        spread[self.kept] = values
        return spread

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        shown = {name: getattr(self, name) for name in _CHECKS if name not in _PRICES}
        if isinstance(self.flip_cost, np.ndarray):
            shown["flip_cost"] = f"{self.flip_cost.min():g}…{self.flip_cost.max():g}"
        if self.prices_intercept:
            shown["intercept_cost"] = self.intercept_cost
        if self.feature_cost is not None:
            shown["feature_cost"] = f"{self.feature_cost.min():g}…{self.feature_cost.max():g}"
        if self.monotonic_cst is not None:
            shown["monotonic_cst"] = f"{np.count_nonzero(self.monotonic_cst)} signs"
        parameters = ", ".join(f"{name}={value}" for name, value in shown.items())
        return f"Problem({self.n_rows} × {self.n_features} {kind}, {parameters})"


def check_problem(problem: Any, caller: str) -> None:
    """Raise an error if something else is given in place of a problem, such as X."""
    if not isinstance(problem, Problem):
        raise TypeError(
            f"{caller} takes a drsvm.Problem, got {type(problem).__name__}: write "
            f"{caller}(Problem(X, y, radius=...)) instead of {caller}(X, y)."
        )


def _columns(rows, features):
    chosen = rows[:, features]
    return chosen if sparse.issparse(chosen) else np.ascontiguousarray(chosen)


# Otherwise the signature of __new__ would be shown.
_SELF, *_GIVEN = inspect.signature(Problem.__init__).parameters.values()
Problem.__signature__ = inspect.Signature(_GIVEN)  # pyright: ignore[reportAttributeAccessIssue]

_CHECKS: dict[str, Callable[[Any, Problem], Any]] = {
    "radius": lambda value, _: check_number(value, "radius"),
    "flip_cost": lambda value, problem: check_flip_costs(value, problem.n_given, problem.kept),
    "norm": lambda value, _: norm_for(value),
    "l2": lambda value, _: check_number(value, "l2"),
    "fit_intercept": lambda value, _: bool(value),
    "intercept_cost": lambda value, _: check_intercept_cost(value),
    "feature_cost": lambda value, problem: check_feature_costs(value, problem.n_features),
    "monotonic_cst": lambda value, problem: check_monotonic_signs(value, problem.n_features),
}

_PRICES = ("intercept_cost", "feature_cost", "monotonic_cst")
