"""The predictions of a saved model for a file: columns of a table, scores and notes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from drsvm.audit.explanation import explain
from drsvm.cli.fit_summary import NOISE
from drsvm.cli.options import Columns
from drsvm.cli.screen import Payload
from drsvm.cli.tasks import labels_for, rows_of, unknown_label
from drsvm.estimators.scores import are_noise, predictions, scores
from drsvm.persistence.model_files import SavedModel
from drsvm.tables import Dataset
from drsvm.tables.notes import what_is_new, what_was_clipped
from drsvm.tables.preparation import as_in_file, cells_clipped, unseen_levels

# rows from which on it is measured whether they have moved, and at most for that
FEW = 30
MANY = 2000
# Sorted from the largest value; also those of single classes
DESCENDING = (
    "decision",
    "probability",
)


class Predictions:
    """A model and the rows of a file.

    Truth values are written as in the training file.
    """

    def __init__(self, saved: SavedModel, data: Dataset):
        self.saved = saved
        self.data = data
        known = saved.model.classes_
        truth = data.schema.truth_labels
        training = saved.metadata.get("training", {})
        self.classes = np.array(truth or known)
        # Models that other tools have saved have none
        self.certificates = training.get("certificates", ())
        # With more than two classes a column each
        self.decisions = np.asarray(saved.model.decision_function(data.X))
        # Of the rows that have one; None if some are unknown
        labels = labels_for(known, data)
        if labels is None or not truth:
            self.labels = labels
        else:
            self.labels = self.classes[labels.astype(int)]
        # The position of the positive one of two classes, to which decisions and
        # probabilities refer.
        names = [str(label) for label in known.tolist()]
        positive = str(training.get("positive"))
        self.place = names.index(positive) if positive in names else 1
        if len(known) == 2:
            self.positive = self.classes.tolist()[self.place]
        else:
            self.positive = None

    def notes(self) -> Iterator[str]:
        n = self.data.shape[0]
        yield from what_is_new(
            unseen_levels(self.saved.model, self.data.schema, self.data.X), n
        )
        yield from what_was_clipped(
            cells_clipped(self.saved.model.steps, self.data.schema, self.data.X)
        )
        if self.data.y is not None and self.labels is None:
            unknown = unknown_label(self.data.y, self.saved.model.classes_)
            yield f"no scores: the file has the label {unknown!r}, which the model was not trained on."
        elif self.labels is not None and (lost := n - len(self.labels)):
            if lost == 1:
                words = "row has no label: it is"
            else:
                words = f"of {n:,} rows have no label: they are"
            yield f"{lost:,} {words} predicted too; scores go without."
        yield from self._about_movement()
        known = [(one["gap"], one["tol"]) for one in self.certificates]
        if n < 2 or len(known) != (
            1 if self.decisions.ndim == 1 else self.decisions.shape[1]
        ):
            return
        classes = self.classes[-len(known) :].astype(str)[
            are_noise(self.decisions, known)
        ]
        if len(classes):
            yield (
                f"{', '.join(classes)} against the rest: {NOISE}."
                if len(known) > 1
                else f"{NOISE}."
            )

    def _about_movement(self) -> Iterator[str]:
        from drsvm.audit.shift import shift_between

        audit = self.saved.audit
        n = self.data.shape[0]
        if audit is None or n < FEW:
            return
        rows = np.random.default_rng(0).permutation(n)[:MANY]
        new = audit.seen(rows_of(self.data.X, rows))
        shift = shift_between(audit.rows.some(slice(0, MANY), []), new, 0.95, 0)
        if shift.more_than_chance:
            figures = (
                f"by {shift.moved:.2g}, and chance explains {shift.moved_by_chance:.2g}"
            )
            yield f"the rows have moved since the test of the model ({figures}): see drsvm drift."

    def columns(self, probability: bool, n_reasons: int | None = None) -> Columns:
        """Return the number of the row, the columns of the file, and the predictions, under distinct names."""
        single = self.decisions.ndim == 1
        if single and self.place == 0:
            shown = -self.decisions
        else:
            shown = self.decisions
        new = {
            "prediction": predictions(self.decisions, self.classes),
            **self._by_class("decision", shown),
        }
        if probability:
            chances = self.saved.model.predict_proba(self.data.X)
            new |= self._by_class(
                "probability", chances[:, self.place] if single else chances
            )
        new |= {} if n_reasons is None else self._reasons(n_reasons)
        if self.labels is not None:
            new["label"] = self.labels
            if (
                self.data.labelled is not None and not self.data.labelled.all()
            ):  # rows without a label have None
                new["label"] = np.full(len(self.data.labelled), None, dtype=object)
                new["label"][self.data.labelled] = self.labels
        kept = self.data.kept
        new = {
            name if name not in kept else f"drsvm_{name}": values
            for name, values in new.items()
        }
        return {
            "row" if "row" not in kept else "drsvm_row": self.data.rows + 1,
            **kept,
            **new,
        }

    def _reasons(self, n_reasons: int) -> Columns:
        """Return how far each row is from the boundary and, without a kernel, its largest reasons."""
        model = self.saved.model
        schema = self.data.schema
        if self.positive is None:
            positive = None
        else:
            positive = model.classes_[self.place]
        found = explain(model, self.data.X, positive=positive)
        reasons: Columns = {}
        if hasattr(model[-1], "coef_") and schema.kind == "sparse":
            names = [
                f"feature {schema.index_base + place}"
                for place in range(schema.n_features)
            ]
            reasons["reasons"] = replace(found, features=names).reasons(n_reasons)
        elif hasattr(model[-1], "coef_"):
            columns = schema.columns
            reasons["reasons"] = found.reasons(
                n_reasons, lambda j, value: as_in_file(schema, columns[j], value)
            )
        return {"distance": found.distance, **reasons}

    def legend(self, probability: bool, explained: bool) -> list[str]:
        """Return what the columns mean that were asked for."""
        lines = []
        positive = self.positive
        if probability and positive is not None:
            lines.append(
                f"probability: that of {positive}, above one half exactly where it is predicted"
            )
        if explained and hasattr(self.saved.model[-1], "coef_"):
            lines.append(
                "distance: the smallest shift of the prepared columns that turns the prediction"
            )
            what = "the prediction" if positive is None else positive
            lines.append(f"reasons: what speaks for {what} (+) and against it (-)")
        elif explained:
            lines.append(
                "distance: no shorter shift of the prepared columns turns the prediction"
            )
            lines.append(
                "reasons: none, since a classifier with a kernel has no weights of columns"
            )
        return lines

    def _by_class(self, name: str, values: np.ndarray) -> Columns:
        if values.ndim == 1:
            return {name: values}
        return {
            f"{name}_{label}": column
            for label, column in zip(self.classes.tolist(), values.T, strict=True)
        }

    def summary(self) -> Payload:
        labels, counts = np.unique(
            predictions(self.decisions, self.classes), return_counts=True
        )
        if self.data.labelled is None:
            judged = self.decisions
        else:
            judged = self.decisions[self.data.labelled]
        return {
            "rows": self.data.shape[0],
            "classes": self.classes,
            "positive": self.positive,
            "predicted": dict(zip(labels.tolist(), counts.tolist(), strict=True)),
            "scores": None
            if self.labels is None
            else scores(judged, self.labels, self.classes, new_rows=True),
        }


def sorted_by(columns: Columns, by: str | None) -> Columns:
    """Return columns sorted by one of them: decisions and probabilities from the largest, others from the smallest."""
    if by is None:
        return columns
    if by not in columns:
        if by.startswith("probability"):
            hint = "; add --probability"
        else:
            hint = ""
        raise ValueError(
            f"--sort {by}: there is no such column in the output: {', '.join(columns)}{hint}."
        )
    values = np.asarray(columns[by])
    # labels with gaps cannot be compared
    if values.dtype == object:
        values = values.astype(str)
    else:
        values = values
    descending = (
        by.removeprefix("drsvm_").partition("_")[0] in DESCENDING
        and values.dtype.kind == "f"
    )
    order = np.argsort(-values if descending else values, kind="stable")
    return {name: np.asarray(column)[order] for name, column in columns.items()}
