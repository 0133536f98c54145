"""``drsvm predict``."""

import csv
import io
import re

import numpy as np
import pandas
import pytest
from cli_tables import PETS, letters, rows, write_csv, write_table

from drsvm import explain
from drsvm.persistence import load_metadata, load_model, save_model
from drsvm.tables.dataset import Schema
from drsvm.tables.preparation import features_of


def table_of(out):
    return list(csv.DictReader(io.StringIO(out)))


def test_predict(drsvm_command, answer_of, model, table, tmp_path):
    code, out, err = drsvm_command("predict", model, table)
    assert (
        code == 0
        and "accuracy 0." in err
        and "95\u202f% intervals, if the rows are new to the model: " in err
    )
    read = table_of(out)
    saved = load_model(model)
    (X, y) = rows()
    assert [row["prediction"] for row in read] == saved.predict(X).tolist()
    np.testing.assert_array_equal(
        [float(row["decision"]) for row in read], saved.decision_function(X)
    )
    assert [row["label"] for row in read] == PETS[y].tolist()
    code, shown, _ = drsvm_command(
        "predict", model, table, "--output", tmp_path / "p.csv"
    )
    assert (
        code == 0
        and (tmp_path / "p.csv").read_text() == out
        and "predictions in" in shown
    )
    answer = answer_of("predict", model, table)
    scores = answer["scores"]
    assert scores["accuracy"] == pytest.approx(saved.score(X, PETS[y]))
    for label in ("cat", "dog"):
        assert (
            f"{label}      60  {scores['recall'][label]:.4f}     {scores['precision'][label]:.4f}"
            in err
        )
        assert scores["confusion"][label][label] / 60 == pytest.approx(
            scores["recall"][label]
        )
    assert answer["predictions"]["prediction"] == saved.predict(X).tolist()


def test_predict_without_labels_and_with_unknown_labels(
    drsvm_command, answer_of, error_of, model, table, tmp_path
):
    X, _ = rows(4)
    (tmp_path / "new.csv").write_text(
        "depth,height,width\n" + "".join(f"{c},{a},{b}\n" for a, b, c in X.tolist())
    )
    answer = answer_of("predict", model, tmp_path / "new.csv")
    assert answer["scores"] is None
    np.testing.assert_allclose(
        answer["predictions"]["decision"], load_model(model).decision_function(X)
    )
    other = write_csv(tmp_path / "other.csv", X, ["cat", "dog", "cow", "cat"])
    code, _, err = drsvm_command("predict", model, other)
    assert (
        code == 0
        and "no scores: the file has the label 'cow', which the model was not trained on"
        in err
    )
    assert "has the label 'cow', which is not in the training file" in error_of(
        "fit", table, "--test", other
    )


def test_a_file_that_does_not_fit_the_model(
    drsvm_command, error_of, model, svmlight, tmp_path
):
    drsvm_command("fit", svmlight, "--model", tmp_path / "sparse.drsvm")
    err = error_of("predict", tmp_path / "sparse.drsvm", svmlight, "--keep", "id")
    assert "--keep: an svmlight file has no further columns" in err
    assert "trained on a table with named columns" in error_of(
        "predict", model, svmlight
    )
    (tmp_path / "other.csv").write_text("heigth,width,depth\n1,2,3\n")
    err = error_of(
        "predict", model, tmp_path / "other.csv", "--output", tmp_path / "p.csv"
    )
    assert "no column 'height' (needed by the model): did you mean 'heigth'?" in err
    assert not (tmp_path / "p.csv").exists()


def test_missing_values_and_categories_from_fit_to_predict(
    drsvm_command, answer_of, error_of, tmp_path
):
    X, y = rows(60)
    b = [
        "" if k % 7 == 0 else round(value, 3)
        for k, value in enumerate(X[:, 1].tolist())
    ]
    columns = {
        "customer id": range(1000, 1060),
        "a": X[:, 0].round(3),
        "b": b,
        "town": ["Oslo", "Rome", "Rome"] * 20,
    }
    table = write_table(
        tmp_path / "export.csv", {**columns, "churned": np.array(["no", "yes"])[y]}, ";"
    )
    model = tmp_path / "m.drsvm"
    code, _, err = drsvm_command("fit", table, "--label", "churned", "--model", model)
    assert (
        code == 0
        and "left out: customer id (an id)" in err
        and "filled: b (9 of 60)" in err
    )
    new = tmp_path / "new.csv"
    new.write_text("a;b;town\n1;;Rome\n2;3;Bonn\n")
    answer = answer_of("predict", model, new)
    assert answer["rows"] == 2 and answer["notes"] == [
        "filled: b (1 of 2); numbers by their median.",
        "levels not seen twice in training: town (1 of 2); they count as rare, or as no level at all where none was rare.",
    ]
    assert answer_of("predict", model, new, "--missing", "drop")["predictions"][
        "row"
    ] == [2]
    new.write_text("A;town\n1;Rome\n")
    assert (
        "2 columns that the model needs are missing: 'a' (is it 'A'?), 'b'"
        in error_of("predict", model, new)
    )


@pytest.fixture
def people(drsvm_command, tmp_path):
    """Return a table with ids, which have leading zeros, and a column called like one of the output, and a model."""
    X, y = rows(80)
    ids = [f"{k:04d}" for k in range(80)]
    taken = [f"r{k % 3}" for k in range(80)]
    columns = {"id": ids, "a": X[:, 0], "b": X[:, 1], "decision": taken}
    path = tmp_path / "people.csv"
    model = tmp_path / "m.drsvm"
    write_table(path, {**columns, "churn": np.array(["no", "yes"])[y]})
    drsvm_command(
        "fit",
        path,
        "--label",
        "churn",
        "--id",
        "id",
        "--drop",
        "decision",
        "--model",
        model,
    )
    return path, model


def test_ids_and_kept_columns(drsvm_command, error_of, people):
    people, model = people
    read = table_of(drsvm_command("predict", model, people)[1])
    assert list(read[0]) == ["row", "id", "prediction", "decision", "label"]
    assert [row["id"] for row in read] == [f"{k:04d}" for k in range(80)]
    read = table_of(
        drsvm_command("predict", model, people, "--keep", "decision,churn")[1]
    )
    assert list(read[0]) == [
        "row",
        "id",
        "decision",
        "churn",
        "prediction",
        "drsvm_decision",
        "label",
    ]
    assert [row["decision"] for row in read[:4]] == ["r0", "r1", "r2", "r0"]
    err = error_of("predict", model, people, "--keep", "desicion")
    assert "there is no column 'desicion' (--keep): did you mean 'decision'?" in err
    assert err.rstrip().endswith("--keep decision")


def test_kept_columns_of_rows_that_remain(drsvm_command, people, tmp_path):
    """Rows with empty cells are dropped: ids must stay with their rows.

    An empty cell of a kept column is no gap.
    """
    _, model = people
    new = tmp_path / "new.csv"
    new.write_text("b,id,a,remark\n1,007,,x\n2,008,3,\n4,NA,5,z\n")
    read = table_of(
        drsvm_command("predict", model, new, "--missing", "drop", "--keep", "remark")[1]
    )
    assert [(row["row"], row["id"], row["remark"]) for row in read] == [
        ("2", "008", ""),
        ("3", "NA", "z"),
    ]
    pandas.DataFrame({"a": [1.0, 2.0], "b": [0.5, 1.0], "id": [7, 8]}).to_parquet(
        tmp_path / "new.parquet"
    )
    read = table_of(drsvm_command("predict", model, tmp_path / "new.parquet")[1])
    assert [row["id"] for row in read] == ["7", "8"]


def test_probabilities_are_those_of_the_saved_model(drsvm_command, model, table):
    _, out, err = drsvm_command("predict", model, table, "--probability")
    read = table_of(out)
    found = np.array([float(row["probability"]) for row in read])
    expected = load_model(model).predict_proba(pandas.read_csv(table))
    np.testing.assert_allclose(found, expected[:, 1], rtol=1e-12)
    assert "probability: that of dog" in err and 0.6 < found.max() < 1
    assert [row["prediction"] for row in read] == np.where(
        found > 0.5, "dog", "cat"
    ).tolist()


def test_three_classes(drsvm_command, error_of, tmp_path):
    table, X, _ = letters(tmp_path, 90)
    drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    read = table_of(drsvm_command("predict", tmp_path / "m.drsvm", table)[1])
    assert list(read[0]) == [
        "row",
        "prediction",
        "decision_a",
        "decision_b",
        "decision_c",
        "label",
    ]
    assert [row["prediction"] for row in read] == load_model(
        tmp_path / "m.drsvm"
    ).predict(X).tolist()
    _, out, _ = drsvm_command(
        "predict",
        tmp_path / "m.drsvm",
        table,
        "--probability",
        "--sort",
        "probability_b",
    )
    read = table_of(out)
    chances = np.array(
        [[float(row[f"probability_{label}"]) for label in "abc"] for row in read]
    )
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (np.diff(chances[:, 1]) <= 0).all()
    err = error_of("predict", tmp_path / "m.drsvm", table, "--sort", "decision")
    assert "row, prediction, decision_a, decision_b, decision_c, label" in err


def test_sorted_predictions(drsvm_command, error_of, model, table):
    usual = table_of(drsvm_command("predict", model, table)[1])
    for column, key, descending in (
        ("decision", lambda row: float(row["decision"]), True),
        ("prediction", lambda row: row["prediction"], False),
        ("row", lambda row: int(row["row"]), False),
    ):
        read = table_of(drsvm_command("predict", model, table, "--sort", column)[1])
        assert read == sorted(usual, key=key, reverse=descending)
    assert "add --probability" in error_of(
        "predict", model, table, "--sort", "probability"
    )


def test_rows_without_a_label_are_predicted(
    drsvm_command, answer_of, model, table, tmp_path
):
    new = tmp_path / "new.csv"
    lines = table.read_text().splitlines()
    new.write_text(
        "\n".join(
            line.rpartition(",")[0] + "," if k in (2, 5) else line
            for k, line in enumerate(lines)
        )
    )
    whole = answer_of("predict", model, table)["predictions"]
    answer = answer_of("predict", model, new, "--missing", "drop")
    assert (
        answer["rows"] == 120 and answer["predictions"]["decision"] == whole["decision"]
    )
    assert (
        "2 of 120 rows have no label: they are predicted too; scores go without."
        in answer["notes"]
    )
    assert answer["scores"]["rows"] == 118 and answer["predictions"]["label"][1] is None
    read = table_of(drsvm_command("predict", model, new, "--sort", "label")[1])
    assert len(read) == 120 and {row["label"] for row in read} == {"", "cat", "dog"}
    new.write_text(
        "\n".join([lines[0], *(line.rpartition(",")[0] + "," for line in lines[1:])])
    )
    assert answer_of("predict", model, new)["scores"] is None


@pytest.mark.parametrize("words", [("False", "True"), ("false", "true")])
def test_truth_values_as_labels(drsvm_command, answer_of, tmp_path, words):
    """They are booleans in Python, as in data frames, and the text of the file on the command line."""
    X, y = rows()
    table, model, only = (tmp_path / name for name in ("t.csv", "m.drsvm", "only.csv"))
    write_csv(table, X, np.array(words)[y])
    assert drsvm_command("fit", table, "--model", model)[0] == 0
    read = table_of(drsvm_command("predict", model, table)[1])
    assert (
        {row["prediction"] for row in read}
        == {row["label"] for row in read}
        == set(words)
    )
    raw = pandas.read_csv(table)
    loaded = load_model(model)
    accuracy = answer_of("predict", model, table)["scores"]["accuracy"]
    assert (
        (loaded.predict(raw) == raw["kind"]).mean()
        == loaded.score(raw, raw["kind"])
        == pytest.approx(accuracy)
    )
    # Labels of one class are still truth values
    write_csv(only, X[y == 0], np.array(words)[y[y == 0]])
    scores = answer_of("predict", model, only)["scores"]
    assert (
        scores["rows"] == 60 and scores["recall"][words[0]] == scores["accuracy"] > 0.5
    )


def dated(path, texts, labels):
    return write_table(
        path, {"joined": texts, "size": np.arange(len(texts)) % 7, "kind": labels}
    )


@pytest.fixture
def trained_on_dates(drsvm_command, tmp_path):
    days = np.datetime64("2023-01-01") + np.arange(60)
    table = dated(
        tmp_path / "t.csv",
        days,
        np.where(np.arange(60) + 5 * (np.arange(60) % 3) > 35, "new", "old"),
    )
    assert (
        drsvm_command(
            "fit", table, "--kernel", "linear", "--model", tmp_path / "m.drsvm"
        )[0]
        == 0
    )
    return tmp_path / "m.drsvm"


def test_dates_in_another_form(answer_of, error_of, trained_on_dates, tmp_path):
    def predicted(*texts):
        table = dated(tmp_path / "new.csv", texts, ["old"] * len(texts))
        return answer_of("predict", trained_on_dates, table)["predictions"]["decision"]

    expected = predicted("2023-01-13", "2023-02-07")
    for texts in (
        ("13.01.2023", "07.02.2023"),
        ("01/13/2023", "02/07/2023"),
        ("13 Jan 2023", "07 Feb 2023"),
    ):
        assert predicted(*texts) == expected
    frame = pandas.DataFrame({"joined": ["13.01.2023", "07.02.2023"], "size": [0, 1]})
    assert load_model(trained_on_dates).decision_function(
        frame
    ).tolist() == pytest.approx(expected)
    for texts in (("01/02/2023", "02/07/2023"), ("2023-01-13", "13.01.2023")):
        message = error_of(
            "predict", trained_on_dates, dated(tmp_path / "new.csv", texts, ["old"] * 2)
        )
        assert (
            "the model needs dates such as 2024-12-31: write all dates of the column like that."
            in message
        )
        assert "Try" not in message and "missing-values" not in message


def test_texts_among_dates_are_all_named_at_once(
    answer_of, error_of, trained_on_dates, tmp_path
):
    def table(*texts):
        return dated(
            tmp_path / "new.csv", ["2023-01-13", *texts], ["old"] * (1 + len(texts))
        )

    message = error_of("predict", trained_on_dates, table("soon", "later"))
    assert (
        "contains the text 'soon' (line 3), but the model needs dates such as 2024-12-31"
        in message
    )
    remedy = message.splitlines()[-1].split()
    assert remedy[-4:] == ["--missing-values", "soon", "--missing-values", "later"]
    assert answer_of(*remedy[1:])["rows"] == 3
    assert "Try" not in error_of("predict", trained_on_dates, table(*"abcd"))


def test_reasons_by_column_add_up_to_the_decision(
    drsvm_command, answer_of, error_of, tmp_path
):
    X, y = rows(90)
    town = np.array(["Oslo", "Rome", "Bonn"])[np.arange(90) % 3]
    label = np.array(["yes", "no"])[y]
    days = np.datetime64("2023-01-01") + np.arange(90)
    a = [
        "" if k % 5 == 0 else round(value, 3)
        for k, value in enumerate(X[:, 0].tolist())
    ]
    columns = {
        "a": a,
        "town": town,
        "flag": np.where(X[:, 1] > 0, "yes", "no"),
        "joined": days,
    }
    table = write_table(tmp_path / "t.csv", {**columns, "churn": label})
    model = tmp_path / "m.drsvm"
    drsvm_command(
        "fit", table, "--label", "churn", "--kernel", "linear", "--model", model
    )
    answer = answer_of("predict", model, table, "--explain", 9)["predictions"]
    found = explain(load_model(model), pandas.read_csv(table))
    assert found.features == list(columns) and answer["distance"] == pytest.approx(
        found.distance.tolist()
    )
    parts = [
        re.findall(r"(\w+) (= \S+|is empty) \((\S+)\)", text)
        for text in answer["reasons"]
    ]
    base = found.base[0]
    for row, (reasons, decision) in enumerate(
        zip(parts, answer["decision"], strict=True)
    ):
        values = {name: text.removeprefix("= ") for name, text, _ in reasons}
        assert values["town"] == town[row] and values["joined"] == str(days[row])
        assert values["flag"] == columns["flag"][row]
        assert (
            values["a"] == "is empty"
            if row % 5 == 0
            else float(values["a"]) == pytest.approx(a[row], rel=0.01)
        )
        sizes = [float(size) for _, _, size in reasons]
        assert base + sum(sizes) == pytest.approx(decision, abs=0.02)
        assert [abs(size) for size in sizes] == sorted(map(abs, sizes), reverse=True)
    read = table_of(
        drsvm_command("predict", model, table, "--explain", 2, "--sort", "distance")[1]
    )
    assert (np.diff([float(row["distance"]) for row in read]) >= 0).all()
    assert {row["reasons"].count("(") for row in read} == {2}
    _, _, err = drsvm_command("predict", model, table, "--explain", 1)
    assert (
        "distance: the smallest shift of the prepared columns that turns the prediction"
        in err
    )
    assert (
        "reasons: what speaks for yes (+) and against it (-), compared with the "
        "average row of the training" in err
    )
    assert "'--explain'" in error_of("predict", model, table, "--explain", "0")
    earlier = load_model(model)
    del earlier[-1].mean_
    save_model(earlier, tmp_path / "earlier.drsvm", load_metadata(model))
    _, _, err = drsvm_command(
        "predict", tmp_path / "earlier.drsvm", table, "--explain", 1
    )
    assert "compared with 0 in the prepared columns" in err
    features = features_of(
        load_model(model)[:-1], Schema(**load_metadata(model)["schema"])
    )
    np.testing.assert_array_equal(
        [found.features[k] for k in found._columns.sources],
        [one.column for one in features],
    )
    # With the other label as the positive one, reasons turn their signs.
    drsvm_command(
        "fit",
        table,
        "--label",
        "churn",
        "--kernel",
        "linear",
        "--positive",
        "no",
        "--model",
        model,
    )
    answer = answer_of("predict", model, table, "--explain", 9)["predictions"]
    for text, before in zip(answer["reasons"], parts, strict=True):
        turned = {
            name: -float(size)
            for name, _, size in re.findall(r"(\w+) (= \S+|is empty) \((\S+)\)", text)
        }
        assert turned == pytest.approx(
            {name: float(size) for name, _, size in before}, abs=1e-3
        )


def test_reasons_of_other_models(drsvm_command, answer_of, svmlight, tmp_path):
    model = tmp_path / "m.drsvm"
    drsvm_command("fit", svmlight, "--model", model)
    reasons = answer_of("predict", model, svmlight, "--explain", 3)["predictions"][
        "reasons"
    ]
    assert {name for text in reasons for name in re.findall(r"feature \d+", text)} == {
        f"feature {k}" for k in (1, 2, 3)
    }
    table, _, _ = letters(tmp_path, 90)
    drsvm_command("fit", table, "--model", model)
    answer = answer_of("predict", model, table, "--explain", 1)["predictions"]
    found = zip(answer["prediction"], answer["reasons"], strict=True)
    assert all(
        re.fullmatch(r"rather than [abc]: \w+ = \S+ \(\S+\)", text)
        and text[12] != label
        for label, text in found
    )
    drsvm_command("fit", table, "--kernel", "rbf", "--model", model)
    _, out, err = drsvm_command("predict", model, table, "--explain", 1)
    for row in table_of(out):
        assert re.fullmatch(r"rather than [abc]: \w+ = \S+ \(\S+\)", row["reasons"])
        assert float(row["distance"]) > 0
    assert "distance: no shorter shift" in err and "reasons: what speaks for" in err


def test_one_row_is_singular(drsvm_command, model, table, tmp_path):
    header, first = table.read_text().splitlines()[:2]
    new = tmp_path / "one.csv"
    new.write_text(f"{header}\n{first}\n")
    err = drsvm_command("predict", model, new)[2]
    assert "1 row, predicted" in err and "(1 row)" in err
    out = drsvm_command("audit", model, new)[1]
    assert "worst case on 1 row, rows shifted" in out and "1 rows" not in out
