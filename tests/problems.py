"""Small random problems of every kind, and a plain reference implementation of the
formulas.
"""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from drsvm import Problem, WassersteinSVC, solve
from drsvm.problem import typical_row_norm

NORMS = (1, 2, math.inf)
# The problem as it is stated
PLAIN = {
    "l2": 0.0,
    "class_weight": None,
    "threshold": "optimum",
}
# The norm of the weights for each norm of the shifts, and the other way round
DUAL_ORDER = {
    1: math.inf,
    2: 2,
    math.inf: 1,
}
FIVE_ROWS = np.array(
    [
        [1.0, 0.0, 2.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0],
        [1.0, 1.0, 3.0],
        [2.0, 0.0, 1.0],
    ]
)
FIVE_LABELS = np.array([1, -1, 1, -1, 1])


def plain_svc(*radius, **settings):
    """Return a classifier that solves the problem as it is stated."""
    return WassersteinSVC(*radius, **PLAIN | settings)


def random_rows(rng, n, d, kind):
    """Return n rows of d features with two labels.

    Many kinds have ties, which are the difficult cases.
    """
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    rng.shuffle(y)
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None]
    if kind == "integers":
        X = np.round(X)
    elif kind == "binary":
        X = (X > 0.5).astype(float)
    elif kind == "separable":
        X[:, 0] = y * (3 + np.abs(X[:, 0]))
    elif kind == "degenerate":
        X[:, -1] = 1.0  # a constant column
        # Repeated rows, with labels that may contradict each other
        X[n // 2 :] = X[: n - n // 2]
        X[0] = 0.0
    return X, y


@st.composite
def rows(draw, max_rows=12, max_features=4):
    """Draw X and y, both classes present."""
    n = draw(st.integers(2, max_rows))
    d = draw(st.integers(1, max_features))
    kind = draw(
        st.sampled_from(["gaussian", "integers", "binary", "separable", "degenerate"])
    )
    return random_rows(generator(draw), n, d, kind)


def generator(draw):
    """Return a random generator whose seed is drawn."""
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def amounts(*special, low=0.01, high=3.0):
    """Draw one of the special values or a positive number."""
    return st.sampled_from(special) | st.floats(low, high)


@st.composite
def sample_weights(draw, y):
    """Draw None, equal, random or partly zero weights that leave both classes."""
    kind = draw(st.sampled_from(["none", "random", "zeros"]))
    if kind == "none":
        return None
    weights = generator(draw).uniform(0.1, 2.0, size=len(y))
    if kind == "zeros":
        weights[generator(draw).random(len(y)) < 0.4] = 0.0
        weights[[np.argmax(y), np.argmin(y)]] = 1.0
    return weights


@st.composite
def problems(
    draw,
    radius=None,
    flip_cost=None,
    norm=None,
    l2=None,
    fit_intercept=None,
    scales=(1.0, 1e-6, 1e6),
    **size,
):
    """Draw a problem; given parameters are only scaled by the unit of length, which is
    drawn as well.
    """
    X, y = draw(rows(**size))
    unit = draw(st.sampled_from(scales))
    radius = draw(amounts(0.0, 0.1)) if radius is None else radius
    flip_cost = draw(amounts(0.0, 1.0, math.inf)) if flip_cost is None else flip_cost
    l2 = draw(amounts(0.0, 1.0)) if l2 is None else l2
    return Problem(
        X * unit,
        y,
        radius=radius * unit,
        flip_cost=flip_cost * unit,
        norm=draw(st.sampled_from(NORMS)) if norm is None else norm,
        l2=l2 * unit**2,
        sample_weight=draw(sample_weights(y)),
        fit_intercept=draw(st.booleans()) if fit_intercept is None else fit_intercept,
    )


@st.composite
def classifiers(draw, problem):
    """Draw weights and an intercept of any size, including 0, for a problem."""
    rng = generator(draw)
    size = draw(st.sampled_from([0.0, 0.01, 0.3, 1.0, 10.0, 1e4])) / typical_row_norm(
        problem
    )
    w = np.round(
        size * rng.normal(size=problem.n_features), draw(st.sampled_from([0, 20]))
    )
    return w, (
        float(rng.normal() * draw(st.sampled_from([0.0, 1.0, 1e3])))
        if problem.fit_intercept
        else 0.0
    )


@dataclass(frozen=True)
class Plain:
    """A problem in dense arrays and plain formulas."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    radius: float
    flip_cost: float
    p: float
    l2: float

    @classmethod
    def of(cls, problem):
        X = (
            problem.X.toarray()
            if hasattr(problem.X, "toarray")
            else np.asarray(problem.X, dtype=float)
        )
        ball = problem.radius, problem.flip_cost, problem.norm.p, problem.l2
        return cls(X, problem.signs, problem.sample_weight, *ball)

    @property
    def q(self):
        return DUAL_ORDER[self.p]

    def margins(self, w, b=0.0):
        return self.y * (self.X @ w + b)

    def value(self, w, b, price):
        """The objective at a given λ."""
        m = self.margins(w, b)
        flipped = (
            1 + m - self.flip_cost * price
            if math.isfinite(self.flip_cost)
            else np.full_like(m, -np.inf)
        )
        loss = np.maximum(np.maximum(1 - m, flipped), 0)
        return self.radius * price + self.weights @ loss + self.l2 / 2 * (w @ w)

    def candidate_prices(self, w, b=0.0):
        """‖w‖_q and every breakpoint above it: one of them is the best λ."""
        norm = float(np.linalg.norm(w, self.q))
        if self.flip_cost == 0 or math.isinf(self.flip_cost):
            return [norm]
        m = self.margins(w, b)
        breakpoints = np.minimum(2 * m, 1 + m) / self.flip_cost
        return sorted([norm, *breakpoints[breakpoints > norm]])

    def best_value(self, w, b=0.0):
        """The objective with the best λ, by trying all candidates."""
        return min(self.value(w, b, price) for price in self.candidate_prices(w, b))

    def dual_constraints(self, alpha, beta, intercept):
        """Pairs (name, violation): how far each dual constraint is violated, relative
        to its natural scale.
        """
        v, e = self.pull_and_budget(alpha, beta)
        yield "alpha ≥ 0", max(0.0, -alpha.min())
        yield "beta ≥ 0", max(0.0, -beta.min())
        yield (
            "alpha + beta ≤ weights",
            max(0.0, ((alpha + beta) / self.weights).max() - 1),
        )
        yield "flips cost at most the radius", max(0.0, -e) / max(self.radius, 1e-300)
        if intercept:
            yield "balance", abs(((alpha - beta) * self.y).sum())
        if math.isinf(self.flip_cost):
            yield "no flips of trusted labels", float(beta.any())
        if self.l2 == 0 and self.radius > 0:
            yield "norm", max(0.0, np.linalg.norm(v, self.p) - e) / self.radius

    def dual_value(self, alpha, beta):
        """The dual objective at a feasible point."""
        value = (alpha + beta).sum()
        if self.l2 > 0:
            gradient, budget = self.pull_and_budget(alpha, beta)
            value -= distance_to_ball(gradient, self.p, max(budget, 0.0)) ** 2 / (
                2 * self.l2
            )
        return value

    def pull_and_budget(self, alpha, beta):
        budget = self.radius - (self.flip_cost * beta.sum() if beta.any() else 0.0)
        return ((alpha - beta) * self.y) @ self.X, budget


def distance_to_ball(v, p, radius):
    """Return the Euclidean distance of v from the p-ball, by bisection for p = 1."""
    sizes = np.abs(v)
    if p == 2:
        return max(np.linalg.norm(v) - radius, 0.0)
    if p == math.inf:
        return np.linalg.norm(np.maximum(sizes - radius, 0))
    if sizes.sum() <= radius:
        return 0.0
    low = 0.0
    high = sizes.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if np.maximum(sizes - middle, 0).sum() > radius
            else (low, middle)
        )
    return np.linalg.norm(np.minimum(sizes, high))


STRANGE_DATA = {  # small sets that every solver must handle
    "two rows": (np.array([[1.0], [-1.0]]), [1, -1]),
    "zeros": (np.array([[0.0], [0.0]]), [1, -1]),
    "contradiction": (np.array([[1.0, 2.0], [1.0, 2.0]]), [1, -1]),
    "constant column": (
        np.array([[5.0, 1.0, 1.0], [5.0, -1.0, 1.0], [0.0, 0.0, 0.0]]),
        [1, -1, 1],
    ),
    "duplicates": (
        np.repeat([[1.0, 0.5], [-1.0, 0.25]], 20, axis=0),
        [1] * 20 + [-1] * 20,
    ),
    "unequal columns": (
        np.array([[1.0, 1e6], [-1.0, 1e6], [0.5, -1e6], [1e-6, 0.0]]),
        [1, -1, 1, -1],
    ),
}


def best_constant(problem):
    """Return the objective of the best constant classifier.

    The corners of its problem are at b = −1, 0 and 1.
    """
    intercepts = (-1.0, 0.0, 1.0) if problem.fit_intercept else (0.0,)
    return min(problem.objective(np.zeros(problem.n_features), b) for b in intercepts)


def optimum(problem, radius):
    """Return the optimum at another radius."""
    return solve(problem.replace(radius=radius), "interior-point", tol=1e-9).objective
