"""How thorough the tests are: `make test` samples what `make test-long` tries in full."""

import os

LONG = os.environ.get("DRSVM_HYPOTHESIS_PROFILE") == "long"


def unless_long(few, all_of_them):
    """Return the few cases of `make test`, or all of them in `make test-long`."""
    return all_of_them if LONG else few
