"""Which labels are flagged, given the decisions about their rows."""

import numpy as np

from drsvm.learn.labels.quality import Judgement, flagged, judge


def judgement_of(values, given):
    values = np.asarray(values, dtype=float)
    return judge(np.column_stack([-values / 2, values / 2]), np.asarray(given))


def test_a_row_is_flagged_beyond_the_mean_margin_of_the_predicted_class():
    #        mean margin of class 1: (3 + 2 + 1 - 2) / 4 = 1; of class 0: (2 + 2 - 1.5 - 0.5) / 4 = 0.5
    values = [3.0, 2.0, 1.0, -2.0, -2.0, -2.0, 1.5, 0.5]
    given = [1, 1, 1, 1, 0, 0, 0, 0]
    flags = flagged(judgement_of(values, given), np.ones(8))
    assert np.flatnonzero(flags).tolist() == [3, 6]  # 0.5 is not beyond 1


def test_a_class_with_a_negative_mean_margin_has_the_threshold_0():
    values, given = [-3.0, -3.0, 0.1, -1.0, -1.0, 0.2], [1, 1, 1, 0, 0, 0]
    assert np.flatnonzero(flagged(judgement_of(values, given), np.ones(6))).tolist() == [0, 1, 5]


def test_a_doubled_weight_is_a_doubled_row():
    rng = np.random.default_rng(0)
    decisions, given = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    counts = rng.integers(1, 4, size=60)
    once, repeated = judge(decisions, given), judge(np.repeat(decisions, counts, axis=0), np.repeat(given, counts))
    one, other = flagged(once, counts.astype(float)), flagged(repeated, np.ones(counts.sum()))
    assert one.any() and np.array_equal(np.repeat(one, counts), other)


def test_ties_favour_the_given_label():
    judged = judge(np.zeros((3, 2)), np.array([0, 1, 1]))
    assert isinstance(judged, Judgement) and judged.predicted.tolist() == [0, 1, 1]
