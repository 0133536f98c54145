"""What the adversary does: which samples it moves and which labels it flips."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np

from drsvm.audit.decision_values import kernel_classifier, margins_of
from drsvm.audit.model_layers import final_classifier
from drsvm.audit.worst_distribution import (
    WorstCaseDistribution,
    worst_case_distribution,
)
from drsvm.plotting import style
from drsvm.plotting.style import (
    FAINT,
    GREY,
    INK,
    Display,
    GivenAxes,
    Look,
    Panel,
    plain,
)
from drsvm.plotting.worst_case_contents import NAMED, contents
from drsvm.utils.annotations import Classifier, Labels, Matrix, NormName, Values

VISIBLE = 0.02  # share of the plot below which a move is invisible
# Points of a grid along each axis, on which the boundaries of several classes are found
GRID = 200

_OPTIONAL = ("flipped_to", "flips", "moved_labels")


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
                f"flipped_to is required with {n_classes} classes: the class to which each label flips."
            )
        for name in (
            "points",
            "positive",
            "flipped",
            "moved_from",
            "moved_to",
            "normal",
            *_OPTIONAL,
        ):
            value = getattr(self, name)
            setattr(
                self,
                name,
                value if name in _OPTIONAL and value is None else np.asarray(value),
            )
        for name in ("positive", "flipped_to", "moved_labels"):
            places = getattr(self, name)
            if places is not None and not np.isin(places, np.arange(n_classes)).all():
                raise ValueError(
                    f"{name} must have the places of labels among class_names, 0 to {n_classes - 1}."
                )
        if self.n_moved is None:
            self.n_moved = len(self.moved_from)
        else:
            self.n_moved = self.n_moved

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: Matrix,
        y: Labels,
        *,
        radius: float | None = None,
        flip_cost: float | None = None,
        norm: NormName | None = None,
        sample_weight: Values = None,
        positive: object | None = None,
        feature_names: Sequence[str] | None = None,
        max_points: int = 500,
        random_state: int = 0,
        ax: GivenAxes = None,
    ) -> "WorstCaseDisplay":
        """Find the worst distribution for a classifier and plot it.

        Parameters
        ----------
        estimator, X, y, radius, flip_cost, norm, sample_weight, positive
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
        """
        if max_points < 1:
            raise ValueError(
                f"max_points must be at least 1, got max_points={max_points!r}."
            )
        if kernel_classifier(final_classifier(estimator)) is not None:
            raise ValueError(
                "WorstCaseDisplay shows moves in one direction: those with a kernel have many. RiskCurveDisplay draws "
                "the worst case of such a classifier, and worst_case_distribution has the moves."
            )
        ball: Look = {"radius": radius, "flip_cost": flip_cost, "norm": norm}
        distribution = worst_case_distribution(
            estimator, X, y, **ball, sample_weight=sample_weight, positive=positive
        )
        transforms = hasattr(getattr(estimator, "best_estimator_", estimator), "steps")
        if feature_names is None and hasattr(X, "columns") and not transforms:
            feature_names = [str(name) for name in X.columns]
        display = cls(
            **contents(distribution, positive, feature_names, max_points, random_state)
        )
        display.distribution_ = distribution
        return display.plot(ax)

    def plot(self, ax: GivenAxes = None) -> "WorstCaseDisplay":
        """Draw the plot, and return the display: its axes are then in `ax_` and `flips_ax_`, its figure in `figure_`.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them, optional
            Axes to draw on: for the samples, and for the flips from class to class. By
            default a new figure, with flips if there are several classes and some
            labels are flipped.
        """
        flips = self.flips
        n_given = np.asarray(ax, dtype=object).size
        if ax is not None:
            wanted = n_given == 2
        else:
            wanted = len(self.class_names) > 2 and np.any(flips)
        both = bool(wanted) and flips is not None
        self.figure_, axes = style.axes_for(
            "WorstCaseDisplay", ax, 2 if both else 1, widths=(2.0, 1.0)[: 1 + both]
        )
        self.ax_ = axes[0]
        self.flips_ax_ = axes[1] if both else None
        self._draw()
        if flips is not None and both:
            draw_flips(axes[1], flips, self.class_names)
        return self

    def _draw(self) -> None:
        looks = class_looks(len(self.class_names))
        for place, look in enumerate(looks):
            x, y = self.points[self.positive == place].T
            self.ax_.scatter(
                x,
                y,
                s=20,
                alpha=0.75,
                linewidths=0,
                label=plain(self.class_names[place]),
                **look,
            )
        # Flips are rings; with several classes, outlines in colour and shape of the new
        # label.
        ring = {"facecolors": "none", "linewidths": 1.3}
        for place, look in enumerate(looks if len(looks) > 2 else []):
            x, y = self.points[self.flipped & (self.flipped_to == place)].T
            self.ax_.scatter(
                x, y, s=90, marker=look["marker"], edgecolors=look["c"], **ring
            )
        if len(looks) > 2:
            x = []
            y = []
        else:
            x, y = self.points[self.flipped].T
        if len(looks) > 2:
            name = "label flipped (outline: new label)"
        else:
            name = "label flipped"
        self.ax_.scatter(
            x,
            y,
            s=70,
            edgecolors=INK,
            label=name if self.flipped.any() else None,
            **ring,
        )
        self._draw_moves(looks)
        self._draw_boundaries()
        (left, bottom), (right, top) = self._corners()
        self.ax_.set(xlim=(left, right), ylim=(bottom, top))
        if self.equal_aspect:
            self.ax_.set_aspect("equal")
        self.ax_.spines[["top", "right"]].set_visible(False)
        across, up = (plain(name, 40) for name in self.axis_labels)
        self.ax_.set(xlabel=across, ylabel=up)
        roomy = self.figure_.get_figwidth() * self.ax_.get_position().width > 4.6
        self.ax_.set_title(
            self.title if roomy else self.title.replace(", ", ",\n"),
            loc="left",
            fontsize="medium",
        )
        style.legend_below(self.ax_, ncols=6 if roomy else 3)

    def _draw_moves(self, looks: list[Look]) -> None:
        """Draw arrows; only lines if the moves are too short for a head."""
        if len(self.moved_from) == 0:
            return
        steps = self.moved_to - self.moved_from
        span = np.ptp(self.points, axis=0)
        longest = float(np.abs(steps / np.where(span > 0, span, 1.0)).max())
        magnification = 1  # or a round factor that makes short moves visible
        if 0.0 < longest < VISIBLE:
            wanted = 2 * VISIBLE / longest
            power = 10 ** int(np.log10(wanted))
            magnification = next(
                factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted
            )
        look: Look = {
            "angles": "xy",
            "scale_units": "xy",
            "scale": 1.0 / magnification,
            "width": 0.0022,
            "zorder": 1.5,
        }
        look |= {
            "headwidth": 5.0,
            "headlength": 5.0,
            "headaxislength": 4.5,
            "minlength": 0.0,
            "minshaft": 1.5,
        }
        labels = self.moved_labels if len(looks) > 2 else None
        if labels is None:
            colour = GREY
        else:
            colour = [looks[place]["c"] for place in labels]
        self.ax_.quiver(*self.moved_from.T, *steps.T, **look, color=colour)
        if (self.n_moved or 0) > len(steps):
            remarks = [f"{len(steps)} of {self.n_moved}"]
        else:
            remarks = []
        if magnification > 1:
            remarks += [f"arrows × {magnification}"]
        else:
            remarks += []
        name = f"moved ({', '.join(remarks)})" if remarks else "moved"
        self.ax_.plot(
            [],
            [],
            color=GREY,
            marker=r"$\rightarrow$",
            linestyle="none",
            markersize=11,
            label=name,
        )

    def _draw_boundaries(self) -> None:
        """Draw where a class begins to lead all others, and where it leads by 1."""
        (left, bottom), (right, top) = self._corners()
        x, y = np.meshgrid(
            np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
        )
        values = (
            self.normal @ np.stack([x.ravel(), y.ravel()])
            + np.asarray(self.offset)[..., None]
        )
        # of one decision: a value per class
        if values.ndim == 2:
            values = values
        else:
            values = np.stack([-values, values]) / 2
        leads = [
            margins_of(values, np.full(GRID**2, code)).reshape(GRID, GRID)
            for code in range(len(values))
        ]
        for level, stroke, name in ((0.0, "-", "decision"), (1.0, "--", "margins")):
            crossed = [lead for lead in leads if lead.min() < level < lead.max()]
            for lead in crossed:
                self.ax_.contour(
                    x,
                    y,
                    lead,
                    [level],
                    colors=INK,
                    linestyles=stroke,
                    linewidths=1.1,
                    zorder=1.2,
                )
            if crossed:
                self.ax_.plot(
                    [], [], color=INK, linestyle=stroke, linewidth=1.1, label=name
                )

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of the plot: all samples, and the ends of moves that do not lead far away."""
        low = self.points.min(axis=0)
        high = self.points.max(axis=0)
        size = np.where(high > low, high - low, 1.0)
        ends = np.vstack([self.moved_to, self.points])
        low = np.maximum(ends.min(axis=0), low - 0.3 * size)
        high = np.minimum(ends.max(axis=0), high + 0.3 * size)
        return low - 0.05 * size, high + 0.05 * size


def class_looks(n_classes: int) -> list[Look]:
    """Return a colour and a marker for every class: each pair once, and grey dots for the last of many classes."""
    if n_classes == 2:
        return [{"c": style.BLUE, "marker": "o"}, {"c": style.ORANGE, "marker": "^"}]
    named = min(n_classes, NAMED)
    pairs = zip(range(named), cycle(style.COLOURS), cycle(style.MARKERS), strict=False)
    looks = [{"c": colour, "marker": marker} for _, colour, marker in pairs]
    return looks + [{"c": FAINT, "marker": "."}] * (n_classes - named)


def draw_flips(ax: Panel, flips: np.ndarray, class_names: tuple[str, ...]) -> None:
    """Draw a table of the flipped mass by the class before (rows) and after (columns), in percent of all mass."""
    from matplotlib.colors import LinearSegmentedColormap

    percent = 100.0 * flips
    kept = (percent == 0.0) & np.eye(len(percent), dtype=bool)
    colours = LinearSegmentedColormap.from_list(
        "mass", ["#FFFFFF", style.BLUE]
    ).with_extremes(bad="#EEEEEE")
    # Darker than any cell, so that the text is legible
    darkest = 1.6 * percent.max() or 1.0
    ax.imshow(np.ma.masked_array(percent, kept), cmap=colours, vmin=0.0, vmax=darkest)
    for (before, after), value in np.ndenumerate(percent):
        if value > 0.0:
            text = f"{value:.1f}" if value >= 0.05 else "<0.1"
            ax.text(
                after,
                before,
                text,
                ha="center",
                va="center",
                color=INK,
                fontsize="small",
            )
    names = [plain(name, 14) for name in class_names]
    places = range(len(class_names))
    upright: Look = {"rotation": 90} if max(map(len, names)) * len(names) > 36 else {}
    ax.set_xticks(places, names, fontsize="small", **upright)
    ax.set_yticks(places, names, fontsize="small")
    ax.set(xlabel="label after the flip", ylabel="label before")
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_color(FAINT)
    ax.set_title("flipped labels, in % of all", loc="left", fontsize="medium")
