"""Missing values and categories."""

import numpy as np
import pytest

from drsvm.datasets import ReadOptions, read, read_like

pytestmark = pytest.mark.usefixtures("with_and_without_pyarrow")


def test_missing_values(write):
    path = write("data.csv", "a,b,label\n1,,x\nNA,4,y\n5,6,x\n")
    dropped = read(path, ReadOptions(missing="drop"))
    assert dropped.X.tolist() == [[5, 6]] and dropped.rows.tolist() == [2]
    assert any("2 of 3 rows have missing values" in note for note in dropped.notes)
    kept = read(path, ReadOptions(missing="median"))
    np.testing.assert_array_equal(kept.X, [[1, np.nan], [np.nan, 4], [5, 6]])


def test_one_hot(write):
    path = write("data.csv", "a,city,label\n1,Rome,x\n2,Oslo,y\n3,Rome,y\n")
    data = read(path, ReadOptions(one_hot=True))
    assert data.schema.feature_names == ["a", "city=Oslo", "city=Rome"]
    assert data.X.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    other = read_like(write("new.csv", "city,a\nOslo,5\nBonn,6\n"), data.schema)
    assert other.X.tolist() == [[5, 1, 0], [6, 0, 0]] and other.y is None
    assert any("'Bonn'" in note for note in other.notes)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'b' contains the text 'oops' (line 3), while 2 of 3 values"),
        ("a;b;label\n1;Rome, Oslo;x\n3;Bonn;y\n", {}, "--one-hot"),
        ("a,t,u,label\n1,p,r,x\n3,q,s,y\n", {}, "'u' also contain text: drop text columns (--drop t --drop u), or"),
        ("a,b,label\n1,,x\n3,4,y\n", {}, "column 'b' has no value at line 2 (1 of 2 values are missing)"),
        ("a,b,label\n1,nan,x\n3,4,y\n", {}, "--missing median"),
        ("a,b,label\n1,2,x\n3,-inf,y\n", {}, "column 'b' is infinite at line 3"),
        ("a,b,label\n1,2,x\n3,4,\n", {}, "line 3 has no label (column 'label')"),
        ("a,b,label\n1,,x\n,4,y\n", {"missing": "drop"}, "every row has a missing value"),
        ("a,b,label\n1,,x\n3,,y\n", {"missing": "median"}, "column 'b' is empty: drop it with --drop b"),
        ("a,t,label\n1,p,x\n3,,y\n", {"one_hot": True}, "column 't' has no value at line 3 (1 of 2 values are"),
        ("\n\na,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'oops' (line 5)"),
        ("a,t,label\n" + "".join(f"1,t{k},{k % 2}\n" for k in range(101)), {"one_hot": True}, "101 different texts"),
    ],
)  # fmt: skip
def test_invalid_cells(error_for, content, options, expected):
    assert expected in error_for("data.csv", content, **options)
