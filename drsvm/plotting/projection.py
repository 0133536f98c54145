"""Two-dimensional projections of a linear classifier and its data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from drsvm.annotations import Matrix
from drsvm.model.norms import euclidean


@dataclass(frozen=True, eq=False)
class Plane:
    """Two coordinates z = axes · x + origin, and the decision value normal · z + offset for rows in their plane."""

    axes: np.ndarray
    origin: np.ndarray
    normal: np.ndarray
    offset: float
    labels: tuple[str, str]  # of the coordinates

    def coordinates(self, rows: Matrix) -> np.ndarray:
        return np.asarray(rows @ self.axes.T, dtype=np.float64) + self.origin


def plane_for(X: Matrix, coef: np.ndarray, intercept: float, feature_names: Sequence[str] | None = None) -> Plane:
    """Return the plane of two features, or of the decision value and the first principal component orthogonal to it."""
    d = X.shape[1]
    if d == 2:
        names = ("feature 0", "feature 1") if feature_names is None else tuple(str(name) for name in feature_names)
        if len(names) != 2:
            raise ValueError(f"feature_names must have a name for each of the 2 features, got {len(names)} names.")
        return Plane(np.eye(2), np.zeros(2), coef.copy(), intercept, (names[0], names[1]))
    across = _widest_direction(X, [coef / euclidean(coef)] if coef.any() else [])
    if not coef.any():
        second = _widest_direction(X, [across])
        labels = ("first principal component", "second principal component")
        return Plane(np.stack([across, second]), np.zeros(2), np.zeros(2), intercept, labels)
    labels = ("decision value w·x + b", "first principal component of the rest")
    return Plane(np.stack([coef, across]), np.array([intercept, 0.0]), np.array([1.0, 0.0]), 0.0, labels)


def _widest_direction(X: Matrix, excluded: list[np.ndarray]) -> np.ndarray:
    """Return the first principal component of X in the complement of unit vectors; 0 if there is no variance."""
    n, d = X.shape
    if min(n, d - len(excluded)) < 2:
        return _any_direction(d, excluded)
    data = X if X.dtype == np.float64 else X.astype(np.float64)
    mean = np.asarray(data.mean(axis=0)).ravel()

    def complement(v):
        for direction in excluded:
            v = v - direction * (direction @ v)
        return v

    centred = LinearOperator(
        (n, d),
        matvec=lambda v: data @ complement(v.ravel()) - mean @ complement(v.ravel()),
        rmatvec=lambda u: complement(data.T @ u.ravel() - mean * u.sum()),
        dtype=np.float64,
    )
    rng = np.random.default_rng(0)
    least = 1e-9 * max(1.0, float(sparse.linalg.norm(data) if sparse.issparse(data) else np.linalg.norm(data)))
    if euclidean(centred.matvec(rng.normal(size=d))) <= least:  # rounding errors at most, of which svds makes an error
        return np.zeros(d)
    _, (size,), (direction,) = svds(centred, k=1, v0=rng.normal(size=min(n, d)), tol=1e-3)
    if size <= least:
        return np.zeros(d)
    direction = complement(direction)
    direction /= euclidean(direction)
    # The sign of a principal component is arbitrary; fix it so that the plot is reproducible.
    return direction * np.sign(direction[np.argmax(np.abs(direction))])


def _any_direction(d: int, excluded: list[np.ndarray]) -> np.ndarray:
    """Return an axis in the complement, for one remaining dimension or too few rows."""
    axes = np.eye(min(d, 3), d)
    for direction in excluded:
        axes -= np.outer(axes @ direction, direction)
    longest = max(axes, key=euclidean)
    return longest / euclidean(longest) if euclidean(longest) > 1e-9 else np.zeros(d)
