"""The data sets of the study, training sets of a given size, and five ways in which their labels are wrong.

The defaults were fixed on the data sets in DECIDED; those in REPORTED were not looked at before. With three or more
classes, a wrong label is drawn uniformly from the others.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from _common import data_file, load
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

DECIDED = ("a5a", "breast_cancer", "german.numer", "w1a", "wine")
REPORTED = ("ijcnn1", "spambase", "splice", "digits, odd or even")
MULTICLASS = ("digits, ten classes",)
NOISE = ("clean", "20 %", "35 %", "class", "boundary")
MOST_TESTED = 5000
LEAST_TESTED = 60

BUILT_IN: dict[str, Callable] = {
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: _relabelled(load_wine, lambda y: y == 1),
    "digits, odd or even": lambda: _relabelled(load_digits, lambda y: y % 2),
    "digits, ten classes": lambda: load_digits(return_X_y=True),
}


def _relabelled(loader, label):
    X, y = loader(return_X_y=True)
    return X, label(y).astype(int)


@lru_cache
def rows_of(name: str):
    """Return X (dense) and the codes of the labels."""
    X, y = BUILT_IN[name]() if name in BUILT_IN else load(name)
    return X if isinstance(X, np.ndarray) else X.toarray(), np.unique(y, return_inverse=True)[1]


def is_available(name: str) -> bool:
    return name in BUILT_IN or data_file(name) is not None


class Case(NamedTuple):
    """A training set with labels of one kind of noise."""

    data: str
    n_rows: int
    noise: str
    seed: int

    def split(self):
        """Return X and (wrong) y to train on, and X and (correct) y to test on; features are standardised."""
        X, y = rows_of(self.data)
        rng = np.random.default_rng([self.seed, self.n_rows, 7])
        options = {"train_size": self.n_rows, "stratify": y, "random_state": int(rng.integers(2**31))}
        X_train, X_test, y_train, y_test = train_test_split(X, y, **options)
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test[:MOST_TESTED])
        wrong = wrong_rows(X_train, y_train, self.noise, rng)
        n_classes = int(y.max()) + 1
        offsets = np.ones(len(y_train), dtype=int) if n_classes == 2 else rng.integers(1, n_classes, len(y_train))
        return X_train, np.where(wrong, (y_train + offsets) % n_classes, y_train), X_test, y_test[:MOST_TESTED]


def sizes(name: str, wanted) -> list[int]:
    """Return the wanted numbers of training rows that leave enough to test on; for a small set, 60 % of it."""
    total = len(rows_of(name)[1])
    possible = [size for size in wanted if total - size >= LEAST_TESTED]
    return possible or [int(0.62 * total)]


def wrong_rows(X, y, noise: str, rng) -> np.ndarray:
    """Return which labels are wrong."""
    n = len(y)
    if noise == "clean":
        return np.zeros(n, dtype=bool)
    if noise == "boundary":
        return rng.random(n) < 0.5 * np.maximum(0.0, 1.0 - _ranks_of_distance(X, y) / 0.8)
    if noise == "class":
        candidates, share = np.flatnonzero(y == np.bincount(y).argmax()), 0.4
    else:
        candidates, share = np.arange(n), float(noise.split()[0]) / 100
    wrong = np.zeros(n, dtype=bool)
    wrong[rng.permutation(candidates)[: round(share * len(candidates))]] = True
    return wrong


def _ranks_of_distance(X, y) -> np.ndarray:
    """Return the ranks, from 0 to 1, of the rows' distances from the boundary of a clean logistic regression."""
    scores = LogisticRegression(max_iter=2000).fit(X, y).decision_function(X)
    if scores.ndim == 2:
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        scores = first - second
    return np.abs(scores).argsort().argsort() / (len(y) - 1)
