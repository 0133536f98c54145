"""Dual ascent by the machines that have the rows.

Each improves the multipliers of its own rows, and sends a vector.
"""

import math
import statistics
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drsvm.engines.sharded import queries
from drsvm.engines.sharded.coordinator import Group, Run, total
from drsvm.engines.sharded.sharded_rows import ShardedRows
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Sums
from drsvm.solvers.base import Candidate, Capability, Limits, Solver, State
from drsvm.solvers.dual_coordinate.dual_coordinate_solver import StateWithEstimates
from drsvm.solvers.paper.federated.federated_block import Block, Proposal, go_on
from drsvm.solvers.paper.federated.global_ascent import (
    GLOBAL_ASCENTS,
    global_ascent_for,
)
from drsvm.utils.clock import Stopwatch

# Maximum number of rounds before the first certificate, regardless of the estimate
FIRST_PROOF = 32
# Groups that take longer than SLOW times the typical time visit fewer rows, so that
# they take about HASTE times as long as is typical, but at least the share MIN_VISITED
# of their rows.
SLOW = 3.0
HASTE = 1.5
MIN_VISITED = 0.4
# What a group has contributed before its first proposal (see `Member.credit`)
NOTHING = Sums((0.0, 0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Federated(Solver):
    """Settings of dual ascent on a cluster, if features are too many for a matrix.

    Parameters
    ----------
    patience : float
        Machines that are much slower than most visit fewer of their rows at a time, and
        no round waits for them: what they reply counts when it comes. A round also ends
        without others that have not replied after this multiple of the time in which
        most of them have. inf, and always for norm=1: every round waits for all, and
        all visit all of their rows.

    References
    ----------
    .. [1] V. Smith, S. Forte, C. Ma, M. Takáč, M. I. Jordan, M. Jaggi, "CoCoA: A
       General Framework for Communication-Efficient Distributed Optimization", JMLR
       18, 2018.

    Examples
    --------
    >>> from drsvm.solvers import Federated
    >>> Federated().name
    'federated'
    """

    name = "federated"
    default_tol = 1e-4
    default_max_iter = 1000
    norms = GLOBAL_ASCENTS
    capabilities = Capability.FLIP_COSTS | Capability.INTERCEPT_COST
    uses_sums_only = True

    patience: float = 2.0

    def unsupported_reason(self, problem: Problem) -> str | None:
        if not problem.rows.is_sharded:
            return (
                "solver 'federated' is for rows on a cluster, these are "
                f"{problem.rows.place}: use solver='auto'."
            )
        return super().unsupported_reason(problem)

    def start(self, problem: Problem, limits: Limits) -> State:
        return Rounds(problem, limits, self.patience)


@dataclass(eq=False)
class Member:
    """What is known about a group of shards since it began with multipliers 0."""

    watch: Stopwatch  # since its last work
    asked: int = -1  # number of its last work
    # Shares of its proposals that were accepted, and that it has not been told yet
    accepted: dict[int, float] = field(default_factory=dict)
    # What it has contributed to v, Σκβ, Σ (α − β) y and Σ (α + β)
    credit: Sums = NOTHING
    seen: Proposal | None = None  # the last proposal
    took: float | None = None  # seconds until the last reply
    visited: float = 1.0  # share of its rows that it visits at a time


class Rounds(StateWithEstimates):
    """One run in rounds.

    All blocks propose at the same time, and their changes are added. A group is the
    shards that one thread of a worker has: their blocks propose in turn, each after the
    one before. Groups change when a worker is lost: its shards are built again in new
    groups, which begin with multipliers 0.
    """

    def __init__(self, problem: Problem, limits: Limits, patience: float):
        rows: ShardedRows = problem.rows
        super().__init__(problem, limits, FIRST_PROOF)
        self.coordinator = rows.coordinator
        self.first_round = self.coordinator.n_rounds
        self.run = Run(self.coordinator, rows.shard_parameters(problem.sum_parameters))
        self.run.send("begin", Block)
        self.channel = self.coordinator.channel()
        self.ascent = global_ascent_for(problem, limits.start, len(self.channel.groups))
        if self.ascent.waits_for_all:
            self.patience = math.inf
        else:
            self.patience = patience
        self.number = 0  # of the next work
        self.first = 0  # number of the first work of this round
        self.n_known_lost = len(self.coordinator.restored)
        self.n_lost = 0
        # The groups that have begun
        self.members: dict[Group, Member] = {}

    def step(self) -> None:
        """Let all blocks propose, and move along the sum of what comes in time.

        No round waits for the slowest, unless `patience` is inf.
        """
        # 1. Work for all groups that are not at work
        self.coordinator.n_rounds += 1
        self.first = self.number
        for group in self.channel.groups:
            if group not in self.channel.waiting:
                self._ask(group)
        # 2. Their proposals, and a step along the sum of them
        proposals = self._in_time()
        if proposals:
            share = self.ascent.absorb(total(proposals.values()))
            for group, proposal in proposals.items():
                self._credit(group, proposal, share)
        if math.isfinite(self.patience):
            self._spare_slow_groups()
        # 3. The centre moves; in a fixed order, so that sums can be repeated
        seen = []
        for group in sorted(self.members):
            if self.members[group].seen is not None:
                seen.append(self.members[group].seen)
        self.ascent.move(total(seen))

    def _spare_slow_groups(self) -> None:
        """Let slow groups visit fewer rows at a time, so that sums are not too old."""
        members = self.members.values()
        times = [member.took for member in members if member.took is not None]
        typical = statistics.median_low(times)
        for member in members:
            if member.took is None:
                continue
            if member.visited < 1.0 or member.took > SLOW * typical:
                share = member.visited * HASTE * typical / max(member.took, 1e-9)
                member.visited = min(max(share, MIN_VISITED), 1.0)

    def _in_time(self) -> dict[Group, Proposal]:
        """Return the proposals of this round.

        It ends once those of most groups are there and others have had some time.
        """
        proposals: dict[Group, Proposal] = {}
        watch = self.channel.stopwatch()
        deadline = math.inf
        any_news = False
        while not any_news or any(map(self._expected, self.channel.waiting)):
            group, proposal = self._heard(deadline - watch.elapsed())
            any_news = True
            if proposal is None:
                break
            if self._expected(group):
                proposals[group] = proposal
            else:
                # Not of this round, but useful: it is followed as far as the dual value
                # increases.
                share = self.ascent.absorb(proposal, 1.0 / len(self.channel.groups))
                self._credit(group, proposal, share)
                self._ask(group)
            # Most groups have replied: the others have some more time
            if 2 * len(proposals) > len(self.channel.groups):
                deadline = min(deadline, self.patience * watch.elapsed())
        return {group: proposals[group] for group in sorted(proposals)}

    def _expected(self, group: Group) -> bool:
        """Return whether this round waits for the proposal of a group.

        It does not if the group was asked in an earlier round, or is slow.
        """
        # In place of a group that was lost, and about to begin
        if group not in self.members:
            return True
        member = self.members[group]
        waits = math.isinf(self.patience) or member.visited == 1.0
        return waits and member.asked >= self.first

    def _ask(self, group: Group) -> None:
        """Send the next work to a group."""
        watch = self.channel.stopwatch()
        restart = group not in self.members
        if restart:
            self.members[group] = Member(watch)
        member = self.members[group]
        work = self.ascent.work(self.number, member.accepted, restart, member.visited)
        member.watch = watch
        member.asked = self.number
        member.accepted = {}
        self.number += 1
        message = self.run.message(
            queries.of_engine, "propose", work, next_arguments=go_on
        )
        self.channel.send(group, message)

    def _heard(self, seconds: float) -> tuple[Group, Proposal | None]:
        """Return the next proposal, if it comes in time.

        Blocks that were lost with their machine start from 0.
        """
        while True:
            group, reply = self.channel.receive(seconds)
            if reply is None:
                return group, None
            v, *sums = reply
            # In double precision, because many are added
            proposal = Proposal(v.astype(np.float64), *sums)
            if group in self.members and not proposal.lost:
                member = self.members[group]
                member.took = member.watch.elapsed()
                member.seen = proposal
                return group, proposal
            # A machine was lost, and with it the multipliers of its blocks: this group
            # and those that no longer exist have contributed nothing.
            self.n_lost += 1
            gone = set(self.members).difference(self.channel.groups)
            for one in gone | {group}:
                if one in self.members:
                    self.ascent.lose(self.members.pop(one).credit)
            self._ask(group)

    def _credit(self, group: Group, proposal: Proposal, share: float) -> None:
        """Note which share of a group's proposal was accepted."""
        member = self.members[group]
        member.credit += Sums(share * value for value in proposal[:4])
        member.accepted = {member.asked: share}

    def candidate(self) -> Candidate:
        # Multipliers are to be those of the current sums.
        accepted: dict[int, float] = {}
        for member in self.members.values():
            accepted |= member.accepted
        self.run.send("accept", accepted)
        weights, intercept = self.ascent.classifier()
        hinge, flip = self.run.keep("keep_multipliers", self.ascent.averaged)
        return Candidate(weights, intercept, hinge, flip)  # pyright: ignore

    def forgot_multipliers(self) -> bool:
        """Return whether a block was lost: those that it had kept are then 0."""
        before = self.n_known_lost
        self.n_known_lost = self.n_lost + len(self.coordinator.restored)
        return before != self.n_known_lost

    def on_certificate(self, gap: float) -> None:
        """Schedule the next certificate.

        It is due no later than when a gap that falls like 1/rounds, which is slow,
        would be small enough.
        """
        super().on_certificate(gap)
        count = self.ascent.count
        if self.limits.tol > 0.0:
            soon = max(2, math.ceil(count * (gap / self.limits.tol - 1.0)))
        else:
            soon = math.inf
        self.next_proof = min(self.next_proof, count + soon)

    def close(self) -> None:
        self.run.end()

    def info(self) -> dict[str, Any]:
        return {"rounds": self.coordinator.n_rounds - self.first_round}
