"""The data of a fit, checked: its classes, weights and binary problems, with rows in memory or in a backend."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_sample_weight

from drsvm.defaults import one_vs_rest, prices
from drsvm.defaults.binary_problems import BinaryProblems, Solved, at_centre
from drsvm.defaults.out_of_fold import MANY_ROWS, OutOfFoldDecisions, unseen_decisions
from drsvm.defaults.select_by_folds import (
    MAX_ROWS,
    MIN_ROWS,
    EvaluationRows,
    rows_to_judge,
)
from drsvm.estimators.diagnostics import FINISHED, Statuses
from drsvm.estimators.placement import remote_backend
from drsvm.problem.backends import to_numpy
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Joined
from drsvm.problem.sampling import draw_by_class, to_host
from drsvm.problem.validation import check_entries
from drsvm.utils.annotations import Matrix, Vector
from drsvm.utils.clock import TimeLimit

if TYPE_CHECKING:
    from drsvm.estimators.partial_fit import Earlier

ClassWeight = Mapping[Any, float] | str | None


class FitData:
    """X, y and the weights of the rows, in arrays of numpy or scipy."""

    share = 1.0  # of the spread of the rows, not due to gross errors
    earlier: "Earlier | None" = None  # fit, from which the runs start
    finished: Statuses = FINISHED  # statuses of runs that need no warning

    def __init__(
        self, estimator: BaseEstimator, X, y, sample_weight, class_weight: ClassWeight
    ):
        self.X, self.y = one_vs_rest.checked_rows(estimator, X, y)
        self.classes = one_vs_rest.classes_of(self.y, estimator)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, self.X, dtype=np.float64, ensure_non_negative=True
            )
            one_vs_rest.check_that_every_class_counts(
                self.y, self.classes, sample_weight
            )
        self.sample_weight = sample_weight
        self.class_weight = class_weight
        self._weigh(self._factors_for(class_weight))
        if class_weight is not None and not self.class_factors.all():
            one_vs_rest.check_that_every_class_counts(
                self.y, self.classes, self.weights
            )

    def equalise(self, share: float) -> None:
        """Weigh the classes by a share of the way from class_weight="auto" to "balanced"."""
        self._weigh(
            self._factors_for("auto") ** (1.0 - share)
            * self._factors_for("balanced") ** share
        )

    def _factors_for(self, class_weight: ClassWeight) -> np.ndarray:
        return one_vs_rest.factors_of_classes(
            class_weight, self.classes, self.y, self.sample_weight
        )

    def _weigh(self, class_factors: np.ndarray) -> None:
        """Set the weights of the classes and of the rows; None: they are all equal."""
        self.class_factors = class_factors
        self.weights = self.sample_weight
        if self.class_weight is not None:
            of_rows = class_factors[np.searchsorted(self.classes, self.y)]
            if self.sample_weight is None:
                self.weights = of_rows
            else:
                self.weights = self.sample_weight * of_rows

    def unseen(
        self, solved: Solved, cv, time: TimeLimit, *, out_of_fold: bool
    ) -> OutOfFoldDecisions:
        """Return decisions of rows, out of fold if they are few, and how many rows each is without class weights."""
        return unseen_decisions(solved, self._counted, cv, time, out_of_fold)

    def judged(self, posed: BinaryProblems) -> EvaluationRows | None:
        """Return the rows by which candidates are judged; None if they are too few."""
        return rows_to_judge(posed, self.sample_weight)

    def _counted(self, problem: Problem) -> np.ndarray:
        if self.sample_weight is None:
            counts = np.ones(problem.n_given)
        else:
            counts = self.sample_weight
        if problem.kept is None:
            return counts
        return counts[to_numpy(problem.kept)]

    def weighed(self, judged: OutOfFoldDecisions) -> OutOfFoldDecisions:
        """Return judged rows of two classes that also count by class weights, if these are given."""
        if (
            self.class_weight is None
            or self.class_weight == "auto"
            or not len(judged.counts)
        ):
            return judged
        counts = judged.counts * self.class_factors[judged.labels]
        return judged._replace(counts=counts * (judged.counts.sum() / counts.sum()))

    def counts(self, index: int) -> np.ndarray | None:
        """Return how many rows each row counts for in the automatic radius of a problem; None: one."""
        return self.sample_weight

    def costs_by_class(self, costs: np.ndarray) -> Vector:
        """Return a cost for every row, from one for every class."""
        return costs[np.searchsorted(self.classes, self.y)]

    def problems(self, parameters: dict[str, Any]) -> list[Problem]:
        """Return one problem per class, or one for two classes.

        The price of the intercept may be "auto".
        """
        return one_vs_rest.binary_problems(
            self.X, self.y, self.classes, self.weights, **parameters
        )


class RemoteFit(FitData):
    """Rows on a cluster or on a graphics card.

    What has one entry per row stays with them.
    """

    first: Problem | None = None  # of the problems

    def __init__(
        self, estimator: BaseEstimator, X, y, sample_weight, class_weight: ClassWeight
    ):
        self.backend = remote_backend(X)
        self.X, self.y = self.backend.with_labels(X, y)
        self.name_features(estimator)
        self.classes = one_vs_rest.classes_of(
            self.backend.classes_of(self.y), estimator
        )
        self.sample_weight = sample_weight
        self.class_weight = class_weight
        ones = np.ones(len(self.classes))
        if class_weight is None:
            self.class_factors = ones
        else:
            self.class_factors = self._factors_for(class_weight)

    def _factors_for(self, class_weight):
        masses = self.backend.masses_of_classes(
            self.y, self.classes, self.sample_weight
        )
        return one_vs_rest.factors_of_classes(
            class_weight, self.classes, self.classes, masses
        )

    def _weigh(self, class_factors):
        self.class_factors = class_factors  # by which problems are weighed

    def name_features(self, estimator) -> None:
        """Store number and names of the features."""
        _check_feature_names(estimator, self.backend.named(self.X), reset=True)
        estimator.n_features_in_ = self.backend.n_features(self.X)

    def like(self, values: np.ndarray) -> Matrix:
        """Return fitted weights as an array of the library that X comes from."""
        return self.backend.like(self.X, values)

    def unseen(self, solved, cv, time, *, out_of_fold):
        if len(solved.results) == 1:
            return super().unseen(solved, cv, time, out_of_fold=out_of_fold)
        # A sample of every class, judged by the classifiers themselves: the problems
        # keep their labels apart.
        few, labels, counts = self.drawn(solved.posed.problems, MANY_ROWS)
        decisions = [
            few.decision_values(result.weights, result.intercept)
            for result in solved.results
        ]
        return OutOfFoldDecisions(
            np.column_stack(decisions), labels, counts * (len(counts) / counts.sum())
        )

    def judged(self, posed):
        n_rows = posed.problems[0].n_rows
        if n_rows < MIN_ROWS:
            return None
        few, labels, counts = self.drawn(posed.problems, MAX_ROWS)
        counts *= len(counts) / counts.sum()
        own = self.classes[labels]
        weights = counts * self.class_factors[labels]
        signs = np.where(own == one_vs_rest.positive_labels(self.classes)[0], 1.0, -1.0)
        first = posed.problems[0].on_sample(
            few.rows, signs, weights / weights.sum(), few.flip_cost
        )
        problems = one_vs_rest.for_every_class(first, own, self.classes, weights)
        moved = [at_centre(problem).problem for problem in problems]
        return EvaluationRows.of(problems, moved, counts, n_rows)

    def drawn(
        self, problems: list[Problem], size: int
    ) -> tuple[Problem, np.ndarray, np.ndarray]:
        """Return some rows of every class, as those of a problem here, the places of their classes, and their counts.

        Together, the rows of a class count for all of its rows.
        """
        parts = []
        for label, mass in enumerate(
            self.backend.masses_of_classes(self.y, self.classes, self.sample_weight)
        ):
            if len(problems) > 1:
                problem = problems[label]
                sign = 1.0
            else:
                problem = problems[0]
                sign = 2.0 * label - 1.0
            few = draw_by_class(problem, size // len(self.classes))
            few = to_host(few, math.inf)
            own = np.flatnonzero(few.signs == sign)
            counts = few.sample_weight[own] * (mass / few.sample_weight[own].sum())
            parts.append(
                Joined(
                    (few.X[own], np.full(len(own), label), counts, few.flip_costs[own])
                )
            )
        X, labels, counts, costs = sum(parts[1:], parts[0])
        data = {
            "signs": np.where(labels > 0, 1.0, -1.0),
            "sample_weight": counts / counts.sum(),
            "flip_cost": costs,
        }
        return (
            Problem.of_checked(rows=MemoryRows(X), classes=self.classes, **data),
            labels,
            counts,
        )

    def _counted(self, problem):
        counts = (
            problem.sample_weight / self.class_factors[(problem.signs > 0).astype(int)]
        )
        return counts * (problem.n_rows / counts.sum())

    def counts(self, index):
        if self.sample_weight is None or self.first is None:
            return None
        label = one_vs_rest.positive_labels(self.classes)[index]
        given = (
            self.y,
            self.classes,
            self._is(label),
            self._factors(label),
            self.sample_weight,
        )
        return self.backend.counts_for_radius(self.first, *given)

    def costs_by_class(self, costs):
        return self.backend.by_class(self.y, self.classes, costs)

    def problems(self, parameters):
        labels = one_vs_rest.positive_labels(self.classes)
        free = {**parameters, "intercept_cost": math.inf}
        first = Problem(
            self.X,
            self._is(labels[0]),
            sample_weight=self._weights(self.class_factors),
            **free,
        )
        self.first = first = prices.with_intercept_cost(
            first, parameters["intercept_cost"]
        )
        if len(self.classes) == 2:
            return [first]
        return [
            first.relabelled(self._is(label), self._weights(self._factors(label)))
            for label in labels
        ]

    def _is(self, label) -> Vector:
        return self.backend.by_class(self.y, self.classes, self.classes == label)

    def _factors(self, label) -> np.ndarray:
        """Return how many times its given weight a row has in the problem of a label, by its class."""
        factors = one_vs_rest.side_weights(
            self.classes, label, self.classes, self.class_factors
        )
        return self.class_factors if factors is None else factors

    def _weights(self, factors: np.ndarray) -> Vector | None:
        if (factors == 1.0).all():
            return self.sample_weight
        return self.backend.by_class(self.y, self.classes, factors, self.sample_weight)


@contextmanager
def naming_large_entries(data: FitData) -> Iterator[None]:
    """Say which entry is too large if something fails in the block.

    Not before, which would be a pass over the rows.
    """
    try:
        yield
    except ValueError:
        if not isinstance(data, RemoteFit):
            check_entries(data.X)
        raise
