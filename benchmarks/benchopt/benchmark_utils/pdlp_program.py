"""PDLP of OR-tools, whose copy of HiGHS clashes with that of highspy in the same
process.
"""

from ortools.pdlp import solvers_pb2
from ortools.pdlp.python import pdlp
from processes import serve


def prepare(data: dict, curvature, tolerance: float, seconds: float, n_threads: int):
    """Return a call that solves the program and returns its variables and the
    multipliers of its rows.
    """
    program = pdlp.QuadraticProgram()
    for name, values in data.items():
        setattr(program, name, values)
    if curvature.any():
        program.set_objective_matrix_diagonal(curvature)
    settings = _settings(tolerance, seconds, n_threads)

    def solve():
        answer = pdlp.primal_dual_hybrid_gradient(program, settings)
        return answer.primal_solution, answer.dual_solution

    return solve


def _settings(tolerance: float, seconds: float, n_threads: int):
    settings = solvers_pb2.PrimalDualHybridGradientParams(num_threads=n_threads)
    ends = settings.termination_criteria
    ends.time_sec_limit = seconds
    ends.simple_optimality_criteria.eps_optimal_absolute = tolerance
    ends.simple_optimality_criteria.eps_optimal_relative = tolerance
    return settings


if __name__ == "__main__":
    serve(prepare)
