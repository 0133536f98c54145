"""`WassersteinKernelSVC`: the robust classifier in the feature space of a kernel, with a proof of the full problem."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from drsvm.defaults import one_vs_rest, prices
from drsvm.defaults.binary_problems import Solved
from drsvm.defaults.outliers import warn_of_far_cells
from drsvm.estimators.base import (
    BaseEstimator,
    ClassifierMixin,
    FitMixin,
    shown_as_documented,
)
from drsvm.estimators.diagnostics import FINISHED
from drsvm.estimators.fit_data import naming_large_entries
from drsvm.estimators.kernel_problems import (
    ClusterKernelFit,
    Kernel,
    KernelFit,
    posed_with_ball,
    results_in_span,
)
from drsvm.estimators.placement import check_remote_features, on_engine
from drsvm.estimators.solving import FitTask, solve_problems
from drsvm.problem.backends import ForGpu, backend_of, engine_of, to_numpy
from drsvm.problem.feature_space import rows_of_functions
from drsvm.problem.kernel_classifier import KernelClassifier
from drsvm.problem.kernel_functions import KernelFunction
from drsvm.problem.result import Results, Status
from drsvm.solvers.base import check_count
from drsvm.solvers.landmarks.landmark_solver import Landmarks
from drsvm.utils.annotations import Matrix, Vector
from drsvm.utils.clock import TimeLimit


@shown_as_documented
@dataclass(eq=False, repr=False)
class WassersteinKernelSVC(FitMixin, ClassifierMixin, BaseEstimator):
    """Nonlinear classifier for data with some wrong labels, with a proof attached.

    It solves the problem of `WassersteinSVC` (with norm=2) in the feature space of a
    kernel. Each iteration works in the span of some rows and of sums of rows; the
    certificate is that of the full problem, over all functions of the feature space,
    and refers to `certified_intercept_`: the threshold is placed afterwards.
    Standardise the features first. The defaults need no tuning.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "poly", "linear", "precomputed"} or callable, default="rbf"
        As in scikit-learn's ``SVC``. A callable returns the values for two matrices; it
        must be positive definite, and so must the values of "precomputed", where X has
        those of every row with the training rows.
    gamma : {"rule", "scale", "auto"} or float, default="rule"
        Coefficient of "rbf", "laplacian" and "poly". "scale" is 1 / (n_features ·
        variance of X), "auto" is 1 / n_features, as in ``SVC``. "rule" is 0.3 / (mean
        squared distance from the centre of the data), 0.3 times "scale" for
        standardised features: wider, because it need not fit wrong labels. For "rbf"
        and "laplacian" it is 3.3 or 10 times that if up to 1,000 of the rows are then
        ranked clearly better by classifiers that have not seen them, which takes two to
        three times as long as a given number.
    degree, coef0 : int, float
        Degree and constant (at least 0) of "poly".
    n_landmarks : int or "auto", default="auto"
        Number of rows of which the classifier is made. With "auto" as many as the
        tolerance needs; with a number, predictions are fast, and the gap is what it is.
    landmarks : array of shape (n_landmarks, n_features), optional
        Given rows, such as the centres of clusters, of which the classifier is made.
        Objective, bound and gap are then those of the functions of these rows (see the
        notes).
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample in the feature space.
        "auto" as in `WassersteinSVC`.
    flip_cost : float or dict, default=inf
        Cost of flipping a label, in units of a shift in the feature space.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||f||²``. "auto" as in `WassersteinSVC`.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Price of the intercept at the centre of the data in the feature space. With
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
        Where a fit is computed. With "gpu", or if X is on a graphics card, the rows are
        copied there (dense, in double precision); kernels are then "rbf", "laplacian",
        "poly" or "linear". Dask collections stay on their cluster, and need
        `n_landmarks` or `landmarks` (see the notes). Predictions are made where X is.

    Attributes
    ----------
    landmarks_, landmark_indices_ : arrays of shape (n_landmarks, n_features), (n_landmarks,)
        The rows of which the classifier is made, and where they are in X; -1 if they
        were given, or X is on a cluster.
    dual_coef_, intercept_ : arrays of shape (1 or n_classes, n_landmarks), (1 or n_classes,)
        The classifier: ``Σ_j dual_coef_j k(x, landmark_j) + intercept``.
    gamma_ : float
        The coefficient that was used.
    certified_intercept_ : array of shape (1 or n_classes,)
        The intercept of the problem, with which the certificate holds: `intercept_`,
        unless the threshold moved.
    classes_, threshold_, radius_, l2_, intercept_cost_, class_factors_, sigmoids_
        As in `WassersteinSVC`; likewise `n_features_in_` and `feature_names_in_`.
    objective_, lower_bound_, gap_, radius_price_, n_iter_, result_
        The certificate, as in `WassersteinSVC`. The weights of `result_` are
        coefficients of the rows of positive weight, less copies.

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

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    _: KW_ONLY
    gamma: float | Literal["rule", "scale", "auto"] = "rule"
    degree: int = 3
    coef0: float = 0.0
    n_landmarks: int | Literal["auto"] = "auto"
    landmarks: Any = None
    tol: float | None = 1e-4

    # --- the steps of a fit that are special about this one
    # -----------------------------------------------------------

    def _data(self, X, y, sample_weight) -> KernelFit | ClusterKernelFit:
        engine = engine_of(on_engine(X, self.engine))
        if engine == "dask":
            data = ClusterKernelFit(self, X, y, sample_weight)
        else:
            X, y, sample_weight = map(in_memory, (X, y, sample_weight))
            data = KernelFit(self, X, y, sample_weight, on_card=engine == "gpu")
        if self.n_landmarks != "auto":  # they prove what they can
            data.finished = *FINISHED, Status.STALLED
        if self.kernel != "precomputed":
            warn_of_far_cells(data.X, data.sample_weight, self)
        return data

    def _solved(
        self,
        data: KernelFit | ClusterKernelFit,
        flip_cost,
        task: FitTask,
        time: TimeLimit,
    ) -> Solved:
        """Pose the problems with the present weights of the classes, choose width and ball, and solve."""
        with naming_large_entries(data):
            posed, ball = posed_with_ball(self, data, flip_cost, time)
        if posed.problems[0].rows.is_kernel:
            solver = Landmarks(self._max_landmarks())
        else:
            solver = "auto"
        # A rough solution is made of more rows than may be wanted, and would be kept if
        # it is better.
        if self.n_landmarks == "auto":
            starts = ball.solutions
        else:
            starts = [None] * len(posed.problems)
        return results_in_span(solve_problems(posed, ball, starts, solver, task, time))

    def _max_landmarks(self) -> int | None:
        auto = self.n_landmarks == "auto"
        if auto:
            return None
        return check_count(self.n_landmarks, "n_landmarks", "an integer ≥ 1 or 'auto'")

    def _store(self, data: KernelFit | ClusterKernelFit, solved: Solved) -> None:
        """Store the landmarks and their coefficients, and the intercept of functions that are not centred."""
        super()._store(data, solved)
        problems = solved.posed.problems
        weights = solved.weights
        basis = data.basis
        if basis is not None:
            self.landmarks_ = basis.landmarks
            self.dual_coef_ = weights @ basis.coefficients.T
            self.landmark_indices_ = np.full(len(basis.coefficients), -1)
            self.intercept_ = self.intercept_ + weights @ basis.functions.intercept
            return
        if problems[0].kept is None:
            kept = np.arange(data.X.shape[0])
        else:
            kept = to_numpy(problems[0].kept)
        if problems[0].kept is not None:  # coefficients in the order of the given rows
            order = np.argsort(kept)
            shown = [
                replace(result, weights=result.weights[order])
                for result in solved.results
            ]
            if len(shown) == 1:
                self.result_ = shown[0]
            else:
                self.result_ = Results(shown, self.classes_.tolist())
        used = np.flatnonzero(weights.any(axis=0))
        self.dual_coef_ = weights[:, used]
        self.landmark_indices_ = kept[used]
        self.landmarks_ = data.X[self.landmark_indices_]
        means = [
            problem.rows.mean_of(w)
            for problem, w in zip(problems, weights, strict=True)
        ]
        self.intercept_ = self.intercept_ - np.array(means)

    # --- decisions
    # ----------------------------------------------------------------------------------------------------

    def decision_function(self, X: Matrix) -> Vector:
        """Return f(x) + b for every row, of shape (n_samples,) or (n_samples, n_classes)."""
        check_is_fitted(self)
        backend = backend_of(X)
        if engine_of(X) == "dask":
            if len(self.dual_coef_) == 1:
                shape = ()
            else:
                shape = (len(self.dual_coef_),)
            return check_remote_features(self, X).by_block(X, self._decisions(), shape)
        rows = validate_data(self, in_memory(X), reset=False, **one_vs_rest.ROWS)
        if backend is None:
            return self._decisions()(rows)
        if self.kernel == "precomputed":
            return backend.like(X, self._decisions()(rows))
        kernel = self._kernel_classifier()
        functions = rows_of_functions(ForGpu(kernel.landmarks), kernel.function)
        points = kernel.scaled(rows)
        values = (
            np.column_stack([to_numpy(functions.at(points, c)) for c in kernel.coef])
            + kernel.intercept
        )
        return backend.like(X, values.ravel() if len(kernel.coef) == 1 else values)

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
        """Weights of the features if the kernel is linear, of shape (1 or n_classes, n_features)."""
        if self.kernel != "linear":
            raise AttributeError(
                f"coef_ is only available with kernel='linear', got kernel={self.kernel!r}."
            )
        weights = self.dual_coef_ @ self.landmarks_
        costs = prices.feature_costs(self)
        return weights if costs is None else weights * costs**2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # --- for worst cases and model files
    # ------------------------------------------------------------------------------

    def _kernel(self) -> Kernel:
        """Return the kernel for rows with the features that have been seen."""
        return Kernel(
            self.kernel, self.gamma, self.degree, self.coef0, prices.feature_costs(self)
        )

    def _function(self) -> KernelFunction:
        return self._kernel().function(self.gamma_)

    def _kernel_classifier(self) -> KernelClassifier:
        classifier = (
            self.dual_coef_,
            self.intercept_,
            self.classes_,
            prices.feature_costs(self),
        )
        return KernelClassifier(
            self._function(), self._kernel().priced(self.landmarks_), *classifier
        )

    def _trained_ball(self) -> dict[str, Any]:
        """Return the ball in units of shifts of the priced features: 1 is at most L in the feature space."""
        steepness = self._function().lipschitz
        costs = prices.feature_costs(self)
        if steepness is None:
            return {}
        # None: only `fit` knew them
        cost = None if self._flip_cost_by_row else self.flip_cost
        if isinstance(cost, Mapping):
            cost = {label: price / steepness for label, price in cost.items()}
        elif cost is not None:
            cost = cost / steepness
        return {
            "radius": self.radius_ / steepness,
            "flip_cost": cost,
            "norm": 2,
            "feature_cost": costs,
        }


def in_memory(values) -> Matrix:
    """Return an array on a GPU as one of numpy, anything else as it is."""
    if engine_of(values) == "gpu":
        return to_numpy(values)
    return values


def _decisions_of_table(
    places: np.ndarray, coef: np.ndarray, intercept: np.ndarray, rows: Matrix
) -> np.ndarray:
    values = np.asarray(rows[:, places] @ coef.T, dtype=np.float64) + intercept
    return values.ravel() if len(coef) == 1 else values
