"""What a fit says in the end: lines for `verbose`, Ctrl-C and lost rows as errors, and warnings with a remedy."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from drsvm.defaults.binary_problems import NEGLIGIBLE, Solved, at_centre
from drsvm.defaults.one_vs_rest import name_of
from drsvm.defaults.outliers import MAX_NAMED
from drsvm.defaults.threshold import Goal
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Status
from drsvm.problem.risk import by_row
from drsvm.problem.row_sums import (
    flip_costs_of_classes,
    masses_of_classes,
    typical_row_norm,
)
from drsvm.problem.rows import RowsLost
from drsvm.problem.sampling import draw_sample
from drsvm.solvers.path.radius_max import radius_max
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

Statuses = tuple[Status, ...]
# Need no warning
FINISHED = (
    *filter(lambda status: status.reached, Status),
    Status.STOPPED,
    Status.INTERRUPTED,
)
# for `radius_max` in a warning, which looks at so many rows of a kernel
ADVICE_SECONDS = 5.0
ADVICE_ROWS = 1000

BY_COSTS = "with these costs, no other decision is cheaper. Features that tell more may change that."
BALANCED = Parameter("class_weight", "balanced")
SEARCH = Parameter("WassersteinSVCCV")


def report_outcome(
    solved: Solved,
    goal: Goal,
    threshold: float,
    classes: np.ndarray,
    verbose: int,
    finished: Statuses,
) -> None:
    """Print what the runs have reached, raise what has ended them, and warn of what they have not reached."""
    results = solved.results
    if verbose:
        for index, result in enumerate(results):
            print(
                f"[{name_of(index, classes)}] {result.status}: gap {result.gap:.1e}, {result.n_iter} iterations"
            )
    statuses = [result.status for result in results]
    if Status.INTERRUPTED in statuses:
        raise KeyboardInterrupt
    if Status.LOST in statuses:
        raise RowsLost(
            f"{results[statuses.index(Status.LOST)].info['lost']} The best classifier so far is stored."
        )
    if not set(statuses) <= set(finished):
        warn_of_large_gaps(
            [result for result in results if result.status not in finished],
            len(results),
        )
    warn_of_constant_ones(solved, goal, threshold, classes)


def warn_of_constant_ones(
    solved: Solved, goal: Goal, threshold: float, classes: np.ndarray
) -> None:
    """Warn of classifiers that decide alike for all training rows, except those that ran out of time."""
    problems = solved.posed.problems
    constant = list[str]()
    advice = ""
    for index, (result, values) in enumerate(
        zip(solved.results, solved.decisions, strict=True)
    ):
        if result.status is Status.TIME_LIMIT:
            continue
        # One class against the rest may never be predicted; it is constant if its
        # decision values do not differ.
        useless = values.highest - values.lowest <= NEGLIGIBLE
        if useless or (
            len(problems) == 1
            and (values.lowest > threshold or values.highest <= threshold)
        ):
            constant.append(name_of(index, classes))
            advice = advice or (
                _advice(problems[index])
                if useless or isinstance(goal, str)
                else BY_COSTS
            )
    if constant:
        if len(constant) > MAX_NAMED:
            more = f" and {len(constant) - MAX_NAMED} more"
        else:
            more = ""
        if len(problems) > 1:
            of = f" ({', '.join(constant[:MAX_NAMED])}{more})"
        else:
            of = ""
        warn_user(
            Message(
                "The fitted classifier is constant on the training rows{}: {}",
                of,
                advice,
            )
        )


def _advice(problem: Problem) -> str:
    """Return what helps against a constant classifier, with the largest useful radius as a number."""
    if np.max(problem.flip_cost) == 0:
        return "flip_cost=0 lets the adversary flip every label for free. Use a larger one, or the default, inf."
    if problem.rows.is_kernel and problem.n_rows > 2 * ADVICE_ROWS:
        few = draw_sample(problem, ADVICE_ROWS)
    else:
        few = problem
    largest = radius_max(at_centre(few).problem, max_time=ADVICE_SECONDS)
    if largest <= NEGLIGIBLE * typical_row_norm(problem):
        text = "no radius gives a better one, because the features hardly differ between the classes. Use other "
        return Message(text + "features, or {} if one class is rare.", BALANCED)
    rare = Message(
        "{} if one class is rare, or {}, which tries it and several radii.",
        BALANCED,
        SEARCH,
    )
    if problem.radius >= largest:
        text = (
            "radius={:.3g} is too large for these data. The largest useful radius is {:.3g}; use half of it or less, "
            "or {}. It may also help to standardise the features, or to use {}"
        )
        return Message(text, problem.radius, largest, Parameter("radius", "auto"), rare)
    text = "the rows of the smaller class do not outweigh the others at radius={:.3g}. Use {}"
    return Message(text, problem.radius, rare)


def warn_of_large_budgets(problems: list[Problem], classes: np.ndarray) -> None:
    """Warn if the adversary can afford to flip all labels of a class."""
    for index, problem in enumerate(problems):
        if not problem.flips_possible:
            continue
        costs = flip_costs_of_classes(problem)
        if problem.radius >= min(costs):
            share = masses_of_classes(problem)[int(np.argmin(costs))]
            if share <= 0.5:
                side = "the rarer class"
            else:
                side = "the larger class"
            if len(problems) > 1:
                side = f"{classes[index]!r} against the rest"
            else:
                side = side
            if by_row(problem.flip_cost):
                words = f"radius={problem.radius:g}, at a flip_cost of {min(costs):.3g} in all,"
            else:
                words = (
                    f"radius / flip_cost = {problem.radius:g} / {problem.flip_cost:g}"
                )
            warn_user(
                f"{words} lets the adversary flip every label of {side}, which has a "
                f"share of {share:.3g} of the weight. Choose a smaller radius or a larger flip_cost."
            )
            return


def warn_of_large_gaps(short: list[Result], n_problems: int) -> None:
    """Warn of problems that did not reach their tolerance."""
    worst = max(short, key=lambda result: result.gap)
    gap = f"The proven gap is {worst.gap:.1e}, above the tolerance {worst.tol:.1e} ({worst.status})."
    if n_problems > 1:
        late = sum(result.status is Status.TIME_LIMIT for result in short)
        cut = f", {late} of them for lack of time" if late else ""
        gap = f"{len(short)} of {n_problems} classes did not reach the tolerance {worst.tol:.1e}{cut}; the largest "
        gap += f"proven gap is {worst.gap:.1e} ({worst.status})."
    remedy = "{} Allow more iterations or time ({}, {}), accept a larger {}, or standardise the features."
    warn_user(
        Message(remedy, gap, *map(Parameter, ("max_iter", "max_time", "tol"))),
        ConvergenceWarning,
    )
