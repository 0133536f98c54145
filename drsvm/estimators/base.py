"""What all classifiers share: the steps of a fit, predictions and probabilities."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from drsvm.defaults.binary_problems import Solved
from drsvm.defaults.fit_data import FitData
from drsvm.defaults.one_vs_rest import predictions, towards_majority
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.probability import (
    check_calibration,
    decision_at,
    fitted_sigmoids,
    log_probabilities,
    probabilities,
)
from drsvm.defaults.threshold import Goal, choose_threshold, goal_of
from drsvm.estimators.callbacks import (
    CallbackSupportMixin,
    FitCallbacks,
    with_callbacks,
)
from drsvm.estimators.diagnostics import (
    FINISHED,
    Statuses,
    report_outcome,
    warn_of_large_budgets,
    warn_of_overconfidence,
)
from drsvm.estimators.solving import is_constant
from drsvm.problem.backends import backend_of
from drsvm.problem.result import Results
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.clock import TimeLimit
from drsvm.utils.parallel import single_threaded_blas
from drsvm.utils.progress import following, lines, stage

# From automatic class weights to balanced ones: each step is a fit
STEPS = 5
CERTIFICATE = ("objective", "lower_bound", "gap", "radius_price")


def _is_calibrated(estimator) -> bool:
    if estimator.calibration is None:
        raise AttributeError(
            "There are probabilities with calibration='sigmoid' only: give it, and fit."
        )
    return True


class CommonMixin(CallbackSupportMixin):
    """Predictions and probabilities, and a link to the documentation.

    The rows may be in this process's memory, on a cluster or on a GPU.
    """

    # What the estimators have, for type checkers: in the class itself, the method would
    # take precedence over that of scikit-learn's mixin.
    if TYPE_CHECKING:
        calibration: Literal["sigmoid"] | None
        classes_: np.ndarray
        intercept_: Vector
        sigmoids_: np.ndarray
        threshold_: float

        def decision_function(self, X: Matrix) -> Vector: ...

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
        for url in urls:
            name, address = url.split(", ", 1)
            if name == "Documentation":
                page = f"generated/drsvm.{type(self).__name__}.html"
                return f"{address.rstrip('/')}/{page}"
        return ""

    def predict(self, X: Matrix) -> Labels:
        """Return the label of every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
            The labels. For a Dask collection they are a Dask array, which is computed
            on demand; for an array on a GPU, numeric labels are on the GPU too.
        """
        decisions = self.decision_function(X)
        backend = backend_of(X)
        if backend is None:
            return predictions(decisions, self.classes_)
        return backend.labels(decisions, self.classes_)

    @available_if(_is_calibrated)
    def predict_proba(self, X: Matrix) -> Matrix:
        """Return the probability of every class, with ``calibration="sigmoid"``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, where X is. The largest one of a row is that of the
            predicted class.
        """
        return self._by_row(probabilities, X)

    @available_if(_is_calibrated)
    def predict_log_proba(self, X: Matrix) -> Matrix:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The logarithms, where X is.
        """
        return self._by_row(log_probabilities, X)

    def _by_row(
        self, function: Callable[[np.ndarray, np.ndarray], np.ndarray], X: Matrix
    ) -> np.ndarray:
        decisions = self.decision_function(X)
        if not hasattr(self, "sigmoids_"):
            raise NotFittedError(
                f"This {type(self).__name__} has no probabilities, because its fit had "
                "no calibration or was interrupted: fit it again."
            )
        backend = backend_of(X)
        if backend is None:
            return function(decisions, self.sigmoids_)
        return backend.by_row(function, decisions, self.sigmoids_, len(self.classes_))

    def _decision_at(self, odds: float) -> float:
        """Return from which decision on the second of two classes has these log-odds.

        It is used by `audit.model_layers`.
        """
        return decision_at(odds, *self.sigmoids_[0].tolist())

    @property
    def certified_intercept_(self) -> Vector:
        """The intercept to which the certificate refers.

        It is that of the problem, before the threshold was placed.
        """
        return self.intercept_ + self.threshold_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.sparse = True
        return tags

    def _store_certificate(self, runs: Sequence[Any]) -> None:
        """Store what is proven: a number for two classes, otherwise an array.

        NaN where nothing is.
        """
        for name in CERTIFICATE:
            values = [float(getattr(run, name, np.nan)) for run in runs]
            if len(values) == 1:
                setattr(self, f"{name}_", values[0])
            else:
                setattr(self, f"{name}_", np.array(values))


class FitMixin(CommonMixin):
    """A fit of one classifier, from the data to the warnings at the end.

    A class says how its data are checked (`_check_data`), how its problems are posed
    and solved (`_solve`), and what makes its classifier (`_store_classifier`).
    """

    if TYPE_CHECKING:
        class_weight: Any
        cv: Any
        fit_intercept: bool
        flip_cost: Any
        max_time: float | TimeLimit | None
        threshold: str | Mapping[Any, float]
        verbose: int

        def _check_data(self, X, y, sample_weight, flip_cost) -> FitData: ...
        def _solve(
            self, data: FitData, callbacks: FitCallbacks, time: TimeLimit
        ) -> Solved: ...
        def _store_classifier(self, data: FitData, solved: Any) -> None: ...

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
        progress = following(lines(print), print) if self.verbose else nullcontext()
        # Limiting BLAS takes a while, so it is done once for all the runs of a fit.
        with progress, single_threaded_blas():
            check_calibration(self.calibration)
            self._flip_cost_by_row = flip_cost is not None
            if flip_cost is None:
                flip_cost = self.flip_cost
            data = self._check_data(X, y, sample_weight, flip_cost)
            self.classes_ = data.classes
            goal = goal_of(self.threshold, data.classes, self.fit_intercept)
            automatic = data.has_automatic_weights
            callbacks = FitCallbacks(self, X, y, may_solve_again=automatic)
            solved = self._solve(data, callbacks, time)
            if automatic:
                data, solved = self._solve_again(data, solved, callbacks, time)
            warn_of_large_budgets(solved.problems.given, data.classes)
            # Stored before the threshold is placed, in case of Ctrl-C
            self._store(data, solved)
            self._store_classifier(data, solved)
            unseen = self._unseen_decisions(data, solved, goal, time)
            self._place_threshold(data, goal, unseen)
            self._fit_sigmoids(data, solved, unseen, time)
            self.intercept_ = data.like(self.intercept_)
            callbacks.end()
            report_outcome(
                solved,
                goal,
                self.threshold_,
                data.classes,
                self.verbose,
                self._finished_statuses(),
            )
        return self

    def _finished_statuses(self) -> Statuses:
        """Return the statuses of runs that need no warning."""
        return FINISHED

    def _solve_again(
        self, data: FitData, solved: Solved, callbacks: FitCallbacks, time: TimeLimit
    ) -> tuple[FitData, Solved]:
        """Solve with other class weights if the classifier is constant.

        Wrong labels make the rarer class larger, and each of its rows less certain:
        half-way weights may then no longer outweigh the other class anywhere, so that
        the optimum is constant whatever the radius. The weights that are used are no
        closer to balanced ones than needed. If none help, they are the automatic ones.
        """
        if not is_constant(solved) or time.over:
            return data, solved
        balanced = data.closer_to_balance(1.0)
        if np.allclose(data.class_factors, balanced.class_factors):
            return data, solved
        most = self._solve(balanced, callbacks, time)
        if is_constant(most):
            return data, solved
        if not most.results[0].status.reached:  # interrupted, or no time
            return balanced, most
        for step in range(1, STEPS):
            closer = data.closer_to_balance(step / STEPS)
            found = self._solve(closer, callbacks, time)
            if not is_constant(found):  # nor if it was interrupted
                return closer, found
        return balanced, most

    def _store(self, data: FitData, solved: Solved) -> None:
        """Store what all classifiers have, with the intercept of the optimum."""
        problems = solved.problems
        results = solved.results
        intercepts = np.array([result.intercept for result in results])
        self.intercept_ = towards_majority(problems.given, solved.weights, intercepts)
        self.radius_ = problems.radius
        self.l2_ = problems.l2
        self.intercept_cost_ = problems.given[0].intercept_cost
        self.class_factors_ = data.class_factors
        self.threshold_ = 0.0
        self.__dict__.pop("sigmoids_", None)  # of an earlier fit
        self.n_iter_ = max([result.n_iter for result in results])
        if len(results) == 1:
            self.result_ = results[0]
        else:
            self.result_ = Results(results, data.classes.tolist())
        self._store_certificate(results)

    def _unseen_decisions(
        self, data: FitData, solved: Solved, goal: Goal, time: TimeLimit
    ) -> OutOfFoldDecisions | None:
        """Return decisions about rows that the classifier has not seen.

        None if nothing can be placed by them.
        """
        moves = self._threshold_moves(goal, len(solved.results))
        if not (moves or self.calibration) or solved.cut_short:
            return None
        if solved.are_constant or time.over:
            return None
        with stage("placing the threshold"):
            return data.out_of_fold(solved, self.cv, time)

    def _threshold_moves(self, goal: Goal, n_problems: int) -> bool:
        return goal != "optimum" and n_problems == 1 and self.fit_intercept

    def _place_threshold(
        self, data: FitData, goal: Goal, unseen: OutOfFoldDecisions | None
    ) -> None:
        if unseen is None or not self._threshold_moves(goal, unseen.decisions.shape[1]):
            return
        if isinstance(goal, str):
            unseen = data.with_given_weights(unseen)
        self.threshold_ = choose_threshold(unseen, goal)
        self.intercept_ = self.intercept_ - self.threshold_

    def _fit_sigmoids(
        self,
        data: FitData,
        solved: Solved,
        unseen: OutOfFoldDecisions | None,
        time: TimeLimit,
    ) -> None:
        """Fit the sigmoids of probabilities.

        Without decisions about unseen rows, they are fitted to the training rows.
        """
        if self.calibration is None or solved.cut_short:
            return
        if unseen is None or not len(unseen.labels):
            unseen = data.out_of_fold(solved, self.cv, time, unseen=False)
            if not solved.are_constant and time.over:
                warn_of_overconfidence()
        moved = unseen._replace(decisions=unseen.decisions - self.threshold_)
        self.sigmoids_ = fitted_sigmoids(moved, len(data.classes))
