"""Checks of model files from untrusted sources: of the archive, then of the model.

A few kilobytes of zip can unpack to gigabytes, and the directory of an archive may give
wrong sizes: it is checked before any object is built, and then every member is read
only up to the size given there. What is loaded must be a fitted classifier of this
library, also at the end of a pipeline. It is checked as a whole, because a malformed
classifier would only fail when it predicts; the attributes of scikit-learn's
transformers are not checked.
"""

import io
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
BLOCK = 1 << 16  # bytes that are unpacked at a time
OURS = "a WassersteinSVC, WassersteinSVCCV or WassersteinKernelSVC"
# The largest number of members of an archive; a model has about nine arrays per class.
MEMBERS = 100_000


class RejectedError(ValueError):
    """A file is rejected, or a model cannot be saved; the message gives the reason."""


def require(condition: object, message: str) -> None:
    """Reject a file or a model unless a condition is true."""
    if not condition:
        raise RejectedError(message)


def members_of(archive: bytes) -> dict[str, bytearray]:
    """Return the content of an archive by name.

    Sparse matrices are archives within it, whose content is returned as well.
    """
    size = len(archive)
    allowed = max(SMALL, RATIO * size)
    members = {}
    inner = {}
    for name, content in _read(archive, size, allowed).items():
        allowed -= len(content)
        group = inner if name.endswith(".npz") else members
        group[name] = content
    for name, content in inner.items():
        for array, values in _read(content, size, allowed).items():
            allowed -= len(values)
            members[f"{name}/{array}"] = values
    return members


def _read(archive: bytes | bytearray, size: int, allowed: int) -> dict[str, bytearray]:
    contents = {}
    with ZipFile(io.BytesIO(archive)) as packed:
        check_members(packed.infolist(), size, allowed)
        for member in packed.infolist():
            # Read in blocks: otherwise zipfile inflates up to 2 GB before it compares
            # sizes with the directory.
            content = bytearray()
            with packed.open(member) as stream:
                while len(content) <= member.file_size:
                    block = stream.read(BLOCK)
                    if not block:
                        break
                    content += block
            contents[member.filename] = content
    return contents


def check_members(
    members: list[ZipInfo], size: int, allowed: int | None = None
) -> None:
    """Reject an archive of a given size that has more than a model contains.

    The directory of an archive lists its members with their sizes.
    """
    if allowed is None:
        allowed = max(SMALL, RATIO * size)
    text_allowed = max(SMALL_TEXT, RATIO * size)
    total = 0
    names = set()
    for member in members:
        total += member.file_size
        names.add(member.filename)
        if member.filename == "schema.json":
            _check_size("its schema.json", member.file_size, size, text_allowed)
        # Others are unpacked without a bound.
        is_known = member.compress_type in (ZIP_STORED, ZIP_DEFLATED)
        what = f"{member.filename!r} in it has a compression method"
        require(is_known, f"{what} that drsvm models never use.")
    _check_size("it", total, size, allowed)
    what = f"it has {len(members):,} parts; a drsvm model has at most {MEMBERS:,}."
    require(len(members) <= MEMBERS, what)
    what = "it has two parts with the same name, which drsvm models never have."
    require(len(names) == len(members), what)


def _check_size(what: str, unpacked: int, size: int, allowed: int) -> None:
    times = f"{unpacked / 1e6:,.0f} MB, {unpacked / size:,.0f} times the size of the"
    why = "file, which no drsvm model does. Do not trust its source."
    require(unpacked <= allowed, f"{what} would unpack to {times} {why}")


def check_schema(schema: Json) -> None:
    """Reject a schema with names that are not allowed."""
    foreign = set()
    waiting = [schema]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, list):
            waiting.extend(entry)
        if not isinstance(entry, dict):
            continue
        waiting.extend(entry.values())
        if not {"__class__", "__module__", "__loader__"}.isdisjoint(entry):
            name = f"{entry.get('__module__')}.{entry.get('__class__')}"
            kind = entry.get("__loader__")
            if name not in NODES:
                foreign.add(name)
            elif kind not in NODES[name]:
                foreign.add(f"{name} ({kind})")
    names = ", ".join(sorted(foreign))[:1000]
    names = names if names.isprintable() else ascii(names)
    what = f"it contains {names}, which no drsvm model needs: loading such types may"
    require(not foreign, f"{what} run code. Do not trust its source.")


def our_classes() -> tuple[type, ...]:
    """Return the classifiers of this library; importing them takes a while."""
    from drsvm import WassersteinKernelSVC, WassersteinSVC, WassersteinSVCCV

    return WassersteinSVC, WassersteinSVCCV, WassersteinKernelSVC


def has_kernel(classifier: Model) -> bool:
    """Return True for a classifier that is made of landmarks instead of weights."""
    return isinstance(classifier, our_classes()[2])


def classifiers(model: Model) -> Iterator[Model]:
    """Yield the classifiers at the end of a model.

    A fitted CalibratedClassifierCV has several.
    """
    inner = _models_in(model)
    for each in inner:
        yield from classifiers(each)
    if not inner:
        yield model


def _models_in(model: Model) -> list[Model]:
    """Return the models that a model consists of or has around it, if any."""
    if hasattr(model, "steps"):
        _check_steps(model.steps)
        return [model.steps[-1][1]]
    if hasattr(model, "calibrated_classifiers_"):
        return [one.estimator for one in model.calibrated_classifiers_]
    # Only classifiers with a threshold have a `response_method`.
    if type(model).__name__ == "FrozenEstimator" or hasattr(model, "response_method"):
        return [getattr(model, "estimator_", model.estimator)]
    return []


def _check_steps(steps: Any) -> None:
    is_list = isinstance(steps, list | tuple) and len(steps) > 0
    what = "the steps of its Pipeline are not pairs of a name and a step."
    require(is_list, what)
    for pair in steps:
        require(isinstance(pair, list | tuple) and len(pair) == 2, what)
    for name, step in steps[:-1]:
        is_step = step in (None, "passthrough") or hasattr(step, "transform")
        require(is_step, f"step {name!r} of its Pipeline is not a transformer.")


def check_given(model: Model) -> None:
    """Raise an error if a model is not one that can be saved, or not fitted."""
    for last in classifiers(model):
        kind = type(last).__name__
        is_search = hasattr(last, "best_estimator_")
        require(not is_search, f"{kind} is a search: save its best_estimator_.")
        is_ours = isinstance(last, our_classes()) or kind == "CalibratedClassifierCV"
        require(is_ours, f"it does not end in {OURS}, but in {kind}.")
        require(hasattr(last, "intercept_"), f"{kind} is not fitted: call fit first.")
        is_own = callable(getattr(last, "kernel", None))
        remedy = "save it with joblib.dump, or name a kernel."
        require(not is_own, f"its kernel is a function of your own: {remedy}")


def check_loaded(content: object) -> None:
    """Raise an error if the content of a file is not a whole model with metadata."""
    from drsvm.audit.model_layers import threshold_around

    parts = content if isinstance(content, dict) else {}
    require(isinstance(parts.get("metadata"), dict), "it has no metadata.")
    models = [parts.get("model")]
    audit = parts.get("audit")
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
        # It raises an error if the threshold is not a number.
        threshold_around(model)


def _check_results(model: Model) -> None:
    """Check the results of the fit, which partial_fit does not have."""
    results = vars(model).get("result_")
    if results is None:
        return
    for result in results if isinstance(results, list) else [results]:
        names = {entry.name for entry in fields(Result)}
        is_whole = isinstance(result, Result) and set(vars(result)) == names
        require(is_whole, "the result in it is incomplete.")
        for entry in fields(Result):
            kind: Any = get_origin(entry.type) or entry.type
            # Numbers may be numpy's.
            kind = {float: Real, int: Integral}.get(kind, kind)
            what = f"{entry.name} of the result in it is not of type {kind.__name__}."
            require(isinstance(getattr(result, entry.name), kind), what)


def _check_arrays(model: Model) -> None:
    """Check that the arrays of a classifier fit together.

    One has a row per decision, and one has a column per feature.
    """
    state = vars(model)
    name = "dual_coef_" if has_kernel(model) else "coef_"
    points = "landmarks_" if has_kernel(model) else "coef_"
    is_array = _is_array(state.get(name), 2)
    require(is_array, f"{name} is not an array of numbers with one row per decision.")
    n_rows, n_columns = state[name].shape
    intercept = state.get("intercept_")
    fits = _is_array(intercept, 1) and len(intercept) == n_rows
    require(fits, f"intercept_ is not an array with one number per row of {name}.")
    classes = state.get("classes_")
    n_classes = 2 if n_rows == 1 else n_rows
    fits = isinstance(classes, np.ndarray) and classes.shape == (n_classes,)
    require(fits, f"classes_ is not an array of {n_classes} labels.")
    n_features = state.get("n_features_in_")
    fits = _is_array(state.get(points), 2) and state[points].shape[1] == n_features
    require(fits, f"n_features_in_ is not the number of columns of {points}.")
    sigmoids = state.get("sigmoids_")
    fits = True
    if sigmoids is not None:
        fits = _is_array(sigmoids, 2) and sigmoids.shape == (n_rows, 2)
    what = f"sigmoids_ is not an array with a slope and an offset per row of {name}."
    require(fits, what)
    if has_kernel(model):
        _check_kernel(model, n_columns)


def _check_kernel(model: Model, n_landmarks: int) -> None:
    """Check the landmarks of a classifier with a kernel, and that it has values."""
    places = vars(model).get("landmark_indices_")
    shape = getattr(places, "shape", None)
    fits = model.landmarks_.shape[0] == n_landmarks and shape == (n_landmarks,)
    what = "landmarks_ and landmark_indices_ do not have one entry per column of"
    require(fits, f"{what} dual_coef_.")
    gamma = vars(model).get("gamma_")
    fits = isinstance(model.kernel, str) and isinstance(gamma, float)
    require(fits, "kernel and gamma_ are not a name and a number.")
    if model.kernel == "precomputed":
        are_columns = ((places >= 0) & (places < model.n_features_in_)).all()
        what = "landmark_indices_ are not columns of a precomputed kernel."
        require(are_columns, what)
    elif n_landmarks:
        # It raises an error unless the kernel is one of the library.
        values = model._kernel().priced(model.landmarks_[:1])
        model._function().values(values, values)


def _is_array(values: Any, ndim: int) -> bool:
    """Return True for an array or a sparse matrix of floating-point numbers."""
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    return kind == "f" and getattr(values, "ndim", None) == ndim
