"""The choice of columns, and what is said about them."""

import time
from dataclasses import asdict, replace

import numpy as np
import pyarrow
import pytest
from file_contents import TABLE, check_error
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from thorough import examples

from drsvm.tables import (
    DataFileError,
    ReadOptions,
    Schema,
    TableReader,
    read,
    read_like,
)
from drsvm.tables.columns import absent_columns
from drsvm.tables.csv_files import CsvFile
from drsvm.tables.notes import leaky_columns


def test_columns_by_name_and_index(write):
    text = "id,a,b,c,kind\n1,2,3,4,x\n5,6,7,8,y\n"
    path = write("data.csv", text)
    assert read(path, ReadOptions(label="kind", features=("c", "a"))).X.to_pydict() == {
        "c": [4, 8],
        "a": [2, 6],
    }
    assert read(path, ReadOptions(label="-1", drop=("id,0,b",))).schema.columns == [
        "a",
        "c",
    ]
    assert read(path, ReadOptions(label="0", features=("1,2",))).y.tolist() == [1, 5]


def test_another_file_is_read_by_column_names(write):
    schema = read(write("data.csv", TABLE)).schema
    data = read_like(
        write("new.csv", "extra;label;b;a\nt;no;1;2\n"), Schema(**asdict(schema))
    )
    assert data.X.to_pydict() == {"a": [2], "b": [1]} and data.y.tolist() == ["no"]
    absent = r"there is no column 'b' \(needed by the model\).*'a', 'c'"
    check_error(absent, read_like, write("new.csv", "a,c\n1,2\n"), schema)
    absent = r"2 columns that the model needs are missing: 'a', 'b' \(is it 'B'\?\)"
    check_error(absent, read_like, write("new.csv", "xx,B\n1,2\n"), schema)


def test_time_grows_in_proportion_to_the_number_of_columns(write):
    n = 12000
    names = [f"c{k}" for k in range(n)]
    head = ",".join(names) + "\n"
    path = write("data.csv", head)
    start = time.process_time()
    assert CsvFile(path, head.encode(), ",", True).names == names
    assert absent_columns(names, names[::-1]) is None
    assert time.process_time() - start < 1.0


@examples(15, 300)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_a_column_is_leaky_where_a_threshold_splits_it(seed, n_wrong):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 9, 150).astype(float)
    y = (numbers >= 4).astype(int)
    y[:n_wrong] ^= 1
    table = pyarrow.table({"a": numbers})
    schema = Schema("table", 1, columns=["a"])
    split = ks_2samp(numbers[y == 0], numbers[y == 1], method="asymp").statistic
    found = leaky_columns(schema, table, y)
    assert found == (["a"] if 0.5 + 0.5 * split >= 0.99 else [])


def test_the_same_name_twice(write):
    data = read(write("data.csv", "a,b,a,label,a.1\n1,2,3,x,5\n2,3,4,y,6\n"))
    assert data.schema.columns == ["a", "b", "a.2", "a.1"] or data.schema.columns == [
        "a",
        "b",
        "a.1",
        "a.1.1",
    ]
    assert any("'a' as 'a.1'" in note for note in data.notes)


def test_a_second_column_with_the_name_of_the_label(write):
    path = write("data.csv", "a,label,label\n1,x,x\n2,y,y\n3,x,x\n")
    for label in ("label", "label.1", None):
        check_error(
            "2 columns are called 'label', like the label: drop",
            read,
            path,
            ReadOptions(label=label),
        )
    assert read(path, ReadOptions(label="label", drop=("label.1",))).schema.columns == [
        "a"
    ]


def test_everything_that_is_wrong_is_named_at_once(write):
    path = write(
        "data.csv", "age,size,town,label\n" + "1,2,Rome,x\n3,four,Oslo,y\n5,6,Rome,x\n"
    )
    options = ReadOptions(
        label="lable", drop=("twon",), mentioned=(("increasing", "agee"),)
    )
    with pytest.raises(DataFileError) as caught:
        read(path, options)
    message = str(caught.value)
    fixes = caught.value.fixes
    for part in (
        "'lable' (label)",
        "'twon' (drop)",
        "'agee' (increasing)",
        "the text 'four' (line 3)",
    ):
        assert part in message
    corrected = {
        "label": "label",
        "drop": "town",
        "increasing": "age",
        "missing_values": "four",
    }
    assert [fix[:2] for fix in fixes] == [*corrected.items()]


def test_options_for_columns_without_weight(error_for):
    rows = "".join(f"{k},{k * k % 17},t{k % 3},{k % 2}\n" for k in range(30))
    content = "number,a,town,label\n" + rows
    assert "is left out (an id)" in error_for(
        "data.csv", content, mentioned=(("trust_column", "number"),)
    )
    assert "categories, which have no order" in error_for(
        "data.csv", content, mentioned=(("increasing", "town"),)
    )
    assert "is not a feature" in error_for(
        "data.csv", content, mentioned=(("increasing", "a"),), drop=("a",)
    )
    assert "cannot be both" in error_for(
        "data.csv", content, numeric=("a",), categorical=("a",)
    )


def table(n=40):
    """Return a table with an id, a constant, gaps, a date and text that never repeats."""
    lines = [
        f"{7 * k},always,{k if k % 4 else ''},{'Rome' if k % 3 else ''},2024-01-{k % 28 + 1:02},note {k * k},{k % 2}"
        for k in range(n)
    ]
    return (
        "customer_id,same,income,town,joined,remark,label\n" + "\n".join(lines) + "\n"
    )


def test_what_was_done(write):
    data = read(write("data.csv", table()))
    assert data.schema.columns == ["income", "town", "joined"] and data.schema.gaps == [
        "income"
    ]
    assert data.schema.id == ["customer_id", "remark"]
    left, categories, dates, filled = data.notes[1:]
    assert left.startswith(
        "left out: customer_id (an id), same (always the same), remark (an id)"
    )
    assert (
        categories.startswith("categories: town (1)")
        and dates == "dates as days: joined."
    )
    assert (
        filled
        == "filled: income (10 of 40), town (14 of 40); numbers by their median and text as a level."
    )
    new = read_like(
        write("new.csv", "income,town,joined\n,Rome,2024-05-05\n3,,\n"), data.schema
    )
    assert new.notes == [
        filled.replace("10 of 40", "1 of 2").replace(
            "14 of 40)", "1 of 2), joined (1 of 2)"
        )
    ]


def test_levels_that_are_all_rare(write):
    rows = "".join(f"t{k % 40},{k % 7},{k % 2}\n" for k in range(120))
    data = read(write("data.csv", "town,a,label\n" + rows))
    assert data.schema.left_out == {"town": "40 levels, all of them rare"}


def test_a_column_that_says_the_same_as_the_label(write):
    rows = "".join(
        f"{k % 7},{'left' if k % 2 else 'here'},{'x' if k % 4 else 'z'},{k % 2}\n"
        for k in range(60)
    )
    data = read(write("data.csv", "a,alive,other,label\n" + rows))
    remedy = "if it is known only afterwards, leave it out: drop='alive'."
    assert (
        data.notes[-1]
        == f"alive alone determines the label (99\u202f% or more); {remedy}"
    )


def test_numbers_with_a_unit(write):
    lines = "".join(
        f"CHF {k % 60},{k % 9} kg,{k % 7},{'xy'[k % 2]}\n" for k in range(600)
    )
    data = read(write("data.csv", f"price,size,c,label\n{lines}"))
    assert any(
        note.startswith("numbers with a unit: price (CHF 0); they count as text")
        for note in data.notes
    )


def test_columns_of_the_same_name(write, tmp_path):
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    text = "a,b,a,label\n" + "".join(
        f"{k},{k * k % 7},{k % 5},{k % 2}\n" for k in range(30)
    )
    data = read(write("twice.csv", text), ReadOptions(numeric=("a",)))
    note = "Some columns have the same name; they are read under other names: 'a' as 'a.1'."
    assert data.schema.columns == ["a", "b", "a.1"] and note in data.notes
    assert note in read_like(tmp_path / "twice.csv", data.schema).notes
    once = read(
        write("once.csv", text.replace("a,b,a", "a,b,c")), ReadOptions(numeric=("a",))
    )
    taken = read_like(tmp_path / "twice.csv", replace(once.schema, columns=["a", "b"]))
    assert taken.X.column("a").to_pylist() == list(range(30)) and note in taken.notes, (
        "the first of them is taken"
    )
    table = pa.Table.from_arrays([pa.array([1.5, 2.5])] * 3, names=["a", "a", "label"])
    parquet.write_table(table, tmp_path / "twice.parquet")
    check_error(
        "2 columns are called 'a': rename them", read, tmp_path / "twice.parquet"
    )
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="2 columns are called 'a'"):
        TableReader(["a", "b"]).transform(frame)
