"""A plain attack on a classifier: moves of single rows, and the best way to pay for them.

What it reaches is a lower bound on the worst case, for tests of bounds from above.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

# Lengths of the balls that rows are moved in, relative to one that is given
LENGTHS = np.geomspace(0.05, 8.0, 8)
STEPS = 8
HALVINGS = 30
DIFFERENCE = 1e-6


def lead_of(values, labels):
    """Return by how much labels lead the best other class, from values (classes, n)."""
    values = values.copy()
    own = values[labels, np.arange(len(labels))]
    values[labels, np.arange(len(labels))] = -np.inf
    return own - values.max(axis=0)


def values_of_two(model):
    """Return the values of both classes of a classifier as a function of rows."""

    def values(rows):
        decisions = 0.5 * model.decision_function(rows)
        return np.stack([-decisions, decisions])

    return values


def attacked(values_of, X, y, radii, loss, ball, length=1.0):
    """Return an expected loss that a distribution within each radius has.

    `values_of` returns the values of all classes, (classes, n), for rows; y has places
    of classes. The ball is as in `worst_case_risk`, with a number as flip cost. Rows
    are moved as far as `length` times `LENGTHS`.
    """
    costs = ball.get("feature_cost")
    ratios = np.ones(X.shape[1]) if costs is None else 1.0 / np.asarray(costs)
    free = np.broadcast_to(ball.get("row_radius", 0.0), len(y))
    flip_cost = ball.get("flip_cost", np.inf)
    weights = ball.get("sample_weight")
    weights = np.ones(len(y)) if weights is None else weights

    gains = []
    prices = []
    n_classes = len(values_of(X))
    for turn in range(n_classes if np.isfinite(flip_cost) else 1):
        labels = (y + turn) % n_classes

        def margins(shifts, labels=labels):
            return lead_of(values_of(X + ratios * shifts), labels)

        for shifts in moves(margins, X.shape, free, length):
            lead = margins(shifts)
            # A tie is an error, which bisection comes to up to rounding.
            lost = lead <= 1e-12 if loss == "zero-one" else np.maximum(1.0 - lead, 0.0)
            gains.append(lost)
            paid = np.maximum(np.linalg.norm(shifts, axis=1) - free * (1 + 1e-12), 0.0)
            prices.append(paid + (flip_cost if turn else 0.0))
    return best_spent(np.array(gains), np.array(prices), weights, radii)


def moves(margins, shape, free, length):
    """Yield no shifts, and shifts with low margins in balls of several lengths.

    Where a shift crosses the boundary, the part of it that does so follows.
    """
    nothing = np.zeros(shape)
    yield nothing
    balls = [np.full(shape[0], length * each) for each in LENGTHS]
    for radius in [*balls, free]:
        shifts = nothing
        best = nothing
        for step in range(1, STEPS + 1):
            slopes = gradients(margins, shifts)
            sizes = np.linalg.norm(slopes, axis=1)
            size = (radius / step / np.where(sizes > 0.0, sizes, 1.0))[:, None]
            shifts = shifts - size * slopes
            # Back into the ball
            sizes = np.maximum(np.linalg.norm(shifts, axis=1), 1e-300)
            shifts = shifts * np.minimum(radius / sizes, 1.0)[:, None]
            better = margins(shifts) < margins(best)
            best = np.where(better[:, None], shifts, best)
        yield best
        inside = np.zeros(shape[0])
        across = np.ones(shape[0])
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + across)
            turned = margins(middle[:, None] * best) <= 0.0
            inside = np.where(turned, inside, middle)
            across = np.where(turned, middle, across)
        yield across[:, None] * best


def gradients(margins, shifts):
    """Return the gradients of margins, by differences."""
    slopes = np.zeros(shifts.shape)
    for column in range(shifts.shape[1]):
        step = np.zeros(shifts.shape[1])
        step[column] = DIFFERENCE
        change = margins(shifts + step) - margins(shifts - step)
        slopes[:, column] = change / (2.0 * DIFFERENCE)
    return slopes


def best_spent(gains, prices, weights, radii):
    """Return the largest expected gain for every radius: a linear program.

    Gains and prices have a line for each option of the rows, of which every row has one
    or a mixture.
    """
    n_options, n = gains.shape
    mass = weights / weights.sum()
    one_each = sparse.hstack([sparse.eye_array(n)] * n_options)
    found = []
    for radius in radii:
        program = linprog(
            -(gains * mass).ravel(),
            A_ub=(prices * mass).reshape(1, -1),
            b_ub=[radius],
            A_eq=one_each,
            b_eq=np.ones(n),
        )
        found.append(-program.fun)
    return np.array(found)
