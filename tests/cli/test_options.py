"""Options, errors in them, and classifiers with a kernel: trained, chosen, applied, and refused with a reason."""

import re

import numpy as np
import pytest
from cli_tables import rows, write_csv
from sklearn.datasets import make_circles

import drsvm
from drsvm.cli.class_labels import positive_class
from drsvm.persistence import load_model
from drsvm.tables.values import Coded, labels_of


def test_help_shows_the_defaults_of_the_estimator(drsvm_command):
    shown = " ".join(re.sub(r"[│\n]", " ", drsvm_command("fit", "--help")[1]).split())
    assert "or auto. Default: auto." in shown
    assert f"for every class. Default: {drsvm.WassersteinSVC().flip_cost:g}." in shown


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
        (["--missing", "zero"], "--missing must be one of fill, drop, error"),
        (["--format", "xls"], "--format must be one of csv, parquet, svmlight"),
        (
            ["--class-weight", "heavy"],
            "--class-weight must be one of auto, balanced, none",
        ),
        (
            ["--test-size", "0.3", "--test", "x.csv"],
            "use --test or --test-size, not both",
        ),
        (["--test-size", "0.001"], "--test-size 0.001"),
        (["--test", "missing.csv"], "missing.csv: no such file"),
        (["--delimiter", ";"], "the delimiter seems to be a comma."),
        (["--radius"], "requires an argument"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_options(drsvm_command, table, tmp_path, arguments, expected):
    code, out, err = drsvm_command(
        "fit", table, "--model", tmp_path / "m.drsvm", *arguments
    )
    assert code == 2 and out == ""
    assert expected in re.sub(r"\s*\n?[│]?\s+", " ", err)
    assert not (tmp_path / "m.drsvm").exists()


@pytest.fixture
def rings(tmp_path):
    """Return a table with a class around the other one, and a column of noise."""
    X, y = make_circles(300, noise=0.1, factor=0.4, random_state=0)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=300)])
    return write_csv(
        tmp_path / "rings.csv",
        X,
        np.array(["outer", "inner"])[y],
        ("across", "up", "noise"),
    )


def test_a_kernel_from_fit_to_predictions(drsvm_command, answer_of, rings, tmp_path):
    model = tmp_path / "m.drsvm"
    exported = tmp_path / "m.onnx"
    code, out, _ = drsvm_command(
        "fit", rings, "--kernel", "rbf", "--gamma", 0.5, "--model", model
    )
    assert code == 0 and "weights" not in out
    assert (
        "on average in the feature space, which covers shifts of the features by" in out
    )
    assert re.search(
        r"above the optimum for these landmarks and \S+ above that for all functions "
        r"\(tolerance 1e-04: optimal in span\)",
        out,
    )
    assert re.search(
        r"^kernel +rbf, gamma 0\.5; \d+ landmarks: means of", out, re.MULTILINE
    )
    assert re.search(
        r"^importance +(up|across) 0\.\d{3}, (up|across) 0\.\d{3}: how much",
        out,
        re.MULTILINE,
    )
    found = answer_of("predict", model, rings, "--probability")
    assert found["scores"]["accuracy"] > 0.93
    saved = load_model(model)
    assert saved[-1].kernel == "rbf" and saved[-1].gamma_ == 0.5
    code, out, _ = drsvm_command("audit", model, rings)
    assert code == 0 and "upper bounds of the worst case" in out
    pytest.importorskip("skl2onnx")
    assert (
        drsvm_command("export", model, "--onnx", exported)[0] == 0
        and exported.stat().st_size > 0
    )


def test_sparse_rows_have_importances_by_their_index(answer_of, svmlight):
    answer = answer_of("fit", svmlight, "--kernel", "rbf")
    assert answer["kernel"]["landmarks"] <= 120
    assert (
        answer["parameters"]["kernel"] == "rbf"
        and list(answer["importances"])[-1] == "3"
    )


def test_labels_are_judged_by_a_kernel(answer_of, rings):
    text = rings.read_text().splitlines()
    wrong = range(1, 301, 30)
    for row in wrong:
        given, other = (
            ("inner", "outer") if text[row].endswith("inner") else ("outer", "inner")
        )
        text[row] = text[row].removesuffix(given) + other
    rings.write_text("\n".join(text))
    assert (
        len(
            {
                *answer_of("labels", rings, "--kernel", "rbf", "--top", len(wrong))[
                    "worst"
                ]["row"]
            }
            & {*wrong}
        )
        >= 8
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--increasing", "up"],
            "--increasing does not go with --kernel rbf, because it fixes the sign of a weight",
        ),
        (["--trust-column", "up"], "--trust-column does not go with --kernel rbf"),
        (["--norm", "inf"], "--norm does not go with --kernel rbf"),
        (["--solver", "ippa"], "there is one solver for kernels"),
        (["--cv"], "--cv does not go with --kernel rbf"),
        (["--gamma", "-1"], "--gamma must be a number above 0"),
        (["--kernel", "linear", "--gamma", "1"], "add --kernel rbf"),
        (["--kernel", "poly"], "--kernel must be one of linear, rbf, auto"),
        (["--kernel", "auto", "--norm", "1", "--gamma", "1"], "add --kernel rbf"),
    ],
)
def test_what_does_not_go_with_a_kernel(error_of, rings, options, words):
    assert words in error_of("fit", rings, "--kernel", "rbf", *options)


def test_help_has_words_in_place_of_types(drsvm_command):
    for command in ("fit", "predict", "audit", "labels", "report", "export"):
        shown = drsvm_command(command, "--help")[1]
        options = [
            line
            for line in shown.splitlines()
            if re.match(r"│[ *]+--", line) and "--help" not in line
        ]
        assert options and not [
            line
            for line in options
            if re.search(r"<(bool|str|int|float|list|path)", line)
        ]


def test_words_may_be_written_as_in_python(drsvm_command, table, tmp_path):
    for arguments in (
        ["--threshold", "balanced_accuracy"],
        ["--threshold", "balanced-accuracy"],
    ):
        path = tmp_path / f"{arguments[1]}.drsvm"
        assert (
            drsvm_command(
                "fit", table, "--kernel", "linear", "--model", path, *arguments
            )[0]
            == 0
        )
        assert load_model(path)[-1].threshold == "balanced_accuracy"
    path = tmp_path / "m.drsvm"
    arguments = (
        "--kernel",
        "linear",
        "--radius",
        0.1,
        "--solver",
        "interior_point",
        "--model",
        path,
    )
    assert drsvm_command("fit", table, *arguments)[0] == 0
    assert load_model(path)[-1].solver == "interior-point"


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        (["No", "Yes"], "no", "No"),
        (["a", "A"], "a", "a"),
        ([0, 1], "0", 0),
        ([0, 1], "0.0", 0),
        ([2, 10], None, 10),
        (["FALSE", "TRUE"], "FALSE", False),
        (["false", "true"], "False", False),
    ],
)
def test_the_positive_class_by_what_it_means(labels, given, expected):
    y = labels_of(Coded(list(map(str, labels)), np.arange(10) % 2))
    assert positive_class(y, given) == expected


def test_positive_classes_that_are_not_there(answer_of, error_of, tmp_path):
    X, y = rows(60, 3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["x", "X", "z"])[y])
    assert "--positive is for two classes, and there are 3: omit it" in error_of(
        "fit", table, "--positive", "z"
    )
    for given in ("w", "Z "):
        assert "unknown label; the labels are X, x, z" in error_of(
            "report", table, "--positive", given
        )
    table = write_csv(tmp_path / "t.csv", X[y < 2], np.array(["NO", "YES"])[y[y < 2]])
    answer = answer_of(
        "fit", table, "--positive", "no", "--model", tmp_path / "m.drsvm"
    )
    assert (
        answer["positive"]
        == answer_of("predict", tmp_path / "m.drsvm", table)["positive"]
        == "NO"
    )
