"""Input of a report: data, names and the fitted model, all as seen by the model's last step."""

import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm.datasets.copies import about_copies, copies_of, held_out_rows
from drsvm.learn import one_vs_rest, prices
from drsvm.learn.estimators import WassersteinSVC
from drsvm.model.linear_model import behind_pipeline
from drsvm.model.validation import check_rows
from drsvm.report.names import given_names, name_of_labels, names_behind, names_of_rows
from drsvm.report.scores import Rows


@dataclass(frozen=True)
class Shell:
    """Where the data come from if the report was made in a shell, for commands to copy.

    Attributes
    ----------
    file : Path or None
        The data file; None for standard input.
    reading, settings : str
        The file with the options for reading it, and the options of the classifier.
    notes : sequence of str
        What was done with the columns of the file.
    tell_tales : sequence of str
        Columns that determine the label by themselves.
    wording : callable
        Turns the words of a warning into those of the command line.
    """

    file: Path | None
    reading: str
    settings: str
    notes: Sequence[str] = ()
    tell_tales: Sequence[str] = ()
    wording: Callable[[Any], str] = str


@dataclass(frozen=True)
class Given:
    """What the caller of a report gives besides the model: data and names."""

    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None
    test_size: float = 0.25
    random_state: Any = 0
    feature_names: Any = None
    row_names: Any = None
    row_note: str | None = None
    label: str | None = None
    standardise: bool = True
    scaled: Sequence[bool] | None = None
    shell: Shell | None = None


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
    label : str or None
        What the labels are called.
    feature_names, row_names : lists of str
        Names of the transformed features and of the training rows.
    row_note : str
        A sentence that explains the names of the rows.
    scaled : array of bool
        Which features are in standard deviations; the others are in their original units.
    notes : list of str
        Warnings of the fit.
    shell : Shell or None
        Where the data come from.
    """

    model: Any
    linear: Any
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray | None
    label: str | None
    feature_names: list[str]
    row_names: list[str]
    row_note: str
    scaled: np.ndarray
    notes: list[str]
    shell: Shell | None = None

    @property
    def judged(self) -> Rows:
        """The rows to judge classifiers by."""
        if self.X_test is None or self.y_test is None:
            return Rows(self.X, self.y, held_out=False)
        return Rows(self.X_test, self.y_test, held_out=True)

    def warn(self, messages: Sequence[Any], about: str = "") -> None:
        """Add warnings to the notes, in the words of the command line if the report was made there."""
        wording = self.shell.wording if self.shell else str
        self.notes.extend(dict.fromkeys(f"{about}{wording(message)}" for message in messages))

    def setting(self, name: str) -> Any:
        """Return the value of a parameter that was used: the one chosen by the fit, if any."""
        chosen = f"{name}_"
        return getattr(self.linear, chosen if hasattr(self.linear, chosen) else name)

    @property
    def ball(self) -> dict[str, Any]:
        """The ball that the model was trained for; flip costs may be one per class."""
        ball = {name: self.setting(name) for name in ("radius", "flip_cost", "norm")}
        return {**ball, "feature_cost": prices.feature_costs(self.linear)}

    @property
    def flip_cost(self) -> float:
        """The lowest price of flipping a label."""
        cost: Any = self.setting("flip_cost")
        return float(cost if isinstance(cost, numbers.Real) else min(cost.values()))

    def ball_of(self, labels: np.ndarray) -> dict[str, Any]:
        """Return the ball around rows with the given labels: flip costs are a number, or one per row."""
        costs = prices.flip_costs_of_rows(self.setting("flip_cost"), labels, self.linear.classes_)
        return {**self.ball, "flip_cost": costs}

    def class_weights(self) -> np.ndarray | None:
        """Return the weights of the rows that come from their classes."""
        return one_vs_rest.weights_of_rows(self.X, self.y, self.linear.classes_, self.setting("class_weight"), None)

    def row_weights(self, label) -> np.ndarray | None:
        """Return the weights that the rows had in the problem of a class."""
        return one_vs_rest.side_weights(self.y, label, self.linear.classes_, self.class_weights())


def prepare(model, given: Given) -> Material:
    """Check the arguments, hold out rows, fit the model, and collect what the report needs."""
    if (given.X_test is None) != (given.y_test is None):
        raise ValueError("X_test and y_test must be given together: give both, or neither.")
    X, y = _as_rows(given.X), np.ravel(np.asarray(given.y))
    names = given_names(X, given.feature_names)
    row_names, usual_note = names_of_rows(X, given.row_names)
    estimator = _estimator(model, given.standardise, sparse.issparse(X))
    train, test, notes = _parts(X, y, given)
    fitted = _rows_of(X, train), y[train]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(*fitted)
    estimator = _without_search(estimator)
    linear, rows = behind_pipeline(estimator, fitted[0])
    if not hasattr(linear, "result_"):
        raise TypeError(f"model must be a WassersteinSVC or a Pipeline ending in one, got {type(linear).__name__}.")
    held_out = (_rows_of(X, test), y[test]) if len(test) else (None, None)
    if given.X_test is not None:
        held_out = _as_rows(given.X_test), np.ravel(np.asarray(given.y_test))
        _check_test_labels(*held_out, linear.classes_)
    rows = check_rows(rows)
    material = Material(
        model=estimator,
        linear=linear,
        X=rows,
        y=fitted[1],
        X_test=None if held_out[0] is None else check_rows(behind_pipeline(estimator, held_out[0])[1]),
        y_test=held_out[1],
        label=given.label or name_of_labels(given.y),
        feature_names=names_behind(estimator, names, rows.shape[1]),
        row_names=[row_names[row] for row in train.tolist()],
        row_note=usual_note if given.row_note is None else given.row_note,
        scaled=_scaled(estimator, rows.shape[1]) if given.scaled is None else np.array(given.scaled),
        notes=notes,
        shell=given.shell,
    )
    material.warn([warning.message for warning in caught])
    return material


def _parts(X, y: np.ndarray, given: Given) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the training rows, the rows to hold out, and notes on that."""
    size = given.test_size
    if isinstance(size, bool) or not isinstance(size, numbers.Real) or not 0 <= float(size) < 1:
        raise ValueError(f"test_size must be a share from 0 to below 1, such as 0.25, got {size!r}.")
    everything, nothing = np.arange(len(y)), np.array([], dtype=int)
    if given.X_test is not None or size == 0 or X.shape[:1] != y.shape:  # the fit explains what is wrong with them
        return everything, nothing, []
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2 or len(y) * min(size, 1 - size) < len(classes):
        rare = classes.tolist()[int(counts.argmin())]
        return everything, nothing, [f"No rows were held out: too few rows, {counts.min()} of them of class {rare!r}."]
    copies = copies_of(X)
    train, test = held_out_rows(y, float(size), given.random_state, copies)
    return np.sort(train), np.sort(test), [f"{note[0].upper()}{note[1:]}" for note in about_copies(y, copies)]


def _rows_of(X, rows: np.ndarray):
    if len(rows) == X.shape[0]:
        return X
    return X.iloc[rows] if hasattr(X, "iloc") else X.tocsr()[rows] if sparse.issparse(X) else X[rows]


def _without_search(estimator):
    """Return the pipeline or classifier that a search found; other estimators stay as they are."""
    if hasattr(estimator, "best_estimator_"):
        return _without_search(estimator.best_estimator_)
    if not isinstance(estimator, Pipeline):
        return estimator
    last = _without_search(estimator.steps[-1][1])
    steps = last.steps if isinstance(last, Pipeline) else [(estimator.steps[-1][0], last)]
    before = estimator.steps[:-1]
    taken = {name for name, _ in before}
    return Pipeline([*before, *((f"inner-{name}" if name in taken else name, step) for name, step in steps)])


def _as_rows(X):
    return X if sparse.issparse(X) or hasattr(X, "columns") else np.asarray(X)


def _estimator(model, standardise: bool, is_sparse: bool):
    """Return a clone of the model, with a scaler in front unless it is a Pipeline."""
    model = WassersteinSVC() if model is None else model
    inner: Any = getattr(model, "estimator", model)  # a search has one
    last = inner.steps[-1][1] if isinstance(inner, Pipeline) else inner
    last = getattr(last, "estimator", last)
    # Subclasses are accepted, and so is WassersteinSVCCV.
    if not any(kind.__module__.startswith("drsvm.") for kind in type(last).__mro__) or not hasattr(last, "fit"):
        raise TypeError(
            f"model must be a WassersteinSVC, a Pipeline ending in one or a search over them, got "
            f"{type(last).__name__}. For other classifiers use drsvm.worst_case_risk."
        )
    model = clone(model)
    if isinstance(inner, Pipeline) or not standardise:
        return model
    return make_pipeline(StandardScaler(with_mean=not is_sparse), model)


def _scaled(estimator, n_features: int) -> np.ndarray:
    """Return which features a fitted estimator standardises: those of a scaler, also one for some of the columns."""
    scaled = np.zeros(n_features, dtype=bool)
    for step in [one for _, one in estimator.steps[:-1]] if isinstance(estimator, Pipeline) else []:
        if isinstance(step, ColumnTransformer):
            places = step.output_indices_
            for name, part, _ in step.transformers_:
                scaled[places[name]] = _has_scaler(part)
        elif _has_scaler(step):
            scaled[:] = True
    return scaled


def _has_scaler(step) -> bool:
    inside = step.get_params().values() if hasattr(step, "get_params") else ()
    return any(isinstance(one, StandardScaler) for one in (step, *inside))


def _check_test_labels(X_test, y_test, classes) -> None:
    if X_test.shape[0] != len(y_test):
        raise ValueError(f"X_test has {X_test.shape[0]} rows, but y_test has {len(y_test)} labels.")
    unknown = ~np.isin(y_test, classes)
    if unknown.any():
        raise ValueError(
            f"y_test has the label {y_test[unknown].tolist()[0]!r}, but the training data have only {classes.tolist()}."
        )
