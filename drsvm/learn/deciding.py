"""What a fitted `WassersteinSVC` decides, wherever the rows are, and what its threshold and probabilities come from."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from drsvm.clock import TimeLimit
from drsvm.learn import one_vs_rest
from drsvm.learn.fit_data import FitData, remote_decisions
from drsvm.learn.probability import fitted_sigmoids
from drsvm.learn.threshold import choose_threshold
from drsvm.learn.warning import warn_user
from drsvm.messages import Message, Parameter
from drsvm.model.backends import backend_of, is_remote
from drsvm.model.memory_rows import must_stay
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.progress import stage


class DecidingMixin:
    """The decisions of `WassersteinSVC`."""

    def decision_function(self: Any, X):
        """Return w·x + b for every row, of shape (n_samples,) or (n_samples, n_classes).

        The sign is the decision for two classes, otherwise the largest one decides.
        """
        if is_remote(X):
            check_is_fitted(self)
            return remote_decisions(self, X)
        is_on_disk = (isinstance(X, np.ndarray) or sparse.issparse(X)) and X.ndim == 2 and must_stay(X)
        if not (is_on_disk or is_remote(getattr(self, "coef_", None))):
            return super().decision_function(X)  # pyright: ignore[reportAttributeAccessIssue]
        check_is_fitted(self)
        return one_vs_rest.decisions_by_blocks(self, X)

    def predict(self: Any, X):
        """Return the label of every row, of shape (n_samples,).

        For a Dask collection the labels are a Dask array, which is computed on demand; for an array on a graphics card,
        numeric labels are on the card too.
        """
        backend = backend_of(X)
        if backend is None:
            return super().predict(X)  # pyright: ignore[reportAttributeAccessIssue]
        return backend.labels(self.decision_function(X), self.classes_)


def decide(model: Any, data: FitData, problems: list[Problem], results: list[Result], at_centre, time: TimeLimit):
    """Place the threshold of two classes, and fit the sigmoids, by decisions about rows that are new to them."""
    moves = model.threshold != "optimum" and len(problems) == 1 and model.fit_intercept and not time.over
    cut_short = any(result.status in (Status.INTERRUPTED, Status.LOST) for result in results)
    if cut_short or not (moves or model.calibration):
        return
    how = problems, results, at_centre, model.cv, time
    with stage("placing the threshold"):
        constant = _are_constant(problems, results)
        judged = None if constant or time.over else data.judged(*how, True)
    if judged is not None and moves:
        model.threshold_ = choose_threshold(data.weighed(judged), model.threshold)
        model.intercept_ = model.intercept_ - model.threshold_
    if not model.calibration:
        return
    if judged is None or not len(judged.labels):
        judged = data.judged(*how, False)
        if not constant and time.over:
            text = "The time was up before folds could be judged: probabilities are too confident. Allow more ({})."
            warn_user(Message(text, Parameter("max_time")), ConvergenceWarning)
    judged = judged._replace(decisions=judged.decisions - model.threshold_)
    model.sigmoids_ = fitted_sigmoids(judged, len(model.classes_))


def _are_constant(problems: list[Problem], results: list[Result]) -> bool:
    decided = [p.decisions(result.weights, result.intercept) for p, result in zip(problems, results, strict=True)]
    return all(one.highest - one.lowest <= one_vs_rest.CONSTANT for one in decided)
