import clarabel  # noqa: F401 - without it, benchopt reports this solver as not installed
from benchmark_utils.general_purpose import GeneralPurpose, named


class Solver(GeneralPurpose):
    """Clarabel, an interior point for conic programs, with QDLDL (one thread) or faer
    (all cores).
    """

    name = "Clarabel"
    requirements = ["pip::drsvm[bench,conic]"]
    rivals = named("Clarabel")
