"""Hypothesis strategies and helpers shared by the tests."""

import functools
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from drsvm.problem import norm_for

NORMS = tuple(norm_for(p) for p in (math.inf, 2, 1))  # in the order q = 1, 2, ∞
for_each_norm = pytest.mark.parametrize("norm", NORMS, ids=lambda norm: f"q={norm.q:g}")


def norm_of(vector, order):
    """Return the norm by its definition, without using the library."""
    sizes = np.abs(vector).tolist()
    return {1: math.fsum, 2: lambda entries: math.hypot(*entries), math.inf: max}[
        order
    ](sizes)


def run_python(code, timeout, **environment):
    """Return what the code prints when it runs in a separate process."""
    tests = Path(__file__).parent
    folders = [
        tests,
        tests.parent,
        *(folder for folder in tests.iterdir() if folder.is_dir()),
    ]
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    command = [sys.executable, "-c", code]
    shown = {"capture_output": True, "text": True, "check": False}
    done = subprocess.run(command, env=environment, timeout=timeout, **shown)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Strategies are cached: rebuilding them in every example takes longer than drawing from
# them.


@functools.cache
def powers_of_ten(low=-6, high=6):
    """Positive numbers of very different sizes."""
    return st.sampled_from(
        [10.0**exponent for exponent in sorted(range(low, high + 1), key=abs)]
    )


@functools.cache
def numbers(low=-6, high=6):
    """Numbers of both signs, 10^low to 10^high in size, and 0."""
    steps = 1000 * (high - low)

    def nth(n):
        return math.copysign(10.0 ** (low + (abs(n) - 1) / 1000), n) if n else 0.0

    return st.integers(-steps - 1, steps + 1).map(nth)


@functools.cache
def lists_of_integers(largest, size):
    return st.lists(st.integers(-largest, largest), min_size=size, max_size=size)


@functools.cache
def lists_of_numbers(size):
    return st.lists(numbers(), min_size=size, max_size=size)


VECTOR_KINDS = st.sampled_from(["even", "tied", "mixed"])


@functools.cache
@st.composite
def vectors_of_size(draw, size):
    """Vectors with ties, zeros and entries of mixed or of equal scale."""
    kind = draw(VECTOR_KINDS)
    if kind == "mixed":
        return np.array(draw(lists_of_numbers(size)))
    largest = 1000 if kind == "even" else 2
    return (
        draw(powers_of_ten())
        * np.array(draw(lists_of_integers(largest, size)))
        / largest
    )


VALUES = st.integers(1, 8)


@functools.cache
def vectors():
    """Vectors of one to eight entries."""
    return VALUES.flatmap(vectors_of_size)


@st.composite
def vector_pairs(draw):
    """Two vectors of the same size."""
    size = draw(VALUES)
    return draw(vectors_of_size(size)), draw(vectors_of_size(size))
