"""The worst-case risk within the ball for any linear classifier, of any library.

With a kernel, bounds on it.
"""

import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from drsvm.audit.adversary import Adversary
from drsvm.audit.class_codes import check_known, parts_of_rows
from drsvm.audit.confidence import band, check_confidence, rows_drawn
from drsvm.audit.decision_values import (
    DecisionFunctions,
    DecisionValues,
    decision_functions,
    decision_values,
)
from drsvm.audit.error_costs import ErrorCosts, check_costs
from drsvm.audit.group_risks import GroupRisks, largest_differences
from drsvm.audit.kernel_adversary import KernelAdversary
from drsvm.audit.model_layers import AdversaryParameters, final_classifier
from drsvm.problem import validation
from drsvm.problem.backends import is_remote
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.problem import Problem
from drsvm.utils.annotations import Classifier, Costs, Labels, Matrix, NormName, Values
from drsvm.utils.arguments import about, check_single

# For models of other libraries: the defaults of `WassersteinSVC`, which differ from
# those of `Problem`
DEFAULT_BALL = {"flip_cost": math.inf, "norm": 2, "feature_cost": None}
# Numbers in the shape of the radius, or `GroupRisks`
Risks: TypeAlias = Any


def worst_case_risk(
    model: Classifier,
    X: Matrix,
    y: Labels,
    *,
    radius: float | np.typing.ArrayLike | None = None,
    row_radius: Costs | None = None,
    flip_cost: Costs | None = None,
    norm: NormName | None = None,
    feature_cost: Values = None,
    intercept_cost: float = math.inf,
    sample_weight: Values = None,
    loss: str = "hinge",
    limit: str = "average",
    costs: Values = None,
    confidence: float | None = None,
    groups: Values = None,
    positive: object | None = None,
    classes: Values = None,
) -> Risks:
    """Return the largest expected loss over all distributions within the ball.

    For linear classifiers the value is exact. For classifiers with the kernel "rbf" it
    is an upper bound, not the exact worst case. About other kernels nothing is claimed.

    Parameters
    ----------
    model : fitted classifier, Pipeline or search, Result, or (coef, intercept)
        From any library: a linear one with `coef_` and `intercept_`, a
        `WassersteinKernelSVC`, or scikit-learn's SVC or NuSVC with two classes. It may
        be in a FixedThresholdClassifier or TunedThresholdClassifierCV (a threshold of
        probabilities: with drsvm or LogisticRegression). In a pipeline, shifts are
        measured after all steps but the last: after a StandardScaler in standard
        deviations, not in the units of X. With more than two classes the largest
        decision value must decide; SVC, which lets pairs of classes vote, is refused.
        Several rows of (coef, intercept) are in the order of the sorted labels.
    X, y : array, data frame or sparse matrix, array
        The sample at the centre of the ball. The rows may be on a Dask cluster or on a
        GPU, as those of a `drsvm.Problem`; y must then have two labels, or
        `positive` be given.
    radius : float or array of floats, optional
        Radius of the ball, or several of them. By default that of the training of a
        WassersteinSVC or WassersteinSVCCV, possibly inside a pipeline or search;
        required for any other model. The radius and the flip cost of a
        WassersteinKernelSVC are measured in its feature space; with the kernel "rbf"
        they are divided by √(2γ), so that a shift costs its length.
    row_radius : float or array of shape (n,), optional
        By how much every row may shift first, for nothing: then rows shift by `radius`
        on average beyond that. It needs ``flip_cost=inf``. By default that of the
        training if the radius is, too, and otherwise 0.

        .. versionadded:: 1.0.0rc2
    flip_cost, norm, feature_cost : optional
        As in `drsvm.Problem`; `feature_cost` may be a dict by name, as in
        `WassersteinSVC`. By default those of the training of a WassersteinSVC or
        WassersteinSVCCV, except that flip costs per row or class must be given; for any
        other model ``inf``, 2 and 1. To compare models, give all of them the same
        adversary.
    intercept_cost : float
        As in `drsvm.Problem`. By default ``inf``, since no shift of the features can
        move the intercept. With the cost that a model was trained with, the hinge risk
        of ``(coef_, certified_intercept_ + coef_ @ mean_)`` on ``X - mean_``, where
        that cost applies, is the objective of the training without its ridge term. It
        must be ``inf`` for a kernel.
    sample_weight : array of shape (n,), optional
        As in `drsvm.Problem`.
    loss : {"hinge", "zero-one"}
        Hinge loss max(1 − m, 0), or the error rate (a sample on the boundary counts as
        an error). The hinge loss depends on the scale of the weights; the error rate
        does not, and can compare any classifiers. With more than two classes, the
        margin m is the decision value of the label minus the largest other one (the
        loss of Crammer and Singer), and the label can be flipped to any other class.
    limit : {"average", "row"}
        Whether rows may be shifted by `radius` on average, or each of them by at most
        `radius` (with the error rate: 1 less the certified accuracy, as adversarial
        robustness calls it). The second is `row_radius` without an average; with the
        hinge loss, it needs ``flip_cost=inf``.
    costs : dict from labels to numbers, or one number per class, optional
        What it costs to miss a row of each class; the value is then the largest
        expected cost. A row whose label is flipped costs what its new label does. By
        default 1: the error rate.
    confidence : float, optional
        With this probability, no distribution within `radius` of the *population* that
        the rows were drawn from has a higher error rate or expected cost than the
        value, for all radii at once, also those chosen later: if rows were drawn
        independently and the model was not trained on them. Weights must be whole
        numbers, which count as rows. The hinge loss has no such bound. With `groups`,
        it is the probability that this holds for all groups at once.
    groups : array of shape (n,), optional
        The group of every row, such as a sex or a site. The value is then a
        `drsvm.audit.GroupRisks`, with the worst case of each group alone, in a ball of
        its own around its rows, and the largest difference between two groups.

        .. versionadded:: 1.0.0rc2
    positive : label, optional
        With more than two classes, one of them to evaluate against the rest, by the
        sign of its own decision value (as in one-vs-rest classifiers; for a multinomial
        LogisticRegression this sign means nothing). By default all are compared. For
        (coef, intercept) and a Result: the label for positive decision values, by
        default the larger one.
    classes : array, optional
        All labels, of which y may lack some, for (coef, intercept) and a Result; other
        models know theirs. By default those of y.

        .. versionadded:: 1.0.0rc2

    Returns
    -------
    float, or array of the shape of `radius`; `drsvm.audit.GroupRisks` with `groups`
        The worst-case risk for every radius.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> from drsvm import worst_case_risk
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    >>> errors = worst_case_risk(model, X, y, radius=[0.0, 0.05, 0.1], loss="zero-one")
    >>> errors.round(2).tolist()
    [0.0, 0.11, 0.19]
    >>> # One class against the rest
    >>> error = worst_case_risk(model, X, y, radius=0.1, loss="zero-one", positive=1)
    >>> round(error, 2)
    0.22
    """
    measure = _Measure(loss, limit, costs, confidence, groups)
    given = {
        "radius": radius,
        "row_radius": measure.checked(row_radius),
        "flip_cost": flip_cost,
        "norm": norm,
        "feature_cost": feature_cost,
        "intercept_cost": intercept_cost,
    }
    if is_remote(X):
        return _risk_of_remote_rows(
            model, X, y, sample_weight, positive, measure, given
        )
    data = decision_values(model, X, y, sample_weight, positive, classes)
    ball = ball_of(model, data, given)
    adversary = adversary_for(data, {**ball, "radius": 0.0})
    return _risks_by_radius(adversary, measure, ball["radius"], sample_weight)


def certified_accuracy(
    model: Classifier,
    X: Matrix,
    y: Labels,
    radius: float,
    *,
    norm: NormName | None = None,
    feature_cost: Values = None,
    sample_weight: Values = None,
) -> float:
    """Return the share of rows that no shift within a radius turns into an error.

    A row counts if it is classified correctly and its distance from the decision
    boundary is larger than the radius. For a kernel it is a lower bound.

    .. versionadded:: 1.0.0rc2

    Parameters
    ----------
    model, X, y, feature_cost, sample_weight
        As in `worst_case_risk`.
    radius : float
        By how much every row may shift.
    norm : {1, 2, inf}, optional
        Norm of the shifts; by default that of the training, or 2.

    Returns
    -------
    float
        The certified accuracy: 1 minus the worst-case error rate with
        ``limit="row"``.

    Examples
    --------
    With every row shifted by up to 0.3 standard deviations:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from drsvm import WassersteinSVC, certified_accuracy
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), WassersteinSVC(row_radius=0.3))
    >>> round(certified_accuracy(model.fit(X, y), X, y, radius=0.3), 2)
    0.96
    """
    errors = worst_case_risk(
        model,
        X,
        y,
        radius=validation.check_number(radius, "radius"),
        flip_cost=math.inf,
        norm=norm,
        feature_cost=feature_cost,
        sample_weight=sample_weight,
        loss="zero-one",
        limit="row",
    )
    return float(1.0 - errors)


def certified_scorer(
    radius: float, *, norm: NormName | None = None, feature_cost: Values = None
) -> Callable[..., float]:
    """Return a scorer of classifiers by `certified_accuracy`.

    .. versionadded:: 1.0.0rc2

    Parameters
    ----------
    radius, norm, feature_cost
        As in `certified_accuracy`.

    Returns
    -------
    callable
        A function of a model, rows and labels, for ``scoring=`` in scikit-learn and in
        `WassersteinSVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from drsvm import WassersteinSVC, certified_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), WassersteinSVC())
    >>> grid = {"wassersteinsvc__row_radius": [0.0, 0.1, 0.3]}
    >>> search = GridSearchCV(model, grid, scoring=certified_scorer(0.3)).fit(X, y)
    >>> round(float(search.best_score_), 2)
    0.95
    """
    return partial(
        certified_accuracy,
        radius=validation.check_number(radius, "radius"),
        norm=norm,
        feature_cost=feature_cost,
    )


class _Measure(NamedTuple):
    """Which risk is evaluated, as in `worst_case_risk`."""

    loss: str
    limit: str
    costs: Any
    confidence: float | None = None
    groups: Any = None

    def checked(self, row_radius: Costs | None) -> Costs | None:
        """Return the row radius: 0 if the radius itself is that of each row.

        Raise an error if the options are unknown or do not go together.
        """
        check_single(loss=self.loss, limit=self.limit, confidence=self.confidence)
        if self.loss not in ("hinge", "zero-one"):
            raise ValueError(
                f"loss must be 'hinge' or 'zero-one', got loss={self.loss!r}."
            )
        if self.limit not in ("average", "row"):
            raise ValueError(
                f"limit must be 'average' or 'row', got limit={self.limit!r}."
            )
        if self.limit == "row":
            if row_radius is not None:
                raise ValueError(
                    "with limit='row' the radius is that of each row: leave out "
                    "row_radius, or the limit."
                )
            row_radius = 0.0
        if self.confidence is not None:
            check_confidence(self.confidence)
        if self.loss != "hinge":
            return row_radius
        if self.costs is not None:
            raise ValueError("costs is for error rates: use loss='zero-one'.")
        if self.confidence is not None:
            raise ValueError(
                f"confidence={self.confidence} is for error rates, and the hinge loss "
                "of rows not seen has no bound: use loss='zero-one'."
            )
        return row_radius

    def option_by_row(self) -> str | None:
        """Return a given option for which it counts what happens to each row."""
        if self.limit == "row":
            return "limit='row'"
        for option in ("costs", "groups"):
            if getattr(self, option) is not None:
                return option
        return None


def _risks_by_radius(
    adversary: Adversary,
    measure: _Measure,
    radius: Any,
    sample_weight: Values,
) -> Risks:
    """Return the risks in the shape of the radius."""
    radii = _checked_radii(radius)
    if measure.groups is not None:
        return _risks_by_group(adversary, measure, radius, sample_weight)
    highest, _ = _bounds(adversary, measure, radii, sample_weight)
    return _shaped_like(radius, highest)


def _bounds(
    adversary: Adversary,
    measure: _Measure,
    radii: np.ndarray,
    sample_weight: Values,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the risks are at most and at least, the same without confidence."""
    limit = measure.limit
    if measure.loss == "hinge":
        risks = _hinge_risks(adversary, radii, limit)
        return risks, risks
    costs = check_costs(measure.costs, adversary.data.classes)
    options = ErrorCosts(adversary, costs)
    if measure.confidence is None:
        risks = options.in_sample(radii, limit)
        return risks, risks
    n = rows_drawn(sample_weight, len(adversary.data.codes))
    asked = (radii, limit, measure.confidence, n)
    return options.in_population(*asked), options.at_least(*asked)


def _risks_by_group(
    adversary: Adversary,
    measure: _Measure,
    radius: Any,
    sample_weight: Values,
) -> GroupRisks:
    """Return the risks of each group alone, in a ball of its own."""
    radii = _checked_radii(radius)
    data = adversary.data
    n = len(data.codes)
    names, places = parts_of_rows(measure.groups, n, "groups", "a group")
    if len(names) == n:
        raise ValueError(
            f"groups has {n} groups of one row each: cut numbers into ranges, or leave "
            "groups out."
        )
    if measure.confidence is not None:
        # For each side of each group, so that all hold at once (see `group_risks`)
        of_group = measure.confidence ** (1.0 / len(names))
        measure = measure._replace(confidence=0.5 * (1.0 + of_group))
    if sample_weight is None:
        sample_weight = np.ones(n)
    highest = []
    lowest = []
    for place, name in enumerate(names):
        weights = np.where(places == place, sample_weight, 0.0)
        if not weights.any():
            raise ValueError(
                f"groups: {name!r} has no row with a weight above 0: leave its rows "
                "out."
            )
        alone = replace(data, weights=weights / weights.sum())
        part = replace(adversary, data=alone)
        high, low = _bounds(part, measure, radii, weights)
        highest.append(high)
        lowest.append(low)
    differences = largest_differences(np.array(highest), np.array(lowest))
    return GroupRisks(
        names,
        np.bincount(places).tolist(),
        np.reshape(highest, (len(names), *np.shape(radius))),
        _shaped_like(radius, differences),
    )


def _hinge_risks(adversary: Adversary, radii: np.ndarray, limit: str) -> np.ndarray:
    """Return the largest expected losses if radii limit the average, or each row."""
    if limit == "average":
        return adversary.hinge_risks(radii)
    risks = np.zeros(len(radii))
    for place, radius in enumerate(radii):
        with about("limit"):
            problem = adversary.problem.replace(row_radius=float(radius))
        moving = replace(adversary, problem=problem)
        risks[[place]] = moving.hinge_risks(np.zeros(1))
    return risks


def _risk_of_remote_rows(
    model: Classifier,
    X: Matrix,
    y: Labels,
    sample_weight: Values,
    positive: object,
    measure: _Measure,
    given: AdversaryParameters,
) -> Costs:
    """Return the risks on rows elsewhere, where their margins are summed up."""
    option = measure.option_by_row()
    if option is not None:
        raise ValueError(
            f"{option} needs rows in memory: a random sample of some 10,000 of them "
            "will do."
        )
    # Rows elsewhere have one decision function, and two labels: a problem of theirs
    # then has sums over its rows that give the worst case.
    functions, X = decision_functions(model, X, positive)
    if len(functions.coef) > 1:
        raise ValueError(
            f"the model separates {len(functions.coef)} classes: on rows outside of "
            "memory, choose the one to evaluate against the rest with positive=, and "
            "of (coef, intercept) pass one row."
        )
    ball = ball_of(model, functions, given)
    classes = functions.classes
    against_rest = positive is not None and (classes is None or len(classes) > 2)
    if against_rest:
        y = y == positive
    parameters = {**ball, "radius": 0.0, "fit_intercept": True}
    problem = Problem(X, y, sample_weight=sample_weight, **parameters)
    if classes is not None and not against_rest:
        check_known(problem.classes, classes)
    radii = _checked_radii(ball["radius"])
    coef = validation.check_weight_vector(
        functions.coef[0], problem.n_features, "the model's coef"
    )
    intercept = float(functions.intercept[0])
    norm = problem.norm_of(coef, intercept)
    risks = problem.worst_case(measure.loss, coef, intercept, norm, radii)
    if measure.confidence is not None:
        # All errors cost the same: one band holds for all radii.
        n = rows_drawn(sample_weight, problem.n_rows)
        risks = np.minimum(risks + band(measure.confidence, n), 1.0)
    return _shaped_like(ball["radius"], risks)


def _checked_radii(radius: Any) -> np.ndarray:
    """Return one radius or several as an array of shape (number of radii,)."""
    with about("radius"):
        radii = np.ravel(radius).tolist()
    return np.array([validation.check_number(value, "radius") for value in radii])


def _shaped_like(radius: Any, risks: np.ndarray) -> Costs:
    """Return the risks as they were asked for: a number for a number."""
    if np.ndim(radius) == 0:
        return float(risks[0])
    return risks.reshape(np.shape(radius))


def adversary_for(data: DecisionValues, ball: AdversaryParameters) -> Adversary:
    """Return the adversary whose worst case is exact, or, with a kernel, a bound."""
    # The problem only holds the ball and the weights: labels do not matter to it.
    problem = Problem.of_checked(
        rows=MemoryRows(data.X),
        signs=np.ones(len(data.codes)),
        sample_weight=data.weights,
        classes=data.classes,
    )
    problem = problem.replace(fit_intercept=True, **ball)
    if data.kernel is not None:
        return KernelAdversary(data, problem)
    return Adversary(data, problem)


def ball_of(
    model: Classifier,
    classifier: DecisionValues | DecisionFunctions,
    given: AdversaryParameters,
) -> AdversaryParameters:
    """Return the parameters of the ball.

    Those given that are not None come first, then those that the model was trained
    with, and the defaults last.
    """
    ball: AdversaryParameters = DEFAULT_BALL | classifier.trained_parameters
    # Of the radii of a training, one alone says little.
    if given["radius"] is None and "row_radius" in given:
        ball["row_radius"] = getattr(final_classifier(model), "_row_radius", 0.0)
    for name, value in given.items():
        if value is not None:
            ball[name] = value
    ball["feature_cost"] = validation.in_order_of_features(
        ball["feature_cost"], classifier.feature_names, "feature_cost", otherwise=1.0
    )
    if "radius" not in ball:
        raise ValueError(
            f"radius is required for a {type(model).__name__}: pass one, for instance "
            "radius=0.1. Only a WassersteinSVC or WassersteinSVCCV has a radius of its "
            "own."
        )
    if ball.get("row_radius", 0.0) is None:
        raise ValueError(
            f"row_radius is required for this {type(model).__name__}: it was trained "
            "with one for each row. Pass a number or one per row of X."
        )
    for name in ("flip_cost", "row_radius"):
        if given.get(name) is None and not isinstance(ball.get(name, 0), numbers.Real):
            raise ValueError(
                f"{name} is required for this {type(model).__name__}: it was trained "
                "with several, and which of them apply to these rows is not known. "
                "Pass a number or one per row of X."
            )
    return ball
