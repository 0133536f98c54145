"""Model files: written atomically, checked before use, and loaded without running code.

    drsvm-model 5 sha256:…   ← the format, and the checksum of all that follows
    zip archive              ← a dict:
        "model": Pipeline or classifier,
        "metadata": plain values,
        "audit": see `audits.py`, if there is one

The archive contains objects as plain data (`nodes.py`). Only the types in a list may
occur, under their public names (`names.py`), and everything else is rejected before any
object is built. Before that, archives that would take far more memory or time than
their size suggests are rejected.
"""

import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from drsvm import __version__
from drsvm.persistence import checks
from drsvm.persistence.checks import Model, RejectedError, require
from drsvm.persistence.nodes import SKLEARN, Builder, Writer
from drsvm.utils.arguments import about
from drsvm.utils.user_warnings import warn_user
from drsvm.utils.writing import write_files

MAGIC = b"drsvm-model "
FORMAT = 5  # files of formats 1 to 4 were written before the first release


class ModelFileError(ValueError):
    """A model file is rejected, or a model cannot be saved.

    The message gives the reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> from drsvm import load_model
    >>> _ = Path("notes.txt").write_text("This is no model.")
    >>> load_model("notes.txt")
    Traceback (most recent call last):
    drsvm.persistence.model_files.ModelFileError: ...
    """


class SavedModel(NamedTuple):
    """The contents of a model file: the fitted classifier, metadata and the audit.

    The metadata have the version that wrote the file.
    """

    model: Model
    metadata: dict[str, Any]
    # An `Audit`; its module would import scipy, which an error should not wait for.
    audit: Any = None


def save_model(
    model: Model, path: str | Path, metadata: dict[str, Any] | None = None
) -> None:
    """Save a fitted classifier.

    Parameters
    ----------
    model : estimator of drsvm, Pipeline that ends in one, or CalibratedClassifierCV
        The classifier, with scikit-learn's usual transformers before it
        (ColumnTransformer, encoders, imputers, scalers, vectorizers, PCA, ...) and, if
        any, a kernel given by its name. A FixedThresholdClassifier may be around it, or
        a TunedThresholdClassifierCV with a usual score of scikit-learn. Save others
        with joblib or skops. Without the multipliers of rows on a Dask cluster, which
        stay there. A classifier with a kernel contains training rows, unless it has
        ``landmarks="means"``.
    path : str or Path
        The file. An existing file is replaced only when the new one is complete.
    metadata : dict, optional
        Plain values (strings, numbers, lists, dicts) to store with it, for
        `drsvm.persistence.load_metadata`.

    Raises
    ------
    ModelFileError
        If the model contains something that `load_model` would reject.

    Examples
    --------
    >>> from drsvm import WassersteinSVC, load_model, save_model
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = WassersteinSVC(radius=0.1).fit(X, ["low", "low", "high", "high"])
    >>> save_model(model, "height.drsvm", metadata={"unit": "m"})
    >>> load_model("height.drsvm").predict([[0.5], [2.5]]).tolist()
    ['low', 'high']
    """
    with about("metadata"):
        metadata = dict(metadata or {})
    with about("path"):
        path = Path(path)
    save(SavedModel(model, metadata), path)


def save(saved: SavedModel, path: str | Path) -> None:
    """Write a file with all that belongs to a model.

    Parameters
    ----------
    saved : SavedModel
        The model, its metadata and perhaps the audit of its test.
    path : str or Path
        The file.
    """
    metadata = {**saved.metadata, "drsvm": __version__}
    content: dict[str, Any] = {"model": saved.model, "metadata": metadata}
    if saved.audit is not None:
        content["audit"] = saved.audit.packed(saved.model)
    try:
        checks.check_given(saved.model)
        try:
            archive = _archive_of(content, ZIP_DEFLATED)
        except RejectedError:
            # Compressed, it would unpack to more than is allowed.
            archive = _archive_of(content, ZIP_STORED)
    except RejectedError as error:
        raise ModelFileError(f"{path}: the model cannot be saved: {error}") from None
    head = f"{FORMAT} {_checksum(archive)}\n"
    write_files({Path(path): MAGIC + head.encode() + archive})


def _checksum(archive: bytes) -> str:
    """Return the checksum of an archive as it stands in the first line of a file."""
    return f"sha256:{hashlib.sha256(archive).hexdigest()}"


def _archive_of(content: dict[str, Any], compression: int) -> bytes:
    """Return the zip archive with all nodes and arrays of a model."""
    packed = io.BytesIO()
    # Higher levels of compression take long and save little.
    with ZipFile(packed, "w", compression, compresslevel=1) as archive:
        writer = Writer(archive)
        archive.writestr("schema.json", json.dumps(writer.node(content)))
    foreign = ", ".join(sorted(writer.foreign))
    require(
        not foreign,
        f"it contains {foreign}, which is not allowed in a model file: save it with "
        "joblib.dump or skops.io.dump, or use solvers given by name and transformers "
        "without functions of your own.",
    )
    written = packed.getvalue()
    # What could not be loaded is not saved.
    checks.check_members(archive.infolist(), len(written))
    return written


def load_model(path: str | Path) -> Model:
    """Load a classifier from a file without running any code named in the file.

    Parameters
    ----------
    path : str or Path
        A file that `save_model` has written.

    Returns
    -------
    Estimator of drsvm, or Pipeline
        The fitted classifier. `drsvm.persistence.load_metadata` returns the metadata
        saved with it.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, would unpack to far more than its
        size, or contains a type that no model needs.

    Examples
    --------
    >>> from drsvm import WassersteinSVC, load_model, save_model
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = WassersteinSVC(radius=0.1).fit(X, [0, 0, 1, 1])
    >>> save_model(model, "height.drsvm")
    >>> bool((load_model("height.drsvm").coef_ == model.coef_).all())
    True
    """
    return OpenModel(path).load().model


def load_metadata(path: str | Path) -> dict[str, Any]:
    """Load the metadata of a model file, with the same checks as `load_model`.

    Parameters
    ----------
    path : str or Path
        A file that `save_model` has written.

    Returns
    -------
    dict
        What was given to `save_model`, and the version that wrote the file under the
        key ``drsvm``.

    Examples
    --------
    >>> from drsvm import WassersteinSVC, save_model
    >>> from drsvm.persistence import load_metadata
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = WassersteinSVC(radius=0.1).fit(X, [0, 0, 1, 1])
    >>> save_model(model, "height.drsvm", metadata={"unit": "m"})
    >>> load_metadata("height.drsvm")["unit"]
    'm'
    """
    return OpenModel(path).load().metadata


def load_audit(path: str | Path) -> Any:
    """Load what ``drsvm fit`` keeps of its test in a model file.

    The checks are those of `load_model`.

    Parameters
    ----------
    path : str or Path
        A file that ``drsvm fit`` has written.

    Returns
    -------
    Audit, or None for a file without a test
        It has the classifier that was tested as `model`, and ``shift(X, y=None)``,
        which measures how far new rows have moved since, like `drsvm.measure_shift`.

    Examples
    --------
    >>> from drsvm import WassersteinSVC, save_model
    >>> from drsvm.persistence import load_audit
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = WassersteinSVC(radius=0.1).fit(X, [0, 0, 1, 1])
    >>> save_model(model, "height.drsvm")
    >>> load_audit("height.drsvm") is None
    True
    """
    return OpenModel(path).load().audit


class OpenModel:
    """A model file after all checks that need no object to be built.

    Errors are reported before the classes of the objects are imported, which takes
    seconds.

    Parameters
    ----------
    path : str or Path
        The file.
    """

    def __init__(self, path: str | Path):
        with about("path"):
            self.path = Path(path)
        archive = _checked_archive(self.path)
        with self._errors():
            self.members = checks.members_of(archive)
            self.schema = json.loads(bytes(self.members["schema.json"]))
            checks.check_schema(self.schema)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata alone; the model is not checked further."""
        with self._errors():
            metadata = Builder(self.members).build(self.schema["content"]["metadata"])
            require(isinstance(metadata, dict), "it has no metadata.")
        return metadata

    def load(self) -> SavedModel:
        """Build the model, check it, and return what is in the file."""
        builder = Builder(self.members)
        with self._errors():
            content = builder.build(self.schema)
            checks.check_loaded(content)
            audit = content.get("audit")
            if audit is not None:
                from drsvm.persistence.audits import restored

                audit = restored(audit, content["model"])
        for version in builder.sklearn_versions - {SKLEARN}:
            warn_user(
                f"{self.path}: was saved with scikit-learn {version[:20]!a}, and this "
                f"is {SKLEARN}, whose transformers may fail or differ: compare its "
                "decisions, then save it again."
            )
        return SavedModel(content["model"], content["metadata"], audit)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn any error into one that names the file and what to do."""
        try:
            yield
        except RejectedError as error:
            raise ModelFileError(f"{self.path}: is rejected: {error}") from None
        except MemoryError:
            raise ModelFileError(
                f"{self.path}: not enough memory to load it, or a size in it is wrong."
            ) from None
        except Exception as error:
            # Zipfile, json, numpy and the building of objects raise many kinds.
            raise ModelFileError(
                f"{self.path}: its content is not that of a drsvm model "
                f"({type(error).__name__}): save it again."
            ) from error


def is_model_file(path: Path) -> bool:
    """Return True if a file starts like a model file."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def _checked_archive(path: Path) -> bytes:
    """Return the archive in a file, with the right format and checksum."""
    head = b""
    archive = b""
    try:
        with path.open("rb") as stream:
            head = stream.readline(200)
            # Any other file may be too large to be read for nothing.
            if head.startswith(MAGIC):
                archive = stream.read()
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file.") from None
    except OSError as error:
        what = f"cannot be read ({error.strerror or error})."
        raise ModelFileError(f"{path}: {what}") from None

    words = head.removeprefix(MAGIC).decode("ascii", "replace").split()
    if not head.startswith(MAGIC) or len(words) != 2 or not words[0].isdigit():
        raise ModelFileError(
            f"{path}: is not a drsvm model: create one with drsvm fit --model or "
            "save_model."
        )
    version, checksum = words
    if int(version) != FORMAT:
        remedy = "train the model again, and save it"
        if int(version) > FORMAT:
            remedy = "upgrade drsvm"
        raise ModelFileError(
            f"{path}: has version {version} of the format of model files, but drsvm "
            f"{__version__} reads version {FORMAT}: {remedy}."
        )
    if checksum != _checksum(archive):
        raise ModelFileError(
            f"{path}: the checksum is wrong, so the file is truncated or was changed: "
            "copy it again."
        )
    return archive
