"""One binary problem: data and parameters, checked once and frozen.

    minimise over w, b, λ     ε λ + Σ_i π_i max(1 − m_i, 1 + m_i − κ_i λ, 0) + (c/2) ‖w‖₂²
    subject to                ‖(w/a, b/a_0)‖_q ≤ λ,   s_j w_j ≥ 0 where s_j = ±1,       m_i = y_i (w·x_i + b)

with the radius ε, the flip costs κ, the ridge coefficient c, the sample weights π, the
prices a of a shift of each feature, the price a_0 of the intercept and the signs s. By
default all a_j = 1, a_0 = ∞ (the intercept is outside the norm), no sign is prescribed,
and κ is one number.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from operator import itemgetter
from typing import Any, final

import numpy as np

from drsvm.problem import validation
from drsvm.problem.backends import backend_of
from drsvm.problem.memory_rows import MemoryRows, in_memory
from drsvm.problem.norms import Norm, norm_for
from drsvm.problem.risk import (
    affordable_flips,
    by_row,
    expected_loss,
    smallest_best_price,
)
from drsvm.problem.row_operations import RowOperations
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.parallel import elementwise, over_parts, total


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem(RowOperations):
    """A Wasserstein distributionally robust SVM on given data.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features. A C-ordered float32 or float64 array (including a read-only memory
        map) or a canonical CSR matrix is used without a copy; anything else is copied
        once (Fortran order, integers, other sparse formats, unsorted or duplicate
        sparse indices, 64-bit indices that fit into 32 bits, rows with weight 0). A
        large dense array in a file, which is a memory map, is not copied for weights of
        0 or by shifting its columns. X is never modified. Rows on a Dask cluster stay
        there: a Dask array or data frame, or a list of futures.
    y : array of shape (n,)
        Labels with exactly two distinct values; the larger one is the positive class.
    radius : float
        Radius ε ≥ 0 of the Wasserstein ball: the adversary's budget for the average
        shift.
    flip_cost : float or array of shape (n,)
        Cost κ ≥ 0 of flipping a label, one number or one per row; with ``inf`` the
        label is trusted.
    norm : {1, 2, inf}
        Norm p in which feature shifts are measured; the weights are measured in the
        dual norm.
    l2 : float
        Ridge coefficient c ≥ 0.
    sample_weight : array of shape (n,), optional
        Weights of the rows, scaled to sum to 1. A weight of 0 removes the row.
    fit_intercept : bool
        Whether to fit b; otherwise b = 0.
    intercept_cost : float
        Price a_0 > 0 of the intercept, as if b were the weight of a constant column of
        size a_0; without ridge. With ``inf`` the intercept is outside the norm. Ignored
        if `fit_intercept` is False.
    feature_cost : array of shape (d,) or float, optional
        Prices a_j > 0: a shift Δx costs ‖a ⊙ Δx‖_p. By default 1; a feature with the
        price ``inf`` cannot shift, and its weight is outside the norm.
    monotonic_cst : array of shape (d,) or int, optional
        1 where the weight must be at least 0, −1 where it must be at most 0, 0 (the
        default) where it is free.

    Notes
    -----
    The defaults are those of the paper: a flip costs 1, and there is no intercept. Those of `WassersteinSVC` differ:
    labels are trusted, and there is an intercept with a price.

    Not every solver takes every price (see `solve`); ``solver="auto"`` picks one that
    does.

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
    rows: Any = field(repr=False)  # of the class Rows
    # None for rows in parts, which keep them; likewise the weights
    signs: Any = field(repr=False)
    sample_weight: Any = field(repr=False)
    classes: np.ndarray = field(repr=False)
    # Indices of the rows with a weight; None: all of them
    kept: Any = field(repr=False)
    n_given: int = field(repr=False)

    n_rows: int = field(init=False)
    """Number of rows with a positive weight."""
    n_features: int = field(init=False)
    """Number of features."""
    is_sparse: bool = field(init=False)
    """Whether the rows are stored in a sparse format."""
    prices_intercept: bool = field(init=False)
    """Whether there is an intercept inside the norm."""
    flips_possible: bool = field(init=False)
    """Whether the adversary can afford to flip any label."""

    def __init__(
        self,
        X: Matrix,
        y: Labels,
        radius: float = 0.1,
        flip_cost: Any = 1.0,
        norm: Any = 2,
        l2: float = 0.0,
        sample_weight: Values = None,
        fit_intercept: bool = False,
        intercept_cost: float = math.inf,
        feature_cost: Values = None,
        monotonic_cst: Values = None,
    ):
        backend = backend_of(X)
        if backend is None:
            self._set(**MemoryRows(validation.check_rows(X)).data(y, sample_weight))
            self._set(**self.rows.with_flip_costs(self, flip_cost))
        else:
            self._set(**backend.data(X, y, sample_weight, flip_cost))
        prices = {
            "intercept_cost": intercept_cost,
            "feature_cost": feature_cost,
            "monotonic_cst": monotonic_cst,
        }
        self._set_parameters(
            radius=radius, norm=norm, l2=l2, fit_intercept=fit_intercept, **prices
        )

    @classmethod
    def of_checked(cls, **attributes: Any) -> "Problem":
        """Return a problem from attributes in the form in which a problem has them.

        Parameters have defaults.
        """
        problem = object.__new__(cls)
        problem._set(
            **_DEFAULTS
            | {"kept": None, "n_given": len(attributes["signs"])}
            | attributes
        )
        return problem

    def _set(self, **values) -> None:
        """Set attributes in their checked form, and what follows from them."""
        known = vars(self)  # a frozen dataclass refuses assignments
        known.update(values)
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        if "rows" in values:
            (known["n_rows"], known["n_features"]), known["is_sparse"] = (
                self.rows.shape,
                self.rows.is_sparse,
            )
        if "fit_intercept" in values or "intercept_cost" in values:
            known["prices_intercept"] = bool(known["fit_intercept"]) and math.isfinite(
                known["intercept_cost"]
            )
        if ("radius" in values or "flip_cost" in values) and {
            "radius",
            "flip_cost",
        } <= known.keys():
            cost = self.flip_cost
            radius = self.radius
            if isinstance(cost, float):  # without calls: fits change the radius often
                known["flips_possible"] = cost == 0.0 or (
                    cost < math.inf and radius > 0.0
                )
            else:
                known["flips_possible"] = bool(affordable_flips(cost, radius)[1].any())

    def _set_parameters(self, **parameters) -> None:
        """Check and set parameters other than the flip costs, which belong to the rows."""
        for name, value in parameters.items():
            if name in ("feature_cost", "monotonic_cst"):
                sizes = (self.n_features,)
            else:
                sizes = ()
            parameters[name] = _CHECKS[name](value, *sizes)
        self._set(**parameters)

    def _with(self, **attributes) -> "Problem":
        """Return the problem with other attributes, which are in their checked form."""
        other = object.__new__(Problem)
        vars(other).update(zip(_FIELDS, _VALUES(vars(self)), strict=True))
        other._set(**attributes)
        return other

    def with_regularisation(self, radius: float, l2: float) -> "Problem":
        """Return the problem with another radius and ridge, which have been checked."""
        return self._with(radius=radius, l2=l2)

    def to_host(self, most_entries: float) -> "Problem":
        """Return the problem with its rows in this process's memory, unless they are remote and too many."""
        if self.rows.stored <= most_entries:
            return self.rows.to_host(self)
        return self

    def subset(self, rows: Values, weights: Values = None) -> "Problem":
        """Return the problem on some rows, of both classes (indices among the rows with positive weight).

        By default their weights are scaled to sum to 1; other weights are used as they
        are.
        """
        if weights is None:
            weights = self.sample_weight[rows]
            weights = weights / weights.sum()
        costs = self.flip_cost
        if by_row(costs):
            costs = costs[rows]
            if bool((costs == costs[0]).all()):
                costs = float(costs[0])
            else:
                costs = costs
        return self.on_sample(self.rows.taken(rows), self.signs[rows], weights, costs)

    def on_sample(
        self, rows: Values, signs: Values, sample_weight: Values, flip_cost: Values
    ) -> "Problem":
        """Return the problem on other rows, which have been checked.

        Their weights sum to 1.
        """
        taken = {
            "rows": rows,
            "signs": signs,
            "sample_weight": sample_weight,
            "flip_cost": flip_cost,
        }
        return self._with(**taken, kept=None, n_given=len(signs))

    def in_order(self) -> "Problem":
        """Return the problem with its rows in an order that depends on what they contain: copies, if they are few."""
        if not (
            isinstance(self.signs, np.ndarray)
            and self.rows.copyable
            and self.rows.stored <= MAX_ORDERED
        ):
            return self
        order = np.lexsort((self.sample_weight, self.signs, self.content_groups()))
        kept = order if self.kept is None else self.kept[order]
        return self.subset(order, self.sample_weight[order])._with(
            kept=kept, n_given=self.n_given
        )

    def relabelled(self, positive: object, sample_weight: Values = None) -> "Problem":
        """Return the problem with other labels and weights.

        The rows are neither copied nor checked again.

        The same rows must have weight 0. `positive` is a mask over the given rows; both
        classes must have rows.
        """
        return self._with(**self.rows.relabelled(self, positive, sample_weight))

    def on_features(self, features: Values) -> "Problem":
        """Return the problem with some of the features (sorted indices), which are copied unless all are selected."""
        if len(features) == self.n_features:
            rows = self.rows
        else:
            rows = self.rows.on_features(features)
        if (
            rows is self.rows
        ):  # functions of a kernel have no features that could be left out
            return self
        costs, signs = (
            None if each is None else each[features]
            for each in (self.feature_cost, self.monotonic_cst)
        )
        return self._with(rows=rows).replace(feature_cost=costs, monotonic_cst=signs)

    def shifted(self, offset: Vector) -> "Problem":
        """Return the problem with x − offset in place of x: a copy, or a view of large rows in a file."""
        return self._with(rows=self.rows.shifted(offset))

    def on_rows(self, X: Matrix) -> "Problem":
        """Return the problem with other features for the same samples.

        `X` must already be in its checked form.
        """
        return self.with_rows(MemoryRows(X))

    def with_rows(self, rows: Values) -> "Problem":
        """Return the problem with other rows for the same samples."""
        return self._with(rows=rows)

    def in_memory(self) -> "Problem":
        """Return the problem with rows that compiled code can read: a copy of a view of them."""
        readable = in_memory(self.X) if self.rows.readable else None
        # The same rows stay the same object, which remembers sums over them.
        if readable is None or readable is self.X:
            return self
        return self.on_rows(readable)

    def replace(self, **parameters: Any) -> "Problem":
        """Return the problem with other values of parameters except X, y and sample_weight; the data are shared."""
        unknown = set(parameters) - set(PARAMETERS)
        if unknown:
            raise TypeError(
                f"replace takes {', '.join(PARAMETERS)}, not {', '.join(sorted(unknown))}."
            )
        other = self._with()
        if "flip_cost" in parameters:
            other._set(**self.rows.with_flip_costs(self, parameters.pop("flip_cost")))
        other._set_parameters(**parameters)
        return other

    @property
    def X(self) -> Any:
        """The rows as an array or a sparse matrix, if they are in this process's memory."""
        if not self.rows.readable:
            raise TypeError(
                f"The rows of this problem are {self.rows.place}: only sums over them are known here."
            )
        return self.rows.X

    @property
    def flip_costs(self) -> np.ndarray:
        """The flip cost of every row.

        Of rows in parts, some of them, the smallest and the largest included.
        """
        if by_row(self.flip_cost):
            return self.flip_cost
        return np.broadcast_to(self.flip_cost, (self.n_rows,))

    @property
    def can_flip(self) -> np.ndarray:
        """Whether the adversary can afford to flip some of this row's mass, for every row."""
        return affordable_flips(self.flip_costs, self.radius)[1]

    @property
    def has_prices(self) -> bool:
        """Whether rows, features or the intercept have prices of their own, or weights a prescribed sign."""
        of_features = self.feature_cost is not None or self.monotonic_cst is not None
        return of_features or self.prices_intercept or by_row(self.flip_cost)

    @property
    def trusted_features(self) -> np.ndarray:
        """Mask of the features that cannot shift, whose weights are outside the norm."""
        if self.feature_cost is None:
            return np.zeros(self.n_features, dtype=bool)
        return np.isinf(self.feature_cost)

    def cost_of_flips(self, flip_dual: Values) -> float:
        """Return Σ_i κ_i β_i; where no flip is possible, β_i is taken to be 0."""
        if by_row(self.flip_cost):
            return float(affordable_flips(self.flip_cost, self.radius)[0] @ flip_dual)
        if self.flips_possible and self.flip_cost > 0:
            return self.flip_cost * float(flip_dual.sum())
        return 0.0

    def with_signs(self, w: Vector) -> np.ndarray:
        """Return w with 0 where a weight has the opposite of its prescribed sign: v⁺ of the dual, or the nearest w."""
        if self.monotonic_cst is None:
            return w
        return np.where(self.monotonic_cst * w < 0, 0.0, w)

    def norm_of(self, w: Vector, b: float = 0.0) -> float:
        """Return ‖(w/a, b/a_0)‖_q, where an infinite price removes the entry."""
        if self.feature_cost is None:
            scaled = w
        else:
            scaled = w / self.feature_cost
        if self.rows.is_kernel:
            scaled = self.rows.coordinates(scaled)
        else:
            scaled = scaled
        if not self.prices_intercept:
            return self.norm.value(scaled)
        return self.norm.value(np.concatenate((scaled, (b / self.intercept_cost,))))

    def decision_values(self, w: Vector, b: float = 0.0) -> np.ndarray:
        """Return w·x_i + b for every row."""
        return self.rows.dot(w, b)

    def margins(self, w: Vector, b: float = 0.0) -> np.ndarray:
        """Return m_i = y_i (w·x_i + b) for every row."""
        margins = self.rows.dot(w, b)
        over_parts(
            margins,
            lambda part: np.multiply(
                margins[part], self.signs[part], out=margins[part]
            ),
        )
        return margins

    def weighted_sum(self, coefficients: Vector) -> tuple[np.ndarray, float]:
        """Return Σ_i g_i y_i x_i and Σ_i g_i y_i for given coefficients g."""
        return self.signed_sum(
            elementwise(self.signs, lambda part: coefficients[part] * self.signs[part])
        )

    def signed_sum(self, signed: Vector) -> tuple[np.ndarray, float]:
        """Return Σ_i s_i x_i and Σ_i s_i for coefficients that include the signs of the labels."""
        return self.rows.weighted_sum(signed), total(
            signed, lambda part: signed[part].sum()
        )

    def radius_price(self, w: Vector, margins: Vector, b: float = 0.0) -> float:
        """Return the smallest optimal λ ≥ ‖(w/a, b/a_0)‖_q for the given weights.

        B matters if it has a price.
        """
        return float(
            smallest_best_price(
                margins,
                self.sample_weight,
                self.norm_of(w, b),
                self.radius,
                self.flip_cost,
            )
        )

    def objective(
        self, w: Vector, b: float = 0.0, radius_price: float | None = None
    ) -> float:
        """Return the objective at (w, b), by default with the optimal λ."""
        if radius_price is None:
            return self.price_and_objective(w, b)[1]
        return self.objective_at(w, self.margins(w, b), radius_price)

    def objective_at(self, w: Vector, margins: Vector, radius_price: float) -> float:
        """Return the objective from margins that are already known."""
        risk = self.radius * radius_price + expected_loss(
            margins, self.sample_weight, radius_price, self.flip_cost
        )
        return risk + self.ridge(w)

    def ridge(self, w: Vector) -> float:
        """Return (c/2) ‖w‖₂²."""
        if self.l2 == 0.0:
            return 0.0
        w = self.rows.coordinates(w) if self.rows.is_kernel else w
        return 0.5 * self.l2 * float(w @ w)

    def multipliers_from(self, values: Values) -> Any:
        """Return the multipliers in a result for the kept rows, or None if they are those of other rows."""
        return self.rows.multipliers_from(self, values)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        shown = {name: getattr(self, name) for name in PARAMETERS[:5]}
        if self.prices_intercept:
            shown["intercept_cost"] = self.intercept_cost
        for name, costs in {
            "flip_cost": self.flip_cost,
            "feature_cost": self.feature_cost,
        }.items():
            if by_row(costs):
                shown[name] = f"{float(costs.min()):g}…{float(costs.max()):g}"
        if self.monotonic_cst is not None:
            shown["monotonic_cst"] = f"{np.count_nonzero(self.monotonic_cst)} signs"
        parameters = ", ".join(f"{name}={value}" for name, value in shown.items())
        return f"Problem({self.n_rows} × {self.n_features} {kind}, {parameters})"


_FIELDS = tuple(field.name for field in fields(Problem))
_VALUES = itemgetter(*_FIELDS)


def check_problem(problem: Any, caller: str) -> None:
    """Raise an error if something else is given in place of a problem, such as X."""
    if not isinstance(problem, Problem):
        raise TypeError(
            f"{caller} takes a drsvm.Problem, got {type(problem).__name__}: write "
            f"{caller}(Problem(X, y, radius=...)) instead of {caller}(X, y)."
        )


# The parameters of a problem, without its data; the last three are prices and signs.
PARAMETERS = (
    "radius",
    "flip_cost",
    "norm",
    "l2",
    "fit_intercept",
    "intercept_cost",
    "feature_cost",
    "monotonic_cst",
)
_DEFAULTS = {
    "radius": 0.1,
    "flip_cost": 1.0,
    "norm": norm_for(2),
    "l2": 0.0,
    "fit_intercept": False,
}
_DEFAULTS |= {"intercept_cost": math.inf, "feature_cost": None, "monotonic_cst": None}
_CHECKS: dict[str, Callable[..., Any]] = {
    "radius": partial(validation.check_number, name="radius"),
    "norm": norm_for,
    "l2": partial(validation.check_number, name="l2"),
    "fit_intercept": bool,
    "intercept_cost": validation.check_intercept_cost,
    "feature_cost": validation.check_feature_costs,
    "monotonic_cst": validation.check_monotonic_signs,
}
# Entries of rows that may be copied for the sake of their order
MAX_ORDERED = 10_000_000
