"""What the adversary does: which samples it moves and which labels it flips."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drsvm.model.kernel_model import kernel_classifier
from drsvm.model.linear_model import behind_pipeline
from drsvm.model.worst_distribution import WorstCaseDistribution, worst_case_distribution
from drsvm.plotting.projection import plane_for
from drsvm.plotting.style import BLUE, GREY, INK, ORANGE, Display, legend_below, plain

JITTER = 0.35  # vertical spread if there is only one feature
VISIBLE = 0.02  # share of the plot below which a move is invisible
ARROWS = 40  # maximum number of arrows; all moves have the same length


@dataclass(kw_only=True, eq=False, repr=False)
class WorstCaseDisplay(Display):
    """The worst distribution within the ball, in two dimensions.

    Create it with `from_estimator`. Data with two features are plotted directly; others by the decision value and the
    first principal component orthogonal to it.

    Parameters
    ----------
    points : array of shape (n, 2)
        Coordinates of the samples.
    positive : array of n bools
        Whether the label before flips is positive.
    flipped : array of n bools
        Whether the adversary flips the label (of at least a part of the sample).
    moved_from, moved_to : arrays of shape (n_arrows, 2)
        Start and end of the moves to draw.
    n_moved : int, optional
        Number of samples that move; by default the number of arrows.
    normal, offset : array of shape (2,), float
        The decision value at the coordinates z is normal · z + offset.
    axis_labels : tuple of two strings
        Labels of the axes.
    class_names : tuple of two strings
        Names of the negative and the positive class.
    title : str
        A summary of what the adversary does.
    equal_aspect : bool
        Whether both axes use the same scale.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, Figure
        Axes and figure of the plot.
    distribution_ : WorstCaseDistribution
        The complete distribution, after `from_estimator`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from drsvm import WassersteinSVC, WorstCaseDisplay
    >>> X, y = make_moons(100, noise=0.25, random_state=0)
    >>> model = WassersteinSVC(radius=0.1, flip_cost=2.0).fit(X, y)
    >>> display = WorstCaseDisplay.from_estimator(model, X, y)
    >>> display.distribution_.attained
    True
    """

    points: Any
    positive: Any
    flipped: Any
    moved_from: Any
    moved_to: Any
    normal: Any
    offset: float
    axis_labels: tuple[str, str]
    n_moved: Any = None
    class_names: tuple[str, str] = ("negative", "positive")
    title: str = ""
    equal_aspect: bool = False

    distribution_: WorstCaseDistribution = field(init=False)

    def __post_init__(self):
        for name in ("points", "positive", "flipped", "moved_from", "moved_to", "normal"):
            setattr(self, name, np.asarray(getattr(self, name)))
        self.n_moved = len(self.moved_from) if self.n_moved is None else self.n_moved

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        radius: float | None = None,
        flip_cost: float | None = None,
        norm: Any = None,
        sample_weight=None,
        positive=None,
        feature_names: Sequence[str] | None = None,
        max_points: int = 500,
        random_state: int = 0,
        ax=None,
    ) -> "WorstCaseDisplay":
        """Find the worst distribution for a classifier and plot it.

        Parameters
        ----------
        estimator, X, y, radius, flip_cost, norm, sample_weight, positive
            As in `drsvm.worst_case_distribution`.
        feature_names : sequence of two strings, optional
            Names of the axes, for data with two features; by default the columns of a data frame.
        max_points : int
            Maximum number of samples to draw, chosen at random. The figures in the title are those of all samples.
        random_state : int
            Seed of the random choice.
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.

        Returns
        -------
        WorstCaseDisplay
        """
        if max_points < 1:
            raise ValueError(f"max_points must be at least 1, got max_points={max_points!r}.")
        if kernel_classifier(behind_pipeline(estimator)[0]) is not None:
            raise ValueError("WorstCaseDisplay shows moves in one direction: those with a kernel have many.")
        ball = {"radius": radius, "flip_cost": flip_cost, "norm": norm}
        rows: Any = {"sample_weight": sample_weight, "positive": positive}
        distribution = worst_case_distribution(estimator, X, y, **ball, **rows)
        classes = distribution._data.classes.tolist()
        if len(classes) > 2:
            raise ValueError(
                f"WorstCaseDisplay shows the two sides of one decision, and there are {len(classes)} classes: choose "
                f"the one to show against the rest with positive=, for instance positive={classes[0]!r}."
            )
        if feature_names is None and hasattr(X, "columns") and not hasattr(estimator, "steps"):
            feature_names = [str(name) for name in X.columns]
        display = cls(**_contents(distribution, positive, feature_names, max_points, random_state))
        display.distribution_ = distribution
        return display.plot(ax)

    def _draw(self) -> None:
        for sign, colour, marker in ((0, BLUE, "o"), (1, ORANGE, "^")):
            x, y = self.points[self.positive == sign].T
            look = {"s": 20, "c": colour, "marker": marker, "alpha": 0.75, "linewidths": 0}
            self.ax_.scatter(x, y, label=plain(self.class_names[sign]), **look)
        x, y = self.points[self.flipped].T
        ring = {"s": 70, "facecolors": "none", "edgecolors": INK, "linewidths": 1.3}
        self.ax_.scatter(x, y, label="label flipped" if len(x) else None, **ring)
        self._draw_moves()
        self._draw_lines()
        self._frame()

    def _draw_moves(self) -> None:
        """Draw arrows; only lines if the moves are too short for a head."""
        if len(self.moved_from) == 0:
            return
        steps = self.moved_to - self.moved_from
        magnification = self._magnification(steps)
        units = {"angles": "xy", "scale_units": "xy", "scale": 1.0 / magnification}
        head = {"headwidth": 5.0, "headlength": 5.0, "headaxislength": 4.5}
        line = {"width": 0.0022, "minlength": 0.0, "minshaft": 1.5, "color": GREY, "zorder": 1.5}
        self.ax_.quiver(*self.moved_from.T, *steps.T, **units, **head, **line)
        remarks = [f"{len(steps)} of {self.n_moved}"] if self.n_moved > len(steps) else []
        remarks += [f"arrows × {magnification}"] if magnification > 1 else []
        name = f"moved ({', '.join(remarks)})" if remarks else "moved"
        self.ax_.plot([], [], color=GREY, marker=r"$\rightarrow$", linestyle="none", markersize=11, label=name)

    def _magnification(self, steps: np.ndarray) -> int:
        """Return a round factor that makes short moves visible."""
        span = np.where(np.ptp(self.points, axis=0) > 0, np.ptp(self.points, axis=0), 1.0)
        longest = float(np.abs(steps / span).max())
        if longest >= VISIBLE or longest == 0.0:
            return 1
        wanted = 2 * VISIBLE / longest
        power = 10 ** int(np.log10(wanted))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted)

    def _draw_lines(self) -> None:
        length = float(self.normal @ self.normal)
        if length == 0.0:
            return
        along = np.array([-self.normal[1], self.normal[0]])
        for level, style, name in ((0.0, "-", "decision"), (-1.0, "--", "margins"), (1.0, "--", None)):
            start = self.normal * ((level - self.offset) / length)
            self.ax_.axline(start, start + along, color=INK, linestyle=style, linewidth=1.1, label=name, zorder=1.2)

    def _frame(self) -> None:
        (left, bottom), (right, top) = self._corners()
        self.ax_.set(xlim=(left, right), ylim=(bottom, top))
        if self.equal_aspect:
            self.ax_.set_aspect("equal")
        self.ax_.spines[["top", "right"]].set_visible(False)
        across, up = (plain(name, 40) for name in self.axis_labels)
        self.ax_.set(xlabel=across, ylabel=up)
        roomy = self.figure_.get_figwidth() * self.ax_.get_position().width > 4.6
        self.ax_.set_title(self.title if roomy else self.title.replace(", ", ",\n"), loc="left", fontsize="medium")
        legend_below(self.ax_, ncols=6 if roomy else 3)

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of the plot: all samples, and the ends of moves that do not lead far away."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        size = np.where(high > low, high - low, 1.0)
        ends = np.vstack([self.moved_to, self.points])
        low, high = np.maximum(ends.min(axis=0), low - 0.3 * size), np.minimum(ends.max(axis=0), high + 0.3 * size)
        return low - 0.05 * size, high + 0.05 * size


def _contents(distribution: WorstCaseDistribution, positive, feature_names, max_points, random_state) -> dict[str, Any]:
    """Return the arguments of the display for a distribution."""
    data = distribution._data
    n = len(data.codes)
    rng = np.random.default_rng(random_state)
    candidates = np.flatnonzero(data.weights > 0)
    shown = candidates if len(candidates) <= max_points else np.sort(rng.choice(candidates, max_points, replace=False))
    plane = plane_for(data.X, data.coef[1] - data.coef[0], data.intercept[1] - data.intercept[0], feature_names)
    points = plane.coordinates(data.X[shown])
    axis_labels = plane.labels
    if data.X.shape[1] == 1:
        points[:, 1], axis_labels = rng.uniform(-JITTER, JITTER, len(shown)), (axis_labels[0], "(random jitter)")

    place = np.full(n, -1)
    place[shown] = np.arange(len(shown))
    moved = np.flatnonzero((distribution.shift > 0) & (place[distribution.rows] >= 0))
    n_moved = len(moved)
    moved = moved if n_moved <= ARROWS else rng.choice(moved, ARROWS, replace=False)
    moved_from = points[place[distribution.rows[moved]]]
    steps = -(distribution.shift * distribution._signs)[moved, None] * plane.steps(distribution.direction)
    wide, high = np.ptp(points, axis=0)
    class_names = str(data.classes.tolist()[0]), str(data.classes.tolist()[1])
    if data.classes.dtype == bool and positive is not None and not isinstance(positive, bool | np.bool_):
        class_names = "the rest", str(positive)
    flips = np.zeros(n, dtype=bool)
    flips[distribution.rows[distribution.flipped]] = True
    return {
        "points": points,
        "positive": data.codes[shown] == 1,
        "flipped": flips[shown],
        "moved_from": moved_from,
        "moved_to": moved_from + steps,
        "n_moved": n_moved,
        "normal": plane.normal,
        "offset": plane.offset,
        "axis_labels": axis_labels,
        "class_names": class_names,
        "title": describe(distribution),
        "equal_aspect": bool(plane.in_data_units and wide < 4 * high and high < 4 * wide),
    }


def describe(distribution: WorstCaseDistribution) -> str:
    """Return a one-line summary of what the adversary does."""
    flipped = float(distribution.mass[distribution.flipped].sum())
    moving = distribution.shift > 0
    moved = float(distribution.mass[moving].sum())
    words = [f"{100 * flipped:.1f} % of the labels flipped" if flipped > 0 else "no label flipped"]
    if moved > 0:
        by = float(distribution.mass[moving] @ distribution.shift[moving]) / moved
        usual = f"{100 * moved:.1f} % of the samples moved by {by:.3g}"
        words.append(usual if distribution.attained else "a tiny mass moved very far")
    return ", ".join(words)
