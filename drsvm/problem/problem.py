"""One binary problem: data and parameters, checked once and frozen.

    minimise over w, b, λ   ε λ + Σ_i π_i max(1 − m_i, 1 + m_i − κ_i λ, 0) + (c/2) ‖w‖₂²
    subject to              ‖(w/a, b/a_0)‖_q ≤ λ,   s_j w_j ≥ 0 where s_j = ±1

with the margins m_i = y_i (w·x_i + b), the radius ε, the flip costs κ, the ridge
coefficient c, the sample weights π, the costs a of a shift of each feature, the cost
a_0 of the intercept and the signs s. By default all a_j = 1, a_0 = ∞ (the intercept is
outside the norm), no sign is prescribed, and κ is one number.

If labels are trusted (κ = ∞), each row may also shift by up to r_i before the rows
shift by ε on average. Its loss is then max(1 − m_i + r_i λ, 0).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, final

import numpy as np

from drsvm.problem import validation
from drsvm.problem.backends import backend_of
from drsvm.problem.memory_rows import MemoryRows, in_memory
from drsvm.problem.norms import Norm, norm_for
from drsvm.problem.reducers import Summable
from drsvm.problem.risk import (
    affordable_flips,
    by_row,
    expected_loss,
    smallest_best_price,
    worst_case_error,
    worst_case_hinge,
)
from drsvm.problem.rows import SumParameters
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.arguments import check_single
from drsvm.utils.lazy import cached_property
from drsvm.utils.parallel import elementwise, over_parts, total

# The parameters of a problem, without its data; after the first five come costs, signs
# and shifts of single rows.
_DEFAULTS = {
    "radius": 0.1,
    "flip_cost": 1.0,
    "norm": norm_for(2),
    "l2": 0.0,
    "fit_intercept": False,
    "intercept_cost": math.inf,
    "feature_cost": None,
    "monotonic_cst": None,
    "row_radius": 0.0,
}
PARAMETERS = tuple(_DEFAULTS)
# Sums over the rows depend on these attributes, and on flip costs by row: if none of
# them changes, known sums remain valid.
_DATA = {"rows", "signs", "sample_weight"}


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem:
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
        Cost a_0 > 0 of the intercept, as if b were the weight of a constant column of
        size a_0; without ridge. With ``inf`` the intercept is outside the norm. Ignored
        if `fit_intercept` is False.
    feature_cost : array of shape (d,) or float, optional
        Costs a_j > 0: a shift Δx costs ‖a ⊙ Δx‖_p. By default 1; a feature with the
        cost ``inf`` cannot shift, and its weight is outside the norm.
    monotonic_cst : array of shape (d,) or int, optional
        1 where the weight must be at least 0, −1 where it must be at most 0, 0 (the
        default) where it is free.
    row_radius : float or array of shape (n,)
        By how much r ≥ 0 every row may shift on its own, one number or one per row, in
        addition to the average shift of all rows by `radius`. It needs
        ``flip_cost=inf``.

        .. versionadded:: 1.0.0rc2

    Notes
    -----
    The defaults are those of the paper [1]_: a flip costs 1, and there is no intercept.
    Those of `WassersteinSVC` differ: labels are trusted, and there is an intercept with
    a cost.

    Not every solver takes every cost (see `solve`); ``solver="auto"`` picks one that
    does.

    References
    ----------
    .. [1] J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental
       Algorithms for Wasserstein Distributionally Robust Support Vector Machine,
       NeurIPS 2020.

    Examples
    --------
    >>> from drsvm import Problem
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = ["low", "low", "high", "high"]
    >>> problem = Problem(X, y, radius=0.1, fit_intercept=True)
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
    feature_cost: np.ndarray | None
    monotonic_cst: np.ndarray | None
    row_radius: Any
    # Of the class Rows, and with its flags
    rows: Any
    # Labels as ±1, and weights. None if the rows are in shards, which keep them
    signs: Any
    sample_weight: Any
    classes: np.ndarray
    # The place of each row among those that were given; None if it is the same, and all
    # have a weight
    kept: Any
    # The number of given rows, those of weight 0 included
    n_given: int
    # Sums over the rows by function and arguments: one table for all problems with the
    # same data, since most solves change the radius and the ridge only.
    _known_sums: dict[Any, Any] = field(repr=False)

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
        row_radius: Any = 0.0,
    ):
        backend = backend_of(X)
        if backend is None:
            rows = MemoryRows(validation.check_rows(X))
            data = rows.data(y, sample_weight)
            costs = rows.with_flip_costs(flip_cost, data["n_given"], data["kept"])
            self._set(**data, **costs)
        else:
            self._set(**backend.data(X, y, sample_weight, flip_cost))
        self._set_parameters(
            radius=radius,
            norm=norm,
            l2=l2,
            fit_intercept=fit_intercept,
            intercept_cost=intercept_cost,
            feature_cost=feature_cost,
            monotonic_cst=monotonic_cst,
        )
        self._set_row_radius(row_radius)

    @classmethod
    def of_checked(cls, **attributes: Any) -> "Problem":
        """Return a problem from attributes in the form in which a problem has them.

        Parameters
        ----------
        **attributes
            Rows, signs, weights and classes, and any of the parameters, which have
            defaults.

        Returns
        -------
        Problem
            The problem. Nothing is checked.
        """
        problem = object.__new__(cls)
        problem._set(**_DEFAULTS, kept=None)
        if "n_given" not in attributes:
            problem._set(n_given=len(attributes["signs"]))
        problem._set(**attributes)
        return problem

    def _set(self, **values) -> None:
        """Set attributes in their checked form."""
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                # A view: the array itself may belong to somebody else.
                values[name] = value.view()
                values[name].flags.writeable = False
        # A frozen dataclass refuses assignments.
        known = vars(self)
        is_new = not _DATA.isdisjoint(values)
        if "flip_cost" in values:
            # Sums do not depend on a cost that all rows share, so only costs by row
            # matter, old ones or new ones.
            is_new = is_new or by_row(values["flip_cost"])
            is_new = is_new or by_row(known.get("flip_cost", 0.0))
        if is_new or "_known_sums" not in known:
            known["_known_sums"] = {}
        known.update(values)

    def _set_parameters(self, **parameters) -> None:
        """Check and set parameters other than the flip costs, which belong to rows."""
        checked = {}
        for name, value in parameters.items():
            checked[name] = _checked(name, value, self.n_features)
        self._set(**checked)

    def _set_row_radius(self, row_radius) -> None:
        """Check and set the radii of single rows, or raise if labels can be flipped."""
        changed = self.rows.with_row_radius(row_radius, self.n_given, self.kept)
        self._set(**changed)
        if self.has_row_radius and not np.isinf(self.flip_cost).all():
            raise ValueError(
                "row_radius needs flip_cost=inf: rows that shift one by one are "
                "supported for trusted labels only."
            )

    def with_checked(self, **attributes: Any) -> "Problem":
        """Return the problem with other attributes, which are in their checked form."""
        other = object.__new__(Problem)
        # Only fields: what is cached belongs to this problem.
        known = vars(self)
        vars(other).update({name: known[name] for name in _FIELDS})
        other._set(**attributes)
        return other

    # --- other problems with the same or other data

    def replace(self, **parameters: Any) -> "Problem":
        """Return the problem with other values of parameters; the data are shared.

        Parameters
        ----------
        **parameters
            Any of those of `Problem`, except X, y and sample_weight.

        Returns
        -------
        Problem
            A new problem with the same rows, labels and weights.
        """
        unknown = set(parameters) - set(PARAMETERS)
        if unknown:
            raise TypeError(
                f"replace takes {', '.join(PARAMETERS)}, "
                f"not {', '.join(sorted(unknown))}."
            )
        other = self.with_checked()
        if "flip_cost" in parameters:
            costs = parameters.pop("flip_cost")
            other._set(**self.rows.with_flip_costs(costs, self.n_given, self.kept))
        given = "row_radius" in parameters
        row_radius = parameters.pop("row_radius", 0.0)
        other._set_parameters(**parameters)
        if given:
            other._set_row_radius(row_radius)
        elif self.has_row_radius and not np.isinf(other.flip_cost).all():
            raise ValueError("row_radius needs flip_cost=inf: replace both.")
        return other

    def with_regularisation(self, radius: float, l2: float) -> "Problem":
        """Return the problem with another radius and ridge, which have been checked."""
        return self.with_checked(radius=radius, l2=l2)

    def subset(self, rows: Values, weights: Values = None) -> "Problem":
        """Return the problem on some rows, of both classes.

        Parameters
        ----------
        rows : array
            Indices among the rows with positive weight.
        weights : array, optional
            Weights that are used as they are. By default, those of the rows are scaled
            to sum to 1.

        Returns
        -------
        Problem
            The problem on copies of these rows.
        """
        if weights is None:
            weights = self.sample_weight[rows]
            weights = weights / weights.sum()
        costs = self.flip_cost
        if by_row(costs):
            costs = costs[rows]
            if bool((costs == costs[0]).all()):
                costs = float(costs[0])
        radii = self.row_radius
        if by_row(radii):
            radii = radii[rows]
        taken = self.rows.taken(rows)
        return self.on_sample(taken, self.signs[rows], weights, costs, radii)

    def on_sample(
        self,
        rows: Values,
        signs: Values,
        sample_weight: Values,
        flip_cost: Values,
        row_radius: Any = 0.0,
    ) -> "Problem":
        """Return the problem on other samples, which have been checked.

        Parameters
        ----------
        rows : Rows
            The rows.
        signs, sample_weight : arrays of shape (n,)
            Labels ±1, and weights that sum to 1.
        flip_cost, row_radius : float or array of shape (n,)
            Costs of flips, and radii of single rows.

        Returns
        -------
        Problem
            The problem, in which all rows count as given.
        """
        return self.with_checked(
            rows=rows,
            signs=signs,
            sample_weight=sample_weight,
            flip_cost=flip_cost,
            row_radius=row_radius,
            kept=None,
            n_given=len(signs),
        )

    def relabelled(self, positive: object, sample_weight: Values = None) -> "Problem":
        """Return the problem with other labels and weights, but the same rows.

        Parameters
        ----------
        positive : array
            A mask over the given rows; both classes must have rows.
        sample_weight : array, optional
            Weights, of which the same are 0.

        Returns
        -------
        Problem
            The problem; rows are neither copied nor checked again.
        """
        attributes = self.rows.relabelled(
            positive, sample_weight, self.flip_cost, self.n_given, self.kept
        )
        return self.with_checked(**attributes)

    def on_features(self, features: Values) -> "Problem":
        """Return the problem with some of the features (sorted indices).

        They are copied, unless all are selected.
        """
        if len(features) == self.n_features:
            return self
        rows = self.rows.on_features(features)
        # Functions of a kernel have no features that could be left out, and return
        # themselves.
        if rows is self.rows:
            return self
        other = self.with_rows(rows)
        if self.feature_cost is not None:
            other = other.replace(feature_cost=self.feature_cost[features])
        if self.monotonic_cst is not None:
            other = other.replace(monotonic_cst=self.monotonic_cst[features])
        return other

    def shifted(self, offset: Vector) -> "Problem":
        """Return the problem with x − offset in place of x.

        The rows are copied, except for large ones in a file.
        """
        return self.with_rows(self.rows.shifted(offset))

    def on_rows(self, X: Matrix) -> "Problem":
        """Return the problem with other features for the same samples.

        `X` must already be in its checked form.
        """
        return self.with_rows(MemoryRows(X))

    def with_rows(self, rows: Values) -> "Problem":
        """Return the problem with other rows for the same samples."""
        return self.with_checked(rows=rows)

    def in_memory(self) -> "Problem":
        """Return the problem with rows that compiled code reads: views are copied."""
        if not self.rows.readable:
            return self
        X = in_memory(self.X)
        if X is self.X:
            # The same object remembers sums over its rows.
            return self
        return self.on_rows(X)

    # --- attributes that follow from the others

    @property
    def n_rows(self) -> int:
        """Number of rows with a positive weight."""
        return self.rows.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are stored in a sparse format."""
        return self.rows.is_sparse

    @property
    def has_intercept_cost(self) -> bool:
        """Whether there is an intercept inside the norm."""
        return self.fit_intercept and math.isfinite(self.intercept_cost)

    @property
    def has_row_radius(self) -> bool:
        """Whether single rows may shift."""
        return by_row(self.row_radius) or self.row_radius > 0.0

    @property
    def charges_norm(self) -> bool:
        """Whether the norm of the weights costs anything."""
        return self.radius > 0.0 or self.has_row_radius

    @property
    def price_slopes(self) -> tuple[Any, Any]:
        """By how much λ changes the losses, and which labels can be flipped.

        Where a label can be flipped, that is the cost κ_i of the flip, elsewhere the
        radius r_i of the row. Both are numbers, or arrays with an entry per row.
        """
        if not self.has_row_radius:
            return affordable_flips(self.flip_cost, self.radius)
        return self.row_radius, np.zeros_like(self.row_radius, dtype=bool)

    @cached_property
    def flips_possible(self) -> bool:
        """Whether the adversary can afford to flip any label."""
        _, affordable = affordable_flips(self.flip_cost, self.radius)
        return bool(np.any(affordable))

    @property
    def X(self) -> Any:
        """The rows as an array or a sparse matrix, if they are in this memory."""
        if not self.rows.readable:
            raise TypeError(
                f"The rows of this problem are {self.rows.place}: only sums over them "
                "are known here."
            )
        return self.rows.X

    @property
    def flip_costs(self) -> np.ndarray:
        """The flip cost of every row.

        Of rows in shards, some of them, the smallest and the largest included.
        """
        if by_row(self.flip_cost):
            return self.flip_cost
        return np.broadcast_to(self.flip_cost, (self.n_rows,))

    @property
    def can_flip(self) -> np.ndarray:
        """Whether the adversary can afford to flip some of each row's mass."""
        return affordable_flips(self.flip_costs, self.radius)[1]

    @property
    def has_prices(self) -> bool:
        """Whether rows, features or the intercept have costs, or weights a sign."""
        of_features = self.feature_cost is not None or self.monotonic_cst is not None
        return of_features or self.has_intercept_cost or by_row(self.flip_cost)

    @property
    def trusted_features(self) -> np.ndarray:
        """Mask of features that cannot shift, whose weights are outside the norm."""
        if self.feature_cost is None:
            return np.zeros(self.n_features, dtype=bool)
        return np.isinf(self.feature_cost)

    @property
    def sum_parameters(self) -> SumParameters:
        """The parameters that functions of rows in shards depend on."""
        return SumParameters(
            self.radius, self.flip_cost, self.norm, self.fit_intercept, self.row_radius
        )

    # --- functions of a classifier

    def cost_of_flips(self, flip_dual: Values) -> float:
        """Return Σ_i κ_i β_i; where no flip is possible, β_i is taken to be 0."""
        if by_row(self.flip_cost):
            return float(affordable_flips(self.flip_cost, self.radius)[0] @ flip_dual)
        if self.flips_possible and self.flip_cost > 0:
            return self.flip_cost * float(flip_dual.sum())
        return 0.0

    def cost_of_multipliers(self, hinge_dual: Values, flip_dual: Values) -> float:
        """Return Σ_i κ_i β_i − Σ_i r_i α_i, by which the budget of the dual shrinks."""
        cost = self.cost_of_flips(flip_dual)
        if by_row(self.row_radius):
            cost -= float(self.row_radius @ hinge_dual)
        elif self.row_radius > 0.0:
            cost -= self.row_radius * float(hinge_dual.sum())
        return cost

    def after_shifts(self, margins: Vector, radius_price: float) -> Vector:
        """Return m_i − r_i λ: the margins after every row has shifted on its own."""
        if not self.has_row_radius:
            return margins
        return margins - self.row_radius * radius_price

    def with_signs(self, w: Vector) -> np.ndarray:
        """Return w with 0 where a weight has the opposite of its prescribed sign.

        This is v⁺ of the dual, and the nearest weights with these signs.
        """
        if self.monotonic_cst is None:
            return w
        return np.where(self.monotonic_cst * w < 0, 0.0, w)

    def norm_of(self, w: Vector, b: float = 0.0) -> float:
        """Return ‖(w/a, b/a_0)‖_q, where an infinite cost removes the entry."""
        if self.feature_cost is not None:
            w = w / self.feature_cost
        scaled = self.rows.coordinates(w)
        if self.has_intercept_cost:
            scaled = np.concatenate((scaled, (b / self.intercept_cost,)))
        return self.norm.value(scaled)

    def decision_values(self, w: Vector, b: float = 0.0) -> np.ndarray:
        """Return the decision values of a classifier.

        Parameters
        ----------
        w, b : array of shape (d,), float
            The classifier.

        Returns
        -------
        array of shape (n,)
            w·x_i + b for every row.
        """
        return self.rows.dot(w, b)

    def margins(self, w: Vector, b: float = 0.0) -> np.ndarray:
        """Return the margins of a classifier.

        Parameters
        ----------
        w, b : array of shape (d,), float
            The classifier.

        Returns
        -------
        array of shape (n,)
            m_i = y_i (w·x_i + b) for every row.
        """
        margins = self.rows.dot(w, b)

        def multiply(part):
            np.multiply(margins[part], self.signs[part], out=margins[part])

        over_parts(margins, multiply)
        return margins

    def _compensated_margins(self, w: Vector, b: float) -> np.ndarray:
        """Return the margins, also where large contributions of features cancel."""
        if not self.rows.is_small:
            return self.margins(w, b)
        return self.signs * self.rows.compensated_dot(w, b, self.column_sizes)

    def weighted_sum(self, coefficients: Vector) -> tuple[np.ndarray, float]:
        """Return Σ_i g_i y_i x_i and Σ_i g_i y_i for given coefficients g."""
        signs = self.signs
        signed = elementwise(signs, lambda part: coefficients[part] * signs[part])
        return self.signed_sum(signed)

    def signed_sum(self, signed: Vector) -> tuple[np.ndarray, float]:
        """Return Σ_i s_i x_i and Σ_i s_i for coefficients with the labels' signs."""
        sums = self.rows.weighted_sum(signed)
        return sums, total(signed, lambda part: signed[part].sum())

    def multiples_of_weights(self, positive: float, negative: float) -> Vector:
        """Return the vector of the weights, times one factor for each class."""
        return self.rows.multiples_of_weights(
            self.signs, self.sample_weight, positive, negative
        )

    def radius_price(self, w: Vector, margins: Vector, b: float = 0.0) -> float:
        """Return the smallest optimal λ ≥ ‖(w/a, b/a_0)‖_q for the given weights.

        Parameters
        ----------
        w, b : array of shape (d,), float
            The classifier; b matters if it has a finite cost.
        margins : array of shape (n,)
            Its margins.

        Returns
        -------
        float
            The price of one unit of radius.
        """
        weights = self.sample_weight
        costs = self.flip_cost
        size = self.norm_of(w, b)
        return float(smallest_best_price(margins, weights, size, self.radius, costs))

    def price_and_objective(self, w: Vector, b: float = 0.0) -> tuple[float, float]:
        """Return the smallest optimal λ ≥ ‖(w/a, b/a_0)‖_q, and the objective with it.

        Parameters
        ----------
        w, b : array of shape (d,), float
            The classifier.

        Returns
        -------
        radius_price, objective : float, float
            The price λ of the radius, and the objective at (w, b, λ).
        """
        if self.rows.is_sharded:
            size = self.norm_of(w, b)
            price, risk = self.rows.price_and_risk(self.sum_parameters, w, b, size)
            return price, risk + self.ridge(w)
        margins = self._compensated_margins(w, b)
        price = self.radius_price(w, margins, b)
        return price, self.objective_at(w, margins, price)

    def worst_case(
        self, loss: str, w: Vector, b: float, size: float, radii: Vector
    ) -> Vector:
        """Return the worst-case risk of a classifier.

        Parameters
        ----------
        loss : {"hinge", "zero-one"}
            What is expected: the hinge loss, or errors.
        w, b : array of shape (d,), float
            The classifier.
        size : float
            By how much a unit of shift changes a decision at most.
        radii : array
            The radii of the ball.

        Returns
        -------
        array
            The risk for every radius.
        """
        if self.rows.is_sharded:
            return self.rows.worst_case(self.sum_parameters, loss, w, b, size, radii)
        risk = {"hinge": worst_case_hinge, "zero-one": worst_case_error}[loss]
        margins = self.after_shifts(self.margins(w, b), size)
        return risk(margins, self.sample_weight, size, radii, self.flip_cost)

    def objective(
        self, w: Vector, b: float = 0.0, radius_price: float | None = None
    ) -> float:
        """Return the objective of a classifier.

        Parameters
        ----------
        w, b : array of shape (d,), float
            The classifier.
        radius_price : float, optional
            The λ; by default the optimal one.

        Returns
        -------
        float
            The objective at (w, b, λ).
        """
        if radius_price is None:
            return self.price_and_objective(w, b)[1]
        return self.objective_at(w, self.margins(w, b), radius_price)

    def objective_at(self, w: Vector, margins: Vector, radius_price: float) -> float:
        """Return the objective from margins that are already known."""
        margins = self.after_shifts(margins, radius_price)
        loss = expected_loss(margins, self.sample_weight, radius_price, self.flip_cost)
        return self.radius * radius_price + loss + self.ridge(w)

    def ridge(self, w: Vector) -> float:
        """Return (c/2) ‖w‖₂²."""
        if self.l2 == 0.0:
            return 0.0
        coordinates = self.rows.coordinates(w)
        return 0.5 * self.l2 * float(coordinates @ coordinates)

    # --- sums over all rows, wherever these are

    def query(
        self, function: Callable[..., Summable], *arguments: Any, once: bool = False
    ) -> Summable:
        """Return the value of a function of the problem, or the sum over its shards.

        Parameters
        ----------
        function : callable
            A function of a module, which takes this problem, or that of a shard of its
            rows, and arguments.
        *arguments
            Further arguments.
        once : bool
            Whether the value is small and does not depend on the radius, so that it is
            kept for other problems with the same data.

        Returns
        -------
        Summable
            The value, or the sum of the values of all shards.
        """
        if self.rows.is_sharded:
            parameters = self.sum_parameters
            return self.rows.query(parameters, function, *arguments, once=once)
        # Arrays cannot be keys, and what depends on them is hardly asked for twice.
        if not once or any(isinstance(each, np.ndarray) for each in arguments):
            return function(self, *arguments)
        key = function, self.norm, arguments
        if key not in self._known_sums:
            self._known_sums[key] = function(self, *arguments)
        return self._known_sums[key]

    def column_squares(self) -> np.ndarray:
        """Return Σ_i π_i x_ij² for every feature."""
        return self.query(_column_squares, once=True)

    @cached_property
    def column_sizes(self) -> np.ndarray:
        """The root mean square of every feature.

        ``Σ_i (α_i + β_i) |x_ij|`` is at most this.
        """
        return np.sqrt(self.column_squares())

    def multipliers_from(self, values: Values) -> Any:
        """Return the multipliers of the rows of this problem.

        Parameters
        ----------
        values : array of shape (n_given,)
            Multipliers of all given rows, such as those of a result.

        Returns
        -------
        array of shape (n,) or None
            None if they are those of other rows.
        """
        return self.rows.multipliers_from(values, self.n_given, self.kept)

    def to_given_rows(self, values: Values) -> Any:
        """Expand values of the kept rows to all given rows, with 0 for the others."""
        return self.rows.to_given_rows(values, self.n_given, self.kept)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        shown = {name: getattr(self, name) for name in PARAMETERS[:5]}
        if self.has_intercept_cost:
            shown["intercept_cost"] = self.intercept_cost
        for name in ("flip_cost", "feature_cost"):
            costs = getattr(self, name)
            if by_row(costs):
                shown[name] = f"{float(costs.min()):g}…{float(costs.max()):g}"
        if self.has_row_radius:
            radii = np.atleast_1d(self.row_radius)
            shown["row_radius"] = f"{float(radii.min()):g}…{float(radii.max()):g}"
        if self.monotonic_cst is not None:
            shown["monotonic_cst"] = f"{np.count_nonzero(self.monotonic_cst)} signs"
        parameters = ", ".join(f"{name}={value}" for name, value in shown.items())
        return f"Problem({self.n_rows} × {self.n_features} {kind}, {parameters})"


_FIELDS = tuple(field.name for field in fields(Problem))


def _checked(name: str, value: Any, n_features: int) -> Any:
    """Return a parameter other than the flip costs in its checked form."""
    if name in ("radius", "l2"):
        return validation.check_number(value, name)
    if name == "norm":
        return norm_for(value)
    if name == "fit_intercept":
        check_single(fit_intercept=value)
        return bool(value)
    if name == "intercept_cost":
        return validation.check_intercept_cost(value)
    if name == "feature_cost":
        return validation.check_feature_costs(value, n_features)
    return validation.check_monotonic_signs(value, n_features)


def _column_squares(problem: Problem) -> np.ndarray:
    """Return Σ_i π_i x_ij² for every feature."""
    return problem.rows.sum_of_squares(problem.sample_weight)


def check_problem(problem: Any, caller: str) -> None:
    """Raise an error if something else is given in place of a problem, such as X."""
    if not isinstance(problem, Problem):
        raise TypeError(
            f"{caller} takes a drsvm.Problem, got {type(problem).__name__}: write "
            f"{caller}(Problem(X, y, radius=...)) instead of {caller}(X, y)."
        )
