from importlib.metadata import version

from benchmark_utils.general_purpose import GeneralPurpose
from benchmark_utils.ortools_pdlp import ORTOOLS_PDLP

# An ImportError tells benchopt that it is not installed; it cannot be imported next to
# highspy
version("ortools")


class Solver(GeneralPurpose):
    """PDLP in OR-tools, a first-order method for linear and quadratic programs.

    All cores.
    """

    name = "ORtools-PDLP"
    requirements = ["pip::drsvm[bench,conic]", "pip::ortools"]
    rivals = (ORTOOLS_PDLP,)
    test_config = {"objective": {"norm": "inf"}}
