"""Movement from batch to batch."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing
from thorough import unless_long

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
    "kind", unless_long(["frame"], [np.asarray, sparse.csr_matrix, "frame"]), ids=str
)
def test_the_order_of_rows_does_not_matter(kind):
    X, y, batch = rows(n=30)
    X = np.round(X)  # with copies of rows
    y[0] = 1 - y[0]
    model = LogisticRegression()
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        texts = np.array(["x", None, "y"], dtype=object)[np.arange(90) % 3]
        X = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "text": texts})
        X.index = X.index[::-1]
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), model)
    else:
        X = kind(X)
    found = radius_from_batches(model, X, y, batch, random_state=0).to_dict()
    order = np.random.default_rng(1).permutation(90)
    other = _safe_indexing(X, order)
    again = radius_from_batches(model, other, y[order], batch[order], random_state=0)
    for name, figures in again.to_dict().items():
        assert figures == pytest.approx(found[name], rel=1e-9)


@pytest.mark.thorough
def test_lists_are_accepted():
    X, y, batch = rows(n=30)
    found = radius_from_batches(
        LogisticRegression(), X.tolist(), y.tolist(), batch.tolist(), random_state=0
    )
    expected = radius_from_batches(LogisticRegression(), X, y, batch, random_state=0)
    assert found.to_dict() == expected.to_dict() and found.names == [1, 2]
    names = ["late", 7, ("a", 1)]
    mixed = np.empty(90, dtype=object)
    mixed[:] = [names[place] for place in batch]
    assert (
        radius_from_batches(LogisticRegression(), X, y, mixed, random_state=0).names
        == names[1:]
    )


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([1] * 600, "one batch, 1: movement needs two"),
        ([1, 2], "2 entries, but X has 600 rows"),
        ([1] * 3 + [2] * 597, "batch 1 has . rows of a class"),
        ([1.0] * 300 + [math.nan] * 300, "batches has nan .* in 300 of 600 rows"),
        (np.array(["2024-01"] * 9 + ["NaT"] * 591, "M8[M]"), "batches has None"),
        (["a"] * 300 + [None] * 300, "batches has None .* row 300"),
    ],
)
def test_what_makes_no_sense_is_refused(batches, message):
    X, y, _ = rows()
    with pytest.raises(ValueError, match=message):
        radius_from_batches(WassersteinSVC(), X, y, batches)
