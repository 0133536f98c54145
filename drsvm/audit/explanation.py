"""Why a classifier decides a row as it does: what each column contributes, and the smallest shift that turns it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from drsvm.audit.adversary import Adversary, DecisionValues, values_at
from drsvm.audit.column_sources import Columns, columns_behind, shown_names
from drsvm.audit.kernel_model import KernelValues
from drsvm.audit.linear_model import PREDICTED, behind_pipeline, index_of
from drsvm.audit.worst_case import adversary_for, ball_of, values_of
from drsvm.problem.kernel_functions import dense
from drsvm.problem.validation import check_weight_vector
from drsvm.utils.annotations import Classifier, Matrix, NormName, Values
from drsvm.utils.lazy import optional
from drsvm.utils.messages import number
from drsvm.utils.parallel import slices

CELLS = 10**7  # of contributions that are ranked together
# In place of an infinite distance, to compare it with that to the row's own class
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
    Explanation(2 rows, 2 features; distance 0.894 to 1.12; largest on average: feature 1 1.75, feature 0 1)
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
    _columns: Columns | None  # None for a kernel
    # Weights of a class minus those of another one, for each pair that occurs
    _leads: np.ndarray
    _directions: np.ndarray  # of the smallest shift between them
    _pair: np.ndarray  # the number of each row's pair
    _centre: np.ndarray | None
    _index: Any  # of the data frame

    @cached_property
    def contributions(self) -> Matrix:
        """``w_j (x_j − centre_j)``, of shape (n, number of `features`), added up by column; sparse for sparse rows."""
        if isinstance(self._data, KernelValues):
            kernel = self._data.kernel
            return (
                kernel.function.values(kernel.scaled(self._data.X), kernel.landmarks)
                * self._leads[self._pair]
            )
        terms = self._data.X.astype(np.float64)
        columns = self._columns
        if sparse.issparse(terms) and self._centre is None:
            terms.data *= self._leads[
                np.repeat(self._pair, np.diff(terms.indptr)), terms.indices
            ]
        else:
            terms = (
                dense(terms) - (0.0 if self._centre is None else self._centre)
            ) * self._leads[self._pair]
        if columns is not None and columns.steps:
            return terms @ columns.by_column
        return terms

    @cached_property
    def _turning(self) -> tuple[list[str], np.ndarray] | None:
        if self._columns is None:
            return None
        sizes = np.where(np.isfinite(self.distance), self.distance, 0.0) * -np.sign(
            self.decision
        )
        change = sizes[:, None] * self._directions[self._pair] + 0.0  # no -0
        shift = self._columns.shift_for(change)
        if shift is None:
            return (shown_names(self._data.names, len(change.T)), change)
        return (self.features, shift)

    @property
    def turning_shift(self) -> np.ndarray | None:
        """The smallest shift that turns each decision, of shape (n, number of `shift_features`).

        It ends on the boundary, and any longer one turns the decision; 0 where none
        does, None for a kernel. If each column has one feature, the shift is in the
        units of the columns, and NaN in rows where none was found to have that effect
        (with a clipped cell, or a step that is not linear); otherwise in the features
        of the last step.
        """
        return None if self._turning is None else self._turning[1]

    @property
    def shift_features(self) -> list[str] | None:
        """Names of the columns of `turning_shift`: `features`, or the features of the last step."""
        return None if self._turning is None else self._turning[0]

    def reasons(
        self, k: int = 3, shown: Callable[[int, float], str] | None = None
    ) -> list[str]:
        """Return the k largest contributions to each decision as text, such as "age = 61 (+0.84), town = Rome (-0.3)".

        `shown` turns a number in a column, given by its place, into text.
        """
        texts = []
        shown = shown or (lambda _, value: number(value))
        names = [" ".join(name.split()) for name in self.features]
        for part in slices(len(self.decision), max(1, CELLS // len(names))):
            terms = dense(self.contributions[part])
            cells = None
            if self._columns is not None:
                cells = self._columns.table[part]
                if hasattr(cells, "to_numpy"):
                    cells = cells.to_numpy()
                else:
                    cells = dense(cells)
            for i, places in enumerate(
                np.argsort(-np.abs(terms), axis=1, kind="stable")[:, :k].tolist()
            ):
                largest = [j for j in places if terms[i, j] != 0.0]
                values = [
                    "" if cells is None else _in_words(j, cells[i, j], shown)
                    for j in largest
                ]
                found = zip(largest, values, strict=True)
                texts.append(
                    ", ".join(
                        f"{names[j]}{text} ({terms[i, j]:+.3g})" for j, text in found
                    )
                )
        if len(self._data.coef) == 2:
            return texts
        return [
            f"rather than {label}: {text}"
            for label, text in zip(self.turns_to.tolist(), texts, strict=True)
        ]

    def to_frame(self):
        """Return predictions, decisions, distances and contributions as a pandas DataFrame (it must be installed)."""
        pandas = optional("pandas", "to_frame needs")
        first = {
            name: getattr(self, name)
            for name in ("prediction", "turns_to", "decision", "distance", "base")
        }
        contributions = pandas.DataFrame(
            dense(self.contributions), columns=self.features, index=self._index
        )
        return pandas.concat(
            [pandas.DataFrame(first, index=self._index), contributions], axis=1
        )

    def __repr__(self) -> str:
        means = np.asarray(abs(self.contributions).mean(axis=0)).ravel()
        largest = [
            f"{self.features[j]} {means[j]:.3g}"
            for j in np.argsort(-means, kind="stable")[:3]
        ]
        return (
            f"Explanation({len(self.decision):,} rows, {len(self.features):,} features; distance "
            f"{self.distance.min():.3g} to {self.distance.max():.3g}; largest on average: {', '.join(largest)})"
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
    """Explain decisions: what each column contributes, and the smallest shift that turns them.

        f(x) = base + Σ_j w_j (x_j − centre_j),      distance abs f(x) / ‖w/a‖_q with the prices a of the features

    In a pipeline, contributions are by column: those of the features that come from the
    same column are added up (all levels of a text, for instance). This goes back to X,
    or to the last step that makes features of several columns, such as PCA; the names
    that steps give to features tell. ``explain(model[-1], model[:-1].transform(X))``
    explains in the features of the last step.

    Parameters
    ----------
    model : fitted classifier, Pipeline ending in one, search over one, Result, or (coef, intercept)
        As in `worst_case_risk`. With more than two classes, the predicted one is
        compared with the one whose boundary is nearest.
    X : array, data frame or sparse matrix
        The rows, in memory.
    norm, feature_cost : optional
        As in `worst_case_risk`, for the features of the last step. A feature with price
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
    >>> shift = found.turning_shift  # in the units of the table; with norm 1, a single column
    >>> found.features[-1], shift[:, -1].round().tolist()
    ('proline', [-1604.0, -1190.0])
    >>> model.predict(X[:2] + 0.999 * shift).tolist(), model.predict(X[:2] + 1.001 * shift).tolist()
    ([True, True], [False, False])
    """
    data = values_of(model, X, PREDICTED, None, positive)
    classifier = behind_pipeline(model)[0]
    given = {
        "radius": 0.0,
        "flip_cost": math.inf,
        "norm": norm,
        "feature_cost": feature_cost,
    }
    adversary = adversary_for(data, ball_of(model, data, given))
    other, distance = _nearest(adversary)
    compared = np.array([data.codes, other])  # two classes for each row
    if len(data.coef) == 2:  # all rows are decided by the same function
        named = (
            positive is not None
            and len(getattr(classifier, "classes_", data.classes)) == 2
        )
        place = index_of(positive, data.classes) if named else 1
        compared[:] = [[place], [1 - place]]
    (first, second), pair = np.unique(compared, axis=1, return_inverse=True)
    pair = pair.ravel()
    leads = data.coef[first] - data.coef[second]
    base = (data.intercept[first] - data.intercept[second])[pair]
    if isinstance(data, KernelValues):
        if centre is not None:
            raise ValueError(
                "centre is for linear classifiers, and this one has a kernel: omit it."
            )
        columns = None
        directions = leads
        distance = adversary.distances
    else:
        columns = columns_behind(model, X, data.X, data.names)
        if adversary.problem.feature_cost is None:
            costs = 1.0
        else:
            costs = adversary.problem.feature_cost
        directions = np.array(
            [adversary.problem.norm.worst_direction(w / costs) / costs for w in leads]
        )
    if centre is not None:
        centre = check_weight_vector(centre, data.coef.shape[1], "centre")
        base = base + (leads @ centre)[pair]
    return Explanation(
        decision=values_at(data.values, compared[0])
        - values_at(data.values, compared[1]),
        prediction=data.classes[data.codes],
        turns_to=data.classes[other],
        base=base,
        distance=distance,
        features=_landmarks(classifier, len(leads.T))
        if columns is None
        else columns.names,
        _data=data,
        _columns=columns,
        _leads=leads,
        _directions=directions,
        _pair=pair,
        _centre=centre,
        _index=X.index if hasattr(X, "iloc") else None,
    )


def _nearest(adversary: Adversary) -> tuple[np.ndarray, np.ndarray]:
    """Return the class whose boundary is nearest to each row, and how far it is."""
    codes = adversary.data.codes
    rows = np.arange(len(adversary.data.codes))
    reaches = np.fmin(adversary.reaches(codes), FAR)
    reaches[codes, rows] = np.inf
    other = reaches.argmin(axis=0)
    distance = reaches[other, rows]
    return other, np.where(distance < FAR, distance, np.inf)


def _landmarks(classifier, count: int) -> list[str]:
    """Return names for the rows of the training that a kernel classifier is made of."""
    rows = getattr(
        classifier, "landmark_indices_", getattr(classifier, "support_", None)
    )
    rows = [-1] * count if rows is None else rows
    return [
        f"row {row}" if row >= 0 else f"landmark {place}"
        for place, row in enumerate(rows)
    ]


def _in_words(place: int, value: Any, shown: Callable[[int, float], str]) -> str:
    """Return the value of a column in words that follow its name."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        if math.isnan(value):
            return " is empty"
        return f" = {shown(place, float(value))}"
    return " is empty" if value is None else f" = {value}"
