"""Why a classifier decides rows as it does: contributions, and turning shifts.

Contributions are measured from the average training row μ, so that they do not depend
on how a column is coded. A linear decision f(x) = f(μ) + w·(x − μ) is a sum over
features; with a kernel, the gradient along the straight line from μ to x is integrated
(see `Rbf.contributions`). The smallest shift that turns a linear decision has the
length abs f(x) / ‖w/a‖_q: the distance from a hyperplane in any norm [1]_.

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
from drsvm.audit.decision_values import (
    DecisionValues,
    decision_values,
    runners_up,
    values_at,
)
from drsvm.audit.model_layers import (
    final_classifier,
    index_of,
    last_step,
    preparations,
)
from drsvm.audit.worst_case import adversary_for, ball_of
from drsvm.problem.memory_rows import dense
from drsvm.problem.validation import check_rows, check_weight_vector
from drsvm.utils.annotations import Classifier, Matrix, NormName, Values, Vector
from drsvm.utils.lazy import cached_property, optional
from drsvm.utils.messages import counted, number
from drsvm.utils.parallel import slices
from drsvm.utils.user_warnings import warn_user

# Number of entries of the arrays from which contributions are computed: 80 MB
MAX_ENTRIES = 10**7
# A contribution below this share of the largest one is a rounding error, no reason.
NOISE = 1e-9
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
        `positive`. With more, by how much the predicted class leads the runner-up.
    prediction, runner_up, turns_to : arrays of shape (n,)
        The predicted label, the one with the next largest decision value, and the one
        on the other side of the nearest boundary. With two classes, the last two are
        the same. For (coef, intercept) and a Result, -1 and 1, or the numbers of the
        classes.
    base : array of shape (n,)
        The decision of the average row. ``contributions.sum(axis=1) + base`` is
        `decision`.
    distance : array of shape (n,)
        The size of the smallest shift that turns the decision, in the features of the
        last step: f(x) / ‖w/a‖_q without its sign; inf if none does (w = 0, or only
        features that cannot shift have a weight). For a kernel, no shorter shift turns
        it.
    features : list of str
        Names of the columns of `contributions`.

    Examples
    --------
    >>> from drsvm import explain
    >>> found = explain(([2.0, -1.0], 0.5), [[1.0, 0.5], [0.0, 3.0]], centre=[1.0, 1.0])
    >>> found
    Explanation(2 rows, 2 features; distance 0.894 to 1.12; largest on average:
    feature 1 1.25, feature 0 1)
    >>> found.contributions.tolist(), found.base.tolist()
    ([[0.0, 0.5], [-2.0, -2.0]], [1.5, 1.5])
    >>> found.reasons(1)
    ['feature 1 = 0.5 (+0.5)', 'feature 0 = 0 (-2)']
    """

    decision: np.ndarray
    prediction: np.ndarray
    runner_up: np.ndarray
    turns_to: np.ndarray
    base: np.ndarray
    distance: np.ndarray
    features: list[str]
    _data: DecisionValues
    _columns: Columns
    # Weights of a class minus those of another one, for each pair of classes that is
    # compared in some row: an array of shape (number of pairs, d)
    _leads: np.ndarray
    # The place of each row's pair among them
    _pair: np.ndarray
    # Directions of the smallest shift from a class to another; None for a kernel
    _directions: np.ndarray | None
    # The place of each row's direction among them
    _turn: np.ndarray
    # The row that contributions are measured from
    _centre: np.ndarray
    # Of the data frame, if there is one
    _index: Any

    @cached_property
    def contributions(self) -> np.ndarray:
        """What each column adds to `base`, of shape (n, number of `features`).

        It is not 0 where an entry of sparse rows is 0, unless the average is.
        """
        return np.concatenate(list(map(self._contributions, self._parts)))

    @cached_property
    def _parts(self) -> list[slice]:
        """Parts of the rows for which arrays are small."""
        width = max(*self._leads.shape, self._data.X.shape[1], len(self.features))
        return list(slices(len(self.decision), max(1, MAX_ENTRIES // width)))

    def _contributions(self, part: slice) -> np.ndarray:
        """Return the contributions to the decisions of some rows."""
        rows = self._data.X[part].astype(np.float64)
        pair = self._pair[part]
        leads = self._leads[pair]
        kernel = self._data.kernel
        if kernel is not None:
            # Audits take no other kernel than `Rbf`.
            terms = kernel.function.contributions(  # pyright: ignore[reportAttributeAccessIssue]
                dense(kernel.scaled(rows)),
                dense(kernel.landmarks),
                kernel.scaled(self._centre[None]),
                leads,
            )
        elif sparse.issparse(rows):
            # Only after features are added up, there are few numbers that are not 0.
            terms = dense(rows.multiply(leads) @ self._columns.by_column)
            at_centre = (self._leads * self._centre) @ self._columns.by_column
            return terms - at_centre[pair]
        else:
            terms = (rows - self._centre) * leads
        return terms @ self._columns.by_column

    @cached_property
    def _turning(self) -> tuple[list[str] | None, np.ndarray | None]:
        """Names of columns and the shift of these that turns each decision."""
        if self._directions is None:
            return None, None
        lengths = np.where(np.isfinite(self.distance), self.distance, 0.0)
        # Adding 0 turns −0 into 0.
        change = lengths[:, None] * self._directions[self._turn] + 0.0
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
        for part in self._parts:
            terms = self._contributions(part)
            # Rounding errors do not decide which of two equal ones comes first.
            sizes = np.abs(terms).astype(np.float32)
            ranking = np.argsort(-sizes, axis=1, kind="stable")[:, :k]
            least = NOISE * np.maximum(sizes.max(axis=1), np.abs(self.base[part]))
            cells = self._cells(part)
            for row, places in enumerate(ranking.tolist()):
                reasons = []
                for j in places:
                    if sizes[row, j] <= least[row]:
                        continue
                    value = _in_words(j, cells[row, j], shown)
                    reasons.append(f"{names[j]}{value} ({terms[row, j]:+.3g})")
                texts.append(", ".join(reasons))
        if len(self._data.coef) > 2:
            for row, label in enumerate(self.runner_up.tolist()):
                texts[row] = f"rather than {label}: {texts[row]}"
        return texts

    def _cells(self, part: slice) -> np.ndarray:
        """Return the cells of some rows of the table, as an array."""
        cells = self._columns.table[part]
        if hasattr(cells, "to_numpy"):
            return cells.to_numpy()
        return dense(cells)

    def to_frame(self):
        """Return figures and contributions as a pandas DataFrame.

        The columns are prediction, runner_up, turns_to, decision, distance, base and
        those of the contributions. pandas must be installed.
        """
        pandas = optional("pandas", "to_frame needs")
        names = ["prediction", "runner_up", "turns_to", "decision", "distance", "base"]
        figures = {name: getattr(self, name) for name in names}
        contributions = pandas.DataFrame(
            self.contributions, columns=self.features, index=self._index
        )
        before = pandas.DataFrame(figures, index=self._index)
        return pandas.concat([before, contributions], axis=1)

    def __repr__(self) -> str:
        means = np.abs(self.contributions).mean(axis=0)
        order = np.argsort(-means, kind="stable")
        largest = ", ".join(f"{self.features[j]} {means[j]:.3g}" for j in order[:3])
        rows = counted(len(self.decision), "row")
        features = counted(len(self.features), "feature")
        return (
            f"Explanation({rows}, {features}; distance {self.distance.min():.3g} to "
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

    The decision is f(x) = f(μ) + Σ_j w_j (x_j − μ_j) with the average training row μ,
    and the distance of a row from the boundary abs f(x) / ‖w/a‖_q, with the costs a of
    the features. So contributions do not depend on the coding: a level of a text is
    compared with the average of its column, with one column per level or with one less.

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
    centre : array of shape (d,) or rows, optional
        The row that contributions are measured from: in the features of the last step,
        or the average of rows that are given like X, such as those of the training. By
        default the average training row, which classifiers of drsvm know (`mean_`; 0
        in files of earlier versions), and which is 0 after a StandardScaler. Of other
        models it is not known: the average of X takes its place.

        .. versionadded:: 1.0.0rc2
    positive : label, optional
        With two classes, the one that decisions and contributions are positive for, by
        default the second. With more, one of them to explain against the rest.

    Returns
    -------
    Explanation
        With a kernel, `distance` is a lower bound.

    Notes
    -----
    With a kernel, a contribution is the slope of the decision in a column, integrated
    along the straight line from the average row to the row [1]_. These add up exactly,
    too, but they are not the only ones that do: another path would share out
    differently what columns do together. Contributions are neither effects in the
    world nor what would turn the decision: changing a column changes a decision by its
    contribution only if the classifier is linear, and the new value the average.

    References
    ----------
    .. [1] M. Sundararajan, A. Taly and Q. Yan, "Axiomatic attribution for deep
       networks", ICML 2017.

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
    nearest, distance = _nearest_class(adversary)
    runner_up = runners_up(data.values, data.codes)
    leading = data.codes
    behind = runner_up
    if len(data.coef) == 2:
        leading, behind = _two_classes(data, classifier, positive)
    leads, pair = _differences(data.coef, leading, behind)
    columns = columns_behind(model, X, data.X, data.feature_names)

    # The way to the boundary may lead to another class than the runner-up.
    directions = None
    ways, turn = _differences(data.coef, nearest, data.codes)
    if data.kernel is None:
        directions = np.array([adversary.shift_direction(w) for w in ways])
    else:
        # A shift of that length in H may need a longer one of the features.
        distance = adversary.distances

    if centre is None:
        centre = _average_row(model, classifier, data)
    elif np.ndim(centre) == 2:
        _, rows, _ = last_step(model, centre)
        centre = _mean(check_rows(rows))
    centre = check_weight_vector(centre, data.X.shape[1], "centre")
    at_centre = data.at(centre[None])[:, 0]
    return Explanation(
        decision=values_at(data.values, leading) - values_at(data.values, behind),
        prediction=data.classes[data.codes],
        runner_up=data.classes[runner_up],
        turns_to=data.classes[nearest],
        base=at_centre[leading] - at_centre[behind],
        distance=distance,
        features=columns.names,
        _data=data,
        _columns=columns,
        _leads=leads,
        _pair=pair,
        _directions=directions,
        _turn=turn,
        _centre=centre,
        _index=X.index if hasattr(X, "iloc") else None,
    )


def _average_row(model: Classifier, classifier: Any, data: DecisionValues) -> Vector:
    """Return the average training row, or that of the given rows if it is not known."""
    unknown = np.zeros(data.X.shape[1])
    if hasattr(classifier, "_trained_ball"):
        # Files of earlier versions do not have it.
        return getattr(classifier, "mean_", unknown)
    for part in preparations(model)[-1:]:
        # A ClippedScaler that was fitted on sparse rows does not centre.
        scaler = getattr(part[-1], "scaler_", part[-1])
        if getattr(scaler, "with_mean", False):
            return unknown
    if data.X.shape[0] == 1:
        warn_user(
            f"X is a single row, and {type(classifier).__name__} does not know the "
            "average row of its training, so that contributions are 0: pass "
            "centre=X_train."
        )
    return _mean(data.X)


def _mean(rows: Matrix) -> Vector:
    return np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()


def _differences(
    coef: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of a class minus those of another, and the place of each row.

    Rows share few pairs of classes, so that weights are kept by pair, not by row.
    """
    pairs, place = np.unique([first, second], axis=1, return_inverse=True)
    return coef[pairs[0]] - coef[pairs[1]], place.ravel()


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


def _in_words(place: int, value: Any, shown: Callable[[int, float], str] | None) -> str:
    """Return the value of a column in words that follow its name."""
    is_number = isinstance(value, int | float | np.number)
    if value is None or (is_number and math.isnan(value)):
        return " is empty"
    if not is_number or isinstance(value, bool):
        return f" = {value}"
    show = number if shown is None else partial(shown, place)
    return f" = {show(float(value))}"
