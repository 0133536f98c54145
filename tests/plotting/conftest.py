"""Fixtures of the plotting tests."""

import numpy as np
import pytest

from drsvm import Problem


@pytest.fixture(autouse=True, scope="session")
def matplotlib_installed():
    pytest.importorskip("matplotlib")


@pytest.fixture(scope="session")
def data():
    """Return 120 rows with five features and two labels, a tenth of them wrong."""
    rng = np.random.default_rng(7)
    correct = rng.choice([-1, 1], size=120)
    rows = rng.normal(size=(120, 5)) + 0.8 * correct[:, None]
    return rows, np.where(rng.random(120) < 0.1, -correct, correct)


@pytest.fixture(scope="session")
def problem(data):
    return Problem(*data, radius=0.1, flip_cost=2.0, fit_intercept=True)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots(1, 2)
