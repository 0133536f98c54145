"""The parts of a cross-validation: settings and radii, the scores of a path in a fold, their table, the choice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring

from drsvm.defaults import one_vs_rest
from drsvm.defaults.binary_problems import at_centre
from drsvm.defaults.outliers import ROUNDING
from drsvm.estimators.fit_data import FitData
from drsvm.estimators.linear import WassersteinSVC
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.problem.row_sums import typical_row_norm
from drsvm.solvers.interior_point.small import is_small
from drsvm.solvers.many import Rough, rough_path
from drsvm.solvers.path.radius_path import radius_path
from drsvm.solvers.reformulation.shifted_columns import without_far_columns
from drsvm.solvers.reformulation.span_of_rows import in_span_of_rows, span_pays
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import TimeLimit
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

# Gap of the solutions in the folds: a score of 10,000 rows has steps of this size
CV_TOL = 1e-4
# The automatic one and smaller ones; larger ones, and some in between, decided no
# better
N_RADII = 6

Columns = dict[str, Any]  # those of `cv_results_`: arrays and, as params, a list


@dataclass(frozen=True, eq=False)
class Setting:
    """All parameters but the radius, and the radii in decreasing order."""

    class_weight: Any
    ball: dict[str, Any]
    radii: np.ndarray
    auto_radius: float

    def params(self, radius) -> dict[str, Any]:
        """Return the parameters of `WassersteinSVC` for one of the radii.

        Flip costs by row are not among them.
        """
        names = ("flip_cost", "norm", "l2", "intercept_cost")
        chosen = {
            name: self.ball[name]
            for name in names
            if not isinstance(self.ball[name], np.ndarray)
        }
        return {"radius": float(radius), **chosen, "class_weight": self.class_weight}

    def ball_of(self, rows) -> dict[str, Any]:
        flip_cost = self.ball["flip_cost"]
        return {
            **self.ball,
            "flip_cost": flip_cost[rows] if np.ndim(flip_cost) > 0 else flip_cost,
        }

    def __str__(self) -> str:
        named = {
            "norm": self.ball["norm"],
            "ridge": f"{self.ball['l2']:.3g}",
            "flip cost": self.ball["flip_cost"],
        }
        named |= {
            "intercept cost": self.ball["intercept_cost"],
            "class weights": self.class_weight,
        }
        words = {
            name: "by row" if isinstance(value, np.ndarray) else value
            for name, value in named.items()
        }
        return ", ".join(
            f"{name} {value}" for name, value in words.items() if value is not None
        )


class Fold(NamedTuple):
    """Training rows and test rows."""

    number: int
    train: np.ndarray
    test: np.ndarray

    def rows(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return the training rows and the test rows.

        `drsvm fit --cv` fits the preparation in every fold.
        """
        return X[self.train], X[self.test]


class PathScores(NamedTuple):
    """The outcome of one path, one entry per radius: scores, seconds and proven gaps.

    And the score of a constant.
    """

    scores: np.ndarray
    times: np.ndarray
    gaps: np.ndarray
    constant: float
    complete: bool = True  # there was time for a step at every radius


def default_radii(problems: list[Problem], n_radii: int, auto: float) -> np.ndarray:
    """Return the automatic radius and smaller ones, each half of the one before."""
    # 0: rows that do not differ
    largest = auto or max(typical_row_norm(problem) for problem in problems)
    return largest * 0.5 ** np.arange(n_radii)


def listed(values, name: str) -> list:
    """Return one or several values as a list."""
    several = isinstance(values, list | tuple) or (
        not isinstance(values, str) and np.ndim(values) > 0
    )
    listed = list(values) if several else [values]
    if not listed:
        raise ValueError(f"{name} must contain at least one value, got {values!r}.")
    return listed


# --- one path in one fold
# -----------------------------------------------------------------------------------------


def score_path(
    data: FitData, setting: Setting, fold: Fold, scorer, limits, time
) -> PathScores:
    """Fit classifiers for all radii on the training rows and score them on the test rows, within the time limit."""
    time = time.share(1)
    if time.spent:
        unknown = np.full(len(setting.radii), np.nan)
        return PathScores(
            unknown, np.zeros(len(unknown)), unknown, np.nan, complete=False
        )
    rows, test_rows = fold.rows(data.X)
    if data.weights is None:
        weights = None
    else:
        weights = data.weights[fold.train]
    ball = setting.ball_of(fold.train)
    problems = one_vs_rest.binary_problems(
        rows, data.y[fold.train], data.classes, weights, **ball
    )
    paths = [
        _path(each, setting.radii, time.share(len(problems) - k), limits)
        for k, each in enumerate(problems)
    ]
    names = ("weights", "intercept", "time", "gap")
    coefs, intercepts, times, gaps = (
        np.stack(
            [[getattr(solution, name) for solution in path] for path, _ in paths],
            axis=1,
        )
        for name in names
    )
    # The last classifier has no weights and predicts the majority.
    coefs, intercepts = (
        np.concatenate([each, np.zeros_like(each[:1])]) for each in (coefs, intercepts)
    )
    intercepts = one_vs_rest.towards_majority(problems, coefs, intercepts)
    if data.sample_weight is None:
        weights = None
    else:
        weights = data.sample_weight[fold.test]
    scores = _scores(
        scorer, data.classes, coefs, intercepts, test_rows, data.y[fold.test], weights
    )
    complete = all(complete for _, complete in paths)
    return PathScores(
        scores[:-1], times.sum(axis=1), gaps.max(axis=1), scores[-1], complete
    )


def _path(
    problem: Problem, radii: np.ndarray, time: TimeLimit, limits: dict[str, Any]
) -> tuple[Sequence[Result | Rough], bool]:
    """Return the solutions of one problem, without a proof for few rows (no score needs it), and whether all exist."""
    proves = (
        limits["solver"] not in ("auto", "interior-point")
        or limits["max_iter"] is not None
    )
    centred = at_centre(problem)
    if proves or not (is_small(problem) or span_pays(problem)):
        path = radius_path(centred.problem, radii, max_time=time, **limits)
        if path.interrupted:
            raise KeyboardInterrupt
        complete = not any(
            result.n_iter == 0 and result.gap > result.tol for result in path.results
        )
        results = []
        for result, radius in zip(path.results, path.radii, strict=True):
            here = centred.with_regularisation(float(radius), problem.l2)
            results.append(here.to_outer(result))
        return results, complete
    centred = in_span_of_rows(centred)
    shifted = without_far_columns(centred.problem)  # if the intercept has no price
    found = rough_path(shifted.problem, radii, tol=limits["tol"], max_time=time)
    missing = len(radii) - len(found)
    found += missing * [Rough(np.zeros(shifted.problem.n_features), 0.0, 1.0, 0.0)]
    classifiers = [centred.to_outer(shifted.to_outer(rough[:2])) for rough in found]
    path = [
        Rough(w, b, rough.gap, rough.time)
        for (w, b), rough in zip(classifiers, found, strict=True)
    ]
    return path, not missing


def _scores(scorer, classes, coefs, intercepts, rows, labels, weights) -> np.ndarray:
    """Return the score of every classifier.

    Without a scorer, the accuracy of all of them at once.
    """
    if scorer is None:
        values = np.asarray(rows @ coefs.reshape(-1, coefs.shape[-1]).T)
        decisions = values.reshape(-1, *intercepts.shape) + intercepts
        if len(classes) == 2:
            found = (decisions[..., 0] > 0).astype(np.intp)
        else:
            found = decisions.argmax(axis=-1)
        return np.average(classes[found] == labels[:, None], axis=0, weights=weights)
    if hasattr(
        scorer, "_accept_sample_weight"
    ):  # scikit-learn's scorers know what their metric accepts
        takes_weights = scorer._accept_sample_weight()
    else:
        takes_weights = "sample_weight" in signature(scorer).parameters
    if weights is not None and takes_weights:
        extra = {"sample_weight": weights}
    else:
        extra = {}
    scores = []
    for coef, intercept in zip(coefs, intercepts, strict=True):
        model = WassersteinSVC()
        model.classes_ = classes
        model.n_features_in_ = coef.shape[-1]
        model.coef_ = coef
        model.intercept_ = intercept
        with config_context(assume_finite=True):  # `fit` has checked the rows
            scores.append(scorer(model, rows, labels, **extra))
    return np.array(scores, dtype=np.float64)


def checked_scorer(scoring) -> Callable[..., float] | None:
    """Return a scorer, None for the accuracy.

    Raise if it needs probabilities, which a candidate has none of.
    """
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(
            f"scoring must be one score, not several, got scoring={scoring!r}."
        )
    if scoring is None or (isinstance(scoring, str) and scoring == "accuracy"):
        return None
    scorer = check_scoring(WassersteinSVC(), scoring=scoring)
    if getattr(scorer, "_response_method", None) == "predict_proba":
        raise ValueError(
            f"scoring={scoring!r} needs probabilities, and the candidates have none: choose one of decisions, such as "
            "'roc_auc', or search with GridSearchCV(WassersteinSVC(calibration='sigmoid'), ...)."
        )
    return scorer


# --- the table
# ----------------------------------------------------------------------------------------------------


def results_table(settings: list[Setting], outcomes: list[list[PathScores]]) -> Columns:
    """Return the columns of `cv_results_`, one entry per radius of every setting.

    Means are over complete folds.
    """
    params = [
        setting.params(radius) for setting in settings for radius in setting.radii
    ]
    columns: Columns = {}
    for name in params[0]:
        mixed = name in ("class_weight", "intercept_cost")  # words, numbers and None
        columns[f"param_{name}"] = np.array(
            [one[name] for one in params], dtype=object if mixed else None
        )
    columns["params"] = params
    columns["auto_radius"] = np.repeat(
        [one.auto_radius for one in settings], [len(one.radii) for one in settings]
    )
    scores = np.concatenate(
        [np.stack([path.scores for path in paths]) for paths in outcomes], axis=1
    )
    complete = np.all([[path.complete for path in paths] for paths in outcomes], axis=0)
    scores[~complete] = np.nan
    columns |= {f"split{fold}_test_score": row for fold, row in enumerate(scores)}
    scores = scores[complete] if complete.any() else scores
    columns["mean_test_score"], columns["std_test_score"] = (
        scores.mean(axis=0),
        scores.std(axis=0),
    )
    if complete.any() and np.isnan(columns["mean_test_score"]).all():
        raise ValueError(
            "Every candidate has a NaN score in some fold: check scoring and cv."
        )
    ranked = np.nan_to_num(columns["mean_test_score"], nan=-np.inf)
    columns["rank_test_score"] = rankdata(-ranked, method="min").astype(np.int32)
    # With the class weights of the first setting
    constant = np.array([path.constant for path in outcomes[0]])
    columns["constant_score"] = np.full(
        len(params), (constant[complete] if complete.any() else constant).mean()
    )
    columns["mean_fit_time"] = np.concatenate(
        [np.mean([path.times for path in paths], axis=0) for paths in outcomes]
    )
    columns["largest_gap"] = np.concatenate(
        [np.max([path.gaps for path in paths], axis=0) for paths in outcomes]
    )
    return columns


def warn_of_large_gaps(paths: list[PathScores], tol: float, n_folds: int) -> None:
    """Warn of paths without time, or of solutions far from the tolerance."""
    idle = sum(not path.complete for path in paths)
    gaps = np.concatenate([path.gaps for path in paths])
    short = gaps > 10.0 * tol
    if idle:
        message = f"The time ran out with {idle} of {len(paths)} paths in {n_folds} folds unfinished; only complete "
        message += "folds count. Allow more time (max_time), or try fewer radii, ridges (l2), norms or folds (cv)."
    elif short.any():
        gap = f"{short.sum()} of {len(gaps)} solutions in the folds have a proven gap above {10.0 * tol:.0e}; the "
        gap += f"largest is {gaps.max():.1e}."
        remedy = (
            "{} Allow more iterations or time ({}, {}), or standardise the features."
        )
        message = Message(remedy, gap, Parameter("max_iter"), Parameter("max_time"))
    else:
        return
    warn_user(message, ConvergenceWarning)


# --- the choice
# ---------------------------------------------------------------------------------------------------

# Scores on few rows with wrong labels have large errors, and the best of many is often
# a lucky one. The rule "auto" therefore starts from the candidate that needs no scores,
# the automatic radius in the first setting, and leaves it only for one that is ahead in
# most folds: the difference of two scores of the same rows has a much smaller error.


def weighs_classes_equally(scoring) -> bool:
    """Whether balanced class weights are the natural choice for a score, by its name."""
    return isinstance(scoring, str) and (
        "balanced_accuracy" in scoring or "macro" in scoring
    )


def automatic(results: Columns) -> int:
    """Return the candidate of the first setting whose radius is nearest to the automatic one."""
    return _nearest_to_auto(results, in_setting_of(results, 0))


def in_setting_of(results: Columns, index: int) -> np.ndarray:
    """Return a mask of the candidates that differ from one of them in the radius only."""
    chosen = results["params"][index]
    return np.array(
        [
            all(one[k] == chosen[k] for k in one if k != "radius")
            for one in results["params"]
        ]
    )


def _nearest_to_auto(results: Columns, among: np.ndarray) -> int:
    tiny = np.finfo(np.float64).tiny
    radii, auto = (
        np.log(np.maximum(results[name], tiny))
        for name in ("param_radius", "auto_radius")
    )
    return int(np.argmin(np.where(among, np.abs(radii - auto), np.inf)))


def _best_mean(results: Columns) -> int:
    """Return the candidate with the best mean score.

    In a tie the first one, which has the larger radius.
    """
    means = np.nan_to_num(results["mean_test_score"], nan=-np.inf)
    return int(np.flatnonzero(means >= means.max() - ROUNDING)[0])


def _standard_error(results: Columns, index: int, compared: int | None = None) -> float:
    """Return the standard error of a mean score, or of the lead over another candidate in the same folds."""
    columns = [column for name, column in results.items() if name.startswith("split")]
    scores = np.array(
        [
            column[index] - (0.0 if compared is None else column[compared])
            for column in columns
        ]
    )
    scores = scores[~np.isnan(scores)]  # only the folds that were completed in time
    if len(scores) > 1:
        return float(scores.std(ddof=1) / np.sqrt(len(scores)))
    return 0.0


def _within_one_standard_error(results: Columns) -> np.ndarray:
    """Return a mask of the candidates within one standard error of the best mean that share its other parameters."""
    best = _best_mean(results)
    least = results["mean_test_score"][best] - _standard_error(results, best) - ROUNDING
    return in_setting_of(results, best) & (results["mean_test_score"] >= least)


def _automatic_unless_clearly_better(results: Columns) -> int:
    start = automatic(results)
    best = _best_mean(results)
    # NaN if the latter has no score
    lead = results["mean_test_score"][best] - results["mean_test_score"][start]
    if lead <= _standard_error(results, best, start) + ROUNDING:
        return start
    return _nearest_to_auto(results, _within_one_standard_error(results))


SELECTION_RULES: dict[str, Callable[[Columns], int]] = {
    "auto": _automatic_unless_clearly_better,
    "one-standard-error": lambda results: int(
        np.argmax(
            np.where(
                _within_one_standard_error(results), results["param_radius"], -np.inf
            )
        )
    ),
    "best": _best_mean,
}
