"""Small problems that are hard on a solver's arithmetic: mixed scales, prices over many
decades, degenerate rows.

``python tests/adversarial.py 0 3500 outcome.json`` solves the problems of these seeds
with "auto" and lists those that are not proven to its tolerance.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
from instances import power
from problems import NORMS

from drsvm import Problem, solve


def adversarial_rows(rng):
    """Return 2 to 40 rows of 1 to 20 features with labels of both classes."""
    n = int(rng.integers(2, 41))
    d = int(rng.integers(1, 21))
    X = rng.normal(size=(n, d))
    y = np.where(
        X @ rng.normal(size=d) + rng.choice([0.0, 0.5, 2.0]) * rng.normal(size=n) > 0,
        1,
        -1,
    )
    y[0] = 1
    y[-1] = -1
    if rng.random() < 0.2:
        X = np.round(X)
    if rng.random() < 0.25:  # repeated rows, some with both labels
        X = X[rng.integers(n, size=n)]
    if rng.random() < 0.2:
        X[rng.random(n) < 0.3] = 0.0
    if rng.random() < 0.2:
        X[:, rng.random(d) < 0.3] = 0.0
    if rng.random() < 0.7:
        X *= power(rng, *rng.choice([(-6, 6), (-3, 3)]), d)
    if rng.random() < 0.2:
        X *= power(rng, -4, 4, n)[:, None]
    if rng.random() < 0.15:
        X += power(rng, 0, 4) * X.std(axis=0)
    if rng.random() < 0.2:
        X *= power(rng, -6, 6)
    return X, y


def adversarial_instance(seed):
    """Return a problem; all parameters are drawn, each from its whole range."""
    rng = np.random.default_rng((seed, 4711))
    X, y = adversarial_rows(rng)
    n, d = X.shape
    intercept = rng.choice(["none", "free", "priced"])
    by_row = rng.random() < 0.35
    costs = [0.0, 1e-3, 0.1, 1.0, 10.0, 1e3, math.inf, math.inf]
    weights = rng.choice(["equal", "some", "many"], p=[0.4, 0.25, 0.35])
    return Problem(
        X,
        y,
        radius=float(
            rng.choice(
                [
                    0.0,
                    0.0,
                    1e-6,
                    1e-4,
                    1e-3,
                    0.01,
                    0.1,
                    1.0,
                    100.0,
                    1e6,
                    power(rng, -6, 3),
                ]
            )
        ),
        flip_cost=(
            rng.choice(costs, size=n)
            if by_row
            else float(rng.choice([*costs, power(rng, -3, 3)]))
        ),
        norm=rng.choice(NORMS),
        l2=float(
            rng.choice([0.0, 0.0, 0.0, 1e-8, 1e-4, 1e-2, 1.0, 1e3, power(rng, -8, 4)])
        ),
        sample_weight={
            "equal": None,
            "some": power(rng, -4, 0, n),
            "many": power(rng, -12, 0, n),
        }[weights],
        fit_intercept=bool(intercept != "none"),
        intercept_cost=float(power(rng, -3, 3)) if intercept == "priced" else math.inf,
        feature_cost=(
            rng.choice([0.01, 1.0, 100.0, power(rng, -3, 3), math.inf], size=d)
            if rng.random() < 0.3
            else None
        ),
        monotonic_cst=rng.integers(-1, 2, size=d) if rng.random() < 0.1 else None,
    )


def outcome(seed, solver="auto"):
    """Return the figures of a solve."""
    begun = time.perf_counter()
    result = solve(adversarial_instance(seed), solver)
    figures = {
        name: getattr(result, name)
        for name in ("objective", "lower_bound", "gap", "n_iter", "solver")
    }
    return {
        "seed": seed,
        "status": result.status.name,
        **figures,
        "time": time.perf_counter() - begun,
    }


def is_proven(figures):
    return figures["gap"] <= 1e-6 and figures["status"].startswith("OPTIMAL")


if __name__ == "__main__":
    outcomes = [outcome(seed) for seed in range(int(sys.argv[1]), int(sys.argv[2]))]
    missed = [one for one in outcomes if not is_proven(one)]
    for one in missed:
        print(one)
    print(f"{len(missed)} of {len(outcomes)} not proven")
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps(outcomes))
