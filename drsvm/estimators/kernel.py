"""`WassersteinKernelSVC`: the robust classifier in the feature space of a kernel.

The certificate is that of the full problem, over all functions of the feature space.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from drsvm.certificate.certificate import dual_point
from drsvm.defaults.binary_problems import Solved
from drsvm.defaults.fit_data import FitData, RemoteFitData
from drsvm.defaults.group_landmarks import MOST
from drsvm.defaults.kernel_parameters import WITH_REACH, KernelParameters
from drsvm.defaults.kernel_problems import (
    KernelProblems,
    problems_in_feature_space,
    problems_in_span,
    with_copies_joined,
)
from drsvm.defaults.landmark_basis import LandmarkBasis
from drsvm.estimators.base import FitMixin, without_single_column
from drsvm.estimators.callbacks import FitCallbacks
from drsvm.estimators.checks import (
    ROWS,
    checked_data_anywhere,
    naming_large_entries,
    without_gross_errors,
)
from drsvm.estimators.diagnostics import FINISHED, Statuses
from drsvm.estimators.parameters import feature_costs, problem_parameters
from drsvm.estimators.placement import check_remote_features, on_engine
from drsvm.estimators.solving import solve_problems
from drsvm.problem.backends import ForGpu, backend_of, engine_of, to_numpy
from drsvm.problem.feature_space import rows_of_functions
from drsvm.problem.kernel_classifier import KernelClassifier
from drsvm.problem.kernel_functions import KernelFunction
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Results, Status
from drsvm.problem.validation import check_indices, check_row_radius, check_rows
from drsvm.solvers.base import check_count
from drsvm.solvers.landmarks.landmark_solver import Landmarks
from drsvm.utils.annotations import Matrix, Vector
from drsvm.utils.arguments import about
from drsvm.utils.clock import TimeLimit


@dataclass(frozen=True, eq=False)
class SolvedKernel(Solved):
    """The problems of a kernel, and their results."""

    gamma: float
    """The coefficient γ of the kernel."""

    basis: LandmarkBasis | None
    """The basis of the span of landmarks, if the problems are linear ones in it."""


class WassersteinKernelSVC(FitMixin, ClassifierMixin, BaseEstimator):
    """Nonlinear classifier for data with some wrong labels, with a proof attached.

    It solves the problem of `WassersteinSVC` (with norm=2) in the feature space of a
    kernel. Each iteration works in the span of some rows and of sums of rows; the
    certificate is that of the full problem, over all functions of the feature space,
    and refers to `certified_intercept_`: the threshold is placed afterwards.
    Standardise the features first. The defaults need no tuning. See :doc:`/kernels`.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "poly", "linear" or "precomputed", as in scikit-learn's
        ``SVC``. A callable returns the values for two matrices; it must be positive
        definite, and so must the values of "precomputed", where X has those of every
        row with the training rows.
    gamma : {"rule", "scale", "auto"} or float, default="rule"
        Coefficient of "rbf", "laplacian" and "poly". "scale" is 1 / (n_features ·
        variance of X), "auto" is 1 / n_features, as in ``SVC``. "rule" is 0.3 / (mean
        squared distance from the centre of the data): wider, because it need not fit
        wrong labels. For "rbf" and "laplacian" it is larger where rows out of fold are
        then ranked clearly better, which takes two to three times as long as a number.
    degree, coef0 : int, float
        Degree and constant (at least 0) of "poly".
    n_landmarks : int or "auto", default="auto"
        Number of rows of which the classifier is made. With "auto" as many as the
        tolerance needs; with a number, predictions are fast, and the gap is what it is.
    landmarks : array of shape (n_landmarks, n_features) or "means", optional
        Given rows, such as the centres of clusters, of which the classifier is made.
        With "means" it contains no training row, and is small: the landmarks are
        means of groups of at least five similar rows and, if these are few, random
        points around them; 300 by default. Objective, bound and gap are then those of
        the functions of these landmarks (see the notes).
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample in the feature space.
        "auto" as in `WassersteinSVC`.
    row_radius : float, default=0
        By how much every row may shift on its own, beyond the average shift by
        `radius`; in `fit` also one number per row. It is a Euclidean length in the
        units of the features (times their costs), not in the feature space, and needs
        the kernel "rbf" or "linear", and trusted labels. See :doc:`/row_shifts`.

        .. versionadded:: 1.0.0rc2
    flip_cost : float or dict, default=inf
        Cost of flipping a label, in units of a shift in the feature space.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||f||²``. "auto" as in `WassersteinSVC`.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Cost of the intercept at the centre of the data in the feature space. With
        "auto" it is the root mean square of the rows' distances from the centre.
    feature_cost : array of shape (n_features,) or dict, optional
        Cost of a shift of each feature by 1: the columns are multiplied by it before
        the kernel. It must be finite.
    class_weight, threshold, cv, calibration
        As in `WassersteinSVC`.
    tol : float, default=1e-4
        Proven gap between objective and optimum of the full problem at which to stop.
    max_iter, max_time, random_state, verbose, n_jobs
        As in `WassersteinSVC`.
    engine : {"auto", "cpu", "gpu", "dask"}, default="auto"
        Where a fit is computed. With "gpu", or if X is on a GPU, the rows are copied
        there; callables and "precomputed" are then excluded. Dask collections need
        `n_landmarks` or `landmarks`. Predictions are made where X is.

    Attributes
    ----------
    landmarks_ : array of shape (n_landmarks, n_features)
        The rows, or other points, of which the classifier is made.
    landmark_indices_ : array of shape (n_landmarks,)
        Where they are in X; -1 if they are no rows of it, or X is on a cluster.
    dual_coef_ : array of shape (1 or n_classes, n_landmarks)
        The coefficients of the classifier ``Σ_j dual_coef_j k(x, landmark_j) +
        intercept``.
    intercept_ : array of shape (1 or n_classes,)
        Its intercept.
    gamma_ : float
        The coefficient that was used.
    certified_intercept_ : array of shape (1 or n_classes,)
        The intercept of the certificate: `intercept_`, unless the threshold moved.
    classes_, threshold_, radius_, l2_, intercept_cost_, class_factors_, sigmoids_,
    mean_
        As in `WassersteinSVC`; likewise `n_features_in_` and `feature_names_in_`.
    objective_, lower_bound_, gap_, radius_price_, n_iter_, result_
        The certificate, as in `WassersteinSVC`. The weights of `result_` are
        coefficients of the rows of positive weight, less copies: the first of equal
        rows with the same label and flip cost has the multipliers of all of them in
        `hinge_dual` and `flip_dual`, and the others have 0.

    Notes
    -----
    With given `landmarks`, and on a Dask cluster, the classifier is the best one among
    the functions of the landmarks, and this is what is proven: the status of `result_`
    is OPTIMAL_IN_SPAN, and its weights are those of an orthonormal basis. For up to
    5,000 rows in memory, ``result_.info["bound_anywhere"]`` is a lower bound on the
    optimum over the whole feature space, from the same multipliers. On a cluster,
    landmarks, γ, radius and ridge are chosen with a sample of the rows.

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
        row_radius: float = 0.0,
        flip_cost: float | Mapping[Any, float] = math.inf,
        l2: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_cost: float | Literal["auto"] = "auto",
        feature_cost: Any = None,
        class_weight: Mapping[Any, float] | Literal["auto", "balanced"] | None = "auto",
        threshold: Literal["accuracy", "balanced_accuracy", "optimum"]
        | Mapping[Any, float] = "accuracy",
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
        self.row_radius = row_radius
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

    # --- the steps of a fit that differ from those of other estimators

    def _check_data(self, X, y, sample_weight, flip_cost) -> FitData:
        engine = engine_of(on_engine(X, self.engine))
        if engine != "dask":
            X = fetched_from_gpu(X)
            y = fetched_from_gpu(y)
            sample_weight = fetched_from_gpu(sample_weight)
        data = checked_data_anywhere(
            self, X, y, sample_weight, self.class_weight, flip_cost
        )
        data = replace(data, on_gpu=engine == "gpu")
        # For its warnings only: the share of the spread that it returns is about the
        # features, not about functions of them.
        if self.kernel != "precomputed":
            without_gross_errors(self, data)
        return data

    def _given_row_radius(self, row_radius):
        row_radius = super()._given_row_radius(row_radius)
        if np.any(row_radius) and self.kernel not in WITH_REACH:
            raise ValueError(
                "row_radius needs kernel='rbf' or 'linear', got "
                f"kernel={self.kernel!r}: how far its functions move when a row shifts "
                "is not known. Use one of these, or radius alone."
            )
        return fetched_from_gpu(row_radius)

    def _prepared(self, data):
        if isinstance(data, RemoteFitData) and np.ndim(data.row_radius):
            raise ValueError(
                "A kernel takes a row_radius for each row in memory only: give one "
                "number for all rows on a cluster."
            )
        radii = check_row_radius(data.row_radius, data.y.shape[0])
        data = replace(data, row_radius=radii)
        # Copies are one row with more weight, unless given folds may part them.
        has_given_folds = self.cv is not None and not np.isscalar(self.cv)
        if isinstance(data, RemoteFitData) or has_given_folds:
            return data
        return with_copies_joined(data)

    def _solve(
        self, data: FitData, callbacks: FitCallbacks, time: TimeLimit
    ) -> SolvedKernel:
        with naming_large_entries(data):
            posed = self._pose(data, time)
            # The rules for radius and ridge are about rows that shift on average.
            if np.any(data.row_radius):
                posed = posed.with_reach(self._kernel(), data.row_radius)
        problems, gamma, basis, anywhere = posed
        # In a span the problems are linear. Any solver takes them.
        solver = "auto"
        if basis is None:
            solver = Landmarks(self._max_landmarks())
        # A rough solution is made of more rows than may be wanted, and would be kept if
        # it is better.
        starts = problems.starts()
        if self.n_landmarks != "auto":
            starts = [None] * len(problems.given)
        limits = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "random_state": self.random_state,
        }
        with naming_large_entries(data):
            results = solve_problems(
                problems, starts, solver, limits, self.n_jobs, callbacks, time
            )
        if basis is None:
            results = [_claimed_anywhere(result) for result in results]
        else:
            results = list(map(_claimed_in_span, results, anywhere))
        return SolvedKernel(problems, results, gamma, basis)

    def _pose(self, data: FitData, time: TimeLimit) -> KernelProblems:
        """Return the problems."""
        choices = {
            "kernel": self._kernel(),
            "parameters": problem_parameters(self, data.flip_cost),
            "radius": self.radius,
            "l2": self.l2,
            "solver": Landmarks(self._max_landmarks()),
            "time": time,
        }
        if self.landmarks is None and not isinstance(data, RemoteFitData):
            return problems_in_feature_space(data, **choices)
        landmarks = self._given_landmarks(data)
        most = self._max_landmarks() or MOST
        # Given landmarks are all taken.
        if landmarks is not None and not isinstance(landmarks, str):
            most = landmarks.shape[0]
        return problems_in_span(
            data,
            **choices,
            landmarks=landmarks,
            most=most,
            random_state=self.random_state,
        )

    def _given_landmarks(self, data: FitData) -> Matrix | str | None:
        """Return the given landmarks, "means", or None for rows of a sample."""
        if self.kernel == "precomputed" or data.on_gpu:
            raise ValueError(
                "Given landmarks, and rows on a Dask cluster, need a kernel that is a "
                f"function, and no GPU: got kernel={self.kernel!r} and "
                f"engine={self.engine!r}."
            )
        if self.landmarks is None:
            if self._max_landmarks() is None:
                raise ValueError(
                    "X is on a Dask cluster: give the number of rows of which the "
                    "classifier is made, such as n_landmarks=300."
                )
            return None
        if isinstance(self.landmarks, str):
            if self.landmarks != "means":
                raise ValueError(
                    "landmarks must be None, 'means' or an array, got "
                    f"landmarks={self.landmarks!r}."
                )
            return self.landmarks
        try:
            landmarks = check_rows(self.landmarks)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"landmarks must be rows like those of X: {error}"
            ) from None
        if landmarks.shape[1] != self.n_features_in_:
            raise ValueError(
                f"landmarks must have the {self.n_features_in_} features of X, got "
                f"shape {landmarks.shape}."
            )
        return landmarks

    def _max_landmarks(self) -> int | None:
        """Return the largest number of landmarks; None for any."""
        if isinstance(self.n_landmarks, str) and self.n_landmarks == "auto":
            return None
        return check_count(self.n_landmarks, "n_landmarks", "an integer ≥ 1 or 'auto'")

    def _finished_statuses(self) -> Statuses:
        if self.n_landmarks == "auto":
            return FINISHED
        # A given number of landmarks proves what it can.
        return *FINISHED, Status.STALLED

    def _store_classifier(self, data: FitData, solved: SolvedKernel) -> None:
        """Store landmarks, coefficients, and the intercept.

        Problems have centred functions; the intercept is that of k itself.
        """
        self.gamma_ = solved.gamma
        self.mean_, _ = data.average_row(None)
        problems = solved.problems.given
        weights = solved.weights
        basis = solved.basis
        if basis is not None:
            # Weights are coordinates in the basis, whose functions are sums over
            # landmarks: so is the classifier.
            self.landmarks_ = basis.landmarks
            self.dual_coef_ = weights @ basis.coefficients.T
            self.landmark_indices_ = np.full(len(basis.coefficients), -1)
            self.intercept_ = self.intercept_ + weights @ basis.functions.intercept
            return
        # Weights are coefficients of the rows of the problems, which are some of the
        # given ones in another order.
        kept = np.arange(data.X.shape[0])
        if problems[0].kept is not None:
            kept = to_numpy(problems[0].kept)
            self.result_ = _in_given_order(solved.results, kept, self.classes_)
        # A row is a landmark if any of the classifiers uses it.
        used = np.flatnonzero(weights.any(axis=0))
        self.dual_coef_ = weights[:, used]
        self.landmark_indices_ = kept[used]
        self.landmarks_ = data.X[self.landmark_indices_]
        # f·(φ(x) − μ) + b = f(x) + (b − f·μ), with the centre μ of the rows
        means = []
        for problem, weights_of_one in zip(problems, weights, strict=True):
            means.append(problem.rows.mean_of(weights_of_one))
        self.intercept_ = self.intercept_ - np.array(means)

    # --- decisions

    def decision_function(self, X: Matrix) -> Vector:
        """Return f(x) + b for every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; of a precomputed kernel its values with the training rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The values, where X is.
        """
        check_is_fitted(self)
        backend = backend_of(X)
        if engine_of(X) == "dask":
            # One value per row for two classes, otherwise one per class
            n_problems = len(self.dual_coef_)
            shape = (n_problems,)
            if n_problems == 1:
                shape = ()
            backend = check_remote_features(self, X)
            return backend.by_block(X, self._decisions(), shape)
        with about("X"):
            check_indices(X)
            rows = validate_data(self, fetched_from_gpu(X), reset=False, **ROWS)
        if backend is None:
            return self._decisions()(rows)
        if self.kernel == "precomputed":
            return backend.like(X, self._decisions()(rows))
        # On a GPU: the values of the kernel are computed there, column by column.
        kernel = self._kernel_classifier()
        functions = rows_of_functions(ForGpu(kernel.landmarks), kernel.function)
        points = kernel.scaled(rows)
        columns = []
        for coefficients in kernel.coef:
            columns.append(to_numpy(functions.at(points, coefficients)))
        values = np.column_stack(columns) + kernel.intercept
        return backend.like(X, without_single_column(values))

    def _decisions(self) -> Callable[[Matrix], np.ndarray]:
        """Return the decision function of rows in memory, which workers can be sent."""
        if self.kernel == "precomputed":
            return partial(
                _decisions_of_table,
                self.landmark_indices_,
                self.dual_coef_,
                self.intercept_,
            )
        return self._kernel_classifier().decisions

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features if the kernel is linear.

        They have the shape (1 or n_classes, n_features).
        """
        if self.kernel != "linear":
            raise AttributeError(
                "coef_ is only available with kernel='linear', got "
                f"kernel={self.kernel!r}."
            )
        weights = self.dual_coef_ @ self.landmarks_
        costs = feature_costs(self)
        if costs is None:
            return weights
        # k multiplies the columns of rows and landmarks by the costs.
        return weights * costs**2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # --- for worst cases and model files

    def _kernel(self) -> KernelParameters:
        """Return the kernel for rows with the features that have been seen."""
        costs = feature_costs(self)
        return KernelParameters(self.kernel, self.gamma, self.degree, self.coef0, costs)

    def _function(self) -> KernelFunction:
        """Return the kernel function of the fitted classifier."""
        return self._kernel().function(self.gamma_)

    def _kernel_classifier(self) -> KernelClassifier:
        """Return the decision functions as sums over the landmarks."""
        kernel = self._kernel()
        return KernelClassifier(
            kernel.function(self.gamma_),
            kernel.scaled(self.landmarks_),
            self.dual_coef_,
            self.intercept_,
            self.classes_,
            kernel.costs,
        )

    def _trained_ball(self) -> dict[str, Any]:
        """Return the adversary of the training, for `audit.model_layers`.

        It is in units of shifts of the priced features: such a shift by 1 is one by at
        most the Lipschitz constant in the feature space.
        """
        lipschitz = self._function().lipschitz
        if lipschitz is None:
            return {}
        if self._flip_cost_by_row:
            flip_cost = None  # only `fit` knew the costs
        elif isinstance(self.flip_cost, Mapping):
            flip_cost = {
                label: cost / lipschitz for label, cost in self.flip_cost.items()
            }
        else:
            flip_cost = self.flip_cost / lipschitz
        return {
            "radius": self.radius_ / lipschitz,
            "flip_cost": flip_cost,
            "norm": 2,
            "feature_cost": feature_costs(self),
        }


def fetched_from_gpu(values) -> Matrix:
    """Return an array on a GPU as one of numpy, and anything else as it is."""
    if engine_of(values) == "gpu":
        return to_numpy(values)
    return values


def _claimed_in_span(result: Result, anywhere: Problem | None) -> Result:
    """Return the result of a linear problem in a span with what it proves.

    Its multipliers also prove a bound for the problem over all functions of the kernel,
    if this is given.
    """
    # A weaker claim, about limited weights, stays as it is.
    if result.status is not Status.OPTIMAL:
        return result
    result = replace(result, status=Status.OPTIMAL_IN_SPAN)
    if anywhere is None:
        return result
    alpha = anywhere.multipliers_from(result.hinge_dual)
    beta = anywhere.multipliers_from(result.flip_dual)
    bound = dual_point(anywhere, alpha, beta).lower_bound
    return replace(result, info={**result.info, "bound_anywhere": bound})


def _claimed_anywhere(result: Result) -> Result:
    """Return the result of a problem in the feature space with what it proves.

    Without a proof in the whole feature space, it is about the span of the landmarks.
    """
    bound = min(result.info.get("bound_in_span", -math.inf), result.objective)
    # The bound is 0 if the time limit was reached before the whole feature space was
    # looked at.
    if result.lower_bound == 0.0 and result.objective - bound <= result.tol:
        return replace(result, status=Status.OPTIMAL_IN_SPAN, lower_bound=bound)
    return result


def _in_given_order(
    results: list[Result], kept: np.ndarray, classes: np.ndarray
) -> Result | Results:
    """Return results with coefficients in the order of the given rows."""
    order = np.argsort(kept)
    ordered = [replace(result, weights=result.weights[order]) for result in results]
    if len(ordered) == 1:
        return ordered[0]
    return Results(ordered, classes.tolist())


def _decisions_of_table(
    places: np.ndarray, coef: np.ndarray, intercept: np.ndarray, rows: Matrix
) -> np.ndarray:
    """Return decision values from kernel values with the training rows.

    The landmarks are the training rows at the given places.
    """
    values = np.asarray(rows[:, places] @ coef.T, dtype=np.float64) + intercept
    return without_single_column(values)
