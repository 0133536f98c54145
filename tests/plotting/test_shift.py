"""Plots of movement."""

import numpy as np
import pytest
from plots import labels

from drsvm import (
    BatchShiftsDisplay,
    ShiftDisplay,
    WassersteinSVC,
    measure_shift,
    radius_from_batches,
)


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    return rng.normal(size=(300, 2)) + y[:, None], y


def test_distances_before_and_now_are_drawn(parts, ax):
    X, y = parts
    model = WassersteinSVC(radius=0.1).fit(X[:150], y[:150])
    shift = measure_shift(model, X[150:], y[150:], X[150:] + 1.0, random_state=0)
    display = ShiftDisplay.from_shift(shift, label=1, ax=ax)
    np.testing.assert_array_equal(display.after, shift.after.distances[1])
    assert (
        set(labels(ax)) == {"before", "now", "threshold"}
        and "(1 where positive)" in ax.get_xlabel()
    )
    bars = sum(
        patch.get_height() for patch in ax.patches if hasattr(patch, "get_height")
    )
    assert bars == pytest.approx(1.0)  # all rows, also those beyond the edges
    with pytest.raises(ValueError, match="label=7 is not one of the classes"):
        ShiftDisplay.from_shift(shift, label=7)


def test_movements_of_batches_are_drawn(parts, ax):
    X, y = parts
    shifts = radius_from_batches(
        WassersteinSVC(radius=0.1), X, y, np.repeat([1, 2, 3], 100), random_state=0
    )
    BatchShiftsDisplay.from_shifts(shifts, ax=ax)
    assert set(labels(ax)) == {"moved", "by chance", "expected errors", "errors"}
    assert [bar.get_height() for bar in ax.patches] == shifts.to_dict()["moved"]
