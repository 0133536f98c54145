"""Training for ``drsvm fit``: all rows for the model that is saved, some of them where the others are a test."""

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from drsvm import WassersteinSVC, WassersteinSVCCV
from drsvm.cli import tasks as work
from drsvm.cli.kernel_choice import choose
from drsvm.cli.options import KernelChoice, Settings
from drsvm.cli.screen import Payload, Screen
from drsvm.cli.tasks import Parts, Prepared, rows_of
from drsvm.defaults.prices import flip_costs_of_rows
from drsvm.estimators.scores import scores
from drsvm.persistence import audits, model_files
from drsvm.report.verdict import Alternative, moved_columns, worth_trying
from drsvm.tables.arrow_tables import Table
from drsvm.tables.preparation import Steps
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import TimeLimit

# Parameters of which a cross-validation takes several values; prices by class are
# prices by row there.
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

# Of drsvm, of any kind; their common class does not know the attributes of all
Classifier: TypeAlias = Any


class PreparedFold(NamedTuple):
    """Training rows and test rows of a table, with a fitted preparation whose numbers are fitted to the former anew."""

    number: int
    train: np.ndarray
    test: np.ndarray
    table: Table
    steps: Steps

    def rows(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return the features of training and test rows.

        Levels have the columns that they have among all rows.
        """
        if not self.steps:
            return X[self.train], X[self.test]
        pipeline = clone(Pipeline(self.steps))
        fitted = self.steps[-1][1]
        if "categories" in getattr(fitted, "named_transformers_", ()):
            pipeline[-1].set_params(
                categories=FrozenEstimator(fitted.named_transformers_["categories"])
            )
        train = pipeline.fit_transform(rows_of(self.table, self.train))
        return train, pipeline.transform(rows_of(self.table, self.test))


class PreparedSearch(WassersteinSVCCV):
    """A cross-validation whose folds are prepared separately.

    `fitted` is the classifier of the refit.
    """

    fitted: WassersteinSVC
    source: tuple[Table, Steps]  # of the folds

    def _folds(self, data, groups) -> list[Any]:
        return [
            PreparedFold(*fold, *self.source) for fold in super()._folds(data, groups)
        ]

    def _chosen_classifier(self) -> WassersteinSVC:
        self.fitted = super()._chosen_classifier()
        return self.fitted


class Fitted(NamedTuple):
    """A fitted classifier with its preparation, and the rows it was given."""

    classifier: Classifier
    prepared: Prepared
    parts: Parts

    @property
    def columns(self) -> list[str]:
        first = self.parts.data.schema.index_base
        return self.prepared.columns or [
            str(first + index) for index in range(self.prepared.X.shape[1])
        ]

    def pipeline(self, classifier: Classifier) -> Pipeline:
        return Pipeline([*self.prepared.steps, ("classifier", classifier)])

    def decisions(self, X: Matrix) -> np.ndarray:
        return np.asarray(self.classifier.decision_function(X))

    def test_scores(self) -> Payload | None:
        y = self.parts.y_test
        if y is None:
            return None
        return scores(
            self.decisions(self.prepared.X_test),
            y,
            self.classifier.classes_,
            new_rows=True,
        )


class Trained(NamedTuple):
    """The classifier of all rows, the one that was tested on held-out rows, and the figures of a search or choice."""

    model: Fitted
    tested: Fitted | None
    figures: Payload | None = None
    # Tested, too: they find more rows of a rare class
    others: Mapping[Alternative, Fitted] = {}

    def about_moved(self) -> list[str]:
        """Return a note on columns that differ between training and test rows."""
        fitted = self.tested or self.model
        X_test = fitted.prepared.X_test
        if X_test is None or fitted.parts.ready is not None:
            return []
        moved = moved_columns(fitted.prepared.X, X_test, fitted.columns)
        what = "half a standard deviation or more between the means of training and test rows, in"
        if moved:
            return [
                f"{what} {', '.join(moved)}: the test is about rows of another kind."
            ]
        return []


@dataclass(frozen=True, eq=False)
class Task:
    """What ``fit`` has to do: settings, all rows, and the same with some held out for a test, if any."""

    settings: Settings
    standardise: bool
    whole: Parts
    held: Parts | None
    screen: Screen

    @cached_property
    def time(self) -> TimeLimit:
        return TimeLimit.of(self.settings["max_time"])

    @cached_property
    def _prepared(self) -> Callable[[Parts], Prepared]:
        return cache(partial(work.prepared, standardise=self.standardise))

    def _fitted(self, estimator: Classifier, parts: Parts) -> Fitted:
        """Return a classifier of the training rows.

        It may take half of the time left.
        """
        prepared = self._prepared(parts)
        model = clone(estimator).set_params(
            **work.feature_prices(parts, prepared), max_time=self.time.share(2)
        )
        if isinstance(model, PreparedSearch):
            model.source = parts.X, prepared.steps
        costs = self.settings.get("flip_cost", np.inf)
        rows = {}
        by_class = isinstance(costs, dict) and not isinstance(
            getattr(estimator, "flip_cost", None), dict
        )
        if by_class or parts.verified is not None:
            costs = flip_costs_of_rows(costs, parts.y, np.unique(parts.y))
            if parts.verified is None:
                rows["flip_cost"] = costs
            else:
                rows["flip_cost"] = np.where(parts.verified, np.inf, costs)
        model.fit(prepared.X, parts.y, **rows)
        return Fitted(model.set_params(max_time=estimator.max_time), prepared, parts)

    def _for_test(self, estimator: Classifier, parts: Parts) -> Fitted:
        """Return a classifier that is not saved, without its warnings: those of the saved one are shown."""
        estimator = clone(estimator).set_params(calibration=None)
        if len(parts.y) >= TEST_TOL_ROWS:
            estimator.set_params(tol=max(estimator.tol or 0.0, TEST_TOL))
        with warnings.catch_warnings(action="ignore"):
            return self._fitted(estimator, parts)

    def trained(self, kernel: KernelChoice, for_weights: str | None) -> Trained:
        """Train on all rows first, which may take half of the time, then for the test, whose rows choose nothing.

        `for_weights` is an option that asks for a linear classifier, if one was given.
        """
        choice = None
        rows = self.held or self.whole
        if kernel.kernel == "auto":
            given = self.settings, rows, self._prepared(rows).X, self.time, self.screen
            choice = choose(kernel, for_weights, *given)
            kernel = replace(kernel, kernel=choice["kernel"])
        kind, given = kernel.kind_and_settings(self.settings)
        estimator = kind(**given, calibration="sigmoid")
        with (
            self.screen.progress(f"fitting {len(self.whole.y):,} rows"),
            self.screen.warnings_as_notes(),
        ):
            model = self._fitted(estimator, self.whole)
        if self.held is None:
            return Trained(model, None, choice)
        if self.time.over:
            self.screen.note(
                "no test: the time was up after the fit of all rows; allow more with --max-time."
            )
            return Trained(model, None, choice)
        with self.screen.progress(f"fitting {len(self.held.y):,} rows for the test"):
            tested = self._for_test(estimator, self.held)
            return Trained(
                model,
                tested,
                choice,
                self._others(estimator, self.held, tested.test_scores()),
            )

    def _others(
        self, estimator: Classifier, parts: Parts, figures: Payload | None
    ) -> dict[Alternative, Fitted]:
        """Return classifiers that find more rows of a class that is missed.

        None if a setting was given for that.
        """
        if figures is None or parts.ready is not None:
            found = []
        else:
            found = worth_trying(figures, estimator)
        return {
            one: self._for_test(clone(estimator).set_params(**one.settings), parts)
            for one in found
        }

    def searched(self, folds: int) -> Trained:
        """Cross-validate on the rows that are not held out, then train on all rows with what was chosen."""
        rows = self.held or self.whole
        given: Settings = {
            k: v
            for k, v in self.settings.items()
            if k != "flip_cost" or not isinstance(v, dict)
        }
        given = {
            name: value
            for name, value in given.items()
            if value is not None or name == "class_weight"
        }
        given = {SEVERAL.get(name, name): value for name, value in given.items()}
        estimator = PreparedSearch(cv=folds, calibration="sigmoid", **given)
        with (
            self.screen.progress(f"{len(rows.y):,} rows"),
            self.screen.warnings_as_notes(),
        ):
            fitted = self._fitted(estimator, rows)
            search = fitted.classifier
            best = fitted._replace(
                classifier=search.fitted.set_params(max_time=search.max_time)
            )
            n_candidates = len(search.cv_results_["params"])
            figures = {
                "score": search.best_score_,
                "candidates": n_candidates,
                "rows": len(rows.y),
            }
            if self.held is None:
                return Trained(best, None, figures)
            return Trained(
                self._fitted(clone(best.classifier), self.whole), best, figures
            )


def save(trained: Trained, path: Path, payload: Payload) -> None:
    """Save the model of all rows."""
    slopes, offsets = trained.model.classifier.sigmoids_.T
    payload["probability"] = {"slopes": slopes, "offsets": offsets}
    data = trained.model.parts.data
    kept = (
        "rows",
        "classes",
        "positive",
        "certificates",
        "train",
        "test",
        "held_out",
        "choice",
    )
    metadata = {
        "schema": asdict(data.schema),
        "feature_names": trained.model.prepared.names,
        "label": data.schema.label,
        "training": {
            "file": data.path.name,
            **{name: payload.get(name) for name in kept},
        },
    }
    model = trained.model.pipeline(trained.model.classifier)
    model_files.save(
        model_files.SavedModel(model, metadata, _audit(trained, model)), path
    )
    payload["model"] = path


def _audit(trained: Trained, saved: Pipeline) -> audits.Audit | None:
    """Return what the classifier that was tested sees of some of its test rows.

    None without a test.
    """
    fitted = trained.tested or trained.model
    model = saved
    parts = fitted.parts
    schema = fitted.parts.data.schema
    if parts.y_test is None:
        return None
    if trained.tested is not None:  # it needs no certificate
        model = fitted.pipeline(copy(fitted.classifier))
        model[-1].result_ = None
    rows = np.random.default_rng(0).permutation(len(parts.y_test))[: audits.MOST_ROWS]
    if parts.ready is not None:  # whose columns were not kept
        return audits.Audit(
            model,
            audits.sample_of(
                model[-1], fitted.prepared.X_test[rows], parts.y_test[rows], []
            ),
        )
    names = schema.columns or [
        str(schema.index_base + place) for place in range(schema.n_features)
    ]
    return audits.Audit(
        model,
        audits.sample_of(model, rows_of(parts.X_test, rows), parts.y_test[rows], names),
    )
