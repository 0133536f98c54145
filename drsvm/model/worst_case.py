"""The worst case within the ball for any linear classifier, including those of other libraries."""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model import validation
from drsvm.model.adversary import Adversary
from drsvm.model.backends import is_remote
from drsvm.model.decision_values import DecisionValues, margins_of
from drsvm.model.linear_model import LinearClassifier, check_known, decision_values, linear_classifier_for
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.model.validation import check_number

_RISKS = {"hinge": Adversary.hinge_risks, "zero-one": Adversary.error_rates}

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
        `norm` are in standard deviations, not in the units of X. With more than two classes the largest decision value
        must decide, as in most classifiers with a row of `coef_` per class; SVC, which lets pairs of classes vote, is
        refused. In (coef, intercept) with several rows, these are in the order of the sorted labels of y.
    X, y : array, data frame or sparse matrix, array
        The sample at the centre of the ball. The rows may be on a Dask cluster or on a graphics card, as those of a
        `drsvm.Problem`; y must then have two labels, or `positive` be given.
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
        depends on the scale of the weights; the error rate does not, and can compare any classifiers. With more than
        two classes, the margin m is the decision value of the label minus the largest other one (the loss of Crammer
        and Singer), and the label can be flipped to any other class.
    positive : label, optional
        With more than two classes, one of them to evaluate against the rest, by the sign of its own decision value (as
        in one-vs-rest classifiers; for a multinomial LogisticRegression this sign means nothing). By default all are
        compared. For (coef, intercept) and a Result: the label for positive decision values, by default the larger one.

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
    >>> errors = worst_case_risk(model, X, y, radius=[0.0, 0.05, 0.1], loss="zero-one")
    >>> errors.round(2).tolist()
    [0.0, 0.11, 0.19]
    >>> round(worst_case_risk(model, X, y, radius=0.1, loss="zero-one", positive=1), 2)  # one class against the rest
    0.22
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
    data = decision_values(model, X, y, sample_weight, positive)
    ball = _ball(model, data, parameters)
    adversary = Adversary(data, _problem(data, {**ball, "radius": 0.0}))
    return ball["radius"], partial(_RISKS[loss], adversary)


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


def _ball(model, classifier: DecisionValues | LinearClassifier, parameters: dict[str, Any]) -> dict[str, Any]:
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


def _problem(data: DecisionValues, ball: dict[str, Any]) -> Problem:
    """Return the problem with these rows and this ball, without their labels; rows may have weight 0."""
    rows, signs = MemoryRows(data.X), np.ones(len(data.codes))
    problem = Problem.of_checked(rows=rows, signs=signs, sample_weight=data.weights, classes=data.classes)
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
        The direction t; an atom is moved by −shift · (sign of its label) · t. A unit of shift costs 1. With more than
        two classes, the two for which a move adds most to the loss have the signs 1 and −1, and no other atoms move.
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
    _codes: np.ndarray
    _data: DecisionValues
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
        flips = np.bincount(self.rows[self.flipped], self.mass[self.flipped], minlength=len(self._data.codes))
        return cost + self._problem.cost_of_flips(flips)

    @cached_property
    def expected_loss(self) -> float:
        """Σ mass · max(1 − m, 0) at the moved features and flipped labels."""
        values = (self.features @ self._data.coef.T + self._data.intercept).T
        return float(self.mass @ np.maximum(1.0 - margins_of(values, self._codes), 0.0))

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
    data = decision_values(model, X, y, sample_weight, positive)
    parameters = {"radius": radius, "flip_cost": flip_cost, "norm": norm, "feature_cost": feature_cost}
    problem = _problem(data, _ball(model, data, parameters))
    adversary = Adversary(data, problem)
    (rows, mass, codes), shift, (first, second), attained = adversary.worst_attack(slack)
    costs = 1.0 if problem.feature_cost is None else problem.feature_cost
    return WorstCaseDistribution(
        rows=rows,
        mass=mass,
        flipped=codes != data.codes[rows],
        labels=data.classes[codes],
        shift=shift,
        direction=problem.norm.worst_direction((data.coef[first] - data.coef[second]) / costs) / costs,
        risk=float(adversary.hinge_risks(np.array(problem.radius))),
        attained=attained,
        _signs=(codes == first) * 1.0 - (codes == second),
        _codes=codes,
        _data=data,
        _problem=problem,
    )
