"""The training problem as matrices, in several formulations, for general-purpose
solvers.

    minimise over w, λ    ε λ + Σ_i π_i max(1 − m_i, 1 + m_i − κ λ, 0) + (c/2) ‖w‖₂²
    subject to            ‖w‖_q ≤ λ,   m_i = y_i w·x_i

They have the same solution, but a solver may be several times faster on one than on
another.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Program:
    """Minimise ½ xᵀ diag(curvature) x + costᵀx over x, subject to linear constraints
    and at most one cone.

    equal·x = equal_to,   below·x ≤ below_at,   lower ≤ x ≤ upper,   x[cone[0]] ≥ ‖x[cone[1:]]‖₂
    """

    curvature: np.ndarray
    cost: np.ndarray
    equal: sparse.csc_matrix
    equal_to: np.ndarray
    below: sparse.csc_matrix
    below_at: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    cone: np.ndarray
    weights: slice
    proof: Callable
    """From x and the multipliers of `equal` and `below` to those of the problem: α
    (hinge) and β (flip).
    """
    weights_are_multipliers: bool = False

    def read(self, x, equality_multipliers) -> np.ndarray:
        """Return the weights of the classifier."""
        return np.array(equality_multipliers if self.weights_are_multipliers else x)[
            self.weights
        ]

    def multipliers(self, x, of_rows) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β from x and the multipliers of the rows: `equal`, `below`, and
        any that follow.
        """
        first = len(self.equal_to)
        last = len(self.equal_to) + len(self.below_at)
        return self.proof(
            np.array(x), np.array(of_rows[:first]), np.array(of_rows[first:last])
        )


class _Builder:
    """Builds a program block by block: variables have names, constraints are dicts from
    name to matrix.
    """

    def __init__(self, **sizes: int):
        ends = np.cumsum(list(sizes.values()))
        self.at = {
            name: slice(end - size, end)
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        self.size = int(ends[-1])
        self.curvature, self.cost = np.zeros(self.size), np.zeros(self.size)
        self.lower, self.upper = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        self.cone = np.zeros(0, dtype=int)
        self.rows = {"equal": [], "below": []}
        self.sides = {"equal": [], "below": []}

    def add(self, kind: str, blocks: dict, side) -> None:
        """Add the constraints Σ block·variable (= or ≤) side."""
        height = next(iter(blocks.values())).shape[0]
        self.rows[kind].append(
            [blocks.get(name, self._nothing(height, name)) for name in self.at]
        )
        self.sides[kind].append(np.broadcast_to(np.asarray(side, dtype=float), height))

    def _nothing(self, height: int, name: str):
        return sparse.csr_array((height, self.at[name].stop - self.at[name].start))

    def norm_below(self, q: float, w: str, level: str) -> None:
        """Add ‖w‖_q ≤ level; the 1-norm needs variables named `absolute`."""
        d = self.at[w].stop - self.at[w].start
        eye = sparse.eye_array(d)
        ones = np.ones((d, 1))
        if q == 2:
            self.cone = np.r_[self.at[level], self.at[w]]
        elif q == 1:
            self.add("below", {w: eye, "absolute": -eye}, 0.0)
            self.add("below", {w: -eye, "absolute": -eye}, 0.0)
            self.add("below", {"absolute": ones.T, level: -np.ones((1, 1))}, 0.0)
        else:
            self.add("below", {w: eye, level: -ones}, 0.0)
            self.add("below", {w: -eye, level: -ones}, 0.0)

    def program(self, **answer) -> Program:
        """Return the program; `answer` says how to read it: weights and proof."""
        # Fmt: skip
        return Program(
            self.curvature,
            self.cost,
            *self._stack("equal"),
            *self._stack("below"),
            self.lower,
            self.upper,
            self.cone,
            **answer,
        )

    def _stack(self, kind: str):
        if not self.rows[kind]:
            return sparse.csc_matrix((0, self.size)), np.zeros(0)
        matrix = sparse.csc_matrix(sparse.block_array(self.rows[kind], format="csc"))
        matrix.sort_indices()
        matrix.indices, matrix.indptr = (
            matrix.indices.astype(np.int32),
            matrix.indptr.astype(np.int32),
        )
        return matrix, np.concatenate(self.sides[kind])


def signed_rows(problem) -> sparse.csr_array:
    """Return the rows y_i x_i, so that margins are a product with w."""
    return sparse.csr_array(sparse.csr_array(problem.X) * problem.signs[:, None])


def _primal(problem, **more: int) -> _Builder:
    """Return a builder with w, λ, one loss per row and `more` variables.

    Objective and norm are included.
    """
    n = problem.n_rows
    d = problem.n_features
    build = _Builder(
        w=d, level=1, loss=n, **more, absolute=d if problem.norm.q == 1 else 0
    )
    build.curvature[build.at["w"]] = problem.l2
    build.cost[build.at["level"]] = problem.radius
    build.cost[build.at["loss"]] = problem.sample_weight
    build.lower[build.at["loss"]] = 0.0
    build.norm_below(problem.norm.q, "w", "level")
    return build


def pieces(problem) -> Program:
    """Bound each loss below by its two linear pieces: the textbook formulation, which
    contains the data twice.
    """
    n = problem.n_rows
    build = _primal(problem)
    Z = signed_rows(problem)
    eye = sparse.eye_array(n)
    build.add("below", {"w": -Z, "loss": -eye}, -1.0)
    build.add(
        "below",
        {"w": Z, "level": np.full((n, 1), -problem.flip_cost), "loss": -eye},
        -1.0,
    )
    return build.program(weights=build.at["w"], proof=_two_last_blocks(n))


def _two_last_blocks(n: int) -> Callable:
    return lambda x, equal, below: (below[-2 * n : -n], below[-n:])


def margins(problem) -> Program:
    """Make the margins separate variables, m = Zw: the data appear once."""
    n = problem.n_rows
    build = _primal(problem, margin=n)
    Z = signed_rows(problem)
    eye = sparse.eye_array(n)
    build.add("equal", {"w": Z, "margin": -eye}, 0.0)
    build.add("below", {"margin": -eye, "loss": -eye}, -1.0)
    build.add(
        "below",
        {"margin": eye, "level": np.full((n, 1), -problem.flip_cost), "loss": -eye},
        -1.0,
    )
    return build.program(weights=build.at["w"], proof=_two_last_blocks(n))


def excess(problem) -> Program:
    """Zw = 1 − loss + excess with excess ≥ 0: the data appear once, and two of the
    three pieces are simple bounds.
    """
    n = problem.n_rows
    build = _primal(problem, excess=n)
    Z = signed_rows(problem)
    eye = sparse.eye_array(n)
    build.lower[build.at["excess"]] = 0.0
    build.add("equal", {"w": Z, "loss": eye, "excess": -eye}, 1.0)
    build.add(
        "below",
        {
            "excess": eye,
            "level": np.full((n, 1), -problem.flip_cost),
            "loss": -2.0 * eye,
        },
        -2.0,
    )
    return build.program(
        weights=build.at["w"],
        proof=lambda x, equal, below: (below[-n:] - equal, below[-n:]),
    )


def dual(problem) -> Program:
    """The dual in g = α − β and β: the weights are the multipliers of Zᵀg = force (+
    pull, with a ridge).
    """
    n = problem.n_rows
    d = problem.n_features
    ridge = d if problem.l2 > 0 else 0
    build = _Builder(
        net=n,
        flip=n,
        force=d,
        pull=ridge,
        budget=1,
        absolute=d if problem.norm.p == 1 else 0,
    )
    Z = signed_rows(problem)
    eye = sparse.eye_array(n)
    build.cost[build.at["net"]] = -1.0
    build.cost[build.at["flip"]] = -2.0
    build.lower[build.at["flip"]] = 0.0
    build.lower[build.at["budget"]] = 0.0
    build.curvature[build.at["pull"]] = 1.0 / problem.l2 if ridge else 0.0
    pull = {"pull": -sparse.eye_array(d)} if ridge else {}
    build.add("equal", {"net": Z.T, "force": -sparse.eye_array(d), **pull}, 0.0)
    build.add(
        "equal",
        {"flip": np.full((1, n), problem.flip_cost), "budget": np.ones((1, 1))},
        problem.radius,
    )
    build.add("below", {"net": eye, "flip": 2.0 * eye}, problem.sample_weight)
    build.add("below", {"net": -eye, "flip": -eye}, 0.0)
    build.norm_below(problem.norm.p, "force", "budget")
    net = build.at["net"]
    flip = build.at["flip"]
    return build.program(
        weights=slice(0, d),
        proof=lambda x, equal, below: (x[net] + x[flip], x[flip]),
        weights_are_multipliers=True,
    )


FORMULATIONS = {"pieces": pieces, "margins": margins, "excess": excess, "dual": dual}


def cvxpy_model(problem):
    """Return the problem as a CVXPY model, with all prices and signs, and its variables
    by name.
    """
    import cvxpy as cp

    from drsvm.solvers.interior_point.cones import entries_with_cost

    w = cp.Variable(problem.n_features)
    price = cp.Variable()
    b = cp.Variable() if problem.fit_intercept else 0.0
    margins = cp.multiply(problem.signs, problem.X @ w + b)
    bounded = np.isfinite(problem.flip_costs)
    costs = np.where(bounded, problem.flip_costs, 0.0)
    flipped = cp.multiply(bounded, 1 + margins) - costs * price  # 0 for trusted labels
    risk = problem.radius * price + problem.sample_weight @ cp.maximum(
        1 - margins, flipped, 0
    )
    ridge = 0.5 * problem.l2 * cp.sum_squares(w)
    constraints = [price >= 0]
    entries, prices = entries_with_cost(problem)
    if len(entries):
        priced = cp.hstack([w, b] if problem.fit_intercept else [w])[entries] / prices
        constraints.append(cp.norm(priced, problem.norm.q) <= price)
    if problem.monotonic_cst is not None:
        held = np.flatnonzero(problem.monotonic_cst)
        constraints.append(
            np.diag(problem.monotonic_cst[held].astype(float)) @ w[held] >= 0
        )
    model = cp.Problem(cp.Minimize(risk + ridge), constraints)
    return model, {"weights": w, "intercept": b, "radius_price": price}


def cvxpy_margins(problem):
    """Return the CVXPY model in which the margins are separate variables, and its
    variables by name.
    """
    import cvxpy as cp

    w = cp.Variable(problem.n_features)
    level = cp.Variable()
    margin = cp.Variable(problem.n_rows)
    loss = cp.Variable(problem.n_rows, bounds=[0, None])
    constraints = [
        signed_rows(problem) @ w == margin,
        1 - margin <= loss,
        1 + margin - problem.flip_cost * level <= loss,
        cp.norm(w, problem.norm.q) <= level,
    ]
    risk = problem.radius * level + problem.sample_weight @ loss
    return cp.Problem(
        cp.Minimize(risk + 0.5 * problem.l2 * cp.sum_squares(w)), constraints
    ), {"weights": w}
