import ecos  # noqa: F401 - without it, benchopt reports this solver as not installed
from benchmark_utils.general_purpose import GeneralPurpose, named


class Solver(GeneralPurpose):
    """ECOS, an interior point for conic programs. One thread."""

    name = "ECOS"
    requirements = ["pip::drsvm[bench,conic]"]
    rivals = named("ECOS")
