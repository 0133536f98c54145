"""Shared by all plots: colours, line styles, and axes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np

from drsvm.utils.lazy import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Panel: TypeAlias = "Axes"
# As many as there are panels; None: a new figure
GivenAxes: TypeAlias = "Axes | Sequence[Axes] | np.ndarray | None"
# Arguments for a function of matplotlib: colours, markers, widths
Look: TypeAlias = dict[str, Any]
T = TypeVar("T")

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
DASHES = ((5, 1.5), (1, 1), (5, 1.2, 1, 1.2), (3, 1, 1, 1, 1, 1), (8, 2))
STROKES = ("-", *((0, dashes) for dashes in DASHES))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")


def axes_for(
    what: str,
    ax: GivenAxes = None,
    n_panels: int = 1,
    widths: Sequence[float] | None = None,
) -> tuple["Figure", np.ndarray]:
    """Return the figure and an array of axes: those that are passed, or new ones side by side, of relative widths."""
    optional("matplotlib", f"{what} needs")
    if ax is None:
        from matplotlib import pyplot as plt

        width = 6.4 if n_panels == 1 else 5.4 * n_panels
        figure = plt.figure(figsize=(width, 4.2), layout="constrained")
        return figure, figure.subplots(
            1, n_panels, squeeze=False, width_ratios=widths
        ).ravel()
    axes = np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != n_panels or not all(hasattr(panel, "plot") for panel in axes):
        raise ValueError(f"{what} needs {n_panels} matplotlib axes as ax, got {ax!r}.")
    return axes[0].figure, axes


class Display:
    """A plot on one pair of axes; a subclass draws on `ax_`."""

    def plot(self, ax: GivenAxes = None) -> Self:
        """Draw the plot, and return the display: its axes are then in `ax_`, its figure in `figure_`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        """
        self.figure_, (self.ax_,) = axes_for(type(self).__name__, ax)
        self._draw()
        return self

    def _draw(self) -> None:
        raise NotImplementedError


def numbered(named: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Return a dict from pairs of names and values; repeated names are numbered."""
    values = {}
    counts = Counter()
    for name, value in named:
        counts[name] += 1
        values[name if counts[name] == 1 else f"{name} ({counts[name]})"] = value
    return values


def line_styles(count: int) -> list[Look]:
    """Return colours and line styles for `count` lines, each pair once."""
    # The styles of a second round of colours are shifted, so that no pair repeats.
    strokes = [STROKES[(k + k // len(COLOURS)) % len(STROKES)] for k in range(count)]
    return [
        {"color": c, "linestyle": s, "linewidth": 2.0}
        for c, s in zip(cycle(COLOURS), strokes, strict=False)
    ]


def marked_styles(count: int) -> list[Look]:
    """Return styles for lines that cross or coincide: besides colour and stroke, each has a marker of its own."""
    styles = line_styles(count)
    for k, style in enumerate(styles):
        # The first marker of each line lies elsewhere, so that lines that coincide hide
        # no other's markers.
        places = (k % 4) / 32, 1 / 8
        style |= {
            "marker": MARKERS[k % len(MARKERS)],
            "markersize": 6.0,
            "markevery": places,
        }
    return styles


def quiet(ax: Panel) -> None:
    """Remove distractions from the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color=FAINT, linewidth=0.5, alpha=0.4)
    ax.set_axisbelow(True)


def mark_radius(ax: Panel, radius: float | None) -> None:
    """Mark the radius that a classifier was trained with."""
    if radius is not None:
        ax.axvline(radius, color=GREY, linewidth=1.2, zorder=1, label="training radius")


def legend_below(ax: Panel, ncols: int) -> None:
    """Put the legend below the axes and their label, however low the axes are."""
    from matplotlib.transforms import ScaledTranslation

    # In inches: ticks, their labels and that of the axis
    lines = 3.3 * float(ax.xaxis.label.get_fontsize()) / 72
    below = ax.transAxes + ScaledTranslation(0.0, -lines, ax.figure.dpi_scale_trans)
    place: Look = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "bbox_transform": below,
        "borderaxespad": 0.2,
    }
    ax.legend(
        frameon=False,
        fontsize="small",
        ncols=ncols,
        columnspacing=1.2,
        handletextpad=0.5,
        **place,
    )


def short(text: object, length: int = 24) -> str:
    """Return a name, truncated to leave room for the plot."""
    name = str(text)
    if len(name) <= length:
        return name
    return name[: length - 2] + "…"


def plain(text: object, length: int = 24) -> str:
    """Return a name that matplotlib shows literally, truncated to leave room for the plot."""
    name = short(text, length).replace("$", r"\$")
    # Matplotlib omits such names from the legend
    return f"\u200b{name}" if name.startswith("_") else name
