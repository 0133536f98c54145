"""A subspace of the feature space, spanned by landmarks φ(x_j) and by sums of rows.

An orthonormal basis q_1, …, q_m of it turns a function f = Σ w_l q_l into weights w
with ‖f‖ = ‖w‖₂, and a row x_i into the features q_l(x_i). All that is needed of a new
function g = Σ_i c_i φ(x_i) are its values at the rows: its product with q_l is Σ_i c_i
q_l(x_i). The features are an array of the rows' library, everything else is one of
numpy.

References
----------
S. Fine and K. Scheinberg, "Efficient SVM training using low-rank kernel
representations", Journal of Machine Learning Research 2, 243-264, 2001: a basis by the
pivoted Cholesky factorisation of the matrix of the kernel.
"""

import numpy as np
from scipy.linalg import solve_triangular

from drsvm.problem.backends import to_numpy
from drsvm.problem.kernel_rows import FunctionRows
from drsvm.problem.problem import Problem
from drsvm.problem.sampling import draw_rows

# Squared distance from the span, as a share of the squared norm of a row, at which it
# adds nothing
DEPENDENT = 1e-9
# For a sum, the share of (Σ |c_i| ‖φ(x_i)‖)²: it may be a small difference of large
# terms
ROUNDING = 1e-13
# Landmarks are chosen from this many times as many candidates.
WIDER = 4


class Span:
    """An orthonormal basis of a subspace, which starts empty and grows.

    Parameters
    ----------
    rows : FunctionRows
        The rows φ(x_i).

    Attributes
    ----------
    features : array of shape (n, m)
        The values of the basis at the rows.
    landmarks : array of int
        The rows that are landmarks.
    sums : array of shape (n, number of sums)
        The coefficients of the functions that are sums of rows.
    """

    def __init__(self, rows: FunctionRows):
        n = rows.shape[0]
        self.rows = rows
        self.features = rows.vector(np.zeros((n, 0)))
        self.landmarks = np.zeros(0, dtype=int)
        self.sums = np.zeros((n, 0))
        # The basis in terms of landmarks and sums in the order in which they were
        # added, and which of them are sums
        self._basis = np.zeros((0, 0))
        self._is_sum = np.zeros(0, dtype=bool)

    @property
    def size(self) -> int:
        """The dimension of the subspace."""
        return self.features.shape[1]

    def add_landmarks(self, candidates: np.ndarray, most: int) -> int:
        """Add candidates as landmarks, those farthest from the span first.

        At most `most` are added, and none that is in the span up to rounding. Return
        their number.
        """
        candidates = np.setdiff1d(candidates, self.landmarks)
        if len(candidates) == 0 or most <= 0:
            return 0
        # Distances are relative to ‖φ(x_j)‖, the scale.
        scale = np.sqrt(np.maximum(to_numpy(self.rows.squares[candidates]), 1e-300))
        inside = to_numpy(self.features[candidates]).T
        products = to_numpy(self.rows.columns(candidates, candidates))
        kept, lower = _farthest(products / scale / scale[:, None], inside / scale, most)
        if len(kept) == 0:
            return 0
        lower *= scale[kept][:, None]
        inside = inside[:, kept]
        chosen = candidates[kept]
        self._extend(inside, self.rows.columns(chosen), lower, is_sum=False)
        self.landmarks = np.concatenate([self.landmarks, chosen])
        return len(kept)

    def add_sum(self, coefficients: np.ndarray) -> int:
        """Add Σ c_i φ(x_i) to the span; return 0 if it was in it already, else 1."""
        # ‖g‖², what of it is inside the span, and the rest
        values = self.rows.product(coefficients)
        c = self.rows.vector(coefficients)
        square = float(c @ values)
        inside = to_numpy(self.features.T @ c)
        rest = square - float(inside @ inside)
        size = float(np.abs(c) @ np.sqrt(self.rows.squares))
        if not rest > ROUNDING * size**2:
            return 0
        lower = np.array([[np.sqrt(rest)]])
        self._extend(inside[:, None], values[:, None], lower, is_sum=True)
        self.sums = np.hstack([self.sums, coefficients[:, None]])
        return 1

    def _extend(self, inside, values, lower, is_sum: bool) -> None:
        """Add k functions to the basis, by a step of Gram-Schmidt orthogonalisation.

        Parameters
        ----------
        inside : array of shape (m, k)
            Their products with the basis.
        values : array of shape (n, k)
            Their values at the rows.
        lower : array of shape (k, k)
            The Cholesky factor of the Gram matrix of their parts outside the span.
        is_sum : bool
            Whether they are sums of rows rather than landmarks.
        """
        new = solve_triangular(lower, np.eye(len(lower)), lower=True).T
        if self.size:
            values = values - self.features @ self.rows.vector(inside)
        values = values @ self.rows.vector(new)
        self.features = np.concatenate([self.features, values], axis=1)
        old = self._basis
        below = np.zeros((len(new), len(old)))
        self._basis = np.block([[old, -old @ (inside @ new)], [below, new]])
        self._is_sum = np.append(self._is_sum, [is_sum] * len(new))

    def products(self, coefficients) -> np.ndarray:
        """Return the products of Σ c_i φ(x_i) with the basis: its projection."""
        return to_numpy(self.features.T @ self.rows.vector(coefficients))

    def linear(self, problem: Problem) -> Problem:
        """Return the problem of these rows with the values of the basis as features.

        With a centre, they are relative to their mean.
        """
        features = self.features
        if self.rows.centre is not None:
            features = features - self.rows.centre @ features
        return problem.with_rows(self.rows.with_features(features))

    def coefficients(self, weights) -> np.ndarray:
        """Return Σ w_l q_l as a sum of rows."""
        of_functions = self._basis @ weights
        found = self.sums @ of_functions[self._is_sum]
        found[self.landmarks] += of_functions[~self._is_sum]
        return found


def _farthest(
    products: np.ndarray, inside: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows farthest from a span and from each other.

    It is a pivoted Cholesky factorisation that ends after `most` rows; LAPACK's would
    go on to the last row that adds something.

    Parameters
    ----------
    products : array of shape (n, n)
        The products of rows of length 1 with each other.
    inside : array of shape (m, n)
        Their products with the basis of the span.
    most : int
        The largest number of rows to return.

    Returns
    -------
    array of int of shape (k,), array of shape (k, k)
        The rows, and the Cholesky factor of the Gram matrix of their parts outside the
        span.
    """
    size, n = inside.shape
    most = min(most, n)
    factor = np.empty((size + most, n))
    factor[:size] = inside
    # The squared distances from the span
    rest = products.diagonal() - np.square(inside).sum(axis=0)
    kept = list[int]()
    for k in range(size, size + most):
        pivot = int(rest.argmax())
        if not rest[pivot] > DEPENDENT:
            break
        outside = products[pivot] - factor[:k, pivot] @ factor[:k]
        factor[k] = outside / np.sqrt(rest[pivot])
        rest -= np.square(factor[k])
        rest[pivot] = 0.0
        kept.append(pivot)
    chosen = np.array(kept, dtype=int)
    return chosen, np.tril(factor[size : size + len(kept), chosen].T)


def rough_span(problem: Problem, size: int) -> Span:
    """Return the span of a number of rows, drawn by their contents.

    It is kept where many rough solutions may need it.
    """
    once = problem.rows.values is not None
    return problem.query(_drawn_span, size, once=once)


def _drawn_span(problem: Problem, size: int) -> Span:
    """Return a span of landmarks, the best ones of WIDER times as many drawn rows."""
    span = Span(problem.rows)
    span.add_landmarks(drawn_rows(problem, WIDER * size), size)
    return span


def drawn_rows(problem: Problem, size: int) -> np.ndarray:
    """Return about this number of rows, drawn by their contents, or all."""
    if size >= problem.n_rows:
        return np.arange(problem.n_rows)
    return np.sort(to_numpy(draw_rows(problem, size)))
