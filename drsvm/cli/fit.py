"""``drsvm fit``: train a classifier from a file, with a proof, and save it."""

from pathlib import Path

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen, exit_code

EXAMPLES = """drsvm fit customers.csv --label churned --model churn.drsvm
drsvm fit export.csv --label status --drop remark --categorical branch --trust-column age
drsvm fit train.svm.xz --test test.svm.xz --radius 0.1 --flip-cost 1
drsvm fit customers.csv --label churned --kernel linear
drsvm fit customers.csv --label churned --costs no=1,yes=10
drsvm fit noisy.parquet --label y --cv --json"""


def fit(
    file: opt.DataFile,
    data: opt.DataOptions,
    split: opt.SplitOptions,
    ball: opt.BallOptions,
    prices: opt.PriceOptions,
    kernel: opt.KernelChoice,
    screen: Screen,
    radius: str | None = opt.RADIUS,
    verified: str | None = opt.known(
        "A yes/no column: labels that were verified cannot be flipped. It is not a feature.",
        metavar="COLUMN",
    ),
    positive: str | None = opt.POSITIVE,
    class_weight: str | None = opt.CLASS_WEIGHT,
    threshold: str | None = opt.THRESHOLD,
    costs: str | None = opt.COSTS,
    cv: bool = opt.classifier(
        "Choose the radius and, without --l2, the ridge by cross-validation.",
        False,
        "--cv",
    ),
    folds: int = opt.classifier("Number of folds of --cv.", 5, min=2),
    jobs: int | None = opt.solving(
        "Paths of --cv, or classes, to fit at once (-1: one per core)."
    ),
    model: Path | None = opt.output("Save the classifier to this file.", metavar="OUT"),
    spool: Path | None = opt.reading(
        "Read a Parquet or Arrow table in blocks, and write its features to this new folder, which is kept. Default: "
        "only if the table does not fit into memory, and to a temporary folder.",
        metavar="FOLDER",
    ),
) -> int:
    """Train a classifier on a file, prove how close its direction is to the optimum, test it and save it.

    A table may contain text categories, empty cells, dates and ids: notes report how
    they are treated, which is saved with the model. A quarter of the rows is held out
    first, for a test of a classifier of the others; the model that is saved is then
    trained on all rows. A Parquet or Arrow table need not fit into memory.
    """
    from drsvm.cli import tasks as work
    from drsvm.cli.files import check_outputs
    from drsvm.persistence.model_files import is_model_file

    check_outputs([model], [file, split.test])
    if (
        model is not None
        and model.is_file()
        and model.stat().st_size
        and not is_model_file(model)
    ):
        raise ValueError(
            f"{model}: exists and is not a drsvm model: delete it first, or choose another name."
        )
    split.check()
    settings = {**ball.ball(radius), **prices.intercept(), **ball.run()}
    settings |= opt.chosen_classes_and_threshold(class_weight, threshold, costs)
    settings |= {"random_state": split.seed, "n_jobs": jobs}
    if cv and radius is not None:
        raise ValueError("--cv chooses the radius: omit --radius or --cv.")
    if verified is not None and "flip_cost" not in settings:
        raise ValueError(
            "--verified changes nothing while all labels are trusted: price the others with --flip-cost."
        )
    for_weights = kernel.check(ball, {"--cv": cv, **prices.of_columns()}, radius)
    if cv:
        in_memory = "--cv"
    elif kernel.kernel == "rbf":
        in_memory = "--kernel rbf"
    else:
        in_memory = None
    options = data.read_options(verified=verified, mentioned=prices.mentioned())
    with work.rows_and_some_held_out(
        file, options, split, spool, ball.standardise, in_memory, screen
    ) as rows:
        whole = work.with_positive(rows[0], positive)
        held = rows[1] and work.with_positive(rows[1], positive)
        settings = work.by_label(settings, whole.y, screen)
        # Not before: this imports all solvers, and an error in the file should come
        # quickly.
        from drsvm.cli import training
        from drsvm.cli.fit_summary import fit_payload, summary_lines

        task = training.Task(settings, ball.standardise, whole, held, screen)
        if cv:
            trained = task.searched(folds)
        else:
            trained = task.trained(kernel, for_weights)
        screen.note(
            *work.about_clipped(trained.model.prepared, whole), *trained.about_moved()
        )
        with screen.progress("testing"):
            payload = fit_payload(trained, file, ball.standardise)
        if trained.figures is not None:
            payload["cv" if cv else "choice"] = trained.figures
        if model is not None:
            training.save(trained, model, payload)
    screen.finish(payload, *summary_lines(payload))
    return exit_code(certificate["status"] for certificate in payload["certificates"])
