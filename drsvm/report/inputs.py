"""Input of a report: data, names and the fitted model.

All of them are as seen by the model's last step.
"""

import math
import numbers
import warnings
from collections.abc import Mapping, Sequence
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
from sklearn.utils import _safe_indexing

from drsvm.audit.model_layers import (
    AdversaryParameters,
    final_classifier,
    trained_parameters,
    transformed,
)
from drsvm.audit.performance import Figures
from drsvm.defaults import one_vs_rest
from drsvm.defaults.costs import flip_costs_of_rows
from drsvm.estimators.clipped_scaler import ClippedScaler
from drsvm.estimators.kernel import WassersteinKernelSVC
from drsvm.estimators.linear import WassersteinSVC
from drsvm.estimators.search import WassersteinSVCCV
from drsvm.problem.result import Result
from drsvm.problem.validation import check_rows, check_that_labels_are_given
from drsvm.report.verdict import (
    NEGLIGIBLE_FLIPS,
    Alternative,
    is_negligible,
    share_of_flips,
    typical_deviation,
)
from drsvm.tables.clipped_cells import clipped_cells
from drsvm.tables.copies import about_copies, copies_of, held_out_rows
from drsvm.tables.notes import what_was_clipped
from drsvm.utils.annotations import Labels, Matrix
from drsvm.utils.lazy import cached_property
from drsvm.utils.messages import counted, number

# The average shifts of audits, in standard deviations of a typical column, and the one
# that stands for them where the training had none of practical size
SHIFTS = (0.05, 0.1, 0.2)
USUAL_SHIFT = 0.1


class RowsForReport(NamedTuple):
    """Rows to judge classifiers by: held-out ones, or the training rows."""

    X: Matrix
    y: np.ndarray
    held_out: bool

    @property
    def name(self) -> str:
        """What the rows are called on the page."""
        if self.held_out:
            return "held-out rows"
        return "training rows"

    @property
    def counted(self) -> str:
        """Their number and name."""
        kind = "held-out" if self.held_out else "training"
        return counted(len(self.y), f"{kind} row")


class NextStep(NamedTuple):
    """Something to try, and why."""

    action: Literal["report", "fit", "cross-validate", "check labels", "none"]
    why: str
    # What to run in Python, if anything.
    python: str = ""
    # Whether the other settings of the report are kept.
    keeps_settings: bool = False
    # Parameters with new values; "drop" is a list of columns to leave out.
    changes: Mapping[str, object] = {}


@dataclass(frozen=True, eq=False)
class Source:
    """Where the data come from, and the words for a reader who works there.

    These are the words for a reader in Python; the command line has its own.
    """

    file: Path | None = None
    # How the columns of the file were treated.
    notes: Sequence[str] = ()
    # Columns that determine the label by themselves.
    leaky_columns: Sequence[str] = ()
    # The choice between a linear classifier and a kernel, with the words for it.
    choice: Figures | None = None

    def wording(self, message: str | BaseException) -> str:
        """Return the text of a warning."""
        return str(message)

    def command(self, step: NextStep) -> str:
        """Return what to run for a next step, empty if that is nothing."""
        return step.python

    def setting(self, alternative: Alternative) -> str:
        """Return how to write settings to try."""
        return str(alternative)


@dataclass(frozen=True, eq=False)
class Given:
    """What the caller of a report gives besides the model: data and names.

    What has no comment here is described in `make_report`.
    """

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
    # Which features are standardised already; by default the model's steps tell.
    scaled: Sequence[bool] | None = None
    # The columns of the file from which the features come.
    columns: Sequence[str] | None = None
    source: Source = field(default_factory=Source)


@dataclass(frozen=True, eq=False)
class Material:
    """The fitted model, and the data as seen by its last step.

    Attributes
    ----------
    model : estimator or Pipeline
    classifier : the last step of the model
    X, y : the training rows
    judged : the rows to judge classifiers by
    label : the name of the labels
    feature_names : of the transformed features
    columns : the columns that these come from, where known
    row_names : of the training rows
    row_note : a sentence that explains the names of the rows
    scaled : for each feature, whether its unit is a standard deviation
    notes : warnings
    source : where the data come from
    """

    model: BaseEstimator
    classifier: BaseEstimator
    X: Matrix
    y: np.ndarray
    judged: RowsForReport
    label: str | None
    feature_names: list[str]
    columns: list[str]
    row_names: list[str]
    row_note: str
    scaled: np.ndarray
    notes: list[str]
    source: Source

    @property
    def has_kernel(self) -> bool:
        """Whether the classifier has a kernel, and no weights."""
        return not hasattr(self.classifier, "coef_")

    @property
    def lipschitz_constant(self) -> float:
        """How far a shift of the features by 1 can be in the classifier's space."""
        if self.has_kernel:
            return self.classifier._function().lipschitz
        return 1.0

    @property
    def results(self) -> list[Result]:
        """The results of the fit, one for each problem."""
        return results_of(self.classifier)

    def warn(self, messages: Sequence[str | BaseException], about: str = "") -> None:
        """Add warnings to the notes, each once, in the words of the source."""
        worded = [f"{about}{self.source.wording(message)}" for message in messages]
        self.notes.extend(dict.fromkeys(worded))

    def setting(self, name: str) -> Any:
        """Return the value of a parameter, the one chosen by the fit, if any."""
        return chosen_value(self.classifier, name)

    @property
    def trained_for(self) -> AdversaryParameters:
        """Radius, norm and costs that the model was trained for.

        They are in units of the features. Flip costs may be one per class.
        """
        return trained_parameters(self.classifier)

    @property
    def flip_cost(self) -> float:
        """The lowest cost of flipping a label."""
        cost = self.trained_for["flip_cost"]
        if isinstance(cost, numbers.Real):
            return float(cost)
        # One for each class
        return float(min(cost.values()))

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of a typical column."""
        return typical_deviation(self.X, self.scaled)

    @cached_property
    def too_small(self) -> bool:
        """Whether the model was trained for changes too small to matter."""
        radius = float(self.trained_for["radius"])
        if share_of_flips(radius, self.flip_cost) >= NEGLIGIBLE_FLIPS:
            return False
        return is_negligible(radius, self.deviation)

    def adversary_of(self, labels: np.ndarray) -> AdversaryParameters:
        """Return the adversary that audits rows with the given labels.

        It is that of the training, with flip costs as a number or one per row. If that
        one can do nothing of practical size, the rows are shifted by a usual radius.
        """
        trained_for = self.trained_for
        if self.too_small:
            radius = USUAL_SHIFT * self.deviation
            return {**trained_for, "radius": radius, "flip_cost": math.inf}
        costs = flip_costs_of_rows(
            trained_for["flip_cost"], labels, self.classifier.classes_
        )
        return {**trained_for, "flip_cost": costs}

    def row_weights(self, label) -> np.ndarray | None:
        """Return the weights that the rows had in the problem of a class."""
        classes = self.classifier.classes_
        weights = self.classifier.class_factors_[np.searchsorted(classes, self.y)]
        return one_vs_rest.side_weights(self.y, label, classes, weights)


def results_of(classifier) -> list[Result]:
    """Return the results of a fitted classifier, one for each problem."""
    result = classifier.result_
    if isinstance(result, Result):
        return [result]
    return list(result)


def chosen_value(classifier, name: str) -> Any:
    """Return the value of a parameter, the one chosen by the fit, if any."""
    chosen = f"{name}_"
    if hasattr(classifier, chosen):
        return getattr(classifier, chosen)
    return getattr(classifier, name)


def certificate_of(result: Result) -> Figures:
    """Return what is proven of a result, and how it was found."""
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "status": str(result.status),
        "solver": result.solver,
        "n_iter": result.n_iter,
        "time": result.time,
    }


def fit_and_collect(model, given: Given) -> Material:
    """Check the arguments, hold out rows, fit the model, and collect the material.

    Parameters
    ----------
    model : estimator or None
        As for `make_report`. A clone of it is fitted.
    given : Given
        The data, and the names of their rows and features.

    Returns
    -------
    Material
    """
    if (given.X_test is None) != (given.y_test is None):
        raise ValueError(
            "X_test and y_test must be given together: give both, or neither."
        )
    check_that_labels_are_given(given.y)
    X, y = _as_matrix_and_labels(given.X, given.y)
    names = _feature_names(X, given)
    row_names, row_note = _row_names(X, given)
    estimator = _with_scaler(model, given.standardise)
    train, test, notes = _split(X, y, given)
    X_train = X
    if len(test):
        X_train = _safe_indexing(X, train)
    y_train = y[train]
    with warnings.catch_warnings(record=True, action="always") as caught:
        estimator.fit(X_train, y_train)
    estimator = _without_search(estimator)

    # From here on the rows are those that the last step sees.
    classifier = final_classifier(estimator)
    rows = check_rows(transformed(estimator, X_train))
    feature_names, scaled = columns_behind(estimator, names, rows.shape[1])
    if given.scaled is not None:
        scaled = np.array(given.scaled)
    if given.X_test is None:
        X_test = _safe_indexing(X, test)
        y_test = y[test]
    else:
        X_test, y_test = _given_test_rows(given, classifier.classes_)
    judged = RowsForReport(rows, y_train, held_out=False)
    if len(y_test):
        new_rows = check_rows(transformed(estimator, X_test))
        judged = RowsForReport(new_rows, y_test, held_out=True)

    material = Material(
        model=estimator,
        classifier=classifier,
        X=rows,
        y=y_train,
        judged=judged,
        label=_name_of_labels(given),
        feature_names=feature_names,
        columns=list(given.columns or feature_names),
        row_names=np.array(row_names, dtype=object)[train].tolist(),
        row_note=row_note,
        scaled=scaled,
        notes=notes,
        source=given.source,
    )
    material.warn(_about_clipped(estimator, X_train, names))
    material.warn([warning.message for warning in caught])
    return material


def _about_clipped(estimator, X: Matrix, names: list[str] | None) -> list[str]:
    """Return a note on cells that the scaler in front of the classifier clips."""
    if not isinstance(estimator, Pipeline):
        return []
    scaler = estimator[0]
    if not isinstance(scaler, ClippedScaler):
        return []

    def shown(_: int, value: float) -> str:
        return number(value)

    names = names or _numbered(X.shape[1])
    return what_was_clipped(clipped_cells(scaler, names, X, shown))


def _name_of_labels(given: Given) -> str | None:
    """Return what the labels are called: by default as the series that has them."""
    name = given.label or getattr(given.y, "name", None)
    if name is None:
        return None
    return str(name)


def _numbered(n_features: int) -> list[str]:
    """Return names of features that have none."""
    return [f"feature {k}" for k in range(n_features)]


def _as_matrix_and_labels(X, y) -> tuple[Matrix, np.ndarray]:
    """Return rows that can be taken by their numbers, and labels."""
    if sparse.issparse(X):
        X = X.tocsr()
    elif not hasattr(X, "columns"):
        # It is not a data frame either, which keeps its names.
        X = np.asarray(X)
    return X, np.ravel(np.asarray(y))


def _given_test_rows(given: Given, classes: np.ndarray) -> tuple[Matrix, np.ndarray]:
    """Check the rows that the caller has held out."""
    X, y = _as_matrix_and_labels(given.X_test, given.y_test)
    if X.shape[0] != len(y):
        raise ValueError(
            f"X_test has {counted(X.shape[0], 'row')}, but y_test has "
            f"{counted(len(y), 'label')}."
        )
    unknown = y[~np.isin(y, classes)].tolist()
    if unknown:
        raise ValueError(
            f"y_test has the label {unknown[0]!r}, but the training data have only "
            f"{classes.tolist()}."
        )
    return X, y


def _split(
    X: Matrix, y: np.ndarray, given: Given
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the training rows, the rows to hold out, and notes on that."""
    size = given.test_size
    is_number = isinstance(size, numbers.Real) and not isinstance(size, bool)
    if not is_number or not 0 <= float(size) < 1:
        raise ValueError(
            f"test_size must be a share from 0 to below 1, such as 0.25, got {size!r}."
        )
    everything = np.arange(len(y))
    nothing = np.array([], dtype=int)
    # If the sizes of X and y differ, the fit explains what is wrong with them.
    if given.X_test is not None or size == 0 or X.shape[:1] != y.shape:
        return everything, nothing, []
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2 or len(y) * min(size, 1 - size) < len(classes):
        rare = classes.tolist()[int(counts.argmin())]
        note = (
            f"No rows were held out: too few rows, {counts.min()} of them of class "
            f"{rare!r}."
        )
        return everything, nothing, [note]
    # Copies of a row are either all held out or all trained on.
    copies = copies_of(X)
    train, test = held_out_rows(y, float(size), given.random_state, copies)
    notes = [f"{note[0].upper()}{note[1:]}" for note in about_copies(y, copies)]
    return np.sort(train), np.sort(test), notes


def _without_search(estimator: BaseEstimator) -> BaseEstimator:
    """Return the pipeline or classifier that a search found.

    Other estimators stay as they are.
    """
    if hasattr(estimator, "best_estimator_"):
        return _without_search(estimator.best_estimator_)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return Pipeline([*estimator.steps[:-1], (name, _without_search(last))])
    return estimator


def _with_scaler(model, standardise: bool) -> BaseEstimator:
    """Return a clone of the model, with a scaler in front unless it is a Pipeline."""
    if model is None:
        model = WassersteinSVC()
    # Searches have the classifier, or the pipeline, as their parameter `estimator`; a
    # pipeline may end in a search over classifiers.
    inner: Any = getattr(model, "estimator", model)
    has_steps = isinstance(inner, Pipeline)
    last = inner
    if has_steps:
        last = inner.steps[-1][1]
    last = getattr(last, "estimator", last)
    if not isinstance(last, WassersteinSVC | WassersteinSVCCV | WassersteinKernelSVC):
        raise TypeError(
            "model must be a WassersteinSVC or WassersteinKernelSVC, a Pipeline ending "
            f"in one or a search over them, got {type(last).__name__}. For other "
            "classifiers use drsvm.worst_case_risk."
        )
    kernel = getattr(last, "kernel", "rbf")
    if kernel != "rbf":
        remedy = "there are no bounds for others"
        if kernel == "linear":
            remedy = "use WassersteinSVC"
        raise ValueError(
            "a report needs kernel='rbf' or a linear classifier, got "
            f"kernel={kernel!r}: {remedy}."
        )
    if has_steps or not standardise:
        return clone(model)
    return make_pipeline(ClippedScaler(), clone(model))


def _feature_names(X, given: Given) -> list[str] | None:
    """Return the names of the features, or None if they have none."""
    names = given.feature_names
    if names is None:
        names = getattr(X, "columns", None)  # of a data frame
    if names is None:
        return None
    names = list(map(str, names))
    if X.ndim != 2 or len(names) != X.shape[1]:
        raise ValueError(
            f"feature_names has {len(names)} entries, but X has shape {X.shape}: give "
            "one per column."
        )
    return names


def _row_names(X, given: Given) -> tuple[list[str], str]:
    """Return the names of the rows, and a sentence that explains them."""
    # A scalar has no rows: the fit rejects it.
    n = X.shape[0] if X.shape else 0
    if given.row_names is not None:
        names = given.row_names
        note = ""
    elif hasattr(X, "index"):
        names = X.index
        note = "Rows are named by the index of the data frame."
    else:
        names = range(n)
        note = "Rows are numbered from 0."
    if len(names) != n:
        raise ValueError(
            f"row_names has {len(names)} entries, but X has {n} rows: give one per row."
        )
    if given.row_note is not None:
        note = given.row_note
    return list(map(str, names)), note


def columns_behind(
    estimator, names: list[str] | None, n_features: int
) -> tuple[list[str], np.ndarray]:
    """Return the names of the features that the last step sees.

    With them, whether the steps before standardise each feature.
    """
    scaled = np.zeros(n_features, dtype=bool)
    steps = []
    if isinstance(estimator, Pipeline):
        steps = estimator.steps[:-1]
    for _, step in steps:
        if isinstance(step, ColumnTransformer):
            for name, part, _ in step.transformers_:
                scaled[step.output_indices_[name]] = _has_scaler(part)
        elif _has_scaler(step):
            scaled[:] = True
    if steps and names is not None:
        # A step may not name its features; if their number is the same, keep the names.
        with suppress(AttributeError, ValueError, NotImplementedError):
            names = list(map(str, estimator[:-1].get_feature_names_out(names)))
    if names is None or len(names) != n_features:
        names = _numbered(n_features)
    return names, scaled


def _has_scaler(step) -> bool:
    """Return whether a step is a scaler, or has one inside."""
    parts = [step]
    if hasattr(step, "get_params"):
        parts.extend(step.get_params().values())
    return any(isinstance(part, StandardScaler | ClippedScaler) for part in parts)
