"""What a model file keeps of a test: the classifier that was tested, and what it sees of the rows of the test.

The model of a file was trained on all rows, so it does not see those of the test like
new ones. The tested classifier knows neither of them.
"""

import json
import zlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from drsvm.audit.audit_sample import AuditSample, audit_sample
from drsvm.audit.column_shifts import QUANTILES, Summary, summaries
from drsvm.audit.shift import Shift, shift_between
from drsvm.persistence.checks import Json, Model, classifiers, require
from drsvm.utils.annotations import Labels, Matrix

# what rows and columns may take in a file
ROW_BYTES = 60_000
COLUMN_BYTES = 30_000
# fixed columns: for so many pairs of classes
MOST_ROWS = ROW_BYTES // 12
MOST_FIXED = 50
MOST_COLUMNS = 1000
ARRAYS = ("codes", "prices", "distances", "fixed")


class Audit(NamedTuple):
    """A classifier, and what it sees of rows that it was not trained on."""

    model: Model
    rows: AuditSample

    def shift(
        self,
        X: Matrix,
        y: Labels | None = None,
        confidence: float = 0.95,
        random_state=None,
    ) -> Shift:
        """Return how new rows have moved from those of the test, like `drsvm.measure_shift`."""
        after = replace(
            self.seen(X, y), columns=self.summaries(cells_of(self.model, X))
        )
        return shift_between(self.rows, after, confidence, random_state)

    def seen(self, X: Matrix, y: Labels | None = None) -> AuditSample:
        """Return what the classifier sees of new rows, without summaries of their columns."""
        seen = audit_sample(self.model, X, y, {}, self.rows.classes, columns=[])
        return replace(seen, fixed=seen.fixed[: len(self.rows.fixed)])

    def summaries(self, cells: Matrix) -> list[Summary]:
        """Return summaries of the columns that are known of the test."""
        return summaries(cells, [each.name for each in self.rows.columns])

    def packed(self, saved: Model) -> Json:
        """Return an audit as plain data; its classifier may be the saved one."""
        arrays = {name: getattr(self.rows, name) for name in ARRAYS}
        arrays["codes"] = arrays["codes"].astype(
            np.min_scalar_type(len(self.rows.classes))
        )
        columns = list(map(list, self.rows.columns))
        return {
            "model": None if self.model is saved else self.model,
            "columns": columns,
            **arrays,
        }


def cells_of(model: Model, X: Matrix) -> Matrix:
    """Return the columns of a table as a model reads them, in their units.

    Rows of numbers are what they are.
    """
    if hasattr(model, "steps"):
        reader = model.steps[0][1]
    else:
        reader = None
    if reader is not None and hasattr(reader, "styles"):
        return reader.transform(X)
    return X


def sample_of(model: Model, X: Matrix, y: Labels, names: list[str]) -> AuditSample:
    """Return what a classifier sees of rows in random order, as many as a file may have, and of columns with names."""
    columns = summaries(cells_of(model, X), names if len(names) <= MOST_COLUMNS else [])
    if _size(columns) > COLUMN_BYTES:  # every third quantile, or nothing
        columns = [
            each._replace(quantiles=each.quantiles and each.quantiles[1::3])
            for each in columns
        ]
    rows = audit_sample(
        model,
        X,
        y,
        {},
        priced=True,
        columns=columns if _size(columns) <= COLUMN_BYTES else [],
    )
    rows = replace(rows, fixed=rows.fixed[:MOST_FIXED])
    n = ROW_BYTES // (4 * (len(rows.distances) + len(rows.fixed) + 2))
    return rows.some(slice(0, n), rows.columns)


def _size(columns: list[Summary]) -> int:
    return len(zlib.compress(json.dumps(columns).encode(), 1))


def restored(parts: Json, saved: Model) -> Audit:
    """Return the audit in a file; its classifiers have been checked."""
    model = saved if parts["model"] is None else parts["model"]
    classes = next(classifiers(model)).classes_
    codes, *rest = (parts[name] for name in ARRAYS)
    prices, distances, fixed = rest
    n = len(codes)
    k = len(classes)
    are_numbers = codes.dtype.kind == "u" and all(
        each.dtype == np.float32 for each in rest
    )
    fits = (
        codes.shape == prices.shape == (n,)
        and distances.shape == (1 if k == 2 else k, n)
        and fixed.shape[1:] == (n,)
    )
    require(
        are_numbers and fits and n > 0,
        "the parts of its audit do not have the same rows.",
    )
    known = (
        (codes < k).all()
        and (prices >= 0.0).all()
        and np.isfinite(fixed).all()
        and not np.isnan(distances).any()
    )
    require(
        known and len(fixed) <= MOST_FIXED,
        "its audit has labels or distances that no classifier gives.",
    )
    columns = [Summary(*each) for each in parts["columns"]]
    for name, number, quantiles, shares in columns:
        texts = [name, *shares]
        numbers = np.array([1.0, number, *(quantiles or ()), *shares.values()])
        fits = number > 0 and (
            quantiles is None or len(quantiles) in (QUANTILES // 3, QUANTILES)
        )
        fits = (
            fits
            and all(type(text) is str for text in texts)
            and numbers.dtype == np.float64
        )
        require(
            fits and np.isfinite(numbers).all(), "a column of its audit is incomplete."
        )
    return Audit(
        model,
        AuditSample(classes, distances, fixed, columns, codes.astype(int), prices),
    )
