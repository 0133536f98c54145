"""``drsvm fit``: train a classifier from a file, with a proof, and save it."""

from pathlib import Path
from typing import Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen, exit_code

EXAMPLES = """\
drsvm fit customers.csv --label churned --model churn.drsvm
drsvm fit export.csv --label status --drop remark \
--categorical branch --trust-column age
drsvm fit train.svm.xz --test test.svm.xz --radius 0.1 --flip-cost 1
drsvm fit customers.csv --label churned --kernel linear
drsvm fit customers.csv --label churned --test-by month
drsvm fit customers.csv --label churned --costs no=1,yes=10
drsvm fit noisy.parquet --label y --cv --json"""

Verified = Annotated[
    str | None,
    opt.known(
        help="A yes/no column: labels that were verified cannot be flipped. It is not "
        "a feature."
    ),
]
CrossValidation = Annotated[
    bool,
    opt.classifier(
        "--cv",
        help="Choose the radius and, without --l2, the ridge by cross-validation.",
        metavar="",
    ),
]
Folds = Annotated[
    int, opt.classifier(help="Number of folds of --cv.", min=2, metavar="NUMBER")
]
Jobs = Annotated[
    int | None,
    opt.solving(help="Paths of --cv, or classes, to fit at once (-1: one per core)."),
]
ModelOut = Annotated[Path | None, opt.output(help="Save the classifier to this file.")]
Spool = Annotated[
    Path | None,
    opt.reading(
        help="Read a Parquet or Arrow table in blocks, and write its features to this "
        "new folder, which is kept. Default: only if the table does not fit into "
        "memory, and to a temporary folder.",
        metavar="FOLDER",
    ),
]


def fit(
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
    positive: opt.Positive = None,
    spool: Spool = None,
    test_size: opt.TestSize = None,
    test_last: opt.TestLast = None,
    test_by: opt.TestBy = None,
    test: opt.TestFile = None,
    seed: opt.SplitSeed = 0,
    radius: opt.Radius = None,
    row_radius: opt.RowRadius = None,
    flip_cost: opt.FlipCost = None,
    norm: opt.Norm = "2",
    l2: opt.Ridge = None,
    intercept: opt.Intercept = True,
    standardise: opt.Standardise = True,
    class_weight: opt.ClassWeight = None,
    threshold: opt.Threshold = None,
    costs: opt.Costs = None,
    kernel: opt.AutomaticKernel = "auto",
    gamma: opt.Gamma = None,
    landmarks: opt.Landmarks = "means",
    cv: CrossValidation = False,
    folds: Folds = 5,
    solver: opt.Solver = "auto",
    tol: opt.Tol = None,
    max_iter: opt.MaxIter = None,
    max_time: opt.MaxTime = None,
    jobs: Jobs = None,
    trust_column: opt.TrustColumn = None,
    increasing: opt.Increasing = None,
    decreasing: opt.Decreasing = None,
    verified: Verified = None,
    intercept_cost: opt.InterceptCost = None,
    model: ModelOut = None,
    as_json: opt.AsJson = False,
) -> int:
    """Train a classifier on a file, prove how near the optimum it is, test and save it.

    A table may contain text categories, empty cells, dates and ids: notes report how
    they are treated, which is saved with the model. A quarter of the rows is held out
    first, for a test of a classifier of the others; the model that is saved is then
    trained on all rows. A Parquet or Arrow table need not fit into memory.
    """
    from drsvm.cli.class_labels import by_label
    from drsvm.cli.settings import (
        classifier_settings,
        kernel_choice,
        mentioned_columns,
        read_options,
    )
    from drsvm.cli.streamed_rows import rows_and_some_held_out
    from drsvm.cli.training_rows import Split

    screen: Screen = context.obj
    given = context.params
    split = Split(test_size, test, seed, test_last, test_by)
    _check_files(file, test, model)
    kernel_chosen = kernel_choice(given)
    settings = classifier_settings(given)
    settings |= {"random_state": seed, "n_jobs": jobs}
    if cv and radius is not None:
        raise ValueError("--cv chooses the radius: omit --radius or --cv.")
    if verified is not None and "flip_cost" not in settings:
        raise ValueError(
            "--verified changes nothing while all labels are trusted: price the others "
            "with --flip-cost."
        )
    # Options for which a table may not stay on disk
    in_memory = split.in_time
    if cv:
        in_memory = "--cv"
    elif kernel == "rbf":
        in_memory = "--kernel rbf"

    options = read_options(given, mentioned=mentioned_columns(given))
    reading = rows_and_some_held_out(
        file,
        options,
        split,
        screen,
        standardise=standardise,
        spool=spool,
        in_memory=in_memory,
    )
    with reading as (whole, held):
        whole = whole.with_positive(positive)
        if held is not None:
            held = held.with_positive(positive)
        # Costs name classes, which are known now.
        settings = by_label(settings, whole.y, screen)
        # Not before: this imports all solvers, and an error in the file should come
        # quickly.
        from drsvm.cli.fit_and_test import Training, save
        from drsvm.cli.fit_summary import fit_payload, summary_lines
        from drsvm.cli.training_rows import about_clipped

        training = Training(settings, standardise, whole, held, screen)
        screen.note(*training.time_order[1])
        if cv:
            trained = training.searched(folds)
        else:
            trained = training.trained(kernel_chosen)
        screen.note(*about_clipped(trained.model.prepared, whole))
        screen.note(*trained.about_moved())
        with screen.progress("testing"):
            payload = fit_payload(trained, file, standardise)
        if trained.figures is not None:
            payload["cv" if cv else "choice"] = trained.figures
        if model is not None:
            save(trained, model, payload)
    screen.finish(payload, *summary_lines(payload))
    return exit_code(payload["certificates"])


def _check_files(file: Path, test: Path | None, model: Path | None) -> None:
    from drsvm.cli.command_files import check_outputs
    from drsvm.persistence.model_files import is_model_file

    check_outputs([model], [file, test])
    if model is None or not model.is_file() or model.stat().st_size == 0:
        return
    if not is_model_file(model):
        raise ValueError(
            f"{model}: exists and is not a drsvm model: delete it first, or choose "
            "another name."
        )
