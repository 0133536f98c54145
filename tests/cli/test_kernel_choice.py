"""``--kernel auto``, the default: linear, unless a kernel ranks unseen rows clearly better."""

import re

import numpy as np
import pytest
from cli_tables import write_csv
from sklearn.datasets import dump_svmlight_file, make_circles
from thorough import unless_long

from drsvm.cli import choose_kernel
from drsvm.defaults.roc_auc import auc_parts
from drsvm.persistence import load_metadata

NAMES = ("across", "up", "noise")


def rings(path, n=300, n_classes=2):
    """Write a table with a class around the other one (in three parts, if there are four classes), and noise."""
    X, y = make_circles(n, noise=0.1, factor=0.4, random_state=0)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=n)])
    parts = (
        (np.arctan2(X[:, 1], X[:, 0]) // (2.1)).astype(int) + 2 if n_classes > 2 else 0
    )
    return write_csv(
        path,
        X,
        np.where(y, "inner", np.char.add("outer", np.asarray(parts, dtype=str))),
        NAMES,
    )


def straight(path, wrong=0.0, signal=1.0, seed=0):
    """Write a table with a linear boundary, of which a share of the labels is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    y = signal * (X[:, 0] - X[:, 1]) + 0.5 * rng.normal(size=400) > 0
    return write_csv(
        path, X, np.where(y ^ (rng.random(400) < wrong), "yes", "no"), NAMES
    )


@pytest.mark.parametrize("n_classes", unless_long([2], [2, 4]))
def test_a_circular_boundary_gets_a_kernel(
    drsvm_command, answer_of, tmp_path, n_classes
):
    table = rings(tmp_path / "rings.csv", 600 // n_classes, n_classes)
    model = tmp_path / "m.drsvm"
    answer = answer_of("fit", table, "--model", model)
    choice = answer["choice"]
    assert choice["kernel"] == answer["parameters"]["kernel"] == "rbf"
    assert choice["roc_auc"]["rbf"] > 0.95 > 0.92 > choice["roc_auc"]["linear"]
    assert choice["lead"]["interval"][0] > 0.05 and answer["test"]["roc_auc"] > 0.95
    assert load_metadata(model)["training"]["choice"] == choice
    if n_classes > 2:
        return
    # No rows of a test are needed
    code, out, _ = drsvm_command("fit", table, "--test-size", 0)
    line = r"^choice +kernel rbf: ROC AUC on unseen rows (0\.9\d\d|1\.000) against 0\.\d{3} of a linear classifier$"
    assert code == 0 and re.search(line, out, re.MULTILINE)
    assert "weights" in answer_of("fit", table, "--kernel", "linear")


@pytest.mark.parametrize(
    "given", unless_long([{"wrong": 0.25}], [{}, {"wrong": 0.25}, {"signal": 0.0}])
)
def test_a_linear_boundary_and_noise_get_a_linear_classifier(
    drsvm_command, tmp_path, given
):
    code, out, _ = drsvm_command("fit", straight(tmp_path / "t.csv", **given))
    shown = r"^choice +linear: an RBF kernel does not rank unseen rows clearly better \(0\.\d{3} against 0\.\d{3}\)$"
    assert code == 0 and re.search(shown, out, re.MULTILINE)
    assert re.search(
        r"^weights +\d" if given.get("signal", 1.0) else r"^advice +do not use it",
        out,
        re.MULTILINE,
    )


def test_a_perfect_kernel_is_taken_beside_a_constant_classifier():
    """Neither has a variance: all rows add the same to the ROC AUC."""
    codes = np.arange(100) % 2
    constant = auc_parts(np.zeros(100), codes)
    perfect = auc_parts(codes.astype(float), codes)
    assert choose_kernel._compared(constant, perfect, codes)["kernel"] == "rbf"
    assert choose_kernel._compared(constant, constant, codes)["kernel"] == "linear"


@pytest.mark.thorough
def test_the_order_of_the_rows_does_not_matter(answer_of, tmp_path):
    table = rings(tmp_path / "rings.csv", 150)
    header, *lines = table.read_text().splitlines()
    choices = []
    for order in (lines, lines[::-1]):
        table.write_text("\n".join([header, *order]) + "\n")
        choices.append(answer_of("fit", table, "--test-size", 0)["choice"])
    assert choices[0]["roc_auc"] == pytest.approx(choices[1]["roc_auc"], abs=1e-3)


def test_texts_get_a_linear_classifier_without_a_trial(answer_of, tmp_path):
    rng = np.random.default_rng(0)
    words = rng.integers(500, size=(80, 20))
    X = np.zeros((80, 500))
    X[np.arange(80)[:, None], words] = 0.2
    dump_svmlight_file(
        X, words.min(axis=1) % 2, str(tmp_path / "texts.svm"), zero_based=False
    )
    choice = answer_of("fit", tmp_path / "texts.svm")["choice"]
    assert choice == {
        "kernel": "linear",
        "words": "linear: no kernel is tried with more features than rows",
        "roc_auc": None,
    }


@pytest.mark.parametrize(
    ("options", "obstacle"),
    [
        (["--norm", 1], "with --norm"),
        (["--radius", 0.01], "with --radius"),
        (["--trust-column", "up"], "with --trust-column"),
        (["--increasing", "up"], "with --increasing"),
        (["--solver", "interior-point"], "with --solver"),
        ([], "on more than 200 rows"),
    ],
)
def test_options_about_weights_and_many_rows_need_no_trial(
    answer_of, tmp_path, monkeypatch, options, obstacle
):
    monkeypatch.setattr(choose_kernel, "MAX_ROWS", 200)
    answer = answer_of("fit", rings(tmp_path / "rings.csv"), *options)
    assert (
        answer["choice"]["words"] == f"linear: no kernel is tried {obstacle}"
        and "weights" in answer
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--max-time", 0.01],
            "linear: there is no time to try a kernel; allow more with --max-time",
        ),
        (["--cv", "--folds", 2], None),
    ],
)
def test_when_there_is_no_time_or_a_search(answer_of, tmp_path, options, words):
    answer = answer_of(
        "fit", rings(tmp_path / "rings.csv", 100), *options, code=1 if words else 0
    )
    assert (
        answer.get("choice", {}).get("words") == words
        and answer["parameters"]["kernel"] == "linear"
    )


def test_too_few_rows_of_a_class_tell_nothing(answer_of, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    table = write_csv(
        tmp_path / "t.csv", X, np.where(np.arange(60) < 3, "rare", "usual"), NAMES
    )
    assert (
        "a class has too few different rows"
        in answer_of("fit", table)["choice"]["words"]
    )


def test_nothing_is_tried_beside_a_perfect_classifier(answer_of, tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 3))
    table = write_csv(
        tmp_path / "t.csv",
        X + 8.0 * (np.arange(120) % 2)[:, None],
        np.arange(120) % 2,
        NAMES,
    )
    assert (
        "its ROC AUC on unseen rows is 1.0000"
        in answer_of("fit", table)["choice"]["words"]
    )


@pytest.mark.thorough
def test_a_report_on_a_circular_boundary_is_about_a_kernel(
    answer_of, tmp_path, few_plots
):
    page = tmp_path / "r.md"
    summary = answer_of("report", rings(tmp_path / "rings.csv"), "--output", page)[
        "summary"
    ]
    text = page.read_text(encoding="utf-8")
    own = summary["models"]["WassersteinKernelSVC"]
    assert (
        summary["choice"]["kernel"] == "rbf"
        and own["roc_auc"] > 0.95
        and own["accuracy"] > 0.9
    )
    assert f"{summary['choice']['words'].capitalize()}.".lower() in [
        line.lower() for line in summary["in_plain_words"]
    ]
    assert (
        set(list(summary["importances"])[:2]) == {"across", "up"}
        and summary["weights"] is None
    )
    assert "A kernel has no" in text
    for section in ("## The radius", "## The worst case"):
        assert section not in text
    step = summary["next"]["command"].split()
    assert (
        step[:2] == ["drsvm", "fit"] and "--kernel" not in step
    )  # which makes the same choice
    summary = answer_of(
        "report", tmp_path / "rings.csv", "--kernel", "linear", "--output", page
    )["summary"]
    assert (
        summary["choice"] is None
        and summary["weights"]
        and "--kernel rbf" in summary["next"]["command"]
    )


@pytest.fixture
def few_plots(monkeypatch):
    from plots import omit_plots

    pytest.importorskip("matplotlib")
    omit_plots(monkeypatch)
