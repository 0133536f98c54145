"""Conversion of texts to numbers, booleans and labels."""

import pytest
from file_contents import TABLE

from drsvm.datasets import DataFileError, read, read_like

pytestmark = pytest.mark.usefixtures("with_and_without_pyarrow")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "0"], [1, 0]),
        (["1.0", "-1"], [1, -1]),
        (["01", "2"], ["01", "2"]),
        (["True", "False"], ["True", "False"]),
        (["a ", " b"], ["a", "b"]),
        (["1", "b"], ["1", "b"]),
    ],
)
def test_labels(write, texts, expected):
    data = read(write("data.csv", f"a,b,label\n1,2,{texts[0]}\n3,4,{texts[1]}\n"))
    assert data.y.tolist() == expected


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["01", "1", "01"], ["01", "1", "01"]),
        (["007", "010", "010"], ["007", "010", "010"]),
        (["1", "1.0", "2"], ["1", "1.0", "2"]),
        (["1_0", "2", "2"], ["1_0", "2", "2"]),
        (["9007199254740993", "1", "1"], ["9007199254740993", "1", "1"]),
        (["+1", "-1", "+1"], [1, -1, 1]),
        (["1.0", "0.0", "1.0"], [1, 0, 1]),
    ],
)
def test_labels_become_numbers_unless_information_is_lost(write, texts, labels):
    lines = "".join(f"{k},{text}\n" for k, text in enumerate(texts))
    assert read(write("data.csv", f"a,label\n{lines}")).y.tolist() == labels


def test_booleans_become_numbers(write):
    data = read(write("data.csv", "a,b,label\nTRUE,1,0\nfalse,2,1\n"))
    assert data.X[:, 0].tolist() == [1, 0]


def test_decimal_commas_in_a_file_for_a_model(write):
    schema = read(write("data.csv", TABLE)).schema
    with pytest.raises(DataFileError, match=r"column 'b' contains '2,5' \(line 2\): use decimal points.*1234.5\.$"):
        read_like(write("new.csv", "a;b\n1;2,5\n"), schema)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a;b;label\n1,5;2;x\n3;4;y\n", {}, "column 'a' contains '1,5' (line 2): use decimal points and no thousands"),
        ("a;b;label\n1,5;2,5;x\n3,0;4;y\n", {}, "'1,5' (line 2) (similarly in 'b'): use decimal points"),
        ('a,b,label\n1,"3,14",x\n3,"-,5e-2",y\n', {}, "column 'b' contains '3,14' (line 2): use decimal points"),
        ('a,b,label\n1,"1,234,567",x\n3,"99",y\n', {}, "'1,234,567' (line 2): use decimal points and no thousands"),
        ("t;b;label\nRome;1.234,5;x\nOslo;4;y\n", {"one_hot": True}, "column 'b' contains '1.234,5' (line 2): use"),
        ("1,5;2,5;3,5;x\n3,0;4,1;6,5;y\n", {"header": False}, "'1,5' (line 1) (similarly in 'column1', 'column2')"),
        ("a,b,label\n1,1_0,x\n3,4,y\n5,6,x\n", {}, "column 'b' contains the text '1_0' (line 2)"),
    ],
)  # fmt: skip
def test_numbers_that_are_rejected(error_for, content, options, expected):
    assert expected in error_for("data.csv", content, **options)
