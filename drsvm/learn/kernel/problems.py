"""The problems of a fit with a kernel, in its feature space or linear ones in the span of landmarks, and their ball."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.learn.choosing.evidence import best_if_significant
from drsvm.learn.fitting import prices
from drsvm.learn.fitting.ball import PILOT_PARTS, choose_ball
from drsvm.learn.fitting.problems import Ball, BinaryProblems, Solved
from drsvm.learn.kernel.data import Basis, ClusterKernelFit, KernelFit, checked_landmarks
from drsvm.learn.kernel.function import EVIDENCE, FACTORS, some_rows
from drsvm.model.backends import ForCard
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.progress import stage
from drsvm.solvers.base import generator_of
from drsvm.solvers.landmarks.solver import Landmarks
from drsvm.solvers.landmarks.span import WIDER

if TYPE_CHECKING:
    from drsvm.learn.kernel.estimator import WassersteinKernelSVC

Posed = tuple[BinaryProblems, Ball]

NO_NUMBER = "X is on a Dask cluster: give the number of rows of which the classifier is made, such as n_landmarks=300."
NOT_IN_SPAN = (
    "Given landmarks, and rows on a Dask cluster, need a kernel that is a function, and no graphics card: got "
    "kernel={!r} and engine={!r}."
)


def posed_with_ball(
    model: "WassersteinKernelSVC", data: KernelFit | ClusterKernelFit, flip_cost, time: TimeLimit
) -> Posed:
    """Return the problems in the feature space of the kernel, or in the span of landmarks, and their ball."""
    if isinstance(data, KernelFit):
        if model.cv is None or np.isscalar(model.cv):  # given folds may part copies
            data.join_copies(flip_cost)
        if model.landmarks is None:
            return _posed_in_feature_space(model, data, flip_cost, time)
    return _posed_in_span(model, data, flip_cost, time)


def _posed_in_feature_space(model: "WassersteinKernelSVC", data: KernelFit, flip_cost, time: TimeLimit) -> Posed:
    parameters = model._problem_parameters(data.costs_by_class, flip_cost)
    if data.kernel.has_automatic_width:
        with stage("choosing the width"):
            pilot = TimeLimit(time.left() / PILOT_PARTS, within=time)
            data.widen(_chosen_width(model, data, parameters, pilot))
    model.gamma_ = data.gamma
    posed = BinaryProblems.as_given(data.problems(parameters | {"time": time}))  # relative to a centre in there
    return posed, _chosen_ball(model, posed, data.counts, time)


def _chosen_width(model: "WassersteinKernelSVC", data: KernelFit, parameters: dict[str, Any], time: TimeLimit) -> float:
    """Return a multiple of the γ of the rule by which some rows are ranked well."""
    rows = some_rows(data.X, data.y, data.weights)
    own = None if data.sample_weight is None else data.sample_weight[rows]

    def problems_of(gamma: float) -> list[Problem]:
        posed = BinaryProblems.as_given(data.problems_at_width(gamma, rows, parameters))
        ball = _chosen_ball(model, posed, lambda _: own, time)
        return posed.with_ball(ball.radius, ball.l2).problems

    counts = np.ones(len(rows)) if own is None else own
    return best_if_significant([factor * data.gamma for factor in FACTORS], problems_of, counts, time, EVIDENCE)


def _chosen_ball(model: "WassersteinKernelSVC", posed: BinaryProblems, counts, time: TimeLimit) -> Ball:
    return choose_ball(posed, model.radius, model.l2, Landmarks(model._max_landmarks()), counts, time)


def _posed_in_span(
    model: "WassersteinKernelSVC", data: KernelFit | ClusterKernelFit, flip_cost, time: TimeLimit
) -> Posed:
    """Return linear problems in the span of landmarks; radius and ridge are chosen with a sample."""
    on_card = isinstance(data, KernelFit) and isinstance(data.points, ForCard)
    if model.kernel == "precomputed" or on_card:
        raise ValueError(NOT_IN_SPAN.format(model.kernel, model.engine))
    given = None if model.landmarks is None else checked_landmarks(model.landmarks, model.n_features_in_)
    size = model._max_landmarks() if given is None else given.shape[0]
    if size is None:
        raise ValueError(NO_NUMBER)
    parameters = model._problem_parameters(data.costs_by_class, flip_cost)
    rows = data.linear_problems(parameters | {"intercept_cost": math.inf})
    few, flip_cost = data.sample(rows, flip_cost, WIDER * size)
    posed, ball = _posed_in_feature_space(model, few, flip_cost, time)
    first = posed.problems[0]
    if given is None:
        given = few.X[np.sort(generator_of(model.random_state).permutation(few.X.shape[0])[: WIDER * size])]
    costs = prices.feature_costs(model)
    data.basis = basis = Basis.of(given, size, data.kernel.priced(given), first.rows, costs)
    problems = [basis.mapped(problem).replace(intercept_cost=first.intercept_cost) for problem in rows]
    # Rows are relative to their centre already, but there is one centre for all classes.
    posed = BinaryProblems.as_given(problems) if len(problems) == 1 else BinaryProblems(problems)
    return posed, ball._replace(solutions=[None] * len(problems))


def results_in_span(solved: Solved) -> Solved:
    """Return results that say what they are about: where there was no proof in the whole feature space, a span."""
    return replace(solved, results=list(map(_result_in_span, solved.posed.problems, solved.results)))


def _result_in_span(problem: Problem, result: Result) -> Result:
    if not problem.rows.is_kernel:  # a weaker claim, about limited weights, stays as it is
        return replace(result, status=Status.OPTIMAL_IN_SPAN) if result.status is Status.OPTIMAL else result
    bound = min(result.info.get("bound_in_span", -math.inf), result.objective)
    unproven = result.lower_bound == 0.0 and result.objective - bound <= result.tol  # there was no time
    return replace(result, status=Status.OPTIMAL_IN_SPAN, lower_bound=bound) if unproven else result
