"""Fixtures of the report tests."""

import numpy as np
import pandas as pd
import pytest
from plots import NASTY, omit_plots
from sklearn.datasets import load_breast_cancer, load_wine

from drsvm import WassersteinSVC
from drsvm.report import make_report


@pytest.fixture(autouse=True, scope="session")
def matplotlib_installed():
    pytest.importorskip("matplotlib")


@pytest.fixture(scope="session")
def noisy():
    """Return breast-cancer data with a fifth of the training labels wrong: training,
    test, and which are wrong.
    """
    bunch = load_breast_cancer()
    names = bunch.target_names[bunch.target]
    wrong = np.random.default_rng(1).random(400) < 0.2
    train = np.where(wrong, bunch.target_names[1 - bunch.target[:400]], names[:400])
    return (
        bunch.data[:400],
        train,
        bunch.data[400:],
        names[400:],
        wrong,
        bunch.feature_names,
    )


@pytest.fixture(scope="session")
def report(noisy):
    X, y, X_test, y_test, _, names = noisy
    reported = []
    given = {
        "X_test": X_test,
        "y_test": y_test,
        "feature_names": names,
        "title": "Tumours",
    }
    return (
        make_report(None, X, y, progress=lambda *told: reported.append(told), **given),
        reported,
    )


@pytest.fixture(scope="session")
def nasty_report():
    """Return the report on three classes whose names, like those of rows and features,
    are long or hostile.
    """
    rng = np.random.default_rng(2)
    y = np.array([NASTY, "x" * 90, "plain"])[rng.integers(3, size=90)]
    columns = [NASTY, "f" * 120, "$a_b$ 100 %", "größe 大小"]
    index = [f"{NASTY}{k}" if k % 2 else "r" * 100 + str(k) for k in range(90)]
    X = pd.DataFrame(
        rng.normal(size=(90, 4)) + (y == "plain")[:, None], columns=columns, index=index
    )
    return make_report(
        WassersteinSVC(radius=0.05, norm="inf"),
        X,
        y,
        title=f"{NASTY} {'T' * 150}",
        label=NASTY,
    )


@pytest.fixture(scope="session")
def tumours():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, y.map({0: "malignant", 1: "benign"}).rename("diagnosis")


@pytest.fixture
def no_plots(monkeypatch):
    omit_plots(monkeypatch)


@pytest.fixture(scope="session")
def numbers_of():
    def make(*arguments, **options):
        with pytest.MonkeyPatch.context() as monkeypatch:
            omit_plots(monkeypatch)
            return make_report(*arguments, **options)

    return make


@pytest.fixture(scope="session")
def good(tumours, numbers_of):
    return numbers_of(WassersteinSVC(), *tumours)


@pytest.fixture(scope="session")
def constant(tumours):
    return make_report(WassersteinSVC(radius=5.0), *tumours)


@pytest.fixture(scope="session")
def wide(numbers_of):
    """Return 300 features of which ten matter, labels as yes and no, and the report on
    them.
    """
    rng = np.random.default_rng(5)
    y = rng.random(240) < 0.4
    X = rng.normal(size=(240, 300))
    X[:, :10] += 1.2 * y[:, None]
    X = pd.DataFrame(
        X, columns=[f"f{k}" for k in range(300)], index=[f"c{k}" for k in range(240)]
    )
    y = pd.Series(np.where(y, "yes", "no"), name="churn")
    return X, y, numbers_of(WassersteinSVC(), X, y)


@pytest.fixture(scope="session")
def wines(numbers_of):
    """Return three classes, and the report on the first against the rest."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, y, numbers_of(WassersteinSVC(), X, y, positive=0)
