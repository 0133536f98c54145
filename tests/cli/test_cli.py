"""The command line: results, exit codes, and what bad input meets with."""

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import drsvm

for extra in ("typer", "rich", "skops"):
    pytest.importorskip(extra)

from drsvm.cli import main  # noqa: E402
from drsvm.kernels.compiling import NOTICE  # noqa: E402
from drsvm.persistence import load_metadata, load_model  # noqa: E402

COMMANDS = ("fit", "predict", "path", "audit", "compare", "report", "demo")


@pytest.fixture
def drsvm_command(capsys):
    """Return a function that runs the command line and returns its exit code, output and messages."""

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return ended.value.code or 0, printed.out, printed.err

    return run


def rows(n=120, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.5 * y
    X[:, 1] -= y == 1
    return X, y


def write_csv(path, X, labels, names=("height", "width", "depth"), label="kind"):
    lines = [[*names, label], *([*map(repr, row), text] for row, text in zip(X.tolist(), labels, strict=True))]
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    X, y = rows()
    return write_csv(tmp_path / "table.csv", X, np.array(["cat", "dog"])[y])


@pytest.fixture
def svmlight(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    path = tmp_path / "data.svm"
    dump_svmlight_file(*rows(), str(path), zero_based=False)
    return path


@pytest.fixture
def model(drsvm_command, table, tmp_path):
    """Return the file of a fitted model."""
    path = tmp_path / "model.drsvm"
    assert drsvm_command("fit", table, "--model", path)[0] == 0
    return path


# --- fit ----------------------------------------------------------------------------------------------------------


def test_fit_prints_a_proof_and_a_score(drsvm_command, table):
    code, out, err = drsvm_command("fit", table, "--test-size", 0.25)
    assert code == 0
    assert "90 rows, 3 features, labels cat (45), dog (45); positive: dog" in out
    assert re.search(r"at most \d\.\de-\d+ above the optimum \(tolerance 1e-06: optimal\)", out)
    assert re.search(r"test 0\.\d{4} \(balanced 0\.\d{4}, 30 rows\)", out)
    assert re.search(r"largest: width -\d\.\d+, height \+", out)
    assert "note: Column 'kind' is taken as the label (the last column)" in err


def test_fit_as_json(drsvm_command, table, tmp_path):
    code, out, err = drsvm_command(
        "fit", table, "--label", "kind", "--radius", 0.1, "--flip-cost", "inf", "--norm", "inf", "--l2", 0.01,
        "--tol", 1e-6, "--json", "--model", tmp_path / "m.drsvm",
    )  # fmt: skip
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["parameters"]["radius"] == 0.1 and told["parameters"]["flip_cost"] == "inf"
    assert told["classes"] == {"cat": 60, "dog": 60} and told["positive"] == "dog" and told["proven"] is True
    [certificate] = told["certificates"]
    assert 0 <= certificate["objective"] - certificate["lower_bound"] <= 1e-6
    fitted = load_model(tmp_path / "m.drsvm")
    assert fitted[-1].get_params()["norm"] == np.inf
    metadata = load_metadata(tmp_path / "m.drsvm")
    assert metadata["schema"]["columns"] == ["height", "width", "depth"]
    assert metadata["label"] == "kind" and metadata["drsvm"] == drsvm.__version__


def test_fit_gives_what_the_estimator_gives(drsvm_command, table, tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    X, y = rows()
    expected = make_pipeline(StandardScaler(), drsvm.WassersteinSVC()).fit(X, np.array(["cat", "dog"])[y])
    saved = load_model(tmp_path / "m.drsvm")
    np.testing.assert_allclose(saved.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_fit_of_svmlight_with_a_test_file(drsvm_command, svmlight, tmp_path):
    code, out, _ = drsvm_command("fit", svmlight, "--test", svmlight, "--json", "--model", tmp_path / "m.drsvm")
    told = json.loads(out)
    assert code == 0
    assert told["classes"] == {"0": 60, "1": 60} and told["positive"] == 1
    assert told["train"] == told["test"]
    scaler = load_model(tmp_path / "m.drsvm")[0]
    assert scaler.with_mean is False
    _, out, _ = drsvm_command("fit", svmlight, "--no-standardise", "--json", "--model", tmp_path / "m.drsvm")
    assert len(load_model(tmp_path / "m.drsvm")) == 1


def test_fit_of_three_classes(drsvm_command, tmp_path):
    X, y = rows(90, 3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["a", "b", "c"])[y])
    code, out, _ = drsvm_command("fit", table, "--json", "--class-weight", "balanced")
    told = json.loads(out)
    assert code == 0 and told["positive"] is None
    assert [each["positive"] for each in told["certificates"]] == ["a", "b", "c"]


def test_fit_with_cross_validation(drsvm_command, table, tmp_path):
    pytest.importorskip("drsvm.learn.model_selection")
    out_file = tmp_path / "m.drsvm"
    code, out, err = drsvm_command("fit", table, "--cv", "--folds", 3, "--flip-cost", 5, "--model", out_file, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert 0.5 < told["cv"]["score"] <= 1 and told["cv"]["candidates"] > 5
    fitted = load_model(out_file)[-1]
    assert fitted.radius == told["parameters"]["radius"] > 0 and fitted.flip_cost == 5
    assert fitted.result_.gap <= fitted.result_.tol
    assert drsvm_command("fit", table, "--cv", "--radius", 1)[0] == 2


def test_an_unreached_tolerance_is_exit_code_1(drsvm_command, table, tmp_path):
    code, out, err = drsvm_command("fit", table, "--max-iter", 1, "--model", tmp_path / "m.drsvm")
    assert code == 1
    assert "The proven gap is" in err and "iteration limit" in out
    assert load_model(tmp_path / "m.drsvm")[-1].gap_ > 1e-8


def test_warnings_become_notes(drsvm_command, table):
    code, out, _ = drsvm_command("fit", table, "--radius", 50, "--flip-cost", "inf", "--json")
    assert code == 0
    assert any("classifier is constant" in note for note in json.loads(out)["notes"])


# --- the other commands -------------------------------------------------------------------------------------------


def test_predict(drsvm_command, model, table, tmp_path):
    code, out, err = drsvm_command("predict", model, table)
    assert code == 0 and "accuracy 0." in err
    read = list(csv.DictReader(io.StringIO(out)))
    saved, (X, y) = load_model(model), rows()
    assert [row["prediction"] for row in read] == saved.predict(X).tolist()
    np.testing.assert_array_equal([float(row["decision"]) for row in read], saved.decision_function(X))
    assert [row["label"] for row in read] == np.array(["cat", "dog"])[y].tolist()
    code, shown, _ = drsvm_command("predict", model, table, "--output", tmp_path / "p.csv")
    assert code == 0 and (tmp_path / "p.csv").read_text() == out and "predictions in" in shown
    told = json.loads(drsvm_command("predict", model, table, "--json")[1])
    assert told["scores"]["accuracy"] == pytest.approx(saved.score(X, np.array(["cat", "dog"])[y]))
    assert told["predictions"]["prediction"] == saved.predict(X).tolist()


def test_predict_without_labels_and_with_other_ones(drsvm_command, model, tmp_path):
    X, _ = rows(4)
    (tmp_path / "new.csv").write_text("depth,height,width\n" + "".join(f"{c},{a},{b}\n" for a, b, c in X.tolist()))
    code, out, _ = drsvm_command("predict", model, tmp_path / "new.csv", "--json")
    told = json.loads(out)
    assert code == 0 and told["scores"] is None
    np.testing.assert_allclose(told["predictions"]["decision"], load_model(model).decision_function(X))
    other = write_csv(tmp_path / "other.csv", X, ["cat", "dog", "cow", "cat"])
    code, _, err = drsvm_command("predict", model, other)
    assert code == 0 and "'cow', which the model does not know" in err


def test_predict_three_classes(drsvm_command, tmp_path):
    X, y = rows(60, 3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["a", "b", "c"])[y])
    drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    _, out, _ = drsvm_command("predict", tmp_path / "m.drsvm", table)
    assert out.splitlines()[0] == "row,prediction,decision_a,decision_b,decision_c,label"
    read = list(csv.DictReader(io.StringIO(out)))
    assert [row["prediction"] for row in read] == load_model(tmp_path / "m.drsvm").predict(X).tolist()


@pytest.fixture
def pipe_in(monkeypatch):
    """Return a function that puts bytes into the standard input."""
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_the_standard_input_is_a_data_file(drsvm_command, table, model, pipe_in, packed):
    content = packed(table.read_bytes())
    expected = json.loads(drsvm_command("fit", table, "--label", "kind", "--test-size", 0.25, "--json")[1])
    pipe_in(content)
    code, out, err = drsvm_command("fit", "-", "--label", "kind", "--test-size", 0.25, "--json")
    told = json.loads(out)
    assert (code, err, told["file"]) == (0, "", "-")
    assert told["weights"] == expected["weights"] and told["test"] == expected["test"]
    printed = drsvm_command("predict", model, table)[1]
    for arguments in ([], ["--output", "-"]):
        pipe_in(content)
        assert drsvm_command("predict", model, "-", *arguments)[:2] == (0, printed)
    assert not Path("-").exists()


def test_the_standard_input_as_a_test_file(drsvm_command, table, tmp_path, pipe_in):
    pipe_in(table.read_bytes())
    out = tmp_path / "m.drsvm"
    told = json.loads(drsvm_command("fit", table, "--test", "-", "--model", out, "--json")[1])
    assert told["test"] == told["train"]
    pipe_in(table.read_bytes())
    drsvm_command("fit", "-", "--model", out)
    assert load_metadata(out)["training"]["file"] == "standard input"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "standard input: is empty."),
        (b"a,b,label\n1,2,x\n3,oops,y\n5,6,x\n", "standard input: column 'b' holds the text 'oops' (line 3)"),
        (b"a,b,label\n1,2,x\n3,4,x\n", "standard input: all 2 rows have the label 'x'"),
    ],
)
def test_errors_name_the_standard_input(drsvm_command, pipe_in, content, expected):
    pipe_in(content)
    code, _, err = drsvm_command("fit", "-")
    assert code == 2 and f"error: {expected}" in err


def test_what_a_dash_cannot_stand_for(drsvm_command, table, model):
    for arguments, expected in (
        (("fit", "-", "--test", "-"), "the standard input can be read only once"),
        (("audit", model, "-", "--compare", "--train", "-"), "the standard input can be read only once"),
        (("predict", "-", table), "a model is not read from the standard input"),
        (("fit", table, "--model", "-"), "nothing but predictions is written to the standard output"),
        (("path", table, "--csv", "-"), "nothing but predictions is written to the standard output"),
    ):
        code, _, err = drsvm_command(*arguments)
        assert code == 2 and expected in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_a_data_file(drsvm_command, table, model, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[table.read_bytes()])
    writer.start()
    assert drsvm_command("predict", model, pipe)[:2] == drsvm_command("predict", model, table)[:2]
    writer.join()


def test_path(drsvm_command, table, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = drsvm_command(
        "path", table, "--n-radii", 5, "--test-size", 0.3, "--csv", tmp_path / "p.csv", "--plot", tmp_path / "p.png"
    )
    assert code == 0 and "test accuracy" in out
    read = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert len(read) == 5
    assert all(float(row["gap"]) <= 1e-6 and row["status"] == "optimal" for row in read)
    objectives = [float(row["objective"]) for row in read]
    assert objectives == sorted(objectives, reverse=True)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    told = json.loads(drsvm_command("path", table, "--radii", "0.2,0.1", "--json")[1])
    assert told["path"]["radius"] == [0.2, 0.1] and told["positive"] == "dog"


def test_more_than_two_classes_need_a_choice(drsvm_command, tmp_path):
    X, y = rows(60, 3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["a", "b", "c"])[y])
    for command in ("path", "compare"):
        code, _, err = drsvm_command(command, table)
        assert code == 2 and "--positive a" in err
    told = json.loads(drsvm_command("path", table, "--positive", "b", "--n-radii", 2, "--json")[1])
    assert told["positive"] == "b"
    assert drsvm_command("path", table, "--positive", "z")[0] == 2


def test_audit(drsvm_command, model, table):
    from drsvm import worst_case_risk

    told = json.loads(drsvm_command("audit", model, table, "--radii", "0,0.1", "--json")[1])
    X, y = rows()
    labels, saved = np.array(["cat", "dog"])[y], load_model(model)
    ball = {"radius": [0.0, 0.1], "flip_cost": saved[-1].flip_cost, "norm": 2}
    np.testing.assert_allclose(told["risks"]["risk"], worst_case_risk(saved, X, labels, **ball))
    np.testing.assert_allclose(told["risks"]["error"], worst_case_risk(saved, X, labels, loss="zero-one", **ball))


def test_audit_beside_other_classifiers(drsvm_command, model, table, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, err = drsvm_command(
        "audit", model, table, "--compare", "--plot", tmp_path / "r.svg", "--csv", tmp_path / "r.csv"
    )
    assert code == 0 and "risk LinearSVC" in out and "error LogisticRegression" in out
    assert "trained on the audited file itself" in err
    read = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    own = read[3]  # the radius that the model was trained for
    assert float(own["risk_drsvm"]) <= min(float(own["risk_LinearSVC"]), float(own["risk_LogisticRegression"]))
    assert (tmp_path / "r.svg").read_text().startswith("<?xml")
    code, _, err = drsvm_command("audit", model, table, "--compare", "--train", table)
    assert code == 0 and "itself" not in err


def test_audit_of_three_classes_draws_no_picture_and_writes_nothing(drsvm_command, tmp_path):
    pytest.importorskip("matplotlib")
    X, y = rows(60, 3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["a", "b", "c"])[y])
    drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    for option in (["--plot", tmp_path / "r.png"], ["--compare"]):
        code, _, err = drsvm_command("audit", tmp_path / "m.drsvm", table, "--csv", tmp_path / "r.csv", *option)
        assert code == 2 and f"{option[0]} is for two classes; this model has 3" in err
    assert not (tmp_path / "r.csv").exists() and not (tmp_path / "r.png").exists()


@pytest.mark.parametrize(("command", "display"), [("audit", "RiskCurveDisplay"), ("path", "RadiusPathDisplay")])
def test_a_picture_that_fails_leaves_no_table(drsvm_command, model, table, tmp_path, monkeypatch, command, display):
    pytest.importorskip("matplotlib")

    def fail(*_, **__):
        raise ValueError("no ink")

    monkeypatch.setattr(f"drsvm.plotting.{display}.plot", fail)
    files = [model, table] if command == "audit" else [table, "--n-radii", 2]
    code, _, err = drsvm_command(command, *files, "--csv", tmp_path / "r.csv", "--plot", tmp_path / "r.png")
    assert code == 2 and "no ink" in err and not (tmp_path / "r.csv").exists()


def test_audit_says_which_norms_there_are(drsvm_command, model, table):
    code, _, err = drsvm_command("audit", model, table, "--norm", "foo")
    assert code == 2 and "--norm must be one of 1, 2, inf, got 'foo'" in err


def test_the_path_is_seeded(drsvm_command, table, monkeypatch):
    import drsvm.solvers.path

    seeds, followed = [], drsvm.solvers.path.radius_path
    monkeypatch.setattr(
        "drsvm.radius_path", lambda *a, **k: seeds.append(k["random_state"]) or followed(*a, **k), raising=False
    )
    assert drsvm_command("path", table, "--n-radii", 2, "--seed", 7)[0] == 0
    assert seeds == [7]
    code, _, err = drsvm_command("path", "none.csv", "--solver", "magic")
    assert code == 2 and "--solver must be one of auto" in err


def test_names_in_brackets_are_no_markup(drsvm_command, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("drsvm.cli.screen.Screen.on_terminal", True)
    X, y = rows(40)
    folder = tmp_path / "[bold]"
    folder.mkdir()
    table = write_csv(folder / "[x].csv", X, np.array(["[red]", "[/b]"])[y], names=("[i]a", "b", "c"))
    code, out, err = drsvm_command("fit", table)
    assert code == 0 and "[red] (20)" in out and "reading [x].csv" in err and "[i]a" in out
    code, out, _ = drsvm_command("report", table, "--output", folder / "r.html")
    assert code == 0 and f"The report is {folder / 'r.html'}" in out
    code, out, _ = drsvm_command("path", table, "--radii", "0.1", "--positive", "[red]")
    assert code == 0 and "positive: [red]" in out


def test_compare(drsvm_command, table, tmp_path):
    pytest.importorskip("matplotlib")
    arguments = ("compare", table, "--solvers", "interior-point,ippa", "--plot", tmp_path / "c.png")
    told = json.loads(drsvm_command(*arguments, "--json")[1])
    columns = told["solvers"]
    assert columns["solver"] == ["interior-point", "ippa"]
    assert columns["gap"][0] <= 1e-8 and columns["gap"][1] <= 1e-4
    assert abs(columns["objective"][0] - columns["objective"][1]) <= 1e-4
    assert (tmp_path / "c.png").stat().st_size > 5000
    code, out, _ = drsvm_command("compare", table, "--solver", "interior-point")
    assert code == 0 and "interior-point" in out and "hybrid" not in out
    assert drsvm_command("compare", table, "--solvers", "isg", "--max-iter", 1)[0] == 1
    code, _, err = drsvm_command("compare", table, "--solvers", "simplex")
    assert code == 2 and "there is no solver 'simplex'" in err


def test_report(drsvm_command, table, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = drsvm_command("report", table, "--test-size", 0.3, "--output", tmp_path / "r.html")
    assert code == 0 and str(tmp_path / "r.html") in out
    assert "<html" in (tmp_path / "r.html").read_text()[:500]
    assert drsvm_command("report", table, "--output", tmp_path / "r.txt")[0] == 2
    code, out, _ = drsvm_command("report", table, "--max-iter", 1, "--output", tmp_path / "r.html", "--json")
    assert code == 1 and json.loads(out)["proven"] is False
    code, _, err = drsvm_command("report", tmp_path / "none.csv", "--solver", "magic", "--output", tmp_path / "r.html")
    assert code == 2 and "--solver must be one of auto" in err


@pytest.mark.parametrize("arguments", [["--test-size", 0.4], ["--missing", "drop"]])
def test_the_report_names_the_rows_of_the_file(drsvm_command, tmp_path, arguments):
    pytest.importorskip("matplotlib")
    X, y = rows()
    labels = np.array(["cat", "dog"])[y]
    X[:, 0] += 6.0 * y  # so that the wrong labels stand out
    wrong = np.arange(30, 120, 10)
    labels[wrong] = np.where(labels[wrong] == "cat", "dog", "cat")
    table = write_csv(tmp_path / "t.csv", X, labels)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *(["1,,2,cat"] * 5), *lines[1:]]) + "\n")
    arguments = ["--missing", "drop", *arguments]
    out = drsvm_command("report", table, *arguments, "--output", tmp_path / "r.html", "--json")[1]
    told = [int(name) for name in json.loads(out)["summary"]["labels_to_check"]]
    assert len(told) >= 3 and set(told) <= {int(row) + 5 + 1 for row in wrong}
    assert "numbered as the rows of the file, from 1" in (tmp_path / "r.html").read_text()


def test_demo(drsvm_command, tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr("drsvm.demo.main", lambda: called.append(print("demonstration")))
    assert drsvm_command("demo")[1] == "demonstration\n"
    assert json.loads(drsvm_command("demo", "--json")[1])["text"] == "demonstration\n"


def test_help_tells_the_defaults_of_the_estimator(drsvm_command):
    shown = " ".join(re.sub(r"[│\n]", " ", drsvm_command("fit", "--help")[1]).split())
    ball = drsvm.WassersteinSVC()
    assert f"or auto. Default: {ball.radius}." in shown and f"trust them all. Default: {ball.flip_cost:g}." in shown


def test_version_and_help(drsvm_command):
    assert drsvm_command("--version") == (0, f"drsvm {drsvm.__version__}\n", "")
    assert drsvm_command()[1].count("drsvm fit") >= 1
    for command in COMMANDS:
        code, out, _ = drsvm_command(command, "--help")
        assert code == 0 and f"drsvm {command} " in out and "Examples:" in out
    code, _, err = drsvm_command("fti")
    assert code == 2 and "fti" in err


# --- bad input ----------------------------------------------------------------------------------------------------

BAD_FILES = {
    "wrong.csv": (b"a,b,label\n1,2,x\n3\n", "line 3 has 1 columns"),
    "text.csv": (b"a,b,label\n1,2,x\n3,oops,y\n4,5,x\n", "'oops' (line 3)"),
    "commas.csv": (b"a;b;label\n1,5;2;x\n3,0;4;y\n", "column 'a' holds '1,5' (line 2): write decimal points"),
    "category.csv": (b"a,town,label\n1,Rome,x\n3,Oslo,y\n", "--one-hot"),
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b,label\n", "has no rows"),
    "one.csv": (b"a,b,label\n1,2,x\n3,4,x\n", "all 2 rows have the label 'x'"),
    "nan.csv": (b"a,b,label\n1,nan,x\n3,4,y\n", "--missing"),
    "inf.csv": (b"a,b,label\n1,inf,x\n3,4,y\n", "is infinite at line 2"),
    "twice.csv": (b"a,a,label\n1,2,x\n3,4,y\n", "both called 'a'"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "truncated"),
    "cut.svm.xz": (b"\xfd7zXZ\x00\x00\x04", "truncated"),
    "noise.csv": (bytes(range(256)) * 4, "binary"),
    "far.svm": (b"1 1:1\n-1 10000000:1\n", "line 2 has the index 10000000"),
    "negative.svm": (b"1 1:1\n-1 -1:1\n", "line 2: the index -1 is negative"),
    "zero.svm": (b"1 1:1\n-1 0:1\n", "line 2 has the index 0"),
    "numbers.csv": (b"a,price\n" + b"".join(b"%d,%d.5\n" % (k, k) for k in range(30)), "which are no classes"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(drsvm_command, tmp_path, name):
    content, expected = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    code, out, err = drsvm_command("fit", path, "--model", tmp_path / "m.drsvm")
    assert code == 2 and out == ""
    assert err.splitlines()[-1].startswith("error: ") and name in err and expected in err
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_bad_files_as_json(drsvm_command, tmp_path):
    code, out, err = drsvm_command("fit", tmp_path / "none.csv", "--json")
    assert code == 2 and "there is no such file" in err
    assert json.loads(out) == {"error": f"{tmp_path / 'none.csv'}: there is no such file.", "exit_code": 2}
    assert drsvm_command("fit", tmp_path)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--label", "kond"], "did you mean 'kind'?"),
        (["--radius", "-1"], "radius must be finite and at least 0"),
        (["--radius", "big"], "--radius must be a number or auto"),
        (["--norm", "3"], "--norm must be one of 1, 2, inf"),
        (["--flip-cost", "-2"], "flip_cost must be at least 0"),
        (["--tol", "-1"], "tol must be a number"),
        (["--solver", "magic"], "--solver must be one of auto, interior-point"),
        (["--missing", "zero"], "--missing must be one of error, drop, median"),
        (["--format", "xls"], "--format must be one of csv, parquet, svmlight"),
        (["--class-weight", "heavy"], "--class-weight must be balanced"),
        (["--test-size", "0.3", "--test", "x.csv"], "give --test or --test-size, not both"),
        (["--test-size", "0.001"], "--test-size 0.001"),
        (["--test-size", "5000"], "--test-size 5000"),
        (["--test", "missing.csv"], "there is no such file"),
        (["--delimiter", ";"], "it seems to be separated by a comma"),
        (["--radius"], "requires an argument"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_options(drsvm_command, table, tmp_path, arguments, expected):
    code, out, err = drsvm_command("fit", table, "--model", tmp_path / "m.drsvm", *arguments)
    assert code == 2 and out == ""
    assert expected in re.sub(r"\s*\n?[│]?\s+", " ", err)
    assert not (tmp_path / "m.drsvm").exists()


def test_an_input_file_is_not_overwritten(drsvm_command, table, model, tmp_path):
    content = table.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for arguments in (
        ("fit", table, "--model", table),
        ("fit", table, "--model", link),
        ("predict", model, table, "--output", table),
        ("predict", model, table, "--output", model),
        ("path", table, "--csv", table),
        ("path", table, "--csv", tmp_path / "x.png", "--plot", tmp_path / "x.png"),
    ):
        code, _, err = drsvm_command(*arguments)
        assert code == 2 and "choose another name" in err
    assert table.read_bytes() == content


def test_a_model_does_not_replace_another_kind_of_file(drsvm_command, table, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    code, _, err = drsvm_command("fit", table, "--model", tmp_path / "thesis.txt")
    assert code == 2 and "exists and is no drsvm model" in err
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_places_that_cannot_be_written_to(drsvm_command, table, tmp_path):
    for output, expected in ((tmp_path / "no" / "m.drsvm", "there is no folder"), (tmp_path, "is a folder")):
        code, _, err = drsvm_command("fit", table, "--model", output)
        assert code == 2 and expected in err
    code, _, err = drsvm_command("path", table, "--plot", tmp_path / "p.bmp")
    assert code == 2 and "a picture must end in .png" in err


def test_files_that_are_no_models(drsvm_command, table, model, tmp_path):
    for command in ("predict", "audit"):
        code, _, err = drsvm_command(command, table, table)
        assert code == 2 and "is not a drsvm model" in err
    (tmp_path / "cut.drsvm").write_bytes(model.read_bytes()[:-10])
    code, _, err = drsvm_command("predict", tmp_path / "cut.drsvm", table)
    assert code == 2 and "the checksum is wrong" in err


def test_a_file_that_does_not_suit_the_model(drsvm_command, model, svmlight, tmp_path):
    code, _, err = drsvm_command("predict", model, svmlight)
    assert code == 2 and "trained on a table with named columns" in err
    (tmp_path / "other.csv").write_text("heigth,width,depth\n1,2,3\n")
    code, _, err = drsvm_command("predict", model, tmp_path / "other.csv", "--output", tmp_path / "p.csv")
    assert code == 2 and "no column 'height' (needed by the model): did you mean 'heigth'?" in err
    assert not (tmp_path / "p.csv").exists()


def test_missing_values_and_categories_from_fit_to_predict(drsvm_command, tmp_path):
    X, y = rows(60)
    lines = [
        f"{1000 + k};{a:.3f};{'' if k % 7 == 0 else round(b, 3)};{['Rome', 'Oslo'][k % 3 == 0]};{['no', 'yes'][label]}"
        for k, ((a, b, _), label) in enumerate(zip(X, y, strict=True))
    ]
    table = tmp_path / "export.csv"
    table.write_text("customer id;a;b;town;churned\n" + "\n".join(lines) + "\n")
    model = tmp_path / "m.drsvm"
    code, _, err = drsvm_command(
        "fit",
        table,
        "--label",
        "churned",
        "--drop",
        "customer id",
        "--one-hot",
        "--missing",
        "median",
        "--model",
        model,
    )
    assert code == 0, err
    new = tmp_path / "new.csv"
    new.write_text("a;b;town\n1;;Rome\n2;3;Bonn\n")
    code, out, err = drsvm_command("predict", model, new, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["rows"] == 2 and "'Bonn'" in told["notes"][0]
    code, out, _ = drsvm_command("predict", model, new, "--missing", "drop", "--json")
    assert json.loads(out)["predictions"]["row"] == [2]


def test_an_interrupt_is_exit_code_130_and_leaves_nothing(drsvm_command, table, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("drsvm.learn.estimators.WassersteinSVC.fit", interrupted)
    code, out, err = drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    assert (code, out) == (130, "") and "interrupted" in err
    assert not (tmp_path / "m.drsvm").exists()


def test_a_missing_extra_is_named(drsvm_command, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = drsvm_command("path", table, "--plot", tmp_path / "p.png")
    assert code == 2 and "pip install 'drsvm[plot]'" in err


# --- whole processes ----------------------------------------------------------------------------------------------


def environment(package, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHONPYCACHE"))}
    return {**kept, "PYTHONPATH": str(package), **more}


def fresh_process(code, *arguments, cwd, env):
    return subprocess.run(
        [sys.executable, *code, *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True, timeout=180
    )


def test_a_second_fit_compiles_nothing_and_a_read_only_package_works(table, tmp_path):
    package = Path(drsvm.__file__).parent
    copy = tmp_path / "site" / "drsvm"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (copy, *filter(Path.is_dir, copy.rglob("*"))):
        (folder / "__pycache__").write_text("a file where numba wants a folder")  # stops the superuser too
    home = tmp_path / "home"
    home.mkdir()
    env = environment(copy.parent, HOME=str(home), XDG_CACHE_HOME=str(home / "cache"), PYTHONDONTWRITEBYTECODE="1")
    found = []
    for notice in (NOTICE + "\n", ""):  # who waits for the compiler is told so
        run = fresh_process(
            ["-W", "error", "-m", "drsvm"], "fit", table, "--model", "m.drsvm", "--json", cwd=tmp_path, env=env
        )
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout)["proven"] and run.stderr == notice
        found.append({path: path.stat().st_mtime_ns for path in home.rglob("*.nb?")})
    assert found[0] and found[0] == found[1]


def test_the_command_line_names_its_extra():
    hide = "import sys; sys.modules['typer'] = None; from drsvm.cli import main; main(['--version'])"
    run = fresh_process(["-c", hide], cwd=".", env=environment(Path(drsvm.__file__).parent.parent))
    assert run.returncode == 2 and run.stderr.strip().endswith("pip install 'drsvm[cli]'.")


def test_help_imports_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas"]
    found = f"[name for name in {heavy!r} if name in sys.modules]"
    look = f"import json, sys\nfrom drsvm.cli.app import app\nprint(json.dumps({found}))"
    run = fresh_process(["-c", look], cwd=".", env=environment(Path(drsvm.__file__).parent.parent))
    assert json.loads(run.stdout) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell")
def test_a_closed_pipe_is_no_error(model, table):
    command = f"{sys.executable} -m drsvm predict {model} {table} 2>/dev/null | head -1; exit ${{PIPESTATUS[0]}}"
    env = environment(Path(drsvm.__file__).parent.parent)
    run = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=120)
    assert run.stdout == "row,prediction,decision,label\n" and run.returncode == 0
