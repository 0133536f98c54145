"""Models of scikit-learn that skops has saved: ``drsvm audit`` and ``drift``."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from drsvm import measure_shift, worst_case_risk

skops = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 400).astype(float),
            "size": rng.normal(size=400),
            "town": rng.choice(["Ulm", "Bonn", None], 400),
        }
    )
    table.loc[3, "age"] = np.nan
    score = table["age"].fillna(50) / 20 + table["size"] + rng.normal(size=400)
    return table.assign(id=np.arange(400), label=np.where(score > 2.5, "yes", "no"))


@pytest.fixture(scope="module")
def pipeline(people):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    towns = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((numbers, ["age", "size"]), (towns, ["town"]))
    model = make_pipeline(columns, LogisticRegression())
    return model.fit(people[["age", "size", "town"]][:200], people["label"][:200])


@pytest.fixture
def files(people, pipeline, tmp_path):
    people[:200].to_csv(tmp_path / "old.csv", index=False)
    people[200:].to_csv(tmp_path / "new.csv", index=False)
    skops.dump(pipeline, tmp_path / "m.skops")
    return tmp_path


def test_audit_is_that_of_python(answer_of, drsvm_command, files, people, pipeline):
    audit = ("audit", files / "m.skops", files / "new.csv", "--label", "label")
    answer = answer_of(*audit, "--radii", "0,0.1")
    new = people[200:].replace({None: np.nan})
    expected = worst_case_risk(
        pipeline, new, new["label"], radius=[0, 0.1], flip_cost=np.inf, norm=2
    )
    assert answer["risks"]["risk"] == pytest.approx(expected.tolist())
    found = answer_of(*audit, "--compare", "--train", files / "old.csv")["risks"]
    assert {"risk_model", "risk_LogisticRegression"} <= found.keys()
    assert found["risk_model"] == pytest.approx(found["risk_LogisticRegression"], 0.1)
    assert "filled" not in drsvm_command(*audit)[2]


def test_drift_is_that_of_python(answer_of, error_of, files, people, pipeline):
    drift = ("drift", files / "m.skops", files / "new.csv", "--label", "label")
    answer = answer_of(*drift, "--test", files / "old.csv")
    table = people.replace({None: np.nan})
    X = table[["age", "size", "town"]]
    y = table["label"]
    expected = measure_shift(
        pipeline, X[:200], y[:200], X[200:], y[200:], random_state=0
    )
    assert answer["moved"] == pytest.approx(expected.moved)
    assert answer["error_now"] == pytest.approx(expected.error_now)
    assert "name a file of them (--test FILE)" in error_of(*drift)


def test_models_without_names_take_numbers(answer_of, error_of, files, people):
    path = files / "numbers.csv"
    table = people[["age", "size", "label"]][100:300]
    table.to_csv(path, index=False)
    X = table[["age", "size"]].to_numpy()
    classifier = SVC()
    skops.dump(classifier.fit(X, table["label"]), files / "a.skops")
    given = (files / "a.skops", path)
    answer = answer_of("audit", *given, "--label", "label", "--radii", "0")
    assert answer["scores"]["accuracy"] == classifier.score(X, table["label"])
    moved = answer_of("drift", *given, "--label", "label", "--test", path)["moved"]
    assert moved == 0
    error = error_of("audit", *given)
    assert "column 'label', row 1 contains" in error
    assert (
        "the model needs numbers; if that is the label, name it with --label" in error
    )


def test_types_need_trust_and_other_classifiers_cannot_be_audited(error_of, files):
    X = np.arange(20.0)[:, None]
    path = files / "forest.skops"
    skops.dump(RandomForestClassifier(2).fit(X, X[:, 0] > 9), path)
    audit = ("audit", path, files / "new.csv", "--label", "label")
    error = error_of(*audit)
    name = "sklearn.tree._tree.Tree"
    assert f"types that skops does not trust. If you do, add --trust {name}." in error
    numbers = files / "one.csv"
    numbers.write_text("a,label\n" + "1,False\n2,True\n" * 5)
    error = error_of("audit", path, numbers, "--label", "label", "--trust", name)
    assert "has no coef_" in error and "cannot be audited" in error
    path.write_bytes(path.read_bytes()[:300])
    assert "is not a model that skops has saved, or is damaged" in error_of(*audit)
