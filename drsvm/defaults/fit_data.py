"""The data of a fit: rows, labels, weights and flip costs, and their problems.

Rows are in this process's memory or elsewhere. In the latter case, what has one entry
per row is elsewhere, too, and choices go by a sample.

Four numbers belong to a row. Its sample weight is what the user gave; it also says for
how many rows it counts where rows are counted. The factor of its class is what
class_weight makes of it. Its weight in the problem is the product of both. A row of a
sample moreover stands for several rows that were not drawn.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from drsvm.defaults import one_vs_rest
from drsvm.defaults.binary_problems import BinaryProblems, Solved, Start, at_centre
from drsvm.defaults.costs import with_intercept_cost
from drsvm.defaults.out_of_fold import (
    MOST_FETCHED,
    OutOfFoldDecisions,
    decisions_of_rows,
)
from drsvm.defaults.radius_rule import MAX_SAMPLE, MIN_SAMPLE
from drsvm.defaults.select_by_folds import EvaluationRows, rows_to_judge
from drsvm.problem.backends import Backend, backend_of, to_numpy
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Joined
from drsvm.problem.row_sums import gradient_of_classes
from drsvm.problem.sampling import draw_by_class, to_host
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.clock import TimeLimit
from drsvm.utils.lazy import cached_property

ClassWeight = Mapping[Any, float] | str | None


@dataclass(frozen=True, eq=False)
class FitData:
    """Checked rows in this process's memory."""

    X: Matrix
    y: Labels
    classes: np.ndarray
    """The classes, in order."""

    sample_weight: Values = None
    """The given weights of the rows, without those of the classes."""

    class_weight: ClassWeight = None
    """The parameter of the estimator."""

    flip_cost: Any = math.inf
    """A number, or an array with an entry per row."""

    _: KW_ONLY

    factors: np.ndarray | None = None
    """By what weights are multiplied in each class; None: as class_weight says."""

    starts: Sequence[Start] | None = None
    """Where the solver starts; None: at the rough solutions of the rules."""

    spread_share: float = 1.0
    """Share of the spread of the rows that is not due to gross errors."""

    on_gpu: bool = False
    """Whether the points of a kernel are copied to a GPU."""

    represents: float = 1.0
    """How many rows each of them stands for, if they are a sample."""

    row_radius: Any = 0.0
    """How far each row may shift on its own: a number, or an array with an entry per
    row.
    """

    @cached_property
    def class_factors(self) -> np.ndarray:
        """By what the weights of the rows of each class are multiplied."""
        if self.factors is not None:
            return self.factors
        return self._factors(self.class_weight)

    def _factors(self, class_weight: ClassWeight) -> np.ndarray:
        return one_vs_rest.factors_of_classes(
            class_weight, self.classes, self.y, self.sample_weight
        )

    @cached_property
    def weights(self) -> Vector | None:
        """The weights of the rows, None if they are all equal."""
        if self.class_weight is None:
            return self.sample_weight
        return self.by_class(self.class_factors, self.sample_weight)

    @property
    def has_automatic_weights(self) -> bool:
        """Whether the classes are weighed by class_weight="auto"."""
        return isinstance(self.class_weight, str) and self.class_weight == "auto"

    def by_class(self, values: np.ndarray, weights: Values = None) -> Vector:
        """Return for every row the value of its class.

        With weights, times the weight of the row.
        """
        by_row = values[np.searchsorted(self.classes, self.y)]
        if weights is None:
            return by_row
        return weights * by_row

    def average_row(self, problem: Problem | None) -> tuple[np.ndarray, float]:
        """Return the mean of the rows by their given weights, and the sum of these.

        A problem that has the rows as they are may be given.
        """
        weights = self.sample_weight
        if weights is None:
            weights = np.ones(self.X.shape[0])
        mass = float(weights.sum())
        return MemoryRows(self.X).weighted_sum(weights / mass), mass

    def like(self, values: np.ndarray) -> Vector:
        """Return fitted weights as an array of the library that X comes from."""
        return values

    def closer_to_balance(self, share: float) -> "FitData":
        """Return the data with class weights between "auto" and "balanced".

        They are a share of the way from the first to the second, in logarithms.
        """
        automatic = self._factors("auto")
        balanced = self._factors("balanced")
        return replace(self, factors=automatic ** (1.0 - share) * balanced**share)

    def subset(self, rows: np.ndarray) -> "FitData":
        """Return some of the rows, with the class weights of all of them."""
        weights = self.sample_weight
        if weights is not None:
            weights = weights[rows]
        costs = self.flip_cost
        if np.ndim(costs):
            costs = costs[rows]
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            sample_weight=weights,
            flip_cost=costs,
            factors=self.class_factors,
            represents=1.0,
        )

    def problems(self, parameters: dict[str, Any]) -> list[Problem]:
        """Return one problem per class, or one for two classes.

        Parameters
        ----------
        parameters : dict
            Those of `Problem`. The cost of the intercept may be "auto".

        Returns
        -------
        list of Problem
            The problems.
        """
        return one_vs_rest.binary_problems(
            self.X, self.y, self.classes, self.weights, **parameters
        )

    def counts_for_radius(self, problems: list[Problem], index: int) -> Any:
        """Return how many rows each row counts for in the rules.

        Parameters
        ----------
        problems : list of Problem
            The problems of all classes.
        index : int
            The one that the rules look at.

        Returns
        -------
        Any
            The counts as these rows take them: an array in this memory, None for one.
        """
        if self.sample_weight is None:
            return None
        return self.represents * self.sample_weight

    def rows_to_judge(self, problems: BinaryProblems) -> EvaluationRows | None:
        """Return the rows by which candidates are compared, None if too few."""
        return rows_to_judge(problems, self.sample_weight)

    def out_of_fold(
        self, solved: Solved, cv, time: TimeLimit, *, unseen: bool = True
    ) -> OutOfFoldDecisions:
        """Return decisions about rows.

        Parameters
        ----------
        solved : Solved
            The classifiers.
        cv : int, splitter or iterable, optional
            Folds.
        time : TimeLimit
            Limits the fits in the folds.
        unseen : bool
            Whether few rows are decided by classifiers that have not seen them.

        Returns
        -------
        OutOfFoldDecisions
            The decisions, and how many rows each is, class weights aside.
        """
        return decisions_of_rows(solved, self._counts, cv, time, unseen=unseen)

    def _counts(self, problem: Problem) -> np.ndarray:
        """Return how many rows each row of a problem is, class weights aside."""
        counts = self.sample_weight
        if counts is None:
            counts = np.ones(problem.n_given)
        # The problem may have fewer rows than were given, in another order.
        if problem.kept is None:
            return counts
        return counts[to_numpy(problem.kept)]

    def with_given_weights(self, decisions: OutOfFoldDecisions) -> OutOfFoldDecisions:
        """Return decisions that count by the class weights, if a user has given some.

        Together they count as before.
        """
        if self.class_weight is None or self.has_automatic_weights:
            return decisions
        # Folds may have been cut short.
        if not len(decisions.counts):
            return decisions
        counts = decisions.counts * self.class_factors[decisions.labels]
        counts = counts * (decisions.counts.sum() / counts.sum())
        return decisions._replace(counts=counts)


@dataclass(frozen=True, eq=False)
class RemoteFitData(FitData):
    """Rows on a cluster or on a GPU. What has one entry per row stays with them.

    Their backend knows how to compute there. Methods differ from those of `FitData` in
    where they compute; only choices that need rows in this memory go by a sample.
    """

    @property
    def _backend(self) -> Backend:
        backend = backend_of(self.X)
        assert backend is not None, "rows in this process's memory have no backend"
        return backend

    @property
    def _masses_of_classes(self) -> np.ndarray:
        """The numbers of rows of the classes, or the sums of their weights."""
        return self._backend.masses_of_classes(self.y, self.classes, self.sample_weight)

    def _factors(self, class_weight):
        if class_weight is None:
            return np.ones(len(self.classes))
        return one_vs_rest.factors_of_classes(
            class_weight, self.classes, self.classes, self._masses_of_classes
        )

    def by_class(self, values, weights=None):
        return self._backend.by_class(self.y, self.classes, values, weights)

    def average_row(self, problem):
        # With these weights, and factors that undo the signs, the sums are the mean.
        weights = self.sample_weight
        positive = self._is(self.classes[-1])
        if problem is None:
            problem = Problem(self.X, positive, sample_weight=weights)
        else:
            problem = problem.relabelled(positive, weights)
        mean, _ = gradient_of_classes(problem, 1.0, -1.0)
        return to_numpy(mean), float(self._masses_of_classes.sum())

    def like(self, values):
        return self._backend.like(self.X, values)

    def problems(self, parameters):
        # The automatic cost of the intercept depends on the rows alone: the first
        # problem measures them, and the other classes share its rows and its cost.
        parameters = dict(parameters)
        intercept_cost = parameters.pop("intercept_cost")
        labels = one_vs_rest.positive_labels(self.classes)
        first = Problem(
            self.X,
            self._is(labels[0]),
            sample_weight=self._weights(self.class_factors),
            **parameters,
        )
        first = with_intercept_cost(first, intercept_cost)
        if len(labels) == 1:
            return [first]
        problems = []
        for label in labels:
            weights = self._weights(self._factors_of_sides(label))
            problems.append(first.relabelled(self._is(label), weights))
        return problems

    def _is(self, label) -> Vector:
        """Return whether each row is of a class."""
        return self.by_class(self.classes == label)

    def _factors_of_sides(self, label) -> np.ndarray:
        """Return by what weights are multiplied in the problem of a label, by class."""
        sides = one_vs_rest.side_weights(self.classes, label, self.classes, None)
        if sides is None:
            return self.class_factors
        return sides * self.class_factors

    def _weights(self, factors: np.ndarray) -> Vector | None:
        """Return the given weights times the factor of each row's class."""
        if (factors == 1.0).all():
            return self.sample_weight
        return self.by_class(factors, self.sample_weight)

    def counts_for_radius(self, problems, index):
        if self.sample_weight is None:
            return None
        label = one_vs_rest.positive_labels(self.classes)[index]
        return self._backend.counts_for_radius(
            problems[0],
            self.y,
            self.classes,
            self._is(label),
            self._factors_of_sides(label),
            self.sample_weight,
        )

    def _counts(self, problem):
        # The rows are a sample of two classes, which knows its weights only: without
        # the factors of the classes, they are proportional to the given ones.
        codes = (problem.signs > 0).astype(int)
        counts = problem.sample_weight / self.class_factors[codes]
        return counts * (problem.n_rows / counts.sum())

    def out_of_fold(self, solved, cv, time, *, unseen=True):
        if len(solved.results) == 1:
            return super().out_of_fold(solved, cv, time, unseen=unseen)
        # Each of several problems has labels of its own, so their rows cannot be put
        # side by side. Instead, a sample of every class is decided, by the classifiers
        # themselves: with this number of rows, that is hardly too good.
        sample, counts = self.sample(solved.problems.given, MOST_FETCHED)
        rows = MemoryRows(sample.X)
        columns = []
        for result in solved.results:
            columns.append(rows.dot(result.weights, result.intercept))
        codes = np.searchsorted(self.classes, sample.y)
        counts = counts * (len(counts) / counts.sum())
        return OutOfFoldDecisions(np.column_stack(columns), codes, counts)

    def rows_to_judge(self, problems):
        n_rows = problems.given[0].n_rows
        if n_rows < MIN_SAMPLE:
            return None
        # Problems of a sample, with the weights that its rows have among all: those of
        # a rare class were drawn more often.
        sample, counts = self.sample(problems.given, MAX_SAMPLE)
        counts = counts * (len(counts) / counts.sum())
        weights = counts * sample.by_class(self.class_factors)
        positive = one_vs_rest.positive_labels(self.classes)[0]
        signs = np.where(sample.y == positive, 1.0, -1.0)
        first = problems.given[0].on_sample(
            MemoryRows(sample.X), signs, weights / weights.sum(), sample.flip_cost
        )
        few = one_vs_rest.for_every_class(first, sample.y, self.classes, weights)
        moved = [at_centre(problem).problem for problem in few]
        return EvaluationRows.of(few, moved, counts, n_rows)

    def sample(self, problems: list[Problem], size: int) -> tuple[FitData, np.ndarray]:
        """Draw about `size` rows, the same number of every class, into this memory.

        Parameters
        ----------
        problems : list of Problem
            The problems of all classes.
        size : int
            The number of rows.

        Returns
        -------
        data : FitData
            The rows, their labels and flip costs.
        counts : array
            How many rows each of them counts for: together those of a class count for
            all of its rows.
        """
        parts = []
        masses = self._masses_of_classes
        for code, mass in enumerate(masses):
            # The problem and the side of it that consists of this class: the positive
            # one of its own problem, if there are several
            problem = problems[0]
            sign = 2.0 * code - 1.0
            if len(problems) > 1:
                problem = problems[code]
                sign = 1.0
            few = draw_by_class(problem, size // len(self.classes))
            few = to_host(few, math.inf)
            own = np.flatnonzero(few.signs == sign)
            # They are weighted among themselves as in the problem.
            weights = few.sample_weight[own]
            counts = weights * (mass / weights.sum())
            codes = np.full(len(own), code)
            parts.append(Joined((few.X[own], codes, counts, few.flip_costs[own])))
        X, codes, counts, costs = sum(parts[1:], parts[0])
        labels = self.classes[codes]
        data = FitData(X, labels, self.classes, flip_cost=costs)
        return data, counts
