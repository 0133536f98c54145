"""Standardised features in which gross errors, such as a sensor's 9999, cannot outweigh everything else."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, validation

from drsvm.defaults.outliers import NORMAL_RANGE, ROUNDING, TAIL, quantiles
from drsvm.estimators.placement import check_remote_features
from drsvm.problem.backends import backend_of
from drsvm.problem.validation import check_number
from drsvm.utils.annotations import Labels, Matrix, Values

FORM = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan"}  # of the rows
# Of rows on a cluster or a GPU, about this many are fetched to fit the scaler
SAMPLE_ROWS = 100_000


@dataclass(eq=False, repr=False)
class ClippedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Clip every feature at a few robust deviations from its median, then scale it to mean 0 and deviation 1.

        x ↦ (min(max(x, lower), upper) − mean) / deviation,      lower, upper = median ∓ limit · robust deviation

    The robust deviation is the range between the 10th and the 90th percentile divided
    by 2.563, which is the standard deviation of a normal distribution. Up to a tenth of
    the cells may be wrong at either end, by any amount: mean and deviation are computed
    after clipping. Without errors, hardly anything is clipped.

    Parameters
    ----------
    limit : float, default=4.0
        Robust deviations at which cells are clipped; ``inf`` clips none, as in
        `~sklearn.preprocessing.StandardScaler`.
    with_mean : bool, default=True
        Whether to centre the features. Sparse X is never centred, so that zeros remain
        zeros.
    with_std : bool, default=True
        Whether to scale the features to deviation 1.

    Attributes
    ----------
    lower_, upper_ : array of shape (n_features,)
        Limits of each feature. They are infinite for features that are not clipped
        because all cells but a few are equal to each other, and those that differ, too,
        as in rare 0/1 columns.
    scaler_ : StandardScaler
        Mean and deviation of the clipped features.
    n_features_in_, feature_names_in_ : int, array of shape (n_features,)
        Number of the features, and their names if X has any.

    See Also
    --------
    sklearn.preprocessing.RobustScaler : Divides by a robust deviation, but does not clip: errors stay as large.

    Notes
    -----
    Missing values (NaN) are ignored in `fit` and stay as they are in `transform`.

    If at least 80 % of the cells of a column are equal, its robust deviation is 0. Its
    limits then come from the cells that differ from the median: `limit` times the
    median of their distances from it.

    Rows may be on a Dask cluster or a graphics card: the limits, means and deviations
    then come from about 100,000 evenly spaced rows, and `transform` works where the
    rows are.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import ClippedScaler
    >>> ages = np.array([23, 25, 31, 34, 38, 41, 42, 45, 47, 52, 58, 9999.0])[:, None]
    >>> scaler = ClippedScaler().fit(ages)
    >>> scaler.transform(ages).round(1).ravel().tolist()
    [-1.2, -1.1, -0.7, -0.6, -0.3, -0.2, -0.1, 0.1, 0.2, 0.4, 0.8, 2.8]
    >>> below, above = scaler.count_clipped(ages)
    >>> print(f"{above[0]} cell above {scaler.upper_[0]:.0f}")
    1 cell above 93
    """

    limit: float = 4.0
    _: KW_ONLY
    with_mean: bool = True
    with_std: bool = True

    def fit(self, X: Matrix, y: Labels = None, sample_weight: Values = None) -> Self:
        """Compute limits, means and deviations, and return self.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features; y is ignored.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples: a weight of 2 counts as two equal rows.
        """
        self.__dict__.pop("scaler_", None)
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(
        self, X: Matrix, y: Labels = None, sample_weight: Values = None
    ) -> Self:
        """Update means and deviations with further rows, given as in `fit`.

        The limits come from the first rows.
        """
        first = not hasattr(self, "scaler_")
        if not check_number(self.limit, "limit", infinite=True) > 0.0:
            raise ValueError(
                f"limit must be above 0, such as 4, got limit={self.limit!r}."
            )
        backend = backend_of(X)
        if backend is not None and sample_weight is not None:
            raise TypeError(
                "ClippedScaler takes no sample_weight for rows on a cluster or a GPU: omit it."
            )
        given = X
        X = self._checked(
            X if backend is None else backend.sample(X, SAMPLE_ROWS), reset=first
        )
        if backend is not None:
            validation._check_feature_names(self, backend.named(given), reset=first)
        weights = validation._check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if first:
            self.lower_, self.upper_ = _limits(X, float(self.limit), weights)
            self.scaler_ = StandardScaler(
                with_mean=self.with_mean and not _is_sparse(X), with_std=self.with_std
            )
        counted = None if sample_weight is None else weights
        with np.errstate(invalid="ignore"):  # columns without a number have no mean
            self.scaler_.partial_fit(
                _clipped(X, self.lower_, self.upper_), sample_weight=counted
            )
        return self

    def transform(self, X: Matrix) -> Matrix:
        """Return clipped and scaled features, of shape (n_samples, n_features).

        The given array is not changed.
        """
        validation.check_is_fitted(self)
        backend = backend_of(X)
        if backend is not None:
            check_remote_features(self, X)
            return backend.mapped(X, scaled, parameters_of(self))
        X = self._checked(X, reset=False)
        return scaled(X, *(values.astype(X.dtype) for values in parameters_of(self)))

    def inverse_transform(self, X: Matrix) -> Matrix:
        """Return features after `transform` in their original units.

        What was clipped stays at its limit.
        """
        validation.check_is_fitted(self)
        return self.scaler_.inverse_transform(X)

    def count_clipped(self, X: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return how many cells of rows are below the lower and above the upper limit, two arrays over the features."""
        validation.check_is_fitted(self)
        return _counts(self._checked(X, reset=False), self.lower_, self.upper_)

    def _checked(self, X, reset: bool) -> Matrix:
        return validation.validate_data(
            self, X, reset=reset, dtype=validation.FLOAT_DTYPES, **FORM
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _is_sparse(X) -> bool:
    return hasattr(X, "tocsr")  # also one of CuPy


class ClippedCells(NamedTuple):
    """Which cells are clipped."""

    # Such as "2 cells above 131, up to 9,999", by the name of the column, the farthest
    # first
    far: dict[str, str]
    in_tails: tuple[int, int]  # the number of other cells, and of their columns


def clipped_cells(
    scaler: ClippedScaler, names: list[str], X, shown: Callable[[int, float], str]
) -> ClippedCells:
    """Describe the clipped cells of columns.

    `shown` turns a value of the column at a place into text.
    """
    X = check_array(X, dtype=np.float64, **FORM)
    below, above = _counts(X, scaler.lower_, scaler.upper_)
    if _is_sparse(X):
        extremes = (X.min(axis=0), X.max(axis=0))
    else:
        extremes = (np.fmin.reduce(X), np.fmax.reduce(X))
    lowest, highest = (
        values.toarray().ravel() if _is_sparse(values) else values
        for values in extremes
    )
    places = np.flatnonzero(below + above)
    beyond = np.maximum(scaler.lower_ - lowest, highest - scaler.upper_)[places]
    widths = (scaler.upper_ - scaler.lower_)[places]
    # Farther beyond a limit than the limits are apart, it hardly belongs to its column
    in_tail = beyond < widths
    sides = (
        (below, "below", scaler.lower_, "down", lowest),
        (above, "above", scaler.upper_, "up", highest),
    )
    far: dict[str, str] = {}
    for place in places[np.argsort(-beyond / widths, kind="stable")][
        : np.count_nonzero(~in_tail)
    ].tolist():
        far[names[place]] = ", ".join(
            f"{counts[place]:,} cell{'s' if counts[place] > 1 else ''} {side} {shown(place, float(limits[place]))}, "
            f"{way} to {shown(place, float(values[place]))}"
            for counts, side, limits, way, values in sides
            if counts[place]
        )
    return ClippedCells(
        far, (int((below + above)[places[in_tail]].sum()), int(in_tail.sum()))
    )


def parameters_of(scaler: ClippedScaler) -> tuple[np.ndarray, ...]:
    """Return lower and upper limits, means (0: not centred) and deviations (1: not scaled) of the features."""
    moments = scaler.scaler_
    lower = scaler.lower_
    if moments.with_mean:
        mean = moments.mean_
    else:
        mean = np.zeros_like(lower)
    return (
        lower,
        scaler.upper_,
        mean,
        np.ones_like(lower) if moments.scale_ is None else moments.scale_,
    )


def scaled(X: Matrix, lower, upper, mean, scale) -> Matrix:
    """Return clipped and scaled rows: of numpy, scipy or CuPy, with parameters of the same library."""
    X = _clipped(X, lower, upper)  # a copy
    if _is_sparse(X):
        X.data /= scale[X.indices]
    else:
        X -= mean
        X /= scale
    return X


def _clipped(X: Matrix, lower: np.ndarray, upper: np.ndarray) -> Matrix:
    if not _is_sparse(X):
        return np.clip(X, lower, upper)
    X = X.tocsr(copy=True)
    X.data = np.clip(X.data, lower[X.indices], upper[X.indices])
    return X


def _counts(X, lower, upper) -> tuple[np.ndarray, np.ndarray]:
    if not _is_sparse(X):
        return (lower > X).sum(axis=0), (upper < X).sum(axis=0)
    below = X.indices[X.data < lower[X.indices]]
    above = X.indices[X.data > upper[X.indices]]
    return np.bincount(below, minlength=X.shape[1]), np.bincount(
        above, minlength=X.shape[1]
    )


def _limits(X, limit: float, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    counts = weights > 0.0
    if counts.all():
        X = X
        weights = weights
    else:
        X = X[counts]
        weights = weights[counts]
    middle, deviation = np.zeros((2, X.shape[1]))
    frequent = np.ones(X.shape[1], dtype=bool)
    cells = X
    if _is_sparse(
        X
    ):  # a column with few stored entries is 0 from its 10th to its 90th percentile
        masses = np.bincount(
            X.indices, np.repeat(weights, np.diff(X.indptr)), minlength=X.shape[1]
        )
        frequent = masses >= TAIL * weights.sum()
        cells = X[:, frequent].toarray()
    low, middle[frequent], high = quantiles(cells, weights)
    equal = high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
    distances = _usual_distances(cells[:, equal] - middle[frequent][equal], weights)
    deviation[frequent] = (high - low) / NORMAL_RANGE
    deviation[np.flatnonzero(frequent)[equal]] = distances
    deviation[~frequent] = _usual_distances(X[:, ~frequent], weights)
    reach = np.multiply(
        limit, deviation, where=deviation > 0.0, out=np.full_like(deviation, np.inf)
    )
    lower = middle - reach
    upper = middle + reach
    if _is_sparse(X):
        return (np.minimum(lower, 0.0), np.maximum(upper, 0.0))
    return (lower, upper)


def _usual_distances(differences, weights: np.ndarray) -> np.ndarray:
    """Return the median size of the entries of every column that are not 0.

    0 if there are none.
    """
    entries = sparse.csc_array(differences)
    entries.data = np.abs(np.nan_to_num(entries.data, posinf=np.inf))
    entries.eliminate_zeros()
    order = np.lexsort(
        (entries.data, np.repeat(np.arange(entries.shape[1]), np.diff(entries.indptr)))
    )
    masses = np.append(0.0, np.cumsum(weights[entries.indices][order]))
    middles = 0.5 * (masses[entries.indptr[:-1]] + masses[entries.indptr[1:]])
    found = np.append(entries.data[order], 0.0)[np.searchsorted(masses[1:], middles)]
    return np.where(np.diff(entries.indptr) > 0, found, 0.0)
