"""Audits in plain formulas: the adversary's linear programs, and distributions
recomputed atom by atom.

A model is a pair of the weights and the intercepts of its classes, and labels are
places among them.
"""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
PAIR = np.array([-0.5, 0.5])


def two_classes(model, y):
    """Return a model with one decision value, and labels ±1, as those of two
    classes.
    """
    w, b = model
    return (np.outer(PAIR, w), PAIR * b), (np.asarray(y) > 0).astype(int)


def plain_prices(X, ball):
    """Return weights that sum to 1, the flip cost of every row and the cost of every
    feature.
    """
    n, d = X.shape
    weights, costs = (ball.get(name) for name in ("sample_weight", "feature_cost"))
    weights = np.ones(n) if weights is None else weights
    return (
        weights / weights.sum(),
        np.broadcast_to(ball["flip_cost"], n),
        np.ones(d) if costs is None else costs,
    )


def free_shifts(X, ball):
    """Return by how much every row may shift for nothing."""
    return np.broadcast_to(ball.get("row_radius", 0.0), len(X))


def losses(values, labels):
    """Return the loss of Crammer and Singer, row by row."""
    return np.array(
        [
            max(0.0, 1 + np.delete(f, k).max() - f[k])
            for f, k in zip(values, labels, strict=True)
        ]
    )


def solved(gains, spent, budget, bounds=None, equal=((), ()), below=None):
    """Return the largest gain of a linear program with a budget."""
    rows, limits = (
        ([spent], [budget])
        if below is None
        else (np.vstack([spent, below]), [budget] + [0.0] * len(below))
    )
    fixed = {"A_eq": equal[0], "b_eq": equal[1]} if len(equal[1]) else {}
    answer = linprog(
        -np.asarray(gains),
        rows,
        limits,
        **fixed,
        bounds=bounds,
        method="highs",
        options=EXACT,
    )
    assert answer.status == 0, answer.message
    return -answer.fun


def hinge_program(model, X, y, ball):
    """Return the largest expected loss as a linear program over masses and their moves,
    without any dual norm.

    Each piece of each row (a label and the class that it is compared with) has a mass m
    and a move z = mass × shift. It costs ‖a ⊙ z‖_p: with p = 2 along the best
    direction, otherwise by bounds on the entries of z. What exceeds r × mass is paid.
    """
    coef, intercept = model
    weights, flips, prices = plain_prices(X, ball)
    values = X @ coef.T + intercept
    n, d = X.shape
    norm = ball["norm"]
    free = free_shifts(X, ball)
    pieces = [
        (i, label, other)
        for i in np.flatnonzero(weights > 0)
        for label in range(len(coef))
        if label == y[i] or math.isfinite(flips[i])
        for other in range(len(coef))
    ]
    # Mass; z in parts z⁺, z⁻, its length, or z and a bound; what is paid
    width = {1: 2 + 2 * d, 2: 3, math.inf: 3 + d}[norm]
    gains = np.zeros((len(pieces), width))
    spent = np.zeros((len(pieces), width))
    bounds = []
    below = []
    equal = np.zeros((n, len(pieces), width))
    for place, (i, label, other) in enumerate(pieces):
        step = coef[other] - coef[label]
        gains[place, 0] = (
            0.0 if other == label else 1 + values[i, other] - values[i, label]
        )
        spent[place, 0] = 0.0 if label == y[i] else flips[i]
        equal[i, place, 0] = 1.0
        spent[place, -1] = 1.0
        fixed = np.isinf(prices)
        beyond = np.zeros((len(pieces), width))
        beyond[place, [0, -1]] = -free[i], -1.0
        if norm == 2:
            gains[place, 1] = np.linalg.norm(step / prices)
            beyond[place, 1] = 1.0
            bounds += [(0, None)] * 3
        elif norm == 1:
            gains[place, 1:-1] = np.append(step, -step)
            beyond[place, 1:-1] = np.tile(np.where(fixed, 0.0, prices), 2)
            bounds += [
                (0, None),
                *((0, 0 if held else None) for held in np.tile(fixed, 2)),
                (0, None),
            ]
        else:
            gains[place, 1 : 1 + d] = step
            beyond[place, -2] = 1.0
            bounds += (
                [(0, None)]
                + [(0, 0) if held else (None, None) for held in fixed]
                + [(0, None)] * 2
            )
            for k, sign in [
                (k, sign) for k in np.flatnonzero(~fixed) for sign in (1.0, -1.0)
            ]:
                line = np.zeros((len(pieces), width))
                line[place, 1 + k] = sign * prices[k]
                line[place, -2] = -1.0
                below.append(line.ravel())
        below.append(beyond.ravel())
    used = weights > 0
    equations = equal.reshape(n, -1)[used], weights[used]
    return solved(
        gains.ravel(), spent.ravel(), ball["radius"], bounds, equations, np.array(below)
    )


def cost_to_cross(x, lead, offset, prices, norm):
    """Return the least cost ‖a ⊙ Δ‖_p with lead · (x + Δ) + offset ≤ 0, by a linear
    program unless p = 2.
    """
    ahead = float(lead @ x + offset)
    free = np.isfinite(prices)
    d = len(x)
    if ahead <= 0:
        return 0.0
    if not lead[free].any():
        return math.inf
    if norm == 2:
        return ahead / np.linalg.norm((lead / prices)[free])
    fixed = [(0, None if one else 0) for one in np.tile(free, 2)]
    finite = np.tile(np.where(free, prices, 0.0), 2)
    if norm == 1:
        answer = linprog(
            finite, [np.append(lead, -lead)], [-ahead], bounds=fixed, options=EXACT
        )
    else:
        single = np.hstack([np.diag(finite[:d]), np.diag(finite[:d]), -np.ones((d, 1))])
        crossing = np.append(np.append(lead, -lead), 0.0)
        limits = np.append(np.zeros(d), -ahead)
        answer = linprog(
            np.eye(2 * d + 1)[-1],
            np.vstack([single, crossing]),
            limits,
            bounds=[*fixed, (0, None)],
        )
    assert answer.status == 0
    return answer.fun


def error_program(model, X, y, ball):
    """Return the largest error rate: the cheapest rows are turned wrong until the
    budget is spent.
    """
    coef, intercept = model
    weights, flips, prices = plain_prices(X, ball)
    costs = np.array(flips, dtype=float)
    free = free_shifts(X, ball)
    for i, label in enumerate(y):
        for other in np.delete(np.arange(len(coef)), label):
            pair = coef[label] - coef[other], intercept[label] - intercept[other]
            shift = cost_to_cross(X[i], *pair, prices, ball["norm"])
            costs[i] = min(costs[i], max(shift - free[i], 0.0))
    usable = np.isfinite(costs)
    bounds = [(0, weight) for weight in weights[usable]]
    return (
        solved(np.ones(usable.sum()), costs[usable], ball["radius"], bounds)
        if usable.any()
        else 0.0
    )


def check_distribution(distribution, model, X, y, ball, slack=1e-3):
    """Recompute the attributes of a distribution from its features and labels alone."""
    coef, intercept = model
    X, features = (
        rows.toarray() if sparse.issparse(rows) else rows
        for rows in (X, distribution.features)
    )
    weights, flips, prices = plain_prices(X, ball)
    rows = distribution.rows
    mass = distribution.mass
    flipped = distribution.flipped
    labels = np.where(distribution.labels == -1, 0, distribution.labels)
    assert (mass >= 0).all() and mass.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(
        np.bincount(rows, mass, minlength=len(y)), weights, rtol=1e-12, atol=1e-16
    )
    np.testing.assert_array_equal(labels != y[rows], flipped)
    steps = features - X[rows]
    held = np.isinf(prices)
    assert not steps[:, held].any() and np.isfinite(flips[rows[flipped]]).all()
    shifts = np.linalg.norm(steps * np.where(held, 1.0, prices), ball["norm"], axis=1)
    shifts = np.maximum(shifts - free_shifts(X, ball)[rows], 0.0)
    cost = mass @ shifts + mass[flipped] @ flips[rows[flipped]]
    rounding = 1e-14 * (np.abs(features) @ np.where(held, 1.0, prices)).max()
    rounding += 1e-15 * free_shifts(X, ball).max()
    assert cost <= ball["radius"] * (1 + 1e-12) + rounding
    # What is paid is a difference from what is free.
    of_free = 1e-15 * free_shifts(X, ball).max()
    assert distribution.transport_cost <= ball["radius"] * (1 + 1e-12) + of_free
    assert distribution.transport_cost == pytest.approx(cost, rel=1e-12, abs=rounding)
    sizes = 1 + np.abs(features) @ np.abs(coef).sum(axis=0) + np.abs(intercept).sum()
    tolerance = 1e-10 * distribution.risk + 1e-14 * (mass @ sizes)
    loss = mass @ losses(features @ coef.T + intercept, labels)
    assert distribution.expected_loss == pytest.approx(loss, abs=tolerance)
    assert loss <= distribution.risk + tolerance
    assert loss >= distribution.risk - tolerance - (
        0 if distribution.attained else slack
    )
