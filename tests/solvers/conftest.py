"""The small problem of scripted runs."""

import pytest
from scripted import BALL, X, Y

from drsvm import Problem, solve


@pytest.fixture
def problem():
    return Problem(X, Y, **BALL)


@pytest.fixture
def optimum(problem):
    return solve(problem, "conic")
