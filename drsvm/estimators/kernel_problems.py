"""The kernel, the data and the problems of a fit, in the feature space or, with landmarks, in their span.

Wide functions suit tables whose classes are nearly separated by a plane, which is most
tables, and tolerate wrong labels best there. Where classes meet in curves, they miss
what narrower ones find. The rule therefore takes the widest, unless rows that a
classifier has not seen are ranked better with narrower ones, by more than chance
explains.

In an orthonormal basis of the span of m landmarks, a function is a vector of m weights
with the same norm, and a row becomes the values of the basis there. So workers map
their rows to m features, once, which leaves the problem of a linear classifier. Width,
radius, ridge and the price of the intercept are chosen with a sample of the rows, in
this process's memory. For radius and ridge each of them counts for many; the evidence
for a width is that of so few rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.defaults import one_vs_rest, prices
from drsvm.defaults.binary_problems import BinaryProblems, Regularisation, Solved
from drsvm.defaults.radius_rule import MAX_ROWS, MIN_ROWS
from drsvm.defaults.select_by_folds import (
    SHARES,
    EvaluationRows,
    best_if_significant,
    in_folds,
    shares_of_ball,
)
from drsvm.estimators.fit_data import FitData, RemoteFit
from drsvm.estimators.regularisation import ball_by_rule, pilot_time
from drsvm.problem import kernel_functions as functions
from drsvm.problem.backends import ForGpu, to_numpy
from drsvm.problem.feature_space import in_feature_space
from drsvm.problem.kernel_classifier import KernelClassifier
from drsvm.problem.kernel_functions import KernelFunction, squared_norms
from drsvm.problem.kernel_rows import FunctionRows, KernelRows
from drsvm.problem.memory_rows import MemoryRows, scaled_columns
from drsvm.problem.problem import Problem
from drsvm.problem.result import Status
from drsvm.problem.sampling import content_groups
from drsvm.problem.validation import check_flip_costs, check_number, check_rows
from drsvm.solvers.base import check_count, generator_of
from drsvm.solvers.landmarks.landmark_solver import Landmarks
from drsvm.solvers.landmarks.span import WIDER, Span
from drsvm.utils.annotations import Costs, Matrix
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import stage

if TYPE_CHECKING:
    from drsvm.estimators.kernel import WassersteinKernelSVC

# Γ times the mean squared distance from the centre; fixed on the data sets on which the
# study decides
WIDTH = 0.3
FACTORS = (3.3, 10.0)  # of the smallest γ; fixed on the same data sets
MAX_JUDGED = 1000  # rows: all pairs of them are needed at every width
# The kernels whose γ is a width, for which narrower functions are tried
WITH_WIDTH = (
    "rbf",
    "laplacian",
)

Posed = tuple[BinaryProblems, Regularisation]
# What γ is multiplied by, and the radius and the ridge
Candidate = tuple[float, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parameters of a kernel, and the prices of the features that it takes."""

    name: str | Callable[[Matrix, Matrix], np.ndarray]
    gamma: float | str
    degree: int
    coef0: float
    costs: np.ndarray | None

    @property
    def is_table(self) -> bool:
        """Whether X has the values of the kernel."""
        return self.name == "precomputed"

    def function(self, gamma: float, table: Matrix | None = None) -> KernelFunction:
        """Return the function with a coefficient γ; `table` has precomputed values."""
        if callable(self.name):
            return functions.Given(self.name)
        degree = check_count(self.degree, "degree")
        coef0 = check_number(self.coef0, "coef0")
        known: dict[str, Callable[[], KernelFunction]] = {
            "rbf": lambda: functions.Rbf(gamma),
            "laplacian": lambda: functions.Laplacian(gamma),
            "poly": lambda: functions.Polynomial(gamma, degree, coef0),
            "linear": functions.Linear,
            "precomputed": lambda: functions.Precomputed(table),
        }
        if not isinstance(self.name, str) or self.name not in known:
            names = ", ".join(repr(name) for name in known)
            raise ValueError(
                f"kernel must be one of {names} or a function of two matrices, got kernel={self.name!r}."
                + (" It is not positive definite." if self.name == "sigmoid" else "")
            )
        return known[self.name]()

    def priced(self, X: Matrix) -> Matrix:
        """Return the columns times the prices of their shifts, as floats of 64 bits."""
        X = X.astype(np.float64, copy=False)
        if self.costs is None or self.is_table:
            return X
        if np.isinf(self.costs).any():
            raise ValueError(
                "feature_cost=inf is not possible with a kernel: use WassersteinSVC, or a large number."
            )
        return scaled_columns(X, self.costs)

    def points(self, X: Matrix) -> Matrix:
        """Return the points that the function takes: priced rows, or their numbers in a table."""
        if not self.is_table:
            return self.priced(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel needs a square matrix, got X of shape {X.shape}."
            )
        return np.arange(len(X))[:, None]

    def coefficient(self, X: Matrix, sample_weight: np.ndarray | None) -> float:
        """Return γ by the parameter `gamma`."""
        if not isinstance(self.gamma, str):
            if not check_number(self.gamma, "gamma") > 0.0:
                raise ValueError(f"gamma must be above 0, got gamma={self.gamma!r}.")
            return float(self.gamma)
        if self.gamma not in ("rule", "scale", "auto"):
            raise ValueError(
                f"gamma must be a number, 'rule', 'scale' or 'auto', got gamma={self.gamma!r}."
            )
        if self.is_table or self.gamma == "auto":
            return 1.0 / X.shape[1]
        X = self.priced(X)
        if self.gamma == "rule" and sample_weight is not None:
            weights = sample_weight
        else:
            weights = np.ones(X.shape[0])
        shares = weights / weights.sum()
        means = np.asarray(shares @ X).ravel()
        squares = float(shares @ squared_norms(X))
        if self.gamma == "rule":
            distance = float(squares - means @ means)
            return WIDTH / distance if distance > 0 else 1.0
        variance = float(squares / X.shape[1] - means.mean() ** 2)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


class KernelFit(FitData):
    """Rows in this process's memory.

    The points that the kernel takes may be on a GPU.
    """

    stand_for: float = 1.0  # rows, each of these
    basis: "Basis | None" = None  # of the span of landmarks, if the problems are in one

    def __init__(
        self,
        model: "WassersteinKernelSVC",
        X,
        y,
        sample_weight,
        *,
        on_card=False,
        kernel=None,
    ):
        super().__init__(model, X, y, sample_weight, model.class_weight)
        self.kernel = kernel = kernel or model._kernel()
        self.gamma = self.widest = kernel.coefficient(self.X, self.sample_weight)
        self.function, points = (
            kernel.function(self.gamma, self.X),
            kernel.points(self.X),
        )
        self.points = ForGpu(points) if on_card else points

    def join_copies(self, flip_cost) -> None:
        """Let the first of equal rows with the same label and flip cost count for all of them, as if by its weight."""
        n = len(self.y)
        if self.sample_weight is None:
            given = np.ones(len(self.y))
        else:
            given = self.sample_weight
        costs = np.broadcast_to(
            np.inf if flip_cost is None else check_flip_costs(flip_cost, n), n
        )
        keys = MemoryRows(self.X).dot(
            np.random.default_rng(0).normal(size=self.X.shape[1])
        )
        # Those of equal rows may differ in the last digit
        keys = keys.astype(np.float32)
        _, member, counts = np.unique(keys, return_inverse=True, return_counts=True)
        some = np.flatnonzero((counts[member] > 1) & (given > 0.0))
        joined = given.copy()
        places = dict[Any, int]()
        rows = sparse.csr_array(self.X[some])
        contents = (
            rows.data[a:b].tobytes() + rows.indices[a:b].tobytes()
            for a, b in pairwise(rows.indptr)
        )
        labelled = enumerate(
            zip(contents, self.y[some].tolist(), costs[some].tolist(), strict=True)
        )
        first = [places.setdefault(row, place) for place, row in labelled]
        if first:
            joined[some] = np.bincount(first, given[some], len(some))
        else:
            joined[some] = 0.0
        if not np.array_equal(joined, given):
            self.sample_weight = joined
            self._weigh(self._factors_for(self.class_weight))

    def counts(self, index):
        if self.sample_weight is None:
            return None
        return self.stand_for * self.sample_weight

    def problems(self, parameters):
        return self._posed(
            self.points, self.function, self.y, self.weights, **parameters
        )

    def problems_at_width(
        self, gamma: float, rows: np.ndarray, parameters: dict[str, Any]
    ) -> list[Problem]:
        """Return the problems of some rows, with another coefficient."""
        costs = parameters["flip_cost"]
        parameters = parameters | {
            "flip_cost": costs[rows] if np.ndim(costs) else costs
        }
        if self.kernel.is_table:
            points = rows[:, None]
        else:
            points = self.kernel.priced(self.X[rows])
        weights = None if self.weights is None else self.weights[rows]
        return self._posed(
            points,
            self.kernel.function(gamma, self.X),
            self.y[rows],
            weights,
            **parameters,
        )

    def _posed(
        self, points, function, y, weights, *, intercept_cost: float | str, **parameters
    ) -> list[Problem]:
        positive = y == one_vs_rest.positive_labels(self.classes)[0]
        first = in_feature_space(points, function, positive, weights, **parameters)
        first = prices.with_intercept_cost(first, intercept_cost)
        return one_vs_rest.for_every_class(first, y, self.classes, weights)

    def linear_problems(self, parameters: dict[str, Any]) -> list[Problem]:
        """Return the problems of the rows themselves."""
        return super().problems(parameters)

    def sample(
        self, problems: list[Problem], flip_cost: Costs | None, size: int
    ) -> "tuple[KernelFit, Costs | None]":
        """Return the data by which rules choose, and the flip costs of the rows if they are given."""
        return self, flip_cost


class ClusterKernelFit(RemoteFit):
    """Rows on a cluster."""

    basis: "Basis | None" = None

    def __init__(self, estimator: "WassersteinKernelSVC", X, y, sample_weight):
        super().__init__(estimator, X, y, sample_weight, estimator.class_weight)
        self.estimator = estimator
        self.kernel = estimator._kernel()

    def linear_problems(self, parameters: dict[str, Any]) -> list[Problem]:
        # which would keep the rows on the workers
        problems = super().problems(parameters)
        self.first = None
        return problems

    def sample(
        self, problems: list[Problem], flip_cost: Costs | None, size: int
    ) -> tuple[KernelFit, Costs | None]:
        """Return at least `size` rows, or all, which stand for all of them."""
        few, labels, counts = self.drawn(problems, max(2 * MAX_ROWS, size))
        stand_for = problems[0].n_rows / few.n_rows
        data = KernelFit(
            self.estimator,
            few.X,
            self.classes[labels],
            counts / stand_for,
            kernel=self.kernel,
        )
        data.stand_for = stand_for
        self.name_features(self.estimator)  # an array of numpy has no names
        return data, None if flip_cost is None else few.flip_costs


class Basis(NamedTuple):
    """Landmarks z_j, and the functions Σ_j c_jl φ(z_j) of an orthonormal basis of their span, one for every l."""

    landmarks: Matrix
    coefficients: np.ndarray
    functions: KernelClassifier  # 0 at the centre of the rows, if these have one

    @classmethod
    def of(cls, given, most: int, points, rows: FunctionRows, prices) -> "Basis":
        """Choose at most `most` of the given landmarks, farthest from the span of the others; `rows` have a centre."""
        span = Span(KernelRows(points, rows.function))
        span.add_landmarks(np.arange(points.shape[0]), most)
        chosen = span.landmarks
        coefficients = span.coefficients(np.eye(span.size))[span.landmarks]
        if rows.centre is None:
            centre = np.zeros(1)
        else:
            centre = np.asarray(rows.centre)
        classes = np.zeros(0)
        central = np.flatnonzero(centre)
        means = centre[central] @ KernelRows(points[chosen], rows.function).at(
            rows.points[central], coefficients
        )
        functions = KernelClassifier(
            rows.function, points[chosen], coefficients.T, -means, classes, prices
        )
        return cls(given[chosen], coefficients, functions)


def posed_with_ball(
    model: "WassersteinKernelSVC",
    data: KernelFit | ClusterKernelFit,
    flip_cost,
    time: TimeLimit,
) -> Posed:
    """Return the problems in the feature space of the kernel, or in the span of landmarks, and their ball."""
    if isinstance(data, KernelFit):
        if model.cv is None or np.isscalar(model.cv):  # given folds may part copies
            data.join_copies(flip_cost)
        if model.landmarks is None:
            return _posed_in_feature_space(model, data, flip_cost, time)
    return _posed_in_span(model, data, flip_cost, time)


def some_rows(X, y, weights, most: int = MAX_JUDGED) -> np.ndarray:
    """Return the indices of the rows to judge: at most `most`, chosen by their contents, of every class its share."""
    if weights is None:
        counted = np.arange(len(y))
    else:
        counted = np.flatnonzero(weights)
    if len(counted) <= most:
        return counted
    order = counted[
        np.argsort(
            content_groups(Problem(X[counted], y[counted] == np.unique(y)[0])),
            kind="stable",
        )
    ]
    by_class = (order[y[order] == label] for label in np.unique(y))
    places = np.arange(0.0, len(counted), len(counted) / most).astype(int)
    return np.sort(
        np.concatenate([mine[places[places < len(mine)]] for mine in by_class])
    )


def _posed_in_feature_space(
    model: "WassersteinKernelSVC", data: KernelFit, flip_cost, time: TimeLimit
) -> Posed:
    parameters = prices.problem_parameters(model, data.costs_by_class, flip_cost)
    ball_by = model.radius, model.l2, Landmarks(model._max_landmarks())
    factor, share = _width_and_share(data, parameters, ball_by, time)
    model.gamma_ = data.gamma = factor * data.widest
    data.function = data.kernel.function(data.gamma, data.X)
    # Relative to a centre in there
    posed = BinaryProblems.as_given(data.problems(parameters | {"time": time}))
    return posed, ball_by_rule(posed, *ball_by, data.counts, time).times(*share)


def _width_and_share(
    data: KernelFit,
    parameters: dict[str, Any],
    ball_by: tuple[float | str, float | str, Landmarks],
    time: TimeLimit,
) -> Candidate:
    """Return the factors of γ, and of the rules' radius and ridge: 1, unless unseen rows are clearly against it."""
    has_width = data.kernel.gamma == "rule" and data.kernel.name in WITH_WIDTH
    shrinks = isinstance(ball_by[0], str), isinstance(ball_by[1], str)
    factors = (1.0, *FACTORS) if has_width else (1.0,)
    shares = list(
        dict.fromkeys(shares_of_ball(share, shrinks) for share in (1.0, SHARES[1]))
    )
    places = product(enumerate(factors), enumerate(shares))
    # Away from the first
    by_steps = sorted((i + j, (factor, share)) for (i, factor), (j, share) in places)
    stages = [
        [one for _, one in some]
        for _, some in groupby(by_steps, key=lambda pair: pair[0])
    ]
    rows = some_rows(data.X, data.y, data.weights)
    pilot = pilot_time(time)
    if data.sample_weight is None:
        own = None
    else:
        own = data.sample_weight[rows]
    counts = np.ones(len(rows)) if own is None else own
    if len(by_steps) == 1 or counts.sum() < MIN_ROWS:
        return stages[0][0]

    @cache
    def at_width(
        factor: float,
    ) -> tuple[
        Regularisation, Callable[[float, float], np.ndarray | None], EvaluationRows
    ]:
        posed = BinaryProblems.as_given(
            data.problems_at_width(factor * data.widest, rows, parameters)
        )
        kept = posed.problems[0].kept  # the problems have an order of their own
        counted = counts if kept is None else counts[to_numpy(kept)]
        judged = EvaluationRows.of(
            posed.problems, posed.problems, counted, float(counts.sum())
        )
        return (
            ball_by_rule(posed, *ball_by, lambda _: own, pilot),
            in_folds(judged, pilot),
            judged,
        )

    def decisions(candidate: Candidate) -> np.ndarray | None:
        ball, decide, _ = at_width(candidate[0])
        return decide(*ball.times(*candidate[1])[:2])

    with stage("choosing the width"):
        return best_if_significant(stages, decisions, at_width(1.0)[2])


def _posed_in_span(
    model: "WassersteinKernelSVC",
    data: KernelFit | ClusterKernelFit,
    flip_cost,
    time: TimeLimit,
) -> Posed:
    """Return linear problems in the span of landmarks.

    Radius and ridge are chosen with a sample.
    """
    on_card = isinstance(data, KernelFit) and isinstance(data.points, ForGpu)
    if model.kernel == "precomputed" or on_card:
        raise ValueError(
            "Given landmarks, and rows on a Dask cluster, need a kernel that is a function, and no graphics card: got "
            f"kernel={model.kernel!r} and engine={model.engine!r}."
        )
    given = None
    size = model._max_landmarks()
    if model.landmarks is not None:
        try:
            given = check_rows(model.landmarks)
        except ValueError as error:
            raise ValueError(
                f"landmarks must be rows like those of X: {error}"
            ) from None
        size, n_features = given.shape
        if n_features != model.n_features_in_:
            known = model.n_features_in_
            raise ValueError(
                f"landmarks must have the {known} features of X, got shape {given.shape}."
            )
    if size is None:
        raise ValueError(
            "X is on a Dask cluster: give the number of rows of which the classifier is made, such as n_landmarks=300."
        )
    parameters = prices.problem_parameters(model, data.costs_by_class, flip_cost)
    rows = data.linear_problems(parameters | {"intercept_cost": math.inf})
    few, flip_cost = data.sample(rows, flip_cost, WIDER * size)
    posed, ball = _posed_in_feature_space(model, few, flip_cost, time)
    first = posed.problems[0]
    if given is None:
        given = few.X[
            np.sort(
                generator_of(model.random_state).permutation(few.X.shape[0])[
                    : WIDER * size
                ]
            )
        ]
    points = data.kernel.priced(given)
    costs = prices.feature_costs(model)
    data.basis = basis = Basis.of(given, size, points, first.rows, costs)
    # Linear classifiers of the values of the functions at the rows.
    problems = [
        problem.with_rows(problem.rows.mapped(basis.functions.at, problem.flip_cost))
        for problem in rows
    ]
    problems = [
        problem.replace(intercept_cost=first.intercept_cost) for problem in problems
    ]
    # Rows are relative to their centre already, but there is one centre for all
    # classes.
    if len(problems) == 1:
        posed = BinaryProblems.as_given(problems)
    else:
        posed = BinaryProblems(problems)
    return posed, ball._replace(solutions=[None] * len(problems))


def results_in_span(solved: Solved) -> Solved:
    """Return results with the status of what they prove: where there is no proof in the whole feature space, a span."""
    results = list(solved.results)
    for index, (problem, result) in enumerate(
        zip(solved.posed.problems, solved.results, strict=True)
    ):
        if problem.rows.is_kernel:
            bound = min(result.info.get("bound_in_span", -math.inf), result.objective)
            if (
                result.lower_bound == 0.0 and result.objective - bound <= result.tol
            ):  # there was no time
                results[index] = replace(
                    result, status=Status.OPTIMAL_IN_SPAN, lower_bound=bound
                )
        elif (
            result.status is Status.OPTIMAL
        ):  # a weaker claim, about limited weights, stays as it is
            results[index] = replace(result, status=Status.OPTIMAL_IN_SPAN)
    return replace(solved, results=results)
