"""What an auditor needs to recognise data and model: digests, versions and the date."""

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
from scipy import sparse

import drsvm
from drsvm.problem.memory_rows import dense
from drsvm.report.inputs import Figures, Material
from drsvm.tables.files import files_of
from drsvm.utils.annotations import Matrix

# Their versions may change the last digits of a result.
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def provenance(material: Material) -> Figures:
    """Return the digests of the data and of the model, versions and the date."""
    file = material.source.file
    data_file = None
    if file is not None:
        contents = [path.read_bytes() for path in files_of(file)]
        data_file = {"name": file.name, "sha256": _digest(*contents)}
    judged = material.judged
    held_out = None
    if judged.held_out:
        held_out = _digest_of_rows(judged.X, judged.y)
    versions = {"drsvm": drsvm.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        versions[package] = version(package)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_file": data_file,
        "training_rows_sha256": _digest_of_rows(material.X, material.y),
        "held_out_rows_sha256": held_out,
        "model_sha256": _digest_of_model(material),
        "versions": versions,
    }


def _digest_of_model(material: Material) -> str:
    """Return the SHA-256 of all that decides: weights, intercepts and classes."""
    classifier = material.classifier
    if material.has_kernel:
        parts = [classifier.dual_coef_, dense(classifier.landmarks_)]
    else:
        parts = [classifier.coef_]
    parts.append(classifier.intercept_)
    return _digest(*map(_floats, parts), _text(classifier.classes_))


def _digest_of_rows(X: Matrix, y: np.ndarray) -> str:
    """Return the SHA-256 of the features, row by row, and of the labels as text."""
    if not sparse.issparse(X):
        return _digest(_floats(X), _text(y))
    rows = sparse.csr_array(X)
    indices = rows.indices.astype("<i8")
    starts = rows.indptr.astype("<i8")
    return _digest(_floats(rows.data), indices, starts, _text(y))


def _floats(values) -> np.ndarray:
    """Return values in the one format that digests are taken of."""
    return np.ascontiguousarray(values, dtype="<f8")


def _text(labels: np.ndarray) -> bytes:
    return "\n".join(map(str, labels.tolist())).encode()


def _digest(*parts) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
