"""What was done with the columns of a table, in a few lines."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from drsvm.tables.arrow_tables import Table, columns_of
from drsvm.tables.dataset import Schema
from drsvm.tables.kinds import Kind
from drsvm.tables.values import Coded, Style, coded, numbers_of
from drsvm.utils.messages import Message, Parameter

if TYPE_CHECKING:  # at run time, this would import scikit-learn
    from drsvm.estimators.clipped_scaler import ClippedCells

# Of the labels, each class counting the same, are determined by a column that betrays
# them
LEAKY = 0.99
TELLING = 10  # a column betrays the label only if a level has this many rows on average
MANY_NUMBERS = 50  # fewer numbers with a unit may well be categories, such as sizes
MAX_LISTED = 8  # a line lists this many columns
KEEP_ANYWAY = Message(
    "use one anyway with {} or {}", Parameter("numeric"), Parameter("categorical")
)
DROP_IDS = Message("if such a number is an id, {} it", Parameter("drop"))


def what_was_done(schema: Schema, kinds: dict[str, Kind], X: Table) -> list[str]:
    """Return notes on a new file: columns left out, encoded, read in a special way, and filled."""
    different = [
        name for name, kind in kinds.items() if kind.all_different and not kind.left_out
    ]
    encoded = {
        name: f"{kinds[name].levels:,}" for name in schema.of_style(Style.CATEGORY)
    }
    # Columns whose texts are numbers with the same unit, each with an example
    with_units = {}
    for name in encoded:
        levels = [str(value) for value in coded(X.column(name)).values]
        units = {re.sub(r"\d[\d.,]*", "", level, count=1) for level in levels}
        if len(levels) >= MANY_NUMBERS and len(units) == 1 and units != {""}:
            with_units[name] = levels[0]
    return [
        *line_about("left out", schema.left_out, KEEP_ANYWAY),
        *line_about(
            "categories", encoded, "one 0/1 column for each level that is not rare"
        ),
        *line_about("dates as days", schema.of_style(Style.ISO_DATE)),
        *line_about("times as hours", schema.of_style(Style.TIME)),
        *line_about("decimal commas", schema.of_style(Style.DECIMAL_COMMA)),
        *line_about("thousands separators", schema.of_style(Style.THOUSANDS)),
        *line_about(
            "numbers with a unit",
            with_units,
            "they count as text, unless the unit is removed",
        ),
        *line_about("all different", different, DROP_IDS),
        *what_was_filled(schema, X),
    ]


def similar_labels(labels: Coded) -> list[str]:
    """Return a note on labels that differ only in upper and lower case: they are different classes."""
    spellings: dict[str, list[str]] = {}
    for code in np.unique(labels.codes):
        spellings.setdefault(str(labels.values[code]).casefold(), []).append(
            str(labels.values[code])
        )
    return [
        f"the labels {', '.join(map(repr, words))} differ only in case, and are different classes: if they mean the "
        "same, write them alike."
        for words in spellings.values()
        if len(words) > 1
    ]


def what_was_filled(schema: Schema, X: Table) -> list[str]:
    """Return notes on the empty cells of a table that a model fills."""
    counts = {name: int(column.null_count) for name, column in columns_of(X).items()}
    filled = {
        name: f"{count:,} of {len(X):,}" for name, count in counts.items() if count
    }
    numbers = [name for name in filled if schema.style(name) != Style.CATEGORY]
    by_median = ["numbers by their median"] if numbers else []
    if len(numbers) < len(filled):
        as_level = ["text as a level"]
    else:
        as_level = []
    return line_about("filled", filled, " and ".join(by_median + as_level))


def what_is_new(unseen: dict[str, int], n_rows: int) -> list[str]:
    """Return a note on cells with levels that a model has not seen in training."""
    counts = {name: f"{count:,} of {n_rows:,}" for name, count in unseen.items()}
    remark = "they count as rare, or as no level at all where none was rare"
    return line_about("levels not seen in training", counts, remark)


def what_was_clipped(cells: "ClippedCells") -> list[str]:
    """Return notes on cells that count as the limit that they exceed: far from all others, and in the tails."""
    n, columns = cells.in_tails
    tails = f"clipped: {n:,} cell{'s' if n > 1 else ''} in the tails of {columns} column{'s' if columns > 1 else ''}."
    return [
        *line_about(
            "clipped", cells.far, "they count as these limits, and may be errors"
        ),
        *([tails] if n else []),
    ]


def leaky_columns(schema: Schema, X: Table, y: np.ndarray) -> list[str]:
    """Return the columns that determine nearly every label by themselves: perhaps they are known only afterwards."""
    classes, labels = np.unique(y, return_inverse=True)
    counts = np.bincount(labels)
    leaky = []
    columns = columns_of(X)
    for name in schema.of_style(Style.CATEGORY, Style.TRUTH):
        codes = coded(columns[name]).codes
        pairs = np.zeros((codes.max() + 2, len(classes)))
        # All classes count the same
        np.add.at(pairs, (codes, labels), 1.0 / (counts[labels] * len(classes)))
        levels = len(np.unique(codes))
        if (
            pairs.max(axis=1).sum() >= LEAKY
            and len(classes) <= levels <= len(y) // TELLING
        ):
            leaky.append(name)
    if len(classes) != 2 or counts.min() < TELLING:
        return leaky
    for name in schema.of_style(
        Style.PLAIN
    ):  # numbers that lie on two sides of a threshold
        numbers = numbers_of(columns[name], Style.PLAIN)
        _, places = np.unique(numbers, return_inverse=True)
        below = np.cumsum(
            [
                np.bincount(places[labels == side], minlength=places.max() + 1)
                for side in (0, 1)
            ],
            axis=1,
        )
        shares = below / counts[:, None]
        if (
            not np.isnan(numbers).any()
            and 0.5 + 0.5 * np.abs(shares[0] - shares[1]).max() >= LEAKY
        ):
            leaky.append(name)
    return leaky


def about_leaky_columns(names: list[str]) -> list[str]:
    """Return a note on columns that determine the label."""
    if not names:
        return []
    if len(names) == 1:
        which = f"{names[0]} alone determines"
    else:
        which = f"{', '.join(names)} each determine"
    drops = [Parameter("drop", name) for name in names]
    what = (
        "{} the label (99\u202f% or more); if it is known only afterwards, leave it out:"
        + " {}" * len(drops)
        + "."
    )
    return [Message(what, which, *drops)]


def line_about(what: str, columns: Iterable[str], remark: str = "") -> list[str]:
    """Return a note on columns, with details if they are a dict, or none if there are no columns."""
    if isinstance(columns, dict):
        listed = [f"{name} ({columns[name]})" for name in columns]
    else:
        listed = list(columns)
    if not listed:
        return []
    if len(listed) > MAX_LISTED:
        more = f" and {len(listed) - MAX_LISTED} more"
    else:
        more = ""
    return [
        Message(
            "{}: {}{}{}{}.",
            what,
            ", ".join(listed[:MAX_LISTED]),
            more,
            "; " if remark else "",
            remark,
        )
    ]
