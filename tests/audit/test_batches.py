"""Movement from batch to batch."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC, radius_from_batches


def rows(steps=(0.0, 0.0, 1.0), n=200):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n * len(steps))
    batch = np.repeat(np.arange(len(steps)), n)
    return (
        rng.normal(size=(len(y), 2)) + y[:, None] + np.array(steps)[batch, None],
        y,
        batch,
    )


def test_each_batch_is_measured_against_the_one_before():
    X, y, batch = rows()
    found = radius_from_batches(WassersteinSVC(radius=0.1), X, y, batch, random_state=0)
    still, moved = found.shifts
    assert (
        found.names == [1, 2] and not still.more_than_chance and moved.more_than_chance
    )
    assert found.radius == moved.moved == pytest.approx(
        2**0.5, abs=0.25
    ) and found.coverage == pytest.approx(2 / 3)
    assert (
        moved.n_before == 100
        and moved.n_after == 200
        and moved.error_now > moved.error_before + 0.1
    )
    assert "errors now" in str(found) and len(str(found).splitlines()) == 4
    again = radius_from_batches(WassersteinSVC(radius=0.1), X, y, batch, random_state=0)
    assert again.to_dict() == found.to_dict()


def test_texts_come_in_the_order_of_their_rows_and_dates_are_sorted():
    pandas = pytest.importorskip("pandas")
    X, y, batch = rows()
    model = make_pipeline(StandardScaler(), LogisticRegression())
    frame = pandas.DataFrame(X, columns=["a", "b"])
    months = np.array(["May", "June", "April"])[batch]
    assert radius_from_batches(model, frame, y, months).names == ["June", "April"]
    days = np.array(["2024-05-01", "2024-06-01", "2024-04-01"], dtype="datetime64[D]")[
        batch
    ]
    table = radius_from_batches(
        model, frame, pandas.Series(y), pandas.Series(days)
    ).to_frame()
    assert (
        table["batch"].astype(str).str[:7].tolist() == ["2024-05", "2024-06"]
        and (table["rows"] == 200).all()
    )


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([1] * 600, "one batch, 1: movement needs two"),
        ([1, 2], "2 entries, but X has 600 rows"),
        ([1] * 3 + [2] * 597, "batch 1 has . rows of a class"),
    ],
)
def test_what_makes_no_sense_is_refused(batches, message):
    X, y, _ = rows()
    with pytest.raises(ValueError, match=message):
        radius_from_batches(WassersteinSVC(), X, y, batches)
