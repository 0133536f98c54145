"""Parquet and zstandard files."""

import datetime
import sys

import numpy as np
import pyarrow
import pytest
from file_contents import TABLE, check_error
from pyarrow import parquet

from drsvm.tables import ReadOptions, Schema, TableReader, read, read_like


def test_zstandard_and_parquet(write):
    assert read(
        write(
            "data.csv.zst", pyarrow.compress(TABLE.encode(), codec="zstd", asbytes=True)
        )
    ).shape == (3, 2)
    table = pyarrow.table(
        {
            "a": [1, 2],
            "b": [0.5, None],
            "c": [True, False],
            "t": ["u", "v"],
            "y": ["no", "yes"],
        }
    )
    path = write("data.parquet", b"")
    parquet.write_table(table, path)
    data = read(path)
    expected = {"a": [1, 2], "b": [0.5, None], "c": [1, 0], "t": ["u", "v"]}
    assert data.X.to_pydict() == expected and data.y.tolist() == ["no", "yes"]
    assert data.schema.styles == {
        "c": "true or false",
        "t": "category",
    } and data.schema.gaps == ["b"]
    check_error(
        "column 'b' has an empty cell at row 2",
        read,
        path,
        ReadOptions(missing="error"),
    )


def test_integers_dates_and_texts_of_parquet_files(tmp_path):
    path = tmp_path / "data.parquet"
    days = [datetime.date(1970, 1, 2), datetime.date(1970, 1, 4)]
    moments = [datetime.datetime(1970, 1, 1, 12), None]
    columns = {"a": [1, 3], "day": days, "moment": moments, "y": [2**60, 2**60 + 1]}
    parquet.write_table(pyarrow.table(columns), path)
    data = read(path)
    assert data.y.tolist() == [str(2**60), str(2**60 + 1)]
    assert data.X.to_pydict() == {"a": [1, 3], "day": [1, 3], "moment": [0.5, None]}
    schema = Schema("table", 1, "y", ["t"], {"t": "category"})
    for values in ([1, 2], [1.0, 2.0], ["1", "2.0"]):
        parquet.write_table(pyarrow.table({"t": values, "y": [1, 0]}), path)
        data = read_like(path, schema)
        assert data.X.to_pydict() == {"t": ["1", "2"]} and data.y.tolist() == [1, 0]
    parquet.write_table(pyarrow.table({"a": ["1", "2"], "y": [0, 1]}), path)
    assert read(path).X.to_pydict() == {"a": [1, 2]}
    parquet.write_table(
        pyarrow.table({"a": pyarrow.array([None, None], "string"), "y": [0, 1]}), path
    )
    check_error(r"no column is left to learn from; left out: a \(empty\)", read, path)


def test_truncated_zstandard_and_parquet_files(error_for, write, tmp_path):
    whole = pyarrow.compress((TABLE * 5000).encode(), codec="zstd", asbytes=True)
    assert "is truncated or damaged" in error_for("data.csv.zst", whole[:-20])
    parquet.write_table(
        pyarrow.table({"a": np.arange(5000), "y": np.arange(5000) % 2}),
        tmp_path / "whole.parquet",
    )
    content = (tmp_path / "whole.parquet").read_bytes()
    assert "is truncated or damaged" in error_for("data.parquet", content[:1000])
    assert "is not a Parquet file" in error_for("data.parquet", "a,b\n1,2\n")
    parquet.write_table(
        pyarrow.table({"a": [[1], [2]], "y": [0, 1]}), tmp_path / "data.parquet"
    )
    check_error(
        r"column 'a' has type list.*: drop it with drop='a'",
        read,
        tmp_path / "data.parquet",
    )


def test_parquet_and_zstandard_name_the_extra(error_for, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in error_for("data.parquet", b"PAR1...")
    if sys.version_info < (3, 14):
        assert "pip install pyarrow" in error_for(
            "data.csv.zst", b"\x28\xb5\x2f\xfdrest"
        )


def test_durations_and_times_of_day(tmp_path):
    pandas = pytest.importorskip("pandas")
    times = [datetime.time(k % 24, 30) for k in range(40)]
    waits = (
        pandas.to_timedelta(np.arange(40) % 7 * 12, unit="h")
        .to_series()
        .reset_index(drop=True)
    )
    frame = pandas.DataFrame({"wait": waits, "at": times, "label": ["x", "y"] * 20})
    frame.loc[3, "wait"] = pandas.NaT
    frame.to_parquet(tmp_path / "data.parquet")
    data = read(tmp_path / "data.parquet")
    assert data.X.column("wait").to_pylist()[:5] == [0.0, 0.5, 1.0, None, 2.0]  # days
    assert data.X.column("at").to_pylist()[:2] == [0.5, 1.5]
    reader = TableReader(list(data.schema.columns), data.schema.styles)
    np.testing.assert_array_equal(reader.transform(frame)[4], [2.0, 4.5])
