"""Rows with empty cells, and cells that need a decision."""

import numpy as np
import pytest
from file_contents import check_error

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
    check_error("column 'b' has an empty cell at line 2", read_like, gappy, strict)
    assert read_like(gappy, strict, ReadOptions(missing="drop")).rows.tolist() == [1]
    assert read_like(gappy, read(whole, ReadOptions(missing="drop")).schema).rows.tolist() == [1]


def test_rows_without_a_label_are_left_out(write):
    data = read(write("data.csv", "a,b,label\n1,2,x\n3,4,\n5,6,y\n"))
    assert data.rows.tolist() == [0, 2] and data.y.tolist() == ["x", "y"]
    assert any("1 of 3 rows has no label and is left out" in note for note in data.notes)


def test_verified_labels(write, error_for):
    rows = "1,2,x,yes\n3,4,y,no\n5,6,x,\n7,9,,yes\n"
    data = read(write("data.csv", f"a,b,label,checked\n{rows}"), ReadOptions(label="label", verified="checked"))
    assert data.verified.tolist() == [True, False, False] and data.schema.columns == ["a", "b"]
    other = "a,b,label,checked\n1,2,x,perhaps\n3,4,y,no\n"
    assert "must contain yes or no" in error_for("data.csv", other, label="label", verified="checked")
    other = "a,b,label,checked\n1,2,x,3\n3,4,y,0\n"
    assert "contains other numbers" in error_for("data.csv", other, label="label", verified="checked")


@pytest.mark.thorough
def test_a_table_of_a_million_cells_of_text_is_read_at_once(write):
    """Types are guessed from the whole file: the only text is in the last row."""
    rows = "".join(f"{k},{k % 2}\n" for k in range(100_000))
    check_error(r"the text 'oops' \(line 100002\)", read, write("data.csv", f"a,label\n{rows}oops,1\n"))
    data = read(write("data.csv", f"a,label\n{rows}\n"), ReadOptions(numeric=("a",)))
    np.testing.assert_array_equal(data.X.column("a"), np.arange(100_000))


def test_cells_may_span_several_lines(write):
    lines = "".join(f'{k},"Main St {k % 3}\nOslo, Norway",{"xy"[k % 2]}\n' for k in range(60))
    data = read(write("data.csv", f"a,t,label\n{lines}".replace("Oslo, Norway", "Oslo")))
    assert data.schema.styles == {"t": "category"} and data.X.column("t")[0].as_py() == "Main St 0\nOslo"
    wide = "".join(f'{k},{k % 7},{"xy"[k % 2]},"Main St {k % 3}\nOslo, Norway"\n' for k in range(60))
    data = read(write("data.csv", f"a,b,label,t\n{wide}"), ReadOptions(label="label"))
    assert data.X.column("t")[0].as_py() == "Main St 0\nOslo, Norway"


def test_accountants_numbers(write):
    """A dash is an empty cell, brackets and a minus before the currency are negative."""
    cells = ["-", "(1,326)", "$1,326", "-$12", "(20.5)"] * 12
    content = "".join(f'"{cell}",{k % 7}.5,{"xy"[k % 2]}\n' for k, cell in enumerate(cells))
    data = read(write("data.csv", f"sales,rate,label\n{content}"))
    assert data.schema.styles == {"sales": "thousands separators"}
    assert data.X.column("sales").to_pylist()[:5] == [None, -1326.0, 1326.0, -12.0, -20.5]


def test_texts_among_numbers_with_separators(write, error_for):
    content = "a,b,label\n" + "".join(
        f'"{"1,326" if k % 5 else f"none {k}"}",{k % 7}.5,{"xy"[k % 2]}\n' for k in range(60)
    )
    assert "while 48 of 60 values are numbers" in error_for("data.csv", content)
    data = read(write("data.csv", content), ReadOptions(numeric=("a",)))
    assert data.schema.styles["a"] == "thousands separators or empty"
    assert data.X.column("a").to_pylist()[:2] == [None, 1326.0]


def test_infinite_values_of_both_signs(write):
    content = "a,b,label\n" + "".join(f"{k},{k % 3},{'xy'[k % 2]}\n" for k in range(30)) + "1,inf,x\n1,-inf,y\n"
    with pytest.raises(DataFileError) as error:
        read(write("data.csv", content))
    assert [(fix.name, fix.value) for fix in error.value.fixes] == [
        ("missing_values", "inf"),
        ("missing_values", "-inf"),
    ]


def test_numbers_that_may_be_ids(write):
    rng = np.random.default_rng(0)
    a, b = rng.permutation(10**6)[:120], rng.permutation(10**6)[:120]
    lines = "".join(f"{a[k]},{b[k]},{k % 5},{'xy'[k % 2]}\n" for k in range(120))
    data = read(write("data.csv", f"acct,size,c,label\n{lines}"))
    assert data.schema.left_out == {"acct": "an id"}
    assert "all different: size; if such a number is an id, drop it." in data.notes


def test_labels_that_differ_only_in_case(write):
    lines = "".join(f"{k},{k % 5},{('Yes', 'yes', 'no')[k % 3]}\n" for k in range(60))
    [note] = [note for note in read(write("data.csv", f"a,b,label\n{lines}")).notes if "case" in note]
    assert note.startswith("the labels 'Yes', 'yes' differ only in case")
