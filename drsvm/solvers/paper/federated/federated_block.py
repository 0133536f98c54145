"""A block of rows on one machine: it keeps their multipliers and proposes changes.

All blocks improve their multipliers at the same time. If G* is the convex function of
all sums V that the dual value is charged, and block k would change V by D_k,

    G*(V + D_1 + … + D_K)  ≤  (1/K) Σ_k G*(V + K D_k)

so a block that counts its rows K times, as if no other block moved, proposes a change
that can be added to those of all others. Its epoch is that of dual coordinate ascent,
with weights and multipliers times K. A smaller factor is bolder; the machine that adds
the changes makes the step shorter where they go too far together (`global_ascent.py`).
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled.dual_ascent import Flips, Multipliers
from drsvm.compiled.dual_ascent_norm2 import Norm2Terms
from drsvm.compiled.dual_ascent_separable import SeparableTerms
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Sums
from drsvm.problem.risk import affordable_flips
from drsvm.solvers.dual_coordinate.ascent import FIRM, compiled_epoch
from drsvm.solvers.paper.incremental.epochs import Samples

# Vectors travel in single precision: errors get smaller with changes; certificates are
# in double
SENT = np.float32
WHOLE = 8  # rows that are firmly at a bound are visited in every WHOLE-th pass only
# Averages over the last rounds have at least this share of the latest one
MIN_NEWS = 0.05


class Work(NamedTuple):
    """What a block is asked: to propose changes to what all machines know."""

    u: np.ndarray
    sums: np.ndarray
    terms: Norm2Terms | SeparableTerms
    factor: float
    number: int  # of this work; no other has the same
    # Shares of earlier proposals that were accepted, by number
    accepted: dict[int, float]
    anew: bool  # begin with multipliers 0
    share: float  # of the rows, to be visited now

    def after(self, proposal: "Proposal") -> "Work":
        """Return the work of the next block on the same machine.

        It goes on from the proposal of this one.
        """
        if isinstance(self.terms, Norm2Terms):
            price = proposal.cost
        else:
            price = proposal.cost / self.terms.stiffness
        change = np.array([price, self.terms.intercept.unit * proposal.imbalance])
        return self._replace(
            u=self.u + self.factor * proposal.v, sums=self.sums + self.factor * change
        )


class Proposal(NamedTuple):
    """Changes of the sums over all rows that blocks propose, and what they have seen.

    They can be added.
    """

    v: np.ndarray
    cost: float  # Σκβ
    imbalance: float  # Σ (α − β) y
    mass: float  # Σ (α + β)
    gap: float  # between losses and multipliers, each row at its visit
    near: float  # Σ πκ² of the rows near the flipping kink
    lost: int = 0  # number of blocks whose multipliers were lost

    # Not the concatenation of tuples
    def __add__(self, other: "Proposal") -> "Proposal":  # pyright: ignore
        return Proposal._make(one + two for one, two in zip(self, other, strict=True))


class Block:
    """Rows with their multipliers α and β, which stay on the machine.

    They are stored as shares of the weights of the rows: bounds are exactly 0 and 1.
    """

    def __init__(self, problem: Problem, seed: int = 0):
        problem = problem.in_memory()  # a copy, of dense rows with shifted columns only
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self.flips = Flips(*affordable_flips(problem.flip_cost, problem.radius))
        self.signs = np.array(problem.signs, dtype=np.float64)
        self.samples = Samples(problem.X, self.signs, np.array(problem.sample_weight))
        self.margins = np.zeros(problem.n_rows)
        self._begin()
        self.lost = True  # until the coordinator lets it begin here

    def _begin(self) -> None:
        self.hinge, self.flip = (
            np.zeros(self.problem.n_rows),
            np.zeros(self.problem.n_rows),
        )
        self.proposed: tuple[int, np.ndarray, np.ndarray] | None = None
        self.means = (self.hinge.copy(), self.flip.copy())
        self.count = 0
        self.passes = 0
        self.firm = math.inf
        # Rows of this pass, and rows for the next one so far
        self.coming = self.active = np.zeros(0, dtype=np.intp)
        self.in_pass = 0
        self.lost = False

    def propose(self, work: Work) -> Proposal:
        """Visit rows, and return by how much the sums would change."""
        if work.anew:
            self._begin()
        self.accept(work.accepted)
        if not len(
            self.coming
        ):  # a pass over all rows, or over those that are not firmly at a bound
            whole = self.passes % WHOLE == 0 or not len(self.active)
            self.coming = self.rng.permutation(
                self.problem.n_rows if whole else self.active
            )
            self.in_pass = len(self.coming)
            self.passes = self.passes + 1
            self.active = self.active[:0]
        order, self.coming = np.split(
            self.coming, [math.ceil(work.share * self.problem.n_rows)]
        )
        factor = work.factor
        times = factor * len(order) / self.in_pass
        importance = factor * self.samples.weights
        rows = self.samples.rows._replace(importance=importance)
        u = np.array(work.u, dtype=np.float64)
        hinge = importance * self.hinge
        flip = importance * self.flip
        multipliers = Multipliers(u, np.array(work.sums), hinge, flip, self.margins)
        kernel = compiled_epoch(work.terms, self.samples)
        active, gap, near, violation, _ = kernel(
            rows, order, len(order), self.firm, multipliers, self.flips, work.terms
        )
        self.active = np.append(self.active, order[:active])
        self.firm = FIRM * violation
        u -= work.u
        u /= factor
        hinge = np.minimum(hinge / importance, 1.0)
        flip = np.minimum(flip / importance, 1.0)
        self.proposed = work.number, hinge, flip
        change = [
            self.samples.weights * (new - old)
            for new, old in ((hinge, self.hinge), (flip, self.flip))
        ]
        return Proposal(
            v=u.astype(SENT),
            cost=float(np.sum(self.flips.kappa * change[1])),
            imbalance=float(self.signs @ (change[0] - change[1])),
            mass=float(change[0].sum() + change[1].sum()),
            gap=gap / times,
            near=near / times,
            lost=int(self.lost),
        )

    def accept(self, shares: dict[int, float]) -> None:
        """Make a share of the change that was proposed last, if it is known.

        Multipliers stay within their bounds.
        """
        if self.proposed is not None and self.proposed[0] in shares:
            number, *proposals = self.proposed
            share = shares[number]
            # Bounds are reached without rounding
            self.hinge, self.flip = (
                proposed if share == 1.0 else now + share * (proposed - now)
                for now, proposed in zip(
                    (self.hinge, self.flip), proposals, strict=True
                )
            )
            self.proposed = None
            self.count = self.count + 1
            for mean, now in zip(self.means, (self.hinge, self.flip), strict=True):
                mean += max(MIN_NEWS, 1.0 / self.count) * (now - mean)

    def multipliers(self, averaged: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β, or their averages over the last rounds."""
        if averaged:
            hinge, flip = self.means
        else:
            hinge = self.hinge
            flip = self.flip
        return self.samples.weights * hinge, self.samples.weights * flip


def go_on(arguments: tuple, reply: Sums) -> tuple:
    """Return the arguments of the query for the next block on the same machine."""
    *others, work = arguments
    return *others, work.after(Proposal(*reply))
