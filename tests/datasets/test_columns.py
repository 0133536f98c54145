"""The choice of columns."""

from dataclasses import asdict

import pytest
from file_contents import TABLE, check_error

from drsvm.datasets import DataFileError, ReadOptions, Schema, read, read_like


def test_columns_by_name_and_index(write):
    text = "id,a,b,c,kind\n1,2,3,4,x\n5,6,7,8,y\n"
    path = write("data.csv", text)
    assert read(path, ReadOptions(label="kind", features=("c", "a"))).X.to_pydict() == {"c": [4, 8], "a": [2, 6]}
    assert read(path, ReadOptions(label="-1", drop=("id,0,b",))).schema.columns == ["a", "c"]
    assert read(path, ReadOptions(label="0", features=("1,2",))).y.tolist() == [1, 5]


def test_another_file_is_read_by_column_names(write):
    schema = read(write("data.csv", TABLE)).schema
    data = read_like(write("new.csv", "extra;label;b;a\nt;no;1;2\n"), Schema(**asdict(schema)))
    assert data.X.to_pydict() == {"a": [2], "b": [1]} and data.y.tolist() == ["no"]
    absent = r"there is no column 'b' \(needed by the model\).*'a', 'c'"
    check_error(absent, read_like, write("new.csv", "a,c\n1,2\n"), schema)
    absent = r"2 columns that the model needs are missing: 'a', 'b' \(is it 'B'\?\)"
    check_error(absent, read_like, write("new.csv", "xx,B\n1,2\n"), schema)


def test_the_same_name_twice(write):
    data = read(write("data.csv", "a,b,a,label,a.1\n1,2,3,x,5\n2,3,4,y,6\n"))
    assert data.schema.columns == ["a", "b", "a.2", "a.1"] or data.schema.columns == ["a", "b", "a.1", "a.1.1"]
    assert any("'a' as 'a.1'" in note for note in data.notes)


def test_a_second_column_with_the_name_of_the_label(write):
    path = write("data.csv", "a,label,label\n1,x,x\n2,y,y\n3,x,x\n")
    for label in ("label", "label.1", None):
        check_error("2 columns are called 'label', like the label: drop", read, path, ReadOptions(label=label))
    assert read(path, ReadOptions(label="label", drop=("label.1",))).schema.columns == ["a"]


def test_everything_that_is_wrong_is_named_at_once(write):
    path = write("data.csv", "age,size,town,label\n" + "1,2,Rome,x\n3,four,Oslo,y\n5,6,Rome,x\n")
    options = ReadOptions(label="lable", drop=("twon",), mentioned=(("increasing", "agee"),))
    with pytest.raises(DataFileError) as caught:
        read(path, options)
    message, fixes = str(caught.value), caught.value.fixes
    for part in ("'lable' (label)", "'twon' (drop)", "'agee' (increasing)", "the text 'four' (line 3)"):
        assert part in message
    corrected = {"label": "label", "drop": "town", "increasing": "age", "missing_values": "four"}
    assert [fix[:2] for fix in fixes] == [*corrected.items()]


def test_options_for_columns_without_weight(error_for):
    rows = "".join(f"{k},{k * k % 17},t{k % 3},{k % 2}\n" for k in range(30))
    content = "number,a,town,label\n" + rows
    assert "is left out (an id)" in error_for("data.csv", content, mentioned=(("trust_column", "number"),))
    assert "categories, which have no order" in error_for("data.csv", content, mentioned=(("increasing", "town"),))
    assert "is not a feature" in error_for("data.csv", content, mentioned=(("increasing", "a"),), drop=("a",))
    assert "cannot be both" in error_for("data.csv", content, numeric=("a",), categorical=("a",))
