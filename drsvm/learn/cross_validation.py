"""The parts of `WassersteinSVCCV`: scores of one path in one fold, the table of all scores, and the selection rules."""

from collections.abc import Iterator
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context

from drsvm.clock import TimeLimit
from drsvm.learn import one_vs_rest, prices
from drsvm.learn.estimators import WassersteinSVC
from drsvm.model.problem import Problem
from drsvm.solvers.path import RadiusPath, radius_path
from drsvm.solvers.radius_max import radius_max

CV_TOL = 1e-4
"""Proven gap of the solutions in the folds: far below the resolution of a score."""

SMALLEST = 1e-2
"""The smallest radius of a default grid, as a fraction of the largest."""


class Setting(NamedTuple):
    """All parameters but the radius, the radii in decreasing order, and two properties of all rows.

    These are their weights and the size of chance effects in them (see `radius_rule`).
    """

    class_weight: Any
    ball: dict[str, Any]
    radii: np.ndarray
    weights: np.ndarray | None
    chance_radius: float
    equal_sides: bool  # more than two classes, all with the same total weight

    def params(self, radius) -> dict[str, Any]:
        """Return the parameters of `WassersteinSVC` for one of the radii."""
        return {
            "radius": float(radius),
            "flip_cost": self.ball["flip_cost"],
            "norm": self.ball["norm"],
            "class_weight": self.class_weight,
        }

    def __str__(self) -> str:
        weights = "" if self.class_weight is None else f", class weights {self.class_weight}"
        return f"norm {self.ball['norm']:g}, flip cost {self.ball['flip_cost']:g}{weights}"


class Fold(NamedTuple):
    """Training rows and test rows."""

    number: int
    train: np.ndarray
    test: np.ndarray


class PathScores(NamedTuple):
    """The outcome of one path, one entry per radius: scores, seconds and proven gaps."""

    scores: np.ndarray
    times: np.ndarray
    gaps: np.ndarray
    complete: bool = True  # there was time for a step at every radius


def default_radii(problems: list[Problem], n_radii: int, n_threads: int | None, time: TimeLimit) -> np.ndarray:
    """Return log-spaced radii from the largest `radius_max` of the problems down to a hundredth of it.

    They are rounded to three digits, for readability and to hide the rounding errors of `radius_max`.
    """
    largest = max(
        radius_max(problem, max_time=time.share(len(problems) - index), n_threads=n_threads)
        for index, problem in enumerate(problems)
    )
    largest = largest or max(problem.typical_row_norm() for problem in problems)  # w = 0 is optimal for every radius
    return np.array([float(f"{radius:.3g}") for radius in largest * np.logspace(0.0, np.log10(SMALLEST), n_radii)])


def score_path(
    X, y, classes, sample_weight, setting: Setting, fold: Fold, scorer, limits, time: TimeLimit
) -> PathScores:
    """Fit classifiers for all radii on the training rows and score them on the test rows, within the time limit."""
    time = time.share(1)
    if time.spent:
        unknown = np.full(len(setting.radii), np.nan)
        return PathScores(unknown, np.zeros(len(unknown)), unknown, complete=False)
    weights = None if setting.weights is None else setting.weights[fold.train]
    rows = X[fold.train]
    centre = prices.centre_of(rows, weights, setting.ball)
    rows = prices.shifted(rows, centre)
    problems = one_vs_rest.binary_problems(rows, y[fold.train], classes, weights, **setting.ball)
    paths = list(_paths(problems, setting.radii, limits, time))
    coefs, intercepts = (
        np.stack(values, axis=1) for values in zip(*((p.weights, p.intercepts) for p in paths), strict=True)
    )
    if centre is not None:
        intercepts = intercepts - coefs @ centre
    extra = {}
    if sample_weight is not None and _takes_weights(scorer):
        extra["sample_weight"] = sample_weight[fold.test]
    rows, labels = X[fold.test], y[fold.test]
    scores = [
        scorer(_classifier(classes, coef, intercept), rows, labels, **extra)
        for coef, intercept in zip(coefs, intercepts, strict=True)
    ]
    times = np.sum([[result.time for result in path.results] for path in paths], axis=0)
    gaps = np.max([[result.gap for result in path.results] for path in paths], axis=0)
    idle = any(result.n_iter == 0 and result.gap > result.tol for path in paths for result in path.results)
    return PathScores(np.array(scores, dtype=np.float64), times, gaps, complete=not idle)


def _paths(problems: list[Problem], radii, limits, time: TimeLimit) -> Iterator[RadiusPath]:
    for index, problem in enumerate(problems):
        path = radius_path(problem, radii, max_time=time.share(len(problems) - index), **limits)
        if path.interrupted:
            raise KeyboardInterrupt
        yield path


def _takes_weights(scorer) -> bool:
    if hasattr(scorer, "_accept_sample_weight"):  # scikit-learn's scorers know what their metric accepts
        return scorer._accept_sample_weight()
    return "sample_weight" in signature(scorer).parameters


class _Candidate(WassersteinSVC):
    """A classifier for scorers that does not check rows again that `fit` has already checked."""

    def decision_function(self, X):
        with config_context(assume_finite=True):
            return super().decision_function(X)


def _classifier(classes, coef, intercept) -> WassersteinSVC:
    """Return a fitted estimator with given weights."""
    model = _Candidate()
    model.classes_, model.coef_, model.intercept_ = classes, coef, intercept
    model.n_features_in_ = coef.shape[1]
    return model


# --- all scores and the selection --------------------------------------------------------------------------------


def results_table(settings: list[Setting], outcomes: list[list[PathScores]]) -> dict[str, Any]:
    """Return the columns of `cv_results_`, one entry per radius of every setting.

    A fold that was not completed in time has no scores; the means are over the others.
    """
    params = [setting.params(radius) for setting in settings for radius in setting.radii]
    columns: dict[str, Any] = {}
    for name in params[0]:
        columns[f"param_{name}"] = np.array(
            [one[name] for one in params], dtype=None if name != "class_weight" else object
        )
    columns["params"] = params
    for name in ("chance_radius", "equal_sides"):
        columns[name] = np.repeat([getattr(one, name) for one in settings], [len(one.radii) for one in settings])
    scores = np.concatenate([np.stack([path.scores for path in paths]) for paths in outcomes], axis=1)
    complete = np.all([[path.complete for path in paths] for paths in outcomes], axis=0)
    scores[~complete] = np.nan
    columns |= {f"split{fold}_test_score": row for fold, row in enumerate(scores)}
    scores = scores[complete] if complete.any() else scores
    columns["mean_test_score"], columns["std_test_score"] = scores.mean(axis=0), scores.std(axis=0)
    if complete.any() and np.isnan(columns["mean_test_score"]).all():
        raise ValueError("Every candidate has a NaN score in some fold: check scoring and cv.")
    ranked = np.nan_to_num(columns["mean_test_score"], nan=-np.inf)
    columns["rank_test_score"] = rankdata(-ranked, method="min").astype(np.int32)
    columns["mean_fit_time"] = np.concatenate([np.mean([path.times for path in paths], axis=0) for paths in outcomes])
    columns["largest_gap"] = np.concatenate([np.max([path.gaps for path in paths], axis=0) for paths in outcomes])
    return columns


def _best_mean(results: dict[str, Any]) -> int:
    """Return the candidate with the best mean score; in a tie the first one, which has the larger radius."""
    means = np.nan_to_num(results["mean_test_score"], nan=-np.inf)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def _within_one_standard_error(results: dict[str, Any], free: tuple[str, ...]) -> np.ndarray:
    """Return a mask of the candidates within one standard error of the best mean that share its other parameters."""
    best = _best_mean(results)
    n_splits = sum(name.startswith("split") for name in results)
    scores = np.array([results[f"split{fold}_test_score"][best] for fold in range(n_splits)])
    scores = scores[~np.isnan(scores)]  # only the folds that were completed in time
    error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0
    held = [name for name in results["params"][best] if name not in free]
    alike = [all(one[name] == results["params"][best][name] for name in held) for one in results["params"]]
    return np.array(alike) & (results["mean_test_score"] >= results["mean_test_score"][best] - error - 1e-12)


def _largest_good_radius(results: dict[str, Any]) -> int:
    good = _within_one_standard_error(results, free=("radius",))
    return int(np.argmax(np.where(good, results["param_radius"], -1.0)))


def _good_radius_nearest_to_chance(results: dict[str, Any]) -> int:
    # One-vs-rest: a class that is rarer, perhaps by chance, is rarely predicted unless both sides have equal weight.
    good = _within_one_standard_error(results, free=("radius", "class_weight")) & results["equal_sides"]
    if not good.any():
        good = _within_one_standard_error(results, free=("radius",))
    return _nearest_to_chance(results, good)


def _nearest_to_chance(results: dict[str, Any], among: np.ndarray) -> int:
    tiny = np.finfo(np.float64).tiny
    radii, chance = (np.log(np.maximum(results[name], tiny)) for name in ("param_radius", "chance_radius"))
    return int(np.argmin(np.where(among, np.abs(radii - chance), np.inf)))


def nearest_to_chance(results: dict[str, Any]) -> int:
    """Return the candidate of the first setting whose radius is nearest to the size of chance effects."""
    first = [all(one[k] == results["params"][0][k] for k in one if k != "radius") for one in results["params"]]
    return _nearest_to_chance(results, np.array(first))


SELECTION_RULES = {
    "auto": _good_radius_nearest_to_chance,
    "one-standard-error": _largest_good_radius,
    "best": _best_mean,
}
