"""A distribution within the ball that has the worst case of a linear classifier."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from drsvm.audit.decision_values import DecisionValues, decision_values, margins_of
from drsvm.audit.worst_case import adversary_for, ball_of
from drsvm.problem.problem import Problem
from drsvm.problem.validation import check_number
from drsvm.utils.annotations import Classifier, Costs, Labels, Matrix, NormName, Values
from drsvm.utils.lazy import cached_property


@dataclass(frozen=True, repr=False, eq=False)
class WorstCaseDistribution:
    """A distribution within the ball with the largest expected hinge loss.

    It is made of weighted atoms.

    Attributes
    ----------
    rows, mass : arrays of shape (n_atoms,)
        The row of the data each atom comes from, and its mass; the masses sum to 1.
    flipped, labels : arrays
        Whether the atom's label is flipped, and what it is then; for one of several
        classes against the rest: whether it is that class.
    shift : array
        How far the atom's features are moved.
    direction : array of shape (d,)
        The direction t; an atom is moved by −shift · (sign of its label) · t. A unit of
        shift costs 1. With more than two classes, the two for which a move adds most to
        the loss have the signs 1 and −1, and no other atoms move.
    risk : float
        The worst-case risk, from its one-dimensional formula.
    transport_cost, expected_loss : float
        Cost and expected hinge loss of these atoms.
    attained : bool
        False if no distribution attains the risk; this one then comes within `slack` of
        it.

    Examples
    --------
    >>> from drsvm import worst_case_distribution
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> worst = worst_case_distribution(([1.0], -1.5), X, y, radius=0.5, flip_cost=1.0)
    >>> round(worst.transport_cost, 9)
    0.5
    >>> bool(abs(worst.expected_loss - worst.risk) < 1e-9)
    True
    """

    rows: np.ndarray
    mass: np.ndarray
    flipped: np.ndarray
    labels: np.ndarray
    shift: np.ndarray
    direction: np.ndarray
    risk: float
    attained: bool
    _codes: np.ndarray
    # The places of the two classes between which atoms move
    _pair: tuple[int, int]
    _data: DecisionValues
    _problem: Problem

    @cached_property
    def _steps(self) -> np.ndarray:
        """How far atoms move along the direction; against it where negative."""
        first, second = self._pair
        signs = np.zeros(len(self.shift))
        signs[self._codes == first] = -1.0
        signs[self._codes == second] = 1.0
        return self.shift * signs

    @cached_property
    def features(self) -> Matrix:
        """The features of the atoms after the shifts.

        They are dense for dense data, and CSR for sparse data.
        """
        steps = self._steps[:, None]
        original = self._data.X[self.rows].astype(np.float64)
        if not sparse.issparse(original):
            return original + steps * self.direction
        direction = sparse.csr_array(self.direction[None, :])
        return (original + sparse.csr_array(steps) @ direction).tocsr()

    @cached_property
    def transport_cost(self) -> float:
        """Σ mass · (shift + κ · flipped), where a shift costs nothing up to r."""
        direction = self.direction
        costs = self._problem.feature_cost
        if costs is not None:
            # Columns that do not move cost nothing, even if their cost is infinite.
            direction = direction * np.where(direction != 0.0, costs, 0.0)
        # The norm of shifts is the dual of that of the weights.
        size = self._problem.norm.dual.value(direction)
        free = np.broadcast_to(self._problem.row_radius, self._data.codes.shape)
        paid = np.maximum(self.shift * size - free[self.rows], 0.0)
        of_shifts = float(self.mass @ paid)
        flipped_mass = np.bincount(
            self.rows[self.flipped],
            self.mass[self.flipped],
            minlength=len(self._data.codes),
        )
        return of_shifts + self._problem.cost_of_flips(flipped_mass)

    @cached_property
    def expected_loss(self) -> float:
        """Σ mass · max(1 − m, 0) at the moved features and flipped labels."""
        margins = margins_of(self._data.at(self.features), self._codes)
        return float(self.mass @ np.maximum(1.0 - margins, 0.0))

    def __repr__(self) -> str:
        flipped = self.mass[self.flipped].sum()
        moved = self.mass[self.shift > 0].sum()
        attained = "attained" if self.attained else "not attained"
        return (
            f"WorstCaseDistribution({len(self.rows)} atoms; flips {flipped:.4g} of the "
            f"mass, moves {moved:.4g}; risk {self.risk:.6g}, loss "
            f"{self.expected_loss:.6g}, cost {self.transport_cost:.6g}, {attained})"
        )


def worst_case_distribution(
    model: Classifier,
    X: Matrix,
    y: Labels,
    *,
    radius: float | None = None,
    row_radius: Costs | None = None,
    flip_cost: Costs | None = None,
    norm: NormName | None = None,
    feature_cost: Values = None,
    sample_weight: Values = None,
    positive: object | None = None,
    classes: Values = None,
    slack: float = 1e-3,
) -> WorstCaseDistribution:
    """Return a distribution within the ball that attains the worst-case hinge risk.

    For a pipeline, features and shifts are those of the last step. A label with an
    infinite flip cost is never flipped, and a feature with an infinite cost never
    moves. A classifier with the kernel "rbf" is refused: its worst distribution is not
    known, and `worst_case_risk` bounds its risk.

    Parameters
    ----------
    model, X, y, radius, row_radius, flip_cost, norm, feature_cost, sample_weight
        As in `worst_case_risk`, with the same defaults; X must be in memory, and there
        is one radius. With more than two classes, `row_radius` needs `positive`.
    positive, classes
        As in `worst_case_risk`.
    slack : float
        If no distribution attains the risk (on separable data it is best to move ever
        less mass ever farther), the returned one has an expected loss within `slack` of
        it, and `attained` is False.

    Returns
    -------
    WorstCaseDistribution
        Its atoms, what they cost and lose, and the worst-case risk.

    Examples
    --------
    >>> from drsvm import worst_case_distribution
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> print(worst_case_distribution(([1.0], -1.5), X, y, radius=0.5, flip_cost=1.0))
    WorstCaseDistribution(4 atoms; flips 0.5 of the mass, moves 0; risk 1.5, loss 1.5,
    cost 0.5, attained)
    """
    slack = check_number(slack, "slack")
    if slack == 0:
        raise ValueError(
            "slack must be positive, got slack=0: it bounds the loss forgone if no "
            "maximum exists."
        )
    data = decision_values(model, X, y, sample_weight, positive, classes)
    if data.kernel is not None:
        raise ValueError(
            "the worst distribution is known for linear classifiers only: "
            "worst_case_risk bounds the risk of one with a kernel, and "
            "RiskCurveDisplay draws the bound."
        )
    given = {
        "radius": radius,
        "row_radius": row_radius,
        "flip_cost": flip_cost,
        "norm": norm,
        "feature_cost": feature_cost,
    }
    adversary = adversary_for(data, ball_of(model, data, given))
    attack = adversary.worst_attack(slack)
    risk = adversary.hinge_risks(np.array(adversary.problem.radius))
    rows, mass, codes = attack.atoms
    return WorstCaseDistribution(
        rows=rows,
        mass=mass,
        flipped=codes != data.codes[rows],
        labels=data.classes[codes],
        shift=attack.shift,
        direction=attack.direction,
        risk=float(risk),
        attained=attack.attained,
        _codes=codes,
        _pair=attack.pair,
        _data=data,
        _problem=adversary.problem,
    )
