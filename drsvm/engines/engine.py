"""The border between a solver and the rows: d-sized sums and scalars cross it, nothing of the size of the data.

The interior point knows the samples through these methods only; an engine for another machine is one that has them.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np


class Curvature(NamedTuple):
    """What the samples add to the Newton matrix in (w, b, λ) and to the predictor's right-hand side."""

    gram: np.ndarray | None  # w × w, in the upper triangle; None in the wide form
    column: np.ndarray  # (w, b) × λ
    square: float  # λ × λ
    predictor: np.ndarray  # (w, b)
    predictor_level: float  # λ
    border: np.ndarray  # (w, b) × b
    of_rows: np.ndarray | None = None  # in the wide form: the curvature h of every row


class Prediction(NamedTuple):
    """What the samples say of the predictor's direction, and what they add to the corrector's right-hand side."""

    primal_rate: float  # 1 / longest primal step
    dual_rate: float
    slack_change: float  # Σ multiplier · dslack
    multiplier_change: float  # Σ slack · dmultiplier
    both_change: float  # Σ dmultiplier · dslack
    correction: np.ndarray  # (w, b)
    correction_level: float
    targeted: np.ndarray  # (w, b), to be multiplied by the target
    targeted_level: float


class DualSums(NamedTuple):
    """Sums over {α of label +, β of label −} and over {α of label −, β of label +}, in this order."""

    rows: np.ndarray  # Σ multiplier · x, of shape (d, 2)
    mass: np.ndarray  # Σ multiplier
    flipped: np.ndarray  # Σ β


class WideProducts(ABC):
    """What the system of the rows needs of them, where they are fewer than the features."""

    @abstractmethod
    def dot(self, v) -> np.ndarray:
        """Return x_i·v of every row."""

    @abstractmethod
    def transposed_dot(self, c) -> np.ndarray:
        """Return Σ_i c_i x_i."""

    @abstractmethod
    def gram(self, scale) -> np.ndarray:
        """Return Σ_j s_j² x_ij x_kj for all pairs of rows, in the upper triangle."""

    @abstractmethod
    def curvature_of_features(self, h) -> np.ndarray:
        """Return about Σ_i h_i x_ij² for every feature, as if the rows differed in their length only."""


class Engine(ABC):
    """Rows and per-sample state of one interior-point run.

    Every sample has multipliers α, β, γ and slacks. A step is `curvature`, `predict` along the predictor's direction,
    `longest_steps` along the corrected one, perhaps `recorrect`, and `move`.
    """

    n_linear: int
    """Number of unknowns in (w, b)."""

    flips: bool
    """Whether any label can be flipped; otherwise a sample has two constraints, not three."""

    kappa: float
    """Price of a flip, 0 where there is none."""

    small: bool
    """Whether passes over the rows cost next to nothing."""

    wide: WideProducts | None
    """Products with all rows, where the system is that of the rows; None where it is that of the features."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the engine holds, such as threads."""

    @abstractmethod
    def center(self, point, level: float, mu: float) -> None:
        """Put every sample on the central path of μ at (w, b) = point and λ = level."""

    @abstractmethod
    def curvature(self) -> Curvature:
        """Return the samples' part of the Newton equations at the current state."""

    @abstractmethod
    def predict(self, direction, level_change: float, left_behind: float = 0.0) -> Prediction:
        """Follow the predictor's direction (dw, db) and dλ; steps may leave a share of the weight behind."""

    @abstractmethod
    def longest_steps(
        self, direction, level_change: float, target: float, left_behind: float = 0.0
    ) -> tuple[float, float]:
        """Set the corrected direction and return 1 / the longest primal and dual steps along it."""

    @abstractmethod
    def recorrect(self, primal: float, dual: float) -> tuple[np.ndarray, float]:
        """Form a new correction for steps of the given lengths; return its part of the right-hand side.

        The old direction is set aside: `swap` brings it back.
        """

    @abstractmethod
    def swap(self) -> None:
        """Exchange the direction in use with the one set aside."""

    @abstractmethod
    def move(self, primal: float, dual: float, left: float = 0.0) -> float:
        """Go the given steps along the corrected direction and return Σ multiplier · slack.

        Samples that cannot follow keep the share `left` of what they would use up.
        """

    @abstractmethod
    def restored_multipliers(self, direction, level_change: float) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β after a change that keeps all products, as far along it as is safe; the state stays."""

    @abstractmethod
    def dual_sums(self) -> DualSums:
        """Return what the multipliers add up to, on each of the two sides that an intercept keeps in balance."""

    @abstractmethod
    def save(self) -> Any:
        """Return a copy of the state of all samples, for `load` alone to look into."""

    @abstractmethod
    def load(self, saved: Any) -> None:
        """Go back to a saved state."""

    @abstractmethod
    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β of every row."""
