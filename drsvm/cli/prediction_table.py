"""The predictions of a saved model for a file: columns of a table, scores and notes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from drsvm.audit.explanation import explain
from drsvm.audit.performance import scores
from drsvm.audit.precision import NOISE, are_noise
from drsvm.cli.class_labels import labels_for, unknown_label
from drsvm.cli.options import Columns, free_name
from drsvm.cli.screen import Payload
from drsvm.cli.training_rows import names_of_features, rows_of
from drsvm.defaults.one_vs_rest import predictions
from drsvm.persistence.model_files import SavedModel
from drsvm.tables import Dataset
from drsvm.tables.notes import what_is_new, what_was_clipped
from drsvm.tables.preparation import as_in_file, cells_clipped, unseen_levels

# With fewer rows it is not measured whether they have moved; of more, some are drawn.
MIN_ROWS_OF_SHIFT = 30
MAX_ROWS_OF_SHIFT = 2000
# Sorted from the largest value; also those of single classes
DESCENDING = ("decision", "probability")


class Predictions:
    """The predictions of a saved model for the rows of a file.

    Attributes
    ----------
    classes : the classes; truth values, such as yes and no, are written as in the
        training file
    certificates : what is proven of each decision; none in models of other tools
    decisions : their values, of shape (n,), or (n, n_classes) for more than two classes
    labels : those of the rows that have one; None if some are unknown to the model
    place : the position of the positive one of two classes, to which decisions and
        probabilities refer
    positive : this class; None if there are more than two
    """

    def __init__(self, saved: SavedModel, data: Dataset):
        self.saved = saved
        self.data = data
        known = saved.model.classes_
        truth = data.schema.truth_labels
        training = saved.metadata.get("training", {})
        # The model knows truth values as 0 and 1.
        self.classes = np.array(truth or known)
        self.certificates = training.get("certificates", ())
        self.decisions = np.asarray(saved.model.decision_function(data.X))
        self.labels = labels_for(known, data)
        if self.labels is not None and truth:
            self.labels = self.classes[self.labels.astype(int)]
        self.place = 1
        names = list(map(str, known.tolist()))
        if str(training.get("positive")) in names:
            self.place = names.index(str(training["positive"]))
        self.positive = None
        if len(known) == 2:
            self.positive = self.classes.tolist()[self.place]

    def notes(self) -> Iterator[str]:
        """Yield what the user should know about the rows of the file."""
        model = self.saved.model
        data = self.data
        n = data.shape[0]
        yield from what_is_new(unseen_levels(model, data.schema, data.X), n)
        yield from what_was_clipped(cells_clipped(model.steps, data.schema, data.X))
        if data.y is not None and self.labels is None:
            unknown = unknown_label(data.y, model.classes_)
            yield (
                f"no scores: the file has the label {unknown!r}, which the model was "
                "not trained on."
            )
        if self.labels is not None and len(self.labels) < n:
            n_lost = n - len(self.labels)
            words = "row has no label: it is"
            if n_lost > 1:
                words = f"of {n:,} rows have no label: they are"
            yield f"{n_lost:,} {words} predicted too; scores go without."
        yield from self._about_movement()
        yield from self._about_noise()

    def _about_movement(self) -> Iterator[str]:
        """Say if the rows have moved since the test of the model."""
        from drsvm.audit.shift import shift_between

        audit = self.saved.audit
        n = self.data.shape[0]
        if audit is None or n < MIN_ROWS_OF_SHIFT:
            return
        # Columns are not compared: drsvm drift does that.
        rows = np.random.default_rng(0).permutation(n)[:MAX_ROWS_OF_SHIFT]
        before = audit.rows.some(slice(0, MAX_ROWS_OF_SHIFT), [])
        after = audit.seen(rows_of(self.data.X, rows))
        shift = shift_between(before, after, 0.95, 0)
        if shift.more_than_chance:
            yield (
                "the rows have moved since the test of the model (by "
                f"{shift.moved:.2g}, and chance explains {shift.moved_by_chance:.2g}): "
                "see drsvm drift."
            )

    def _about_noise(self) -> Iterator[str]:
        """Name the classifiers whose decision values differ too little to be ranked."""
        # How well decision values are known follows from the proven gaps.
        known = [(one["gap"], one["tol"]) for one in self.certificates]
        n_columns = 1 if self.decisions.ndim == 1 else self.decisions.shape[1]
        if self.data.shape[0] < 2 or len(known) != n_columns:
            return
        # Two classes have one certificate, for the second of them; more have one each.
        classes = self.classes[-len(known) :].astype(str)
        constant = classes[are_noise(self.decisions, known)]
        if len(constant) == 0:
            return
        if len(known) > 1:
            yield f"{', '.join(constant)} against the rest: {NOISE}."
        else:
            yield f"{NOISE}."

    def columns(self, probability: bool, n_reasons: int | None = None) -> Columns:
        """Return the number of the row, the columns of the file, and the predictions.

        New columns whose names are taken have a prefix.
        """
        is_binary = self.decisions.ndim == 1
        shown = self.decisions
        if is_binary and self.place == 0:
            # The classifier's decisions are for the second class.
            shown = -shown
        new = {"prediction": predictions(self.decisions, self.classes)}
        new |= self._by_class("decision", shown)
        if probability:
            chances = self.saved.model.predict_proba(self.data.X)
            if is_binary:
                chances = chances[:, self.place]
            new |= self._by_class("probability", chances)
        if n_reasons is not None:
            new |= self._reasons(n_reasons)
        if self.labels is not None:
            new["label"] = self._labels_of_all_rows()
        # The ids and the columns of --keep
        kept = self.data.kept
        columns = {free_name("row", kept): self.data.rows + 1, **kept}
        for name, values in new.items():
            columns[free_name(name, kept)] = values
        return columns

    def _labels_of_all_rows(self) -> np.ndarray:
        """Return the labels, None where a row has none."""
        labelled = self.data.labelled
        if labelled is None or labelled.all():
            return np.asarray(self.labels)
        labels = np.full(len(labelled), None, dtype=object)
        labels[labelled] = self.labels
        return labels

    def _reasons(self, n_reasons: int) -> Columns:
        """Return the distances to the boundary, and the reasons."""
        model = self.saved.model
        schema = self.data.schema
        positive = None
        if self.positive is not None:
            positive = model.classes_[self.place]
        found = explain(model, self.data.X, positive=positive)
        columns: Columns = {"distance": found.distance}
        if schema.kind == "sparse":
            found = replace(found, features=names_of_features(schema))
            columns["reasons"] = found.reasons(n_reasons)
            return columns

        def shown(place: int, value: float) -> str:
            return as_in_file(schema, schema.columns[place], value)

        columns["reasons"] = found.reasons(n_reasons, shown)
        return columns

    def _by_class(self, name: str, values: np.ndarray) -> Columns:
        if values.ndim == 1:
            return {name: values}
        # With more than two classes, a column for each
        columns = {}
        for label, column in zip(self.classes.tolist(), values.T, strict=True):
            columns[f"{name}_{label}"] = column
        return columns

    def legend(self, probability: bool, explained: bool) -> list[str]:
        """Return what the columns mean that were asked for."""
        lines = []
        positive = self.positive
        if probability and positive is not None:
            lines.append(
                f"probability: that of {positive}, above one half exactly where it is "
                "predicted"
            )
        if explained:
            what = "the prediction" if positive is None else positive
            distance = "the smallest shift of the prepared columns that"
            if not hasattr(self.saved.model[-1], "coef_"):
                distance = "no shorter shift of the prepared columns"
            # Files of earlier versions do not have the average row.
            centre = "0 in the prepared columns"
            if hasattr(self.saved.model[-1], "mean_"):
                centre = "the average row of the training"
            lines += [
                f"distance: {distance} turns the prediction",
                f"reasons: what speaks for {what} (+) and against it (-), compared "
                f"with {centre}",
            ]
        return lines

    def summary(self) -> Payload:
        """Return how often each label is predicted, and scores if there are labels."""
        predicted = predictions(self.decisions, self.classes)
        labels, counts = np.unique(predicted, return_counts=True)
        found = None
        if self.labels is not None:
            judged = self.decisions
            if self.data.labelled is not None:
                judged = judged[self.data.labelled]
            found = scores(judged, self.labels, self.classes, new_rows=True)
        return {
            "rows": self.data.shape[0],
            "classes": self.classes,
            "positive": self.positive,
            "predicted": dict(zip(labels.tolist(), counts.tolist(), strict=True)),
            "scores": found,
        }


def sorted_by(columns: Columns, by: str | None) -> Columns:
    """Return columns sorted by one of them.

    Decisions and probabilities are sorted from the largest, others from the smallest.
    """
    if by is None:
        return columns
    if by not in columns:
        hint = "; add --probability" if by.startswith("probability") else ""
        raise ValueError(
            f"--sort {by}: there is no such column in the output: "
            f"{', '.join(columns)}{hint}."
        )
    values = np.asarray(columns[by])
    if values.dtype == object:
        # Labels with gaps cannot be compared.
        values = values.astype(str)
    what = by.removeprefix("drsvm_").partition("_")[0]
    if what in DESCENDING and values.dtype.kind == "f":
        values = -values
    order = np.argsort(values, kind="stable")
    return {name: np.asarray(column)[order] for name, column in columns.items()}
