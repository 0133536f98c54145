"""Movement of rows: signed distances before and now, and the movement to every batch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.audit.batches import BatchShifts
from drsvm.audit.model_layers import index_of
from drsvm.audit.shift import Shift
from drsvm.plotting.style import (
    BLUE,
    FAINT,
    GREY,
    VERMILLION,
    Display,
    GivenAxes,
    quiet,
)

BINS = 32
TICKS = 12
WIDE = 0.005  # the share of distances on each side that the plot may leave out


@dataclass(kw_only=True, eq=False, repr=False)
class ShiftDisplay(Display):
    """Signed distances from the boundary, before and now. Create it with `from_shift`.

    Parameters
    ----------
    before, after : array
        Signed distances of audited and of new rows.
    label : object
        The class that positive distances stand for.
    title : str
        Title of the plot.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from drsvm import ClippedScaler, ShiftDisplay, WassersteinSVC, measure_shift
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = ClippedScaler().fit_transform(X)
    >>> model = WassersteinSVC().fit(X[:200], y[:200])
    >>> shift = measure_shift(model, X[200:400], y[200:400], X[400:] + 0.2, random_state=0)
    >>> display = ShiftDisplay.from_shift(shift)
    """

    before: np.ndarray
    after: np.ndarray
    label: Any
    title: str = ""

    @classmethod
    def from_shift(
        cls, shift: Shift, *, label: Any = None, ax: GivenAxes = None
    ) -> "ShiftDisplay":
        """Plot what `measure_shift` has returned, with positive distances for the class `label`, by default the last.

        `ax` is as in `plot`.
        """
        classes = shift.before.classes
        if label is None:
            place = len(classes) - 1
        else:
            place = index_of(label, classes, "label")
        before, after = (rows.by_class[place] for rows in (shift.before, shift.after))
        title = (
            f"moved by {shift.moved:.3g} (by chance up to {shift.moved_by_chance:.3g})"
        )
        return cls(
            before=before, after=after, label=classes.tolist()[place], title=title
        ).plot(ax)

    def _draw(self) -> None:
        both = np.concatenate([self.before, self.after])
        both = both[np.isfinite(both)]
        if len(both):
            low, high = np.quantile(both, [WIDE, 1.0 - WIDE])
        else:
            low = -1.0
            high = 1.0
        edges = np.linspace(min(low, 0.0), max(high, low + 1e-6), BINS + 1)
        now = {"color": VERMILLION, "histtype": "step", "linewidth": 1.8}
        for values, name, look in (
            (self.before, "before", {"color": FAINT}),
            (self.after, "now", now),
        ):
            shares = np.full(len(values), 1.0 / max(len(values), 1))
            self.ax_.hist(
                np.clip(values, *edges[[0, -1]]),
                edges,
                weights=shares,
                label=name,
                **look,
            )
        quiet(self.ax_)
        self.ax_.axvline(
            0.0, color=GREY, linewidth=1.2, linestyle="--", label="threshold"
        )
        self.ax_.set(
            xlabel=f"signed distance from the boundary ({self.label} where positive)",
            ylabel="share of rows",
        )
        self.ax_.set_title(self.title, loc="left", fontsize="medium")
        self.ax_.legend(frameon=False)


@dataclass(kw_only=True, eq=False, repr=False)
class BatchShiftsDisplay(Display):
    """Movement and errors of batches of rows. Create it with `from_shifts`.

    Parameters
    ----------
    shifts : BatchShifts
        What `radius_from_batches` has returned.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import BatchShiftsDisplay, WassersteinSVC, radius_from_batches
    >>> X, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 2
    >>> shifts = radius_from_batches(WassersteinSVC(radius=0.1), X, y, np.repeat([1, 2, 3], 100), random_state=0)
    >>> display = BatchShiftsDisplay.from_shifts(shifts)
    """

    shifts: BatchShifts

    @classmethod
    def from_shifts(
        cls, shifts: BatchShifts, *, ax: GivenAxes = None
    ) -> "BatchShiftsDisplay":
        """Plot the movement to every batch, given what `radius_from_batches` returns.

        `ax` is as in `plot`.
        """
        return cls(shifts=shifts).plot(ax)

    def _draw(self) -> None:
        figures = self.shifts.to_dict()
        names = [str(name) for name in figures["batch"]]
        places = np.arange(len(names))
        self.ax_.bar(places, figures["moved"], color=FAINT, label="moved")
        self.ax_.plot(
            places,
            figures["moved_by_chance"],
            color=GREY,
            linestyle="--",
            label="by chance",
        )
        self.ax_.plot(
            places,
            figures["expected_error"],
            color=BLUE,
            marker="o",
            label="expected errors",
        )
        if None not in figures["error_now"]:
            look = {"color": VERMILLION, "marker": "s", "linestyle": ":"}
            self.ax_.plot(places, figures["error_now"], label="errors", **look)
        quiet(self.ax_)
        shown = places[:: max(1, len(places) // TICKS)]
        self.ax_.set_xticks(
            shown, [names[place] for place in shown], rotation=30, ha="right"
        )
        self.ax_.set_ylabel("units of shifts; share of errors")
        self.ax_.legend(frameon=False)
