"""A block of rows on one machine: it keeps their multipliers and proposes changes.

All blocks improve their multipliers at the same time. If G* is the convex function of
all sums V that the dual value is charged, and block k would change V by D_k,

    G*(V + D_1 + … + D_K)  ≤  (1/K) Σ_k G*(V + K D_k)

so a block that counts its rows K times, as if no other block moved, proposes a change
that can be added to those of all others. Its epoch is that of dual coordinate ascent,
with weights and multipliers times K. A smaller factor is bolder; the machine that adds
the changes makes the step shorter where they go too far together (`global_ascent.py`).

A block is the rows of one shard. One after another,

* it is sent a `Work`: the sums over all rows, and how much of its last proposal counts;
* it visits its rows, and replies with a `Proposal`: by how much the sums would change;
* what is accepted of that, a share between 0 and 1, comes with the next work, and its
  multipliers then make this share of their change.
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
from drsvm.solvers.dual_coordinate.ascent import compiled_epoch
from drsvm.solvers.paper.incremental.epochs import Samples

# Vectors travel in single precision: rounding errors shrink with the changes that are
# sent, and certificates are computed in double precision
SENT = np.float32
# Rows that are firmly at a bound are visited in every WHOLE-th pass only
WHOLE = 8
# Averages over the last rounds have at least this share of the latest one
MIN_NEWS = 0.05


class Work(NamedTuple):
    """What a block is asked: to propose changes to what all machines know."""

    # As in `EpochStart`: u, the two other sums and the terms of the norm
    u: np.ndarray
    sums: np.ndarray
    terms: Norm2Terms | SeparableTerms
    factor: float  # how many times the block counts its rows, K above
    number: int  # of this work; no other has the same
    # Shares of earlier proposals that were accepted, by the number of their work
    accepted: dict[int, float]
    restart: bool  # whether to begin with multipliers 0
    share: float  # of the rows, to be visited now

    def after(self, proposal: "Proposal") -> "Work":
        """Return the work of the next block on the same machine.

        It goes on from the proposal of this one.
        """
        u, sums = sums_along(self.u, self.sums, self.terms, proposal, self.factor)
        return self._replace(u=u, sums=sums)


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


def sums_along(
    u: np.ndarray,
    sums: np.ndarray,
    terms: Norm2Terms | SeparableTerms,
    proposal: Proposal,
    step: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return u and the two other sums after a step along a proposal."""
    # The first sum is Σκβ for q = 2, otherwise λ, which grows with it by τ.
    first = proposal.cost
    if not isinstance(terms, Norm2Terms):
        first = proposal.cost / terms.stiffness
    change = np.array([first, terms.intercept.unit * proposal.imbalance])
    return u + step * proposal.v, sums + step * change


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
        """Begin with multipliers 0."""
        n = self.problem.n_rows
        self.hinge = np.zeros(n)
        self.flip = np.zeros(n)
        # The number of the last work, and the multipliers that were proposed
        self.proposed: tuple[int, np.ndarray, np.ndarray] | None = None
        self.mean_hinge = np.zeros(n)
        self.mean_flip = np.zeros(n)
        self.count = 0  # of the accepted proposals
        self.passes = 0
        # Rows with more than this between their losses are skipped if they are at a
        # bound.
        self.firm = math.inf
        # Rows of this pass that have not been visited, and rows of the next one
        self.coming = np.zeros(0, dtype=np.intp)
        self.active = np.zeros(0, dtype=np.intp)
        self.in_pass = 0  # number of all rows of this pass
        self.lost = False

    def propose(self, work: Work) -> Proposal:
        """Visit rows, and return by how much the sums would change."""
        # 1. What has become of the last proposal
        if work.restart:
            self._begin()
        self.accept(work.accepted)
        # 2. An epoch of dual coordinate ascent with weights times the factor
        order = self._next_rows(work.share)
        factor = work.factor
        importance = factor * self.samples.weights
        rows = self.samples.rows._replace(importance=importance)
        u = np.array(work.u, dtype=np.float64)
        hinge = importance * self.hinge
        flip = importance * self.flip
        multipliers = Multipliers(u, np.array(work.sums), hinge, flip, self.margins)
        kernel = compiled_epoch(work.terms, self.samples)
        active, gap, near, firm, _ = kernel(
            rows, order, len(order), self.firm, multipliers, self.flips, work.terms
        )
        self.active = np.append(self.active, order[:active])
        self.firm = firm
        # 3. The change, without the factor
        u -= work.u
        u /= factor
        hinge = np.minimum(hinge / importance, 1.0)
        flip = np.minimum(flip / importance, 1.0)
        self.proposed = work.number, hinge, flip
        of_hinge = self.samples.weights * (hinge - self.hinge)
        of_flip = self.samples.weights * (flip - self.flip)
        # What the visits found is scaled up to all rows of the pass.
        times = factor * len(order) / self.in_pass
        return Proposal(
            v=u.astype(SENT),
            cost=float(np.sum(self.flips.kappa * of_flip)),
            imbalance=float(self.signs @ (of_hinge - of_flip)),
            mass=float(of_hinge.sum() + of_flip.sum()),
            gap=gap / times,
            near=near / times,
            lost=int(self.lost),
        )

    def _next_rows(self, share: float) -> np.ndarray:
        """Return the next rows of a pass, a share of all rows at most."""
        n = self.problem.n_rows
        # A new pass over all rows, or over those that are not firmly at a bound
        if len(self.coming) == 0:
            if self.passes % WHOLE == 0 or len(self.active) == 0:
                self.coming = self.rng.permutation(n)
            else:
                self.coming = self.rng.permutation(self.active)
            self.in_pass = len(self.coming)
            self.passes = self.passes + 1
            self.active = self.active[:0]
        order, self.coming = np.split(self.coming, [math.ceil(share * n)])
        return order

    def accept(self, shares: dict[int, float]) -> None:
        """Make a share of the change that was proposed last, if it is known.

        Multipliers stay within their bounds.
        """
        if self.proposed is None or self.proposed[0] not in shares:
            return
        number, hinge, flip = self.proposed
        share = shares[number]
        # Without rounding errors, which would move multipliers off their bounds
        if share == 1.0:
            self.hinge = hinge
            self.flip = flip
        else:
            self.hinge = self.hinge + share * (hinge - self.hinge)
            self.flip = self.flip + share * (flip - self.flip)
        self.proposed = None
        self.count = self.count + 1
        news = max(MIN_NEWS, 1.0 / self.count)
        self.mean_hinge += news * (self.hinge - self.mean_hinge)
        self.mean_flip += news * (self.flip - self.mean_flip)

    def multipliers(self, averaged: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β, or their averages over the last rounds."""
        weights = self.samples.weights
        if averaged:
            return weights * self.mean_hinge, weights * self.mean_flip
        return weights * self.hinge, weights * self.flip


def go_on(arguments: tuple, reply: Sums) -> tuple:
    """Return the arguments of the query for the next block on the same machine."""
    *others, work = arguments
    return *others, work.after(Proposal(*reply))
