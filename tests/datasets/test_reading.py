"""Rows with empty cells, and cells that need a decision."""

import numpy as np
import pytest

from drsvm.datasets import DataFileError, ReadOptions, read, read_like

GAPPY = "a,b,label\n1,,x\nNA,4,y\n5,6,x\n"


def test_missing_values(write):
    path = write("data.csv", GAPPY)
    filled = read(path)
    assert filled.X.to_pydict() == {"a": [1, None, 5], "b": [None, 4, 6]}
    dropped = read(path, ReadOptions(missing="drop", numeric=("a", "b")))
    assert dropped.X.to_pydict() == {"a": [5], "b": [6]} and dropped.rows.tolist() == [2]
    assert any("2 of 3 rows have missing values" in note for note in dropped.notes)


def test_a_model_treats_empty_cells_as_in_its_training(write):
    whole, gappy = write("data.csv", "a,b,label\n1,2,x\n3,4,y\n"), write("new.csv", "a,b\n1,\n3,4\n")
    strict = read(whole, ReadOptions(missing="error")).schema
    with pytest.raises(DataFileError, match="column 'b' has an empty cell at line 2"):
        read_like(gappy, strict)
    assert read_like(gappy, strict, ReadOptions(missing="drop")).rows.tolist() == [1]
    assert read_like(gappy, read(whole, ReadOptions(missing="drop")).schema).rows.tolist() == [1]


def test_rows_without_a_label_are_left_out(write):
    data = read(write("data.csv", "a,b,label\n1,2,x\n3,4,\n5,6,y\n"))
    assert data.rows.tolist() == [0, 2] and data.y.tolist() == ["x", "y"]
    assert any("1 of 3 rows have no label and are left out" in note for note in data.notes)


def test_verified_labels(write, error_for):
    rows = "1,2,x,yes\n3,4,y,no\n5,6,x,\n7,9,,yes\n"
    data = read(write("data.csv", f"a,b,label,checked\n{rows}"), ReadOptions(label="label", verified="checked"))
    assert data.verified.tolist() == [True, False, False] and data.schema.columns == ["a", "b"]
    other = "a,b,label,checked\n1,2,x,perhaps\n3,4,y,no\n"
    assert "must say yes or no" in error_for("data.csv", other, label="label", verified="checked")
    other = "a,b,label,checked\n1,2,x,3\n3,4,y,0\n"
    assert "contains other numbers" in error_for("data.csv", other, label="label", verified="checked")


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'b' contains the text 'oops' (line 3), while 2 of 3 values"),
        (GAPPY, {"missing": "error"}, "column 'b' has an empty cell at line 2 (1 of 3 are empty)"),
        ("a,b,label\n1,2,x\n3,4,\n", {"missing": "error"}, "column 'label' has no label at line 3"),
        ("a,b,label\n1,,x\n,4,y\n", {"missing": "drop", "numeric": ("a", "b")}, "every row has a missing value"),
        ("a,b,label\n1,2,\n3,4,\n", {}, "no row has a label"),
        ("a,b,label\n1,,x\n1,,y\n", {}, "left out: a (always the same), b (empty)"),
        ("\n\na,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'oops' (line 5)"),
        ("\na,t,label\n1,p,x\n3,\"q\nr\",y\n", {}, "column 't' that starts in line 4 spans several lines"),
    ],
)  # fmt: skip
def test_invalid_cells(error_for, content, options, expected):
    assert expected in error_for("data.csv", content, **options)


def test_a_table_of_a_million_cells_of_text_is_read_at_once(write):
    """Types are guessed from the whole file: the only text is in the last row."""
    rows = "".join(f"{k},{k % 2}\n" for k in range(100_000))
    with pytest.raises(DataFileError, match=r"the text 'oops' \(line 100002\)"):
        read(write("data.csv", f"a,label\n{rows}oops,1\n"))
    data = read(write("data.csv", f"a,label\n{rows}\n"), ReadOptions(numeric=("a",)))
    np.testing.assert_array_equal(data.X.column("a"), np.arange(100_000))
