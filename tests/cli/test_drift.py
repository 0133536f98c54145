"""``drsvm drift``, and what ``fit`` keeps for it in the model file."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from cli_tables import PETS, rows, write_csv, write_table

from drsvm import WassersteinSVC, load_model, measure_shift, save_model
from drsvm.persistence import (
    COLUMN_BYTES,
    ROW_BYTES,
    Audit,
    OpenModel,
    SavedModel,
    load_audit,
    load_metadata,
    sample_of,
    save,
)


def months(folder, n=600, name="all.csv", moved=0.3):
    """Write a table with numbers, texts, dates and empty cells, whose rows move from month to month."""
    rng = np.random.default_rng(0)
    month = np.arange(n) * 6 // n
    left = np.array(["yes", "no", "no"])[np.arange(n) % 3]
    used = rng.normal(size=n) - 2.0 * (left == "no") + moved * month
    used = used.astype(object)
    kind = rng.choice(["01", "02", "10"], n)
    used[::9] = ""
    days = [
        str(day)
        for day in np.datetime64("2024-01-01")
        + (np.arange(n) // 2).astype("timedelta64[D]")
    ]
    columns = {
        "month": [f"2024-{m + 1:02d}" for m in month],
        "used": used,
        "plan": kind,
        "joined": days,
        "left": left,
    }
    return write_table(folder / name, columns), columns


def part(folder, columns, chosen, name="new.csv", **changed):
    kept = {
        key: np.asarray(values, dtype=object)[chosen]
        for key, values in {**columns, **changed}.items()
    }
    return write_table(folder / name, kept)


@pytest.fixture
def watched(tmp_path, drsvm_command):
    """Return a model of the first two months, and the columns of all."""
    _, columns = months(tmp_path)
    early = part(tmp_path, columns, slice(0, 200), "early.csv")
    words = (
        "--label",
        "left",
        "--drop",
        "month",
        "--categorical",
        "plan",
        "--kernel",
        "linear",
    )
    assert drsvm_command("fit", early, *words, "--model", tmp_path / "m.drsvm")[0] == 0
    return tmp_path / "m.drsvm", columns


def test_the_tested_classifier_sees_test_rows_and_new_rows(
    answer_of, model, table, tmp_path
):
    saved = load_model(model)
    audit = load_audit(model)
    (X, y) = rows()
    held = load_metadata(model)["training"]["held_out"]
    assert (
        held
        and audit.rows.distances.shape == (1, 30)
        and audit.rows.distances.dtype == np.float32
    )
    assert (audit.model[-1].coef_ != saved[-1].coef_).all() and audit.model[
        -1
    ].result_ is None
    assert audit.rows.errors.mean() == pytest.approx(
        1 - load_metadata(model)["training"]["test"]["accuracy"]
    )
    new = write_csv(tmp_path / "new.csv", X + 0.7, PETS[y])
    answer = answer_of("drift", model, new)
    distances = audit.model.decision_function(X + 0.7) / np.linalg.norm(
        audit.model[-1].coef_
    )
    np.testing.assert_allclose(audit.seen(X + 0.7).distances[0], distances, rtol=1e-5)
    expected = audit.shift(X + 0.7, PETS[y], random_state=0)
    assert (
        answer["moved"] == expected.moved > 0.2
        and answer["moved_by_chance"] == expected.moved_by_chance
    )
    assert answer["error_now"] == pytest.approx(1 - audit.model.score(X + 0.7, PETS[y]))
    assert [each["name"] for each in answer["columns"]][:3] == [
        each.name for each in expected.columns
    ][:3]
    assert {each["name"] for each in answer["columns"]} == {"height", "width", "depth"}
    assert all(
        each["distance"] == pytest.approx(0.7, abs=0.6) for each in answer["columns"]
    )


def test_what_is_printed_and_the_exit_code(
    drsvm_command, answer_of, model, table, tmp_path
):
    code, out, _ = drsvm_command("drift", model, table, "--fail-above", "chance")
    assert (
        code == 0
        and "no more than chance explains" in out
        and "cannot see rows of two classes" in out
    )
    assert "The classifier is the one that was tested" in out and "errors now" in out
    X, _ = rows()
    new = write_table(
        tmp_path / "new.csv",
        dict(zip(("height", "width", "depth"), (X + 2.0).T, strict=True)),
    )
    for limit, expected in (("chance", 4), ("0.1", 4), ("50", 0)):
        assert drsvm_command("drift", model, new, "--fail-above", limit)[0] == expected
    assert (
        answer_of("drift", model, new, "--fail-above", "chance", code=4)["exit_code"]
        == 4
    )
    answer = answer_of("drift", model, new)
    assert (
        answer["error_now"] is None
        and answer["shares_now"] is None
        and answer["n_after"] == 120
    )


def test_batches_of_a_column(drsvm_command, answer_of, watched, tmp_path):
    model, columns = watched
    order = np.random.default_rng(0).permutation(np.arange(200, 600))
    left = np.array(columns["left"])
    left[300:310] = ""
    new = part(tmp_path, columns, order, left=left)
    words = ("drift", model, new, "--by", "month")
    code, out, err = drsvm_command(
        *words, "--fail-above", "chance", "--csv", tmp_path / "t.csv"
    )
    assert code == 4 and "10 of 400 rows have no label" in err and "month" in out
    read = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert [row["month"] for row in read] == [
        "2024-03",
        "2024-04",
        "2024-05",
        "2024-06",
    ]
    assert float(read[0]["moved"]) < float(read[-1]["moved"]) and "error_now" in read[0]
    answer = answer_of(*words)
    assert [each["batch"] for each in answer["batches"]] == [
        row["month"] for row in read
    ]
    last = answer["batches"][-1]
    assert (
        "joined (days)" in {each["name"] for each in last["columns"]}
        and last["n_after"] == 100
    )
    alone = answer_of(
        "drift", model, part(tmp_path, columns, slice(500, 600), "last.csv")
    )
    assert alone["moved"] == last["moved"] and alone["columns"] == last["columns"]
    assert "plan" in {each["name"] for each in answer_of(*words[:3])["columns"]}


def test_from_batch_to_batch(answer_of, error_of, tmp_path):
    file, columns = months(tmp_path, moved=0.0)
    answer = answer_of("drift", file, "--label", "left", "--by", "month")
    assert [each["batch"] for each in answer["batches"]] == [
        f"2024-{m:02d}" for m in range(2, 7)
    ]
    assert (
        answer["radius"] == max(each["moved"] for each in answer["batches"])
        and answer["model"] is None
    )
    assert answer["coverage"] == pytest.approx(5 / 6)
    assert "data file and its batches with --by" in error_of(
        "drift", file, "--label", "left"
    )
    few = part(tmp_path, columns, np.r_[0:203, 300:400])
    err = error_of("drift", few, "--label", "left", "--by", "month")
    assert "batch '2024-03' has 1 row of a class, but needs 4" in err


def test_plots(drsvm_command, watched, tmp_path):
    pytest.importorskip("matplotlib")
    model, columns = watched
    new = part(tmp_path, columns, slice(300, 600))
    for more in ((), ("--by", "month")):
        assert (
            drsvm_command("drift", model, new, *more, "--plot", tmp_path / "p.svg")[0]
            == 0
        )
        assert (tmp_path / "p.svg").read_text().startswith("<?xml")


def test_files_that_cannot_be_compared(
    drsvm_command,
    error_of,
    answer_of,
    watched,
    model,
    table,
    svmlight,
    tmp_path,
    monkeypatch,
):
    watching, columns = watched
    one = answer_of("drift", watching, part(tmp_path, columns, slice(0, 1)))
    assert one["n_after"] == 1 and np.isfinite(one["moved"])
    err = error_of("drift", watching, part(tmp_path, columns, slice(0, 0)))
    assert "no rows" in err
    del columns["used"]
    assert "there is no column 'used'" in error_of(
        "drift", watching, part(tmp_path, columns, slice(0, 9))
    )
    assert "there is no column 'mnth' (--by)" in error_of(
        "drift", model, table, "--by", "mnth"
    )
    assert "--fail-above must be chance or a number" in error_of(
        "drift", model, table, "--fail-above", "much"
    )
    assert "--drop is for data without a model" in error_of(
        "drift", model, table, "--drop", "depth"
    )
    assert "confidence" in error_of("drift", model, table, "--confidence", "2")
    assert "name a model and a file of new rows" in error_of(
        "drift", model, "--by", "kind"
    )
    X, y = rows()
    code, _, err = drsvm_command(
        "drift", model, write_csv(tmp_path / "cow.csv", X, np.where(y, "cow", "cat"))
    )
    assert code == 0 and "labels are not compared" in err
    monkeypatch.setattr("drsvm.cli.shifts_of_files.MOST_BATCHES", 50)
    assert "--by width: has 120 different values in 120 rows" in error_of(
        "drift", model, table, "--by", "width"
    )
    drsvm_command("fit", svmlight, "--model", tmp_path / "s.drsvm")
    assert "--by: an svmlight file has no further columns" in error_of(
        "drift", tmp_path / "s.drsvm", svmlight, "--by", "month"
    )


def test_models_without_a_test(drsvm_command, error_of, table, tmp_path):
    drsvm_command("fit", table, "--test-size", 0, "--model", tmp_path / "m.drsvm")
    assert load_audit(tmp_path / "m.drsvm") is None
    assert "has no rows of a test to compare new ones with" in error_of(
        "drift", tmp_path / "m.drsvm", table
    )
    X, y = rows()
    save_model(WassersteinSVC(radius=0.1).fit(X, y), tmp_path / "own.drsvm")
    assert "use a model saved by drsvm fit" in error_of(
        "drift", tmp_path / "own.drsvm", table
    )
    # The saved classifier itself was tested on another file, and is not kept twice.
    drsvm_command(
        "fit",
        table,
        "--test",
        write_csv(tmp_path / "t.csv", X[:50], PETS[y[:50]]),
        "--model",
        tmp_path / "m",
    )
    opened = OpenModel(tmp_path / "m").load()
    assert opened.audit.model is opened.model and opened.audit.rows.distances.shape == (
        1,
        50,
    )


@pytest.mark.parametrize(
    "kind",
    ["three classes", "svmlight", "kernel", "trusted", "cross-validated", "streamed"],
)
def test_kinds_of_models(drsvm_command, answer_of, svmlight, tmp_path, kind):
    X, y = rows(120, 3 if kind == "three classes" else 2)
    labels = np.array(["a", "b", "c"])[y]
    file = svmlight if kind == "svmlight" else write_csv(tmp_path / "t.csv", X, labels)
    words = {
        "kernel": ["--kernel", "rbf"],
        "trusted": ["--trust-column", "width"],
        "cross-validated": ["--cv"],
    }
    if kind == "streamed":
        parquet = pytest.importorskip("pyarrow.parquet")
        import pyarrow

        file = tmp_path / "t.parquet"
        columns = dict(zip(("height", "width", "depth"), X.T, strict=True))
        parquet.write_table(pyarrow.table({**columns, "kind": labels}), file)
        words[kind] = ["--spool", tmp_path / "spool"]
    assert drsvm_command(
        "fit", file, *words.get(kind, []), "--model", tmp_path / "m.drsvm"
    )[0] in (0, 3)
    answer = answer_of("drift", tmp_path / "m.drsvm", file)
    assert answer["n_after"] == 120 and answer["moved"] < answer["moved_by_chance"]
    audit = load_audit(tmp_path / "m.drsvm")
    assert (answer["moved_fixed"] is not None) == (kind == "trusted")
    assert len(audit.rows.distances) == (3 if kind == "three classes" else 1)
    names = {"svmlight": ["1", "2", "3"], "streamed": []}.get(
        kind, ["height", "width", "depth"]
    )
    assert [each.name for each in audit.rows.columns] == names
    assert (
        "are not compared" in drsvm_command("drift", tmp_path / "m.drsvm", file)[1]
    ) == (kind == "streamed")


def test_predict_notes_that_rows_have_moved(drsvm_command, model, table, tmp_path):
    X, y = rows()
    assert "have moved" not in drsvm_command("predict", model, table)[2]
    for n, is_noted in ((120, True), (20, False)):
        new = write_csv(tmp_path / "new.csv", X[:n] + 2.0, PETS[y[:n]])
        assert (
            "have moved since the test" in drsvm_command("predict", model, new)[2]
        ) == is_noted


def test_a_sample_is_small(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 300))
    y = np.arange(9000) % 2
    model = WassersteinSVC(radius=0.1).fit(X[:200] + y[:200, None], y[:200])
    names = [f"column {k}" for k in range(300)]
    sample = sample_of(model, X, y, names)
    assert (
        sample.distances.shape == (1, ROW_BYTES // 12) and sample.columns == []
    )  # too many of them
    columns = sample_of(model, X, y, names[:150]).columns
    assert len(columns) == 150 and {len(each.quantiles) for each in columns} == {11}
    sizes = []
    for audit in (None, Audit(model, replace(sample, columns=columns))):
        save(SavedModel(model, {}, audit), tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    assert 40_000 < sizes[1] - sizes[0] < 100_000 and ROW_BYTES + COLUMN_BYTES < 95_000


def test_a_file_keeps_finite_numbers_for_huge_ones(tmp_path):
    X, y = rows(30)
    model = WassersteinSVC(radius=0.1).fit(X, y)
    sample = sample_of(model, 1e60 * X, y, ["a", "b", "c"])
    sample = replace(sample, error_costs=np.full(30, np.inf))
    save(SavedModel(model, {}, Audit(model, sample)), tmp_path / "model")
    kept = load_audit(tmp_path / "model").rows
    assert np.isfinite(kept.distances).all() and np.isinf(kept.error_costs).all()
    assert (np.sign(kept.distances) == np.sign(sample.distances)).all()


def test_a_file_with_few_quantiles_is_compared_with_all_rows():
    X, y = rows(200)
    model = WassersteinSVC(radius=0.1).fit(X, y)
    sample = sample_of(model, X, y, ["a", "b", "c"])
    fewer = [each._replace(quantiles=each.quantiles[1::3]) for each in sample.columns]
    audit = Audit(model, sample.some(slice(None), fewer))
    assert audit.shift(X, y, random_state=0).columns == []
    moved = audit.shift(X + np.array([0.0, 0.0, 5.0]), y, random_state=0)
    assert [(each.name, each.distance) for each in moved.columns] == [
        ("c", pytest.approx(5.0))
    ]
    assert (
        moved.moved
        == measure_shift(
            model, X, y, X + np.array([0.0, 0.0, 5.0]), random_state=0
        ).moved
    )
    assert json.dumps(moved.to_dict())
