"""Probabilities from decision values, by Platt's sigmoid.

    p(class k | decision f) = 1 / (1 + exp(−(slope · f_k + offset))),

normalised over more than two classes. The predicted class is the most probable one.

The sigmoid is fitted to decisions about rows that their classifiers were not trained
on: on training rows decisions are too confident. Several classes have the same one, so
that the largest decision has the largest probability. For two, the sigmoid may be ½
elsewhere than at the threshold: where labels of one class are often wrong, it follows
them. It does not decide: between the threshold and that place probabilities stay close
to ½, on the side of the decision.
"""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, logit

from drsvm.defaults.one_vs_rest import is_constant
from drsvm.defaults.out_of_fold import OutOfFoldDecisions

# Where the sigmoid and the decision disagree, log-odds have this share of the slope:
# rows have the same order as by their decisions
LEANING = 0.05
# Log-odds by which the predicted class is ahead at least
DECIDED = float(np.sqrt(np.finfo(np.float64).eps))
# Rows to which a sigmoid is fitted at most: more are not needed
MAX_FITTED = 20_000


def check_calibration(calibration) -> None:
    """Raise an error unless `calibration` is None or "sigmoid"."""
    is_sigmoid = isinstance(calibration, str) and calibration == "sigmoid"
    if calibration is not None and not is_sigmoid:
        raise ValueError(
            f"calibration must be None or 'sigmoid', got calibration={calibration!r}."
        )


def probabilities(decisions: np.ndarray, sigmoids: np.ndarray) -> np.ndarray:
    """Return the probability of every class.

    Parameters
    ----------
    decisions : array of shape (n,) or (n, n_classes)
        Values of the decision function.
    sigmoids : array of shape (1 or n_classes, 2)
        Slopes and offsets, as `fitted_sigmoids` returns them.

    Returns
    -------
    array of shape (n, n_classes)
        The probabilities.
    """
    return np.exp(log_probabilities(decisions, sigmoids))


def log_probabilities(decisions: np.ndarray, sigmoids: np.ndarray) -> np.ndarray:
    """Return the logarithms of the probabilities.

    Parameters
    ----------
    decisions, sigmoids
        As for `probabilities`.

    Returns
    -------
    array of shape (n, n_classes)
        The logarithms.
    """
    slopes, offsets = sigmoids.T
    if decisions.ndim == 1:
        # The log-odds of the second class. On either side of the threshold they are on
        # that side as well: close to 0 if the sigmoid says otherwise.
        odds = slopes[0] * decisions + offsets[0]
        leaning = LEANING * slopes[0] * decisions
        odds = np.where(
            decisions > 0,
            np.maximum(odds, leaning + DECIDED),
            np.minimum(odds, leaning),
        )
        return log_expit(np.column_stack([-odds, odds]))
    # The predicted class is the most probable one, also where rounding makes several
    # equal.
    logs = log_expit(slopes * decisions + offsets)
    logs[np.arange(len(logs)), decisions.argmax(axis=1)] = logs.max(axis=1) + DECIDED
    return log_softmax(logs, axis=1)


def sigmoid_probabilities(
    judged: OutOfFoldDecisions, decisions: np.ndarray
) -> np.ndarray:
    """Return probabilities that follow the sigmoid, whatever the decisions prefer.

    Parameters
    ----------
    judged : OutOfFoldDecisions
        Decisions of all classes, of shape (n, n_classes), to which a sigmoid is fitted.
    decisions : array of shape (n_rows, n_classes)
        Decisions about the rows to be returned.

    Returns
    -------
    array of shape (n_rows, n_classes)
        The probabilities.
    """
    n_classes = decisions.shape[1]
    if n_classes > 2:
        return probabilities(decisions, fitted_sigmoids(judged, n_classes))
    # One decision, between the two classes
    judged = judged._replace(decisions=np.diff(judged.decisions, axis=1))
    slopes, offsets = fitted_sigmoids(judged, n_classes).T
    second = expit(slopes * np.diff(decisions, axis=1) + offsets)
    return np.hstack([1.0 - second, second])


def decision_at(odds: float, slope: float, offset: float) -> float:
    """Return the least decision at which the second of two classes has given log-odds.

    Parameters
    ----------
    odds : float
        The log-odds.
    slope, offset : float
        The sigmoid.

    Returns
    -------
    float
        The decision; −inf if all decisions have these log-odds or higher ones, and inf
        if none has.
    """
    # Constant probabilities, but for DECIDED
    if LEANING * slope == 0.0:
        if odds <= min(offset, 0.0):
            return -math.inf
        if odds <= max(offset, DECIDED):
            return 0.0
        return math.inf
    # The inverses of both functions in `log_probabilities`. Decisions up to 0 have the
    # lower log-odds of the two, so that both must be reached; those above 0 have the
    # higher ones, so that one is enough.
    by_sigmoid = (odds - offset) / slope
    by_leaning = odds / (LEANING * slope)
    lowest = max(by_sigmoid, by_leaning)
    if lowest <= 0.0:
        return lowest
    return max(min(by_sigmoid, (odds - DECIDED) / (LEANING * slope)), 0.0)


def fitted_sigmoids(judged: OutOfFoldDecisions, n_classes: int) -> np.ndarray:
    """Return slope and offset of the sigmoid of every decision.

    The labels are smoothed as by Platt, which keeps the slope finite where the
    decisions separate the classes.

    Parameters
    ----------
    judged : OutOfFoldDecisions
        The decisions.
    n_classes : int
        The number of classes.

    Returns
    -------
    array of shape (1 or n_classes, 2)
        Slopes and offsets. Where no sigmoid fits, slopes are 0 and probabilities the
        shares of the classes.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", 1999.
    """
    # 1. The rows: a sample, if they are many
    if len(judged.labels) > MAX_FITTED:
        random = np.random.default_rng(0)
        chosen = random.choice(len(judged.labels), MAX_FITTED, replace=False)
        judged = OutOfFoldDecisions(*(values[chosen] for values in judged))
    labels = judged.labels
    n_columns = judged.decisions.shape[1]

    # 2. Platt's targets: with n_k rows of class k, (n_k + 1) / (n_k + 2) for the label,
    # and the rest for the other classes
    of_class = np.bincount(labels, judged.counts, minlength=n_classes)
    right = (of_class + 1.0) / (of_class + 2.0)
    wrong = (1.0 - right) / (n_classes - 1)
    targets = np.repeat(wrong[labels, None], n_classes, axis=1)
    targets[np.arange(len(targets)), labels] = right[labels]
    targets *= judged.counts[:, None]

    # 3. The sigmoid, or the shares of the classes
    if not is_constant(judged.decisions):
        fitted = _slope_and_offset(judged, targets)
        if fitted is not None:
            return np.tile(fitted, (n_columns, 1))
    shares = targets.sum(axis=0) / targets.sum()
    constant = np.column_stack([np.zeros(n_classes), logit(shares)])
    return constant[-n_columns:]


def _slope_and_offset(
    judged: OutOfFoldDecisions, targets: np.ndarray
) -> tuple[float, float] | None:
    """Return the sigmoid of two classes, or the one that several share.

    Parameters
    ----------
    judged : OutOfFoldDecisions
        The decisions.
    targets : array of shape (n, n_classes)
        The probabilities to fit, times the counts of the rows.

    Returns
    -------
    tuple of float or None
        Slope and offset with the largest likelihood; None if the slope is not positive.
    """
    # Decisions in units of their deviation, so that the search starts near its end
    counts = judged.counts
    mean = float(np.average(judged.decisions, axis=0, weights=counts).mean())
    squares = (judged.decisions - mean) ** 2
    scale = float(np.sqrt(np.average(squares, axis=0, weights=counts).mean()))
    values = (judged.decisions - mean) / scale
    targets = targets / targets.sum()
    masses = targets.sum(axis=1, keepdims=True)

    def loss_and_gradient(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return −Σ targets · log p, and its derivatives by slope and offset."""
        odds = parameters[0] * values + parameters[1]
        if targets.shape[1] == 2:
            logs = log_expit(np.column_stack([-odds, odds]))
            by_odds = (np.exp(logs) * masses - targets)[:, 1:]
        else:
            logs = log_softmax(log_expit(odds), axis=1)
            by_odds = (np.exp(logs) * masses - targets) * expit(-odds)
        loss = -float((targets * logs).sum())
        return loss, np.array([(by_odds * values).sum(), by_odds.sum()])

    found = minimize(
        loss_and_gradient,
        [1.0, 0.0],
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 0.0, "gtol": 1e-11},
    )
    slope, offset = found.x.tolist()
    if slope <= 0.0:
        return None
    # In units of the decisions again
    return slope / scale, offset - slope * mean / scale
