"""Checks of model files from untrusted sources: of the archive before any object is built, then of the model.

A few kilobytes of zip can unpack to gigabytes, and the directory of an archive may give
wrong sizes: it is checked first, and then every member is read only up to the size
given there. What is loaded must be a fitted classifier of this library, also at the end
of a pipeline. It is checked as a whole, because a malformed classifier would only fail
when it predicts; the attributes of scikit-learn's transformers are not checked.
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
# their multipliers
RATIO = 50
# Any archive may unpack to this many bytes: the size of the multipliers of four million
# rows
SMALL = 64 << 20
# Any schema.json may have this many; parsing takes up to 25 times the memory
SMALL_TEXT = 2 << 20
OURS = "a WassersteinSVC, WassersteinSVCCV or WassersteinKernelSVC"
# Maximum number of members of an archive; a model has about nine arrays per class
MEMBERS = 100_000


class RejectedError(ValueError):
    """A file is rejected, or a model cannot be saved; the message gives the reason."""


def require(condition: object, message: str) -> None:
    """Reject a file or a model unless a condition is true."""
    if not condition:
        raise RejectedError(message)


def members_of(archive: bytes) -> dict[str, bytearray]:
    """Return the content of an archive by name, also that of archives within it, which are sparse matrices."""
    size = len(archive)
    allowed = max(SMALL, RATIO * len(archive))
    members = _read(archive, size, allowed)
    allowed -= sum(map(len, members.values()))
    for name in [name for name in members if name.endswith(".npz")]:
        arrays = _read(members.pop(name), size, allowed)
        allowed -= sum(map(len, arrays.values()))
        members |= {f"{name}/{inner}": array for inner, array in arrays.items()}
    return members


def _read(archive: bytes | bytearray, size: int, allowed: int) -> dict[str, bytearray]:
    contents = {}
    with ZipFile(io.BytesIO(archive)) as packed:
        check_members(packed.infolist(), size, allowed)
        for member in packed.infolist():
            # Read in blocks: otherwise zipfile inflates up to 2 GB before it compares
            # sizes with the directory.
            content = contents[member.filename] = bytearray()
            with packed.open(member) as stream:
                while len(content) <= member.file_size and (
                    block := stream.read(1 << 16)
                ):
                    content += block
    return contents


def check_members(
    members: list[ZipInfo], size: int, allowed: int | None = None
) -> None:
    """Reject an archive of a given size whose directory lists more than a model contains."""
    if allowed is None:
        allowed = max(SMALL, RATIO * size)
    else:
        allowed = allowed
    total = sum(member.file_size for member in members)
    text = max(
        (member.file_size for member in members if member.filename == "schema.json"),
        default=0,
    )
    for what, unpacked, limit in (
        ("it", total, allowed),
        ("its schema.json", text, max(SMALL_TEXT, RATIO * size)),
    ):
        times = f"{unpacked / 1e6:,.0f} MB, {unpacked / size:,.0f} times the size of the file"
        rejection = f"{what} would unpack to {times}, which no drsvm model does. Do not trust its source."
        require(unpacked <= limit, rejection)
    for member in members:  # others are unpacked without a bound
        is_known = member.compress_type in (ZIP_STORED, ZIP_DEFLATED)
        require(
            is_known,
            f"{member.filename!r} in it has a compression method that drsvm models never use.",
        )
    require(
        len(members) <= MEMBERS,
        f"it has {len(members):,} parts; a drsvm model has at most {MEMBERS:,}.",
    )
    names = {member.filename for member in members}
    require(
        len(names) == len(members),
        "it has two parts with the same name, which drsvm models never have.",
    )


def check_schema(schema: Json) -> None:
    """Reject a schema with names that are not allowed."""
    foreign = set()
    waiting: list[Json] = [schema]
    for entry in waiting:  # which grows
        node = entry if isinstance(entry, dict) else {}
        if {"__class__", "__module__", "__loader__"} & set(node):
            name = f"{node.get('__module__')}.{node.get('__class__')}"
            kind = node.get("__loader__")
            if kind not in NODES.get(name, ()):
                foreign.add(f"{name} ({kind})" if name in NODES else name)
        waiting.extend(
            node.values() if node else entry if isinstance(entry, list) else ()
        )
    names = ", ".join(sorted(foreign))[:1000]
    names = f"it contains {names if names.isprintable() else ascii(names)}, which no drsvm model needs"
    require(
        not foreign,
        f"{names}: loading such types may run code. Do not trust its source.",
    )


def our_classes() -> tuple[type, ...]:
    """Return the classifiers of this library; importing them takes a while."""
    from drsvm import WassersteinKernelSVC, WassersteinSVC, WassersteinSVCCV

    return WassersteinSVC, WassersteinSVCCV, WassersteinKernelSVC


def has_kernel(classifier: Model) -> bool:
    """Return True for a classifier that is made of landmarks instead of weights."""
    return isinstance(classifier, our_classes()[2:])


def classifiers(model: Model) -> Iterator[Model]:
    """Yield the classifiers at the end of a model: several in a fitted CalibratedClassifierCV."""
    # With a threshold
    is_around = type(model).__name__ == "FrozenEstimator" or hasattr(
        model, "response_method"
    )
    if is_around:
        inner = [getattr(model, "estimator_", model.estimator)]
    else:
        inner = []
    if hasattr(model, "calibrated_classifiers_"):
        inner = [one.estimator for one in model.calibrated_classifiers_]
    if hasattr(model, "steps"):
        if isinstance(model.steps, list | tuple):
            pairs = model.steps
        else:
            pairs = ()
        are_pairs = pairs and all(
            isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
        )
        require(
            are_pairs, "the steps of its Pipeline are not pairs of a name and a step."
        )
        for name, step in pairs[:-1]:
            is_step = step in (None, "passthrough") or hasattr(step, "transform")
            require(is_step, f"step {name!r} of its Pipeline is not a transformer.")
        inner = [model.steps[-1][1]]
    for each in inner:
        yield from classifiers(each)
    if not inner:
        yield model


def check_given(model: Model) -> None:
    """Raise an error if a model is not one that can be saved, or not fitted."""
    for last in classifiers(model):
        kind = type(last).__name__
        require(
            not hasattr(last, "best_estimator_"),
            f"{kind} is a search: save its best_estimator_.",
        )
        is_ours = isinstance(last, our_classes()) or kind == "CalibratedClassifierCV"
        require(is_ours, f"it does not end in {OURS}, but in {kind}.")
        require(hasattr(last, "intercept_"), f"{kind} is not fitted: call fit first.")
        is_own = callable(getattr(last, "kernel", None))
        require(
            not is_own,
            "its kernel is a function of your own: save it with joblib.dump, or name a kernel.",
        )


def check_loaded(content: object) -> None:
    """Raise an error if the content of a file is not a whole model with its metadata."""
    from drsvm.audit.model_layers import threshold_around

    parts = content if isinstance(content, dict) else {}
    require(isinstance(parts.get("metadata"), dict), "it has no metadata.")
    audit = parts.get("audit")
    require(
        audit is None or (isinstance(audit, dict) and "model" in audit),
        "its audit is incomplete.",
    )
    tested = audit and audit["model"]
    for last in [
        *classifiers(parts.get("model")),
        *(classifiers(tested) if tested is not None else ()),
    ]:
        require(isinstance(last, our_classes()), f"it does not end in {OURS}.")
        _check_classifier(
            last,
            *(("dual_coef_", "landmarks_") if has_kernel(last) else ("coef_", "coef_")),
        )
        results = vars(last).get("result_")  # None after partial_fit
        for result in (
            results
            if isinstance(results, list)
            else []
            if results is None
            else [results]
        ):
            is_whole = isinstance(result, Result) and set(vars(result)) == {
                entry.name for entry in fields(Result)
            }
            require(is_whole, "the result in it is incomplete.")
            for entry in fields(Result):
                kind: Any = {float: Real, int: Integral}.get(
                    entry.type, get_origin(entry.type) or entry.type
                )  # pyright: ignore
                is_kind = isinstance(getattr(result, entry.name), kind)
                require(
                    is_kind,
                    f"{entry.name} of the result in it is not of type {kind.__name__}.",
                )
    for model in filter(None, (parts["model"], tested)):
        threshold_around(model)  # or an error, if it is not a number


def _check_classifier(model: Model, name: str, points: str) -> None:
    """Check that its arrays fit together: the one with a row per decision, and the one with a column per feature."""
    state = vars(model)
    require(
        _is_array(state.get(name), 2),
        f"{name} is not an array of numbers with one row per decision.",
    )
    n_rows = state[name].shape[0]
    classes = state.get("classes_")
    sigmoids = state.get("sigmoids_")
    fits = _is_array(state.get("intercept_"), 1) and len(state["intercept_"]) == n_rows
    require(fits, f"intercept_ is not an array with one number per row of {name}.")
    n_classes = 2 if n_rows == 1 else n_rows
    fits = isinstance(classes, np.ndarray) and classes.shape == (n_classes,)
    require(fits, f"classes_ is not an array of {n_classes} labels.")
    fits = (
        _is_array(state.get(points), 2)
        and state.get("n_features_in_") == state[points].shape[1]
    )
    require(fits, f"n_features_in_ is not the number of columns of {points}.")
    fits = sigmoids is None or (
        _is_array(sigmoids, 2) and sigmoids.shape == (n_rows, 2)
    )
    require(
        fits, f"sigmoids_ is not an array with a slope and an offset per row of {name}."
    )
    if not has_kernel(model):
        return
    places = state.get("landmark_indices_")
    n_landmarks = model.dual_coef_.shape[1]
    fits = model.landmarks_.shape[0] == n_landmarks and getattr(
        places, "shape", None
    ) == (n_landmarks,)
    require(
        fits,
        "landmarks_ and landmark_indices_ do not have one entry per column of dual_coef_.",
    )
    fits = isinstance(model.kernel, str) and isinstance(state.get("gamma_"), float)
    require(fits, "kernel and gamma_ are not a name and a number.")
    if model.kernel == "precomputed":
        are_columns = ((places >= 0) & (places < model.n_features_in_)).all()
        require(
            are_columns, "landmark_indices_ are not columns of a precomputed kernel."
        )
    elif n_landmarks:  # a kernel of the library, which can be evaluated
        values = model._kernel().priced(model.landmarks_[:1])
        model._function().values(values, values)


def _is_array(values: object, ndim: int) -> bool:
    return (
        getattr(values, "ndim", None) == ndim
        and getattr(values, "dtype", np.dtype(object)).kind == "f"
    )
