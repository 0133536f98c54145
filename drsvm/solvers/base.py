"""The parts of a solver, and the data exchanged between a run and the loop (`loop.py`).

A solver is a frozen dataclass of settings. Its `start` creates a State; the loop calls
`state.step()` and, if `state.certificate_due()`, certifies `state.candidate()`.
"""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Container
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any

import numpy as np

from drsvm.problem.norms import Norm
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.problem.risk import by_row
from drsvm.problem.validation import check_weight_vector
from drsvm.utils.arguments import about, check_single
from drsvm.utils.clock import TimeLimit

# A run with `polish` goes on to the share POLISHED of the tolerance, but no further
# than to the gap FINEST_AIM, which rounding usually allows. The error of the weights
# shrinks more slowly than the gap, at worst as its square root.
POLISHED = 0.003
FINEST_AIM = 1e-10
# Progress towards a smaller tolerance is reported as towards this one: rounding allows
# no smaller gap.
FINEST_TOL_OF_PROGRESS = 1e-12


@dataclass(frozen=True, eq=False)
class Candidate:
    """A classifier to be certified and, if available, its multipliers (one per row)."""

    weights: np.ndarray
    intercept: float = 0.0
    hinge_dual: np.ndarray | None = None
    flip_dual: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits and options of a run that its state needs to know.

    `check_limits` makes them from the arguments of `solve`.
    """

    tol: float
    """The gap at which the run ends: less than the caller's `tol` if it polishes."""

    max_iter: int
    time: TimeLimit

    n_threads: int | None
    """None for all cores."""

    random_state: Any

    start: Candidate | None
    """Where to start, if the caller knows a classifier."""

    watched: bool = False
    """Whether a callback follows the progress of every iteration."""

    enough: float = 0.0
    """The caller's `tol`: a gap that counts as optimal if the run cannot reach its own.
    """

    @property
    def accepted(self) -> float:
        """The largest gap that counts as optimal."""
        return max(self.tol, self.enough)

    def generator(self) -> np.random.Generator:
        """Return a random generator; without a seed, it is the same in every run."""
        return generator_of(self.random_state)


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a random generator for a seed, or the one that is given.

    Without a seed, it is always the same.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if random_state is None:
        random_state = 0
    with about("random_state"):
        return np.random.default_rng(random_state)


def share_of_way(first: float, gap: float, tol: float) -> float:
    """Return the share of the way from a first gap to a tolerance, from 0 to 1.

    It is log(first / gap) / log(first / tol): iterations divide the gap by about the
    same factor, so this grows evenly.
    """
    tol = max(tol, FINEST_TOL_OF_PROGRESS)
    if tol < gap < first:
        return math.log(first / gap) / math.log(first / tol)
    return float(gap <= tol)


class State(ABC):
    """One run of a solver."""

    finished: bool = False
    """True when further steps would change nothing."""

    taken: int = 1
    """Number of iterations that the last call of `step` took."""

    gives_up: bool = False
    """True when the interior-point solver should take over."""

    has_fallback: bool = False
    """Whether the interior-point solver may take over (see `fallback.py`)."""

    step_seconds: float = 0.0
    """Approximate duration of the next step, if it may be long.

    One that would end much too late is not started.
    """

    @abstractmethod
    def step(self) -> None:
        """Do one iteration, or several."""

    @abstractmethod
    def candidate(self) -> Candidate:
        """Return the current classifier and multipliers."""

    def certificate_due(self) -> bool:
        """Return True if the current iteration is worth a certificate."""
        return True

    def on_certificate(self, gap: float) -> None:
        """Process the gap that a certificate has proven."""

    def forgot_multipliers(self) -> bool:
        """Return whether multipliers that were offered earlier may be lost.

        Their bound is then proven again.
        """
        return False

    def share_done(self) -> float | None:
        """Return the share of the way to the tolerance that is done.

        None if only certificates can tell. Progress is reported after every iteration,
        so this must cost nothing.
        """
        return None

    def close(self) -> None:
        """Release the resources of the run."""

    def info(self) -> dict[str, Any]:
        """Return figures about the run for the result."""
        return {}


# A property that hands out a bound method serves for methods, too: `run.candidate()`
# looks up `run.current.candidate`, and calls it.
def _of_current(name: str) -> Any:
    """Return a property: the attribute or method of this name of the current state."""

    def value(self: "DelegatingState") -> Any:
        return getattr(self.current, name)

    return property(value)


class DelegatingState(State):
    """A run that several states carry out in turn: all calls go to the `current` one.

    Subclasses define in `successor` which state takes over and when, and what the
    states have in common.
    """

    def __init__(self, first: State):
        self.current = first

    def successor(self) -> State | None:
        """Return the state that takes over for the next step.

        None to keep the current one.
        """
        return None

    def step(self) -> None:
        """Do one iteration, after a change of state if one is due."""
        following = self.successor()
        if following is not None:
            self.current.close()
            self.current = following
        self.current.step()

    def close(self) -> None:
        self.current.close()

    candidate = _of_current("candidate")
    on_certificate = _of_current("on_certificate")
    certificate_due = _of_current("certificate_due")
    share_done = _of_current("share_done")
    info = _of_current("info")
    finished = _of_current("finished")
    gives_up = _of_current("gives_up")
    step_seconds = _of_current("step_seconds")
    taken = _of_current("taken")


class Capability(Flag):
    """A feature of problems that not every solver can work with."""

    # A flip cost for each row
    FLIP_COSTS = auto()
    # A finite cost of the intercept
    INTERCEPT_COST = auto()
    # Finite costs of features without ridge: factors of the columns (see
    # `reformulation/costs_as_columns.py`)
    COLUMN_COSTS = auto()
    # Other costs of features
    FEATURE_COSTS = auto()
    # Prescribed signs of weights
    SIGNS = auto()
    # Rows that may each shift on their own
    ROW_RADIUS = auto()


EVERY_CAPABILITY = ~Capability(0)


def needed_capabilities(problem: Problem) -> dict[Capability, str]:
    """Return what a solver of the problem must be capable of.

    The values are the parameters that need it, as an error message names them.
    """
    found = {}
    if by_row(problem.flip_cost):
        found[Capability.FLIP_COSTS] = "a flip_cost for each row"
    if problem.feature_cost is not None:
        if problem.trusted_features.any():
            found[Capability.FEATURE_COSTS] = "feature_cost=inf"
        elif problem.l2 > 0:
            words = f"feature_cost with l2={problem.l2:g}"
            found[Capability.FEATURE_COSTS] = words
        else:
            found[Capability.COLUMN_COSTS] = "feature_cost"
    if problem.has_intercept_cost:
        words = f"intercept_cost={problem.intercept_cost:g}"
        found[Capability.INTERCEPT_COST] = words
    if problem.monotonic_cst is not None:
        found[Capability.SIGNS] = "monotonic_cst"
    if problem.has_row_radius:
        found[Capability.ROW_RADIUS] = "row_radius"
    return found


class Solver(ABC):
    """Settings of a method, and the factory of its runs.

    Subclasses are frozen dataclasses: the settings are their fields, what follows are
    constants of the class.
    """

    name: str
    """The name that `solve` knows it by."""

    default_tol: float
    default_max_iter: int

    norms: Container[type[Norm]] | None = None
    """The norms that the method works for, if not all."""

    capabilities: Capability = Capability(0)
    """Which costs and signs the method can work with."""

    reads_views: bool = False
    """Whether the method can work on rows that are computed block by block.

    See `problem/memory_rows.py`.
    """

    uses_sums_only: bool = False
    """Whether the method can work on rows that are on a cluster or on the GPU.

    See `problem/rows.py`.
    """

    polishes_quickly: bool = False
    """Whether a hundredth of the gap takes few further iterations."""

    def unsupported_reason(self, problem: Problem) -> str | None:
        """Return the reason to reject a problem, or None to accept it.

        It names the value and the remedy. It is asked for before anything starts, so it
        depends on parameters only.
        """
        if self.norms is not None and type(problem.norm) not in self.norms:
            return (
                f"solver {self.name!r} does not support norm={problem.norm}: "
                "use solver='interior-point'."
            )
        refused = [
            words
            for capability, words in needed_capabilities(problem).items()
            if capability not in self.capabilities
        ]
        if not refused:
            return None
        return (
            f"solver {self.name!r} does not support {', '.join(refused)}: "
            "use solver='interior-point' or solver='auto'."
        )

    @abstractmethod
    def start(self, problem: Problem, limits: Limits) -> State:
        """Prepare a run."""


def check_limits(
    problem: Problem,
    solver: Solver,
    *,
    tol: float | None = None,
    max_iter: int | None = None,
    max_time: float | TimeLimit | None = None,
    start=None,
    random_state=None,
    n_threads: int | None = None,
    watched: bool = False,
    polish: bool = False,
) -> Limits:
    """Return the limits of a run, checked.

    Parameters
    ----------
    problem, solver : Problem, Solver
        What the run is for. The solver has the defaults of `tol` and `max_iter`.
    tol, max_iter, max_time, start, random_state, n_threads, polish
        As in `drsvm.solve`.
    watched : bool
        Whether a callback follows every iteration.

    Returns
    -------
    Limits
        The limits.
    """
    if tol is None:
        tol = solver.default_tol
    with about("tol"):
        is_tolerance = isinstance(tol, numbers.Real) and float(tol) >= 0
    if not is_tolerance:
        raise ValueError(f"tol must be a number ≥ 0, got tol={tol!r}.")
    if max_iter is None:
        max_iter = solver.default_max_iter
    if n_threads is not None:
        n_threads = check_count(n_threads, "n_threads")
    check_single(polish=polish)
    if polish and solver.polishes_quickly:
        aim = max(POLISHED * tol, min(tol, FINEST_AIM))
    else:
        aim = tol
    return Limits(
        tol=float(aim),
        max_iter=check_count(max_iter, "max_iter"),
        time=TimeLimit.of(max_time),
        n_threads=n_threads,
        random_state=random_state,
        start=check_start(problem, start),
        watched=watched,
        enough=float(tol),
    )


def check_count(value, name: str, allowed: str = "an integer ≥ 1") -> int:
    """Return an integer ≥ 1; reject anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} must be {allowed}, got {name}={value!r}.")
    return int(value)


def check_start(problem: Problem, start) -> Candidate | None:
    """Return a start as a candidate, or raise if it is no classifier of the problem.

    The multipliers of a `Result` are kept if it is for the same number of rows.
    """
    if start is None:
        return None
    alpha = None
    beta = None
    if isinstance(start, Result):
        weights = start.weights
        intercept = start.intercept
        alpha = problem.multipliers_from(start.hinge_dual)
        beta = problem.multipliers_from(start.flip_dual)
    else:
        try:
            weights, intercept = start
        except (TypeError, ValueError):
            raise TypeError(
                "start must be a Result or (weights, intercept), "
                f"got {type(start).__name__}."
            ) from None
    weights = check_weight_vector(weights, problem.n_features, "start")
    if not isinstance(intercept, numbers.Real) or not math.isfinite(intercept):
        raise ValueError(f"start must have a finite intercept, got {intercept!r}.")
    # A start is a hint: an intercept that the problem does not have is left out.
    if not problem.fit_intercept:
        intercept = 0.0
    return Candidate(weights, float(intercept), alpha, beta)
