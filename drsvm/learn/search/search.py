"""A search by cross-validation along warm-started paths of radii.

    X, y → settings × folds → one radius path each → scores → the chosen parameters → one fit on all rows

A setting consists of all parameters but the radius. Its radii are the same in all folds.
"""

import numbers
import warnings
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight

from drsvm.clock import TimeLimit
from drsvm.learn.base import RobustClassifier
from drsvm.learn.choosing.out_of_fold import N_FOLDS, splits
from drsvm.learn.choosing.probability import check_calibration
from drsvm.learn.choosing.radius_rule import automatic
from drsvm.learn.choosing.threshold import EQUAL_SCORES
from drsvm.learn.fitting import one_vs_rest
from drsvm.learn.fitting.problems import at_centre
from drsvm.learn.fitting.warning import warn_user
from drsvm.learn.search import cross_validation
from drsvm.learn.search.cross_validation import CV_TOL, SELECTION_RULES, Fold, PathScores, score_path
from drsvm.messages import Message, Parameter
from drsvm.model.problem import Problem
from drsvm.model.validation import check_number
from drsvm.parallel import spare_cores
from drsvm.progress import following, stage, taken_over
from drsvm.solvers.interior_point.small import are_few
from drsvm.solvers.transforms.span_of_rows import in_span_of_rows

N_RADII = 12
SETTING_PARTS, PATH_PARTS = 4, 1.25  # the radii may take 1/4 of the time, the paths 1/1.25 of the rest

FROM_THE_REFIT = ("coef_", "intercept_", "threshold_", "objective_", "lower_bound_", "gap_", "radius_price_")
FROM_THE_REFIT += ("n_iter_", "result_", "sigmoids_")


class Search(RobustClassifier):
    """The method `fit` of a search, which defines `_settings` and `_chosen_classifier`."""

    def decision_function(self, X):
        """Return the decision values, of shape (n_samples,) or (n_samples, n_classes)."""
        if hasattr(self, "cv_results_") and not hasattr(self, "intercept_"):
            raise NotFittedError(
                f"This {type(self).__name__} has chosen parameters but no classifier: fit it with refit=True."
            )
        return super().decision_function(X)

    @with_callbacks
    def fit(self, X, y, sample_weight=None, groups=None, flip_cost=None):
        """Choose the parameters by cross-validation and fit the classifier.

        Parameters
        ----------
        X, y, sample_weight, flip_cost
            As in `WassersteinSVC.fit`. Scores that accept weights use them, too; `flip_cost` replaces the parameter.
        groups : array of shape (n_samples,), optional
            Groups for a splitter that keeps them together.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt; during the refit, the best classifier so far is stored first.
        """
        with following(message=print) if self.verbose else nullcontext():
            return self._fit(X, y, sample_weight, groups, flip_cost, TimeLimit.of(self.max_time))

    def _fit(self, X, y, sample_weight, groups, flip_cost, time: TimeLimit):
        choose = _selection_rule(self.selection)
        check_calibration(self.calibration)
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ValueError(f"scoring must be one score, not several, got scoring={self.scoring!r}.")
        for name in FROM_THE_REFIT:  # of an earlier fit
            self.__dict__.pop(name, None)
        X, y = one_vs_rest.checked_rows(self, X, y)
        self.classes_ = one_vs_rest.classes_of(y, self)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        one_vs_rest.check_that_every_class_counts(y, self.classes_, sample_weight)
        folds = self._folds(X, y, sample_weight, groups)
        settings = self._settings(X, y, sample_weight, flip_cost, time.share(SETTING_PARTS))
        context = self._init_callback_context(max_subtasks=len(folds) * len(settings) + bool(self.refit))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        try:
            outcomes = self._score_all_paths(X, y, sample_weight, folds, settings, context, time.share(PATH_PARTS))
        except BaseException:  # such as Ctrl-C: also stop the paths in other threads
            time.stop()
            raise
        self.cv_results_ = cross_validation.results_table(settings, outcomes)
        scored = not np.isnan(self.cv_results_["mean_test_score"]).all()
        self._store_choice(int((choose if scored else cross_validation.automatic)(self.cv_results_)))
        if self.refit:
            self._refit(X, y, sample_weight, flip_cost, context, TimeLimit(time.left()))
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _folds(self, X, y, sample_weight, groups) -> list[Fold]:
        n_folds = min(N_FOLDS, max(2, np.unique(y, return_counts=True)[1].max()))
        splitter = check_cv(n_folds if self.cv is None else self.cv, y, classifier=True)
        folds = [Fold(number, *fold) for number, fold in enumerate(splits(splitter, X, y, groups, sample_weight))]
        self.n_splits_ = len(folds)
        return folds

    def _radii(self, problems: list[Problem], counts, time: TimeLimit, share: float) -> tuple[float, float, np.ndarray]:
        """Return the automatic radius and the ridge, and all radii; problems have trusted labels and no ridge.

        `share` is the part of the spread of the rows that is not due to gross errors.
        """
        problems = [in_span_of_rows(at_centre(problem)).problem for problem in problems]
        limits = {"counts": counts, "n_threads": self._n_threads()}
        found = one_vs_rest.for_each(problems, automatic, time.share(2), **limits)
        auto, ridge = share * min(one.radius for one in found), share**2 * float(np.mean([one.ridge for one in found]))
        ridge = ridge if isinstance(self.l2, str) else check_number(self.l2, "l2")
        radii = N_RADII if self.radii is None else self.radii
        if isinstance(radii, numbers.Integral) and not isinstance(radii, bool):
            if radii < 1:
                raise ValueError(f"radii must be an integer ≥ 1 or a list of radii, got radii={radii}.")
            return auto, ridge, cross_validation.default_radii(problems, int(radii), auto, time)
        radii = sorted((check_number(radius, "radii") for radius in listed(radii, "radii")), reverse=True)
        return auto, ridge, np.array(radii)

    def _n_threads(self) -> int | None:
        return 1 if effective_n_jobs(self.n_jobs) > 1 else None

    def _score_all_paths(self, X, y, sample_weight, folds, settings, context, time) -> list[list[PathScores]]:
        """Return the scores by setting and fold. Folds are completed one by one, in case the time runs out."""
        accuracy = self.scoring is None or (isinstance(self.scoring, str) and self.scoring == "accuracy")
        scorer = None if accuracy else cross_validation.checked_scorer(self.scoring)
        tol = CV_TOL if self.tol is None else max(self.tol, CV_TOL)
        limits = {"solver": self.solver, "tol": tol, "max_iter": self.max_iter}
        limits |= {"random_state": self.random_state, "n_threads": self._n_threads()}
        pairs = [(setting, fold) for fold in folds for setting in settings]
        # New processes may take longer to start than the time allows, and have their own clocks. On few rows nearly all
        # is compiled code, which threads do at the same time.
        n_jobs = spare_cores() if self.n_jobs is None and are_few(X) else self.n_jobs
        prefer = "threads" if time.limited or n_jobs != self.n_jobs else None
        outcomes = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(
            delayed(score_path)(X, y, self.classes_, sample_weight, *pair, scorer, limits, time) for pair in pairs
        )
        done = []
        with stage("cross-validating"), taken_over() as tell:
            for number, ((setting, fold), outcome) in enumerate(zip(pairs, outcomes, strict=True), start=1):
                task = context.subcontext(task_name="path")
                task.call_on_fit_task_begin(estimator=self)
                done.append(outcome)
                if self.verbose:
                    best = f"best score {outcome.scores.max():.4f}, {outcome.times.sum():.2f} s"
                    print(f"[{number}/{len(pairs)}] {setting}, fold {fold.number}: {best}", flush=True)
                tell(number / len(pairs))
                task.call_on_fit_task_end(estimator=self)
        _warn_of_large_gaps(done, tol, len(folds))
        return [done[index :: len(settings)] for index in range(len(settings))]

    def _store_choice(self, index: int) -> None:
        self.best_index_, self.best_params_ = index, self.cv_results_["params"][index]
        self.best_score_ = float(self.cv_results_["mean_test_score"][index])
        for name, value in {"flip_cost": None, **self.best_params_}.items():
            setattr(self, f"{name}_", value)
        if self.verbose:
            print(f"chosen: {self.best_params_}, mean score {self.best_score_:.4f}", flush=True)

    def _refit(self, X, y, sample_weight, flip_cost, context, time: TimeLimit) -> None:
        """Fit on all rows; if the classifier is constant where those of the folds were not, with a smaller radius."""
        task = context.subcontext(task_name="refit")
        task.call_on_fit_task_begin(estimator=self)
        data, chosen = (X, y, sample_weight, flip_cost), self.best_index_
        constant = self._fit_chosen(*data, time)
        for index in self._smaller_radii(chosen) if constant else ():
            self._store_choice(index)
            constant = self._fit_chosen(*data, time)
            if not constant:
                break
        if constant and self.best_index_ != chosen:  # none helps
            self._store_choice(chosen)
            self._fit_chosen(*data, time)
        if constant:
            warn_user(
                "Cross-validation has chosen a constant classifier: no other scores clearly better. More rows or other "
                "features may help; selection='best' takes the best mean score, however small the difference."
            )
        task.call_on_fit_task_end(estimator=self)

    def _smaller_radii(self, chosen: int) -> list[int]:
        """Return the candidates with smaller radii, unless the chosen one was already constant in the folds."""
        results = self.cv_results_
        differ = ~np.isclose(results["mean_test_score"], results["constant_score"], rtol=0.0, atol=EQUAL_SCORES)
        radii, same = results["param_radius"], cross_validation.in_setting_of(results, chosen)
        return np.flatnonzero(same & (radii < radii[chosen]) & differ & differ[chosen]).tolist()

    def _fit_chosen(self, X, y, sample_weight, flip_cost, time: TimeLimit) -> bool:
        """Fit with the chosen parameters; return whether the classifier is constant."""
        model = self._chosen_classifier().set_params(max_time=time)
        try:
            with warnings.catch_warnings(), config_context(assume_finite=True):  # X is the checked array
                # Here the scores have chosen a constant classifier or a large budget: these warnings do not apply.
                warnings.filterwarnings("ignore", "The fitted classifier is constant|radius / flip_cost", UserWarning)
                model.fit(X, y, sample_weight, flip_cost)
                return one_vs_rest.is_constant(model.decision_function(X))  # like X, it has no names of features
        finally:  # an interrupted fit has stored its best result so far
            self.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})


def _selection_rule(selection: str | Callable[..., int]) -> Callable[..., int]:
    rule = SELECTION_RULES.get(selection) if isinstance(selection, str) else selection
    if not callable(rule):
        known = ", ".join(repr(name) for name in SELECTION_RULES)
        raise ValueError(f"selection must be {known} or a callable, got selection={selection!r}.")
    return rule


def listed(values, name: str) -> list:
    """Return one or several values as a list."""
    several = isinstance(values, list | tuple) or (not isinstance(values, str) and np.ndim(values) > 0)
    listed = list(values) if several else [values]
    if not listed:
        raise ValueError(f"{name} must contain at least one value, got {values!r}.")
    return listed


def _warn_of_large_gaps(paths: list[PathScores], tol: float, n_folds: int) -> None:
    idle = sum(not path.complete for path in paths)
    gaps = np.concatenate([path.gaps for path in paths])
    short = gaps > 10.0 * tol
    if idle:
        message = f"The time ran out with {idle} of {len(paths)} paths in {n_folds} folds unfinished; only complete "
        message += "folds count. Allow more time (max_time), or try fewer radii, flip_costs, norms or folds (cv)."
    elif short.any():
        gap = f"{short.sum()} of {len(gaps)} solutions in the folds have a proven gap above {10.0 * tol:.0e}; the "
        gap += f"largest is {gaps.max():.1e}."
        remedy = "{} Allow more iterations or time ({}, {}), or standardise the features."
        message = Message(remedy, gap, Parameter("max_iter"), Parameter("max_time"))
    else:
        return
    warn_user(message, ConvergenceWarning)
