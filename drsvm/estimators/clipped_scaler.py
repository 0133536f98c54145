"""Standardised features in which gross errors cannot outweigh everything else.

A gross error is a cell such as a sensor's 9999.
"""

from typing import Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import validation

from drsvm.defaults.outliers import NORMAL_RANGE, TAIL, quantiles
from drsvm.estimators.checks import checked_weights
from drsvm.estimators.placement import check_remote_features
from drsvm.problem.backends import backend_of
from drsvm.problem.validation import check_entries, check_indices, check_number
from drsvm.utils.annotations import Labels, Matrix, Values
from drsvm.utils.arguments import about, check_single

# Of rows on a cluster or a GPU, about this many are fetched to fit the scaler
SAMPLE_ROWS = 100_000
# Percentiles that differ by this share are equal
SAME_END = 1e-12


class ClippedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Clip every feature at a few robust deviations from its median, then scale it.

        x ↦ (min(max(x, lower), upper) − mean) / deviation
        lower, upper = median ∓ limit · robust deviation

    Scaled features have mean 0 and deviation 1.

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
        Whether to centre the features. If it is fitted on sparse X, it does not centre,
        so that zeros remain zeros. If it is fitted on dense X and centres, it rejects
        sparse X.
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
    sklearn.preprocessing.RobustScaler : Divides by a robust deviation, but does not
        clip: errors stay as large.

    Notes
    -----
    Missing values (NaN) are ignored in `fit` and stay as they are in `transform`.

    If at least 80 % of the cells of a column are equal, its robust deviation is 0. Its
    limits then come from the cells that differ from the median: `limit` times the
    median of their distances from it.

    Rows may be on a Dask cluster or a GPU: the limits, means and deviations
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

    def __init__(
        self, limit: float = 4.0, *, with_mean: bool = True, with_std: bool = True
    ):
        self.limit = limit
        self.with_mean = with_mean
        self.with_std = with_std

    def fit(self, X: Matrix, y: Labels = None, sample_weight: Values = None) -> Self:
        """Compute limits, means and deviations.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features; y is ignored.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples: a weight of 2 counts as two equal rows.

        Returns
        -------
        self
        """
        # Without it, the rows are the first ones.
        self.__dict__.pop("scaler_", None)
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(
        self, X: Matrix, y: Labels = None, sample_weight: Values = None
    ) -> Self:
        """Update means and deviations with further rows.

        The limits come from the first rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        check_single(with_mean=self.with_mean, with_std=self.with_std)
        if not check_number(self.limit, "limit", infinite=True) > 0.0:
            raise ValueError(
                f"limit must be above 0, such as 4, got limit={self.limit!r}."
            )
        # 1. The rows, or a sample of those that are elsewhere
        first = not hasattr(self, "scaler_")
        backend = backend_of(X)
        if backend is None:
            rows = self._checked(X, reset=first)
        else:
            if sample_weight is not None:
                raise TypeError(
                    "ClippedScaler takes no sample_weight for rows on a cluster or a "
                    "GPU: omit it."
                )
            rows = self._checked(backend.sample(X, SAMPLE_ROWS), reset=first)
            # A sample has lost its names.
            validation._check_feature_names(self, backend.named(X), reset=first)
        weights = checked_weights(sample_weight, rows)
        if weights is None:
            weights = np.ones(rows.shape[0])
        # 2. The limits of every column, from the first rows only
        if first:
            self.lower_, self.upper_ = _limits(rows, float(self.limit), weights)
        # 3. The mean and deviation of what has been clipped
        clipped = _clipped(rows, self.lower_, self.upper_)
        if sparse.issparse(clipped) and clipped.nnz <= np.iinfo(np.int32).max:
            # Older versions of scikit-learn update moments by indices of 32 bits only.
            places = (clipped.indices.astype(np.int32), clipped.indptr.astype(np.int32))
            clipped = type(clipped)((clipped.data, *places), shape=clipped.shape)
        # Squares of huge cells would overflow. Missing cells are none.
        present = clipped.copy()
        cells = present.data if _is_sparse(present) else present
        cells[np.isnan(cells)] = 0.0
        check_entries(present)
        if first:
            self.scaler_ = StandardScaler(
                with_mean=self.with_mean and not _is_sparse(rows),
                with_std=self.with_std,
            )
        # Columns without a number have no mean.
        with np.errstate(invalid="ignore"):
            self.scaler_.partial_fit(
                clipped, sample_weight=None if sample_weight is None else weights
            )
        return self

    def transform(self, X: Matrix) -> Matrix:
        """Return clipped and scaled features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features, which are not changed.

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
            The features, where X is.
        """
        validation.check_is_fitted(self)
        backend = backend_of(X)
        if backend is not None:
            check_remote_features(self, X)
            return backend.mapped(X, scaled, parameters_of(self))
        X = self._checked(X, reset=False)
        parameters = [values.astype(X.dtype) for values in parameters_of(self)]
        return scaled(X, *parameters)

    def inverse_transform(self, X: Matrix) -> Matrix:
        """Return features after `transform` in their original units.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Clipped and scaled features.

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
            The features. What was clipped stays at its limit.
        """
        validation.check_is_fitted(self)
        return self.scaler_.inverse_transform(X)

    def count_clipped(self, X: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of cells that are clipped in every column.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        below, above : arrays of shape (n_features,)
            The number of cells below the lower and above the upper limit.
        """
        validation.check_is_fitted(self)
        X = self._checked(X, reset=False)
        if not _is_sparse(X):
            return (self.lower_ > X).sum(axis=0), (self.upper_ < X).sum(axis=0)
        n, n_features = X.shape
        below = X.indices[X.data < self.lower_[X.indices]]
        above = X.indices[X.data > self.upper_[X.indices]]
        # Zeros that are not stored may be beyond a limit as well.
        zeros = n - np.bincount(X.indices, minlength=n_features)
        return (
            np.bincount(below, minlength=n_features) + zeros * (self.lower_ > 0.0),
            np.bincount(above, minlength=n_features) + zeros * (self.upper_ < 0.0),
        )

    def _checked(self, X, reset: bool) -> Matrix:
        """Return rows as floats, by scikit-learn's checks; cells may be missing."""
        check_indices(X)
        with about("X"):
            rows = validation.validate_data(
                self,
                X,
                reset=reset,
                dtype=(np.float64, np.float32),
                accept_sparse="csr",
                ensure_all_finite="allow-nan",
            )
        if _is_sparse(rows) and not rows.has_canonical_format:
            # Entries of the same cell are added up, and X stays as it is.
            rows = rows.copy()
            rows.sum_duplicates()
        return rows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _is_sparse(X) -> bool:
    """Return whether a matrix of scipy or CuPy is sparse."""
    return hasattr(X, "tocsr")


def parameters_of(scaler: ClippedScaler) -> tuple[np.ndarray, ...]:
    """Return lower and upper limits, means and deviations of the features.

    They are 0 where features are not centred, and 1 where they are not scaled.
    """
    moments = scaler.scaler_
    mean = np.zeros_like(scaler.lower_)
    if moments.with_mean:
        mean = moments.mean_
    deviation = moments.scale_
    if deviation is None:
        deviation = np.ones_like(scaler.lower_)
    return scaler.lower_, scaler.upper_, mean, deviation


def scaled(X: Matrix, lower, upper, mean, deviation) -> Matrix:
    """Return clipped and scaled rows of numpy, scipy or CuPy.

    The parameters are arrays of the same library.
    """
    # Clipping makes a copy, which the next steps change.
    X = _clipped(X, lower, upper)
    if _is_sparse(X):
        if mean.any():
            raise ValueError(
                "X is sparse, and this ClippedScaler centres the features, because it "
                "was fitted on dense X: pass X.toarray(), fit it on sparse X, or use "
                "with_mean=False."
            )
        X.data /= deviation[X.indices]
    else:
        X -= mean
        X /= deviation
    return X


def _clipped(X: Matrix, lower: np.ndarray, upper: np.ndarray) -> Matrix:
    """Return a copy with every cell between the limits of its column."""
    if not _is_sparse(X):
        return np.clip(X, lower, upper)
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    # What zeros become: others than 0 if a limit excludes them
    zeros = np.clip(np.zeros_like(lower), lower, upper)
    X.data = np.clip(X.data, lower[X.indices], upper[X.indices]) - zeros[X.indices]
    if zeros.any():
        # They are added to all cells, also to those that are not stored.
        ones = np.ones_like(lower, shape=(X.shape[0], 1))
        X = X + type(X)(ones) @ type(X)(zeros[None])
    return X


# Limits beyond the largest number are infinite.
@np.errstate(over="ignore")
def _limits(
    X: Matrix, limit: float, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper limits of the columns.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows.
    limit : float
        The number of robust deviations from the median to a limit.
    weights : array of shape (n,)
        The weights of the rows.

    Returns
    -------
    lower, upper : arrays of shape (d,)
        The limits; infinite for columns that are not clipped.
    """
    counts = weights > 0.0
    if not counts.all():
        X = X[counts]
        weights = weights[counts]
    n_features = X.shape[1]
    middle = np.zeros(n_features)
    deviation = np.zeros(n_features)
    frequent = np.ones(n_features, dtype=bool)
    cells = X
    if _is_sparse(X):
        # A column with few stored entries is 0 from its 10th to its 90th percentile.
        # Only the others are stored as dense columns.
        entry_weights = np.repeat(weights, np.diff(X.indptr))
        masses = np.bincount(X.indices, entry_weights, minlength=n_features)
        frequent = masses >= TAIL * weights.sum()
        cells = X[:, frequent].toarray()
        deviation[~frequent] = _usual_distances(X[:, ~frequent], weights)

    low, median, high = quantiles(cells, weights)
    spread = (high - low) / NORMAL_RANGE
    # Columns in which most cells are equal go by those that differ.
    equal = high - low <= SAME_END * np.maximum(np.abs(low), np.abs(high))
    spread[equal] = _usual_distances(cells[:, equal] - median[equal], weights)
    middle[frequent] = median
    deviation[frequent] = spread

    # If hardly any cells differ, nothing is clipped.
    varies = deviation > 0.0
    reach = np.full(n_features, np.inf)
    reach[varies] = limit * deviation[varies]
    lower = middle - reach
    upper = middle + reach
    if _is_sparse(X):
        # Zeros stay zeros.
        lower = np.minimum(lower, 0.0)
        upper = np.maximum(upper, 0.0)
    return lower, upper


def _usual_distances(differences: Matrix, weights: np.ndarray) -> np.ndarray:
    """Return the median size of the entries of every column that are not 0.

    It is that of weighted rows, and 0 if there are none.
    """
    entries = sparse.csc_array(differences)
    entries.data = np.abs(np.nan_to_num(entries.data, posinf=np.inf))
    entries.eliminate_zeros()
    counts = np.diff(entries.indptr)
    # The entries of each column by size, one column after the other
    columns = np.repeat(np.arange(entries.shape[1]), counts)
    order = np.lexsort((entries.data, columns))
    masses = np.append(0.0, np.cumsum(weights[entries.indices][order]))
    # The median of a column is where half of its mass is reached.
    first = masses[entries.indptr[:-1]]
    last = masses[entries.indptr[1:]]
    places = np.searchsorted(masses[1:], 0.5 * (first + last))
    sizes = np.append(entries.data[order], 0.0)
    return np.where(counts > 0, sizes[places], 0.0)
