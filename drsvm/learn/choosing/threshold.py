"""Where a classifier decides: the threshold, placed after the direction is known, and the sigmoids around it.

The direction comes from a problem in which the classes weigh more equally than they are. Its own intercept is
where the worst case of that problem wants it, not where most rows are decided correctly. The threshold is therefore
placed by decisions about rows that the classifier has not seen (of few rows: what it would decide without them), and
moved only where the evidence is clear: it is the one nearest to the problem's own whose score is within SLACK standard
errors of the best, and no worse than a constant classifier's. A constant is chosen only if there is no other: with
wrong labels the scores are wrong as well.
"""

import math
import sys
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from sklearn.exceptions import ConvergenceWarning

from drsvm.clock import TimeLimit
from drsvm.learn.choosing.out_of_fold import Unseen
from drsvm.learn.choosing.probability import fitted_sigmoids
from drsvm.learn.fitting.gross_errors import ROUNDING
from drsvm.learn.fitting.problems import Solved
from drsvm.learn.fitting.warning import warn_user
from drsvm.messages import Message, Parameter
from drsvm.progress import stage

if TYPE_CHECKING:
    from drsvm.learn.fitting.data import FitData

GOALS = ("accuracy", "balanced_accuracy", "optimum")
SLACK = 0.4  # of the standard error of the best score; fixed on the data sets on which the study decides
MIN_PREDICTED = 0.5  # share of the rarer class for which it is predicted at least
NEARLY_NONE = 0.02  # share of all rows that is enough; without it, w1a with wrong labels loses 8 points of accuracy


def check_goal(threshold) -> None:
    """Raise an error unless a threshold can be placed for this goal."""
    if not (isinstance(threshold, str) and threshold in GOALS):
        raise ValueError(f"threshold must be one of {', '.join(map(repr, GOALS))}, got threshold={threshold!r}.")


def can_move(threshold: str, fit_intercept: bool, solved: Solved, time: TimeLimit) -> bool:
    """Return whether the threshold of a fit is to be placed: with two classes, an intercept and enough time."""
    return threshold != "optimum" and len(solved.results) == 1 and fit_intercept and not time.over


def unseen_decisions(data: "FitData", solved: Solved, cv, time: TimeLimit) -> Unseen | None:
    """Return decisions about rows that their classifiers have not seen; None if they are constant, or without time."""
    if solved.cut_short or solved.are_constant or time.over:
        return None
    with stage("placing the threshold"):
        return data.unseen(solved, cv, time, out_of_fold=True)


def sigmoids_of(
    data: "FitData", solved: Solved, cv, time: TimeLimit, threshold: float, unseen: Unseen | None
) -> np.ndarray:
    """Return the sigmoids of probabilities; where no rows are unseen, of those that there are."""
    if unseen is None or not len(unseen.labels):
        unseen = data.unseen(solved, cv, time, out_of_fold=False)
        if not solved.are_constant and time.over:
            text = "The time was up before folds could be judged: probabilities are too confident. Allow more ({})."
            warn_user(Message(text, Parameter("max_time")), ConvergenceWarning)
    return fitted_sigmoids(unseen._replace(decisions=unseen.decisions - threshold), len(data.classes))


def choose_threshold(unseen: Unseen, goal: str) -> float:
    """Return the threshold nearest to 0 at which decisions are nearly as good as they can be.

    The score of a threshold is an average over thresholds around it: single rows would decide which one is the best.
    """
    order = np.argsort(unseen.decisions[:, 0], kind="stable")
    values, positive, counts = unseen.decisions[order, 0], unseen.labels[order] > 0, unseen.counts[order]
    masses = float(counts[positive].sum()), float(counts[~positive].sum())
    n, rarer = sum(masses), min(masses)
    last: np.ndarray = np.append(np.diff(values) > 0, True)  # equal values are decided alike
    if rarer <= 0.0 or len(values[last]) < 2:  # also if there were too few rows for folds
        return 0.0
    # Thresholds between two neighbours; everything up to the lower one is decided negative.
    between = np.flatnonzero(last)[:-1]
    low, high = values[between], values[between + 1]
    places = np.where((low < 0.0) & (high > 0.0), 0.0, 0.5 * (low + high))
    least_width = math.sqrt(sys.float_info.epsilon) * (values[-1] - values[0])  # less would be rounding errors
    of_positive = _share_below(places, values[positive], counts[positive], least_width)
    of_negative = _share_below(places, values[~positive], counts[~positive], least_width)
    below, shares = (of_positive, of_negative), (1.0 - of_positive, of_negative)
    if goal == "accuracy":
        scores = (masses[0] * shares[0] + masses[1] * shares[1]) / n
        variances = scores * (1.0 - scores) / n
    else:
        scores = 0.5 * (shares[0] + shares[1])
        variances = 0.25 * (shares[0] * below[0] / masses[0] + shares[1] * (1.0 - below[1]) / masses[1])
    # Where one class is rare, to predict it for hardly any row may be best by chance, and is nearly constant.
    negative = np.take(np.cumsum(counts), between)
    predicted = n - negative if masses[0] <= masses[1] else negative
    allowed = predicted >= min(MIN_PREDICTED * rarer, NEARLY_NONE * n)
    allowed |= not allowed.any()
    if goal == "accuracy":
        guard, larger = MIN_PREDICTED * rarer, n - rarer
        right = masses[0] + np.take(np.cumsum(np.where(positive, -counts, counts)), between)
        least = min(larger - min(SLACK * math.sqrt(larger * rarer / n), guard), right[allowed].max())
        if least < larger - guard - ROUNDING * n:  # many rows are equal: only a constant is as good as a constant
            return float(values[-1]) if masses[0] <= masses[1] else float(np.nextafter(values[0], -math.inf))
        allowed &= right >= least - ROUNDING * n
    scores = np.where(allowed, scores, -1.0)
    best = np.argmax(scores)
    good = scores >= scores[best] - SLACK * math.sqrt(max(variances[best], 0.0)) - ROUNDING
    return float(places[good][np.argmin(np.abs(places[good]))])


def _share_below(thresholds, values, counts, least_width: float) -> np.ndarray:
    """Return the share of a class whose values, which ascend, are below a threshold: the mean of those around it."""
    # As far around it as Silverman's rule says, robust to far rows; all thresholds there count the same.
    mass, moment = np.append(0.0, np.cumsum(counts)), np.append(0.0, np.cumsum(counts * values))
    n = float(mass[-1])
    deviation = math.sqrt(float(counts @ np.square(values - moment[-1] / n)) / n)
    low, high = values[np.searchsorted(mass[1:] / n, np.array([0.25, 0.75]) - ROUNDING)]
    deviation = min(deviation, (high - low) / float(ndtri(0.75) - ndtri(0.25))) if high > low else deviation
    width = max(math.sqrt(3.0) * (4.0 / (3.0 * n)) ** 0.2 * deviation, least_width)
    ends = np.stack([thresholds - width, thresholds + width])
    inside = np.searchsorted(values, ends, side="right")
    integrals = ends * mass[inside] - moment[inside]  # of the mass below a threshold, over all up to the ends
    return np.clip((integrals[1] - integrals[0]) / (2.0 * width * n), 0.0, 1.0)
