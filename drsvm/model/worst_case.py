"""The worst case within the ball for any linear classifier, including those of other libraries.

With the budget ε, the adversary flips the labels of mass β_i at a cost of κ_i each and spends the rest,
e = ε − Σ κ_i β_i, on moving mass with an active loss along the direction t (w·t = ‖w/a‖_q, ‖a ⊙ t‖_p = 1), away from
the correct side.
"""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model import validation
from drsvm.model.backends import is_remote
from drsvm.model.linear_model import AuditData, LinearClassifier, audit_data, check_known, linear_classifier_for
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.model.risk import flip_gains, smallest_best_price, worst_case_error, worst_case_hinge
from drsvm.model.validation import check_number

ROUNDING = 1e-13  # if at most this share of the budget is left after flips, it is a rounding error

_RISKS = {"hinge": worst_case_hinge, "zero-one": worst_case_error}

# The prices for models of other libraries: the defaults of `WassersteinSVC`, which differ from those of `Problem`.
DEFAULT_PRICES = {"flip_cost": math.inf, "norm": 2, "feature_cost": None}


def worst_case_risk(
    model,
    X,
    y,
    *,
    radius=None,
    flip_cost: Any = None,
    norm: Any = None,
    feature_cost=None,
    intercept_cost: float = math.inf,
    sample_weight=None,
    loss: str = "hinge",
    positive=None,
):
    """Return the largest expected loss over all distributions within the ball.

    Parameters
    ----------
    model : fitted linear classifier, Pipeline ending in one, search over one, Result, or (coef, intercept)
        The classifier to evaluate, from any library; it needs `coef_` and `intercept_`. In a pipeline, X is
        transformed by all steps but the last, and shifts are measured after them: after a StandardScaler, `radius` and
        `norm` are in standard deviations, not in the units of X.
    X, y : array, data frame or sparse matrix, array
        The sample at the centre of the ball. The rows may be on a Dask cluster or on a graphics card, as those of a
        `drsvm.Problem`; y must then have two labels.
    radius : float or array of floats, optional
        Radius of the ball, or several of them. By default the radius that the model was trained with, if it is a
        WassersteinSVC or WassersteinSVCCV, possibly inside a pipeline or search; required for any other model.
    flip_cost, norm, feature_cost : optional
        As in `drsvm.Problem`; `feature_cost` may be a dict by name, as in `WassersteinSVC`. By default those that the
        model was trained with, if it is a WassersteinSVC or WassersteinSVCCV, except that flip costs per row or class
        must be given; for any other model ``inf``, 2 and 1, the defaults of `WassersteinSVC`. To compare models, give
        all of them the same adversary.
    intercept_cost : float
        As in `drsvm.Problem`. By default ``inf``, since no shift of the features can move the intercept. With the price
        that a model was trained with, the hinge risk is the objective of the training without its ridge term.
    sample_weight : array of shape (n,), optional
        As in `drsvm.Problem`.
    loss : {"hinge", "zero-one"}
        Hinge loss max(1 − m, 0), or the error rate (a sample on the boundary counts as an error). The hinge loss
        depends on the scale of the weights; the error rate does not, and can compare any classifiers.
    positive : label, optional
        With more than two classes, the one to evaluate against the rest, by the sign of its own decision value (as in
        one-vs-rest classifiers; a multinomial LogisticRegression compares the values of all classes instead, so wrap
        it in a OneVsRestClassifier). For (coef, intercept) and a Result: the label for positive decision values, by
        default the larger one.

    Returns
    -------
    float, or array of the shape of `radius`

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> from drsvm import worst_case_risk
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    >>> errors = worst_case_risk(model, X, y, radius=[0.0, 0.05, 0.1], loss="zero-one", positive=1)
    >>> errors.round(2).tolist()
    [0.0, 0.14, 0.22]
    """
    if loss not in _RISKS:
        raise ValueError(f"loss must be 'hinge' or 'zero-one', got loss={loss!r}.")
    parameters = {"radius": radius, "flip_cost": flip_cost, "norm": norm, "feature_cost": feature_cost}
    parameters["intercept_cost"] = intercept_cost
    audited = _remote if is_remote(X) else _here
    radius, risks = audited(model, X, y, sample_weight, positive, loss, parameters)
    values = risks(np.array([check_number(value, "radius") for value in np.ravel(radius).tolist()]))
    return float(values[0]) if np.ndim(radius) == 0 else values.reshape(np.shape(radius))


_Audited = tuple[Any, Callable[[np.ndarray], np.ndarray]]  # the radius, or several radii, and the risks by radius


def _here(model, X, y, sample_weight, positive, loss: str, parameters: dict[str, Any]) -> _Audited:
    data = audit_data(model, X, y, sample_weight, positive)
    ball = _ball(model, data, parameters)
    problem = _problem(data, {**ball, "radius": 0.0})
    size = problem.norm_of(data.coef, data.intercept)
    return ball["radius"], lambda radii: _RISKS[loss](data.margins, data.weights, size, radii, problem.flip_cost)


def _remote(model, X, y, sample_weight, positive, loss: str, parameters: dict[str, Any]) -> _Audited:
    classifier, X = linear_classifier_for(model, X, positive)
    ball = _ball(model, classifier, parameters)
    labels = y if classifier.mask_label is None else y == classifier.mask_label
    costs = {**ball, "radius": 0.0, "fit_intercept": True}
    problem: Any = Problem(X, labels, sample_weight=sample_weight, **costs)
    if classifier.classes is not None and classifier.mask_label is None:
        check_known(problem.classes, classifier.classes)
    coef = validation.check_weight_vector(classifier.coef, problem.n_features, "the model's coef")
    size = problem.norm_of(coef, classifier.intercept)
    risk = problem.rows.worst_case
    return ball["radius"], lambda radii: risk(problem, loss, coef, classifier.intercept, size, radii)


def _ball(model, classifier: AuditData | LinearClassifier, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the ball: those that are not None, the model's own, or the defaults."""
    ball = DEFAULT_PRICES | classifier.own_ball
    ball |= {name: value for name, value in parameters.items() if value is not None}
    costs = ball["feature_cost"]
    ball["feature_cost"] = validation.in_order_of_features(costs, classifier.names, "feature_cost", otherwise=1.0)
    if "radius" not in ball:
        raise ValueError(
            f"radius is required for a {type(model).__name__}: pass one, for instance radius=0.1. Only a "
            "WassersteinSVC or WassersteinSVCCV has a radius of its own."
        )
    if parameters["flip_cost"] is None and not isinstance(ball["flip_cost"], numbers.Real):
        raise ValueError(
            f"flip_cost is required for this {type(model).__name__}: it was trained with several flip costs, and which "
            "of them apply to these rows is not known. Pass a number or one per row of X."
        )
    return ball


def _problem(data: AuditData, ball: dict[str, Any]) -> Problem:
    """Return the problem with these rows and this ball; they may be of one class, and have weight 0."""
    rows, classes = MemoryRows(data.X), np.array([False, True])
    problem = Problem.of_checked(rows=rows, signs=data.signs, sample_weight=data.weights, classes=classes)
    return problem.replace(fit_intercept=True, **ball)


@dataclass(frozen=True, repr=False, eq=False)
class WorstCaseDistribution:
    """A distribution within the ball with the largest expected hinge loss, as weighted atoms.

    Attributes
    ----------
    rows, mass : arrays of shape (n_atoms,)
        The row of the data each atom comes from, and its mass; the masses sum to 1.
    flipped : array of bools
        Whether the atom's label is flipped.
    labels : array
        The atom's label after flips; if one of several classes is evaluated against the rest: whether it is that class.
    shift : array
        How far the atom's features are moved.
    direction : array of shape (d,)
        The direction t; an atom is moved by −shift · (sign of its label) · t. A unit of shift costs 1.
    risk : float
        The worst-case risk, from its one-dimensional formula.
    transport_cost, expected_loss : float
        Cost and expected hinge loss of these atoms.
    attained : bool
        False if no distribution attains the risk; this one then comes within `slack` of it.

    Examples
    --------
    >>> from drsvm import worst_case_distribution
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> worst = worst_case_distribution(([1.0], -1.5), X, y, radius=0.5, flip_cost=1.0)
    >>> bool(abs(worst.transport_cost - 0.5) < 1e-9), bool(abs(worst.expected_loss - worst.risk) < 1e-9)
    (True, True)
    """

    rows: np.ndarray
    mass: np.ndarray
    flipped: np.ndarray
    labels: np.ndarray
    shift: np.ndarray
    direction: np.ndarray
    risk: float
    attained: bool
    _signs: np.ndarray
    _data: AuditData
    _problem: Problem

    @cached_property
    def features(self):
        """The features of the atoms after the shifts: dense for dense data, CSR for sparse data."""
        steps = -self.shift * self._signs
        original = self._data.X[self.rows]
        if sparse.issparse(original):
            moves = sparse.csr_array(steps[:, None]) @ sparse.csr_array(self.direction[None, :])
            return (original.astype(np.float64) + moves).tocsr()
        return original.astype(np.float64) + steps[:, None] * self.direction

    @cached_property
    def transport_cost(self) -> float:
        """Σ mass · (shift + κ · flipped)."""
        moved = self.direction != 0
        costs = self._problem.feature_cost
        priced = self.direction[moved] if costs is None else self.direction[moved] * costs[moved]
        cost = float(self.mass @ self.shift) * self._problem.norm.dual.value(priced)
        flips = np.bincount(self.rows[self.flipped], self.mass[self.flipped], minlength=len(self._data.signs))
        return cost + self._problem.cost_of_flips(flips)

    @cached_property
    def expected_loss(self) -> float:
        """Σ mass · max(1 − m, 0) at the moved features and flipped labels."""
        margins = self._signs * (self.features @ self._data.coef + self._data.intercept)
        return float(self.mass @ np.maximum(1.0 - margins, 0.0))

    def __repr__(self) -> str:
        moved = self.shift > 0
        return (
            f"WorstCaseDistribution({len(self.rows)} atoms; flips {self.mass[self.flipped].sum():.4g} of the mass, "
            f"moves {self.mass[moved].sum():.4g}; risk {self.risk:.6g}, loss {self.expected_loss:.6g}, "
            f"cost {self.transport_cost:.6g}, {'attained' if self.attained else 'not attained'})"
        )


def worst_case_distribution(
    model,
    X,
    y,
    *,
    radius: float | None = None,
    flip_cost: Any = None,
    norm: Any = None,
    feature_cost=None,
    sample_weight=None,
    positive=None,
    slack: float = 1e-3,
) -> WorstCaseDistribution:
    """Return a distribution within the ball that attains the worst-case hinge risk.

    For a pipeline, features and shifts are those of the last step. A label with an infinite flip cost is never flipped,
    and a feature with an infinite cost never moves.

    Parameters
    ----------
    model, X, y, sample_weight, positive
        As in `worst_case_risk`; X must be in memory.
    radius, flip_cost, norm, feature_cost : optional
        As in `worst_case_risk`, with the same defaults; one radius.
    slack : float
        If no distribution attains the risk (on separable data it is best to move ever less mass ever farther), the
        returned one has an expected loss within `slack` of it, and `attained` is False.

    Returns
    -------
    WorstCaseDistribution

    Examples
    --------
    >>> from drsvm import worst_case_distribution
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> print(worst_case_distribution(([1.0], -1.5), X, y, radius=0.5, flip_cost=1.0))
    WorstCaseDistribution(4 atoms; flips 0.5 of the mass, moves 0; risk 1.5, loss 1.5, cost 0.5, attained)
    """
    slack = check_number(slack, "slack")
    if slack == 0:
        raise ValueError("slack must be positive, got slack=0: it bounds the loss forgone if no maximum exists.")
    data = audit_data(model, X, y, sample_weight, positive)
    parameters = {"radius": radius, "flip_cost": flip_cost, "norm": norm, "feature_cost": feature_cost}
    problem = _problem(data, _ball(model, data, parameters))
    size = problem.norm_of(data.coef)
    share = _flipped_share(problem, data.margins, size)
    rows, mass, flipped = _split(data.weights, share)
    signs = np.where(flipped, -data.signs[rows], data.signs[rows])
    margins = np.where(flipped, -data.margins[rows], data.margins[rows])
    left = problem.radius - problem.cost_of_flips(data.weights * share)
    left = left if left > ROUNDING * problem.radius else 0.0
    attained, shift = True, np.zeros(len(rows))
    if left > 0 and size > 0:
        active = margins <= 1.0
        if active.any():
            shift[active] = left / mass[active].sum()
        else:
            attained = False
            rows, mass, flipped, signs, shift = _move_little_mass_far(rows, mass, flipped, signs, margins, left, slack)
    costs = 1.0 if problem.feature_cost is None else problem.feature_cost
    return WorstCaseDistribution(
        rows=rows,
        mass=mass,
        flipped=flipped,
        labels=data.classes[(signs > 0).astype(int)],
        shift=shift,
        direction=problem.norm.worst_direction(data.coef / costs) / costs,
        risk=float(worst_case_hinge(data.margins, data.weights, size, np.array(problem.radius), problem.flip_cost)),
        attained=attained,
        _signs=signs,
        _data=data,
        _problem=problem,
    )


def _flipped_share(problem: Problem, margins, size: float) -> np.ndarray:
    """Return the share of each sample whose label the adversary flips; `size` is ‖w/a‖_q."""
    weights, costs, gains = problem.sample_weight, problem.flip_costs, flip_gains(margins)
    price = float(smallest_best_price(margins, weights, size, problem.radius, problem.flip_cost))
    share = ((costs == 0) & (gains > 0)).astype(np.float64)
    priced = problem.can_flip & (costs > 0)
    if not priced.any():
        return share
    breakpoints = np.full(len(gains), -np.inf)
    breakpoints[priced] = gains[priced] / costs[priced]
    share[breakpoints > price] = 1.0
    tied = (breakpoints == price) & (weights > 0)
    # At λ = ‖w/a‖_q a tied flip gains as much as a move; it is needed only if there is no active loss to move.
    if tied.any() and (price > size or (margins > 1).all()):
        unit = float(costs[priced].max())
        slopes = weights * (np.where(priced, costs, 0.0) / unit)
        left = problem.radius / unit - float(slopes @ share)
        share[tied] = min(max(left / slopes[tied].sum(), 0.0), 1.0)
    return share


def _split(weights, share):
    """Return rows, masses and flips of the atoms: a partly flipped sample becomes two atoms."""
    kept = np.flatnonzero((share < 1) & (weights > 0))
    flipped = np.flatnonzero((share > 0) & (weights > 0))
    rows = np.concatenate([kept, flipped])
    mass = np.concatenate([weights[kept] * (1 - share[kept]), weights[flipped] * share[flipped]])
    return rows, mass, np.repeat([False, True], [len(kept), len(flipped)])


def _move_little_mass_far(rows, mass, flipped, signs, margins, left, slack):
    """Split the atom nearest to the hinge and move part of it far enough to spend the budget."""
    nearest = int(np.argmin(margins))
    part = min(mass[nearest], slack / max(margins[nearest] - 1.0, slack))
    rows, mass, flipped, signs = (np.append(values, values[nearest]) for values in (rows, mass, flipped, signs))
    mass[nearest], mass[-1] = mass[nearest] - part, part
    return rows, mass, flipped, signs, np.append(np.zeros(len(rows) - 1), left / part)
