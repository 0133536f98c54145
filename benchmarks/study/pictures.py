"""Draws a kept study: wins, ties and losses against a rival, and the gain on every data
set.
"""

import matplotlib.pyplot as plt
import numpy as np
from cases import NOISE, SHIFTS
from methods import gains_of

TIE = 0.5
COLOURS = {"better": "#0072B2", "level": "#d8d8d8", "worse": "#D55E00"}
NAMES = {
    "clean": "correct labels",
    "20 %": "20 % of the labels wrong",
    "35 %": "35 % of the labels wrong",
    "class": "40 % of one class wrong",
    "boundary": "wrong near the boundary",
    "against the model": "rows moved against the model",
    "towards the other class": "rows moved to the other class",
    "Gaussian": "Gaussian noise on the features",
    "missing columns": "a fifth of the columns missing",
    "biased sample": "training rows from one end",
}


def draw(found, path, name: str, reference: str, measure: int = 0) -> None:
    """Save a picture with a row of two panels for every number of training rows."""
    sizes = sorted({case.n_rows for case in found})
    settings = [
        s for s in (*NOISE, *SHIFTS) if any(case.setting == s for case in found)
    ]
    shape = {
        "squeeze": False,
        "sharey": True,
        "layout": "constrained",
        "figsize": (9, 0.7 + 2.9 * len(sizes)),
    }
    plt.style.use("drsvm.plotting.quiet")
    figure, axes = plt.subplots(len(sizes), 2, **shape)
    for size, (left, right) in zip(sizes, axes, strict=True):
        rows = {case: values for case, values in found.items() if case.n_rows == size}
        for place, setting in enumerate(settings):
            by_data = [
                gains[:, measure]
                for gains in gains_of(rows, name, reference, [setting]).values()
            ]
            _shares(left, place, np.concatenate(by_data))
            _dots(right, place, by_data)
        left.set_yticks(range(len(settings)), [NAMES[setting] for setting in settings])
        left.set(
            title=f"{size} training rows",
            xlim=(0, 1),
            xticks=[],
            ylim=(len(settings) - 0.4, -0.6),
        )
        right.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        right.set_xscale("symlog", linthresh=2.0)
        right.set_xlim(-100, 100)
        ticks = (-100, -20, -5, -1, 0, 1, 5, 20, 100)
        right.set_xticks(ticks, [str(tick).replace("-", "−") for tick in ticks])
        left.spines[["left", "bottom"]].set_visible(False)
        left.grid(visible=False)
    what = ("accuracy", "balanced accuracy")[measure]
    axes[-1, 0].set_xlabel("share of the runs")
    axes[-1, 1].set_xlabel(f"mean gain in {what} on each data set, points")
    figure.legend(
        *_legend(),
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=f"{name} against {reference}",
    )
    figure.savefig(path, dpi=160)
    plt.close(figure)


def _shares(axes, place: int, all_gains) -> None:
    """Draw the shares of runs that are better, level within TIE points, and worse, with
    their numbers.
    """
    shares = {
        "better": (all_gains > TIE).mean(),
        "level": (abs(all_gains) <= TIE).mean(),
        "worse": (all_gains < -TIE).mean(),
    }
    start = 0.0
    for kind, share in shares.items():
        axes.barh(place, share, left=start, color=COLOURS[kind], height=0.72)
        if share > 0.07:
            colour = "black" if kind == "level" else "white"
            axes.text(
                start + share / 2,
                place,
                f"{share:.0%}",
                ha="center",
                va="center",
                color=colour,
                fontsize=8,
            )
        start += share


def _dots(axes, place: int, by_data) -> None:
    means = np.array([one.mean() for one in by_data])
    colours = [
        COLOURS["better"] if mean > TIE else COLOURS["worse"] if mean < -TIE else "0.55"
        for mean in means
    ]
    axes.scatter(
        means, np.full(len(means), place), c=colours, s=22, alpha=0.85, linewidths=0
    )
    axes.plot(
        [means.mean()] * 2, [place - 0.32, place + 0.32], color="black", linewidth=1.5
    )


def _legend():
    labels = {
        "better": f"better by more than {TIE} points",
        "level": "level",
        "worse": f"worse by more than {TIE}",
    }
    return [plt.Rectangle((0, 0), 1, 1, color=COLOURS[kind]) for kind in labels], list(
        labels.values()
    )
