"""Instances whose columns have very different scales, and their objectives and bounds
in 60 digits.
"""

import math

import mpmath
import numpy as np
from mpmath import mpf
from problems import NORMS, Plain

from drsvm import Problem, Status
from drsvm.certificate import uncharged_features

mpmath.mp.dps = 60

# a gap may be larger than claimed by this factor, and by this much
UNDERSTATED = 1.1
NOISE = 1e-13


def mixed_instance(seed):
    """Return a small problem with columns from 1e-6 to 1e6, mostly with radius 0, some
    with weights over 24 decades.
    """
    rng = np.random.default_rng((seed, 77))
    n = int(rng.integers(4, 60))
    d = int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    y = np.where(
        X @ rng.normal(size=d) + rng.choice([0, 0.3, 1, 3]) * rng.normal(size=n) > 0,
        1,
        -1,
    )
    y[0] = 1
    y[-1] = -1
    kind = rng.integers(4)
    if kind == 1:
        X[:, 0] = y * (0.1 + np.abs(X[:, 0]))
    X = (np.round(X) if kind == 2 else X) * 10.0 ** rng.uniform(-6, 6, d)
    if rng.random() < 0.2:  # far from 0
        X += 10.0 ** rng.uniform(0, 3) * X.std(axis=0)
    without_radius = rng.random() < 0.6
    ridge = rng.random() > (0.92 if without_radius else 0.6)
    return Problem(
        X,
        y,
        radius=(
            0.0
            if without_radius
            else float(10.0 ** rng.uniform(-6, 0) * rng.choice(np.abs(X).mean(axis=0)))
        ),
        flip_cost=float(rng.choice([np.inf, 1.0, np.abs(X).mean()])),
        norm=rng.choice(NORMS),
        l2=float(10.0 ** rng.uniform(-12, 2)) if ridge else 0.0,
        fit_intercept=bool(rng.random() < 0.5),
        sample_weight=10.0 ** rng.uniform(-24, 0, n) if rng.random() < 0.3 else None,
        feature_cost=(
            np.where(rng.random(d) < 0.4, np.inf, 1.0)
            if not ridge and rng.random() < 0.2
            else None
        ),
    )


def exact(values):
    return [mpf(float(value)) for value in values]


def norm_of(values, order):
    sizes = [abs(value) for value in values]
    if order == 2:
        return mpmath.sqrt(mpmath.fsum(size * size for size in sizes))
    return mpmath.fsum(sizes) if order == 1 else max(sizes, default=mpf(0))


def exact_objective(problem, w, b):
    """Return the objective with the best λ."""
    weights = exact(w)
    pi = exact(problem.sample_weight)
    cost = problem.flip_cost
    rows = zip(Plain.of(problem).X, problem.signs, strict=True)
    scores = (
        (int(sign), mpmath.fdot(zip(exact(row), weights, strict=True)) + mpf(float(b)))
        for row, sign in rows
    )
    margins = [sign * score for sign, score in scores]
    hinges = [max(1 - margin, mpf(0)) for margin in margins]
    ridge = mpf(problem.l2) / 2 * mpmath.fsum(weight * weight for weight in weights)
    if problem.radius == 0.0:
        return mpmath.fdot(zip(pi, hinges, strict=True)) + ridge
    size = norm_of(
        [
            w
            for w, inside in zip(weights, ~problem.trusted_features, strict=True)
            if inside
        ],
        problem.norm.q,
    )

    def risk(price):
        flips = [
            1 + margin - mpf(cost) * price if math.isfinite(cost) else mpf(0)
            for margin in margins
        ]
        losses = [max(pair) for pair in zip(hinges, flips, strict=True)]
        return mpf(problem.radius) * price + mpmath.fdot(zip(pi, losses, strict=True))

    prices = [size]
    if 0 < cost < math.inf:
        prices += [
            (1 + m - hinge) / mpf(cost)
            for m, hinge in zip(margins, hinges, strict=True)
        ]
    return min(risk(price) for price in prices if price >= size) + ridge


def exact_multipliers(problem, result):
    """Return the multipliers of a result, balanced if there is an intercept: (α, β), in
    60 digits.
    """
    kept = slice(None) if problem.kept is None else problem.kept
    alpha = exact(result.hinge_dual[kept])
    beta = exact(result.flip_dual[kept])
    assert min(alpha + beta) >= 0
    triples = zip(alpha, beta, problem.sample_weight, strict=True)
    assert all(a + b <= mpf(float(pi)) * (1 + 1e-12) for a, b, pi in triples)
    if problem.fit_intercept:
        sides = [[alpha, beta], [beta, alpha]]
        totals = [
            mpmath.fsum(side[int(sign < 0)][i] for i, sign in enumerate(problem.signs))
            for side in sides
        ]
        factors = [min(totals) / total if total > 0 else mpf(0) for total in totals]
        for i, sign in enumerate(problem.signs):
            alpha[i] *= factors[int(sign < 0)]
            beta[i] *= factors[int(sign > 0)]
    return alpha, beta


def exact_bound(problem, result):
    """Return the bound that the multipliers of a result prove, under its condition."""
    alpha, beta = exact_multipliers(problem, result)
    signed = [
        (a - b) * int(sign)
        for a, b, sign in zip(alpha, beta, problem.signs, strict=True)
    ]
    columns = [exact(column) for column in Plain.of(problem).X.T]
    gradient = [mpmath.fdot(zip(signed, column, strict=True)) for column in columns]
    mass = mpmath.fsum(alpha + beta)
    flipped = mpmath.fsum(beta)
    cost = mpf(problem.flip_cost) * flipped if flipped > 0 else mpf(0)
    pi = exact(problem.sample_weight)

    def bound(free):
        """Return the bound if the features in a mask are outside the ball."""
        inside = [v for v, outside in zip(gradient, free, strict=True) if not outside]
        charged = [j for j in np.flatnonzero(free) if gradient[j] != 0]
        if charged and math.isinf(result.contribution_bound):
            return mpf(0)
        sizes = {
            j: mpmath.sqrt(
                mpmath.fdot((p, x * x) for p, x in zip(pi, columns[j], strict=True))
            )
            for j in charged
        }
        left = mass - max(
            (
                mpf(result.contribution_bound) * abs(gradient[j]) / sizes[j]
                for j in charged
            ),
            default=mpf(0),
        )
        if problem.l2 > 0:
            return left - distance(
                inside, mpf(problem.radius) - cost, problem.norm.p
            ) / (2 * mpf(problem.l2))
        needed = norm_of(inside, problem.norm.p) + cost
        return max(left, mpf(0)) * (
            min(mpf(1), mpf(problem.radius) / needed) if needed > 0 else 1
        )

    return max(map(bound, uncharged_features(problem)))


def distance(gradient, budget, p):
    """Return the squared distance of the pull from the ball."""
    sizes = sorted((abs(v) for v in gradient), reverse=True)
    budget = max(budget, mpf(0))
    if p == 2:
        return max(norm_of(gradient, 2) - budget, mpf(0)) ** 2
    threshold = budget
    if p == 1:
        sums = [mpmath.fsum(sizes[: k + 1]) for k in range(len(sizes))]
        threshold = max(
            [(total - budget) / (k + 1) for k, total in enumerate(sums)], default=mpf(0)
        )
        threshold = max(threshold, mpf(0))
        return mpmath.fsum(min(size, threshold) ** 2 for size in sizes)
    return mpmath.fsum(max(size - threshold, mpf(0)) ** 2 for size in sizes)


def untrue_claims(problem, answers):
    """Yield what exact arithmetic, or the best answer of all, says against the answers:
    a dict by solver.
    """
    objectives = {
        name: exact_objective(problem, result.weights, result.intercept)
        for name, result in answers.items()
    }
    best = min(objectives.values())
    for name, result in answers.items():
        excess = float(objectives[name] - best)
        allowed = UNDERSTATED * result.tol + NOISE
        if result.status.reached and excess > allowed:
            yield (
                f"{name}: {result.status}, but {float(objectives[name])} is {excess}"
                " above another answer"
            )
        if result.status is Status.OPTIMAL and math.isfinite(result.weight_bound):
            yield f"{name}: optimal for weights up to {result.weight_bound} only"
        gap = float(objectives[name] - max(exact_bound(problem, result), 0))
        if gap > UNDERSTATED * result.gap + NOISE:
            yield f"{name}: {result.status} with the gap {result.gap}, but it is {gap}"
