import cvxpy  # noqa: F401 - without it, benchopt reports this solver as not installed
from _rivals import RIVALS
from benchmark_utils.general_purpose import GeneralPurpose


class Solver(GeneralPurpose):
    """The same solvers through CVXPY.

    Its modelling and canonicalisation are not timed.
    """

    name = "CVXPY"
    requirements = ["pip::drsvm[bench,conic]"]
    parameters = {"solver": ["CLARABEL", "ECOS", "SCS"]}

    @property
    def rivals(self):
        return [rival for rival in RIVALS if rival.cvxpy_name == self.solver]

    def _variants(self):
        return [
            variant
            for variant in self.rival.variants
            if variant.formulation.startswith("cvxpy")
        ]
