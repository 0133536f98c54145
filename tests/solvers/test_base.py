"""The parts of runs and limits that all solvers share."""

import math

import numpy as np
import pytest
from scripted import BAD, BALL, GOOD, ScriptedState, X, Y, scripted

from drsvm import Problem, solve
from drsvm.solvers import DelegatingState, Limits, Solver, share_of_way
from drsvm.utils import TimeLimit


def limits(**changes):
    given = {
        "tol": 1e-6,
        "max_iter": 10,
        "time": TimeLimit(),
        "n_threads": 1,
        "random_state": None,
        "start": None,
    }
    return Limits(**{**given, **changes})


def test_seeds_of_all_kinds_are_accepted():
    drawn = [
        limits(random_state=seed).generator().random()
        for seed in (0, None, np.random.default_rng(0))
    ]
    assert drawn[0] == drawn[1] == drawn[2]
    states = [limits(random_state=np.random.RandomState(3)) for _ in range(2)]
    assert states[0].generator().random() == states[1].generator().random()


class Pair(DelegatingState):
    """Two runs; the second takes over after a few steps of the first."""

    def __init__(self, first, second, steps):
        super().__init__(first)
        self.second = second
        self.steps = steps

    def successor(self):
        return (
            self.second
            if self.current is not self.second and self.current.position == self.steps
            else None
        )


class PairSolver(Solver):
    name = "pair"
    default_tol = 1e-6
    default_max_iter = 5

    def start(self, problem, limits):
        self.runs = [
            ScriptedState(scripted(*script, finish=True), limits)
            for script in ((BAD, BAD, BAD), (BAD, GOOD))
        ]
        return Pair(*self.runs, steps=2)


def test_a_relay_runs_its_states_in_turn():
    problem = Problem(X, Y, **BALL)
    solver = PairSolver()
    result = solve(problem, solver)
    first, second = solver.runs
    assert (
        (first.position, second.position) == (2, 2) and first.closed and second.closed
    )
    assert result.n_iter == 4 and result.info == {"steps": 2}
    assert (
        result.objective == problem.objective(GOOD.weights)
        and str(result.status) == "stalled"
    )


def test_a_relay_passes_calls_on_to_its_state():
    state = ScriptedState(scripted(BAD, every=2), limits())
    relay = DelegatingState(state)
    state.gives_up = True
    state.step_seconds = 3.0
    state.share_done = lambda: 0.4
    assert (relay.gives_up, relay.step_seconds, relay.finished, relay.share_done()) == (
        True,
        3.0,
        False,
        0.4,
    )
    relay.step()
    assert not relay.certificate_due() and relay.candidate() is BAD
    relay.step()
    assert relay.certificate_due()


@pytest.mark.parametrize(
    ("gap", "tol", "share"),
    [
        (0.1, 1e-6, 0.0),
        (1e-2, 1e-3, 0.5),
        (1e-4, 1e-7, 0.5),
        (1e-6, 1e-6, 1.0),
        (0.0, 0.0, 1.0),
        (1e-3, 1.0, 1.0),
        (2.0, 1e-6, 0.0),
        (math.inf, 1e-6, 0.0),
        (math.nan, 1e-6, 0.0),
    ],
)
def test_the_way_to_a_tolerance_is_measured_in_decades(gap, tol, share):
    assert share_of_way(0.1, gap, tol) == pytest.approx(share)
