"""``drsvm fit``."""

import json
import re

import numpy as np
import pytest
from cli_tables import PETS, letters, rows, write_csv, write_table

import drsvm
from drsvm.cli.fit_summary import proof_line
from drsvm.persistence import load_metadata, load_model


def test_fit_prints_a_proof_and_a_score(drsvm_command, table):
    code, out, err = drsvm_command("fit", table)
    assert code == 0
    assert "120 rows, 3 features, labels cat (60), dog (60); positive: dog" in out
    assert re.search(
        r"at most \d\.\de-\d+ above the optimum \(tolerance 1e-06: optimal\)", out
    )
    tested = r"accuracy 0\.\d{4} \(always \w+: 0\.5\d{3}\), balanced 0\.\d{4}, ROC AUC 0\.\d{4} \(30 rows\)"
    tested += ", held out; trained on the other 90"
    assert re.search(rf"^test +{tested}$", out, re.MULTILINE)
    assert re.search(
        r"^ +95\u202f% intervals: accuracy 0\.\d{4} to 0\.\d{4}, balanced 0\.\d{4} to ",
        out,
        re.MULTILINE,
    )
    assert re.search(r"^ +cat +15  0\.\d{4} +0\.\d{4} +\d+ +\d+$", out, re.MULTILINE)
    assert re.search(r"largest: width -\d\.\d+, height \+", out)
    assert "note: Column 'kind' is used as the label (the last column)" in err


def test_fit_of_several_classes(drsvm_command, answer_of, tmp_path):
    table, *_ = letters(tmp_path, 90)
    answer = answer_of("fit", table, "--class-weight", "balanced")
    assert [
        answer["positive"],
        *(each["positive"] for each in answer["certificates"]),
    ] == [None, "a", "b", "c"]
    X, y = rows(120, 12)
    names = np.array([f"k{code:02d}" for code in range(12)])
    code, out, _ = drsvm_command(
        "fit", write_csv(tmp_path / "t.csv", X, names[y]), "--test-size", 0
    )
    assert code == 0 and re.search(
        r"labels k00 \(10\), .*, k09 \(10\) and 2 more; one-vs-rest", out
    )


@pytest.mark.parametrize(
    ("n_iter", "words"), [(1, "1 iteration, "), (1200, "1,200 iterations, ")]
)
def test_iterations_are_counted_in_words(n_iter, words):
    found = {
        "positive": "a",
        "objective": 0.5,
        "gap": 1e-7,
        "tol": 1e-6,
        "status": "optimal",
        "only_for": None,
    }
    found |= {"solver": "landmarks", "n_iter": n_iter, "time": 1.0}
    summary = {"classes": {"a": 5, "b": 5, "c": 5}, "parameters": {"moved_by": 0}}
    assert words in proof_line(summary, found)


def test_gross_errors_are_clipped_and_listed(drsvm_command, answer_of, tmp_path):
    X, y = rows(200)
    y = y.astype(str)
    before = answer_of("fit", write_csv(tmp_path / "right.csv", X, y))
    X[3, 0] = 9999.0
    X[5, 1] = -1e6
    table = write_csv(tmp_path / "wrong.csv", X, y)
    model = tmp_path / "m.drsvm"
    code, out, err = drsvm_command("fit", table, "--model", model)
    found = r"clipped: width \(1 cell below -\S+, down to -1,000,000\), height \(1 cell above \S+, up to 9,999\)"
    assert (
        code == 0
        and re.search(found, err)
        and "numbers clipped and standardised" in out
    )
    after = answer_of("fit", table)
    assert re.search(found, " ".join(after["notes"]))
    assert after["test"]["accuracy"] == pytest.approx(
        before["test"]["accuracy"], abs=0.03
    )
    assert re.search(
        found, drsvm_command("predict", model, table, "--output", tmp_path / "p.csv")[2]
    )
    assert "clipped" not in "".join(drsvm_command("fit", table, "--no-standardise")[1:])


def test_fit_as_json(drsvm_command, table, tmp_path):
    # Fmt: skip
    code, out, err = drsvm_command(
        "fit",
        table,
        "--label",
        "kind",
        "--radius",
        0.1,
        "--flip-cost",
        "inf",
        "--norm",
        "inf",
        "--l2",
        0.01,
        "--tol",
        1e-6,
        "--max-time",
        30,
        "--json",
        "--model",
        tmp_path / "m.drsvm",
    )
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert (
        answer["parameters"]["radius"] == 0.1
        and answer["parameters"]["flip_cost"] == "inf"
    )
    assert (
        answer["classes"] == {"cat": 60, "dog": 60}
        and answer["positive"] == "dog"
        and answer["proven"] is True
    )
    [certificate] = answer["certificates"]
    assert 0 <= certificate["objective"] - certificate["lower_bound"] <= 1e-6
    fitted = load_model(tmp_path / "m.drsvm")
    assert fitted[-1].get_params()["norm"] == np.inf and fitted[-1].max_time == 30
    metadata = load_metadata(tmp_path / "m.drsvm")
    assert metadata["schema"]["columns"] == ["height", "width", "depth"]
    assert metadata["label"] == "kind" and metadata["drsvm"] == drsvm.__version__


def test_fit_of_svmlight_with_a_test_file(answer_of, svmlight, tmp_path):
    answer = answer_of(
        "fit", svmlight, "--test", svmlight, "--model", tmp_path / "m.drsvm"
    )
    assert answer["classes"] == {"0": 60, "1": 60} and answer["positive"] == 1
    assert {**answer["train"], "intervals": answer["test"]["intervals"]} == answer[
        "test"
    ]
    assert load_model(tmp_path / "m.drsvm")[0].scaler_.with_mean is False
    answer_of("fit", svmlight, "--no-standardise", "--model", tmp_path / "m.drsvm")
    assert len(load_model(tmp_path / "m.drsvm")) == 1


def test_fit_with_cross_validation(drsvm_command, answer_of, table, tmp_path):
    pytest.importorskip("drsvm.estimators.search")
    out_file = tmp_path / "m.drsvm"
    answer = answer_of(
        "fit", table, "--cv", "--folds", 3, "--flip-cost", 5, "--model", out_file
    )
    assert 0.5 < answer["cv"]["score"] <= 1 and answer["cv"]["candidates"] > 5
    fitted = load_model(out_file)[-1]
    assert fitted.radius == answer["parameters"]["radius"] > 0 and fitted.flip_cost == 5
    assert fitted.result_.gap <= fitted.result_.tol
    assert drsvm_command("fit", table, "--cv", "--radius", 1)[0] == 2


def test_an_unreached_tolerance_is_exit_code_1(drsvm_command, table, tmp_path):
    code, out, err = drsvm_command(
        "fit",
        table,
        "--kernel",
        "linear",
        "--max-iter",
        1,
        "--model",
        tmp_path / "m.drsvm",
    )
    assert code == 1
    assert "The proven gap is" in err and "iteration limit" in out
    assert load_model(tmp_path / "m.drsvm")[-1].gap_ > 1e-8


def test_a_gap_for_limited_weights_is_exit_code_3(drsvm_command, answer_of, table):
    code, out, _ = drsvm_command("fit", table, "--radius", 0, "--l2", 0)
    assert code == 3
    assert re.search(
        r"above the optimum for weights of norm up to .* \(tolerance 1e-06: optimal within bounds\)",
        out,
    )
    answer = answer_of("fit", table, "--radius", 0, "--l2", 0, code=3)
    assert not answer["proven"] and answer["certificates"][0]["only_for"]
    assert (
        answer_of("fit", table, "--radius", 0, "--l2", 0.01)["certificates"][0][
            "only_for"
        ]
        is None
    )


def test_the_model_is_that_of_all_rows_and_held_out_figures_those_of_one_of_the_others(
    answer_of, table, tmp_path
):
    from sklearn.metrics import (
        balanced_accuracy_score,
        confusion_matrix,
        precision_score,
        recall_score,
        roc_auc_score,
    )
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline

    answer = answer_of("fit", table, "--seed", 3, "--model", tmp_path / "m.drsvm")
    X, y = rows()
    y = PETS[y]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=3, stratify=y
    )
    rival = make_pipeline(drsvm.ClippedScaler(), drsvm.WassersteinSVC()).fit(
        X_train, y_train
    )
    predicted = rival.predict(X_test)
    found = answer["test"]
    assert (
        answer["held_out"] == {"rows": 30, "trained_on": 90}
        and answer["rows"] == answer["train"]["rows"] == 120
    )
    assert found["accuracy"] == pytest.approx(np.mean(predicted == y_test))
    assert found["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(y_test, predicted)
    )
    assert found["roc_auc"] == pytest.approx(
        roc_auc_score(y_test == "dog", rival.decision_function(X_test))
    )
    assert list(found["recall"].values()) == pytest.approx(
        recall_score(y_test, predicted, average=None)
    )
    assert list(found["precision"].values()) == pytest.approx(
        precision_score(y_test, predicted, average=None)
    )
    matrix = [list(row.values()) for row in found["confusion"].values()]
    assert matrix == confusion_matrix(y_test, predicted).tolist()
    assert load_metadata(tmp_path / "m.drsvm")["training"]["test"] == found
    saved = load_model(tmp_path / "m.drsvm")
    expected = rival.fit(X, y)
    np.testing.assert_allclose(
        saved.decision_function(X), expected.decision_function(X), atol=1e-6
    )


def test_no_test_is_possible_or_wanted(drsvm_command, answer_of, table, tmp_path):
    code, out, err = drsvm_command("fit", table, "--test-size", 0)
    assert (
        code == 0
        and "on the training rows, so optimistic" in out
        and "held out" not in out + err
    )
    X, _ = rows(40)
    small = write_csv(tmp_path / "small.csv", X, ["rare"] * 3 + ["common"] * 37)
    answer = answer_of("fit", small)
    assert answer["test"] is None and answer["held_out"] is None
    assert any("only 3 rows have the label 'rare'" in note for note in answer["notes"])


@pytest.mark.thorough
def test_a_cross_validation_does_not_see_the_held_out_rows(answer_of, table, tmp_path):
    out = tmp_path / "m.drsvm"
    answer = answer_of("fit", table, "--cv", "--folds", 3, "--model", out)
    assert answer["cv"]["rows"] == answer["held_out"]["trained_on"] == 90
    saved = load_model(out)[-1]
    X, y = rows()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    again = drsvm.WassersteinSVC(**saved.get_params()).fit(X, PETS[y])
    np.testing.assert_allclose(saved.coef_, again.coef_, atol=1e-5)
    whole = answer_of("fit", table, "--cv", "--folds", 3, "--test-size", 0)
    assert whole["cv"]["rows"] == 120 and whole["test"] is None


def test_a_single_row_of_a_class_is_named_as_the_cause(
    drsvm_command, answer_of, tmp_path
):
    X, y = rows(60)
    labels = PETS[y]
    labels[0] = "dgo"
    table = write_csv(tmp_path / "t.csv", X, labels)
    model = tmp_path / "m.drsvm"
    code, _, err = drsvm_command("fit", table, "--model", model)
    assert code == 0 and "only 1 row has the label 'dgo'" in err
    assert "correct or remove the row if its label is a mistake" in err
    assert (
        max(
            answer_of("predict", model, table, "--probability")["predictions"][
                "probability_dgo"
            ]
        )
        < 0.5
    )


def with_a_constant_class(path):
    """Write a table with three classes.

    Nothing tells the rows of the rarest from the others. One column is 0/1.
    """
    rng = np.random.default_rng(0)
    y = np.where(
        np.arange(300) % 50 == 0, "rare", np.where(np.arange(300) % 2, "a", "b")
    )
    x = rng.normal(size=300) + 3.0 * (y == "a")
    flag = np.where(rng.random(300) < 0.5, "yes", "no")
    return write_table(path, {"x": x, "flag": flag, "y": y})


def test_constant_classes_and_units_are_named(
    drsvm_command, answer_of, table, model, tmp_path
):
    assert (
        "noise"
        not in drsvm_command("fit", table)[1]
        + drsvm_command("predict", model, table)[2]
    )
    table = with_a_constant_class(tmp_path / "t.csv")
    model = tmp_path / "m.drsvm"
    fit = ("fit", table, "--intercept-cost", "inf", "--radius", 0.3, "--test-size", 0)
    code, out, _ = drsvm_command(*fit, "--model", model)
    assert (
        code == 0
        and "constant   rare against the rest: decision values differ by less than the accuracy"
        in out
    )
    assert "numbers clipped and standardised, 0/1 columns as they are" in out
    answer = answer_of(*fit)
    assert [one["positive"] for one in answer["certificates"] if one["constant"]] == [
        "rare"
    ]
    assert (
        answer["units"] == {"standard_deviations": 1, "original": 1}
        and answer["weights"]["nonzero"] <= 2
    )
    assert (
        "rare against the rest: decision values differ"
        in drsvm_command("predict", model, table)[2]
    )
