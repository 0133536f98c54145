import os
import subprocess
from functools import lru_cache

import numpy as np
from benchmark_utils.processes import OtherProcess
from benchopt import BaseSolver
from benchopt.stopping_criterion import SingleRunCriterion

MAX_FEATURES = 2_000


@lru_cache
def process_with_dro() -> OtherProcess | None:
    """Return a process of the Python given by DRO_PYTHON, or None if that cannot import
    dro.
    """
    python = os.environ.get("DRO_PYTHON", "")
    try:
        subprocess.run(
            [python, "-c", "import dro.linear_model"], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return OtherProcess(python, "dro_program.py")


class Solver(BaseSolver):
    """WassersteinDRO of the package dro: CVXPY with Clarabel, all cores, in an
    environment of its own.

    It has no tolerance, and builds its model in `fit`, so CVXPY's modelling is timed.
    Handing over the data is not.
    """

    name = "dro"
    requirements = []
    sampling_strategy = "run_once"
    stopping_criterion = SingleRunCriterion()

    def skip(self, problem, optimum):
        if problem.l2 > 0:
            return True, "dro has no ridge term"
        if problem.n_features > MAX_FEATURES:
            return True, f"dro inverts a dense matrix with {problem.n_features} rows"
        if process_with_dro() is None:
            return True, "set DRO_PYTHON to the path of a Python that can import dro"
        return False, None

    def set_objective(self, problem, optimum):
        p = "inf" if np.isinf(problem.norm.p) else problem.norm.p
        settings = {"eps": problem.radius, "kappa": problem.flip_cost, "p": p}
        self._task = problem.X, problem.signs, settings

    def pre_run_hook(self, stop_val):
        process_with_dro().prepare(*self._task)

    def run(self, stop_val):
        self._weights = process_with_dro().solve()

    def get_result(self):
        return {"weights": self._weights}
