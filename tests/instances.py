"""Random instances over the whole range of the parameters, by seed: from two rows to
300, from one feature to 400.
"""

import math

import numpy as np
from problems import NORMS
from scipy import sparse

from drsvm import Problem, solve

RADII = (0.0, 1e-4, 1e-3, 0.01, 0.01, 0.1, 0.1, 0.3, 1.0, 10.0)
FLIP_COSTS = (0.1, 0.5, 1.0, 1.0, 2.0, 10.0, 100.0, math.inf, math.inf)
RIDGES = (0.0, 0.0, 0.0, 1e-4, 0.01, 1.0, 10.0)


def random_instance(seed, max_rows=300, max_features=400):
    """Return a problem whose radius and l2 are not both 0."""
    rng = np.random.default_rng(seed)
    X, y = random_data(
        rng, int(rng.integers(2, max_rows + 1)), log_uniform_integer(rng, max_features)
    )
    flip_cost = random_flip_cost(rng)
    l2 = float(rng.choice(RIDGES))
    # From 0 to 10, in two thirds of the cases on the scale of the features and the flip
    # cost.
    radius = rng.choice([*RADII, 10.0 ** rng.uniform(-5, 1)])
    unit = min(np.abs(X).mean(), 0.3 * flip_cost or 1.0)
    radius = float(min(10.0, radius * unit) if rng.random() < 2 / 3 else radius)
    return finish(
        rng,
        X,
        y,
        radius=radius,
        flip_cost=flip_cost,
        l2=0.1 if radius == l2 == 0.0 else l2,
    )


def unbounded_instance(seed, max_rows=300, max_features=400):
    """Return a problem with radius = l2 = 0, where no bound holds for all
    classifiers.
    """
    rng = np.random.default_rng((seed, 1))
    X, y = random_data(
        rng, int(rng.integers(2, max_rows + 1)), log_uniform_integer(rng, max_features)
    )
    return finish(rng, X, y, radius=0.0, flip_cost=random_flip_cost(rng), l2=0.0)


def well_conditioned_instance(seed, n, d, **parameters):
    """Return a problem on Gaussian rows with a few wrong labels.

    The default parameters are moderate.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return Problem(X, y, **{"radius": 0.1, "flip_cost": 1.0, **parameters})


def sparse_rows(seed, n=300, d=2000, nonzeros=15):
    """Return unit rows with few nonzeros, more features than rows, and labels of a
    linear rule with some noise.
    """
    rng = np.random.default_rng(seed)
    columns = np.concatenate(
        [np.sort(rng.choice(d, nonzeros, replace=False)) for _ in range(n)]
    )
    data = np.abs(rng.normal(size=n * nonzeros)) / math.sqrt(nonzeros)
    X = sparse.csr_array(
        (data, columns, np.arange(0, n * nonzeros + 1, nonzeros)), shape=(n, d)
    )
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1, -1)
    return X, y


def sparse_problem(n, d, nonzeros=1, **parameters):
    """Return a problem of any size on rows of a few ones, made in no time."""
    columns = (np.arange(n)[:, None] + np.arange(nonzeros) * (d // nonzeros)) % d
    indptr = np.arange(0, n * nonzeros + 1, nonzeros)
    X = sparse.csr_array(
        (np.ones(n * nonzeros), np.sort(columns, axis=1).ravel(), indptr), shape=(n, d)
    )
    return Problem(X, np.where(np.arange(n) % 2, 1, -1), **parameters)


def check_against_interior_point(problem, solver, **settings):
    """Return the result of a solver, which proves the optimum of the interior point."""
    result = solve(problem, solver, **settings)
    reference = solve(problem, "interior-point")
    about = solver, problem, result
    assert result.gap <= result.tol, about
    assert abs(result.objective - reference.objective) <= result.tol + reference.gap, (
        about
    )
    assert result.lower_bound <= reference.objective + 1e-9, about
    return result


def power(rng, low, high, size=None):
    return 10.0 ** rng.uniform(low, high, size)


def log_uniform_integer(rng, largest):
    return int(math.exp(rng.uniform(0.0, math.log(largest + 0.99))))


def random_flip_cost(rng):
    return (
        0.0
        if rng.random() < 0.03
        else float(rng.choice([*FLIP_COSTS, 10.0 ** rng.uniform(-2, 3)]))
    )


def finish(rng, X, y, **parameters):
    """Return the problem on dense or sparse rows, with other parameters at random."""
    rows = sparse.csr_array(X) if rng.random() < 0.3 else X
    norm = rng.choice(NORMS)
    weights = rng.uniform(0.01, 1.0, size=len(y)) if rng.random() < 0.4 else None
    if weights is not None and rng.random() < 0.2:
        weights[rng.random(len(y)) < 0.3] = 0.0
        weights[[np.argmax(y), np.argmin(y)]] = 0.5
    return Problem(
        rows,
        y,
        norm=norm,
        sample_weight=weights,
        fit_intercept=rng.random() < 0.5,
        **parameters,
    )


def random_data(rng, n, d):
    """Return rows and labels: of full rank or not, binary, separable, repeated, with
    odd rows or columns, scaled.
    """
    kind = rng.choice(["gaussian", "binary", "low rank", "separable", "repeated"])
    if kind == "binary":
        X = (rng.random((n, d)) < rng.uniform(0.05, 0.6)).astype(float)
    elif kind == "low rank":
        rank = max(1, d // 3)
        X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    else:
        X = rng.normal(size=(n, d))
    y = random_labels(rng, X, separable=kind == "separable")
    if kind == "repeated" and n > 4:
        X[n // 2 :] = X[: n - n // 2]  # with labels that may contradict each other
    if rng.random() < 0.2:
        X[rng.integers(n)] = 0.0
    if rng.random() < 0.15:
        X[:, rng.integers(d)] = 1.0
    common = 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.5 else 1.0
    separate = 10.0 ** rng.uniform(-3, 3, size=d) if rng.random() < 0.2 else np.ones(d)
    return X * np.maximum(common * separate, 1e-3), y


def random_labels(rng, X, separable):
    n, d = X.shape
    direction = rng.normal(size=d)
    scores = X @ direction
    if not separable:
        scores += rng.uniform() * np.linalg.norm(direction) * rng.normal(size=n)
        scores[rng.random(n) < rng.uniform(0.0, 0.4)] *= -1.0
    y = np.where(scores >= 0, 1, -1)
    if len(set(y.tolist())) == 1:
        y[0] *= -1
    return y
