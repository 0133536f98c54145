"""The interface between a solver and the rows: d-sized sums and scalars cross it, nothing of the size of the data.

The interior-point solver accesses the samples only through these methods; an engine for
other hardware, or for rows on several machines, implements them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drsvm.certificate.multipliers import DualSums
from drsvm.compiled.interior_point_sample import BINS
from drsvm.compiled.step_rules import tolerating
from drsvm.utils.annotations import Matrix, Vector

if TYPE_CHECKING:
    from drsvm.engines.matrices import WideRows
    from drsvm.engines.newton import Factorised, Scaling


class Curvature(NamedTuple):
    """Contribution of the samples to the Newton matrix in (w, b, λ) and to the predictor's right-hand side."""

    # W × w, in the upper triangle, for `factorised` or the solver; None in the wide
    # form
    gram: Matrix
    column: np.ndarray  # (w, b) × λ
    square: float  # λ × λ
    predictor: np.ndarray  # (w, b)
    predictor_lam: float  # λ
    border: np.ndarray  # (w, b) × b
    of_rows: Any = None  # the curvature h of every row, if no matrix is formed


class Prediction(NamedTuple):
    """Effect of the predictor's direction on the samples, and their part of the corrector's right-hand side."""

    slack_change: float  # Σ multiplier · dslack
    multiplier_change: float  # Σ slack · dmultiplier
    both_change: float  # Σ dmultiplier · dslack
    correction: np.ndarray  # (w, b)
    correction_lam: float
    targeted: np.ndarray  # (w, b), to be multiplied by the target
    targeted_lam: float


@dataclass(eq=False)
class Rates:
    """How soon samples reach their boundaries: the largest rates, and the weight of samples by longest step.

    A rate is 1 / the longest step; row 0 is for the slacks, row 1 for the multipliers.
    """

    smallest_change: np.ndarray = field(default_factory=lambda: np.zeros(2))
    bins: np.ndarray = field(default_factory=lambda: np.zeros((2, BINS + 1)))

    def __add__(self, other: "Rates") -> "Rates":
        return Rates(
            np.minimum(self.smallest_change, other.smallest_change),
            self.bins + other.bins,
        )

    def tolerating(self, share: float) -> tuple[float, float]:
        """Return the primal and dual rates that only samples with the given share of the weight exceed."""
        (primal, dual) = self.smallest_change.tolist()
        (primal_bins, dual_bins) = self.bins.tolist()
        return tolerating(primal, primal_bins, share), tolerating(
            dual, dual_bins, share
        )


class Engine(ABC):
    """Rows and per-sample state of one interior-point run.

    Every sample has multipliers α, β, γ and slacks, which never leave the engine. Every
    method below is one round: it sends d-sized vectors and scalars to wherever the rows
    are, makes one pass over them, and returns d-sized sums (once per iteration a d × d
    matrix), which can be added to those of other rows. An iteration takes three rounds:

    1. `predict` evaluates the predictor's direction: longest steps, and sums for the corrector's right-hand side;
    2. `longest_steps` does the same for the corrected direction, which the engine keeps;
    3. `curvature` moves along it and returns the equations at the new point, the matrix included. Near the end
       `dual_sums` takes its place: it returns the sums that tell whether a certificate
       is worthwhile instead.

    A run begins with `center` and `curvature`. Certificates fetch `multipliers`.

    `curvature` and `dual_sums` may be given steps: how far to go along the corrected
    direction before, for slacks and for multipliers, and the share that samples that
    cannot follow keep of the slack or multiplier that limits them. They return Σ
    multiplier · slack there, 0 if no steps are given, and what they are for.
    """

    n_linear: int  # number of unknowns in (w, b)
    mass: float  # sum of the weights of the rows
    # Sum of the complementarity targets: Σ multiplier · slack = weight · μ on the
    # central path
    weight: float
    small: bool  # whether passes over the rows are cheap
    # Α, β, γ, g₁, g₂ and g₃ of all rows, if they are in this process's memory
    of_rows: np.ndarray | None = None
    # Products with all rows, if the system is theirs; None if it is the features'
    wide: "WideRows | None" = None

    def close(self) -> None:
        """Release what the engine keeps outside this process's memory."""

    @abstractmethod
    def center(self, point: np.ndarray, lam: float, mu: float) -> None:
        """Put every sample on the central path of μ at (w, b) = point and λ = lam."""

    @abstractmethod
    def total_slack(self) -> float:
        """Return Σ π_i s_i.

        After centring, it is the expected loss at λ plus μ to 3μ.
        """

    @abstractmethod
    def curvature(self, *steps: float) -> tuple[float, Curvature]:
        """Take steps, if any, and return the samples' part of the Newton equations."""

    def factorised(
        self, samples: Curvature, cone: "Scaling", ridge: np.ndarray
    ) -> "Factorised | None":
        """Return the factorised Newton matrix if that is done where the engine is, else None."""
        return None

    @abstractmethod
    def predict(
        self, direction: np.ndarray, lam_change: float
    ) -> tuple[Rates, Prediction]:
        """Evaluate the predictor's direction (dw, db) and dλ."""

    @abstractmethod
    def longest_steps(
        self, direction: np.ndarray, lam_change: float, target: float
    ) -> Rates:
        """Set the corrected direction."""

    @abstractmethod
    def dual_sums(self, *steps: float) -> tuple[float, DualSums]:
        """Take steps, if any, and return the sums of the multipliers on the two sides that an intercept balances."""

    @abstractmethod
    def multipliers(self) -> tuple[Vector, Vector]:
        """Return α and β for every row."""
