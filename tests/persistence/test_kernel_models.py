"""Classifiers with a kernel in model files, pickles and ONNX: the same decisions everywhere."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from thorough import unless_long

from drsvm import WassersteinKernelSVC
from drsvm.persistence import ModelFileError, load_model, save_model
from drsvm.persistence.model_files import FORMAT, MAGIC
from drsvm.persistence.onnx_models import to_onnx


def fitted(kernel="rbf", n_classes=2, **settings):
    """Return a fitted pipeline and its rows."""
    X, y = load_iris(return_X_y=True)
    rows = y < 2 if n_classes == 2 else np.ones(len(y), dtype=bool)
    X, y = X[rows], np.array(["a", "b", "c"])[y[rows]]
    svc = WassersteinKernelSVC(kernel, coef0=1.0, n_landmarks=12, **{"calibration": "sigmoid", **settings})
    return make_pipeline(StandardScaler(), svc).fit(X, y), X


@pytest.mark.parametrize(("kernel", "n_classes"), [("rbf", 2), ("poly", 3)])
def test_files_and_pickles_restore_the_model(file, kernel, n_classes):
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
    for kernel, rows in (("linear", sparse.csr_array(X)), ("precomputed", rbf_kernel(X))):
        round_trip(WassersteinKernelSVC(kernel, n_landmarks=9).fit(rows, y), rows)


def test_a_function_as_kernel_is_refused_with_the_remedy(file):
    model, _ = fitted(rbf_kernel)
    with pytest.raises(ModelFileError, match=r"kernel is a function of your own: save it with joblib\.dump"):
        save_model(model, file)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("dual_coef_", np.ones(3)),
        ("landmarks_", np.ones((2, 4))),
        ("landmarks_", None),
        ("landmark_indices_", np.arange(2)),
        ("kernel", "sigmoid"),
        ("gamma_", "wide"),
        ("feature_cost", [1.0]),
    ],
)
def test_malformed_files_are_rejected(file, attribute, value):
    model, _ = fitted()
    vars(model[-1])[attribute] = value
    save_model(model, file)
    with pytest.raises(ModelFileError, match=r"is rejected|not that of a drsvm model"):
        load_model(file)


@pytest.mark.parametrize(
    ("kernel", "n_classes"),
    unless_long([("rbf", 2), ("poly", 3)], [("rbf", 2), ("rbf", 3), ("poly", 3), ("linear", 2), ("laplacian", 3)]),
)
def test_onnx_gives_the_same_answers(kernel, n_classes):
    pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X = fitted(kernel, n_classes, feature_cost=[1.0, 2.0, 1.0, 0.5])
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    rows = np.vstack([X, 1.5 * X, -X])
    label, decision, chances = session.run(None, {"X": rows})
    assert label.tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(decision.squeeze(), model.decision_function(rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(chances, model.predict_proba(rows), rtol=0, atol=1e-9)


def test_a_kernel_without_an_onnx_form_is_named():
    pytest.importorskip("skl2onnx")
    model, _ = fitted(rbf_kernel)
    with pytest.raises(ValueError, match="cannot be exported to ONNX: kernel="):
        to_onnx(model)
