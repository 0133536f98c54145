"""The data sets of the study, training sets of a given size, and how labels are wrong
there or test rows shifted.

The defaults are fixed on the data sets in DECIDED; those in REPORTED are for reports
only. a5a and adult are the same people, hence in the same half. With three or more
classes, a wrong label is drawn uniformly from the others. Shifts are for two classes.
Text is sparse and not standardised.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from _common import data_file, load
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

DECIDED = ("german.numer", "w1a", "wine", "breast_cancer", "a5a", "adult")
DECIDED += ("tic-tac-toe", "wilt", "jm1", "phoneme", "electricity", "arrhythmia")
REPORTED = ("ijcnn1", "spambase", "splice", "digits, odd or even")
REPORTED += ("titanic", "magic04", "mammography", "digits, below five")
MULTICLASS = ("digits, ten classes",)
TEXT = ("rt-polarity",)
TEXT_SIZE = 1500
TEXT_SHARE = 0.8
NOISE = ("clean", "20 %", "35 %", "class", "boundary")
BIASED = "biased sample"
ERRORS = ("one row", "2 % of rows", "1 % of cells")
"""Gross errors in training rows."""
ERRORS_IN_TEST = tuple(f"{error}, tested" for error in ERRORS)
MOVES = ("against the model", "towards the other class", "Gaussian", "missing columns")
SHIFTS = (*MOVES, BIASED)
LENGTH = 0.5
LOST = 0.2
BIAS = 4.0
MAX_TESTED = 5000
MIN_TESTED = 60

BUILT_IN: dict[str, Callable] = {
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: _relabelled(load_wine, lambda y: y == 1),
    "digits, odd or even": lambda: _relabelled(load_digits, lambda y: y % 2),
    "digits, below five": lambda: _relabelled(load_digits, lambda y: y < 5),
    "tic-tac-toe": lambda: _final_boards(),
    "digits, ten classes": lambda: load_digits(return_X_y=True),
    "wine, three classes": lambda: load_wine(return_X_y=True),
}


def _relabelled(loader, label):
    X, y = loader(return_X_y=True)
    return X, label(y).astype(int)


def _final_boards() -> tuple[np.ndarray, np.ndarray]:
    """Return the 958 boards with which a game of tic-tac-toe can end, x first: is a
    cell blank, x or o; has x not won?

    A game ends with a line, of x after its move (one more x than o) or of o after its
    own, or with a full board.
    """
    boards = np.array(list(product(range(3), repeat=9)))
    grid = np.arange(9).reshape(3, 3)
    lines = np.array([*grid, *grid.T, grid.diagonal(), grid[::-1].diagonal()])
    x_wins, o_wins = (
        (boards[:, lines] == player).all(axis=2).any(axis=1) for player in (1, 2)
    )
    ahead = (boards == 1).sum(axis=1) - (boards == 2).sum(axis=1)
    full = (boards > 0).all(axis=1)
    final = np.where(
        ahead == 1, (x_wins | full) & ~o_wins, (ahead == 0) & o_wins & ~x_wins
    )
    return (boards[final, :, None] == range(3)).reshape(-1, 27).astype(float), ~x_wins[
        final
    ]


@lru_cache
def rows_of(name: str):
    """Return X (dense, unless it is text) and the codes of the labels."""
    X, y = BUILT_IN[name]() if name in BUILT_IN else load(name)
    return X if isinstance(X, np.ndarray) or name in TEXT else X.toarray(), np.unique(
        y, return_inverse=True
    )[1]


def is_available(name: str) -> bool:
    return name in BUILT_IN or data_file(name) is not None


class Case(NamedTuple):
    """A training set with labels of one kind of noise, or a shift between training and
    use.
    """

    data: str
    n_rows: int
    setting: str
    seed: int

    def split(self):
        """Return X and (wrong) y to train on, and X and (correct) y to test on.

        Features are standardised, not text.
        """
        X, y = rows_of(self.data)
        rng = np.random.default_rng([self.seed, self.n_rows, 7])
        divide = biased_split if self.setting == BIASED else train_test_split
        options = {
            "train_size": self.n_rows,
            "stratify": y,
            "random_state": int(rng.integers(2**31)),
        }
        X_train, X_test, y_train, y_test = divide(X, y, **options)
        X_test = X_test[:MAX_TESTED]
        y_test = y_test[:MAX_TESTED]
        errors = (
            ()
            if self.data in TEXT
            else (None, self.setting)
            if self.setting in ERRORS
            else (None,)
        )
        for error in errors:  # in deviations of correct rows
            X_train = with_errors(X_train, error, rng)
            scaler = StandardScaler().fit(X_train)
            X_train = scaler.transform(X_train)
            X_test = scaler.transform(X_test)
        wrong = wrong_rows(X_train, y_train, self.setting, rng)
        n_classes = int(y.max()) + 1
        offsets = (
            np.ones(len(y_train), dtype=int)
            if n_classes == 2
            else rng.integers(1, n_classes, len(y_train))
        )
        return (
            X_train,
            np.where(wrong, (y_train + offsets) % n_classes, y_train),
            X_test,
            y_test,
        )

    def moved(self, X, y, move: str, model) -> np.ndarray:
        """Return the test rows after a shift, which may be aimed at the model.

        The same for all others.
        """
        rng = np.random.default_rng([self.seed, self.n_rows, 11])
        if move in ERRORS_IN_TEST:
            return with_errors(X, move.removesuffix(", tested"), rng)
        if move == "Gaussian":
            return X + LENGTH * rng.normal(size=X.shape)
        if move == "missing columns":
            return np.where(rng.random(X.shape[1]) < LOST, 0.0, X)
        means = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        direction = model.coef_[0] if move == "against the model" else means
        return X - LENGTH * np.outer(
            2 * y - 1, direction / max(np.linalg.norm(direction), 1e-300)
        )


def with_errors(X, error: str | None, rng) -> np.ndarray:
    """Return standardised rows with gross errors: 1,000 deviations in a row, or 100 in
    some rows or cells.
    """
    X, signs = X.copy(), rng.choice([-1.0, 1.0], X.shape)
    if error == "one row":
        row = rng.integers(len(X))
        X[row] = 1000.0 * signs[row]
    elif error == "2 % of rows":
        rows = rng.permutation(len(X))[: max(1, round(0.02 * len(X)))]
        X[rows] = 100.0 * rng.standard_cauchy((len(rows), X.shape[1]))
    elif error == "1 % of cells":
        X += np.where(rng.random(X.shape) < 0.01, 100.0 * signs, 0.0)
    return X


def biased_split(X, y, *, train_size: int, stratify, random_state: int):
    """Split so that training rows lie mostly at one end of the first principal
    component, test rows at the other.
    """
    rng = np.random.default_rng(random_state)
    centred = StandardScaler().fit_transform(X)
    sample = centred[rng.permutation(len(X))[:MAX_TESTED]]
    along = centred @ np.linalg.svd(sample, full_matrices=False)[2][0]
    chance = np.exp(along.argsort().argsort() / len(X) * BIAS)
    train = np.concatenate(
        [
            rng.choice(
                np.flatnonzero(stratify == label),
                size,
                replace=False,
                p=_normalised(chance[stratify == label]),
            )
            for label, size in enumerate(
                np.bincount(stratify) * train_size // len(stratify)
            )
        ]
    )
    test = rng.permutation(np.setdiff1d(np.arange(len(X)), train))
    return X[train], X[test], y[train], y[test]


def _normalised(chance) -> np.ndarray:
    return chance / chance.sum()


def sizes(name: str, wanted) -> list[int]:
    """Return the wanted numbers of training rows that leave enough to test on.

    For a small set, 60 % of it.
    """
    total = len(rows_of(name)[1])
    if name in TEXT:
        return [TEXT_SIZE, int(TEXT_SHARE * total)]
    possible = [size for size in wanted if total - size >= MIN_TESTED]
    return possible or [int(0.62 * total)]


def wrong_rows(X, y, noise: str, rng) -> np.ndarray:
    """Return which labels are wrong."""
    n = len(y)
    if noise in ("clean", *SHIFTS, *ERRORS):
        return np.zeros(n, dtype=bool)
    if noise == "boundary":
        return rng.random(n) < 0.5 * np.maximum(
            0.0, 1.0 - _ranks_of_distance(X, y) / 0.8
        )
    if noise == "class":
        candidates = np.flatnonzero(y == np.bincount(y).argmax())
        share = 0.4
    else:
        candidates = np.arange(n)
        share = float(noise.split()[0]) / 100
    wrong = np.zeros(n, dtype=bool)
    wrong[rng.permutation(candidates)[: round(share * len(candidates))]] = True
    return wrong


def _ranks_of_distance(X, y) -> np.ndarray:
    """Return the ranks, from 0 to 1, of the rows' distances from the boundary of a
    clean logistic regression.
    """
    scores = LogisticRegression(max_iter=2000).fit(X, y).decision_function(X)
    if scores.ndim == 2:
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        scores = first - second
    return np.abs(scores).argsort().argsort() / (len(y) - 1)
