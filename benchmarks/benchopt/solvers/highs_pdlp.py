import highspy  # noqa: F401 - without it, benchopt reports this solver as not installed
from benchmark_utils.general_purpose import GeneralPurpose, named


class Solver(GeneralPurpose):
    """PDLP in HiGHS, a first-order method for linear programs."""

    name = "HiGHS-PDLP"
    requirements = ["pip::drsvm[bench,conic]"]
    rivals = named("HiGHS PDLP")
    test_config = {"objective": {"norm": "inf"}}
