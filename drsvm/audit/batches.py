"""How far rows move from batch to batch, as classifiers of these batches see it: the radius to audit and train with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state

from drsvm.audit.shift import Shift, measure_shift
from drsvm.utils.annotations import Classifier, Labels, Matrix, Values
from drsvm.utils.lazy import optional

FEW = 4  # rows of each class that a batch needs to be trained on and audited


@dataclass(frozen=True, repr=False, eq=False)
class BatchShifts:
    """Movements to batches of rows, each from the batch before it or from the audit of a model.

    Attributes
    ----------
    names, shifts : list, list of Shift
        The batches that rows have moved to, and the movements.

    Examples
    --------
    `drsvm.radius_from_batches` returns one.

    >>> import numpy as np
    >>> from drsvm import WassersteinSVC, radius_from_batches
    >>> X, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 2
    >>> shifts = radius_from_batches(WassersteinSVC(radius=0.1), X, y, np.repeat([1, 2, 3], 100), random_state=0)
    >>> shifts.names, shifts.radius == max(shift.moved for shift in shifts.shifts)
    ([2, 3], True)
    """

    names: list[Any]
    shifts: list[Shift]

    @property
    def radius(self) -> float:
        """The largest movement: a radius that would have covered every batch."""
        return max(shift.moved for shift in self.shifts)

    @property
    def coverage(self) -> float:
        """The probability that the next movement is no larger, if no order of the movements is more likely."""
        return len(self.shifts) / (len(self.shifts) + 1.0)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the figures of all batches, as columns."""
        figures = [
            "moved",
            "moved_by_chance",
            "error_before",
            "expected_error",
            "worst_error",
            "error_now",
        ]
        return {
            "batch": self.names,
            "rows": [shift.n_after for shift in self.shifts],
            **{
                name: [getattr(shift, name) for shift in self.shifts]
                for name in figures
            },
        }

    def to_frame(self) -> Any:
        """Return the figures of all batches as a pandas DataFrame."""
        return optional(
            "pandas", "to_frame needs", remark=" to_dict works without it."
        ).DataFrame(self.to_dict())

    def __repr__(self) -> str:
        n = len(self.shifts)
        return f"BatchShifts: {n} movement{'s' if n != 1 else ''}, the largest {self.radius:.4g}"

    def __str__(self) -> str:
        head = (
            "batch",
            "rows",
            "moved",
            "by chance",
            "errors before",
            "expected",
            "at most",
            "errors now",
        )
        numbers = zip(*self.to_dict().values(), strict=True)
        shown = (
            (name, rows, ["" if one is None else f"{one:.4f}" for one in ones])
            for name, rows, *ones in numbers
        )
        lines = [(str(name), f"{rows:,}", *figures) for name, rows, figures in shown]
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        texts = ("  ".join(map(str.rjust, line, widths)) for line in (head, *lines))
        return "\n".join([repr(self), *texts])


def radius_from_batches(
    estimator: Classifier,
    X: Matrix,
    y: Labels,
    batches: Values,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> BatchShifts:
    """Measure how far rows have moved from each batch to the next: a radius that is real.

    A classifier of one half of a batch is audited on the other half, and the next batch
    is measured against that.

    Parameters
    ----------
    estimator : estimator
        A linear classifier, a classifier with the kernel "rbf", or a Pipeline that ends
        in one; it is cloned.
    X, y : array, data frame or sparse matrix; array
        Rows of all batches, and their labels.
    batches : array of shape (n,)
        The batch of every row: numbers and dates are sorted, anything else comes in the
        order of its first row.
    confidence, random_state
        As in `drsvm.measure_shift`.

    Returns
    -------
    BatchShifts
        Its `radius` is the largest movement, to audit with, or to train with if the
        next batch is to be covered.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import WassersteinSVC, radius_from_batches
    >>> rng = np.random.default_rng(0)
    >>> month, y = np.repeat([1, 2, 3], 200), rng.integers(0, 2, 600)
    >>> X = rng.normal(size=(600, 2)) + y[:, None] + 0.3 * month[:, None]
    >>> shifts = radius_from_batches(WassersteinSVC(), X, y, month, random_state=0)
    >>> print(shifts)
    BatchShifts: 2 movements, the largest ...
    """
    batches = np.asarray(batches)
    names, parts = _in_order(batches)
    if len(batches) != X.shape[0]:
        raise ValueError(
            f"batches has {len(batches)} entries, but X has {X.shape[0]} rows: give one for every row."
        )
    if len(names) < 2:
        raise ValueError(
            f"batches has one batch, {names[0]!r}: movement needs two or more."
        )
    y = np.asarray(y)
    random = check_random_state(random_state)
    shifts = []
    for name, here, there in zip(names, parts, parts[1:], strict=False):
        least = min(np.sum(y[here] == label) for label in np.unique(y))
        if least < FEW:
            raise ValueError(
                f"batch {name!r} has {least} rows of a class, but needs {FEW}: make batches larger."
            )
        train, audit = train_test_split(
            here, test_size=0.5, stratify=y[here], random_state=random
        )
        model = clone(estimator).fit(_safe_indexing(X, train), y[train])
        (X_audit, y_audit), new = (
            (_safe_indexing(X, rows), y[rows]) for rows in (audit, there)
        )
        shifts.append(
            measure_shift(
                model,
                X_audit,
                y_audit,
                *new,
                confidence=confidence,
                random_state=random,
            )
        )
    return BatchShifts(names[1:], shifts)


def _in_order(batches: np.ndarray) -> tuple[list[Any], list[np.ndarray]]:
    """Return the names of batches in their order, and the rows of each."""
    names, first, codes = np.unique(batches, return_index=True, return_inverse=True)
    if names.dtype.kind in "biufM":
        order = np.arange(len(names))
    else:
        order = np.argsort(first)
    return names[order].tolist(), [
        np.flatnonzero(codes.ravel() == code) for code in order
    ]
