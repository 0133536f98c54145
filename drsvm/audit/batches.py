"""How far rows move from batch to batch: the radius to audit and train with.

Movement is measured as classifiers of the batches see it.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state

from drsvm.audit.class_codes import parts_of_rows
from drsvm.audit.shift import WITHOUT_PANDAS, Shift, measure_shift
from drsvm.problem.backends import is_remote
from drsvm.problem.validation import check_label_vector
from drsvm.utils.annotations import Classifier, Labels, Matrix, Values
from drsvm.utils.arguments import about
from drsvm.utils.lazy import optional
from drsvm.utils.messages import counted, right_aligned

# Number of rows of each class that a batch needs to be trained on and audited: two in
# either half
FEWEST_ROWS = 4

# Attributes of a `Shift` that are shown, and the heads of their columns
FIGURES = {
    "moved": "moved",
    "moved_by_chance": "by chance",
    "error_before": "errors before",
    "expected_error": "expected",
    "worst_error": "at most",
    "error_now": "errors now",
}


@dataclass(frozen=True, repr=False, eq=False)
class BatchShifts:
    """Movements to batches of rows.

    Each is from the batch before it, or from the audit of a model.

    Attributes
    ----------
    names : list
        The batches that rows have moved to.
    shifts : list of Shift
        The movement to each of them.

    Examples
    --------
    `drsvm.radius_from_batches` returns one.

    >>> import numpy as np
    >>> from drsvm import WassersteinSVC, radius_from_batches
    >>> y = np.arange(300) % 2
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) + y[:, None]
    >>> batches = np.repeat([1, 2, 3], 100)
    >>> model = WassersteinSVC(radius=0.1)
    >>> shifts = radius_from_batches(model, X, y, batches, random_state=0)
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
        """The probability that the next movement is no larger than the radius.

        This holds if no order of the movements is more likely than another: then the
        next one is as likely to be the largest as any of them.
        """
        return len(self.shifts) / (len(self.shifts) + 1.0)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the figures of all batches, as columns."""
        columns = {
            "batch": self.names,
            "rows": [shift.n_after for shift in self.shifts],
        }
        for name in FIGURES:
            columns[name] = [getattr(shift, name) for shift in self.shifts]
        return columns

    def to_frame(self) -> Any:
        """Return the figures of all batches as a pandas DataFrame."""
        pandas = optional("pandas", "to_frame needs", remark=WITHOUT_PANDAS)
        return pandas.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        n = len(self.shifts)
        movements = "movement" if n == 1 else "movements"
        return f"BatchShifts: {n} {movements}, the largest {self.radius:.4g}"

    def __str__(self) -> str:
        lines = [["batch", "rows", *FIGURES.values()]]
        for name, shift in zip(self.names, self.shifts, strict=True):
            line = [str(name), f"{shift.n_after:,}"]
            for attribute in FIGURES:
                figure = getattr(shift, attribute)
                line.append("" if figure is None else f"{figure:.4f}")
            lines.append(line)
        return "\n".join([repr(self), *right_aligned(lines)])


def radius_from_batches(
    estimator: Classifier,
    X: Matrix,
    y: Labels,
    batches: Values,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> BatchShifts:
    """Measure how far rows have moved from each batch to the next.

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
        order of its first row. Otherwise, the order of the rows does not matter: which
        of them are trained on depends on what they contain.
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
    with about("X"):
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        n = X.shape[0]
    y = check_label_vector(y, n)
    names, places = parts_of_rows(batches, n, "batches", "a batch")
    if len(names) < 2:
        raise ValueError(
            f"batches has one batch, {names[0]!r}: movement needs two or more."
        )
    classes, codes = np.unique(y, return_inverse=True)
    # The last batch is not trained on.
    for place, name in enumerate(names[:-1]):
        _check_batch(name, y[places == place], classes)
    contents = _contents(X)
    in_order = sorted(range(len(y)), key=lambda row: (contents[row], codes[row]))
    order = np.array(in_order)
    parts = [order[places[order] == place] for place in range(len(names))]
    with about("random_state"):
        random = check_random_state(random_state)
    shifts = []
    for here, there in pairwise(parts):
        train, audit = train_test_split(
            here, test_size=0.5, stratify=y[here], random_state=random
        )
        with about("estimator", "X", "y"):
            model = clone(estimator).fit(_safe_indexing(X, train), y[train])
        shift = measure_shift(
            model,
            _safe_indexing(X, audit),
            y[audit],
            _safe_indexing(X, there),
            y[there],
            confidence=confidence,
            random_state=random,
        )
        shifts.append(shift)
    return BatchShifts(names[1:], shifts)


def _check_batch(name: Any, labels: np.ndarray, classes: np.ndarray) -> None:
    """Raise an error unless a batch can be split into rows to train on and to audit."""
    fewest = min(np.sum(labels == label) for label in classes)
    if fewest < FEWEST_ROWS:
        raise ValueError(
            f"batch {name!r} has {counted(fewest, 'row')} of a class, but needs "
            f"{FEWEST_ROWS}: make batches larger."
        )


def _contents(X: Matrix) -> list[Any]:
    """Return what each row contains, in a form that can be sorted."""
    if is_remote(X):
        # Rows elsewhere stay in their order.
        return [None] * X.shape[0]
    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
        entries = np.stack([X.indices, X.data], axis=1)
        return [part.tobytes() for part in np.split(entries, X.indptr[1:-1])]
    rows = np.asarray(X)
    if rows.dtype == object:
        return list(map(repr, rows.tolist()))
    return [row.tobytes() for row in rows]
