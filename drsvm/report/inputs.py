"""Input of a report: data, names and the fitted model, all as seen by the model's last step."""

import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm.audit.model_layers import final_classifier, trained_parameters, transformed
from drsvm.defaults import one_vs_rest, prices
from drsvm.estimators.clipped_scaler import ClippedScaler, clipped_cells
from drsvm.estimators.kernel import WassersteinKernelSVC
from drsvm.estimators.linear import WassersteinSVC
from drsvm.estimators.scores import Figures
from drsvm.estimators.search import WassersteinSVCCV
from drsvm.problem.result import Result
from drsvm.problem.validation import check_rows, check_that_labels_are_given
from drsvm.report.verdict import Alternative
from drsvm.tables.copies import about_copies, copies_of, held_out_rows
from drsvm.tables.notes import what_was_clipped
from drsvm.utils.annotations import Labels, Matrix
from drsvm.utils.messages import number


class RowsForReport(NamedTuple):
    """Rows to judge classifiers by: held-out ones, or the training rows if none were held out."""

    X: Matrix
    y: np.ndarray
    held_out: bool

    @property
    def name(self) -> str:
        return "held-out rows" if self.held_out else "training rows"

    @property
    def counted(self) -> str:
        return f"{len(self.y):,} {self.name}"


class NextStep(NamedTuple):
    """Something to try, and why."""

    action: Literal["report", "fit", "cross-validate", "check labels", "none"]
    why: str
    python: str  # what to run in Python, if anything
    keeps_settings: bool = False  # whether the other settings of the report are kept
    # Parameters with new values; "drop" is a list of columns to leave out
    changes: Mapping[str, object] = {}


@dataclass(frozen=True, eq=False)
class Source:
    """Where the data come from, and the words for a reader who works there: in Python, or on the command line."""

    file: Path | None = None
    notes: Sequence[str] = ()  # how the columns of the file were treated
    leaky_columns: Sequence[str] = ()  # columns that determine the label by themselves
    wording: Callable[[str | BaseException], str] = str  # of a warning
    command: Callable[[NextStep], str] = lambda step: step.python
    setting: Callable[[Alternative], str] = str  # the words for a setting to try
    # Between a linear classifier and a kernel, with the words for it
    choice: Figures | None = None


@dataclass(frozen=True, eq=False)
class Given:
    """What the caller of a report gives besides the model: data and names."""

    X: Matrix
    y: Labels
    X_test: Matrix = None
    y_test: Labels = None
    test_size: float = 0.25
    random_state: int | np.random.RandomState | None = 0
    feature_names: Sequence[str] | None = None
    row_names: Sequence[object] | None = None
    row_note: str | None = None
    label: str | None = None
    standardise: bool = True
    scaled: Sequence[bool] | None = None
    columns: Sequence[str] | None = None  # of the file, from which the features come
    source: Source = field(default_factory=Source)


@dataclass(frozen=True, eq=False)
class Material:
    """The fitted model, and the data as seen by its last step."""

    model: BaseEstimator  # estimator or Pipeline
    classifier: BaseEstimator  # its last step
    X: Matrix
    y: np.ndarray
    judged: RowsForReport  # the rows to judge classifiers by
    label: str | None  # the name of the labels
    feature_names: list[str]  # of the transformed features
    columns: list[str]  # the columns that these come from, where known
    row_names: list[str]  # of the training rows
    row_note: str  # a sentence that explains them
    # The features that are in standard deviations; the others are in their original
    # units
    scaled: np.ndarray
    notes: list[str]  # warnings
    source: Source

    @property
    def curved(self) -> bool:
        """Whether the classifier has a kernel, and no weights."""
        return not hasattr(self.classifier, "coef_")

    @property
    def steepness(self) -> float:
        """How far a shift of the features by 1 can be in the space in which the classifier is trained."""
        if self.curved:
            return self.classifier._function().lipschitz
        return 1.0

    @property
    def results(self) -> list[Result]:
        return results_of(self.classifier)

    def warn(self, messages: Sequence[str | BaseException], about: str = "") -> None:
        """Add warnings to the notes, in the words of the source."""
        self.notes.extend(
            dict.fromkeys(
                f"{about}{self.source.wording(message)}" for message in messages
            )
        )

    def setting(self, name: str) -> Any:
        """Return the value of a parameter that was used: the one chosen by the fit, if any."""
        chosen = f"{name}_"
        return getattr(
            self.classifier, chosen if hasattr(self.classifier, chosen) else name
        )

    @property
    def ball(self) -> Figures:
        """The ball that the model was trained for, in units of the features.

        Flip costs may be one per class.
        """
        return trained_parameters(self.classifier)

    @property
    def flip_cost(self) -> float:
        """The lowest price of flipping a label."""
        cost = self.ball["flip_cost"]
        return float(cost if isinstance(cost, numbers.Real) else min(cost.values()))

    def ball_of(self, labels: np.ndarray) -> Figures:
        """Return the ball around rows with the given labels: flip costs are a number, or one per row."""
        costs = prices.flip_costs_of_rows(
            self.ball["flip_cost"], labels, self.classifier.classes_
        )
        return {**self.ball, "flip_cost": costs}

    def row_weights(self, label) -> np.ndarray | None:
        """Return the weights that the rows had in the problem of a class."""
        classes = self.classifier.classes_
        weights = self.classifier.class_factors_[np.searchsorted(classes, self.y)]
        return one_vs_rest.side_weights(self.y, label, classes, weights)


def results_of(classifier) -> list[Result]:
    """Return the results of a fitted classifier, of which it has one for each problem."""
    own = classifier.result_
    return [own] if isinstance(own, Result) else list(own)


def prepare(model, given: Given) -> Material:
    """Check the arguments, hold out rows, fit the model, and collect what the report needs."""
    if (given.X_test is None) != (given.y_test is None):
        raise ValueError(
            "X_test and y_test must be given together: give both, or neither."
        )
    check_that_labels_are_given(given.y)
    X = given.X
    y = np.ravel(np.asarray(given.y))
    if sparse.issparse(X) or hasattr(X, "columns"):
        X = X
    else:
        X = np.asarray(X)
    names, row_names, usual_note = _names(X, given)
    estimator = _estimator(model, given.standardise)
    train, test, notes = _parts(X, y, given)
    X_train = _take(X, train)
    y_train = y[train]
    with warnings.catch_warnings(record=True, action="always") as caught:
        estimator.fit(X_train, y_train)
    estimator = _without_search(estimator)
    classifier = final_classifier(estimator)
    rows = transformed(estimator, X_train)
    rows = check_rows(rows)
    label = given.label or getattr(given.y, "name", None)
    feature_names, scaled = _columns_behind(estimator, names, rows.shape[1])
    if given.X_test is None:
        X_test = _take(X, test)
        y_test = y[test]
    else:
        X_test, y_test = _given_test_rows(given, classifier.classes_)
    judged = RowsForReport(rows, y_train, held_out=False)
    if len(y_test):
        judged = RowsForReport(
            check_rows(transformed(estimator, X_test)), y_test, held_out=True
        )
    material = Material(
        model=estimator,
        classifier=classifier,
        X=rows,
        y=y_train,
        judged=judged,
        label=None if label is None else str(label),
        feature_names=feature_names,
        columns=list(given.columns or feature_names),
        row_names=[row_names[row] for row in train.tolist()],
        row_note=usual_note if given.row_note is None else given.row_note,
        scaled=scaled if given.scaled is None else np.array(given.scaled),
        notes=notes,
        source=given.source,
    )
    if isinstance(estimator, Pipeline):
        first = estimator[0]
    else:
        first = None
    if isinstance(first, ClippedScaler):
        names = names or [f"feature {k}" for k in range(X.shape[1])]
        cells = clipped_cells(first, names, X_train, lambda _, value: number(value))
        material.warn(what_was_clipped(cells))
    material.warn([warning.message for warning in caught])
    return material


def _given_test_rows(given: Given, classes: np.ndarray) -> tuple[Matrix, np.ndarray]:
    X = given.X_test
    y = np.ravel(np.asarray(given.y_test))
    if sparse.issparse(X) or hasattr(X, "columns"):
        X = X
    else:
        X = np.asarray(X)
    if X.shape[0] != len(y):
        raise ValueError(
            f"X_test has {X.shape[0]} rows, but y_test has {len(y)} labels."
        )
    unknown = y[~np.isin(y, classes)].tolist()
    if unknown:
        raise ValueError(
            f"y_test has the label {unknown[0]!r}, but the training data have only {classes.tolist()}."
        )
    return X, y


def _parts(
    X: Matrix, y: np.ndarray, given: Given
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the training rows, the rows to hold out, and notes on that."""
    size = given.test_size
    if (
        isinstance(size, bool)
        or not isinstance(size, numbers.Real)
        or not 0 <= float(size) < 1
    ):
        raise ValueError(
            f"test_size must be a share from 0 to below 1, such as 0.25, got {size!r}."
        )
    everything = np.arange(len(y))
    nothing = np.array([], dtype=int)
    if (
        given.X_test is not None or size == 0 or X.shape[:1] != y.shape
    ):  # the fit explains what is wrong with them
        return everything, nothing, []
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2 or len(y) * min(size, 1 - size) < len(classes):
        rare = classes.tolist()[int(counts.argmin())]
        return (
            everything,
            nothing,
            [
                f"No rows were held out: too few rows, {counts.min()} of them of class {rare!r}."
            ],
        )
    copies = copies_of(X)
    train, test = held_out_rows(y, float(size), given.random_state, copies)
    return (
        np.sort(train),
        np.sort(test),
        [f"{note[0].upper()}{note[1:]}" for note in about_copies(y, copies)],
    )


def _take(X: Matrix, rows: np.ndarray) -> Matrix:
    if len(rows) == X.shape[0]:
        return X
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return X.tocsr()[rows]
    return X[rows]


def _without_search(estimator: BaseEstimator) -> BaseEstimator:
    """Return the pipeline or classifier that a search found.

    Other estimators stay as they are.
    """
    if hasattr(estimator, "best_estimator_"):
        return _without_search(estimator.best_estimator_)
    if not isinstance(estimator, Pipeline):
        return estimator
    last = _without_search(estimator.steps[-1][1])
    if isinstance(last, Pipeline):
        steps = last.steps
    else:
        steps = [(estimator.steps[-1][0], last)]
    before = estimator.steps[:-1]
    taken = {name for name, _ in before}
    return Pipeline(
        [
            *before,
            *(
                (f"inner-{name}" if name in taken else name, step)
                for name, step in steps
            ),
        ]
    )


def _estimator(model, standardise: bool) -> BaseEstimator:
    """Return a clone of the model, with a scaler in front unless it is a Pipeline."""
    model = WassersteinSVC() if model is None else model
    inner: Any = getattr(model, "estimator", model)  # a search has one
    if isinstance(inner, Pipeline):
        last = inner.steps[-1][1]
    else:
        last = inner
    last = getattr(last, "estimator", last)
    if not isinstance(last, WassersteinSVC | WassersteinSVCCV | WassersteinKernelSVC):
        raise TypeError(
            f"model must be a WassersteinSVC or WassersteinKernelSVC, a Pipeline ending in one or a search over them, "
            f"got {type(last).__name__}. For other classifiers use drsvm.worst_case_risk."
        )
    if getattr(last, "kernel", "rbf") != "rbf":
        if last.kernel == "linear":
            remedy = "use WassersteinSVC"
        else:
            remedy = "there are no bounds for others"
        raise ValueError(
            f"a report needs kernel='rbf' or a linear classifier, got kernel={last.kernel!r}: {remedy}."
        )
    own_steps = isinstance(inner, Pipeline) or not standardise
    if own_steps:
        return clone(model)
    return make_pipeline(ClippedScaler(), clone(model))


def _names(X, given: Given) -> tuple[list[str] | None, list[str], str]:
    """Return the names of the features (None if they have none) and of the rows, and a sentence that explains these."""
    if given.feature_names is not None:
        names = given.feature_names
    else:
        names = getattr(X, "columns", None)
    if names is None:
        names = None
    else:
        names = [str(name) for name in names]
    if names is not None and (X.ndim != 2 or len(names) != X.shape[1]):
        raise ValueError(
            f"feature_names has {len(names)} entries, but X has shape {X.shape}: give one per column."
        )
    n = X.shape[0] if X.shape else 0  # the fit rejects X without rows
    if given.row_names is None and hasattr(X, "index"):
        return (
            names,
            [str(name) for name in X.index],
            "Rows are named by the index of the data frame.",
        )
    if given.row_names is None:
        return names, [str(row) for row in range(n)], "Rows are numbered from 0."
    row_names = [str(name) for name in given.row_names]
    if len(row_names) != n:
        raise ValueError(
            f"row_names has {len(row_names)} entries, but X has {n} rows: give one per row."
        )
    return names, row_names, ""


def _columns_behind(
    estimator, names: list[str] | None, n_features: int
) -> tuple[list[str], np.ndarray]:
    """Return the names of the features after all steps except the last, and which of them these standardise."""
    scaled = np.zeros(n_features, dtype=bool)
    if isinstance(estimator, Pipeline):
        steps = estimator.steps[:-1]
    else:
        steps = []
    for _, step in steps:
        if isinstance(step, ColumnTransformer):
            for name, part, _ in step.transformers_:
                scaled[step.output_indices_[name]] = _has_scaler(part)
        elif _has_scaler(step):
            scaled[:] = True
    if steps and names is not None:
        # A step may not name its features; if their number is the same, keep the names.
        with suppress(AttributeError, ValueError, NotImplementedError):
            names = [str(name) for name in estimator[:-1].get_feature_names_out(names)]
    if names is None or len(names) != n_features:
        names = [f"feature {k}" for k in range(n_features)]
    return names, scaled


def _has_scaler(step) -> bool:
    if hasattr(step, "get_params"):
        inside = step.get_params().values()
    else:
        inside = ()
    return any(
        isinstance(part, StandardScaler | ClippedScaler) for part in (step, *inside)
    )
