"""`partial_fit`: a classifier from rows that arrive in blocks."""

from typing import Any

import numpy as np

from drsvm.learn import one_vs_rest, prices
from drsvm.model.norms import norm_for
from drsvm.model.result import Result
from drsvm.model.validation import CheckedRows, check_number


class PartialFitMixin:
    """The incremental side of `WassersteinSVC`; one `BlockFit` per binary problem."""

    def partial_fit(self: Any, X, y, classes=None, sample_weight=None):
        """Take one incremental pass over a block of rows; all blocks together act as one training set.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, for one block. A weight of 1 is that of a typical row in any block.
        classes : array, optional
            All labels; required in the first call, unless `fit` was called before. After `fit`, training continues from
            its classifier.

        Returns
        -------
        self
            Without a certificate: `objective_`, `lower_bound_` and `gap_` are NaN.
        """
        first = not hasattr(self, "_block_fits")
        X, y = one_vs_rest.checked_rows(self, X, y, reset=not hasattr(self, "classes_"))
        if first:
            self._start_blocks(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} are not those of the first call, {self.classes_!r}.")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y contains the label {unknown[0]!r}, which is not among the classes {self.classes_!r}.")
        weights = one_vs_rest.weights_of_rows(X, y, self.classes_, self.class_weight, sample_weight)
        for label, fit in zip(one_vs_rest.positive_labels(self.classes_), self._block_fits, strict=True):
            signs = np.where(y == label, 1.0, -1.0)
            fit.feed(CheckedRows(X), signs, one_vs_rest.side_weights(y, label, self.classes_, weights))
        self._store_blocks()
        return self

    def _start_blocks(self: Any, classes) -> None:
        from drsvm.solvers.blocks import BlockFit  # only here: its kernels take a while to import

        earlier = self._earlier_classifier()
        if classes is None and earlier is None:
            raise ValueError("classes is required in the first call to partial_fit: a block need not contain them all.")
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: with partial_fit, use a dict of weights."
            )
        if self._radius_is_automatic():
            raise ValueError("radius='auto' needs all rows at once: with partial_fit, use a number.")
        refusal = prices.refusal_of_blocks(self)
        if refusal is not None:
            raise ValueError(refusal)
        self.classes_ = one_vs_rest.classes_of(self.classes_ if classes is None else classes, self)
        self._flip_cost_by_row = False
        labels = one_vs_rest.positive_labels(self.classes_)
        starts = self._starts(earlier, len(labels))
        self.radius_ = check_number(self.radius, "radius")
        flip_cost: Any = self.flip_cost  # a number: a dict has been refused
        ball = self.radius_, flip_cost, self.norm, self.l2, self.fit_intercept
        self._block_fits = [
            BlockFit(self.n_features_in_, *ball, self.random_state, self._classifier_of(start)) for start in starts
        ]

    def _classifier_of(self: Any, start):
        """Return weights, intercept and λ to start from; without a result, λ is the norm of the weights."""
        if start is None:
            return None
        if isinstance(start, Result):
            return start.weights, start.intercept, start.radius_price
        weights, intercept = start
        return weights, float(intercept), norm_for(self.norm).value(weights)

    def _store_blocks(self: Any) -> None:
        fits = self._block_fits
        self.coef_ = np.stack([fit.weights for fit in fits])
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.n_iter_ = fits[0].n_blocks
        unknown = np.full(len(fits), np.nan)
        prices = np.array([fit.radius_price for fit in fits])
        for name, values in (
            ("radius_price", prices),
            *((name, unknown) for name in ("objective", "lower_bound", "gap")),
        ):
            setattr(self, f"{name}_", float(values[0]) if len(fits) == 1 else values.copy())
        self.result_ = None
