"""How far the rows of files have moved, for ``drsvm drift``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from drsvm import WassersteinSVC
from drsvm.audit.audit_sample import AuditSample, audit_sample
from drsvm.audit.batches import BatchShifts, radius_from_batches
from drsvm.audit.column_shifts import summaries
from drsvm.audit.shift import Shift, shift_between
from drsvm.cli.class_labels import known_labels, labels_for
from drsvm.cli.options import MAX_FEATURES, option_of
from drsvm.cli.screen import Screen
from drsvm.cli.settings import OptionValues, Settings, read_options
from drsvm.cli.skops_models import load_any_model, rows_for
from drsvm.cli.training_rows import load_rows
from drsvm.persistence.audits import Audit, cells_of
from drsvm.tables import Dataset, ReadOptions, Schema
from drsvm.tables.preparation import preparation
from drsvm.tables.values import EMPTY, in_order

# A column with more values than this hardly names batches.
MOST_BATCHES = 1000
# Options for data without a model: with one, a file is read as in its training.
WITHOUT_MODEL = (
    "features",
    "drop",
    "id",
    "categorical",
    "numeric",
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


def since_test(
    model: Path,
    file: Path,
    by: str | None,
    given: OptionValues,
    screen: Screen,
    asked: Settings,
) -> BatchShifts:
    """Return how a file, or every batch of it, has moved since the test of a model.

    `asked` are parameters of `shift_between`.
    """
    for name in WITHOUT_MODEL:
        default = MAX_FEATURES if name == "max_features" else None
        if given[name] not in (default, (), []):
            raise ValueError(
                f"{option_of(name)} is for data without a model, which reads rows "
                "as in training: omit it."
            )
    options = read_options(given, unlabelled=True)
    saved, dataset = load_any_model(model, file, options, screen, given["trust"])
    audit = saved.audit
    if given["test"] is not None:
        audit = _audit_on(given["test"], saved.model, dataset.schema, options)
    if audit is None:
        raise ValueError(
            f"{model}: has no rows of a test to compare new ones with: name a file of "
            "them (--test FILE), or save it with drsvm fit --model, with rows held out "
            "for a test."
        )
    y, labelled = _labels(dataset, saved.model.classes_, screen)
    batches = {file.name: np.arange(len(y))}
    if by is not None:
        batches = batches_of(dataset, by)
    # Truth values as they are written in the file
    classes = np.array(dataset.schema.truth_labels or saved.model.classes_)
    before = replace(audit.rows, classes=classes)
    # Distances of the rows from the boundary are computed at once, the distribution of
    # each column batch by batch.
    seen = audit.seen(dataset.X, y)
    cells = cells_of(audit.model, dataset.X)
    dates = dataset.schema.of_style("date")
    shifts = []
    with screen.whole("comparing") as report_progress:
        for rows in batches.values():
            after = seen.some(rows, audit.summaries(_safe_indexing(cells, rows)))
            shift = _shift(before, after, labelled[rows], asked)
            shifts.append(_with_units(shift, dates))
            report_progress(len(shifts) / len(batches))
    return BatchShifts(list(batches), shifts)


def _audit_on(file: Path, model, schema: Schema, options: ReadOptions) -> Audit:
    """Return what a model sees of the labelled rows of a file."""
    data = rows_for(file, options, schema)
    y = known_labels(data, model.classes_, "a test")
    columns = summaries(cells_of(model, data.X), schema.columns)
    sample = audit_sample(model, data.X, y, {}, with_error_costs=True, columns=columns)
    return Audit(model, sample)


def _labels(
    dataset: Dataset, classes: np.ndarray, screen: Screen
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels, any where there is none, and which rows have one."""
    n = len(dataset.rows)
    # Any label will do where there is none: what is measured of it is left out below.
    y = np.resize(classes, n)
    known = labels_for(classes, dataset)
    if known is None:
        if dataset.y is not None:
            screen.note(
                "labels are not compared: some of them are unknown to the model."
            )
        return y, np.zeros(n, dtype=bool)
    labelled = dataset.labelled
    if labelled is None:
        labelled = np.ones(n, dtype=bool)
    y[labelled] = known
    n_lost = n - len(known)
    if n_lost:
        screen.note(
            f"{n_lost:,} of {n:,} rows have no label: what needs labels goes without "
            "them."
        )
    return y, labelled


def _shift(
    before: AuditSample, after: AuditSample, labelled: np.ndarray, asked: Settings
) -> Shift:
    """Return the movement of all rows.

    What needs labels is that of the rows that have one.
    """
    # Distances need no labels: they are those of all rows.
    if labelled.all():
        return shift_between(before, after, **asked)
    shift = shift_between(before, replace(after, codes=None), **asked)
    if not labelled.any():
        return shift
    some = shift_between(before, after.some(labelled, []), **asked)
    return replace(shift, **{name: getattr(some, name) for name in OF_LABELS})


def _with_units(shift: Shift, dates: Sequence[str]) -> Shift:
    """Name the unit of the columns of dates: to a classifier, they are days."""
    columns = []
    for column in shift.columns:
        if column.name in dates:
            column = column._replace(name=f"{column.name} (days)")
        columns.append(column)
    return replace(shift, columns=columns)


def from_batch_to_batch(
    file: Path, by: str, given: OptionValues, screen: Screen, asked: Settings
) -> BatchShifts:
    """Return how every batch of a file but the first has moved from the one before."""
    parts = load_rows(file, read_options(given), screen)
    # The reader makes numbers of cells, row by row; what follows is fitted, to the
    # training rows of each batch only.
    reader, *further = preparation(parts.data.schema)
    batches = batches_of(parts.data, by)
    rows = np.concatenate(list(batches.values()))
    names = np.repeat(list(batches), list(map(len, batches.values())))
    X = reader[1].transform(parts.X)[rows]
    model = Pipeline([*further, ("classifier", WassersteinSVC())])
    with screen.progress("comparing"), screen.warnings_as_notes():
        return radius_from_batches(model, X, parts.y[rows], names, **asked)


def batches_of(
    data: Dataset, by: str, most: int | None = None, such_as: str = "months"
) -> dict[str, np.ndarray]:
    """Return the rows of every batch or group, of which there are not too many.

    Numbers and dates are sorted, others come in the order of their first row.
    """
    # The column of the batches is the first of those that were kept.
    texts = next(iter(data.kept.values()))
    cells = np.array([text or EMPTY for text in texts])
    names = list(dict.fromkeys(cells.tolist()))
    most = most or MOST_BATCHES
    if len(names) > most:
        raise ValueError(
            f"--by {by}: has {len(names):,} different values in {len(cells):,} rows: "
            f"choose a column with at most {most:,}, such as {such_as}."
        )
    return {name: np.flatnonzero(cells == name) for name in in_order(names) or names}
