"""The choice of columns."""

import pytest
from file_contents import TABLE

from drsvm.datasets import DataFileError, ReadOptions, Schema, read, read_like

pytestmark = pytest.mark.usefixtures("with_and_without_pyarrow")


def test_columns_by_name_and_index(write):
    text = "id,a,b,c,kind\n1,2,3,4,x\n5,6,7,8,y\n"
    path = write("data.csv", text)
    assert read(path, ReadOptions(label="kind", features=("c", "a"))).X.tolist() == [[4, 2], [8, 6]]
    assert read(path, ReadOptions(label="-1", drop=("id,0,b",))).schema.columns == ["a", "c"]
    assert read(path, ReadOptions(label="0", features=("1,2",))).y.tolist() == [1, 5]


def test_another_file_is_read_by_column_names(write):
    schema = read(write("data.csv", TABLE)).schema
    data = read_like(write("new.csv", "extra;label;b;a\nt;no;1;2\n"), Schema.from_dict(schema.to_dict()))
    assert data.X.tolist() == [[2, 1]] and data.y.tolist() == ["no"]
    with pytest.raises(DataFileError, match=r"there is no column 'b' \(needed by the model\).*'a', 'c'"):
        read_like(write("new.csv", "a,c\n1,2\n"), schema)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (TABLE, {"label": "lable"}, "no column 'lable' (--label): did you mean 'label'?"),
        (TABLE, {"label": "zzz"}, "the columns are 'a', 'b', 'label'"),
        (TABLE, {"label": "7"}, "--label 7: there are 3 columns, 0 to 2"),
        (TABLE, {"features": ("a", "q")}, "no column 'q' (--features)"),
        (TABLE, {"drop": ("a", "b")}, "no feature columns remain"),
        (TABLE, {"features": ("label",)}, "is the label column and cannot be a feature"),
        (TABLE, {"drop": ("label",)}, "is the label column and cannot be dropped"),
        ("a,b,a,label\n1,2,3,x\n", {}, "columns 0 and 2 are both called 'a'"),
    ],
)  # fmt: skip
def test_invalid_columns(error_for, content, options, expected):
    assert expected in error_for("data.csv", content, **options)
