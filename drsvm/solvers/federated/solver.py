"""Dual ascent by the machines that have the rows: each improves the multipliers of its own rows, and sends a vector."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.engines.parts import queries
from drsvm.engines.parts.coordinator import Run, total
from drsvm.engines.parts.part import Message
from drsvm.model.multipliers import DualSums
from drsvm.model.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Price, Solver, State
from drsvm.solvers.dual_coordinate.solver import FIRST_RATIO
from drsvm.solvers.federated.block import Block, Proposal, go_on
from drsvm.solvers.federated.shared import SHARED, shared_for
from drsvm.solvers.transforms.constant import answer_to_free_flips, constant_optimum

FIRST_PROOF, REGULAR_PROOF = 16, 16
"""Maximum number of rounds before the first certificate and between later ones, regardless of the estimate."""


@dataclass(frozen=True)
class Federated(Solver):
    """Settings of dual ascent on a cluster, for more features than a matrix pays for.

    Examples
    --------
    >>> from drsvm.solvers import Federated
    >>> Federated().name
    'federated'
    """

    name = "federated"
    default_tol = 1e-4
    default_max_iter = 1000
    prices = Price.FLIPS | Price.INTERCEPT
    uses_sums_only = True

    def refusal(self, problem: Problem) -> str | None:
        """Reject rows that are not in parts, some prices, and norms without an ascent."""
        if not hasattr(problem.rows, "coordinator"):
            return f"solver 'federated' is for rows on a cluster, these are {problem.rows.place}: use solver='auto'."
        if type(problem.norm) not in SHARED:
            return f"solver 'federated' does not support norm={problem.norm}: use solver='interior-point'."
        return super().refusal(problem)

    def start(self, problem: Problem, limits: Limits) -> State:
        return constant_optimum(problem) or FederatedState(problem, limits)


class FederatedState(State):
    """One run in rounds: all blocks propose at the same time, and their changes are added."""

    def __init__(self, problem: Problem, limits: Limits):
        rows: Any = problem.rows
        self.problem, self.limits, self.coordinator = problem, limits, rows.coordinator
        self.first_round = self.coordinator.n_rounds
        self.run = Run(self.coordinator, rows.ball(problem))
        self.run.tell("begin", Block)
        self.talk = self.coordinator.talk()
        self.ascent = shared_for(problem, limits.start, len(self.talk.groups))
        self.ratio, self.next_proof = FIRST_RATIO, FIRST_PROOF

    def step(self) -> None:
        self.coordinator.n_rounds += 1
        message = self._message()
        for group in self.talk.groups:
            self.talk.send(group, message)
        replies = [self.talk.receive()[1]]
        while self.talk.waiting:
            replies.append(self.talk.receive()[1])
        proposal = Proposal(*total(replies))
        if proposal.fresh and self.ascent.count > 0:
            self._take_stock()
        self.run.tell("accept", self.ascent.absorb(proposal))

    def _message(self, accepted: float | None = None) -> Message:
        return self.run.message(queries.of_engine, "propose", self.ascent.work(accepted), follow=go_on)

    def _take_stock(self) -> None:
        """Compute the sums again: a block was lost, and has begun anew with multipliers 0."""
        sums = DualSums(*self.run.query(queries.of_engine, "sums"))
        one, other = sums.mass
        self.ascent.restart(
            (sums.rows @ (1.0, -1.0), float(sums.flip_cost.sum()), float(one - other), float(one + other))
        )

    @property
    def expected_gap(self) -> float:
        """The gap that a certificate is expected to prove."""
        return self.ratio * self.ascent.estimate

    def certificate_due(self) -> bool:
        return self.limits.watched or self.expected_gap <= self.limits.tol or self.ascent.count >= self.next_proof

    def candidate(self) -> Candidate:
        if np.all(self.problem.flip_cost == 0):
            return answer_to_free_flips(self.problem)
        w, b = self.ascent.scale * self.ascent.w, self.ascent.scale * self.ascent.b
        return Candidate(w, b, *self.run.keep("keep_multipliers"))  # pyright: ignore

    def judged(self, gap: float) -> None:
        """Update the ratio of proven gap and estimate, and schedule the next certificate."""
        estimate, count = self.ascent.estimate, self.ascent.count
        if 0.0 < estimate < math.inf:
            self.ratio = min(max(gap / estimate, 0.1), 100.0)
        self.next_proof = count + min(count, REGULAR_PROOF)

    def close(self) -> None:
        self.run.end()

    def info(self) -> dict[str, Any]:
        return {"rounds": self.coordinator.n_rounds - self.first_round}
