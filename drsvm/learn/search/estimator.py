"""`WassersteinSVCCV`: the parameters of the ball and class weights, chosen by cross-validation (see `search`)."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.learn.estimators import WassersteinSVC
from drsvm.learn.fitting import one_vs_rest, prices
from drsvm.learn.fitting.gross_errors import far_columns
from drsvm.learn.search.cross_validation import Setting, weighs_classes_equally
from drsvm.learn.search.search import N_RADII, Search, listed
from drsvm.model.norms import norm_for
from drsvm.model.validation import check_flip_cost, check_flip_costs
from drsvm.solvers.base import Solver


class WassersteinSVCCV(Search):
    """`WassersteinSVC` with radius, price of the intercept and class weights chosen by cross-validation.

    Every fold is solved along a path of decreasing radii, each solve starting from the previous solution. Standardise
    the features first.

    Parameters
    ----------
    radii : int or array, default=12
        The radii, or their number (None: 12). Given a number, they are log-spaced around the automatic radius of
        `WassersteinSVC`, which is among them: from four times as much (at most nine tenths of `drsvm.radius_max`, so
        that the classifier of all rows is not constant) down to a 25th, separately for every norm and class weight.
    flip_costs : float or sequence, default=inf
        Costs of flipping a label.
    norms : {1, 2, inf} or sequence, default=2
        Norms in which shifts are measured.
    intercept_costs : float, "auto" or sequence, default=("auto", inf)
        Prices of the intercept, see `WassersteinSVC`.
    l2, fit_intercept, feature_cost, monotonic_cst
        As in `WassersteinSVC`.
    class_weight : "cv", "auto", "balanced", dict or None, default="cv"
        Weights of the classes as in `WassersteinSVC`; "cv" tries "auto" and None, or "balanced" if the
        score weighs the classes equally.
    threshold : {"auto", "accuracy", "balanced_accuracy", "optimum"}, default="auto"
        What the threshold of the refit is placed for, see `WassersteinSVC`. "auto": balanced accuracy if the score
        weighs the classes equally, otherwise accuracy.
    cv : int, splitter or iterable, optional
        As in scikit-learn; by default five stratified folds (fewer if no class has five samples).
    calibration : "sigmoid" or None, default=None
        With "sigmoid", the refit has probabilities, see `WassersteinSVC`.
    scoring : str or callable, optional
        As in scikit-learn; by default the accuracy.
    selection : {"auto", "one-standard-error", "best"} or callable, default="auto"
        The selection rule. "auto" prefers the automatic radius with the first of the other parameters, as
        `WassersteinSVC` would use it (with balanced class weights if the score is ``"balanced_accuracy"`` or a macro
        average). It selects something else only if the best mean score exceeds that of the automatic radius and that of
        a constant classifier by more than one standard error; it then takes the radius nearest to the automatic one
        among those within one standard error of the best. "one-standard-error" takes the largest of these, "best" the
        best mean. A callable receives `cv_results_` and returns an index.
    refit : bool, default=True
        Whether to refit on all rows with the chosen parameters.
    solver, max_iter, random_state
        As in `WassersteinSVC`; max_iter limits each solve.
    max_time : float, optional
        Time limit for `fit` in seconds. If it is too short for all folds, only the completed ones are used: the others
        have no scores (NaN). If none was completed, the automatic radius is used, with the first of the other
        parameters. A ConvergenceWarning is issued in both cases. A fifth of the time is reserved for the refit, which
        always takes a step.
    tol : float, optional
        Proven gap of the refit; in the folds it is 1e-4, or `tol` if that is larger (on few rows not proven, but
        that of a point on the central path).
    n_jobs : int, optional
        Number of paths solved in parallel, in separate processes; with `max_time` in threads, which start at once.
    verbose : int, default=0
        1: print a line for every path, and one when kernels are compiled for the first time; 2: also print a line for
        every certificate of the refit.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One entry per candidate: ``param_radius``, ``param_flip_cost``, ``param_norm``, ``param_l2``,
        ``param_intercept_cost``, ``param_class_weight``, ``params``, ``split<k>_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``mean_fit_time``, ``largest_gap``, ``auto_radius`` (of its setting)
        and ``constant_score`` (of always predicting the majority). It can be converted to a pandas DataFrame.
    best_index_, best_params_, best_score_ : int, dict, float
        Index and parameters of the chosen candidate, and its mean score.
    radius_, flip_cost_, norm_, l2_, intercept_cost_, class_weight_
        The chosen parameters. `flip_cost_` is None if `fit` took one per row; after the refit, `intercept_cost_`
        is a number.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, threshold_, sigmoids_, classes_, objective_, lower_bound_, gap_, radius_price_, n_iter_, result_
        As in `WassersteinSVC`, from the refit; likewise `n_features_in_` and `feature_names_in_`.

    Notes
    -----
    With wrong labels the validation folds contain wrong ones too, and every score has a large error: the best mean
    often belongs to a candidate that was lucky. :doc:`/choosing` compares the rules.

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
        l2: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_costs: Any = ("auto", math.inf),
        feature_cost: Any = None,
        monotonic_cst: Any = None,
        class_weight: Mapping[Any, float] | Literal["cv", "auto", "balanced"] | None = "cv",
        threshold: Literal["auto", "accuracy", "balanced_accuracy", "optimum"] = "auto",
        cv: Any = None,
        calibration: Literal["sigmoid"] | None = None,
        scoring: str | Callable[..., Any] | None = None,
        selection: str | Callable[[dict[str, Any]], int] = "auto",
        refit: bool = True,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        max_time: float | TimeLimit | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.Generator | None = None,
    ):
        self.radii = radii
        self.flip_costs = flip_costs
        self.norms = norms
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.intercept_costs = intercept_costs
        self.feature_cost = feature_cost
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.calibration = calibration
        self.scoring = scoring
        self.selection = selection
        self.refit = refit
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _trained_ball(self) -> dict[str, Any]:
        return {
            "radius": self.radius_,
            "flip_cost": self.flip_cost_,
            "norm": self.norm_,
            "feature_cost": prices.feature_costs(self),
        }

    def _settings(self, X, y, sample_weight, flip_cost, time: TimeLimit) -> list[Setting]:
        """Return the grid of settings, each with its radii; the first one is what the selection starts from."""
        norms = [norm_for(norm).p for norm in listed(self.norms, "norms")]
        norms = [norm if np.isinf(norm) else int(norm) for norm in norms]
        flip_costs = [check_flip_cost(cost) for cost in listed(self.flip_costs, "flip_costs")]
        if flip_cost is not None:
            flip_costs = [check_flip_costs(flip_cost, len(y))]
        intercept_costs = list(map(prices.intercept_cost_or_auto, listed(self.intercept_costs, "intercept_costs")))
        settings, share = [], far_columns(X, sample_weight)[3]
        class_weights = [self.class_weight]
        if isinstance(self.class_weight, str) and self.class_weight == "cv":
            class_weights = ["balanced", "auto"] if weighs_classes_equally(self.scoring) else ["auto", None]
        groups = list(product(class_weights, norms))
        for done, (class_weight, norm) in enumerate(groups):
            weights = one_vs_rest.weights_of_rows(X, y, self.classes_, class_weight, sample_weight)
            one_vs_rest.check_that_every_class_counts(y, self.classes_, weights)
            common = {"norm": norm, "fit_intercept": bool(self.fit_intercept)} | prices.feature_prices(self)
            ball = {**common, "l2": 0.0, "flip_cost": math.inf, "intercept_cost": "auto"}
            problems = one_vs_rest.binary_problems(X, y, self.classes_, weights, **ball)
            auto, common["l2"], radii = self._radii(problems, sample_weight, time.share(len(groups) - done), share)
            for cost, price in product(flip_costs, intercept_costs if self.fit_intercept else [math.inf]):
                ball = {**common, "flip_cost": cost, "intercept_cost": price}
                settings.append(Setting(class_weight, ball, radii, auto, weights))
        return settings

    def _chosen_classifier(self) -> WassersteinSVC:
        names = ("fit_intercept", "calibration", "solver", "tol", "max_iter", "random_state", "n_jobs", "verbose")
        settings = {name: getattr(self, name) for name in names} | prices.feature_prices(self)  # X has no names here
        goal = "balanced_accuracy" if weighs_classes_equally(self.scoring) else "accuracy"
        settings["threshold"] = goal if self.threshold == "auto" else self.threshold
        return WassersteinSVC(**settings | self.best_params_)
