"""The data of a fit, checked: its classes, weights and binary problems, with rows in memory or in a backend."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_feature_names, _check_sample_weight

from drsvm.learn import one_vs_rest, prices
from drsvm.learn.out_of_fold import MAX_FETCHED, Unseen, unseen_decisions
from drsvm.model.backends import ForCard, backend_of, engine_of, to_numpy
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.model.reducers import Joined
from drsvm.model.result import Result

ENGINES = ("auto", "cpu", "gpu", "dask")


class FitData:
    """X, y and the weights of the rows, in arrays of numpy or scipy."""

    backend: Any = None
    share: float = 1.0  # of the spread of the rows that is not due to gross errors
    rough: Sequence[Any] = ()  # solutions of the problems, where the rule for the radius has found them

    def __init__(self, estimator, X, y, sample_weight):
        self.X, self.y = one_vs_rest.checked_rows(estimator, X, y)
        self.classes = one_vs_rest.classes_of(self.y, estimator)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, self.X, dtype=np.float64, ensure_non_negative=True)
        self.sample_weight, self.class_weight = sample_weight, estimator.class_weight
        one_vs_rest.check_that_every_class_counts(self.y, self.classes, sample_weight)
        self._weigh(self.class_weight)
        one_vs_rest.check_that_every_class_counts(self.y, self.classes, self.weights)

    @cached_property
    def class_factors(self) -> np.ndarray:
        """The weights of the classes."""
        return self._factors_for(self.class_weight)

    def equalise(self, share: float) -> None:
        """Weigh the classes by a share of the way from class_weight="auto" to "balanced"."""
        self.class_factors = self._factors_for("auto") ** (1.0 - share) * self._factors_for("balanced") ** share
        self._weigh(dict(zip(self.classes.tolist(), self.class_factors.tolist(), strict=True)))

    def _factors_for(self, class_weight) -> np.ndarray:
        return one_vs_rest.factors_of_classes(class_weight, self.classes, self.y, self.sample_weight)

    def _weigh(self, class_weight) -> None:
        """Set the weights of the rows."""
        self.weights = one_vs_rest.weights_of_rows(self.X, self.y, self.classes, class_weight, self.sample_weight)

    def judged(self, problems: list[Problem], results: list[Result], at_centre, cv, time, unseen: bool) -> Unseen:
        """Return decisions of rows, with the numbers of rows that they count for without class weights."""
        return unseen_decisions(problems, results, at_centre, self._counted, cv, time, unseen, self.rough)

    def _counted(self, problem: Problem) -> np.ndarray:
        counts = np.ones(problem.n_given) if self.sample_weight is None else self.sample_weight
        return counts if problem.kept is None else counts[to_numpy(problem.kept)]

    def weighed(self, judged: Unseen) -> Unseen:
        """Return judged rows of two classes that also count by class weights, if these are given."""
        if self.class_weight is None or self.class_weight == "auto" or not len(judged.counts):
            return judged
        counts = judged.counts * self.class_factors[judged.labels]
        return judged._replace(counts=counts * (judged.counts.sum() / counts.sum()))

    def counts(self, index: int) -> Any:
        """Return how many rows each row counts for in the automatic radius of a problem; None: one."""
        return self.sample_weight

    def costs_by_class(self, costs: np.ndarray) -> Any:
        """Return a cost for every row, from one for every class."""
        return costs[np.searchsorted(self.classes, self.y)]

    def problems(self, ball: dict[str, Any]) -> list[Problem]:
        """Return one problem per class, or one for two classes; the price of the intercept may be "auto"."""
        return one_vs_rest.binary_problems(self.X, self.y, self.classes, self.weights, **ball)


class RemoteFit(FitData):
    """Rows on a cluster or on a graphics card; what has one entry per row stays with them."""

    def __init__(self, estimator, X, y, sample_weight):
        self.backend = backend_of(X)
        self.X, self.y = self.backend.with_labels(X, y)
        self.name_features(estimator)
        self.classes = one_vs_rest.classes_of(self.backend.classes_of(self.y), estimator)
        self.sample_weight, self.class_weight = sample_weight, estimator.class_weight
        self.class_factors = np.ones(len(self.classes))
        if estimator.class_weight is not None:
            self.class_factors = self._factors_for(estimator.class_weight)
        self.first: Any = None  # of the problems

    def _factors_for(self, class_weight):
        masses = self.backend.masses_of_classes(self.y, self.classes, self.sample_weight)
        return one_vs_rest.factors_of_classes(class_weight, self.classes, self.classes, masses)

    def _weigh(self, class_weight):
        pass  # problems are weighed by the factors

    def name_features(self, estimator) -> None:
        """Store number and names of the features."""
        _check_feature_names(estimator, self.backend.named(self.X), reset=True)
        estimator.n_features_in_ = self.backend.n_features(self.X)

    def judged(self, problems, results, at_centre, cv, time, unseen):
        if len(problems) == 1:
            return super().judged(problems, results, at_centre, cv, time, unseen)
        # A sample of every class, judged by the classifiers themselves: the problems keep their labels apart.
        few, labels, counts = self.drawn(problems, MAX_FETCHED)
        decisions = np.column_stack([few.decision_values(each.weights, each.intercept) for each in results])
        return Unseen(decisions, labels, counts * (len(counts) / counts.sum()))

    def drawn(self, problems: list[Problem], size: int) -> tuple[Problem, np.ndarray, np.ndarray]:
        """Return some rows of every class, as those of a problem here, the places of their classes, and their counts.

        Together, the rows of a class count for all of its rows.
        """
        parts = []
        for label, mass in enumerate(self.backend.masses_of_classes(self.y, self.classes, self.sample_weight)):
            problem, sign = (problems[label], 1.0) if len(problems) > 1 else (problems[0], 2.0 * label - 1.0)
            few = problem.drawn_by_class(size // len(self.classes)).to_host(math.inf)
            own = np.flatnonzero(few.signs == sign)
            counts = few.sample_weight[own] * (mass / few.sample_weight[own].sum())
            parts.append(Joined((few.X[own], np.full(len(own), label), counts, few.flip_costs[own])))
        X, labels, counts, costs = sum(parts[1:], parts[0])
        data = {"signs": np.where(labels > 0, 1.0, -1.0), "sample_weight": counts / counts.sum(), "flip_cost": costs}
        return Problem.of_checked(rows=MemoryRows(X), classes=self.classes, **data), labels, counts

    def _counted(self, problem):
        counts = problem.sample_weight / self.class_factors[(problem.signs > 0).astype(int)]
        return counts * (problem.n_rows / counts.sum())

    def counts(self, index):
        if self.sample_weight is None:
            return None
        label = one_vs_rest.positive_labels(self.classes)[index]
        given = self.y, self.classes, self._is(label), self._factors(label), self.sample_weight
        return self.backend.counts_for_radius(self.first, *given)

    def costs_by_class(self, costs):
        return self.backend.by_class(self.y, self.classes, costs)

    def problems(self, ball):
        labels = one_vs_rest.positive_labels(self.classes)
        free = {**ball, "intercept_cost": math.inf}
        neutral: Any = Problem(self.X, self._is(labels[0]), sample_weight=self._weights(self.class_factors), **free)
        self.first = neutral = prices.with_intercept_cost(neutral, ball["intercept_cost"])
        if len(self.classes) == 2:
            return [neutral]
        return [neutral.relabelled(self._is(label), self._weights(self._factors(label))) for label in labels]

    def _is(self, label) -> Any:
        return self.backend.by_class(self.y, self.classes, self.classes == label)

    def _factors(self, label) -> np.ndarray:
        """Return how many times its given weight a row has in the problem of a label, by its class."""
        factors = one_vs_rest.side_weights(self.classes, label, self.classes, self.class_factors)
        return self.class_factors if factors is None else factors

    def _weights(self, factors: np.ndarray) -> Any:
        if (factors == 1.0).all():
            return self.sample_weight
        return self.backend.by_class(self.y, self.classes, factors, self.sample_weight)


def fit_data(estimator, X, y, sample_weight) -> FitData:
    """Return the data of a fit where the estimator's engine wants them."""
    X = on_engine(X, estimator.engine)
    return (FitData if backend_of(X) is None else RemoteFit)(estimator, X, y, sample_weight)


def check_remote_features(estimator, X) -> None:
    """Raise an error if rows on a cluster or a card do not have the features of the fit."""
    backend: Any = backend_of(X)
    _check_feature_names(estimator, backend.named(X), reset=False)
    found = backend.n_features(X)
    if found != estimator.n_features_in_:
        raise ValueError(
            f"X has {found} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def remote_decisions(estimator, X) -> Any:
    """Return the decision values of rows on a cluster or a card, where they are."""
    check_remote_features(estimator, X)
    backend: Any = backend_of(X)
    coef = estimator.coef_.toarray() if sparse.issparse(estimator.coef_) else estimator.coef_  # after `sparsify`
    coef, intercept = (coef[0], float(estimator.intercept_[0])) if len(coef) == 1 else (coef, estimator.intercept_)
    return backend.decision_values(X, coef, intercept)


def on_engine(X, engine: str) -> Any:
    """Return X where an engine works: by default where it is."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got engine={engine!r}.")
    at = engine_of(X)
    if engine in ("auto", at):
        return X
    if engine == "gpu" and at == "cpu":
        return ForCard(X)
    remedies = {
        ("cpu", "gpu"): "bring X here first, for instance with X.get(), or use engine='auto'",
        ("cpu", "dask"): "compute X first (X.compute()), or use engine='auto'",
        ("dask", "cpu"): "pass a Dask collection, for instance dask.array.from_array(X, chunks=(100_000, -1))",
        ("dask", "gpu"): "pass a Dask collection of rows in main memory, or use engine='auto'",
        ("gpu", "dask"): "compute X first (X.compute()) if it fits into memory, or use engine='dask'",
    }
    raise ValueError(f"engine={engine!r} does not take X of type {type(X).__name__}: {remedies[engine, at]}.")
