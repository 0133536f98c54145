"""What the adversary does: which samples it moves and which labels it flips."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from drsvm.audit.decision_values import margins_of
from drsvm.audit.worst_distribution import (
    WorstCaseDistribution,
    worst_case_distribution,
)
from drsvm.plotting.style import (
    BLUE,
    COLOURS,
    FAINT,
    GREY,
    INK,
    MARKERS,
    ORANGE,
    Display,
    GivenAxes,
    Look,
    Panel,
    axes_for,
    legend_below,
    plain,
    title,
)
from drsvm.plotting.worst_case_contents import MOST_NAMED, contents
from drsvm.solvers.base import check_count
from drsvm.utils.annotations import Classifier, Labels, Matrix, NormName, Values

# Share of the plot below which a move is invisible
VISIBLE = 0.02
# Points of a grid along each axis, on which the boundaries of several classes are found
GRID = 200
# Axes this wide have room for a long title and legend; in inches
ROOMY = 4.6
# The outline around a sample whose label is flipped
RING: Look = {"facecolors": "none", "linewidths": 1.3}
# Parameters of the display that become arrays; they may be lists
ARRAYS = (
    "points",
    "positive",
    "flipped",
    "flipped_to",
    "flips",
    "moved_from",
    "moved_to",
    "moved_labels",
    "normal",
)


@dataclass(kw_only=True, eq=False, repr=False)
class WorstCaseDisplay(Display):
    """The worst distribution within the ball, in two dimensions.

    Create it with `from_estimator`. Data with two features are plotted directly; others
    by the decision value and the first principal component orthogonal to it. With
    several classes, the decision value is the difference between the two classes whose
    samples move, and the principal component is that of the class means. If labels are
    flipped, a second plot shows from which class to which.

    Parameters
    ----------
    points : array of shape (n, 2)
        Coordinates of the samples.
    positive : array of n bools, or of n ints
        Whether the label before flips is positive; with several classes, its place
        among `class_names`.
    flipped : array of n bools
        Whether the adversary flips the label (of at least a part of the sample).
    moved_from, moved_to : arrays of shape (n_arrows, 2)
        Start and end of the moves to draw.
    n_moved : int, optional
        Number of samples that move; by default the number of arrows.
    normal, offset : array of shape (2,), float
        The decision value at the coordinates z is normal · z + offset. In shapes
        (n_classes, 2) and (n_classes,) they give a value for each class, and the
        largest decides.
    axis_labels : tuple of two strings
        Labels of the axes.
    class_names : tuple of strings
        Names of the negative and the positive class, or of several classes. From the
        eleventh on they are grey.
    title : str
        A summary of what the adversary does.
    equal_aspect : bool
        Whether both axes use the same scale.
    flipped_to : array of n ints, optional
        The place of the label after flips among `class_names`; required with several
        classes.
    flips : array of shape (n_classes, n_classes), optional
        The mass that is flipped from class to class: a row for each class before, a
        column for each after.
    moved_labels : array of n_arrows ints, optional
        The place of the label of each move among `class_names`; by default the arrows
        are grey.

    Attributes
    ----------
    flips_ax_ : matplotlib Axes or None
        Axes of the flips from class to class.
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

    points: np.ndarray
    positive: np.ndarray
    flipped: np.ndarray
    moved_from: np.ndarray
    moved_to: np.ndarray
    normal: np.ndarray
    offset: float | np.ndarray
    axis_labels: tuple[str, str]
    n_moved: int | None = None
    class_names: tuple[str, ...] = ("negative", "positive")
    title: str = ""
    equal_aspect: bool = False
    flipped_to: np.ndarray | None = None
    flips: np.ndarray | None = None
    moved_labels: np.ndarray | None = None

    distribution_: WorstCaseDistribution = field(init=False)

    def __post_init__(self):
        n_classes = len(self.class_names)
        if n_classes > 2 and self.flipped_to is None:
            raise ValueError(
                f"flipped_to is required with {n_classes} classes: the class to which "
                "each label flips."
            )
        for name in ARRAYS:
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name)))
        for name in ("positive", "flipped_to", "moved_labels"):
            places = getattr(self, name)
            if places is not None and not np.isin(places, np.arange(n_classes)).all():
                raise ValueError(
                    f"{name} must have the places of labels among class_names, 0 to "
                    f"{n_classes - 1}."
                )
        if self.n_moved is None:
            self.n_moved = len(self.moved_from)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: Matrix,
        y: Labels,
        *,
        radius: float | None = None,
        row_radius: Values = None,
        flip_cost: float | None = None,
        norm: NormName | None = None,
        sample_weight: Values = None,
        positive: object | None = None,
        classes: Values = None,
        feature_names: Sequence[str] | None = None,
        max_points: int = 500,
        random_state: int = 0,
        ax: GivenAxes = None,
    ) -> Self:
        """Find the worst distribution for a classifier and plot it.

        Parameters
        ----------
        estimator, X, y, radius, row_radius, flip_cost, norm
            As in `drsvm.worst_case_distribution`.
        sample_weight, positive, classes
            As in `drsvm.worst_case_distribution`.
        feature_names : sequence of two strings, optional
            Names of the axes, for data with two features; by default the columns of a
            data frame.
        max_points : int
            Maximum number of samples to draw, chosen at random, but with those that
            move or flip if they are few. The figures in the title, and the flips from
            class to class, are those of all samples.
        random_state : int
            Seed of the random choice.
        ax : matplotlib Axes, or two of them, optional
            As in `plot`.

        Returns
        -------
        WorstCaseDisplay
        """
        max_points = check_count(max_points, "max_points")
        distribution = worst_case_distribution(
            estimator,
            X,
            y,
            radius=radius,
            row_radius=row_radius,
            flip_cost=flip_cost,
            norm=norm,
            sample_weight=sample_weight,
            positive=positive,
            classes=classes,
        )
        # Columns are the features only if no step of a pipeline transforms them.
        transforms = hasattr(getattr(estimator, "best_estimator_", estimator), "steps")
        if feature_names is None and hasattr(X, "columns") and not transforms:
            feature_names = X.columns
        shown = contents(
            distribution, positive, feature_names, max_points, random_state
        )
        display = cls(**shown)
        display.distribution_ = distribution
        return display.plot(ax)

    def plot(self, ax: GivenAxes = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them, optional
            Axes to draw on: for the samples, and for the flips from class to class. By
            default a new figure, with flips if there are several classes and some
            labels are flipped.

        Returns
        -------
        self
            Its axes are in `ax_` and `flips_ax_`, its figure in `figure_`.
        """
        if ax is not None:
            both = np.asarray(ax, dtype=object).size == 2
        else:
            both = len(self.class_names) > 2 and np.any(self.flips)
        if both and self.flips is not None:
            self.figure_, axes = axes_for("WorstCaseDisplay", ax, 2, widths=(2.0, 1.0))
            self.ax_, self.flips_ax_ = axes
            draw_flips(self.flips_ax_, self.flips, self.class_names)
        else:
            self.figure_, (self.ax_,) = axes_for("WorstCaseDisplay", ax)
            self.flips_ax_ = None
        self._draw()
        return self

    def _draw(self) -> None:
        """Draw the samples, flips, moves and boundaries, and what explains them."""
        ax = self.ax_
        looks = class_looks(len(self.class_names))
        for place, look in enumerate(looks):
            x, y = self.points[self.positive == place].T
            name = plain(self.class_names[place])
            ax.scatter(x, y, s=20, alpha=0.75, linewidths=0, label=name, **look)
        if self.flipped.any():
            self._draw_flipped_labels(looks)
        if len(self.moved_from):
            self._draw_moves(looks)
        self._draw_boundaries()
        # Boundaries and arrows would widen the axes.
        (left, bottom), (right, top) = self._corners()
        ax.set(xlim=(left, right), ylim=(bottom, top))
        if self.equal_aspect:
            ax.set_aspect("equal")
        ax.spines[["top", "right"]].set_visible(False)
        across, up = self.axis_labels
        ax.set(xlabel=plain(across, 40), ylabel=plain(up, 40))
        roomy = self.figure_.get_figwidth() * ax.get_position().width > ROOMY
        title(ax, self.title if roomy else self.title.replace(", ", ",\n"))
        legend_below(ax, ncols=6 if roomy else 3)

    def _draw_flipped_labels(self, looks: list[Look]) -> None:
        """Draw a ring for each, or, of several classes, the shape of the new label."""
        points = self.points[self.flipped]
        name = "label flipped"
        if self.flipped_to is not None and len(looks) > 2:
            flipped_to = self.flipped_to[self.flipped]
            for place, look in enumerate(looks):
                x, y = points[flipped_to == place].T
                new = {"marker": look["marker"], "edgecolors": look["c"]}
                self.ax_.scatter(x, y, s=90, **new, **RING)
            # The ring is then nothing but an entry of the legend.
            points = points[:0]
            name = "label flipped (outline: new label)"
        self.ax_.scatter(*points.T, s=70, edgecolors=INK, label=name, **RING)

    def _draw_moves(self, looks: list[Look]) -> None:
        """Draw arrows; only lines if the moves are too short for a head."""
        steps = self.moved_to - self.moved_from
        # The longest move, as a share of the plot
        span = np.ptp(self.points, axis=0)
        longest = float(np.abs(steps / np.where(span > 0, span, 1.0)).max())
        factor = _magnification(longest)
        colour: Any = GREY
        if len(looks) > 2 and self.moved_labels is not None:
            colour = [looks[place]["c"] for place in self.moved_labels]
        self.ax_.quiver(
            *self.moved_from.T,
            *steps.T,
            angles="xy",
            scale_units="xy",
            scale=1.0 / factor,
            width=0.0022,
            zorder=1.5,
            headwidth=5.0,
            minlength=0.0,
            minshaft=1.5,
            color=colour,
        )
        remarks = []
        if (self.n_moved or 0) > len(steps):
            remarks.append(f"{len(steps)} of {self.n_moved}")
        if factor > 1:
            remarks.append(f"arrows × {factor}")
        name = f"moved ({', '.join(remarks)})" if remarks else "moved"
        # Arrows of matplotlib have no entries in the legend.
        arrow = {"marker": r"$\rightarrow$", "linestyle": "none", "markersize": 11}
        self.ax_.plot([], [], color=GREY, label=name, **arrow)

    def _draw_boundaries(self) -> None:
        """Draw where a class begins to lead all others, and where it leads by 1."""
        (left, bottom), (right, top) = self._corners()
        # Boundaries of several classes are polygons, which a grid of values finds.
        x, y = np.meshgrid(
            np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
        )
        points = np.stack([x.ravel(), y.ravel()])
        values = self.normal @ points + np.asarray(self.offset)[..., None]
        if values.ndim == 1:
            # One decision becomes a value for each class.
            values = np.stack([-values, values]) / 2
        leads = []
        for code in range(len(values)):
            lead = margins_of(values, np.full(GRID**2, code))
            leads.append(lead.reshape(GRID, GRID))
        for level, stroke, name in ((0.0, "-", "decision"), (1.0, "--", "margins")):
            crossed = [lead for lead in leads if lead.min() < level < lead.max()]
            look = {"colors": INK, "linestyles": stroke, "linewidths": 1.1}
            for lead in crossed:
                self.ax_.contour(x, y, lead, [level], zorder=1.2, **look)
            if crossed:
                # Contours have no entries in the legend.
                line = {"color": INK, "linestyle": stroke, "linewidth": 1.1}
                self.ax_.plot([], [], label=name, **line)

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of the plot.

        All samples are inside, and the ends of moves that do not lead far away.
        """
        low = self.points.min(axis=0)
        high = self.points.max(axis=0)
        size = np.where(high > low, high - low, 1.0)
        ends = np.vstack([self.moved_to, self.points])
        low = np.maximum(ends.min(axis=0), low - 0.3 * size)
        high = np.minimum(ends.max(axis=0), high + 0.3 * size)
        return low - 0.05 * size, high + 0.05 * size


def _magnification(longest: float) -> int:
    """Return a round factor that makes short moves visible, or 1."""
    if not 0.0 < longest < VISIBLE:
        return 1
    wanted = 2 * VISIBLE / longest
    power = 10 ** int(np.log10(wanted))
    for factor in (1, 2, 5):
        if factor * power >= wanted:
            return factor * power
    return 10 * power


def class_looks(n_classes: int) -> list[Look]:
    """Return a colour and a marker for every class, each pair once.

    The last of many classes are grey dots.
    """
    if n_classes == 2:
        return [{"c": BLUE, "marker": "o"}, {"c": ORANGE, "marker": "^"}]
    looks = []
    for k in range(n_classes):
        look = {"c": FAINT, "marker": "."}
        if k < MOST_NAMED:
            look = {"c": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
        looks.append(look)
    return looks


def draw_flips(ax: Panel, flips: np.ndarray, class_names: tuple[str, ...]) -> None:
    """Draw a table of the flipped mass, in percent of all mass.

    It has a row for every class before, and a column for every class after.
    """
    percent = 100.0 * flips
    names = [plain(name, 14) for name in class_names]
    # Long names would overlap.
    rotation = 90 if max(map(len, names)) * len(names) > 36 else 0
    table = ConfusionMatrixDisplay(percent, display_labels=names).plot(
        ax=ax,
        cmap="Blues",
        values_format=".1f",
        colorbar=False,
        xticks_rotation=rotation,
        text_kw={"fontsize": "small"},
    )
    # Only flips have numbers.
    for text in table.text_[percent == 0.0]:
        text.remove()
    ax.set(xlabel="label after the flip", ylabel="label before")
    ax.tick_params(length=0, labelsize="small")
    title(ax, "flipped labels, in % of all")
