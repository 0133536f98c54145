"""Figures and their intervals, by hand, by libraries and by all pairs of rows.

Weights that count, and noise.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest, norm, t
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score
from thorough import unless_long

from drsvm import Problem, solve
from drsvm.audit import (
    Z,
    are_noise,
    auc_interval,
    by_class,
    column_deviations,
    compared,
    lead_in_rates,
    leads,
    mean_interval,
    rate_interval,
    resolution,
    scores,
    summary,
    weights_that_count,
)
from drsvm.defaults.one_vs_rest import predictions
from drsvm.defaults.roc_auc import auc_parts

TWO = np.array([0, 1])


def test_two_classes():
    """One of three positives is missed, one of two negatives is taken for a positive."""
    found = scores(
        np.array([1.0, 2.0, -1.0, 3.0, -2.0]),
        np.array([1, 1, 1, 0, 0]),
        np.array([0, 1]),
    )
    assert found["confusion"] == {0: {0: 1, 1: 1}, 1: {0: 1, 1: 2}}
    assert found["recall"] == found["precision"] == {0: 0.5, 1: pytest.approx(2 / 3)}
    assert found["accuracy"] == 0.6 and found["balanced_accuracy"] == pytest.approx(
        (1 / 2 + 2 / 3) / 2
    )
    assert found["roc_auc"] == 0.5  # 3 of 6 pairs are in order
    assert (
        summary(found)
        == "accuracy 0.6000 (always 1: 0.6000), balanced 0.5833, ROC AUC 0.5000 (5 rows)"
    )
    assert by_class(found)[1].split() == ["0", "2", "0.5000", "0.5000", "1", "1"]


def test_what_does_not_exist_is_left_out():
    """The class c has no rows, and a is never predicted."""
    decisions = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1]])
    found = scores(decisions, np.array(["a", "b", "b"]), np.array(["a", "b", "c"]))
    assert found["recall"] == {"a": 0.0, "b": 0.5, "c": None} and found[
        "precision"
    ] == {"a": None, "b": 0.5, "c": 0.0}
    assert found["balanced_accuracy"] == 0.25 and found["roc_auc"] is None
    assert "ROC" not in summary(found) and by_class(found)[1].split()[3] == "-"
    assert by_class(scores(np.eye(20), np.arange(20), np.arange(20))) == [], (
        "many classes are not printed"
    )


LABELS = {2: np.array(["no", "yes"]), 3: np.array([0, 2, 7])}


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.integers(6, 60))
def test_agreement_with_scikit_learn(seed, n_classes, n):
    random = np.random.default_rng(seed)
    classes = LABELS[n_classes]
    y = classes[
        np.append(np.arange(n_classes), random.integers(0, n_classes, n - n_classes))
    ]
    shape = n if n_classes == 2 else (n, n_classes)
    # Rounded: some are equal
    decisions = np.round(random.normal(size=shape), random.integers(0, 3))
    found = scores(decisions, y, classes)
    predicted = predictions(decisions, classes)
    counts = confusion_matrix(y, predicted, labels=classes)
    assert [
        list(row.values()) for row in found["confusion"].values()
    ] == counts.tolist()
    assert found["accuracy"] == pytest.approx((y == predicted).mean())
    assert found["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(y, predicted)
    )
    if n_classes == 2:
        expected = roc_auc_score(y == "yes", decisions)
    else:
        expected = np.mean(
            [
                roc_auc_score(y == label, decisions[:, k])
                for k, label in enumerate(classes)
            ]
        )
    assert found["roc_auc"] == pytest.approx(expected)
    # Rows with other labels are in no cell of the matrix.
    found = scores(
        np.array([1.0, -1.0, 2.0]), np.array(["yes", "no", "zebra"]), LABELS[2]
    )
    assert found["confusion"] == {"no": {"no": 1, "yes": 0}, "yes": {"no": 0, "yes": 1}}


@pytest.fixture
def two_of_eight():
    """Two of eight columns matter, and they have very different scales."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(400) % 2, 1, -1)
    X = rng.normal(size=(400, 8)) * np.logspace(-2, 5, 8)
    X[:, 0] += 0.02 * y
    X[:, 7] += 2e5 * y
    return X, y


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_small_weights_count_where_their_columns_are_large(two_of_eight, storage):
    X, y = two_of_eight
    result = solve(
        Problem(storage(X), y, radius=1e-3, flip_cost=np.inf, fit_intercept=True),
        tol=1e-6,
    )
    # Together less than the root of the tolerance
    tiny = 1e-7 / column_deviations(storage(X))
    result.weights[1:7] = tiny[1:7]
    result.weights[7] = 1e-5  # 2 standard deviations
    counts = weights_that_count(result, column_deviations(storage(X)))
    assert counts.tolist() == [True, *[False] * 6, True]


def test_many_small_weights_count_together(two_of_eight):
    X, y = two_of_eight
    result = solve(Problem(X, y, radius=1e-3, fit_intercept=True), tol=1e-6)
    result.weights[:] = 0.4 * resolution(result.gap, result.tol)
    counts = weights_that_count(result, np.ones(8))
    assert counts.sum() == 6  # two of them are below the resolution, three are not
    # A wider gap hides more.
    assert [resolution(gap, 1e-6) for gap in (1e-9, 1e-5, 0.5)] == pytest.approx(
        [1e-3, 1e-5**0.5, 0.5**0.5]
    )


def test_decision_values_are_noise_if_they_hardly_differ():
    rng = np.random.default_rng(1)
    noise = 1e-6 * rng.normal(size=10_000) - 1.0
    one_of_many = np.zeros(10_000)
    real = rng.normal(size=10_000)
    one_of_many[7] = 1.0  # a rare row that is told apart
    columns = np.column_stack([noise, one_of_many, 1e-2 * real])
    assert are_noise(columns, [(1e-7, 1e-6)] * 3) == [True, False, False]
    assert are_noise(noise, [(1e-7, 1e-6)]) == [True] and are_noise(
        noise, [(1e-14, 1e-14)]
    ) == [False]


# Intervals


def pairs_in_order(decisions, codes):
    """Return the kernel of Mann and Whitney for all pairs of a positive and a negative row."""
    positive = decisions[codes == 1][:, None]
    negative = decisions[codes == 0]
    return (positive > negative) + 0.5 * (positive == negative)


def delong(kernels):
    """Return DeLong's covariances of the AUCs of several classifiers, from all pairs."""
    m, n = kernels[0].shape
    by_positive, by_negative = (
        np.atleast_2d(np.cov([k.mean(axis) for k in kernels])) for axis in (1, 0)
    )
    return by_positive / m + by_negative / n


def sample(seed, m, n, decimals=1):
    """Return the decisions of two similar classifiers about m positive and n negative rows, some of them equal."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat([1, 0], [m, n]))
    first = rng.normal(size=m + n) + codes
    return (
        codes,
        np.round(first, decimals),
        np.round(first + rng.normal(size=m + n), decimals),
    )


@given(st.integers(1, 400), st.data())
def test_rates_are_those_of_scipy(n, data):
    k = data.draw(st.integers(0, n))
    expected = binomtest(k, n).proportion_ci(method="wilson")
    low, high = rate_interval(k / n, n)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (
        0 <= low <= k / n <= high <= 1
        and (low == 0) == (k == 0)
        and (high == 1) == (k == n)
    )


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=4)
)
def test_the_mean_of_rates_is_between_0_and_1_and_as_wide_as_that_of_one_rate_at_most(
    counts,
):
    rates = [(min(k, n) / n, n) for k, n in counts]
    shares = [share for share, _ in rates]
    limits = [rate_interval(*one) for one in rates]
    low, high = mean_interval(shares, limits)
    assert (
        0 <= low <= np.mean(shares) <= high <= 1
        and high - low <= max(b - a for a, b in limits) + 1e-12
    )
    assert mean_interval(shares[:1], limits[:1]) == pytest.approx(limits[0])


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_the_parts_of_an_auc_are_those_of_all_pairs(seed, m, n):
    codes, decisions, _ = sample(seed, m, n)
    kernel = pairs_in_order(decisions, codes)
    parts = auc_parts(decisions, codes)
    np.testing.assert_allclose(parts[codes == 1], kernel.mean(axis=1) / (2 * m))
    np.testing.assert_allclose(parts[codes == 0], kernel.mean(axis=0) / (2 * n))


def test_the_auc_of_many_rows_has_the_variance_of_delong_and_of_a_bootstrap():
    codes, decisions, _ = sample(0, 150, 250)
    found = scores(decisions, codes, TWO, new_rows=True)
    low, high = found["intervals"]["roc_auc"]
    deviation = math.sqrt(delong([pairs_in_order(decisions, codes)]).item())
    assert high - low == pytest.approx(2 * Z * deviation, rel=0.02)
    rng = np.random.default_rng(1)
    sides = [np.flatnonzero(codes == code) for code in (0, 1)]
    drawn = [
        np.concatenate([rng.choice(side, len(side)) for side in sides])
        for _ in range(400)
    ]
    again = [auc_parts(decisions[rows], codes[rows]).sum() for rows in drawn]
    assert np.std(again) == pytest.approx(deviation, rel=0.12)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 30), (30, 1), (3, 4), (50, 60)])
@pytest.mark.parametrize("order", [-1.0, 0.0, 1.0])
def test_an_auc_of_0_or_1_or_of_equal_decisions_proves_as_little_as_a_rate_on_the_smaller_class(
    m, n, order
):
    codes = np.repeat([1, 0], [m, n])
    low, high = auc_interval(auc_parts(order * codes, codes), codes)
    assert (low, high) == pytest.approx(rate_interval((1 + order) / 2, min(m, n)))


def test_hardly_any_error_proves_no_more_than_a_rate_on_all_rows():
    codes = np.repeat([1, 0], 50)
    decisions = np.where(
        np.arange(100) == 99, 0.5, codes * np.linspace(1, 2, 100)[::-1]
    )
    decisions[0] = 0.4  # one of 2,500 pairs is out of order
    parts = auc_parts(decisions, codes)
    assert parts.sum() == pytest.approx(1 - 1 / 2500)
    assert auc_interval(parts, codes) == pytest.approx(rate_interval(1 - 1 / 2500, 100))


def test_leads_in_auc_have_the_covariances_of_delong():
    codes, first, second = sample(2, 120, 200)
    covariances = delong([pairs_in_order(each, codes) for each in (first, second)])
    deviation = math.sqrt(covariances[0, 0] + covariances[1, 1] - 2 * covariances[0, 1])
    lead = leads(first, second, codes, TWO)["roc_auc"]
    expected = (
        pairs_in_order(first, codes).mean() - pairs_in_order(second, codes).mean()
    )
    assert lead["difference"] == pytest.approx(expected)
    half = t.ppf(0.975, 300) * deviation
    assert lead["interval"] == pytest.approx(
        [expected - half, expected + half], rel=0.02
    )


def test_few_rows_prove_little():
    """Two rows per class are told apart by one classifier and confused by the other.

    Four per class are enough.
    """
    for n, clear in ((1, False), (2, False), (4, True)):
        codes = np.repeat([1, 0], n)
        lead = leads(1.0 * codes, -1.0 * codes, codes, TWO)["roc_auc"]
        assert (
            lead["difference"] == 1.0
            and (lead["interval"][0] > 0) == clear
            and lead["interval"][1] == 1.0
        )


def test_classifiers_that_agree_are_not_proven_equal():
    codes, decisions, _ = sample(3, 10, 40)
    found = leads(decisions, 2 * decisions, codes, TWO)
    assert all(lead["difference"] == 0 for lead in found.values())
    assert found["accuracy"]["interval"] == pytest.approx(
        [-Z * 2**0.5 / 52, Z * 2**0.5 / 52]
    )
    assert found["roc_auc"]["interval"] == pytest.approx(
        [-Z * 2**0.5 / 12, Z * 2**0.5 / 12]
    )


def test_leads_in_accuracy_by_hand():
    """Of 38 rows of class 0 only the first gets 7 right.

    Of 12 of class 1 it loses 3: Bonett and Price, then both.
    """
    codes = np.repeat([0, 1], [38, 12])
    first = np.where(np.arange(50) < 47, codes - 0.5, 0.5 - codes)
    second = np.where(np.arange(50) >= 7, codes - 0.5, 0.5 - codes)
    found = leads(first, second, codes, TWO)
    up = 8 / 52
    down = 4 / 52
    half = 1.959964 * math.sqrt((up + down - (up - down) ** 2) / 52)
    assert found["accuracy"]["difference"] == pytest.approx(0.08)
    assert found["accuracy"]["interval"] == pytest.approx(
        [up - down - half, up - down + half]
    )
    one, other = (
        lead_in_rates(*np.array(counts)[:, None])[1]
        for counts in ((7, 0, 38), (0, 3, 12))
    )
    mean = (7 / 38 - 3 / 12) / 2
    low = math.hypot(7 / 38 - one[0], -3 / 12 - other[0]) / 2
    assert found["balanced_accuracy"]["difference"] == pytest.approx(mean)
    assert found["balanced_accuracy"]["interval"][0] == pytest.approx(mean - low)


@given(st.integers(0, 10**6), st.integers(3, 40))
def test_intervals_of_several_classes_contain_the_figures(seed, n):
    rng = np.random.default_rng(seed)
    classes = np.array(["a", "b", "c"])
    y = np.array(["a", "b", "c"])[np.append([0, 1, 2], rng.integers(0, 3, n))]
    first, second = np.round(rng.normal(size=(2, n + 3, 3)), 1)
    found, other = (scores(each, y, classes, new_rows=True) for each in (first, second))
    for name, (low, high) in found["intervals"].items():
        assert 0 <= low <= found[name] <= high <= 1
    for name, lead in leads(first, second, y, classes).items():
        assert lead["difference"] == pytest.approx(found[name] - other[name])
        assert (
            -1 <= lead["interval"][0] <= lead["difference"] <= lead["interval"][1] <= 1
        )


def test_training_rows_have_no_intervals_and_classes_without_rows_no_auc():
    assert "intervals" not in scores(np.array([1.0, -1.0]), TWO, TWO)
    alone = scores(np.array([1.0, -1.0]), np.array([1, 1]), TWO, new_rows=True)[
        "intervals"
    ]
    assert alone["roc_auc"] is None and alone["balanced_accuracy"] == alone["accuracy"]
    assert leads(np.ones(2), np.ones(2), np.array([1, 1]), TWO)["roc_auc"] is None


@pytest.mark.parametrize(
    ("figure", "lead", "expected"),
    [
        (
            "roc_auc",
            (-0.012, -0.018, -0.006),
            "0.012 lower than B (95\u202f%: 0.006 to 0.018)",
        ),
        (
            "roc_auc",
            (0.0003, 0.00004, 0.0005),
            "0.00030 higher than B (95\u202f%: 0.00004 to 0.00050)",
        ),
        (
            "accuracy",
            (0.016, 0.003, 0.029),
            "1.6 points higher than B (95\u202f%: 0.3 to 2.9)",
        ),
        (
            "accuracy",
            (-0.014, -0.036, 0.008),
            "no clear difference from B (95\u202f%: −3.6 to +0.8 points)",
        ),
    ],
)
def test_leads_in_words(figure, lead, expected):
    assert (
        compared(figure, {"difference": lead[0], "interval": list(lead[1:])}, "B")
        == expected
    )


@pytest.mark.parametrize(
    ("m", "n", "auc"),
    unless_long([(20, 30, 0.9)], [(10, 10, 0.7), (20, 30, 0.9), (50, 50, 0.98)]),
)
def test_coverage(m, n, auc):
    """Of all samples, about 95 % have intervals that contain what is true of the source."""
    rng = np.random.default_rng(4)
    codes = np.repeat([1, 0], [m, n])
    shift = math.sqrt(2) * norm.ppf(auc)
    right = norm.cdf(shift / 2)
    repeats = unless_long(300, 4000)
    covered = np.zeros(6)
    for _ in range(repeats):
        noise = rng.normal(size=(2, m + n))
        first, second = (
            each + shift * (codes - 0.5)
            for each in (noise[0], 0.6 * noise[0] + 0.8 * noise[1])
        )
        ends = scores(first, codes, TWO, new_rows=True)["intervals"]
        truth = {"accuracy": right, "balanced_accuracy": right, "roc_auc": auc}
        inside = [
            ends[name][0] <= value <= ends[name][1] for name, value in truth.items()
        ]
        gaps = [lead["interval"] for lead in leads(first, second, codes, TWO).values()]
        covered += [*inside, *(low <= 0 <= high for low, high in gaps)]
    assert covered.min() / repeats >= 0.92 and covered[:2].max() / repeats <= 0.985
