"""General-purpose solvers, each in the formulation that suits it best."""

import numpy as np
from _common import seconds, usable_cores
from _rivals import RIVALS, Rival, Run, Variant
from _tuning import distance_of
from benchopt import BaseSolver

from benchmark_utils.stopping import Solved, tenth

TRIAL_TOLERANCE = 1e-4
TRIAL_ACCURACY = 1e-3
"""A formulation is tried with this tolerance, and must then be this close to the
optimum.
"""

TRIAL_SECONDS = 10.0
"""No further formulation is tried after this number of seconds."""


class GeneralPurpose(BaseSolver):
    """A solver that is called directly; building its matrices is not timed.

    Before the first timed run, all formulations that suit the solver are tried; the
    fastest is used for the curve.
    """

    sampling_strategy = "tolerance"
    stopping_criterion = Solved()
    rivals: tuple[Rival, ...] = ()
    problem = None

    def skip(self, problem, optimum):
        taken = self._suitable(problem)
        return (
            not taken,
            (
                None
                if taken
                else (
                    f"{self.name} does not take norm={problem.norm} with"
                    f" l2={problem.l2:g}"
                )
            ),
        )

    def set_objective(self, problem, optimum):
        if problem is not self.problem:
            self.rival = self._suitable(problem)[0]
            self.problem = problem
            self.variant = _fastest(self.rival, self._variants(), problem, optimum)

    def pre_run_hook(self, tolerance):
        # Benchopt's first tolerance is infinite
        prepare = self.rival.prepare if tolerance < 1.0 else _nothing
        self._call = prepare(self.problem, self.variant, tolerance, usable_cores())

    def run(self, tolerance):
        self._answer = self._call.solve()

    def get_result(self):
        weights = self._call.weights(self._answer)
        if weights is None:  # there is no answer
            return {"weights": np.zeros(self.problem.n_features)}
        return {"weights": weights, "multipliers": self._call.multipliers(self._answer)}

    def get_next(self, tolerance):
        return tenth(tolerance)

    def _suitable(self, problem) -> list[Rival]:
        return [
            rival for rival in self.rivals if rival.takes(problem.norm.q, problem.l2)
        ]

    def _variants(self) -> list[Variant]:
        return [
            variant
            for variant in self.rival.variants
            if not variant.formulation.startswith("cvxpy")
        ]


def _nothing(*task) -> Run:
    return Run(lambda: None, lambda answer: None)


def named(*names: str) -> tuple[Rival, ...]:
    """Return the rivals of these names."""
    return tuple(rival for rival in RIVALS if rival.name in names)


def _fastest(rival: Rival, variants: list[Variant], problem, optimum: float) -> Variant:
    """Return the variant with the shortest trial among those that are accurate, or the
    most accurate one.
    """
    trials = {}
    spent = 0.0
    for number, variant in enumerate(variants):
        if spent > TRIAL_SECONDS:
            break
        duration, distance = _trial(rival, variant, problem, optimum)
        spent += duration
        accurate = distance <= TRIAL_ACCURACY
        trials[(not accurate, duration if accurate else distance, number)] = variant
    return trials[min(trials)]


def _trial(
    rival: Rival, variant: Variant, problem, optimum: float
) -> tuple[float, float]:
    """Return seconds and distance from the optimum.

    A solver that raises an error is infinitely far away.
    """
    try:
        call = rival.prepare(problem, variant, TRIAL_TOLERANCE, usable_cores())
        duration, answer = seconds(call.solve)
        return duration, distance_of(problem, call.weights(answer), optimum)
    except Exception as error:
        print(f"{rival.name} {variant} failed: {error}")
        return 0.0, np.inf
