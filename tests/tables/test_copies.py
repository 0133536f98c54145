"""Rows that occur more than once: copies are told from rows that are alike by nature, and stay together in a split."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
from scipy import sparse

from drsvm.tables import read
from drsvm.tables.copies import (
    about_copies,
    can_stay_together,
    copies_of,
    held_out_rows,
)

RNG = np.random.default_rng(0)
ROWS = np.column_stack(
    [RNG.normal(size=200), RNG.integers(0, 4, 200), RNG.integers(0, 50, 200)]
).astype(float)
ROWS[:5, 2] = np.nan
TWICE = np.vstack([ROWS, ROWS[:30]])
PARTNERS = np.concatenate([np.arange(200), np.arange(30)])


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.asfortranarray,
        lambda rows: sparse.csr_array(np.nan_to_num(rows)),
        lambda rows: pd.DataFrame(rows, columns=["a", "b", "b"]),
        lambda rows: pd.DataFrame(
            {"a": rows[:, 0], "text": [f"n{cell}" for cell in rows[:, 2]]}
        ),
        lambda rows: pyarrow.table(
            {"a": rows[:, 0], "text": [str(cell) for cell in rows[:, 2]]}
        ),
    ],
)
def test_copies_have_the_same_number(form):
    copies = copies_of(form(TWICE))
    assert copies is not None
    assert len(np.unique(copies)) == 200 and (copies == copies[PARTNERS]).all()
    assert copies_of(form(ROWS)) is None


@pytest.mark.parametrize("n", [50, 500, 5000])
def test_rows_that_are_alike_by_nature_are_not_copies(n):
    person = RNG.normal(size=n)
    answers = np.column_stack(
        [np.digitize(person + RNG.normal(size=n), [-1, 0, 1]) for _ in range(6)]
    )
    ages = RNG.integers(20, 60, n)
    assert (
        copies_of(answers) is None
        and copies_of(np.column_stack([ages, answers[:, 0]])) is None
    )
    assert (
        copies_of(ages[:, None]) is None
        and copies_of(sparse.csr_array(answers.astype(float))) is None
    )


def test_copies_stay_on_one_side_of_a_split():
    y = (TWICE[:, 1] > 1).astype(int)
    y[200] = 1 - y[200]  # a copy with another label
    copies = copies_of(TWICE)
    for size in (0.25, 57):
        train, test = held_out_rows(y, size, 0, copies)
        assert sorted([*train, *test]) == list(range(230)) and 40 <= len(test) <= 75
        assert not set(copies[train]) & set(copies[test]) and set(y[test]) == {0, 1}
    assert about_copies(y, copies) == [
        "60 of 230 rows occur more than once; copies of a row are held out together, or not at all."
    ]


def test_a_class_of_copies_of_one_row_is_split():
    y = np.zeros(230, dtype=int)
    y[[0, 200]] = 1
    copies = copies_of(TWICE)
    assert not can_stay_together(y, copies)
    train, test = held_out_rows(y, 0.5, 0, copies)
    assert set(y[train]) == set(y[test]) == {0, 1}
    assert "both in training and in the test" in about_copies(y, copies)[0]


@pytest.mark.parametrize("times", [1.1, 3])
def test_an_id_that_repeats_with_its_row_is_still_an_id(tmp_path, times):
    frame = pd.DataFrame(
        {
            "id": RNG.permutation(10**6)[:200],
            "name": [f"n{k}" for k in range(200)],
            "size": ROWS[:, 0],
        }
    )
    frame = frame.assign(
        colour=RNG.choice(list("rgb"), 200), label=RNG.choice(["x", "y"], 200)
    )
    rows = np.resize(np.arange(200), int(200 * times))
    frame.iloc[rows].to_csv(tmp_path / "table.csv", index=False)
    assert list(read(tmp_path / "table.csv").schema.left_out) == ["id", "name"]
