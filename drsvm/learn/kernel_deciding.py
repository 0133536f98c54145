"""The kernel of a classifier: the function, its width, and decisions, wherever the rows are."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from drsvm.learn import one_vs_rest, prices
from drsvm.learn.fit_data import check_remote_features
from drsvm.model.backends import ForCard, backend_of, engine_of, to_numpy
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
from drsvm.model.kernel_rows import in_feature_space, rows_of_functions
from drsvm.model.memory_rows import scaled_columns
from drsvm.model.problem import Problem
from drsvm.model.validation import check_number
from drsvm.model.worst_case.kernel_model import KernelClassifier
from drsvm.solvers.base import check_count

WIDTH = 0.3  # γ times the mean squared distance from the centre; fixed on the data sets on which the study decides


def in_memory(values) -> Any:
    """Return an array on a card as one of numpy, anything else as it is."""
    return to_numpy(values) if engine_of(values) == "gpu" else values


def kernel_problems(points, function: KernelFunction, y, classes, weights, *, intercept_cost, **ball) -> list[Problem]:
    """Return one problem per class, or one for two classes; the price of the intercept may be "auto"."""
    first = in_feature_space(points, function, y == one_vs_rest.positive_labels(classes)[0], weights, **ball)
    return one_vs_rest.for_every_class(prices.with_intercept_cost(first, intercept_cost), y, classes, weights)


def _decisions_of_table(places, coef, intercept, rows) -> np.ndarray:
    values = np.asarray(rows[:, places] @ coef.T, dtype=np.float64) + intercept
    return values.ravel() if len(coef) == 1 else values


def _decisions_on_card(kernel: KernelClassifier, rows) -> np.ndarray:
    functions, points = rows_of_functions(ForCard(kernel.landmarks), kernel.function), kernel.scaled(rows)
    values = np.column_stack([to_numpy(functions.at(points, c)) for c in kernel.coef]) + kernel.intercept
    return values.ravel() if len(kernel.coef) == 1 else values


class KernelDecidingMixin:
    """The function and the decisions of `WassersteinKernelSVC`."""

    def __sklearn_tags__(self: Any):
        tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def decision_function(self: Any, X):
        """Return f(x) + b for every row, of shape (n_samples,) or (n_samples, n_classes)."""
        check_is_fitted(self)
        backend: Any = backend_of(X)
        if engine_of(X) == "dask":
            check_remote_features(self, X)
            shape = () if len(self.dual_coef_) == 1 else (len(self.dual_coef_),)
            return backend.by_block(X, self._decisions(), shape)
        rows = validate_data(self, in_memory(X), reset=False, **one_vs_rest.ROWS)
        if backend is None:
            return self._decisions()(rows)
        return backend.like(X, self._decisions(on_card=self.kernel != "precomputed")(rows))

    def _decisions(self: Any, on_card: bool = False) -> Callable[[Any], np.ndarray]:
        """Return the decision function of rows in memory, which may be computed on a card."""
        if self.kernel == "precomputed":
            return partial(_decisions_of_table, self.landmark_indices_, self.dual_coef_, self.intercept_)
        kernel = self._kernel_classifier()
        return partial(_decisions_on_card, kernel) if on_card else kernel.decisions

    def predict(self: Any, X):
        """Return the label of every row, of shape (n_samples,)."""
        decisions, backend = self.decision_function(X), backend_of(X)
        if backend is not None:
            return backend.labels(decisions, self.classes_)
        chosen = (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
        return self.classes_[chosen]

    @property
    def coef_(self: Any) -> np.ndarray:
        """Weights of the features if the kernel is linear, of shape (1 or n_classes, n_features)."""
        if self.kernel != "linear":
            raise AttributeError(f"coef_ is only available with kernel='linear', got kernel={self.kernel!r}.")
        weights, costs = self.dual_coef_ @ self.landmarks_, prices.feature_costs(self)
        return weights if costs is None else weights * costs**2

    # --- for `drsvm.model.worst_case` -------------------------------------------------------------------------------

    def _kernel_classifier(self: Any) -> KernelClassifier:
        classifier = self.dual_coef_, self.intercept_, self.classes_, prices.feature_costs(self)
        return KernelClassifier(self._function(), self._priced(self.landmarks_), *classifier)

    def _trained_ball(self: Any) -> dict[str, Any]:
        """Return the ball in units of shifts of the priced features: 1 is at most L in the feature space."""
        steepness, costs = self._function().lipschitz, prices.feature_costs(self)
        if steepness is None:
            return {}
        flip_cost: Any = None  # several of them: `worst_case_risk` asks for them
        if not (self._flip_cost_by_row or isinstance(self.flip_cost, Mapping)):
            flip_cost = self.flip_cost / steepness
        return {"radius": self.radius_ / steepness, "flip_cost": flip_cost, "norm": 2, "feature_cost": costs}

    def _function(self: Any, table=None, gamma: Any = None) -> KernelFunction:
        """Return the function, by default with the coefficient that was used; `table` has precomputed values."""
        gamma = self.gamma_ if gamma is None else gamma
        if callable(self.kernel):
            return Given(self.kernel)
        degree, coef0 = check_count(self.degree, "degree"), check_number(self.coef0, "coef0")
        functions = {
            "rbf": lambda: Rbf(gamma),
            "laplacian": lambda: Laplacian(gamma),
            "poly": lambda: Polynomial(gamma, degree, coef0),
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

    def _priced(self: Any, X) -> Any:
        """Return the columns times the prices of their shifts, as floats of 64 bits."""
        X = X.astype(np.float64, copy=False)
        costs = prices.feature_costs(self)
        if costs is None or self.kernel == "precomputed":
            return X
        if np.isinf(costs).any():
            raise ValueError("feature_cost=inf is not possible with a kernel: use WassersteinSVC, or a large number.")
        return scaled_columns(X, costs)

    def _points(self: Any, X) -> Any:
        """Return the points that the function takes: priced rows, or their numbers in a table."""
        if self.kernel != "precomputed":
            return self._priced(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel needs a square matrix, got X of shape {X.shape}.")
        return np.arange(len(X))[:, None]

    def _coefficient(self: Any, X, sample_weight) -> float:
        """Return γ by the parameter `gamma`."""
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
