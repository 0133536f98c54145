"""``drsvm report``."""

import hashlib
import json
import shlex

import numpy as np
import pytest
from cli_tables import PETS, rows, write_csv
from plots import omit_plots


@pytest.fixture(autouse=True)
def no_plots(monkeypatch):
    """Omit the plots: the tests of the report draw them."""
    pytest.importorskip("matplotlib")
    omit_plots(monkeypatch)


def test_report(drsvm_command, answer_of, error_of, table, tmp_path):
    code, out, _ = drsvm_command(
        "report", table, "--test-size", 0.3, "--output", tmp_path / "r.html"
    )
    assert code == 0 and str(tmp_path / "r.html") in out
    assert "<html" in (tmp_path / "r.html").read_text()[:500]
    answer = answer_of(
        "report",
        table,
        "--kernel",
        "linear",
        "--max-iter",
        1,
        "--output",
        tmp_path / "r.html",
        code=1,
    )
    assert answer["proven"] is False
    err = error_of(
        "report",
        tmp_path / "none.csv",
        "--solver",
        "magic",
        "--output",
        tmp_path / "r.html",
    )
    assert "--solver must be one of auto" in err


@pytest.mark.parametrize("arguments", [["--test-size", 0.4], ["--missing", "drop"]])
def test_the_report_names_the_rows_of_the_file(drsvm_command, tmp_path, arguments):
    X, y = rows()
    labels = PETS[y]
    X[:, 0] += 6.0 * y  # makes the wrong labels stand out
    wrong = np.arange(30, 120, 10)
    labels[wrong] = np.where(labels[wrong] == "cat", "dog", "cat")
    table = write_csv(tmp_path / "t.csv", X, labels)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *(["1,,2,cat"] * 5), *lines[1:]]) + "\n")
    arguments = ["--missing", "drop", *arguments]
    out = drsvm_command(
        "report", table, *arguments, "--output", tmp_path / "r.html", "--json"
    )[1]
    answer = [int(name) for name in json.loads(out)["summary"]["labels_to_check"]]
    assert len(answer) >= 3 and set(answer) <= {int(row) + 5 + 1 for row in wrong}
    assert (
        "numbered like the rows of the file, from 1"
        in (tmp_path / "r.html").read_text()
    )


@pytest.fixture
def people(tmp_path):
    """Return a table with ids, text, gaps and Yes/No labels, some of them wrong."""
    rng = np.random.default_rng(4)
    churn = rng.random(200) < 0.4
    wrong = rng.random(200) < 0.05
    lines = ["customerID,plan,months,spend,Churn"]
    for k in range(200):
        plan = ["basic", "plus"][int(churn[k] ^ (rng.random() < 0.2))]
        months = (
            f"{rng.normal(24 - 12 * churn[k], 6):.0f}" if rng.random() > 0.05 else ""
        )
        label = "Yes" if churn[k] ^ wrong[k] else "No"
        lines.append(
            f"C-{k:04d}-{rng.integers(1e9)},{plan},{months},{rng.normal(50 + 9 * churn[k], 9):.2f},{label}"
        )
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_all_formats_say_the_same(answer_of, people, tmp_path, monkeypatch, format):
    monkeypatch.chdir(tmp_path)
    summary = answer_of("report", people, "--label", "Churn", "--format", format)[
        "summary"
    ]
    text = (tmp_path / f"drsvm-report.{format}").read_text(encoding="utf-8")
    assert summary["n_held_out"] == 50 and summary["n_samples"] == 150
    assert (summary["label"], summary["positive"]) == ("Churn", "Yes")
    if format == "json":
        assert json.loads(text) == summary
    else:
        assert (
            f"{100 * summary['models']['WassersteinSVC']['accuracy']:.1f}\u202f%"
            in text
        )
        assert "Rows are named by customerID." in text
    assert (
        summary["labels_to_check"][0].startswith("C-0")
        and summary["labels_to_check"][0] in text
    )
    digest = hashlib.sha256(people.read_bytes()).hexdigest()
    assert (
        summary["provenance"]["data_file"] == {"name": "people.csv", "sha256": digest}
        and digest in text
    )


def test_the_next_command_runs(drsvm_command, answer_of, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--label", "Churn", "--drop", "plan", "--format", "csv")
    for radius in ("0.05", "50"):
        answer = answer_of("report", people, *options, "--radius", radius)
        command = shlex.split(answer["summary"]["next"]["command"])
        assert (
            command[0] == "drsvm"
            and command[2:4] == [str(people), "--label"]
            and "plan" in command
        )
        assert drsvm_command(*command[1:])[0] == 0


def test_a_constant_classifier_is_reported_on_the_screen(
    drsvm_command, people, tmp_path
):
    out = drsvm_command(
        "report",
        people,
        "--label",
        "Churn",
        "--radius",
        50,
        "--output",
        tmp_path / "r.html",
    )[1]
    assert (
        out.startswith("This classifier predicts No for all 50 held-out rows")
        and "next: drsvm" in out
    )


def test_no_rows_need_to_be_held_out(answer_of, people, tmp_path):
    arguments = (
        "report",
        people,
        "--label",
        "Churn",
        "--test-size",
        0,
        "--output",
        tmp_path / "r.md",
    )
    summary = answer_of(*arguments)["summary"]
    assert (
        summary["n_held_out"] == 0
        and summary["n_samples"] == 200
        and summary["judged_by"] == "training rows"
    )
    assert "No rows are held out" in (tmp_path / "r.md").read_text(encoding="utf-8")


def test_features_of_svmlight_files_are_numbered_as_in_the_file(
    answer_of, svmlight, tmp_path
):
    weights = answer_of("report", svmlight, "--output", tmp_path / "r.md")["summary"][
        "weights"
    ]
    assert set(weights) == {f"feature {k + 1}" for k in range(3)}


def test_costs_by_class_and_trusted_columns_are_accepted(answer_of, people, tmp_path):
    costs = (
        "--flip-cost",
        "Yes=5",
        "--flip-cost",
        "No=inf",
        "--trust-column",
        "months",
        "--radius",
        0.1,
        "--l2",
        0,
    )
    answer = answer_of(
        "report",
        people,
        "--label",
        "Churn",
        *costs,
        "--output",
        tmp_path / "r.md",
        code=3,
    )
    assert answer["summary"]["flip_cost"] == {"No": "inf", "Yes": 5.0}
    assert answer["summary"]["certificates"][0]["status"] == "optimal within bounds"
    assert "only for weights of norm up to" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "pdf"],
            "--format must be one of html, md, json, csv, parquet, svmlight, got 'pdf'",
        ),
        (
            ["--format", "md", "--output", "r.html"],
            "r.html: the name of this report must end in .md",
        ),
        (
            ["--output", "r.txt"],
            "r.txt: the name of this report must end in .html, .md or .json",
        ),
    ],
)
def test_bad_formats_are_rejected(error_of, people, arguments, message):
    assert message in error_of("report", people, "--label", "Churn", *arguments)


@pytest.mark.thorough
def test_fit_and_report_give_the_same_figures(answer_of, people, tmp_path):
    arguments = (people, "--label", "Churn", "--class-weight", "balanced")
    tested = answer_of("fit", *arguments)["test"]
    own = answer_of("report", *arguments, "--output", tmp_path / "r.json")["summary"][
        "models"
    ]["WassersteinSVC"]
    assert {name: own[name] for name in tested} == tested


@pytest.mark.thorough
def test_the_positive_class_is_chosen(answer_of, tmp_path):
    """Weights, decisions and probabilities change their side, and nothing else changes."""
    X, y = rows()
    table = write_csv(tmp_path / "t.csv", X, np.array(["nein", "ja"])[y])
    model = tmp_path / "m.drsvm"
    found = {}
    for positive in ("ja", "nein"):
        for command in ("fit", "predict", "report"):
            file = (model, table) if command == "predict" else (table,)
            out = ("--output", tmp_path / "r.json")
            more = {
                "fit": ("--model", model),
                "predict": ("--probability",),
                "report": out,
            }
            # Ja is the default
            side = (
                ()
                if command == "predict" or positive == "ja"
                else ("--positive", positive)
            )
            found[command, positive] = answer_of(command, *file, *more[command], *side)
    yes, no = (found["fit", positive] for positive in ("ja", "nein"))
    assert (yes["positive"], no["positive"]) == ("ja", "nein") and yes["test"] == no[
        "test"
    ]
    assert (
        yes["weights"]["largest"]["height"] == -no["weights"]["largest"]["height"] > 0
    )
    yes, no = (found["predict", positive]["predictions"] for positive in ("ja", "nein"))
    assert yes["prediction"] == no["prediction"]
    np.testing.assert_array_equal(yes["decision"], np.negative(no["decision"]))
    np.testing.assert_allclose(yes["probability"], 1 - np.array(no["probability"]))
    assert (np.array(yes["prediction"]) == "ja").tolist() == (
        np.array(yes["decision"]) > 0
    ).tolist()
    yes, no = (found["report", positive]["summary"] for positive in ("ja", "nein"))
    assert (
        yes["weights"]["height"] == -no["weights"]["height"] > 0
        and yes["models"] == no["models"]
    )
    assert yes["radius_path"]["objective"] == no["radius_path"]["objective"]


def test_increasing_is_towards_the_positive_class(answer_of, error_of, table):
    for positive, free in (("dog", False), ("cat", True)):  # height speaks for dogs
        answer = answer_of(
            "fit", table, "--decreasing", "height", "--positive", positive
        )
        assert (answer["weights"]["largest"].get("height", 0.0) < -0.1) == free
    assert "--positive cow: unknown label; the labels are cat, dog" in error_of(
        "fit", table, "--positive", "cow"
    )


@pytest.mark.thorough
def test_the_report_says_how_the_file_was_read(drsvm_command, people, tmp_path):
    out = tmp_path / "r.json"
    page = tmp_path / "r.md"
    _, _, err = drsvm_command("report", people, "--label", "Churn", "--output", page)
    notes = [line.removeprefix("note: ") for line in err.splitlines()]
    drsvm_command("report", people, "--label", "Churn", "--output", out)
    assert json.loads(out.read_text())["reading"] == notes and any(
        "left out: customerID" in note for note in notes
    )
    assert (
        "## How the file was read" in page.read_text()
        and "customerID (an id)" in page.read_text()
    )


def test_a_column_that_determines_the_label_is_dropped_next(
    drsvm_command, people, tmp_path
):
    header, *lines = people.read_text().splitlines()
    # Fmt: skip
    copied = [
        f"{line.rpartition(',')[0]},{'gone' if line.endswith('Yes') else 'here'},{line.rpartition(',')[2]}"
        for line in lines
    ]
    people.write_text(
        "\n".join([header.replace("Churn", "the state,Churn"), *copied]) + "\n"
    )
    out = tmp_path / "r.md"
    _, shown, _ = drsvm_command(
        "report", people, "--label", "Churn", "--norm", 1, "--output", out
    )
    assert (
        "the state alone determines the label" in shown
        and "**the state** alone determines" in out.read_text()
    )
    [step] = [
        line.removeprefix("next: ")
        for line in shown.splitlines()
        if line.startswith("next: ")
    ]
    assert shlex.split(step)[-4:] == ["--norm", "1", "--drop", "the state"]
    assert "Save the classifier" not in out.read_text()
    code, shown, _ = drsvm_command(*shlex.split(step)[1:], "--output", out)
    assert code == 0 and "alone determines" not in shown


def test_warnings_name_options(drsvm_command, tmp_path):
    X, y = rows(400, seed=3)
    labels = np.where(y & (np.arange(400) < 40), "b", "a")
    table = write_csv(
        tmp_path / "t.csv", np.random.default_rng(0).normal(size=X.shape), labels
    )
    out = tmp_path / "r.json"
    drsvm_command("report", table, "--output", out, "--radius", 2)
    warned = " ".join(json.loads(out.read_text())["warnings"])
    assert "--class-weight balanced" in warned and "--cv" in warned
    assert not any(
        word in warned for word in ("class_weight", "WassersteinSVCCV", "estimator")
    )
