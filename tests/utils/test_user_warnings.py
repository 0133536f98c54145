"""Warnings: where they point, and how often they appear."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC, WassersteinSVCCV, find_label_issues

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)

LARGE = WassersteinSVC(radius=3.0)

SEARCH = """
from sklearn.model_selection import GridSearchCV
from drsvm import WassersteinSVC
X = [[0.0], [1.0], [2.0], [3.0], [4.0], [6.0], [7.0], [9.0]]
y = [0, 0, 1, 0, 1, 0, 1, 1]
for repeated in range(2):
    GridSearchCV(WassersteinSVC(), {"radius": [8.0, 9.0]}, cv=2, refit=False).fit(X, y)
GridSearchCV(WassersteinSVC(), {"radius": [8.0, 9.0]}, cv=2).fit(X, y)
"""


@pytest.mark.parametrize(
    "fit",
    [
        lambda: LARGE.fit(X, Y),
        lambda: make_pipeline(StandardScaler(), LARGE).fit(X, Y),
        lambda: GridSearchCV(LARGE, {"radius": [2.0, 3.0]}, cv=2).fit(X, Y),
        lambda: cross_val_score(LARGE, X, Y, cv=2),
        lambda: WassersteinSVCCV(radii=[2.0, 3.0], cv=2).fit(X, Y),
        lambda: find_label_issues(X, Y, estimator=LARGE, cv=2),
    ],
)
def test_a_warning_points_at_the_line_of_the_user(fit):
    with pytest.warns(UserWarning, match="constant") as caught:
        fit()
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.thorough
def test_a_search_warns_once_per_line_and_again_for_the_refit(tmp_path):
    script = tmp_path / "search.py"
    script.write_text(SEARCH)
    told = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    ).stderr
    places = [
        line.partition(": UserWarning")[0]
        for line in told.splitlines()
        if "UserWarning" in line
    ]
    assert places == [f"{script}:7", f"{script}:8", f"{script}:8"]
    repeated = [
        line
        for line in told.splitlines()
        if "similar warnings are not repeated" in line
    ]
    assert len(repeated) == 2  # but for the refit


def test_every_warning_of_a_search_is_there_for_those_who_ask():
    with pytest.warns(UserWarning, match="In one of several fits") as caught:
        GridSearchCV(LARGE, {"radius": [2.0, 3.0]}, cv=2, refit=False).fit(X, Y)
    assert len(caught) == 4


def test_parameters_are_keyword_only_but_for_the_first():
    kinds = [
        parameter.kind
        for parameter in inspect.signature(WassersteinSVC).parameters.values()
    ]
    assert kinds == [inspect.Parameter.POSITIONAL_OR_KEYWORD] + [
        inspect.Parameter.KEYWORD_ONLY
    ] * (len(kinds) - 1)
    with pytest.raises(TypeError, match="positional arguments"):
        WassersteinSVC(0.1, 5.0)
    with pytest.raises(TypeError, match="multiple values"):
        WassersteinSVC(0.1, radius=0.2)
