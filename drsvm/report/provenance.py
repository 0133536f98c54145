"""What an auditor needs to recognise data and model: digests, versions and the date."""

import hashlib
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import drsvm

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def provenance(linear, X, y, X_test, y_test, file: Path | None) -> dict[str, Any]:
    """Return digests, versions and the date; `file` is where the data come from, if they come from a file."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_file": None if file is None else {"name": file.name, "sha256": digest_of_file(file)},
        "training_rows_sha256": digest_of_rows(X, y),
        "held_out_rows_sha256": None if X_test is None else digest_of_rows(X_test, y_test),
        "model_sha256": digest_of_model(linear),
        "versions": {"drsvm": drsvm.__version__, "python": platform.python_version(), **_versions()},
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
    return _digest([*(array.tobytes() for array in arrays), "\n".join(map(str, y.tolist())).encode()])


def digest_of_model(linear) -> str:
    """Return the SHA-256 of coef_ and intercept_ as float64, and of the classes as lines of text."""
    classes = "\n".join(map(str, linear.classes_.tolist())).encode()
    return _digest([_floats(linear.coef_).tobytes(), _floats(linear.intercept_).tobytes(), classes])


def _floats(values) -> np.ndarray:
    return np.ascontiguousarray(values, dtype="<f8")


def _digest(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
