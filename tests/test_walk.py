"""The page that walks through a fit names functions that are called, in their order."""

import importlib
import itertools
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from drsvm import WassersteinSVC

PAGE = Path(__file__).parents[1] / "docs" / "walk.rst"


@pytest.fixture(scope="module")
def stations():
    names = re.findall(r"^``([\w.]+)``$", PAGE.read_text(), flags=re.MULTILINE)
    assert len(names) > 20
    return names


def function_of(name):
    """Return the function that a name stands for: folder, file, function."""
    parts = name.split(".")
    module = importlib.import_module(".".join(["drsvm", *parts[:2]]))
    rest = parts[2:]
    # Files in a folder of a folder
    if hasattr(module, "__path__"):
        module = importlib.import_module(f"{module.__name__}.{rest.pop(0)}")
    function = module
    for part in rest:
        function = getattr(function, part)
    return function


def code_of(name):
    """Return the code of a function, under decorators, or that numba compiles."""
    function = function_of(name)
    function = getattr(function, "py_func", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__


@pytest.fixture(scope="module")
def calls():
    """Return the order of the first calls of all functions in the page's fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 60))
    y = X[:, 0] + 0.5 * rng.normal(size=20_000) > 0
    order = {}

    def record(frame, event, _):
        if event == "call":
            order.setdefault(frame.f_code, len(order))

    # Without compiling
    WassersteinSVC(radius=0.1, l2=0.01).fit(X, y)
    before = sys.getprofile()
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        WassersteinSVC(radius=0.1, l2=0.01).fit(X, y)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return order


def test_the_functions_exist(stations):
    for name in stations:
        code_of(name)


def test_the_fit_calls_them_in_the_order_of_the_page(stations, calls):
    # From Python 3.12 on, profilers do not see calls of what numba compiled.
    if sys.version_info >= (3, 12):
        stations = [
            name for name in stations if not hasattr(function_of(name), "py_func")
        ]
    missing = [name for name in stations if code_of(name) not in calls]
    assert not missing
    for earlier, later in itertools.pairwise(stations):
        assert calls[code_of(earlier)] < calls[code_of(later)], (earlier, later)
