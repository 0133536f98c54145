"""The data of a fit with a kernel: in memory or on a card, or on a cluster with the functions of given landmarks.

In an orthonormal basis of the span of m landmarks, a function is a vector of m weights with the same norm, and a row
becomes the values of the basis there. So workers map their rows to m features, once, and what is left is the problem of
a linear classifier. Width, radius, ridge and the price of the intercept are chosen with a sample of the rows, in this
process's memory. For radius and ridge each of them counts for many; the evidence for a width is that of so few rows.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.annotations import Costs, Matrix
from drsvm.learn.choosing.radius_rule import ROWS_OF_KERNEL
from drsvm.learn.fitting import one_vs_rest, prices
from drsvm.learn.fitting.data import FitData, RemoteFit
from drsvm.learn.kernel.function import Kernel
from drsvm.model.backends import ForCard
from drsvm.model.kernel_functions import KernelFunction
from drsvm.model.kernel_rows import FunctionRows, KernelRows, in_feature_space
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.model.validation import check_flip_costs, check_rows
from drsvm.model.worst_case.kernel_model import KernelClassifier
from drsvm.solvers.landmarks.span import Span

KernelOf = Callable[[], Kernel]
"""The kernel of an estimator that has seen X."""


def kernel_problems(
    points, function: KernelFunction, y, classes, weights, *, intercept_cost: float | str, **parameters
) -> list[Problem]:
    """Return one problem per class, or one for two classes."""
    first = in_feature_space(points, function, y == one_vs_rest.positive_labels(classes)[0], weights, **parameters)
    return one_vs_rest.for_every_class(prices.with_intercept_cost(first, intercept_cost), y, classes, weights)


class KernelFit(FitData):
    """Rows in this process's memory; the points that the kernel takes may be on a card."""

    stand_for: float = 1.0  # rows, each of these
    basis: "Basis | None" = None  # of the span of landmarks, if the problems are in one

    def __init__(self, estimator, X, y, sample_weight, class_weight, kernel_of: KernelOf, *, on_card: bool = False):
        super().__init__(estimator, X, y, sample_weight, class_weight)
        self.kernel = kernel = kernel_of()
        self.gamma = kernel.coefficient(self.X, self.sample_weight)
        self.function, points = kernel.function(self.gamma, self.X), kernel.points(self.X)
        self.points = ForCard(points) if on_card else points

    def widen(self, gamma: float) -> None:
        """Take another coefficient."""
        self.gamma, self.function = gamma, self.kernel.function(gamma, self.X)

    def join_copies(self, flip_cost) -> None:
        """Let the first of equal rows with the same label and flip cost count for all of them, as if by its weight."""
        n, given = len(self.y), np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        costs = np.broadcast_to(np.inf if flip_cost is None else check_flip_costs(flip_cost, n), n)
        keys = MemoryRows(self.X).dot(np.random.default_rng(0).normal(size=self.X.shape[1]))
        keys = keys.astype(np.float32)  # those of equal rows may differ in the last digit
        _, member, counts = np.unique(keys, return_inverse=True, return_counts=True)
        some, joined, places = np.flatnonzero((counts[member] > 1) & (given > 0.0)), given.copy(), dict[Any, int]()
        rows = sparse.csr_array(self.X[some])
        contents = (rows.data[a:b].tobytes() + rows.indices[a:b].tobytes() for a, b in pairwise(rows.indptr))
        labelled = enumerate(zip(contents, self.y[some].tolist(), costs[some].tolist(), strict=True))
        first = [places.setdefault(row, place) for place, row in labelled]
        joined[some] = np.bincount(first, given[some], len(some)) if first else 0.0
        if not np.array_equal(joined, given):
            self.sample_weight = joined
            self._weigh(self._factors_for(self.class_weight))

    def counts(self, index):
        return None if self.sample_weight is None else self.stand_for * self.sample_weight

    def problems(self, parameters):
        return kernel_problems(self.points, self.function, self.y, self.classes, self.weights, **parameters)

    def problems_at_width(self, gamma: float, rows: np.ndarray, parameters: dict[str, Any]) -> list[Problem]:
        """Return the problems of some rows, with another coefficient."""
        costs = parameters["flip_cost"]
        parameters = parameters | {"flip_cost": costs[rows] if np.ndim(costs) else costs}
        points, weights = self.kernel.priced(self.X[rows]), None if self.weights is None else self.weights[rows]
        return kernel_problems(points, self.kernel.function(gamma), self.y[rows], self.classes, weights, **parameters)

    def linear_problems(self, parameters: dict[str, Any]) -> list[Problem]:
        """Return the problems of the rows themselves."""
        return super().problems(parameters)

    def sample(self, problems: list[Problem], flip_cost: Costs | None, size: int) -> "tuple[KernelFit, Costs | None]":
        """Return the data by which rules choose, and the flip costs of the rows if they are given."""
        return self, flip_cost


class ClusterKernelFit(RemoteFit):
    """Rows on a cluster."""

    basis: "Basis | None" = None

    def __init__(self, estimator, X, y, sample_weight, class_weight, kernel_of: KernelOf):
        super().__init__(estimator, X, y, sample_weight, class_weight)
        self.estimator, self.kernel_of, self.kernel = estimator, kernel_of, kernel_of()

    def linear_problems(self, parameters: dict[str, Any]) -> list[Problem]:
        """Return the problems of the rows themselves."""
        problems, self.first = super().problems(parameters), None  # which would keep the rows on the workers
        return problems

    def sample(self, problems: list[Problem], flip_cost: Costs | None, size: int) -> tuple[KernelFit, Costs | None]:
        """Return at least `size` rows, or all, which stand for all of them."""
        few, labels, counts = self.drawn(problems, max(ROWS_OF_KERNEL, size))
        stand_for = problems[0].n_rows / few.n_rows
        labels = self.classes[labels]
        data = KernelFit(self.estimator, few.X, labels, counts / stand_for, self.class_weight, self.kernel_of)
        data.stand_for = stand_for
        self.name_features(self.estimator)  # an array of numpy has no names
        return data, None if flip_cost is None else few.flip_costs


class Basis(NamedTuple):
    """Landmarks z_j, and the functions Σ_j c_jl φ(z_j) of an orthonormal basis of their span, one for every l.

    The functions are 0 at the centre of the rows, if these have one.
    """

    landmarks: Matrix
    coefficients: np.ndarray
    functions: KernelClassifier

    @classmethod
    def of(cls, given, most: int, points, rows: FunctionRows, prices) -> "Basis":
        """Choose at most so many of the given landmarks, farthest from the span of the others; `rows` have a centre."""
        span = Span(KernelRows(points, rows.function))
        span.add_landmarks(np.arange(points.shape[0]), most)
        chosen, coefficients = span.landmarks, span.coefficients(np.eye(span.size))[span.landmarks]
        centre, classes = np.zeros(1) if rows.centre is None else np.asarray(rows.centre), np.zeros(0)
        central = np.flatnonzero(centre)
        means = centre[central] @ KernelRows(points[chosen], rows.function).at(rows.points[central], coefficients)
        functions = KernelClassifier(rows.function, points[chosen], coefficients.T, -means, classes, prices)
        return cls(given[chosen], coefficients, functions)

    def mapped(self, problem: Problem) -> Problem:
        """Return the problem of linear classifiers of the values of the functions at the rows."""
        return problem.with_rows(problem.rows.mapped(problem, self.functions.at))


def checked_landmarks(landmarks, n_features: int) -> Matrix:
    """Return given landmarks as rows."""
    try:
        rows = check_rows(landmarks)
    except ValueError as error:
        raise ValueError(f"landmarks must be rows like those of X: {error}") from None
    if rows.shape[1] != n_features:
        raise ValueError(f"landmarks must have the {n_features} features of X, got shape {rows.shape}.")
    return rows
