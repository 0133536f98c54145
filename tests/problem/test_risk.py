import numpy as np
import pytest

from drsvm.problem import smallest_best_price, worst_case_hinge


def prices_by_full_sort(margins, weights, norm_of_weights, radii, flip_cost):
    """The same quantile, found by checking every breakpoint."""
    breakpoints = np.minimum(2 * margins, 1 + margins) / flip_cost
    candidates = np.sort(
        np.append(breakpoints[breakpoints > norm_of_weights], norm_of_weights)
    )
    order = np.argsort(breakpoints)
    above = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)
    mass = above[np.searchsorted(breakpoints[order], candidates, side="right")]
    return np.array(
        [
            candidates[np.argmax(mass <= radius / flip_cost * (1 + 1e-12))]
            for radius in radii
        ]
    )


@pytest.mark.parametrize("shape", ["normal", "ties", "sorted", "one heavy row"])
def test_the_sampled_bracket_changes_nothing(shape):
    rng = np.random.default_rng(7)
    n = 20_000
    margins = rng.normal(1.0, 1.0, n)
    weights = rng.uniform(0.5, 1.5, n)
    if shape == "ties":
        margins = np.round(margins, 1)
    elif shape == "sorted":
        margins = np.sort(margins)
    elif shape == "one heavy row":
        weights[n // 3] = n
    weights /= weights.sum()
    radii = np.array([0.001, 0.05, 0.3])
    for subset in (radii, radii[:1], radii[1:2], radii[2:]):
        expected = prices_by_full_sort(margins, weights, 0.2, subset, 0.7)
        np.testing.assert_allclose(
            smallest_best_price(margins, weights, 0.2, subset, 0.7),
            expected,
            rtol=1e-12,
        )


@pytest.mark.parametrize("flip_cost", [0.01, 0.3, 2.5, np.inf])
def test_without_a_budget_large_margins_leave_no_risk(flip_cost):
    margins = np.random.default_rng(3).uniform(1e3, 1e5, 50)
    weights = np.full(50, 0.02)
    np.testing.assert_array_equal(
        worst_case_hinge(margins, weights, 1e4, np.zeros(2), flip_cost), [0.0, 0.0]
    )


def test_quantiles_of_many_different_costs():
    rng = np.random.default_rng(0)
    n = 60_000
    margins = rng.normal(size=n)
    weights = np.full(n, 1 / n)
    costs = np.exp(rng.normal(size=n))
    breakpoints = np.minimum(2 * margins, 1 + margins) / costs
    order = np.argsort(-breakpoints)
    slopes = np.cumsum((weights * costs)[order])
    for radius in (1e-4, 0.01, 0.2):
        expected = breakpoints[order][np.searchsorted(slopes, radius, side="right")]
        assert smallest_best_price(margins, weights, 0.0, radius, costs) == expected
