"""`WassersteinSVCCV`: a radius and other parameters, chosen by cross-validation.

X, y → settings × folds → one radius path each → scores → the chosen parameters → one
fit on all rows

A setting consists of all parameters but the radius. Its radii are the same in all
folds.
"""

import math
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import product
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils.validation import check_is_fitted

from drsvm.defaults.binary_problems import BinaryProblems
from drsvm.defaults.costs import intercept_cost_or_auto, number_or_auto
from drsvm.defaults.fit_data import FitData
from drsvm.defaults.folds import N_FOLDS, splits
from drsvm.defaults.one_vs_rest import is_constant
from drsvm.defaults.probability import check_calibration
from drsvm.defaults.regularisation import regularised_by_rule
from drsvm.defaults.threshold import goal_of
from drsvm.estimators.base import CommonMixin
from drsvm.estimators.callbacks import with_callbacks
from drsvm.estimators.checks import checked_data, without_gross_errors
from drsvm.estimators.cross_validation import (
    CV_TOL,
    N_RADII,
    Fold,
    PathScores,
    Setting,
    checked_scorer,
    default_radii,
    listed,
    results_table,
    score_path,
    warn_of_paths,
)
from drsvm.estimators.linear import WassersteinSVC
from drsvm.estimators.parameters import (
    check_single_parameters,
    feature_costs,
    feature_parameters,
)
from drsvm.estimators.selection_rules import (
    ROUNDING,
    SELECTION_RULES,
    automatic,
    in_setting_of,
    weighs_classes_equally,
)
from drsvm.problem.norms import norm_for
from drsvm.problem.validation import (
    check_flip_cost,
    check_flip_costs,
    check_number,
    check_row_radius,
)
from drsvm.solvers.base import Solver, check_count
from drsvm.solvers.interior_point.small import are_few
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.arguments import about
from drsvm.utils.clock import TimeLimit
from drsvm.utils.parallel import spare_cores
from drsvm.utils.progress import capture_progress, following, stage
from drsvm.utils.user_warnings import warn_user


class WassersteinSVCCV(
    CommonMixin, LinearClassifierMixin, SparseCoefMixin, BaseEstimator
):
    """`WassersteinSVC` with radius and ridge chosen by cross-validation.

    Other parameters may be chosen, too.

    Every fold is solved along a path of decreasing radii, each solve starting from the
    previous solution. Standardise the features first.

    Parameters
    ----------
    radii : int or array, default=6
        The radii, or their number (None: 6): the automatic one (`drsvm.auto_radius`)
        and smaller ones, each half of the one before, separately for every norm.
    flip_costs : float or sequence, default=inf
        Costs of flipping a label.
    norms : {1, 2, inf} or sequence, default=2
        Norms in which shifts are measured.
    l2 : float, "auto" or sequence, default=("auto", 0.0)
        Ridges, see `WassersteinSVC`. The automatic one withstands wrong labels where
        classes overlap; without a ridge, a sharp rule on many weak columns is found.
    intercept_costs : float, "auto" or sequence, default="auto"
        Costs of the intercept, see `WassersteinSVC`.
    fit_intercept, feature_cost, monotonic_cst, calibration, solver, max_iter,
    random_state
        As in `WassersteinSVC`; max_iter limits each solve, and probabilities are those
        of the refit.
    class_weight : "auto", "balanced", dict or None, default="auto"
        Weights of the classes as in `WassersteinSVC`; "auto" is "balanced" if the score
        weighs the classes equally (``"balanced_accuracy"`` or a macro average).
    threshold : str or dict of costs, default="auto"
        "auto", "accuracy", "balanced_accuracy", "optimum" or costs: what the threshold
        of the refit is placed for, see `WassersteinSVC`. "auto": balanced accuracy if
        the score weighs the classes equally, otherwise accuracy.
    cv : int, splitter or iterable, optional
        As in scikit-learn; by default five stratified folds (fewer if no class has five
        samples).
    scoring : str or callable, optional
        As in scikit-learn; by default the accuracy.
    selection : {"auto", "one-standard-error", "best"} or callable, default="auto"
        The selection rule. "auto" prefers the automatic radius with the first of the
        other parameters. It selects something else only if the best mean score is ahead
        by more than one standard error of the difference between the two in the same
        folds; it then takes the radius nearest to the automatic one among those within
        one standard error of the best. "one-standard-error" takes the largest of these,
        "best" the best mean, which with wrong labels is often a lucky one
        (:doc:`/choosing`). A callable receives `cv_results_` and returns an index.
    refit : bool, default=True
        Whether to refit on all rows with the chosen parameters.
    row_radius : float or sequence, default=0
        How far every row may shift on its own, see `WassersteinSVC`; `fit` takes one
        per row. The accuracy counts no shifts: to choose between several, use
        ``scoring=certified_scorer(...)``, with ``threshold="optimum"``.

        .. versionadded:: 1.0.0rc2
    max_time : float, optional
        Time limit for `fit` in seconds. If it is too short for all folds, a
        ConvergenceWarning is issued, and only the completed ones have scores; if none
        was completed, the automatic radius is used, with the first of the other
        parameters. The refit, which always takes a step, has as much time as the paths
        of a fold.
    tol : float, optional
        Proven gap of the refit; in the folds it is 1e-4, or `tol` if that is larger (on
        few rows not proven, but that of a point on the central path).
    n_jobs : int, optional
        Number of paths solved in parallel, in separate processes; with `max_time` in
        threads, which start at once.
    verbose : int, default=0
        1: print a line for every path, and one when kernels are compiled for the first
        time; 2: also print a line for every certificate of the refit.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One entry per candidate: ``param_radius``, ``param_flip_cost``, ``param_norm``,
        ``param_l2``, ``param_intercept_cost``, ``param_row_radius``,
        ``param_class_weight``, ``params``, ``split<k>_test_score``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, ``mean_fit_time``,
        ``largest_gap``, ``auto_radius`` (of its setting) and ``constant_score`` (of
        always predicting the majority). It can be converted to a pandas DataFrame.
    best_index_, best_params_, best_score_ : int, dict, float
        Index and parameters of the chosen candidate, and its mean score.
    radius_, flip_cost_, norm_, l2_, intercept_cost_, row_radius_, class_weight_
        The chosen parameters. `flip_cost_` and `row_radius_` are None if `fit` took one
        per row; after the refit, `intercept_cost_` is a number.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, certified_intercept_, threshold_, sigmoids_, classes_, mean_
        As in `WassersteinSVC`, from the refit; likewise `n_features_in_` and
        `feature_names_in_`.
    objective_, lower_bound_, gap_, radius_price_, n_iter_, result_
        The certificate of the refit, as in `WassersteinSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from drsvm import ClippedScaler, WassersteinSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(ClippedScaler(), WassersteinSVCCV(radii=5)).fit(X, y)
    >>> bool(model[-1].best_score_ > 0.95)
    True
    """

    def __init__(
        self,
        radii: int | Sequence[float] | np.ndarray | None = N_RADII,
        *,
        flip_costs: float | Sequence[float] | np.ndarray = math.inf,
        norms: Any = 2,
        l2: Any = ("auto", 0.0),
        intercept_costs: Any = "auto",
        fit_intercept: bool = True,
        feature_cost: Any = None,
        monotonic_cst: Any = None,
        calibration: Literal["sigmoid"] | None = None,
        solver: str | Solver = "auto",
        max_iter: int | None = None,
        random_state: int | np.random.Generator | None = None,
        class_weight: Mapping[Any, float] | Literal["auto", "balanced"] | None = "auto",
        threshold: Literal["auto", "accuracy", "balanced_accuracy", "optimum"]
        | Mapping[Any, float] = "auto",
        cv: Any = None,
        scoring: str | Callable[..., Any] | None = None,
        selection: str | Callable[[dict[str, Any]], int] = "auto",
        refit: bool = True,
        max_time: float | TimeLimit | None = None,
        tol: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        row_radius: Any = 0.0,
    ):
        self.radii = radii
        self.flip_costs = flip_costs
        self.norms = norms
        self.l2 = l2
        self.intercept_costs = intercept_costs
        self.fit_intercept = fit_intercept
        self.feature_cost = feature_cost
        self.monotonic_cst = monotonic_cst
        self.calibration = calibration
        self.solver = solver
        self.max_iter = max_iter
        self.random_state = random_state
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.refit = refit
        self.max_time = max_time
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.row_radius = row_radius

    def decision_function(self, X: Matrix) -> Vector:
        """Return w·x + b of the refit for every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows, in this process's memory.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The values. The sign is the decision for two classes, otherwise the largest
            one decides.
        """
        if hasattr(self, "cv_results_") and not hasattr(self, "intercept_"):
            raise NotFittedError(
                f"This {type(self).__name__} has parameters but no classifier: fit "
                "with refit=True."
            )
        check_is_fitted(self)
        with about("X"):
            return super().decision_function(X)

    @with_callbacks
    def fit(
        self,
        X: Matrix,
        y: Labels,
        sample_weight: Values = None,
        groups: Labels = None,
        flip_cost: Values = None,
        row_radius: Values = None,
    ) -> Self:
        """Choose the parameters by cross-validation and fit the classifier.

        Parameters
        ----------
        X, y, sample_weight, flip_cost, row_radius
            As in `WassersteinSVC.fit`. Scores that accept weights use them, too;
            `flip_cost` and `row_radius` replace the parameters.
        groups : array of shape (n_samples,), optional
            Groups for a splitter that keeps them together.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt; during the refit, the best classifier so
            far is stored first.
        """
        with following(message=print) if self.verbose else nullcontext():
            self._fit(X, y, sample_weight, groups, flip_cost, row_radius)
        return self

    def _fit(self, X, y, sample_weight, groups, flip_cost, row_radius) -> None:
        """Do what `fit` does, once progress is followed."""
        # 1. Check parameters and data.
        check_single_parameters(self)
        time = TimeLimit.of(self.max_time)
        select = self._selection_rule()
        check_calibration(self.calibration)
        scorer = checked_scorer(self.scoring)
        self._forget_fit()
        class_weight = self.class_weight
        if class_weight == "auto" and weighs_classes_equally(self.scoring):
            class_weight = "balanced"
        data = checked_data(self, X, y, sample_weight, class_weight)
        self.classes_ = data.classes
        if self.threshold != "auto":
            # An error should not wait for the folds
            goal_of(self.threshold, self.classes_, self.fit_intercept)

        # 2. List the folds and the settings, each with its radii.
        folds = self._folds(data, groups)
        self.n_splits_ = len(folds)
        settings = self._settings(data, flip_cost, row_radius, time)

        # 3. Solve and score a path of radii for every fold and setting.
        n_paths = len(folds) * len(settings)
        context = self._init_callback_context(max_subtasks=n_paths + bool(self.refit))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        try:
            # The refit has as much time as the paths of a fold
            limit = time.share(1.0 + 1.0 / len(folds))
            outcomes = self._score_paths(data, folds, settings, scorer, context, limit)
        except BaseException:
            # Such as Ctrl-C: also stop the paths in other threads
            time.stop()
            raise
        self.cv_results_ = results_table(settings, outcomes)

        # 4. Choose by the scores.
        if np.isnan(self.cv_results_["mean_test_score"]).all():
            # There was no time for any fold
            select = automatic
        self._store_choice(int(select(self.cv_results_)))

        # 5. Fit to all rows.
        if self.refit:
            rows = (data.X, data.y, data.sample_weight, flip_cost, row_radius)
            self._refit(rows, context, TimeLimit(time.left()))
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, reconstruction_attributes={}
        )

    def _selection_rule(self) -> Callable[[dict[str, Any]], int]:
        """Return the function of `cv_results_` that chooses a candidate."""
        rule = self.selection
        if isinstance(rule, str):
            rule = SELECTION_RULES.get(rule)
        if not callable(rule):
            known = ", ".join(map(repr, SELECTION_RULES))
            raise ValueError(
                f"selection must be {known} or a callable, got "
                f"selection={self.selection!r}."
            )
        return rule

    def _forget_fit(self) -> None:
        """Delete the attributes of an earlier fit, which may have been another one."""
        for name in list(vars(self)):
            if name.endswith("_"):
                delattr(self, name)

    def _folds(self, data: FitData, groups) -> list[Fold]:
        """Return the folds, by default stratified ones."""
        cv = self.cv
        if cv is None:
            # scikit-learn refuses more folds than the largest class has rows.
            y = data.y
            if data.sample_weight is not None:
                y = y[data.sample_weight > 0.0]
            largest_class = np.unique(y, return_counts=True)[1].max()
            cv = min(N_FOLDS, max(2, int(largest_class)))
        parts = splits(cv, data.X, data.y, groups, data.sample_weight)
        return [Fold(number, *part) for number, part in enumerate(parts)]

    def _settings(
        self, data: FitData, flip_cost, row_radius, time: TimeLimit
    ) -> list[Setting]:
        """Return the grid of settings, each with its radii.

        The first one is what the selection starts from.
        """
        # 1. What is listed for each of the parameters
        norms = [norm_for(norm).p for norm in listed(self.norms, "norms")]
        if flip_cost is None:
            costs = listed(self.flip_costs, "flip_costs")
            flip_costs = [check_flip_cost(cost) for cost in costs]
        else:
            flip_costs = [check_flip_costs(flip_cost, len(data.y))]
        ridges = [number_or_auto(ridge, "l2") for ridge in listed(self.l2, "l2")]
        intercept_costs = []
        for cost in listed(self.intercept_costs, "intercept_costs"):
            intercept_costs.append(intercept_cost_or_auto(cost))
        # Without an intercept there is no cost to try.
        if not self.fit_intercept:
            intercept_costs = [math.inf]
        given_radii, n_radii = self._given_radii()
        row_radii = self._given_row_radii(row_radius, len(data.y))

        # 2. For every norm the automatic radius and ridge, from all rows
        data = without_gross_errors(self, data)
        settings = []
        for done, norm in enumerate(norms):
            common = {
                "norm": norm if np.isinf(norm) else int(norm),
                "fit_intercept": bool(self.fit_intercept),
                **feature_parameters(self),
            }
            # The rules look at the rows and the norm alone.
            problems = data.problems(
                common | {"l2": 0.0, "flip_cost": math.inf, "intercept_cost": "auto"}
            )
            rule = regularised_by_rule(
                BinaryProblems.at_centre(problems, in_span=True),
                "auto",
                "auto",
                self.solver,
                data,
                time.share(len(norms) - done),
            )
            radii = given_radii
            if radii is None:
                with about("radii"):
                    radii = default_radii(problems, n_radii, rule.radius)
            # 3. All combinations of the others. The first of each is in the first
            # setting.
            grid = product(flip_costs, ridges, intercept_costs, row_radii)
            for cost, ridge, intercept_cost, shift in grid:
                parameters = {
                    **common,
                    "flip_cost": cost,
                    "l2": rule.l2 if ridge is None else ridge,
                    "intercept_cost": intercept_cost,
                    "row_radius": shift,
                }
                settings.append(
                    Setting(data.class_weight, parameters, radii, rule.radius)
                )
        return settings

    def _given_radii(self) -> tuple[np.ndarray | None, int]:
        """Return the radii in decreasing order, and their number.

        None if they are automatic.
        """
        radii = self.radii
        if radii is None:
            return None, N_RADII
        if isinstance(radii, numbers.Integral) and not isinstance(radii, bool):
            expected = "an integer ≥ 1 or a list of radii"
            return None, check_count(radii, "radii", expected)
        checked = [check_number(radius, "radii") for radius in listed(radii, "radii")]
        return np.array(sorted(checked, reverse=True)), len(checked)

    def _given_row_radii(self, row_radius, n: int) -> list[Any]:
        """Return how far rows may shift on their own: numbers, or one array by row."""
        if row_radius is not None:
            return [check_row_radius(row_radius, n)]
        given = listed(self.row_radius, "row_radius")
        return [check_number(radius, "row_radius") for radius in given]

    def _score_paths(
        self, data: FitData, folds, settings, scorer, context, time: TimeLimit
    ) -> list[list[PathScores]]:
        """Return the scores, for every setting a list by fold.

        Folds are completed one by one, in case the time runs out.
        """
        tol = CV_TOL
        if self.tol is not None:
            tol = max(check_number(self.tol, "tol"), CV_TOL)
        limits = {
            "solver": self.solver,
            "tol": tol,
            "max_iter": self.max_iter,
            "random_state": self.random_state,
            "n_threads": 1 if effective_n_jobs(self.n_jobs) > 1 else None,
        }
        # With a time limit, threads: new processes may take longer to start than the
        # time allows, and have their own clocks. On few rows, too: nearly all of the
        # time is spent in compiled code, which threads run at the same time.
        n_jobs = self.n_jobs
        prefer = "threads" if time.limited else None
        if n_jobs is None and are_few(data.X):
            n_jobs = spare_cores()
            prefer = "threads"
        pairs = list(product(folds, settings))
        score = delayed(score_path)
        outcomes = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(
            score(data, setting, fold, scorer, limits, time) for fold, setting in pairs
        )
        done = []
        with stage("cross-validating"), capture_progress() as report_progress:
            for fold, setting in pairs:
                task = context.subcontext(task_name="path")
                task.call_on_fit_task_begin(estimator=self)
                outcome = next(outcomes)
                done.append(outcome)
                if self.verbose:
                    print(
                        f"[{len(done)}/{len(pairs)}] {setting}, fold {fold.number}: "
                        f"best score {outcome.scores.max():.4f}, "
                        f"{outcome.times.sum():.2f} s",
                        flush=True,
                    )
                report_progress(len(done) / len(pairs))
                task.call_on_fit_task_end(estimator=self)
        warn_of_paths(done, tol, len(folds))
        # In `done`, the settings of the first fold are followed by those of the next.
        return [done[index :: len(settings)] for index in range(len(settings))]

    def _store_choice(self, index: int) -> None:
        """Store one of the candidates as the chosen one."""
        self.best_index_ = index
        self.best_params_ = self.cv_results_["params"][index]
        self.best_score_ = float(self.cv_results_["mean_test_score"][index])
        # What is given by row is not among the parameters
        self.flip_cost_ = None
        self.row_radius_ = None
        for name, value in self.best_params_.items():
            setattr(self, f"{name}_", value)
        if self.verbose:
            print(
                f"chosen: {self.best_params_}, mean score {self.best_score_:.4f}",
                flush=True,
            )

    def _refit(self, rows: tuple[Any, ...], context, time: TimeLimit) -> None:
        """Fit on all rows.

        If the classifier is constant where those of the folds were not, with a smaller
        radius.
        """
        task = context.subcontext(task_name="refit")
        task.call_on_fit_task_begin(estimator=self)
        is_constant = self._fit_chosen(rows, time)
        if is_constant:
            for index in self._smaller_radii():
                if time.over:
                    break
                self._store_choice(index)
                is_constant = self._fit_chosen(rows, time)
                if not is_constant:
                    break
        if is_constant:
            warn_user(
                "Cross-validation has chosen a constant classifier: no other scores "
                "clearly better. More rows or other features may help; "
                "selection='best' takes the best mean score, however small the "
                "difference."
            )
        task.call_on_fit_task_end(estimator=self)

    def _smaller_radii(self) -> list[int]:
        """Return the candidates to try where the chosen one is constant.

        They were not constant in the folds. The last one is the chosen one, in case
        that none helps. One that was constant in the folds, too, stays what it is.
        """
        results = self.cv_results_
        chosen = self.best_index_
        # A candidate whose score is that of predicting the majority was constant. A NaN
        # says nothing, and counts as not constant.
        leads = results["mean_test_score"] - results["constant_score"]
        varies = ~(np.abs(leads) <= ROUNDING)
        radii = results["param_radius"]
        smaller = in_setting_of(results, chosen) & (radii < radii[chosen]) & varies
        if not varies[chosen] or not smaller.any():
            return []
        return [*np.flatnonzero(smaller).tolist(), chosen]

    def _chosen_classifier(self) -> WassersteinSVC:
        """Return a classifier with the chosen parameters, not fitted."""
        threshold: Any = self.threshold
        if threshold == "auto":
            threshold = "accuracy"
            if weighs_classes_equally(self.scoring):
                threshold = "balanced_accuracy"
        return WassersteinSVC(
            **self.best_params_,
            # X has no names here
            **feature_parameters(self),
            fit_intercept=self.fit_intercept,
            threshold=threshold,
            calibration=self.calibration,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _fit_chosen(self, rows: tuple[Any, ...], time: TimeLimit) -> bool:
        """Fit with the chosen parameters; return whether the classifier is constant."""
        X = rows[0]
        model = self._chosen_classifier().set_params(max_time=time)
        try:
            # X is the checked array.
            with warnings.catch_warnings(), config_context(assume_finite=True):
                # Here the scores have chosen a constant classifier or a large budget,
                # and cells have been warned of.
                warnings.filterwarnings(
                    "ignore",
                    "The fitted classifier is constant|radius / flip_cost|"
                    "Different scales|Far-off rows",
                    UserWarning,
                )
                model.fit(*rows)
                return is_constant(model.decision_function(X))
        finally:
            # An interrupted fit has stored its best result so far.
            for name, value in vars(model).items():
                if name.endswith("_"):
                    setattr(self, name, value)

    @property
    def _row_radius(self) -> float | None:
        """That of the training, for audits; None if only `fit` knew one per row."""
        return self.row_radius_

    def _trained_ball(self) -> dict[str, Any]:
        """Return the adversary of the training, for `audit.model_layers`."""
        return {
            "radius": self.radius_,
            "flip_cost": self.flip_cost_,
            "norm": self.norm_,
            "feature_cost": feature_costs(self),
        }
