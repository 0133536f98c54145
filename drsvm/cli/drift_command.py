"""``drsvm drift``: how far new rows have moved.

They are compared with those that a saved model was tested on, or with the batch before.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen

if TYPE_CHECKING:
    import numpy as np

    from drsvm.audit.audit_sample import AuditSample
    from drsvm.audit.batches import BatchShifts
    from drsvm.audit.shift import Shift
    from drsvm.tables import Dataset

EXAMPLES = """drsvm drift churn.drsvm march.csv
drsvm drift churn.drsvm march.csv --fail-above chance || mail -s "churn has moved" me@example.org
drsvm drift churn.drsvm this_year.csv --by month --plot months.png
drsvm drift last_year.csv --label churned --by month"""  # noqa: E501

# The exit code for rows that have moved too far
MOVED = 4
MOST_BATCHES = 1000
# Options for data without a model: with one, a file is read as in its training.
WITHOUT_MODEL = (
    "features",
    "drop",
    "id",
    "categorical",
    "numeric",
    "decimal",
    "index_base",
    "max_features",
)
# What is measured of rows with labels only
OF_LABELS = (
    "error_now",
    "shares_now",
    "moved_within_classes",
    "relation",
    "relation_by_chance",
)
TESTED = (
    "The classifier is the one that was tested; that of the file was trained on the "
    "rows of the test, too."
)

ModelOrData = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A model saved by drsvm fit, or data with --by."
    ),
]
NewFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="New rows, as for predict.")
]
By = Annotated[
    str | None,
    opt.testing(
        help="A column of batches, such as months: a line for each, against the test "
        "of the model or, without a model, against the batch before. It is not a "
        "feature.",
        metavar="COLUMN",
    ),
]
FailAbove = Annotated[
    str | None,
    opt.testing(
        help="Exit with code 4 if the rows, or those of any batch, have moved by more "
        "than chance explains: chance; or by more than that and a distance: 0.2.",
        metavar="chance|NUMBER",
    ),
]
Confidence = Annotated[
    float, opt.testing(help="Confidence of the bound, and for what chance explains.")
]
Seed = Annotated[int, opt.testing(help="Random seed.")]


def drift(
    context: typer.Context,
    model: ModelOrData,
    file: NewFile = None,
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
    by: By = None,
    fail_above: FailAbove = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    csv: opt.TableFile = None,
    plot: opt.PlotFile = None,
    as_json: opt.AsJson = False,
) -> int:
    """Measure how far new rows have moved from those that a model was tested on.

    Rows are measured as its classifier sees them. The old rows are not needed: drsvm
    fit keeps in the model file what the classifier sees of its test rows. Labels need
    not be known: the error rate to expect is that of rows that moved as little as
    possible and kept theirs.
    """
    from drsvm.audit.confidence import check_confidence
    from drsvm.cli.command_files import check_table_and_plot, save_table_and_plot
    from drsvm.persistence.model_files import is_model_file

    screen: Screen = context.obj
    check_table_and_plot(csv, plot, [model, file])
    check_confidence(confidence)
    limit = _limit(fail_above)
    asked = {"confidence": confidence, "random_state": seed}
    about = []
    if file is not None:
        found = _since_test(model, file, by, context.params, screen, asked)
        about.append(TESTED)
    elif by is not None and not (model.is_file() and is_model_file(model)):
        found = _from_batch_to_batch(model, by, context.params, screen, asked)
    else:
        raise ValueError(
            f"{model}: name a model and a file of new rows, or a data file and its "
            "batches with --by."
        )

    moved = [shift.moved for shift in found.shifts if shift.more_than_chance]
    has_failed = limit is not None and any(each > limit for each in moved)
    payload: Payload = {
        "command": "drift",
        "model": model if file else None,
        "file": file or model,
        "by": by,
        "fail_above": fail_above,
        "exit_code": MOVED if has_failed else 0,
    }
    from drsvm.plotting import BatchShiftsDisplay, ShiftDisplay

    if by is None:
        shift = found.shifts[0]
        payload |= shift.to_dict()
        columns = {}
        for name in ("name", "distance", "by_chance"):
            columns[name] = [each[name] for each in payload["columns"]]
        payload |= save_table_and_plot(
            csv, plot, columns, lambda: ShiftDisplay.from_shift(shift).figure_
        )
        screen.finish(payload, str(shift), *about)
        return payload["exit_code"]

    table = {}
    for name, values in found.to_dict().items():
        if None not in values:
            table[by if name == "batch" else name] = values
    batches = []
    for name, shift in zip(found.names, found.shifts, strict=True):
        batches.append({"batch": name, **shift.to_dict()})
    payload |= {
        "batches": batches,
        "radius": found.radius,
        "coverage": found.coverage,
    }
    payload |= save_table_and_plot(
        csv, plot, table, lambda: BatchShiftsDisplay.from_shifts(found).figure_
    )
    about.append(
        f"{len(moved)} of {len(batches)} batches have moved by more than chance "
        f"explains, which alone gives {1.0 - confidence:.0%} of them; the largest "
        f"movement is {found.radius:.4g}."
    )
    screen.finish(payload, table, *about, found.shifts[0].remark())
    return payload["exit_code"]


def _limit(fail_above: str | None) -> float | None:
    """Return the largest distance that is not a failure, None if there is none."""
    if fail_above is None:
        return None
    if fail_above == "chance":
        return 0.0
    try:
        return float(fail_above)
    except ValueError:
        raise ValueError(
            f"--fail-above must be chance or a number, got {fail_above!r}."
        ) from None


def _since_test(
    model: Path,
    file: Path,
    by: str | None,
    given: opt.Given,
    screen: Screen,
    asked: opt.Settings,
) -> "BatchShifts":
    """Return how a file, or every batch of it, has moved since the test of a model."""
    import numpy as np

    from drsvm.audit.batches import BatchShifts
    from drsvm.cli.training_rows import load_for_model
    from drsvm.persistence.audits import cells_of

    for name in WITHOUT_MODEL:
        default = opt.MAX_FEATURES if name == "max_features" else None
        if given[name] not in (default, (), []):
            raise ValueError(
                f"{opt.option_of(name)} is for data without a model, which reads rows "
                "as in training: omit it."
            )
    options = opt.read_options(given, unlabelled=True)
    saved, dataset = load_for_model(model, file, options, screen)
    audit = saved.audit
    if audit is None:
        raise ValueError(
            f"{model}: has no rows of a test to compare new ones with: save it with "
            "drsvm fit --model, with rows held out for a test (--test-size, or --test "
            "FILE)."
        )
    y, labelled = _labels(dataset, saved.model.classes_, screen)
    batches = {file.name: np.arange(len(y))}
    if by is not None:
        batches = batches_of(dataset, by)
    classes = np.array(dataset.schema.truth_labels or saved.model.classes_)
    before = replace(audit.rows, classes=classes)
    seen = audit.seen(dataset.X, y)
    cells = cells_of(audit.model, dataset.X)
    dates = dataset.schema.of_style("date")
    shifts = []
    with screen.whole("comparing") as report_progress:
        for rows in batches.values():
            after = seen.some(rows, audit.summaries(cells[rows]))
            shift = _shift(before, after, labelled[rows], asked)
            columns = []
            for column in shift.columns:
                if column.name in dates:
                    column = column._replace(name=f"{column.name} (days)")
                columns.append(column)
            shifts.append(replace(shift, columns=columns))
            report_progress(len(shifts) / len(batches))
    return BatchShifts(list(batches), shifts)


def _labels(
    dataset: "Dataset", classes: "np.ndarray", screen: Screen
) -> "tuple[np.ndarray, np.ndarray]":
    """Return labels, any where there is none, and which rows have one."""
    import numpy as np

    from drsvm.cli.class_labels import labels_for

    n = len(dataset.rows)
    y = np.resize(classes, n)
    labelled = np.zeros(n, dtype=bool)
    known = labels_for(classes, dataset)
    if known is None:
        if dataset.y is not None:
            screen.note(
                "labels are not compared: some of them are unknown to the model."
            )
        return y, labelled
    labelled[:] = True if dataset.labelled is None else dataset.labelled
    y[labelled] = known
    n_lost = n - len(known)
    if n_lost:
        screen.note(
            f"{n_lost:,} of {n:,} rows have no label: what needs labels goes without "
            "them."
        )
    return y, labelled


def _shift(
    before: "AuditSample",
    after: "AuditSample",
    labelled: "np.ndarray",
    asked: opt.Settings,
) -> "Shift":
    """Return the movement of all rows.

    What needs labels is that of the rows that have one.
    """
    from drsvm.audit.shift import shift_between

    if labelled.all():
        return shift_between(before, after, **asked)
    shift = shift_between(before, replace(after, codes=None), **asked)
    if not labelled.any():
        return shift
    some = shift_between(before, after.some(labelled, []), **asked)
    return replace(shift, **{name: getattr(some, name) for name in OF_LABELS})


def _from_batch_to_batch(
    file: Path, by: str, given: opt.Given, screen: Screen, asked: opt.Settings
) -> "BatchShifts":
    """Return how every batch of a file but the first has moved from the one before."""
    import numpy as np
    from sklearn.pipeline import Pipeline

    from drsvm import WassersteinSVC, radius_from_batches
    from drsvm.cli.training_rows import load_parts
    from drsvm.tables.preparation import preparation

    parts = load_parts(file, opt.read_options(given), screen)
    reader, *further = preparation(parts.data.schema)
    batches = batches_of(parts.data, by)
    rows = np.concatenate(list(batches.values()))
    names = np.repeat(list(batches), [len(batch) for batch in batches.values()])
    X = reader[1].transform(parts.X)[rows]
    model = Pipeline([*further, ("classifier", WassersteinSVC())])
    with screen.progress("comparing"), screen.warnings_as_notes():
        return radius_from_batches(model, X, parts.y[rows], names, **asked)


def batches_of(data: "Dataset", by: str) -> "dict[str, np.ndarray]":
    """Return the rows of every batch.

    Numbers and dates are sorted, others come in the order of their first row.
    """
    import numpy as np

    from drsvm.tables.values import EMPTY

    texts = next(iter(data.kept.values()))
    cells = np.array([text or EMPTY for text in texts])
    names = list(dict.fromkeys(cells.tolist()))
    if len(names) > MOST_BATCHES:
        raise ValueError(
            f"--by {by}: has {len(names):,} different values in {len(cells):,} rows: "
            f"choose a column with at most {MOST_BATCHES:,}, such as months."
        )
    return {name: np.flatnonzero(cells == name) for name in _in_order(names)}


def _in_order(names: list[str]) -> list[str]:
    """Sort names if all of them are numbers, months or dates of one style."""
    from drsvm.tables.cell_styles import DATE_STYLES, Style, parser_of
    from drsvm.tables.values import EMPTY

    styles = [(Style.PLAIN, ""), (Style.ISO_DATE, "-01")]
    styles += [(style, "") for style in DATE_STYLES]
    for style, end in styles:
        parse = parser_of(style)
        places = {}
        for name in names:
            place = float("inf") if name == EMPTY else parse(name + end)
            if place is not None:
                places[name] = place
        if len(places) == len(names):
            return sorted(names, key=lambda name: (places[name], name))
    return names
