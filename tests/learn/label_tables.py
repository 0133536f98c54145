"""Generated tables whose labels are all correct, however badly a model fits, and tables with wrong labels."""

import numpy as np
from scipy.special import expit
from sklearn.datasets import make_blobs, make_friedman1, make_gaussian_quantiles, make_hastie_10_2

SIZES = (600, 1000, 1600, 2400, 4000)


def drawn(rng, probability):
    return (rng.random(len(probability)) < probability).astype(int)


def seed(rng):
    return int(rng.integers(1_000_000_000))


# --- correct labels -----------------------------------------------------------------------------------------------


def curved(rng, n):
    d, kind = int(rng.integers(2, 6)), rng.integers(3)
    if kind == 0:
        return make_gaussian_quantiles(n_samples=n, n_features=d, n_classes=2, random_state=seed(rng))
    if kind == 1:
        X, t = make_friedman1(n, 5 + d, noise=rng.uniform(0, 2), random_state=seed(rng))
        return X, (t > np.quantile(t, rng.uniform(0.3, 0.7))).astype(int)
    X = rng.uniform(-2, 2, size=(n, d))
    return X, drawn(rng, expit(rng.uniform(2, 8) * (np.abs(X[:, 0]) + X[:, 1] ** 2 - 1.6)))


def missing_features(rng, n):
    d = rng.integers(5, 15)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)
    f = X @ rng.normal(size=d) + 0.5 * rng.choice([0, 1]) * X[:, 0] * X[:, 1]
    kept = rng.permutation(d)[: rng.integers(max(2, d // 2), d)]
    return X[:, kept], (f > np.quantile(f, rng.uniform(0.3, 0.7))).astype(int)


def overlapping_normals(rng, n):
    d = rng.integers(2, 20)
    y = (rng.random(n) < rng.uniform(0.25, 0.75)).astype(int)
    shapes = [rng.normal(size=(d, d)) * 0.4 + np.eye(d) for _ in range(2)]
    shift = rng.normal(size=d)
    Z = rng.normal(size=(n, d))
    shift *= rng.uniform(0.7, 3) / np.linalg.norm(shift)
    return np.where(y[:, None] == 1, Z @ shapes[0] + shift, Z @ shapes[rng.integers(2)]), y


def heavy_tails(rng, n):
    d, kind, y = rng.integers(2, 8), rng.integers(3), rng.integers(2, size=n)[:, None]
    if kind == 0:
        X = np.exp(rng.normal(size=(n, d)) * rng.uniform(0.7, 1.3) + rng.uniform(0.4, 1.5) * y)
    elif kind == 1:
        X = rng.laplace(size=(n, d)) + rng.uniform(0.5, 2.5) * y * (np.arange(d) < 2)
    else:
        X = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2)
        X += rng.uniform(0.8, 2.5) * y * (np.arange(d) < 3)
    return X, y.ravel()


def rare_class(rng, n):
    d = rng.integers(3, 9)
    y = (rng.random(n) < rng.uniform(0.03, 0.12)).astype(int)
    shift = rng.normal(size=d)
    shift *= rng.uniform(1, 3.5) / np.linalg.norm(shift)
    return rng.normal(size=(n, d)) * (1 + 0.5 * y[:, None]) + y[:, None] * shift, y


def interactions(rng, n):
    d, kind = int(rng.integers(3, 7)), rng.integers(3)
    if kind == 0:
        X, y = make_hastie_10_2(n, random_state=seed(rng))
        return X, (y > 0).astype(int)
    X = rng.uniform(-1, 1, size=(n, d))
    if kind == 1:
        return X, ((np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])) % 2).astype(int)
    f = X[:, 0] * X[:, 1] * 4 + np.where(X[:, 2] > 0, 1, -1) * X[:, 0]
    return X, drawn(rng, expit(rng.uniform(1.5, 6) * f))


def recorded_outcomes(rng, n):
    d = rng.integers(5, 12)
    X = np.exp(rng.normal(size=(n, d)) * 0.6)
    k = rng.integers(1, d - 2)
    X[:, :k] = rng.integers(0, 4, size=(n, k))
    weights = rng.normal(size=d)
    t = (X - X.mean(0)) / X.std(0) @ weights / np.linalg.norm(weights)
    return X, drawn(rng, expit(t * rng.uniform(0.8, 2.2) + rng.uniform(-2, 0.5)) * rng.uniform(0.6, 1))


def one_sided_overlap(rng, n):
    d = rng.integers(3, 9)
    X = rng.normal(size=(n, d))
    X[:, 0] = rng.gamma(1.5, size=n)
    f, chance = X @ rng.normal(size=d), expit(rng.uniform(0.3, 2) + X @ rng.normal(size=d) * rng.uniform(0.3, 1))
    return X, drawn(rng, np.where(f > np.quantile(f, rng.uniform(0.4, 0.7)), chance, 0.0))


CORRECT = {
    function.__name__: function
    for function in (
        curved,
        missing_features,
        overlapping_normals,
        heavy_tails,
        rare_class,
        interactions,
        recorded_outcomes,
        one_sided_overlap,
    )
}


# --- learnable tables, some of whose labels are made wrong --------------------------------------------------------


def blobs(rng, n):
    centres, d = 2 * int(rng.integers(2, 6)), int(rng.integers(2, 8))
    X, k = make_blobs(n, n_features=d, centers=centres, cluster_std=rng.uniform(0.8, 1.6), random_state=seed(rng))
    return X, k % 2


def quantiles(rng, n):
    return make_gaussian_quantiles(n_samples=n, n_features=int(rng.integers(2, 5)), n_classes=2, random_state=seed(rng))


def correlated(rng, n):
    d = rng.integers(3, 25)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    f = X @ rng.normal(size=d)
    return X, (f > np.quantile(f, rng.uniform(0.3, 0.7))).astype(int)


def laplace(rng, n):
    d, y = rng.integers(2, 10), rng.integers(2, size=n)
    return rng.laplace(size=(n, d)) + y[:, None] * rng.uniform(2, 4) * (np.arange(d) < 3), y


def box(rng, n):
    X = rng.uniform(-1, 1, size=(n, int(rng.integers(2, 6))))
    return X, ((X[:, 0] > -0.3) & (X[:, 1] < 0.4)).astype(int)


def mixed(rng, n):
    d = rng.integers(4, 10)
    X = rng.normal(size=(n, d))
    X[:, :2] = rng.integers(0, 5, size=(n, 2))
    f = X @ rng.normal(size=d)
    return X, drawn(rng, expit(8 * (f - np.median(f)) / f.std()))


LEARNABLE = {function.__name__: function for function in (blobs, quantiles, correlated, laplace, box, mixed)}


def with_wrong_labels(rng, y, by_class):
    """Return labels of which 5 to 35 % are wrong, at the same rate or at one for each class, and which they are."""
    share, skew = rng.uniform(0.05, 0.35), rng.uniform(0.3, 1.7) if by_class else 1.0
    wrong = rng.random(len(y)) < np.minimum(share * np.array([skew, 2 - skew]), 0.45)[y]
    return np.where(wrong, 1 - y, y), wrong
