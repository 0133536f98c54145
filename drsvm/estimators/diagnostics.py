"""Diagnostics after a fit: lines for `verbose`, errors, and warnings with a remedy."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from drsvm.defaults.binary_problems import NEGLIGIBLE, Solved, at_centre
from drsvm.defaults.one_vs_rest import name_of
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.threshold import Goal
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Status
from drsvm.problem.risk import by_row
from drsvm.problem.row_sums import (
    costs_of_flipping_classes,
    masses_of_classes,
    typical_row_norm,
)
from drsvm.problem.rows import RowsLost
from drsvm.problem.sampling import draw_sample
from drsvm.solvers.path.radius_max import radius_max
from drsvm.utils.clock import TimeLimit
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

Statuses = tuple[Status, ...]
# Statuses of runs that need no warning: the tolerance was reached, or the user has
# stopped them.
FINISHED: Statuses = (
    *filter(lambda status: status.reached, Status),
    Status.STOPPED,
    Status.INTERRUPTED,
)
# For `radius_max` in a warning: a time limit of its own, and the number of rows that
# are drawn for a kernel, which needs all pairs of them
ADVICE_SECONDS = 5.0
ADVICE_ROWS = 1000
# The number of classes that a warning names, to stay short
MAX_NAMED = 5

# Parts of messages
BY_COSTS = (
    "with these costs, no other decision is cheaper. Features that tell more "
    "may change that."
)
BALANCED = Parameter("class_weight", "balanced")
SEARCH = Parameter("WassersteinSVCCV")


def report_outcome(
    solved: Solved,
    goal: Goal,
    threshold: float,
    classes: np.ndarray,
    verbose: int,
    finished: Statuses,
    time: TimeLimit,
) -> None:
    """Say what the runs have reached.

    Parameters
    ----------
    solved : Solved
        The results.
    goal : str or tuple of float
        What the threshold was placed for.
    threshold : float
        By how much it was moved.
    classes : array
        The classes.
    verbose : int
        Whether lines are printed.
    finished : tuple of Status
        Statuses of runs that need no warning.
    time : TimeLimit
        The time of the fit, within which advice is looked for.
    """
    results = solved.results
    if verbose:
        for index, result in enumerate(results):
            print(
                f"[{name_of(index, classes)}] {result.status}: gap {result.gap:.1e}, "
                f"{result.n_iter} iterations"
            )
    # The best classifier so far is stored, so errors can be raised now.
    for result in results:
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
    for result in results:
        if result.status is Status.LOST:
            raise RowsLost(
                f"{result.info['lost']} The best classifier so far is stored."
            )
    unfinished = [result for result in results if result.status not in finished]
    if unfinished:
        warn_of_large_gaps(unfinished, len(results))
    warn_of_constant_ones(solved, goal, threshold, classes, time)


def warn_of_overconfidence() -> None:
    """Warn of probabilities by decisions about training rows."""
    text = (
        "The time was up before folds could be judged: probabilities are too "
        "confident. Allow more ({})."
    )
    warn_user(Message(text, Parameter("max_time")), ConvergenceWarning)


def warn_of_undecided_class(unseen: OutOfFoldDecisions, classes: np.ndarray) -> None:
    """Warn if no threshold can be placed, because a class has no unseen rows."""
    decided = unseen.labels[unseen.counts > 0.0]
    missing = np.setdiff1d(np.arange(len(classes)), decided)
    if not len(missing):
        return
    text = (
        "No row of class {} can be left out of the training, because they are too few, "
        "or all alike: the threshold stays that of the optimum. Add different rows of "
        "the class, or give folds ({}) in which it is."
    )
    names = ", ".join(map(repr, classes[missing].tolist()))
    warn_user(Message(text, names, Parameter("cv")))


def warn_of_constant_ones(
    solved: Solved,
    goal: Goal,
    threshold: float,
    classes: np.ndarray,
    time: TimeLimit,
) -> None:
    """Warn of classifiers that decide alike for all training rows.

    Those that ran out of time are left out.
    """
    problems = solved.problems.given
    constant: list[int] = []
    by_costs = False
    for index, result in enumerate(solved.results):
        if result.status is Status.TIME_LIMIT:
            continue
        values = solved.decisions[index]
        # One class against the rest may never be predicted; it is constant if its
        # decision values do not differ.
        values_are_equal = values.highest - values.lowest <= NEGLIGIBLE
        one_decides = values.lowest > threshold or values.highest <= threshold
        if values_are_equal or (len(problems) == 1 and one_decides):
            constant.append(index)
            by_costs = not values_are_equal and not isinstance(goal, str)
    if not constant:
        return
    advice = BY_COSTS if by_costs else _advice(problems[constant[0]], time)
    which = ""
    if len(problems) > 1:
        which = ", ".join(name_of(index, classes) for index in constant[:MAX_NAMED])
        if len(constant) > MAX_NAMED:
            which = f"{which} and {len(constant) - MAX_NAMED} more"
        which = f" ({which})"
    text = "The fitted classifier is constant on the training rows{}: {}"
    warn_user(Message(text, which, advice))


def _advice(problem: Problem, time: TimeLimit) -> str:
    """Return what helps against a constant classifier, with the largest radius."""
    if np.max(problem.flip_cost) == 0:
        return (
            "flip_cost=0 lets the adversary flip every label for free. Use a larger "
            "one, or the default, inf."
        )
    if problem.has_row_radius:
        text = "no other one withstands such shifts of every row. Use a smaller {}."
        return Message(text, Parameter("row_radius"))
    rare = Message(
        "{} if one class is rare, or {}, which tries it and several radii.",
        BALANCED,
        SEARCH,
    )
    # A radius from which on all weights are 0 is of no use: the advice names it.
    limit = TimeLimit(ADVICE_SECONDS, within=time)
    largest = 0.0
    if not limit.over:
        few = problem
        if problem.rows.is_kernel and problem.n_rows > 2 * ADVICE_ROWS:
            few = draw_sample(problem, ADVICE_ROWS)
        largest = radius_max(at_centre(few).problem, max_time=limit)
    # Without time for it, it is the lower bound that has been reached.
    if limit.over and problem.radius >= largest:
        text = (
            "radius={:.3g} may be too large for these data, or one class too rare; "
            "there was no time to find out. Use a smaller radius, {}, or {}"
        )
        return Message(text, problem.radius, Parameter("radius", "auto"), rare)
    if largest <= NEGLIGIBLE * typical_row_norm(problem):
        text = (
            "no radius gives a better one, because the features hardly differ between "
            "the classes. Use other features, or {} if one class is rare."
        )
        return Message(text, BALANCED)
    if problem.radius >= largest:
        text = (
            "radius={:.3g} is too large for these data. The largest useful "
            "radius is {:.3g}; use half of it or less, or {}. It may also "
            "help to standardise the features, or to use {}"
        )
        return Message(text, problem.radius, largest, Parameter("radius", "auto"), rare)
    text = (
        "the rows of the smaller class do not outweigh the others at radius={:.3g}. "
        "Use {}"
    )
    return Message(text, problem.radius, rare)


def warn_of_large_budgets(problems: list[Problem], classes: np.ndarray) -> None:
    """Warn if the adversary can afford to flip all labels of a class."""
    for index, problem in enumerate(problems):
        if not problem.flips_possible:
            continue
        costs = costs_of_flipping_classes(problem)
        cheapest = int(np.argmin(costs))
        if problem.radius < costs[cheapest]:
            continue
        share = masses_of_classes(problem)[cheapest]
        if len(problems) > 1:
            side = f"{classes[index]!r} against the rest"
        elif share <= 0.5:
            side = "the rarer class"
        else:
            side = "the larger class"
        if by_row(problem.flip_cost):
            budget = (
                f"radius={problem.radius:g}, at a flip_cost of "
                f"{costs[cheapest]:.3g} in all,"
            )
        else:
            budget = f"radius / flip_cost = {problem.radius:g} / {problem.flip_cost:g}"
        warn_user(
            f"{budget} lets the adversary flip every label of {side}, which "
            f"has a share of {share:.3g} of the weight. Choose a smaller "
            "radius or a larger flip_cost."
        )
        return


def warn_of_large_gaps(short: list[Result], n_problems: int) -> None:
    """Warn of problems that did not reach their tolerance."""
    worst = max(short, key=lambda result: result.gap)
    if n_problems == 1:
        gap = (
            f"The proven gap is {worst.gap:.1e}, above the tolerance {worst.tol:.1e} "
            f"({worst.status})."
        )
    else:
        late = sum(result.status is Status.TIME_LIMIT for result in short)
        cut = f", {late} of them for lack of time" if late else ""
        gap = (
            f"{len(short)} of {n_problems} classes did not reach the tolerance "
            f"{worst.tol:.1e}{cut}; the largest proven gap is {worst.gap:.1e} "
            f"({worst.status})."
        )
    remedy = (
        "{} Allow more iterations or time ({}, {}), accept a larger {}, or standardise "
        "the features."
    )
    settings = map(Parameter, ("max_iter", "max_time", "tol"))
    warn_user(Message(remedy, gap, *settings), ConvergenceWarning)
