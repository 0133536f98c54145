"""Where a classifier decides: the threshold, placed after the direction is known, and the sigmoids around it.

The direction comes from a problem in which the classes weigh more equally than they
are. Its own intercept is where the worst case of that problem wants it, not where most
rows are decided correctly. The threshold is therefore placed by decisions about rows
that the classifier has not seen (of few rows: what it would decide without them), where
errors cost least: for accuracy all cost the same, for balanced accuracy those of each
class in all. These two move it only where the evidence is clear, to the nearest one at
which a row costs at most SLACK standard errors more than at the best, and no more than
by a constant. A constant is chosen only if there is no other: with wrong labels the
costs are wrong as well. Given costs decide alone: the more it costs to miss a class,
the more often it is predicted.
"""

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri
from sklearn.exceptions import ConvergenceWarning

from drsvm.defaults.binary_problems import Solved
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.outliers import ROUNDING
from drsvm.defaults.probability import fitted_sigmoids
from drsvm.problem.validation import check_number
from drsvm.utils.clock import TimeLimit
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

if TYPE_CHECKING:
    from drsvm.estimators.fit_data import FitData

GOALS = ("accuracy", "balanced_accuracy", "optimum")
# Of the standard error of the lowest cost; fixed on the data sets on which the study
# decides
SLACK = 0.4
MIN_PREDICTED = 0.5  # share of the rarer class for which it is predicted at least
# Share of all rows that is enough; without it, w1a with wrong labels loses 8 points of
# accuracy
NEARLY_NONE = 0.02

# One of GOALS, or what it costs to miss a row of each of the two classes
Goal = str | tuple[float, ...]


def goal_of(
    threshold: str | Mapping[Any, float], classes: np.ndarray, fit_intercept: bool
) -> Goal:
    """Return what a threshold is placed for; raise an error if none can be."""
    if isinstance(threshold, str) and threshold in GOALS:
        return threshold
    if not isinstance(threshold, Mapping):
        costs = (
            "a dict with the cost of missing each class, such as {'no': 1, 'yes': 10}"
        )
        raise ValueError(
            f"threshold must be {', '.join(map(repr, GOALS))} or {costs}, got threshold={threshold!r}."
        )
    given = f"threshold={dict(threshold)!r}"
    labels = classes.tolist()
    if len(labels) != 2 or set(threshold) != set(labels):
        raise ValueError(
            f"{given}: give a cost for each of the two classes of y, {labels!r}; for more, leave it out."
        )
    costs = [
        check_number(threshold[label], f"threshold[{label!r}]") for label in labels
    ]
    if not any(costs):
        raise ValueError(f"{given}: one of the costs must be above 0.")
    if not fit_intercept:
        raise ValueError(
            f"{given} is met by the intercept, and fit_intercept=False: use fit_intercept=True."
        )
    return tuple(cost / max(costs) for cost in costs)


def sigmoids_of(
    data: "FitData",
    solved: Solved,
    cv,
    time: TimeLimit,
    threshold: float,
    unseen: OutOfFoldDecisions | None,
) -> np.ndarray:
    """Return the sigmoids of probabilities.

    Where no rows are unseen, of those that there are.
    """
    if unseen is None or not len(unseen.labels):
        unseen = data.unseen(solved, cv, time, out_of_fold=False)
        if not solved.are_constant and time.over:
            text = "The time was up before folds could be judged: probabilities are too confident. Allow more ({})."
            warn_user(Message(text, Parameter("max_time")), ConvergenceWarning)
    return fitted_sigmoids(
        unseen._replace(decisions=unseen.decisions - threshold), len(data.classes)
    )


def choose_threshold(unseen: OutOfFoldDecisions, goal: Goal) -> float:
    """Return the threshold nearest to 0 at which a row costs nearly as little as it can.

    The cost of a threshold is an average over thresholds around it: single rows would
    decide which one is the best.
    """
    order = np.argsort(unseen.decisions[:, 0], kind="stable")
    values = unseen.decisions[order, 0]
    positive = unseen.labels[order] > 0
    counts = unseen.counts[order]
    masses: np.ndarray = np.array([counts[~positive].sum(), counts[positive].sum()])
    n = float(masses.sum())
    rarer = float(masses.min())
    # Equal values are decided alike
    last: np.ndarray = np.append(np.diff(values) > 0, True)
    if (
        rarer <= 0.0 or len(values[last]) < 2
    ):  # also if there were too few rows for folds
        return 0.0
    # Thresholds between two neighbours; everything up to the lower one is decided
    # negative.
    between = np.flatnonzero(last)[:-1]
    low = values[between]
    high = values[between + 1]
    places = np.where((low < 0.0) & (high > 0.0), 0.0, 0.5 * (low + high))
    # Less would be rounding errors
    least_width = math.sqrt(sys.float_info.epsilon) * (values[-1] - values[0])
    of_negative = _share_below(
        places, values[~positive], counts[~positive], least_width
    )
    of_positive = _share_below(places, values[positive], counts[positive], least_width)
    missed = np.stack([1.0 - of_negative, of_positive])
    # Beyond all rows, the problem's own threshold decides like any other.
    constant = (
        min(float(np.nextafter(values[0], -math.inf)), 0.0),
        max(float(values[-1]), 0.0),
    )
    if not isinstance(goal, str):  # a constant may cost least
        costs = np.array(goal)
        places = np.concatenate([constant[:1], places, constant[1:]])
        missed = np.column_stack([[1.0, 0.0], missed, [0.0, 1.0]])
        allowed = np.ones(len(places), dtype=bool)
    else:
        costs = np.ones(2) if goal == "accuracy" else 1.0 / masses
        # Where one class is rare, to predict it for hardly any row may be best by
        # chance, and is nearly constant.
        negative = np.take(np.cumsum(counts), between)
        if masses[1] <= masses[0]:
            predicted = n - negative
        else:
            predicted = negative
        allowed = predicted >= min(MIN_PREDICTED * rarer, NEARLY_NONE * n)
        allowed |= not allowed.any()
    if goal == "accuracy":
        guard = MIN_PREDICTED * rarer
        larger = n - rarer
        right = masses[1] + np.take(
            np.cumsum(np.where(positive, -counts, counts)), between
        )
        least = min(
            larger - min(SLACK * math.sqrt(larger * rarer / n), guard),
            right[allowed].max(),
        )
        if (
            least < larger - guard - ROUNDING * n
        ):  # many rows are equal: only a constant is as good as a constant
            return constant[int(masses[1] <= masses[0])]
        allowed &= right >= least - ROUNDING * n
    # Of the classes in the cost of a row, as a share of the most it can be
    weights = costs * masses / (costs @ masses)
    expected = np.where(allowed, weights @ missed, math.inf)
    best = np.argmin(expected)
    slack = ROUNDING
    if isinstance(goal, str):
        # The shares of the classes are part of the chance, unless the costs make up for
        # them
        by_class = weights**2 / masses * missed[:, best]
        variance = by_class.sum() - (
            expected[best] ** 2 / n
            if goal == "accuracy"
            else by_class @ missed[:, best]
        )
        slack += SLACK * math.sqrt(max(float(variance), 0.0))
    good = places[expected <= expected[best] + slack]
    return float(good[np.argmin(np.abs(good))])


def _share_below(thresholds, values, counts, least_width: float) -> np.ndarray:
    """Return the share of a class whose values, which ascend, are below a threshold: the mean of those around it."""
    # As far around it as Silverman's rule says, robust to far rows; all thresholds
    # there count the same.
    mass = np.append(0.0, np.cumsum(counts))
    moment = np.append(0.0, np.cumsum(counts * values))
    n = float(mass[-1])
    deviation = math.sqrt(float(counts @ np.square(values - moment[-1] / n)) / n)
    low, high = values[np.searchsorted(mass[1:] / n, np.array([0.25, 0.75]) - ROUNDING)]
    if high > low:
        deviation = min(deviation, (high - low) / float(ndtri(0.75) - ndtri(0.25)))
    else:
        deviation = deviation
    width = max(math.sqrt(3.0) * (4.0 / (3.0 * n)) ** 0.2 * deviation, least_width)
    ends = np.stack([thresholds - width, thresholds + width])
    inside = np.searchsorted(values, ends, side="right")
    # Of the mass below a threshold, over all up to the ends
    integrals = ends * mass[inside] - moment[inside]
    return np.clip((integrals[1] - integrals[0]) / (2.0 * width * n), 0.0, 1.0)
