"""Training for ``drsvm fit``: the model that is saved, and what is tested.

The model is trained on all rows, and another one on those that are not held out, for
which the others are a test.
"""

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from drsvm import WassersteinSVC, WassersteinSVCCV
from drsvm.audit.performance import leads, scores
from drsvm.cli.choose_kernel import choose_kernel
from drsvm.cli.screen import Payload, Screen
from drsvm.cli.settings import KernelChoice, Settings
from drsvm.cli.time_order import about_outside, columns_of, time_order
from drsvm.cli.training_rows import (
    Prepared,
    TrainTestRows,
    costs_and_signs,
    prepare,
    rows_of,
)
from drsvm.defaults.costs import flip_costs_of_rows
from drsvm.defaults.group_landmarks import group_landmarks
from drsvm.persistence.audits import MOST_ROWS, Audit, sample_of
from drsvm.persistence.model_files import SavedModel
from drsvm.persistence.model_files import save as save_model
from drsvm.report.inputs import results_of
from drsvm.report.rivals import boosted_trees, clearly_ahead, costs_of
from drsvm.report.verdict import Alternative, moved_columns, worth_trying
from drsvm.tables.arrow_columns import Table
from drsvm.tables.preparation import Steps
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import TimeLimit
from drsvm.utils.lazy import cached_property

# Parameters of which a cross-validation takes several values
SEVERAL = {
    "flip_cost": "flip_costs",
    "norm": "norms",
    "intercept_cost": "intercept_costs",
}
# From this many rows on, classifiers that are not saved have this proven gap: it saves
# time, and single rows no longer matter. With fewer rows the figures are exactly those
# of the report.
TEST_TOL_ROWS = 200_000
TEST_TOL = 1e-4
# Boosted trees are trained on this number of rows at most, with this many cells, such
# as 20,000 rows of 100 features, which take a few seconds: enough to show that they are
# ahead. With 750,000 rows of 3 features, a command takes 1.2 times the processor time.
TREE_ROWS = 100_000
TREE_CELLS = 2_000_000
# With more columns, trees are not trained: 20,000 would take longer than all the rest,
# even with few rows.
TREE_COLUMNS = 5_000
# What is saved of the summary
SAVED_FIGURES = (
    "rows",
    "classes",
    "positive",
    "certificates",
    "train",
    "test",
    "held_out",
    "choice",
)

# Of drsvm, of any kind; their common class does not know the attributes of all.
Classifier: TypeAlias = Any


class PreparedFold(NamedTuple):
    """Training rows and test rows of a table, and a preparation fitted to all rows."""

    number: int
    train: np.ndarray
    test: np.ndarray
    table: Table
    steps: Steps

    def rows(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return the features of training and test rows.

        The preparation is fitted again to the former, so that they know nothing of the
        latter. Only levels have the columns that they have among all rows.
        """
        if not self.steps:
            # Of an svmlight file without scaling
            return X[self.train], X[self.test]
        pipeline = clone(Pipeline(self.steps))
        # The search fits all folds with the same features: a level that is rare enough
        # to be missing in a fold keeps its column there.
        fitted = getattr(self.steps[-1][1], "named_transformers_", {})
        if "categories" in fitted:
            levels = FrozenEstimator(fitted["categories"])
            pipeline[-1].set_params(categories=levels)
        train = pipeline.fit_transform(rows_of(self.table, self.train))
        return train, pipeline.transform(rows_of(self.table, self.test))


class PreparedSearch(WassersteinSVCCV):
    """A cross-validation whose folds are prepared separately.

    `fitted` is the classifier of the refit.
    """

    fitted: WassersteinSVC
    # The table and the preparation of the folds
    source: tuple[Table, Steps]

    def _folds(self, data, groups) -> list[Any]:
        folds = super()._folds(data, groups)
        # Each has a number, training rows and test rows.
        return [PreparedFold(*fold, *self.source) for fold in folds]

    def _chosen_classifier(self) -> WassersteinSVC:
        self.fitted = super()._chosen_classifier()
        return self.fitted


class Fitted(NamedTuple):
    """A fitted classifier with its preparation, and the rows it was given."""

    classifier: Classifier
    prepared: Prepared
    parts: TrainTestRows

    @property
    def columns(self) -> list[str]:
        """The column of the file that each feature comes from."""
        return columns_of(self.parts, self.prepared)

    def pipeline(self, classifier: Classifier) -> Pipeline:
        """Return a classifier behind this preparation."""
        return Pipeline([*self.prepared.steps, ("classifier", classifier)])

    def decisions(self, X: Matrix) -> np.ndarray:
        """Return the decision values of prepared rows."""
        return np.asarray(self.classifier.decision_function(X))

    def test_scores(self) -> Payload | None:
        """Return how well the test rows are classified; None without such rows."""
        y = self.parts.y_test
        if y is None:
            return None
        return self.scores_of(self.decisions(self.prepared.X_test), y)

    def scores_of(self, decisions: np.ndarray, y: np.ndarray) -> Payload:
        """Return how well decision values of the test rows agree with the labels."""
        classes = self.classifier.classes_
        costs = costs_of(self.classifier)
        return scores(decisions, y, classes, new_rows=True, costs=costs)


class Trained(NamedTuple):
    """The classifiers of one run of ``drsvm fit``.

    Attributes
    ----------
    model : the classifier of all rows
    tested : the one that was tested on held-out rows; None if there are none
    figures : those of a search, or of the choice of the kernel
    others : tested, too: with other settings, which find more rows of a rare class
    ahead : by how much boosted trees are ahead in the test; None if not clearly
    """

    model: Fitted
    tested: Fitted | None
    figures: Payload | None = None
    others: Mapping[Alternative, Fitted] = {}
    ahead: Payload | None = None

    def about_moved(self) -> list[str]:
        """Return a note on columns that differ between training and test rows."""
        fitted = self.tested or self.model
        X_test = fitted.prepared.X_test
        if X_test is None or fitted.parts.on_disk:
            return []
        outside = []
        if not hasattr(fitted.classifier, "coef_"):
            outside = about_outside(fitted.parts, fitted.prepared)
        moved = moved_columns(fitted.prepared.X, X_test, fitted.columns)
        if not moved:
            return outside
        return [
            *outside,
            "half a standard deviation or more between the means of training and test "
            f"rows, in {', '.join(moved)}: the test is about rows of another kind.",
        ]


@dataclass(frozen=True, eq=False)
class Training:
    """What ``fit`` has to do, and how it is done.

    Attributes
    ----------
    settings : parameters of the classifier, by name
    standardise : whether numbers are clipped and standardised
    whole : all rows, with those of a test file if there is one
    held : the same rows with some held out for a test; None without such rows
    screen : where notes and progress go
    """

    settings: Settings
    standardise: bool
    whole: TrainTestRows
    held: TrainTestRows | None
    screen: Screen

    @property
    def selection(self) -> TrainTestRows:
        """The rows for model selection: those of the test choose nothing."""
        return self.held or self.whole

    @cached_property
    def time(self) -> TimeLimit:
        """The time limit, from when this is first read: after the file was read."""
        return TimeLimit.of(self.settings["max_time"])

    @cached_property
    def landmarks(self) -> np.ndarray:
        """The landmarks of all classifiers with a kernel, unless these are rows.

        They come from the rows that are not held out, and are features of these. The
        classifier of all rows has the same ones: means of groups with a row and without
        it, side by side in a file, would reveal the row.
        """
        X = self.prepared_selection.X
        return group_landmarks(X, self.selection.y)

    @cached_property
    def prepared_whole(self) -> Prepared:
        return prepare(self.whole, standardise=self.standardise)

    @cached_property
    def prepared_selection(self) -> Prepared:
        if self.held is None:
            return self.prepared_whole
        return prepare(self.held, standardise=self.standardise)

    @cached_property
    def time_order(self) -> tuple[np.ndarray | None, list[str]]:
        """The rows for model selection in the order of time, if known, and notes."""
        return time_order(self.selection, self.prepared_selection)

    def trained(self, kernel: KernelChoice) -> Trained:
        """Train on all rows, which may take half of the time, and then for the test.

        The kernel is chosen first, if that is wanted.
        """
        choice = None
        # The rows of the test must not choose the kernel that they judge.
        if kernel.kernel == "auto":
            choice = choose_kernel(
                kernel,
                self.settings,
                self.selection,
                self.prepared_selection,
                self.time_order[0],
                self.time,
                self.screen,
            )
            kernel = replace(kernel, kernel=choice["kernel"])
        kind, settings = kernel.kind_and_settings(self.settings)
        # With probabilities, which predict --probability writes
        estimator = kind(**settings, calibration="sigmoid")
        fitting = self.screen.progress(f"fitting {len(self.whole.y):,} rows")
        with fitting, self.screen.warnings_as_notes():
            model = self._fitted(estimator, self.whole, self.prepared_whole)
        untested = Trained(model, None, choice)
        if self.held is None:
            return untested
        if self.time.over:
            self.screen.note(
                "no test: the time was up after the fit of all rows; allow more with "
                "--max-time."
            )
            return untested
        with self.screen.progress(f"fitting {len(self.held.y):,} rows for the test"):
            tested = self._for_test(estimator)
            others = self._others(estimator, tested.test_scores())
            ahead = self._trees_ahead(tested)
        return Trained(model, tested, choice, others, ahead)

    def searched(self, folds: int) -> Trained:
        """Cross-validate, then train on all rows with what was chosen."""
        given: Settings = {"cv": folds, "calibration": "sigmoid"}
        for name, value in self.settings.items():
            # Flip costs by class are given by row (see `_given_by_row`).
            if name == "flip_cost" and isinstance(value, dict):
                continue
            given[SEVERAL.get(name, name)] = value
        searching = self.screen.progress(f"{len(self.selection.y):,} rows")
        with searching, self.screen.warnings_as_notes():
            estimator = PreparedSearch(**given)
            found = self._fitted(estimator, self.selection, self.prepared_selection)
            search = found.classifier
            # The refit had a share of the time; the model that is saved says what was
            # asked for.
            classifier = search.fitted.set_params(max_time=search.max_time)
            best = found._replace(classifier=classifier)
            figures = {
                "score": search.best_score_,
                "candidates": len(search.cv_results_["params"]),
                "rows": len(self.selection.y),
            }
            if self.held is None:
                return Trained(best, None, figures)
            model = self._fitted(clone(classifier), self.whole, self.prepared_whole)
            ahead = self._trees_ahead(best)
            return Trained(model, best, figures, ahead=ahead)

    def _fitted(
        self, estimator: Classifier, parts: TrainTestRows, prepared: Prepared
    ) -> Fitted:
        """Return a classifier of the training rows.

        It may take half of the time left.
        """
        model = clone(estimator).set_params(
            **costs_and_signs(parts, prepared), max_time=self.time.share(2)
        )
        # Parameters that are set for this fit alone
        asked = {"max_time": estimator.max_time}
        if getattr(estimator, "landmarks", None) is not None:
            asked["landmarks"] = estimator.landmarks
            model.set_params(landmarks=self._landmarks_for(prepared))
        if isinstance(model, PreparedSearch):
            model.source = (parts.X, prepared.steps)
        model.fit(prepared.X, parts.y, **self._given_by_row(estimator, parts))
        return Fitted(model.set_params(**asked), prepared, parts)

    def _landmarks_for(self, prepared: Prepared) -> np.ndarray:
        """Return the landmarks with the features of a preparation.

        Levels may be rare in some of the rows: landmarks have 0 for features that only
        others have.
        """
        if prepared.names is None:
            return self.landmarks
        names = self.prepared_selection.names or []
        own = dict(zip(names, self.landmarks.T, strict=True))
        absent = np.zeros(len(self.landmarks))
        return np.column_stack([own.get(name, absent) for name in prepared.names])

    def _given_by_row(self, estimator: Classifier, parts: TrainTestRows) -> Settings:
        """Return the flip costs as a parameter of ``fit``, one per row, where needed.

        That is if some labels were verified, or if the user gave flip costs by class
        and the estimator, a cross-validation, takes none.
        """
        costs = self.settings.get("flip_cost", np.inf)
        takes_classes = isinstance(getattr(estimator, "flip_cost", None), dict)
        if parts.verified is None and (takes_classes or not isinstance(costs, dict)):
            return {}
        costs = flip_costs_of_rows(costs, parts.y, np.unique(parts.y))
        if parts.verified is not None:
            # No adversary can flip what was verified.
            costs = np.where(parts.verified, np.inf, costs)
        return {"flip_cost": costs}

    def _for_test(self, estimator: Classifier) -> Fitted:
        """Return a classifier of the rows that are not held out, which is not saved.

        Its warnings are not shown, since those of the saved one are.
        """
        # Calibration takes fits on folds, and a test looks at no probabilities.
        estimator = clone(estimator).set_params(calibration=None)
        if len(self.selection.y) >= TEST_TOL_ROWS:
            estimator.set_params(tol=max(estimator.tol or 0.0, TEST_TOL))
        with warnings.catch_warnings(action="ignore"):
            return self._fitted(estimator, self.selection, self.prepared_selection)

    def _others(
        self, estimator: Classifier, figures: Payload | None
    ) -> dict[Alternative, Fitted]:
        """Return classifiers that find more rows of a class that is missed.

        None of them if a setting was given for that.
        """
        if figures is None or self.selection.on_disk:
            return {}
        others = {}
        for one in worth_trying(figures, estimator):
            others[one] = self._for_test(clone(estimator).set_params(**one.settings))
        return others

    def _trees_ahead(self, tested: Fitted) -> Payload | None:
        """Return by which figure boosted trees are clearly ahead, if they are.

        Of many training rows, they see a sample.
        """
        _, prepared, parts = tested
        if parts.y_test is None or parts.on_disk or self.time.over:
            return None
        n_columns = prepared.X.shape[1]
        if not sparse.issparse(prepared.X) and n_columns > TREE_COLUMNS:
            return None
        most = max(1, min(TREE_ROWS, TREE_CELLS // n_columns))
        rows = np.random.default_rng(0).permutation(len(parts.y))[:most]
        costs = costs_of(tested.classifier)
        trees = boosted_trees(prepared.X[rows], parts.y[rows], costs)
        if trees is None:
            return None
        own = tested.decisions(prepared.X_test)
        rival = np.asarray(trees.decision_function(prepared.X_test))
        classes = tested.classifier.classes_
        found = leads(own, rival, parts.y_test, classes, costs)
        of_trees = tested.scores_of(rival, parts.y_test)
        figure = clearly_ahead(found, of_trees, tested.classifier)
        if figure is None:
            return None
        of_own = tested.scores_of(own, parts.y_test)
        return {"figure": figure, "own": of_own[figure], "trees": of_trees[figure]}


def save(trained: Trained, path: Path, payload: Payload) -> None:
    """Save the model of all rows, without what belongs to single rows."""
    fitted = trained.model
    # Of P(class) = 1 / (1 + exp(-(slope · decision + offset)))
    slopes, offsets = fitted.classifier.sigmoids_.T
    payload["probability"] = {"slopes": slopes, "offsets": offsets}
    data = fitted.parts.data
    figures = {name: payload.get(name) for name in SAVED_FIGURES}
    if "kernel" in payload:
        figures["landmarks"] = payload["kernel"]["made_of"]
    metadata = {
        "schema": asdict(data.schema),
        "feature_names": fitted.prepared.names,
        "label": data.schema.label,
        "training": {"file": data.path.name, **figures},
    }
    model = fitted.pipeline(_without_multipliers(fitted.classifier))
    save_model(SavedModel(model, metadata, _audit(trained, model)), path)
    payload["model"] = path


def _without_multipliers(classifier: Classifier) -> Classifier:
    """Return a classifier that does not keep which of its rows have a loss."""
    results = []
    for result in results_of(classifier):
        nothing = np.empty(0)
        results.append(replace(result, hinge_dual=nothing, flip_dual=nothing))
    stripped = copy(classifier)
    stripped.result_ = results
    if len(results) == 1:
        stripped.result_ = results[0]
    return stripped


def _audit(trained: Trained, saved: Pipeline) -> Audit | None:
    """Return what the classifier that was tested sees of some of its test rows.

    ``drsvm drift`` and ``drsvm predict`` compare new rows with them. None without a
    test.
    """
    fitted = trained.tested or trained.model
    parts = fitted.parts
    if parts.y_test is None:
        return None
    model = saved
    if trained.tested is not None:
        # It needs no certificate.
        model = fitted.pipeline(copy(fitted.classifier))
        model[-1].result_ = None
    # In random order, so that any first rows are a sample, too.
    rows = np.random.default_rng(0).permutation(len(parts.y_test))[:MOST_ROWS]
    y = parts.y_test[rows]
    if parts.on_disk:
        # The columns of the table were not kept.
        X = fitted.prepared.X_test[rows]
        return Audit(model, sample_of(model[-1], X, y, []))
    X = rows_of(parts.X_test, rows)
    return Audit(model, sample_of(model, X, y, parts.data.schema.names))
