"""``drsvm labels``."""

import csv
import io
from operator import eq

import numpy as np
import pytest
from cli_tables import PETS, rows, write_csv

WRONG = np.arange(30, 120, 10)


@pytest.fixture
def mislabelled(tmp_path):
    """Return a table with an id, a remark and nine wrong labels that stand out, and the names of its columns."""
    X, y = rows()
    X[:, 0] += 6.0 * y
    labels = PETS[y]
    labels[WRONG] = np.where(labels[WRONG] == "cat", "dog", "cat")
    table = write_csv(tmp_path / "pets.csv", X, labels)
    lines = table.read_text().splitlines()
    cells = ["id,remark", *(f'p{k:03},"a, b"' for k in range(len(labels)))]
    table.write_text(
        "\n".join(f"{cell},{line}" for cell, line in zip(cells, lines, strict=True))
        + "\n"
    )
    return table


def table_in(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_the_worst_rows_are_those_with_wrong_labels(answer_of, mislabelled):
    answer = answer_of(
        "labels", mislabelled, "--drop", "id,remark", "--top", len(WRONG)
    )
    worst = answer["worst"]
    assert set(worst["row"]) == set((WRONG + 1).tolist())
    assert not any(map(eq, worst["given_label"], worst["predicted_label"]))
    assert (
        worst["label_score"] == sorted(worst["label_score"])
        and worst["label_score"][-1] < 0.5
    )
    assert 0 < answer["flagged"] <= len(WRONG) + 2
    assert (
        len(WRONG) - 2 <= answer["contradicted"] <= len(WRONG) + 2
        and answer["wrong_labels"] is None
    )  # too few rows
    assert (answer["rows"], answer["features"]) == (120, 3)


def test_equal_weights_of_rows_and_of_classes(answer_of, tmp_path):
    X, y = rows(200)
    keep = (y == 0) | (np.arange(len(y)) % 8 == 1)
    table = write_csv(tmp_path / "pets.csv", X[keep], PETS[y[keep]])
    scores = set()
    for weight in ("none", "auto", "balanced"):
        answer = answer_of("labels", table, "--class-weight", weight)
        scores.add(tuple(answer["worst"]["label_score"]))
    assert len(scores) == 3


def test_the_text_says_what_is_not_proven(drsvm_command, mislabelled):
    code, out, _ = drsvm_command(
        "labels", mislabelled, "--drop", "id,remark", "--top", 3
    )
    words = " ".join(out.split())
    assert code == 0 and "3 of 120 rows, most doubtful label first" in words
    assert (
        "proves nothing about a single label" in words
        and "They are wrong, or the classes overlap" in words
    )
    assert "given label" in words and "predicted label" in words


def test_the_table_has_the_columns_of_the_file_and_the_new_ones(
    answer_of, mislabelled, tmp_path, monkeypatch
):
    """Also if the file is standard input."""
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(mislabelled.read_bytes()))
    )
    answer_of("labels", "-", "--drop", "id,remark", "--csv", tmp_path / "out.csv")
    table = table_in(tmp_path / "out.csv")
    original = table_in(mislabelled)
    assert [{name: row[name] for name in original[0]} for row in table] == original
    assert [int(row["row"]) for row in table] == list(range(1, 121))
    assert sorted(int(row["rank"]) for row in table) == list(range(1, 121))
    assert {k for k, row in enumerate(table) if int(row["rank"]) <= len(WRONG)} == set(
        WRONG.tolist()
    )
    for row in table:
        assert row["given_label"] == row["kind"] and row["is_label_issue"] in (
            "True",
            "False",
        )
        assert 0 <= float(row["label_score"]) <= 1


def test_rows_are_numbered_as_in_the_file_if_some_are_dropped(
    answer_of, mislabelled, tmp_path
):
    lines = mislabelled.read_text().splitlines()
    mislabelled.write_text(
        "\n".join([lines[0], *(["new,,1,,2,cat"] * 5), *lines[1:]]) + "\n"
    )
    options = (
        "--drop",
        "id,remark",
        "--missing",
        "drop",
        "--top",
        len(WRONG),
        "--csv",
        tmp_path / "out.csv",
    )
    answer = answer_of("labels", mislabelled, *options)
    assert set(answer["worst"]["row"]) == set((WRONG + 6).tolist())
    table = table_in(tmp_path / "out.csv")
    assert table[0]["row"] == "6" and table[0]["id"] == "p000" and len(table) == 120
    assert (
        answer_of("labels", mislabelled, "--drop", "id,remark", "--missing", "fill")[
            "rows"
        ]
        == 125
    )


def test_a_name_that_is_taken(answer_of, tmp_path):
    X, y = rows()
    table = write_csv(tmp_path / "t.csv", X, PETS[y], names=("rank", "row", "depth"))
    answer_of("labels", table, "--csv", tmp_path / "out.csv")
    header = (tmp_path / "out.csv").read_text().splitlines()[0].split(",")
    assert header[:4] == ["rank", "row", "depth", "kind"] and {
        "drsvm_rank",
        "drsvm_row",
    } <= set(header)


def test_several_classes_and_a_plot(answer_of, tmp_path):
    pytest.importorskip("matplotlib")
    X, y = rows(n_classes=3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["cat", "dog", "emu"])[y])
    answer = answer_of(
        "labels", table, "--plot", tmp_path / "p.png", "--folds", 3, "--seed", 4
    )
    assert set(answer["worst"]["predicted_label"]) <= {"cat", "dog", "emu"}
    assert (
        answer["plot"] == str(tmp_path / "p.png")
        and (tmp_path / "p.png").stat().st_size > 5000
    )


def test_svmlight_and_parquet(answer_of, svmlight, tmp_path):
    assert (
        answer_of("labels", svmlight, "--csv", tmp_path / "out.csv", "--radius", 0.1)[
            "rows"
        ]
        == 120
    )
    assert (
        (tmp_path / "out.csv")
        .read_text()
        .startswith("row,rank,is_label_issue,label_score,given_label")
    )
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X, y = rows()
    columns = {"a": X[:, 0], "kind": PETS[y], "tags": [[1, 2], [3]] * 60, "b": X[:, 1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    options = ("--label", "kind", "--drop", "tags", "--csv", tmp_path / "out.csv")
    answer_of("labels", tmp_path / "t.parquet", *options)
    table = table_in(tmp_path / "out.csv")
    assert table[1]["tags"] == "[3]" and float(table[1]["a"]) == X[1, 0]


def test_bad_input(error_of, mislabelled, tmp_path):
    for arguments, message in (
        (["--csv", mislabelled], "would be overwritten"),
        (["--plot", tmp_path / "p.txt"], "must end in"),
        (["--solver", "magic"], "--solver must be one of auto"),
        (["--class-weight", "heavy"], "--class-weight must be one of auto"),
    ):
        assert message in error_of(
            "labels", mislabelled, "--drop", "id,remark", *arguments
        )
    lines = mislabelled.read_text().splitlines()
    mislabelled.write_text("\n".join([*lines, "p120,,1,2,3,catt"]) + "\n")
    assert "Only one row has the label 'catt'" in error_of(
        "labels", mislabelled, "--drop", "id,remark"
    )


def test_text_is_not_standardised(answer_of, tmp_path):
    from sklearn.datasets import dump_svmlight_file
    from sklearn.preprocessing import normalize

    X, y = rows()
    dump_svmlight_file(
        normalize(np.exp(X)), y, str(tmp_path / "words.svm"), zero_based=False
    )
    found, plain = (
        answer_of("labels", tmp_path / "words.svm", *more)
        for more in ((), ("--no-standardise",))
    )
    assert found["worst"] == plain["worst"] and found["notes"] == plain["notes"]
