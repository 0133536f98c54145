"""A solver that follows a script, and a small problem for it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.solvers import Candidate, Solver, State

X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.5, -1.0]])
Y = np.array([1, 1, -1, -1])
BALL = {"radius": 0.1, "flip_cost": math.inf}


@dataclass(frozen=True)
class Scripted(Solver):
    """Offers the given candidates one after another.

    An exception among them is raised by the step instead.
    """

    name = "scripted"
    default_tol = 1e-6
    default_max_iter = 50

    script: tuple[Any, ...]
    finish: bool = False
    every: int = 1

    def start(self, problem, limits):
        return ScriptedState(self, limits)


class ScriptedState(State):
    runs: list["ScriptedState"] = []  # noqa: RUF012 - tests look at the last run

    def __init__(self, settings, limits):
        self.settings = settings
        self.limits = limits
        self.position = 0
        self.closed = False
        ScriptedState.runs.append(self)

    def step(self):
        said = self.settings.script[min(self.position, len(self.settings.script) - 1)]
        self.position += 1
        if isinstance(said, BaseException):
            raise said
        self.finished = self.settings.finish and self.position == len(
            self.settings.script
        )

    def candidate(self):
        return self.settings.script[min(self.position, len(self.settings.script)) - 1]

    def certificate_due(self):
        return self.position % self.settings.every == 0

    def close(self):
        self.closed = True

    def info(self):
        return {"steps": self.position}


def scripted(*script, **settings):
    return Scripted(tuple(script), **settings)


GOOD = Candidate(np.array([0.8, 0.6]))
BAD = Candidate(np.array([-0.2, -0.1]))
BETTER_DUAL = Candidate(np.array([-9.0, -9.0]), 0.0, np.array([0.1, 0.1, 0.1, 0.1]))
WORSE_DUAL = Candidate(np.array([-9.0, -9.0]), 0.0, np.array([0.01, 0.0, 0.01, 0.0]))


def value(problem, candidate):
    return problem.objective(candidate.weights, candidate.intercept)
