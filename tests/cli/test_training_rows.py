"""Steps that several commands share: bad data files, classes, and tables that do not fit into memory."""

import json
import re
import tempfile
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pytest
from cli_tables import write_table
from thorough import LONG

from drsvm.cli import streamed_rows
from drsvm.persistence import load_model
from drsvm.tables import ReadOptions, arrow_tables, rows_on_disk, streamed_tables

BAD_FILES = {
    "wrong.csv": (b"a,b,label\n1,2,x\n3\n", "line 3 has 1 column,"),
    "row.csv": (b"a,b,label\n1,2,x\n", "has only one row"),
    "one.csv": (b"a,b,label\n1,2,x\n3,4,x\n", "all 2 rows have the label 'x'"),
    "cut.svm.xz": (b"\xfd7zXZ\x00\x00\x04", "truncated"),
    "far.svm": (b"1 1:1\n-1 10000000:1\n", "line 2 has the index 10000000"),
    "numbers.csv": (
        b"a,price\n" + b"".join(b"%d,%d.5\n" % (k * k, k) for k in range(30)),
        "too many for class labels",
    ),
    "fractions.csv": (
        b"a,b\n" + b"".join(b"%d,%d\n%d,1.5\n" % (k, 0, -k) for k in range(30)),
        "column 'b' has numbers that are not whole (0.0, 1.5)",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(drsvm_command, tmp_path, name):
    content, expected = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    code, out, err = drsvm_command("fit", path, "--model", tmp_path / "m.drsvm")
    assert code == 2 and out == ""
    last = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert last[0].startswith("error: ") and name in err and expected in err
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def days_and_numbers(k):
    return f"2024-01-{k % 25 + 1:02}", k % 25


@pytest.mark.parametrize(("place", "what"), [(0, "dates"), (1, "numbers")])
def test_dates_and_amounts_are_labels_only_on_request(
    drsvm_command, tmp_path, place, what
):
    path = tmp_path / "t.csv"
    for name in ("when", "target"):
        lines = "".join(
            f"{k * k % 17},{days_and_numbers(k)[place]}\n" for k in range(75)
        )
        path.write_text(f"a,{name}\n{lines}")
        fit = ("fit", path, "--test-size", 0, "--radius", 0.1, "--l2", 0.1)
        found = f"column {name!r} has 25 different {what}, each of which is a class"
        code, _, err = drsvm_command(*fit)
        assert found in err
        assert (code == 2) == (name == "when")
        if code == 2:
            assert "confirm it with --label, or name another column" in err
            code, _, err = drsvm_command(*fit, "--label", name)
            assert code == 0 and f"note: {found}: name another column if" in err


N = 4000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(arrow_tables, "BLOCK_ROWS", 1000)


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(streamed_rows, "available_memory", lambda: 1e5)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def columns(n=N):
    random = np.random.default_rng(5)
    y = random.choice(["no", "yes"], size=n)
    push = np.where(y == "yes", 0.7, -0.7)
    return {
        "height": 170.0 + 10.0 * (random.normal(size=n) + push),
        "width": random.normal(size=n) - push,
        "town": np.where(random.random(n) < 0.5 + 0.3 * push, "Graz", "Linz"),
        "checked": random.random(n) < 0.2,
        "y": y,
    }


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "table.parquet", columns())


def write(path, content):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(content), path, row_group_size=2500)
    return path


def test_a_table_that_does_not_fit_is_trained_on_disk(
    answer_of, table, tmp_path, temporary, little_memory
):
    arguments = (
        table,
        "--label",
        "y",
        "--radius",
        0.05,
        "--drop",
        "checked",
        "--model",
        tmp_path / "m.drsvm",
    )
    streamed = answer_of("fit", *arguments)
    assert any(
        "is read in blocks" in note and "temporary folder" in note
        for note in streamed["notes"]
    )
    assert not list(temporary.iterdir()), "temporary files are removed"
    assert (
        streamed["proven"]
        and streamed["rows"] == N
        and streamed["probability"]["slopes"][0] > 0
    )
    assert streamed["held_out"]["rows"] + streamed["held_out"]["trained_on"] == N
    assert (
        0.2 < streamed["held_out"]["rows"] / N < 0.3
        and streamed["test"]["accuracy"] > 0.7
    )
    assert load_model(tmp_path / "m.drsvm").classes_.tolist() == ["no", "yes"]
    predicted = answer_of("predict", tmp_path / "m.drsvm", table)
    assert predicted["scores"]["accuracy"] == pytest.approx(
        streamed["train"]["accuracy"]
    )


def test_the_optimum_is_that_of_the_table_in_memory(
    answer_of, table, tmp_path, monkeypatch, temporary
):
    arguments = (
        table,
        "--label",
        "y",
        "--radius",
        0.05,
        "--drop",
        "checked",
        "--tol",
        1e-9,
        "--test-size",
        0,
    )
    in_memory = answer_of("fit", *arguments)
    monkeypatch.setattr(streamed_rows, "available_memory", lambda: 1e5)
    streamed = answer_of("fit", *arguments)
    [one] = in_memory["certificates"]
    [other] = streamed["certificates"]
    assert one["objective"] == pytest.approx(other["objective"], abs=1e-9)
    assert (
        in_memory["classes"] == streamed["classes"]
        and in_memory["train"] == streamed["train"]
    )


def test_means_and_deviations_are_those_of_all_rows(
    answer_of, tmp_path, monkeypatch, temporary
):
    monkeypatch.setattr(streamed_tables, "SAMPLE_ROWS", 300)
    content = columns()
    content["height"] += np.arange(N)  # early rows differ from late ones
    table = write(tmp_path / "table.parquet", content)
    answer_of(
        "fit",
        table,
        "--label",
        "y",
        "--drop",
        "checked",
        "--spool",
        tmp_path / "kept",
        "--radius",
        0.1,
    )
    rows = rows_on_disk(tmp_path / "kept")
    np.testing.assert_allclose(rows.X[:, :2].mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(rows.X[:, :2].std(axis=0), 1.0, atol=1e-9)
    assert sorted(np.unique(rows.y)) == ["no", "yes"] and len(rows.y) == N
    assert not list(temporary.iterdir())


def test_a_folder_of_tables_that_does_not_fit(
    answer_of, tmp_path, temporary, little_memory
):
    (tmp_path / "parts").mkdir()
    content = columns()
    write(
        tmp_path / "parts" / "1.parquet",
        {name: values[:1500] for name, values in content.items()},
    )
    write(
        tmp_path / "parts" / "2.parquet",
        {name: values[1500:] for name, values in content.items()},
    )
    answer = answer_of("fit", tmp_path / "parts", "--label", "y", "--radius", 0.05)
    assert answer["rows"] == N and answer["proven"]
    assert any("is read in blocks" in note for note in answer["notes"])


def write_arrow(path, content):
    import pyarrow as pa

    with pa.ipc.new_file(path, pa.table(content).schema) as file:
        file.write_table(pa.table(content))


@pytest.mark.parametrize(
    ("ending", "write_part"),
    [("csv", write_table), ("parquet", write), ("arrow", write_arrow)],
)
def test_every_command_reads_a_folder_like_one_file(
    answer_of, tmp_path, ending, write_part
):
    content = columns(90)
    whole = write_table(tmp_path / "whole.csv", content)
    folder = tmp_path / "folder"
    parts = (0, 30, 50, 90)
    (folder / ".hidden").mkdir(parents=True)
    for first, last in pairwise(parts):
        write_part(
            folder / f"{first}.{ending}",
            {name: values[first:last] for name, values in content.items()},
        )
        write_part(
            folder / ".hidden" / f"{first}.{ending}",
            {"other": [1, 2], "columns": [3, 4]},
        )
    (folder / "_SUCCESS").write_text("")
    model = tmp_path / "m.drsvm"
    of_file = answer_of(
        "fit", whole, "--label", "y", "--radius", 0.05, "--model", model
    )
    of_folder = answer_of("fit", folder, "--label", "y", "--radius", 0.05)
    assert (
        of_folder["certificates"][0]["objective"]
        == of_file["certificates"][0]["objective"]
    )
    for command in (("predict", model), ("audit", model), ("labels", "--label", "y")):
        answers = [answer_of(*command, path) for path in (whole, folder)]
        figures = [
            {
                name: value
                for name, value in answer.items()
                if name not in ("file", "notes")
            }
            for answer in answers
        ]
        assert figures[0] == figures[1]
        if ending != "csv" and not LONG:
            # The other commands read all formats in the same way.
            return
    answer_of("report", folder, "--label", "y", "--output", tmp_path / "r.json")
    digest = sha256(
        b"".join((folder / f"{first}.{ending}").read_bytes() for first in parts[:-1])
    ).hexdigest()
    known = json.loads((tmp_path / "r.json").read_text())["provenance"]["data_file"]
    assert known == {"name": "folder", "sha256": digest}


def test_folders_that_are_no_table(error_of, tmp_path):
    def folder(name, **files):
        for file, text in files.items():
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / file.replace("_", ".")).write_text(text)
        return tmp_path / name

    text = "a,b,y\n1,2,no\n2,3,yes\n"
    (tmp_path / "empty").mkdir()
    assert "empty: contains no CSV, Parquet or Arrow files" in error_of(
        "fit", tmp_path / "empty"
    )
    mixed = folder("mixed", a_csv=text, b_parquet="")
    assert "mixed: contains csv and parquet files: move" in error_of("fit", mixed)
    other = folder("other", a_csv=text, b_csv=text.replace("b", "c"))
    assert "b.csv: has other columns than a.csv" in error_of("fit", other)
    headless = folder("headless", a_csv=text, b_csv="1,2,3\n3,4,5\n")
    assert "b.csv: has other columns than a.csv" in error_of("fit", headless)
    assert "svm: contains svmlight files: give one of them" in error_of(
        "fit", folder("svm", a_svm="1 1:2\n-1 1:3\n")
    )
    ragged = folder("ragged", a_csv=text, b_csv="a,b,y\n1,2,no\n1,2\n")
    assert "ragged/b.csv: line 3 has 2 columns" in error_of("fit", ragged)
    wrong = folder(
        "wrong",
        a_csv="a,b,y\n" + "1,2,no\n2,3,yes\n" * 10,
        b_csv='\n"a",b,y\n1,2,no\nx,2,no\n',
    )
    assert "the text 'x' (line 4 of b.csv)" in error_of("fit", wrong)


def test_many_categories_are_kept_sparse(answer_of, tmp_path, temporary):
    content = columns()
    content["shop"] = [f"shop {number % 300}" for number in range(N)]
    table = write(tmp_path / "table.parquet", content)
    answer = answer_of(
        "fit", table, "--label", "y", "--radius", 0.05, "--spool", tmp_path / "kept"
    )
    assert (
        answer["features"] > 300
        and answer["proven"]
        and answer["test"]["accuracy"] > 0.7
    )
    assert (tmp_path / "kept" / "indptr.npy").exists()


def test_verified_labels_and_empty_cells(answer_of, tmp_path, temporary, monkeypatch):
    content = columns()
    content["height"] = [
        None if number % 10 == 0 else value
        for number, value in enumerate(content["height"])
    ]
    content["y"] = [
        None if number % 100 == 1 else str(value)
        for number, value in enumerate(content["y"])
    ]
    table = write(tmp_path / "table.parquet", content)
    arguments = (
        table,
        "--label",
        "y",
        "--verified",
        "checked",
        "--flip-cost",
        2,
        "--radius",
        0.05,
        "--test-size",
        0,
    )
    arguments = (*arguments, "--tol", 1e-9)
    in_memory = answer_of("fit", *arguments)
    streamed = answer_of("fit", *arguments, "--spool", tmp_path / "kept")
    assert streamed["rows"] == in_memory["rows"] == N - N // 100
    [one] = in_memory["certificates"]
    [other] = streamed["certificates"]
    assert one["objective"] == pytest.approx(other["objective"], abs=1e-9)


def test_a_class_that_is_not_among_the_test_rows(answer_of, tmp_path, temporary):
    content = {name: values[:200] for name, values in columns().items()}
    content["y"][:] = "no"
    content["y"][7] = "yes"
    table = write(tmp_path / "table.parquet", content)
    answer = answer_of(
        "fit", table, "--label", "y", "--radius", 0.01, "--spool", tmp_path / "kept"
    )
    assert answer["held_out"] is None and any(
        "no rows are held out" in note for note in answer["notes"]
    )


def test_a_test_file(answer_of, table, tmp_path, temporary, little_memory):
    more = write(tmp_path / "more.parquet", columns(500))
    answer = answer_of("fit", table, "--label", "y", "--radius", 0.05, "--test", more)
    assert answer["test"]["rows"] == 500 and answer["held_out"] is None


def test_errors_name_the_remedy(error_of, table, tmp_path, temporary, little_memory):
    assert "there is no column 'z' (--label)" in error_of("fit", table, "--label", "z")
    assert "--cv needs all rows in memory: omit it" in error_of(
        "fit", table, "--label", "y", "--cv"
    )
    text = tmp_path / "table.csv"
    text.write_text("a,y\n" + "1.5,0\n2.5,1\n" * 10_000)
    assert "convert it to Parquet, which is read in blocks" in error_of("fit", text)
    spool = ("--spool", tmp_path / "new")
    assert "--spool is for Parquet and Arrow files" in error_of("fit", text, *spool)
    assert "is not empty: name a new folder" in error_of(
        "fit", table, "--label", "y", "--spool", tmp_path
    )
    assert not list(temporary.iterdir())


def test_cells_that_the_sample_did_not_show(error_of, tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(streamed_tables, "SAMPLE_ROWS", 100)
    content = columns()
    content["width"][3431] = np.inf
    table = write(tmp_path / "table.parquet", content)
    err = error_of("fit", table, "--label", "y", "--spool", tmp_path / "kept")
    assert "column 'width' is infinite at row 3432" in err
    assert not (tmp_path / "kept").exists()


def test_someone_at_a_terminal_sees_how_far_the_work_is(
    drsvm_command, table, tmp_path, monkeypatch
):
    code, _, err = drsvm_command(
        "fit", table, "--label", "y", "--spool", tmp_path / "new"
    )
    assert code == 0 and "is read in blocks" in err
    for word in ("%", "solving", "preparing"):
        assert word not in err, "a file has no bars"
    monkeypatch.setattr("drsvm.cli.screen.Screen.on_terminal", True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    code, _, err = drsvm_command(
        "fit", table, "--label", "y", "--spool", tmp_path / "kept"
    )
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)
    assert code == 0 and "100%" in shown
    assert "table.parquet: preparing" in shown
    assert f"fitting {N:,} rows: solving" in shown
    assert re.search(r"fitting [23],\d{3} rows for the test: solving", shown)


def test_every_row_is_told_of(table, told):
    streamed_tables.stream_table(
        table,
        ReadOptions(label="y"),
        standardise=True,
        test_share=0.25,
        seed=0,
        folder=None,
    )
    shares = [share for stage, share in told if stage == "preparing"]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert len(shares) >= 3 * N / arrow_tables.BLOCK_ROWS, (
        "a sample, means and deviations, and the features"
    )
    assert len(set(shares)) > 2 * N / arrow_tables.BLOCK_ROWS
