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
from types import ModuleType

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
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
from drsvm.persistence.nodes import Writer


def data(n_classes=2, n=90):
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam", "other"])[np.arange(n) % n_classes]
    return rng.normal(size=(n, 3)) + (y == "spam")[:, None], y


HOMES = {full.rpartition(".")[2]: full.rpartition(".")[0] for full in names.NODES}
"""The modules of all classes and functions that may occur in a file."""


class FreeWriter(Writer):
    """Writes anything, also what may not be in a model file: it is named by the module that defines it."""

    def _named(self, value):
        self.foreign.clear()
        found = super()._named(value)
        if found is not None:
            return found
        home, _, name = self.foreign.pop().rpartition(".")
        return node(name, "FunctionNode" if callable(value) else "ObjectNode", {}, home)


def dumped(content):
    """Return an archive of any content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("schema.json", json.dumps(FreeWriter(archive).node(content)))
    return out.getvalue()


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
            "does not end in a WassersteinSVC, .* or WassersteinKernelSVC, but in HistGradientBoostingClassifier",
        ),
        (search, "GridSearchCV is a search: save its best_estimator_"),
    ):
        with pytest.raises(ModelFileError, match=reason):
            save_model(model, file)


# --- classes that move --------------------------------------------------------------------------------------------


def schema_in(content):
    with zipfile.ZipFile(io.BytesIO(archive_of(content))) as opened:
        return opened.read("schema.json").decode()


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


def test_defining_modules_are_not_accepted_as_names(refusal, saved):
    """A class has one name, which is not that of its current module."""
    archive = rewritten(archive_of(saved), lambda schema: moved(schema, "drsvm", "drsvm.learn.estimators"))
    assert "contains drsvm.learn.estimators.Result, drsvm.learn.estimators.WassersteinSVC" in refusal(
        with_checksum(archive)
    )


def moved(part, home, other):
    """Return a schema with another module in place of one."""
    if isinstance(part, list):
        return [moved(each, home, other) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: other if (key, value) == ("__module__", home) else moved(value, home, other) for key, value in part.items()
    }


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


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, FORMAT + 1, 10**9])
def test_a_file_of_another_format(refusal, saved, version):
    message = refusal(with_checksum(archive_of(saved), version))
    assert f"has version {version} of the format" in message and f"reads version {FORMAT}: " in message
    assert message.endswith("upgrade drsvm." if version > FORMAT else "train the model again, and save it.")


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
        message = refusal(with_checksum(dumped(wrapped)))
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
    "keys of another type": node("dict", "PairsNode", [[node("list", "ListNode", []), 1]]),
    "a list as the name of a file": node("ndarray", "NdArrayNode", ["7.npy"], "numpy"),
    "a bare list": [1, 2],
    "an array that is not there": node("ndarray", "NdArrayNode", "7.npy", "numpy"),
    "a huge array of nothing": {**node("ndarray", "ObjectArrayNode", [], "numpy"), "shape": [1 << 40]},
    "a type of objects": node("dtype", "DTypeNode", "no such type", "numpy"),
    "a text as attributes": node("PCA", "ObjectNode", "x", "sklearn.decomposition"),
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
        "scalar": np.float64(7.5),
    }
    save_model(WassersteinSVC().fit(*data()), file, metadata)
    assert load_metadata(file) == {**metadata, "drsvm": drsvm.__version__}
    assert type(load_metadata(file)["scalar"]) is np.float64


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


@pytest.mark.parametrize("attribute", ["radius", "threshold"])
def test_a_classifier_without_one_of_its_parameters(refusal, attribute):
    model = WassersteinSVC(radius=0.1).fit(*data())
    del vars(model)[attribute]
    message = refusal(with_checksum(dumped({"model": model, "metadata": {}})))
    assert f"its WassersteinSVC lacks {attribute}: train the model again" in message


def test_a_model_with_an_incomplete_result(refusal):
    model = WassersteinSVC().fit(*data())
    model.result_ = {"status": "NONE"}
    assert "result in it is incomplete" in refusal(with_checksum(dumped({"model": model, "metadata": {}})))


@pytest.mark.parametrize("left_out", ["history", "weights", "contribution_bound"])
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
