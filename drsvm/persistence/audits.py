"""What a model file keeps of a test: the classifier that was tested, and what it sees of the rows of the test.

The model of a file was trained on all rows, so it sees new ones unlike those of the test. The tested classifier does not
know either of them.
"""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from drsvm.annotations import Labels, Matrix
from drsvm.persistence.checks import Json, Model, classifiers, require

if TYPE_CHECKING:  # at run time, this would import scipy
    from drsvm.model.new_data.columns import Summary
    from drsvm.model.new_data.seen import SeenRows
    from drsvm.model.new_data.shift import Shift

ROW_BYTES, COLUMN_BYTES = 60_000, 30_000  # what rows and columns may take in a file
MOST_ROWS = ROW_BYTES // 12  # with two classes
MOST_FIXED = 50  # pairs of classes for which fixed columns are compared
FEWER = 3  # one of so many quantiles is kept where there are many columns
MOST_COLUMNS = COLUMN_BYTES // 88  # with eleven quantiles each


class Audit(NamedTuple):
    """A classifier, and what it sees of rows that it was not trained on. `drsvm.persistence.load_audit` returns one.

    Attributes
    ----------
    model : estimator
        The classifier that was tested.
    rows : SeenRows
        Signed distances, labels and prices of its test rows, and summaries of their columns.
    """

    model: Model
    rows: "SeenRows"

    def shift(
        self, X: Matrix, y: Labels | None = None, *, confidence: float = 0.95, random_state: int | None = None
    ) -> "Shift":
        """Return how new rows have moved from those of the test, like `drsvm.measure_shift`."""
        from drsvm.model.new_data.shift import shift_between

        after = replace(self.seen(X, y), columns=self.summaries(cells_of(self.model, X)))
        return shift_between(self.rows, after, confidence, random_state)

    def seen(self, X: Matrix, y: Labels | None = None) -> "SeenRows":
        """Return what the classifier sees of new rows, without a summary of their columns."""
        from drsvm.model.new_data.seen import seen_rows

        seen = seen_rows(self.model, X, y, {}, self.rows.classes, columns=[])
        return replace(seen, fixed=seen.fixed[: len(self.rows.fixed)])

    def summaries(self, cells: Matrix) -> "list[Summary]":
        """Return summaries of the columns that are known of the test."""
        from drsvm.model.new_data.columns import summaries

        names = [each.name for each in self.rows.columns]
        return summaries(cells, names) if names else []


def cells_of(model: Model, X: Matrix) -> Matrix:
    """Return the columns of a table as a model reads them, in their units; rows of numbers are what they are."""
    reader = model.steps[0][1] if hasattr(model, "steps") else None
    return reader.transform(X) if hasattr(reader, "styles") else X


def sample_of(model: Model, X: Matrix, y: Labels, names: list[str]) -> "SeenRows":
    """Return what a classifier sees of rows in random order, of as many as a file may have.

    Their columns get the given names; without names, or with too many of them, no columns are kept.
    """
    from drsvm.model.new_data.columns import summaries
    from drsvm.model.new_data.seen import seen_rows

    columns = _limited(summaries(cells_of(model, X), names)) if 0 < len(names) <= MOST_COLUMNS else []
    rows = seen_rows(model, X, y, {}, priced=True, columns=[])
    fixed = rows.fixed if len(rows.fixed) <= MOST_FIXED else rows.fixed[:0]
    n = ROW_BYTES // (4 * (len(rows.distances) + len(fixed) + 2))
    return replace(rows, fixed=fixed).some(slice(0, n), columns)


def _limited(columns: "list[Summary]") -> "list[Summary]":
    """Return the summaries, perhaps with fewer quantiles, or none if they would take too much."""
    for step in (1, FEWER):
        kept = [
            each if each.quantiles is None else each._replace(quantiles=each.quantiles[step // 2 :: step])
            for each in columns
        ]
        parts = _packed(kept)
        if sum(map(len, map(json.dumps, (parts["names"], parts["levels"])))) + sum(
            parts[name].nbytes for name in ("quantiles", "shares")
        ) <= COLUMN_BYTES:
            return kept
    return []


def packed(audit: Audit, saved: Model) -> Json:
    """Return an audit as plain data; its classifier may be the saved one."""
    rows = audit.rows
    assert rows.codes is not None
    return {
        "model": None if audit.model is saved else audit.model,
        "codes": rows.codes.astype(np.min_scalar_type(len(rows.classes))),
        **{name: getattr(rows, name) for name in ("prices", "distances", "fixed")},
        **_packed(rows.columns),
    }


def _packed(columns: "list[Summary]") -> Json:
    """Return summaries as lists and arrays, with NaN where a column has no quantiles."""
    width = max((0 if each.quantiles is None else len(each.quantiles) for each in columns), default=0)
    none = np.full(width, np.nan)
    return {
        "names": [each.name for each in columns],
        "n": columns[0].n if columns else 0,
        "levels": [list(each.shares) for each in columns],
        "shares": np.array([share for each in columns for share in each.shares.values()], dtype=np.float64),
        "quantiles": np.array([none if each.quantiles is None else each.quantiles for each in columns]).reshape(len(columns), width),
    }


def restored(parts: Json, saved: Model) -> Audit | None:
    """Return the audit in a file, if there is one; its classifiers have been checked."""
    from drsvm.model.new_data.seen import SeenRows

    if parts is None:
        return None
    model = saved if parts["model"] is None else parts["model"]
    classes = next(classifiers(model)).classes_
    codes, *rest = (parts[name] for name in ("codes", "prices", "distances", "fixed"))
    n, k = len(codes), len(classes)
    kinds = codes.ndim == 1 and codes.dtype.kind == "u" and all(each.dtype == np.float32 for each in rest)
    require(kinds and n > 0 and (codes < k).all(), "the rows of its audit have no labels, or distances of another kind.")
    prices, distances, fixed = rest
    fits = prices.shape == (n,) and distances.shape == (1 if k == 2 else k, n) and fixed.shape[1:] == (n,)
    require(fits and len(fixed) <= k * (k - 1) // 2, "the parts of its audit do not have the same rows.")
    known = not np.isnan(distances).any() and bool((prices >= 0.0).all()) and bool(np.isfinite(fixed).all())
    require(known, "its audit has distances that are no numbers.")
    columns = _restored(*(parts[name] for name in ("names", "n", "levels", "shares", "quantiles")))
    return Audit(model, SeenRows(classes, distances, fixed, columns, codes.astype(int), prices))


def _restored(names: Json, n: Json, levels: Json, shares: np.ndarray, quantiles: np.ndarray) -> "list[Summary]":
    from drsvm.model.new_data.columns import QUANTILES, Summary

    are_lists = [type(each) for each in (names, levels, *levels)] == [list] * (len(names) + 2)
    texts = [*names, *(level for each in levels for level in each)] if are_lists else [0]
    require(all(isinstance(text, str) for text in texts), "the columns of its audit have no names.")
    ends = np.cumsum([0, *map(len, levels)])
    fits = type(n) is int and n >= bool(names) and shares.shape == (ends[-1],) and quantiles.ndim == 2
    fits = fits and len(quantiles) == len(names) and quantiles.shape[1] in (0, QUANTILES // FEWER, QUANTILES)
    fits = fits and shares.dtype == quantiles.dtype == np.float64 and bool(np.isfinite(shares).all())
    require(fits, "the columns of its audit do not have the same parts.")
    parts = zip(names, quantiles, levels, ends, ends[1:], strict=False)
    return [
        Summary(name, n, numbers if len(numbers) and np.isfinite(numbers).all() else None, dict(zip(texts, shares[i:j].tolist(), strict=True)))
        for name, numbers, texts, i, j in parts
    ]
