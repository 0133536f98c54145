"""Robustness of classifiers: worst-case risk over the radius."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from drsvm.audit.decision_values import kernel_classifier
from drsvm.audit.model_layers import final_classifier, trained_parameters
from drsvm.audit.worst_case import worst_case_risk
from drsvm.plotting.style import (
    Display,
    GivenAxes,
    legend_below,
    line_styles,
    mark_radius,
    numbered,
    plain,
)
from drsvm.problem.validation import check_number
from drsvm.utils.annotations import Classifier, Labels, Matrix, NormName, Values
from drsvm.utils.arguments import about, check_single

RISKS = {"hinge": "worst-case risk (hinge loss)", "zero-one": "worst-case error rate"}
RADII = {"average": "radius of the ball", "row": "largest shift of a row"}
# Risks that are no longer informative: the hinge loss of decision values 0, and the
# error rate of a coin toss
UNINFORMATIVE = {"hinge": 1.0, "zero-one": 0.5}


@dataclass(kw_only=True, eq=False, repr=False)
class RiskCurveDisplay(Display):
    """Worst-case risk of one or several classifiers over the radius.

    For a linear classifier it is exact; for one with a kernel it is an upper bound, and
    called so in the legend. With a confidence, a band reaches up to what holds for the
    population. Create it with `from_estimators`.

    Parameters
    ----------
    radii : array of shape (n_radii,)
        The radii.
    risks, bounds : dicts from str to array of shape (n_radii,)
        By the name of the classifier, or of the group of rows: the risks, and what
        holds for the population.
    loss, limit : str
        The loss, and what the radii limit, as in `drsvm.worst_case_risk`.
    radius : float, optional
        A radius to mark.
    confidence : float, optional
        The confidence of the bounds.
    with_kernel : sequence of str
        The curves whose risks are upper bounds.

    Attributes
    ----------
    lines_, bands_ : dicts from str to Line2D, and to PolyCollection
        The curves and the bands.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from drsvm import ClippedScaler, WassersteinSVC
    >>> from drsvm.plotting import RiskCurveDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = ClippedScaler().fit_transform(X)
    >>> robust = WassersteinSVC().fit(X, y)
    >>> models = {"robust": robust, "LinearSVC": LinearSVC().fit(X, y)}
    >>> display = RiskCurveDisplay.from_estimators(models, X, y, loss="zero-one")
    """

    radii: np.ndarray
    risks: Mapping[str, Any]
    loss: str = "hinge"
    limit: str = "average"
    radius: float | None = None
    bounds: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None
    with_kernel: Sequence[str] = ()

    @classmethod
    def from_estimators(
        cls,
        estimators: Classifier | Sequence[Classifier] | Mapping[str, Classifier],
        X: Matrix,
        y: Labels,
        *,
        radii: Sequence[float] | np.ndarray | None = None,
        flip_cost: float | np.ndarray | None = None,
        norm: NormName | None = None,
        feature_cost: Values = None,
        sample_weight: Values = None,
        loss: str = "hinge",
        limit: str = "average",
        costs: Values = None,
        confidence: float | None = None,
        groups: Values = None,
        positive: object | None = None,
        classes: Values = None,
        radius: float | None = None,
        ax: GivenAxes = None,
    ) -> Self:
        """Evaluate classifiers on the same data and plot their risk curves.

        Parameters
        ----------
        estimators : fitted classifier, sequence of them, or dict from names to them
            Linear or with a kernel: anything that `drsvm.worst_case_risk` accepts.
        X, y : array or sparse matrix, array
            The sample at the centre of the ball.
        radii : array of floats, optional
            The radii; by default from 0 to where the best classifier is no better than
            a coin toss.
        flip_cost, norm, feature_cost : optional
            As in `drsvm.worst_case_risk`, the same for all classifiers: by default
            those of the training if there is a WassersteinSVC or WassersteinSVCCV among
            them (required if several were trained with different ones), otherwise
            ``inf``, 2 and 1.
        sample_weight, loss, limit, costs, positive, classes
            As in `drsvm.worst_case_risk`. In hinge loss, only classifiers trained for
            it do well.
        confidence : float, optional
            As in `drsvm.worst_case_risk`: to draw, above each curve, what holds for the
            population as well.
        groups : array of shape (n,), optional
            As in `drsvm.worst_case_risk`: to draw a curve for every group of rows. What
            holds for the populations holds for all groups of a classifier at once.
        radius : float, optional
            A radius to mark, such as that of the training.
        ax
            As in `plot`.

        Returns
        -------
        RiskCurveDisplay
        """
        check_single(loss=loss)
        if radius is not None:
            check_number(radius, "radius")
        if loss not in tuple(RISKS):
            raise ValueError(f"loss must be 'hinge' or 'zero-one', got loss={loss!r}.")
        named = _named(estimators)
        given = {"flip_cost": flip_cost, "norm": norm, "feature_cost": feature_cost}
        ball = _same_for_all(named, given)
        ball |= {
            "sample_weight": sample_weight,
            "loss": loss,
            "limit": limit,
            "costs": costs,
            "groups": groups,
            "positive": positive,
            "classes": classes,
        }

        def risks_at(radii: np.ndarray, **more: Any) -> dict[str, Any]:
            """Return the risks of all classifiers, or of their groups, by name."""
            risks = {}
            for name, model in named.items():
                found = worst_case_risk(model, X, y, radius=radii, **ball, **more)
                if groups is None:
                    risks[name] = found
                    continue
                prefix = f"{name}: " if len(named) > 1 else ""
                for group, curve in zip(found.groups, found.risks, strict=True):
                    risks[f"{prefix}{group}"] = curve
            return risks

        if radii is None:
            candidates = np.logspace(-4.0, 4.0, 161)
            best = np.min(list(risks_at(candidates).values()), axis=0)
            # Of errors that cost something, the largest expected cost is that of large
            # radii.
            worst = 1.0 if costs is None else best[-1]
            end = _end_of_curves(candidates, best >= UNINFORMATIVE[loss] * worst)
            if radius is not None:
                end = max(end, 1.5 * radius)
            radii = np.linspace(0.0, end, 101)
        with about("radii"):
            radii = np.asarray(radii, dtype=np.float64).ravel()
        if len(radii) == 0:
            raise ValueError("radii is empty: give one or several.")
        risks = risks_at(radii)
        n_curves = len(risks) // len(named)  # of each classifier
        with_kernel = []
        for place, name in enumerate(risks):
            model = list(named.values())[place // n_curves]
            if kernel_classifier(final_classifier(model)) is not None:
                with_kernel.append(name)
        bounds = {}
        if confidence is not None:
            bounds = risks_at(radii, confidence=confidence)
        display = cls(
            radii=radii,
            risks=risks,
            bounds=bounds,
            loss=loss,
            limit=limit,
            radius=radius,
            confidence=confidence,
            with_kernel=with_kernel,
        ).plot(ax)
        if costs is not None:
            display.ax_.set_ylabel("worst-case cost of a row")
        return display

    def _draw(self) -> None:
        ax = self.ax_
        self.lines_ = {}
        self.bands_ = {}
        looks = line_styles(len(self.risks))
        for (name, risks), look in zip(self.risks.items(), looks, strict=True):
            label = plain(name)
            if name in self.with_kernel:
                label = f"{label}: upper bound"
            band = {"color": look["color"], "alpha": 0.2, "linewidth": 0.0}
            (line,) = ax.plot(self.radii, risks, label=label, **look)
            self.lines_[name] = line
            if name in self.bounds:
                band["label"] = f"{label}: population, {self.confidence:.0%}"
                bounds = self.bounds[name]
                self.bands_[name] = ax.fill_between(self.radii, risks, bounds, **band)
        ax.set(xlabel=RADII[self.limit], ylabel=RISKS[self.loss])
        # The best curve should fill the axes, even if others rise far above.
        highest = self.bounds or self.risks
        ends = [float(np.max(risks)) for risks in highest.values()]
        top = min(max(ends), max(3.0 * min(ends), 1e-3))
        ax.set_ylim(0.0, 1.05 * top)
        ax.margins(x=0.01)
        if self.radius is not None:
            mark_radius(ax, self.radius)
        legend_below(ax, ncols=2)


def _end_of_curves(candidates: np.ndarray, is_uninformative: np.ndarray) -> float:
    """Return the first of the candidate radii with an uninformative risk.

    It is 1 if all or none have one.
    """
    reached = np.flatnonzero(is_uninformative)
    if len(reached) == 0 or reached[0] == 0:
        return 1.0
    return float(candidates[reached[0]])


def _same_for_all(
    named: dict[str, Classifier], given: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of the ball.

    What is not given comes from the training of our classifiers, where they agree.
    """
    trained = {}
    for name, model in named.items():
        parameters = trained_parameters(final_classifier(model))
        if parameters:
            trained[name] = parameters
    ball = dict(given)
    for parameter in ball:
        if ball[parameter] is not None or not trained:
            continue
        values = {name: own[parameter] for name, own in trained.items()}
        first = next(iter(values.values()))
        if not all(np.array_equal(first, value) for value in values.values()):
            listed = ", ".join(f"{name}: {value}" for name, value in values.items())
            raise ValueError(
                f"{parameter} is required: the classifiers were trained with different "
                f"ones ({listed})."
            )
        # Of one cost per class, `worst_case_risk` says that they must be given.
        if not isinstance(first, Mapping):
            ball[parameter] = first
    return ball


def _named(estimators: Any) -> dict[str, Classifier]:
    """Return classifiers by name, by default that of their class."""
    if isinstance(estimators, Mapping):
        named = {str(name): model for name, model in estimators.items()}
    else:
        # A tuple may also be (coef, intercept).
        several = isinstance(estimators, list) or (
            isinstance(estimators, tuple) and hasattr(estimators[0], "fit")
        )
        named = numbered(estimators if several else [estimators], _name_of)
    if not named:
        raise ValueError(
            "estimators is empty: give at least one fitted linear classifier."
        )
    return named


def _name_of(model: Classifier) -> str:
    """Return the name of a model's class; (coef, intercept) has none."""
    classifier = final_classifier(model)
    if isinstance(classifier, tuple):
        return "classifier"
    return type(classifier).__name__
