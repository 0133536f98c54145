"""Training for ``drsvm fit``: all rows for the model that is saved, some of them where the others are a test."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from drsvm.cli import work
from drsvm.cli.large_tables import StreamedParts
from drsvm.cli.prices import feature_prices, flip_cost_by_row
from drsvm.cli.work import Parts, Prepared
from drsvm.clock import TimeLimit
from drsvm.datasets.copies import can_stay_together, held_out_rows
from drsvm.learn.probability import Sigmoids
from drsvm.learn.scores import scores

FOLDS = 5
"""Number of folds whose decisions a sigmoid is fitted to."""

ENOUGH_ROWS, ENOUGH_OF_A_CLASS = 2000, 100
"""With so many held-out rows their decisions suffice for the two numbers of a sigmoid, and no folds are needed."""

MOST_ROWS = 100_000
"""A sigmoid is fitted to the first of more held-out rows, which are in random order."""

MANY_ROWS, TEST_TOL = 200_000, 1e-4
"""From this many rows on, classifiers that are not saved have this proven gap: it saves time, and single rows no longer
matter. With fewer rows the figures are exactly those of the report."""


class Fitted(NamedTuple):
    """A fitted classifier with its preparation, and the rows it was given."""

    classifier: Any
    prepared: Prepared
    parts: Parts

    @property
    def pipeline(self) -> Pipeline:
        """The model from the raw table to the label."""
        return Pipeline([*self.prepared.steps, ("classifier", self.classifier)])

    def test_decisions(self) -> np.ndarray:
        """Return the decision values of the test rows."""
        return np.asarray(self.classifier.decision_function(self.prepared.X_test))

    def train_decisions(self) -> np.ndarray:
        """Return the decision values of the training rows."""
        return np.asarray(self.classifier.decision_function(self.prepared.X))

    def test_scores(self) -> dict[str, Any] | None:
        """Return the figures on the test rows, if there are any."""
        y = self.parts.y_test
        return None if y is None else scores(self.test_decisions(), y, self.classifier.classes_)


@dataclass(frozen=True)
class Training:
    """How rows become a classifier, alike for all rows and for some of them.

    `flip_cost` is a price, or prices by the text of a label; `by_row` says that the estimator takes them by row.
    """

    estimator: Any
    standardise: bool
    flip_cost: Any
    by_row: bool
    time: TimeLimit

    def fitted(self, parts: Parts, share: int, *before: Any) -> Fitted:
        """Return a classifier of the training rows; it may take one of `share` parts of the time left.

        Each function in `before` receives the estimator, the rows and the features first.
        """
        prepared = work.prepared(parts, standardise=self.standardise)
        model = clone(self.estimator).set_params(**feature_prices(parts, prepared), max_time=self.time.share(share))
        for prepare in before:
            prepare(model, parts, prepared)
        rows = {}
        if parts.verified is not None or (self.by_row and isinstance(self.flip_cost, dict)):
            rows["flip_cost"] = flip_cost_by_row(self.flip_cost, parts.y, parts.verified)
        model.fit(prepared.X, parts.y, **rows)
        return Fitted(model.set_params(max_time=self.estimator.max_time), prepared, parts)

    def quietly(self, parts: Parts, share: int) -> Fitted:
        """Return a classifier that is not saved, without its warnings: those of the saved one are shown."""
        estimator = self.estimator
        if len(parts.y) >= MANY_ROWS:
            estimator = clone(estimator).set_params(tol=max(estimator.tol or 0.0, TEST_TOL))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return replace(self, estimator=estimator).fitted(parts, share)


def sigmoids(training: Training, whole: Parts, tested: Fitted | None, seed: int) -> Sigmoids | str:
    """Return sigmoids fitted to decisions about rows that were not in training, of the test or of folds; or why not."""
    classes, counts = np.unique(whole.y, return_counts=True)
    if counts.min() < 2:
        rare = classes.tolist()[int(counts.argmin())]
        return f"only one row has the label {rare!r}, which no other can judge: correct or remove it, and train again."
    on_disk = isinstance(whole, StreamedParts)  # without folds, which would be copies
    if on_disk and tested is None:
        return "they need rows that are held out: train again without --test-size 0."
    found = [tested] if tested is not None and (on_disk or _are_enough(tested.parts.y_test)) else []
    folds = [] if found else _folds(whole.y, int(counts.min()), seed, whole.copies)
    for number, (train, test) in enumerate(folds):
        if training.time.over:  # a classifier that got no time has weights of 0, and its decisions mean nothing
            return "the time was up before all folds were fitted; allow more with --max-time."
        found.append(training.quietly(work.part(whole, train, test), len(folds) - number))
    decisions = np.concatenate([one.test_decisions() for one in found])[:MOST_ROWS]
    labels = np.concatenate([one.parts.y_test for one in found if one.parts.y_test is not None])[:MOST_ROWS]
    return Sigmoids.fitted(decisions, labels, found[0].classifier.classes_)


def _folds(y: np.ndarray, fewest: int, seed: int, copies: np.ndarray | None = None) -> list[tuple[Any, Any]]:
    """Return training and test rows: of one split if its test is large enough, otherwise of several folds."""
    if len(y) * work.TEST_SHARE >= ENOUGH_ROWS:
        train, test = held_out_rows(y, work.TEST_SHARE, seed, copies)
        if _are_enough(y[test]):
            return [(train, test)]
    together = copies is not None and can_stay_together(y, copies)
    kind = StratifiedGroupKFold if together else StratifiedKFold
    splitter = kind(min(FOLDS, fewest), shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(y)), y, copies if together else None))


def _are_enough(labels: np.ndarray | None) -> bool:
    if labels is None or len(labels) < ENOUGH_ROWS:
        return False
    return np.unique(labels, return_counts=True)[1].min() >= ENOUGH_OF_A_CLASS


def as_trained(training: Training, classifier: Any) -> Training:
    """Return the same training for the parameters of a classifier that a cross-validation chose."""
    return replace(training, estimator=clone(classifier))
