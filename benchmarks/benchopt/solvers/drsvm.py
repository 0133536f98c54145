from benchmark_utils.own import Own
from benchmark_utils.stopping import Solved, tenth


class Solver(Own):
    """drsvm's solvers that run until they have proven a gap. All cores."""

    name = "drsvm"
    requirements = ["pip::drsvm"]
    parameters = {
        "solver": ["auto", "interior-point", "dual-coordinate", "feature-working-set"]
    }
    sampling_strategy = "tolerance"
    stopping_criterion = Solved()

    def compile(self):
        self.run(1e-8)

    def run(self, tolerance):
        self.solve(tol=tolerance)

    def get_next(self, tolerance):
        return tenth(tolerance)
