"""A radius and a ridge from the data alone, without cross-validation.

A row is *active* if its margin is below 1, so that its hinge loss is positive. It then
contributes π_i y_i x_i to the gradient of the loss. If labels were random, the gradient
would have the typical size

    F = typical ‖ Σ_{i active} π_i σ_i (x_i − x̄) ‖_p,      σ_i = ±1 at random.

A classifier trained with this radius does not respond to such a gradient. Which rows
are active is seen in a *pilot*: a rough solution whose radius is half of the F of all
rows. Chance acts on all directions in which the rows vary, and the classifier uses few
of them: hence the radius is s·F with s = min(1, 2.5·√(k/n)). Here k = (Σ λ)² / Σ λ² is
the effective number of directions, for the eigenvalues λ of the covariance.

The ridge keeps a direction where many others are as good, and where the radius would
lose it. It is GENERAL_RIDGE · a⁴ · s² times the mean squared distance of the rows from
their centre, where a is the share of the rows that are active in the pilot solution:
few with correct labels, nearly all with wrong ones. In many directions, such as those
of text, it is smaller by the factor 1 / (1 + (k / MANY_DIRECTIONS)²). It is at least
MIN_RIDGE / n times that square, with which a row that no other one resembles can reach
its margin. In the feature space of a kernel there are as many directions as rows: s is
SHARE_OF_KERNEL there, and the ridge is KERNEL_RIDGE · a⁴ / √n.

Where rows out of fold clearly favour a smaller radius and ridge, these are used
(`select_by_folds`).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from drsvm.problem.kernel_functions import squared_norms
from drsvm.problem.memory_rows import scaled_columns
from drsvm.problem.problem import Problem, check_problem
from drsvm.problem.result import Status
from drsvm.problem.row_sums import GradientVariances, gradient_variances
from drsvm.problem.sampling import draw_by_class, draw_rows, draw_sample, to_host
from drsvm.problem.validation import check_unscaled_weights
from drsvm.solvers.api import solve
from drsvm.solvers.interior_point.small import is_small
from drsvm.solvers.landmarks.landmark_solver import rough_solver
from drsvm.solvers.many import Classifier, Solution, rough_classifiers
from drsvm.solvers.path.radius_max import is_useful, radius_max
from drsvm.utils.annotations import Values
from drsvm.utils.clock import TimeLimit
from drsvm.utils.progress import part

# Share of a sum of squares: a variance that is smaller is a rounding error
ROUNDING = 1e-12
# Dividing by smaller counts is not safe.
SMALLEST_COUNT = 1e-100
# Rows that are needed to choose anything by them: fewer prove little
MIN_SAMPLE = 60
# Rows that describe how all of them vary: more cost much
MAX_SAMPLE = 1500
# Seconds for a pair of rows, in the rules for kernels
SECONDS_OF_A_PAIR = 2e-7
# The largest radius as a fraction of `radius_max`
SHARE_OF_LARGEST = 0.5
# The radius of the pilot as a fraction of F over all rows
PILOT_SHARE = 0.5
# About the gap of rough solutions; with 1e-2, a ridge depends on the steps
ROUGH_TOL = 1e-3
# Rows of a class in the sample for rough solutions: the larger one of both
ROWS_OF_A_CLASS = 10_000
SAMPLE_PER_FEATURE = 100
# Entries of this sample that are fetched from elsewhere at most, 160 MB
MAX_FETCHED = 20_000_000
# The factor before √(k/n) in s
CHANCE_DIRECTIONS = 2.5
# The ridge if all rows are active, as a multiple of s² and of the mean squared distance
# of a row from the centre
GENERAL_RIDGE = 0.04
# The least ridge, as a multiple of this square over the number of rows
MIN_RIDGE = 0.3
# With more, each row has directions of its own, and a ridge would keep it from its
# margin
MANY_DIRECTIONS = 300
# For kernels: the factor s, and the ridge times √n in place of GENERAL_RIDGE
SHARE_OF_KERNEL = 0.5
KERNEL_RIDGE = 0.25

MaxTime = float | TimeLimit | None
# A TimeLimit as max_time, and n_threads
Options = dict[str, Any]


def auto_radius(
    problem: Problem,
    *,
    counts: Values = None,
    max_time: float | TimeLimit | None = None,
    n_threads: int | None = None,
) -> float:
    """Return a radius that matches the size of chance effects in the data.

    If the labels of the rows were random, their contributions to the gradient would
    still add up to a vector of some typical norm F, about (scale of the rows) / √n.
    Half of F, computed over all rows, is the radius of a pilot solution; F is then
    computed over the rows whose margin is below 1 there; rows with a margin close to 1
    count in part. With correct labels there are few such rows and F is small; with
    wrong labels it is larger.

    The radius is F, but at most half of `radius_max`, the smallest at which it is
    constant. For norm=1 it is half of F, for norm=inf a quarter. Where the rows vary in
    few directions compared to their number n, the radius is smaller by the factor
    2.5·√(k/n), with k the effective number of directions. It is in the units of the
    features.

    Parameters
    ----------
    problem : Problem
        Its radius is ignored.
    counts : array of shape (n,), optional
        Number of rows that each row represents; by default one, regardless of its
        weight. The estimators use `sample_weight` as counts, as is usual in
        scikit-learn.
    max_time : float, optional
        Time limit for all solutions together in seconds. If there is no time for the
        pilot solution, F is computed over all rows, which makes it larger; if there is
        none for `radius_max`, the radius is not limited by it.
    n_threads : int, optional
        Threads for the solutions.

    Returns
    -------
    float
        The radius; 0 if the rows do not differ. Ctrl-C raises KeyboardInterrupt.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from drsvm import Problem, auto_radius
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = Problem(StandardScaler().fit_transform(X), y, fit_intercept=True)
    >>> 0.01 < auto_radius(problem) < 0.3
    True
    """
    check_problem(problem, "auto_radius")
    if counts is not None and not problem.rows.is_sharded:
        counts = check_unscaled_weights(counts, problem.n_given, "counts")
        if problem.multipliers_from(counts).min() < SMALLEST_COUNT:
            raise ValueError(
                f"counts must be at least {SMALLEST_COUNT:g} for rows with a weight."
            )
    found = automatic(problem, counts=counts, max_time=max_time, n_threads=n_threads)
    return found.radius


class Automatic(NamedTuple):
    """What the rules choose for a problem."""

    radius: float
    solution: Solution
    """The pilot solution, perhaps of a sample; None if the time limit was reached."""

    ridge: float = 0.0


def automatic(
    problem: Problem,
    *,
    counts: Values = None,
    max_time: MaxTime = None,
    n_threads: int | None = None,
) -> Automatic:
    """Return the automatic radius and ridge, with the pilot solution.

    Parameters
    ----------
    problem, counts, max_time, n_threads
        As in `auto_radius`.

    Returns
    -------
    Automatic
        Radius, ridge and pilot solution.
    """
    time = TimeLimit.of(max_time)
    limits: Options = {"max_time": time, "n_threads": n_threads}
    found = _by_sample(automatic, problem, counts, limits)
    if found is not None:
        return found

    # 1. The gradient of all rows, if their labels were random
    with part(0.0, 0.1):
        everything = gradient_variances(problem, counts=counts)
    if not np.isfinite(everything.squares).all():
        raise ValueError(
            "The squares of some features are too large for numbers: scale "
            "the features first."
        )
    features = np.flatnonzero(deviations_of(problem, everything))
    if len(features) == 0:
        # The rows do not differ: any ridge will do.
        return Automatic(0.0, None, 1.0)
    # Features that do not differ between rows would still change the steps of a rough
    # solution.
    varying = problem.on_features(features)
    of_all = GradientVariances(
        everything.sums[features], everything.squares[features], everything.mass
    )

    # 2. In how many directions the rows vary
    with part(0.1, 0.15):
        spread = Spread.of(problem, counts)

    # 3. The gradient of the rows that are active in a pilot solution
    sample = _sample(varying)
    with part(0.15, 0.6):
        of_pilot = {**limits, "max_time": time.share(2)}
        chance, active, pilot = chance_of_active(
            varying, sample, of_all, counts, of_pilot
        )

    # 4. The radius, with which the optimum must not be constant
    with part(0.6, 1.0):
        radius = problem.norm.share_of_chance * chance
        radius = _below_largest(radius, varying, sample, limits)
    if varying is not problem and pilot is not None:
        weights = np.zeros(problem.n_features)
        weights[features], intercept = pilot
        pilot = weights, intercept
    return Automatic(spread.factor * radius, pilot, spread.ridge(active))


def _below_largest(
    radius: float, problem: Problem, sample: Problem, limits: Options
) -> float:
    """Return the radius, or half of `radius_max` if that is smaller.

    If there is no time to find that, it is the radius.
    """
    # No feature can shift.
    if radius == 0.0:
        return 0.0
    has_free_intercept = problem.fit_intercept and not problem.has_intercept_cost
    if not (problem.flips_possible or has_free_intercept):
        # `radius_max` costs nothing.
        return min(radius, SHARE_OF_LARGEST * radius_max(problem, **limits))
    # It takes several solutions, so a sample must do. One solution may show that it is
    # large enough.
    time = limits["max_time"]
    if time.over or is_useful(sample, radius / SHARE_OF_LARGEST, **limits):
        return radius
    largest = radius_max(sample, **limits)
    if time.over:
        return radius
    return min(radius, SHARE_OF_LARGEST * largest)


def _by_sample(
    rule: Callable[..., Automatic], problem: Problem, counts, limits: Options
) -> Automatic | None:
    """Apply a rule to some rows of a kernel problem, if it has many; otherwise None.

    Chance effects and the ridge are proportional to 1/√n.
    """
    # All pairs of rows are needed.
    in_time = math.sqrt(max(limits["max_time"].left(), 0.0) / SECONDS_OF_A_PAIR)
    most = max(MIN_SAMPLE, min(2 * MAX_SAMPLE, in_time))
    # Fewer than twice as many rows are used as they are.
    if not problem.rows.is_kernel or problem.n_rows <= 2 * most:
        return None
    few = to_host(draw_sample(problem, int(most)), math.inf)
    found = rule(few, **limits)
    share = math.sqrt(few.n_rows / _number_of_rows(problem, counts))
    return Automatic(share * found.radius, None, share * found.ridge)


def _number_of_rows(problem: Problem, counts: Values) -> float:
    """Return how many rows there are, if each of them counts for several."""
    if counts is None:
        return problem.n_rows
    return float(counts.sum())


def automatic_ridge(
    problem: Problem,
    *,
    counts: Values = None,
    max_time: MaxTime = None,
    n_threads: int | None = None,
) -> Automatic:
    """Return the automatic ridge, the pilot solution and the problem's own radius."""
    limits: Options = {"max_time": TimeLimit.of(max_time), "n_threads": n_threads}
    found = _by_sample(automatic_ridge, problem, counts, limits)
    if found is not None:
        return found._replace(radius=problem.radius)
    everything = gradient_variances(problem, counts=counts)
    _, active, pilot = chance_of_active(
        problem, _sample(problem), everything, counts, limits
    )
    ridge = Spread.of(problem, counts).ridge(active)
    return Automatic(problem.radius, pilot, ridge)


def _sample(problem: Problem) -> Problem:
    """Return the problem on a sample of its rows for rough solutions.

    Large classes have fewer rows in it, but the same weight.
    """
    size = max(ROWS_OF_A_CLASS, SAMPLE_PER_FEATURE * problem.n_features)
    if problem.n_rows > 2 * size:
        problem = draw_by_class(problem, size)
    # Rough solutions depend on the steps, and these on where the rows are: with rows in
    # this memory, the rules say the same wherever they were.
    return to_host(problem, MAX_FETCHED)


def _rough_classifier(problem: Problem, limits: Options) -> Classifier:
    """Return a rough solution, or the first step towards one if there is no time."""
    if is_small(problem):
        found = rough_classifiers([problem], [None], tol=ROUGH_TOL, **limits)[0]
        if found is not None:
            return found
    result = solve(problem, rough_solver(problem), tol=ROUGH_TOL, **limits)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result.weights, result.intercept


def chance_of_active(
    problem: Problem,
    sample: Problem,
    everything: GradientVariances,
    counts: Values,
    limits: Options,
) -> tuple[float, float, Classifier | None]:
    """Return F over the active rows of a pilot solution, their share, and the pilot.

    The pilot is a solution of a sample of the rows, with half of the F of all rows as
    radius; None if there is no time for it: then all rows count as active.
    """
    of_all = chance_gradient(problem, everything)
    if limits["max_time"].spent:
        return of_all, 1.0, None
    with part(0.0, 0.4):
        pilot_problem = sample.replace(radius=PILOT_SHARE * of_all, l2=0.0)
        pilot = _rough_classifier(pilot_problem, limits)
    with part(0.6, 1.0):
        active = gradient_variances(problem, pilot, counts)
    chance = chance_gradient(problem, active)
    if chance == 0.0:
        # No row is active, or only one, or equal ones.
        chance = of_all
    return chance, active.mass / everything.mass, pilot


class Spread(NamedTuple):
    """How the rows vary, and what follows for radius and ridge."""

    square: float
    """The mean squared distance of the rows from their centre."""

    factor: float
    """The factor s of the radius."""

    largest_ridge: float = 0.0
    """The ridge if all rows are active, in units of the square."""

    least_ridge: float = 0.0
    """The ridge if no row is active, in the same units."""

    @classmethod
    def of(cls, problem: Problem, counts: Values = None) -> "Spread":
        """Measure the rows of a problem, or some of them, drawn by their contents."""
        n_rows = _number_of_rows(problem, counts)
        if problem.rows.is_kernel:
            return cls._of_functions(problem, n_rows)
        return cls._of_vectors(problem, n_rows)

    @classmethod
    def _of_functions(cls, problem: Problem, n_rows: float) -> "Spread":
        """Measure rows in the feature space of a kernel."""
        weights = problem.sample_weight
        if problem.n_rows > MAX_SAMPLE:
            drawn = draw_rows(problem, MAX_SAMPLE)
            weights = np.zeros_like(problem.sample_weight)
            weights[drawn] = problem.sample_weight[drawn]
        weights = weights / weights.sum()
        # Σ w ‖φ‖² − ‖Σ w φ‖²
        centre = problem.rows.coordinates(problem.rows.weighted_sum(weights))
        mean_square = float(problem.rows.sum_of_squares(weights)[0])
        square = mean_square - float(centre @ centre)
        if square > 0.0:
            return cls(square, SHARE_OF_KERNEL, KERNEL_RIDGE / math.sqrt(n_rows))
        return cls(0.0, 1.0)

    @classmethod
    def _of_vectors(cls, problem: Problem, n_rows: float) -> "Spread":
        """Measure rows that have columns."""
        few = problem
        if problem.n_rows > MAX_SAMPLE:
            few = draw_sample(problem, MAX_SAMPLE)
        few = to_host(few, math.inf)
        n_few = n_rows * few.n_rows / problem.n_rows
        square, directions = _spectrum(few, few.rows, n_few)
        if not square > 0.0:
            return cls(0.0, 1.0)
        # The ridge is in units of the columns, but directions are counted in units of
        # their costs: shifts of expensive features are small.
        if few.feature_cost is not None:
            costs = np.where(np.isinf(few.feature_cost), 0.0, few.feature_cost)
            scaled = few.on_rows(scaled_columns(few.X, costs)).rows
            directions = _spectrum(few, scaled, n_few)[1]
        factor = min(1.0, CHANCE_DIRECTIONS * math.sqrt(directions / n_rows))
        ridge = GENERAL_RIDGE * factor**2 / (1.0 + (directions / MANY_DIRECTIONS) ** 2)
        return cls(square, factor, ridge, MIN_RIDGE / n_rows)

    def ridge(self, active: float) -> float:
        """Return the automatic ridge, given the share of active rows."""
        return max(self.largest_ridge * active**4, self.least_ridge) * self.square


def _spectrum(problem: Problem, rows, n_rows: float) -> tuple[float, float]:
    """Return Σ λ and (Σ λ)² / Σ λ² for the eigenvalues λ of the covariance.

    The sums are its trace and that of its squared entries, from products of the columns
    or of the rows, whichever are fewer. The second sum is an estimate for the
    population: among n rows, each is in part a direction that the others do not have,
    which adds the mean of ‖x_i − x̄‖⁴ / n. `n_rows` is that n, with rows that count
    several times.
    """
    weights = problem.sample_weight
    n, d = rows.shape
    if rows.readable and d < n:
        covariance = rows.covariance(weights)
        mean = weights @ rows.X
        squares = squared_norms(rows.X) - 2.0 * (rows.X @ mean) + float(mean @ mean)
        total = float(covariance.trace())
        scale = _power_of_two(total)
        sum_of_squares = float(np.square(covariance / scale).sum())
    else:
        # The products x_i·x_j of the rows, and then of their distances from the mean
        products = rows.products_of_rows()
        with_mean = products @ weights
        products = (
            products
            - with_mean[:, None]
            - with_mean[None, :]
            + float(weights @ with_mean)
        )
        squares = products.diagonal()
        total = float(weights @ squares)
        scale = _power_of_two(total)
        sum_of_squares = float(weights @ np.square(products / scale) @ weights)
    sum_of_squares -= float(weights @ np.square(squares / scale)) / n_rows
    if not sum_of_squares > 0.0:
        return total, math.inf
    return total, (total / scale) ** 2 / sum_of_squares


def _power_of_two(size: float) -> float:
    """Return a power of two near a number ≥ 0: dividing by it changes no digit.

    After that, squares can neither overflow nor vanish.
    """
    return math.ldexp(1.0, math.frexp(size)[1] - 1)


def chance_gradient(problem: Problem, active: GradientVariances) -> float:
    """Return F: the typical norm of the active rows' gradient with random labels."""
    deviations = deviations_of(problem, active)
    if problem.feature_cost is not None:
        # A feature that cannot shift does not count.
        can_shift = ~problem.trusted_features
        deviations = deviations[can_shift] * problem.feature_cost[can_shift]
    deviations = deviations[deviations > 0]
    if len(deviations):
        return problem.norm.typical_value(deviations)
    return 0.0


def deviations_of(problem: Problem, active: GradientVariances) -> np.ndarray:
    """Return the standard deviation of each entry of the gradient with random labels.

    The gradient is the sum over the active rows.
    """
    if active.mass == 0.0:
        return np.zeros(problem.n_features)
    variances = active.squares.copy()
    if problem.fit_intercept:
        # The intercept absorbs the mean of the rows.
        variances -= active.sums**2 / active.mass
        variances[variances <= ROUNDING * active.squares] = 0.0
    return np.sqrt(variances)
