"""How thorough the tests are: `make test` samples what `make test-long` tries in
full.
"""

import os
from collections import defaultdict
from random import Random

import pytest
from hypothesis import settings

LONG = os.environ.get("DRSVM_HYPOTHESIS_PROFILE") == "long"


def unless_long(few, all_of_them):
    """Return the few cases of `make test`, or all of them in `make test-long`."""
    return all_of_them if LONG else few


def examples(few, many):
    """Return the settings of a random test each of whose examples solves problems."""
    return settings(max_examples=unless_long(few, many))


def for_each(**values):
    """Return a decorator: a test with parameters that take every combination of values.

    See `covering`.
    """

    def decorate(test):
        for name, options in values.items():
            test = pytest.mark.parametrize(name, options)(test)
        return test

    return decorate


def covering(items):
    """Return some of the given tests: of each function, cases that together have every
    value of every parameter.

    The values are combined at random, but always in the same way, and differently for
    each function. Tests that are marked as thorough are left out.
    """
    by_function = defaultdict(list)
    for item in (item for item in items if item.get_closest_marker("thorough") is None):
        by_function[item.nodeid.partition("[")[0]].append(item)
    chosen = {
        item
        for function, cases in by_function.items()
        for item in _covering_cases(function, cases)
    }
    return [item for item in items if item in chosen]


def _covering_cases(function, cases):
    """Yield cases until none has a value that is new.

    A value is known by its parameter and its id.
    """
    values = {
        case: (
            set(enumerate(case.callspec._idlist))
            if hasattr(case, "callspec")
            else {None}
        )
        for case in cases
    }
    Random(function).shuffle(cases)
    missing = set().union(*values.values())
    while missing:
        case = max(cases, key=lambda case: len(values[case] & missing))
        missing -= values[case]
        yield case
