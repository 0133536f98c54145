"""Parquet and zstandard files."""

import sys

import numpy as np
import pytest
from file_contents import TABLE

from drsvm.datasets import DataFileError, ReadOptions, Schema, read, read_like


def test_zstandard_and_parquet(write):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    assert read(write("data.csv.zst", pyarrow.compress(TABLE.encode(), codec="zstd", asbytes=True))).shape == (3, 2)
    table = pyarrow.table({"a": [1, 2], "b": [0.5, None], "c": [True, False], "t": ["u", "v"], "y": ["no", "yes"]})
    path = write("data.parquet", b"")
    parquet.write_table(table, path)
    data = read(path, ReadOptions(missing="median", one_hot=True))
    np.testing.assert_array_equal(data.X, [[1, 0.5, 1, 1, 0], [2, np.nan, 0, 0, 1]])
    assert data.y.tolist() == ["no", "yes"]
    with pytest.raises(DataFileError, match="column 'b' has no value at row 2"):
        read(path, ReadOptions(drop=("t",)))


def test_integers_of_parquet_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"a": [1, 2], "big id": [2**53 + 1, 1], "y": [2**60, 2**60 + 1]}), path)
    with pytest.raises(DataFileError, match=r"data.parquet: column 'big id' .* beyond 2\^53.*--drop 'big id'"):
        read(path)
    data = read(path, ReadOptions(drop=("big id",)))
    assert data.y.tolist() == [str(2**60), str(2**60 + 1)]
    schema = Schema("table", 2, "y", ["t"], {"t": ["1", "2"]})
    for values in ([1, 2], [1.0, 2.0]):
        parquet.write_table(pyarrow.table({"t": values, "y": [1, 0]}), path)
        data = read_like(path, schema)
        np.testing.assert_array_equal(data.X, np.eye(2))
        assert data.y.tolist() == [1, 0]


def test_texts_of_parquet_files_that_are_numbers_or_empty(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"a": ["1", "2"], "y": [0, 1]}), path)
    with pytest.raises(DataFileError, match=r"column 'a' contains the text '1' .*--one-hot"):
        read(path)
    parquet.write_table(pyarrow.table({"a": pyarrow.array([None, None], "string"), "y": [0, 1]}), path)
    with pytest.raises(DataFileError, match="column 'a' is empty"):
        read(path)


def test_truncated_zstandard_and_parquet_files(error_for, write, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    whole = pyarrow.compress((TABLE * 5000).encode(), codec="zstd", asbytes=True)
    assert "is truncated or damaged" in error_for("data.csv.zst", whole[:-20])
    parquet.write_table(pyarrow.table({"a": np.arange(5000), "y": np.arange(5000) % 2}), tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    assert "is truncated or damaged" in error_for("data.parquet", content[:1000])
    assert "is not a Parquet file" in error_for("data.parquet", "a,b\n1,2\n")
    parquet.write_table(pyarrow.table({"a": [[1], [2]], "y": [0, 1]}), tmp_path / "data.parquet")
    with pytest.raises(DataFileError, match=r"column 'a' has type list.*: drop it with --drop a"):
        read(tmp_path / "data.parquet")


def test_parquet_and_zstandard_name_the_extra(error_for, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'drsvm[data]'" in error_for("data.parquet", b"PAR1...")
    if sys.version_info < (3, 14):
        assert "pip install 'drsvm[data]'" in error_for("data.csv.zst", b"\x28\xb5\x2f\xfdrest")
