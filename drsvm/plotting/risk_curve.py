"""Robustness of classifiers: worst-case risk over the radius."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drsvm.annotations import Labels, Matrix, NormName
from drsvm.model.worst_case.kernel_model import kernel_classifier
from drsvm.model.worst_case.linear_model import behind_pipeline, own_ball
from drsvm.model.worst_case.worst_risk import attacked_risk, worst_case_risk
from drsvm.plotting import style
from drsvm.plotting.style import Display, GivenAxes, Look, plain

_LABELS = {"hinge": "worst-case risk (hinge loss)", "zero-one": "worst-case error rate"}
_ENOUGH = {"hinge": 1.0, "zero-one": 0.5}  # the risk of zero decision values, or of a coin toss


@dataclass(kw_only=True, eq=False, repr=False)
class RiskCurveDisplay(Display):
    """Worst-case risk of one or several classifiers over the radius.

    For a linear classifier it is a curve; for one with a kernel a band, from what an attack reaches to an upper bound.
    Create it with `from_estimators`.

    Parameters
    ----------
    radii : array of shape (n_radii,)
        The radii.
    risks : dict from str to array of shape (n_radii,)
        The risks, by the name of the classifier.
    loss : {"hinge", "zero-one"}
        The loss.
    radius : float, optional
        A radius to mark.
    attacked : dict from str to array of shape (n_radii,), optional
        The lower ends of the bands, by the names of classifiers with a kernel.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, Figure
        Axes and figure of the plot.
    lines_ : dict from str to Line2D
        The curves; of a band, the upper one.
    bands_ : dict from str to PolyCollection
        The bands.

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
    radius: float | None = None
    attacked: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        self.radii = np.asarray(self.radii)
        self.risks = {name: np.asarray(values) for name, values in self.risks.items()}
        self.attacked = {name: np.asarray(values) for name, values in self.attacked.items()}

    @classmethod
    def from_estimators(
        cls,
        estimators,
        X: Matrix,
        y: Labels,
        *,
        radii: Sequence[float] | np.ndarray | None = None,
        flip_cost: float | np.ndarray | None = None,
        norm: NormName | None = None,
        feature_cost=None,
        sample_weight=None,
        loss: str = "hinge",
        positive=None,
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
            The radii; by default from 0 to where the best classifier is no better than a coin toss.
        flip_cost, norm, feature_cost : optional
            As in `drsvm.worst_case_risk`, the same for all classifiers: by default those of the training if there is a
            WassersteinSVC or WassersteinSVCCV among them (required if several were trained with different ones),
            otherwise ``inf``, 2 and 1.
        sample_weight, positive
            As in `drsvm.worst_case_risk`.
        loss : {"hinge", "zero-one"}
            The error rate compares any classifiers; the hinge loss depends on the scale of the weights, and
            only classifiers trained for it do well.
        radius : float, optional
            A radius to mark, such as that of the training.
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.

        Returns
        -------
        RiskCurveDisplay
        """
        if loss not in _LABELS:
            raise ValueError(f"loss must be 'hinge' or 'zero-one', got loss={loss!r}.")
        named = _named(estimators)
        ball: Look = {"flip_cost": flip_cost, "norm": norm, "feature_cost": feature_cost}
        trained = {name: own for name, model in named.items() if (own := own_ball(behind_pipeline(model)[0]))}
        for price in [price for price, value in ball.items() if value is None]:
            own = [prices[price] for prices in trained.values()]
            if not all(np.array_equal(own[0], value) for value in own):
                listed = ", ".join(f"{name}: {value}" for name, value in zip(trained, own, strict=True))
                raise ValueError(f"{price} is required: the classifiers were trained with different ones ({listed}).")
            if own and not isinstance(own[0], Mapping):  # one cost per class: `worst_case_risk` objects
                ball[price] = own[0]
        ball |= {"sample_weight": sample_weight, "loss": loss, "positive": positive}

        def evaluate(radii: np.ndarray) -> Look:
            return {name: worst_case_risk(model, X, y, radius=radii, **ball) for name, model in named.items()}

        if radii is None:  # from 0 to where the best classifier's risk is no longer informative
            candidates = np.logspace(-4.0, 4.0, 161)
            enough = np.flatnonzero(np.min(list(evaluate(candidates).values()), axis=0) >= _ENOUGH[loss])
            beyond = float(candidates[enough[0]]) if len(enough) and enough[0] > 0 else 1.0
            radii = np.linspace(0.0, max(beyond, 1.5 * (radius or 0.0)), 101)
        radii = np.asarray(radii, dtype=np.float64)
        with_kernel = [name for name, model in named.items() if kernel_classifier(behind_pipeline(model)[0])]
        attacked = {name: attacked_risk(named[name], X, y, radius=radii, **ball) for name in with_kernel}
        return cls(radii=radii, risks=evaluate(radii), loss=loss, radius=radius, attacked=attacked).plot(ax)

    def _draw(self) -> None:
        self.lines_, self.bands_ = {}, {}
        for (name, risks), look in zip(self.risks.items(), style.line_styles(len(self.risks)), strict=True):
            (self.lines_[name],) = self.ax_.plot(self.radii, risks, label=plain(name), **look)
            if name in self.attacked:
                self.lines_[name].set_label(f"{plain(name)}: upper bound")
                attacked, band = self.attacked[name], {"color": look["color"], "alpha": 0.2, "linewidth": 0.0}
                self.ax_.plot(self.radii, attacked, label=f"{plain(name)}: attack", **{**look, "linewidth": 1.0})
                self.bands_[name] = self.ax_.fill_between(self.radii, attacked, risks, **band)
        style.quiet(self.ax_)
        self.ax_.set(xlabel="radius of the ball", ylabel=_LABELS[self.loss])
        # The best curve should fill the axes, even if others rise far above.
        ends = [float(risks.max()) for risks in self.risks.values()]
        self.ax_.set_ylim(0.0, 1.05 * min(max(ends), max(3.0 * min(ends), 1e-3)))
        self.ax_.margins(x=0.01)
        style.mark_radius(self.ax_, self.radius)
        style.legend_below(self.ax_, ncols=2)


def _named(estimators) -> Look:
    if isinstance(estimators, Mapping):
        named = {str(name): model for name, model in estimators.items()}
    else:
        several = isinstance(estimators, list) or (isinstance(estimators, tuple) and hasattr(estimators[0], "fit"))
        models = estimators if several else [estimators]
        types = [type(behind_pipeline(model)[0]) for model in models]
        names = ["classifier" if issubclass(kind, tuple) else kind.__name__ for kind in types]
        named = style.numbered(zip(names, models, strict=True))
    if not named:
        raise ValueError("estimators is empty: give at least one fitted linear classifier.")
    return named
