"""Parts of a cross-validation: settings, scores of a path in a fold, their table."""

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
from drsvm.defaults.fit_data import FitData
from drsvm.estimators.linear import WassersteinSVC
from drsvm.estimators.selection_rules import Columns
from drsvm.problem.problem import Problem
from drsvm.problem.result import Result
from drsvm.problem.row_sums import typical_row_norm
from drsvm.solvers.interior_point.small import is_small
from drsvm.solvers.many import Rough, rough_path
from drsvm.solvers.path.radius_path import radius_path
from drsvm.solvers.reformulation.shifted_columns import without_far_columns
from drsvm.solvers.reformulation.span_of_rows import in_span_of_rows, span_pays
from drsvm.utils.annotations import Matrix
from drsvm.utils.arguments import about
from drsvm.utils.clock import TimeLimit
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.user_warnings import warn_user

# Gap of the solutions in the folds: a score of 10,000 rows has steps of this size
CV_TOL = 1e-4
# The number of radii: the automatic one and smaller ones. Larger ones, and some in
# between, decided no better.
N_RADII = 6
# Gaps of more than this many times the tolerance are warned of: below, they are too
# small to change a score.
LARGE_GAP = 10.0
# Those of `WassersteinSVC` and of `Problem` that belong to a setting
PARAMETERS = ("flip_cost", "norm", "l2", "intercept_cost", "row_radius")


@dataclass(frozen=True, eq=False)
class Setting:
    """All parameters but the radius, and the radii in decreasing order.

    Parameters
    ----------
    class_weight : "auto", "balanced", dict or None
        That of `WassersteinSVC`.
    parameters : dict
        Those of `Problem`; the cost of the intercept may be "auto".
    radii : array
        The radii to try.
    auto_radius : float
        The automatic radius.
    """

    class_weight: Any
    parameters: dict[str, Any]
    radii: np.ndarray
    auto_radius: float

    def params(self, radius: float) -> dict[str, Any]:
        """Return the parameters of `WassersteinSVC` for one of the radii.

        Flip costs and radii by row are not among them.
        """
        params: dict[str, Any] = {"radius": float(radius)}
        for name in PARAMETERS:
            value = self.parameters[name]
            if not isinstance(value, np.ndarray):
                params[name] = value
        params["class_weight"] = self.class_weight
        return params

    def parameters_of(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the parameters of `Problem` for some of the rows."""
        parameters = dict(self.parameters)
        for name in ("flip_cost", "row_radius"):
            if np.ndim(parameters[name]) > 0:
                parameters[name] = parameters[name][rows]
        return parameters

    def __str__(self) -> str:
        flip_cost = self.parameters["flip_cost"]
        if isinstance(flip_cost, np.ndarray):
            flip_cost = "by row"
        words = (
            f"norm {self.parameters['norm']}, ridge {self.parameters['l2']:.3g}, "
            f"flip cost {flip_cost}, intercept cost {self.parameters['intercept_cost']}"
        )
        if self.class_weight is not None:
            words += f", class weights {self.class_weight}"
        row_radius = self.parameters["row_radius"]
        if np.ndim(row_radius) > 0:
            words += ", row radii by row"
        elif row_radius > 0.0:
            words += f", row radius {row_radius:.3g}"
        return words


class Fold(NamedTuple):
    """The indices of training rows and of test rows, and the number of the fold."""

    number: int
    train: np.ndarray
    test: np.ndarray

    def rows(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return the training rows and the test rows.

        `drsvm fit --cv` fits the preparation in every fold.
        """
        return X[self.train], X[self.test]


class PathScores(NamedTuple):
    """The outcome of one path: arrays with an entry for every radius, and more."""

    scores: np.ndarray
    # Seconds, and gaps to the optimum
    times: np.ndarray
    gaps: np.ndarray
    # The score of a classifier that predicts the majority for all rows
    constant: float
    # Whether there was time for a step at every radius
    complete: bool = True


def default_radii(problems: list[Problem], n_radii: int, auto: float) -> np.ndarray:
    """Return the automatic radius and smaller ones, each half of the one before."""
    largest = auto
    if largest == 0.0:
        # Rows that do not differ
        largest = max(map(typical_row_norm, problems))
    return largest * 0.5 ** np.arange(n_radii)


def listed(values, name: str) -> list:
    """Return one or several values as a list."""
    if not isinstance(values, list | tuple) and np.ndim(values) == 0:
        return [values]
    with about(name):
        found = list(values)
    if not found:
        raise ValueError(f"{name} must contain at least one value, got {values!r}.")
    return found


# --- one path in one fold


def score_path(
    data: FitData,
    setting: Setting,
    fold: Fold,
    scorer: Callable[..., float] | None,
    limits: dict[str, Any],
    time: TimeLimit,
) -> PathScores:
    """Return the scores of classifiers for all radii, on rows they have not seen.

    Parameters
    ----------
    data : FitData
        All rows.
    setting : Setting
        The radii and the other parameters.
    fold : Fold
        The rows to train on, and those to score.
    scorer : callable or None
        A scorer as in scikit-learn, None for the accuracy.
    limits : dict
        The solver and its limits, as for `drsvm.radius_path`.
    time : TimeLimit
        That of all paths.

    Returns
    -------
    PathScores
        The scores; NaN if the time limit was reached.
    """
    n_radii = len(setting.radii)
    # All the time that is left is for this path; one that starts too late has none.
    time = time.share(1)
    if time.spent:
        unknown = np.full(n_radii, np.nan)
        return PathScores(unknown, np.zeros(n_radii), unknown, np.nan, complete=False)
    train, test = fold.rows(data.X)
    problems = one_vs_rest.binary_problems(
        train,
        data.y[fold.train],
        data.classes,
        _some(data.weights, fold.train),
        **setting.parameters_of(fold.train),
    )
    # 1. Solve the problem of every class at every radius. One more classifier, the last
    # one, has no weights and predicts the majority.
    coefs = np.zeros((n_radii + 1, len(problems), train.shape[1]))
    intercepts = np.zeros((n_radii + 1, len(problems)))
    times = np.zeros(n_radii)
    gaps = np.zeros(n_radii)
    complete = True
    for index, problem in enumerate(problems):
        limit = time.share(len(problems) - index)
        solutions, all_solved = _path(problem, setting.radii, limit, limits)
        complete = complete and all_solved
        for place, solution in enumerate(solutions):
            coefs[place, index] = solution.weights
            intercepts[place, index] = solution.intercept
            times[place] += solution.time
            gaps[place] = max(gaps[place], solution.gap)
    intercepts = one_vs_rest.towards_majority(problems, coefs, intercepts)

    # 2. Score all these classifiers on the test rows.
    scores = _scores(
        scorer,
        setting,
        data.classes,
        coefs,
        intercepts,
        test,
        data.y[fold.test],
        _some(data.sample_weight, fold.test),
    )
    return PathScores(scores[:-1], times, gaps, scores[-1], complete)


def _some(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the weights of some rows; None if all are equal."""
    if weights is None:
        return None
    return weights[rows]


def _path(
    problem: Problem, radii: np.ndarray, time: TimeLimit, limits: dict[str, Any]
) -> tuple[Sequence[Result | Rough], bool]:
    """Return the solutions of one problem, and whether there was time for all of them.

    Those of few rows have no proof, which no score needs.
    """
    # Only the proven path takes an iteration limit, or another solver.
    is_limited = limits["max_iter"] is not None
    proves = is_limited or limits["solver"] not in ("auto", "interior-point")
    centred = at_centre(problem)
    if proves or not (is_small(problem) or span_pays(problem)):
        path = radius_path(centred.problem, radii, max_time=time, **limits)
        if path.interrupted:
            raise KeyboardInterrupt
        complete = True
        results = []
        for result, radius in zip(path.results, radii, strict=True):
            if result.n_iter == 0 and result.gap > result.tol:
                complete = False
            here = centred.with_checked(radius=float(radius))
            results.append(here.to_outer(result))
        return results, complete

    # Three changes of coordinates: to the centre of the rows, to their span if they are
    # wide, and away from columns far from 0, if the intercept has no cost.
    centred = in_span_of_rows(centred)
    shifted = without_far_columns(centred.problem)
    found = rough_path(shifted.problem, radii, tol=limits["tol"], max_time=time)
    # Radii without time have no weights, and the gap 1: the optimum lies in [0, 1].
    n_missing = len(radii) - len(found)
    nothing = Rough(np.zeros(shifted.problem.n_features), 0.0, 1.0, 0.0)
    solutions = []
    for rough in [*found, *n_missing * [nothing]]:
        given = shifted.to_outer((rough.weights, rough.intercept))
        weights, intercept = centred.to_outer(given)
        solutions.append(rough._replace(weights=weights, intercept=intercept))
    return solutions, n_missing == 0


def _scores(
    scorer, setting: Setting, classes, coefs, intercepts, rows, labels, weights
) -> np.ndarray:
    """Return the score of every classifier on some rows."""
    if scorer is None:
        # The accuracy, of all classifiers at once: one product with the rows.
        values = np.asarray(rows @ coefs.reshape(-1, rows.shape[1]).T)
        decisions = values.reshape(-1, *intercepts.shape) + intercepts
        if len(classes) == 2:
            codes = (decisions[..., 0] > 0).astype(np.intp)
        else:
            codes = decisions.argmax(axis=-1)
        return np.average(classes[codes] == labels[:, None], axis=0, weights=weights)

    # Any other score, of one classifier after the other, each with its ball, by which
    # a score may go. One that is made from a metric takes weights if the metric does.
    given = {}
    metric = getattr(scorer, "_score_func", scorer)
    if weights is not None and "sample_weight" in signature(metric).parameters:
        given["sample_weight"] = weights
    scores = []
    feature_cost = setting.parameters["feature_cost"]
    # The last one has no weights, whatever its radius.
    radii = np.append(setting.radii, setting.auto_radius)
    for radius, coef, intercept in zip(radii, coefs, intercepts, strict=True):
        params = setting.params(radius)
        model = WassersteinSVC(**params, feature_cost=feature_cost)
        model.radius_ = float(radius)
        # Those by row are not known for other rows.
        model._row_radius = params.get("row_radius")
        model._flip_cost_by_row = "flip_cost" not in params
        model.classes_ = classes
        model.n_features_in_ = rows.shape[1]
        model.coef_ = coef
        model.intercept_ = intercept
        # `fit` has checked the rows.
        with config_context(assume_finite=True):
            scores.append(scorer(model, rows, labels, **given))
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
            f"scoring={scoring!r} needs probabilities, and the candidates have none: "
            "choose one of decisions, such as 'roc_auc', or search with "
            "GridSearchCV(WassersteinSVC(calibration='sigmoid'), ...)."
        )
    return scorer


# --- the table


def results_table(settings: list[Setting], outcomes: list[list[PathScores]]) -> Columns:
    """Return the columns of `cv_results_`, one entry per radius of every setting.

    Means are over complete folds; `outcomes` are by setting and fold.
    """
    # 1. The parameters of the candidates
    params = []
    automatic = []
    for setting in settings:
        for radius in setting.radii:
            params.append(setting.params(radius))
            automatic.append(setting.auto_radius)
    columns: Columns = {}
    for name in params[0]:
        # These columns have words, numbers and None.
        mixed = name in ("class_weight", "intercept_cost")
        values = [one[name] for one in params]
        columns[f"param_{name}"] = np.array(values, dtype=object if mixed else None)
    columns["params"] = params
    columns["auto_radius"] = np.array(automatic)

    # 2. Their scores in every fold; those of folds that were cut short are NaN.
    folds = list(zip(*outcomes, strict=True))
    complete = np.array([all(path.complete for path in fold) for fold in folds])
    scores = _by_fold(folds, "scores")
    scores[~complete] = np.nan
    for fold, row in enumerate(scores):
        columns[f"split{fold}_test_score"] = row
    # The majority, as the class weights of the first setting have it
    constant = np.array([path.constant for path in outcomes[0]])

    # 3. Their means over complete folds, and their ranks
    if complete.any():
        scores = scores[complete]
        constant = constant[complete]
    means = scores.mean(axis=0)
    if complete.any() and np.isnan(means).all():
        raise ValueError(
            "Every candidate has a NaN score in some fold: check scoring and cv."
        )
    columns["mean_test_score"] = means
    columns["std_test_score"] = scores.std(axis=0)
    ranked = np.nan_to_num(means, nan=-np.inf)
    columns["rank_test_score"] = rankdata(-ranked, method="min").astype(np.int32)
    columns["constant_score"] = np.full(len(params), constant.mean())
    columns["mean_fit_time"] = _by_fold(folds, "times").mean(axis=0)
    columns["largest_gap"] = _by_fold(folds, "gaps").max(axis=0)
    return columns


def _by_fold(folds: list[tuple[PathScores, ...]], name: str) -> np.ndarray:
    """Return a figure of all candidates, one row per fold."""
    rows = []
    for paths in folds:
        rows.append(np.concatenate([getattr(path, name) for path in paths]))
    return np.array(rows)


def warn_of_paths(paths: list[PathScores], tol: float, n_folds: int) -> None:
    """Warn of paths without time, or of solutions far from the tolerance."""
    n_cut_short = sum(not path.complete for path in paths)
    if n_cut_short:
        warn_user(
            f"The time ran out with {n_cut_short} of {len(paths)} paths in {n_folds} "
            "folds unfinished; only complete folds count. Allow more time (max_time), "
            "or try fewer radii, ridges (l2), norms or folds (cv).",
            ConvergenceWarning,
        )
        return
    gaps = np.concatenate([path.gaps for path in paths])
    limit = LARGE_GAP * tol
    n_large = np.count_nonzero(gaps > limit)
    if n_large:
        warn_user(
            Message(
                "{} Allow more iterations or time ({}, {}), or standardise the "
                "features.",
                f"{n_large} of {len(gaps)} solutions in the folds have a proven gap "
                f"above {limit:.0e}; the largest is {gaps.max():.1e}.",
                Parameter("max_iter"),
                Parameter("max_time"),
            ),
            ConvergenceWarning,
        )
