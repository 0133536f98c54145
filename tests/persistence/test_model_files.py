"""Model files: they restore the same classifier, or say why it is not saved, and outlive moves of classes.

Classifiers with a kernel make the same decisions in files, in pickles and in ONNX.
"""

import io
import pickle
import re
import sys
import zipfile
from types import ModuleType

import numpy as np
import pytest
from archives import archive_of, data, packed, unpacked
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from thorough import unless_long

import drsvm
from drsvm import WassersteinKernelSVC, WassersteinSVC, WassersteinSVCCV
from drsvm.persistence import (
    FORMAT,
    MAGIC,
    ModelFileError,
    checks,
    load_metadata,
    load_model,
    names,
    save_model,
    to_onnx,
)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "steps", [[], [StandardScaler()], [SimpleImputer(), MaxAbsScaler()]], ids=len
)
def test_a_model_is_restored(file, round_trip, n_classes, steps):
    X, y = data(n_classes)
    model = make_pipeline(*steps, WassersteinSVC(class_weight="balanced")).fit(X, y)
    result = model[-1].result_
    loaded = round_trip(model, X, {"note": ["x", 1, None], "nested": {"a": 0.5}})
    assert loaded[-1].get_params() == model[-1].get_params()
    assert load_metadata(file) == {
        "note": ["x", 1, None],
        "nested": {"a": 0.5},
        "drsvm": drsvm.__version__,
    }
    assert model[-1].result_ is result  # saving does not modify the model


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_certificate_is_restored(round_trip, n_classes):
    X, y = data(n_classes)
    model = WassersteinSVC().fit(X, y)
    loaded = round_trip(model, X)
    assert repr(loaded.result_) == repr(model.result_)
    before, after = (np.ravel(each.result_)[0] for each in (model, loaded))
    np.testing.assert_array_equal(after.hinge_dual, before.hinge_dual)
    assert (
        after.history.to_json() == before.history.to_json()
        and after.status is before.status
    )
    np.testing.assert_array_equal(loaded.gap_, model.gap_)


def test_a_search_is_restored_with_its_scores(round_trip):
    X, y = data()
    search = WassersteinSVCCV(radii=[0.05, 0.1], flip_costs=[1.0], cv=2).fit(X, y)
    loaded = round_trip(search, X)
    assert loaded.best_params_ == search.best_params_ and repr(loaded.result_) == repr(
        search.result_
    )
    np.testing.assert_array_equal(
        loaded.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


def test_sparse_weights_and_models_of_partial_fit(round_trip):
    X, y = data()
    round_trip(WassersteinSVC().fit(X, y).sparsify(), X)
    round_trip(
        WassersteinSVC(radius=0.1, intercept_cost=np.inf).partial_fit(
            X, y, classes=np.unique(y)
        ),
        X,
    )


def test_metadata_may_have_any_names(file):
    metadata = {"file": "people.csv", "__class__": "x", "content": {"type": "numpy"}}
    metadata |= {"numbers": {1: 0.5, 2: float("inf")}, "scalar": np.float64(7.5)}
    save_model(WassersteinSVC().fit(*data()), file, metadata)
    assert load_metadata(file) == {**metadata, "drsvm": drsvm.__version__}
    assert type(load_metadata(file)["scalar"]) is np.float64


X, Y = data()
NOT_SAVED = {
    "Generator": lambda: WassersteinSVC(random_state=np.random.default_rng(0)).fit(
        X, Y
    ),
    "WassersteinSVC is not fitted: call fit first": WassersteinSVC,
    "CalibratedClassifierCV is not fitted: call fit first": lambda: (
        CalibratedClassifierCV(WassersteinSVC())
    ),
    "does not end in a WassersteinSVC, .* or WassersteinKernelSVC, but in LogisticRegression": lambda: (
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    ),
    "GridSearchCV is a search: save its best": lambda: GridSearchCV(
        WassersteinSVC(), {"l2": [0.1]}, cv=2
    ).fit(X, Y),
    r"kernel is a function of your own: save it with joblib\.dump": lambda: fitted(
        rbf_kernel
    )[0],
}


@pytest.mark.parametrize("reason", NOT_SAVED)
def test_the_reason_why_a_model_is_not_saved(file, reason):
    with pytest.raises(ModelFileError, match=reason):
        save_model(NOT_SAVED[reason](), file)
    assert not file.exists()


def test_a_model_of_too_many_parts_is_not_saved(file, monkeypatch):
    monkeypatch.setattr(checks, "MEMBERS", 5)
    with pytest.raises(
        ModelFileError,
        match=r"model.drsvm: the model cannot be saved: it has \d+ parts",
    ):
        save_model(WassersteinSVC().fit(X, Y), file)


def test_a_model_that_compresses_too_well_is_saved_uncompressed(
    file, round_trip, monkeypatch
):
    for name, value in {"RATIO": 1, "SMALL": 0, "SMALL_TEXT": 0}.items():
        monkeypatch.setattr(checks, name, value)
    round_trip(WassersteinSVC().fit(X, Y), X)
    with zipfile.ZipFile(io.BytesIO(archive_of(file.read_bytes()))) as opened:
        assert {member.compress_type for member in opened.infolist()} == {
            zipfile.ZIP_STORED
        }


# --- classes that move
# --------------------------------------------------------------------------------------------


def test_a_file_names_no_module_that_defines_a_class(file):
    sparsified = WassersteinSVC(norm="inf").fit(X, Y).sparsify()
    homes = {full.rpartition(".")[0] for full in names.NODES}
    for model in (
        make_pipeline(SimpleImputer(), StandardScaler(), sparsified),
        WassersteinSVCCV(radii=2).fit(X, Y),
    ):
        if hasattr(model, "steps"):
            model[:-1].fit(X)
        save_model(model, file)
        schema = unpacked(file.read_bytes())["schema.json"].decode()
        assert set(re.findall(r'"__module__": "([^"]*)"', schema)) <= homes


@pytest.mark.parametrize("parameter", ["radius", "threshold"])
def test_parameters_that_are_younger_than_a_file_have_their_defaults(file, parameter):
    model = make_pipeline(MaxAbsScaler(), WassersteinSVC(radius=0.1)).fit(*data())
    del vars(model[-1])[parameter]
    save_model(model, file)
    assert load_model(file)[-1].get_params()[parameter] in ("auto", "accuracy")


@pytest.mark.parametrize("version", ["1.5.0", "é" * 200])
def test_one_warning_names_another_version_of_scikit_learn(file, monkeypatch, version):
    model = make_pipeline(
        SimpleImputer(), StandardScaler(), WassersteinSVC(radius=0.1)
    ).fit(*data())
    monkeypatch.setattr("sklearn.base.__version__", version)
    save_model(model, file)
    monkeypatch.undo()
    with pytest.warns(
        UserWarning,
        match=r"model.drsvm: was saved with scikit-learn '[ -~]+', and this is",
    ) as caught:
        loaded = load_model(file)
    assert len(caught) == 1 and len(str(caught[0].message)) < 400
    assert (loaded.predict(data()[0]) == model.predict(data()[0])).all()
    save_model(loaded, file)
    load_model(file)  # without a warning


def test_an_imputer_of_scikit_learn_1_6_is_completed(file):
    model = make_pipeline(SimpleImputer(), WassersteinSVC(radius=0.1)).fit(*data())
    vars(model[0]).pop("_fill_dtype", None)  # a name of 1.8
    save_model(model, file)
    rows = np.full((1, 3), np.nan)
    assert load_model(file).predict(rows) == model[-1].predict(
        model[0].statistics_[None]
    )


def test_a_model_outlives_a_move_of_its_class(file, monkeypatch):
    """The class moves between saving and loading, and back."""
    model = WassersteinSVC().fit(X, Y)
    save_model(model, file)
    moved = ModuleType("drsvm.moved")
    moved.WassersteinSVC = type(
        "WassersteinSVC", (WassersteinSVC,), {"__module__": "drsvm.moved"}
    )
    monkeypatch.setitem(sys.modules, "drsvm.moved", moved)
    monkeypatch.setattr(drsvm, "WassersteinSVC", moved.WassersteinSVC)
    loaded = load_model(file)
    assert type(loaded) is moved.WassersteinSVC
    np.testing.assert_array_equal(
        loaded.decision_function(X), model.decision_function(X)
    )
    save_model(loaded, file)
    assert b"moved" not in unpacked(file.read_bytes())["schema.json"]
    monkeypatch.undo()
    assert type(load_model(file)) is WassersteinSVC


def test_a_file_with_the_former_name_of_a_class_is_read(file):
    model = WassersteinSVC().fit(X, Y)
    save_model(model, file)
    members = unpacked(file.read_bytes())
    schema = members["schema.json"].replace(b'"drsvm.problem"', b'"drsvm.model"')
    assert schema != members["schema.json"]
    file.write_bytes(packed({**members, "schema.json": schema}))
    np.testing.assert_array_equal(load_model(file).coef_, model.coef_)


# --- kernels
# ------------------------------------------------------------------------------------------------------


def fitted(kernel="rbf", n_classes=2, **settings):
    X, y = load_iris(return_X_y=True)
    rows = y < 2 if n_classes == 2 else np.ones(len(y), dtype=bool)
    X = X[rows]
    y = np.array(["a", "b", "c"])[y[rows]]
    svc = WassersteinKernelSVC(
        kernel, coef0=1.0, n_landmarks=12, **{"calibration": "sigmoid", **settings}
    )
    return make_pipeline(StandardScaler(), svc).fit(X, y), X


@pytest.mark.parametrize(("kernel", "n_classes"), [("rbf", 2), ("poly", 3)])
def test_files_and_pickles_restore_a_kernel(file, kernel, n_classes):
    model, X = fitted(kernel, n_classes)
    save_model(model, file)
    assert file.read_bytes().startswith(MAGIC + b"%d " % FORMAT)
    for restored in (load_model(file), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(restored.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(restored.predict(X), model.predict(X))
        assert repr(restored[-1].result_) == repr(model[-1].result_)
        assert restored[-1].get_params() == model[-1].get_params()


def test_sparse_landmarks_and_given_values(round_trip):
    X, y = load_iris(return_X_y=True)
    for kernel, rows in (
        ("linear", sparse.csr_array(X)),
        ("precomputed", rbf_kernel(X)),
    ):
        round_trip(WassersteinKernelSVC(kernel, n_landmarks=9).fit(rows, y), rows)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *(
            ("dual_coef_", np.ones(3)),
            ("landmarks_", np.ones((2, 4))),
            ("landmarks_", None),
        ),
        *(
            ("landmark_indices_", np.arange(2)),
            ("kernel", "sigmoid"),
            ("gamma_", "wide"),
            ("feature_cost", [1.0]),
        ),
    ],
)
def test_malformed_kernels_are_rejected(file, attribute, value):
    model, _ = fitted()
    vars(model[-1])[attribute] = value
    save_model(model, file)
    with pytest.raises(ModelFileError, match=r"is rejected|not that of a drsvm model"):
        load_model(file)


@pytest.mark.parametrize(
    ("kernel", "n_classes"),
    unless_long(
        [("rbf", 2), ("poly", 3)],
        [("rbf", 2), ("rbf", 3), ("poly", 3), ("linear", 2), ("laplacian", 3)],
    ),
)
def test_onnx_gives_the_answers_of_a_kernel(kernel, n_classes):
    pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X = fitted(kernel, n_classes, feature_cost=[1.0, 2.0, 1.0, 0.5])
    session = onnxruntime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows = np.vstack([X, 1.5 * X, -X])
    label, decision, chances = session.run(None, {"X": rows})
    assert label.tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(
        decision.squeeze(), model.decision_function(rows), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(chances, model.predict_proba(rows), rtol=0, atol=1e-9)


def test_a_kernel_without_an_onnx_form_is_named():
    pytest.importorskip("skl2onnx")
    model, _ = fitted(rbf_kernel)
    with pytest.raises(ValueError, match="cannot be exported to ONNX: kernel="):
        to_onnx(model)
