"""How far new rows have moved, as a classifier sees it, and what errors to expect."""

import math
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import numpy as np

from drsvm.audit.audit_sample import AuditSample, audit_sample
from drsvm.audit.column_shifts import ColumnShift, column_shifts
from drsvm.audit.confidence import band, check_confidence
from drsvm.audit.movement import Pooled, by_chance, expected_errors
from drsvm.problem.risk import knapsack
from drsvm.utils.annotations import Classifier, Labels, Matrix, NormName, Values
from drsvm.utils.arguments import about
from drsvm.utils.lazy import optional

# Number of columns that are printed
SHOWN = 5
# What the error says besides how to install pandas
WITHOUT_PANDAS = " to_dict works without it."


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Shift:
    """How new rows differ from audited ones.

    Printed with what it does and does not say.

    Attributes
    ----------
    moved, moved_by_chance : float
        How far the new rows have moved as the classifier sees it, in the units of its
        shifts: the least distance that rows have moved on average, however they are
        paired. With more than two classes, the largest for any class. And what it
        exceeds with probability 1 − `confidence` if both are drawn from one population.
    moved_fixed : float or None
        The same for what columns with an infinite `feature_cost` add to the decisions;
        None if there are none.
    error_before, expected_error : float
        The error rate on the audited rows, and on the new ones if they moved as little
        as possible and kept their labels: the shares of the classes have not changed.
    predicted_before, predicted_now : dict
        The shares of the predicted classes, by their labels: without labels, this is
        what is seen of a change of the shares.
    worst_error : float
        What the error rate on rows like the new ones is below, with this confidence, if
        rows and their labels moved by no more than `moved`. They may have moved more:
        labels are not seen.
    columns : list
        `name`, `distance` (in the units of the column; of texts: the share that is
        another one), `by_chance` and `size` (in standard deviations) of the columns
        that moved, the largest first.
    error_now : float or None
        The error rate on the new rows, if their labels are known.
    shares_before, shares_now : dict or None
        The shares of the classes, by their labels.
    moved_within_classes : float or None
        How far rows have moved if each class moved by itself, with the shares of the
        classes as they were. None if a class is gone, or `moved` would be infinite.
    relation, relation_by_chance : float or None
        By how much this exceeds the movement at equal shares, and what it exceeds by
        chance: a change of the relation between features and labels.
    n_before, n_after, confidence : int, int, float
        Numbers of rows, and the confidence.
    before, after : AuditSample
        What the classifier sees of the rows, such as their signed distances.

    Examples
    --------
    `drsvm.measure_shift` returns one.

    >>> from drsvm import measure_shift
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [-1, -1, 1, 1]
    >>> X_new = [[-1.5], [-0.5], [1.5], [2.5]]
    >>> shift = measure_shift(([1.0], 0.0), X, y, X_new, random_state=0)
    >>> shift.moved, shift.error_before, shift.expected_error
    (0.5, 0.0, 0.0)
    """

    moved: float
    moved_by_chance: float
    moved_fixed: float | None
    error_before: float
    expected_error: float
    worst_error: float
    columns: list[ColumnShift]
    predicted_before: dict[Any, float]
    predicted_now: dict[Any, float]
    error_now: float | None = None
    shares_before: dict[Any, float]
    shares_now: dict[Any, float] | None = None
    moved_within_classes: float | None = None
    relation: float | None = None
    relation_by_chance: float | None = None
    n_before: int
    n_after: int
    confidence: float
    before: AuditSample
    after: AuditSample

    @property
    def more_than_chance(self) -> bool:
        """Whether the rows have moved by more than chance explains."""
        return self.moved > self.moved_by_chance

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        figures = dict(vars(self))
        del figures["before"], figures["after"]
        figures["columns"] = [column._asdict() for column in self.columns]
        return figures

    def to_frame(self) -> Any:
        """Return the columns that moved as a pandas DataFrame."""
        pandas = optional("pandas", "to_frame needs", remark=WITHOUT_PANDAS)
        return pandas.DataFrame(self.columns)

    def lines(self) -> list[tuple[str, str]]:
        """Return names and figures as texts."""
        explained = "more" if self.more_than_chance else "no more"
        words = f"{explained} than chance explains ({self.moved_by_chance:.4g})"
        # Both may be infinite, which says nothing about chance.
        if self.moved == math.inf:
            words = "since no shift leads from one decision to the other"
        lines = [("moved", f"{self.moved:.4g}, {words}")]
        if self.moved_fixed is not None:
            lines.append(("by columns that cannot shift", f"{self.moved_fixed:.4g}"))
        lines.append(("errors before", f"{self.error_before:.2%}"))
        lines.append(("expected now", f"{self.expected_error:.2%}"))
        if self.worst_error < 1.0:
            lines.append(("at most", f"{self.worst_error:.2%}, see below"))
        else:
            lines.append(("at most", "no bound: they have moved too far"))
        predicted = _changes(self.predicted_before, self.predicted_now)
        lines.append(("predicted", predicted))
        if self.error_now is not None and self.shares_now is not None:
            lines.append(("errors now", f"{self.error_now:.2%}"))
            lines.append(("classes", _changes(self.shares_before, self.shares_now)))
        if self.relation is not None:
            chance = f"by chance up to {self.relation_by_chance:.4g}"
            lines.append(("within classes", f"{self.moved_within_classes:.4g}"))
            lines.append(("of that, the relation", f"{self.relation:.4g} ({chance})"))
        lines.append(("columns", self._columns_in_words()))
        return lines

    def _columns_in_words(self) -> str:
        """Return the columns that moved by more than chance, the largest first."""
        if not self.before.columns:
            return "are not compared"
        moved = [
            column for column in self.columns if column.distance > column.by_chance
        ]
        if not moved:
            return "none has moved by more than chance"
        return ", ".join(map(str, moved[:SHOWN]))

    def remark(self) -> str:
        """Return under which conditions the figures hold."""
        return (
            f"The bound has {self.confidence:.0%} confidence. It is for rows that "
            "moved, labels included, by no more than the classifier sees: without "
            "labels it cannot see rows of two classes change places. The expected "
            "error is for classes that keep their shares: a change of these breaks it, "
            "and without labels only the shares of predicted classes are seen."
        )

    def __repr__(self) -> str:
        rows = "new row" if self.n_after == 1 else "new rows"
        return (
            f"Shift: {self.n_after:,} {rows} against {self.n_before:,} audited ones, "
            f"moved by {self.moved:.4g}"
        )

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(name) for name, _ in lines)
        figures = [f"  {name:{width}}  {text}" for name, text in lines]
        return "\n".join([repr(self), *figures, self.remark()])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _changes(before: dict[Any, float], now: dict[Any, float]) -> str:
    """Return the shares of classes before and now, in words."""
    shares = []
    for name, share in before.items():
        shares.append(f"{name}: {share:.1%} → {now[name]:.1%}")
    return ", ".join(shares)


def measure_shift(
    model: Classifier,
    X: Matrix,
    y: Labels,
    X_new: Matrix,
    y_new: Labels | None = None,
    *,
    norm: NormName | None = None,
    feature_cost: Values = None,
    classes: Values = None,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> Shift:
    """Measure how far new rows have moved from audited ones, as a classifier sees it.

    Rows are compared by their signed distances from the boundary. The least distance by
    which they have moved is exact; what it means for the errors depends on labels,
    which need not be known.

    Parameters
    ----------
    model
        As in `drsvm.worst_case_risk`.
    X, y, X_new, y_new : arrays, data frames or sparse matrices, and arrays
        Audited rows, which the model was not trained on, and new rows; `y_new` may be
        unknown. On a Dask cluster or a GPU, the decision values are fetched,
        and columns are compared by samples. The order of the rows does not matter,
        except to the columns of more than 10,000 rows, of which evenly spaced ones are
        compared.
    norm, feature_cost, classes : optional
        As in `drsvm.worst_case_risk`, with the same defaults.
    confidence : float
        Of `worst_error`, and for what chance explains.
    random_state : int, RandomState instance or None
        Of the random splits for what chance explains.

    Returns
    -------
    Shift
        How far the rows have moved, and what that means for the errors.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import WassersteinSVC, measure_shift
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 300)
    >>> X = rng.normal(size=(600, 2)) + y[:, None]
    >>> model = WassersteinSVC().fit(X[::2], y[::2])
    >>> shift = measure_shift(model, X[1::2], y[1::2], X[1::2] + 0.5, random_state=0)
    >>> shift.more_than_chance, shift.expected_error > shift.error_before
    (True, True)
    """
    given = {"norm": norm, "feature_cost": feature_cost}
    check_confidence(confidence)
    if y is None:
        raise ValueError("y must be the labels of X, got None.")
    before = audit_sample(model, X, y, given, classes, with_error_costs=True)
    with about("X_new", "y_new"):
        after = audit_sample(model, X_new, y_new, given, before.classes)
    return shift_between(before, after, confidence, random_state)


def shift_between(
    before: AuditSample,
    after: AuditSample,
    confidence: float,
    random_state: Any,
) -> Shift:
    """Return how new rows differ from audited ones, given what is known of both."""
    if hasattr(random_state, "randint"):
        # A RandomState: numpy's generators take a seed.
        random_state = random_state.randint(2**31)
    with about("random_state"):
        random = np.random.default_rng(random_state)
    given = (before, after)
    # Random splits are the same whatever the order of the rows.
    before = before.in_order()
    after = after.in_order()
    # How far the rows have moved, and what would be by chance
    pooled = Pooled(before.distances, after.distances)
    masses = pooled.masses()
    moved = pooled.distances(masses)
    moved_by_chance = by_chance(
        lambda of_split: pooled.distances(of_split).max(),
        masses,
        pooled.order.size,
        confidence,
        random,
    )
    moved_fixed = None
    if len(before.fixed):
        fixed = Pooled(before.fixed, after.fixed)
        moved_fixed = float(fixed.distances(masses).max())
    # The worst case of the audited rows, within the sum of the distances of all classes
    n = len(before.codes)
    radius = moved.sum()
    worst_error = 1.0
    # Within an infinite radius, errors of infinite cost are possible, too.
    if np.isfinite(radius):
        in_sample = knapsack(
            before.error_costs.astype(np.float64),
            np.ones(n),
            np.full(n, 1.0 / n),
            np.array([radius]),
        )
        worst_error = min(float(in_sample[0] + band(confidence, n)), 1.0)
    with_labels = {}
    if after.codes is not None:
        with_labels = _with_labels(before, after, pooled, confidence, random)
    return Shift(
        moved=float(moved.max()),
        moved_by_chance=moved_by_chance,
        moved_fixed=moved_fixed,
        error_before=float(before.errors.mean()),
        expected_error=expected_errors(before.by_class, before.codes, after.by_class),
        worst_error=worst_error,
        columns=column_shifts(before.columns, after.columns),
        predicted_before=before.by_name(before.predicted_shares),
        predicted_now=before.by_name(after.predicted_shares),
        shares_before=before.by_name(before.shares),
        **with_labels,
        n_before=n,
        n_after=after.distances.shape[1],
        confidence=confidence,
        before=given[0],
        after=given[1],
    )


def _with_labels(
    before: AuditSample,
    after: AuditSample,
    pooled: Pooled,
    confidence: float,
    random: np.random.Generator,
) -> dict[str, Any]:
    """Return the figures that depend on the labels of the new rows."""
    shares = before.shares
    figures: dict[str, Any] = {
        "error_now": float(after.errors.mean()),
        "shares_now": before.by_name(after.shares),
    }
    if (after.shares[shares > 0.0] == 0.0).any():
        # A class that is gone has not moved anywhere: there is no distance.
        return figures
    codes = np.concatenate([before.codes, after.codes])
    masses = pooled.masses()
    within, together = _movements(pooled, codes, shares, masses)
    if np.isinf(together).any():
        # Nor is there a difference of infinite distances.
        return figures
    relation = partial(_change_of_relation, pooled, codes, shares)
    figures["moved_within_classes"] = float(within.max())
    # Without a change, differences of equal sums leave rounding errors.
    figures["relation"] = round(max(relation(masses), 0.0), 9)
    figures["relation_by_chance"] = by_chance(
        relation,
        masses,
        (len(shares) + 1) * pooled.order.size,
        confidence,
        random,
    )
    return figures


def _movements(
    pooled: Pooled,
    codes: np.ndarray,
    shares: np.ndarray,
    masses: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far classes moved by themselves, and all rows together.

    Both are for every distance, with the shares of the classes as they were. Rows with
    positive masses are those before.
    """
    is_old = masses > 0.0
    n_old = np.bincount(codes[is_old], minlength=len(shares))
    n_new = np.bincount(codes[~is_old], minlength=len(shares))
    # A class without rows has the share 0, or is missing in a random split.
    mass_of_old = shares / np.maximum(n_old, 1)
    mass_of_new = shares / np.maximum(n_new, 1)
    at_equal_shares = np.where(is_old, mass_of_old[codes], -mass_of_new[codes])
    within = np.zeros(len(pooled.order))
    for code in np.flatnonzero(shares):
        of_class = np.where(codes == code, at_equal_shares, 0.0)
        within += pooled.distances(of_class)
    return within, pooled.distances(at_equal_shares)


def _change_of_relation(
    pooled: Pooled,
    codes: np.ndarray,
    shares: np.ndarray,
    masses: np.ndarray,
) -> float:
    """Return by how much classes have moved more by themselves than together.

    Together, rows of one class may take the places of another; by themselves, they
    cannot. So this is what a change of the relation of features and labels adds.
    """
    within, together = _movements(pooled, codes, shares, masses)
    # Random splits may have a class that moves infinitely far, with the others or not.
    together[np.isinf(within)] = 0.0
    return float((within - together).max())
