"""``drsvm labels``: which labels of a file to check first."""

from typing import Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm labels customers.csv --label churned
drsvm labels customers.csv --label churned --drop id --csv checked.csv --plot scores.png
drsvm labels customers.csv --label churned --kernel rbf
drsvm labels train.svm.xz --top 50 --json"""

CAVEAT = (
    "This is a ranking of what to look at first; it proves nothing about a single "
    "label. A low score means that the other rows contradict the label: it may be "
    "wrong, or the row may be unusual."
)
# The columns of the table that is printed, besides the numbers and ids of rows
SHOWN = ("given_label", "predicted_label", "label_score", "is_label_issue")

NumericRadius = Annotated[
    float | None,
    opt.classifier(help="Radius of the ball. Default: automatic.", metavar="NUMBER"),
]
Folds = Annotated[int, opt.classifier(help="Number of folds.", min=2, metavar="NUMBER")]
FoldsSeed = Annotated[
    int, opt.classifier(help="Random seed of the folds.", metavar="NUMBER")
]
Jobs = Annotated[
    int | None, opt.solving(help="Folds to fit in parallel (-1: one per core).")
]
Top = Annotated[
    int, opt.output(help="Number of rows to print.", min=1, metavar="NUMBER")
]


def labels(
    context: typer.Context,
    file: opt.DataFile,
    label: opt.Label = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    missing: opt.Missing = None,
    missing_values: opt.MissingValues = None,
    features: opt.Features = None,
    drop: opt.Drop = None,
    id: opt.Id = None,
    categorical: opt.Categorical = None,
    numeric: opt.Numeric = None,
    decimal: opt.Decimal = None,
    index_base: opt.IndexBase = None,
    max_features: opt.MaxFeatures = opt.MAX_FEATURES,
    radius: NumericRadius = None,
    flip_cost: opt.FlipCost = None,
    norm: opt.Norm = "2",
    l2: opt.Ridge = None,
    intercept: opt.Intercept = True,
    standardise: opt.Standardise = True,
    class_weight: opt.ClassWeight = None,
    kernel: opt.Kernel = "linear",
    gamma: opt.Gamma = None,
    folds: Folds = 5,
    seed: FoldsSeed = 0,
    solver: opt.Solver = "auto",
    tol: opt.Tol = None,
    max_iter: opt.MaxIter = None,
    max_time: opt.MaxTime = None,
    jobs: Jobs = None,
    top: Top = 20,
    csv: opt.TableFile = None,
    plot: opt.PlotFile = None,
    as_json: opt.AsJson = False,
) -> None:
    """Rank the rows of a file by how doubtful their labels are.

    Every row is judged by a robust classifier, linear unless --kernel says otherwise,
    and by boosted trees that were trained without it. The ranking shows which labels to
    check first; it proves nothing about a single label. Rows are counted from 1, not
    counting the header, as in predict; --csv has the columns of the file, too.
    """
    from drsvm.cli.class_labels import by_label
    from drsvm.cli.command_files import check_table_and_plot, save_table_and_plot
    from drsvm.cli.training_rows import about_clipped, load_parts, prepare

    screen: Screen = context.obj
    check_table_and_plot(csv, plot, [file])
    choice, _ = opt.kernel_choice(context.params, ("linear", "rbf"))
    settings = opt.classifier_settings(context.params)
    whole = csv is not None
    options = opt.read_options(context.params, name_rows=True, whole=whole)
    parts = load_parts(file, options, screen)
    # Not before: input errors should come quickly.
    from drsvm import find_label_issues
    from drsvm.audit.label_issues import has_rows_of_one_length
    from drsvm.plotting import LabelIssuesDisplay

    # Such rows, of texts for instance, are on a scale of their own.
    standardise = standardise and not has_rows_of_one_length(parts.X)
    prepared = prepare(parts, standardise=standardise)
    screen.note(*about_clipped(prepared, parts))
    settings = by_label(settings, parts.y, screen)
    if max_time is not None:
        # The folds are fitted all at once, or one by one if that takes too long, and
        # then all rows.
        settings["max_time"] = max_time / (folds + 2)
    judges = _judges(parts, prepared.X, standardise, choice, settings)
    judging = screen.whole("judging the labels")
    with judging as report_progress, screen.warnings_as_notes():
        issues = find_label_issues(
            parts.X,
            parts.y,
            callback=lambda done, total: report_progress(done / total),
            cv=folds,
            random_state=seed,
            n_jobs=jobs,
            **judges,
        )

    columns = _columns(parts, issues)
    files = save_table_and_plot(
        csv, plot, columns, lambda: LabelIssuesDisplay.from_result(issues).figure_
    )
    first = issues.ranking[:top]
    worst = {"row": parts.rows[first] + 1}
    for name in parts.data.schema.id:
        worst[name] = parts.ids[name][first]
    for name in SHOWN:
        worst[name] = getattr(issues, name)[first]
    n, d = prepared.X.shape
    payload = {
        "command": "labels",
        "file": file,
        "rows": n,
        "features": d,
        "contradicted": issues.n_contradicted,
        "flagged": issues.is_label_issue.sum(),
        "wrong_labels": issues.wrong_labels,
        "wrong_labels_interval": issues.wrong_labels_interval,
        "worst": worst,
        "caveat": CAVEAT,
        **files,
    }
    title = f"{len(first)} of {n:,} rows, most doubtful label first"
    if issues.second_label is not None:
        title += " (those that both classifiers contradict on top)"
    screen.finish(payload, title, worst, f"\n{issues.summary()}\n{CAVEAT}")


def _columns(parts, issues) -> opt.Columns:
    """Return the columns of the file, and what is found about every row."""
    import numpy as np

    rank = np.empty(len(parts.rows), dtype=int)
    rank[issues.ranking] = np.arange(1, len(rank) + 1)
    columns = dict(parts.ids)
    found = {"row": parts.rows + 1, "rank": rank, **issues.to_dict()}
    for name, values in found.items():
        columns[f"drsvm_{name}" if name in parts.ids else name] = values
    return columns


def _judges(
    parts, X, standardise: bool, kernel: opt.KernelChoice, settings: opt.Settings
) -> opt.Settings:
    """Return both classifiers behind the preparation."""
    from sklearn.pipeline import Pipeline

    from drsvm.audit.label_issues import flexible_classifier, robust_classifier
    from drsvm.tables.preparation import preparation

    kind, settings = kernel.kind_and_settings(settings)
    given = {name: value for name, value in settings.items() if value is not None}
    if kernel.kernel != "linear":
        given["kind"] = kind
    # The robust classifier scales sparse rows itself.
    scaled_there = parts.data.schema.kind == "sparse" and standardise
    steps = preparation(parts.data.schema, standardise and not scaled_there)
    robust = robust_classifier(X, standardise=scaled_there, **given)
    return {
        "estimator": Pipeline([*steps, *robust.steps]),
        "second_opinion": flexible_classifier(X, steps),
    }
