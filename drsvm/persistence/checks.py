"""Checks of model files from untrusted sources: of the archive, then of the model.

A few kilobytes of zip can unpack to gigabytes, and the directory of an archive may give
wrong sizes: it is checked before any object is built, and then every member is read
only up to the size given there. What is loaded must be a fitted classifier of this
library, also at the end of a pipeline. It is checked as a whole, because a malformed
classifier would only fail when it predicts, or not even then; so is a `ClippedScaler`.
The attributes of scikit-learn's transformers are not checked.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, TypeAlias, get_origin
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from drsvm.persistence.names import NODES
from drsvm.problem.result import Result

# A classifier, a Pipeline that ends in one, or what a file has in its place
Model: TypeAlias = Any
Json: TypeAlias = Any  # a value of JSON; objects of a schema are dicts of them

# An archive may unpack to this many times its size; models do to 1 to 45 times, by
# their multipliers.
RATIO = 50
# Any archive may unpack to this many bytes: the size of the multipliers of four million
# rows.
SMALL = 64 << 20
# Any schema.json may have this many; parsing takes up to 25 times the memory.
SMALL_TEXT = 2 << 20
# The keys that make a dict in schema.json a node (`nodes.py`)
RESERVED = {"__class__", "__module__", "__loader__"}
OURS = "a WassersteinSVC, WassersteinSVCCV or WassersteinKernelSVC"
# The largest number of files in an archive; a model has about nine arrays per class.
MEMBERS = 100_000
# Bytes that are read at once
BLOCK = 1 << 16


class RejectedError(ValueError):
    """A file is rejected, or a model cannot be saved; the message gives the reason."""


def require(condition: object, message: str) -> None:
    """Reject a file or a model unless a condition is true."""
    if not condition:
        raise RejectedError(message)


def members_of(archive: bytes) -> dict[str, bytearray]:
    """Return the files in an archive by name.

    Sparse matrices are archives within it, whose files are returned as well: those of
    ``3.npz`` as ``3.npz/data.npy`` and so on.
    """
    size = len(archive)
    members = _read(archive, size, 0)
    unpacked = sum(map(len, members.values()))
    matrices = [name for name in members if name.endswith(".npz")]
    for matrix in matrices:
        arrays = _read(members.pop(matrix), size, unpacked)
        for name, content in arrays.items():
            unpacked += len(content)
            members[f"{matrix}/{name}"] = content
    return members


def _read(archive: bytes | bytearray, size: int, unpacked: int) -> dict[str, bytearray]:
    """Return the files in an archive, after its directory has been checked."""
    contents = {}
    with ZipFile(io.BytesIO(archive)) as packed:
        check_members(packed.infolist(), size, unpacked)
        for member in packed.infolist():
            # Arrays in it can be changed, unlike those in bytes.
            content = bytearray()
            with packed.open(member) as stream:
                # In blocks: otherwise, zipfile would inflate up to 2 GB before it
                # compares that with the size in the directory.
                while block := stream.read(BLOCK):
                    content += block
            contents[member.filename] = content
    return contents


def check_members(members: list[ZipInfo], size: int, unpacked: int = 0) -> None:
    """Reject an archive that has more than a model contains.

    Parameters
    ----------
    members : list of ZipInfo
        The directory of the archive, with the size of every member.
    size : int
        Bytes of the archive, or of that in which it lies.
    unpacked : int
        Bytes that others in the same archive have unpacked to.
    """
    require(
        len(members) <= MEMBERS,
        f"it has {len(members):,} parts; a drsvm model has at most {MEMBERS:,}.",
    )
    names = set()
    for member in members:
        names.add(member.filename)
        unpacked += member.file_size
        if member.filename == "schema.json":
            _check_size("its schema.json", member.file_size, size, SMALL_TEXT)
        # Python unpacks those of other methods, such as bzip2, without a bound.
        require(
            member.compress_type in (ZIP_STORED, ZIP_DEFLATED),
            f"{member.filename!r} in it has a compression method that drsvm models "
            "never use.",
        )
    _check_size("it", unpacked, size, SMALL)
    require(
        len(names) == len(members),
        "it has two parts with the same name, which drsvm models never have.",
    )


def _check_size(what: str, unpacked: int, size: int, small: int) -> None:
    """Reject what unpacks to far more than the size of its file, unless it is small."""
    require(
        unpacked <= max(small, RATIO * size),
        f"{what} would unpack to {unpacked / 1e6:,.0f} MB, {unpacked / size:,.0f} "
        "times the size of the file, which no drsvm model does. Do not trust its "
        "source.",
    )


def check_schema(schema: Json) -> None:
    """Reject a schema with names that are not allowed.

    Parameters
    ----------
    schema : Json
        The content of ``schema.json``: nodes within nodes.
    """
    foreign = set()
    # A list instead of recursion, which malicious nesting would exhaust
    waiting = [schema]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, list):
            waiting.extend(entry)
        if not isinstance(entry, dict):
            continue
        waiting.extend(entry.values())
        if RESERVED.isdisjoint(entry):
            continue
        name = f"{entry.get('__module__')}.{entry.get('__class__')}"
        kind = entry.get("__loader__")
        if name not in NODES:
            foreign.add(name)
        elif kind not in NODES[name]:
            foreign.add(f"{name} ({kind})")
    names = ", ".join(sorted(foreign))[:1000]
    # A name may contain what controls a terminal.
    if not names.isprintable():
        names = ascii(names)
    require(
        not foreign,
        f"it contains {names}, which no drsvm model needs: loading such types may "
        "run code. Do not trust its source.",
    )


def our_classes() -> tuple[type, ...]:
    """Return the classifiers of this library; importing them takes a while."""
    from drsvm import WassersteinKernelSVC, WassersteinSVC, WassersteinSVCCV

    return WassersteinSVC, WassersteinSVCCV, WassersteinKernelSVC


def has_kernel(classifier: Model) -> bool:
    """Return True for a classifier that is made of landmarks instead of weights."""
    from drsvm import WassersteinKernelSVC

    return isinstance(classifier, WassersteinKernelSVC)


def classifiers(model: Model) -> Iterator[Model]:
    """Yield the classifiers at the end of a model.

    A fitted CalibratedClassifierCV has several.
    """
    if hasattr(model, "steps"):
        _check_steps(model.steps)
        yield from classifiers(model.steps[-1][1])
    elif hasattr(model, "calibrated_classifiers_"):
        for calibrated in model.calibrated_classifiers_:
            yield from classifiers(calibrated.estimator)
    elif type(model).__name__ == "FrozenEstimator":
        yield from classifiers(model.estimator)
    elif hasattr(model, "response_method"):
        # A FixedThresholdClassifier or a TunedThresholdClassifierCV. Only a fitted
        # one has an `estimator_`.
        yield from classifiers(getattr(model, "estimator_", model.estimator))
    else:
        yield model


def _check_steps(steps: Any) -> None:
    """Reject a Pipeline whose steps are not transformers with names."""
    what = "the steps of its Pipeline are not pairs of a name and a step."
    require(isinstance(steps, list | tuple) and len(steps) > 0, what)
    for pair in steps:
        require(isinstance(pair, list | tuple) and len(pair) == 2, what)
    for name, step in steps[:-1]:
        is_step = step in (None, "passthrough") or hasattr(step, "transform")
        require(is_step, f"step {name!r} of its Pipeline is not a transformer.")


def check_given(model: Model) -> None:
    """Reject a model that cannot be saved, or is not fitted."""
    for last in classifiers(model):
        kind = type(last).__name__
        require(
            not hasattr(last, "best_estimator_"),
            f"{kind} is a search: save its best_estimator_.",
        )
        # A CalibratedClassifierCV that is not fitted has no classifiers.
        require(
            isinstance(last, our_classes()) or kind == "CalibratedClassifierCV",
            f"it does not end in {OURS}, but in {kind}.",
        )
        require(hasattr(last, "intercept_"), f"{kind} is not fitted: call fit first.")
        require(
            not callable(getattr(last, "kernel", None)),
            "its kernel is a function of your own: save it with joblib.dump, or name "
            "a kernel.",
        )


def check_loaded(content: Any) -> None:
    """Reject the content of a file that is not a whole model with metadata.

    Parameters
    ----------
    content : Any
        What was built: a dict with the keys "model", "metadata" and perhaps "audit".
    """
    from drsvm.audit.model_layers import threshold_around

    require(
        isinstance(content, dict) and isinstance(content.get("metadata"), dict),
        "it has no metadata.",
    )
    models = [content.get("model")]
    audit = content.get("audit")
    if audit is not None:
        is_whole = isinstance(audit, dict) and "model" in audit
        require(is_whole, "its audit is incomplete.")
        if audit["model"] is not None:
            models.append(audit["model"])
    for model in models:
        for last in classifiers(model):
            require(isinstance(last, our_classes()), f"it does not end in {OURS}.")
            _check_arrays(last)
            _check_results(last)
        # It raises an error if the threshold is a text, for instance.
        threshold = threshold_around(model)
        require(not math.isnan(threshold), "the threshold in it is NaN.")


def check_scaler(scaler: Any) -> None:
    """Reject a fitted ClippedScaler whose arrays are not whole."""
    from drsvm.estimators.clipped_scaler import parameters_of

    if not hasattr(scaler, "n_features_in_"):
        return
    arrays = parameters_of(scaler)
    for values in arrays:
        require(
            values.dtype.kind == "f" and values.shape == (scaler.n_features_in_,),
            "an array of the ClippedScaler in it does not have a number per feature.",
        )
    lower, upper, mean, deviation = arrays
    is_whole = np.isfinite(mean) & np.isfinite(deviation) & (deviation > 0.0)
    # A column without any number has no mean.
    is_empty = scaler.scaler_.n_samples_seen_ == 0
    require(
        ((lower <= upper) & (is_whole | is_empty)).all(),
        "the ClippedScaler in it has limits, means or deviations that are not numbers, "
        "or in the wrong order.",
    )


def _check_results(model: Model) -> None:
    """Reject incomplete results of a fit; after partial_fit there are none."""
    results = vars(model).get("result_")
    if results is None:
        return
    if not isinstance(results, list):
        results = [results]
    parts = fields(Result)
    names = {part.name for part in parts}
    for result in results:
        is_whole = isinstance(result, Result) and set(vars(result)) == names
        require(is_whole, "the result in it is incomplete.")
        for part in parts:
            # The type of dict[str, Any] is dict. Numbers may be numpy's.
            kind: Any = get_origin(part.type) or part.type
            kind = {float: Real, int: Integral}.get(kind, kind)
            require(
                isinstance(getattr(result, part.name), kind),
                f"{part.name} of the result in it is not of type {kind.__name__}.",
            )


def _check_arrays(model: Model) -> None:
    """Reject a classifier whose arrays do not fit together.

    It has one decision for two classes, and one for each of several classes.
    """
    state = vars(model)
    # Which array has a row per decision, and which one a column per feature
    name = "coef_"
    points = "coef_"
    if has_kernel(model):
        name = "dual_coef_"
        points = "landmarks_"
    require(
        _is_array(state.get(name), 2),
        f"{name} is not an array of finite numbers with one row per decision.",
    )
    n_decisions, n_columns = state[name].shape
    n_classes = max(n_decisions, 2)
    intercept = state.get("intercept_")
    require(
        _is_array(intercept, 1) and len(intercept) == n_decisions,
        f"intercept_ is not an array with one finite number per row of {name}.",
    )
    classes = state.get("classes_")
    require(
        isinstance(classes, np.ndarray) and classes.shape == (n_classes,),
        f"classes_ is not an array of {n_classes} labels.",
    )
    rows = state.get(points)
    require(_is_array(rows, 2), f"{points} is not an array of finite numbers.")
    require(
        rows.shape[1] == state.get("n_features_in_"),
        f"n_features_in_ is not the number of columns of {points}.",
    )
    # Files of earlier versions do not have it.
    mean = state.get("mean_")
    if mean is not None:
        require(
            _is_array(mean, 1) and len(mean) == rows.shape[1],
            "mean_ is not an array with one finite number per feature.",
        )
    sigmoids = state.get("sigmoids_")
    if sigmoids is not None:
        require(
            _is_array(sigmoids, 2) and sigmoids.shape == (n_decisions, 2),
            f"sigmoids_ is not an array with a slope and an offset per row of {name}.",
        )
    if has_kernel(model):
        _check_kernel(model, n_columns)


def _check_kernel(model: Model, n_landmarks: int) -> None:
    """Reject a classifier whose landmarks or kernel are not whole."""
    state = vars(model)
    indices = state.get("landmark_indices_")
    require(
        model.landmarks_.shape[0] == n_landmarks
        and getattr(indices, "shape", None) == (n_landmarks,),
        "landmarks_ and landmark_indices_ do not have one entry per column of "
        "dual_coef_.",
    )
    gamma = state.get("gamma_")
    is_number = isinstance(gamma, float) and math.isfinite(gamma)
    require(
        isinstance(model.kernel, str) and is_number,
        "kernel and gamma_ are not a name and a number.",
    )
    if model.kernel == "precomputed":
        require(
            ((indices >= 0) & (indices < model.n_features_in_)).all(),
            "landmark_indices_ are not columns of a precomputed kernel.",
        )
    elif n_landmarks:
        # The kernel is tried: it raises an error unless it is one of the library.
        values = model._kernel().scaled(model.landmarks_[:1])
        model._function().values(values, values)


def _is_array(values: Any, ndim: int) -> bool:
    """Return True for an array or a sparse matrix of finite floating-point numbers."""
    if getattr(values, "ndim", None) != ndim:
        return False
    if getattr(values, "dtype", np.dtype(object)).kind != "f":
        return False
    # NaN and infinity stay in a sum of sizes.
    return bool(np.isfinite(abs(values).sum()))
