"""The effect of the radius: weights, and scores on training and held-out data, over a grid of radii."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from sklearn.metrics import accuracy_score

from drsvm.annotations import Costs, Labels, Matrix, NormName
from drsvm.learn.fitting.prices import intercept_cost_or_auto, with_intercept_cost
from drsvm.learn.fitting.problems import path_at_centre
from drsvm.model.problem import Problem
from drsvm.model.validation import check_labels, check_rows
from drsvm.plotting import style
from drsvm.solvers.path.radius_path import RadiusPath

HELD_OUT = "held-out data"
_SCORE_STYLES = (
    {"color": style.GREEN, "linestyle": (0, (1, 1)), "linewidth": 2.0},
    {"color": style.BLUE, "linestyle": "-", "linewidth": 2.0},
)


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusPathDisplay:
    """Weights and scores along a path of radii, with a mark at the best radius on held-out data, if there are any.

    Create it with `from_path` or `from_data`.

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

    Attributes
    ----------
    ax_, figure_ : array of matplotlib Axes (a single Axes for one panel), Figure
        Axes and figure of the plot.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from drsvm import ClippedScaler, RadiusPathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = RadiusPathDisplay.from_data(ClippedScaler().fit_transform(X), y, n_radii=5)
    >>> display.weights.shape
    (5, 30)
    """

    radii: np.ndarray
    weights: np.ndarray
    scores: dict[str, np.ndarray] = field(default_factory=dict)
    feature_names: Sequence[str] | None = None
    radius: float | None = None
    score_name: str = "accuracy"

    def __post_init__(self):
        self.radii, self.weights = np.asarray(self.radii), np.asarray(self.weights)
        self.scores = {name: np.asarray(values) for name, values in (self.scores or {}).items()}

    @classmethod
    def from_path(
        cls,
        path: RadiusPath,
        *,
        X: Matrix = None,
        y: Labels = None,
        X_test: Matrix = None,
        y_test: Labels = None,
        metric: Callable[[np.ndarray, np.ndarray], float] | None = None,
        feature_names: Sequence[str] | None = None,
        radius: float | None = None,
        ax: style.GivenAxes = None,
        **options,
    ) -> "RadiusPathDisplay":
        """Plot the result of `drsvm.radius_path`.

        Parameters
        ----------
        path : RadiusPath
            The path.
        X, y, X_test, y_test : arrays, optional
            Training and held-out data; scores are plotted for either. The larger of the two labels in y is the
            positive class, as in the problem.
        metric : callable, default=sklearn.metrics.accuracy_score
            A function of true and predicted labels, such as sklearn.metrics.balanced_accuracy_score.
        feature_names : sequence of str, optional
            Names of the features; by default the columns of X if it is a data frame.
        radius : float, optional
            A radius to mark.
        ax, **options
            As in `plot`.

        Returns
        -------
        RadiusPathDisplay
        """
        if not isinstance(path, RadiusPath):
            raise TypeError(f"path must be returned by radius_path, got {type(path).__name__}.")
        if X_test is not None and y is None:
            raise ValueError("y is required with X_test: it determines the positive label.")
        metric = metric or accuracy_score
        scores = {}
        if X is not None and y is not None:
            scores["training data"] = _scores(path, X, y, y, metric)
        if X_test is not None:
            scores[HELD_OUT] = _scores(path, X_test, y_test, y, metric)
        if feature_names is None and X is not None and hasattr(X, "columns"):
            feature_names = [str(name) for name in X.columns]
        score_name = getattr(metric, "__name__", "score").removesuffix("_score").replace("_", " ")
        names = {"feature_names": feature_names, "score_name": score_name}
        return cls(radii=path.radii, weights=path.weights, scores=scores, radius=radius, **names).plot(ax, **options)

    @classmethod
    def from_data(
        cls,
        X: Matrix,
        y: Labels,
        *,
        X_test: Matrix = None,
        y_test: Labels = None,
        radii: Sequence[float] | np.ndarray | None = None,
        n_radii: int = 30,
        flip_cost: Costs = math.inf,
        norm: NormName = 2,
        l2: float = 0.0,
        sample_weight=None,
        fit_intercept: bool = True,
        intercept_cost: float | Literal["auto"] = "auto",
        **options,
    ) -> "RadiusPathDisplay":
        """Solve for a grid of radii and plot the path: the weights of `WassersteinSVC` at each radius.

        Parameters
        ----------
        X, y : array, data frame or sparse matrix, array of two labels
            Training data, standardised: shifts are measured in their units.
        X_test, y_test : optional
            Held-out data.
        radii, n_radii : sequence of floats, int
            As in `drsvm.radius_path`.
        flip_cost, norm, l2, fit_intercept, intercept_cost
            As in `drsvm.WassersteinSVC`, with the same defaults; one flip cost, or one per row.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        **options
            metric, feature_names, radius, ax, and the options of `plot`, as in `from_path`.

        Returns
        -------
        RadiusPathDisplay
        """
        ball = {"flip_cost": flip_cost, "norm": norm, "l2": l2, "fit_intercept": bool(fit_intercept)}
        problem = Problem(X, y, sample_weight=sample_weight, **ball)
        problem = with_intercept_cost(problem, intercept_cost_or_auto(intercept_cost))
        path = path_at_centre(problem, radii, n_radii=n_radii)
        return cls.from_path(path, X=X, y=y, X_test=X_test, y_test=y_test, **options)

    @property
    def best_radius(self) -> float | None:
        """The radius with the best score on held-out data, the largest of several; None without such data."""
        scores = self.scores.get(HELD_OUT)
        return None if scores is None else float(self.radii[scores == np.nanmax(scores)].max())

    def plot(self, ax: style.GivenAxes = None, *, kind: str | None = None, n_named: int = 5) -> "RadiusPathDisplay":
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them for both panels, optional
            Axes to draw on; by default a new figure.
        kind : {"weights", "scores", "both"}, optional
            Which panels to draw; by default both if there are scores.
        n_named : int
            The number of features, by largest weights, that are coloured and named; the others are grey.

        Returns
        -------
        self
        """
        kind = kind or ("both" if self.scores else "weights")
        panels = {"weights": [self._draw_weights], "scores": [self._draw_scores]}
        panels["both"] = panels["weights"] + panels["scores"]
        if kind not in panels:
            raise ValueError(f"kind must be 'weights', 'scores' or 'both', got kind={kind!r}.")
        if kind != "weights" and not self.scores:
            raise ValueError(f"kind={kind!r} needs scores: give X and y (and X_test and y_test).")
        self.figure_, axes = style.axes_for("RadiusPathDisplay", ax, len(panels[kind]))
        self.ax_ = axes if len(axes) > 1 else axes[0]
        for draw, panel in zip(panels[kind], axes, strict=True):
            draw(panel, n_named)
            style.quiet(panel)
            positive = self.radii[self.radii > 0]
            if len(positive) and positive.max() >= 20 * positive.min():
                linear = {"linthresh": positive.min(), "linscale": 0.4} if len(positive) < len(self.radii) else {}
                panel.set_xscale("symlog" if linear else "log", **linear)  # with a linear part if 0 is among them
                panel.xaxis.set_major_formatter("{x:g}")  # 0.01 is read faster than a power of ten
            panel.set_xlabel("radius")
            style.mark_radius(panel, self.radius)
            if (best := self.best_radius) is not None:
                name = f"best {self.score_name} on {HELD_OUT}: {best:.3g}"
                panel.axvline(best, color=style.GREY, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1, label=name)
            style.legend_below(panel, ncols=2 if draw == self._draw_weights else 3)
        return self

    def _draw_weights(self, ax: style.Panel, n_named: int) -> None:
        sizes = np.abs(self.weights).max(axis=0)
        largest = np.argsort(-sizes, kind="stable")
        named, others = largest[:n_named], largest[n_named : n_named + 200]
        ax.axhline(0.0, color=style.FAINT, linewidth=1.0)
        if len(others):
            faint = {"color": style.FAINT, "linewidth": 0.8, "alpha": 0.7, "zorder": 1.5}
            lines = ax.plot(self.radii, self.weights[:, others], **faint)
            lines[0].set_label(f"{self.weights.shape[1] - len(named)} others")
        for feature, look in zip(named, style.line_styles(len(named)), strict=True):
            name = f"feature {feature}" if self.feature_names is None else self.feature_names[feature]
            ax.plot(self.radii, self.weights[:, feature], label=style.plain(name), **look)
        ax.set_ylabel("weight")

    def _draw_scores(self, ax: style.Panel, n_named: int) -> None:
        styles = _SCORE_STYLES if len(self.scores) <= 2 else style.line_styles(len(self.scores))
        for (name, values), look in zip(self.scores.items(), styles, strict=False):
            ax.plot(self.radii, values, label=name, **look)
        ax.set_ylabel(self.score_name)


def _scores(path: RadiusPath, X: Matrix, y: Labels, y_train: Labels, metric: Callable) -> np.ndarray:
    rows, labels = check_rows(X), np.ravel(np.asarray(y))
    classes, _ = check_labels(y_train, len(np.ravel(np.asarray(y_train))))
    if len(labels) != rows.shape[0]:
        raise ValueError(f"X has {rows.shape[0]} rows, but y has {len(labels)} labels.")
    if rows.shape[1] != path.weights.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, but the path has {path.weights.shape[1]}.")
    values = np.asarray(rows @ path.weights.T) + path.intercepts
    return np.array([metric(labels, classes[(column > 0).astype(int)]) for column in values.T])
