"""Reduction to binary problems: one problem for two classes, otherwise one per class, against the rest."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from drsvm.clock import TimeLimit
from drsvm.learn.column_errors import naming_columns
from drsvm.learn.prices import at_centre, with_intercept_cost
from drsvm.learn.warning import warn_user
from drsvm.messages import Message, Parameter
from drsvm.model.backends import is_remote, to_numpy
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.model.risk import by_row
from drsvm.model.validation import CheckedRows, as_rows
from drsvm.progress import part
from drsvm.solvers.interior_point.small import is_small
from drsvm.solvers.path.radius_max import radius_max

# The form of the rows; rows that already have it are not copied.
ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}

CONSTANT = 1e-5  # a classifier whose decision values differ by no more is constant; margins are of order 1
CLEAR = 3  # few rows, but as many per feature, have an optimum that is found to many digits in any order
MAX_NAMED = 5  # the number of classes that a warning names
MIN_SHARE = 0.6  # of an equal share of the weight, for a rare class with class_weight="auto"
TINY = 1e-12  # size of an intercept that only decides between the classes
ADVICE_SECONDS, ADVICE_ROWS, ADVICE_SMALLEST = 5.0, 1000, 1e-6  # for `radius_max` in a warning; / a typical row

BALANCED, SEARCH = Parameter("class_weight", "balanced"), Parameter("WassersteinSVCCV")


def checked_rows(estimator, X, y, *, reset: bool = True) -> tuple[Any, np.ndarray]:
    """Validate X and y, once per fit; return the rows in the form that problems use, and the labels."""
    if is_remote(X):
        raise TypeError(
            f"{type(estimator).__name__} needs rows in this process's memory here, got X of type {type(X).__name__}: "
            "use WassersteinSVC().fit, or bring a sample of the rows here."
        )
    with naming_columns(X):
        X, y = validate_data(estimator, X, y, reset=reset, **ROWS)
    if not _are_plain_classes(y):
        check_classification_targets(y)
    return as_rows(X), y


def _are_plain_classes(y) -> bool:
    """Return whether labels are integers, and few: what scikit-learn would say of them, as slowly as a small fit."""
    return y.dtype.kind in "biu" and 2 * len(np.unique(y)) <= len(y)


def decisions_by_blocks(estimator, X) -> np.ndarray:
    """Return decision values, block by block: a product with float32 rows would copy them all."""
    rows = as_rows(validate_data(estimator, X, reset=False, **ROWS))
    coef = estimator.coef_.toarray() if sparse.issparse(estimator.coef_) else to_numpy(estimator.coef_)
    values = np.empty((rows.shape[0], len(coef)))
    for k, (weights, intercept) in enumerate(zip(coef, to_numpy(estimator.intercept_), strict=True)):
        values[:, k] = MemoryRows(rows).dot(weights)
        values[:, k] += intercept
    return values.ravel() if len(coef) == 1 else values


def is_constant(decisions: np.ndarray) -> bool:
    """Return whether decision values hardly differ between the rows."""
    return float(np.ptp(decisions, axis=0).max()) <= CONSTANT


def check_training_rows(fold: int, labels, classes) -> None:
    """Raise an error if a class is not among the labels of a fold's training rows."""
    missing = np.setdiff1d(classes, labels)
    if len(missing):
        raise ValueError(
            f"Fold {fold} has no row of class {missing.tolist()[0]!r} to train on: use fewer folds, a stratified "
            "splitter, or leave the class out."
        )


def classes_of(labels, estimator) -> np.ndarray:
    """Return the classes, at least two of them."""
    classes = np.unique(labels)
    if len(classes) < 2:
        only, name = classes.tolist()[0], type(estimator).__name__
        raise ValueError(f"{name} needs samples of at least two classes, got one class: {only!r}.")
    return classes


def positive_labels(classes) -> np.ndarray:
    """Return the label that is positive in each of the problems."""
    return classes[1:] if len(classes) == 2 else classes


def name_of(index: int, classes) -> str:
    """Return a name for one of the problems."""
    return "all" if len(classes) == 2 else f"{classes[index]} against the rest"


def weights_of_rows(X, y, classes, class_weight, sample_weight) -> np.ndarray | None:
    """Return sample weights times class weights, or None if there are neither."""
    if sample_weight is None and class_weight is None:
        return None
    if sample_weight is None:
        weights = np.ones(len(y))
    else:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        weights = weights * factors_of_classes(class_weight, classes, y, weights)[np.searchsorted(classes, y)]
    return weights


def factors_of_classes(class_weight, classes, y, sample_weight) -> np.ndarray:
    """Return the factors of the classes; "auto" is half-way to balanced ones, and more for rare classes."""
    automatic = isinstance(class_weight, str) and class_weight == "auto"
    if isinstance(class_weight, str) and class_weight not in ("auto", "balanced"):
        raise ValueError(f"class_weight must be 'auto', 'balanced', a dict or None, got class_weight={class_weight!r}.")
    if not isinstance(class_weight, str):
        return compute_class_weight(class_weight, classes=classes, y=y)
    masses = np.bincount(np.searchsorted(classes, y), sample_weight, minlength=len(classes))
    factors = masses.sum() / (len(classes) * masses)
    return _halfway(factors) if automatic else factors


def _halfway(balanced: np.ndarray) -> np.ndarray:
    """Return the roots of balanced factors, and larger ones for classes with too small a share of the weight."""
    roots = np.sqrt(balanced)
    shares, least = (1.0 / roots) / (1.0 / roots).sum(), MIN_SHARE / len(roots)
    return roots * np.maximum(1.0, least / (1.0 - least) * (1.0 - shares) / shares)


def check_that_every_class_counts(y, classes, weights) -> None:
    """Raise an error if all rows of a class have weight 0."""
    if weights is None:
        return
    for label in classes.tolist():
        if not weights[y == label].any():
            raise ValueError(
                f"All samples of class {label!r} have weight 0: give one of them a positive weight, or leave the "
                "class out."
            )


def side_weights(y, label, classes, weights) -> np.ndarray | None:
    """Return the weights of the rows in the problem of one class (see the notes of `WassersteinSVC`)."""
    n_classes = len(classes)
    if n_classes == 2:
        return weights
    factors = np.where(y == label, n_classes / 2, n_classes / (2 * (n_classes - 1)))
    return factors if weights is None else factors * weights


def binary_problems(X, y, classes, weights, *, intercept_cost: Any = math.inf, **ball: Any) -> list[Problem]:
    """Return one problem per class, or one for two classes; "auto" is the same price of the intercept for all."""
    first = Problem(CheckedRows(X), y == positive_labels(classes)[0], sample_weight=weights, **ball)
    if not (is_small(first) and first.n_rows >= CLEAR * first.n_features):
        first = first.in_order()
    return for_every_class(with_intercept_cost(first, intercept_cost), y, classes, weights)


def for_every_class(first: Problem, y, classes, weights) -> list[Problem]:
    """Return one problem per class, or one for two classes, given the first of them with the weights of all rows."""
    if len(classes) == 2:
        return [first]
    labels = positive_labels(classes)
    return [first.relabelled(y == label, side_weights(y, label, classes, weights)) for label in labels]


def for_each(problems: Sequence[Any], measure: Callable[..., Any], time: TimeLimit, **extra: Any) -> list[Any]:
    """Return the results of a measure for problems, or their indices: as many as the time allows, at least one."""
    found: list[Any] = []
    for index, problem in enumerate(problems):
        share = time.share(len(problems) - index)
        if found and share.spent:
            break
        with part(index / len(problems), (index + 1) / len(problems)):
            found.append(measure(problem, max_time=share, **extra))
    return found


def towards_majority(problems: list[Problem], coefs: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Return the intercepts; where they and all weights are 0, a tiny one for the larger class by weight."""
    undecided = (intercepts == 0) & ~coefs.any(axis=-1)
    if not undecided.any():
        return intercepts
    shares = [problem.masses_of_classes()[0] for problem in problems]
    return np.where(undecided, TINY * (np.array(shares) - 0.5), intercepts)


def warn_of_constant_ones(problems: list[Problem], results: list[Result], threshold: float, classes) -> None:
    """Warn of classifiers that decide alike for all training rows, except those that ran out of time."""
    constant: list[str] = []
    advice = ""
    for index, (problem, result) in enumerate(zip(problems, results, strict=True)):
        if result.status is Status.TIME_LIMIT:
            continue
        decided = problem.decisions(result.weights, result.intercept - threshold)
        # One class against the rest may never be predicted; it is constant if its decision values do not differ.
        useless = decided.highest - decided.lowest <= CONSTANT
        if useless or (len(problems) == 1 and (decided.lowest > 0 or decided.highest <= 0)):
            constant.append(name_of(index, classes))
            advice = advice or _advice(problem)
    if constant:
        more = f" and {len(constant) - MAX_NAMED} more" if len(constant) > MAX_NAMED else ""
        of = f" ({', '.join(constant[:MAX_NAMED])}{more})" if len(problems) > 1 else ""
        warn_user(Message("The fitted classifier is constant on the training rows{}: {}", of, advice))


def _advice(problem: Problem) -> str:
    """Return what helps against a constant classifier, with the largest useful radius as a number."""
    if np.max(problem.flip_cost) == 0:
        return "flip_cost=0 lets the adversary flip every label for free. Use a larger one, or the default, inf."
    few = problem.drawn(ADVICE_ROWS) if problem.rows.is_kernel and problem.n_rows > 2 * ADVICE_ROWS else problem
    largest = radius_max(at_centre(few).problem, max_time=ADVICE_SECONDS)
    if largest <= ADVICE_SMALLEST * problem.typical_row_norm():
        text = "no radius gives a better one, because the features hardly differ between the classes. Use other "
        return Message(text + "features, or {} if one class is rare.", BALANCED)
    rare = Message("{} if one class is rare, or {}, which tries it and several radii.", BALANCED, SEARCH)
    if problem.radius >= largest:
        text = (
            "radius={:.3g} is too large for these data. The largest useful radius is {:.3g}; use half of it or less, "
            "or {}. It may also help to standardise the features, or to use {}"
        )
        return Message(text, problem.radius, largest, Parameter("radius", "auto"), rare)
    text = "the rows of the smaller class do not outweigh the others at radius={:.3g}. Use {}"
    return Message(text, problem.radius, rare)


def warn_of_large_budgets(problems: list[Problem], classes) -> None:
    """Warn if the adversary can afford to flip all labels of a class."""
    for index, problem in enumerate(problems):
        if not problem.flips_possible:
            continue
        costs = problem.flip_costs_of_classes()
        if problem.radius >= min(costs):
            share = problem.masses_of_classes()[int(np.argmin(costs))]
            side = "the rarer class" if share <= 0.5 else "the larger class"
            side = f"{classes[index]!r} against the rest" if len(problems) > 1 else side
            if by_row(problem.flip_cost):
                words = f"radius={problem.radius:g}, at a flip_cost of {min(costs):.3g} in all,"
            else:
                words = f"radius / flip_cost = {problem.radius:g} / {problem.flip_cost:g}"
            warn_user(
                f"{words} lets the adversary flip every label of {side}, which has a "
                f"share of {share:.3g} of the weight. Choose a smaller radius or a larger flip_cost."
            )
            return


def warn_of_large_gaps(short: list[Result], n_problems: int) -> None:
    """Warn of problems that did not reach their tolerance."""
    if not short:
        return
    worst = max(short, key=lambda result: result.gap)
    gap = f"The proven gap is {worst.gap:.1e}, above the tolerance {worst.tol:.1e} ({worst.status})."
    if n_problems > 1:
        late = sum(result.status is Status.TIME_LIMIT for result in short)
        cut = f", {late} of them for lack of time" if late else ""
        gap = f"{len(short)} of {n_problems} classes did not reach the tolerance {worst.tol:.1e}{cut}; the largest "
        gap += f"proven gap is {worst.gap:.1e} ({worst.status})."
    remedy = "{} Allow more iterations or time ({}, {}), accept a larger {}, or standardise the features."
    warn_user(Message(remedy, gap, *map(Parameter, ("max_iter", "max_time", "tol"))), ConvergenceWarning)
