"""``drsvm labels``: which labels of a file to check first."""

from functools import partial
from typing import Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen

EXAMPLES = """\
drsvm labels customers.csv --label churned
drsvm labels customers.csv --label churned --drop id --csv checked.csv --plot scores.png
drsvm labels customers.csv --label churned --kernel rbf
drsvm labels train.svm.xz --top 50 --json"""

CAVEAT = (
    "This is a ranking of what to look at first; it proves nothing about a single "
    "label. The score estimates the probability of the label from the other rows. "
    "Where it is low, they contradict the label: it may be wrong, or the row may be "
    "unusual."
)
# The columns of the table that is printed, besides the numbers and ids of rows
SHOWN = ("given_label", "predicted_label", "label_score", "is_label_issue")

NumericRadius = Annotated[
    float | None,
    opt.classifier(help="Radius of the ball. Default: automatic.", metavar="NUMBER"),
]
ClassWeight = Annotated[
    str | None,
    opt.classifier(
        callback=opt.one_of("auto", "balanced", "none"),
        help="Weights of the classes: as in fit. Default: balanced.",
    ),
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
    class_weight: ClassWeight = None,
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

    Every row is judged by linear classifiers that were trained without it, or by a
    kernel and trees if these rank labels clearly better; with --kernel, by that kernel.
    Boosted trees give a second opinion. The ranking shows which labels to check first;
    it proves nothing about a single label. Rows are counted from 1, not counting the
    header, as in predict; --csv has the columns of the file, too.
    """
    from drsvm.cli.class_labels import by_label
    from drsvm.cli.command_files import check_table_and_plot, save_table_and_plot
    from drsvm.cli.settings import classifier_settings, kernel_choice, read_options
    from drsvm.cli.training_rows import load_rows

    screen: Screen = context.obj
    given = context.params
    check_table_and_plot(csv, plot, [file])
    kernel_chosen = kernel_choice(given)
    settings = classifier_settings(given)
    options = read_options(given, name_rows=True, whole=csv is not None)
    parts = load_rows(file, options, screen)
    # Not before: these imports take long, and input errors should come quickly.
    from drsvm.cli.labels_to_check import columns_of, judged
    from drsvm.plotting import LabelIssuesDisplay

    settings = by_label(settings, parts.y, screen)
    if max_time is not None:
        # A share for each fit that there may be: of all folds at once, of each fold if
        # that takes too long, and of all rows.
        settings["max_time"] = max_time / (folds + 2)
    issues, shape = judged(
        parts,
        kernel_chosen,
        settings,
        screen,
        standardise=standardise,
        cv=folds,
        random_state=seed,
        n_jobs=jobs,
    )
    draw = partial(LabelIssuesDisplay.from_result, issues)
    files = save_table_and_plot(csv, plot, columns_of(parts, issues), draw)
    # Only the worst are printed; --csv has all rows.
    first = issues.ranking[:top]
    worst = {"row": parts.row_numbers[first]}
    for name in parts.data.schema.id:
        worst[name] = parts.ids[name][first]
    for name in SHOWN:
        worst[name] = getattr(issues, name)[first]
    reasons = issues.reasons(first)
    why = ""
    for number, reason in zip(worst["row"], reasons, strict=True):
        why += f"\nrow {number}: {reason}"
    payload = {
        "command": "labels",
        "file": file,
        "rows": shape[0],
        "features": shape[1],
        "contradicted": issues.n_contradicted,
        "flagged": issues.is_label_issue.sum(),
        "judged_by": issues.judged_by,
        "wrong_labels": issues.wrong_labels,
        "wrong_labels_interval": issues.wrong_labels_interval,
        "worst": {**worst, "reason": reasons},
        "caveat": CAVEAT,
        **files,
    }
    title = f"{len(first)} of {shape[0]:,} rows, most doubtful label first"
    screen.finish(payload, title, worst, why, f"\n{issues.summary()}\n{CAVEAT}")
