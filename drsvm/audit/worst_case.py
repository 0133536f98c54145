"""The worst case within the ball for any linear classifier, also of other libraries.

With a kernel, bounds on it.
"""

import math
import numbers
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from drsvm.audit import linear_model
from drsvm.audit.adversary import Adversary, AdversaryParameters, DecisionValues
from drsvm.audit.confidence import band, check_confidence, rows_drawn
from drsvm.audit.error_costs import ErrorCosts, check_costs
from drsvm.audit.kernel_attack import KernelAttack
from drsvm.audit.kernel_model import (
    KernelAdversary,
    KernelValues,
    kernel_classifier,
    kernel_values,
)
from drsvm.problem import validation
from drsvm.problem.backends import is_remote
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.problem import Problem
from drsvm.utils.annotations import Classifier, Costs, Labels, Matrix, NormName, Values

# The prices for models of other libraries: the defaults of `WassersteinSVC`, which
# differ from those of `Problem`.
DEFAULT_PRICES = {"flip_cost": math.inf, "norm": 2, "feature_cost": None}


def worst_case_risk(
    model: Classifier,
    X: Matrix,
    y: Labels,
    *,
    radius: float | np.typing.ArrayLike | None = None,
    flip_cost: Costs | None = None,
    norm: NormName | None = None,
    feature_cost: Values = None,
    intercept_cost: float = math.inf,
    sample_weight: Values = None,
    loss: str = "hinge",
    limit: str = "average",
    costs: Values = None,
    confidence: float | None = None,
    positive: object | None = None,
) -> Costs:
    """Return the largest expected loss over all distributions within the ball.

    For linear classifiers the value is exact. For classifiers with the kernel "rbf" it
    is an upper bound, not the exact worst case; `drsvm.audit.attacked_risk` bounds it
    from below. About other kernels nothing is claimed.

    Parameters
    ----------
    model : fitted classifier, Pipeline ending in one, search over one, Result, or (coef, intercept)
        From any library: a linear one with `coef_` and `intercept_`, a
        `WassersteinKernelSVC`, or scikit-learn's SVC or NuSVC with two classes. It may
        be in a FixedThresholdClassifier or TunedThresholdClassifierCV (a threshold of
        probabilities: with drsvm or LogisticRegression). In a pipeline, shifts are
        measured after all steps but the last: after a StandardScaler in standard
        deviations, not in the units of X. With more than two classes the largest
        decision value must decide; SVC, which lets pairs of classes vote, is refused.
        Several rows of (coef, intercept) are in the order of the sorted labels of y.
    X, y : array, data frame or sparse matrix, array
        The sample at the centre of the ball. The rows may be on a Dask cluster or on a
        graphics card, as those of a `drsvm.Problem`; y must then have two labels, or
        `positive` be given.
    radius : float or array of floats, optional
        Radius of the ball, or several of them. By default that of the training of a
        WassersteinSVC or WassersteinSVCCV, possibly inside a pipeline or search;
        required for any other model. The radius and the flip cost of a
        WassersteinKernelSVC are prices in its feature space; with the kernel "rbf" they
        are divided by √(2γ), so that a shift costs its length.
    flip_cost, norm, feature_cost : optional
        As in `drsvm.Problem`; `feature_cost` may be a dict by name, as in
        `WassersteinSVC`. By default those of the training of a WassersteinSVC or
        WassersteinSVCCV, except that flip costs per row or class must be given; for any
        other model ``inf``, 2 and 1. To compare models, give all of them the same
        adversary.
    intercept_cost : float
        As in `drsvm.Problem`. By default ``inf``, since no shift of the features can
        move the intercept. With the price that a model was trained with, the hinge risk
        of ``(coef_, certified_intercept_)`` is the objective of the training without
        its ridge term. It must be ``inf`` for a kernel.
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
        robustness calls it). For the error rate.
    costs : dict from labels to numbers, or one number per class, optional
        What it costs to miss a row of each class; the value is then the largest
        expected cost. A row whose label is flipped costs what its new label does. By
        default 1: the error rate.
    confidence : float, optional
        With this probability, no distribution within `radius` of the *population* that
        the rows were drawn from has a higher error rate or expected cost than the
        value, for all radii at once, also those chosen later: if rows were drawn
        independently and the model was not trained on them. Weights must be whole
        numbers, which count as rows. The hinge loss has no such bound.
    positive : label, optional
        With more than two classes, one of them to evaluate against the rest, by the
        sign of its own decision value (as in one-vs-rest classifiers; for a multinomial
        LogisticRegression this sign means nothing). By default all are compared. For
        (coef, intercept) and a Result: the label for positive decision values, by
        default the larger one.

    Returns
    -------
    float, or array of the shape of `radius`

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
    >>> round(worst_case_risk(model, X, y, radius=0.1, loss="zero-one", positive=1), 2)  # one class against the rest
    0.22
    """
    given = {
        "radius": radius,
        "flip_cost": flip_cost,
        "norm": norm,
        "feature_cost": feature_cost,
    }
    given["intercept_cost"] = intercept_cost
    wanted = _Wanted(loss, limit, costs, confidence)
    return _risk(KernelAdversary, model, X, y, sample_weight, positive, wanted, given)


def attacked_risk(
    model,
    X: Matrix,
    y: Labels,
    *,
    radius: float | np.typing.ArrayLike | None = None,
    flip_cost: Costs | None = None,
    norm: NormName | None = None,
    feature_cost=None,
    sample_weight=None,
    loss: str = "hinge",
    limit: str = "average",
    costs=None,
    positive=None,
):
    """Return an expected loss that some distribution within the ball has: a lower bound on the worst case.

    For classifiers with a kernel, shifts are found by projected gradients from several
    starts. With `drsvm.worst_case_risk`, the upper bound, they give a band in which the
    worst case lies. For linear classifiers both are the worst case.

    Parameters
    ----------
    model, X, y, radius, flip_cost, norm, feature_cost, sample_weight, loss, limit, costs, positive
        As in `drsvm.worst_case_risk`; X must be in memory. The time grows with the
        number of rows times that of the landmarks or support vectors.

    Returns
    -------
    float, or array of the shape of `radius`

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from drsvm import WassersteinKernelSVC, worst_case_risk
    >>> from drsvm.audit import attacked_risk
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = WassersteinKernelSVC().fit(X, y)
    >>> ball = {"radius": 0.1, "loss": "zero-one"}
    >>> attacked_risk(model, X, y, **ball) <= worst_case_risk(model, X, y, **ball)
    True
    """
    given = {
        "radius": radius,
        "flip_cost": flip_cost,
        "norm": norm,
        "feature_cost": feature_cost,
    }
    return _risk(
        KernelAttack,
        model,
        X,
        y,
        sample_weight,
        positive,
        _Wanted(loss, limit, costs),
        given,
    )


class _Wanted(NamedTuple):
    """What is evaluated: a loss, or a bound on it."""

    loss: str
    limit: str
    costs: Any
    confidence: float | None = None

    def check(self) -> None:
        for name, known in {
            "loss": ("hinge", "zero-one"),
            "limit": ("average", "row"),
        }.items():
            if (value := getattr(self, name)) not in known:
                raise ValueError(
                    f"{name} must be {known[0]!r} or {known[1]!r}, got {name}={value!r}."
                )
        given = {"limit='row'": self.limit == "row", "costs": self.costs is not None}
        given[f"confidence={self.confidence}"] = self.confidence is not None
        if self.loss == "hinge" and any(given.values()):
            name = next(name for name, value in given.items() if value)
            if name.startswith("confidence"):
                why = ", and the hinge loss of rows not seen has no bound"
            else:
                why = ""
            raise ValueError(f"{name} is for error rates{why}: use loss='zero-one'.")
        if self.confidence is not None:
            check_confidence(self.confidence)

    def of_adversary(
        self, adversary: Adversary, radii: np.ndarray, n_rows: int
    ) -> np.ndarray:
        if self.loss == "hinge":
            return adversary.hinge_risks(radii)
        options = ErrorCosts(adversary, check_costs(self.costs, adversary.data.classes))
        if self.confidence is None:
            return options.in_sample(radii, self.limit)
        return options.in_population(radii, self.limit, self.confidence, n_rows)

    def of_remote_rows(
        self, problem: Problem, functions: linear_model.Functions, radii, n_rows: int
    ):
        if self.limit == "row" or self.costs is not None:
            name = "costs" if self.limit == "average" else "limit='row'"
            raise ValueError(
                f"{name} needs rows in memory: a random sample of some 10,000 of them will do."
            )
        coef = validation.check_weight_vector(
            functions.coef[0], problem.n_features, "the model's coef"
        )
        intercept = float(functions.intercept[0])
        values = problem.rows.worst_case(
            problem, self.loss, coef, intercept, problem.norm_of(coef, intercept), radii
        )
        if self.confidence is None:
            return values
        return np.minimum(values + band(self.confidence, n_rows), 1.0)


def _risk(
    kind: type[KernelAdversary],
    model,
    X,
    y,
    sample_weight,
    positive,
    wanted: _Wanted,
    given: AdversaryParameters,
):
    """Return the risk by radius; for a kernel, as this kind of adversary bounds it."""
    wanted.check()
    if is_remote(X) and kind is KernelAdversary:
        functions, X = linear_model.functions_for(model, X, positive)
        if len(functions.coef) > 1:
            raise ValueError(
                f"the model separates {len(functions.coef)} classes: on rows outside of memory, choose the one to "
                "evaluate against the rest with positive=, and of (coef, intercept) pass one row."
            )
        classes = functions.classes
        ball = ball_of(model, functions, given)
        in_mask = positive is not None and (classes is None or len(classes) > 2)
        labels = y == positive if in_mask else y
        problem = Problem(
            X,
            labels,
            sample_weight=sample_weight,
            **{**ball, "radius": 0.0, "fit_intercept": True},
        )
        if classes is not None and not in_mask:
            linear_model.check_known(problem.classes, classes)
        n_rows = problem.n_rows
        evaluated = partial(wanted.of_remote_rows, problem, functions)
    else:
        data = values_of(model, X, y, sample_weight, positive)
        ball = ball_of(model, data, given)
        n_rows = len(data.codes)
        evaluated = partial(
            wanted.of_adversary, adversary_for(data, {**ball, "radius": 0.0}, kind)
        )
    if wanted.confidence is None:
        n_rows = n_rows
    else:
        n_rows = rows_drawn(sample_weight, n_rows)
    radius = ball["radius"]
    radii = np.array(
        [
            validation.check_number(value, "radius")
            for value in np.ravel(radius).tolist()
        ]
    )
    values = evaluated(radii, n_rows)
    if np.ndim(radius) == 0:
        return float(values[0])
    return values.reshape(np.shape(radius))


def values_of(model, X, y, sample_weight, positive) -> DecisionValues:
    """Return the decision values of a classifier, which is linear or has a kernel."""
    kernel = kernel_classifier(linear_model.behind_pipeline(model)[0])
    if kernel is None:
        return linear_model.decision_values(model, X, y, sample_weight, positive)
    return kernel_values(model, kernel, X, y, sample_weight, positive)


def adversary_for(
    data: DecisionValues,
    ball: AdversaryParameters,
    kind: type[KernelAdversary] = KernelAdversary,
) -> Adversary:
    """Return the adversary whose worst case is exact or, for a kernel, the given kind: an upper or a lower bound."""
    # labels do not matter, and rows may have weight 0
    rows = MemoryRows(data.X)
    signs = np.ones(len(data.codes))
    problem = Problem.of_checked(
        rows=rows, signs=signs, sample_weight=data.weights, classes=data.classes
    )
    problem = problem.replace(fit_intercept=True, **ball)
    if isinstance(data, KernelValues):
        return kind(data, problem)
    return Adversary(data, problem)


def ball_of(
    model,
    classifier: DecisionValues | linear_model.Functions,
    given: AdversaryParameters,
) -> AdversaryParameters:
    """Return the parameters of the ball: those given that are not None, the model's own, or the defaults."""
    ball: AdversaryParameters = DEFAULT_PRICES | classifier.trained_parameters
    ball |= {name: value for name, value in given.items() if value is not None}
    costs = ball["feature_cost"]
    ball["feature_cost"] = validation.in_order_of_features(
        costs, classifier.names, "feature_cost", otherwise=1.0
    )
    if "radius" not in ball:
        raise ValueError(
            f"radius is required for a {type(model).__name__}: pass one, for instance radius=0.1. Only a "
            "WassersteinSVC or WassersteinSVCCV has a radius of its own."
        )
    if given["flip_cost"] is None and not isinstance(ball["flip_cost"], numbers.Real):
        raise ValueError(
            f"flip_cost is required for this {type(model).__name__}: it was trained with several flip costs, and which "
            "of them apply to these rows is not known. Pass a number or one per row of X."
        )
    return ball
