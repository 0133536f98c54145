"""Model files that are rejected: no model, not that of this library, of another format, damaged or hostile."""

import functools
import io
import json
import operator
import os
import re
import sys
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from archives import (
    archive_of,
    data,
    dumped,
    node,
    npy,
    packed,
    schema_only,
    unpacked,
    with_checksum,
    zipped,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC

from drsvm import ClippedScaler, WassersteinKernelSVC, WassersteinSVC
from drsvm.persistence import (
    FORMAT,
    ModelFileError,
    checks,
    load_audit,
    load_metadata,
    load_model,
    save_model,
)

BAD_CONTENT = "its content is not that of a drsvm model"


@pytest.fixture
def rejection(file):
    """Return a function that writes a file and returns the error message of loading it."""

    def rejection(content):
        file.write_bytes(content)
        messages = set()
        for load in (load_model, load_metadata):
            with pytest.raises(ModelFileError) as caught:
                load(file)
            messages.add(str(caught.value))
        (message,) = messages
        assert message.startswith(f"{file}: ")
        return message

    return rejection


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "good.drsvm"
    save_model(WassersteinSVC().fit(*data()), file)
    return file.read_bytes()


def fitted():
    return WassersteinSVC(radius=0.1).fit(*data())


def test_files_that_are_not_models(rejection, tmp_path):
    for content in (
        b"",
        b"drsvm",
        b"a,b\n1,2\n",
        b"drsvm-model \n",
        b"drsvm-model x sha256:0\n",
        os.urandom(500),
    ):
        assert "is not a drsvm model" in rejection(content)
    with pytest.raises(ModelFileError, match="there is no such file"):
        load_model(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path)


def test_a_changed_or_truncated_file(rejection, saved):
    start = saved.index(b"\n") + 1
    for position in np.linspace(start, len(saved) - 1, 40).astype(int):
        changed = bytearray(saved)
        changed[position] ^= 1
        assert "the checksum is wrong" in rejection(bytes(changed))
        assert "the checksum is wrong" in rejection(saved[:position])
    assert "the checksum is wrong" in rejection(saved + b"more")


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, FORMAT + 1, 10**9])
def test_a_file_of_another_format(rejection, saved, version):
    message = rejection(with_checksum(archive_of(saved), version))
    assert (
        f"has version {version} of the format" in message
        and f"reads version {FORMAT}: " in message
    )
    assert message.endswith(
        "upgrade drsvm." if version > FORMAT else "train the model again, and save it."
    )


# --- names
# --------------------------------------------------------------------------------------------------------


def test_defining_modules_are_not_accepted_as_names(rejection, saved):
    """A class has one name, which is not that of its current module."""
    members = unpacked(saved)
    schema = members["schema.json"].replace(
        b'"__module__": "drsvm"', b'"__module__": "drsvm.estimators.linear"'
    )
    message = rejection(packed({**members, "schema.json": schema}))
    assert (
        "contains drsvm.estimators.linear.Result, drsvm.estimators.linear.WassersteinSVC"
        in message
    )


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (SVC(), "sklearn.svm._classes.SVC"),
        (
            GaussianRandomProjection(),
            "sklearn.random_projection.GaussianRandomProjection",
        ),
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
def test_types_outside_the_list_are_rejected(rejection, content, named):
    for wrapped in (content, {"model": fitted(), "metadata": {"a": [content]}}):
        message = rejection(dumped(wrapped))
        assert re.search(named, message) and "rejected" in message


def test_an_allowed_type_built_in_another_way_is_rejected(rejection):
    deep = {"extra": [[{"deep": node("builtins", "str", "FunctionNode", "x")}]]}
    schema = node("builtins", "dict", "DictNode", {"model": [], "metadata": {}}, **deep)
    assert "builtins.str (FunctionNode)" in rejection(schema_only(schema))


def model_only(content):
    parts = {"model": content, "metadata": node("builtins", "dict", "DictNode", {})}
    return schema_only(node("builtins", "dict", "DictNode", parts))


HOSTILE = {
    "a function as an object": node(
        "sklearn.feature_selection", "f_classif", "ObjectNode", {}
    ),
    "an estimator as a function": node("sklearn.pipeline", "Pipeline", "FunctionNode"),
    "an estimator as a type": node(
        "sklearn.preprocessing", "FunctionTransformer", "TypeNode"
    ),
    "a function outside the list": node("os", "system", "FunctionNode"),
    "an attribute of a module in the list": node("numpy", "savetxt", "FunctionNode"),
    "a dotted name": node("numpy", "lib.format.os.system", "FunctionNode"),
    "an unknown kind of node": node("builtins", "dict", "CallNode", {}),
    "its defining module": node(
        "sklearn.compose._column_transformer", "ColumnTransformer", "ObjectNode", {}
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_a_node_may_not_name(rejection, kind):
    message = rejection(model_only(HOSTILE[kind]))
    assert "rejected" in message and HOSTILE[kind]["__class__"] in message


EMPTY = node("builtins", "list", "ListNode", [])
CACHE = node("builtins", "dict", "DictNode", {"memory": "/tmp"})
MALFORMED = {
    "attributes that are no dict": node(
        "sklearn.preprocessing", "StandardScaler", "ObjectNode", EMPTY
    ),
    "a cache folder": node("sklearn.pipeline", "Pipeline", "ObjectNode", CACHE),
    "a slice of objects": node("builtins", "slice", "SliceNode", [EMPTY, None, None]),
    "keys of another type": node("builtins", "dict", "PairsNode", [[EMPTY, 1]]),
    "a list as the name of a file": node("numpy", "ndarray", "NdArrayNode", ["7.npy"]),
    "a bare list": [1, 2],
    "an array that is not there": node("numpy", "ndarray", "NdArrayNode", "7.npy"),
    "a huge array of nothing": node(
        "numpy", "ndarray", "ObjectArrayNode", [], shape=[1 << 40]
    ),
    "a type of objects": node("numpy", "dtype", "DTypeNode", "no such type"),
    "a text as attributes": node("sklearn.decomposition", "PCA", "ObjectNode", "x"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_nodes(rejection, kind):
    message = rejection(model_only(MALFORMED[kind]))
    assert BAD_CONTENT in message or "is rejected" in message


def test_no_code_of_a_rejected_file_runs(rejection, tmp_path, monkeypatch):
    """A node that would call a function of a module whose import leaves a trace."""
    (tmp_path / "trap.py").write_text(
        f"open({str(tmp_path / 'sprung')!r}, 'w')\ndef go(*args): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert "trap.go" in rejection(
        model_only(node("trap", "go", "FunctionNode", {}, __id__=1))
    )
    assert not (tmp_path / "sprung").exists() and "trap" not in sys.modules


# --- models that are not whole
# ------------------------------------------------------------------------------------


def test_allowed_types_that_are_not_a_model(rejection):
    for model in ({"a": 1}, make_pipeline(StandardScaler()), None):
        assert "does not end in a WassersteinSVC" in rejection(
            dumped({"model": model, "metadata": {}})
        )
    for content in ({"model": WassersteinSVC(), "metadata": [1]}, [1, 2], "text"):
        assert "it has no metadata" in rejection(dumped(content))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *(
            ("coef_", value)
            for value in ("text", None, {}, [[1.0, 2.0, 3.0]], np.ones(3))
        ),
        *(("intercept_", value) for value in (0.0, np.ones(2), np.array(["a"]))),
        *(("classes_", value) for value in (["a", "b"], np.array(["a"]), None)),
        *(("n_features_in_", value) for value in (4, "3", None)),
        *(
            ("mean_", value)
            for value in (0.0, [0.0] * 3, np.ones(2), np.full(3, np.nan))
        ),
        *(("objective", value) for value in ("0.5", None)),
        *(("weights", value) for value in ([1.0], "text")),
        *(
            ("steps", value)
            for value in ({"a": 1}, [], ["text"], [("a",)], [("a", 1), ("b", 2)])
        ),
    ],
    ids=str,
)
def test_malformed_models_are_rejected_by_name(rejection, attribute, value):
    model = make_pipeline(StandardScaler(), WassersteinSVC(radius=0.1)).fit(*data())
    owner = next(
        each
        for each in (model, model[-1], model[-1].result_)
        if attribute in vars(each)
    )
    vars(owner)[attribute] = value
    message = rejection(dumped({"model": model, "metadata": {}}))
    named = (
        ("steps", "step 'a'", "does not end in")
        if attribute == "steps"
        else (attribute,)
    )
    assert "is rejected: " in message and any(name in message for name in named)


def model_with_all_arrays(owner):
    X, y = data()
    X[:, 1] = np.nan if owner == "scaler and imputer" else X[:, 1]
    steps = {
        "scaler": [ClippedScaler()],
        "scaler and imputer": [
            ClippedScaler(),
            SimpleImputer(keep_empty_features=True),
        ],
    }
    last = WassersteinSVC(radius=0.1, calibration="sigmoid")
    if owner == "kernel":
        last = WassersteinKernelSVC(radius=0.1, n_landmarks=5)
    if owner == "sparse weights":
        return last.fit(X, y).sparsify()
    return make_pipeline(*steps.get(owner, []), last).fit(X, y)


ARRAYS = {
    "weights": ("coef_", "intercept_", "sigmoids_"),
    "sparse weights": ("coef_",),
    "kernel": ("dual_coef_", "landmarks_", "intercept_"),
    "scaler": ("lower_", "upper_", "mean_", "scale_"),
    "scaler and imputer": ("mean_", "scale_"),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("owner", ARRAYS)
def test_arrays_that_are_not_of_numbers(rejection, file, owner, value):
    model = model_with_all_arrays(owner)
    file.write_bytes(dumped({"model": model, "metadata": {}}))
    load_model(file)
    state = vars(model)
    if hasattr(model, "steps"):
        state = vars(model[0])
    if owner.startswith("scaler"):
        state = {**vars(model[0].scaler_), **state}
    for name in ARRAYS[owner]:
        # Only cells above 0 have no limit.
        if (name, value) in (("lower_", -np.inf), ("upper_", np.inf)):
            continue
        values = state[name]
        if not isinstance(values, np.ndarray):
            values = values.data  # of a sparse matrix
        kept = values.copy()
        values.ravel()[-1] = value
        message = rejection(dumped({"model": model, "metadata": {}}))
        assert name in message or "ClippedScaler" in message
        values[...] = kept


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("scale_", np.zeros(3)),
        ("scale_", -np.ones(3)),
        ("mean_", np.zeros(2)),
        ("mean_", np.array(["a", "b", "c"])),
        ("mean_", None),
        ("lower_", np.full(3, 1e9)),
        ("upper_", [1.0, 2.0, 3.0]),
        ("scaler_", None),
    ],
    ids=str,
)
def test_scalers_that_are_not_whole(rejection, attribute, value):
    model = model_with_all_arrays("scaler")
    owner = model[0]
    if not hasattr(owner, attribute):
        owner = owner.scaler_
    vars(owner)[attribute] = value
    message = rejection(dumped({"model": model, "metadata": {}}))
    assert "ClippedScaler in it" in message or BAD_CONTENT in message


def test_numbers_that_make_a_kernel_or_a_threshold_nan(rejection):
    model = model_with_all_arrays("kernel")[-1]
    for value in (np.nan, np.inf):
        kept = model.gamma_
        model.gamma_ = value
        message = rejection(dumped({"model": model, "metadata": {}}))
        model.gamma_ = kept
        assert "kernel and gamma_ are not a name and a number" in message
        model.set_params(kernel="poly", coef0=value)
        message = rejection(dumped({"model": model, "metadata": {}}))
        assert BAD_CONTENT in message
        model.set_params(kernel="rbf", coef0=0.0)
    fixed = FixedThresholdClassifier(
        FrozenEstimator(fitted()), threshold=0.0, response_method="decision_function"
    ).fit(*data())
    fixed.threshold = np.nan
    message = rejection(dumped({"model": fixed, "metadata": {}}))
    assert "the threshold in it is NaN" in message


@pytest.mark.parametrize("left_out", ["history", "weights", "contribution_bound"])
def test_a_result_without_one_of_its_parts(rejection, left_out):
    model = fitted()
    del model.result_.__dict__[left_out]
    assert "result in it is incomplete" in rejection(
        dumped({"model": model, "metadata": {}})
    )
    model.result_ = {"status": "NONE"}
    assert "result in it is incomplete" in rejection(
        dumped({"model": model, "metadata": {}})
    )


CHANGED = {
    "model": "text",
    "codes": np.full(30, 2, dtype=np.uint8),
    "prices": np.full(30, -1.0, dtype=np.float32),
    "distances": np.full((1, 30), np.nan, dtype=np.float32),
    "fixed": np.zeros((51, 30), dtype=np.float32),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *CHANGED.items(),
        *(
            (name, value[..., :29])
            for name, value in CHANGED.items()
            if name != "model"
        ),
        *(
            (name, np.zeros((1, 30)))
            for name in ("codes", "prices", "distances", "fixed")
        ),
        *((name, None) for name in (*CHANGED, "columns") if name != "model"),
        *(
            ("columns", [column])
            for column in (
                5,
                "abcd",
                ["a", 9, None],
                [1, 9, None, {}],
                ["a", 0, None, {}],
            )
        ),
        *(
            ("columns", [["a", 9, [1.0], {}]]),
            ("columns", [["a", 9, [float("nan")] * 33, {}]]),
        ),
        *(
            ("columns", [["a", 9, None, {"b": "c"}]]),
            ("columns", [["a", 9, None, {1: 0.5}]]),
        ),
    ],
    ids=str,
)
def test_malformed_audits(rejection, file, name, value):
    model = fitted()
    arrays = {
        "codes": np.zeros(30, dtype=np.uint8),
        "prices": np.ones(30, dtype=np.float32),
    }
    arrays |= {
        "distances": np.ones((1, 30), dtype=np.float32),
        "fixed": np.zeros((0, 30), dtype=np.float32),
    }
    audit = {
        "model": None,
        "columns": [["a", 9, [1.0] * 33, {"(empty)": 0.0}]],
        **arrays,
    }
    content = {"model": model, "metadata": {}, "audit": audit}
    for changed in (
        {**audit, name: value},
        {key: each for key, each in audit.items() if key != name},
        [1],
    ):
        assert rejection(dumped({**content, "audit": changed}))
    file.write_bytes(dumped(content))
    assert load_audit(file).shift(data()[0], random_state=0).n_before == 30


# --- archives
# -----------------------------------------------------------------------------------------------------


def with_field(archive, offset_local, offset_central, value):
    """Return an archive with a field of the headers of its first member changed."""
    changed = bytearray(archive)
    changed[offset_local] = value
    changed[archive.index(b"PK\x01\x02") + offset_central] = value
    return bytes(changed)


SMALL = zipped({"schema.json": "{}" + " " * 100})


@pytest.mark.parametrize(
    "archive",
    [
        b"no zip",
        zipped({}),
        zipped({"schema.json": "[" * 200_000}),
        with_field(SMALL, 6, 8, 1),
        SMALL[:41]
        + b"\x07"
        + SMALL[42:],  # a block of unknown type, after header and name
    ],
    ids=["no zip", "empty", "deep", "encrypted", "bad stream"],
)
def test_malformed_archives(rejection, archive):
    assert BAD_CONTENT in rejection(with_checksum(archive))


def test_an_array_of_pickles(rejection, saved):
    pickled = npy(np.array([{}], dtype=object), allow_pickle=True)
    members = {
        name: pickled if name.endswith(".npy") else content
        for name, content in unpacked(saved).items()
    }
    message = rejection(packed(members))
    assert "an array of objects" in message and "allow_pickle" not in message


def first_array(members):
    return next(name for name in members if name.endswith(".npy"))


@pytest.mark.parametrize("member", ["an array", "schema.json", "something else"])
def test_a_file_that_would_unpack_to_a_lot_is_rejected_before_unpacking(
    rejection, saved, monkeypatch, member
):
    monkeypatch.setattr(checks, "SMALL", 1 << 20)
    monkeypatch.setattr(checks, "SMALL_TEXT", 1 << 20)
    members = unpacked(saved)
    name = first_array(members) if member == "an array" else member
    bomb = packed({**members, name: bytes(20 << 20)})
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # nothing may be read
    message = rejection(bomb)
    assert (
        "would unpack to 21 MB" in message and "times the size of the file" in message
    )


def test_a_long_schema_is_rejected_before_it_is_parsed(rejection, saved, monkeypatch):
    monkeypatch.setattr(checks, "SMALL_TEXT", 1 << 20)
    monkeypatch.setattr(json, "loads", None)
    text = b"[" + b"[]," * (1 << 20) + b"[]]"
    assert "its schema.json would unpack to 3 MB" in rejection(
        packed({**unpacked(saved), "schema.json": text})
    )


def test_members_are_read_only_up_to_the_size_in_the_directory():
    """A member of 64 MB with a given size of 100 bytes and the right checksum for these."""
    archive = bytearray(zipped({"schema.json": "{}", "7.npy": bytes(64 << 20)}))
    for signature, crc, size in ((b"PK\x03\x04", 14, 22), (b"PK\x01\x02", 16, 24)):
        start = archive.rindex(signature)
        archive[start + crc : start + crc + 4] = zlib.crc32(bytes(100)).to_bytes(
            4, "little"
        )
        archive[start + size : start + size + 4] = (100).to_bytes(4, "little")
    tracemalloc.start()
    try:
        members = checks.members_of(bytes(archive))
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert members["7.npy"] == bytes(100)


def test_the_unpacked_size_of_a_sparse_matrix_counts(rejection, monkeypatch):
    monkeypatch.setattr(checks, "SMALL", 1 << 20)
    inner = zipped({"data.npy": bytes(20 << 20)})
    assert "would unpack to 21 MB" in rejection(
        packed({"schema.json": "{}", "7.npz": inner}, zipfile.ZIP_STORED)
    )


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_rejected(rejection, compression):
    message = rejection(
        packed({"schema.json": "{}", "7.npy": bytes(1000)}, compression)
    )
    assert "a compression method that drsvm models never use" in message


def test_too_many_parts_and_parts_with_the_same_name(rejection, saved, monkeypatch):
    out = io.BytesIO(archive_of(saved))
    with (
        zipfile.ZipFile(out, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("schema.json", "{}")
    assert "two parts with the same name" in rejection(with_checksum(out.getvalue()))
    monkeypatch.setattr(checks, "MEMBERS", 5)
    assert "parts; a drsvm model has at most 5" in rejection(saved)


def test_an_array_that_claims_to_be_larger_than_it_is(rejection, saved):
    members = unpacked(saved)
    honest = npy(np.zeros(1000))
    for claimed in (b"(99999999999999,)", b"(9999999,)"):
        blanks = b" " * (len(claimed) - len(b"(1000,)"))
        lying = honest.replace(b"(1000,), }" + blanks, claimed + b", }", 1)
        assert claimed in lying
        assert "1.npy in it is larger than it should be" in rejection(
            packed({**members, first_array(members): lying})
        )
