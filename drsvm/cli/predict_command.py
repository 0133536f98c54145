"""``drsvm predict``: labels and decision values for the rows of a file."""

import sys
from pathlib import Path

from drsvm.cli.options import DataFile, FileOptions, ModelFile, Texts, output
from drsvm.cli.screen import Payload, Screen

EXAMPLES = """drsvm predict churn.drsvm new_customers.csv --output predictions.csv
drsvm predict churn.drsvm new_customers.csv --probability --sort probability --keep name,branch
drsvm predict churn.drsvm new_customers.csv --explain 3 --sort distance
drsvm predict churn.drsvm last_year.csv --json
zcat log.csv.gz | drsvm predict churn.drsvm - > predictions.csv"""


def predict(
    model: ModelFile,
    file: DataFile,
    options: FileOptions,
    screen: Screen,
    keep: Texts = output(
        "Columns of the file to write next to the predictions, besides the ids: a,b,c, or repeat the option."
    ),
    probability: bool = output(
        "Also write probabilities: of the positive class, or of each of several. The predicted class has the "
        "largest one.",
        False,
        "--probability",
    ),
    explain: int | None = output(
        "Also write the largest reasons of each prediction, this many, and how far the row is from another prediction.",
        metavar="NUMBER",
        min=1,
    ),
    sort: str | None = output(
        "Sort by a column of the output: decisions and probabilities from the largest, others from the smallest. "
        "Default: as in the file.",
        metavar="COLUMN",
    ),
    output: Path | None = output(
        "CSV file for the predictions. Default: print them.", metavar="OUT"
    ),
) -> None:
    """Apply a saved model to a file: predictions and decision values as CSV, and scores if the file has labels.

    Rows are numbered from 1, not counting the header, and have the ids that the
    training file had.
    """
    from drsvm.cli import tasks as work
    from drsvm.cli.files import STANDARD, check_outputs, csv_text
    from drsvm.utils.writing import write_files

    output = None if output == STANDARD else output
    check_outputs([output], [model, file])
    saved, dataset = work.load_for_model(
        model, file, options, screen, keep=tuple(keep or ()), unlabelled=True
    )
    from drsvm.cli.predictions import (
        Predictions,
        sorted_by,
    )  # not before: errors come quickly

    if probability and not hasattr(saved.model, "predict_proba"):
        remedy = "train it again with drsvm fit, or with calibration='sigmoid'."
        raise ValueError(f"{model}: has no probabilities: {remedy}")
    predictions = Predictions(saved, dataset)
    screen.note(*predictions.notes())
    columns = sorted_by(predictions.columns(probability, explain), sort)
    payload = {
        "command": "predict",
        "model": model,
        "file": file,
        **predictions.summary(),
        "output": output,
    }
    if output is not None:
        write_files({output: csv_text(columns).encode()})
    elif screen.as_json:
        payload["predictions"] = columns
    else:
        sys.stdout.write(csv_text(columns))
    legend = predictions.legend(probability, explain is not None)
    screen.finish(payload, _text(payload, legend), stderr=output is None)


def _text(payload: Payload, legend: list[str]) -> str:
    from drsvm.estimators.scores import IF_NEW, by_class, interval_line, summary

    counts = ", ".join(
        f"{label} ({count:,})" for label, count in payload["predicted"].items()
    )
    lines = [f"{payload['rows']:,} rows, predicted {counts}", *legend]
    if payload["scores"]:
        figures = payload["scores"]
        lines += [summary(figures), interval_line(figures, IF_NEW), *by_class(figures)]
    if payload["output"]:
        lines.append(f"predictions in {payload['output']}")
    return "\n".join(lines)
