"""A valid call of every public name, small and fast, for tests that change arguments.

Estimators are fitted and used, displays are made by their class methods.
"""

import functools
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

import drsvm

# The number of rows
N = 16
PUBLIC = tuple(drsvm.__all__)


class Call(NamedTuple):
    """A function with valid arguments by name, and all names that it takes."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    names: tuple[str, ...]


def drawn_rows():
    """Return rows of two classes in three columns, their labels and weights."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    X = np.round(rng.normal(size=(N, 3)) + y[:, None], 3)
    return X, y, rng.integers(1, 4, N).astype(float)


def problem():
    X, y, weights = drawn_rows()
    return drsvm.Problem(X, y, sample_weight=weights, fit_intercept=True)


@functools.cache
def fitted():
    """Return a fitted model of another library."""
    X, y, _ = drawn_rows()
    return LinearSVC().fit(X, y)


def names_of(*functions):
    """Return the names of the parameters of functions."""
    names = {}
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
                names[name] = None
    return tuple(names)


def fitted_by(kind, X_new):
    """Return a function that fits an estimator and uses it for other rows."""

    def fit(X, y, X_new=X_new, **arguments):
        for_fit = {}
        for name in names_of(kind.fit):
            if name in arguments:
                for_fit[name] = arguments.pop(name)
        model = kind(**arguments).fit(X, y, **for_fit)
        if kind is drsvm.ClippedScaler:
            return model.transform(X_new)
        model.predict(X_new)
        return model.decision_function(X_new)

    return fit


def call_of(name, folder: Path) -> Call:
    """Return the valid call of a public name."""
    X, y, weights = drawn_rows()
    kind = getattr(drsvm, name)
    of_data = {"X": X, "y": y}
    X_new = X[:4] + 0.5
    if name in (
        "ClippedScaler",
        "WassersteinSVC",
        "WassersteinSVCCV",
        "WassersteinKernelSVC",
    ):
        arguments = {**of_data, "X_new": X_new, "sample_weight": weights}
        if name == "WassersteinSVCCV":
            arguments |= {"radii": [0.1, 1.0], "cv": 2}
        function = fitted_by(kind, X_new)
        return Call(function, arguments, ("X_new", *names_of(kind, kind.fit)))
    function, arguments = _function_and_arguments(name, kind, folder)
    return Call(function, arguments, names_of(function))


def _function_and_arguments(name, kind, folder):
    X, y, weights = drawn_rows()
    of_model = {"model": fitted(), "X": X, "y": y}
    weighted = {"radius": 0.1, "sample_weight": weights}
    batches = np.arange(N) // 8
    if name == "Problem":
        return kind, {"X": X, "y": y, **weighted, "flip_cost": weights}
    if name in ("auto_radius", "radius_max", "solve"):
        return kind, {"problem": problem()}
    if name == "row_radius_max":
        return kind, {"problem": problem().replace(flip_cost=np.inf)}
    if name == "radius_path":
        return kind, {"problem": problem(), "n_radii": 3}
    if name == "certify":
        return kind, {
            "problem": problem(),
            "weights": np.ones(3),
            "hinge_dual": np.full(N, 0.01),
            "flip_dual": np.full(N, 0.01),
        }
    if name in ("worst_case_risk", "worst_case_distribution"):
        return kind, {**of_model, **weighted}
    if name == "certified_accuracy":
        return kind, {**of_model, "radius": 0.1, **weighted}
    if name == "certified_scorer":
        return functools.partial(_scored, X=X, y=y), {"radius": 0.1}
    if name == "explain":
        return kind, {"model": fitted(), "X": X}
    if name == "measure_shift":
        return kind, {**of_model, "X_new": X + 0.1, "y_new": y}
    if name == "radius_from_batches":
        # LIBLINEAR does not end with columns near 1e99.
        estimator = drsvm.WassersteinSVC(radius=0.01)
        return kind, {
            "estimator": estimator,
            "X": X,
            "y": y,
            "batches": batches,
            "random_state": 0,
        }
    if name == "find_label_issues":
        return kind, {"X": X, "y": y, "sample_weight": weights, "cv": 2}
    if name == "save_model":
        return kind, {
            "model": _model(),
            "path": folder / "model.drsvm",
            "metadata": {"by": "test"},
        }
    if name == "load_model":
        path = folder / "given.drsvm"
        drsvm.save_model(_model(), path)
        return kind, {"path": path}
    if name == "Status":
        return kind, {"value": drsvm.Status.OPTIMAL.value}
    if name in ("Result", "Shift"):
        value = drsvm.solve(problem())
        if name == "Shift":
            value = _shift()
        return kind, {field: getattr(value, field) for field in names_of(kind)}
    if name == "BatchShiftsDisplay":
        shifts = drsvm.radius_from_batches(fitted(), X, y, batches)
        return kind.from_shifts, {"shifts": shifts}
    if name == "ShiftDisplay":
        return kind.from_shift, {"shift": _shift()}
    if name == "ConvergenceDisplay":
        return kind.from_problem, {"problem": problem()}
    if name == "LabelIssuesDisplay":
        return kind.from_result, {"result": drsvm.find_label_issues(X, y, cv=2)}
    if name == "RadiusPathDisplay":
        return kind.from_estimator, {
            "estimator": _model(),
            "X": X,
            "y": y,
            "radii": [0.1, 1.0],
        }
    if name == "RiskCurveDisplay":
        return kind.from_estimators, {
            "estimators": fitted(),
            "X": X,
            "y": y,
            "radii": [0.1, 1.0],
            "sample_weight": weights,
        }
    assert name == "WorstCaseDisplay"
    return kind.from_estimator, {"estimator": fitted(), "X": X, "y": y, **weighted}


def _scored(radius, norm=None, feature_cost=None, *, X, y):
    scorer = drsvm.certified_scorer(radius, norm=norm, feature_cost=feature_cost)
    return scorer(fitted(), X, y)


@functools.cache
def _model():
    X, y, _ = drawn_rows()
    return drsvm.WassersteinSVC(0.1, flip_cost=math.inf).fit(X, y)


@functools.cache
def _shift():
    X, y, _ = drawn_rows()
    return drsvm.measure_shift(fitted(), X, y, X + 0.1, y)
