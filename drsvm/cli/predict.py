"""``drsvm predict``: labels and decision values for the rows of a file."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli.options import OUTPUT, DataFile, FileOptions, ModelFile
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm predict churn.drsvm new_customers.csv --output predictions.csv
drsvm predict churn.drsvm new_customers.csv --probability --sort probability --keep name,branch
drsvm predict churn.drsvm last_year.csv --json
zcat log.csv.gz | drsvm predict churn.drsvm - > predictions.csv"""

DESCENDING = ("decision", "probability")
"""Columns of these names, and those of single classes, are sorted from the largest value."""


def predict(
    model: ModelFile,
    file: DataFile,
    options: FileOptions,
    screen: Screen,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of the file to write next to the predictions, besides the ids: a,b,c, or repeat the option.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    probability: Annotated[
        bool,
        typer.Option(
            "--probability",
            help="Also write probabilities: of the positive class, or of each of several. Predictions still go by the "
            "decision value: where labels of one class are often wrong, p = 0.5 would follow the wrong labels.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Sort by a column of the output: decisions and probabilities from the largest, others from the "
            "smallest. Default: as in the file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="CSV file for the predictions. Default: print them.", rich_help_panel=OUTPUT),
    ] = None,
) -> None:
    """Apply a saved model to a file: predictions and decision values as CSV, and scores if the file has labels.

    Rows are numbered from 1, not counting the header, and have the ids that the training file had.
    """
    from drsvm.cli import work
    from drsvm.cli.streams import STANDARD
    from drsvm.cli.tables import csv_text
    from drsvm.learn.scores import scores
    from drsvm.persistence.model_files import write_whole

    output = None if output == STANDARD else output
    work.check_outputs([output], [model, file])
    saved, dataset = work.load_for_model(model, file, options, screen, keep=tuple(keep or ()), unlabelled=True)
    _note_unseen_levels(saved.model, dataset, screen)
    classes, labels = _as_in_the_file(dataset.schema, saved.model.classes_, _labels(dataset, saved.model, screen))
    decisions = _decisions(saved.model, dataset)
    _note_noise(saved, decisions, classes, screen)
    place = _place_of_positive(saved)
    columns = _columns(decisions, classes, place, _sigmoids(saved, model) if probability else None)
    columns |= {} if labels is None else {"label": _with_gaps(labels, dataset.labelled)}
    counts = _counts(columns["prediction"])
    columns = _sorted(_with_kept(dataset, columns), sort)
    payload: dict[str, Any] = {
        "command": "predict",
        "model": str(model),
        "file": str(file),
        "rows": dataset.shape[0],
        "classes": classes,
        "positive": classes.tolist()[place] if len(classes) == 2 else None,
        "predicted": counts,
        "scores": None if labels is None else scores(_labelled(dataset, decisions), labels, classes),
        "output": None if output is None else str(output),
    }
    if output is not None:
        write_whole(output, csv_text(columns).encode())
    elif screen.as_json:
        payload["predictions"] = columns
    else:
        sys.stdout.write(csv_text(columns))
        sys.stdout.flush()
        screen.results_to_stderr = True
    screen.finish(payload, lambda console: _show(console, payload, probability))


def _note_unseen_levels(model, dataset, screen: Screen) -> None:
    from drsvm.datasets.notes import what_is_new
    from drsvm.datasets.preparation import unseen_levels

    for text in what_is_new(unseen_levels(model, dataset.schema, dataset.X), dataset.shape[0]):
        screen.note(text)


def _note_noise(saved, decisions, classes, screen: Screen) -> None:
    """Say so if decision values differ by less than the accuracy of the solution; other tools save no accuracy."""
    from drsvm.cli.fit_summary import NOISE
    from drsvm.learn.resolution import are_noise

    known = [(one["gap"], one["tol"]) for one in saved.metadata.get("training", {}).get("certificates", ())]
    if len(decisions) < 2 or len(known) != (1 if decisions.ndim == 1 else decisions.shape[1]):
        return
    constant = [
        str(label) for label, same in zip(classes[-len(known) :], are_noise(decisions, known), strict=True) if same
    ]
    if constant:
        screen.note(f"{', '.join(constant)} against the rest: {NOISE}." if len(known) > 1 else f"{NOISE}.")


def _labels(dataset, model, screen: Screen):
    """Return the labels of the file in the model's type, or None if some are unknown to the model."""
    from drsvm.cli import work

    labels, classes = dataset.y, model.classes_
    if labels is None:
        return None
    unknown = work.unknown_label(labels, classes)
    if unknown is not None:
        screen.note(f"no scores: the file has the label {unknown!r}, which the model was not trained on.")
        return None
    n = dataset.shape[0]
    lost = n - len(labels)
    if lost:
        words = "row has no label: it is" if lost == 1 else f"of {n:,} rows have no label: they are"
        screen.note(f"{lost:,} {words} predicted too; scores go without.")
    return labels.astype(classes.dtype)


def _as_in_the_file(schema, classes, labels):
    """Return classes and labels with truth values as they were written in the training file."""
    import numpy as np

    if not schema.truth_labels:
        return classes, labels
    texts = np.array(schema.truth_labels)
    return texts, None if labels is None else texts[labels.astype(int)]


def _with_gaps(labels, labelled):
    """Return one entry per row; those of rows without a label are None."""
    import numpy as np

    if labelled is None or labelled.all():
        return labels
    column = np.full(len(labelled), None, dtype=object)
    column[labelled] = labels
    return column


def _labelled(dataset, decisions):
    return decisions if dataset.labelled is None else decisions[dataset.labelled]


def _sigmoids(saved, path: Path):
    """Return what turns decision values into probabilities."""
    from drsvm.learn.probability import Sigmoids

    found = saved.metadata.get("probability")
    if found is None:
        reason = saved.metadata.get("no_probability") or "an earlier version saved it; train it again with drsvm fit."
        raise ValueError(f"{path}: has no probabilities: {reason}")
    return Sigmoids.from_dict(found)


def _decisions(model, dataset) -> Any:
    import numpy as np

    return np.asarray(model.decision_function(dataset.X))


def _place_of_positive(saved) -> int:
    """Return which of two classes was positive in training: decisions and probabilities speak for it."""
    names = [str(label) for label in saved.model.classes_.tolist()]
    positive = str(saved.metadata.get("training", {}).get("positive"))
    return names.index(positive) if positive in names else 1


def _columns(decisions, classes, place: int, sigmoids) -> dict[str, Any]:
    """Return the columns of the output; with two classes, decisions and probabilities are those of the positive one."""
    from drsvm.learn.scores import predictions

    single = decisions.ndim == 1
    shown = -decisions if single and place == 0 else decisions
    columns = {"prediction": predictions(decisions, classes), **_by_class("decision", shown, classes)}
    if sigmoids is not None:
        chances = sigmoids.probabilities(decisions)
        columns |= _by_class("probability", chances[:, place] if single else chances, classes)
    return columns


def _by_class(name: str, values, classes) -> dict[str, Any]:
    """Return one column for two classes, or one per class."""
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{label}": column for label, column in zip(classes.tolist(), values.T, strict=True)}


def _with_kept(dataset, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the number of the row, the columns of the file, and those of the predictions, under distinct names."""
    kept = dataset.kept
    columns = {name if name not in kept else f"drsvm_{name}": values for name, values in columns.items()}
    return {"row" if "row" not in kept else "drsvm_row": dataset.rows + 1, **kept, **columns}


def _sorted(columns: dict[str, Any], by: str | None) -> dict[str, Any]:
    import numpy as np

    if by is None:
        return columns
    if by not in columns:
        hint = "; add --probability" if by.startswith("probability") else ""
        raise ValueError(f"--sort {by}: there is no such column in the output: {', '.join(columns)}{hint}.")
    values = np.asarray(columns[by])
    values = values.astype(str) if values.dtype == object else values  # labels with gaps cannot be compared
    descending = by.removeprefix("drsvm_").partition("_")[0] in DESCENDING and values.dtype.kind == "f"
    order = np.argsort(-values if descending else values, kind="stable")
    return {name: np.asarray(column)[order] for name, column in columns.items()}


def _counts(prediction) -> dict[Any, int]:
    import numpy as np

    labels, counts = np.unique(prediction, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _show(console, payload: dict[str, Any], probability: bool) -> None:
    from drsvm.cli.scores import by_class, summary

    counts = ", ".join(f"{label} ({count:,})" for label, count in payload["predicted"].items())
    lines = [f"{payload['rows']:,} rows, predicted {counts}"]
    if probability and payload["positive"] is not None:
        lines.append(f"probability: that of {payload['positive']}; predictions go by the sign of the decision")
    if payload["scores"]:
        lines += [summary(payload["scores"]), *by_class(payload["scores"])]
    if payload["output"]:
        lines.append(f"predictions in {payload['output']}")
    console.print("\n".join(lines), markup=False, highlight=False)
