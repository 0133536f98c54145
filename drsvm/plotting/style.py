"""What all plots share: the base of the displays, colours, line styles, and axes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np

from drsvm.utils.lazy import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Panel: TypeAlias = "Axes"
# One for each panel, or None for a new figure
GivenAxes: TypeAlias = "Axes | Sequence[Axes] | np.ndarray | None"
# Arguments for a function of matplotlib: colours, markers, widths
Look: TypeAlias = dict[str, Any]
T = TypeVar("T")

# Okabe and Ito, "Color universal design", 2008
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
ORANGE = "#E69F00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
GREY = "#7A7A7A"
FAINT = "#B8B8B8"
INK = "#1A1A1A"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
# Line styles of matplotlib: solid, and lengths of dashes and gaps
STROKES = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (5, 1.2, 1, 1.2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")


class Display:
    """The base of all displays: a plot on one pair of axes, by default.

    A subclass draws on `ax_`.
    """

    def plot(self, ax: GivenAxes = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.

        Returns
        -------
        self
            Its axes are in `ax_`, its figure in `figure_`.
        """
        self._begin(ax)
        self._draw()
        return self

    def _begin(self, ax: GivenAxes) -> None:
        """Store the axes to draw on, and remove what distracts from the data."""
        self.figure_, (self.ax_,) = axes_for(type(self).__name__, ax)
        quiet(self.ax_)

    def _draw(self) -> None:
        raise NotImplementedError


def axes_for(
    what: str,
    ax: GivenAxes = None,
    n_panels: int = 1,
    widths: Sequence[float] | None = None,
) -> tuple["Figure", np.ndarray]:
    """Return the figure and an array of axes.

    They are those that are passed, or new ones side by side, of relative widths.
    """
    optional("matplotlib", f"{what} needs")
    if ax is None:
        from matplotlib import pyplot as plt

        width = 6.4 if n_panels == 1 else 5.4 * n_panels
        figure = plt.figure(figsize=(width, 4.2), layout="constrained")
        axes = figure.subplots(1, n_panels, squeeze=False, width_ratios=widths)
        return figure, axes.ravel()
    axes = np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != n_panels or not all(hasattr(panel, "plot") for panel in axes):
        raise ValueError(f"{what} needs {n_panels} matplotlib axes as ax, got {ax!r}.")
    return axes[0].figure, axes


def numbered(values: Iterable[T], name_of: Callable[[T], str]) -> dict[str, T]:
    """Return values by their names; those of a name that repeats are numbered."""
    named = {}
    counts = Counter()
    for value in values:
        name = name_of(value)
        counts[name] += 1
        if counts[name] > 1:
            name = f"{name} ({counts[name]})"
        named[name] = value
    return named


def line_styles(count: int) -> list[Look]:
    """Return colours and line styles for `count` lines, each pair once."""
    styles = []
    for k in range(count):
        # The strokes of a second round of colours are shifted, so that no pair repeats.
        stroke = STROKES[(k + k // len(COLOURS)) % len(STROKES)]
        colour = COLOURS[k % len(COLOURS)]
        styles.append({"color": colour, "linestyle": stroke, "linewidth": 2.0})
    return styles


def marked_styles(count: int) -> list[Look]:
    """Return styles for lines that cross or coincide.

    Besides colour and stroke, each has a marker of its own.
    """
    styles = line_styles(count)
    for k, style in enumerate(styles):
        style["marker"] = MARKERS[k % len(MARKERS)]
        style["markersize"] = 6.0
        # The first marker of each line lies elsewhere, so that lines that coincide hide
        # no other's markers.
        style["markevery"] = ((k % 4) / 32, 1 / 8)
    return styles


def quiet(ax: Panel) -> None:
    """Remove distractions from the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color=FAINT, linewidth=0.5, alpha=0.4)
    ax.set_axisbelow(True)


def title(ax: Panel, text: str) -> None:
    """Write a title, aligned on the left."""
    ax.set_title(text, loc="left", fontsize="medium")


def mark_radius(
    ax: Panel, radius: float, name: str = "training radius", stroke: str = "-"
) -> None:
    """Mark a radius by a vertical line."""
    ax.axvline(
        radius, color=GREY, linewidth=1.2, linestyle=stroke, zorder=1, label=name
    )


def legend_below(ax: Panel, ncols: int) -> None:
    """Put the legend below the axes and their label, however low the axes are."""
    from matplotlib.transforms import ScaledTranslation

    # In inches: ticks, their labels and that of the axis
    height = 3.3 * float(ax.xaxis.label.get_fontsize()) / 72
    below = ScaledTranslation(0.0, -height, ax.figure.dpi_scale_trans)
    ax.legend(
        frameon=False,
        fontsize="small",
        ncols=ncols,
        columnspacing=1.2,
        handletextpad=0.5,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + below,
        borderaxespad=0.2,
    )


def short(text: object, length: int = 24) -> str:
    """Return a name, truncated to leave room for the plot."""
    name = str(text)
    if len(name) <= length:
        return name
    return name[: length - 2] + "…"


def plain(text: object, length: int = 24) -> str:
    """Return a name that matplotlib shows literally, truncated as by `short`."""
    name = short(text, length).replace("$", r"\$")
    if name.startswith("_"):
        # matplotlib omits such names from the legend; a space of width 0 helps.
        return f"\u200b{name}"
    return name
