"""Robustness of classifiers: worst-case risk over the radius."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drsvm.audit.decision_values import kernel_classifier
from drsvm.audit.model_layers import final_classifier, trained_parameters
from drsvm.audit.worst_case import attacked_risk, worst_case_risk
from drsvm.plotting import style
from drsvm.plotting.style import Display, GivenAxes, Look, plain
from drsvm.utils.annotations import Classifier, Labels, Matrix, NormName, Values

_LABELS = {"hinge": "worst-case risk (hinge loss)", "zero-one": "worst-case error rate"}
_SHIFTS = {"average": "radius of the ball", "row": "largest shift of a row"}
# The risk of zero decision values, or of a coin toss
_ENOUGH = {
    "hinge": 1.0,
    "zero-one": 0.5,
}


@dataclass(kw_only=True, eq=False, repr=False)
class RiskCurveDisplay(Display):
    """Worst-case risk of one or several classifiers over the radius.

    For a linear classifier it is a curve; for one with a kernel a band, from what an
    attack reaches to an upper bound. With a confidence, a band reaches up to what holds
    for the population. Create it with `from_estimators`.

    Parameters
    ----------
    radii : array of shape (n_radii,)
        The radii.
    risks, attacked, bounds : dicts from str to array of shape (n_radii,)
        By the name of the classifier: the risks, the lower ends of the bands of
        kernels, and what holds for the population.
    loss, limit : str
        The loss, and what the radii limit, as in `drsvm.worst_case_risk`.
    radius : float, optional
        A radius to mark.
    confidence : float, optional
        The confidence of the bounds.

    Attributes
    ----------
    lines_, bands_ : dicts from str to Line2D, and to PolyCollection
        The curves (of the band of a kernel, the upper one) and the bands.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from drsvm import ClippedScaler, WassersteinSVC
    >>> from drsvm.plotting import RiskCurveDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = ClippedScaler().fit_transform(X)
    >>> models = {"robust": WassersteinSVC().fit(X, y), "LinearSVC": LinearSVC().fit(X, y)}
    >>> display = RiskCurveDisplay.from_estimators(models, X, y, loss="zero-one")
    """

    radii: np.ndarray
    risks: Mapping[str, Any]
    loss: str = "hinge"
    limit: str = "average"
    radius: float | None = None
    attacked: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None

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
        positive: object | None = None,
        radius: float | None = None,
        ax: GivenAxes = None,
    ) -> "RiskCurveDisplay":
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
        sample_weight, loss, limit, costs, positive
            As in `drsvm.worst_case_risk`. In hinge loss, only classifiers trained for
            it do well.
        confidence : float, optional
            As in `drsvm.worst_case_risk`: to draw, above each curve, what holds for the
            population as well.
        radius : float, optional
            A radius to mark, such as that of the training.
        ax
            As in `plot`.
        """
        if loss not in _LABELS:
            raise ValueError(f"loss must be 'hinge' or 'zero-one', got loss={loss!r}.")
        named = _named(estimators)
        ball: Look = {
            "flip_cost": flip_cost,
            "norm": norm,
            "feature_cost": feature_cost,
        }
        trained = {
            name: own
            for name, model in named.items()
            if (own := trained_parameters(final_classifier(model)))
        }
        for price in [price for price, value in ball.items() if value is None]:
            own = [prices[price] for prices in trained.values()]
            if not all(np.array_equal(own[0], value) for value in own):
                listed = ", ".join(
                    f"{name}: {value}" for name, value in zip(trained, own, strict=True)
                )
                raise ValueError(
                    f"{price} is required: the classifiers were trained with different ones ({listed})."
                )
            if own and not isinstance(
                own[0], Mapping
            ):  # one cost per class: `worst_case_risk` objects
                ball[price] = own[0]
        ball |= {
            "sample_weight": sample_weight,
            "loss": loss,
            "limit": limit,
            "costs": costs,
            "positive": positive,
        }

        def evaluate(radii: np.ndarray, **more) -> Look:
            return {
                name: worst_case_risk(model, X, y, radius=radii, **ball, **more)
                for name, model in named.items()
            }

        if (
            radii is None
        ):  # from 0 to where the best classifier's risk is no longer informative
            candidates = np.logspace(-4.0, 4.0, 161)
            best = np.min(list(evaluate(candidates).values()), axis=0)
            reached = np.flatnonzero(
                best >= _ENOUGH[loss] * (1.0 if costs is None else best[-1])
            )
            if len(reached) and reached[0] > 0:
                beyond = float(candidates[reached[0]])
            else:
                beyond = 1.0
            radii = np.linspace(0.0, max(beyond, 1.5 * (radius or 0.0)), 101)
        radii = np.asarray(radii, dtype=np.float64)
        with_kernel = [
            name
            for name, model in named.items()
            if kernel_classifier(final_classifier(model))
        ]
        attacked = {
            name: attacked_risk(named[name], X, y, radius=radii, **ball)
            for name in with_kernel
        }
        if confidence is None:
            bounds = {}
        else:
            bounds = evaluate(radii, confidence=confidence)
        curves = {"risks": evaluate(radii), "attacked": attacked, "bounds": bounds}
        display = cls(
            radii=radii,
            **curves,
            loss=loss,
            limit=limit,
            radius=radius,
            confidence=confidence,
        ).plot(ax)
        if costs is not None:
            display.ax_.set_ylabel("worst-case cost of a row")
        return display

    def _draw(self) -> None:
        self.lines_ = {}
        self.bands_ = {}
        for (name, risks), look in zip(
            self.risks.items(), style.line_styles(len(self.risks)), strict=True
        ):
            (self.lines_[name],) = self.ax_.plot(
                self.radii, risks, label=plain(name), **look
            )
            band = {"color": look["color"], "alpha": 0.2, "linewidth": 0.0}
            if name in self.attacked:
                self.lines_[name].set_label(f"{plain(name)}: upper bound")
                attacked = self.attacked[name]
                self.ax_.plot(
                    self.radii,
                    attacked,
                    label=f"{plain(name)}: attack",
                    **{**look, "linewidth": 1.0},
                )
                self.bands_[name] = self.ax_.fill_between(
                    self.radii, attacked, risks, **band
                )
            if name in self.bounds:
                label = f"{plain(name)}: population, {self.confidence:.0%}"
                self.bands_[name] = self.ax_.fill_between(
                    self.radii, risks, self.bounds[name], **band, label=label
                )
        style.quiet(self.ax_)
        self.ax_.set(xlabel=_SHIFTS[self.limit], ylabel=_LABELS[self.loss])
        # The best curve should fill the axes, even if others rise far above.
        ends = [float(np.max(risks)) for risks in (self.bounds or self.risks).values()]
        self.ax_.set_ylim(0.0, 1.05 * min(max(ends), max(3.0 * min(ends), 1e-3)))
        self.ax_.margins(x=0.01)
        style.mark_radius(self.ax_, self.radius)
        style.legend_below(self.ax_, ncols=2)


def _named(estimators) -> Look:
    if isinstance(estimators, Mapping):
        named = {str(name): model for name, model in estimators.items()}
    else:
        several = isinstance(estimators, list) or (
            isinstance(estimators, tuple) and hasattr(estimators[0], "fit")
        )
        models = estimators if several else [estimators]
        types = [type(final_classifier(model)) for model in models]
        names = [
            "classifier" if issubclass(kind, tuple) else kind.__name__ for kind in types
        ]
        named = style.numbered(zip(names, models, strict=True))
    if not named:
        raise ValueError(
            "estimators is empty: give at least one fitted linear classifier."
        )
    return named
