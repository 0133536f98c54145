"""`WassersteinKernelSVC`: the robust classifier in the feature space of a kernel, with a proof of the full problem."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from drsvm.clock import TimeLimit
from drsvm.learn import prices
from drsvm.learn.base import CommonMixin
from drsvm.learn.evidence import best_if_significant
from drsvm.learn.fit_data import FitData, on_engine
from drsvm.learn.fitting import FINISHED, PILOT_PARTS, FittingMixin
from drsvm.learn.kernel_data import Basis, ClusterKernelFit, KernelFit, checked_landmarks
from drsvm.learn.kernel_deciding import KernelDecidingMixin, in_memory, kernel_problems
from drsvm.learn.kernel_width import EVIDENCE, FACTORS, WITH_WIDTH, some_rows
from drsvm.model.backends import ForCard, engine_of, to_numpy
from drsvm.model.centring import Centred
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Results, Status
from drsvm.progress import stage
from drsvm.solvers.base import check_count, generator_of
from drsvm.solvers.landmarks.solver import Landmarks
from drsvm.solvers.landmarks.span import WIDER

NO_NUMBER = "X is on a Dask cluster: give the number of rows of which the classifier is made, such as n_landmarks=300."
NOT_IN_SPAN = (
    "Given landmarks, and rows on a Dask cluster, need a kernel that is a function, and no graphics card: got "
    "kernel={!r} and engine={!r}."
)


class WassersteinKernelSVC(FittingMixin, KernelDecidingMixin, CommonMixin, ClassifierMixin, BaseEstimator):
    """Nonlinear classifier for data with some wrong labels, with a proof attached.

    It solves the problem of `WassersteinSVC` (with norm=2) in the feature space of a kernel. Each iteration works in
    the span of some rows and of sums of rows; the certificate is that of the full problem, over all functions of the
    feature space. Standardise the features first. The defaults need no tuning.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "poly", "linear", "precomputed"} or callable, default="rbf"
        As in scikit-learn's ``SVC``. A callable returns the values for two matrices; it must be positive definite, and
        so must the values of "precomputed", where X has those of every row with the training rows.
    gamma : {"rule", "scale", "auto"} or float, default="rule"
        Coefficient of "rbf", "laplacian" and "poly". "scale" is 1 / (n_features · variance of X), "auto" is
        1 / n_features, as in ``SVC``. "rule" is 0.3 / (mean squared distance from the centre of the data), 0.3 times
        "scale" for standardised features: wider, because it need not fit wrong labels. For "rbf" and "laplacian" it is
        3.3 or 10 times that if up to 1,000 of the rows are then ranked clearly better by classifiers that have not seen
        them, which takes two to three times as long as a given number.
    degree, coef0 : int, float
        Degree and constant (at least 0) of "poly".
    n_landmarks : int or "auto", default="auto"
        Number of rows of which the classifier is made. With "auto" as many as the tolerance needs; with a number,
        predictions are fast, and the gap is what it is.
    landmarks : array of shape (n_landmarks, n_features), optional
        Given rows, such as the centres of clusters, of which the classifier is made. Objective, bound and gap are then
        those of the functions of these rows (see the notes).
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample in the feature space. "auto" as in `WassersteinSVC`.
    flip_cost : float or dict, default=inf
        Cost of flipping a label, in units of a shift in the feature space.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||f||²``. "auto" as in `WassersteinSVC`.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Price of the intercept at the centre of the data in the feature space. With "auto" it is the root mean square of
        the rows' distances from the centre.
    feature_cost : array of shape (n_features,) or dict, optional
        Cost of a shift of each feature by 1: the columns are multiplied by it before the kernel. It must be finite.
    class_weight, threshold, cv, calibration
        As in `WassersteinSVC`.
    tol : float, default=1e-4
        Proven gap between objective and optimum of the full problem at which to stop.
    max_iter, max_time, random_state, verbose, n_jobs
        As in `WassersteinSVC`.
    engine : {"auto", "cpu", "gpu", "dask"}, default="auto"
        Where a fit is computed. With "gpu", or if X is on a graphics card, the rows are copied there (dense, in double
        precision); kernels are then "rbf", "laplacian", "poly" or "linear". Dask collections stay on their cluster, and
        need `n_landmarks` or `landmarks` (see the notes). Predictions are made where X is.

    Attributes
    ----------
    landmarks_, landmark_indices_ : arrays of shape (n_landmarks, n_features), (n_landmarks,)
        The rows of which the classifier is made, and where they are in X; -1 if they were given, or X is on a cluster.
    dual_coef_, intercept_ : arrays of shape (1 or n_classes, n_landmarks), (1 or n_classes,)
        The classifier: ``Σ_j dual_coef_j k(x, landmark_j) + intercept``.
    classes_ : array
        The labels.
    gamma_ : float
        The coefficient that was used.
    objective_, lower_bound_, gap_, radius_price_, radius_, l2_, intercept_cost_, class_factors_
        As in `WassersteinSVC`.
    threshold_, n_iter_, result_
        As in `WassersteinSVC`. The weights of `result_` are coefficients of the rows of positive weight, less copies.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Notes
    -----
    With given `landmarks`, and on a Dask cluster, the classifier is the best one among the functions of the landmarks,
    and this is what is proven: the status of `result_` is OPTIMAL_IN_SPAN, and its weights are those of an orthonormal
    basis. How far it is from the best of the whole feature space is not known, since that takes all pairs of rows. On a
    cluster, `n_landmarks` are chosen from a sample of the rows; γ, radius and ridge are chosen with a sample, too.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from drsvm import WassersteinKernelSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = WassersteinKernelSVC().fit(X, y)
    >>> bool(model.gap_ <= 1e-4), bool(model.score(X, y) > 0.85)
    (True, True)
    """

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        gamma: float | Literal["rule", "scale", "auto"] = "rule",
        degree: int = 3,
        coef0: float = 0.0,
        n_landmarks: int | Literal["auto"] = "auto",
        landmarks: Any = None,
        radius: float | Literal["auto"] = "auto",
        flip_cost: float | Mapping[Any, float] = math.inf,
        l2: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_cost: float | Literal["auto"] = "auto",
        feature_cost: Any = None,
        class_weight: Mapping[Any, float] | Literal["auto", "balanced"] | None = "auto",
        threshold: Literal["accuracy", "balanced_accuracy", "optimum"] = "accuracy",
        cv: Any = None,
        calibration: Literal["sigmoid"] | None = None,
        tol: float | None = 1e-4,
        max_iter: int | None = None,
        max_time: float | TimeLimit | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        engine: Literal["auto", "cpu", "gpu", "dask"] = "auto",
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.radius = radius
        self.flip_cost = flip_cost
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.intercept_cost = intercept_cost
        self.feature_cost = feature_cost
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.calibration = calibration
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine

    # --- what is special about this fit -----------------------------------------------------------------------------

    def _data(self, X, y, sample_weight) -> FitData:
        engine = engine_of(on_engine(X, self.engine))
        if engine == "dask":
            return ClusterKernelFit(self, X, y, sample_weight)
        data = self._with_function(KernelFit(self, *map(in_memory, (X, y, sample_weight))))
        self._fitted_rows = data.X
        data.points = ForCard(data.points) if engine == "gpu" else data.points
        return data

    def _with_function(self, data: KernelFit) -> KernelFit:
        """Set the coefficient of the kernel; return the data with its function."""
        self.gamma_ = self._coefficient(data.X, data.sample_weight)
        data.points, data.function = self._points(data.X), self._function(data.X)
        return data

    def _problems(self, data: Any, flip_cost, time: TimeLimit) -> list[Problem]:
        if data.backend is None and (self.cv is None or np.isscalar(self.cv)):  # given folds may part copies
            data.join_copies(flip_cost)
        in_span = data.backend is not None or self.landmarks is not None
        return (self._problems_in_span if in_span else self._kernel_problems)(data, flip_cost, time)

    def _kernel_problems(self, data: Any, flip_cost, time: TimeLimit) -> list[Problem]:
        if self.gamma == "rule" and self.kernel in WITH_WIDTH:
            with stage("choosing the width"):
                self.gamma_ = self._chosen_width(data, flip_cost, TimeLimit(time.left() / PILOT_PARTS, within=time))
            data.function = self._function(data.X)
        return data.problems(self._ball(data.costs_by_class, flip_cost) | {"time": time})

    def _chosen_width(self, data: Any, flip_cost, time: TimeLimit) -> float:
        """Return a multiple of the γ of the rule by which some rows are ranked well."""
        rows = some_rows(data.X, data.y, data.weights)
        points, y = self._priced(data.X[rows]), data.y[rows]
        weights, own = (None if one is None else one[rows] for one in (data.weights, data.sample_weight))
        counts = np.ones(len(rows)) if own is None else own

        def problems_of(gamma: float) -> list[Problem]:
            ball = self._ball(data.costs_by_class, flip_cost)
            ball["flip_cost"] = ball["flip_cost"][rows] if np.ndim(ball["flip_cost"]) else ball["flip_cost"]
            problems = kernel_problems(points, self._function(gamma=gamma), y, data.classes, weights, **ball)
            self._choose_ball(problems, self._at_centre(problems), lambda _: own, time)
            return [problem.replace(radius=self.radius_, l2=self.l2_) for problem in problems]

        return best_if_significant([factor * self.gamma_ for factor in FACTORS], problems_of, counts, time, EVIDENCE)

    # --- in the span of landmarks: linear problems --------------------------------------------------------------------

    def _problems_in_span(self, data: Any, flip_cost, time: TimeLimit) -> list[Problem]:
        """Return linear problems in the span of landmarks; radius and ridge are chosen on the way, with a sample."""
        if self.kernel == "precomputed" or engine_of(getattr(data, "points", None)) == "gpu":
            raise ValueError(NOT_IN_SPAN.format(self.kernel, self.engine))
        given = None if self.landmarks is None else checked_landmarks(self.landmarks, self.n_features_in_)
        most = self._most_landmarks() if given is None else given.shape[0]
        if most is None:
            raise ValueError(NO_NUMBER)
        rows = data.linear_problems(self._ball(data.costs_by_class, flip_cost) | {"intercept_cost": math.inf})
        few, flip_cost = data.sample(self, rows, flip_cost, WIDER * most)
        problems = self._kernel_problems(few, flip_cost, time)
        self._choose_ball(problems, Centred, few.counts, time)
        if given is None:
            given = few.X[np.sort(generator_of(self.random_state).permutation(few.X.shape[0])[: WIDER * most])]
        self._basis = Basis.of(given, most, self._priced(given), problems[0].rows, prices.feature_costs(self))
        return [self._basis.mapped(one).replace(intercept_cost=problems[0].intercept_cost) for one in rows]

    def _choose_ball(
        self, problems: list[Problem], at_centre, counts, time: TimeLimit, share: float = 1.0
    ) -> list[Result | None]:
        if problems[0].rows.is_kernel:
            return super()._choose_ball(problems, at_centre, counts, time)
        return [None for _ in problems]  # radius and ridge were chosen with the span

    def _at_centre(self, problems: list[Problem]) -> Callable[[Problem], Centred]:
        # Rows are relative to their centre already, except that in a span there is one centre for all classes.
        return Centred if problems[0].rows.is_kernel or len(problems) == 1 else prices.at_centre

    def _solve(self, index, centred, start, context, time) -> Result:
        result = super()._solve(index, centred, start, context, time)
        if centred.problem.rows.is_kernel:  # without time for a proof, the bound is that of the last span
            bound = min(result.info.get("bound_in_span", -math.inf), result.objective)
            in_span = result.lower_bound == 0.0 and result.objective - bound <= result.tol
            return replace(result, status=Status.OPTIMAL_IN_SPAN, lower_bound=bound) if in_span else result
        # A weaker claim, about limited weights, stays as it is.
        return replace(result, status=Status.OPTIMAL_IN_SPAN) if result.status is Status.OPTIMAL else result

    # --- in the whole feature space ---------------------------------------------------------------------------------

    @property
    def _finished(self) -> tuple[Status, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How a run may end without a warning: given landmarks prove what they can."""
        return FINISHED if self.n_landmarks == "auto" else (*FINISHED, Status.STALLED)

    def _most_landmarks(self) -> int | None:
        auto = self.n_landmarks == "auto"
        return None if auto else check_count(self.n_landmarks, "n_landmarks", "an integer ≥ 1 or 'auto'")

    def _solver(self, problem: Problem) -> str | Landmarks:
        return Landmarks(self._most_landmarks()) if problem.rows.is_kernel else "auto"

    def _starts(self, earlier, otherwise: list[Any]) -> list[Any]:
        # A rough solution is made of more rows than may be wanted, and would be kept if it is better.
        return otherwise if self.n_landmarks == "auto" else [None] * len(otherwise)

    def _store(self, problems: list[Problem], results: list[Result]) -> None:
        super()._store(problems, results)
        if problems[0].rows.is_kernel and problems[0].kept is not None:  # coefficients in the order of the given rows
            order = np.argsort(to_numpy(problems[0].kept))
            shown = [replace(one, weights=one.weights[order]) for one in results]
            self.result_ = shown[0] if len(shown) == 1 else Results(shown, self.classes_.tolist())

    def _store_classifier(self, problems: list[Problem], results: list[Result]) -> None:
        X, basis = (self.__dict__.pop(name, None) for name in ("_fitted_rows", "_basis"))
        weights = np.stack([result.weights for result in results])
        if not problems[0].rows.is_kernel:
            self.landmarks_, self.dual_coef_ = basis.landmarks, weights @ basis.coefficients.T
            self.landmark_indices_ = np.full(len(basis.coefficients), -1)
            self.intercept_ = self.intercept_ + weights @ basis.functions.intercept
            return
        kept = np.arange(X.shape[0]) if problems[0].kept is None else to_numpy(problems[0].kept)
        used = np.flatnonzero(weights.any(axis=0))
        self.dual_coef_, self.landmark_indices_ = weights[:, used], kept[used]
        self.landmarks_ = X[self.landmark_indices_]
        means = [problem.rows.mean_of(w) for problem, w in zip(problems, weights, strict=True)]
        self.intercept_ = self.intercept_ - np.array(means)
