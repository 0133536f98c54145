"""A fit is a short road: few Python calls, not deep, and none that only passes on."""

import sys
from pathlib import Path

import pytest
from sklearn.datasets import make_classification

import drsvm
from drsvm import WassersteinSVC

PACKAGE = str(Path(drsvm.__file__).parent)


def calls_of(fit):
    """Return the number of Python calls inside the package, and how deep they are."""
    depths = [0]

    def follow(frame, event, _):
        if event in ("call", "return") and frame.f_code.co_filename.startswith(PACKAGE):
            depths.append(depths[-1] + (1 if event == "call" else -1))

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        fit()
    finally:
        sys.setprofile(before)
    return (len(depths) - 1) // 2, max(depths)


@pytest.mark.parametrize(
    ("parameters", "most", "deepest"),
    [({"radius": 0.1, "l2": 0.01}, 460, 16), ({}, 1150, 21)],
    ids=["given", "default"],
)
def test_a_small_fit_takes_few_calls(parameters, most, deepest):
    X, y = make_classification(400, 30, flip_y=0.1, random_state=0)
    model = WassersteinSVC(**parameters).fit(X, y)  # the first fit compiles and imports
    model.fit(X, y)
    calls, depth = calls_of(lambda: model.fit(X, y))
    assert 200 < calls <= most and depth <= deepest
