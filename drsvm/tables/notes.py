"""What was done with the columns of a table, in a few lines.

A note is a sentence for the user. Functions return lists of them, which are empty if
there is nothing to say.
"""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from drsvm.tables.arrow_columns import Table, columns_of
from drsvm.tables.cell_styles import Style
from drsvm.tables.dataset import Schema
from drsvm.tables.kinds import MANY_ROWS, RARE, Kind
from drsvm.tables.sentinels import sentinels
from drsvm.tables.values import Coded, coded, numbers_of
from drsvm.utils.messages import Message, Parameter, counted

# A column that determines the label is leaky: perhaps it is known only afterwards. It
# predicts at least this share of the labels, each class counting the same (the balanced
# accuracy in training), and its levels have at least this many rows on average.
LEAKY = 0.99
TELLING = 10
MANY_NUMBERS = 50  # fewer numbers with a unit may well be categories, such as sizes
MAX_LISTED = 8  # a line lists this many columns
KEEP_ANYWAY = Message(
    "use one anyway with {} or {}", Parameter("numeric"), Parameter("categorical")
)
DROP_IDS = Message("if such a column is an id, {} it", Parameter("drop"))


def line_about(what: str, columns: Iterable[str], remark: str = "") -> list[str]:
    """Return a note on columns, or none if there are no columns.

    Parameters
    ----------
    what : str
        What they have in common.
    columns : names, or dict
        Their names; in a dict, each with a detail.
    remark : str or Message
        What follows from it.
    """
    listed = list(columns)
    if isinstance(columns, dict):
        listed = [f"{name} ({detail})" for name, detail in columns.items()]
    if not listed:
        return []
    some = ", ".join(listed[:MAX_LISTED])
    if len(listed) > MAX_LISTED:
        some += f" and {len(listed) - MAX_LISTED} more"
    if not remark:
        return [Message(f"{what}: {some}.")]
    # A remark names parameters, which stay parameters in a message.
    return [Message("{}: {}; {}.", what, some, remark)]


def what_was_done(schema: Schema, kinds: dict[str, Kind], X: Table) -> list[str]:
    """Return notes on a new file: columns left out, encoded, converted and filled.

    Parameters
    ----------
    schema : Schema
        The columns that are used, and those left out.
    kinds : dict
        What each column contains.
    X : Table
        The columns that are used.
    """
    different = []
    for name, kind in kinds.items():
        if kind.all_different and not kind.left_out:
            different.append(name)
    encoded = {}
    few_rows_each = {}
    with_units = {}
    for name in schema.of_style(Style.CATEGORY):
        n_levels = kinds[name].levels
        encoded[name] = f"{n_levels:,}"
        if n_levels * RARE > len(X) >= MANY_ROWS:
            few_rows_each[name] = f"{n_levels:,} levels in {len(X):,} rows"
        levels = list(map(str, coded(X.column(name)).values))
        if _are_numbers_with_a_unit(levels):
            with_units[name] = levels[0]
    one_each = "one 0/1 column for each level that is not rare"
    as_text = "they count as text, unless the unit is removed"
    return [
        *line_about("left out", schema.left_out, KEEP_ANYWAY),
        *line_about("categories", encoded, one_each),
        *line_about("dates as days", schema.of_style(Style.ISO_DATE)),
        *line_about("times as hours", schema.of_style(Style.TIME)),
        *line_about("decimal commas", schema.of_style(Style.DECIMAL_COMMA)),
        *line_about("thousands separators", schema.of_style(Style.THOUSANDS)),
        *line_about("numbers with a unit", with_units, as_text),
        *line_about("all different", different, DROP_IDS),
        *line_about("most levels are rare", few_rows_each, DROP_IDS),
        *what_was_filled(schema, X),
        *_about_sentinels(schema, X),
    ]


def _about_sentinels(schema: Schema, X: Table) -> list[str]:
    """Return a note on numbers that seem to stand for unknown values."""
    found = {}
    for value, names in sentinels(schema, X).items():
        found[value] = names[0] if len(names) == 1 else f"{len(names)} columns"
    options = [Parameter("missing_values", value) for value in found]
    remedy = Message("if so, add" + " {}" * len(options), *options)
    return line_about("may stand for empty cells", found, remedy)


def _are_numbers_with_a_unit(levels: list[str]) -> bool:
    """Return True if many texts are the same apart from a number."""
    # Each level without its first number
    units = {re.sub(r"\d[\d.,]*", "", level, count=1) for level in levels}
    return len(levels) >= MANY_NUMBERS and len(units) == 1 and units != {""}


def similar_labels(labels: Coded) -> list[str]:
    """Return a note on labels that differ only in case: they are different classes."""
    spellings: dict[str, list[str]] = {}
    for text in labels.texts():
        spellings.setdefault(text.casefold(), []).append(text)
    notes = []
    for words in spellings.values():
        if len(words) > 1:
            notes.append(
                f"the labels {', '.join(map(repr, words))} differ only in case, and "
                "are different classes: if they mean the same, write them alike."
            )
    return notes


def what_was_filled(schema: Schema, X: Table) -> list[str]:
    """Return notes on the empty cells of a table that a model fills."""
    filled = {}
    ways = set()
    for name, column in columns_of(X).items():
        if column.null_count and schema.style(name) != Style.AS_IT_IS:
            filled[name] = f"{column.null_count:,} of {len(X):,}"
            way = "numbers by their median"
            if schema.style(name) == Style.CATEGORY:
                way = "text as a level"
            ways.add(way)
    return line_about("filled", filled, " and ".join(sorted(ways)))


def what_is_new(unseen: dict[str, int], n_rows: int) -> list[str]:
    """Return a note on cells with levels that a model has not seen in training."""
    counts = {name: f"{count:,} of {n_rows:,}" for name, count in unseen.items()}
    remark = "they count as rare, or as no level at all where none was rare"
    return line_about("levels not seen twice in training", counts, remark)


def what_was_clipped(cells: Any) -> list[str]:
    """Return notes on `ClippedCells`, which count as the limit that they exceed."""
    # (Importing their type would import scikit-learn.)
    remark = "they count as these limits, and may be errors"
    notes = line_about("clipped", cells.far, remark)
    n, columns = cells.in_tails
    if n:
        where = counted(columns, "column")
        notes.append(f"clipped: {counted(n, 'cell')} in the tails of {where}.")
    return notes


def leaky_columns(schema: Schema, X: Table, y: np.ndarray) -> list[str]:
    """Return the columns that determine nearly every label by themselves.

    Parameters
    ----------
    schema : Schema
        The columns.
    X : Table
        The cells.
    y : array of shape (n,)
        The labels.

    Returns
    -------
    list of str
        Columns of categories each of which nearly always has the same label and, of two
        classes, columns of numbers that a threshold splits nearly perfectly.
    """
    classes, labels = np.unique(y, return_inverse=True)
    counts = np.bincount(labels)
    leaky = []
    columns = columns_of(X)
    for name in schema.of_style(Style.CATEGORY, Style.TRUTH):
        codes = coded(columns[name]).codes
        n_levels = len(np.unique(codes))
        if not len(classes) <= n_levels <= len(y) // TELLING:
            continue
        # The weight of the rows with each level and label; all classes weigh the same.
        # The last level is that of empty cells, whose code is -1.
        pairs = np.zeros((codes.max() + 2, len(classes)))
        np.add.at(pairs, (codes, labels), 1.0 / (counts[labels] * len(classes)))
        # The most frequent label of every level is predicted.
        if pairs.max(axis=1).sum() >= LEAKY:
            leaky.append(name)
    if len(classes) != 2 or counts.min() < TELLING:
        return leaky
    # What each row adds to F_0 − F_1, the difference of the distribution functions of
    # the two classes
    steps = np.where(labels == 0, 1.0 / counts[0], -1.0 / counts[1])
    for name in schema.of_style(Style.PLAIN):
        numbers = numbers_of(columns[name], Style.PLAIN)
        if np.isnan(numbers).any():
            continue
        # The balanced accuracy of the best threshold is ½ + ½ max |F_0 − F_1|: that is
        # the statistic of Kolmogorov and Smirnov, without the p-value of scipy's, which
        # takes most of the time. Equal numbers are on the same side of a threshold.
        order = np.argsort(numbers)
        last_of_equals = np.append(np.diff(numbers[order]) > 0, True)
        difference = np.cumsum(steps[order])[last_of_equals]
        if 0.5 + 0.5 * np.abs(difference).max() >= LEAKY:
            leaky.append(name)
    return leaky


def about_leaky_columns(names: list[str]) -> list[str]:
    """Return a note on columns that determine the label."""
    if not names:
        return []
    which = f"{', '.join(names)} each determine"
    if len(names) == 1:
        which = f"{names[0]} alone determines"
    drops = [Parameter("drop", name) for name in names]
    what = "{} the label (99\u202f% or more); if it is known only afterwards, leave it"
    return [Message(f"{what} out:{' {}' * len(drops)}.", which, *drops)]
