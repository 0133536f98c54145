"""``drsvm labels``: which labels of a file to check first."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli.options import LIMITS, MODEL, OUTPUT, BallOptions, ClassWeight, DataFile, DataOptions, PlotFile
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm labels customers.csv --label churned
drsvm labels customers.csv --label churned --drop id --csv checked.csv --plot scores.png
drsvm labels train.svm.xz --top 50 --json"""

CAVEAT = (
    "This is a ranking of what to look at first; it proves nothing about a single label. A low score means that the "
    "other rows contradict the label: it may be wrong, or the row may be unusual."
)


def labels(
    file: DataFile,
    data: DataOptions,
    ball: BallOptions,
    screen: Screen,
    radius: Annotated[
        float | None, typer.Option(help="Radius of the ball. Default: automatic.", rich_help_panel=MODEL)
    ] = None,
    class_weight: ClassWeight = None,
    folds: Annotated[int, typer.Option(help="Number of folds.", min=2, rich_help_panel=MODEL)] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of the folds.", rich_help_panel=MODEL)] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Folds to fit in parallel (-1: one per core).", rich_help_panel=LIMITS)
    ] = None,
    top: Annotated[int, typer.Option(help="Number of rows to print.", min=1, rich_help_panel=OUTPUT)] = 20,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="OUT",
            help="Save all rows as CSV: the columns of the file, and scores.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plot: PlotFile = None,
) -> None:
    """Rank the rows of a file by how doubtful their labels are.

    Every row is judged by a robust linear classifier and by boosted trees that were trained without it. The ranking
    says which labels to check first; it proves nothing about a single label. Rows are counted from 1, not counting the
    header, as in predict.
    """
    from drsvm.cli import work
    from drsvm.cli.options import SplitOptions
    from drsvm.cli.plots import check_plot
    from drsvm.cli.prices import flip_cost_by_label
    from drsvm.cli.tables import save_outputs, show_table
    from drsvm.datasets import read, read_cells

    work.check_outputs([csv, plot], [file])
    check_plot(plot)
    settings = {**ball.ball(), **ball.limits(), "solver": ball.checked_solver(), "class_weight": class_weight}
    original: dict[str, list[str]] = {}

    def reader(path: Path, options):
        dataset = read(path, options)
        original.update(read_cells(path, options) if csv is not None else {})
        return dataset

    parts = work.load_parts(file, replace(data.read_options(), name_rows=True), SplitOptions(), screen, reader)
    if "flip_cost" in settings:
        settings["flip_cost"] = flip_cost_by_label(settings["flip_cost"], parts.y)
    X = work.prepared(parts, standardise=ball.standardise).X
    judges = _judges(parts, X, ball.standardise, {"radius": radius, **settings}, folds)
    issues = _found(judges, parts, folds, seed, jobs, screen)
    save_outputs(_all_columns(issues, parts.rows, original), csv, plot, lambda target: _drawn(issues, target))
    worst = _worst(issues, parts, top)
    payload = {"command": "labels", "file": str(file), **_figures(issues, X), "worst": worst, "caveat": CAVEAT}
    payload |= {"csv": None if csv is None else str(csv), "plot": None if plot is None else str(plot)}

    def show(console) -> None:
        show_table(console, worst, f"{len(worst['row'])} of {payload['rows']:,} rows, most doubtful label first")
        console.print(f"\n{issues.summary()}\n{CAVEAT}", markup=False, highlight=False)

    screen.finish(payload, show)


def _figures(issues, X) -> dict[str, Any]:
    return {
        "rows": int(X.shape[0]),
        "features": int(X.shape[1]),
        "contradicted": issues.n_contradicted,
        "flagged": int(issues.is_label_issue.sum()),
        "wrong_labels": None if issues.wrong_labels is None else issues.wrong_labels._asdict(),
    }


def _judges(parts, X, standardise: bool, settings: dict[str, Any], folds: int) -> dict[str, Any]:
    """Return both classifiers behind the preparation, which is fitted in every fold; folds share the time."""
    from sklearn.pipeline import Pipeline

    from drsvm.datasets.preparation import preparation
    from drsvm.learn.label_issues import flexible_classifier, robust_classifier

    given = {name: value for name, value in settings.items() if value is not None}
    if "max_time" in given:
        given["max_time"] /= folds
    scaled_there = parts.data.schema.kind == "sparse" and standardise
    steps = preparation(parts.data.schema, standardise and not scaled_there)
    robust = Pipeline([*steps, *robust_classifier(X, standardise=scaled_there, **given).steps])
    return {"estimator": robust, "second_opinion": flexible_classifier(X, steps)}


def _found(judges: dict[str, Any], parts, folds: int, seed: int, jobs: int | None, screen: Screen) -> Any:
    from drsvm import find_label_issues

    total = folds * sum(judge is not None for judge in judges.values())
    with screen.progress("judging the labels", total=total) as advance, screen.warnings_as_notes():
        return find_label_issues(
            parts.X,
            parts.y,
            cv=folds,
            random_state=seed,
            n_jobs=jobs,
            callback=lambda done, total: advance(),
            **judges,
        )


def _worst(issues, parts, top: int) -> dict[str, Any]:
    """Return the most doubtful rows, numbered as in the file, with their ids."""
    order = issues.ranking[:top]
    names = ("given_label", "predicted_label", "label_score", "is_label_issue")
    found = {name: getattr(issues, name)[order] for name in names}
    return {"row": parts.rows[order] + 1, **{name: texts[order] for name, texts in parts.ids.items()}, **found}


def _all_columns(issues, rows, original: dict[str, list[str]]) -> dict[str, Any]:
    """Return the columns of the file and the new ones, in the order of the file."""
    import numpy as np

    rank = np.empty(len(rows), dtype=int)
    rank[issues.ranking] = np.arange(1, len(rows) + 1)
    kept = {name: [values[row] for row in rows] for name, values in original.items()}
    new = {"row": rows + 1, "rank": rank, **issues.to_dict()}
    return kept | {name if name not in kept else f"drsvm_{name}": values for name, values in new.items()}


def _drawn(issues, plot: Path) -> bytes:
    from drsvm.cli.plots import plot_content
    from drsvm.plotting import LabelIssuesDisplay

    return plot_content(LabelIssuesDisplay.from_result(issues), plot)
