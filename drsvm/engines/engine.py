"""The protocol between the interior-point method and the rows: the class `Engine`.

The method accesses the samples only through an engine: d-sized sums and scalars cross
the interface, nothing of the size of the data. An engine for other hardware, or for
rows on several machines, implements the protocol.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from drsvm.certificate.multipliers import DualSums
from drsvm.compiled.interior_point_sample import BINS
from drsvm.compiled.step_rules import tolerating
from drsvm.engines.matrices import WideRows
from drsvm.engines.newton_matrix import Curvature, Factorised, Scaling
from drsvm.utils.annotations import Vector


class Steps(NamedTuple):
    """How far to go along the corrected direction.

    A sample that cannot follow stops short: it keeps the share `left` of the slack or
    multiplier that limits it.
    """

    primal: float  # for (w, b, λ) and the slacks
    dual: float  # for the multipliers
    left: float = 0.0


class Prediction(NamedTuple):
    """What a predictor step would do, and the samples' part of the corrector's system.

    The right-hand side of the corrector's equations is that of the predictor, plus
    `correction` (the second-order terms of Mehrotra's method), plus `targeted` times
    the target of the complementarity products.
    """

    slack_change: float  # Σ multiplier · dslack
    multiplier_change: float  # Σ slack · dmultiplier
    both_change: float  # Σ dmultiplier · dslack
    correction: np.ndarray  # (w, b)
    correction_lam: float
    targeted: np.ndarray  # (w, b), to be multiplied by the target
    targeted_lam: float


@dataclass(eq=False)
class Rates:
    """How far samples can go along a direction, for slacks and for multipliers.

    The change of a slack or multiplier is measured relative to its value, for the full
    step. Where it is negative, the value reaches 0 after a step of −1 / change. Row 0
    is for the slacks, row 1 for the multipliers.
    """

    smallest_change: np.ndarray = field(default_factory=lambda: np.zeros(2))
    # Weights of the samples that reach 0 before the full step, by the length of their
    # longest step: bin k is for those from k / BINS on.
    bins: np.ndarray = field(default_factory=lambda: np.zeros((2, BINS + 1)))

    def __add__(self, other: "Rates") -> "Rates":
        return Rates(
            np.minimum(self.smallest_change, other.smallest_change),
            self.bins + other.bins,
        )

    def tolerating(self, weight: float) -> tuple[float, float]:
        """Return the rates of most samples, for slacks and for multipliers.

        A rate is 1 / the longest step. Samples with larger rates than these have at
        most the given weight together: they are left behind.
        """
        # Compiled code calls the rule with arrays, Python with numbers and lists, which
        # are much faster to read one by one.
        primal, dual = self.smallest_change.tolist()
        primal_bins, dual_bins = self.bins.tolist()
        return (
            tolerating(primal, primal_bins, weight),
            tolerating(dual, dual_bins, weight),
        )


class Engine(ABC):
    """Rows and per-sample state of one interior-point run.

    Sample i has the multipliers α, β, γ and slacks g₁, g₂, g₃ of its three constraints
    (`compiled/interior_point_sample.py`), which never leave the engine. Every method
    below is one round: it sends d-sized vectors and scalars to wherever the rows are,
    makes one pass over them, and returns d-sized sums (once per iteration a d × d
    matrix), which can be added to those of other rows. An iteration takes three rounds:
    `predict`, `longest_steps`, and `curvature` (or `dual_sums`), which also moves.

    **An iteration** is Mehrotra's predictor-corrector step [1]_. At the point (w, b, λ)
    with the mean complementarity product μ:

    1. *Equations.* `curvature` returns the samples' part of the Newton matrix and of
       the right-hand side, their slacks eliminated one by one. The ridge and the cone
       of the norm are added, and the matrix is factorised.
    2. *Predictor.* The system is solved for the target 0. `predict` returns how far
       this direction could go, what Σ multiplier · slack would then be, and the second-
       order correction's part of the right-hand side.
    3. *Target.* The better the predictor reduces the products, the smaller the next μ
       that the step aims at (`step_rules.aim`).
    4. *Corrector.* The same factorisation solves for the target and the correction.
       `longest_steps` returns how far this direction can go; the engine keeps it.
    5. *Step lengths.* They keep a fraction of the distance to the boundary, where a
       small weight of samples does not count: these stop short on their own
       (`step_rules.longest_steps`, `step_rules.left_behind`).
    6. *Move.* `curvature(steps)` moves all samples and returns the equations of the
       next iteration. Near the end, where a certificate is more likely to follow than
       another iteration, `dual_sums(steps)` moves instead, and returns the sums that
       tell whether a certificate is worthwhile.

    The sequence has three forms: `solvers/interior_point/state.py` on an engine,
    `compiled/small_interior_point.py` in one compiled call for few rows, and the passes
    of `gpu/gpu_engine.py`, whose arithmetic is translated from that of the compiled
    samples. A run begins with `center` and `curvature`; certificates fetch
    `multipliers`.


    References
    ----------
    .. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method",
       SIAM Journal on Optimization 2(4), 575-601, 1992.
    """

    n_linear: int  # number of unknowns in (w, b)
    mass: float  # sum of the weights of the rows
    # Sum of the complementarity targets: Σ multiplier · slack = weight · μ on the
    # central path
    weight: float
    small: bool  # whether passes over the rows are cheap
    # The rows, if there are so few that the Newton system is solved with a matrix of
    # their size; None if the matrix has the size of the features
    wide: WideRows | None = None

    @property
    def states(self) -> np.ndarray | None:
        """α, β, γ, g₁, g₂ and g₃ of all rows, if they are in this process's memory."""
        return None

    def close(self) -> None:
        """Release what the engine keeps outside this process's memory."""

    @abstractmethod
    def center(self, point: np.ndarray, lam: float, mu: float) -> None:
        """Put every sample on the central path of μ at (w, b) = point and λ = lam.

        There, Σ multiplier · slack is `weight` · μ.
        """

    @abstractmethod
    def total_slack(self) -> float:
        """Return Σ π_i s_i.

        After `center`, this is the expected loss at λ, plus between μ and 3μ.
        """

    @abstractmethod
    def curvature(self, steps: Steps | None = None) -> tuple[float, Curvature]:
        """Take steps, if any, and form the samples' part of the Newton equations.

        Parameters
        ----------
        steps : Steps, optional
            How far to go along the direction of the last `longest_steps`.

        Returns
        -------
        products : float
            Σ multiplier · slack after the move; 0 without steps.
        samples : Curvature
            The samples' part of the equations at the new point.
        """

    def factorised(
        self, samples: Curvature, cone: Scaling, ridge: np.ndarray
    ) -> Factorised | None:
        """Return the factorised Newton matrix, or None if the solver shall factorise.

        Engines whose matrices are not in main memory do it themselves.
        """
        return None

    @abstractmethod
    def predict(
        self, direction: np.ndarray, lam_change: float
    ) -> tuple[Rates, Prediction]:
        """Evaluate the predictor's direction.

        Parameters
        ----------
        direction : array of shape (n_linear,)
            (dw, db), without db if there is no intercept.
        lam_change : float
            dλ.

        Returns
        -------
        rates : Rates
            How far the samples can go along it.
        prediction : Prediction
            What a step would do, and the samples' part of the corrector's system.
        """

    @abstractmethod
    def longest_steps(
        self, direction: np.ndarray, lam_change: float, target: float
    ) -> Rates:
        """Set the corrected direction, and return how far the samples can go along it.

        The arguments are those of `predict`, and the target of the complementarity
        products, in units of the weights.
        """

    @abstractmethod
    def dual_sums(self, steps: Steps | None = None) -> tuple[float, DualSums]:
        """Take steps, if any, and return Σ multiplier · slack and sums of multipliers.

        The first number is 0 without steps. Sums of α and β are separate for the two
        sides that an intercept balances (`DualSums`).
        """

    @abstractmethod
    def multipliers(self) -> tuple[Vector, Vector]:
        """Return α and β for every row."""
