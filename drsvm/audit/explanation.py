"""Why a classifier decides rows as it does: contributions, and turning shifts.

A linear decision f(x) = w·x + b is a sum over features. The smallest shift that turns
it has the length abs f(x) / ‖w/a‖_q: the distance from a hyperplane in any norm [1]_.

References
----------
.. [1] O. L. Mangasarian, "Arbitrary-norm separating plane", Operations Research Letters
   24, 1999.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.audit.adversary import Adversary
from drsvm.audit.class_codes import PREDICTED
from drsvm.audit.column_sources import (
    Columns,
    columns_behind,
    named_after,
    shown_names,
)
from drsvm.audit.decision_values import DecisionValues, decision_values, values_at
from drsvm.audit.model_layers import final_classifier, index_of
from drsvm.audit.worst_case import adversary_for, ball_of
from drsvm.problem.memory_rows import dense
from drsvm.problem.validation import check_weight_vector
from drsvm.utils.annotations import Classifier, Matrix, NormName, Values
from drsvm.utils.lazy import cached_property, optional
from drsvm.utils.messages import number
from drsvm.utils.parallel import slices

# Number of contributions that are ranked together: 80 MB
MAX_RANKED = 10**7
# In place of the infinite distance of a class that no shift reaches: it is still less
# than that to the row's own class
FAR = np.finfo(np.float64).max


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Contributions to the decisions of rows, and the shifts that turn them.

    `drsvm.explain` returns it.

    Attributes
    ----------
    decision : array of shape (n,)
        With two classes, the decision value: positive for the second of them, or for
        `positive`. With more, by how much the predicted class leads the one whose
        boundary is nearest.
    prediction, turns_to : arrays of shape (n,)
        The predicted label, and the one on the other side of the nearest boundary. For
        (coef, intercept) and a Result, -1 and 1, or the numbers of the classes.
    base : array of shape (n,)
        The decision at the centre. ``contributions.sum(axis=1) + base`` is `decision`.
    distance : array of shape (n,)
        The size of the smallest shift that turns the decision, in the features of the
        last step: f(x) / ‖w/a‖_q without its sign; inf if none does (w = 0, or only
        features that cannot shift have a weight). For a kernel, no shorter shift turns
        it.
    features : list of str
        Names of the columns of `contributions`. For a kernel they are rows of the
        training.

    Examples
    --------
    >>> from drsvm import explain
    >>> found = explain(([2.0, -1.0], 0.5), [[1.0, 0.5], [0.0, 3.0]])
    >>> found
    Explanation(2 rows, 2 features; distance 0.894 to 1.12; largest on average:
    feature 1 1.75, feature 0 1)
    >>> found.contributions.tolist()
    [[2.0, -0.5], [0.0, -3.0]]
    >>> found.reasons(1)
    ['feature 0 = 1 (+2)', 'feature 1 = 3 (-3)']
    """

    decision: np.ndarray
    prediction: np.ndarray
    turns_to: np.ndarray
    base: np.ndarray
    distance: np.ndarray
    features: list[str]
    _data: DecisionValues
    # None for a kernel
    _columns: Columns | None
    # Weights of a class minus those of another one, for each pair of classes that is
    # compared in some row: an array of shape (number of pairs, d)
    _leads: np.ndarray
    # Directions of the smallest shift between the classes of each pair
    _directions: np.ndarray
    # The place of each row's pair among them
    _pair: np.ndarray
    # The row that contributions are measured from, if it is not 0
    _centre: np.ndarray | None
    # Of the data frame, if there is one
    _index: Any

    @cached_property
    def contributions(self) -> Matrix:
        """``w_j (x_j − centre_j)`` of shape (n, number of `features`).

        They are added up by column, and sparse for sparse rows.
        """
        kernel = self._data.kernel
        if kernel is not None:
            points = kernel.scaled(self._data.X)
            values = kernel.function.values(points, kernel.landmarks)
            return values * self._leads[self._pair]
        terms = self._data.X.astype(np.float64)
        if sparse.issparse(terms) and self._centre is None:
            # The pair of the row of every entry
            pairs = np.repeat(self._pair, np.diff(terms.indptr))
            terms.data *= self._leads[pairs, terms.indices]
        else:
            terms = dense(terms)
            if self._centre is not None:
                terms = terms - self._centre
            terms = terms * self._leads[self._pair]
        if self._columns is not None and self._columns.steps:
            return terms @ self._columns.by_column
        return terms

    @cached_property
    def _turning(self) -> tuple[list[str] | None, np.ndarray | None]:
        """Names of columns and the shift of these that turns each decision."""
        if self._columns is None:
            return None, None
        lengths = np.where(np.isfinite(self.distance), self.distance, 0.0)
        against = -np.sign(self.decision) * lengths
        # Adding 0 turns −0 into 0.
        change = against[:, None] * self._directions[self._pair] + 0.0
        shift = self._columns.shift_for(change)
        if shift is not None:
            return self.features, shift
        names = shown_names(self._data.feature_names, change.shape[1])
        return named_after(self._columns.steps, names, self.features), change

    @property
    def turning_shift(self) -> np.ndarray | None:
        """The smallest shift that turns each decision.

        It has the shape (n, number of `shift_features`) and ends on the boundary; any
        longer one turns the decision. It is 0 where no shift does, and None for a
        kernel. If each column has one feature, the shift is in the units of the
        columns, and NaN in rows where none was found to have that effect (a step
        clips or rounds cells, or mixes columns); otherwise it is in the features of the
        last step.
        """
        return self._turning[1]

    @property
    def shift_features(self) -> list[str] | None:
        """Columns of `turning_shift`: `features`, or the features of the last step."""
        return self._turning[0]

    def reasons(
        self, k: int = 3, shown: Callable[[int, float], str] | None = None
    ) -> list[str]:
        """Return the k largest contributions to each decision as text.

        For instance "age = 61 (+0.84), town = Rome (-0.3)". `shown` turns a number in a
        column, given by its place, into text.
        """
        # Names are shown in one line.
        names = [" ".join(name.split()) for name in self.features]
        texts = []
        size = max(1, MAX_RANKED // len(names))
        for part in slices(len(self.decision), size):
            terms = dense(self.contributions[part])
            largest = np.argsort(-np.abs(terms), axis=1, kind="stable")[:, :k]
            cells = self._cells(part)
            for row, places in enumerate(largest.tolist()):
                reasons = []
                for j in places:
                    term = terms[row, j]
                    if term == 0.0:
                        continue
                    value = ""
                    if cells is not None:
                        value = _in_words(j, cells[row, j], shown)
                    reasons.append(f"{names[j]}{value} ({term:+.3g})")
                texts.append(", ".join(reasons))
        if len(self._data.coef) > 2:
            for row, label in enumerate(self.turns_to.tolist()):
                texts[row] = f"rather than {label}: {texts[row]}"
        return texts

    def _cells(self, part: slice) -> np.ndarray | None:
        """Return the cells of some rows of the table, as an array."""
        if self._columns is None:
            return None
        cells = self._columns.table[part]
        if hasattr(cells, "to_numpy"):
            return cells.to_numpy()
        return dense(cells)

    def to_frame(self):
        """Return figures and contributions as a pandas DataFrame.

        The columns are prediction, turns_to, decision, distance, base and those of the
        contributions. pandas must be installed.
        """
        pandas = optional("pandas", "to_frame needs")
        names = ["prediction", "turns_to", "decision", "distance", "base"]
        figures = {name: getattr(self, name) for name in names}
        contributions = pandas.DataFrame(
            dense(self.contributions), columns=self.features, index=self._index
        )
        before = pandas.DataFrame(figures, index=self._index)
        return pandas.concat([before, contributions], axis=1)

    def __repr__(self) -> str:
        means = np.asarray(abs(self.contributions).mean(axis=0)).ravel()
        order = np.argsort(-means, kind="stable")
        largest = ", ".join(f"{self.features[j]} {means[j]:.3g}" for j in order[:3])
        return (
            f"Explanation({len(self.decision):,} rows, {len(self.features):,} "
            f"features; distance {self.distance.min():.3g} to "
            f"{self.distance.max():.3g}; largest on average: {largest})"
        )


def explain(
    model: Classifier,
    X: Matrix,
    *,
    norm: NormName | None = None,
    feature_cost: Values = None,
    centre: Values = None,
    positive: object | None = None,
) -> Explanation:
    """Explain decisions: contributions of columns, and the smallest turning shifts.

    The decision is f(x) = base + Σ_j w_j (x_j − centre_j), and the distance of a row
    from the boundary abs f(x) / ‖w/a‖_q, with the costs a of the features.

    In a pipeline, contributions are by column: those of the features that come from the
    same column are added up (all levels of a text, for instance). This goes back to X,
    or to the last step that makes features of several columns, such as PCA, as far as
    the names that steps give to their features show it. Features in other units than
    the column of X with the same name are called "age after PolynomialFeatures". To
    explain in the features of the last step, use
    ``explain(model[-1], model[:-1].transform(X))``.

    Parameters
    ----------
    model : fitted classifier, Pipeline or search, Result, or (coef, intercept)
        As in `worst_case_risk`. With more than two classes, the predicted one is
        compared with the one whose boundary is nearest.
    X : array, data frame or sparse matrix
        The rows, in memory.
    norm, feature_cost : optional
        As in `worst_case_risk`, for the features of the last step. A feature with cost
        inf does not shift.
    centre : array of shape (d,), optional
        The row that contributions are measured from, in the features of the last step.
        By default 0: the mean of the training for standardised features, none of its
        levels for a text. Means of some rows are
        ``model[:-1].transform(rows).mean(axis=0)``.
    positive : label, optional
        With two classes, the one that decisions and contributions are positive for, by
        default the second. With more, one of them to explain against the rest.

    Returns
    -------
    Explanation
        With a kernel, `contributions` are those of its rows of the training, and
        `distance` is a lower bound.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from drsvm import WassersteinSVC, explain
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), WassersteinSVC(norm=1)).fit(X, y == 0)
    >>> found = explain(model, X[:2])
    >>> for reasons in found.reasons(2):
    ...     print(reasons)
    od280/od315_of_diluted_wines = 3.92 (+1.03), alcohol = 14.2 (+0.98)
    alcalinity_of_ash = 11.2 (+1.61), proline = 1,050 (+0.623)
    >>> # In the units of the table; with norm 1, a single column is shifted.
    >>> shift = found.turning_shift
    >>> found.features[-1], shift[:, -1].round().tolist()
    ('proline', [-1604.0, -1190.0])
    >>> model.predict(X[:2] + 0.999 * shift).tolist()
    [True, True]
    >>> model.predict(X[:2] + 1.001 * shift).tolist()
    [False, False]
    """
    data = decision_values(model, X, PREDICTED, positive=positive)
    classifier = final_classifier(model)
    given = {
        "radius": 0.0,
        "flip_cost": math.inf,
        "norm": norm,
        "feature_cost": feature_cost,
    }
    adversary = adversary_for(data, ball_of(model, data, given))

    # What decides about a row is the lead of one class over another.
    other, distance = _nearest_class(adversary)
    if len(data.coef) == 2:
        compared = _two_classes(data, classifier, positive)
    else:
        compared = np.array([data.codes, other])
    leading, behind = compared
    decision = values_at(data.values, leading) - values_at(data.values, behind)
    # Rows share few pairs, so that weights are kept by pair, not by row.
    (first, second), pair = np.unique(compared, axis=1, return_inverse=True)
    pair = pair.ravel()
    leads = data.coef[first] - data.coef[second]
    base = (data.intercept[first] - data.intercept[second])[pair]

    if data.kernel is not None:
        if centre is not None:
            raise ValueError(
                "centre is for linear classifiers, and this one has a kernel: omit it."
            )
        columns = None
        features = _landmark_names(classifier, leads.shape[1])
        directions = leads
        # A shift of that length in H may need a longer one of the features.
        distance = adversary.distances
    else:
        columns = columns_behind(model, X, data.X, data.feature_names)
        features = columns.names
        directions = np.array([adversary.shift_direction(w) for w in leads])
    if centre is not None:
        centre = check_weight_vector(centre, data.coef.shape[1], "centre")
        base = base + (leads @ centre)[pair]
    return Explanation(
        decision=decision,
        prediction=data.classes[data.codes],
        turns_to=data.classes[other],
        base=base,
        distance=distance,
        features=features,
        _data=data,
        _columns=columns,
        _leads=leads,
        _directions=directions,
        _pair=pair,
        _centre=centre,
        _index=X.index if hasattr(X, "iloc") else None,
    )


def _two_classes(
    data: DecisionValues, classifier: Any, positive: object | None
) -> np.ndarray:
    """Return the two classes, of shape (2, n): decisions are positive for the first.

    One function decides all rows.
    """
    place = 1
    n_classes = len(getattr(classifier, "classes_", data.classes))
    # One of several classes against the rest is the second one already.
    if positive is not None and n_classes == 2:
        place = index_of(positive, data.classes)
    n = len(data.codes)
    return np.array([np.full(n, place), np.full(n, 1 - place)])


def _nearest_class(adversary: Adversary) -> tuple[np.ndarray, np.ndarray]:
    """Return the class whose boundary is nearest to each row, and how far it is.

    The distance is infinite if no boundary can be reached.
    """
    codes = adversary.data.codes
    rows = np.arange(len(codes))
    # fmin also replaces NaN, where both classes have the same weights.
    distances = np.fmin(adversary.distances_to_classes(codes), FAR)
    distances[codes, rows] = np.inf
    other = distances.argmin(axis=0)
    distance = distances[other, rows]
    return other, np.where(distance < FAR, distance, np.inf)


def _landmark_names(classifier: Any, count: int) -> list[str]:
    """Return names for the landmarks of a kernel classifier: rows of the training."""
    # −1: a landmark that is not known to be a row
    unknown = np.full(count, -1)
    rows = getattr(classifier, "support_", unknown)
    rows = getattr(classifier, "landmark_indices_", rows)
    names = []
    for place, row in enumerate(rows):
        names.append(f"row {row}" if row >= 0 else f"landmark {place}")
    return names


def _in_words(place: int, value: Any, shown: Callable[[int, float], str] | None) -> str:
    """Return the value of a column in words that follow its name."""
    is_number = isinstance(value, int | float | np.number)
    if value is None or (is_number and math.isnan(value)):
        return " is empty"
    if not is_number or isinstance(value, bool):
        return f" = {value}"
    show = number if shown is None else partial(shown, place)
    return f" = {show(float(value))}"
