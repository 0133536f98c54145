import piqp  # noqa: F401 - without it, benchopt reports this solver as not installed
from benchmark_utils.general_purpose import GeneralPurpose, named


class Solver(GeneralPurpose):
    """PIQP, an interior point for quadratic programs. One thread."""

    name = "PIQP"
    requirements = ["pip::drsvm[bench,conic]"]
    rivals = named("PIQP")
    test_config = {"objective": {"norm": "inf"}}
