"""Costs of errors, limits for every row, and bounds for the population, against linear programs and simulations."""

import math

import numpy as np
import pytest
from audits import cost_to_cross, plain_prices, two_classes
from hypothesis import given
from hypothesis import strategies as st
from problems import amounts, classifiers, problems
from scipy.optimize import linprog
from thorough import examples

from drsvm import WassersteinKernelSVC, worst_case_risk
from drsvm.audit import band, limits_of_means


def options_of(classes, X, codes, ball):
    """Return for all rows and labels what it costs to have this label and be an error."""
    coef, intercept = classes
    _, flips, prices = plain_prices(X, ball)
    options = np.zeros((len(codes), len(coef)))
    for i, k in np.ndindex(*options.shape):
        pairs = [
            (coef[k] - coef[j], intercept[k] - intercept[j])
            for j in range(len(coef))
            if j != k
        ]
        shift = min(cost_to_cross(X[i], *pair, prices, ball["norm"]) for pair in pairs)
        options[i, k] = shift + (flips[i] if k != codes[i] else 0.0)
    return options


def cost_program(options, costs, weights, radius):
    """Return the largest expected cost: each row is divided among its options."""
    rows, labels = np.nonzero(np.isfinite(options))
    limits = np.concatenate(
        [np.equal.outer(np.arange(len(weights)), rows), options[rows, labels][None]]
    )
    answer = linprog(-costs[labels], A_ub=limits, b_ub=np.append(weights, radius))
    return -answer.fun


@st.composite
def audits(draw):
    """Draw a classifier of two to four classes, data and a ball."""
    problem = draw(problems(l2=0.0, scales=(1.0,), max_rows=7))
    X = np.array(problem.X)
    n_classes = draw(st.integers(2, 4))
    ball = {
        "radius": problem.radius,
        "flip_cost": problem.flip_cost,
        "norm": problem.norm.p,
    }
    ball["sample_weight"] = problem.sample_weight
    ball["feature_cost"] = draw(st.none() | st.just(np.linspace(0.5, 2.0, X.shape[1])))
    if np.isinf(problem.flip_cost).all():
        ball["row_radius"] = draw(st.sampled_from([0.0, 0.3]))
    if n_classes == 2:
        return draw(classifiers(problem)), X, problem.signs, ball
    pairs = [draw(classifiers(problem)) for _ in range(n_classes)]
    y = np.arange(len(X)) % n_classes
    model = (
        np.array([coef for coef, _ in pairs]),
        np.array([intercept for _, intercept in pairs]),
    )
    return (
        (model, X, y, ball)
        if len(X) >= n_classes
        else (pairs[0], X, problem.signs, ball)
    )


@examples(50, 400)
@given(
    audits(),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=4, max_size=4).filter(
        lambda c: c[0] + c[1]
    ),
)
def test_costs_are_those_of_the_linear_programs(audit, costs):
    model, X, y, ball = audit
    classes, codes = two_classes(model, y) if np.ndim(model[0]) == 1 else (model, y)
    costs = np.array(costs[: len(classes[0])])
    options = options_of(classes, X, codes, ball)
    # Labels are trusted if rows may shift for nothing.
    beyond = np.maximum(options - ball.get("row_radius", 0.0), 0.0)
    weights = plain_prices(X, ball)[0]
    labels = [-1, 1] if np.ndim(model[0]) == 1 else range(len(costs))
    given = {
        **ball,
        "loss": "zero-one",
        "costs": dict(zip(labels, costs.tolist(), strict=True)),
    }
    expected = cost_program(beyond, costs, weights, ball["radius"])
    assert worst_case_risk(model, X, y, **given) == pytest.approx(
        expected, rel=1e-8, abs=1e-9
    )
    # A price may equal the radius up to rounding
    radii = ball["radius"] * np.array([0.999, 1.001])
    given.pop("row_radius", None)
    low, high = (
        weights @ np.where(options <= radius, costs, 0.0).max(axis=1)
        for radius in radii
    )
    assert (
        low - 1e-9 <= worst_case_risk(model, X, y, limit="row", **given) <= high + 1e-9
    )


@pytest.mark.parametrize("limit", ["average", "row"])
def test_equal_costs_are_multiples_of_the_error_rate(limit):
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.arange(50) % 2
    model = (np.array([1.0, -1.0]), 0.2)
    given = {
        "radius": [0.0, 0.1, 0.5, 9.0],
        "flip_cost": 0.7,
        "loss": "zero-one",
        "limit": limit,
    }
    error = worst_case_risk(model, X, y, **given)
    np.testing.assert_allclose(
        worst_case_risk(model, X, y, costs=[3.0, 3.0], **given), 3.0 * error
    )
    bound = worst_case_risk(model, X, y, confidence=0.9, **given)
    np.testing.assert_allclose(
        bound, np.minimum(error + math.sqrt(math.log(10.0) / 100.0), 1.0)
    )
    assert (np.diff(error) >= 0).all()


def population(seed, n_classes=2, n=100_000):
    """Return a population with heavy tails, a classifier and its labels, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n, 3))
    if n_classes == 2:
        coef = rng.normal(size=3)
        intercept = 0.3
        y = np.where(X @ coef + intercept + rng.normal(0, 0.7, n) > 0, 1, -1)
    else:
        coef = rng.normal(size=(n_classes, 3))
        intercept = np.zeros(n_classes)
        y = (X @ coef.T + rng.normal(0, 0.7, (n, n_classes))).argmax(axis=1)
    return (coef, intercept), X, y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"limit": "row"},
        {"costs": [1, 5, 2]},
        {"costs": [1, 5, 2], "flip_cost": 0.5},
    ],
)
def test_bounds_hold_for_the_population(n_classes, asked):
    asked = {**asked, "loss": "zero-one", "radius": np.geomspace(0.01, 2.0, 20)}
    if "costs" in asked:
        asked["costs"] = asked["costs"][:n_classes]
    model, X, y = population(n_classes, n_classes)
    truth = worst_case_risk(model, X, y, **asked)
    rng = np.random.default_rng(1)
    misses = 0
    excess = []
    for _ in range(40):
        rows = rng.choice(len(y), 200, replace=False)
        rows = np.concatenate(
            [[np.flatnonzero(y == label)[0] for label in np.unique(y)], rows]
        )[:200]
        bound = worst_case_risk(model, X[rows], y[rows], confidence=0.8, **asked)
        misses += (bound < truth).any()
        excess.append(bound - truth)
    assert misses <= 40 * 0.2 + 3 * math.sqrt(40 * 0.16)
    assert np.mean(excess) <= 0.2 * max(asked.get("costs", [1]))


def test_a_sample_that_is_too_good_is_found_out():
    """Without the band, the worst case of a sample is below that of the population about every second time."""
    model, X, y = population(0)
    asked = {"loss": "zero-one", "radius": 0.1}
    truth = worst_case_risk(model, X, y, **asked)
    rng = np.random.default_rng(0)
    samples = [rng.choice(len(y), 200) for _ in range(60)]
    below = [
        worst_case_risk(model, X[rows], y[rows], **asked) < truth for rows in samples
    ]
    assert 0.25 < np.mean(below) < 0.75


def test_bounds_for_the_certified_side_of_a_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2))
    y = (X[:, 0] ** 2 + X[:, 1] > 0.5).astype(int)
    model = WassersteinKernelSVC(radius=0.05).fit(X[:200], y[:200])
    asked = {
        "radius": [0.0, 0.05, 0.2],
        "loss": "zero-one",
        "flip_cost": math.inf,
        "costs": {0: 1.0, 1: 2.0},
    }
    truth = worst_case_risk(model, X[200:], y[200:], **asked)
    bound = worst_case_risk(model, X[200:500], y[200:500], confidence=0.95, **asked)
    assert (bound >= truth).all() and (bound <= truth + 0.3).all()
    by_row = worst_case_risk(model, X[200:], y[200:], limit="row", **asked)
    assert by_row[0] == pytest.approx(truth[0]) and (by_row <= 2.0).all()


@given(st.floats(0.0, 1.0), amounts(1e-6, 5.0))
def test_the_limit_of_a_mean_is_where_the_divergence_is(mean, exponent):
    (limit,) = limits_of_means(np.array([mean]), exponent)
    assert mean <= limit <= 1.0
    if mean < limit < 1.0 - 1e-9:
        terms = [
            p * math.log(p / q)
            for p, q in ((mean, limit), (1.0 - mean, 1.0 - limit))
            if p > 0
        ]
        assert sum(terms) == pytest.approx(exponent, rel=1e-3, abs=1e-9)


def test_whole_weights_count_as_rows():
    X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    y = np.array([0, 0, 1, 1])
    model = ([1.0], 0.5)
    counts = np.array([3, 0, 2, 5])
    asked = {"radius": [0.1, 0.5], "loss": "zero-one", "confidence": 0.9}
    repeated = worst_case_risk(
        model, np.repeat(X, counts, axis=0), np.repeat(y, counts), **asked
    )
    np.testing.assert_allclose(
        worst_case_risk(model, X, y, sample_weight=counts, **asked), repeated
    )
    with pytest.raises(
        ValueError, match=r"whole number of times: sample_weight has 0\.5"
    ):
        worst_case_risk(model, X, y, sample_weight=[1, 0.5, 1, 1], **asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"confidence": 0.95},
            "confidence=0.95 is for error rates, and the hinge loss of rows not seen has no bound",
        ),
        ({"limit": "row", "flip_cost": 1.0}, "limit: row_radius needs flip_cost=inf"),
        ({"limit": "row", "row_radius": 0.1}, "leave out row_radius, or the limit"),
        ({"row_radius": 0.1, "flip_cost": 1.0}, "row_radius needs flip_cost=inf"),
        ({"row_radius": [0.1, 0.2, 0.3]}, "row_radius"),
        ({"row_radius": -0.1}, "row_radius must be finite and at least 0"),
        ({"costs": [1, 2]}, "costs is for error rates"),
        (
            {"loss": "zero-one", "limit": "rows"},
            "limit must be 'average' or 'row', got limit='rows'",
        ),
        (
            {"loss": "zero-one", "confidence": 95},
            "confidence must be at least 0.5 and less than 1",
        ),
        ({"loss": "zero-one", "confidence": 0.3}, "at least 0.5"),
        (
            {"loss": "zero-one", "costs": {0: 1}},
            r"one entry per class, \[0, 1\], got costs=\{0: 1\}",
        ),
        ({"loss": "zero-one", "costs": [1, 2, 3]}, "one entry per class"),
        ({"loss": "zero-one", "costs": [1, -2]}, r"costs\[1\] must"),
        ({"loss": "zero-one", "costs": [0, 0]}, "one of the costs must be above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        worst_case_risk(([1.0], 0.0), [[-1.0], [1.0]], [0, 1], radius=0.1, **asked)


def test_the_band_is_that_of_massart():
    for n_bands, factor in (
        (1, 1.0),
        (2, 2.0),
        (3, math.e),
        (9, math.e),
    ):  # a mean needs no more than e
        assert band(0.95, 1_000, n_bands) == pytest.approx(
            math.sqrt(math.log(20.0 * factor) / 2_000.0)
        )
