"""A limit of 0.5 s on a clock that only goes on while problems are solved.

Every step of a fit knows what is left: after the end, at most the first steps of what
has begun follow.
"""

import warnings

import numpy as np
import pytest
from inside import PLACES, owner_and_name

from drsvm import WassersteinKernelSVC, WassersteinSVC, WassersteinSVCCV
from drsvm.audit import label_issues

LIMIT = 0.5
# What the solution of a problem takes, and how much later a fit may end
SOLUTION = 0.2
LATE = 4 * SOLUTION
SOLUTIONS = ("run", "run of a path", "all compiled steps")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
SCORES = X[:, 0] + RNG.normal(size=len(X))
TWO = SCORES > 0.0
RARE = SCORES > 2.0
NOISE = RNG.random(len(X)) < 0.5
SEVERAL = np.digitize(SCORES, [-1.0, 0.0, 1.0])


def linear(**settings):
    return WassersteinSVC(max_time=LIMIT, **settings)


def kernel(**settings):
    return WassersteinKernelSVC(max_time=LIMIT, **settings)


def search(**settings):
    return WassersteinSVCCV(max_time=LIMIT, radii=12, **settings)


def judge():
    model = label_issues.robust_classifier(X, max_time=LIMIT)[-1]
    every = np.arange(len(X))
    return model.set_params(
        cv=[(every[every % 5 != k], every[every % 5 == k]) for k in range(5)]
    )


CONSTANT = {"radius": 50.0, "l2": 0.0, "flip_cost": 500.0, "intercept_cost": np.inf}
# The optimum is constant with automatic class weights, and others are tried.
OTHER_RNG = np.random.default_rng(2)
OTHER_X = OTHER_RNG.normal(size=X.shape)
OFTEN_WRONG = (OTHER_X[:, 0] > 2.0) ^ (OTHER_RNG.random(len(X)) < 0.1)

CASES = {
    "constant": (lambda: linear(**CONSTANT, class_weight=None), TWO),
    "constant, rare": (lambda: linear(**CONSTANT), RARE),
    "constant, several": (lambda: linear(**CONSTANT), SEVERAL),
    "constant, trusted": (
        lambda: linear(**CONSTANT, feature_cost=[np.inf] + 5 * [1.0]),
        NOISE,
    ),
    "class weights": (lambda: linear(radius=0.02, l2=0.0), OFTEN_WRONG),
    "large gap": (lambda: linear(solver="isg", tol=1e-9), TWO),
    "large budget": (lambda: linear(radius=1.0, flip_cost=0.5), TWO),
    "evidence": (lambda: linear(), TWO),
    "evidence, noise": (lambda: linear(), NOISE),
    "evidence, several": (lambda: linear(), SEVERAL),
    "threshold": (lambda: linear(cv=20), TWO),
    "threshold, costs": (lambda: linear(cv=20, threshold={False: 1, True: 9}), RARE),
    "probabilities": (lambda: linear(cv=20, calibration="sigmoid"), TWO),
    "probabilities, several": (lambda: linear(calibration="sigmoid"), SEVERAL),
    "kernel": (lambda: kernel(), TWO),
    "kernel, constant": (lambda: kernel(radius=5.0, flip_cost=5.0), RARE),
    "kernel, several": (lambda: kernel(calibration="sigmoid"), SEVERAL),
    "kernel, landmarks": (lambda: kernel(landmarks=X[:20]), TWO),
    "search": (lambda: search(), TWO),
    "search, noise": (lambda: search(selection="best"), NOISE),
    "search, rare": (lambda: search(norms=[1, 2], calibration="sigmoid"), RARE),
    "search, several": (lambda: search(), SEVERAL),
    "label issues": (judge, TWO),
}


@pytest.fixture
def slow_solutions(clock, monkeypatch):
    """Return a clock on which every solution takes its time."""

    def slowed(genuine):
        def slow(*given, **options):
            # With a limit that is spent, there is not even a first step.
            if "max_time" in options:
                is_solved = not options["max_time"].spent
            else:
                is_solved = not given[0].limits.time.over
            if is_solved:
                clock.now += SOLUTION
            return genuine(*given, **options)

        return slow

    for place in SOLUTIONS:
        owner, name = owner_and_name(PLACES[place])
        monkeypatch.setattr(owner, name, slowed(getattr(owner, name)))
    return clock


@pytest.mark.parametrize("case", CASES)
def test_every_step_of_a_fit_knows_what_is_left(case, slow_solutions):
    make, y = CASES[case]
    begin = slow_solutions.now
    with warnings.catch_warnings(action="ignore"):
        make().fit(OTHER_X if y is OFTEN_WRONG else X, y)
    late = slow_solutions.now - begin - LIMIT
    assert late <= LATE


def test_advice_without_time_says_so(slow_solutions):
    model = linear(**CONSTANT, class_weight=None)
    with pytest.warns(UserWarning, match="there was no time to find out"):
        model.fit(X, TWO)
