"""What a solver is made of: settings, runs, and what crosses between a run and the loop (`loop.py`).

A solver is a frozen dataclass of settings. Its `start` makes a State; the loop calls `state.step()` and, where the
state says that a certificate is due, asks for `state.candidate()` and judges it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.clock import TimeLimit
from drsvm.model.problem import Problem


@dataclass(frozen=True)
class Candidate:
    """What a state offers for judgement: a classifier and, where it has them, multipliers (one per row)."""

    weights: np.ndarray
    intercept: float = 0.0
    hinge_dual: np.ndarray | None = None
    flip_dual: np.ndarray | None = None


@dataclass(frozen=True)
class Limits:
    """What a run may use, as far as a state needs to know it."""

    tol: float
    max_iter: int
    time: TimeLimit
    n_threads: int | None
    random_state: Any
    start: Candidate | None
    watched: bool = False  # somebody wants to see the progress of every iteration

    def time_left(self) -> float:
        """Return the seconds left."""
        return self.time.left()

    def generator(self) -> np.random.Generator:
        """Return a random generator; without a seed it is the same in every run."""
        if isinstance(self.random_state, np.random.Generator):
            return self.random_state
        if isinstance(self.random_state, np.random.RandomState):
            return np.random.default_rng(self.random_state.randint(2**31))
        return np.random.default_rng(0 if self.random_state is None else self.random_state)


class State(ABC):
    """One run of a solver."""

    finished: bool = False
    """True when further steps would change nothing."""

    gives_up: bool = False
    """True when another method should go on (see `hand_over.py`)."""

    step_seconds: float = 0.0
    """About how long a step takes, where that may be long: one that would end much too late is not begun."""

    @abstractmethod
    def step(self) -> None:
        """Do one iteration."""

    @abstractmethod
    def candidate(self) -> Candidate:
        """Return the current classifier and multipliers."""

    def certificate_due(self) -> bool:
        """Say whether the present iteration is worth a certificate."""
        return True

    def judged(self, gap: float) -> None:
        """Take note of the proven gap after a certificate."""

    def close(self) -> None:
        """Give back what the run holds."""

    def info(self) -> dict[str, Any]:
        """Return figures of the run that are worth keeping."""
        return {}


class Relay(State):
    """A run that other states do in turn: all that is asked of it is passed on to the `current` one.

    Subclasses say in `successor` who goes on when, and what the legs have in common.
    """

    def __init__(self, first: State):
        self.current = first

    def successor(self) -> State | None:
        """Return the state that is to do the next step, where it is another one."""
        return None

    def step(self) -> None:
        """Do an iteration of whoever is at work."""
        following = self.successor()
        if following is not None:
            self.current.close()
            self.current = following
        self.current.step()

    def candidate(self) -> Candidate:
        return self.current.candidate()

    def certificate_due(self) -> bool:
        return self.current.certificate_due()

    def judged(self, gap: float) -> None:
        self.current.judged(gap)

    def close(self) -> None:
        self.current.close()

    def info(self) -> dict[str, Any]:
        return self.current.info()

    @property
    def finished(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.current.finished

    @property
    def gives_up(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.current.gives_up

    @property
    def step_seconds(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.current.step_seconds


class Solver(ABC):
    """Settings of a method, and the maker of its runs."""

    name: str
    default_tol: float
    default_max_iter: int

    def refusal(self, problem: Problem) -> str | None:
        """Return why this solver does not take a problem, with the value and the remedy; None: it does.

        It is asked before anything starts, so it looks at parameters only.
        """
        return None

    @abstractmethod
    def start(self, problem: Problem, limits: Limits) -> State:
        """Prepare a run."""
