"""``drsvm predict``: labels and decision values for the rows of a file."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli.options import OUTPUT, DataFile, FileOptions, ModelFile
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm predict churn.drsvm new_customers.csv --output predictions.csv
drsvm predict churn.drsvm last_year.csv --json
zcat log.csv.gz | drsvm predict churn.drsvm - > predictions.csv"""


def predict(
    model: ModelFile,
    file: DataFile,
    options: FileOptions,
    screen: Screen,
    output: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="CSV file for the predictions. Default: print them.", rich_help_panel=OUTPUT),
    ] = None,
) -> None:
    """Apply a saved model to a file: predictions and decision values as CSV, and scores if the file has labels."""
    from drsvm.cli import work
    from drsvm.cli.streams import STANDARD
    from drsvm.cli.tables import csv_text
    from drsvm.persistence.model_files import write_whole

    output = None if output == STANDARD else output
    work.check_outputs([output], [model, file])
    saved, dataset = work.load_for_model(model, file, options, screen)
    classes = saved.model.classes_
    labels = _known_labels(dataset.y, classes, screen)
    columns = _columns(saved.model, dataset, labels)
    payload: dict[str, Any] = {
        "command": "predict",
        "model": str(model),
        "file": str(file),
        "rows": dataset.shape[0],
        "classes": classes,
        "predicted": _counts(columns["prediction"]),
        "scores": None if labels is None else work.accuracy(saved.model, dataset.X, labels),
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
    screen.finish(payload, lambda console: _show(console, payload))


def _known_labels(labels, classes, screen: Screen):
    """Return the labels of the file in the model's type, or None if some are unknown to the model."""
    from drsvm.cli import work

    if labels is None:
        return None
    unknown = work.unknown_label(labels, classes)
    if unknown is not None:
        screen.note(f"no scores: the file has the label {unknown!r}, which the model was not trained on.")
        return None
    return labels.astype(classes.dtype)


def _columns(model, dataset, labels) -> dict[str, Any]:
    import numpy as np

    values = np.asarray(model.decision_function(dataset.X))
    classes = model.classes_
    prediction = classes[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]
    decisions = (
        {"decision": values}
        if values.ndim == 1
        else {f"decision_{label}": column for label, column in zip(classes.tolist(), values.T, strict=True)}
    )
    known = {} if labels is None else {"label": labels}
    return {"row": dataset.rows + 1, "prediction": prediction, **decisions, **known}


def _counts(prediction) -> dict[Any, int]:
    import numpy as np

    labels, counts = np.unique(prediction, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _show(console, payload: dict[str, Any]) -> None:
    counts = ", ".join(f"{label} ({count:,})" for label, count in payload["predicted"].items())
    lines = [f"{payload['rows']:,} rows, predicted {counts}"]
    if payload["scores"]:
        scores = payload["scores"]
        lines.append(f"accuracy {scores['accuracy']:.4f} (balanced {scores['balanced_accuracy']:.4f})")
    if payload["output"]:
        lines.append(f"predictions in {payload['output']}")
    console.print("\n".join(lines), markup=False, highlight=False)
