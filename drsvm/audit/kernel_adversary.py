"""What shifts of the rows cannot do to a classifier with the kernel "rbf".

A decision value is f(x) + b with a function f of the feature space H. As ‖φ(x) − φ(x′)‖
≤ L ‖x − x′‖₂, a shift changes it by at most L ‖f‖_H per unit. In the formulas of the
worst case, this takes the place of the norm of the weights. They then give an upper
bound, since most points of H are not φ of any x; the slope of f at each row makes it
sharper (the formulas are with `drsvm.problem.Rbf`). A model with a linear kernel has
weights, and its worst case is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from drsvm.audit.adversary import Adversary
from drsvm.problem.kernel_classifier import KernelClassifier
from drsvm.problem.kernel_functions import Rbf
from drsvm.problem.kernel_rows import BLOCK, KernelRows
from drsvm.problem.memory_rows import dense
from drsvm.utils.lazy import cached_property
from drsvm.utils.parallel import slices

# Radius prices for which the hinge loss is bounded, in units of the highest rate at
# which it can grow
RADIUS_PRICES = np.append(0.0, np.geomspace(1e-3, 1.0, 50))
# Shifts between which losses are bounded, in units of 1/L
SHIFT_GRID = np.append(0.0, np.geomspace(1e-4, 8.0, 250))


class _Leads(NamedTuple):
    """By how much the labels of rows lead a class, f(x) + b, and how that changes.

    Arrays of shape (number of places,).
    """

    # The rows, as places among those that were asked for
    places: np.ndarray
    # f(x), ‖∇f(x)‖, ‖f‖ and b
    values: np.ndarray
    slopes: np.ndarray
    norms: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True, eq=False)
class KernelAdversary(Adversary):
    """A bound on the worst case: the adversary may move φ(x) anywhere within reach."""

    def __post_init__(self):
        norm = self.problem.norm.p
        if norm != 2:
            raise ValueError(
                f"norm must be 2 for a classifier with a kernel, got norm={norm}."
            )
        if self.problem.has_intercept_cost:
            raise ValueError(
                "intercept_cost must be inf for a classifier with a kernel, got "
                f"intercept_cost={self.problem.intercept_cost}: no shift moves the "
                "intercept."
            )

    @property
    def kernel(self) -> KernelClassifier:
        """The decision functions of the classifier."""
        assert self.data.kernel is not None
        return self.data.kernel

    @property
    def function(self) -> Rbf:
        """The kernel."""
        assert isinstance(self.kernel.function, Rbf)
        return self.kernel.function

    @cached_property
    def ratios(self) -> np.ndarray:
        """How far each scaled feature moves at a cost of 1, an array of shape (d,)."""
        scales = self.kernel.scales
        if scales is None:
            scales = np.ones(self.data.X.shape[1])
        if self.problem.feature_cost is None:
            return scales
        return scales / self.problem.feature_cost

    @cached_property
    def stretch(self) -> float:
        """How far a row of scaled features moves at most at a cost of 1."""
        return float(self.ratios.max())

    @cached_property
    def _landmark_rows(self) -> KernelRows:
        """The landmarks, for norms of functions in their span."""
        return KernelRows(self.kernel.landmarks, self.function)

    def rate_of(self, w: np.ndarray, b: float) -> float:
        # The weights are coefficients of the landmarks, and no shift moves b.
        norm = float(self._landmark_rows.coordinates(w)[0])
        return self.function.lipschitz * self.stretch * norm

    @cached_property
    def distances(self) -> np.ndarray:
        """What it costs at least to shift each row to the boundary of another class."""
        if self.stretch == 0.0:
            return np.where(self.data.margins > 0, np.inf, 0.0)
        # The distances that the rates give are distances in H divided by L. The kernel
        # knows the least shift that moves φ(x) so far.
        in_feature_space = self.function.lipschitz * self.stretch * super().distances
        shifts = self.function.least_shifts(in_feature_space)
        # The slope of f at each row gives longer shifts.
        unsure = (shifts > 0.0) & np.isfinite(shifts) & (self.data.weights > 0.0)
        unsure = np.flatnonzero(unsure)
        for part in slices(len(unsure), BLOCK):
            rows = unsure[part]
            # The shortest shift to the boundary of any other class
            shortest = np.full(len(rows), np.inf)
            for lead in self._leads(rows, self.data.codes[rows]):
                to_boundary = self.function.shifts_to_boundary(
                    lead.values,
                    lead.slopes,
                    lead.norms,
                    lead.offsets,
                    start=shifts[rows[lead.places]],
                )
                places = lead.places
                shortest[places] = np.minimum(shortest[places], to_boundary)
            shifts[rows] = shortest
        return shifts / self.stretch

    def _leads(self, rows: np.ndarray, codes: np.ndarray) -> Iterator[_Leads]:
        """Yield the leads over each class of those rows whose lead varies."""
        data = self.data
        kernel = self.kernel
        points = dense(kernel.scaled(data.X[rows]))
        values = self.function.values(points, kernel.landmarks)
        norms = self.rates / (self.function.lipschitz * self.stretch)
        for label in range(len(data.coef)):
            some = np.flatnonzero(norms[codes, label] > 0.0)
            own = codes[some]
            terms = values[some] * (data.coef[own] - data.coef[label])
            gradients = self.function.gradients(points[some], kernel.landmarks, terms)
            slopes = np.linalg.norm(gradients, axis=1)
            offsets = data.intercept[own] - data.intercept[label]
            values_of_lead = terms.sum(axis=1)
            yield _Leads(some, values_of_lead, slopes, norms[own, label], offsets)

    def hinge_risks(self, radii: np.ndarray) -> np.ndarray:
        """Return bounds on the largest expected loss.

        For any radius price λ, ε λ + Σ π_i max(loss − λ cost) is one, where the largest
        is taken over all moves of a row.
        """
        risks = super().hinge_risks(radii)
        if self.rate == 0.0:
            return risks
        radius_prices = self.rate * RADIUS_PRICES
        # Σ π_i max(loss − λ cost) for every λ
        net = np.zeros(len(radius_prices))
        used = np.flatnonzero(self.data.weights)
        for part in slices(len(used), BLOCK):
            rows = used[part]
            net += self.data.weights[rows] @ self._net_losses(rows, radius_prices)
        bounds = np.multiply.outer(radii, radius_prices) + net
        return np.minimum(risks, bounds.min(axis=-1))

    def _net_losses(self, rows: np.ndarray, radius_prices: np.ndarray) -> np.ndarray:
        """Return bounds on the loss of rows after moves, less λ times their cost.

        An array of shape (number of rows, number of radius prices).
        """
        own = self.data.codes[rows]
        n_classes = len(self.data.coef)
        unmoved = np.maximum(1.0 - self.data.margins[rows], 0.0)
        # The cost of the shortest shift of each interval of the grid
        lengths = SHIFT_GRID / self.function.lipschitz / self.stretch
        shift_costs = np.maximum(lengths - self.row_radii[rows, None], 0.0)
        net = np.repeat(unmoved[:, None], len(radius_prices), axis=1)
        # By how many places among the classes a flip moves the label; 0: no flip
        for turned in range(n_classes):
            flip_costs = np.zeros(len(rows))
            if turned > 0:
                flip_costs = self.problem.flip_costs[rows]
            some = np.flatnonzero(np.isfinite(flip_costs))
            codes = (own[some] + turned) % n_classes
            losses = self._largest_losses(rows[some], codes)
            for k, radius_price in enumerate(radius_prices):
                gains = (losses - radius_price * shift_costs[some]).max(axis=1)
                moved = gains - radius_price * flip_costs[some]
                net[some, k] = np.maximum(net[some, k], moved)
        return net

    def _largest_losses(self, rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return bounds on the losses of rows with given labels after shifts.

        A column is for the shifts between a length of the grid and the next.
        """
        shifts = SHIFT_GRID / self.function.lipschitz
        losses = np.zeros((len(rows), len(shifts)))
        for lead in self._leads(rows, codes):
            lowest = self.function.lowest_after_shifts(
                lead.values, lead.slopes, lead.norms, lead.offsets, shifts
            )
            places = lead.places
            losses[places] = np.maximum(losses[places], 1.0 - lowest)
        return losses
