"""Generated tables whose labels are all correct, however badly a model fits, and tables with wrong labels."""

import numpy as np
from scipy.special import expit
from sklearn.datasets import make_classification, make_moons
from sklearn.tree import DecisionTreeRegressor

VALUES = (500, 1000, 2000, 4000)


def drawn(rng, probability):
    return (rng.random(len(probability)) < probability).astype(int)


def direction(rng, d):
    vector = rng.normal(size=d)
    return vector / np.linalg.norm(vector)


def halves(rng, values):
    """Return which values exceed a random quantile near the median."""
    return (values > np.quantile(values, rng.uniform(0.35, 0.65))).astype(int)


# --- correct labels
# -----------------------------------------------------------------------------------------------


def waves(rng, n):
    """A curved boundary, sharp or not."""
    X = rng.uniform(-3, 3, size=(n, rng.integers(2, 7)))
    height = X[:, 1] - rng.uniform(0.5, 2) * np.sin(rng.uniform(0.7, 2) * X[:, 0])
    return X, drawn(rng, expit(rng.choice([1.5, 4, 100]) * height))


def measured_with_errors(rng, n):
    """The label depends on factors of which the features are inexact measurements."""
    factors = rng.normal(size=(n, 3))
    d = rng.integers(3, 10)
    X = factors @ rng.normal(size=(3, d)) + rng.uniform(0.3, 1.5) * rng.normal(
        size=(n, d)
    )
    return X, halves(rng, factors @ direction(rng, 3))


def missing_column(rng, n):
    X = rng.normal(size=(n, rng.integers(4, 10)))
    f = X @ direction(rng, X.shape[1]) + rng.choice([0.0, 0.5]) * X[:, 0] * X[:, 1]
    return X[:, 1:], halves(rng, f + rng.uniform(0.3, 1) * X[:, 0])


def clusters(rng, n):
    """Overlapping normal clusters, two or three of each class."""
    d = rng.integers(2, 8)
    k = int(rng.choice([4, 6]))
    centres = rng.normal(size=(k, d)) * rng.uniform(0.8, 2)
    widths = rng.uniform(0.6, 1.5, size=k)
    which = rng.integers(k, size=n)
    return centres[which] + widths[which, None] * rng.normal(size=(n, d)), which % 2


def heavy_tailed_causes(rng, n):
    """Outcomes with heavy-tailed causes that are not in the table, of features that may have heavy tails too."""
    d = rng.integers(2, 9)
    X = (
        rng.normal(size=(n, d))
        if rng.random() < 0.5
        else rng.standard_t(2.5, size=(n, d))
    )
    f = X @ direction(rng, d) + rng.uniform(0.2, 0.7) * rng.standard_t(
        rng.choice([2, 3]), size=n
    )
    return X, (f > 0).astype(int)


def rare_events(rng, n):
    X = rng.normal(size=(n, rng.integers(2, 8)))
    f = rng.uniform(1, 2.5) * X @ direction(rng, X.shape[1]) + 0.5 * X[:, 0] ** 2
    return X, drawn(rng, expit(f - np.quantile(f, rng.uniform(0.88, 0.97))))


def groups(rng, n):
    """Every group of rows has its own probability."""
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 3, size=(n, 2))])
    tree = DecisionTreeRegressor(
        max_leaf_nodes=int(rng.integers(6, 20)), random_state=0
    ).fit(X, rng.normal(size=n))
    leaves, group = np.unique(tree.apply(X), return_inverse=True)
    return X, drawn(rng, rng.beta(0.7, rng.uniform(0.7, 2), size=len(leaves))[group])


def waiting_times(rng, n):
    """Whether an event occurs within a period, at rates that depend on the features."""
    d = rng.integers(4, 10)
    X = np.column_stack(
        [rng.normal(size=(n, d - 2)), rng.exponential(size=n), rng.random(n) < 0.3]
    )
    rate = np.exp(
        rng.uniform(0.7, 1.8) * (X @ direction(rng, d)) + rng.uniform(-2, 0.5)
    )
    return X, drawn(rng, 1.0 - np.exp(-rate))


KINDS = (
    waves,
    measured_with_errors,
    missing_column,
    clusters,
    heavy_tailed_causes,
    rare_events,
    groups,
    waiting_times,
)
CORRECT = {kind.__name__: kind for kind in KINDS}


# --- learnable tables, some of whose labels are made wrong
# --------------------------------------------------------


def linear(rng, n):
    X = rng.normal(size=(n, rng.integers(2, 12)))
    f = X @ direction(rng, X.shape[1])
    return X, drawn(rng, expit(rng.choice([8, 30]) * f))


def separated(rng, n):
    d = rng.integers(2, 12)
    y = drawn(rng, np.full(n, rng.uniform(0.3, 0.7)))
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    return X + 4.5 * y[:, None] * direction(rng, d), y


def moons(rng, n):
    X, y = make_moons(
        n, noise=rng.uniform(0.1, 0.3), random_state=int(rng.integers(1000))
    )
    return np.column_stack([X, rng.normal(size=(n, rng.integers(0, 5)))]), y


def shells(rng, n):
    X = rng.normal(size=(n, rng.integers(2, 6)))
    return X, halves(rng, (X[:, :2] ** 2) @ rng.uniform(0.5, 2, size=2))


def hypercube(rng, n):
    seed = int(rng.integers(1000))
    return make_classification(
        n,
        10,
        n_informative=5,
        flip_y=0.0,
        class_sep=rng.uniform(1.2, 2),
        random_state=seed,
    )


def steps(rng, n):
    X = rng.normal(size=(n, rng.integers(2, 7)))
    return X, ((X[:, 0] > 0.3) | (X[:, 1] > 0.8)).astype(int)


LEARNABLE = {
    kind.__name__: kind for kind in (linear, separated, moons, shells, hypercube, steps)
}


def with_wrong_labels(rng, y, by_class):
    """Return labels of which 5 to 35 % are wrong, at the same rate or at one for each class, and which they are."""
    share = rng.uniform(0.05, 0.35)
    skew = rng.uniform(0.3, 1.7) if by_class else 1.0
    wrong = rng.random(len(y)) < np.minimum(share * np.array([skew, 2 - skew]), 0.45)[y]
    return np.where(wrong, 1 - y, y), wrong
