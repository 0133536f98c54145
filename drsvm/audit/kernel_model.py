"""Classifiers with a kernel on the rows of an audit, and what shifts of the rows cannot do to them.

A decision value is f(x) + b with a function f of the feature space H. As ‖φ(x) − φ(x′)‖
≤ L ‖x − x′‖₂, a shift changes it by at most L ‖f‖_H per unit. In the formulas of the
worst case, this takes the place of the norm of the weights. They then give an upper
bound, since most points of H are not φ of any x; the slope of f at each row makes it
sharper. A model with a linear kernel has weights, and its worst case is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from drsvm.audit import linear_model
from drsvm.audit.adversary import Adversary, DecisionValues
from drsvm.problem.kernel_classifier import KernelClassifier
from drsvm.problem.kernel_functions import Rbf, dense
from drsvm.problem.kernel_rows import BLOCK, KernelRows
from drsvm.problem.validation import check_rows
from drsvm.utils.annotations import Labels, Matrix
from drsvm.utils.parallel import slices

# Prices of the radius for which the hinge loss is bounded, in units of the highest rate
# at which it can grow.
PRICE_GRID = np.append(0.0, np.geomspace(1e-3, 1.0, 50))
# Shifts between which losses are bounded, in units of 1/L
SHIFT_GRID = np.append(0.0, np.geomspace(1e-4, 8.0, 250))


def kernel_classifier(model) -> KernelClassifier | None:
    """Return the decision functions of a classifier with a kernel.

    None if it is of another kind, or has weights.
    """
    if (
        hasattr(model, "coef_")
        or not hasattr(model, "dual_coef_")
        or len(getattr(model, "classes_", ())) < 2
    ):
        return None
    if hasattr(model, "_kernel_classifier"):  # WassersteinKernelSVC
        classifier = model._kernel_classifier()
    elif (
        hasattr(model, "support_vectors_") and len(model.classes_) == 2
    ):  # SVC; with more classes, pairs vote
        if model.kernel == "rbf":
            function = Rbf(float(model._gamma))
        else:
            function = None
        coef = dense(model.dual_coef_)
        classifier = KernelClassifier(
            function,
            model.support_vectors_,
            coef,
            model.intercept_,
            model.classes_,
            None,
        )
    else:
        return None
    if not isinstance(classifier.function, Rbf):
        raise ValueError(
            f"Nothing is claimed about the worst case of this {type(model).__name__}: with kernel={model.kernel!r}, no "
            "multiple of a shift of the features is known to bound the shift in the feature space. Use kernel='rbf' or "
            "kernel='linear'."
        )
    return classifier


@dataclass(frozen=True, eq=False)
class KernelValues(DecisionValues):
    """Decision values of a classifier with a kernel.

    Its `coef` are coefficients of the landmarks.
    """

    kernel: KernelClassifier

    def at(self, X):
        return self.kernel.at(X).T


def kernel_values(
    model, kernel: KernelClassifier, X: Matrix, y: Labels, sample_weight, positive
) -> KernelValues:
    """Check that a model and data match.

    Compute the values of all classes, or of one of several against the rest.
    """
    last, X, names = linear_model.last_step(model, X)
    X = check_rows(X)
    d = kernel.landmarks.shape[1]
    if X.shape[1] != d:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model was fitted with {d}."
        )
    if len(kernel.coef) > 1 and positive is not None:
        row = linear_model.index_of(positive, kernel.classes)
        kernel = kernel._replace(
            coef=kernel.coef[[row]], intercept=kernel.intercept[[row]]
        )
    trained_parameters = linear_model.trained_parameters(last)
    functions = linear_model.Functions(
        kernel.coef, kernel.intercept, kernel.classes, trained_parameters, names
    )
    data = linear_model.compared(
        functions, X, y, kernel.at(X).T, sample_weight, positive
    )
    return KernelValues(
        **vars(data), kernel=kernel._replace(coef=data.coef, intercept=data.intercept)
    )


@dataclass(frozen=True, eq=False)
class KernelAdversary(Adversary):
    """A bound on what an adversary can do to a classifier with a kernel, who may move φ(x) anywhere within reach."""

    data: KernelValues

    def __post_init__(self):
        if self.problem.norm.p != 2:
            raise ValueError(
                f"norm must be 2 for a classifier with a kernel, got norm={self.problem.norm.p}."
            )
        if self.problem.prices_intercept:
            raise ValueError(
                f"intercept_cost must be inf for a classifier with a kernel, got "
                f"intercept_cost={self.problem.intercept_cost}: no shift moves the intercept."
            )

    @cached_property
    def ratios(self) -> np.ndarray:
        """By how much each scaled feature changes if its unscaled one moves at a cost of 1."""
        scales = self.data.kernel.scales
        if scales is None:
            scales = np.ones(self.data.X.shape[1])
        else:
            scales = scales
        if self.problem.feature_cost is None:
            return scales
        return scales / self.problem.feature_cost

    @cached_property
    def stretch(self) -> float:
        """The most that scaled features change in all at a cost of 1."""
        return float(self.ratios.max())

    @cached_property
    def _landmark_rows(self) -> KernelRows:
        return KernelRows(self.data.kernel.landmarks, self.data.kernel.function)

    def rate_of(self, w, b):
        return (
            self.data.kernel.function.lipschitz
            * self.stretch
            * float(self._landmark_rows.coordinates(w)[0])
        )

    @cached_property
    def distances(self):
        function = self.data.kernel.function
        if self.stretch == 0.0:
            return np.where(self.data.margins > 0, np.inf, 0.0)
        # Leads over rates are distances in H divided by L; the kernel knows the shift
        # that each of them takes.
        shifts = function.least_shifts(
            function.lipschitz * self.stretch * super().distances
        )
        unsure = np.flatnonzero((shifts > 0.0) & np.isfinite(shifts))
        for part in slices(len(unsure), BLOCK):
            rows = unsure[part]
            # Shifts of scaled features across any boundary
            shortest = np.full(len(rows), np.inf)
            for some, lead in self._leads(rows, self.data.codes[rows]):
                to_boundary = function.shifts_to_boundary(*lead, shifts[rows[some]])
                shortest[some] = np.minimum(shortest[some], to_boundary)
            shifts[rows] = shortest
        return shifts / self.stretch

    def _leads(
        self, rows, codes
    ) -> Iterator[tuple[np.ndarray, tuple[np.ndarray, ...]]]:
        """Yield, for every class, the rows with other labels, and f(x), ‖∇f(x)‖, ‖f‖ and b of their lead f + b."""
        kernel = self.data.kernel
        points = dense(kernel.scaled(self.data.X[rows]))
        values = kernel.function.values(points, kernel.landmarks)
        norms = self.rates / (kernel.function.lipschitz * self.stretch)
        for label in range(len(kernel.coef)):
            some = np.flatnonzero(norms[codes, label] > 0.0)
            terms = values[some] * (kernel.coef[codes[some]] - kernel.coef[label])
            slopes = np.linalg.norm(
                kernel.function.gradients(points[some], kernel.landmarks, terms), axis=1
            )
            offsets = kernel.intercept[codes[some]] - kernel.intercept[label]
            yield some, (terms.sum(axis=1), slopes, norms[codes[some], label], offsets)

    def hinge_risks(self, radii):
        """Return bounds on the largest expected loss: for any price λ of the radius, ε λ + Σ π_i max(loss − λ cost)."""
        risks = super().hinge_risks(radii)
        if self.rate == 0.0:
            return risks
        prices = self.rate * PRICE_GRID
        used = np.flatnonzero(self.data.weights)
        net = np.zeros(len(prices))
        for part in slices(len(used), BLOCK):
            net += self.data.weights[used[part]] @ self._net_losses(used[part], prices)
        return np.minimum(risks, (np.multiply.outer(radii, prices) + net).min(axis=-1))

    def _net_losses(self, rows, prices) -> np.ndarray:
        """Return the most that the loss of some rows can be after moves, less their costs at each of the prices."""
        own = self.data.codes[rows]
        costs = self.problem.flip_costs[rows]
        function = self.data.kernel.function
        shifts = SHIFT_GRID / function.lipschitz
        lengths = shifts / self.stretch
        net = np.repeat(
            np.maximum(1.0 - self.data.margins[rows], 0.0)[:, None], len(prices), axis=1
        )
        for turned in range(
            len(self.data.coef)
        ):  # by how many places among the classes a flip moves the label
            price = np.where(turned > 0, costs, 0.0)
            some = np.flatnonzero(np.isfinite(price))
            codes = (own[some] + turned) % len(self.data.coef)
            # The largest between each shift and the next
            losses = np.zeros((len(some), len(shifts)))
            for led, lead in self._leads(rows[some], codes):
                losses[led] = np.maximum(
                    losses[led], 1.0 - function.lowest_after_shifts(*lead, shifts)
                )
            for k, unit in enumerate(prices):
                moved = (losses - unit * lengths).max(axis=1) - unit * price[some]
                net[some, k] = np.maximum(net[some, k], moved)
        return net
