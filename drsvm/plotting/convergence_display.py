"""Convergence of runs: objective, proven bound and gap over time or iterations."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from drsvm.plotting.style import (
    GivenAxes,
    axes_for,
    legend_below,
    marked_styles,
    numbered,
    plain,
    quiet,
)
from drsvm.problem.problem import Problem
from drsvm.problem.result import History, Result

if TYPE_CHECKING:
    from drsvm.solvers.base import Solver

Runs: TypeAlias = Result | Sequence[Result] | Mapping[str, Result]

_TIMES = {"time": "time in seconds", "iteration": "iteration"}
SMALLEST_GAP = 1e-12  # smaller gaps are drawn here: a logarithmic axis has no 0


class ConvergenceDisplay:
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
    ) -> "ConvergenceDisplay":
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
        """
        if isinstance(results, Result):
            results = [results]
        else:
            results = results
        if not isinstance(results, Mapping):
            results = numbered(
                (getattr(result, "solver", type(result).__name__), result)
                for result in results
            )
        for name, result in results.items():
            if not isinstance(result, Result):
                raise TypeError(
                    f"results must be returned by solve, got {type(result).__name__} for {name!r}."
                )
        return cls(
            histories={name: result.history for name, result in results.items()}
        ).plot(ax, x=x, y=y)

    @classmethod
    def from_problem(
        cls,
        problem: Problem,
        solvers: "Sequence[str | Solver]" = ("auto",),
        *,
        ax: GivenAxes = None,
        x: str = "time",
        y: str = "gap",
        **limits: Any,
    ) -> "ConvergenceDisplay":
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
        """
        from drsvm.solvers.api import solve

        solvers = [solvers] if isinstance(solvers, str) else solvers
        for solver in solvers:
            solve(problem, solver, **{**limits, "max_iter": 1})
        results = [
            solve(problem, solver, callback=lambda progress: False, **limits)
            for solver in solvers
        ]
        return cls.from_results(results, ax=ax, x=x, y=y)

    def plot(
        self, ax: GivenAxes = None, *, x: str = "time", y: str = "gap"
    ) -> "ConvergenceDisplay":
        """Draw the plot, and return the display: its axes are then in `ax_`, its figure in `figure_`.

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
        """
        if x not in _TIMES:
            raise ValueError(f"x must be 'time' or 'iteration', got x={x!r}.")
        if y not in ("gap", "bounds"):
            raise ValueError(f"y must be 'gap' or 'bounds', got y={y!r}.")
        self.figure_, (self.ax_,) = axes_for("ConvergenceDisplay", ax)
        self.lines_ = {}
        for (name, history), style in zip(
            self.histories.items(), marked_styles(len(self.histories)), strict=True
        ):
            columns = history.to_dict()
            if y == "gap":
                gaps = np.maximum(columns["gap"], SMALLEST_GAP)
                # A run of one step is a single marker
                style |= {"markevery": None} if len(gaps) < 10 else {}
                self.lines_[name] = self.ax_.plot(
                    columns[x], gaps, label=plain(name), **style
                )
            else:
                above = self.ax_.plot(
                    columns[x],
                    columns["objective"],
                    label=plain(name),
                    **style | {"linestyle": "-"},
                )
                below = self.ax_.plot(
                    columns[x], columns["lower_bound"], **style | {"linestyle": ":"}
                )
                self.lines_[name] = above + below
        if y == "gap":
            self.ax_.set(yscale="log", ylabel="proven gap")
        else:  # the optimum lies in [0, 1]; the first iterations may lie far outside
            self.ax_.set(
                ylabel="objective (solid), lower bound (dotted)", ylim=(-0.02, 1.25)
            )
        quiet(self.ax_)
        self.ax_.set_xlabel(_TIMES[x])
        shown = np.concatenate(
            [history.to_dict()[x] for history in self.histories.values()]
        )
        positive = shown[shown > 0]
        if len(positive) and positive.max() > 30 * positive.min():
            self.ax_.set_xscale("log")
        legend_below(self.ax_, ncols=4)
        return self
