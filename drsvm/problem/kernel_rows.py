"""Rows φ(x_i) in the feature space H of a kernel, relative to their centre if there is an intercept.

Weights are functions f = Σ_j c_j φ(x_j) of the rows themselves: a vector of weights has
one coefficient c_j for every row, ‖f‖² = c·Kc, and the problem is that of norm 2
otherwise. With a centre μ = Σ ρ_j φ(x_j) the rows are φ(x_i) − μ: their products with f
are (Kc)_i − ρ·Kc, and Σ_i s_i (φ(x_i) − μ) has the coefficients s − (Σ s) ρ.

The certificate needs no more of a vector of H than its norm, which is the only entry of
its `coordinates`. Coefficients are vectors of numpy; points, values and what has an
entry per row are arrays of the rows' library.
"""

import math
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh

from drsvm.problem.backends import backend_of, to_numpy
from drsvm.problem.kernel_functions import KernelFunction, Precomputed
from drsvm.problem.memory_rows import HostRows, MemoryRows
from drsvm.problem.problem import Problem
from drsvm.problem.rows import Rows
from drsvm.problem.sampling import draw_rows, in_content_order
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.clock import Stopwatch, TimeLimit
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot
from drsvm.utils.parallel import memory_size, over, slices, usable_threads

# rows up to which all values are kept, unless they take more than this share
MAX_STORED = 5000
SHARE_OF_TIME = 0.2
BLOCK = 256  # rows of a block of values, and terms that are added one by one
VALUES_OF_A_BLOCK = 1 << 16  # a block has more rows if it has fewer values than this
# Least number of rows whose mean is the centre, if values are not kept, and about how
# many values this takes.
FEWEST_FOR_CENTRE = 20
PAIRS_FOR_CENTRE = 5_000_000
# Number of products that are kept: certificates need the same ones as the solver
REMEMBERED = 12
# errors of squared norms from which sums are careful; more than an error
NOTICEABLE = 2e-8
NOT_ROUNDING = 1e-9
# A squared distance from the centre below this share of the squared norm is a rounding
# error
SAME = 1e-13
# Number of rows on which a kernel that may be any function is checked
MAX_CHECKED = 2000
NOT_POSITIVE = "The kernel is not positive definite on these rows ({}), so nothing can be proven: use another one."


class FunctionRows(Rows):
    """The rows of `points` as functions of a kernel.

    `centre` has a weight for every row, or is None.
    """

    place = "functions of a kernel"
    is_kernel = True
    own_solver = "landmarks"
    is_sparse = False
    copyable = True
    dtype = np.dtype(np.float64)
    rounding = 0.0  # errors of norms are part of `coordinates`

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
        if not (np.isfinite(self.squares).all() and (self.squares >= 0.0).all()):
            row = int(
                np.argmin(np.where(np.isfinite(self.squares), self.squares, -math.inf))
            )
            raise ValueError(
                NOT_POSITIVE.format(f"k(x, x) = {self.squares[row]:g} for row {row}")
            )
        # Of sums, and of their multiples
        self._rounding = ULP * (min(n, BLOCK) + n / BLOCK + 8)
        # Relative size of errors of the values
        self._negligible = max(NOT_ROUNDING, 4.0 * function.precision)

    # --- values of the kernel
    # ---------------------------------------------------------------------------------------

    @abstractmethod
    def between(self, some: Matrix, others: Matrix) -> Matrix:
        """Return the values for all pairs of two sets of points."""

    @abstractmethod
    def at(self, points: Matrix, c: Vector) -> Vector:
        """Return f(x) = Σ_j c_j k(x, x_j) at given points.

        Errors of the sum are those of `_rounding`.

        In memory, c may have a column for each of several functions.
        """

    @abstractmethod
    def _stored_products(self, columns: list[Vector]) -> list[Vector]:
        """Return Kc for each of several c, with such errors too.

        Where memory is what takes the time, in one pass.
        """

    @abstractmethod
    def with_features(self, X: Matrix) -> Rows:
        """Return rows of the same library with given features."""

    @abstractmethod
    def room(self) -> float:
        """Return how many bytes features of the rows may take."""

    @property
    def values(self) -> Matrix:
        """All values of the kernel, if there are few rows, and time for them.

        Otherwise None.
        """
        if self._values is None and self.keeps:
            self._values = self.between(self.points, self.points)
            every = np.arange(self.shape[0])
            self._values[every, every] = self.squares
        return self._values

    def columns(self, chosen: Values, rows: Values = slice(None)) -> Matrix:
        """Return k(x_i, x_j) for every row i, or for some rows, and the chosen rows j."""
        if self.values is not None:
            # They are symmetric, and rows are read much faster.
            return (
                self.values[chosen]
                if isinstance(rows, slice)
                else self.values[chosen[:, None], rows]
            ).T
        return self.between(self.points[rows], self.points[chosen])

    def product(self, c: Vector) -> Vector:
        """Return Kc: the values of f = Σ c_j φ(x_j) at the rows."""
        own = self.vector(c)
        known = self._known_product(own)
        if known is None:
            known = self.remember(
                own,
                self._by_sides(own)
                if self.values is None
                else self._products_of([own])[0],
            )
        return known

    def _known_product(self, c: Vector) -> Vector | None:
        """Return the product of a multiple of coefficients whose product is known, or None."""
        if not bool(c.any()):
            return np.zeros_like(c)
        largest = int(np.abs(c).argmax())
        for known, product in list(
            self._products
        ):  # classes that share the rows add to it in other threads
            size = float(known[largest])
            if abs(size) > 1e-300:
                factor = float(c[largest]) / size
            else:
                factor = 0.0
            if bool((np.abs(c - factor * known) <= 4 * ULP * np.abs(c)).all()):
                return factor * product
        return None

    def _products_of(self, columns: list[Vector]) -> list[Vector]:
        if self.values is None:
            return [self.at(self.points, c) for c in columns]
        return self._stored_products(columns)

    def _by_sides(self, c: Vector) -> Vector:
        """Return Kc from one product for each sign: a certificate also tries multipliers of which one side is smaller.

        Values that are kept are read once for both.
        """
        sides = _sides(c)
        products: list[Matrix] = [self._known_product(side) for side in sides]
        unknown = [k for k in (0, 1) if products[k] is None]
        for k, product in zip(
            unknown,
            self._products_of([sides[k] for k in unknown]) if unknown else (),
            strict=True,
        ):
            products[k] = self.remember(sides[k], product)
        return products[0] - products[1]

    def prepare(self, c: Vector, signed: Vector, time: TimeLimit) -> bool:
        """Compute Kc, and the products for multipliers with these signs.

        Return False if there is no time for that.
        """
        n = self.shape[0]
        sides = _sides(signed)
        if self.values is None:
            others = [np.zeros_like(side) for side in sides]
            per_row = int(np.count_nonzero(signed))
            for part in slices(n, 4 * BLOCK * usable_threads()):
                if time.limited and not time.allows(
                    self.seconds_per_value * per_row * (n - part.start)
                ):
                    return False
                for side, product in zip(sides, others, strict=True):
                    product[part] = self.at(self.points[part], side)
        else:
            product, *others = self._stored_products([self.vector(c), *sides])
            self.remember(c, product)
        for side, product in zip(sides, others, strict=True):
            self.remember(side, product)
        return True

    @cached_property
    def seconds_per_value(self) -> float:
        """How long it takes to compute a value that is not known, measured on some."""
        if self._values is not None:
            return 0.0
        watch = Stopwatch()
        some = self.points[: BLOCK * usable_threads()]
        others = self.points[-8 * BLOCK :]
        self.between(some, others)
        return watch.elapsed() / (some.shape[0] * others.shape[0])

    def remember(self, c: Vector, product: Vector) -> Vector:
        """Keep a product that is known, and return it."""
        self._products.append((self.vector(c), product))
        return product

    def check_positive(self) -> None:
        """Raise an error if the function is not positive definite on the rows, or on some of them."""
        some = np.random.default_rng(0).permutation(self.shape[0])[:MAX_CHECKED]
        values = to_numpy(self.between(self.points[some], self.points[some]))
        small = self._negligible
        if (
            not np.isfinite(values).all()
            or np.abs(values - values.T).max() > small * np.abs(values).max()
        ):
            raise ValueError(
                NOT_POSITIVE.format("its values are not finite, or not symmetric")
            )
        lowest = float(eigvalsh(values, subset_by_index=[0, 0])[0])
        if lowest < -small * len(some) * float(self.squares.max()):
            raise ValueError(
                NOT_POSITIVE.format(f"an eigenvalue of its matrix is {lowest:.3g}")
            )

    # --- the protocol
    # -----------------------------------------------------------------------------------------------

    def coordinates(self, w):
        """Return the norm of a function, as the only entry.

        Rounding errors make it no smaller.
        """
        known = self._known_norm(w)
        if known is not None:
            return np.array([known])
        c = self.vector(w)
        square = float(c @ self.product(w))
        size = float(np.abs(c) @ np.sqrt(self.squares)) ** 2
        error = self._rounding * size
        if error > NOTICEABLE * square and self.values is not None:
            products, errors = compensated_transposed_dot(to_numpy(self.values), w)
            (square,), (error,) = compensated_transposed_dot(products[:, None], w)
            error += float(np.abs(w) @ errors)
        if square < -self._negligible * size:
            raise ValueError(
                NOT_POSITIVE.format(f"c·Kc = {square:g} for some coefficients c")
            )
        return np.array(
            [math.sqrt(max(square, 0.0) + self.function.precision * size + error)]
        )

    def weights_of(self, coordinates, along):
        norm = float(self.coordinates(along)[0])
        if norm > 0.0:
            return along * (float(coordinates[0]) / norm)
        return along

    def _known_norm(self, w) -> float | None:
        """Return the norm of a function where that needs no values of the kernel."""
        return None

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
        total = float(c.sum())
        centred = to_numpy(c - total * self.centre)
        if (
            self._known_product(self.vector(centred)) is None
        ):  # sides may be known, or have few entries other than 0
            self.remember(centred, self._by_sides(c) - total * self.means)
        return centred

    def weighted_sums(self, columns: list[Vector]) -> list[np.ndarray]:
        """Return `weighted_sum` for each of several c, with products that take one pass over values that are kept."""
        sums = [
            to_numpy(c if self.centre is None else c - float(c.sum()) * self.centre)
            for c in columns
        ]
        for c, centred, product in zip(
            columns, sums, self._products_of(columns), strict=True
        ):
            self.remember(
                centred,
                product
                if self.centre is None
                else product - float(c.sum()) * self.means,
            )
        return sums

    def centred_squares(self) -> Vector:
        """Return ‖φ(x_i) − μ‖² for every row."""
        if self.centre is None:
            return self.squares
        squares = self.squares - 2.0 * self.means + float(self.centre @ self.means)
        return np.where(squares > SAME * self.squares, squares, 0.0)

    def sum_of_squares(self, c):
        return np.array([float(c @ self.centred_squares())])

    def moments(self, weights):
        return np.zeros(1), np.sqrt(self.sum_of_squares(weights))

    def norms(self, p, factors=None):
        return np.sqrt(self.centred_squares())

    def content_keys(self, signs, weights, sizes):
        """Return the keys of the points, or those of the values if they are a table."""
        if isinstance(self.function, Precomputed):
            return super().content_keys(signs, weights, sizes)
        rows = self.with_features(self.points)
        sizes = np.sqrt(rows.sum_of_squares(weights))
        return rows.content_keys(signs, weights, sizes)

    def _projections_on_difference(self, signs, weights, sizes):
        return self.product(signs * weights)

    def _random_projections(self, sizes):
        return self.product(np.random.default_rng(0).standard_normal(self.shape[0]))

    def taken(self, rows):
        if self._values is None:
            values = None
        else:
            values = self._values[rows][:, rows]
        if self.centre is None:
            centre = None
        else:
            centre = self.centre[rows] / self.centre[rows].sum()
        return type(self)(self.points[rows], self.function, centre, values)

    def centred(self, weights, some) -> "FunctionRows":
        """Return the rows relative to a weighted mean, of all or of some of them."""
        centre = np.zeros_like(weights)
        centre[some] = weights[some]
        return type(self)(
            self.points, self.function, centre / centre.sum(), self.values, self.keeps
        )

    def relabelled(self, positive, sample_weight, flip_cost, n_given, kept):
        attributes = super().relabelled(
            positive, sample_weight, flip_cost, n_given, kept
        )
        if self.centre is not None:
            attributes["rows"] = self.centred(
                attributes["sample_weight"], np.flatnonzero(self.centre)
            )
        return attributes

    def sizes_of_weights(self, column_sizes):
        # The norm of a function is charged as a whole, and no coefficient by itself.
        return np.zeros(1)

    def shiftable_columns(self):
        return np.zeros(0, dtype=np.intp)

    def on_features(self, features):
        return self

    def shifted(self, offset):
        raise TypeError("Functions of a kernel are not shifted.")

    def some(self, size):
        return self.points[:: -(-self.shape[0] // size)]


class KernelRows(FunctionRows, HostRows):
    """Functions whose values are arrays of numpy, computed in blocks by threads.

    Points may be sparse.
    """

    def between(self, some, others):
        out = np.empty((some.shape[0], others.shape[0]))
        values = self.function.values

        def fill(part):
            out[part] = values(some[part], others)

        def fill_both_sides(part):
            block = values(some[part], some[part.start :])
            out[part, part.start :] = block
            out[part.stop :, part] = block[:, part.stop - part.start :].T

        over(slices(some.shape[0], BLOCK), fill_both_sides if some is others else fill)
        return out

    def at(self, points, c):
        used = np.flatnonzero(np.atleast_2d(c.T).any(axis=0))
        landmarks = self.points[used]
        return _added(
            points.shape[0],
            c[used],
            lambda part: self.function.values(points[part], landmarks),
        )

    def _stored_products(self, columns):
        products = _added(
            self.shape[0], np.column_stack(columns), lambda part: self.values[part]
        )
        return list(np.ascontiguousarray(products.T))

    def _known_norm(self, w):
        return self.function.norm_of_sum(self.points, w)

    def with_features(self, X):
        return MemoryRows(X if sparse.issparse(X) else np.ascontiguousarray(X))

    def room(self):
        return memory_size()


def _sides(c: Vector) -> tuple[Vector, Vector]:
    """Return the positive and the negative part of coefficients."""
    return np.maximum(c, 0.0), np.maximum(-c, 0.0)


def _added(n: int, c: Vector, values: Callable[[slice], np.ndarray]) -> np.ndarray:
    """Return the products of blocks of values with c.

    Terms are added in blocks, so that errors hardly grow with n.
    """

    def add(part):
        block = values(part)
        return np.sum(
            [
                block[:, k : k + BLOCK] @ c[k : k + BLOCK]
                for k in range(0, len(c), BLOCK)
            ],
            axis=0,
        )

    size = max(BLOCK, VALUES_OF_A_BLOCK // max(len(c), 1))
    if n and len(c):
        return np.concatenate(over(slices(n, size), add))
    return np.zeros((n, *c.shape[1:]))


def rows_of_functions(points: Matrix, function: KernelFunction) -> FunctionRows:
    """Return the rows of a kernel where the points are, or are to be."""
    backend = backend_of(points)
    if backend is None:
        return KernelRows(points, function)
    return backend.kernel_rows(points, function)


def in_feature_space(
    points: Matrix,
    function: KernelFunction,
    y: Labels,
    weights=None,
    *,
    time: TimeLimit | None = None,
    **parameters,
) -> Problem:
    """Return the problem of a kernel.

    The parameters are those of `Problem` except norm and the features' prices.
    """
    problem = Problem.of_checked(**rows_of_functions(points, function).data(y, weights))
    if not function.proven:  # it may be any function
        problem.rows.check_positive()
    problem = in_content_order(problem).replace(**parameters)
    rows = problem.rows
    n = problem.n_rows
    if time is not None and time.limited:
        rows.keeps = (
            rows.keeps
            and n** 2 * rows.seconds_per_value <= SHARE_OF_TIME * max(time.left(), 0.1)
        )
    if not problem.fit_intercept:
        return problem
    # Otherwise, the mean of some is known sooner
    every = rows.keeps or n**2 <= PAIRS_FOR_CENTRE
    if every:
        some = slice(n)
    else:
        some = draw_rows(problem, max(FEWEST_FOR_CENTRE, PAIRS_FOR_CENTRE // n))
    return problem.with_rows(rows.centred(problem.sample_weight, some))
