"""Model files that were changed at random, with a valid checksum, or made to take far more memory than their size."""

import copy
import io
import json
import random
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from archives import BY_QUANTILES, node, npy, packed, unpacked, with_checksum, zipped
from problems import plain_svc
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    QuantileTransformer,
    StandardScaler,
)
from thorough import unless_long

from drsvm import WassersteinKernelSVC, WassersteinSVCCV
from drsvm.persistence import NODES, ModelFileError, load_model, save_model

# what loading a small file may take; the time is that of the processor
MEMORY = 100 << 20
SECONDS = 2.0

NAMES = [
    "plain",
    "three-classes",
    "sparse",
    "kernel",
    "cross-validated",
    "calibrated",
    "table",
    "further-steps",
]

NUMBERS = (
    0,
    -1,
    3,
    2_000_000,
    30_000_000,
    1 << 40,
    10**30,
    0.5,
    1e300,
    float("nan"),
    float("inf"),
)
VALUES = (
    *NUMBERS,
    None,
    True,
    "",
    "float64",
    "x" * 1000,
    [],
    {},
    [2_000_000],
    [[1 << 30]],
    {"content": 1},
)
TYPES = (
    "<f8",
    "<f4",
    "|i1",
    "|b1",
    "<U9",
    "<U999999999",
    "|S0",
    "|V0",
    "|V999999999",
    "|O",
    "<M8[s]",
    ">f8",
    "<c16",
)
SHAPES = (
    "(1,)",
    "()",
    "(0,)",
    "(2000000,)",
    "(0, 99999999999)",
    "(9999999999999,)",
    "(-1,)",
    "(3, 3)",
    "(4",
    "1e9",
)
LOADERS = sorted({kind for kinds in NODES.values() for kind in kinds})
SIGNS = "()[]{}'\",:<>|fiUSVO-_ \n\\0123456789"


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Return the members of some good files, by name."""
    folder = tmp_path_factory.mktemp("models")
    save_table(folder)
    for name, model in fitted_models().items():
        save_model(
            model,
            folder / f"{name}.drsvm",
            {"numbers": {1: 2}, "scalar": np.float64(1.0), "rows": np.ones(3)},
        )
    return {name: unpacked((folder / f"{name}.drsvm").read_bytes()) for name in NAMES}


def fitted_models():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    two = np.array(["no", "yes"])[np.arange(30) % 2]
    X = rng.normal(size=(30, 5)) + np.column_stack(
        [y == 0, y == 1, y == 2, two == "no", two == "yes"]
    )
    svc = plain_svc(radius=0.1)
    kernel = WassersteinKernelSVC(
        n_landmarks=6, feature_cost=[1.0, 2.0, 1.0, 0.5, 1.0], calibration="sigmoid"
    )
    bins = KBinsDiscretizer(3, **BY_QUANTILES)
    further = make_pipeline(
        ColumnTransformer([("bins", bins, [0, 1])], remainder="passthrough"),
        FeatureUnion(
            [
                ("best", SelectKBest(k=2)),
                ("root", FunctionTransformer(np.cbrt)),
                ("main", PCA(2)),
            ]
        ),
        QuantileTransformer(n_quantiles=5),
    )
    return {
        "plain": svc.fit(X, two),
        "three-classes": clone(svc).fit(X, y),
        "sparse": clone(svc).fit(X, y).sparsify(),
        "kernel": make_pipeline(StandardScaler(), kernel).fit(X, y),
        "cross-validated": WassersteinSVCCV(radii=[0.05, 0.1], cv=2).fit(X, two),
        "calibrated": CalibratedClassifierCV(clone(svc), cv=2).fit(X, two),
        "further-steps": Pipeline([*further.steps, ("svc", clone(svc))]).fit(
            np.abs(X), two
        ),
    }


def save_table(folder):
    """Let ``drsvm fit`` save a model of a table with numbers, categories, dates and gaps."""
    from drsvm.cli import main

    lines = [
        f"{k % 7 or ''},{['Rome', 'Oslo', 'Bonn'][k % 3]},2024-05-{k % 28 + 1},{k % 5 < 2}"
        for k in range(40)
    ]
    (folder / "table.csv").write_text("\n".join(["age,town,joined,left", *lines]))
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "fit",
                str(folder / "table.csv"),
                "--label",
                "left",
                "--model",
                str(folder / "table.drsvm"),
                "--json",
            ]
        )
    assert not ended.value.code


def cost_of(path):
    """Load a file that may be rejected.

    Return the error or the model, the memory and the time.
    """
    tracemalloc.start()
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = load_model(path)
    except ModelFileError as error:
        found = error
    finally:
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return found, memory, time.process_time() - start


# --- random changes
# -----------------------------------------------------------------------------------------------


def with_other_bytes(content, rng):
    """Return bytes of which some are replaced, inserted or removed."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        place = rng.randrange(len(changed) + 1)
        new = rng.choice(
            [b"", bytes([rng.randrange(256)]), rng.randbytes(4), b"\xff" * 8]
        )
        changed[place : place + rng.choice([0, 1, 1, 4])] = new
    return bytes(
        changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.1 else changed
    )


def with_other_header(content, rng):
    """Return a .npy file whose header has another type or shape, or is damaged."""
    length = int.from_bytes(content[8:10], "little")
    header = content[10 : 10 + length].decode("latin1")
    data = content[10 + length :]
    kind = rng.randrange(4)
    if kind == 0:
        header = header.replace(
            header.split("'descr': '")[-1].split("'")[0], rng.choice(TYPES)
        )
    elif kind == 1:
        header = header.replace(
            header[header.rindex("(") : header.rindex(")") + 1], rng.choice(SHAPES)
        )
    else:
        for _ in range(rng.choice([1, 1, 3])):
            place = rng.randrange(len(header.rstrip()))
            header = (
                header[:place]
                + rng.choice([rng.choice(SIGNS), "", "(" * 500])
                + header[place + 1 :]
            )
    encoded = header.encode("latin1")
    return (
        content[:8] + min(len(encoded), 65_535).to_bytes(2, "little") + encoded + data
    )


def with_other_structure(content, rng):
    """Return a schema in which nodes have exchanged parts, or values and keys are others."""
    schema = json.loads(content)
    for _ in range(rng.choice([1, 1, 2, 4])):
        nodes = [node for node in nodes_of(schema) if node]
        one = rng.choice(nodes)
        other = rng.choice(nodes)
        key = rng.choice(list(one))
        kind = rng.randrange(6)
        if kind == 0:
            one[key] = copy.deepcopy(other.get(key, rng.choice(VALUES)))
        elif kind == 1:
            one[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == 2:
            del one[key]
        elif kind == 3:
            one.update(
                {
                    name: copy.deepcopy(other[name])
                    for name in ("__module__", "__class__")
                    if name in other
                }
            )
            one["__loader__"] = other.get("__loader__", "ScalarNode")
        elif kind == 4:
            one[key] = copy.deepcopy(other)
        else:
            one["__loader__"] = rng.choice(LOADERS)
    return json.dumps(schema).encode()


def nodes_of(schema):
    waiting = [schema]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            yield entry
        waiting.extend(
            entry.values()
            if isinstance(entry, dict)
            else entry
            if isinstance(entry, list)
            else ()
        )


def changed_file(archives, rng):
    """Return a file with one kind of random change, and which one."""
    name = rng.choice(NAMES)
    members = archives[name]
    arrays = [member for member in members if member.endswith(".npy")]
    kind = rng.choice(["structure", "structure", "header", "bytes", "archive"])
    if kind == "archive":
        return f"{name}: {kind}", with_checksum(with_other_bytes(zipped(members), rng))
    member = {
        "structure": "schema.json",
        "header": rng.choice(arrays),
        "bytes": rng.choice(list(members)),
    }[kind]
    change = {
        "structure": with_other_structure,
        "header": with_other_header,
        "bytes": with_other_bytes,
    }[kind]
    changed = change(members[member], rng)
    return f"{name}: {kind} of {member}", packed({**members, member: changed})


@pytest.mark.parametrize("seed", range(unless_long(6, 200)))
def test_files_changed_at_random_are_rejected_or_harmless(archives, tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "changed.drsvm"
    rejected = 0
    for number in range(25):
        what, content = changed_file(archives, rng)
        path.write_bytes(content)
        try:
            found, memory, seconds = cost_of(path)
        except Exception as error:
            raise AssertionError(f"{what} (seed {seed}, number {number})") from error
        rejected += isinstance(found, ModelFileError)
        assert memory < MEMORY and seconds < SECONDS, (
            what,
            seed,
            number,
            memory,
            seconds,
        )
    assert 10 <= rejected <= 25


@pytest.mark.parametrize("seed", range(unless_long(1, 20)))
def test_audits_changed_at_random_are_rejected_or_harmless(archives, tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "changed.drsvm"
    rejected = 0
    for number in range(60):
        schema = json.loads(archives["table"]["schema.json"])
        audit = schema["content"]["audit"]
        model = audit["content"].pop("model")
        audit = json.loads(with_other_structure(json.dumps(audit).encode(), rng))
        if isinstance(audit.get("content"), dict):
            audit["content"]["model"] = model
        schema["content"]["audit"] = audit
        path.write_bytes(
            packed({**archives["table"], "schema.json": json.dumps(schema)})
        )
        found, memory, seconds = cost_of(path)
        rejected += isinstance(found, ModelFileError)
        assert memory < MEMORY and seconds < SECONDS, (seed, number, memory, seconds)
    assert 20 <= rejected <= 60


# --- files that are larger than they look
# -------------------------------------------------------------------------


def array_node(number):
    return node("numpy", "ndarray", "NdArrayNode", content=f"{number}.npy")


def npy_of(dtype, shape, data=b""):
    header = (
        f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(
            117
        )
        + b"\n"
    )
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def listed(*content):
    return node("builtins", "list", "ListNode", content=list(content))


def history(*numbers):
    columns = ("iteration", "time", "objective", "lower_bound", "radius_price")
    state = dict(zip(columns, map(array_node, numbers or [900] * 5), strict=True))
    return node(
        "drsvm.problem",
        "History",
        "ObjectNode",
        content=node("builtins", "dict", "DictNode", content=state),
    )


def colliding_keys(count):
    """Return a dict of whole numbers, all of which have the hash 0."""
    return node(
        "builtins",
        "dict",
        "PairsNode",
        content=[[number * (2**61 - 1), 0] for number in range(count)],
    )


def matrix(name):
    return node("scipy.sparse", name, "SparseMatrixNode", content="900.npz")


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays, format=np.array(b"csr"))
    return out.getvalue()


ZEROS = npy(np.zeros(4_000_000))
COLUMN = npy(np.zeros(1_000_000))
COPIES = npy(np.zeros(100_000))
INDICES = {
    "data": np.ones(1),
    "indices": np.array([1 << 30], dtype=np.int32),
    "indptr": np.array([0, 1], np.int32),
}

REJECTED = {
    "an array made by a number": (
        node("numpy", "ndarray", "ScalarNode", content=[2_000_000]),
        {},
    ),
    "a list made by a text": (
        node("builtins", "list", "ScalarNode", content="x" * 1000),
        {},
    ),
    "an array made by a scalar type": (
        node("numpy", "float64", "ScalarNode", content=[[1.0] * 1000] * 10),
        {},
    ),
    "a whole number that is too large": (
        node("numpy", "int64", "ScalarNode", content=10**30),
        {},
    ),
    "a list of an array": (
        node("builtins", "list", "NdArrayNode", content="900.npy"),
        {"900.npy": ZEROS},
    ),
    "one array for two objects": (
        listed(array_node(900), array_node(900)),
        {"900.npy": npy(np.zeros(3))},
    ),
    "one array for many histories": (listed(*[history()] * 100), {"900.npy": COPIES}),
    "entries of no size": (array_node(900), {"900.npy": npy_of("|S0", (1 << 60,))}),
    "a shape that is too large": (
        array_node(900),
        {"900.npy": npy_of("<f8", (9_999_999,), bytes(80))},
    ),
    "an entry that is too large": (
        array_node(900),
        {"900.npy": npy_of("<U500000000", (0,))},
    ),
    "a header that does not end": (
        array_node(900),
        {"900.npy": npy_of("<f8", "(1,").replace(b"}", b" ")},
    ),
    "fields": (
        array_node(900),
        {"900.npy": npy(np.zeros(2, dtype=[("a", "f8", 100)]))},
    ),
    "an archive as an array": (array_node(900), {"900.npy": npz(a=np.zeros(9))}),
    "a type of a huge size": (
        node("numpy", "dtype", "DTypeNode", content="V2000000000"),
        {},
    ),
    "keys with the same hash": (colliding_keys(15_000), {}),
    "indices beyond the shape": (
        matrix("csr_array"),
        {"900.npz": npz(**INDICES, shape=np.array([1, 5]))},
    ),
    "indices of one byte": (
        matrix("csr_array"),
        {
            "900.npz": npz(
                **INDICES | {"indices": np.zeros(1, dtype=np.int8)},
                shape=np.array([1, 5]),
            )
        },
    ),
    "more rows than the index": (
        matrix("csr_array"),
        {"900.npz": npz(**INDICES, shape=np.array([1 << 40, 5]))},
    ),
}


@pytest.mark.parametrize("kind", REJECTED)
def test_what_a_small_file_cannot_make_large(archives, tmp_path, kind):
    extra, arrays = REJECTED[kind]
    found, memory, seconds = cost_of(
        with_metadata(archives, tmp_path / "large.drsvm", extra, arrays)
    )
    assert isinstance(found, ModelFileError), kind
    assert memory < 60 << 20 and seconds < SECONDS


def with_metadata(archives, path, extra, arrays=()):
    members = archives["plain"]
    schema = json.loads(members["schema.json"])
    schema["content"]["metadata"]["content"]["extra"] = extra
    path.write_bytes(
        packed({**members, **dict(arrays), "schema.json": json.dumps(schema)})
    )
    return path


def test_a_long_history_takes_no_more_than_its_arrays(archives, tmp_path):
    arrays = {f"{number}.npy": COLUMN for number in range(900, 905)}
    path = with_metadata(
        archives, tmp_path / "large.drsvm", history(*range(900, 905)), arrays
    )
    found, memory, _ = cost_of(path)
    assert not isinstance(found, ModelFileError) and memory < 60 << 20


def test_names_in_a_message_are_short_and_printable(archives, tmp_path):
    path = with_metadata(
        archives, tmp_path / "loud.drsvm", node("\x1b[31m" * 500, "x", "ObjectNode")
    )
    found, _, _ = cost_of(path)
    assert str(found).isprintable() and len(str(found)) < 5000


def test_restored_arrays_can_be_changed(archives, tmp_path):
    path = with_metadata(archives, tmp_path / "good.drsvm", None)
    model = load_model(path)
    model.coef_ += 1.0
    assert model.coef_.flags.aligned and len(model.result_.history) == len(
        model.result_.history.time
    )
