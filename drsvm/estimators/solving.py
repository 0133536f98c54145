"""The runs of a fit: one per binary problem, some in parallel, reported to scikit-learn's callbacks."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from drsvm.defaults.binary_problems import BinaryProblems, Regularisation, Solved, Start
from drsvm.defaults.one_vs_rest import name_of
from drsvm.defaults.outliers import FAR, far_columns
from drsvm.estimators.fit_data import FitData
from drsvm.problem.backends import to_numpy
from drsvm.problem.result import Progress, Result, Status
from drsvm.solvers.api import solve_reformulated
from drsvm.solvers.base import Solver
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import part, report_progress, stage

STEPS = 5  # from automatic class weights to balanced ones: each is a fit


class FitTask:
    """A fit, as scikit-learn's callbacks see it: a task with one subtask for every run."""

    def __init__(self, estimator: Any, X, y, *, may_solve_again: bool):
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self.classes = estimator.classes_
        self.listening = bool(getattr(estimator, "_skl_callbacks", ()))
        n_classes = len(self.classes)
        if n_classes > 2:
            tasks = n_classes
        elif may_solve_again:
            tasks = None
        else:
            tasks = 1
        self.context = estimator._init_callback_context(
            max_subtasks=tasks, sequential_subtasks=n_classes == 2
        )
        self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def end(self) -> None:
        """ReportProgress callbacks that the fit has ended."""
        self.context.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes={}
        )

    @contextmanager
    def run(self, index: int) -> Iterator[Callable[[Progress], bool] | None]:
        """Yield the callback of one of the runs.

        None: the solver then computes only a final certificate.
        """
        number = index if len(self.classes) > 2 else None
        task = self.context.subcontext(
            task_name="binary problem", task_id=number, max_subtasks=None
        )
        task.call_on_fit_task_begin(estimator=self.estimator)
        verbose = self.estimator.verbose

        def report(progress: Progress) -> bool:
            if verbose >= 2:
                at = f"[{name_of(index, self.classes)}] iteration {progress.iteration}, {progress.time:.2f} s"
                print(
                    f"{at}: objective {progress.objective:.8f}, gap {progress.gap:.1e}",
                    flush=True,
                )
            if not self.listening:
                return False
            step = task.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self.estimator)
            return bool(step.call_on_fit_task_end(estimator=self.estimator))

        yield report if self.listening or verbose >= 2 else None
        task.call_on_fit_task_end(estimator=self.estimator)


def solve_problems(
    posed: BinaryProblems,
    ball: Regularisation,
    starts: Sequence[Start],
    solver: str | Solver,
    task: FitTask,
    time: TimeLimit,
) -> Solved:
    """Solve the problems of all classes, some in parallel.

    Ctrl-C stops all, with their best results so far.
    """
    posed, n, model = (
        posed.with_regularisation(ball.radius, ball.l2),
        len(posed.problems),
        task.estimator,
    )
    if n == 1 and model.n_jobs is None:
        jobs = 1
    else:
        jobs = min(effective_n_jobs(model.n_jobs), n)
    limits = {
        "tol": model.tol,
        "max_iter": model.max_iter,
        "random_state": model.random_state,
        "polish": True,
    }
    limits["n_threads"] = None if n == 1 else 1

    def solve_one(index: int) -> Result:
        share = time.share((n - index) / jobs)
        with part(index / n, (index + 1) / n), task.run(index) as report:
            how = {"start": starts[index], "callback": report, "max_time": share}
            result = solve_reformulated(posed.centred(index), solver, **how, **limits)
        if result.status is Status.INTERRUPTED:
            time.stop()
        return result

    with stage("solving"):
        if jobs == 1:
            results = list(map(solve_one, range(n)))
        else:
            results = _in_threads(solve_one, n, jobs, time)
    return Solved(posed, ball, results)


def _in_threads(
    solve_one: Callable[[int], Result], n: int, jobs: int, time: TimeLimit
) -> list[Result]:
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(solve_one, index) for index in range(n)]
        try:
            results = []
            for future in waiting:
                results.append(future.result())
                report_progress(len(results) / n)
            return results
        except KeyboardInterrupt:
            time.stop()
            return [
                replace(future.result(), status=Status.INTERRUPTED)
                for future in waiting
            ]
        except BaseException:
            time.stop()
            raise


def solve_equalised(
    solved: Solved, data: FitData, solve_weighted: Callable[[], Solved], time: TimeLimit
) -> Solved:
    """Solve again if the classifier is constant, with class weights that are no closer to balanced ones than needed.

    Wrong labels make the rarer class larger, and each of its rows less certain:
    half-way weights may then no longer outweigh the other class anywhere, so that the
    optimum is constant whatever the radius. If no weights help, the result is that of
    the automatic ones.
    """
    if not _is_constant(solved) or time.over:
        return solved
    automatic = data.class_factors
    data.equalise(1.0)
    if np.allclose(automatic, data.class_factors):
        return solved
    solved = solve_weighted()
    if not solved.results[0].status.reached:  # interrupted, or no time
        return solved
    for step in (0,) if _is_constant(solved) else range(1, STEPS + 1):
        data.equalise(step / STEPS)
        solved = solve_weighted()
        if not _is_constant(solved):  # nor if it was interrupted
            break
    return solved


def _is_constant(solved: Solved) -> bool:
    """Whether two classes have an optimum that is constant, or constant but for rows that are far off."""
    problem = solved.posed.problems[0]
    result = solved.results[0]
    if len(solved.results) > 1 or not result.status.reached:
        return False
    if not (np.any(result.weights) and problem.rows.copyable):
        return not np.any(result.weights)
    values = to_numpy(problem.decision_values(result.weights, result.intercept))
    deviations = far_columns(values[:, None], to_numpy(problem.sample_weight))[2]
    return bool((deviations < 1.0 / FAR).any())  # the margin is 1
