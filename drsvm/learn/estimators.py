"""`WassersteinSVC`: the robust classifier as a scikit-learn estimator.

    X, y → checked, ±1, weights → Problem → solve → Result → fitted attributes

With more than two classes, each class is trained against the rest, with its own problem and certificate (see
`one_vs_rest`).
"""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.callback import with_callbacks

from drsvm.clock import TimeLimit
from drsvm.engines.threads import single_threaded_blas
from drsvm.learn import one_vs_rest, prices
from drsvm.learn.base import RobustClassifier
from drsvm.learn.deciding import DecidingMixin
from drsvm.learn.fit_data import fit_data
from drsvm.learn.partial_fit import PartialFitMixin
from drsvm.learn.probability import check_calibration
from drsvm.learn.radius_rule import Automatic, chosen_ball
from drsvm.learn.threshold import check_goal
from drsvm.learn.warning import positions_deprecated
from drsvm.model.norms import norm_for
from drsvm.model.problem import Problem
from drsvm.model.result import Progress, Result, Results, Status
from drsvm.model.rows import RowsLost
from drsvm.model.validation import check_entries, check_number
from drsvm.progress import following, lines, part, stage, tell
from drsvm.solvers import solve
from drsvm.solvers.base import Solver
from drsvm.solvers.transforms.centring import Centred

PILOT_PARTS = 4  # the pilot solutions of radius="auto" may take one in this many parts of the time
FINISHED = (Status.OPTIMAL, Status.OPTIMAL_WITHIN_BOUNDS, Status.STOPPED, Status.INTERRUPTED)  # need no warning


class WassersteinSVC(PartialFitMixin, DecidingMixin, RobustClassifier):
    """Linear classifier for data with some wrong labels and shifting features, with a proof attached.

    It minimises the expected hinge loss under the worst distribution within a Wasserstein ball around the training
    data. Standardise the features first: shifts are measured in their units. The defaults need no tuning;
    `WassersteinSVCCV` tunes them by cross-validation.

    Parameters
    ----------
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample, in units of the features. With "auto" it is computed
        from the data (see `drsvm.auto_radius`): the more labels look wrong and the fewer rows there are, the larger.
    flip_cost : float or dict, default=inf
        Cost of flipping a label, in units of a shift: the adversary can flip a share ``radius / flip_cost`` of all
        labels. With ``inf`` it can only shift features; the classifier that withstands this also withstands wrong
        labels, and did so better than with a finite cost. A dict has one cost for every class; `fit` takes one per row.
    norm : {1, 2, inf}, default=2
        Norm in which shifts are measured; ``inf`` gives sparse weights.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||w||²``. With "auto" it is computed from the data: at most 0.04 times
        the mean squared distance of a row from the centre, less the more rows there are and the fewer labels look
        wrong. It makes the optimum unique. 0: the ball alone.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Price of the intercept, which regularises it as if it were the weight of a constant column of this size; the
        ridge term does not include it. A free intercept (``inf``) follows the class shares of wrong labels. The price
        refers to the centre of the data (the weighted means of the columns; unless they are 0, the rows are copied), of
        sparse rows to the origin. With "auto" it is the deviation of a typical column, 1 for standardised features (for
        norm=1 times √n_features); for sparse data it is the norm of a typical row.
    feature_cost : array of shape (n_features,) or dict, optional
        Cost of a shift of each feature by 1, or a dict with the costs of some features by name. By default 1. With
        ``inf`` the feature cannot shift, and its weight is not regularised (except by `l2`).
    monotonic_cst : array of shape (n_features,) or dict, optional
        1 where the decision function must increase with the feature (towards ``classes_[1]``), -1 where it must
        decrease, 0 where both are allowed; or a dict by name. For two classes only.
    class_weight : "auto", "balanced", dict or None, default="auto"
        Weights of the classes. "balanced": inversely proportional to their frequencies; "auto": half-way there, the
        roots of these weights (the rarer of two classes has at least 0.3 of the weight); None: equal.
    threshold : {"accuracy", "balanced_accuracy", "optimum"}, default="accuracy"
        What the threshold of a classifier for two classes is placed for, once its direction is known; see the notes.
        "optimum": where the problem's own intercept puts it, to which the certificate refers. For costs of errors use
        scikit-learn's ``TunedThresholdClassifierCV`` around this classifier.
    cv : int, splitter or iterable, optional
        Folds for threshold and calibration, as in scikit-learn. By default up to 5,000 rows are judged in five folds
        that depend on the contents of the rows, not on their order; of more rows, those of one fold, or if there are
        many per feature, the training rows themselves.
    calibration : "sigmoid" or None, default=None
        With "sigmoid", `predict_proba` and `predict_log_proba` are available; see the notes.
    solver : str or Solver, default="auto"
        See `drsvm.solve`.
    tol : float, optional
        Proven gap between objective and optimum at which to stop; by default 1e-6 for solver="auto", otherwise the
        solver's own default.
    max_iter : int, optional
        Iteration limit per class.
    max_time : float, optional
        Time limit for `fit` in seconds, not counting the first compilation of kernels. The classes share it evenly. One
        that starts after the time is up gets weights of 0 (with ``warm_start`` those of the previous fit), still with a
        certificate; a ConvergenceWarning states how many classes were cut short.
    warm_start : bool, default=False
        Whether `fit` starts from the classifier of the previous fit, if that has the same classes and features.
    random_state : int or Generator, optional
        Seed for randomised solvers.
    verbose : int, default=0
        1: print a line for every class and one when kernels are compiled for the first time, which takes 10 to 20 s
        (interactive sessions always do), and how far a long fit is; 2: also print a line for every certificate.
    n_jobs : int, optional
        Number of classes fitted in parallel. A problem with two classes uses all cores regardless of `n_jobs`.
    engine : {"auto", "cpu", "gpu", "dask"}, default="auto"
        Where the work is done. With "auto" Dask collections stay on their cluster, arrays on a card stay there,
        and other rows are for this machine's cores; "gpu" moves them to the card. "cpu" and "dask" check where X is.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features), (1 or n_classes,)
        The classifier.
    classes_ : array
        The labels.
    objective_, lower_bound_, gap_, radius_price_ : float, or arrays of shape (n_classes,)
        The certificate: worst-case risk plus ridge term, a proven lower bound on the best possible value, their
        difference, and the price of one unit of radius. With more than two classes, one entry per class. After
        `partial_fit` there is no certificate: all but the price are NaN. If weights cost nothing (``radius=0``, or
        features that cannot shift, both without ridge), the bound is for weights up to a limit, see `Result`; there is
        no warning, because another setting would be another problem.
    radius_, l2_, intercept_cost_ : float
        The radius, the ridge and the price of the intercept that were used.
    threshold_ : float
        By how much the threshold was moved: `intercept_` is that of `result_` minus this, and the certificate refers
        to that of `result_`. 0 after `partial_fit`, and with more than two classes.
    sigmoids_ : array of shape (1 or n_classes, 2)
        Slope and offset of the sigmoid of every decision, with ``calibration="sigmoid"``.
    n_iter_ : int
        Number of iterations (the maximum over the classes); after `partial_fit`, of blocks.
    result_ : Result, or list of them
        The full results of the runs, one per class if there are more than two. None after `partial_fit`.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Notes
    -----
    What is proven is the direction: `objective_`, `lower_bound_` and `gap_` are those of `result_`, with the intercept
    of the problem. What is chosen is the threshold: decision values of rows that a classifier has not seen are compared
    with their labels, and the threshold is the one nearest to the problem's own at which the accuracy is within 0.7
    standard errors of the best; it is never so far out that all these rows would be decided alike. Class weights that
    you give count in this accuracy, those of "auto" do not.
    `drsvm.worst_case_risk` evaluates the classifier as it stands.

    Probabilities are Platt's sigmoid of the same decision values. For two classes they need no further fit; more
    classes, which have no threshold to place, need five each. Sample weights count as numbers of rows, class weights do
    not count. The predicted class always has the largest probability: where the sigmoid prefers the other of two
    classes, between the threshold and its own ½, the probability stays close to ½. Probabilities are about labels as
    they are in training: no method is calibrated for the correct labels if it was trained on wrong ones.

    With K > 2 classes there is one problem for each class against the rest. Since a class is compared with K − 1
    others, each of its rows has K − 1 times the weight of a row of the others. With classes of equal size both
    sides then have half of the weight, and `radius` and `flip_cost` mean the same for any K. Classes of unequal size
    stay unequal, unless ``class_weight="balanced"``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from drsvm import WassersteinSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), WassersteinSVC()).fit(X, y)
    >>> bool(model[-1].gap_ <= 1e-6)
    True
    """

    @positions_deprecated
    def __init__(
        self,
        radius: float | Literal["auto"] = "auto",
        *,
        flip_cost: float | Mapping[Any, float] = math.inf,
        norm: Any = 2,
        l2: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_cost: float | Literal["auto"] = "auto",
        feature_cost: Any = None,
        monotonic_cst: Any = None,
        class_weight: Mapping[Any, float] | Literal["auto", "balanced"] | None = "auto",
        threshold: Literal["accuracy", "balanced_accuracy", "optimum"] = "accuracy",
        cv: Any = None,
        calibration: Literal["sigmoid"] | None = None,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        max_time: float | TimeLimit | None = None,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        engine: Literal["auto", "cpu", "gpu", "dask"] = "auto",
    ):
        self.radius = radius
        self.flip_cost = flip_cost
        self.norm = norm
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.intercept_cost = intercept_cost
        self.feature_cost = feature_cost
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.calibration = calibration
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine

    def _trained_ball(self) -> dict[str, Any]:
        """Return the parameters of the ball, for `drsvm.model.linear_model.own_ball`; None: only `fit` knew them."""
        flip_cost = None if getattr(self, "_flip_cost_by_row", False) else self.flip_cost
        return {
            "radius": self.radius_,
            "flip_cost": flip_cost,
            "norm": norm_for(self.norm).p,
            "feature_cost": prices.feature_costs(self),
        }

    # --- fit --------------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X, y, sample_weight=None, flip_cost=None):
        """Fit the classifier.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; a weight of 0 removes the sample.
        flip_cost : array of shape (n_samples,), optional
            Cost of flipping the label of each sample, ``inf`` for verified ones. It replaces the parameter `flip_cost`.

        Returns
        -------
        self
            On Ctrl-C, the best classifier so far is stored before KeyboardInterrupt is raised.
        """
        time = TimeLimit.of(self.max_time)
        # Limiting BLAS takes a while, so it is done once for all the runs of a fit.
        with following(lines(print), print) if self.verbose else nullcontext(), single_threaded_blas():
            return self._fit(X, y, sample_weight, flip_cost, time)

    def _fit(self, X, y, sample_weight, flip_cost, time: TimeLimit):
        check_goal(self.threshold)
        check_calibration(self.calibration)
        earlier = self._earlier_classifier() if self.warm_start else None
        data = fit_data(self, X, y, sample_weight)
        self.classes_ = data.classes
        self.__dict__.pop("_block_fits", None)  # a later partial_fit starts from this fit
        try:
            problems = data.problems(self._ball(data.costs_by_class, flip_cost))
            self.intercept_cost_ = problems[0].intercept_cost
            at_centre = prices.shared_centre(problems[0]) if len(problems) == 1 else prices.at_centre
            solutions = self._choose_ball(problems, at_centre, data.counts, time)
        except ValueError:
            if data.backend is None:  # an entry may be too large; not before, which would be another pass over the rows
                check_entries(data.X)
            raise
        problems = [problem.replace(radius=self.radius_, l2=self.l2_) for problem in problems]
        one_vs_rest.warn_of_large_budgets(problems, self.classes_)
        starts = self._starts(earlier, solutions)
        context = self._init_callback_context(max_subtasks=len(problems), sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with stage("solving"):
            results = self._solve_all(problems, at_centre, starts, context, time)
        self._store(problems, results)
        self._decide(data, problems, results, at_centre, time)
        if data.backend is not None:
            self.coef_, self.intercept_ = (data.backend.like(data.X, found) for found in (self.coef_, self.intercept_))
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        self._report_outcome(problems, results)
        return self

    def _ball(self, costs_by_class: Callable[[np.ndarray], Any], flip_cost) -> dict[str, Any]:
        """Return the parameters of the problems except the radius; `costs_by_class` maps costs of classes to rows."""
        self._flip_cost_by_row = flip_cost is not None
        costs = self.flip_cost if flip_cost is None else flip_cost
        if isinstance(costs, Mapping):
            costs = costs_by_class(prices.flip_costs_of_classes(costs, self.classes_))
        l2 = 0.0 if self._is_automatic("l2") else self.l2
        ball = {"flip_cost": costs, "norm": self.norm, "l2": l2, "fit_intercept": bool(self.fit_intercept)}
        ball["intercept_cost"] = prices.intercept_cost_or_auto(self.intercept_cost)
        return ball | prices.feature_prices(self)

    def _choose_ball(
        self, problems: list[Problem], at_centre, counts: Callable[[int], Any], time: TimeLimit
    ) -> list[Result | None]:
        """Set `radius_` and `l2_`, and return what is known about the solutions; `counts` are those of a problem."""
        given = [None if self._is_automatic(k) else check_number(getattr(self, k), k) for k in ("radius", "l2")]
        # No share of the time, because the fit may then take its first step even if no time is left.
        pilot = TimeLimit(time.left() / PILOT_PARTS, within=time)

        def measure(index: int, rule: Callable[..., Automatic], **options) -> Automatic:
            centred = at_centre(problems[index])
            found = rule(centred.problem, counts=counts(index), **options)
            return found._replace(solution=centred.from_centred(found.solution))

        def found_by(rule) -> list[Automatic]:
            with stage("choosing the radius"):
                return one_vs_rest.for_each(range(len(problems)), measure, pilot, rule=rule)

        self.radius_, self.l2_, solutions = chosen_ball(len(problems), found_by, *given)
        return solutions

    def _is_automatic(self, name: str) -> bool:
        value = getattr(self, name)
        if isinstance(value, str) and value != "auto":
            raise ValueError(f"{name} must be a number or 'auto', got {name}={value!r}.")
        return isinstance(value, str)

    def _earlier_classifier(self) -> tuple[np.ndarray, list[Any]] | None:
        """Return the classes of an earlier fit and its results (with multipliers), or else its classifiers."""
        if not hasattr(self, "coef_"):
            return None
        if self.result_ is not None:
            return self.classes_, [self.result_] if isinstance(self.result_, Result) else list(self.result_)
        coef: Any = self.coef_
        coef = coef.toarray() if sparse.issparse(coef) else coef  # after `sparsify`
        return self.classes_, list(zip(coef, self.intercept_, strict=True))

    def _starts(self, earlier, otherwise: list[Any]) -> list[Any]:
        if earlier is not None and np.array_equal(earlier[0], self.classes_):
            weights = [start.weights if isinstance(start, Result) else start[0] for start in earlier[1]]
            if all(len(w) == self.n_features_in_ for w in weights):
                return earlier[1]
        return otherwise

    def _solve_all(self, problems: list[Problem], at_centre, starts: list[Any], context, time) -> list[Result]:
        """Solve the problems of all classes, some in parallel; Ctrl-C stops all, with their best results so far."""
        jobs = 1 if self.n_jobs is None and len(problems) == 1 else min(effective_n_jobs(self.n_jobs), len(problems))

        def solve_one(index: int) -> Result:
            share = time.share((len(problems) - index) / jobs)
            with part(index / len(problems), (index + 1) / len(problems)):
                result = self._solve(index, at_centre(problems[index]), starts[index], context, share)
            if result.status is Status.INTERRUPTED:
                time.stop()
            return result

        if jobs == 1:
            return [solve_one(index) for index in range(len(problems))]
        with ThreadPoolExecutor(jobs) as pool:
            waiting = [pool.submit(solve_one, index) for index in range(len(problems))]
            try:
                results = []
                for future in waiting:
                    results.append(future.result())
                    tell(len(results) / len(waiting))
                return results
            except KeyboardInterrupt:
                time.stop()
                return [replace(future.result(), status=Status.INTERRUPTED) for future in waiting]
            except BaseException:
                time.stop()
                raise

    def _solve(self, index: int, centred: Centred, start, context, time: TimeLimit) -> Result:
        task = context.subcontext(task_name="binary problem", task_id=index, max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self)
        limits = {"tol": self.tol, "max_iter": self.max_iter, "max_time": time, "random_state": self.random_state}
        limits["n_threads"] = None if len(self.classes_) == 2 else 1
        start, report = centred.to_centred(start), self._reporter(index, task)
        result = solve(centred.problem, self.solver, start=start, callback=report, **limits)
        task.call_on_fit_task_end(estimator=self)
        return centred.from_centred(result)

    def _reporter(self, index: int, task) -> Callable[[Progress], bool] | None:
        """Return the progress callback, or None if not needed: the solver then computes only a final certificate."""
        listening = bool(getattr(self, "_skl_callbacks", ()))
        if not listening and self.verbose < 2:
            return None
        name = one_vs_rest.name_of(index, self.classes_)

        def report(progress: Progress) -> bool:
            if self.verbose >= 2:
                values = f"objective {progress.objective:.8f}, gap {progress.gap:.1e}"
                print(f"[{name}] iteration {progress.iteration}, {progress.time:.2f} s: {values}", flush=True)
            if not listening:
                return False
            step = task.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self)
            return bool(step.call_on_fit_task_end(estimator=self))

        return report

    def _store(self, problems: list[Problem], results: list[Result]) -> None:
        self.coef_ = np.stack([result.weights for result in results])
        intercepts = np.array([result.intercept for result in results])
        self.intercept_ = one_vs_rest.towards_majority(problems, self.coef_, intercepts)
        self.threshold_ = 0.0
        self.__dict__.pop("sigmoids_", None)  # of an earlier fit
        self.n_iter_ = max(result.n_iter for result in results)
        self._store_figures(results)
        self.result_ = results[0] if len(results) == 1 else Results(results, self.classes_.tolist())

    def _store_figures(self, runs: list[Any]) -> None:
        """Store the certificate: a number for two classes, otherwise an array."""
        for name in ("objective", "lower_bound", "gap", "radius_price"):
            values = [getattr(run, name, math.nan) for run in runs]
            setattr(self, f"{name}_", float(values[0]) if len(runs) == 1 else np.array(values))

    def _report_outcome(self, problems: list[Problem], results: list[Result]) -> None:
        if self.verbose:
            for index, result in enumerate(results):
                name = one_vs_rest.name_of(index, self.classes_)
                print(f"[{name}] {result.status}: gap {result.gap:.1e}, {result.n_iter} iterations")
        if any(result.status is Status.INTERRUPTED for result in results):
            raise KeyboardInterrupt
        lost = [result.info["lost"] for result in results if result.status is Status.LOST]
        if lost:
            raise RowsLost(f"{lost[0]} The best classifier so far is stored.")
        one_vs_rest.warn_of_large_gaps([r for r in results if r.status not in FINISHED], len(results))
        one_vs_rest.warn_of_constant_ones(problems, results, self.threshold_, self.classes_)
