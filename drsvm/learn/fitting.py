"""What a fit does, whatever the classifier is.

    X, y → checked, ±1, weights → Problem → solve → Result → fitted attributes

With more than two classes, each class is trained against the rest, with its own problem and certificate (see
`one_vs_rest`).
"""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import with_callbacks

from drsvm.clock import TimeLimit
from drsvm.engines.threads import single_threaded_blas
from drsvm.learn import one_vs_rest, prices
from drsvm.learn.deciding import decide
from drsvm.learn.evidence import share_of_ball
from drsvm.learn.gross_errors import FAR, far_columns, warn_of_far_rows
from drsvm.learn.probability import check_calibration
from drsvm.learn.radius_rule import Automatic, chosen_ball
from drsvm.learn.threshold import check_goal
from drsvm.model.backends import to_numpy
from drsvm.model.centring import Centred
from drsvm.model.problem import Problem
from drsvm.model.result import Progress, Result, Results, Status
from drsvm.model.rows import RowsLost
from drsvm.model.validation import check_entries, check_number
from drsvm.progress import following, lines, part, stage, tell
from drsvm.solvers import solve
from drsvm.solvers.base import Solver
from drsvm.solvers.registry import accepts

SHARES_OF_WAY = (0.2, 0.4, 0.6, 0.8, 1.0)  # from automatic class weights to balanced ones
PILOT_PARTS = 4  # the pilot solutions of radius="auto" may take one in this many parts of the time
FINISHED = (*filter(lambda status: status.reached, Status), Status.STOPPED, Status.INTERRUPTED)  # need no warning


class Solved(NamedTuple):
    """The problems of a fit, how they are put relative to the centre of the data, and their results."""

    problems: list[Problem]
    at_centre: Callable[[Problem], Centred]
    results: list[Result]


def _is_constant(found: Solved) -> bool:
    """Return whether two classes have an optimum that is constant, or constant but for rows that are far off."""
    problem, result = found.problems[0], found.results[0]
    if len(found.results) > 1 or not (result.status.reached and np.any(result.weights) and problem.rows.copyable):
        return len(found.results) == 1 and result.status.reached and not np.any(result.weights)
    decided = to_numpy(problem.decision_values(result.weights, result.intercept))
    deviations = far_columns(decided[:, None], to_numpy(problem.sample_weight))[2]
    return bool((deviations < 1.0 / FAR).any())  # the margin is 1


def _least_equalised(data: Any, found: Solved, solve_with: Callable[[], Solved]) -> Solved:
    """Solve again with class weights that are closer to balanced, but no closer than needed; if none helps, as before.

    Wrong labels make the rarer class larger, and each of its rows less certain: half-way weights may then no longer
    outweigh the other class anywhere, so that the optimum is constant whatever the radius.
    """
    automatic = data.class_factors
    data.equalise(1.0)
    if np.allclose(automatic, data.class_factors):
        return found
    found = solve_with()
    if not found.results[0].status.reached:  # interrupted, or no time
        return found
    for share in (0.0,) if _is_constant(found) else SHARES_OF_WAY:
        data.equalise(share)
        found = solve_with()
        if not _is_constant(found):  # nor if it was interrupted
            break
    return found


class FittingMixin:
    """The method `fit` of the classifiers; what differs between them are the methods at its end."""

    _finished = FINISHED

    @with_callbacks
    def fit(self: Any, X, y, sample_weight=None, flip_cost=None):
        """Fit the classifier.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; a weight of 0 removes the sample.
        flip_cost : array of shape (n_samples,), optional
            Cost of flipping the label of each sample, ``inf`` for verified ones. It replaces the parameter `flip_cost`.

        Returns
        -------
        self
            On Ctrl-C, the best classifier so far is stored before KeyboardInterrupt is raised.
        """
        time = TimeLimit.of(self.max_time)
        # Limiting BLAS takes a while, so it is done once for all the runs of a fit.
        with following(lines(print), print) if self.verbose else nullcontext(), single_threaded_blas():
            return self._fit(X, y, sample_weight, flip_cost, time)

    def _fit(self: Any, X, y, sample_weight, flip_cost, time: TimeLimit):
        check_goal(self.threshold)
        check_calibration(self.calibration)
        earlier = self._earlier_classifier() if getattr(self, "warm_start", False) else None
        data = self._data(X, y, sample_weight)
        self.classes_ = data.classes
        if getattr(self, "kernel", None) != "precomputed":
            data.share = warn_of_far_rows(data.X, data.sample_weight, getattr(self, "feature_names_in_", None))
        automatic = isinstance(self.class_weight, str) and self.class_weight == "auto"
        n_classes = len(data.classes)
        tasks = n_classes if n_classes > 2 else None if automatic else 1  # two classes may be solved again
        context = self._init_callback_context(max_subtasks=tasks, sequential_subtasks=n_classes == 2)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        solve_with = partial(self._solved, data, flip_cost, earlier, context, time)
        problems, at_centre, results = found = solve_with()
        if automatic and _is_constant(found) and not time.over:
            problems, at_centre, results = _least_equalised(data, found, solve_with)
        one_vs_rest.warn_of_large_budgets(problems, self.classes_)
        self.class_factors_ = data.class_factors
        self._store(problems, results)
        self._decide(data, problems, results, at_centre, time)
        if data.backend is not None:
            for name in {"coef_", "intercept_"} & vars(self).keys():  # with a kernel there are no weights
                setattr(self, name, data.backend.like(data.X, getattr(self, name)))
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        self._report_outcome(problems, results)
        return self

    def _solved(self: Any, data: Any, flip_cost, earlier, context, time: TimeLimit) -> Solved:
        """Set up the problems, choose radius and ridge, and solve."""
        try:
            problems = self._problems(data, flip_cost, time)
            self.intercept_cost_ = problems[0].intercept_cost
            at_centre = self._at_centre(problems)
            solutions = data.rough = self._choose_ball(problems, at_centre, data.counts, time, data.share)
        except ValueError:
            if data.backend is None:  # an entry may be too large; not before, which would be another pass over the rows
                check_entries(data.X)
            raise
        problems = [problem.replace(radius=self.radius_, l2=self.l2_) for problem in problems]
        starts = self._starts(earlier, solutions)
        with stage("solving"):
            return Solved(problems, at_centre, self._solve_all(problems, at_centre, starts, context, time))

    def _ball(self: Any, costs_by_class: Callable[[np.ndarray], Any], flip_cost) -> dict[str, Any]:
        """Return the parameters of the problems except the radius; `costs_by_class` maps costs of classes to rows."""
        self._flip_cost_by_row = flip_cost is not None
        costs = self.flip_cost if flip_cost is None else flip_cost
        if isinstance(costs, Mapping):
            costs = costs_by_class(prices.flip_costs_of_classes(costs, self.classes_))
        l2 = 0.0 if self._is_automatic("l2") else self.l2
        ball = {"flip_cost": costs, "l2": l2, "fit_intercept": bool(self.fit_intercept)}
        return ball | {"intercept_cost": prices.intercept_cost_or_auto(self.intercept_cost)} | self._prices()

    def _choose_ball(
        self: Any, problems: list[Problem], at_centre, counts: Callable[[int], Any], time: TimeLimit, share: float = 1.0
    ) -> list[Result | None]:
        """Set `radius_` and `l2_`, and return what is known about the solutions; `counts` are those of a problem.

        `share` is the part of the spread that is not due to gross errors: a ball for far rows would leave no others
        apart.
        """
        given = [None if self._is_automatic(k) else check_number(getattr(self, k), k) for k in ("radius", "l2")]
        # No share of the time, because the fit may then take its first step even if no time is left.
        pilot = TimeLimit(time.left() / PILOT_PARTS, within=time)

        def measure(index: int, rule: Callable[..., Automatic], **options) -> Automatic:
            centred = at_centre(problems[index])
            found = rule(centred.problem, counts=counts(index), **options)
            return found._replace(solution=centred.from_centred(found.solution))

        def found_by(rule) -> list[Automatic]:
            with stage("choosing the radius"):
                return one_vs_rest.for_each(range(len(problems)), measure, pilot, rule=rule)

        self.radius_, self.l2_, solutions = chosen_ball(len(problems), found_by, *given)
        self.radius_ *= share if given[0] is None else 1.0
        self.l2_ *= share**2 if given[1] is None else 1.0
        if given[0] is None and len(problems) == 1:
            problem = problems[0].replace(radius=self.radius_, l2=self.l2_)
            with stage("choosing the radius"):
                share = share_of_ball(problem, at_centre, counts, given[1] is None, pilot, solutions[0])
            self.radius_, self.l2_ = share * self.radius_, share**2 * self.l2_ if given[1] is None else self.l2_
        if given[1] is None and not accepts(self._solver(problems[0]), problems[0].replace(l2=self.l2_)):
            self.l2_ = 0.0  # if that is refused as well, the error says why
        return solutions

    def _is_automatic(self: Any, name: str) -> bool:
        value = getattr(self, name)
        if isinstance(value, str) and value != "auto":
            raise ValueError(f"{name} must be a number or 'auto', got {name}={value!r}.")
        return isinstance(value, str)

    def _solve_all(self: Any, problems: list[Problem], at_centre, starts: list[Any], context, time) -> list[Result]:
        """Solve the problems of all classes, some in parallel; Ctrl-C stops all, with their best results so far."""
        jobs = 1 if self.n_jobs is None and len(problems) == 1 else min(effective_n_jobs(self.n_jobs), len(problems))

        def solve_one(index: int) -> Result:
            share = time.share((len(problems) - index) / jobs)
            with part(index / len(problems), (index + 1) / len(problems)):
                result = self._solve(index, at_centre(problems[index]), starts[index], context, share)
            if result.status is Status.INTERRUPTED:
                time.stop()
            return result

        if jobs == 1:
            return [solve_one(index) for index in range(len(problems))]
        with ThreadPoolExecutor(jobs) as pool:
            waiting = [pool.submit(solve_one, index) for index in range(len(problems))]
            try:
                results = []
                for future in waiting:
                    results.append(future.result())
                    tell(len(results) / len(waiting))
                return results
            except KeyboardInterrupt:
                time.stop()
                return [replace(future.result(), status=Status.INTERRUPTED) for future in waiting]
            except BaseException:
                time.stop()
                raise

    def _solve(self: Any, index: int, centred: Centred, start, context, time: TimeLimit) -> Result:
        number = index if len(self.classes_) > 2 else None
        task = context.subcontext(task_name="binary problem", task_id=number, max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self)
        limits = {"tol": self.tol, "max_iter": self.max_iter, "max_time": time, "random_state": self.random_state}
        limits |= {"n_threads": None if len(self.classes_) == 2 else 1, "polish": True}
        start, report = centred.to_centred(start), self._reporter(index, task)
        result = solve(centred.problem, self._solver(centred.problem), start=start, callback=report, **limits)
        task.call_on_fit_task_end(estimator=self)
        found = centred.from_centred(result)
        if result.status.reached and not found.gap <= result.tol:  # rounding took the rest in other coordinates
            return self._solve(index, centred.with_all_features(), found, context, time)
        return found

    def _reporter(self: Any, index: int, task) -> Callable[[Progress], bool] | None:
        """Return the progress callback, or None if not needed: the solver then computes only a final certificate."""
        listening = bool(getattr(self, "_skl_callbacks", ()))
        if not listening and self.verbose < 2:
            return None
        name = one_vs_rest.name_of(index, self.classes_)

        def report(progress: Progress) -> bool:
            if self.verbose >= 2:
                values = f"objective {progress.objective:.8f}, gap {progress.gap:.1e}"
                print(f"[{name}] iteration {progress.iteration}, {progress.time:.2f} s: {values}", flush=True)
            if not listening:
                return False
            step = task.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self)
            return bool(step.call_on_fit_task_end(estimator=self))

        return report

    def _store(self: Any, problems: list[Problem], results: list[Result]) -> None:
        intercepts, weights = (np.array([getattr(one, name) for one in results]) for name in ("intercept", "weights"))
        self.intercept_ = one_vs_rest.towards_majority(problems, weights, intercepts)
        self._store_classifier(problems, results)
        self.threshold_ = 0.0
        self.__dict__.pop("sigmoids_", None)  # of an earlier fit
        self.n_iter_ = max(result.n_iter for result in results)
        self._store_figures(results)
        self.result_ = results[0] if len(results) == 1 else Results(results, self.classes_.tolist())

    def _store_figures(self: Any, runs: list[Any]) -> None:
        """Store the certificate: a number for two classes, otherwise an array."""
        for name in ("objective", "lower_bound", "gap", "radius_price"):
            values = [getattr(run, name, math.nan) for run in runs]
            setattr(self, f"{name}_", float(values[0]) if len(runs) == 1 else np.array(values))

    def _report_outcome(self: Any, problems: list[Problem], results: list[Result]) -> None:
        if self.verbose:
            for index, result in enumerate(results):
                name = one_vs_rest.name_of(index, self.classes_)
                print(f"[{name}] {result.status}: gap {result.gap:.1e}, {result.n_iter} iterations")
        if any(result.status is Status.INTERRUPTED for result in results):
            raise KeyboardInterrupt
        lost = [result.info["lost"] for result in results if result.status is Status.LOST]
        if lost:
            raise RowsLost(f"{lost[0]} The best classifier so far is stored.")
        one_vs_rest.warn_of_large_gaps([r for r in results if r.status not in self._finished], len(results))
        one_vs_rest.warn_of_constant_ones(problems, results, self.threshold_, self.classes_)

    # --- what a classifier defines: `_data`, `_store_classifier`, and these where they differ ------------------------

    def _problems(self: Any, data: Any, flip_cost, time: TimeLimit) -> list[Problem]:
        """Return one problem per class, or one for two classes."""
        return data.problems(self._ball(data.costs_by_class, flip_cost))

    def _prices(self: Any) -> dict[str, Any]:
        """Return further parameters of the problems."""
        return {}

    def _at_centre(self: Any, problems: list[Problem]) -> Callable[[Problem], Centred]:
        """Return how a problem is put relative to the centre of the data."""
        return Centred

    def _decide(self: Any, data: Any, problems: list[Problem], results: list[Result], at_centre, time) -> None:
        """Place the threshold, and fit the sigmoids."""
        decide(self, data, problems, results, at_centre, time)

    def _solver(self: Any, problem: Problem) -> str | Solver:
        """Return the solver of a problem."""
        return self.solver

    def _starts(self: Any, earlier, otherwise: list[Any]) -> list[Any]:
        """Return where the runs start, given an earlier classifier and rough solutions."""
        return otherwise
