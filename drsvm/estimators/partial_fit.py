"""Fits that go on: from an earlier one (`warm_start`), or with rows in blocks, with one `BlockFit` per problem."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from drsvm.defaults import one_vs_rest, prices
from drsvm.defaults.binary_problems import BinaryProblems, Start, centre_of
from drsvm.estimators.regularisation import ball_by_rule, number_or_auto
from drsvm.problem.kernel_functions import dense
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.norms import norm_for
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.problem.validation import CheckedRows, check_weights
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import TimeLimit

if TYPE_CHECKING:
    from drsvm.estimators.linear import WassersteinSVC


class Earlier(NamedTuple):
    """The classes of an earlier fit, and its results (with multipliers) or else its classifiers."""

    classes: np.ndarray
    starts: list[Result] | list[tuple[np.ndarray, float]]

    def starts_for(
        self, classes: np.ndarray, n_features: int, otherwise: Sequence[Start]
    ) -> Sequence[Start]:
        """Return where the runs start: here, if classes and features are the same."""
        if not np.array_equal(self.classes, classes):
            return otherwise
        weights = [
            start.weights if isinstance(start, Result) else start[0]
            for start in self.starts
        ]
        if all(len(w) == n_features for w in weights):
            return self.starts
        return otherwise


def earlier_fit(model: "WassersteinSVC") -> Earlier | None:
    """Return the state of an earlier fit, if there was one."""
    if not hasattr(model, "coef_"):
        return None
    if model.result_ is not None:
        return Earlier(
            model.classes_,
            [model.result_]
            if isinstance(model.result_, Result)
            else list(model.result_),
        )
    # After `sparsify`
    return Earlier(
        model.classes_, list(zip(dense(model.coef_), model.intercept_, strict=True))
    )


def learns_in_blocks(estimator: "WassersteinSVC") -> bool:
    """Return True; raise an error if there are to be probabilities."""
    if estimator.calibration is not None:
        raise AttributeError(
            "partial_fit has no rows that are new to the classifier: use calibration=None, or fit."
        )
    return True


def feed_block(
    model: "WassersteinSVC", X, y, classes, sample_weight, flip_cost
) -> None:
    """Let a model learn from a block."""
    first = not hasattr(model, "_block_fits")
    X, y = one_vs_rest.checked_rows(
        model, X, y, reset=first and not hasattr(model, "coef_")
    )
    if first:
        earlier = _check_first_block(model, classes)
    else:
        earlier = None
    if (
        not first
        and classes is not None
        and not np.array_equal(np.unique(classes), model.classes_)
    ):
        raise ValueError(
            f"classes={classes!r} are not those of the first call, {model.classes_!r}."
        )
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ValueError(
            f"y contains the label {unknown[0]!r}, which is not among the classes {model.classes_!r}."
        )
    codes = np.searchsorted(model.classes_, y)
    weights = sample_weight
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    if model.class_weight is not None and model.class_weight != "auto":
        factors = one_vs_rest.factors_of_classes(
            model.class_weight, model.classes_, y, weights
        )[codes]
        weights = factors if weights is None else weights * factors
    check_weights(weights, len(y))
    parameters = model._problem_parameters(lambda costs: costs[codes], flip_cost)
    if first:
        _start_blocks(model, X, y, weights, sample_weight, parameters, earlier)
    model._flip_cost_by_row = flip_cost is not None or (
        not first and model._flip_cost_by_row
    )
    for label, fit in zip(
        one_vs_rest.positive_labels(model.classes_), model._block_fits, strict=True
    ):
        signs = np.where(y == label, 1.0, -1.0)
        sides = one_vs_rest.side_weights(y, label, model.classes_, weights)
        fit.feed(CheckedRows(X), signs, sides, parameters["flip_cost"])
    model.coef_ = np.stack([fit.weights for fit in model._block_fits])
    model.intercept_ = np.array([fit.intercept for fit in model._block_fits])
    model.threshold_ = 0.0
    model.n_iter_ = model._block_fits[0].n_blocks
    model.result_ = None
    model.__dict__.pop("sigmoids_", None)
    model._store_certificate(model._block_fits)


def _check_first_block(model: "WassersteinSVC", classes) -> Earlier | None:
    """Check the parameters, set `classes_`, and return the classifier of an earlier fit, if any."""
    earlier = earlier_fit(model)
    if classes is None and earlier is None:
        raise ValueError(
            "classes is required in the first call to partial_fit: a block need not contain them all."
        )
    if isinstance(model.class_weight, str) and model.class_weight != "auto":
        raise ValueError(
            f"class_weight={model.class_weight!r} needs all rows at once: with partial_fit, use a dict of weights."
        )
    if prices.feature_costs(model) is not None:
        raise ValueError(
            "partial_fit does not support feature_cost: multiply the columns by their prices instead, which is the "
            "same for l2=0, or use fit."
        )
    if prices.monotonic_signs(model) is not None:
        raise ValueError("partial_fit does not support monotonic_cst: use fit.")
    model.classes_ = one_vs_rest.classes_of(
        model.classes_ if classes is None else classes, model
    )
    return earlier


def _start_blocks(
    model: "WassersteinSVC",
    X: Matrix,
    y,
    weights,
    counts,
    parameters: dict[str, Any],
    earlier: Earlier | None,
) -> None:
    from drsvm.solvers.paper.incremental.block_fit import (
        BlockFit,
    )  # only here: its kernels take a while to import

    parameters = dict(parameters)
    if earlier is not None and parameters["intercept_cost"] == "auto":
        parameters["intercept_cost"] = model.intercept_cost_
    block = prices.with_intercept_cost(
        _block_problem(model, X, weights), parameters["intercept_cost"]
    )
    model.intercept_cost_ = parameters["intercept_cost"] = block.intercept_cost
    radius = number_or_auto(model.radius, "radius")
    if radius is not None:
        model.radius_ = radius
        model.l2_ = parameters["l2"]
    elif earlier is None:
        model.radius_, ridge = _ball_of_block(model, X, y, weights, counts, parameters)
        if number_or_auto(model.l2, "l2") is None:
            model.l2_ = ridge
        else:
            model.l2_ = parameters["l2"]
    parameters["l2"] = model.l2_
    common = {
        name: parameters[name]
        for name in ("norm", "l2", "fit_intercept", "intercept_cost")
    }
    labels = one_vs_rest.positive_labels(model.classes_)
    starts = [None] * len(labels)
    if earlier is not None:
        starts = earlier.starts_for(
            model.classes_, model.n_features_in_, otherwise=starts
        )
    model._block_fits = []
    for label, start in zip(labels, starts, strict=True):
        side = _block_problem(
            model, X, one_vs_rest.side_weights(y, label, model.classes_, weights)
        )
        centre = centre_of(side.replace(intercept_cost=model.intercept_cost_))
        settings = {
            "random_state": model.random_state,
            "start": _classifier_of(start, model.norm),
            "centre": centre,
        }
        model._block_fits.append(
            BlockFit(model.n_features_in_, model.radius_, **common, **settings)
        )


def _block_problem(model: "WassersteinSVC", X: Matrix, weights) -> Problem:
    """Return a problem with the rows of a block, which may be of one class, for their sizes and means."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    shares = weights / weights.sum()
    classes = model.classes_[:2].copy()
    data = {
        "rows": MemoryRows(X),
        "signs": np.ones(X.shape[0]),
        "sample_weight": shares,
        "classes": classes,
    }
    return Problem.of_checked(
        **data, norm=norm_for(model.norm), fit_intercept=bool(model.fit_intercept)
    )


def _ball_of_block(
    model: "WassersteinSVC", X: Matrix, y, weights, counts, parameters: dict[str, Any]
) -> tuple[float, float]:
    """Return the automatic radius and ridge."""
    present = np.unique(y)
    if len(present) < 2:
        raise ValueError(
            f"radius='auto' is computed from the first block, which has rows of the class {present.tolist()[0]!r} "
            "only: start with a block that has rows of other classes too, or use a number."
        )
    one_vs_rest.check_that_every_class_counts(y, present, weights)
    posed = BinaryProblems.at_centre(
        one_vs_rest.binary_problems(X, y, present, weights, **parameters)
    )
    ball = ball_by_rule(
        posed,
        "auto",
        "auto",
        "auto",
        lambda index: counts,
        TimeLimit.of(model.max_time),
    )
    return ball.radius, ball.l2


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
