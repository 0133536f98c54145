"""`WassersteinKernelSVCCV`: the width of a kernel and the radius, chosen by cross-validation (see `search`)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from drsvm.clock import TimeLimit
from drsvm.learn import one_vs_rest, prices
from drsvm.learn.base import CommonMixin
from drsvm.learn.cross_validation import Decided, Fold, Setting
from drsvm.learn.kernel_deciding import KernelDecidingMixin, kernel_problems
from drsvm.learn.kernel_svc import WassersteinKernelSVC
from drsvm.learn.search import SearchMixin, listed
from drsvm.model.kernel_functions import KernelFunction
from drsvm.model.kernel_rows import MOST_STORED, values_in_blocks
from drsvm.model.problem import Problem
from drsvm.model.validation import check_flip_costs, check_number
from drsvm.solvers.landmarks.solver import Landmarks

N_RADII, FACTORS = 6, (1.0, 0.3, 3.0, 10.0)

WITH_WIDTH = ("rbf", "laplacian", "poly")  # kernels with a coefficient γ


class WassersteinKernelSVCCV(SearchMixin, KernelDecidingMixin, CommonMixin, ClassifierMixin, BaseEstimator):
    """`WassersteinKernelSVC` with the width of the kernel and the radius chosen by cross-validation.

    Every fold is solved along a path of decreasing radii, each solve starting from the previous solution; all widths
    and folds share the distances between the rows, if there are up to 5,000. Standardise the features first.

    Parameters
    ----------
    kernel, degree, coef0
        As in `WassersteinKernelSVC`.
    gamma : {"rule", "scale", "auto"} or float, default="rule"
        Coefficient as in `WassersteinKernelSVC`, from all rows.
    gamma_factors : float or sequence, default=(1, 0.3, 3, 10)
        Multiples of `gamma` that are tried; the rule "auto" starts from the first.
    radii : int or array, default=6
        The radii, or their number, as in `WassersteinSVCCV`: around the automatic radius of every width.
    flip_cost, l2, fit_intercept, intercept_cost, feature_cost
        As in `WassersteinKernelSVC`.
    class_weight : "auto", "cv", "balanced", dict or None, default="auto"
        As in `WassersteinKernelSVC`, or "cv" as in `WassersteinSVCCV`.
    threshold, cv, calibration, scoring, selection, refit, max_iter, max_time, n_jobs, verbose, random_state
        As in `WassersteinSVCCV`.
    tol : float, default=1e-4
        Proven gap of the refit; in the folds it is 1e-4, or `tol` if that is larger.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in `WassersteinSVCCV`, with ``param_gamma`` and without ``param_norm``.
    best_index_, best_params_, best_score_, n_splits_
        As in `WassersteinSVCCV`.
    gamma_, radius_, l2_, intercept_cost_, class_weight_
        The chosen parameters.
    landmarks_, landmark_indices_, dual_coef_, intercept_, threshold_, sigmoids_, classes_, result_
        The classifier, as in `WassersteinKernelSVC`, from the refit; likewise its certificate (`objective_`,
        `lower_bound_`, `gap_`, `radius_price_`), `n_iter_`, `n_features_in_` and `feature_names_in_`.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import WassersteinKernelSVCCV
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(200, 2))
    >>> y = np.sign(np.sin(3 * X[:, 0]) * np.sin(3 * X[:, 1]))  # a checkerboard
    >>> model = WassersteinKernelSVCCV(gamma_factors=(1, 10), radii=2, cv=3).fit(X, y)
    >>> bool(model.best_params_["gamma"] > 1), bool(model.gap_ <= 1e-4)
    (True, True)
    """

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        gamma: float | Literal["rule", "scale", "auto"] = "rule",
        gamma_factors: float | Sequence[float] | np.ndarray = FACTORS,
        degree: int = 3,
        coef0: float = 0.0,
        radii: int | Sequence[float] | np.ndarray = N_RADII,
        flip_cost: float | Mapping[Any, float] = math.inf,
        l2: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_cost: float | Literal["auto"] = "auto",
        feature_cost: Any = None,
        class_weight: Mapping[Any, float] | Literal["cv", "auto", "balanced"] | None = "auto",
        threshold: Literal["auto", "accuracy", "balanced_accuracy", "optimum"] = "auto",
        cv: Any = None,
        calibration: Literal["sigmoid"] | None = None,
        scoring: str | Callable[..., Any] | None = None,
        selection: str | Callable[[dict[str, Any]], int] = "auto",
        refit: bool = True,
        tol: float | None = 1e-4,
        max_iter: int | None = None,
        max_time: float | TimeLimit | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.Generator | None = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.gamma_factors = gamma_factors
        self.degree = degree
        self.coef0 = coef0
        self.radii = radii
        self.flip_cost = flip_cost
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.intercept_cost = intercept_cost
        self.feature_cost = feature_cost
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.calibration = calibration
        self.scoring = scoring
        self.selection = selection
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _settings(self, X, y, sample_weight, flip_cost, time: TimeLimit) -> list[Setting]:
        """Return the grid of settings, each with its radii; the first one is what the selection starts from."""
        self._flip_cost_by_row = flip_cost is not None
        costs = prices.flip_costs_of_rows(self.flip_cost if flip_cost is None else flip_cost, y, self.classes_)
        costs = check_flip_costs(costs, len(y))
        common = {"fit_intercept": bool(self.fit_intercept)}
        price = prices.intercept_cost_or_auto(self.intercept_cost)
        gammas, every_row = self._gammas(X, sample_weight), np.arange(len(y))
        functions = [self._function(X, gamma) for gamma in gammas]
        shared = SharedPoints.of(self._points(X), functions[0])
        groups = list(product(self._class_weights(), zip(gammas, functions, strict=True)))
        settings = []
        for done, (class_weight, (gamma, function)) in enumerate(groups):
            weights = one_vs_rest.weights_of_rows(X, y, self.classes_, class_weight, sample_weight)
            one_vs_rest.check_that_every_class_counts(y, self.classes_, weights)
            ball = {**common, "l2": 0.0, "flip_cost": math.inf, "intercept_cost": "auto"}
            problems = shared.problems(every_row, function, y, self.classes_, weights, ball)
            auto, ridge, radii = self._radii(problems, sample_weight, time.share(len(groups) - done))
            ball = {**common, "l2": ridge, "flip_cost": costs, "intercept_cost": price}
            settings.append(KernelSetting(class_weight, ball, radii, auto, weights, gamma, function, shared))
        return settings

    def _gammas(self, X, sample_weight) -> list[float]:
        base = self._coefficient(X, sample_weight)
        if self.kernel not in WITH_WIDTH:
            return [base]
        factors = [check_number(factor, "gamma_factors") for factor in listed(self.gamma_factors, "gamma_factors")]
        if min(factors) == 0.0:
            raise ValueError(f"gamma_factors must be above 0, got gamma_factors={self.gamma_factors!r}.")
        return [factor * base for factor in factors]

    def _solver(self) -> Landmarks:
        return Landmarks()

    def _chosen_classifier(self) -> WassersteinKernelSVC:
        names = ("kernel", "degree", "coef0", "flip_cost", "fit_intercept", "calibration", "tol", "max_iter")
        settings = {name: getattr(self, name) for name in (*names, "random_state", "n_jobs", "verbose")}
        settings |= {"feature_cost": prices.feature_costs(self), "threshold": self._threshold_goal()}
        return WassersteinKernelSVC(**settings | self.best_params_)


class SharedPoints(NamedTuple):
    """The points of all rows, and what values of all widths are computed from, if there are few rows."""

    points: Any
    base: np.ndarray | None

    @classmethod
    def of(cls, points, function: KernelFunction) -> "SharedPoints":
        """Compute what is shared."""
        few = points.shape[0] <= MOST_STORED
        return cls(points, values_in_blocks(function.base, points, points) if few else None)

    def problems(self, rows, function: KernelFunction, y, classes, weights, ball: dict[str, Any]) -> list[Problem]:
        """Return one problem per class with some of the rows, or one for two classes."""
        values = None if self.base is None else function.from_base(self.base[rows][:, rows])
        weights = None if weights is None else weights[rows]
        return kernel_problems(self.points[rows], function, y[rows], classes, weights, values=values, **ball)


@dataclass(frozen=True, eq=False)
class KernelSetting(Setting):
    """All parameters but the radius, with those of the kernel."""

    gamma: float
    function: KernelFunction
    shared: SharedPoints

    def params(self, radius):
        return {"gamma": self.gamma, **super().params(radius)}

    def problems(self, X, y, classes, fold: Fold):
        ball = self.ball_of(fold.train)
        problems = self.shared.problems(fold.train, self.function, y, classes, self.weights, ball)
        return problems, self.shared.points[fold.test]

    def decisions(self, problems, rows, coefs, intercepts):
        found = np.empty((rows.shape[0], *intercepts.shape))
        for place in np.ndindex(intercepts.shape):
            of_class, weights = problems[place[-1]].rows, coefs[place]
            found[:, *place] = of_class.at(rows, weights) + (intercepts[place] - of_class.mean_of(weights))
        return found

    def candidate(self, classes, coef, intercept, decisions):
        return Decided(classes, decisions[:, 0] if len(classes) == 2 else decisions)

    def __str__(self) -> str:
        return f"gamma {self.gamma:.3g}, class weights {self.class_weight}"
