"""Models in ONNX: onnxruntime gives the labels and decisions of the model."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from archives import BY_QUANTILES
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)

from drsvm import (
    ClippedScaler,
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    load_model,
)
from drsvm.persistence import to_onnx

pandas = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def onnx():
    for extra in ("skl2onnx", "onnxruntime"):
        pytest.importorskip(extra)


def run(graph, inputs):
    """Return the labels and decisions of a graph in onnxruntime, and the probabilities if it has any."""
    import onnxruntime

    content = graph if isinstance(graph, bytes) else graph.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    label, decision, *chances = session.run(None, inputs)
    return label, decision[:, 0] if decision.shape[1] == 1 else decision, *chances


def assert_same(model, X, answer):
    label, decision, *chances = answer
    assert label.tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(decision, model.decision_function(X), rtol=0, atol=1e-12)
    assert len(chances) == hasattr(model, "predict_proba")
    for found in chances:
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


def table(n=200, seed=0):
    """Return a table with gaps, rare levels, yes and no, and names that are no identifiers."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "the age": rng.normal(40, 10, n).round(1),
            "gap-py": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "town": rng.choice(
                ["Rome", "Oslo", "Bonn", "Ulm", None], n, p=[0.5, 0.3, 0.1, 0.02, 0.08]
            ),
            "member": rng.choice(["yes", "no"], n),
            "label": rng.choice(["x", "y"], n),  # also the name of an output
        }
    )
    score = frame["the age"] - 40 + 10 * (frame["town"] == "Rome") + rng.normal(0, 3, n)
    return frame.assign(target=np.where(score > 3, "bought", "left"))


def inputs_of(model, frame):
    """Return the inputs of an exported model: the columns as its reader reads them."""
    reader = model[0]
    cells = reader.transform(frame)
    inputs = {}
    for place, name in enumerate(reader.columns):
        kind = object if name in reader.text_columns else float
        column = cells[:, [place]].astype(kind)
        inputs["label_" if name == "label" else name] = column
    return inputs


@pytest.mark.parametrize("texts", [False, True])
def test_numbers(texts):
    X, y = make_classification(300, 8, random_state=0)
    y = np.array(["no", "yes"])[y] if texts else y
    X[::7, 2] = np.nan
    model = make_pipeline(
        SimpleImputer(strategy="median"),
        ClippedScaler(2.0),
        VarianceThreshold(),
        WassersteinSVC(),
    )
    assert_same(model.fit(X, y), X, run(to_onnx(model), {"X": X}))


def test_several_classes_and_a_cross_validation():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for model in (
        WassersteinSVC(calibration="sigmoid"),
        WassersteinSVCCV(radii=[0.1, 0.01], cv=3),
    ):
        rows = np.vstack([X, 1e5 * X])
        assert_same(model.fit(X, y), rows, run(to_onnx(model), {"X": rows}))


def test_thresholds_of_scikit_learn_and_costs():
    X, y = make_classification(200, 5, flip_y=0.1, random_state=0)
    y = np.array(["no", "yes"])[y]
    model = make_pipeline(
        StandardScaler(),
        WassersteinSVC(calibration="sigmoid", threshold={"no": 1, "yes": 4}),
    )
    graph = to_onnx(model.fit(X, y))
    assert_same(model, X, run(graph, {"X": X}))
    for label, place in (("yes", 0.2), ("no", 0.9), ("yes", 0.0), ("yes", 1.0)):
        fixed = FixedThresholdClassifier(
            FrozenEstimator(model), threshold=place, pos_label=label
        ).fit(X, y)
        assert (fixed.predict(X) != model.predict(X)).any()
        assert_same(fixed, X, run(to_onnx(fixed), {"X": X}))
    curved = WassersteinKernelSVC(gamma=0.1, n_landmarks=20)
    tuned = TunedThresholdClassifierCV(
        curved, scoring="balanced_accuracy", cv=2, thresholds=20
    )
    inside = make_pipeline(StandardScaler(), tuned).fit(X, y)
    answer = run(to_onnx(inside), {"X": X})
    assert answer[0].tolist() == inside.predict(X).tolist()


def test_a_scaler_without_deviations_is_exported():
    X, y = make_classification(100, 4, random_state=0)
    model = make_pipeline(ClippedScaler(1.0, with_std=False), WassersteinSVC()).fit(
        X, y
    )
    assert_same(model, X, run(to_onnx(model), {"X": X}))


def test_what_cannot_be_exported_is_named():
    X = np.arange(40).reshape(-1, 1) % 5
    model = make_pipeline(OneHotEncoder(), WassersteinSVC(radius=0.01)).fit(
        X, (X[:, 0] > 2).astype(int)
    )
    with pytest.raises(
        ValueError, match="cannot be exported to ONNX: a OneHotEncoder of numbers"
    ):
        to_onnx(model)


STEPS = [
    PolynomialFeatures(),
    make_pipeline(StandardScaler(), PolynomialFeatures(2, interaction_only=True)),
    SimpleImputer(missing_values=0),
    SimpleImputer(missing_values=-1.0, strategy="median"),
    SimpleImputer(),
    make_union(
        SimpleImputer(missing_values=0), MissingIndicator(missing_values=0), PCA(2)
    ),
    PowerTransformer(),
    KBinsDiscretizer(3, encode="ordinal", **BY_QUANTILES),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_a_graph_gives_the_answers_of_the_model_or_is_refused(step):
    X, y = make_classification(60, 4, random_state=0)
    X = X.round(1)
    X[::5, 0] = 0.0
    X[::7, 1] = -1.0
    model = make_pipeline(step, WassersteinSVC(radius=0.01)).fit(X, y)
    try:
        graph = to_onnx(model)
    except ValueError as error:
        assert "the model cannot be exported to ONNX: " in str(error)
        assert type(step) in (PolynomialFeatures, Pipeline, PowerTransformer)
    else:
        assert_same(model, X, run(graph, {"X": X}))


def test_a_table_from_the_command_line(tmp_path, capsys):
    from drsvm.cli import main

    frame = table()
    file = tmp_path / "t.csv"
    saved = tmp_path / "m.drsvm"
    exported = tmp_path / "m.onnx"
    frame.to_csv(file, index=False)
    chances = tmp_path / "chances.csv"
    for arguments in (
        ["fit", file, "--label", "target", "--model", saved],
        ["export", saved, "--onnx", exported],
        ["predict", saved, file, "--probability", "--output", chances],
    ):
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments)])
        assert not ended.value.code
    shown = capsys.readouterr().out
    assert re.search(r'inputs \(texts, "\(empty\)" where empty\): town, label_', shown)
    model = load_model(saved)
    new = table(seed=1)
    new.loc[:9, "town"] = "Paris"  # a level that training lacks
    assert_same(model, new, run(exported.read_bytes(), inputs_of(model, new)))
    in_memory = clone(model[-1]).fit(model[:-1].transform(frame), frame["target"])
    expected = in_memory.predict_proba(model[:-1].transform(frame))
    for found in (
        model.predict_proba(frame),
        run(exported.read_bytes(), inputs_of(model, frame))[2],
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    place = model.classes_.tolist().index("left")
    np.testing.assert_allclose(
        pandas.read_csv(chances)["probability"], expected[:, place], rtol=0, atol=1e-6
    )
    with pytest.raises(SystemExit):
        main(["export", str(saved), "--onnx", str(exported), "--json"])
    inputs = json.loads(capsys.readouterr().out)["inputs"]
    assert inputs == {
        "the age": "number",
        "gap-py": "number",
        "town": "text",
        "member": "number",
        "label_": "text",
    }


@pytest.mark.thorough
@pytest.mark.data
@pytest.mark.skipif("DRSVM_DATA" not in os.environ, reason="DRSVM_DATA is not set")
@pytest.mark.parametrize(
    ("name", "options"),
    [("adult", ["class"]), ("titanic", ["survived", "--drop", "alive"])],
)
def test_real_tables(tmp_path, name, options):
    from drsvm.cli import main

    file = Path(os.environ["DRSVM_DATA"]) / f"{name}.csv.xz"
    saved = tmp_path / "m.drsvm"
    with pytest.raises(SystemExit):
        main(["fit", str(file), "--model", str(saved), "--json", "--label", *options])
    model = load_model(saved)
    frame = pandas.read_csv(file)
    assert_same(model, frame, run(to_onnx(model), inputs_of(model, frame)))
