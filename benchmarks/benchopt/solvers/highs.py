import highspy  # noqa: F401 - without it, benchopt reports this solver as not installed
from benchmark_utils.general_purpose import GeneralPurpose, named


class Solver(GeneralPurpose):
    """HiGHS: interior point or simplex for linear programs, its active-set method for
    quadratic ones. All cores.
    """

    name = "HiGHS"
    requirements = ["pip::drsvm[bench,conic]"]
    rivals = named("HiGHS", "HiGHS QP")
    test_config = {"objective": {"norm": "inf"}}
