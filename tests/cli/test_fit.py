"""``drsvm fit``."""

import json
import re

import numpy as np
import pytest
from cli_tables import rows, write_csv

import drsvm
from drsvm.persistence import load_metadata, load_model


def test_fit_prints_a_proof_and_a_score(drsvm_command, table):
    code, out, err = drsvm_command("fit", table, "--test-size", 0.25)
    assert code == 0
    assert "90 rows, 3 features, labels cat (45), dog (45); positive: dog" in out
    assert re.search(r"at most \d\.\de-\d+ above the optimum \(tolerance 1e-06: optimal\)", out)
    assert re.search(r"test 0\.\d{4} \(balanced 0\.\d{4}, 30 rows\)", out)
    assert re.search(r"largest: width -\d\.\d+, height \+", out)
    assert "note: Column 'kind' is used as the label (the last column)" in err


def test_fit_as_json(drsvm_command, table, tmp_path):
    code, out, err = drsvm_command(
        "fit", table, "--label", "kind", "--radius", 0.1, "--flip-cost", "inf", "--norm", "inf", "--l2", 0.01,
        "--tol", 1e-6, "--json", "--model", tmp_path / "m.drsvm",
    )  # fmt: skip
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert answer["parameters"]["radius"] == 0.1 and answer["parameters"]["flip_cost"] == "inf"
    assert answer["classes"] == {"cat": 60, "dog": 60} and answer["positive"] == "dog" and answer["proven"] is True
    [certificate] = answer["certificates"]
    assert 0 <= certificate["objective"] - certificate["lower_bound"] <= 1e-6
    fitted = load_model(tmp_path / "m.drsvm")
    assert fitted[-1].get_params()["norm"] == np.inf
    metadata = load_metadata(tmp_path / "m.drsvm")
    assert metadata["schema"]["columns"] == ["height", "width", "depth"]
    assert metadata["label"] == "kind" and metadata["drsvm"] == drsvm.__version__


def test_fit_agrees_with_the_estimator(drsvm_command, table, tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    X, y = rows()
    expected = make_pipeline(StandardScaler(), drsvm.WassersteinSVC()).fit(X, np.array(["cat", "dog"])[y])
    saved = load_model(tmp_path / "m.drsvm")
    np.testing.assert_allclose(saved.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_fit_of_svmlight_with_a_test_file(drsvm_command, svmlight, tmp_path):
    code, out, _ = drsvm_command("fit", svmlight, "--test", svmlight, "--json", "--model", tmp_path / "m.drsvm")
    answer = json.loads(out)
    assert code == 0
    assert answer["classes"] == {"0": 60, "1": 60} and answer["positive"] == 1
    assert answer["train"] == answer["test"]
    scaler = load_model(tmp_path / "m.drsvm")[0]
    assert scaler.with_mean is False
    _, out, _ = drsvm_command("fit", svmlight, "--no-standardise", "--json", "--model", tmp_path / "m.drsvm")
    assert len(load_model(tmp_path / "m.drsvm")) == 1


def test_fit_of_three_classes(drsvm_command, tmp_path):
    X, y = rows(90, 3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["a", "b", "c"])[y])
    code, out, _ = drsvm_command("fit", table, "--json", "--class-weight", "balanced")
    answer = json.loads(out)
    assert code == 0 and answer["positive"] is None
    assert [each["positive"] for each in answer["certificates"]] == ["a", "b", "c"]


def test_fit_with_cross_validation(drsvm_command, table, tmp_path):
    pytest.importorskip("drsvm.learn.model_selection")
    out_file = tmp_path / "m.drsvm"
    code, out, err = drsvm_command("fit", table, "--cv", "--folds", 3, "--flip-cost", 5, "--model", out_file, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert 0.5 < answer["cv"]["score"] <= 1 and answer["cv"]["candidates"] > 5
    fitted = load_model(out_file)[-1]
    assert fitted.radius == answer["parameters"]["radius"] > 0 and fitted.flip_cost == 5
    assert fitted.result_.gap <= fitted.result_.tol
    assert drsvm_command("fit", table, "--cv", "--radius", 1)[0] == 2


def test_an_unreached_tolerance_is_exit_code_1(drsvm_command, table, tmp_path):
    code, out, err = drsvm_command("fit", table, "--max-iter", 1, "--model", tmp_path / "m.drsvm")
    assert code == 1
    assert "The proven gap is" in err and "iteration limit" in out
    assert load_model(tmp_path / "m.drsvm")[-1].gap_ > 1e-8
