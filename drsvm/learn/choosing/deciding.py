"""What threshold and probabilities come from: decisions about rows that the classifier has not seen."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from drsvm.clock import TimeLimit
from drsvm.learn.choosing.out_of_fold import Unseen
from drsvm.learn.choosing.probability import fitted_sigmoids
from drsvm.learn.fitting.data import FitData
from drsvm.learn.fitting.problems import Solved
from drsvm.learn.fitting.warning import warn_user
from drsvm.messages import Message, Parameter
from drsvm.progress import stage


def can_move(threshold: str, fit_intercept: bool, solved: Solved, time: TimeLimit) -> bool:
    """Return whether the threshold of a fit is to be placed: with two classes, an intercept and enough time."""
    return threshold != "optimum" and len(solved.results) == 1 and fit_intercept and not time.over


def unseen_decisions(data: FitData, solved: Solved, cv, time: TimeLimit) -> Unseen | None:
    """Return decisions about rows that their classifiers have not seen; None if they are constant, or without time."""
    if solved.cut_short:
        return None
    with stage("placing the threshold"):
        if solved.are_constant or time.over:
            return None
        return data.unseen(solved, cv, time, out_of_fold=True)


def sigmoids_of(
    data: FitData, solved: Solved, cv, time: TimeLimit, threshold: float, unseen: Unseen | None
) -> np.ndarray:
    """Return the sigmoids of probabilities; where no rows are unseen, of those that there are."""
    if unseen is None or not len(unseen.labels):
        unseen = data.unseen(solved, cv, time, out_of_fold=False)
        if not solved.are_constant and time.over:
            text = "The time was up before folds could be judged: probabilities are too confident. Allow more ({})."
            warn_user(Message(text, Parameter("max_time")), ConvergenceWarning)
    return fitted_sigmoids(unseen._replace(decisions=unseen.decisions - threshold), len(data.classes))
