"""``drsvm drift``: how far new rows have moved.

They are compared with those that a saved model was tested on, or with the batch before.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen

if TYPE_CHECKING:
    # At run time, this would import scikit-learn.
    from drsvm.audit.batches import BatchShifts

EXAMPLES = """\
drsvm drift churn.drsvm march.csv
drsvm drift churn.drsvm march.csv --fail-above chance \
|| mail -s "churn has moved" me@example.org
drsvm drift churn.drsvm this_year.csv --by month --plot months.png
drsvm drift last_year.csv --label churned --by month"""

# The exit code for rows that have moved too far
MOVED = 4
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
TestedRows = Annotated[
    Path | None,
    opt.testing(
        help="Rows with labels that the model was not trained on, to compare the new "
        "ones with. Default: those of the test of drsvm fit, which the model file has.",
        metavar="FILE",
    ),
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
    trust: opt.Trust = None,
    test: TestedRows = None,
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
    from drsvm.cli.command_files import (
        STANDARD,
        check_table_and_plot,
        save_table_and_plot,
    )
    from drsvm.persistence.model_files import is_model_file
    from drsvm.tables.files import check_readable

    screen: Screen = context.obj
    check_table_and_plot(csv, plot, [model, file, test])
    check_confidence(confidence)
    limit = _limit(fail_above)
    for path in (model, file, test):
        if path not in (None, STANDARD) and not path.exists():
            check_readable(path)
    # Not before: these imports take long, and input errors should come quickly.
    from drsvm.cli.shifts_of_files import from_batch_to_batch, since_test
    from drsvm.plotting import BatchShiftsDisplay, ShiftDisplay

    asked = {"confidence": confidence, "random_state": seed}
    about = []
    if file is not None:
        found = since_test(model, file, by, context.params, screen, asked)
        if test is None:
            about.append(TESTED)
    elif by is not None and not (model.is_file() and is_model_file(model)):
        found = from_batch_to_batch(model, by, context.params, screen, asked)
    else:
        raise ValueError(
            f"{model}: name a model and a file of new rows, or a data file and its "
            "batches with --by."
        )

    moved = [shift.moved for shift in found.shifts if shift.more_than_chance]
    has_failed = limit is not None and bool(moved) and max(moved) > limit
    payload: Payload = {
        "command": "drift",
        "model": model if file else None,
        "file": file or model,
        "by": by,
        "fail_above": fail_above,
        "exit_code": MOVED if has_failed else 0,
    }
    first = found.shifts[0]
    if by is None:
        payload |= first.to_dict()
        table: opt.Columns = {}
        for name in ("name", "distance", "by_chance"):
            table[name] = [column[name] for column in payload["columns"]]
        draw = partial(ShiftDisplay.from_shift, first)
        shown = [str(first), *about]
    else:
        payload |= _figures_of_batches(found)
        table = _table_of_batches(found, by)
        draw = partial(BatchShiftsDisplay.from_shifts, found)
        about.append(
            f"{len(moved)} of {len(found.shifts)} batches have moved by more than "
            f"chance explains, which alone gives {1.0 - confidence:.0%} of them; the "
            f"largest movement is {found.radius:.4g}."
        )
        shown = [table, *about, first.remark()]
    payload |= save_table_and_plot(csv, plot, table, draw)
    screen.finish(payload, *shown)
    return payload["exit_code"]


def _figures_of_batches(found: "BatchShifts") -> Payload:
    """Return the figures of every batch, and the radius that they suggest."""
    batches = []
    for name, shift in zip(found.names, found.shifts, strict=True):
        batches.append({"batch": name, **shift.to_dict()})
    return {"batches": batches, "radius": found.radius, "coverage": found.coverage}


def _table_of_batches(found: "BatchShifts", by: str) -> opt.Columns:
    """Return a table with a line for every batch, named after their column."""
    table = {}
    for name, values in found.to_dict().items():
        # Without labels, some figures are not known.
        if None not in values:
            table[by if name == "batch" else name] = values
    return table


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
