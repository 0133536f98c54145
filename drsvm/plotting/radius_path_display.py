"""The effect of the radius: weights and scores over a grid of radii."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from drsvm.audit.model_layers import last_step, transformed
from drsvm.estimators.other_radii import fitted_at, radii_to_try
from drsvm.plotting.style import (
    FAINT,
    Display,
    GivenAxes,
    Panel,
    axes_for,
    legend_below,
    line_styles,
    mark_radius,
    plain,
    quiet,
)
from drsvm.solvers.base import check_count
from drsvm.utils.annotations import Classifier, Labels, Matrix
from drsvm.utils.arguments import about, check_single
from drsvm.utils.clock import TimeLimit

# How rows that were not trained on are called in the legend
HELD_OUT = "held-out data"
# The largest number of features without a name that are drawn, in grey
MOST_OTHERS = 200


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusPathDisplay(Display):
    """Weights and scores of a classifier by radius.

    The best radius on held-out data, if there are any, is marked. Create it with
    `from_estimator`.

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
    >>> model = make_pipeline(ClippedScaler(), WassersteinSVC())
    >>> display = RadiusPathDisplay.from_estimator(model, X, y, n_radii=4)
    >>> # Four radii, and the automatic one
    >>> display.weights.shape
    (5, 30)
    """

    radii: np.ndarray
    weights: np.ndarray
    scores: dict[str, Any] = field(default_factory=dict)
    feature_names: Sequence[str] | None = None
    radius: float | None = None
    score_name: str = "accuracy"

    def __post_init__(self):
        self.radii = np.asarray(self.radii)
        self.weights = np.asarray(self.weights)
        self.scores = {name: np.asarray(score) for name, score in self.scores.items()}

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
        ax: GivenAxes = None,
        **options: Any,
    ) -> Self:
        """Fit a classifier again for each radius, and plot its weights and scores.

        The threshold is chosen again, too.

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

        Returns
        -------
        RadiusPathDisplay
        """
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test must be given together: give both, or neither."
            )
        if not callable(metric):
            raise TypeError(f"metric must be a function, got metric={metric!r}.")
        check_single(positive=positive)
        with about("estimator"):
            fitted = clone(estimator)
            fit = fitted.fit
        fit(X, y)
        classifier, rows, names = last_step(fitted, X)
        if not (hasattr(classifier, "radius_") and hasattr(classifier, "coef_")):
            raise TypeError(
                "estimator must be a WassersteinSVC or end in one, got "
                f"{type(classifier).__name__}."
            )
        labels = np.ravel(np.asarray(y))
        with about("y"):
            check_classification_targets(labels)
        classes = classifier.classes_.tolist()
        if positive is not None and positive not in classes:
            raise ValueError(
                f"positive={positive!r} is not one of the classes {classes}."
            )
        if radii is None:
            count = check_count(n_radii, "n_radii")
            radii = radii_to_try(classifier, rows, labels, count, TimeLimit())
        # Steps in front of the classifier do not depend on the radius: only the last
        # one is fitted again.
        with about("radii"):
            radii = np.asarray(radii, dtype=np.float64).ravel().tolist()
        models = list(fitted_at(classifier, rows, labels, radii))
        if not models:
            # No radius gives weights.
            models = [classifier]
        data = {"training data": (rows, labels)}
        if X_test is not None:
            test_labels = np.ravel(np.asarray(y_test))
            data[HELD_OUT] = (transformed(fitted, X_test), test_labels)
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
        """Return the display for classifiers of several radii; nothing is drawn yet.

        Parameters
        ----------
        models : sequence of fitted classifiers
            One for each radius.
        data : dict from str to tuples (X, y)
            Rows and labels for the scores, by name.
        metric, positive
            As in `from_estimator`.
        **names
            The parameters feature_names and radius of the display.

        Returns
        -------
        RadiusPathDisplay
        """
        classes = models[0].classes_.tolist()
        place = len(classes) - 1 if positive is None else classes.index(positive)
        # With two classes there is one function, which is positive for the second.
        index = place
        side = 1
        if len(classes) == 2:
            index = 0
            # −1 for the first class, 1 for the second
            side = 2 * place - 1
        scores = {}
        for name, (X, y) in data.items():
            scores[name] = [metric(y, model.predict(X)) for model in models]
        score_name = getattr(metric, "__name__", "score").removesuffix("_score")
        return cls(
            radii=np.array([model.radius_ for model in models]),
            weights=np.stack([side * model.coef_[index] for model in models]),
            scores=scores,
            score_name=score_name.replace("_", " "),
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
        self, ax: GivenAxes = None, *, kind: str | None = None, n_named: int = 5
    ) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them for both panels, optional
            Axes to draw on; by default a new figure.
        kind : {"weights", "scores", "both"}, optional
            Which panels to draw; by default both if there are scores.
        n_named : int
            The number of features, by largest weights, that are coloured and named; the
            others are grey.

        Returns
        -------
        self
            Its axes are in `ax_` (an array for both panels), its figure in `figure_`.
        """
        if kind is None:
            kind = "both" if self.scores else "weights"
        if kind not in ("weights", "scores", "both"):
            raise ValueError(
                f"kind must be 'weights', 'scores' or 'both', got kind={kind!r}."
            )
        if kind != "weights" and not self.scores:
            raise ValueError(
                f"kind={kind!r} needs scores: give them by the name of their data."
            )
        n_panels = 2 if kind == "both" else 1
        self.figure_, axes = axes_for("RadiusPathDisplay", ax, n_panels)
        self.ax_ = axes if n_panels > 1 else axes[0]
        if kind != "scores":
            self._draw_weights(axes[0], n_named)
        if kind != "weights":
            self._draw_scores(axes[-1])
        for panel in axes:
            self._draw_radii(panel)
        return self

    def _draw_radii(self, ax: Panel) -> None:
        """Draw what both panels share: the axis, marks of radii and the legend."""
        quiet(ax)
        positive = self.radii[self.radii > 0]
        if len(positive) and positive.max() >= 20 * positive.min():
            if len(positive) < len(self.radii):
                # A linear part for the radius 0
                smallest = positive.min()
                ax.set_xscale("symlog", linthresh=smallest, linscale=0.4)
            else:
                ax.set_xscale("log")
            # 0.01 is read faster than a power of ten.
            ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlabel("radius")
        if self.radius is not None:
            mark_radius(ax, self.radius)
        best = self.best_radius
        if best is not None:
            mark_radius(ax, best, f"highest on {HELD_OUT}: {best:.3g}", "--")
        legend_below(ax, ncols=2)

    def _draw_weights(self, ax: Panel, n_named: int) -> None:
        """Draw a line for every weight, the largest ones in colour."""
        sizes = np.abs(self.weights).max(axis=0)
        largest = np.argsort(-sizes, kind="stable")
        named = largest[:n_named]
        others = largest[n_named : n_named + MOST_OTHERS]
        ax.axhline(0.0, color=FAINT, linewidth=1.0)
        if len(others):
            # Named together, by one entry of the legend
            faint = {"color": FAINT, "linewidth": 0.8, "alpha": 0.7, "zorder": 1.5}
            lines = ax.plot(self.radii, self.weights[:, others], **faint)
            lines[0].set_label(f"{self.weights.shape[1] - len(named)} others")
        for feature, look in zip(named, line_styles(len(named)), strict=True):
            name = f"feature {feature}"
            if self.feature_names is not None:
                name = plain(self.feature_names[feature])
            ax.plot(self.radii, self.weights[:, feature], label=name, **look)
        ax.set_ylabel("weight")

    def _draw_scores(self, ax: Panel) -> None:
        """Draw a line of scores for each data set."""
        looks = line_styles(len(self.scores))
        for (name, values), look in zip(self.scores.items(), looks, strict=True):
            ax.plot(self.radii, values, label=name, **look)
        ax.set_ylabel(self.score_name)
