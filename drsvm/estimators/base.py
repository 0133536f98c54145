"""What the estimators have in common: scikit-learn's classes, and the link to their documentation."""

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from drsvm.defaults.one_vs_rest import towards_majority
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.probability import (
    check_calibration,
    decision_at,
    log_probabilities,
    probabilities,
)
from drsvm.defaults.threshold import Goal, choose_threshold, goal_of, sigmoids_of
from drsvm.estimators.callbacks import with_callbacks
from drsvm.estimators.diagnostics import report_outcome, warn_of_large_budgets
from drsvm.estimators.fit_data import RemoteFit
from drsvm.estimators.scores import predictions
from drsvm.estimators.solving import FitTask, solve_equalised
from drsvm.problem.backends import backend_of
from drsvm.problem.result import Result, Results
from drsvm.solvers.base import Solver
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.clock import TimeLimit
from drsvm.utils.parallel import single_threaded_blas
from drsvm.utils.progress import following, lines, stage

Estimator = TypeVar("Estimator")

# Scikit-learn has no types, and of dataclasses with unknown bases no parameter would be
# checked
if TYPE_CHECKING:
    from drsvm.defaults.binary_problems import Solved
    from drsvm.estimators.fit_data import FitData
    from drsvm.solvers.paper.incremental.block_fit import BlockFit

    class BaseEstimator:  # noqa: D101
        classes_: np.ndarray
        coef_: Matrix
        intercept_: np.ndarray
        threshold_: float
        sigmoids_: np.ndarray
        result_: Result | Results | None

        def decision_function(self, X: Matrix) -> Vector: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    class ClassifierMixin(BaseEstimator): ...  # noqa: D101

    class LinearClassifierMixin(BaseEstimator): ...  # noqa: D101

    class SparseCoefMixin(BaseEstimator): ...  # noqa: D101

    class CallbackSupportMixin(BaseEstimator): ...  # noqa: D101
else:
    from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: F401  # the latter for kernels
    from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin

    from drsvm.estimators.callbacks import CallbackSupportMixin


def shown_as_documented(estimator: type[Estimator]) -> type[Estimator]:
    """Let the signature have the order of the docstring.

    Without this, inherited parameters come first.
    """
    section = (
        (inspect.getdoc(estimator) or "")
        .partition("Parameters\n")[2]
        .partition("Attributes\n")[0]
    )
    order = re.findall(
        r"\w+", " ".join(re.findall(r"^(\w[\w, ]*)(?= :|$)", section, re.MULTILINE))
    )
    parameters = inspect.signature(estimator).parameters.values()
    shown = sorted(parameters, key=lambda each: [*order, each.name].index(each.name))
    estimator.__signature__ = inspect.Signature(shown)  # pyright: ignore[reportAttributeAccessIssue]
    return estimator


def _is_calibrated(estimator) -> bool:
    if estimator.calibration is None:
        raise AttributeError(
            "There are probabilities with calibration='sigmoid' only: give it, and fit."
        )
    return True


@dataclass(eq=False, repr=False, kw_only=True)
class CommonMixin(CallbackSupportMixin):
    """Shared parameters, probabilities, dense and sparse data, and a link to the documentation."""

    fit_intercept: bool = True
    feature_cost: Any = None
    class_weight: Mapping[Any, float] | Literal["auto", "balanced"] | None = "auto"
    cv: Any = None
    calibration: Literal["sigmoid"] | None = None
    tol: float | None = None
    max_iter: int | None = None
    max_time: float | TimeLimit | None = None
    random_state: int | np.random.Generator | None = None
    verbose: int = 0
    n_jobs: int | None = None

    _doc_link_module = "drsvm"

    @property
    def _doc_link_template(self) -> str:
        """The page of the estimator in the published documentation.

        "" if the package does not say where that is.
        """
        try:
            urls = metadata.metadata("drsvm").get_all("Project-URL") or []
        except metadata.PackageNotFoundError:
            return ""
        pages = (
            dict(url.split(", ", 1) for url in urls)
            .get("Documentation", "")
            .rstrip("/")
        )
        return pages and f"{pages}/generated/drsvm.{type(self).__name__}.html"

    def predict(self, X: Matrix) -> Labels:
        """Return the label of every row, of shape (n_samples,).

        For a Dask collection the labels are a Dask array, which is computed on demand;
        for an array on a graphics card, numeric labels are on the GPU too.
        """
        decisions = self.decision_function(X)
        backend = backend_of(X)
        if backend is None:
            return predictions(decisions, self.classes_)
        return backend.labels(decisions, self.classes_)

    @available_if(_is_calibrated)
    def predict_proba(self, X: Matrix) -> Matrix:
        """Return the probability of every class, of shape (n_samples, n_classes), with ``calibration="sigmoid"``.

        The largest one is that of the predicted class. Rows on a cluster or a GPU have
        theirs there.
        """
        return self._by_row(probabilities, X)

    @available_if(_is_calibrated)
    def predict_log_proba(self, X: Matrix) -> Matrix:
        """Return the logarithms of the probabilities, of shape (n_samples, n_classes)."""
        return self._by_row(log_probabilities, X)

    def _by_row(
        self, function: Callable[[np.ndarray, np.ndarray], np.ndarray], X
    ) -> np.ndarray:
        decisions = self.decision_function(X)
        if not hasattr(self, "sigmoids_"):
            raise NotFittedError(
                f"This {type(self).__name__} has no probabilities, because its fit had no calibration or was "
                "interrupted: fit it again."
            )
        backend = backend_of(X)
        if backend is None:
            return function(decisions, self.sigmoids_)
        return backend.by_row(function, decisions, self.sigmoids_, len(self.classes_))

    def _decision_at(self, odds: float) -> float:
        """Return from which decision on the second of two classes has these log-odds, for `audit.model_layers`."""
        return decision_at(odds, *self.sigmoids_[0].tolist())

    @property
    def certified_intercept_(self) -> Vector:
        """The intercept to which the certificate refers: that of the problem, before the threshold was placed."""
        return self.intercept_ + self.threshold_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.sparse = True
        return tags

    def _store(self, data: Any, solved: "Solved") -> None:
        """Store what all classifiers have, with the intercept of the optimum."""
        problems = solved.posed.problems
        results = solved.results
        self.intercept_ = towards_majority(
            problems, solved.weights, np.array([r.intercept for r in results])
        )
        self.radius_ = solved.ball.radius
        self.l2_ = solved.ball.l2
        self.intercept_cost_ = problems[0].intercept_cost
        self.class_factors_ = data.class_factors
        self.threshold_ = 0.0
        self.__dict__.pop("sigmoids_", None)  # of an earlier fit
        self.n_iter_ = max([result.n_iter for result in results])
        if len(results) == 1:
            self.result_ = results[0]
        else:
            self.result_ = Results(results, data.classes.tolist())
        self._store_certificate(results)

    def _unseen(
        self, data: "FitData", solved: "Solved", moves: bool, time: TimeLimit
    ) -> OutOfFoldDecisions | None:
        """Return decisions about rows that the classifier has not seen, if something can be placed by them."""
        if (
            not (moves or self.calibration)
            or solved.cut_short
            or solved.are_constant
            or time.over
        ):
            return None
        with stage("placing the threshold"):
            return data.unseen(solved, self.cv, time, out_of_fold=True)

    def _place(
        self, goal: Goal, data: "FitData", solved: "Solved", time: TimeLimit
    ) -> None:
        """Place the threshold, if there are two classes, an intercept and enough time, and fit the sigmoids."""
        moves = (
            goal != "optimum"
            and len(solved.results) == 1
            and self.fit_intercept
            and not time.over
        )
        unseen = self._unseen(data, solved, moves, time)
        if moves and unseen is not None:
            self.threshold_ = choose_threshold(
                data.weighed(unseen) if isinstance(goal, str) else unseen, goal
            )
            self.intercept_ = self.intercept_ - self.threshold_
        if self.calibration and not solved.cut_short:
            self.sigmoids_ = sigmoids_of(
                data, solved, self.cv, time, self.threshold_, unseen
            )

    def _store_certificate(self, runs: "Sequence[Result | BlockFit]") -> None:
        """Store what is proven: a number for two classes, otherwise an array.

        NaN where nothing is.
        """
        for name in ("objective", "lower_bound", "gap", "radius_price"):
            values = [float(getattr(run, name, math.nan)) for run in runs]
            setattr(self, f"{name}_", values[0] if len(runs) == 1 else np.array(values))


@dataclass(eq=False, repr=False, kw_only=True)
class FitMixin(CommonMixin):
    """A fit of one classifier, from the data to the warnings at the end."""

    radius: float | Literal["auto"] = "auto"
    flip_cost: float | Mapping[Any, float] = math.inf
    l2: float | Literal["auto"] = "auto"
    intercept_cost: float | Literal["auto"] = "auto"
    threshold: (
        Literal["accuracy", "balanced_accuracy", "optimum"] | Mapping[Any, float]
    ) = "accuracy"
    engine: Literal["auto", "cpu", "gpu", "dask"] = "auto"

    if TYPE_CHECKING:

        def _data(self, X, y, sample_weight) -> FitData: ...
        def _solved(
            self, data: Any, flip_cost, task: FitTask, time: TimeLimit
        ) -> Solved: ...

    @with_callbacks
    def fit(
        self,
        X: Matrix,
        y: Labels,
        sample_weight: Values = None,
        flip_cost: Values = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features; of a precomputed kernel its values.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; a weight of 0 removes the sample.
        flip_cost : array of shape (n_samples,), optional
            Cost of flipping the label of each sample, ``inf`` for verified ones. It
            replaces the parameter `flip_cost`.

        Returns
        -------
        self
            On Ctrl-C, the best classifier so far is stored before KeyboardInterrupt is
            raised.
        """
        time = TimeLimit.of(self.max_time)
        # Limiting BLAS takes a while, so it is done once for all the runs of a fit.
        with (
            following(lines(print), print) if self.verbose else nullcontext(),
            single_threaded_blas(),
        ):
            check_calibration(self.calibration)
            data = self._data(X, y, sample_weight)
            goal = goal_of(self.threshold, data.classes, self.fit_intercept)
            self.classes_ = data.classes
            self._flip_cost_by_row = flip_cost is not None
            automatic = (
                isinstance(self.class_weight, str) and self.class_weight == "auto"
            )
            task = FitTask(self, X, y, may_solve_again=automatic)
            solve_weighted = partial(self._solved, data, flip_cost, task, time)
            solved = solve_weighted()
            if automatic:
                solved = solve_equalised(solved, data, solve_weighted, time)
            else:
                solved = solved
            warn_of_large_budgets(solved.posed.problems, data.classes)
            self._store(data, solved)
            self._place(goal, data, solved, time)
            if isinstance(data, RemoteFit):
                self.intercept_ = data.like(self.intercept_)
            task.end()
            report_outcome(
                solved, goal, self.threshold_, data.classes, self.verbose, data.finished
            )
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class RobustClassifier(
    CommonMixin, LinearClassifierMixin, SparseCoefMixin, BaseEstimator
):
    """A linear classifier."""

    monotonic_cst: Any = None
    solver: str | Solver = "auto"
