"""`WassersteinKernelSVC`: the robust classifier in the feature space of a kernel, with a proof of the full problem."""

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from drsvm.clock import TimeLimit
from drsvm.learn import one_vs_rest, prices
from drsvm.learn.base import CommonMixin
from drsvm.learn.fit_data import FitData, on_engine
from drsvm.learn.fitting import FINISHED, FittingMixin
from drsvm.model.backends import ForCard, backend_of, engine_of, fetched
from drsvm.model.kernel_functions import (
    Given,
    KernelFunction,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Rbf,
    squared_norms,
)
from drsvm.model.kernel_model import KernelClassifier
from drsvm.model.kernel_rows import in_feature_space, rows_of_functions
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.model.validation import check_number
from drsvm.solvers.base import check_count
from drsvm.solvers.landmarks.solver import Landmarks

WIDTH = 0.3  # γ times the mean squared distance from the centre; fixed on the data sets on which the study decides


class WassersteinKernelSVC(FittingMixin, CommonMixin, ClassifierMixin, BaseEstimator):
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
        1 / n_features, as in ``SVC``; "rule" is 0.3 / (mean squared distance from the centre of the data), 0.3 times
        "scale" for standardised features: wider, because it need not fit wrong labels.
    degree, coef0 : int, float
        Degree and constant (at least 0) of "poly".
    n_landmarks : int or "auto", default="auto"
        Number of rows of which the classifier is made. With "auto" as many as the tolerance needs; with a number,
        predictions are fast, and the gap is what it is.
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
    engine : {"auto", "cpu", "gpu"}, default="auto"
        Where a fit is computed. With "gpu", or if X is on a graphics card, the rows are copied there (dense, in double
        precision); kernels are then "rbf", "laplacian", "poly" or "linear". Predictions are made where X is.

    Attributes
    ----------
    landmarks_, landmark_indices_ : arrays of shape (n_landmarks, n_features), (n_landmarks,)
        The rows of which the classifier is made, and where they are in X.
    dual_coef_, intercept_ : arrays of shape (1 or n_classes, n_landmarks), (1 or n_classes,)
        The classifier: ``Σ_j dual_coef_j k(x, landmark_j) + intercept``.
    classes_ : array
        The labels.
    gamma_ : float
        The coefficient that was used.
    objective_, lower_bound_, gap_, radius_price_, radius_, l2_, intercept_cost_, threshold_, n_iter_, result_
        As in `WassersteinSVC`. The weights of `result_` are coefficients of the training rows of positive weight.
    n_features_in_, feature_names_in_
        Number and names of the features.

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
        engine: Literal["auto", "cpu", "gpu"] = "auto",
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_landmarks = n_landmarks
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def decision_function(self, X):
        """Return f(x) + b for every row, of shape (n_samples,) or (n_samples, n_classes)."""
        check_is_fitted(self)
        backend, rows = backend_of(X), validate_data(self, in_memory(X), reset=False, **one_vs_rest.ROWS)
        if self.kernel == "precomputed":
            values = np.asarray(rows[:, self.landmark_indices_] @ self.dual_coef_.T, dtype=np.float64)
        else:
            landmarks, points = self._priced(self.landmarks_), self._priced(rows)
            functions = rows_of_functions(landmarks if backend is None else ForCard(landmarks), self._function())
            values = np.column_stack([fetched(functions.at(points, c)) for c in self.dual_coef_])
        values += self.intercept_
        values = values.ravel() if len(self.dual_coef_) == 1 else values
        return values if backend is None else backend.like(X, values)

    def predict(self, X):
        """Return the label of every row, of shape (n_samples,)."""
        decisions, backend = self.decision_function(X), backend_of(X)
        if backend is not None:
            return backend.labels(decisions, self.classes_)
        chosen = (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
        return self.classes_[chosen]

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features if the kernel is linear, of shape (1 or n_classes, n_features)."""
        if self.kernel != "linear":
            raise AttributeError(f"coef_ is only available with kernel='linear', got kernel={self.kernel!r}.")
        weights, costs = self.dual_coef_ @ self.landmarks_, prices.feature_costs(self)
        return weights if costs is None else weights * costs**2

    # --- for `drsvm.model.kernel_model` and `drsvm.model.linear_model` ----------------------------------------------

    def _kernel_classifier(self) -> KernelClassifier:
        classifier = self.dual_coef_, self.intercept_, self.classes_, prices.feature_costs(self)
        return KernelClassifier(self._function(), self._priced(self.landmarks_), *classifier)

    def _trained_ball(self) -> dict[str, Any]:
        """Return the ball in units of shifts of the priced features: 1 is at most L in the feature space."""
        steepness, costs = self._function().lipschitz, prices.feature_costs(self)
        if steepness is None:
            return {}
        flip_cost: Any = None  # several of them: `worst_case_risk` asks for them
        if not (self._flip_cost_by_row or isinstance(self.flip_cost, Mapping)):
            flip_cost = self.flip_cost / steepness
        return {"radius": self.radius_ / steepness, "flip_cost": flip_cost, "norm": 2, "feature_cost": costs}

    # --- what is special about this fit -----------------------------------------------------------------------------

    def _data(self, X, y, sample_weight) -> FitData:
        on_card = engine_of(on_engine(X, self.engine)) == "gpu"
        data = KernelFit(self, *map(in_memory, (X, y, sample_weight)))
        self._fitted_rows = data.X
        self.gamma_ = self._coefficient(data.X, data.sample_weight)
        data.points, data.function = self._priced(data.X), self._function(data.X)
        if self.kernel == "precomputed":
            if data.X.shape[0] != data.X.shape[1]:
                raise ValueError(f"A precomputed kernel needs a square matrix, got X of shape {data.X.shape}.")
            data.points = np.arange(len(data.X))[:, None]
        data.points = ForCard(data.points) if on_card else data.points
        return data

    def _coefficient(self, X, sample_weight) -> float:
        if not isinstance(self.gamma, str):
            if not check_number(self.gamma, "gamma") > 0.0:
                raise ValueError(f"gamma must be above 0, got gamma={self.gamma!r}.")
            return float(self.gamma)
        if self.gamma not in ("rule", "scale", "auto"):
            raise ValueError(f"gamma must be a number, 'rule', 'scale' or 'auto', got gamma={self.gamma!r}.")
        if self.kernel == "precomputed" or self.gamma == "auto":
            return 1.0 / X.shape[1]
        X = self._priced(X)
        weights = sample_weight if self.gamma == "rule" and sample_weight is not None else np.ones(X.shape[0])
        shares = weights / weights.sum()
        means, squares = np.asarray(shares @ X).ravel(), float(shares @ squared_norms(X))
        if self.gamma == "rule":
            distance = float(squares - means @ means)
            return WIDTH / distance if distance > 0 else 1.0
        variance = float(squares / X.shape[1] - means.mean() ** 2)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0

    def _function(self, table=None) -> KernelFunction:
        if callable(self.kernel):
            return Given(self.kernel)
        degree, coef0 = check_count(self.degree, "degree"), check_number(self.coef0, "coef0")
        functions = {
            "rbf": lambda: Rbf(self.gamma_),
            "laplacian": lambda: Laplacian(self.gamma_),
            "poly": lambda: Polynomial(self.gamma_, degree, coef0),
            "linear": Linear,
            "precomputed": lambda: Precomputed(table),
        }
        if not isinstance(self.kernel, str) or self.kernel not in functions:
            known = ", ".join(repr(name) for name in functions)
            raise ValueError(
                f"kernel must be one of {known} or a function of two matrices, got kernel={self.kernel!r}."
                + (" It is not positive definite." if self.kernel == "sigmoid" else "")
            )
        return functions[self.kernel]()

    def _priced(self, X) -> Any:
        """Return the columns times the prices of their shifts, as floats of 64 bits."""
        X = X.astype(np.float64, copy=False)
        costs = prices.feature_costs(self)
        if costs is None or self.kernel == "precomputed":
            return X
        if np.isinf(costs).any():
            raise ValueError("feature_cost=inf is not possible with a kernel: use WassersteinSVC, or a large number.")
        return X.multiply(costs).tocsr() if sparse.issparse(X) else X * costs

    @property
    def _finished(self) -> tuple[Status, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How a run may end without a warning: given landmarks prove what they can."""
        return FINISHED if self.n_landmarks == "auto" else (*FINISHED, Status.STALLED)

    def _solver(self) -> Landmarks:
        if isinstance(self.n_landmarks, str) and self.n_landmarks != "auto":
            raise ValueError(f"n_landmarks must be an integer or 'auto', got n_landmarks={self.n_landmarks!r}.")
        given = isinstance(self.n_landmarks, numbers.Number)
        return Landmarks(check_count(self.n_landmarks, "n_landmarks") if given else None)

    def _store_classifier(self, problems: list[Problem], results: list[Result]) -> None:
        X = self.__dict__.pop("_fitted_rows")
        kept = np.arange(X.shape[0]) if problems[0].kept is None else fetched(problems[0].kept)
        weights = np.stack([result.weights for result in results])
        used = np.flatnonzero(weights.any(axis=0))
        self.dual_coef_, self.landmark_indices_ = weights[:, used], kept[used]
        self.landmarks_ = X[self.landmark_indices_]
        means = [problem.rows.mean_of(w) for problem, w in zip(problems, weights, strict=True)]
        self.intercept_ = self.intercept_ - np.array(means)


def in_memory(values) -> Any:
    """Return an array on a card as one of numpy, anything else as it is."""
    return fetched(values) if engine_of(values) == "gpu" else values


class KernelFit(FitData):
    """The data of a fit with a kernel."""

    points: Any
    function: KernelFunction

    def problems(self, ball: dict[str, Any]) -> list[Problem]:
        """Return one problem per class, or one for two classes."""
        label, intercept_cost = one_vs_rest.positive_labels(self.classes)[0], ball.pop("intercept_cost")
        first = in_feature_space(self.points, self.function, self.y == label, self.weights, **ball)
        first = prices.with_intercept_cost(first, intercept_cost)
        return one_vs_rest.for_every_class(first, self.y, self.classes, self.weights)
