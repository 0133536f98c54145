"""Problems in the feature space of a kernel, with the width, the radius and the ridge.

Wide functions suit tables whose classes are nearly separated by a plane, which is most
tables, and tolerate wrong labels best there. Where classes meet in curves, they miss
what narrower ones find. The rule therefore takes the widest, unless rows that a
classifier has not seen are ranked better with narrower ones, by more than chance
explains.

With given landmarks, and on a cluster, the problem is linear, in the span of landmarks.
Width, radius, ridge and the cost of the intercept are then chosen with a sample of the
rows, in this process's memory. For radius and ridge each of them counts for many; what
decides on a width are so few rows.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.defaults import one_vs_rest
from drsvm.defaults.binary_problems import BinaryProblems
from drsvm.defaults.costs import with_intercept_cost
from drsvm.defaults.fit_data import FitData, RemoteFitData
from drsvm.defaults.group_landmarks import group_landmarks
from drsvm.defaults.kernel_parameters import KernelParameters
from drsvm.defaults.landmark_basis import LandmarkBasis
from drsvm.defaults.radius_rule import MAX_SAMPLE, MIN_SAMPLE
from drsvm.defaults.regularisation import pilot_time, regularised_by_rule
from drsvm.defaults.select_by_folds import (
    DecisionsAt,
    EvaluationRows,
    best_if_significant,
    shares_of_both,
)
from drsvm.problem.backends import ForGpu, to_numpy
from drsvm.problem.feature_space import in_feature_space
from drsvm.problem.kernel_functions import KernelFunction
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.problem import Problem
from drsvm.problem.risk import by_row
from drsvm.problem.sampling import content_groups
from drsvm.problem.validation import check_flip_costs
from drsvm.solvers.base import generator_of
from drsvm.solvers.landmarks.landmark_solver import Landmarks
from drsvm.solvers.landmarks.span import WIDER
from drsvm.utils.annotations import Costs, Matrix, Vector
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import stage

# What the γ of the widest functions is multiplied by; fixed on the data sets on which
# the study decides
FACTORS = (1.0, 3.3, 10.0)
# The share of the radius that is tried besides the whole one
SMALLER = 0.3
# Rows by which a width is chosen: all pairs of them are needed at every width
MAX_JUDGED = 1000

# By what γ is multiplied, and by what the radius and the ridge of the rules are
Candidate = tuple[float, tuple[float, float]]


class KernelProblems(NamedTuple):
    """The problems of a fit with a kernel."""

    problems: BinaryProblems
    """The problems that are solved."""

    gamma: float
    """The coefficient γ of the kernel."""

    basis: LandmarkBasis | None = None
    """The basis of the span of landmarks, if the problems are linear ones in it."""

    anywhere: Sequence[Problem | None] = ()
    """The same problems over all functions, if those that are solved are in a span.

    None where that would take values of the kernel that are not kept.
    """

    def with_reach(self, kernel: KernelParameters, radii: Costs) -> "KernelProblems":
        """Return the problems whose rows may each shift within a radius.

        φ(x_i) then moves no farther than the reach of this radius, and a decision value
        f(x_i) + b by no more than the reach times ‖f‖.

        Parameters
        ----------
        kernel : KernelParameters
            The kernel.
        radii : float or array of shape (n,)
            The radii, in the units of the points.

        Returns
        -------
        KernelProblems
            The problems.
        """
        reach = kernel.function(self.gamma).reach(radii)
        shifting = self.problems.given[0].replace(row_radius=reach)
        problems = self.problems.with_checked(row_radius=shifting.row_radius)
        anywhere = []
        for problem in self.anywhere:
            if problem is not None:
                problem = problem.replace(row_radius=reach)
            anywhere.append(problem)
        return self._replace(problems=problems, anywhere=anywhere)


def problems_in_feature_space(
    data: FitData,
    kernel: KernelParameters,
    parameters: dict[str, Any],
    radius: float | str,
    l2: float | str,
    solver: Landmarks,
    time: TimeLimit,
) -> KernelProblems:
    """Return the problems of a fit in the feature space of a kernel.

    Parameters
    ----------
    data : FitData
        The rows, in this process's memory.
    kernel : KernelParameters
        The kernel.
    parameters : dict
        Those of `Problem`. The cost of the intercept may be "auto".
    radius, l2 : float or "auto"
        Radius and ridge.
    solver : Landmarks
        The solver.
    time : TimeLimit
        The time of the fit.

    Returns
    -------
    KernelProblems
        The problems.
    """
    # 1. The width, and the shares of radius and ridge, by some of the rows
    widest = kernel.coefficient(data.X, data.sample_weight)
    regularisation = radius, l2, solver
    factor, shares = _width_and_shares(
        data, kernel, widest, parameters, regularisation, time
    )
    gamma = factor * widest

    # 2. The problems of this width, with radius and ridge by the rules, from all rows
    points = kernel.points(data.X)
    if data.on_gpu:
        points = ForGpu(points)
    function = kernel.function(gamma, data.X)
    problems = _problems(data, points, function, parameters | {"time": time})
    problems = regularised_by_rule(problems, *regularisation, data, time)
    return KernelProblems(problems.scaled(*shares), gamma)


def _problems(
    data: FitData,
    points: Matrix,
    function: KernelFunction,
    parameters: dict[str, Any],
) -> BinaryProblems:
    """Return the problems of all classes.

    Their rows are relative to a centre already: `in_feature_space` chooses one.
    """
    parameters = dict(parameters)
    intercept_cost = parameters.pop("intercept_cost")
    positive = data.y == one_vs_rest.positive_labels(data.classes)[0]
    first = in_feature_space(points, function, positive, data.weights, **parameters)
    first = with_intercept_cost(first, intercept_cost)
    problems = one_vs_rest.for_every_class(first, data.y, data.classes, data.weights)
    return BinaryProblems.as_given(problems)


def _width_and_shares(
    data: FitData,
    kernel: KernelParameters,
    widest: float,
    parameters: dict[str, Any],
    regularisation: tuple[float | str, float | str, Landmarks],
    time: TimeLimit,
) -> Candidate:
    """Return the factors of γ, and of the radius and the ridge of the rules.

    They are 1, unless some rows are ranked clearly better out of fold with others.

    Parameters
    ----------
    data, kernel, parameters, time
        As for `problems_in_feature_space`.
    widest : float
        The smallest γ that is tried.
    regularisation : tuple
        Radius, ridge and solver, as for `problems_in_feature_space`.

    Returns
    -------
    tuple of float and tuple of float
        The factors.
    """
    # 1. What is tried
    radius, l2, _ = regularisation
    may_shrink = isinstance(radius, str), isinstance(l2, str)
    stages = _candidates(kernel.chooses_width, may_shrink)
    if len(stages) == 1:
        return stages[0][0]

    # 2. The rows by which it is judged
    some = some_rows(data.X, data.y, data.weights)
    few = data.subset(some)
    counts = few.sample_weight
    if counts is None:
        counts = np.ones(len(some))
    if counts.sum() < MIN_SAMPLE:
        return stages[0][0]
    points = kernel.points(data.X)[some]
    parameters = parameters | {"flip_cost": few.flip_cost}
    limit = pilot_time(time)

    # 3. Decisions out of fold. The problems of a width serve several radii. They are
    # made when a candidate needs them: usually, few are tried.
    @cache
    def at_width(factor: float) -> tuple[BinaryProblems, EvaluationRows, DecisionsAt]:
        function = kernel.function(factor * widest, data.X)
        problems = _problems(few, points, function, parameters)
        counted = counts
        if problems.given[0].kept is not None:
            # The problems have an order of their own.
            counted = counts[to_numpy(problems.given[0].kept)]
        total = float(counts.sum())
        judged = EvaluationRows.of(problems.given, problems.given, counted, total)
        problems = regularised_by_rule(problems, *regularisation, few, limit)
        return problems, judged, judged.decisions(limit)

    def decisions(candidate: Candidate) -> np.ndarray | None:
        factor, shares = candidate
        problems, _, decisions_at = at_width(factor)
        return decisions_at([(problems.radius * shares[0], problems.l2 * shares[1])])[0]

    with stage("choosing the width"):
        _, judged, _ = at_width(FACTORS[0])
        return best_if_significant(stages, decisions, judged)


def _candidates(
    chooses_width: bool, may_shrink: tuple[bool, bool]
) -> list[list[Candidate]]:
    """Return the candidates in stages.

    The first stage has the widest functions and the whole radius. Those of stage k are
    k steps away: a step is to the next narrower width, or to the smaller radius.
    """
    factors = FACTORS[:1]
    if chooses_width:
        factors = FACTORS
    shares = [shares_of_both(1.0, may_shrink)]
    if any(may_shrink):
        shares.append(shares_of_both(SMALLER, may_shrink))
    stages: list[list[Candidate]] = []
    for steps in range(len(factors) + len(shares) - 1):
        stage_of_steps = []
        for narrower, factor in enumerate(factors):
            smaller = steps - narrower
            if 0 <= smaller < len(shares):
                stage_of_steps.append((factor, shares[smaller]))
        stages.append(stage_of_steps)
    return stages


def some_rows(
    X: Matrix, y: np.ndarray, weights: Vector | None, most: int = MAX_JUDGED
) -> np.ndarray:
    """Return the indices of about `most` rows, chosen by their contents.

    Every class has its share of them.

    Parameters
    ----------
    X, y : matrix and array of shape (n,)
        The rows and their labels.
    weights : array of shape (n,), optional
        Their weights; rows without weight are left out.
    most : int, default=MAX_JUDGED
        The number of rows.

    Returns
    -------
    array of int
        The indices, in ascending order; all that have weight if they are not more.
    """
    counted = np.arange(len(y))
    if weights is not None:
        counted = np.flatnonzero(weights)
    if len(counted) <= most:
        return counted
    # The order of the rows must not matter: they are ordered by their contents, and of
    # each class those at equal distances are taken.
    labels = np.unique(y)
    groups = content_groups(Problem(X[counted], y[counted] == labels[0]))
    order = counted[np.argsort(groups, kind="stable")]
    places = np.arange(0.0, len(counted), len(counted) / most).astype(int)
    chosen = []
    for label in labels:
        own = order[y[order] == label]
        chosen.append(own[places[places < len(own)]])
    return np.sort(np.concatenate(chosen))


def with_copies_joined(data: FitData) -> FitData:
    """Let the first of equal rows with the same label, cost and radius count for all.

    Its weight is that of all of them, and that of the others is 0.
    """
    n = len(data.y)
    given = data.sample_weight
    if given is None:
        given = np.ones(n)
    costs = np.broadcast_to(check_flip_costs(data.flip_cost, n), n)
    radii = np.broadcast_to(data.row_radius, n)
    # 1. Rows that may be equal: those with the same random projection, in single
    # precision, because projections of equal rows may differ in the last digit
    directions = np.random.default_rng(0).normal(size=data.X.shape[1])
    keys = MemoryRows(data.X).dot(directions)
    # Those that overflow count as equal, until their contents are compared.
    with np.errstate(over="ignore"):
        keys = keys.astype(np.float32)
    _, member, counts = np.unique(keys, return_inverse=True, return_counts=True)
    some = np.flatnonzero((counts[member] > 1) & (given > 0.0))
    if not len(some):
        return data

    # 2. Among these, the place of the first row with the same content
    rows = sparse.csr_array(data.X[some])
    labels = data.y[some].tolist()
    costs = costs[some].tolist()
    radii = radii[some].tolist()
    first_places: dict[Any, int] = {}
    first = []
    for place, (start, end) in enumerate(pairwise(rows.indptr)):
        content = (
            rows.data[start:end].tobytes(),
            rows.indices[start:end].tobytes(),
            labels[place],
            costs[place],
            radii[place],
        )
        first.append(first_places.setdefault(content, place))

    # 3. It gets the weights of all
    joined = given.copy()
    joined[some] = np.bincount(first, given[some], len(some))
    if np.array_equal(joined, given):
        return data
    return replace(data, sample_weight=joined)


def problems_in_span(
    data: FitData,
    kernel: KernelParameters,
    parameters: dict[str, Any],
    radius: float | str,
    l2: float | str,
    solver: Landmarks,
    time: TimeLimit,
    landmarks: Matrix | str | None,
    most: int,
    random_state: int | np.random.Generator | None,
) -> KernelProblems:
    """Return the linear problems of a fit in the span of landmarks.

    Parameters
    ----------
    data, kernel, parameters, radius, l2, solver, time
        As for `problems_in_feature_space`; rows may be on a cluster.
    landmarks : array of shape (n_landmarks, n_features), "means" or None
        The landmarks. "means": of groups of rows (`group_landmarks`). None: they are
        chosen from the rows.
    most : int
        The largest number of landmarks.
    random_state : int or Generator, optional
        Seed of this choice.

    Returns
    -------
    KernelProblems
        The problems, and the basis of the span.
    """
    # 1. What is chosen by a sample in this memory: width, radius, ridge and the cost of
    # the intercept. Rows on a cluster come here by such a sample, all others are here.
    whole = data.problems(parameters | {"intercept_cost": math.inf})
    sample = data
    if isinstance(data, RemoteFitData):
        sample = _sample(data, whole, max(2 * MAX_SAMPLE, WIDER * most))
        parameters = parameters | {"flip_cost": sample.flip_cost}
    few, gamma, _, _ = problems_in_feature_space(
        sample, kernel, parameters, radius, l2, solver, time
    )
    first = few.given[0]

    # 2. The landmarks: of several times as many rows, those that span the most
    if landmarks is None:
        order = generator_of(random_state).permutation(sample.X.shape[0])
        landmarks = sample.X[np.sort(order[: WIDER * most])]
    elif isinstance(landmarks, str):
        points = kernel.scaled(sample.X)
        landmarks = kernel.unscaled(
            group_landmarks(points, sample.y, sample.sample_weight, most, random_state)
        )
    basis = LandmarkBasis.of(landmarks, most, kernel, first.rows)

    # 3. The problems, in which a row has the values of the basis functions as features
    problems = []
    for problem in whole:
        rows = problem.rows.mapped(basis.functions.at, problem.flip_cost)
        mapped = problem.with_rows(rows).replace(intercept_cost=first.intercept_cost)
        problems.append(mapped)
    # The values are relative to the centre of the sample. With two classes they stay
    # so; of several, each has a centre of its own.
    if len(problems) == 1:
        in_span = BinaryProblems.as_given(problems)
    else:
        in_span = BinaryProblems(problems)
    in_span = in_span.with_regularisation(few.radius, few.l2)
    anywhere: Sequence[Problem | None] = few.given
    if sample is not data or first.rows.values is None:
        anywhere = [None] * len(problems)
    return KernelProblems(in_span, gamma, basis, anywhere)


def _sample(data: RemoteFitData, problems: list[Problem], size: int) -> FitData:
    """Return about `size` rows, which stand for all of them."""
    # With these weights a sampled row counts once on average; in the rules, it counts
    # for the rows that it represents.
    sample, counts = data.sample(problems, size)
    represents = problems[0].n_rows / len(counts)
    flip_cost = problems[0].flip_cost
    if by_row(flip_cost):
        flip_cost = sample.flip_cost
    return replace(
        sample,
        sample_weight=counts / represents,
        class_weight=data.class_weight,
        factors=data.class_factors,
        flip_cost=flip_cost,
        represents=represents,
    )
