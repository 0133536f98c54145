"""The three norms.

Only this module translates the norm p of the shifts into the norm q of the weights.

A shift of the features is measured in the p-norm, the weights in the dual q-norm, 1/p +
1/q = 1: p = inf ↔ q = 1 (sparse weights), p = 2 ↔ q = 2, p = 1 ↔ q = ∞.

All that depends on a norm is here, or named here: its cone for the interior point
(`compiled/cones.py`) and its geometry for the incremental methods
(`compiled/epigraph.py`, `compiled/geometry.py`). Methods of their own for some norms,
such as dual coordinate ascent, keep them in tables by class; a norm that is not listed
there is solved by the interior point.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dnrm2
from scipy.special import ndtri

from drsvm.compiled import cones, epigraph, geometry


@dataclass(frozen=True)
class Norm(ABC):
    """The norm q of the weights; shifts are measured in its dual norm p."""

    p: ClassVar[float]
    q: ClassVar[float]

    cone: ClassVar[type[cones.Constraints]]
    """The constraints ‖f ⊙ w‖ ≤ λ of the interior point (f are `cone_factors`)."""

    code: ClassVar[int]
    """The number under which compiled code finds the projection onto the epigraph."""

    geometry: ClassVar[type | None] = None
    """The geometry of the proximal step.

    Without one, the incremental methods reject the norm.
    """

    share_of_chance: ClassVar[float] = 1.0
    """What `radius="auto"` takes, of the size of the gradient with random labels."""

    @property
    def dual(self) -> "Norm":
        """The dual norm, with p and q exchanged."""
        return _BY_P[self.q]

    @abstractmethod
    def value(self, w) -> float:
        """Return ‖w‖_q."""

    @abstractmethod
    def worst_direction(self, w) -> np.ndarray:
        """Return t with ‖t‖_p = 1 and w·t = ‖w‖_q (t = 0 if w = 0)."""

    @abstractmethod
    def project_ball(self, w, radius: float) -> np.ndarray:
        """Return the point of the q-ball of the given radius that is nearest to w.

        Parameters
        ----------
        w : array of shape (d,)
            The point to project.
        radius : float
            The radius of the ball, which may be infinite.

        Returns
        -------
        array of shape (d,)
            The nearest point in the Euclidean norm, in a new array.
        """

    @abstractmethod
    def project_scaled_ball(self, w, radius: float, costs) -> np.ndarray:
        """Return the point u with ‖costs ⊙ u‖_q ≤ radius that is nearest to w.

        Parameters
        ----------
        w, costs : arrays of shape (d,)
            The point to project, and positive factors of its entries.
        radius : float
            The radius of the ball. All numbers must be finite.

        Returns
        -------
        array of shape (d,)
            The nearest point in the Euclidean norm, in a new array.
        """

    @abstractmethod
    def remainder(self, total: float, part: float) -> tuple[float, float, float]:
        """Return what one entry of a vector leaves of the norm of the others.

        Parameters
        ----------
        total : float
            The norm of all entries together.
        part : float
            The size of one of them, between 0 and the total.

        Returns
        -------
        rest, by_total, by_part : floats
            The largest ‖u‖_q with ‖(u, part)‖_q ≤ total, and its derivatives by total
            and part.
        """

    def cone_factors(self, costs: np.ndarray) -> np.ndarray:
        """Return the f by which the cone multiplies weights with the given costs."""
        return 1.0 / costs

    def typical_value(self, deviations: np.ndarray) -> float:
        """Return the typical p-norm of normal variables with these deviations."""
        return self.dual.value(deviations)

    def project_epigraph(
        self, x, s: float, stiffness: float = 1.0
    ) -> tuple[np.ndarray, float]:
        """Return the point (w, λ) of {‖w‖_q ≤ λ} that is nearest to (x, s).

        Parameters
        ----------
        x, s : array of shape (d,), float
            The point to project.
        stiffness : float
            The distance is stiffness · ‖w − x‖² + (λ − s)²; the ordinary projection has
            stiffness 1.

        Returns
        -------
        w, λ : array of shape (d,), float
            The nearest point.
        """
        # A copy: numba would recompile kernels for read-only arrays
        x = np.array(x, dtype=np.float64, order="C")
        w = np.empty_like(x)
        return w, epigraph.project(self.code, x, float(s), float(stiffness), w)

    def __str__(self) -> str:
        return "inf" if math.isinf(self.p) else f"{self.p:g}"


class L1(Norm):
    """q = 1: sparse weights, shifts measured by their largest entry."""

    p = math.inf
    q = 1.0
    cone = cones.OneNormCone
    code = epigraph.ONE
    geometry = geometry.Diamond
    # A radius of the whole size of the gradient with random labels leaves few weights.
    share_of_chance = 0.25

    def value(self, w) -> float:
        return float(np.abs(w).sum())

    def worst_direction(self, w) -> np.ndarray:
        return np.sign(w)

    def project_ball(self, w, radius: float) -> np.ndarray:
        if self.value(w) <= radius:
            return w.copy()
        sizes = np.abs(w)
        threshold = epigraph.threshold(sizes, float(radius), 0.0)
        return np.sign(w) * np.maximum(sizes - threshold, 0.0)

    def project_scaled_ball(self, w, radius: float, costs) -> np.ndarray:
        sizes = np.abs(w)
        if float(costs @ sizes) <= radius:
            return w.copy()
        # u_j = (|w_j| − θ a_j)₊: the entries with the largest |w_j| / a_j remain.
        ratios = sizes / costs
        order = np.argsort(-ratios)
        thresholds = np.cumsum((costs * sizes)[order]) - radius
        thresholds /= np.cumsum(costs[order] ** 2)
        active = np.count_nonzero(ratios[order] > thresholds)
        kept = np.maximum(sizes - thresholds[max(active, 1) - 1] * costs, 0.0)
        return np.sign(w) * _shrunk(kept, self.value(costs * kept), radius)

    def remainder(self, total: float, part: float) -> tuple[float, float, float]:
        return max(total - part, 0.0), 1.0, -1.0

    def typical_value(self, deviations: np.ndarray) -> float:
        """Return the typical largest entry of normal variables.

        If all deviations are equal, this is its median.
        """
        # P(max |z_j| ≤ t) = (2 Φ(t) − 1)^d = 1/2
        return float(ndtri(0.5 + 0.5 ** (1 + 1 / len(deviations))) * deviations.max())


class L2(Norm):
    """q = 2: weights and shifts measured by the Euclidean norm."""

    p = 2.0
    q = 2.0
    cone = cones.SecondOrderCone
    code = epigraph.TWO
    geometry = geometry.Euclidean

    def value(self, w) -> float:
        return euclidean(w)

    def worst_direction(self, w) -> np.ndarray:
        length = euclidean(w)
        return w / length if length > 0 else np.zeros_like(w)

    def project_ball(self, w, radius: float) -> np.ndarray:
        return _shrunk(w, euclidean(w), radius)

    def project_scaled_ball(self, w, radius: float, costs) -> np.ndarray:
        scaled = costs * w
        length = euclidean(scaled)
        if length <= radius:
            return w.copy()
        if radius <= TINY * length:
            return np.zeros_like(w)
        # u_j = w_j / (1 + μ h_j), where h_j are the squared costs up to a factor, and μ
        # is where u lies on the ellipsoid.
        squares = (scaled / length) ** 2
        curvature = (costs / largest(costs)) ** 2
        multiplier = _ellipsoid_multiplier(squares, curvature, radius / length)
        near = w / (1.0 + multiplier * curvature)
        return _shrunk(near, euclidean(costs * near), radius)

    def remainder(self, total: float, part: float) -> tuple[float, float, float]:
        rest = math.sqrt(max(total - part, 0.0) * (total + part))
        return rest, total / max(rest, TINY), -part / max(rest, TINY)


class LInf(Norm):
    """q = ∞: bounded weights, shifts measured by the sum of their absolute values."""

    p = 1.0
    q = math.inf
    cone = cones.InfNormCone
    code = epigraph.INFINITY
    geometry = geometry.Box
    share_of_chance = 0.5

    def value(self, w) -> float:
        return largest(w)

    def worst_direction(self, w) -> np.ndarray:
        direction = np.zeros_like(w)
        steepest = int(np.argmax(np.abs(w)))
        direction[steepest] = np.sign(w[steepest])
        return direction

    def project_ball(self, w, radius: float) -> np.ndarray:
        return np.clip(w, -radius, radius)

    def project_scaled_ball(self, w, radius: float, costs) -> np.ndarray:
        return np.clip(w, -radius / costs, radius / costs)

    def remainder(self, total: float, part: float) -> tuple[float, float, float]:
        return total, 1.0, 0.0

    def typical_value(self, deviations: np.ndarray) -> float:
        """Return the expected sum of the sizes of normal variables."""
        return math.sqrt(2.0 / math.pi) * float(deviations.sum())


# A divisor that is smaller counts as this: its square root is still above the smallest
# numbers.
TINY = 1e-200


def _shrunk(u, size: float, radius: float) -> np.ndarray:
    """Return a copy of u, scaled into the ball if it is larger."""
    return u * min(1.0, radius / max(size, TINY))


def _ellipsoid_multiplier(squares, curvature, share: float) -> float:
    """Return μ ≥ 0 with Σ_j z_j² / (1 + μ h_j)² = share².

    Here, Σ z_j² = 1 and 0 < share < 1. The inverse root of the sum is a concave
    function of μ, so Newton's method approaches the solution from below.
    """
    # Far fewer than 100 steps are needed, and the last one changes no digit.
    mu = 0.0
    for _ in range(100):
        scaled = squares / (1.0 + mu * curvature) ** 2
        total = float(scaled.sum())
        slope = float((scaled * curvature / (1.0 + mu * curvature)).sum())
        step = 0.0
        if slope > 0:
            step = total / slope * (math.sqrt(total) / share - 1.0)
        mu += max(step, 0.0)
        if step <= 1e-15 * mu:
            break
    return mu


def largest(v) -> float:
    """Return the largest absolute value."""
    return float(np.abs(v).max(initial=0.0))


def euclidean(v) -> float:
    """Return the Euclidean norm, safe from overflow and underflow."""
    return float(dnrm2(v)) if len(v) else 0.0


_BY_P: dict[float, Norm] = {norm.p: norm for norm in (L1(), L2(), LInf())}


def norm_for(norm) -> Norm:
    """Return the object for a shift norm p given as 1, 2, inf or "inf"."""
    if isinstance(norm, Norm):
        return norm
    try:
        return _BY_P[float(norm)]
    except (TypeError, ValueError, KeyError, OverflowError):
        raise ValueError(
            f"norm must be 1, 2 or inf (it measures feature shifts), got norm={norm!r}."
        ) from None
