"""The rows of a table that are used: those with a label, and with or without empty cells."""

from typing import Any

import numpy as np

from drsvm.datasets.arrow_arrays import array_of
from drsvm.datasets.dataset import ReadOptions, Schema
from drsvm.datasets.files import Problem, invalid
from drsvm.messages import Message, Parameter


def kept_rows(
    file: Any, table: Any, label: str | None, schema: Schema, options: ReadOptions
) -> tuple[np.ndarray, list[str]]:
    """Return the rows to keep, and notes on the others: rows without a label, or with any empty cell, as wanted."""
    n = len(table)
    kept = np.flatnonzero(~empty_rows(file, table, label, schema, options))
    if not len(kept):
        unlabelled = label is not None and table.column(label).null_count == n
        what = "no row has a label" if unlabelled else "every row has a missing value"
        remedy = "{}: choose another column with {}, or drop empty ones with {}."
        raise invalid(file.path, Message(remedy, what, Parameter("label"), Parameter("drop")))
    if len(kept) == n:
        return kept, []
    lost = n - len(kept)
    has, are = ("has", "is") if lost == 1 else ("have", "are")
    what = f"missing values and {are} dropped" if options.missing == "drop" else f"no label and {are} left out"
    return kept, [f"{lost:,} of {n:,} rows {has} {what}."]


def empty_rows(file: Any, table: Any, label: str | None, schema: Schema, options: ReadOptions) -> np.ndarray:
    """Return a mask of the rows that are not used: those without a label or, if so wanted, with any empty cell."""
    given = dict(zip(table.column_names, table.columns, strict=True))
    empty = {name: array_of(given[name].is_null(), "bool") for name in schema.columns if given[name].null_count}
    unlabelled = np.zeros(len(table), dtype=bool) if label is None else array_of(given[label].is_null(), "bool")
    if options.missing == "error":
        _reject_empty_cells(file, ({label: unlabelled} if unlabelled.any() else {}) | empty, label)
    return np.any([*empty.values(), unlabelled], axis=0) if options.missing == "drop" else unlabelled


def _reject_empty_cells(file: Any, empty: dict[Any, np.ndarray], label: str | None) -> None:
    problems = []
    for name, mask in empty.items():
        row = int(np.argmax(mask))
        share = f"{np.count_nonzero(mask):,} of {len(mask):,} are empty"
        what = "has no label" if name == label else "has an empty cell"
        ways = Parameter("missing", "fill", "error"), Parameter("missing", "drop")
        text = "column {!r} {} at {} ({}): use {}, or {}."
        problems.append(Problem(text, name, what, file.place(row), share, *ways, fixes=ways[:1]))
    if problems:
        raise invalid(file.path, *problems)
