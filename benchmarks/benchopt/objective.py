import math

import numpy as np
from benchopt import BaseObjective

from drsvm import Problem, radius_max, solve
from drsvm.certificate.certificate import certify

REFERENCE_GAP = 1e-8


class Objective(BaseObjective):
    """The Wasserstein-robust SVM, without intercept.

    minimise over w, λ   ε λ + (1/n) Σ max(1 − m_i, 1 + m_i − κ λ, 0) + (c/2) ‖w‖₂²   with ‖w‖_q ≤ λ,  m_i = y_i w·x_i

    `norm` is p, the norm of the shifts, 1/p + 1/q = 1; `l2` is c. The data set says
    what radius ε and flip cost κ are.
    """

    name = "Wasserstein-robust SVM"
    min_benchopt_version = "1.10"
    requirements = ["pip::drsvm[bench,conic]"]
    parameters = {"norm": [2, "inf", 1], "l2": [0.0]}

    def skip(self, X, missing="", **rest):
        return X is None, missing or None

    def set_data(self, X, y, flip_cost, radius=None, radius_share=None, missing=""):
        """Build the problem.

        A radius may be given as a share of the one at which w = 0 is optimal.
        """
        parameters = {"flip_cost": flip_cost, "norm": self.norm, "l2": self.l2}
        if radius is None:
            radius = radius_share * radius_max(Problem(X, y, radius=1.0, **parameters))
        self.problem = Problem(X, y, radius=radius, **parameters)
        self.optimum = solve(self.problem, tol=REFERENCE_GAP).lower_bound

    def get_objective(self):
        return {"problem": self.problem, "optimum": self.optimum}

    def evaluate_result(self, weights, multipliers=None):
        """Judge an answer in strict arithmetic.

        `gap` is what the solver's own multipliers prove (NaN if it gives none),
        `excess` the distance from a lower bound that is within REFERENCE_GAP of the
        optimum. An answer with NaN or infinity counts as w = 0.
        """
        certificate = certify(
            self.problem,
            _finite(weights),
            0.0,
            *(_finite(part) for part in multipliers or ()),
        )
        return {
            "value": certificate.objective,
            "gap": math.nan if multipliers is None else certificate.gap,
            "excess": max(certificate.objective - self.optimum, 0.0),
            "accuracy": self._accuracy(certificate.primal.weights),
        }

    def _accuracy(self, weights) -> float:
        return float(np.mean(self.problem.signs * (self.problem.X @ weights) > 0))

    def get_one_result(self):
        return {"weights": np.zeros(self.problem.n_features)}


def _finite(values) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    return values if math.isfinite(values.sum()) else np.zeros_like(values)
