"""The study of the benchmarks: data sets as they are stored, and the cells in which a
method is behind.
"""

import lzma
import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path += [
    str(Path(__file__).parents[1] / "benchmarks" / folder) for folder in ("", "study")
]
from _common import data_file, load
from cases import DECIDED, REPORTED, Case, rows_of
from methods import DEFAULT, REFERENCE
from tables import sections


def test_the_halves_share_no_data():
    assert len({*DECIDED, *REPORTED}) == len(DECIDED) + len(REPORTED) == 20
    assert {"a5a", "adult"} <= set(DECIDED)  # the same people


def test_a_table_becomes_numbers(tmp_path, monkeypatch):
    text = "survived,age,deck,alive\n0,3,B,no\n1,,,yes\n1,8,A,yes\n0,4,B,no\n"
    (tmp_path / "titanic.csv.xz").write_bytes(lzma.compress(text.encode()))
    monkeypatch.setenv("DRSVM_DATA", str(tmp_path))
    X, y = load.__wrapped__("titanic")
    # Age, decks "", A, B
    np.testing.assert_array_equal(
        X, [[3, 0, 0, 1], [4, 1, 0, 0], [8, 0, 1, 0], [4, 0, 0, 1]]
    )
    np.testing.assert_array_equal(y, [0, 1, 1, 0])
    with pytest.raises(SystemExit, match=r"adult\.csv\.xz"):
        load.__wrapped__("adult")


@pytest.mark.skipif("DRSVM_DATA" not in os.environ, reason="DRSVM_DATA is not set")
@pytest.mark.parametrize(
    ("name", "shape", "n_positive"),
    [
        ("titanic", (891, 30), 342),
        ("arrhythmia", (452, 279), 207),
        ("wilt", (4839, 5), 261),
    ],
)
def test_stored_tables(name, shape, n_positive):
    if data_file(name) is None:
        pytest.skip(f"{name} is not in DRSVM_DATA")
    X, y = rows_of(name)
    assert X.shape == shape and y.sum() == n_positive and np.isfinite(X).all()
    assert not any(
        (column == y).all() for column in X.T
    )  # nothing gives the label away


def test_final_boards():
    X, y = rows_of("tic-tac-toe")
    assert (
        len(np.unique(X, axis=0)) == len(X) == 958 and y.sum() == 316 + 16
    )  # o has won, or neither
    blank, n_x, n_o = X.reshape(-1, 9, 3).sum(axis=1).T
    assert (n_x[y == 0] == n_o[y == 0] + 1).all() and (blank + n_x + n_o == 9).all()


def test_cells_behind_are_counted_on_means_and_named():
    gains = {  # of two seeds, in accuracy, balanced accuracy and AUC
        ("wilt", "clean"): [(-9, -3, 0), (-3, -3, 0)],
        ("wilt", "20 %"): [(-9, -1, 0), (-3, -1, 0)],
        ("wilt", "class"): [(-5, -9, 0), (-5, -9, 0)],
        ("splice", "35 %"): [(2, 2, -9), (2, 2, -3)],
        ("splice", "class"): [(2, 2, -9), (2, 2, 3)],
    }
    cells = [
        (data, noise)
        for data in ("wilt", "splice")
        for noise in ("clean", "20 %", "35 %", "class", "boundary")
    ]
    found = {
        Case(cell[0], 100, cell[1], seed): {
            REFERENCE: [80.0, 80.0, 80.0],
            DEFAULT: [80.0 + gain for gain in gains.get(cell, [(0, 0, 0)] * 2)[seed]],
        }
        for cell in cells
        for seed in (0, 1)
    }
    text = "\n".join(sections(found))
    assert (
        f"| {DEFAULT} against {REFERENCE} | 2 of 10 | 1 of 5 | 1 of 5 | 2 of 10 | 2 of"
        " 5 | 0 of 5 |" in text
    )
    behind = "wilt, clean (-6.0 / -3.0 / +0.0); splice, 35 % (+2.0 / +2.0 / -6.0)"
    assert (
        f"- {DEFAULT}: {behind}. In accuracy only: wilt, 20 % (-6.0 / -1.0 / +0.0)."
        in text
    )
    worst = "-6.0 (wilt) | -6.0 (wilt) | +0.0 (wilt) | -5.0 (wilt) | +0.0 (wilt)"
    assert (
        text.count(f"| {DEFAULT}, accuracy | {worst} |") == 2
    )  # of all, and of the deciding data sets
