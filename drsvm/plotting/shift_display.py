"""Movement of rows: signed distances before and now, and movements to batches."""

from dataclasses import dataclass
from typing import Any, Self

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
    title,
)
from drsvm.utils.arguments import check_kind

# Number of bars
BINS = 32
# About how many batches have names on the axis
TICKS = 12
# The share of distances on each side that the plot may leave out
LEFT_OUT = 0.005


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
    >>> X_new = X[400:] + 0.2
    >>> shift = measure_shift(model, X[200:400], y[200:400], X_new, random_state=0)
    >>> display = ShiftDisplay.from_shift(shift)
    """

    before: np.ndarray
    after: np.ndarray
    label: Any
    title: str = ""

    @classmethod
    def from_shift(
        cls, shift: Shift, *, label: Any = None, ax: GivenAxes = None
    ) -> Self:
        """Plot what `measure_shift` has returned.

        Parameters
        ----------
        shift : Shift
            The result.
        label : label, optional
            The class with positive distances, by default the last.
        ax
            As in `plot`.

        Returns
        -------
        ShiftDisplay
        """
        check_kind(shift, Shift, "shift")
        classes = shift.before.classes
        place = len(classes) - 1
        if label is not None:
            place = index_of(label, classes, "label")
        chance = f"by chance up to {shift.moved_by_chance:.3g}"
        display = cls(
            before=shift.before.by_class[place],
            after=shift.after.by_class[place],
            label=classes.tolist()[place],
            title=f"moved by {shift.moved:.3g} ({chance})",
        )
        return display.plot(ax)

    def _draw(self) -> None:
        both = np.concatenate([self.before, self.after])
        both = both[np.isfinite(both)]
        # A few rows far away, or without any finite distance, must not set the scale.
        low = -1.0
        high = 1.0
        if len(both):
            low, high = np.quantile(both, [LEFT_OUT, 1.0 - LEFT_OUT])
        # The boundary, at 0, is always shown.
        edges = np.linspace(min(low, 0.0), max(high, low + 1e-6), BINS + 1)
        before = {"color": FAINT}
        now = {"color": VERMILLION, "histtype": "step", "linewidth": 1.8}
        self._draw_histogram(self.before, edges, label="before", **before)
        self._draw_histogram(self.after, edges, label="now", **now)
        self.ax_.axvline(
            0.0, color=GREY, linewidth=1.2, linestyle="--", label="threshold"
        )
        self.ax_.set(
            xlabel=f"signed distance from the boundary ({self.label} where positive)",
            ylabel="share of rows",
        )
        title(self.ax_, self.title)
        self.ax_.legend(frameon=False)

    def _draw_histogram(
        self, distances: np.ndarray, edges: np.ndarray, **look: Any
    ) -> None:
        shares = np.full(len(distances), 1.0 / max(len(distances), 1))
        # What lies outside is counted in the first and last bar.
        shown = np.clip(distances, edges[0], edges[-1])
        self.ax_.hist(shown, edges, weights=shares, **look)


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
    >>> y = np.arange(300) % 2
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) + y[:, None]
    >>> batches = np.repeat([1, 2, 3], 100)
    >>> model = WassersteinSVC(radius=0.1)
    >>> shifts = radius_from_batches(model, X, y, batches, random_state=0)
    >>> display = BatchShiftsDisplay.from_shifts(shifts)
    """

    shifts: BatchShifts

    @classmethod
    def from_shifts(cls, shifts: BatchShifts, *, ax: GivenAxes = None) -> Self:
        """Plot the movement to every batch.

        Parameters
        ----------
        shifts : BatchShifts
            What `radius_from_batches` has returned.
        ax
            As in `plot`.

        Returns
        -------
        BatchShiftsDisplay
        """
        check_kind(shifts, BatchShifts, "shifts")
        return cls(shifts=shifts).plot(ax)

    def _draw(self) -> None:
        ax = self.ax_
        figures = self.shifts.to_dict()
        places = np.arange(len(figures["batch"]))
        ax.bar(places, figures["moved"], color=FAINT, label="moved")
        chance = {"color": GREY, "linestyle": "--", "label": "by chance"}
        ax.plot(places, figures["moved_by_chance"], **chance)
        expected = {"color": BLUE, "marker": "o", "label": "expected errors"}
        ax.plot(places, figures["expected_error"], **expected)
        if None not in figures["error_now"]:
            known = {"color": VERMILLION, "marker": "s", "linestyle": ":"}
            ax.plot(places, figures["error_now"], label="errors", **known)
        step = max(1, len(places) // TICKS)
        names = [str(name) for name in figures["batch"][::step]]
        ax.set_xticks(places[::step], names, rotation=30, ha="right")
        ax.set_ylabel("units of shifts; share of errors")
        ax.legend(frameon=False)
