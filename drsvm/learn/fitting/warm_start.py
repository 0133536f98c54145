"""Where a fit starts that goes on from an earlier one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.learn.fitting.problems import Start
from drsvm.model.result import Result

if TYPE_CHECKING:
    from drsvm.learn.estimators import WassersteinSVC


class Earlier(NamedTuple):
    """The classes of an earlier fit, and its results (with multipliers) or else its classifiers."""

    classes: np.ndarray
    starts: list[Result] | list[tuple[np.ndarray, float]]

    def starts_for(self, classes: np.ndarray, n_features: int, otherwise: Sequence[Start]) -> Sequence[Start]:
        """Return where the runs start: here, if classes and features are the same."""
        if not np.array_equal(self.classes, classes):
            return otherwise
        weights = [start.weights if isinstance(start, Result) else start[0] for start in self.starts]
        return self.starts if all(len(w) == n_features for w in weights) else otherwise


def earlier_fit(model: "WassersteinSVC") -> Earlier | None:
    """Return what an earlier fit has found, if there was one."""
    if not hasattr(model, "coef_"):
        return None
    if model.result_ is not None:
        return Earlier(model.classes_, [model.result_] if isinstance(model.result_, Result) else list(model.result_))
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_  # after `sparsify`
    return Earlier(model.classes_, list(zip(coef, model.intercept_, strict=True)))
