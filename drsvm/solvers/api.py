"""`solve`: the problem in better coordinates, the choice of a solver, and its run.

`base` has the parts of a solver, `loop` runs any of them, `selection` knows their names
and what they cost, `reformulation` has the other coordinates.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.result import Result, Status
from drsvm.solvers.base import Solver, check_start
from drsvm.solvers.loop import Callback, result_without_steps, run
from drsvm.solvers.reformulation.reformulation import Reformulation, Unchanged
from drsvm.solvers.reformulation.shifted_columns import without_far_columns
from drsvm.solvers.reformulation.span_of_rows import (
    SpanOfRows,
    in_span_of_rows,
    problem_with_all_features,
)
from drsvm.solvers.selection import AUTO_TOL, is_auto, make_solver
from drsvm.utils.annotations import Values
from drsvm.utils.clock import TimeLimit


def solve(
    problem: Problem,
    solver: str | Solver = "auto",
    *,
    tol: float | None = None,
    max_iter: int | None = None,
    max_time: float | TimeLimit | None = None,
    start: Result | tuple[Values, float] | None = None,
    callback: Callback | None = None,
    random_state: int | np.random.Generator | None = None,
    n_threads: int | None = None,
    polish: bool = False,
    **settings: Any,
) -> Result:
    """Solve a problem and prove how good the answer is.

    Parameters
    ----------
    problem : Problem
        Data and parameters.
    solver : str or Solver
        Name of a solver, or a solver object with settings. All take a flip cost for
        each row and a cost of the intercept ("admm" without ridge), and all but
        "interior-point" and "conic" reject signs of weights, features that cannot
        shift, and costs of features with a ridge; "auto" picks one that takes the
        problem.
    tol : float, optional
        The run ends as soon as objective − lower bound ≤ tol. By default 1e-6 for
        "auto", regardless of the solver it picks, and otherwise the named solver's own
        default: 1e-8 for "interior-point", 1e-6 for "dual-coordinate" and
        "feature-working-set", 1e-4 for "isg", "ippa", "hybrid", "admm" and "federated",
        1e-7 for "conic".
    max_iter, max_time : int, float or TimeLimit, optional
        Limits on iterations and seconds; several calls can share a
        `drsvm.utils.clock.TimeLimit`. Except for the first one, no step is started that
        is expected to end too late. Compiling functions, the first time they are
        needed, does not count.
    start : Result or (weights, intercept), optional
        Starting point.
    callback : callable, optional
        Called with a `drsvm.problem.Progress` after every certificate; a true return
        value stops the run. With a callback, the interior-point solver proves its gap
        in every iteration, otherwise only towards the end.
    random_state : int or Generator, optional
        Seed for randomised solvers.
    n_threads : int, optional
        Threads for the work over the rows; by default all cores.
    polish : bool
        Whether "interior-point" and "dual-coordinate" go on to 0.003 times `tol`, as
        far as limits and rounding allow. The gap bounds the error of the objective;
        that of the weights is larger, and this makes it small too, for a few more
        iterations. The estimators do so.
    **settings
        Settings of the named solver.

    Returns
    -------
    Result
        Its status tells how the run ended; `solve` never warns. Ctrl-C ends the run
        with the best point so far and the status INTERRUPTED. So does the loss of rows
        on a cluster, with the status LOST and the cause in info["lost"].

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> result = solve(problem)
    >>> str(result.status), result.gap <= 1e-6
    ('optimal', True)
    >>> solve(problem, "isg", batch_size=1, max_iter=1).n_iter
    1
    """
    check_problem(problem, "solve")
    return solve_reformulated(
        Unchanged(problem),
        solver,
        settings,
        tol=tol,
        max_iter=max_iter,
        max_time=TimeLimit.of(max_time),
        start=start,
        callback=callback,
        random_state=random_state,
        n_threads=n_threads,
        polish=polish,
    )


def solve_reformulated(
    reformulation: Reformulation,
    solver: str | Solver,
    settings: dict[str, Any] | None = None,
    *,
    tol: float | None,
    max_iter: int | None,
    max_time: TimeLimit,
    start: Result | tuple[Values, float] | None = None,
    **options: Any,
) -> Result:
    """Solve the inner problem of a reformulation; return the result for the outer one.

    A problem that is unchanged so far is put into better coordinates: columns far from
    0 are shifted, and few wide rows are put into the span of the rows. If rounding
    takes too much of the proof there, a second attempt goes on with all features.

    Parameters
    ----------
    reformulation : Reformulation
        The problem, as it is (`Unchanged`) or in other coordinates.
    solver, tol, max_iter, max_time, start
        As in `solve`; the start is a classifier for the outer problem.
    settings : dict, optional
        Settings of a named solver.
    **options
        The other arguments of `solve`.

    Returns
    -------
    Result
        The result for the outer problem.
    """
    auto = is_auto(solver)
    if auto and tol is None:
        tol = AUTO_TOL

    def attempt(inner: Reformulation, start) -> Result:
        """Solve an inner problem, and return the result for the outer one."""
        chosen = make_solver(solver, inner.problem, **settings or {})
        result = run(
            inner.problem,
            chosen,
            try_others=auto and max_iter is None,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            start=inner.to_inner(start),
            **options,
        )
        return inner.to_outer(result)

    # 1. Better coordinates. A start is checked before it is converted: what is wrong
    # with it would be hard to recognise afterwards.
    check_start(problem_with_all_features(reformulation), start)
    result = None
    try:
        inner = _in_better_coordinates(reformulation, auto)

        # 2. The solver
        result = attempt(inner, start)

        # 3. Once more with all features, if products between rows have lost digits
        proven = result.gap <= result.tol
        if isinstance(inner, SpanOfRows) and result.status.reached and not proven:
            result = attempt(inner.all_features, result)
        return result
    except KeyboardInterrupt:
        # Ctrl-C has come outside a run, which ends with the best classifier so far.
        if result is None:
            given = reformulation.problem
            chosen = make_solver(solver, given, **settings or {})
            found = result_without_steps(given, chosen, tol)
            result = reformulation.to_outer(found)
        return replace(result, status=Status.INTERRUPTED)


def _in_better_coordinates(reformulation: Reformulation, auto: bool) -> Reformulation:
    """Return a reformulation with columns near 0 and, for `auto`, no wide rows."""
    if isinstance(reformulation, Unchanged):
        reformulation = without_far_columns(reformulation.problem)
    n_rows, n_features = reformulation.problem.rows.shape
    # Who names a solver wants to see it at work on all features.
    if auto and n_rows < n_features and not isinstance(reformulation, SpanOfRows):
        return in_span_of_rows(reformulation)
    return reformulation
