"""A table of the labels that an adversary flips, from class to class."""

import numpy as np

from drsvm.plotting.style import BLUE, FAINT, INK, plain

NAME = 14  # maximum length of a name at the edge


def draw_flips(ax, flips: np.ndarray, class_names: tuple[str, ...]) -> None:
    """Draw the flipped mass by the class before (rows) and after (columns), in percent of all mass."""
    from matplotlib.colors import LinearSegmentedColormap

    percent = 100.0 * flips
    kept = (percent == 0.0) & np.eye(len(percent), dtype=bool)
    colours = LinearSegmentedColormap.from_list("mass", ["#FFFFFF", BLUE]).with_extremes(bad="#EEEEEE")
    darkest = 1.6 * percent.max() or 1.0  # darker than any cell, so that the text is legible
    ax.imshow(np.ma.masked_array(percent, kept), cmap=colours, vmin=0.0, vmax=darkest)
    for (before, after), value in np.ndenumerate(percent):
        if value > 0.0:
            ax.text(after, before, _figure(value), ha="center", va="center", color=INK, fontsize="small")
    names, places = [plain(name, NAME) for name in class_names], range(len(class_names))
    upright = {"rotation": 90} if max(map(len, names)) * len(names) > 36 else {}
    ax.set_xticks(places, names, fontsize="small", **upright)
    ax.set_yticks(places, names, fontsize="small")
    ax.set(xlabel="label after the flip", ylabel="label before")
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_color(FAINT)
    ax.set_title("flipped labels, in % of all", loc="left", fontsize="medium")


def _figure(percent: float) -> str:
    return f"{percent:.1f}" if percent >= 0.05 else "<0.1"
