"""What all classifiers share: the steps of a fit, predictions and probabilities."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
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
    warn_of_undecided_class,
)
from drsvm.estimators.parameters import check_single_parameters
from drsvm.estimators.solving import optimum_is_constant
from drsvm.problem.backends import backend_of
from drsvm.problem.result import Results
from drsvm.problem.validation import check_number
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.clock import TimeLimit
from drsvm.utils.parallel import single_threaded_blas
from drsvm.utils.progress import following, lines, stage

# From automatic class weights to balanced ones: each step is a fit, so there are few
STEPS = 5
# Attributes of a result that a fitted classifier has as well, with "_" at the end
CERTIFICATE = ("objective", "lower_bound", "gap", "radius_price")


def _is_calibrated(estimator) -> bool:
    if estimator.calibration is None:
        raise AttributeError(
            "There are probabilities with calibration='sigmoid' only: give it, and fit."
        )
    return True


def without_single_column(values: np.ndarray) -> np.ndarray:
    """Return decision values as scikit-learn does: of shape (n,) for two classes."""
    if values.shape[1] == 1:
        return values.ravel()
    return values


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
        return self._of_decisions(probabilities, X)

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
        return self._of_decisions(log_probabilities, X)

    def _of_decisions(
        self, function: Callable[[np.ndarray, np.ndarray], np.ndarray], X: Matrix
    ) -> np.ndarray:
        """Return a function of decision values and sigmoids, where X is."""
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
        """Return the decision value at which the second class has these log-odds.

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

        It is NaN where nothing is proven, as of the runs of `partial_fit`.
        """
        for name in CERTIFICATE:
            values = [float(getattr(run, name, np.nan)) for run in runs]
            if len(values) == 1:
                setattr(self, f"{name}_", values[0])
            else:
                setattr(self, f"{name}_", np.array(values))


class FitMixin(CommonMixin, ABC):
    """A fit of one classifier, from the data to the warnings at the end.

    A class says how its data are checked (`_check_data`), how its problems are posed
    and solved (`_solve`), and what makes its classifier (`_store_classifier`).
    """

    # Parameters of the estimators, for type checkers
    if TYPE_CHECKING:
        cv: Any
        fit_intercept: bool
        flip_cost: Any
        max_time: float | TimeLimit | None
        row_radius: float
        threshold: str | Mapping[Any, float]
        verbose: int

    @abstractmethod
    def _check_data(self, X, y, sample_weight, flip_cost) -> FitData:
        """Return the data of a fit, checked, with the flip costs that apply."""

    @abstractmethod
    def _solve(self, data: FitData, callbacks: FitCallbacks, time: TimeLimit) -> Solved:
        """Return the problems, with radius and ridge, and their results."""

    @abstractmethod
    def _store_classifier(self, data: FitData, solved: Any) -> None:
        """Store the attributes of the decision function, besides the intercept."""

    @with_callbacks
    def fit(
        self,
        X: Matrix,
        y: Labels,
        sample_weight: Values = None,
        flip_cost: Values = None,
        row_radius: Values = None,
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
        row_radius : array of shape (n_samples,), optional
            How far each sample may shift on its own, or one number. It replaces the
            parameter `row_radius`.

            .. versionadded:: 1.0.0rc2

        Returns
        -------
        self
            On Ctrl-C, the best classifier so far is stored before KeyboardInterrupt is
            raised.
        """
        check_single_parameters(self)
        time = TimeLimit.of(self.max_time)
        progress = following(lines(print), print) if self.verbose else nullcontext()
        # Limiting BLAS takes a while, so it is done once for all the runs of a fit.
        with progress, single_threaded_blas():
            # 1. Check the data, and what the threshold is to be placed for.
            check_calibration(self.calibration)
            self._flip_cost_by_row = flip_cost is not None
            if flip_cost is None:
                flip_cost = self.flip_cost
            data = self._check_data(X, y, sample_weight, flip_cost)
            data = replace(data, row_radius=self._given_row_radius(row_radius))
            # For audits; only `fit` knows radii of single rows.
            is_one = np.ndim(data.row_radius) == 0
            self._row_radius = data.row_radius if is_one else None
            data = self._prepared(data)
            self.classes_ = data.classes
            goal = goal_of(self.threshold, data.classes, self.fit_intercept)
            # 2. Pose the problems of the classes, choose radius and ridge, and solve.
            automatic = data.has_automatic_weights
            callbacks = FitCallbacks(self, X, y, may_solve_again=automatic)
            solved = self._solve(data, callbacks, time)
            if automatic:
                data, solved = self._solve_again(data, solved, callbacks, time)
            warn_of_large_budgets(solved.problems.given, data.classes)
            # 3. Store the classifier with the intercept of the optimum, to which the
            # certificate refers: Ctrl-C may come during the next steps.
            self._store(data, solved)
            self._store_classifier(data, solved)
            # 4. Place the threshold by decisions about rows that are new to it.
            unseen = self._unseen_decisions(data, solved, goal, time)
            self.threshold_ = self._best_threshold(data, solved, goal, unseen, time)
            self.intercept_ = data.like(self.intercept_ - self.threshold_)
            # 5. Fit the sigmoids of probabilities to the same decisions.
            if self.calibration is not None and not solved.cut_short:
                self.sigmoids_ = self._fitted_sigmoids(data, solved, unseen, time)
            # 6. Say what has been reached.
            callbacks.end()
            report_outcome(
                solved,
                goal,
                self.threshold_,
                data.classes,
                self.verbose,
                self._finished_statuses(),
                time,
            )
        return self

    def _given_row_radius(self, row_radius: Values) -> Any:
        """Return how far each row may shift on its own."""
        if row_radius is None:
            return check_number(self.row_radius, "row_radius")
        return row_radius

    def _prepared(self, data: FitData) -> FitData:
        """Return checked data, with their radii, as the problems take them."""
        return data

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
        if not optimum_is_constant(solved) or time.over:
            return data, solved
        balanced = data.closer_to_balance(1.0)
        if np.allclose(data.class_factors, balanced.class_factors):
            return data, solved
        # Balanced weights first: if not even these help, no others do.
        solved_balanced = self._solve(balanced, callbacks, time)
        if optimum_is_constant(solved_balanced):
            return data, solved
        # The run was interrupted, or the time is up.
        if not solved_balanced.results[0].status.reached:
            return balanced, solved_balanced
        for step in range(1, STEPS):
            if time.over:
                break
            closer = data.closer_to_balance(step / STEPS)
            solved_closer = self._solve(closer, callbacks, time)
            # What was interrupted does not count as constant either, and ends this.
            if not optimum_is_constant(solved_closer):
                return closer, solved_closer
        return balanced, solved_balanced

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
        # Those of an earlier fit belong to another classifier.
        vars(self).pop("sigmoids_", None)
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

        None if they are not needed, or if nothing can be placed by them.
        """
        are_needed = self._moves_threshold(goal, solved) or self.calibration
        if not are_needed or solved.cut_short:
            return None
        # All rows have the same decision value, or there is no time for folds.
        if solved.are_constant or time.over:
            return None
        with stage("placing the threshold"):
            return data.out_of_fold(solved, self.cv, time)

    def _moves_threshold(self, goal: Goal, solved: Solved) -> bool:
        """Return whether a threshold is placed: of two classes, with an intercept."""
        return goal != "optimum" and len(solved.results) == 1 and self.fit_intercept

    def _best_threshold(
        self,
        data: FitData,
        solved: Solved,
        goal: Goal,
        unseen: OutOfFoldDecisions | None,
        time: TimeLimit,
    ) -> float:
        """Return the decision value at which the classes meet, 0 if none is placed."""
        if unseen is None or not self._moves_threshold(goal, solved):
            return 0.0
        # Class weights of the user count in a score. Costs replace them.
        if isinstance(goal, str):
            unseen = data.with_given_weights(unseen)
        if not time.over:
            warn_of_undecided_class(unseen, data.classes)
        return choose_threshold(unseen, goal)

    def _fitted_sigmoids(
        self,
        data: FitData,
        solved: Solved,
        unseen: OutOfFoldDecisions | None,
        time: TimeLimit,
    ) -> np.ndarray:
        """Return slope and offset of the sigmoid of every decision.

        Without decisions about unseen rows, those about training rows are used.
        """
        if unseen is None or not len(unseen.labels):
            unseen = data.out_of_fold(solved, self.cv, time, unseen=False)
            if not solved.are_constant and time.over:
                warn_of_overconfidence()
        # Probabilities are functions of the values that `decision_function` returns.
        moved = unseen._replace(decisions=unseen.decisions - self.threshold_)
        return fitted_sigmoids(moved, len(data.classes))
