"""The threshold of a classifier, which is placed after its direction is known.

The direction comes from a problem in which the classes weigh more equally than they
are. Its own intercept is where the worst case of that problem wants it, not where most
rows are decided correctly. The threshold is therefore placed by decisions about rows
that the classifier has not seen (of few rows: what it would decide without them), where
errors cost least: for accuracy every error costs the same, for balanced accuracy the
errors of each class cost the same if all its rows are missed. These two move it only
where the evidence is clear, to the nearest one at which a row costs at most SLACK
standard errors more than at the best, and no more than with a constant classifier. A
constant is chosen only if there is no other: with wrong labels the costs are wrong as
well. Given costs decide alone: the more it costs to miss a class, the more often it is
predicted.

The threshold is that of the decision values: the classifier's own is 0, and another one
is subtracted from the intercept. To *miss* a row is to predict the other class.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.problem.validation import check_number

GOALS = ("accuracy", "balanced_accuracy", "optimum")
# Standard errors above the lowest cost that are not evidence; fixed on the data sets on
# which the study decides
SLACK = 0.4
# The rarer class must be predicted for this share of its size
MIN_PREDICTED = 0.5
# It is enough to predict it for this share of all rows; without that, w1a with wrong
# labels loses 8 points of accuracy
NEARLY_NONE = 0.02
# Masses and costs that differ by this share are equal: doubles add up to no less
ROUNDING = 1e-12

# One of GOALS, or what it costs to miss a row of each of the two classes
Goal = str | tuple[float, ...]


def goal_of(
    threshold: str | Mapping[Any, float], classes: np.ndarray, fit_intercept: bool
) -> Goal:
    """Return what a threshold is placed for; raise an error if none can be.

    Parameters
    ----------
    threshold : str or dict
        The parameter of the estimator: one of GOALS, or the cost of missing each class.
    classes : array of shape (n_classes,)
        The classes, in order.
    fit_intercept : bool
        Whether there is an intercept, which thresholds move.

    Returns
    -------
    str or tuple of float
        The goal, or the costs in the order of the classes, the larger one as 1.
    """
    if isinstance(threshold, str) and threshold in GOALS:
        return threshold
    if not isinstance(threshold, Mapping):
        raise ValueError(
            f"threshold must be {', '.join(map(repr, GOALS))} or a dict with the cost "
            "of missing each class, such as {'no': 1, 'yes': 10}, got "
            f"threshold={threshold!r}."
        )
    given = f"threshold={dict(threshold)!r}"
    labels = classes.tolist()
    if len(labels) != 2 or set(threshold) != set(labels):
        raise ValueError(
            f"{given}: give a cost for each of the two classes of y, {labels!r}; for "
            "more, leave it out."
        )
    costs = []
    for label in labels:
        costs.append(check_number(threshold[label], f"threshold[{label!r}]"))
    if not any(costs):
        raise ValueError(f"{given}: one of the costs must be above 0.")
    if not fit_intercept:
        raise ValueError(
            f"{given} is met by the intercept, and fit_intercept=False: use "
            "fit_intercept=True."
        )
    return tuple(cost / max(costs) for cost in costs)


def choose_threshold(unseen: OutOfFoldDecisions, goal: Goal) -> float:
    """Return the threshold nearest to 0 at which the mean cost is nearly the lowest.

    The number of errors is a step function of the threshold, with a step at every row.
    Between many thresholds that are about as good, single rows would decide which one
    is the best. Hence the cost of a threshold is an average over thresholds around it
    (see `_share_below`): a smooth function, whose lowest point depends on many rows.

    Parameters
    ----------
    unseen : OutOfFoldDecisions
        Decisions about rows of two classes.
    goal : str or tuple of float
        "accuracy", "balanced_accuracy", or what it costs to miss a row of each class.

    Returns
    -------
    float
        The threshold, 0 if there are too few rows.
    """
    # Rows by ascending decision, and what they count: masses are by class.
    order = np.argsort(unseen.decisions[:, 0], kind="stable")
    values = unseen.decisions[order, 0]
    positive = unseen.labels[order] > 0
    counts = unseen.counts[order]
    masses: np.ndarray = np.array([counts[~positive].sum(), counts[positive].sum()])
    # Rows with equal values are decided alike: the last one of them counts.
    is_last: np.ndarray = np.append(np.diff(values) > 0, True)
    if masses.min() <= 0.0 or len(values[is_last]) < 2:
        return 0.0

    # 1. Thresholds between two neighbours: everything up to the lower one is decided
    # negative. The problem's own threshold, 0, is one of them.
    between = np.flatnonzero(is_last)[:-1]
    low = values[between]
    high = values[between + 1]
    places = np.where((low < 0.0) & (high > 0.0), 0.0, 0.5 * (low + high))
    # Beyond all rows, the problem's own threshold decides like any other.
    below_all = min(float(np.nextafter(values[0], -math.inf)), 0.0)
    above_all = max(float(values[-1]), 0.0)

    # 2. The shares of both classes that each threshold misses; averages over narrower
    # ranges would be rounding errors.
    least_width = math.sqrt(sys.float_info.epsilon) * (values[-1] - values[0])
    sides = []
    for side in (~positive, positive):
        sides.append(_share_below(places, values[side], counts[side], least_width))
    missed = np.stack([1.0 - sides[0], sides[1]])

    # 3. Given costs decide alone, and a constant may cost least.
    if not isinstance(goal, str):
        places = np.concatenate([[below_all], places, [above_all]])
        missed = np.column_stack([[1.0, 0.0], missed, [0.0, 1.0]])
        return _cheapest(places, missed, masses, goal)

    # 4. Otherwise a constant is chosen only if there is no other.
    negative = np.cumsum(counts)[between]
    allowed = _predicts_both(negative, masses)
    if goal == "accuracy":
        right = masses[1] + np.cumsum(np.where(positive, -counts, counts))[between]
        allowed = _no_worse_than_a_constant(right, masses, allowed)
        if allowed is None:
            # The constant that predicts the larger class
            if masses[1] > masses[0]:
                return below_all
            return above_all
    return _cheapest(places, missed, masses, goal, allowed)


def _predicts_both(negative: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return a mask of the thresholds that predict the rarer class often enough.

    Where it is rare, to predict it for hardly any row may be best by chance, and is
    nearly constant.

    Parameters
    ----------
    negative : array of shape (n,)
        The mass of the rows below each threshold.
    masses : array of shape (2,)
        The masses of the classes.

    Returns
    -------
    array of shape (n,)
        The mask; all thresholds if none predicts it often enough.
    """
    n = float(masses.sum())
    predicted = negative
    if masses[1] <= masses[0]:
        predicted = n - negative
    enough = min(MIN_PREDICTED * float(masses.min()), NEARLY_NONE * n)
    allowed = predicted >= enough
    if not allowed.any():
        return np.ones(len(allowed), dtype=bool)
    return allowed


def _no_worse_than_a_constant(
    right: np.ndarray, masses: np.ndarray, allowed: np.ndarray
) -> np.ndarray | None:
    """Return which allowed thresholds decide at least about as well as a constant.

    Parameters
    ----------
    right : array of shape (n,)
        The mass of the rows that each threshold decides correctly.
    masses : array of shape (2,)
        The masses of the classes.
    allowed : array of shape (n,)
        A mask of the thresholds.

    Returns
    -------
    array of shape (n,) or None
        A mask; None if only a constant is as good as a constant, because many rows have
        equal decisions.
    """
    # A constant decides the larger class correctly. A threshold may be worse by chance,
    # but not by more rows than those for which the rarer class must be predicted.
    n = float(masses.sum())
    rarer = float(masses.min())
    larger = n - rarer
    guard = MIN_PREDICTED * rarer
    by_chance = SLACK * math.sqrt(larger * rarer / n)
    # The best one is allowed in any case, unless it is worse than that.
    least = min(larger - min(by_chance, guard), right[allowed].max())
    if least < larger - guard - ROUNDING * n:
        return None
    return allowed & (right >= least - ROUNDING * n)


def _cheapest(
    places: np.ndarray,
    missed: np.ndarray,
    masses: np.ndarray,
    goal: Goal,
    allowed: np.ndarray | None = None,
) -> float:
    """Return the place nearest to 0 at which a row costs nearly as little as it can.

    Parameters
    ----------
    places : array of shape (n,)
        The thresholds.
    missed : array of shape (2, n)
        The shares of the classes that they miss.
    masses : array of shape (2,)
        The number of rows of each class.
    goal : str or tuple of float
        What the threshold is placed for. With given costs, it is the cheapest one.
    allowed : array of bool, optional
        Which places count.

    Returns
    -------
    float
        The place.
    """
    if goal == "accuracy":
        costs = np.ones(2)
    elif goal == "balanced_accuracy":
        costs = 1.0 / masses
    else:
        costs = np.array(goal)
    # Of each class in the cost of a row, as a share of the most it can be
    weights = costs * masses / (costs @ masses)
    expected = weights @ missed
    if allowed is not None:
        expected = np.where(allowed, expected, math.inf)
    best = np.argmin(expected)
    tolerance = ROUNDING
    if isinstance(goal, str):
        # The variance of the mean cost of a row at the best threshold. For accuracy the
        # rows are a sample, of which the shares of the classes are a part: the variance
        # is that of one binomial variable. For balanced accuracy the costs make up for
        # these shares: each class is a sample, and the variances add up.
        by_class = weights**2 / masses * missed[:, best]
        if goal == "accuracy":
            square_of_mean = expected[best] ** 2 / masses.sum()
        else:
            square_of_mean = by_class @ missed[:, best]
        variance = float(by_class.sum() - square_of_mean)
        tolerance += SLACK * math.sqrt(max(variance, 0.0))
    good = places[expected <= expected[best] + tolerance]
    return float(good[np.argmin(np.abs(good))])


def _share_below(
    thresholds: np.ndarray, values: np.ndarray, counts: np.ndarray, least_width: float
) -> np.ndarray:
    """Return the share of a class below each threshold, averaged over a range.

    With the empirical distribution function F of the class, a threshold t and a width
    h, it is

        1 / 2h · ∫ F(s) ds     over t − h ≤ s ≤ t + h,

    the distribution function of a kernel density estimate whose kernel is constant. The
    width follows Silverman's rule, with the smaller one of the standard deviation and
    that of a normal variable with the same quartiles, which far rows do not change. The
    factor √3 makes the standard deviation of the constant kernel that of the rule.

    Parameters
    ----------
    thresholds : array of shape (n_thresholds,)
        The thresholds t.
    values, counts : arrays of shape (n,)
        Ascending decisions about the rows of the class, and what these count.
    least_width : float
        The smallest width.

    Returns
    -------
    array of shape (n_thresholds,)
        The shares.

    References
    ----------
    Silverman, Density Estimation for Statistics and Data Analysis, 1986, section 3.4.
    """
    mass = np.append(0.0, np.cumsum(counts))
    moment = np.append(0.0, np.cumsum(counts * values))
    n = float(mass[-1])
    deviation = math.sqrt(float(counts @ np.square(values - moment[-1] / n)) / n)
    quartiles = np.array([0.25, 0.75]) - ROUNDING
    low, high = values[np.searchsorted(mass[1:] / n, quartiles)]
    if high > low:
        deviation = min(deviation, (high - low) / float(ndtri(0.75) - ndtri(0.25)))
    width = max(math.sqrt(3.0) * (4.0 / (3.0 * n)) ** 0.2 * deviation, least_width)
    ends = np.stack([thresholds - width, thresholds + width])
    # A row with value v adds its count times (t − v) to the integral up to t > v.
    inside = np.searchsorted(values, ends, side="right")
    integrals = ends * mass[inside] - moment[inside]
    return np.clip((integrals[1] - integrals[0]) / (2.0 * width * n), 0.0, 1.0)
