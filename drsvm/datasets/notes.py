"""Notes of a reader about the values of a table."""

from shlex import quote

import numpy as np

from drsvm.datasets.columns import looks_like_row_number
from drsvm.datasets.dataset import Schema
from drsvm.datasets.values import Column, is_missing, is_text, shown


def suspicions(columns: list[str], values: dict[str, Column]) -> list[str]:
    """Return notes on columns that do not look like features."""
    return [
        f"Column {name!r} looks like a row number, not a feature: drop it with --drop {quote(name)}."
        for name in columns
        if not is_text(values[name]) and looks_like_row_number(name, values[name])
    ]


def unknown_categories(schema: Schema, values: dict[str, Column], kept) -> list[str]:
    """Return notes on categories that the model has not seen."""
    notes = []
    for name, categories in schema.categories.items():
        unknown = {text for text in values[name][kept] if text is not None} - set(categories)
        if unknown:
            some = ", ".join(map(shown, sorted(unknown)[:3]))
            notes.append(f"Column {name!r} has categories that are not in the training file ({some}); ignored.")
    return notes


def empty_categories(schema: Schema, values: dict[str, Column], kept) -> list[str]:
    """Return notes on empty cells that an imputer does not fill: categories have no median."""
    counts = {name: int(np.count_nonzero(is_missing(values[name][kept]))) for name in schema.categories}
    return [
        f"Column {name!r} has {count} empty cells: they belong to none of its categories."
        for name, count in counts.items()
        if count
    ]
