import numpy as np
from benchmark_utils.own import Own
from benchmark_utils.stopping import Solved, twice


class Solver(Own):
    """The paper's methods in drsvm: incremental ones, sampled by epochs, and ADMM.

    Epochs use one thread.
    """

    name = "drsvm-paper"
    requirements = ["pip::drsvm"]
    parameters = {"solver": ["ippa", "hybrid", "isg", "admm"]}
    sampling_strategy = "iteration"
    stopping_criterion = Solved()

    def set_objective(self, problem, optimum):
        self._seed = self.get_seed(use_repetition=True)
        super().set_objective(problem, optimum)

    def compile(self):
        self.run(8)

    def run(self, n_iter):
        # No run has 0 iterations: benchopt's first point is w = 0. A tolerance of 0 is
        # never reached.
        limits = {"tol": 0.0, "max_iter": n_iter} if n_iter else {"tol": np.inf}
        self.solve(random_state=self._seed, **limits)

    def get_next(self, n_iter):
        return twice(n_iter)
