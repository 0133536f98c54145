"""The effect of the radius: weights, and scores on training and held-out data, over a grid of radii."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score

from drsvm.audit.model_layers import last_step, transformed
from drsvm.estimators.other_radii import fitted_at, radii_to_try
from drsvm.plotting import style
from drsvm.solvers.base import check_count
from drsvm.utils.annotations import Classifier, Labels, Matrix
from drsvm.utils.clock import TimeLimit

HELD_OUT = "held-out data"
_SCORE_STYLES: list[style.Look] = [
    {"color": style.GREEN, "linestyle": ":"},
    {"color": style.BLUE, "linestyle": "-"},
]


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusPathDisplay:
    """Weights and scores of a classifier by radius, with a mark at the best one on held-out data, if there are any.

    Create it with `from_estimator`.

    Parameters
    ----------
    radii : array of shape (n_radii,)
        The radii.
    weights : array of shape (n_radii, n_features)
        The weights at each radius.
    scores : dict from str to array of shape (n_radii,)
        Scores at each radius, by the name of the data; may be empty.
    feature_names : sequence of str, optional
        Names of the features.
    radius : float, optional
        A radius to mark.
    score_name : str
        Name of the score.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from drsvm import ClippedScaler, RadiusPathDisplay, WassersteinSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = RadiusPathDisplay.from_estimator(make_pipeline(ClippedScaler(), WassersteinSVC()), X, y, n_radii=4)
    >>> display.weights.shape  # four radii, and the automatic one
    (5, 30)
    """

    radii: np.ndarray
    weights: np.ndarray
    scores: dict[str, Any] = field(default_factory=dict)
    feature_names: Sequence[str] | None = None
    radius: float | None = None
    score_name: str = "accuracy"

    def __post_init__(self):
        self.radii, self.weights = np.asarray(self.radii), np.asarray(self.weights)
        self.scores = {name: np.asarray(values) for name, values in self.scores.items()}

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: Matrix,
        y: Labels,
        *,
        X_test: Matrix = None,
        y_test: Labels = None,
        radii: Sequence[float] | np.ndarray | None = None,
        n_radii: int = 10,
        metric: Callable[[np.ndarray, np.ndarray], float] = accuracy_score,
        positive: object | None = None,
        ax: style.GivenAxes = None,
        **options: Any,
    ) -> Self:
        """Fit a classifier again for each radius, threshold included, and plot its weights and scores.

        Parameters
        ----------
        estimator : WassersteinSVC, WassersteinSVCCV, or Pipeline ending in one
            The classifier; a clone of it is fitted to X and y first, and its radius is
            marked.
        X, y : array, data frame or sparse matrix, array
            Training data.
        X_test, y_test : optional
            Held-out data.
        radii, n_radii : sequence of floats, int
            The radii, or their number: log-spaced up to the one at which all weights
            are 0.
        metric : callable, default=sklearn.metrics.accuracy_score
            A function of true and predicted labels, such as
            sklearn.metrics.balanced_accuracy_score.
        positive : label, optional
            The class that positive weights speak for, with several classes against the
            rest; by default the last.
        ax, **options
            As in `plot`.
        """
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test must be given together: give both, or neither."
            )
        fitted = clone(estimator).fit(X, y)
        classifier, rows, names = last_step(fitted, X)
        if not (hasattr(classifier, "radius_") and hasattr(classifier, "coef_")):
            raise TypeError(
                f"estimator must be a WassersteinSVC or end in one, got {type(classifier).__name__}."
            )
        labels = np.ravel(np.asarray(y))
        classes = classifier.classes_.tolist()
        if positive is not None and positive not in classes:
            raise ValueError(
                f"positive={positive!r} is not one of the classes {classes}."
            )
        if radii is None:
            radii = radii_to_try(
                classifier, rows, labels, check_count(n_radii, "n_radii"), TimeLimit()
            )
        # If no radius gives weights
        models = list(fitted_at(classifier, rows, labels, list(radii))) or [classifier]
        data = {"training data": (rows, labels)}
        if X_test is not None:
            data[HELD_OUT] = (
                transformed(fitted, X_test),
                np.ravel(np.asarray(y_test)),
            )
        display = cls.of_fitted(
            models,
            data,
            metric,
            positive=positive,
            feature_names=names,
            radius=classifier.radius_,
        )
        return display.plot(ax, **options)

    @classmethod
    def of_fitted(
        cls,
        models: Sequence,
        data: Mapping[str, tuple],
        metric: Callable,
        *,
        positive: object,
        **names: Any,
    ) -> Self:
        """Return classifiers of several radii with their scores on named rows and labels; nothing is drawn yet."""
        classes = models[0].classes_.tolist()
        if positive is None:
            place = len(classes) - 1
        else:
            place = classes.index(positive)
        if len(classes) == 2:
            index = 0
            side = 2 * place - 1
        else:
            index = place
            side = 1
        return cls(
            radii=np.array([model.radius_ for model in models]),
            weights=np.stack([side * model.coef_[index] for model in models]),
            scores={
                name: [metric(y, model.predict(X)) for model in models]
                for name, (X, y) in data.items()
            },
            score_name=getattr(metric, "__name__", "score")
            .removesuffix("_score")
            .replace("_", " "),
            **names,
        )

    @property
    def best_radius(self) -> float | None:
        """The radius with the best score on held-out data, the largest of several.

        None without such data.
        """
        scores = self.scores.get(HELD_OUT)
        if scores is None:
            return None
        return float(self.radii[scores == np.nanmax(scores)].max())

    def plot(
        self, ax: style.GivenAxes = None, *, kind: str | None = None, n_named: int = 5
    ) -> Self:
        """Draw the plot, and return the display: `ax_` has its axes (an array for both panels), `figure_` its figure.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them for both panels, optional
            Axes to draw on; by default a new figure.
        kind : {"weights", "scores", "both"}, optional
            Which panels to draw; by default both if there are scores.
        n_named : int
            The number of features, by largest weights, that are coloured and named; the
            others are grey.
        """
        kind = kind or ("both" if self.scores else "weights")
        panels = {"weights": [self._draw_weights], "scores": [self._draw_scores]}
        panels["both"] = panels["weights"] + panels["scores"]
        if kind not in panels:
            raise ValueError(
                f"kind must be 'weights', 'scores' or 'both', got kind={kind!r}."
            )
        if kind != "weights" and not self.scores:
            raise ValueError(
                f"kind={kind!r} needs scores: give them by the name of their data."
            )
        self.figure_, axes = style.axes_for("RadiusPathDisplay", ax, len(panels[kind]))
        self.ax_ = axes if len(axes) > 1 else axes[0]
        for draw, panel in zip(panels[kind], axes, strict=True):
            draw(panel, n_named)
            style.quiet(panel)
            positive = self.radii[self.radii > 0]
            if len(positive) and positive.max() >= 20 * positive.min():
                if len(positive) < len(self.radii):
                    linear = {"linthresh": positive.min(), "linscale": 0.4}
                else:
                    linear = {}
                # With a linear part if 0 is among them
                panel.set_xscale("symlog" if linear else "log", **linear)
                # 0.01 is read faster than a power of ten
                panel.xaxis.set_major_formatter("{x:g}")
            panel.set_xlabel("radius")
            style.mark_radius(panel, self.radius)
            if (best := self.best_radius) is not None:
                name = f"highest on {HELD_OUT}: {best:.3g}"
                panel.axvline(
                    best,
                    color=style.GREY,
                    linewidth=1.2,
                    linestyle=(0, (4, 2)),
                    zorder=1,
                    label=name,
                )
            style.legend_below(panel, ncols=2)
        return self

    def _draw_weights(self, ax: style.Panel, n_named: int) -> None:
        sizes = np.abs(self.weights).max(axis=0)
        largest = np.argsort(-sizes, kind="stable")
        named = largest[:n_named]
        others = largest[n_named : n_named + 200]
        ax.axhline(0.0, color=style.FAINT, linewidth=1.0)
        if len(others):
            faint = {
                "color": style.FAINT,
                "linewidth": 0.8,
                "alpha": 0.7,
                "zorder": 1.5,
            }
            lines = ax.plot(self.radii, self.weights[:, others], **faint)
            lines[0].set_label(f"{self.weights.shape[1] - len(named)} others")
        for feature, look in zip(named, style.line_styles(len(named)), strict=True):
            if self.feature_names is None:
                name = f"feature {feature}"
            else:
                name = self.feature_names[feature]
            ax.plot(
                self.radii, self.weights[:, feature], label=style.plain(name), **look
            )
        ax.set_ylabel("weight")

    def _draw_scores(self, ax: style.Panel, n_named: int) -> None:
        if len(self.scores) <= 2:
            styles = _SCORE_STYLES
        else:
            styles = style.line_styles(len(self.scores))
        for (name, values), look in zip(self.scores.items(), styles, strict=False):
            ax.plot(self.radii, values, label=name, **{**look, "linewidth": 2.0})
        ax.set_ylabel(self.score_name)
