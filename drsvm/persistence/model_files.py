"""Model files: written atomically, checked before use, and loaded without running code.

    drsvm-model 2 sha256:…      ← one line: the format, and the checksum of everything after it
    skops archive               ← {"model": Pipeline or classifier, "metadata": plain values}

skops stores objects as plain data. Its own list of trusted types is long; here only the few types that a model of this
library needs may occur, under their public names (`names.py`), and everything else is rejected before any object is
built. Before that, archives that would take far more memory or time than their size suggests are rejected.

Format 1, written by version 0.1.0, names the modules that defined the classes then; loading replaces these names.
"""

import copy
import hashlib
import math
import os
import tempfile
import zlib
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile

from drsvm import __version__
from drsvm.model.result import Result
from drsvm.persistence.archives import (
    ALLOWED_TYPES,
    ArchiveError,
    check_archive,
    foreign_types,
    unpacked,
    with_public_names,
)
from drsvm.persistence.names import HOMES_IN_FORMAT_1, defining_home

MAGIC, FORMAT = b"drsvm-model ", 2

NO_ARCHIVE = (
    *(BadZipFile, zlib.error, EOFError, OSError, LookupError),
    *(TypeError, AttributeError, ValueError, RuntimeError),  # also RecursionError and NotImplementedError
)
"""Exceptions that zipfile, json and skops raise for malformed files."""


BEFORE_IT_WAS_A_PARAMETER = {"intercept_cost": math.inf, "intercept_costs": math.inf}
"""What earlier versions did, for parameters whose default does something else: the intercept was free."""


class ModelFileError(ValueError):
    """A model file is rejected, or a model cannot be saved; the message gives the reason."""


@dataclass(frozen=True)
class SavedModel:
    """The contents of a model file.

    Attributes
    ----------
    model : WassersteinSVC, WassersteinSVCCV or Pipeline
        The fitted classifier.
    metadata : dict
        Plain values; ``drsvm`` is the version that wrote the file.
    """

    model: Any
    metadata: dict[str, Any] = field(default_factory=dict)


# --- saving -------------------------------------------------------------------------------------------------------


def save_model(model, path: str | Path, metadata: dict[str, Any] | None = None) -> None:
    """Save a fitted classifier.

    Parameters
    ----------
    model : WassersteinSVC or WassersteinSVCCV, or Pipeline of scalers that ends in one
        The classifier.
    path : str or Path
        The file. An existing file is replaced only when the new one is complete.
    metadata : dict, optional
        Plain values (strings, numbers, lists, dicts) to store with it, for `load_metadata`.

    Raises
    ------
    ModelFileError
        If the model contains something that `load_model` would reject.
    """
    content = {"model": _without_blocks(model), "metadata": {**(metadata or {}), "drsvm": __version__}}
    try:
        archive = _archive_of(content)
    except ArchiveError as error:
        raise ModelFileError(f"{Path(path)}: the model cannot be saved: {error}") from None
    foreign = foreign_types(archive)
    if foreign:
        raise ModelFileError(
            f"{Path(path)}: the model contains {', '.join(foreign)}, which is not allowed in a model file: save a "
            "WassersteinSVC or WassersteinSVCCV with a solver given by name, alone or in a Pipeline after "
            "StandardScaler, MaxAbsScaler or SimpleImputer."
        )
    head = MAGIC + f"{FORMAT} sha256:{hashlib.sha256(archive).hexdigest()}\n".encode()
    write_whole(path, head + archive)


def _archive_of(content: dict[str, Any]) -> bytes:
    """Return an archive that `load_model` accepts: compressed, unless it would then unpack to more than is allowed."""
    plain = _skops().dumps(content, compression=ZIP_STORED)
    archive = with_public_names(plain, defining_home, ZIP_DEFLATED)
    try:
        check_archive(archive)
    except ArchiveError:
        archive = with_public_names(plain, defining_home, ZIP_STORED)
        check_archive(archive)
    return archive


def _without_blocks(model):
    """Return a shallow copy of a fitted model without the state of partial_fit."""
    kept = copy.copy(model)
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        kept.steps = [*model.steps[:-1], (name, _without_blocks(last))]
        return kept
    if not hasattr(model, "coef_"):
        raise ModelFileError(f"{type(model).__name__} is not a fitted linear classifier: call fit first.")
    kept.__dict__.pop("_block_fits", None)
    results = getattr(model, "result_", None)
    if results is not None:
        # Additional information from a solver may be of any type and is not part of the certificate.
        bare = [replace(each, info={}) for each in (results if isinstance(results, list) else [results])]
        kept.result_ = bare if isinstance(results, list) else bare[0]
    return kept


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file atomically: first to a temporary file in the same folder, which then replaces it."""
    path = Path(path)
    if path.exists() and not path.is_file():  # a device such as /dev/stdout
        path.write_bytes(content)
        return
    target = path.resolve()  # a link stays a link
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode_for(target))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _mode_for(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


# --- loading ------------------------------------------------------------------------------------------------------


def load_model(path: str | Path) -> Any:
    """Load a classifier from a file without running any code named in the file.

    Parameters
    ----------
    path : str or Path
        A file that `save_model` has written.

    Returns
    -------
    WassersteinSVC, WassersteinSVCCV or Pipeline
        The fitted classifier. `load_metadata` returns the metadata saved with it.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, would unpack to far more than its size, or contains a type that no
        model needs.
    """
    return load_saved(path).model


def load_metadata(path: str | Path) -> dict[str, Any]:
    """Load the metadata of a model file, with the same checks as `load_model`.

    Parameters
    ----------
    path : str or Path
        A file that `save_model` has written.

    Returns
    -------
    dict
        The metadata given to `save_model`, and the version that wrote the file under the key ``drsvm``.
    """
    return load_saved(path).metadata


def load_saved(path: str | Path) -> SavedModel:
    """Load a classifier together with its metadata."""
    path = Path(path)
    version, packed = _checked_archive(path)
    try:
        archive = unpacked(packed)
        if version == 1:
            archive = with_public_names(archive, HOMES_IN_FORMAT_1.get)
        foreign = foreign_types(archive)
        if foreign:
            raise ModelFileError(
                f"{path}: contains {', '.join(foreign)}, which no drsvm model needs: it is rejected, because loading "
                "such types may run code. Do not trust its source."
            )
        content = _skops().loads(archive, trusted=sorted(ALLOWED_TYPES))
        return _checked_content(path, content)
    except ModelFileError:
        raise
    except ArchiveError as error:
        raise ModelFileError(f"{path}: is rejected: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{path}: not enough memory to load it, or a size in it is wrong.") from None
    except NO_ARCHIVE as error:
        raise ModelFileError(
            f"{path}: its content is not that of a drsvm model ({type(error).__name__}): save it again."
        ) from None


def is_model_file(path: Path) -> bool:
    """Return whether a file starts like a model file."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def _checked_archive(path: Path) -> tuple[int, bytes]:
    """Return the format number of a file and its archive, after checking the checksum."""
    try:
        with path.open("rb") as stream:
            head = stream.readline(200)
            archive = stream.read() if head.startswith(MAGIC) else b""
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror or error}).") from None
    words = head[len(MAGIC) :].decode("ascii", "replace").split()
    if not head.startswith(MAGIC) or len(words) != 2 or not words[0].isdigit():
        raise ModelFileError(f"{path}: is not a drsvm model: create one with drsvm fit --model or save_model.")
    if int(words[0]) > FORMAT:
        raise ModelFileError(
            f"{path}: was written by a newer drsvm (format {words[0]}): upgrade with pip install -U drsvm."
        )
    if words[1] != f"sha256:{hashlib.sha256(archive).hexdigest()}":
        raise ModelFileError(f"{path}: the checksum is wrong, so the file is truncated or was changed: copy it again.")
    return int(words[0]), archive


def _checked_content(path: Path, content) -> SavedModel:
    from drsvm import WassersteinSVC, WassersteinSVCCV

    parts = content if isinstance(content, dict) else {}
    model: Any = parts.get("model")
    metadata: Any = parts.get("metadata")
    try:
        last = model[-1] if hasattr(model, "steps") else model
    except (TypeError, ValueError, IndexError):  # malformed steps
        last = None
    known = isinstance(last, WassersteinSVC | WassersteinSVCCV)
    if not known or not isinstance(metadata, dict) or not hasattr(last, "coef_"):
        raise ModelFileError(f"{path}: its content is not that of a drsvm model.")
    results = getattr(last, "result_", None)
    if not all(map(_is_complete, results if isinstance(results, list) else [] if results is None else [results])):
        raise ModelFileError(f"{path}: the result in it is incomplete.")
    _add_missing_parameters(last)
    return SavedModel(model, metadata)


def _add_missing_parameters(classifier) -> None:
    """Give parameters that the file lacks, because a later version added them, the values it was trained with."""
    for name, parameter in signature(type(classifier)).parameters.items():
        vars(classifier).setdefault(name, BEFORE_IT_WAS_A_PARAMETER.get(name, parameter.default))


def _is_complete(result) -> bool:
    return isinstance(result, Result) and {entry.name for entry in fields(Result)} == set(vars(result))


def _skops() -> Any:
    try:
        import skops.io  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError("saving and loading models needs skops: pip install 'drsvm[cli]'.") from None
    return skops.io
