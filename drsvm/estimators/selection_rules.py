"""Rules that choose a candidate by the scores of a cross-validation.

Scores on few rows with wrong labels have large errors, and the best of many is often a
lucky one. The rule "auto" therefore starts from the candidate that needs no scores, the
automatic radius in the first setting, and leaves it only for one that is ahead in most
folds: the difference of two scores of the same rows has a much smaller error.

The rules take `cv_results_` and return an index.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

# Scores that differ by less are equal: sums of a few of them are not more exact.
ROUNDING = 1e-12
# Those of `cv_results_`: arrays and, as params, a list
Columns: TypeAlias = dict[str, Any]


def weighs_classes_equally(scoring) -> bool:
    """Return whether balanced class weights are natural for a score, by its name."""
    if not isinstance(scoring, str):
        return False
    return "balanced_accuracy" in scoring or "macro" in scoring


def automatic(results: Columns) -> int:
    """Return the candidate of the first setting with the automatic radius.

    If that is not among the radii, it is the nearest one.
    """
    return _nearest_to_auto(results, in_setting_of(results, 0))


def in_setting_of(results: Columns, index: int) -> np.ndarray:
    """Return a mask of the candidates that differ from one in the radius only."""
    chosen = results["params"][index]
    same = []
    for params in results["params"]:
        same.append({**params, "radius": chosen["radius"]} == chosen)
    return np.array(same)


def _nearest_to_auto(results: Columns, among: np.ndarray) -> int:
    """Return which of some candidates has the radius nearest to the automatic one."""
    # The nearest by ratio; radii may be 0.
    tiny = np.finfo(np.float64).tiny
    radii = np.log(np.maximum(results["param_radius"], tiny))
    automatic_radii = np.log(np.maximum(results["auto_radius"], tiny))
    distances = np.abs(radii - automatic_radii)
    return int(np.argmin(np.where(among, distances, np.inf)))


def best_mean(results: Columns) -> int:
    """Return the candidate with the best mean score.

    In a tie the first one, which has the larger radius.
    """
    means = np.nan_to_num(results["mean_test_score"], nan=-np.inf)
    return int(np.argmax(means >= means.max() - ROUNDING))


def _scores_by_fold(results: Columns, index: int) -> np.ndarray:
    """Return the scores of one candidate."""
    scores = []
    for name, column in results.items():
        if name.startswith("split"):
            scores.append(column[index])
    return np.array(scores)


def _standard_error(scores: np.ndarray) -> float:
    """Return the standard error of the mean of scores, or differences, by fold."""
    # Folds that were not completed in time have no scores.
    scores = scores[~np.isnan(scores)]
    if len(scores) < 2:
        return 0.0
    return float(scores.std(ddof=1) / np.sqrt(len(scores)))


def _within_one_standard_error(results: Columns) -> np.ndarray:
    """Return a mask of the candidates in the setting of the best that are as good.

    Their mean scores are within one standard error of the best one.
    """
    best = best_mean(results)
    means = results["mean_test_score"]
    error = _standard_error(_scores_by_fold(results, best))
    return in_setting_of(results, best) & (means >= means[best] - error - ROUNDING)


def largest_within_one_standard_error(results: Columns) -> int:
    """Return the candidate with the largest radius that is about as good as any."""
    good = _within_one_standard_error(results)
    return int(np.argmax(np.where(good, results["param_radius"], -np.inf)))


def automatic_unless_clearly_better(results: Columns) -> int:
    """Return the automatic candidate unless the best one is clearly ahead of it."""
    start = automatic(results)
    best = best_mean(results)
    means = results["mean_test_score"]
    lead = _scores_by_fold(results, best) - _scores_by_fold(results, start)
    # The lead is NaN if the automatic candidate has no score. A comparison with NaN is
    # false, and the best one is taken.
    if means[best] - means[start] <= _standard_error(lead) + ROUNDING:
        return start
    return _nearest_to_auto(results, _within_one_standard_error(results))


SELECTION_RULES: dict[str, Callable[[Columns], int]] = {
    "auto": automatic_unless_clearly_better,
    "one-standard-error": largest_within_one_standard_error,
    "best": best_mean,
}
