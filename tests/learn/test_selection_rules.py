"""The rules that select a candidate, on given tables of scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drsvm.learn.search.cross_validation import SELECTION_RULES, automatic, in_setting_of, weighs_classes_equally

RADII = (1.0, 0.5, 0.2, 0.1)


def table(scores, radii=RADII, settings=None, auto_radius=0.22, constant_score=0.0):
    """Return a table with one row of scores, one per fold, for every candidate."""
    scores = np.array(scores, dtype=float)
    settings = ["first"] * len(radii) if settings is None else settings
    return {
        "param_radius": np.array(radii),
        "params": [{"radius": radius, "norm": norm} for radius, norm in zip(radii, settings, strict=True)],
        "auto_radius": np.full(len(radii), auto_radius),
        "constant_score": np.full(len(radii), constant_score),
        "mean_test_score": scores.mean(axis=1),
        **{f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])},
    }


def spread(mean, error, folds=3):
    """Return scores with a given mean and standard error."""
    return mean + error * np.sqrt(folds) * np.array([1.0, -1.0, *np.zeros(folds - 2)])


# "best" and "one-standard-error"


def test_the_best_mean_and_the_largest_radius_within_one_standard_error():
    results = table([[0.5] * 3, [0.7, 0.9, 0.7], [0.8, 0.9, 0.7], [0.9, 0.7, 0.9]])
    assert SELECTION_RULES["best"](results) == 3
    # 0.833 minus 0.115 / sqrt(3) = 0.767 is reached at 0.5 too
    assert SELECTION_RULES["one-standard-error"](results) == 1
    results["mean_test_score"][2] = results["mean_test_score"][3]
    assert SELECTION_RULES["best"](results) == 2  # the larger radius in a tie


def test_one_standard_error_stays_with_the_other_parameters_of_the_best():
    results = table([[0.6] * 3, spread(0.83, 0.05), spread(0.80, 0.05)], (2.0, 0.5, 0.2), ["other", "first", "first"])
    results["mean_test_score"][0] = 0.81
    assert SELECTION_RULES["one-standard-error"](results) == 1


# "auto"


def test_auto_starts_from_the_automatic_radius_in_the_first_setting():
    scores = [[0.8] * 3] * 6
    results = table(scores, (1.0, 0.2, 0.1) * 2, ["first"] * 3 + ["second"] * 3, auto_radius=0.13)
    results["auto_radius"][3:] = 0.2
    assert SELECTION_RULES["auto"](results) == automatic(results) == 2  # 0.13 is nearer to 0.1 on a log scale


@pytest.mark.parametrize(("advantage", "chosen"), [(0.019, 2), (0.021, 3)])
def test_auto_leaves_it_only_for_a_clearly_better_score(advantage, chosen):
    results = table([[0.5] * 3, [0.6] * 3, [0.7] * 3, spread(0.7 + advantage, 0.02)])
    assert SELECTION_RULES["auto"](results) == chosen


@pytest.mark.parametrize(("constant", "chosen"), [(0.79, 2), (0.77, 3)])
def test_auto_distrusts_scores_that_are_hardly_better_than_those_of_a_constant_classifier(constant, chosen):
    results = table([[0.5] * 3, [0.6] * 3, [0.7] * 3, spread(0.8, 0.02)], constant_score=constant)
    assert SELECTION_RULES["auto"](results) == chosen


def test_auto_then_takes_the_good_radius_nearest_to_the_automatic_one():
    settings = ["first"] * 4 + ["second"] * 4
    scores = [[0.5] * 3] * 4 + [spread(0.89, 0.02), spread(0.9, 0.02), spread(0.885, 0.02), [0.8] * 3]
    results = table(scores, RADII * 2, settings, auto_radius=0.1)
    assert SELECTION_RULES["auto"](results) == 6  # not 0.1, whose score is worse, nor the first setting
    assert SELECTION_RULES["one-standard-error"](results) == 4


def test_auto_with_scores_that_are_missing():
    results = table([[0.5] * 3, [0.8] * 3, [np.nan] * 3, [0.6] * 3])  # the automatic radius has no score
    assert SELECTION_RULES["auto"](results) == 1
    results["constant_score"][:] = np.nan
    assert SELECTION_RULES["auto"](results) == 1
    results["split2_test_score"][:] = np.nan  # a fold that was not completed does not count in the standard error
    results["split0_test_score"][1] = 0.9
    results["split1_test_score"][1] = 0.7
    assert SELECTION_RULES["one-standard-error"](results) == 1


def test_one_fold_has_no_standard_error():
    assert SELECTION_RULES["auto"](table([[0.5], [0.8], [0.79], [0.6]])) == 1
    assert SELECTION_RULES["auto"](table([[0.5], [0.8], [0.8], [0.6]])) == 2


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3))
def test_every_rule_keeps_its_promise(seed, n_folds, n_settings):
    rng = np.random.default_rng(seed)
    radii = tuple(np.sort(rng.uniform(0.01, 1.0, 4))[::-1]) * n_settings
    scores = np.round(rng.uniform(0.4, 0.9, (len(radii), n_folds)), 1)
    settings = np.repeat(["first", "second", "third"][:n_settings], 4).tolist()
    results = table(scores, radii, settings, auto_radius=rng.uniform(0.01, 1.0), constant_score=rng.uniform(0.4, 0.9))
    means, start = scores.mean(axis=1), automatic(results)
    error = scores.std(axis=1, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(radii))
    best = SELECTION_RULES["best"](results)
    assert means[best] == pytest.approx(means.max()) and settings[start] == "first"
    for rule in ("auto", "one-standard-error"):
        chosen = SELECTION_RULES[rule](results)
        good = settings[chosen] == settings[best] and means[chosen] >= means[best] - error[best] - 1e-9
        assert good or (rule == "auto" and chosen == start)
    if SELECTION_RULES["auto"](results) != start:
        assert means[best] > max(means[start], results["constant_score"][0]) + error[best]
    assert radii[SELECTION_RULES["one-standard-error"](results)] >= radii[best]


# Parts


def test_candidates_of_one_setting_differ_in_the_radius_only():
    results = table([[0.5]] * 4, settings=["first", "second", "first", "second"])
    np.testing.assert_array_equal(in_setting_of(results, 2), [True, False, True, False])


EQUAL, UNEQUAL = ("balanced_accuracy", "f1_macro", "recall_macro"), ("accuracy", "f1_micro", None, lambda *_: 0.0)


@pytest.mark.parametrize("scoring", [*EQUAL, *UNEQUAL])
def test_scores_that_weigh_classes_equally(scoring):
    assert weighs_classes_equally(scoring) is (scoring in EQUAL)
