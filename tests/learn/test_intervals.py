"""Intervals against scipy, against sums over all pairs of rows, and against what they promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, t
from thorough import unless_long

from drsvm.learn import intervals
from drsvm.learn.scores import compared, leads, scores

TWO = np.array([0, 1])


def pairs_in_order(decisions, codes):
    """Return the kernel of Mann and Whitney for all pairs of a positive and a negative row."""
    positive, negative = decisions[codes == 1][:, None], decisions[codes == 0]
    return (positive > negative) + 0.5 * (positive == negative)


def delong(kernels):
    """Return DeLong's covariances of the AUCs of several classifiers, from all pairs."""
    m, n = kernels[0].shape
    by_positive, by_negative = (np.atleast_2d(np.cov([k.mean(axis) for k in kernels])) for axis in (1, 0))
    return by_positive / m + by_negative / n


def sample(seed, m, n, decimals=1):
    """Return the decisions of two similar classifiers about m positive and n negative rows, some of them equal."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat([1, 0], [m, n]))
    first = rng.normal(size=m + n) + codes
    return codes, np.round(first, decimals), np.round(first + rng.normal(size=m + n), decimals)


@given(st.integers(1, 400), st.data())
def test_rates_are_those_of_scipy(n, data):
    k = data.draw(st.integers(0, n))
    expected = binomtest(k, n).proportion_ci(method="wilson")
    low, high = intervals.rate(k / n, n)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= k / n <= high <= 1 and (low == 0) == (k == 0) and (high == 1) == (k == n)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=4))
def test_the_mean_of_rates_is_between_0_and_1_and_as_wide_as_that_of_one_rate_at_most(counts):
    rates = [(min(k, n) / n, n) for k, n in counts]
    mean, (low, high) = np.mean([share for share, _ in rates]), intervals.mean_of_rates(rates)
    assert 0 <= low <= mean <= high <= 1
    widths = [b - a for a, b in (intervals.rate(*one) for one in rates)]
    assert high - low <= max(widths) + 1e-12
    assert intervals.mean_of_rates(rates[:1]) == pytest.approx(intervals.rate(*rates[0]))


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_the_parts_of_an_auc_are_those_of_all_pairs(seed, m, n):
    codes, decisions, _ = sample(seed, m, n)
    kernel, parts = pairs_in_order(decisions, codes), intervals.auc_parts(decisions, codes)
    np.testing.assert_allclose(parts[codes == 1], kernel.mean(axis=1) / (2 * m))
    np.testing.assert_allclose(parts[codes == 0], kernel.mean(axis=0) / (2 * n))


def test_the_auc_of_many_rows_has_the_variance_of_delong_and_of_a_bootstrap():
    codes, decisions, _ = sample(0, 150, 250)
    found = scores(decisions, codes, TWO, new_rows=True)
    low, high = found["intervals"]["roc_auc"]
    deviation = math.sqrt(delong([pairs_in_order(decisions, codes)]).item())
    assert high - low == pytest.approx(2 * intervals.Z * deviation, rel=0.02)
    rng, sides = np.random.default_rng(1), [np.flatnonzero(codes == code) for code in (0, 1)]
    drawn = [np.concatenate([rng.choice(side, len(side)) for side in sides]) for _ in range(400)]
    again = [intervals.auc_parts(decisions[rows], codes[rows]).sum() for rows in drawn]
    assert np.std(again) == pytest.approx(deviation, rel=0.12)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 30), (30, 1), (3, 4), (50, 60)])
@pytest.mark.parametrize("order", [-1.0, 0.0, 1.0])
def test_an_auc_of_0_or_1_or_of_equal_decisions_proves_as_little_as_a_rate_on_the_smaller_class(m, n, order):
    codes = np.repeat([1, 0], [m, n])
    low, high = intervals.auc(intervals.auc_parts(order * codes, codes), codes)
    assert (low, high) == pytest.approx(intervals.rate((1 + order) / 2, min(m, n)))


def test_hardly_any_error_proves_no_more_than_a_rate_on_all_rows():
    codes = np.repeat([1, 0], 50)
    decisions = np.where(np.arange(100) == 99, 0.5, codes * np.linspace(1, 2, 100)[::-1])
    decisions[0] = 0.4  # one of 2,500 pairs is out of order
    parts = intervals.auc_parts(decisions, codes)
    assert parts.sum() == pytest.approx(1 - 1 / 2500)
    assert intervals.auc(parts, codes) == pytest.approx(intervals.rate(1 - 1 / 2500, 100))


def test_leads_in_auc_have_the_covariances_of_delong():
    codes, first, second = sample(2, 120, 200)
    covariances = delong([pairs_in_order(each, codes) for each in (first, second)])
    deviation = math.sqrt(covariances[0, 0] + covariances[1, 1] - 2 * covariances[0, 1])
    lead = leads(first, second, codes, TWO)["roc_auc"]
    expected = pairs_in_order(first, codes).mean() - pairs_in_order(second, codes).mean()
    assert lead["difference"] == pytest.approx(expected)
    half = t.ppf(0.975, 300) * deviation
    assert lead["interval"] == pytest.approx([expected - half, expected + half], rel=0.02)


def test_few_rows_prove_little():
    """Two rows per class are told apart by one classifier and confused by the other; four per class are enough."""
    for n, clear in ((1, False), (2, False), (4, True)):
        codes = np.repeat([1, 0], n)
        lead = leads(1.0 * codes, -1.0 * codes, codes, TWO)["roc_auc"]
        assert lead["difference"] == 1.0 and (lead["interval"][0] > 0) == clear and lead["interval"][1] == 1.0


def test_classifiers_that_agree_are_not_proven_equal():
    codes, decisions, _ = sample(3, 10, 40)
    found = leads(decisions, 2 * decisions, codes, TWO)
    assert all(lead["difference"] == 0 for lead in found.values())
    assert found["accuracy"]["interval"] == pytest.approx([-intervals.Z * 2**0.5 / 52, intervals.Z * 2**0.5 / 52])
    assert found["roc_auc"]["interval"] == pytest.approx([-intervals.Z * 2**0.5 / 12, intervals.Z * 2**0.5 / 12])


def test_leads_in_accuracy_by_hand():
    """Of 38 rows of class 0 only the first gets 7 right; of 12 of class 1 it loses 3: Bonett and Price, then both."""
    codes = np.repeat([0, 1], [38, 12])
    first = np.where(np.arange(50) < 47, codes - 0.5, 0.5 - codes)
    second = np.where(np.arange(50) >= 7, codes - 0.5, 0.5 - codes)
    found = leads(first, second, codes, TWO)
    up, down = 8 / 52, 4 / 52
    half = 1.959964 * math.sqrt((up + down - (up - down) ** 2) / 52)
    assert found["accuracy"]["difference"] == pytest.approx(0.08)
    assert found["accuracy"]["interval"] == pytest.approx([up - down - half, up - down + half])
    one, other = (intervals.lead_in_rates(*np.array(counts)[:, None])[1] for counts in ((7, 0, 38), (0, 3, 12)))
    mean, low = (7 / 38 - 3 / 12) / 2, math.hypot(7 / 38 - one[0], -3 / 12 - other[0]) / 2
    assert found["balanced_accuracy"]["difference"] == pytest.approx(mean)
    assert found["balanced_accuracy"]["interval"][0] == pytest.approx(mean - low)


@given(st.integers(0, 10**6), st.integers(3, 40))
def test_intervals_of_several_classes_contain_the_figures(seed, n):
    rng = np.random.default_rng(seed)
    classes, y = np.array(["a", "b", "c"]), np.array(["a", "b", "c"])[np.append([0, 1, 2], rng.integers(0, 3, n))]
    first, second = np.round(rng.normal(size=(2, n + 3, 3)), 1)
    found, other = (scores(each, y, classes, new_rows=True) for each in (first, second))
    for name, (low, high) in found["intervals"].items():
        assert 0 <= low <= found[name] <= high <= 1
    for name, lead in leads(first, second, y, classes).items():
        assert lead["difference"] == pytest.approx(found[name] - other[name])
        assert -1 <= lead["interval"][0] <= lead["difference"] <= lead["interval"][1] <= 1


def test_training_rows_have_no_intervals_and_classes_without_rows_no_auc():
    assert "intervals" not in scores(np.array([1.0, -1.0]), TWO, TWO)
    alone = scores(np.array([1.0, -1.0]), np.array([1, 1]), TWO, new_rows=True)["intervals"]
    assert alone["roc_auc"] is None and alone["balanced_accuracy"] == alone["accuracy"]
    assert leads(np.ones(2), np.ones(2), np.array([1, 1]), TWO)["roc_auc"] is None


@pytest.mark.parametrize(
    ("figure", "lead", "expected"),
    [
        ("roc_auc", (-0.012, -0.018, -0.006), "0.012 lower than B (95\u202f%: 0.006 to 0.018)"),
        ("roc_auc", (0.0003, 0.00004, 0.0005), "0.00030 higher than B (95\u202f%: 0.00004 to 0.00050)"),
        ("accuracy", (0.016, 0.003, 0.029), "1.6 points higher than B (95\u202f%: 0.3 to 2.9)"),
        ("accuracy", (-0.014, -0.036, 0.008), "no clear difference from B (95\u202f%: −3.6 to +0.8 points)"),
    ],
)
def test_leads_in_words(figure, lead, expected):
    assert compared(figure, {"difference": lead[0], "interval": list(lead[1:])}, "B") == expected


@pytest.mark.parametrize(
    ("m", "n", "auc"), unless_long([(20, 30, 0.9)], [(10, 10, 0.7), (20, 30, 0.9), (50, 50, 0.98)])
)
def test_coverage(m, n, auc):
    """Of all samples, about 95 % have intervals that contain what is true of the source."""
    rng, codes, shift = np.random.default_rng(4), np.repeat([1, 0], [m, n]), math.sqrt(2) * norm.ppf(auc)
    right, repeats = norm.cdf(shift / 2), unless_long(300, 4000)
    covered = np.zeros(6)
    for _ in range(repeats):
        noise = rng.normal(size=(2, m + n))
        first, second = (each + shift * (codes - 0.5) for each in (noise[0], 0.6 * noise[0] + 0.8 * noise[1]))
        ends = scores(first, codes, TWO, new_rows=True)["intervals"]
        truth = {"accuracy": right, "balanced_accuracy": right, "roc_auc": auc}
        inside = [ends[name][0] <= value <= ends[name][1] for name, value in truth.items()]
        gaps = [lead["interval"] for lead in leads(first, second, codes, TWO).values()]
        covered += [*inside, *(low <= 0 <= high for low, high in gaps)]
    assert covered.min() / repeats >= 0.92 and covered[:2].max() / repeats <= 0.985
