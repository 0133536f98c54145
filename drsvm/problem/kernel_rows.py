"""Rows φ(x_i) in the feature space H of a kernel, relative to a centre or not.

Weights are functions f = Σ_j c_j φ(x_j) of the rows themselves: a vector of weights has
one coefficient c_j for every row, ‖f‖² = c·Kc, and the problem is that of norm 2
otherwise. With a centre μ = Σ ρ_j φ(x_j), as with an intercept, the rows are φ(x_i) −
μ: their products with f are (Kc)_i − ρ·Kc, and Σ_i s_i (φ(x_i) − μ) has the
coefficients s − (Σ s) ρ.

The certificate needs no more of a vector of H than its norm, which is the only entry of
its `coordinates`. Coefficients are vectors of numpy; points, values and what has an
entry per row are arrays of the rows' library.
"""

import math
from abc import abstractmethod
from collections import deque
from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh

from drsvm.problem.backends import to_numpy
from drsvm.problem.kernel_functions import KernelFunction, Precomputed
from drsvm.problem.memory_rows import HostRows, MemoryRows
from drsvm.problem.rows import Rows
from drsvm.utils.annotations import Matrix, Values, Vector
from drsvm.utils.clock import Stopwatch, TimeLimit
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot
from drsvm.utils.lazy import cached_property
from drsvm.utils.parallel import memory_size, over, slices, usable_threads

# Most rows of which all values are kept, which takes 200 MB
MAX_STORED = 5000
# The number of rows of a block of values, and of terms that are added one by one
BLOCK = 256
# A block has more rows if it has fewer values than this: to hand over a smaller one
# would take longer than to compute it.
VALUES_OF_A_BLOCK = 1 << 16
# The number of products that are kept: certificates need the same ones as the solver.
REMEMBERED = 12
# Squared norms are computed from compensated sums if their relative error may be this.
NOTICEABLE = 2e-8
# A larger relative error is none of rounding: the function is not positive definite.
NOT_ROUNDING = 1e-9
# A squared distance from the centre below this share of the squared norm is a rounding
# error.
SAME = 1e-13
# The number of rows on which a kernel that may be any function is checked
MAX_CHECKED = 2000


def _not_positive(reason: str) -> ValueError:
    """Return the error for a function that is not positive definite."""
    return ValueError(
        f"The kernel is not positive definite on these rows ({reason}), so nothing can "
        "be proven: use another one."
    )


class FunctionRows(Rows):
    """The rows of `points` as functions of a kernel.

    Parameters
    ----------
    points : array or sparse matrix of shape (n, d)
        The points x_i.
    function : KernelFunction
        The kernel k.
    centre : array of shape (n,), optional
        The weights ρ of the rows in the centre μ; by default the rows are not relative
        to a centre.
    values : array of shape (n, n), optional
        All values of the kernel, if they are known.
    keeps : bool
        Whether to keep all values, if the rows are not too many.
    """

    place = "functions of a kernel"
    is_kernel = True
    own_solver = "landmarks"
    is_sparse = False
    copyable = True
    dtype = np.dtype(np.float64)
    # Errors of norms are part of `coordinates`.
    rounding = 0.0

    centre: Matrix

    def __init__(
        self,
        points: Matrix,
        function: KernelFunction,
        centre=None,
        values=None,
        keeps: bool = True,
    ):
        self.points = points
        self.function = function
        self.centre = centre
        n = points.shape[0]
        self.shape = (n, n)
        self.stored = n * n
        self._values = values
        self.keeps = keeps and n <= MAX_STORED
        self._products = deque(maxlen=REMEMBERED)
        self.squares = function.squares(points)
        valid = np.isfinite(self.squares) & (self.squares >= 0.0)
        if not valid.all():
            row = int(np.argmin(valid))
            raise _not_positive(f"k(x, x) = {self.squares[row]:g} for row {row}")
        # Errors of sums, relative to the sum of the sizes of the terms: BLOCK terms are
        # added one by one, and then the n / BLOCK sums.
        self._rounding = ULP * (min(n, BLOCK) + n / BLOCK + 8)
        # Relative size of errors of the values
        self._negligible = max(NOT_ROUNDING, 4.0 * function.precision)

    # --- values of the kernel

    @abstractmethod
    def between(self, some: Matrix, others: Matrix) -> Matrix:
        """Return the values for all pairs of two sets of points."""

    @abstractmethod
    def at(self, points: Matrix, c: Vector) -> Vector:
        """Return f(x) = Σ_j c_j k(x, x_j) at given points.

        Errors of the sum are those of `_rounding`. In memory, c may have a column for
        each of several functions.
        """

    @abstractmethod
    def _stored_products(self, columns: list[Vector]) -> list[Vector]:
        """Return Kc for each of several c from values that are kept, in one pass."""

    @abstractmethod
    def with_features(self, X: Matrix) -> Rows:
        """Return rows of the same library with given features."""

    @abstractmethod
    def room(self) -> float:
        """Return how many bytes features of the rows may take."""

    @property
    def values(self) -> Matrix:
        """All values of the kernel if they are kept, otherwise None."""
        if self._values is None and self.keeps:
            self._values = self.between(self.points, self.points)
            # Exactly as for single points
            every = np.arange(self.shape[0])
            self._values[every, every] = self.squares
        return self._values

    def columns(self, chosen: Values, rows: Values = slice(None)) -> Matrix:
        """Return k(x_i, x_j) for every row i, or for some rows, and the chosen j."""
        if self.values is None:
            return self.between(self.points[rows], self.points[chosen])
        # They are symmetric, and rows are read much faster.
        if isinstance(rows, slice):
            return self.values[chosen].T
        return self.values[chosen[:, None], rows].T

    @cached_property
    def seconds_per_value(self) -> float:
        """How long it takes to compute a value that is not kept, measured on some."""
        if self._values is not None:
            return 0.0
        # A block for every thread, as in products
        watch = Stopwatch()
        some = self.points[: BLOCK * usable_threads()]
        others = self.points[-8 * BLOCK :]
        self.between(some, others)
        return watch.elapsed() / (some.shape[0] * others.shape[0])

    def check_positive(self) -> None:
        """Raise an error unless the function is positive definite on some rows."""
        some = np.random.default_rng(0).permutation(self.shape[0])[:MAX_CHECKED]
        values = to_numpy(self.between(self.points[some], self.points[some]))
        small = self._negligible
        asymmetry = np.abs(values - values.T).max()
        is_symmetric = asymmetry <= small * np.abs(values).max()
        if not (np.isfinite(values).all() and is_symmetric):
            raise _not_positive("its values are not finite, or not symmetric")
        lowest = float(eigvalsh(values, subset_by_index=[0, 0])[0])
        if lowest < -small * len(some) * float(self.squares.max()):
            raise _not_positive(f"an eigenvalue of its matrix is {lowest:.3g}")

    # --- products Kc, of which the last ones are kept

    def product(self, c: Vector) -> Vector:
        """Return Kc: the values of f = Σ c_j φ(x_j) at the rows."""
        c = self.vector(c)
        known = self._known_product(c)
        if known is not None:
            return known
        if self.values is None:
            return self.remember(c, self._by_sides(c))
        [product] = self._stored_products([c])
        return self.remember(c, product)

    def remember(self, c: Vector, product: Vector) -> Vector:
        """Keep a product that is known, and return it."""
        self._products.append((self.vector(c), product))
        return product

    def _known_product(self, c: Vector) -> Vector | None:
        """Return Kc if the product of a multiple of c is kept, otherwise None."""
        if not bool(c.any()):
            return np.zeros_like(c)
        largest = int(np.abs(c).argmax())
        # A copy: classes that share the rows add products in other threads.
        for known, product in list(self._products):
            size = float(known[largest])
            # Dividing by it might overflow.
            if abs(size) <= 1e-300:
                continue
            # The largest entry gives the factor. A multiple has it in all entries, up
            # to rounding.
            factor = float(c[largest]) / size
            if bool((np.abs(c - factor * known) <= 4 * ULP * np.abs(c)).all()):
                return factor * product
        return None

    def _products_of(self, columns: list[Vector]) -> list[Vector]:
        """Return Kc for each of several c."""
        if self.values is None:
            return [self.at(self.points, c) for c in columns]
        return self._stored_products(columns)

    def _by_sides(self, c: Vector) -> Vector:
        """Return Kc as the difference of the products for the two signs of c.

        A certificate also tries multipliers of which one side is smaller: these have a
        product that is a sum of multiples of the two.
        """
        sides = _sides(c)
        products = [self._known_product(side) for side in sides]
        unknown = [k for k in (0, 1) if products[k] is None]
        if unknown:
            # Both at once, so that values that are kept are read once.
            found = self._products_of([sides[k] for k in unknown])
            for k, product in zip(unknown, found, strict=True):
                products[k] = self.remember(sides[k], product)
        positive, negative = products
        return positive - negative  # pyright: ignore[reportOptionalOperand]

    def prepare(self, c: Vector, signed: Vector, time: TimeLimit) -> bool:
        """Compute and keep the products that a certificate will ask for.

        Parameters
        ----------
        c : array of shape (n,)
            The coefficients of a function, of which Kc is needed.
        signed : array of shape (n,)
            Multipliers with the signs of their labels. The products of their positive
            and of their negative part are needed.
        time : TimeLimit
            How long it may take.

        Returns
        -------
        bool
            Whether there was time for that.
        """
        sides = _sides(signed)
        if self.values is not None:
            product, *others = self._stored_products([self.vector(c), *sides])
            self.remember(c, product)
        else:
            n = self.shape[0]
            others = [np.zeros_like(side) for side in sides]
            per_row = int(np.count_nonzero(signed))
            for part in slices(n, 4 * BLOCK * usable_threads()):
                if time.limited:
                    rest = per_row * (n - part.start)
                    if not time.allows(self.seconds_per_value * rest):
                        return False
                for side, product in zip(sides, others, strict=True):
                    product[part] = self.at(self.points[part], side)
        for side, product in zip(sides, others, strict=True):
            self.remember(side, product)
        return True

    # --- norms of functions

    def coordinates(self, w):
        """Return the norm of a function, as the only entry.

        Rounding errors make it no smaller.
        """
        # 1. Where φ is known, so is the norm.
        known = self._known_norm(w)
        if known is not None:
            return np.array([known])

        # 2. Otherwise ‖f‖² = c·Kc, with an error relative to Σ_ij |c_i| |c_j| |k_ij|,
        # of which (Σ |c_i| √k_ii)² is an upper bound.
        c = self.vector(w)
        square = float(c @ self.product(w))
        size = float(np.abs(c) @ np.sqrt(self.squares)) ** 2
        error = self._rounding * size
        if error > NOTICEABLE * square and self.values is not None:
            square, error = self._compensated_square(w)
        if square < -self._negligible * size:
            raise _not_positive(f"c·Kc = {square:g} for some coefficients c")

        # 3. The errors of the values and of the sum are added.
        largest = max(square, 0.0) + self.function.precision * size + error
        return np.array([math.sqrt(largest)])

    def _compensated_square(self, w) -> tuple[float, float]:
        """Return c·Kc from compensated sums, and a bound on its error."""
        products, errors = compensated_transposed_dot(to_numpy(self.values), w)
        squares, rounding = compensated_transposed_dot(products[:, None], w)
        return squares[0], rounding[0] + float(np.abs(w) @ errors)

    def weights_of(self, coordinates, along):
        norm = float(self.coordinates(along)[0])
        if norm > 0.0:
            return along * (float(coordinates[0]) / norm)
        return along

    def sizes_of_weights(self, column_sizes):
        # The norm of a function is charged as a whole, and no coefficient by itself.
        return np.zeros(1)

    def _known_norm(self, w) -> float | None:
        """Return the norm of a function if that needs no values of the kernel."""
        return None

    # --- rows relative to their centre

    def centred(self, weights, some) -> "FunctionRows":
        """Return the rows relative to a weighted mean, of all or of some of them."""
        centre = np.zeros_like(weights)
        centre[some] = weights[some]
        centre = centre / centre.sum()
        return type(self)(self.points, self.function, centre, self.values, self.keeps)

    @cached_property
    def means(self) -> Vector:
        """The products μ·φ(x_i) with the centre."""
        return self._products_of([self.centre])[0]

    def mean_of(self, w) -> float:
        """Return f·μ."""
        if self.centre is None:
            return 0.0
        return float(self.means @ self.vector(w))

    def dot(self, v, shift=0.0):
        return self.product(v) + (shift - self.mean_of(v))

    def weighted_sum(self, c):
        if self.centre is None:
            return to_numpy(c)
        # Σ c_i (φ(x_i) − μ) has the coefficients c − (Σ c) ρ.
        total = float(c.sum())
        centred = to_numpy(c - total * self.centre)
        # The product follows from those of the two sides, which may be kept or have few
        # entries other than 0.
        if self._known_product(self.vector(centred)) is None:
            self.remember(centred, self._by_sides(c) - total * self.means)
        return centred

    def weighted_sums(self, columns: list[Vector]) -> list[np.ndarray]:
        """Return `weighted_sum` for each of several c, with products in one pass."""
        sums = []
        for c, product in zip(columns, self._products_of(columns), strict=True):
            if self.centre is not None:
                total = float(c.sum())
                c = c - total * self.centre
                product = product - total * self.means
            centred = to_numpy(c)
            self.remember(centred, product)
            sums.append(centred)
        return sums

    def centred_squares(self) -> Vector:
        """Return ‖φ(x_i) − μ‖² for every row."""
        if self.centre is None:
            return self.squares
        # k(x, x) − 2 μ·φ(x) + μ·μ
        squares = self.squares - 2.0 * self.means + float(self.centre @ self.means)
        return np.where(squares > SAME * self.squares, squares, 0.0)

    def sum_of_squares(self, c):
        return np.array([float(c @ self.centred_squares())])

    def moments(self, weights):
        # Like a vector of H, which has one coordinate, its norm
        return np.zeros(1), np.sqrt(self.sum_of_squares(weights))

    def norms(self, p, factors=None):
        return np.sqrt(self.centred_squares())

    # --- what the rows contain, and other rows

    def content_keys(self, signs, weights, sizes):
        """Return the keys of the points, or those of the values if they are a table."""
        # The points of a table are only the numbers of its rows.
        if isinstance(self.function, Precomputed):
            return super().content_keys(signs, weights, sizes)
        rows = self.with_features(self.points)
        sizes = np.sqrt(rows.sum_of_squares(weights))
        return rows.content_keys(signs, weights, sizes)

    def _means_and_units(self, weights, sizes):
        return np.zeros(1), np.ones(1)

    def _projections_on_difference(self, signs, weights, means, units):
        return self.product(signs * weights)

    def random_projections(self, units):
        return self.product(np.random.default_rng(0).standard_normal(self.shape[0]))

    def taken(self, rows):
        values = self._values
        if values is not None:
            values = values[rows][:, rows]
        centre = self.centre
        if centre is not None:
            centre = centre[rows]
            # The centre is the mean of some rows only, of which none may be taken.
            if not bool(centre.any()):
                centre = centre + 1.0
            centre = centre / centre.sum()
        return type(self)(self.points[rows], self.function, centre, values)

    def relabelled(self, positive, sample_weight, flip_cost, n_given, kept):
        attributes = super().relabelled(
            positive, sample_weight, flip_cost, n_given, kept
        )
        # The centre is the mean of the same rows, with the new weights.
        if self.centre is not None:
            some = np.flatnonzero(self.centre)
            attributes["rows"] = self.centred(attributes["sample_weight"], some)
        return attributes

    def shiftable_columns(self):
        return np.zeros(0, dtype=np.intp)

    def on_features(self, features):
        return self

    def shifted(self, offset):
        raise TypeError("Functions of a kernel are not shifted.")

    def some(self, size):
        step = -(-self.shape[0] // size)
        return self.points[::step]


class KernelRows(FunctionRows, HostRows):
    """Functions whose values are arrays of numpy, computed in blocks by threads.

    Points may be sparse.
    """

    def between(self, some, others):
        out = np.empty((some.shape[0], others.shape[0]))
        values = self.function.values
        # The values of a set of points with itself are symmetric: half of them suffice.
        if some is others:

            def fill(part):
                # Each block of values and its mirror image
                block = values(some[part], some[part.start :])
                out[part, part.start :] = block
                out[part.stop :, part] = block[:, part.stop - part.start :].T
        else:

            def fill(part):
                out[part] = values(some[part], others)

        over(slices(some.shape[0], BLOCK), fill)
        return out

    def at(self, points, c):
        # Rows with a coefficient, of several functions those of any
        used = np.flatnonzero(np.atleast_2d(c.T).any(axis=0))
        landmarks = self.points[used]

        def values(part):
            return self.function.values(points[part], landmarks)

        return _products_by_block(points.shape[0], c[used], values)

    def _stored_products(self, columns):
        c = np.column_stack(columns)
        products = _products_by_block(self.shape[0], c, lambda part: self.values[part])
        return list(np.ascontiguousarray(products.T))

    def _known_norm(self, w):
        return self.function.norm_of_sum(self.points, w)

    def with_features(self, X):
        if not sparse.issparse(X):
            X = np.ascontiguousarray(X)
        return MemoryRows(X)

    def room(self):
        return memory_size()


def _sides(c: Vector) -> tuple[Vector, Vector]:
    """Return the positive and the negative part of coefficients."""
    return np.maximum(c, 0.0), np.maximum(-c, 0.0)


def _products_by_block(
    n: int, c: Vector, values: Callable[[slice], np.ndarray]
) -> np.ndarray:
    """Return the products of blocks of values with coefficients.

    Terms are added in blocks, so that errors hardly grow with their number.

    Parameters
    ----------
    n : int
        The number of rows of all values.
    c : array of shape (m,) or (m, number of functions)
        The coefficients.
    values : callable
        Returns some rows of the values, of shape (rows, m).

    Returns
    -------
    array of shape (n,) or (n, number of functions)
        The products.
    """
    if n == 0 or len(c) == 0:
        return np.zeros((n, *c.shape[1:]))

    def product(part):
        block = values(part)
        terms = [block[:, each] @ c[each] for each in slices(len(c), BLOCK)]
        return np.sum(terms, axis=0)

    size = max(BLOCK, VALUES_OF_A_BLOCK // len(c))
    return np.concatenate(over(slices(n, size), product))
