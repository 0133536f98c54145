"""``drsvm drift``: how far new rows have moved from those that a saved model was tested on, or from batch to batch."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen

if TYPE_CHECKING:
    import numpy as np

    from drsvm.audit.audit_sample import AuditSample
    from drsvm.audit.shift import Shift
    from drsvm.tables import Dataset

EXAMPLES = """drsvm drift churn.drsvm march.csv
drsvm drift churn.drsvm march.csv --fail-above chance || mail -s "churn has moved" me@example.org
drsvm drift churn.drsvm this_year.csv --by month --plot months.png
drsvm drift last_year.csv --label churned --by month"""

MOVED = 4  # the exit code for rows that have moved too far
MOST_BATCHES = 1000
OF_LABELS = (
    "error_now",
    "shares_now",
    "moved_within_classes",
    "relation",
    "relation_by_chance",
)
NEW = vars(opt.DataOptions())  # the defaults of options that describe a new file
TESTED = "The classifier is the one that was tested; that of the file was trained on the rows of the test, too."


def drift(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="A model saved by drsvm fit, or data with --by."
        ),
    ],
    data: opt.DataOptions,
    outputs: opt.TableOptions,
    screen: Screen,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="New rows, as for predict.")
    ] = None,
    by: str | None = opt.testing(
        "A column of batches, such as months: a line for each, against the test of the model or, without a model, "
        "against the batch before. It is not a feature.",
        metavar="COLUMN",
    ),
    fail_above: str | None = opt.testing(
        "Exit with code 4 if the rows, or those of any batch, have moved by more than chance explains: chance; or by "
        "more than that and a distance: 0.2.",
        metavar="chance|NUMBER",
    ),
    confidence: float = opt.testing(
        "Confidence of the bound, and for what chance explains.", 0.95
    ),
    seed: int = opt.testing("Random seed.", 0),
) -> int:
    """Measure how far new rows have moved from those that a model was tested on, as its classifier sees them.

    The old rows are not needed: drsvm fit keeps in the model file what the classifier
    sees of its test rows. Labels need not be known: the error rate to expect is that of
    rows that moved as little as possible and kept theirs.
    """
    from drsvm.audit.confidence import check_confidence
    from drsvm.persistence.model_files import is_model_file

    outputs.check(model, file)
    check_confidence(confidence)
    try:
        if fail_above in (None, "chance"):
            limit = 0.0
        else:
            limit = float(fail_above)
    except ValueError:
        raise ValueError(
            f"--fail-above must be chance or a number, got {fail_above!r}."
        ) from None
    given = {"confidence": confidence, "random_state": seed}
    if file is not None:
        found = _since_test(model, file, by, data, screen, **given)
        about = [TESTED]
    elif by is not None and not (model.is_file() and is_model_file(model)):
        found = _from_batch_to_batch(model, by, data, screen, **given)
        about = []
    else:
        raise ValueError(
            f"{model}: name a model and a file of new rows, or a data file and its batches with --by."
        )
    moved = [shift.moved for shift in found.shifts if shift.more_than_chance]
    if fail_above is not None and any(each > limit for each in moved):
        code = MOVED
    else:
        code = 0
    payload: Payload = {
        "command": "drift",
        "model": file and model,
        "file": file or model,
        "by": by,
    }
    payload |= {"fail_above": fail_above, "exit_code": code}
    from drsvm.plotting import BatchShiftsDisplay, ShiftDisplay

    if by is None:
        [shift] = found.shifts
        figures = shift.to_dict()
        columns = {
            name: [each[name] for each in figures["columns"]]
            for name in ("name", "distance", "by_chance")
        }
        payload |= {
            **figures,
            **outputs.save(columns, lambda: ShiftDisplay.from_shift(shift).figure_),
        }
        screen.finish(payload, str(shift), *about)
        return code
    table = {
        by if name == "batch" else name: each
        for name, each in found.to_dict().items()
        if None not in each
    }
    named = zip(found.names, found.shifts, strict=True)
    payload |= {
        "batches": [{"batch": name, **shift.to_dict()} for name, shift in named]
    }
    payload |= {"radius": found.radius, "coverage": found.coverage}
    payload |= outputs.save(
        table, lambda: BatchShiftsDisplay.from_shifts(found).figure_
    )
    chance = f"by more than chance explains, which alone gives {1.0 - confidence:.0%} of them"
    n = len(found.shifts)
    about += [
        f"{len(moved)} of {n} batches have moved {chance}; the largest movement is {found.radius:.4g}."
    ]
    screen.finish(payload, table, *about, found.shifts[0].remark())
    return code


def _since_test(
    model: Path,
    file: Path,
    by: str | None,
    data: opt.DataOptions,
    screen: Screen,
    **given,
):
    """Return how a file, or every batch of it, has moved since the test of a model."""
    import numpy as np

    from drsvm.audit.batches import BatchShifts
    from drsvm.cli import tasks as work
    from drsvm.persistence.audits import cells_of

    new = [
        name
        for name in vars(data).keys() - vars(opt.FileOptions())
        if getattr(data, name) != NEW[name]
    ]
    if new:
        what = "is for data without a model, which reads rows as in training: omit it."
        raise ValueError(f"{opt.option_of(new[0])} {what}")
    saved, dataset = work.load_for_model(
        model, file, data, screen, by=by, unlabelled=True
    )
    audit = saved.audit
    schema = dataset.schema
    if audit is None:
        remedy = "save it with drsvm fit --model, with rows held out for a test (--test-size, or --test FILE)"
        raise ValueError(
            f"{model}: has no rows of a test to compare new ones with: {remedy}."
        )
    known = work.labels_for(saved.model.classes_, dataset)
    if known is None and dataset.y is not None:
        screen.note("labels are not compared: some of them are unknown to the model.")
    labelled = np.zeros(len(dataset.rows), dtype=bool)
    y = np.resize(saved.model.classes_, len(labelled))  # any label where there is none
    if known is not None:
        if dataset.labelled is None:
            labelled[:] = True
        else:
            labelled[:] = dataset.labelled
        y[labelled] = known
        if lost := np.count_nonzero(~labelled):
            screen.note(
                f"{lost:,} of {len(y):,} rows have no label: what needs labels goes without them."
            )
    if by is None:
        batches = {file.name: np.arange(len(y))}
    else:
        batches = batches_of(dataset, by)
    before = replace(
        audit.rows, classes=np.array(schema.truth_labels or saved.model.classes_)
    )
    seen = audit.seen(dataset.X, y)
    cells = cells_of(audit.model, dataset.X)
    shifts = []
    days = {name: f"{name} (days)" for name in schema.of_style("date")}
    with screen.whole("comparing") as report_progress:
        for rows in batches.values():
            after = seen.some(rows, audit.summaries(cells[rows]))
            shift = _shift(before, after, labelled[rows], **given)
            columns = [
                each._replace(name=days.get(each.name, each.name))
                for each in shift.columns
            ]
            shifts.append(replace(shift, columns=columns))
            report_progress(len(shifts) / len(batches))
    return BatchShifts(list(batches), shifts)


def _shift(
    before: "AuditSample", after: "AuditSample", labelled: "np.ndarray", **given
) -> "Shift":
    """Return the movement of all rows.

    What needs labels is that of the rows that have one.
    """
    from drsvm.audit.shift import shift_between

    measured = partial(shift_between, before, **given)
    if labelled.all():
        return measured(after)
    shift = measured(replace(after, codes=None))
    if labelled.any():
        some = measured(after.some(labelled, []))
    else:
        some = shift
    return replace(shift, **{name: getattr(some, name) for name in OF_LABELS})


def _from_batch_to_batch(
    file: Path, by: str, data: opt.DataOptions, screen: Screen, **given
):
    """Return how the batches of a file after the first one have moved from the one before."""
    import numpy as np
    from sklearn.pipeline import Pipeline

    from drsvm import WassersteinSVC, radius_from_batches
    from drsvm.cli import tasks as work
    from drsvm.tables.preparation import preparation

    parts = work.load_parts(file, data.read_options(by=by), screen)
    reader, *further = preparation(parts.data.schema)
    batches = batches_of(parts.data, by)
    rows = np.concatenate(list(batches.values()))
    names = np.repeat(list(batches), list(map(len, batches.values())))
    model = Pipeline([*further, ("classifier", WassersteinSVC())])
    with screen.progress("comparing"), screen.warnings_as_notes():
        return radius_from_batches(
            model, reader[1].transform(parts.X)[rows], parts.y[rows], names, **given
        )


def batches_of(data: "Dataset", by: str) -> "dict[str, np.ndarray]":
    """Return the rows of every batch: numbers and dates are sorted, others come in the order of their first row."""
    import numpy as np

    from drsvm.tables.values import DATE_STYLES, EMPTY, Style, parser_of

    cells = np.array([text or EMPTY for text in next(iter(data.kept.values()))])
    names = list(dict.fromkeys(cells.tolist()))
    if len(names) > MOST_BATCHES:
        what = f"--by {by}: has {len(names):,} different values in {len(cells):,} rows"
        raise ValueError(
            f"{what}: choose a column with at most {MOST_BATCHES:,}, such as months."
        )
    for style, end in (
        (Style.PLAIN, ""),
        (Style.ISO_DATE, "-01"),
        *((style, "") for style in DATE_STYLES),
    ):
        places = [
            float("inf") if name == EMPTY else parser_of(style)(name + end)
            for name in names
        ]
        if (known := [place for place in places if place is not None]) == places:
            names = [name for _, name in sorted(zip(known, names, strict=True))]
            break
    return {name: np.flatnonzero(cells == name) for name in names}
