"""Reduction of several classes to binary problems.

There is one problem for two classes, otherwise one per class, against the rest.
"""

import math
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from drsvm.defaults.binary_problems import NEGLIGIBLE
from drsvm.defaults.costs import with_intercept_cost
from drsvm.problem.problem import Problem
from drsvm.problem.row_sums import masses_of_classes
from drsvm.problem.sampling import in_content_order
from drsvm.problem.validation import CheckedRows
from drsvm.solvers.interior_point.small import is_small
from drsvm.utils.annotations import Labels, Matrix
from drsvm.utils.arguments import about

# Rows per feature from which the optimum of a small problem is found to many digits,
# whatever the order of the rows
CLEAR = 3
# The least weight of a class with class_weight="auto", as a share of what all classes
# have with "balanced"; fixed on the data sets on which the study decides
MIN_SHARE = 0.6
# The intercept where all weights are 0, per share of the weight by which a class is
# ahead: any number above 0 decides
TINY_INTERCEPT = 1e-12


def is_constant(decisions: np.ndarray) -> bool:
    """Return whether decision values hardly differ between the rows."""
    return float(np.ptp(decisions, axis=0).max()) <= NEGLIGIBLE


def positive_labels(classes: np.ndarray) -> np.ndarray:
    """Return the label that is positive in each of the problems."""
    if len(classes) == 2:
        return classes[1:]
    return classes


def name_of(index: int, classes: np.ndarray) -> str:
    """Return a name for one of the problems."""
    if len(classes) == 2:
        return "all"
    return f"{classes[index]} against the rest"


def codes_of_predictions(decisions: np.ndarray) -> np.ndarray:
    """Return the places of the predicted classes.

    They go by the sign of decision values, or by the largest one.
    """
    if decisions.ndim == 1:
        return (decisions > 0).astype(int)
    return decisions.argmax(axis=1)


def predictions(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the labels for decision values."""
    return classes[codes_of_predictions(decisions)]


def factors_of_classes(
    class_weight, classes: np.ndarray, y: Labels, sample_weight
) -> np.ndarray:
    """Return by what the weights of the rows of each class are multiplied.

    Parameters
    ----------
    class_weight : "auto", "balanced", dict or None
        "balanced" gives every class the same weight. "auto" is half-way there, and
        gives a rare class at least MIN_SHARE of an equal share.
    classes : array
        The classes, in order.
    y, sample_weight : arrays of shape (n,)
        Labels and weights of rows.

    Returns
    -------
    array of shape (n_classes,)
        The factors.
    """
    if not isinstance(class_weight, str):
        with about("class_weight"):
            factors = compute_class_weight(class_weight, classes=classes, y=y)
        for label, factor in zip(classes.tolist(), factors.tolist(), strict=True):
            if not 0.0 <= factor < math.inf:
                raise ValueError(
                    f"class_weight has {factor:g} for class {label!r}: weights of "
                    "classes must be finite and at least 0."
                )
        return factors
    if class_weight not in ("auto", "balanced"):
        raise ValueError(
            "class_weight must be 'auto', 'balanced', a dict or None, got "
            f"class_weight={class_weight!r}."
        )
    codes = np.searchsorted(classes, y)
    masses = np.bincount(codes, sample_weight, minlength=len(classes))
    balanced = masses.sum() / (len(classes) * masses)
    if class_weight == "balanced":
        return balanced
    # The square root is half-way in logarithms. The masses are proportional to
    # 1 / balanced, so that the classes then have weights proportional to 1 / roots.
    roots = np.sqrt(balanced)
    shares = (1.0 / roots) / (1.0 / roots).sum()
    # A class with less than the least share gets it: its odds against all others are
    # then those of that share.
    least = MIN_SHARE / len(roots)
    return roots * np.maximum(1.0, least / (1.0 - least) * (1.0 - shares) / shares)


def side_weights(y: Labels, label, classes: np.ndarray, weights) -> np.ndarray | None:
    """Return the weights of the rows in the problem of one class.

    Of K classes, one is compared with K − 1 others: its rows have K − 1 times the
    weight of the others. If all classes weigh the same, so do the two sides.

    Parameters
    ----------
    y : array of shape (n,)
        The labels of the rows.
    label : label
        The class that is positive.
    classes : array of shape (n_classes,)
        All classes.
    weights : array of shape (n,) or None
        The weights of the rows.

    Returns
    -------
    array of shape (n,) or None
        The weights; None if all are equal.
    """
    n_classes = len(classes)
    if n_classes == 2:
        return weights
    factors = np.where(y == label, n_classes / 2, n_classes / (2 * (n_classes - 1)))
    if weights is None:
        return factors
    return factors * weights


def binary_problems(
    X: Matrix,
    y: Labels,
    classes: np.ndarray,
    weights,
    *,
    intercept_cost: float | str = math.inf,
    **parameters: Any,
) -> list[Problem]:
    """Return one problem per class, or one for two classes.

    Parameters
    ----------
    X, y, weights : matrix, array of shape (n,), array of shape (n,) or None
        Checked rows, their labels and weights.
    classes : array of shape (n_classes,)
        The classes, in order.
    intercept_cost : float or "auto", default=inf
        The cost of the intercept; "auto" is the same for all problems.
    **parameters
        Other parameters of `Problem`.

    Returns
    -------
    list of Problem
        The problems, which share their rows.
    """
    first = Problem(
        CheckedRows(X),
        y == positive_labels(classes)[0],
        sample_weight=weights,
        **parameters,
    )
    # Solutions shall not depend on the order of the rows; sums do, in the last digits.
    if not (is_small(first) and first.n_rows >= CLEAR * first.n_features):
        first = in_content_order(first)
    first = with_intercept_cost(first, intercept_cost)
    return for_every_class(first, y, classes, weights)


def for_every_class(
    first: Problem, y: Labels, classes: np.ndarray, weights
) -> list[Problem]:
    """Return the problems of all classes, which share the rows of the first.

    The first has the weights of the rows as they are given for all classes.
    """
    if len(classes) == 2:
        return [first]
    problems = []
    for label in positive_labels(classes):
        sides = side_weights(y, label, classes, weights)
        problems.append(first.relabelled(y == label, sides))
    return problems


def towards_majority(
    problems: list[Problem], coefs: np.ndarray, intercepts: np.ndarray
) -> np.ndarray:
    """Return the intercepts, with a decision where there was none.

    Parameters
    ----------
    problems : list of Problem
        The problems.
    coefs : array of shape (n_problems, n_features)
        The weights of their classifiers.
    intercepts : array of shape (n_problems,)
        The intercepts.

    Returns
    -------
    array of shape (n_problems,)
        The intercepts. Where an intercept and all weights are 0, a tiny one for the
        class with the larger weight.
    """
    undecided = (intercepts == 0) & ~coefs.any(axis=-1)
    if not undecided.any():
        return intercepts
    shares = np.array([masses_of_classes(problem)[0] for problem in problems])
    return np.where(undecided, TINY_INTERCEPT * (shares - 0.5), intercepts)
