"""The rules by which `WassersteinSVCCV` selects a candidate from the table of scores.

Scores on few rows with wrong labels have large errors, and the best of many is often a lucky one. The rule "auto"
therefore starts from the candidate that needs no scores, the automatic radius in the first setting, and leaves it only
for one that is clearly better.
"""

from typing import Any

import numpy as np

BALANCED_SCORES = ("balanced_accuracy", "macro")  # parts of the names of scores for which classes count equally


def weighs_classes_equally(scoring) -> bool:
    """Return whether balanced class weights are the natural choice for a score."""
    return isinstance(scoring, str) and any(part in scoring for part in BALANCED_SCORES)


def automatic(results: dict[str, Any]) -> int:
    """Return the candidate of the first setting whose radius is nearest to the automatic one."""
    return _nearest_to_auto(results, in_setting_of(results, 0))


def in_setting_of(results: dict[str, Any], index: int) -> np.ndarray:
    """Return a mask of the candidates that differ from one of them in the radius only."""
    chosen = results["params"][index]
    return np.array([all(one[k] == chosen[k] for k in one if k != "radius") for one in results["params"]])


def _nearest_to_auto(results: dict[str, Any], among: np.ndarray) -> int:
    tiny = np.finfo(np.float64).tiny
    radii, auto = (np.log(np.maximum(results[name], tiny)) for name in ("param_radius", "auto_radius"))
    return int(np.argmin(np.where(among, np.abs(radii - auto), np.inf)))


def _best_mean(results: dict[str, Any]) -> int:
    """Return the candidate with the best mean score; in a tie the first one, which has the larger radius."""
    means = np.nan_to_num(results["mean_test_score"], nan=-np.inf)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def _standard_error(results: dict[str, Any], index: int) -> float:
    n_splits = sum(name.startswith("split") for name in results)
    scores = np.array([results[f"split{fold}_test_score"][index] for fold in range(n_splits)])
    scores = scores[~np.isnan(scores)]  # only the folds that were completed in time
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0


def _within_one_standard_error(results: dict[str, Any]) -> np.ndarray:
    """Return a mask of the candidates within one standard error of the best mean that share its other parameters."""
    best = _best_mean(results)
    least = results["mean_test_score"][best] - _standard_error(results, best) - 1e-12
    return in_setting_of(results, best) & (results["mean_test_score"] >= least)


def _largest_good_radius(results: dict[str, Any]) -> int:
    return int(np.argmax(np.where(_within_one_standard_error(results), results["param_radius"], -1.0)))


def _automatic_unless_clearly_better(results: dict[str, Any]) -> int:
    start, best = automatic(results), _best_mean(results)
    means, error = results["mean_test_score"], _standard_error(results, best)
    rival = max(np.nan_to_num(means[start], nan=-np.inf), results["constant_score"][best])
    if means[best] <= rival + error + 1e-12:
        return start
    return _nearest_to_auto(results, _within_one_standard_error(results))


SELECTION_RULES = {
    "auto": _automatic_unless_clearly_better,
    "one-standard-error": _largest_good_radius,
    "best": _best_mean,
}
