"""Convergence of runs: objective, proven bound and gap over time or iterations."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

from drsvm.plotting.style import (
    Display,
    GivenAxes,
    Look,
    legend_below,
    marked_styles,
    numbered,
    plain,
)
from drsvm.problem.problem import Problem
from drsvm.problem.result import History, Result
from drsvm.solvers.api import solve
from drsvm.solvers.base import Solver
from drsvm.utils.arguments import about, check_single

Runs: TypeAlias = Result | Sequence[Result] | Mapping[str, Result]
# Of a history, by name
Columns: TypeAlias = dict[str, np.ndarray]

# What the horizontal axis may have, and its label
TIMES = {"time": "time in seconds", "iteration": "iteration"}
# Smaller gaps are drawn here: a logarithmic axis has no 0.
SMALLEST_GAP = 1e-12


class ConvergenceDisplay(Display):
    """Objective, proven lower bound and gap of one or several runs.

    Create it with `from_results` or `from_problem`.

    Parameters
    ----------
    histories : dict from str to History
        The history of each run, by name.

    Attributes
    ----------
    lines_ : dict from str to list of Line2D
        The lines of each run.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import Problem
    >>> from drsvm.plotting import ConvergenceDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice([-1, 1], size=100)
    >>> problem = Problem(rng.normal(size=(100, 3)) + y[:, None], y, radius=0.1)
    >>> display = ConvergenceDisplay.from_problem(problem, ["interior-point", "hybrid"])
    """

    def __init__(self, *, histories: Mapping[str, History]):
        self.histories = dict(histories)

    @classmethod
    def from_results(
        cls, results: Runs, *, ax: GivenAxes = None, x: str = "time", y: str = "gap"
    ) -> Self:
        """Plot the histories of results.

        A solver computes certificates only when needed; for a history of every
        iteration, run `solve` with a callback (for instance one that returns False), or
        use `from_problem`.

        Parameters
        ----------
        results : Result, sequence or dict of them
            The runs; names are taken from the dict, otherwise from the solvers.
        ax, x, y
            As in `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        if isinstance(results, Result):
            results = [results]
        if not isinstance(results, Mapping):
            results = numbered(results, _solver_of)
        histories = {}
        for name, result in results.items():
            if not isinstance(result, Result):
                raise TypeError(
                    "results must be returned by solve, got "
                    f"{type(result).__name__} for {name!r}."
                )
            histories[name] = result.history
        return cls(histories=histories).plot(ax, x=x, y=y)

    @classmethod
    def from_problem(
        cls,
        problem: Problem,
        solvers: str | Sequence[str | Solver] = ("auto",),
        *,
        ax: GivenAxes = None,
        x: str = "time",
        y: str = "gap",
        **limits: Any,
    ) -> Self:
        """Solve a problem with several solvers and plot their convergence.

        Each solver first takes one untimed iteration, so that compilation is not
        measured.

        Parameters
        ----------
        problem : Problem
            The problem.
        solvers : sequence of names or Solver objects
            See `drsvm.solve`.
        ax, x, y
            As in `plot`.
        **limits
            Passed to `drsvm.solve`: tol, max_iter, max_time, random_state, n_threads.

        Returns
        -------
        ConvergenceDisplay
        """
        if isinstance(solvers, str):
            solvers = [solvers]
        with about("solvers"):
            solvers = list(solvers)
        if not solvers:
            raise ValueError("solvers is empty: name one or several.")
        for solver in solvers:
            solve(problem, solver, **{**limits, "max_iter": 1})
        results = []
        for solver in solvers:
            # With a callback, there is a certificate after every iteration.
            result = solve(problem, solver, callback=_go_on, **limits)
            results.append(result)
        return cls.from_results(results, ax=ax, x=x, y=y)

    def plot(self, ax: GivenAxes = None, *, x: str = "time", y: str = "gap") -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        x : {"time", "iteration"}
            Seconds, or the solver's iterations (an epoch of an incremental method is
            one iteration).
        y : {"gap", "bounds"}
            The proven gap on a logarithmic axis; or objective (solid lines) and lower
            bound (dotted), which close in on the optimum.

        Returns
        -------
        self
            Its axes are in `ax_`, its figure in `figure_`.
        """
        check_single(x=x, y=y)
        if x not in tuple(TIMES):
            raise ValueError(f"x must be 'time' or 'iteration', got x={x!r}.")
        if y not in ("gap", "bounds"):
            raise ValueError(f"y must be 'gap' or 'bounds', got y={y!r}.")
        self._begin(ax)
        self.lines_ = {}
        shown = []
        looks = marked_styles(len(self.histories))
        for (name, history), look in zip(self.histories.items(), looks, strict=True):
            columns = history.to_dict()
            shown.append(columns[x])
            draw = self._draw_gap if y == "gap" else self._draw_bounds
            self.lines_[name] = draw(columns[x], columns, name, look)
        if y == "gap":
            self.ax_.set(yscale="log", ylabel="proven gap")
        else:
            # The optimum lies in [0, 1]; the first iterations may lie far outside.
            label = "objective (solid), lower bound (dotted)"
            self.ax_.set(ylabel=label, ylim=(-0.02, 1.25))
        self.ax_.set_xlabel(TIMES[x])
        # Solvers of very different speed need a logarithmic axis.
        times = np.concatenate(shown)
        positive = times[times > 0]
        if len(positive) and positive.max() > 30 * positive.min():
            self.ax_.set_xscale("log")
        legend_below(self.ax_, ncols=4)
        return self

    def _draw_gap(
        self, times: np.ndarray, columns: Columns, name: str, look: Look
    ) -> list:
        """Draw and return the line of a run's gaps."""
        gaps = np.maximum(columns["gap"], SMALLEST_GAP)
        if len(gaps) < 10:
            # A short run shows all of its markers; of a single step nothing else.
            look = {**look, "markevery": None}
        return self.ax_.plot(times, gaps, label=plain(name), **look)

    def _draw_bounds(
        self, times: np.ndarray, columns: Columns, name: str, look: Look
    ) -> list:
        """Draw and return the lines of a run's objective and lower bound."""
        solid = {**look, "linestyle": "-"}
        dotted = {**look, "linestyle": ":"}
        above = self.ax_.plot(times, columns["objective"], label=plain(name), **solid)
        return above + self.ax_.plot(times, columns["lower_bound"], **dotted)


def _solver_of(result: Any) -> str:
    """Return the name of the solver, or the type of what is no Result."""
    return getattr(result, "solver", type(result).__name__)


def _go_on(progress: object) -> bool:
    """Return what a callback returns that does not stop a solver."""
    return False
