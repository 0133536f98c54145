"""PDLP of OR-tools as a rival: linear programs, and quadratic ones with a diagonal
matrix.
"""

import sys
from functools import lru_cache

import numpy as np
from _formulations import Program
from _rivals import TIME_LIMIT, Rival, Run, Variant
from scipy import sparse

from benchmark_utils.processes import OtherProcess


def _settings(tolerance: float, n_threads: int) -> dict:
    return {"tolerance": tolerance, "seconds": TIME_LIMIT, "n_threads": n_threads}


def _run(program: Program, settings: dict) -> Run:
    process = _process()
    process.prepare(_data(program), program.curvature, *settings.values())
    return Run(
        process.solve,
        lambda answer: program.read(answer[0], -answer[1]),
        lambda answer: program.multipliers(answer[0], -answer[1]),
    )


@lru_cache
def _process() -> OtherProcess:
    return OtherProcess(sys.executable, "pdlp_program.py")


def _data(program: Program) -> dict:
    """Return the linear part, by the names of OR-tools."""
    return {
        "objective_vector": program.cost,
        "constraint_matrix": sparse.csc_matrix(
            sparse.vstack([program.equal, program.below], format="csc")
        ),
        "constraint_lower_bounds": np.r_[
            program.equal_to, np.full(len(program.below_at), -np.inf)
        ],
        "constraint_upper_bounds": np.r_[program.equal_to, program.below_at],
        "variable_lower_bounds": program.lower,
        "variable_upper_bounds": program.upper,
    }


def _no_cone(q: float, c: float) -> bool:
    return q != 2


VARIANTS = [
    Variant(formulation) for formulation in ("excess", "dual", "margins", "pieces")
]
ORTOOLS_PDLP = Rival("OR-tools PDLP", "ortools", _no_cone, VARIANTS, _run, _settings)
