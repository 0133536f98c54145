"""`partial_fit`: a classifier from rows that arrive in blocks."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from drsvm.clock import TimeLimit
from drsvm.learn import one_vs_rest, prices
from drsvm.learn.radius_rule import automatic
from drsvm.model.memory_rows import MemoryRows
from drsvm.model.norms import norm_for
from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.model.validation import CheckedRows, check_number, check_weights


def _learns_in_blocks(estimator) -> bool:
    if estimator.calibration is not None:
        raise AttributeError("partial_fit has no rows that are new to the classifier: use calibration=None, or fit.")
    return True


class PartialFitMixin:
    """The incremental side of `WassersteinSVC`; one `BlockFit` per binary problem."""

    @available_if(_learns_in_blocks)
    def partial_fit(self: Any, X, y, classes=None, sample_weight=None, flip_cost=None):
        """Take one incremental pass over a block of rows; all blocks together act as one training set.

        The first block determines what `fit` computes from all rows. An intercept with a price is priced at the centre
        of its rows (of sparse rows, at the origin); with ``intercept_cost="auto"`` the price is that of this block.
        With ``radius="auto"``, radius and ridge are what `fit` would use for this block alone: for all rows together
        they would be smaller, about in proportion to the root of their number; with a given radius, ``l2="auto"`` is 0.
        ``class_weight="auto"`` means equal weights here, and the threshold is that of the optimum. There are no
        probabilities: it is not available with `calibration`.

        Parameters
        ----------
        X, y, sample_weight, flip_cost
            As in `fit`, for one block. A weight of 1 is that of a typical row in any block.
        classes : array, optional
            All labels; required in the first call, unless `fit` was called before. After `fit`, training continues from
            its classifier, with its radius and price of the intercept where these are automatic.

        Returns
        -------
        self
            Without a certificate: `objective_`, `lower_bound_` and `gap_` are NaN, and `result_` is None.
            `radius_price_` is that of the method, and `n_iter_` the number of blocks.
        """
        first = not hasattr(self, "_block_fits")
        X, y = one_vs_rest.checked_rows(self, X, y, reset=first and not hasattr(self, "coef_"))
        earlier = self._check_first_block(classes) if first else None
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} are not those of the first call, {self.classes_!r}.")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y contains the label {unknown[0]!r}, which is not among the classes {self.classes_!r}.")
        factors = None if self.class_weight == "auto" else self.class_weight
        weights = one_vs_rest.weights_of_rows(X, y, self.classes_, factors, sample_weight)
        check_weights(weights, len(y))
        by_row = flip_cost is not None or (not first and self._flip_cost_by_row)
        ball = self._ball(lambda costs: costs[np.searchsorted(self.classes_, y)], flip_cost)
        if first:
            self._start_blocks(X, y, weights, sample_weight, ball, earlier)
        self._flip_cost_by_row = by_row
        for label, fit in zip(one_vs_rest.positive_labels(self.classes_), self._block_fits, strict=True):
            signs = np.where(y == label, 1.0, -1.0)
            sides = one_vs_rest.side_weights(y, label, self.classes_, weights)
            fit.feed(CheckedRows(X), signs, sides, ball["flip_cost"])
        self.coef_ = np.stack([fit.weights for fit in self._block_fits])
        self.intercept_, self.threshold_ = np.array([fit.intercept for fit in self._block_fits]), 0.0
        self.n_iter_, self.result_ = self._block_fits[0].n_blocks, None
        self.__dict__.pop("sigmoids_", None)
        self._store_figures(self._block_fits)
        return self

    def _check_first_block(self: Any, classes):
        """Check the parameters, set `classes_`, and return the classifier of an earlier fit, if any."""
        earlier = self._earlier_classifier()
        if classes is None and earlier is None:
            raise ValueError("classes is required in the first call to partial_fit: a block need not contain them all.")
        if isinstance(self.class_weight, str) and self.class_weight != "auto":
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: with partial_fit, use a dict of weights."
            )
        if prices.feature_costs(self) is not None:
            raise ValueError(
                "partial_fit does not support feature_cost: multiply the columns by their prices instead, which is the "
                "same for l2=0, or use fit."
            )
        if prices.monotonic_signs(self) is not None:
            raise ValueError("partial_fit does not support monotonic_cst: use fit.")
        self.classes_ = one_vs_rest.classes_of(self.classes_ if classes is None else classes, self)
        return earlier

    def _start_blocks(self: Any, X, y, weights, counts, ball: dict[str, Any], earlier) -> None:
        from drsvm.solvers.incremental.block_fit import BlockFit  # only here: its kernels take a while to import

        ball = dict(ball)
        if earlier is not None and ball["intercept_cost"] == "auto":
            ball["intercept_cost"] = self.intercept_cost_
        block = prices.with_intercept_cost(self._block_problem(X, weights), ball["intercept_cost"])
        self.intercept_cost_ = ball["intercept_cost"] = block.intercept_cost
        if not self._is_automatic("radius"):
            self.radius_, self.l2_ = check_number(self.radius, "radius"), ball["l2"]
        elif earlier is None:
            self.radius_, ridge = self._ball_of_block(X, y, weights, counts, ball)
            self.l2_ = ridge if self._is_automatic("l2") else ball["l2"]
        ball["l2"] = self.l2_
        parameters = {name: ball[name] for name in ("norm", "l2", "fit_intercept", "intercept_cost")}
        labels = one_vs_rest.positive_labels(self.classes_)
        self._block_fits = []
        for label, start in zip(labels, self._starts(earlier, [None] * len(labels)), strict=True):
            side = self._block_problem(X, one_vs_rest.side_weights(y, label, self.classes_, weights))
            centre = prices.centre_of(side.replace(intercept_cost=self.intercept_cost_))
            settings = {"random_state": self.random_state, "start": self._classifier_of(start), "centre": centre}
            self._block_fits.append(BlockFit(self.n_features_in_, self.radius_, **parameters, **settings))

    def _block_problem(self: Any, X, weights) -> Problem:
        """Return a problem with the rows of a block, which may be of one class, for their sizes and means."""
        weights = np.ones(X.shape[0]) if weights is None else weights
        shares, classes = weights / weights.sum(), self.classes_[:2].copy()
        data = {"rows": MemoryRows(X), "signs": np.ones(X.shape[0]), "sample_weight": shares, "classes": classes}
        return Problem.of_checked(**data, norm=norm_for(self.norm), fit_intercept=bool(self.fit_intercept))

    def _ball_of_block(self: Any, X, y, weights, counts, ball: dict[str, Any]) -> tuple[float, float]:
        """Return the automatic radius and ridge."""
        present = np.unique(y)
        if len(present) < 2:
            raise ValueError(
                f"radius='auto' is computed from the first block, which has rows of the class {present.tolist()[0]!r} "
                "only: start with a block that has rows of other classes too, or use a number."
            )
        one_vs_rest.check_that_every_class_counts(y, present, weights)
        problems = one_vs_rest.binary_problems(X, y, present, weights, **ball)
        problems = [prices.at_centre(problem).problem for problem in problems]
        found = one_vs_rest.for_each(problems, automatic, TimeLimit.of(self.max_time), counts=counts)
        return min(one.radius for one in found), float(np.mean([one.ridge for one in found]))

    def _classifier_of(self: Any, start):
        """Return weights, intercept and λ to start from; without a result, λ is the norm of the weights."""
        if start is None:
            return None
        if isinstance(start, Result):
            return start.weights, start.intercept, start.radius_price
        weights, intercept = start
        return weights, float(intercept), norm_for(self.norm).value(weights)
