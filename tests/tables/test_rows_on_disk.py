"""Rows on disk: their sources, the files, and errors."""

import gc
import json
import shutil
import tempfile

import numpy as np
import pytest
from file_contents import check_error
from scipy import sparse
from thorough import unless_long

from drsvm import Problem, WassersteinSVC, solve
from drsvm.problem import memory_rows
from drsvm.tables import arrow_tables, row_writer, rows_on_disk

N = 6000
D = 5


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """Let files of any size count as large, and read them in several blocks."""
    monkeypatch.setattr(memory_rows, "LARGE", 1)
    monkeypatch.setattr(arrow_tables, "BLOCK_ROWS", 700)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def data(dtype=np.float64):
    random = np.random.default_rng(3)
    y = random.choice([-1, 1], size=N)
    return (random.normal(size=(N, D)) + 0.5 * y[:, None] + 3.0).astype(dtype), y


def write_parquet(path, X, y, **more):
    import pyarrow as pa
    from pyarrow import parquet

    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    parquet.write_table(
        pa.table({**columns, "y": y, **more}), path, row_group_size=1000
    )
    return path


def blocks(X, y, size=1100):
    return [
        (X[first : first + size], y[first : first + size])
        for first in range(0, X.shape[0], size)
    ]


class LikeXGBoost:
    """The iterator that users of XGBoost write."""

    def __init__(self, parts):
        self.parts = parts
        self.place = len(parts)

    def next(self, input_data):
        if self.place == len(self.parts):
            return 0
        X, y = self.parts[self.place]
        input_data(data=X, label=y, feature_names=["a"])
        self.place += 1
        return 1

    def reset(self):
        self.place = 0


def sources(folder, X, y):
    np.save(folder / "rows.npy", X)
    parts = folder / "parts"
    parts.mkdir()
    write_parquet(parts / "b.parquet", X[4000:], y[4000:])
    write_parquet(parts / "a.parquet", X[:4000], y[:4000])
    return {
        ".npy": folder / "rows.npy",
        "Parquet": write_parquet(folder / "rows.parquet", X, y),
        "folder of Parquet files": parts,
        "iterable": blocks(X, y),
        "generator": (block for block in blocks(X, y)),
        "iterator": LikeXGBoost(blocks(X, y)),
    }


@pytest.mark.parametrize("dtype", unless_long([np.float32], [np.float64, np.float32]))
def test_all_sources_give_the_same_optimum_as_memory(tmp_path, temporary, dtype):
    X, y = data(dtype)
    expected = solve(Problem(X, y, fit_intercept=True)).objective
    for name, source in sources(tmp_path, X, y).items():
        label = "y" if "Parquet" in name else None
        with rows_on_disk(source, label=label) as rows:
            assert memory_rows.is_mapped(rows.X) and rows.X.dtype == dtype, name
            np.testing.assert_array_equal(rows.X, X, err_msg=name)
            result = solve(
                Problem(rows.X, y if rows.y is None else rows.y, fit_intercept=True)
            )
            assert result.gap <= 1e-6 and abs(result.objective - expected) <= 1e-9, name
        assert not list(temporary.iterdir()), "temporary files are removed"


@pytest.mark.parametrize("narrow", ["float16", "float32", "int8", "bool"])
def test_columns_of_few_bytes_become_single_precision(tmp_path, narrow):
    import pyarrow as pa

    values = np.array([0, 1, 1], dtype=narrow)
    table = pa.table({"a": values})
    path = tmp_path / "rows.arrow"
    with (
        pa.OSFile(str(path), "wb") as stream,
        pa.ipc.new_file(stream, table.schema) as writer,
    ):
        writer.write_table(table)
    with rows_on_disk(path) as rows:
        assert rows.X.dtype == np.float32 and rows.X.ravel().tolist() == [0, 1, 1]


def test_arrow_files(tmp_path, temporary):
    import pyarrow as pa

    X, y = data()
    table = pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "y": y})
    with (
        pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as stream,
        pa.ipc.new_file(stream, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=2500)
    with rows_on_disk(
        tmp_path / "rows.arrow", label="y", folder=tmp_path / "kept"
    ) as rows:
        np.testing.assert_array_equal(rows.X, X)
        np.testing.assert_array_equal(rows.y, y)
        assert rows.names == [f"x{j}" for j in range(D)]
    described = json.loads((tmp_path / "kept" / "rows.json").read_text())
    assert described == {"n_features": D, "names": [f"x{j}" for j in range(D)]}


@pytest.mark.parametrize("largest_int32", [np.iinfo(np.int32).max, 100])
def test_sparse_blocks(tmp_path, temporary, monkeypatch, largest_int32):
    monkeypatch.setattr(row_writer, "LARGEST_INT32", largest_int32)
    X, y = data()
    X = sparse.csr_array(np.where(X > 3.0, X, 0.0))
    with rows_on_disk(blocks(X, y), folder=tmp_path / "kept") as rows:
        assert (
            rows.X.indices.dtype
            == rows.X.indptr.dtype
            == (np.int64 if largest_int32 == 100 else np.int32)
        )
        assert (rows.X != X).nnz == 0
        found = WassersteinSVC(radius=0.1, tol=1e-8).fit(rows.X, rows.y)
    assert found.objective_ == pytest.approx(
        WassersteinSVC(radius=0.1, tol=1e-8).fit(X, y).objective_, abs=1e-9
    )
    assert (rows_on_disk(tmp_path / "kept").X != X).nnz == 0


def test_a_kept_folder_can_be_opened_again(tmp_path, temporary):
    X, y = data()
    weights = np.linspace(1.0, 2.0, N)
    with rows_on_disk([(X, y, weights)], folder=tmp_path / "new" / "folder") as rows:
        assert repr(rows) == f"RowsOnDisk({rows.folder}: 6,000 × 5 float64)"
    assert "closed" in repr(rows) and not list(temporary.iterdir())
    again = rows_on_disk(tmp_path / "new" / "folder")
    for found, expected in ((again.X, X), (again.y, y), (again.sample_weight, weights)):
        np.testing.assert_array_equal(found, expected)
    check_error(
        "is not empty: name a new folder",
        rows_on_disk,
        blocks(X, y),
        folder=again.folder,
    )


def test_files_without_a_description(tmp_path):
    X = sparse.csr_array(np.eye(4))
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
    assert (rows_on_disk(tmp_path).X != X).nnz == 0
    np.save(tmp_path / "indices.npy", X.indices[:-1])
    check_error("do not fit together: write them again", rows_on_disk, tmp_path)


def test_temporary_files_go_with_the_object_and_progress_counts_the_rows(temporary):
    seen = []
    rows = rows_on_disk(blocks(*data(), size=2500), progress=seen.append)
    assert seen == [2500, 5000, 6000]
    assert len(list(temporary.iterdir())) == 1
    del rows
    gc.collect()
    assert not list(temporary.iterdir())


def test_blocks_without_labels(temporary):
    with pytest.raises(
        TypeError,
        match="a path, an iterable of blocks or an object with next and reset, not 3",
    ):
        rows_on_disk(3)
    with rows_on_disk([np.ones((3, 2)), np.zeros((2, 2))]) as rows:
        assert (
            rows.X.tolist() == [[1, 1]] * 3 + [[0, 0]] * 2
            and rows.y is None
            and rows.sample_weight is None
        )


class NeverPasses(LikeXGBoost):
    def next(self, input_data):
        return 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            [np.ones((3, 2)), np.ones((3, 4))],
            r"block 2 does not fit the first one \(columns: 4, in the first one 2\)",
        ),
        (
            [(np.ones((3, 2)), [0, 1, 1]), np.ones((3, 2))],
            r"\(y: False, in the first one True\)",
        ),
        (
            [np.ones((3, 2)), sparse.csr_array(np.ones((3, 2)))],
            r"\(sparse: True, in the first one False\)",
        ),
        ([(np.ones((3, 2)), [0, 1])], "block 1 has 3 rows, but 2 entries in y"),
        ([np.ones(3)], r"block 1 has shape \(3,\): a block must have rows and columns"),
        ([np.array([["a", "b"]])], "block 1 has dtype <U1: encode text as numbers"),
        ([], "no rows found"),
        (
            [(1, 2, 3, 4)],
            r"a block is X, \(X, y\) or \(X, y, sample_weight\), got 4 entries",
        ),
        (NeverPasses([]), "returned True without a call of input_data"),
    ],
)
def test_blocks_that_do_not_fit(temporary, source, message):
    check_error(message, rows_on_disk, source)
    assert not list(temporary.iterdir()), "nothing remains"


def test_a_disk_that_is_full(temporary, tmp_path, monkeypatch):
    X, y = data()
    path = write_parquet(tmp_path / "rows.parquet", X, y)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: usage._replace(free=row_writer.RESERVE + 1000)
    )
    for source in (path, blocks(X, y)):
        check_error(
            r"the rows need .* GB of disk space, but only .* are free: choose",
            rows_on_disk,
            source,
        )
    assert not list(temporary.iterdir())


def test_a_table_that_changes_while_it_is_read(tmp_path, temporary):
    X, y = data()
    path = write_parquet(tmp_path / "rows.parquet", X, y)

    def append(n_rows):
        with path.open("ab") as stream:
            stream.write(b"more")

    check_error(
        "changed while it was read: wait until it is complete",
        rows_on_disk,
        path,
        label="y",
        progress=append,
    )
    assert not list(temporary.iterdir())


def test_tables_that_cannot_be_used(tmp_path, temporary):
    X, y = data()
    path = write_parquet(tmp_path / "rows.parquet", X, y, town=["here"] * N)
    check_error(r"there is no column 'z' \(label\)", rows_on_disk, path, label="z")
    check_error(
        "column 'town' has type string, not numbers: use drsvm fit",
        rows_on_disk,
        path,
        label="y",
    )
    gaps = write_parquet(tmp_path / "gaps.parquet", X, y, more=[*range(N - 1), None])
    check_error("column 'more' is empty in row 6000", rows_on_disk, gaps, label="y")
    check_error("no such file or folder", rows_on_disk, tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet")
    check_error(
        "is not a Parquet or Arrow file, or is truncated",
        rows_on_disk,
        tmp_path / "text.parquet",
    )
    (tmp_path / "nothing").mkdir()
    check_error(
        "contains no CSV, Parquet or Arrow files", rows_on_disk, tmp_path / "nothing"
    )
    write_parquet(tmp_path / "nothing" / "a.parquet", X, y)
    write_parquet(tmp_path / "nothing" / "b.parquet", X[:, :3], y)
    check_error(
        r"b.parquet: has other columns than a.parquet",
        rows_on_disk,
        tmp_path / "nothing",
        label="y",
    )


def test_arrays_that_are_damaged(tmp_path):
    X, y = data()
    rows_on_disk(blocks(X, y), folder=tmp_path / "kept")
    np.save(tmp_path / "kept" / "y.npy", y[:-1])
    check_error(
        r"has 6000 rows but 5999 entries in y\.npy", rows_on_disk, tmp_path / "kept"
    )
    content = (tmp_path / "kept" / "X.npy").read_bytes()
    (tmp_path / "kept" / "X.npy").write_bytes(content[: len(content) // 2])
    check_error(
        r"is truncated, changed or not a \.npy file", rows_on_disk, tmp_path / "kept"
    )
    np.save(tmp_path / "vector.npy", y)
    check_error("rows need two dimensions", rows_on_disk, tmp_path / "vector.npy")
