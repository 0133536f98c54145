import scs  # noqa: F401 - without it, benchopt reports this solver as not installed
from benchmark_utils.general_purpose import GeneralPurpose, named


class Solver(GeneralPurpose):
    """SCS, a first-order method for conic programs, with a direct factorisation.

    One thread.
    """

    name = "SCS"
    requirements = ["pip::drsvm[bench,conic]"]
    rivals = named("SCS")
