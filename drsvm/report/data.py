"""Input of a report: data, names and the fitted model, all as seen by the model's last step."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm.learn import one_vs_rest
from drsvm.learn.estimators import WassersteinSVC
from drsvm.model.linear_model import behind_pipeline
from drsvm.model.validation import check_rows


@dataclass(frozen=True)
class Material:
    """Fitted model and data.

    Attributes
    ----------
    model : fitted estimator or Pipeline
        The complete model.
    linear : WassersteinSVC
        Its last step.
    X, X_test : arrays or CSR
        Features as seen by the last step; X_test is None if there are no held-out data.
    y, y_test : arrays
        Labels.
    feature_names, row_names : lists of str
        Names of the transformed features and of the training rows.
    row_note : str
        A sentence that explains the names of the rows.
    scaled : bool
        Whether features are in standard deviations.
    notes : list of str
        Warnings of the fit.
    """

    model: Any
    linear: Any
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray | None
    feature_names: list[str]
    row_names: list[str]
    row_note: str
    scaled: bool
    notes: list[str]

    def setting(self, name: str) -> Any:
        """Return the value of a parameter that was used: the one chosen by the fit, if any."""
        chosen = f"{name}_"
        return getattr(self.linear, chosen if hasattr(self.linear, chosen) else name)

    @property
    def ball(self) -> dict[str, Any]:
        """The ball that the model was trained for."""
        return {name: self.setting(name) for name in ("radius", "flip_cost", "norm")}

    def class_weights(self) -> np.ndarray | None:
        """Return the weights of the rows that come from their classes."""
        return one_vs_rest.weights_of_rows(self.X, self.y, self.linear.classes_, self.setting("class_weight"), None)

    def row_weights(self, label) -> np.ndarray | None:
        """Return the weights that the rows had in the problem of a class."""
        return one_vs_rest.side_weights(self.y, label, self.linear.classes_, self.class_weights())


def prepare(
    X, y, *, model, X_test, y_test, feature_names, row_names, row_note: str | None, standardise: bool
) -> Material:
    """Check the arguments, fit the model, and collect what the report needs."""
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together: give both, or neither.")
    X, y = _as_rows(X), np.ravel(np.asarray(y))
    names = _given_names(X, feature_names)
    row_names, usual_note = _names_of_rows(X, row_names)
    estimator = _estimator(model, standardise, sparse.issparse(X))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    linear, rows = behind_pipeline(estimator, X)
    if not hasattr(linear, "result_"):
        raise TypeError(f"model must be a WassersteinSVC or a Pipeline ending in one, got {type(linear).__name__}.")
    if X_test is not None:
        X_test, y_test = _as_rows(X_test), np.ravel(np.asarray(y_test))
        _check_test_labels(X_test, y_test, linear.classes_)
        X_test = check_rows(behind_pipeline(estimator, X_test)[1])
    rows = check_rows(rows)
    return Material(
        model=estimator,
        linear=linear,
        X=rows,
        y=y,
        X_test=X_test,
        y_test=y_test,
        feature_names=_names_behind(estimator, names, rows.shape[1]),
        row_names=row_names,
        row_note=usual_note if row_note is None else row_note,
        scaled=_is_scaled(estimator),
        notes=list(dict.fromkeys(str(warning.message) for warning in caught)),
    )


def _as_rows(X):
    return X if sparse.issparse(X) or hasattr(X, "columns") else np.asarray(X)


def _given_names(X, feature_names) -> list[str] | None:
    if feature_names is None:
        return [str(name) for name in X.columns] if hasattr(X, "columns") else None
    names, d = [str(name) for name in feature_names], X.shape[1] if X.ndim == 2 else None
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} entries, but X has shape {X.shape}: give one per column.")
    return names


def _names_of_rows(X, given) -> tuple[list[str], str]:
    """Return the names of the rows, and a sentence that explains them."""
    n = X.shape[0] if X.shape else 0  # the fit rejects X without rows
    if given is not None:
        names = [str(name) for name in given]
        if len(names) != n:
            raise ValueError(f"row_names has {len(names)} entries, but X has {n} rows: give one per row.")
        return names, ""
    if hasattr(X, "index"):
        return [str(name) for name in X.index], "Samples are named by the index of the data frame."
    return [str(row) for row in range(n)], "Samples are numbered by row, from 0."


def _estimator(model, standardise: bool, is_sparse: bool):
    """Return a clone of the model, with a scaler in front unless it is a Pipeline."""
    model = WassersteinSVC() if model is None else model
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    # Subclasses are accepted, and so is WassersteinSVCCV.
    if not any(kind.__module__.startswith("drsvm.") for kind in type(last).__mro__) or not hasattr(last, "fit"):
        raise TypeError(
            f"model must be an unfitted WassersteinSVC or a Pipeline ending in one, got {type(last).__name__}. "
            "For other classifiers use drsvm.worst_case_risk."
        )
    model = clone(model)
    if isinstance(model, Pipeline) or not standardise:
        return model
    return make_pipeline(StandardScaler(with_mean=not is_sparse), model)


def _is_scaled(estimator) -> bool:
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else []
    return any(isinstance(step, StandardScaler) for step in steps)


def _names_behind(estimator, names: list[str] | None, n_features: int) -> list[str]:
    """Return the names of the features after all steps except the last."""
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1 and names is not None:
        # A step may not name its features; if their number is the same, keep the names.
        with suppress(AttributeError, ValueError, NotImplementedError):
            names = [str(name) for name in estimator[:-1].get_feature_names_out(names)]
    if names is None or len(names) != n_features:
        return [f"feature {k}" for k in range(n_features)]
    return names


def _check_test_labels(X_test, y_test, classes) -> None:
    if X_test.shape[0] != len(y_test):
        raise ValueError(f"X_test has {X_test.shape[0]} rows, but y_test has {len(y_test)} labels.")
    unknown = ~np.isin(y_test, classes)
    if unknown.any():
        raise ValueError(
            f"y_test has the label {y_test[unknown].tolist()[0]!r}, but the training data have only {classes.tolist()}."
        )
