"""The worst case within the ball for any linear classifier, including those trained elsewhere.

With the budget ε, the adversary flips the labels of mass β at a cost of κ each and spends the rest, e = ε − κ Σ β, on
moving mass with an active loss along the direction t (w·t = ‖w‖_q, ‖t‖_p = 1), away from the correct side.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.model.linear_model import AuditData, audit_data
from drsvm.model.norms import Norm, norm_for
from drsvm.model.risk import flip_gains, smallest_best_price, worst_case_error, worst_case_hinge
from drsvm.model.validation import check_flip_cost, check_number

ROUNDING = 1e-13
"""If at most this share of the budget remains after flips, it is rounding error and is not spent on moves."""

_RISKS = {"hinge": worst_case_hinge, "zero-one": worst_case_error}


def worst_case_risk(
    model,
    X,
    y,
    *,
    radius=None,
    flip_cost: float | None = None,
    norm: Any = None,
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
        The sample at the centre of the ball.
    radius : float or array of floats, optional
        Radius of the ball, or several of them. By default the radius that the model was trained with, if it is a
        WassersteinSVC or WassersteinSVCCV, possibly inside a pipeline or search; required for any other model.
    flip_cost, norm : float, {1, 2, inf}, optional
        As in `drsvm.Problem`. By default those that the model was trained with; 1 and 2 for any other model.
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
    data = audit_data(model, X, y, sample_weight, positive)
    radius, kappa, size_of = _ball(model, data, radius, flip_cost, norm)
    radii = np.array([check_number(value, "radius") for value in np.ravel(radius).tolist()])
    values = _RISKS[loss](data.margins, data.weights, size_of.value(data.coef), radii, kappa)
    return float(values[0]) if np.ndim(radius) == 0 else values.reshape(np.shape(radius))


def _ball(model, data: AuditData, radius, flip_cost, norm) -> tuple[Any, float, Norm]:
    """Return radius, flip cost and norm: the given ones, the model's own, or the defaults for other models."""
    ball = {"flip_cost": 1.0, "norm": 2, **data.own_ball}
    given = {"radius": radius, "flip_cost": flip_cost, "norm": norm}
    ball |= {name: value for name, value in given.items() if value is not None}
    if "radius" not in ball:
        raise ValueError(
            f"radius is required for a {type(model).__name__}: pass one, for instance radius=0.1. Only a "
            "WassersteinSVC or WassersteinSVCCV has a radius of its own."
        )
    return ball["radius"], check_flip_cost(ball["flip_cost"]), norm_for(ball["norm"])


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
        The direction t; an atom is moved by −shift · (sign of its label) · t.
    risk : float
        The worst-case risk, from its one-dimensional formula.
    transport_cost, expected_loss : float
        Cost and expected hinge loss of these atoms.
    attained : bool
        False if no distribution attains the risk; this one then comes within the given slack of it.
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
    _flip_cost: float
    _norm: Norm

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
        cost = float(self.mass @ (self.shift * self._norm.dual.value(self.direction)))
        return cost + (self._flip_cost * float(self.mass[self.flipped].sum()) if self.flipped.any() else 0.0)

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
    flip_cost: float | None = None,
    norm: Any = None,
    sample_weight=None,
    positive=None,
    slack: float = 1e-3,
) -> WorstCaseDistribution:
    """Return a distribution within the ball that attains the worst-case hinge risk.

    If no distribution attains it (on separable data it is best to move ever less mass ever farther), the returned one
    has an expected loss within `slack` of the risk, and `attained` is False. The other parameters are those of
    `worst_case_risk`, with the same defaults. For a pipeline, features and shifts are those of the last step.

    Returns
    -------
    WorstCaseDistribution
    """
    slack = check_number(slack, "slack")
    if slack == 0:
        raise ValueError("slack must be positive, got slack=0: it bounds the loss given up if no maximum exists.")
    data = audit_data(model, X, y, sample_weight, positive)
    radius, kappa, size_of = _ball(model, data, radius, flip_cost, norm)
    radius = check_number(radius, "radius")
    size = size_of.value(data.coef)
    share = _flipped_share(data, size, radius, kappa)
    rows, mass, flipped = _split(data.weights, share)
    signs = np.where(flipped, -data.signs[rows], data.signs[rows])
    margins = np.where(flipped, -data.margins[rows], data.margins[rows])
    left = radius - (kappa * float(mass[flipped].sum()) if flipped.any() else 0.0)
    left = left if left > ROUNDING * radius else 0.0
    attained, shift = True, np.zeros(len(rows))
    if left > 0 and size > 0:
        active = margins <= 1.0
        if active.any():
            shift[active] = left / mass[active].sum()
        else:
            attained = False
            rows, mass, flipped, signs, shift = _move_little_mass_far(rows, mass, flipped, signs, margins, left, slack)
    risk = float(worst_case_hinge(data.margins, data.weights, size, np.array(radius), kappa))
    return WorstCaseDistribution(
        rows=rows,
        mass=mass,
        flipped=flipped,
        labels=data.classes[(signs > 0).astype(int)],
        shift=shift,
        direction=size_of.worst_direction(data.coef),
        risk=risk,
        attained=attained,
        _signs=signs,
        _data=data,
        _flip_cost=kappa,
        _norm=size_of,
    )


def _flipped_share(data: AuditData, size: float, radius: float, kappa: float) -> np.ndarray:
    """Return the share of each sample whose label the adversary flips."""
    if np.isinf(kappa):
        return np.zeros(len(data.margins))
    price = float(smallest_best_price(data.margins, data.weights, size, radius, kappa))
    gains = flip_gains(data.margins)
    if kappa == 0:
        return (gains > 0).astype(np.float64)
    breakpoints = gains / kappa
    share = (breakpoints > price).astype(np.float64)
    tied = (breakpoints == price) & (data.weights > 0)
    # At λ = ‖w‖_q a tied flip gains as much as a move; it is needed only if there is no active loss to move.
    if tied.any() and (price > size or (data.margins > 1).all()):
        left = radius / kappa - float(data.weights @ share)
        share[tied] = min(max(left / data.weights[tied].sum(), 0.0), 1.0)
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
    rest = mass.copy()
    rest[nearest] -= part
    append = [np.append(values, values[nearest]) for values in (rows, flipped, signs)]
    shift = np.append(np.zeros(len(rows)), left / part)
    return append[0], np.append(rest, part), append[1], append[2], shift
