"""Model files: they restore the same classifier, are rejected when in doubt, and are written atomically."""

import functools
import hashlib
import io
import json
import operator
import os
import re
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from problems import plain_svc
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC

import drsvm
from drsvm import WassersteinSVC, WassersteinSVCCV
from drsvm.persistence import ModelFileError, checks, load_metadata, load_model, names, save_model
from drsvm.persistence.model_files import FORMAT, MAGIC


def dumps(content):
    """Return an archive of any content, as skops writes it."""
    return pytest.importorskip("skops.io").dumps(content)


def data(n_classes=2, n=90):
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam", "other"])[np.arange(n) % n_classes]
    return rng.normal(size=(n, 3)) + (y == "spam")[:, None], y


HOMES = {full.rpartition(".")[2]: full.rpartition(".")[0] for full in names.NODES}
"""The modules of all classes and functions that may occur in a file."""


def dumped(content):
    """Return an archive of any content that names classes as a model file does."""
    return rewritten(dumps(content), with_public_names)


def with_public_names(node):
    """Return a schema in which the public module of a class replaces the one that defines it."""
    if isinstance(node, list):
        return [with_public_names(each) for each in node]
    if not isinstance(node, dict):
        return node
    name, home = node.get("__class__"), HOMES.get(str(node.get("__class__")))
    moved = home and getattr(names.named(home, name), "__module__", None) == node["__module__"]
    public = {"__module__": home} if moved else {}
    return {key: with_public_names(value) for key, value in node.items()} | public


def with_checksum(archive, version=FORMAT):
    return MAGIC + f"{version} sha256:{hashlib.sha256(archive).hexdigest()}\n".encode() + archive


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.drsvm"


@pytest.fixture
def refusal(file):
    """Return a function that writes a file and returns the error message of loading it."""

    def refusal(content):
        file.write_bytes(content)
        messages = set()
        for load in (load_model, load_metadata):
            with pytest.raises(ModelFileError) as caught:
                load(file)
            messages.add(str(caught.value))
        (message,) = messages
        assert message.startswith(f"{file}: ")
        return message

    return refusal


@pytest.fixture
def saved(file):
    """Return the content of a good model file."""
    save_model(WassersteinSVC().fit(*data()), file)
    return file.read_bytes()


# --- round trips --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("steps", [[], [StandardScaler()], [SimpleImputer(), MaxAbsScaler()]], ids=len)
def test_a_model_is_restored(file, n_classes, steps):
    X, y = data(n_classes)
    model = make_pipeline(*steps, WassersteinSVC(class_weight="balanced")).fit(X, y)
    save_model(model, file, {"note": ["x", 1, None], "nested": {"a": 0.5}})
    loaded = load_model(file)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded[-1].get_params() == model[-1].get_params()
    assert load_metadata(file) == {"note": ["x", 1, None], "nested": {"a": 0.5}, "drsvm": drsvm.__version__}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_certificate_is_restored(file, n_classes):
    model = WassersteinSVC().fit(*data(n_classes))
    save_model(model, file)
    loaded = load_model(file)
    assert repr(loaded.result_) == repr(model.result_)
    before, after = (np.ravel(each.result_)[0] for each in (model, loaded))
    np.testing.assert_array_equal(after.hinge_dual, before.hinge_dual)
    assert after.history.to_json() == before.history.to_json() and after.status is before.status
    assert loaded.gap_ == model.gap_ if n_classes == 2 else np.array_equal(loaded.gap_, model.gap_)


def test_a_search_is_restored_with_its_scores(file):
    X, y = data()
    search = WassersteinSVCCV(radii=[0.05, 0.1], flip_costs=[1.0], cv=2).fit(X, y)
    save_model(search, file)
    loaded = load_model(file)
    np.testing.assert_array_equal(loaded.decision_function(X), search.decision_function(X))
    assert loaded.best_params_ == search.best_params_ and repr(loaded.result_) == repr(search.result_)
    np.testing.assert_array_equal(loaded.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_saving_does_not_modify_the_model(file):
    model = make_pipeline(WassersteinSVC()).fit(*data())
    result = model[-1].result_
    save_model(model, file)
    assert model[-1].result_ is result


def test_sparse_weights_and_models_of_partial_fit(file):
    X, y = data()
    model = WassersteinSVC().fit(X, y).sparsify()
    save_model(model, file)
    np.testing.assert_array_equal(load_model(file).decision_function(X), model.decision_function(X))
    model = WassersteinSVC(radius=0.1, intercept_cost=np.inf).partial_fit(X, y, classes=np.unique(y))
    save_model(model, file)
    loaded = load_model(file)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    "model",
    [
        WassersteinSVC(random_state=np.random.default_rng(0)),
        LogisticRegression(),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(file, model):
    with pytest.raises(ModelFileError, match=r"Generator|does not end in a WassersteinSVC"):
        save_model(model.fit(*data()), file)
    assert not file.exists()


def test_the_reason_why_a_model_is_not_saved(file):
    X, y = data()
    boosting = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=1)).fit(X, y)
    search = GridSearchCV(WassersteinSVC(), {"radius": [0.1]}, cv=2).fit(X, y)
    for model, reason in (
        (WassersteinSVC(), "WassersteinSVC is not fitted: call fit first"),
        (CalibratedClassifierCV(WassersteinSVC()), "CalibratedClassifierCV is not fitted: call fit first"),
        (
            boosting,
            "does not end in a WassersteinSVC, .* or WassersteinKernelSVCCV, but in HistGradientBoostingClassifier",
        ),
        (search, "GridSearchCV is a search: save its best_estimator_"),
    ):
        with pytest.raises(ModelFileError, match=reason):
            save_model(model, file)


# --- files of other versions, and classes that move ---------------------------------------------------------------

FILES = Path(__file__).parent / "files"


def schema_in(content):
    with zipfile.ZipFile(io.BytesIO(archive_of(content))) as opened:
        return opened.read("schema.json").decode()


def iris(n_classes):
    """Return every third row of iris, of all classes or of the last ones."""
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    kept = y >= 3 - n_classes
    return X[kept], y[kept]


def trained_with(model):
    """Return the parameters of the final fit of an estimator of version 0.1.0."""
    if isinstance(model, WassersteinSVC):
        return model.get_params()
    assert model.intercept_costs == np.inf
    return {**model.best_params_, "intercept_cost": model.intercept_costs, "tol": model.tol}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")  # scikit-learn wrote it once
@pytest.mark.parametrize(
    ("name", "n_classes", "note", "steps"),
    [("pipeline", 3, "three classes", [StandardScaler()]), ("cross-validated", 2, "two classes", [])],
)
def test_models_of_version_0_1_0(file, name, n_classes, note, steps):
    X, y = iris(n_classes)
    content = (FILES / f"{name}-0.1.0.drsvm").read_bytes()
    assert content.startswith(MAGIC + b"1 ") and '"drsvm.result"' in schema_in(content)
    file.write_bytes(content)
    loaded = load_model(file)
    assert load_metadata(file) == {"note": note, "drsvm": "0.1.0"}
    parameters = trained_with(loaded[-1] if steps else loaded)
    fitted = make_pipeline(*steps, plain_svc(**parameters)).fit(X, y)
    # Runs of that version ended as soon as the gap was small.
    np.testing.assert_allclose(loaded.decision_function(X), fitted.decision_function(X), rtol=2e-3, atol=2e-3)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    save_model(loaded, file)  # in the current format
    np.testing.assert_array_equal(load_model(file).predict(X), fitted.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize(
    "name", ["plain", "three-classes", "cross-validated", "calibrated", "table", "further-steps", "hashed"]
)
def test_models_of_version_0_2_0(name):
    """The files contain rows and what the model of that version computed for them.

    In further-steps and hashed are transformers that later versions read, but do not write.
    """
    path = FILES / f"{name}-0.2.0.drsvm"
    metadata, model = load_metadata(path), load_model(path)
    assert metadata["drsvm"] == "0.2.0"
    rows = metadata["rows"]
    rows = pytest.importorskip("pandas").DataFrame(rows) if isinstance(rows, dict) else rows
    decide = "predict_proba" if name == "calibrated" else "decision_function"
    np.testing.assert_allclose(getattr(model, decide)(rows), metadata[decide], rtol=1e-9)
    if name == "table":  # probabilities were written next to the model
        [slope], [offset] = metadata["probability"]["slopes"], metadata["probability"]["offsets"]
        odds = slope * model.decision_function(rows) + offset
        clear = np.abs(odds) > 0.2
        np.testing.assert_allclose(model.predict_proba(rows)[clear, 1], 1 / (1 + np.exp(-odds[clear])), rtol=1e-9)


def test_a_file_names_no_module_that_defines_a_class(file):
    X, y = data()
    sparsified = WassersteinSVC(norm="inf").fit(X, y).sparsify()
    for model in (make_pipeline(SimpleImputer(), StandardScaler(), sparsified), WassersteinSVCCV(radii=2).fit(X, y)):
        if hasattr(model, "steps"):
            model[:-1].fit(X)
        save_model(model, file)
        modules = set(re.findall(r'"__module__": "([^"]*)"', schema_in(file.read_bytes())))
        assert modules <= set(HOMES.values())


def test_a_model_outlives_a_move_of_its_class(saved, file, monkeypatch):
    """The class moves between saving and loading, and back."""
    X, y = data()
    moved = ModuleType("drsvm.moved")
    moved.WassersteinSVC = type("WassersteinSVC", (WassersteinSVC,), {"__module__": "drsvm.moved"})
    monkeypatch.setitem(sys.modules, "drsvm.moved", moved)
    monkeypatch.setattr(drsvm, "WassersteinSVC", moved.WassersteinSVC)
    loaded = load_model(file)
    assert type(loaded) is moved.WassersteinSVC
    np.testing.assert_array_equal(loaded.decision_function(X), WassersteinSVC().fit(X, y).decision_function(X))
    save_model(loaded, file)
    assert "moved" not in schema_in(file.read_bytes())
    monkeypatch.undo()
    assert type(load_model(file)) is WassersteinSVC


def test_defining_modules_are_not_accepted_as_names(refusal):
    """A class has one name: neither its current module nor those of other formats are accepted."""
    archive = dumps({"model": WassersteinSVC().fit(*data()), "metadata": {}})
    for version in (1, FORMAT):
        assert "contains drsvm.learn.estimators.WassersteinSVC" in refusal(with_checksum(archive, version))
    old = archive_of((FILES / "pipeline-0.1.0.drsvm").read_bytes())
    assert "contains drsvm.estimators.WassersteinSVC" in refusal(with_checksum(old, FORMAT))


# --- rejection ----------------------------------------------------------------------------------------------------


def test_files_that_are_not_models(refusal, tmp_path):
    for content in (b"", b"drsvm", b"a,b\n1,2\n", b"drsvm-model \n", b"drsvm-model x sha256:0\n", os.urandom(500)):
        assert "is not a drsvm model" in refusal(content)
    with pytest.raises(ModelFileError, match="there is no such file"):
        load_model(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path)


def test_a_changed_or_truncated_file(refusal, saved):
    start = saved.index(b"\n") + 1
    for position in np.linspace(start, len(saved) - 1, 40).astype(int):
        changed = bytearray(saved)
        changed[position] ^= 1
        assert "the checksum is wrong" in refusal(bytes(changed))
        assert "the checksum is wrong" in refusal(saved[:position])
    assert "the checksum is wrong" in refusal(saved + b"more")


def test_a_file_of_a_newer_version(refusal, saved):
    assert "newer drsvm" in refusal(saved.replace(b"drsvm-model 3", b"drsvm-model 9", 1))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (SVC(), "sklearn.svm._classes.SVC"),
        (GaussianRandomProjection(), "sklearn.random_projection.GaussianRandomProjection"),
        (os.path.join, "posixpath.join|ntpath.join"),
        (np.load, "numpy.load"),
        (np.add, "numpy"),
        (functools.partial(print, "hello"), "functools.partial"),
        (operator.methodcaller("system", "true"), "methodcaller"),
        ({1, 2}, "builtins.set"),
        (np.random.RandomState(0), "RandomState"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_types_outside_the_list_are_rejected(refusal, content, named):
    for wrapped in (content, {"model": WassersteinSVC().fit(*data()), "metadata": {"a": [content]}}):
        for version in (1, FORMAT):
            message = refusal(with_checksum(dumped(wrapped), version))
            assert re.search(named, message) and "rejected" in message


def rewritten(archive, change):
    """Return an archive whose schema has been changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, json.dumps(change(json.loads(content))) if name == "schema.json" else content)
    return out.getvalue()


def test_an_allowed_type_built_in_another_way_is_rejected(refusal):
    def change(schema):
        node = {"__class__": "str", "__module__": "builtins", "__loader__": "FunctionNode", "content": "x"}
        return {**schema, "extra": [[{"deep": node}]]}

    archive = rewritten(dumped({"model": [], "metadata": {}}), change)
    assert "builtins.str (FunctionNode)" in refusal(with_checksum(archive))


def node(name, loader, content=None, home="builtins"):
    return {"__module__": home, "__class__": name, "__loader__": loader, "content": content}


HOSTILE = {
    "a function as an object": node("f_classif", "ObjectNode", {}, "sklearn.feature_selection"),
    "an estimator as a function": node("Pipeline", "FunctionNode", None, "sklearn.pipeline"),
    "an estimator as a type": node("FunctionTransformer", "TypeNode", None, "sklearn.preprocessing"),
    "a function outside the list": node("system", "FunctionNode", None, "os"),
    "an attribute of a module in the list": node("savetxt", "FunctionNode", None, "numpy"),
    "a dotted name": node("lib.format.os.system", "FunctionNode", None, "numpy"),
    "an unknown kind of node": node("dict", "CallNode", {}),
    "a subclass by its defining module": node(
        "ColumnTransformer", "ObjectNode", {}, "sklearn.compose._column_transformer"
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_a_node_may_not_name(refusal, kind):
    model = {"model": HOSTILE[kind], "metadata": node("dict", "DictNode", {})}
    message = refusal(with_checksum(schema_only(json.dumps(node("dict", "DictNode", model)))))
    assert "rejected" in message and HOSTILE[kind]["__class__"] in message


MALFORMED = {
    "attributes that are no dict": node(
        "StandardScaler", "ObjectNode", node("list", "ListNode", []), "sklearn.preprocessing"
    ),
    "a cache folder": node("Pipeline", "ObjectNode", node("dict", "DictNode", {"memory": "/tmp"}), "sklearn.pipeline"),
    "a slice of objects": node("slice", "SliceNode", [node("list", "ListNode", []), None, None]),
    "keys of another type": {
        **node("dict", "DictNode", {"a": 1}),
        "key_types": node("list", "ListNode", [node("list", "TypeNode")]),
    },
    "a list in a text": node("str", "JsonNode", "[1, 2]"),
    "a bare list": [1, 2],
    "an array that is not there": {
        **node("ndarray", "NdArrayNode", None, "numpy"),
        "type": "numpy",
        "file": "7.npy",
        "__id__": 7,
    },
    "a huge array of nothing": {**node("ndarray", "ObjectArrayNode", [], "numpy"), "shape": [1 << 40]},
    "a type of objects": node("dtype", "DTypeNode", "no such type", "numpy"),
    "a spline without parts": node("BSpline", "ObjectNode", node("dict", "DictNode", {"t": 1}), "scipy.interpolate"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_nodes(refusal, kind):
    model = {"model": MALFORMED[kind], "metadata": node("dict", "DictNode", {})}
    message = refusal(with_checksum(schema_only(json.dumps(node("dict", "DictNode", model)))))
    assert "not that of a drsvm model" in message or "is rejected" in message


def test_metadata_may_have_any_names(file):
    metadata = {
        "file": "people.csv",
        "__class__": "x",
        "content": {"type": "numpy"},
        "numbers": {1: 0.5, 2: float("inf")},
    }
    save_model(WassersteinSVC().fit(*data()), file, metadata)
    assert load_metadata(file) == {**metadata, "drsvm": drsvm.__version__}


def test_no_code_of_a_rejected_file_runs(refusal, tmp_path):
    """A node that would call a function of a module whose import leaves a trace."""
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\ndef go(*args): pass\n")

    def change(schema):
        call = {"__class__": "go", "__module__": "trap", "__loader__": "FunctionNode", "content": {}, "__id__": 1}
        return {**schema, "content": {"model": call}}

    archive = rewritten(dumped({"model": [], "metadata": {}}), change)
    sys.path.insert(0, str(tmp_path))
    try:
        assert "trap.go" in refusal(with_checksum(archive))
    finally:
        sys.path.remove(str(tmp_path))
    assert not (tmp_path / "sprung").exists() and "trap" not in sys.modules


@pytest.mark.parametrize(
    "content",
    [
        {"model": {"a": 1}, "metadata": {}},
        {"model": make_pipeline(StandardScaler()), "metadata": {}},
        {"model": WassersteinSVC(), "metadata": [1]},
        {"metadata": {}},
        [1, 2],
        "text",
    ],
    ids=str,
)
def test_allowed_types_that_are_not_a_model(refusal, content):
    message = refusal(with_checksum(dumped(content)))
    assert "it has no metadata" in message or "does not end in a WassersteinSVC" in message


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *(("coef_", value) for value in ("text", None, {}, [[1.0, 2.0, 3.0]], np.ones(3))),
        *(("intercept_", value) for value in (0.0, np.ones(2), np.array(["a"]))),
        *(("classes_", value) for value in (["a", "b"], np.array(["a"]), None)),
        *(("n_features_in_", value) for value in (4, "3", None)),
        *(("objective", value) for value in ("0.5", None)),
        *(("weights", value) for value in ([1.0], "text")),
        *(("steps", value) for value in ({"a": 1}, [], ["text"], [("a",)], [("a", 1), ("b", 2)])),
    ],
    ids=str,
)
def test_malformed_models_are_rejected_by_name(refusal, attribute, value):
    model = make_pipeline(StandardScaler(), WassersteinSVC(radius=0.1)).fit(*data())
    owner = next(each for each in (model, model[-1], model[-1].result_) if attribute in vars(each))
    vars(owner)[attribute] = value
    message = refusal(with_checksum(dumped({"model": model, "metadata": {}})))
    named = ("steps", "step 'a'", "does not end in") if attribute == "steps" else (attribute,)
    assert "is rejected: " in message and any(name in message for name in named)


def test_a_model_with_an_incomplete_result(refusal):
    model = WassersteinSVC().fit(*data())
    model.result_ = {"status": "NONE"}
    assert "result in it is incomplete" in refusal(with_checksum(dumped({"model": model, "metadata": {}})))


@pytest.mark.parametrize("left_out", ["history", "weights"])
def test_a_result_without_one_of_its_parts(refusal, left_out):
    model = WassersteinSVC().fit(*data())
    del model.result_.__dict__[left_out]
    assert "result in it is incomplete" in refusal(with_checksum(dumped({"model": model, "metadata": {}})))


def with_field(archive, offset_local, offset_central, value):
    """Return an archive with a field of the headers of its first member changed."""
    changed = bytearray(archive)
    changed[offset_local] = value
    changed[archive.index(b"PK\x01\x02") + offset_central] = value
    return bytes(changed)


def schema_only(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", text)
    return out.getvalue()


def with_pickled_array(archive):
    pickled, out = io.BytesIO(), io.BytesIO()
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, pickled.getvalue() if name.endswith(".npy") else old.read(name))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["deep", "encrypted", "bad stream", "pickled array"])
def test_hostile_archives(refusal, saved, kind):
    small = schema_only("{}" + " " * 100)
    archive = {
        "deep": schema_only("[" * 200_000),
        "encrypted": with_field(small, 6, 8, 1),
        "bad stream": small[:41] + b"\x07" + small[42:],  # a block of unknown type, after header and name
        "pickled array": with_pickled_array(saved[saved.index(b"\n") + 1 :]),
    }[kind]
    message = refusal(with_checksum(archive))
    expected = "an array of objects" if kind == "pickled array" else "its content is not that of a drsvm model"
    assert expected in message and "allow_pickle" not in message


def test_malformed_archives(refusal):
    assert "not that of a drsvm model" in refusal(with_checksum(b"no zip"))
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    assert "not that of a drsvm model" in refusal(with_checksum(empty.getvalue()))


# --- files that would take more memory or time than they should ---------------------------------------------------


def archive_of(saved):
    return saved[saved.index(b"\n") + 1 :]


def with_members(archive, compression=zipfile.ZIP_DEFLATED, **members):
    """Return an archive with further members, or other content of known ones."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", compression) as new:
        for name in old.namelist():
            new.writestr(name, members.pop(name, None) or old.read(name))
        for name, content in members.items():
            new.writestr(name, content)
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def first_array(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return next(name for name in opened.namelist() if name.endswith(".npy"))


@pytest.mark.parametrize("member", ["an array", "schema.json", "something else"])
def test_a_file_that_would_unpack_to_a_lot_is_rejected_before_unpacking(refusal, saved, monkeypatch, member):
    monkeypatch.setattr(checks, "SMALL", 1 << 20)
    monkeypatch.setattr(checks, "SMALL_TEXT", 1 << 20)
    archive = archive_of(saved)
    name = first_array(archive) if member == "an array" else member
    bomb = with_checksum(with_members(archive, **{name: bytes(20 << 20)}))
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # nothing may be read
    message = refusal(bomb)
    assert "would unpack to 21 MB" in message and "times the size of the file" in message


def test_a_long_schema_is_rejected_before_it_is_parsed(refusal, saved, monkeypatch):
    monkeypatch.setattr(checks, "SMALL_TEXT", 1 << 20)
    monkeypatch.setattr(json, "loads", None)
    text = b"[" + b"[]," * (1 << 20) + b"[]]"
    assert "its schema.json would unpack to 3 MB" in refusal(
        with_checksum(with_members(archive_of(saved), **{"schema.json": text}))
    )


def test_members_are_read_only_up_to_the_size_in_the_directory():
    """A member of 64 MB with a given size of 100 bytes and the right checksum for these."""
    archive = bytearray(with_members(schema_only("{}"), **{"7.npy": bytes(64 << 20)}))
    for signature, crc, size in ((b"PK\x03\x04", 14, 22), (b"PK\x01\x02", 16, 24)):
        start = archive.rindex(signature)
        archive[start + crc : start + crc + 4] = zlib.crc32(bytes(100)).to_bytes(4, "little")
        archive[start + size : start + size + 4] = (100).to_bytes(4, "little")
    tracemalloc.start()
    try:
        members = checks.members_of(bytes(archive))
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert members["7.npy"] == bytes(100)


def test_the_unpacked_size_of_a_sparse_matrix_counts(refusal, monkeypatch):
    monkeypatch.setattr(checks, "SMALL", 1 << 20)
    inner = with_members(schema_only("{}"), **{"data.npy": bytes(20 << 20)})
    archive = with_members(schema_only("{}"), zipfile.ZIP_STORED, **{"7.npz": inner})
    assert "would unpack to 21 MB" in refusal(with_checksum(archive))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_rejected(refusal, compression):
    archive = with_members(schema_only("{}"), compression, **{"7.npy": bytes(1000)})
    assert "a compression method that drsvm models never use" in refusal(with_checksum(archive))


def test_too_many_parts_and_parts_with_the_same_name(refusal, saved, monkeypatch):
    out = io.BytesIO(archive_of(saved))
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("schema.json", "{}")
    assert "two parts with the same name" in refusal(with_checksum(out.getvalue()))
    monkeypatch.setattr(checks, "MEMBERS", 5)
    assert "parts; a drsvm model has at most 5" in refusal(saved)


def test_references_do_not_multiply(refusal):
    """Forty lists, each of which refers to the previous one twice: nobody follows them."""
    bare = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": []}
    node = {**bare, "__id__": 1}
    for number in range(2, 42):
        node = {**bare, "content": [node, {**bare, "__id__": number - 1}], "__id__": number}
    assert "it has no metadata" in refusal(with_checksum(schema_only(json.dumps({**node, "protocol": 0}))))


def test_an_array_that_claims_to_be_larger_than_it_is(refusal, saved):
    archive = archive_of(saved)
    honest = npy(np.zeros(1000))
    for claimed in (b"(99999999999999,)", b"(9999999,)"):
        blanks = b" " * (len(claimed) - len(b"(1000,)"))
        lying = honest.replace(b"(1000,), }" + blanks, claimed + b", }", 1)
        assert claimed in lying
        message = refusal(with_checksum(with_members(archive, **{first_array(archive): lying})))
        assert "1.npy in it is larger than it should be" in message


def test_a_model_that_compresses_too_well_is_saved_uncompressed(file, monkeypatch):
    for name, value in {"RATIO": 1, "SMALL": 0, "SMALL_TEXT": 0}.items():
        monkeypatch.setattr(checks, name, value)
    X, y = data()
    model = WassersteinSVC().fit(X, y)
    save_model(model, file)
    with zipfile.ZipFile(io.BytesIO(archive_of(file.read_bytes()))) as opened:
        assert {member.compress_type for member in opened.infolist()} == {zipfile.ZIP_STORED}
    np.testing.assert_array_equal(load_model(file).decision_function(X), model.decision_function(X))


def test_a_model_of_too_many_parts_is_not_saved(file, monkeypatch):
    monkeypatch.setattr(checks, "MEMBERS", 5)
    with pytest.raises(ModelFileError, match=r"model.drsvm: the model cannot be saved: it has \d+ parts"):
        save_model(WassersteinSVC().fit(*data()), file)
