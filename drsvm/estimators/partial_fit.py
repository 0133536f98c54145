"""Fits that go on: from an earlier one (`warm_start`), or with rows in blocks.

Blocks are for an incremental method, which needs the rows one by one: `BlockFit` keeps
the state of one binary problem between the blocks. What a fit computes from all rows,
such as the automatic radius, comes from the first block.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from drsvm.defaults import one_vs_rest
from drsvm.defaults.binary_problems import BinaryProblems, Start, centre_of
from drsvm.defaults.costs import (
    flip_costs_of_rows,
    number_or_auto,
    with_intercept_cost,
)
from drsvm.defaults.fit_data import FitData
from drsvm.defaults.regularisation import regularised_by_rule
from drsvm.estimators.checks import (
    check_that_every_class_counts,
    checked_rows,
    checked_weights,
    classes_of,
)
from drsvm.estimators.parameters import feature_costs, monotonic_signs
from drsvm.problem.memory_rows import MemoryRows, dense
from drsvm.problem.norms import norm_for
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.problem.validation import CheckedRows, check_weights
from drsvm.utils.annotations import Matrix, Vector
from drsvm.utils.clock import TimeLimit

if TYPE_CHECKING:
    from drsvm.solvers.paper.incremental.block_fit import BlockFit


def earlier_starts(
    model, classes: np.ndarray, n_features: int
) -> Sequence[Start] | None:
    """Return the results of an earlier fit, or its classifiers if there are none.

    None if there was no fit, or one to other classes or features.
    """
    if not hasattr(model, "coef_") or not np.array_equal(model.classes_, classes):
        return None
    # The weights are sparse after `sparsify`.
    coef = dense(model.coef_)
    if coef.shape[1] != n_features:
        return None
    if isinstance(model.result_, Result):
        return [model.result_]
    if model.result_ is not None:
        return list(model.result_)
    return list(zip(coef, model.intercept_, strict=True))


def learns_in_blocks(estimator) -> bool:
    """Return True; raise an error if there are to be probabilities."""
    if estimator.calibration is not None:
        raise AttributeError(
            "partial_fit has no rows that are new to the classifier: use "
            "calibration=None, or fit."
        )
    return True


def feed_block(model, X, y, classes, sample_weight, flip_cost) -> None:
    """Let a `WassersteinSVC` learn from a block of rows.

    Parameters
    ----------
    model : WassersteinSVC
        The classifier, which keeps a `BlockFit` for every problem.
    X, y, classes, sample_weight, flip_cost
        As in `WassersteinSVC.partial_fit`.
    """
    # 1. Check the rows, the labels and the weights.
    is_first = not hasattr(model, "_block_fits")
    goes_on = hasattr(model, "coef_")
    X, y = checked_rows(model, X, y, reset=not goes_on)
    starts = None
    if is_first:
        _check_parameters(model)
        labels = _classes_of_first_block(model, classes)
        starts = earlier_starts(model, labels, model.n_features_in_)
        model.classes_ = labels
    elif classes is not None and not np.array_equal(np.unique(classes), model.classes_):
        raise ValueError(
            f"classes={classes!r} are not those of the first call, {model.classes_!r}."
        )
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ValueError(
            f"y contains the label {unknown[0]!r}, which is not among the classes "
            f"{model.classes_!r}."
        )
    counts = checked_weights(sample_weight, X)
    weights = _weights_of_block(model, y, counts)
    check_weights(weights, len(y))

    # 2. Before the first block, determine radius, ridge and cost of the intercept.
    is_by_row = flip_cost is not None
    if not is_by_row:
        flip_cost = flip_costs_of_rows(model.flip_cost, y, model.classes_)
    parameters = model._problem_parameters(flip_cost)
    data = FitData(X, y, model.classes_, counts)
    if is_first:
        intercept_cost = _intercept_cost(model, data, weights, parameters, goes_on)
        parameters["intercept_cost"] = intercept_cost
        radius, l2 = _radius_and_ridge(model, data, weights, parameters, goes_on)
        model.intercept_cost_ = intercept_cost
        model.radius_ = radius
        model.l2_ = l2
        model._block_fits = _block_fits(model, data, weights, starts)
        model._flip_cost_by_row = is_by_row
    elif is_by_row:
        model._flip_cost_by_row = True
    block_fits = model._block_fits

    # 3. Take one pass over the rows of the block in the problem of every class.
    labels = one_vs_rest.positive_labels(model.classes_)
    for label, fit in zip(labels, block_fits, strict=True):
        signs = np.where(y == label, 1.0, -1.0)
        sides = one_vs_rest.side_weights(y, label, model.classes_, weights)
        fit.feed(CheckedRows(X), signs, sides, parameters["flip_cost"])

    # 4. Store the classifier, and the average of all rows so far. There is neither a
    # certificate nor a moved threshold.
    model.coef_ = np.stack([fit.weights for fit in block_fits])
    model.intercept_ = np.array([fit.intercept for fit in block_fits])
    mean, mass = data.average_row(None)
    model._mass_of_mean = getattr(model, "_mass_of_mean", 0.0) + mass
    before = getattr(model, "mean_", mean)
    model.mean_ = before + (mean - before) * (mass / model._mass_of_mean)
    model.threshold_ = 0.0
    model.n_iter_ = block_fits[0].n_blocks
    model.result_ = None
    vars(model).pop("sigmoids_", None)
    model._store_certificate(block_fits)


def _classes_of_first_block(model, classes) -> np.ndarray:
    """Return all labels: those that are given, or else those of an earlier fit."""
    if classes is not None:
        return classes_of(classes, model)
    if not hasattr(model, "coef_"):
        raise ValueError(
            "classes is required in the first call to partial_fit: a block need "
            "not contain them all."
        )
    return classes_of(model.classes_, model)


def _weights_of_block(model, y: np.ndarray, counts: Vector | None) -> Vector | None:
    """Return the weights of rows times those of their classes; None if all are 1.

    Automatic class weights depend on the shares of the classes among all rows, which
    are not known: here they are equal.
    """
    if model.class_weight is None or model.class_weight == "auto":
        return counts
    factors = one_vs_rest.factors_of_classes(
        model.class_weight, model.classes_, y, counts
    )
    by_row = factors[np.searchsorted(model.classes_, y)]
    if counts is None:
        return by_row
    return counts * by_row


def _check_parameters(model) -> None:
    """Raise an error if there are parameters that a fit in blocks does not have."""
    if isinstance(model.class_weight, str) and model.class_weight != "auto":
        raise ValueError(
            f"class_weight={model.class_weight!r} needs all rows at once: with "
            "partial_fit, use a dict of weights."
        )
    if feature_costs(model) is not None:
        raise ValueError(
            "partial_fit does not support feature_cost: multiply the columns by their "
            "prices instead, which is the same for l2=0, or use fit."
        )
    if monotonic_signs(model) is not None:
        raise ValueError("partial_fit does not support monotonic_cst: use fit.")
    if model._given_row_radius(None) > 0.0:
        raise ValueError(
            f"partial_fit does not support row_radius={model.row_radius:g}: use fit."
        )
    # None if fit took one for each row
    if getattr(model, "_row_radius", 0.0) != 0.0:
        raise ValueError(
            "partial_fit does not support row_radius, with which this classifier was "
            "trained: use fit, or a clone."
        )


def _intercept_cost(
    model,
    data: FitData,
    weights: Vector | None,
    parameters: dict[str, Any],
    goes_on: bool,
) -> float:
    """Return the cost of the intercept before the first block.

    It is the given one or, if it is automatic, that of an earlier fit, if the model
    goes on from there, or of the rows of the block.
    """
    cost = parameters["intercept_cost"]
    if goes_on and cost == "auto":
        cost = model.intercept_cost_
    block = with_intercept_cost(_block_problem(model, data.X, weights), cost)
    return block.intercept_cost


def _radius_and_ridge(
    model,
    data: FitData,
    weights: Vector | None,
    parameters: dict[str, Any],
    goes_on: bool,
) -> tuple[float, float]:
    """Return radius and ridge before the first block, in the same way."""
    radius = number_or_auto(model.radius, "radius")
    # With a given radius an automatic ridge is 0.
    if radius is not None:
        return radius, parameters["l2"]
    if goes_on:
        return model.radius_, model.l2_
    time = TimeLimit.of(model.max_time)
    radius, l2 = _by_rule(data, weights, parameters, time)
    if number_or_auto(model.l2, "l2") is not None:
        l2 = parameters["l2"]
    return radius, l2


def _block_fits(
    model, data: FitData, weights: Vector | None, starts: Sequence[Start] | None
) -> "list[BlockFit]":
    """Return one `BlockFit` per problem before the first block.

    Parameters
    ----------
    model : WassersteinSVC
        The classifier, with its radius, ridge and cost of the intercept.
    data : FitData
        The first block.
    weights : array, optional
        The weights of its rows, those of the classes included.
    starts : sequence, optional
        Where the fits start.

    Returns
    -------
    list of BlockFit
        The fits.
    """
    # Imported here: its compiled functions take a while to load.
    from drsvm.solvers.paper.incremental.block_fit import BlockFit

    labels = one_vs_rest.positive_labels(model.classes_)
    if starts is None:
        starts = [None] * len(labels)
    fits = []
    for label, start in zip(labels, starts, strict=True):
        # The intercept has its cost at the centre of the rows, as their weights in this
        # problem have it.
        sides = one_vs_rest.side_weights(data.y, label, model.classes_, weights)
        side = _block_problem(model, data.X, sides)
        side = side.replace(intercept_cost=model.intercept_cost_)
        fit = BlockFit(
            model.n_features_in_,
            model.radius_,
            norm=model.norm,
            l2=model.l2_,
            fit_intercept=bool(model.fit_intercept),
            intercept_cost=model.intercept_cost_,
            random_state=model.random_state,
            start=_classifier_of(start, model.norm),
            centre=centre_of(side),
        )
        fits.append(fit)
    return fits


def _block_problem(model, X: Matrix, weights: Vector | None) -> Problem:
    """Return a problem with the rows of a block, for their sizes and means.

    A block may be of one class, which `Problem` itself refuses.
    """
    n: int = X.shape[0]
    if weights is None:
        weights = np.ones(n)
    return Problem.of_checked(
        rows=MemoryRows(X),
        signs=np.ones(n),
        sample_weight=weights / weights.sum(),
        classes=model.classes_[:2].copy(),
        norm=norm_for(model.norm),
        fit_intercept=bool(model.fit_intercept),
    )


def _by_rule(
    data: FitData, weights: Vector | None, parameters: dict[str, Any], time: TimeLimit
) -> tuple[float, float]:
    """Return the automatic radius and ridge of a block."""
    present = np.unique(data.y)
    if len(present) < 2:
        raise ValueError(
            "radius='auto' is computed from the first block, which has rows of the "
            f"class {present.tolist()[0]!r} only: start with a block that has rows of "
            "other classes too, or use a number."
        )
    check_that_every_class_counts(data.y, present, weights)
    given = one_vs_rest.binary_problems(data.X, data.y, present, weights, **parameters)
    problems = BinaryProblems.at_centre(given)
    problems = regularised_by_rule(problems, "auto", "auto", "auto", data, time)
    return problems.radius, problems.l2


def _classifier_of(start: Start, norm) -> tuple[np.ndarray, float, float] | None:
    """Return weights, intercept and λ to start from.

    Without a result, λ is the norm of the weights.
    """
    if start is None:
        return None
    if isinstance(start, Result):
        return start.weights, start.intercept, start.radius_price
    weights, intercept = start
    return weights, float(intercept), norm_for(norm).value(weights)
