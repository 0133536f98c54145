"""The table of scores and the selection rules, on given scores."""

import numpy as np

from drsvm.learn.cross_validation import SELECTION_RULES, PathScores, Setting, nearest_to_chance, results_table


def test_one_standard_error_takes_a_larger_radius():
    scores = np.array([[0.5, 0.5, 0.5], [0.7, 0.9, 0.7], [0.8, 0.9, 0.7], [0.9, 0.7, 0.9], [0.0, 0.0, 0.0]])
    results = {
        "param_radius": np.array([1.0, 0.5, 0.2, 0.1, 2.0]),
        "params": [{"radius": r, "norm": 2} for r in (1.0, 0.5, 0.2, 0.1)] + [{"radius": 2.0, "norm": 1}],
        "chance_radius": np.full(5, 0.25),
        "equal_sides": np.zeros(5, dtype=bool),
        "mean_test_score": scores.mean(axis=1),
        **{f"split{k}_test_score": scores[:, k] for k in range(3)},
    }
    assert SELECTION_RULES["best"](results) == 3
    # 0.833 minus 0.115 / sqrt(3) = 0.767 is reached at 0.5 too
    assert SELECTION_RULES["one-standard-error"](results) == 1
    assert SELECTION_RULES["auto"](results) == 2
    results["mean_test_score"][4] = 0.83  # within the error, but with another norm
    assert SELECTION_RULES["one-standard-error"](results) == 1
    results["params"] = [{**one, "norm": 2, "class_weight": k == 4} for k, one in enumerate(results["params"])]
    results["equal_sides"][4] = True  # as good, and with equal sides
    assert SELECTION_RULES["auto"](results) == 4
    assert SELECTION_RULES["one-standard-error"](results) == 1
    results["mean_test_score"][2] = results["mean_test_score"][3]
    assert SELECTION_RULES["best"](results) == 2  # the larger radius in a tie


def test_only_complete_folds_count():
    setting = Setting(None, {"flip_cost": 5.0, "norm": 2}, np.array([0.2, 0.1]), None, 0.1, False)
    good, bad = PathScores(np.array([0.9, 0.8]), *np.ones((2, 2))), PathScores(np.array([0.1, 0.9]), *np.ones((2, 2)))
    table = results_table([setting, setting], [[good, bad], [good, bad._replace(complete=False)]])
    np.testing.assert_array_equal(table["mean_test_score"], [0.9, 0.8, 0.9, 0.8])
    np.testing.assert_array_equal(table["split1_test_score"], np.full(4, np.nan))
    for rule in SELECTION_RULES.values():
        assert rule(table) == 0
    nothing = results_table([setting], [[good._replace(complete=False)]])
    assert np.isnan(nothing["mean_test_score"]).all() and nearest_to_chance(nothing) == 1
