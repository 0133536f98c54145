"""What an auditor needs to recognise data and model: digests, versions and the date."""

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import drsvm
from drsvm.report.inputs import Material

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def provenance(material: Material) -> dict[str, Any]:
    """Return digests, versions and the date."""
    file, judged, linear = material.source.file, material.judged, material.linear
    versions = {package: version(package) for package in PACKAGES}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_file": None if file is None else {"name": file.name, "sha256": digest_of_file(file)},
        "training_rows_sha256": digest_of_rows(material.X, material.y),
        "held_out_rows_sha256": digest_of_rows(judged.X, judged.y) if judged.held_out else None,
        "model_sha256": _digest(_floats(linear.coef_), _floats(linear.intercept_), _text(linear.classes_)),
        "versions": {"drsvm": drsvm.__version__, "python": platform.python_version(), **versions},
    }


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, as sha256sum prints it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_of_rows(X, y) -> str:
    """Return the SHA-256 of the features as float64, row by row, and of the labels as lines of text."""
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        arrays = [_floats(rows.data), rows.indices.astype("<i8"), rows.indptr.astype("<i8")]
    else:
        arrays = [_floats(X)]
    return _digest(*arrays, _text(y))


def _floats(values) -> np.ndarray:
    return np.ascontiguousarray(values, dtype="<f8")


def _text(labels: np.ndarray) -> bytes:
    return "\n".join(map(str, labels.tolist())).encode()


def _digest(*parts: Any) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()
