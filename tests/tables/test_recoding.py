"""JSON, Excel workbooks and UTF-16: read as the same table in CSV."""

import json
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from drsvm.tables import ReadOptions, read, read_like

N = 40


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=N).round(3),
            "rate": [1.326, 312] * (N // 2),
            "city": rng.choice(["São Paulo, SP", 'the "Hague"'], N),
            "paid": rng.random(N) < 0.5,
            "since": pd.date_range("2024-01-01", periods=N).astype(str),
            "count": [None, 7.0, 3.0, 4.0] * (N // 4),
            "label": [0, 1] * (N // 2),
        }
    )


@pytest.fixture(scope="module")
def contents(table):
    lines = table.to_json(orient="records", lines=True)
    return {
        "t.csv": table.to_csv(index=False).encode(),
        "u.csv": table.to_csv(index=False).encode("utf-16"),
        "t.jsonl": lines.encode(),
        "u.jsonl": lines.encode("utf-16"),
        "t.json": table.to_json(orient="records").encode(),
    }


def assert_same(found, expected):
    assert found.X.equals(expected.X) and (found.y == expected.y).all()
    assert found.schema.columns == expected.schema.columns
    assert found.schema.styles == expected.schema.styles


def test_all_are_the_same_table(write, contents):
    options = ReadOptions(decimal=".")
    expected = read(write("t.csv", contents["t.csv"]), options)
    for name in contents.keys() - {"t.csv"}:
        path = write(name, contents[name])
        assert_same(read(path, options), expected)
        assert_same(read_like(path, expected.schema), expected)
        # Numbers of JSON have decimal points.
        assert ("csv" in name) or read(path).schema.styles == expected.schema.styles


def test_a_workbook_is_the_same_table(write, table, contents):
    pytest.importorskip("openpyxl")
    stream = BytesIO()
    with pd.ExcelWriter(stream) as book:
        table.assign(since=pd.to_datetime(table["since"])).to_excel(
            book, sheet_name="customers", index=False
        )
        table.to_excel(book, sheet_name="old")
        # Cells with a format only are no rows.
        book.sheets["customers"].cell(N + 9, 2).number_format = "0.00"
    expected = read(write("t.csv", contents["t.csv"]), ReadOptions(decimal="."))
    found = read(write("t.xlsx", stream.getvalue()))
    assert_same(found, expected)
    assert "The sheet 'customers' is read, the first of the workbook." in found.notes
    # Its name does not matter.
    note = "book.csv contains excel data and is read as such."
    assert note in read(write("book.csv", stream.getvalue())).notes


def test_a_damaged_workbook(error_for):
    pytest.importorskip("openpyxl")
    error = error_for("t.xlsx", b"PK\x03\x04" + b"xl/workbook.xml" + bytes(99))
    assert "is a damaged workbook" in error and error.endswith("save it again.")


def test_without_openpyxl_the_error_says_how_to_install_it(write, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match="pip install openpyxl"):
        read(write("t.xlsx", b"PK\x03\x04xl/"))


def test_objects_may_lack_columns_and_have_lists(write):
    objects = [{"a": k, "label": k % 2, "tags": [k % 2, "x,y\nz"]} for k in range(30)]
    objects[3] = {"label": 1, "b": "first\nsecond,third"}
    path = write("t.jsonl", "\n".join(map(json.dumps, objects)))
    data = read(path, ReadOptions(numeric=("a",)))
    assert data.X.column("a").null_count == 1
    assert data.schema.columns == ["a", "tags", "b"] or "b" in data.schema.left_out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1, "label": "x"}\n{"a": 2, "label":\n', "line 2 is not a JSON object"),
        ('{"a": 1, "label": "x"}\n[5]\n', "line 2 is not a JSON object"),
        ('{\n  "a": 1\n}\n', "line 1 is not a JSON object"),
        ('[{"a": 1}, 5]', "line 1 is not a JSON object"),
        (
            '{"a": 1, "label": "x"}\n{"a": "oops", "label": "y"}\n{"a": 2, "label": "x"}',
            "'a' contains the text 'oops' (line 2), while 2 of 3 values",
        ),
    ],
)
def test_what_is_wrong_with_json(error_for, content, message):
    assert message in error_for("t.jsonl", content)


def test_a_changed_file_is_read_again(write, contents):
    objects = [{"a": k, "label": "x" if k % 2 else "y"} for k in range(30)]
    sizes = []
    for some in (objects, objects[:20]):
        path = write("t.jsonl", "\n".join(map(json.dumps, some)))
        sizes.append(len(read(path, ReadOptions(numeric=("a",))).y))
    assert sizes == [30, 20]
