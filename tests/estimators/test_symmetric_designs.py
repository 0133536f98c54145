"""Symmetric and structured designs: cells with a little noise make no other classifier."""

import itertools
import warnings

import numpy as np
import pytest

from drsvm import WassersteinKernelSVC, WassersteinSVC

NOISE = 1e-5


def grid(side, n_columns=2):
    places = np.linspace(-1.6, 1.6, side)
    return np.array(list(itertools.product(places, repeat=n_columns)))


def board(side, n_cells):
    X = grid(side)
    return X, np.floor((X / 3.2001 + 0.5) * n_cells).astype(int).sum(axis=1) % 2


def labelled(X, rule):
    return X, (rule(*X.T) > 0).astype(int)


def repeated(X, y, times):
    return X.repeat(times, axis=0), y.repeat(times)


def factorial(n_columns, rule):
    return labelled(
        np.array(list(itertools.product([-1.0, 1.0], repeat=n_columns))), rule
    )


def one_hot(levels, n_rows, wrong):
    rng = np.random.default_rng(len(levels))
    blocks = []
    sums = np.zeros(n_rows)
    for n_levels in levels:
        codes = rng.integers(n_levels, size=n_rows)
        blocks.append(np.eye(n_levels)[codes])
        sums += rng.normal(size=n_levels)[codes]
    y = (sums > np.median(sums)) ^ (rng.random(n_rows) < wrong)
    return np.hstack(blocks), y.astype(int)


def mirrored(both_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    other = 1 - y if both_classes else y
    return np.vstack([X, -X]), np.append(y, other)


def copies(times):
    rng = np.random.default_rng(times)
    X = rng.normal(size=(80, 3))
    return repeated(X, (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int), times)


def circle(n_rows, radius=1.0):
    angles = 2.0 * np.pi * np.arange(n_rows) / n_rows
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def two_columns(a, b, *others):
    return a * b


def three_columns(a, b, c, *others):
    return a * b * c


FEW = {
    "board of 3 cells": board(12, 3),
    "board of 4 cells": board(16, 4),
    "XOR, 50 copies": repeated(*factorial(2, two_columns), 50),
    "three copies": copies(3),
    "one-hot": one_hot((5, 4, 3), 300, 0.05),
    "parity of two in six": factorial(6, two_columns),
}
MORE = {
    "board of 2 cells": board(16, 2),
    "board of 3 cells, fine": board(30, 3),
    "board of 4 cells, fine": board(24, 4),
    "board of 5 cells": board(20, 5),
    "board of 5 cells, fine": board(30, 5),
    "parity of two in eight": factorial(8, two_columns),
    "parity of three in six": factorial(6, three_columns),
    "parity of three in eight": factorial(8, three_columns),
    "parity of all six": factorial(6, lambda *columns: np.prod(columns, axis=0)),
    "parity of two in four, copies": repeated(*factorial(4, two_columns), 8),
    "main effect in six": factorial(6, lambda a, *others: a),
    "main effect in three, copies": repeated(*factorial(3, lambda a, *rest: a), 16),
    "majority in six": factorial(6, lambda a, b, c, *others: a + b + c),
    "majority in eight": factorial(8, lambda a, b, c, *others: a + b + c),
    "disk": labelled(grid(15), lambda a, b: 1.1 - np.hypot(a, b)),
    "half": labelled(grid(15), lambda a, b: a - 0.05),
    "stripes": labelled(grid(15), lambda a, b: np.abs(a) - 0.55),
    "octants": labelled(grid(6, 3), three_columns),
    "thirds of a line": labelled(grid(200, 1), lambda a: np.abs(a) - 0.55),
    "rings": (np.vstack([circle(120), circle(120, 2.0)]), np.repeat([0, 1], 120)),
    "sectors": (circle(120), np.arange(120) // 15 % 2),
    "mirrored, the same label": mirrored(False),
    "mirrored, the other label": mirrored(True),
    "two copies": copies(2),
    "four copies": copies(4),
    "one-hot, one block": one_hot((6,), 150, 0.1),
    "one-hot, three levels": one_hot((3, 3, 3), 240, 0.1),
    "one-hot, two levels": one_hot((2, 2, 2, 2), 200, 0.05),
}


def check(X, y):
    noise = np.random.default_rng(0).normal(size=X.shape)
    for estimator in (WassersteinSVC, WassersteinKernelSVC):
        with warnings.catch_warnings():
            # A plane does not separate most of them.
            warnings.filterwarnings("ignore", "The fitted classifier is constant")
            exact = estimator().fit(X, y).score(X, y)
            noisy = estimator().fit(X + NOISE * noise, y).score(X, y)
        assert abs(exact - noisy) <= 0.02


@pytest.mark.parametrize("name", FEW)
def test_a_little_noise_makes_no_other_classifier(name):
    check(*FEW[name])


@pytest.mark.thorough
@pytest.mark.parametrize("name", MORE)
def test_a_little_noise_makes_no_other_classifier_in_more_designs(name):
    check(*MORE[name])


@pytest.mark.parametrize("n_cells", [2, 3, 4])
def test_boards_are_learnt(n_cells):
    X, y = board(24, n_cells)
    assert WassersteinKernelSVC().fit(X, y).score(X, y) > 0.98


@pytest.mark.parametrize("times", [1, 10])
def test_a_fit_says_that_a_class_has_no_unseen_rows(times):
    # All of its rows are in one fold, without which none of it are left to train on.
    X = np.random.default_rng(0).normal(size=(60, 2))
    X = np.vstack([X, np.full((times, 2), 2.0)])
    y = np.repeat([0, 1], [60, times])
    with pytest.warns(UserWarning, match="No row of class 1 can be left out"):
        model = WassersteinKernelSVC().fit(X, y)
    assert model.threshold_ == 0.0
