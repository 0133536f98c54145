"""drsvm's solvers, by name."""

from benchopt import BaseSolver

from drsvm import solve
from drsvm.solvers import make_solver


class Own(BaseSolver):
    """One of drsvm's solvers.

    Building the Problem, a check of the data, is not timed.
    """

    problem = None

    def skip(self, problem, optimum):
        try:
            make_solver(self.solver, problem)
        except ValueError as refusal:
            return True, str(refusal)
        return False, None

    def set_objective(self, problem, optimum):
        if problem is not self.problem:
            self.problem = problem
            self.compile()

    def compile(self):
        """Make a run that uses all compiled code, so that no timed run compiles."""
        raise NotImplementedError

    def solve(self, **limits):
        self._result = solve(self.problem, self.solver, **limits)

    def get_result(self):
        return {
            "weights": self._result.weights,
            "multipliers": (self._result.hinge_dual, self._result.flip_dual),
        }
