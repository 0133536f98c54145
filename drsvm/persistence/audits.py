"""What a model file keeps of a test: the classifier that was tested, and its view.

The model of a file was trained on all rows, those of the test included, so its
decisions about these are not like those about new rows. The classifier that was tested
has seen neither. Its view of a row is the signed distances from its boundaries, the
label, and the cost of its error; the row itself is not kept.
"""

import json
import zlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from drsvm.audit.audit_sample import AuditSample, audit_sample
from drsvm.audit.column_shifts import EMPTY, QUANTILES, Summary, summaries
from drsvm.audit.shift import Shift, shift_between
from drsvm.persistence.checks import Json, Model, classifiers, require
from drsvm.utils.annotations import Labels, Matrix

# The bytes that rows and columns may take in a file
ROW_BYTES = 60_000
COLUMN_BYTES = 30_000
ENTRY_BYTES = 4  # what a number of a row takes
# A row has at least three numbers: its label, the cost of its error, and a distance.
MOST_ROWS = ROW_BYTES // (3 * ENTRY_BYTES)
# Columns that cannot shift are known for at most this many pairs of classes.
MOST_FIXED = 50
# If there are more columns, none is kept.
MOST_COLUMNS = 1000
# If all quantiles of the columns take too many bytes, every third one is kept.
EVERY = 3


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
        """Return how new rows have moved from those of the test.

        Parameters and result are those of `drsvm.measure_shift`.
        """
        columns = self.summaries(cells_of(self.model, X))
        after = replace(self.seen(X, y), columns=columns)
        return shift_between(self.rows, after, confidence, random_state)

    def seen(self, X: Matrix, y: Labels | None = None) -> AuditSample:
        """Return what the classifier sees of new rows, without their columns."""
        seen = audit_sample(self.model, X, y, {}, self.rows.classes, columns=[])
        return replace(seen, fixed=seen.fixed[: len(self.rows.fixed)])

    def summaries(self, cells: Matrix) -> list[Summary]:
        """Return summaries of the columns that are known of the test."""
        return summaries(cells, [column.name for column in self.rows.columns])

    def packed(self, saved: Model) -> Json:
        """Return an audit as plain data.

        If the saved model is that which was tested, it is not written twice: None
        stands for it.
        """
        rows = self.rows
        # Labels as numbers of one byte, if there are few classes
        smallest = np.min_scalar_type(len(rows.classes))
        return {
            "model": None if self.model is saved else self.model,
            "columns": list(map(list, rows.columns)),
            "codes": rows.codes.astype(smallest),
            # Files have a former name of these costs.
            "prices": _in_32_bits(rows.error_costs),
            "distances": _in_32_bits(rows.distances),
            "fixed": _in_32_bits(rows.fixed),
        }


def _in_32_bits(numbers: np.ndarray) -> np.ndarray:
    """Return numbers of 32 bits, the largest of them for what is larger but finite."""
    largest = np.finfo(np.float32).max
    bounded = np.clip(numbers, -largest, largest)
    return np.where(np.isinf(numbers), numbers, bounded).astype(np.float32)


def cells_of(model: Model, X: Matrix) -> Matrix:
    """Return the columns of a table as a model reads them, in their units.

    Rows for a model without a `TableReader` are returned as they are.
    """
    if hasattr(model, "steps"):
        reader = model.steps[0][1]
        if hasattr(reader, "text_columns"):
            return reader.transform(X)
    return X


def sample_of(model: Model, X: Matrix, y: Labels, names: list[str]) -> AuditSample:
    """Return what a classifier sees of as many rows and columns as a file may have.

    Parameters
    ----------
    model : classifier or Pipeline
        The classifier that was tested.
    X : matrix of shape (n, d)
        The rows of the test, in random order: the first ones are kept.
    y : array of shape (n,)
        Their labels.
    names : list of str
        The names of the columns.

    Returns
    -------
    AuditSample
    """
    columns = []
    if len(names) <= MOST_COLUMNS:
        columns = summaries(cells_of(model, X), names)
        columns = list(map(_without_single_levels, columns))
    if _size(columns) > COLUMN_BYTES:
        columns = list(map(_with_fewer_quantiles, columns))
    if _size(columns) > COLUMN_BYTES:
        columns = []
    sample = audit_sample(model, X, y, {}, with_error_costs=True, columns=columns)
    sample = replace(sample, fixed=sample.fixed[:MOST_FIXED])
    # Besides its distances, a row has its label and the cost of its error.
    n_numbers = len(sample.distances) + len(sample.fixed) + 2
    n = ROW_BYTES // (ENTRY_BYTES * n_numbers)
    return sample.some(slice(0, n), columns)


def _without_single_levels(column: Summary) -> Summary:
    """Return the summary of a column without texts that occur once."""
    shares = {}
    for level, share in column.shares.items():
        if level == EMPTY or round(share * column.n) > 1:
            shares[level] = share
    return column._replace(shares=shares)


def _with_fewer_quantiles(column: Summary) -> Summary:
    """Return the summary of a column with a third of its quantiles."""
    if column.quantiles is None:
        return column
    return column._replace(quantiles=column.quantiles[1::EVERY])


def _size(columns: list[Summary]) -> int:
    """Return about how many bytes summaries take in a file."""
    return len(zlib.compress(json.dumps(columns).encode(), 1))


def restored(parts: Json, saved: Model) -> Audit:
    """Return the audit in a file; its classifiers have been checked.

    Parameters
    ----------
    parts : dict
        What `Audit.packed` returns, as read from the file.
    saved : classifier or Pipeline
        The model of the file.

    Raises
    ------
    RejectedError
        If the parts do not fit together, so that a use of the audit would fail.
    """
    model = parts["model"]
    if model is None:
        model = saved
    classes = next(classifiers(model)).classes_
    codes = parts["codes"]
    error_costs = parts["prices"]
    distances = parts["distances"]
    fixed = parts["fixed"]
    what = "the parts of its audit do not have the same rows."
    require(codes.dtype.kind == "u", what)
    for array in (error_costs, distances, fixed):
        require(array.dtype == np.float32, what)
    n = len(codes)
    # Two classes are told apart by one function, several by one each.
    n_functions = len(classes)
    if n_functions == 2:
        n_functions = 1
    require(n > 0 and codes.shape == error_costs.shape == (n,), what)
    require(distances.shape == (n_functions, n) and fixed.shape[1:] == (n,), what)
    what = "its audit has labels or distances that no classifier gives."
    require((codes < len(classes)).all() and (error_costs >= 0.0).all(), what)
    require(np.isfinite(fixed).all() and not np.isnan(distances).any(), what)
    require(len(fixed) <= MOST_FIXED, what)
    columns = []
    for values in parts["columns"]:
        column = Summary(*values)
        require(_is_whole(column), "a column of its audit is incomplete.")
        columns.append(column)
    rows = AuditSample(
        classes, distances, fixed, columns, codes.astype(int), error_costs
    )
    return Audit(model, rows)


def _is_whole(column: Summary) -> bool:
    """Return True if a summary has names as text, and finite numbers."""
    quantiles = column.quantiles
    if quantiles is None:
        quantiles = []
    elif len(quantiles) not in (QUANTILES, QUANTILES // EVERY):
        return False
    for text in (column.name, *column.shares):
        if type(text) is not str:
            return False
    # With a float among them, plain numbers become an array of floats.
    numbers = np.array([1.0, column.n, *quantiles, *column.shares.values()])
    if numbers.dtype != np.float64 or not np.isfinite(numbers).all():
        return False
    return column.n > 0
