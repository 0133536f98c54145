"""Federated ascent without a centre, on the simulated machines: each talks to its
neighbours in a graph only.

Machine k of K keeps an estimate S_k of the mean of the sums that all blocks contribute.
It takes K S_k for their total V, improves its own multipliers for it, adds its own
change to S_k, and replaces S_k by an average with its neighbours':

    S_k  ←  Σ_j W_kj (S_j + s_j D_j),        W symmetric, rows and columns with sum 1 (Metropolis)

D_j is what block j proposes, and s_j the best step if all machines did the same, for
which K S_j + K s_j D_j is the new total. The mean of all S_k is the mean of all
contributions at any time, whatever the graph is. The centres, which are the classifiers
of the round before, are averaged in the same messages: otherwise differences of the
sums add up in them. A certificate needs exact sums: they are passed up and down a
spanning tree.
"""

import copy
import math
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
from _cluster_simulator import SimulatedCluster

from drsvm.engines.sharded import queries
from drsvm.engines.sharded.coordinator import total
from drsvm.solvers.paper.federated.federated_block import Proposal
from drsvm.solvers.paper.federated.federated_solver import Federated, Member, Rounds

N_CHANGES = 3
N_SEEN = 2
"""Numbers of sums that change with the multipliers, beside v, and of those that are
what was seen last.
"""


def ring(n: int) -> np.ndarray:
    """Return the neighbours of machines on a ring."""
    shift = np.roll(np.eye(n, dtype=bool), 1, axis=0)
    return shift | shift.T


def grid(n: int) -> np.ndarray:
    """Return the neighbours of machines on a grid that is as square as possible."""
    width = next(width for width in range(math.isqrt(n), 0, -1) if n % width == 0)
    place = np.stack(np.divmod(np.arange(n), width))
    return np.abs(place[:, :, None] - place[:, None]).sum(axis=0) == 1


def random_graph(n: int, degree: int = 4, seed: int = 0) -> np.ndarray:
    """Return the neighbours of machines on a ring with random chords."""
    rng = np.random.default_rng(seed)
    linked = ring(n)
    while linked.sum() < degree * n and not np.all(linked | np.eye(n, dtype=bool)):
        one, two = rng.choice(n, 2, replace=False)
        linked[one, two] = linked[two, one] = True
    return linked


GRAPHS = {"ring": ring, "grid": grid, "random": random_graph}


def averages_to_shrink(weights: np.ndarray, shrinkage: float) -> int:
    """Return how many averages make differences between machines smaller by this
    factor.
    """
    rate = np.sort(np.abs(np.linalg.eigvalsh(weights)))[-2]
    return math.ceil(math.log(shrinkage) / math.log(max(rate, 1e-9)))


def metropolis(linked: np.ndarray) -> np.ndarray:
    """Return the weights of averages with neighbours: 1 / (1 + the larger degree)."""
    degrees = linked.sum(axis=1)
    weights = linked / (1.0 + np.maximum(degrees[:, None], degrees))
    return weights + np.diag(1.0 - weights.sum(axis=1))


class LinkedMachines(SimulatedCluster):
    """Machines that pass sums over all of them up and down a spanning tree of their
    graph.
    """

    def __init__(self, network, parts, graph):
        super().__init__(network, parts)
        self.linked = graph(len(parts))
        self.ready = np.zeros(len(parts))  # when the machines are
        self.depth = _depth(self.linked)

    def round(self, message):
        network = self.network
        n_links = len(self.shards) - 1
        down = network.sent(len(pickle.dumps(message)), n_links) + network.latency
        begin = max(network.now, *self.ready) + self.depth * down
        end = max(network.work_of(part, begin) for part in self.shards)
        replies = [part.reply(message) for part in self.shards]
        up = network.sent(len(pickle.dumps(replies[0])), n_links) + network.latency
        network.now = end + self.depth * up
        self.ready[:] = network.now
        return total(replies)

    def average(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return averages with neighbours; each waits for its own ones only."""
        network = self.network
        degrees = self.linked.sum(axis=1)
        busy = network.sent(values[0].nbytes, int(degrees.sum()))
        sent = self.ready + degrees * busy
        self.ready = np.where(
            self.linked, sent + network.latency, self.ready[:, None]
        ).max(axis=1)
        return weights @ values


def _depth(linked: np.ndarray) -> int:
    """Return the largest number of links from the first machine."""
    reached = np.eye(len(linked), dtype=bool)[0]
    depth = 0
    while not reached.all():
        reached = reached | (linked @ reached)
        depth = depth + 1
    return depth


@dataclass(frozen=True)
class Gossip(Federated):
    """Settings: by how much differences between machines must shrink in the averages
    after every epoch.
    """

    name = "gossip"
    shrinkage: float = 0.5

    def start(self, problem, limits):
        return GossipRounds(problem, limits, self.shrinkage)


class GossipRounds(Rounds):
    """One run: every machine has its own estimates of all sums and its own classifier.

    That of the first is offered.
    """

    def __init__(self, problem, limits, shrinkage: float):
        super().__init__(problem, limits, math.inf)
        self.cluster = self.coordinator
        self.weights = metropolis(self.cluster.linked)
        self.n_averages = averages_to_shrink(self.weights, shrinkage)
        self.machines: list[Any] = [
            self.ascent,
            *(copy.copy(self.ascent) for _ in self.cluster.shards[1:]),
        ]
        self.estimates = np.zeros(
            (len(self.machines), problem.n_features + N_CHANGES + N_SEEN)
        )
        self.last_seen = np.zeros((len(self.machines), N_SEEN))

    def step(self) -> None:
        """Let all machines make an epoch, average their estimates and centres, and move
        to the new classifiers.
        """
        self.coordinator.n_rounds += 1
        changes = [
            self._change(number, machine)
            for number, machine in enumerate(self.machines)
        ]
        centres = [
            np.append(machine.w, [machine.b, machine.lam]) for machine in self.machines
        ]
        values = np.hstack([self.estimates + changes, centres])
        for _ in range(self.n_averages):
            values = self.cluster.average(values, self.weights)
        self.estimates, centres = np.hsplit(values, [self.estimates.shape[1]])
        for machine, estimate, centre in zip(
            self.machines, len(self.machines) * self.estimates, centres, strict=True
        ):
            settle(machine, estimate, centre)

    def _change(self, number: int, machine) -> np.ndarray:
        """Return by how much the sums of a machine change in an epoch."""
        group = self.channel.groups[number]
        part = self.cluster.shards[number]
        restart = group not in self.members
        if restart:
            self.members[group] = Member(self.channel.stopwatch())
        member = self.members[group]
        work = machine.work(self.number, member.accepted, restart)
        proposal = Proposal(
            *part.reply(self.run.message(queries.of_engine, "propose", work))
        )
        self.cluster.ready[number] = self.cluster.network.work_of(
            part, self.cluster.ready[number]
        )
        step, change, self.last_seen[number] = change_of(
            machine, proposal, len(self.machines), self.last_seen[number]
        )
        member.accepted = {self.number: step}
        self.number += 1
        return change


def change_of(
    machine, proposal: Proposal, n_machines: int, last_seen
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return how far a machine goes along its proposal, the change of its sums, and
    what it has seen.
    """
    step = machine.best_step(_unflat(n_machines * _flat(proposal)))
    changes, seen = np.split(_flat(proposal), [-N_SEEN])
    return step, np.append(step * changes, seen - last_seen), seen


def settle(machine, estimate: np.ndarray, centre: np.ndarray) -> None:
    """Move a machine to the classifier of estimated sums, from the average of
    centres.
    """
    sums = _unflat(estimate)
    machine.w, machine.b, machine.lam = centre[:-2], *map(float, centre[-2:])
    machine.v = sums.v
    machine.cost = max(sums.cost, 0.0)
    machine.all_mass = sums.mass
    machine.imbalance = sums.imbalance if machine.unit > 0.0 else 0.0
    machine.place = machine._epoch_start()
    machine.move(sums)


def _flat(proposal: Proposal) -> np.ndarray:
    return np.concatenate([np.atleast_1d(one) for one in proposal[:-1]])


def _unflat(values: np.ndarray) -> Proposal:
    cost, imbalance, mass, gap, near = map(float, values[-N_CHANGES - N_SEEN :])
    return Proposal(
        values[: -N_CHANGES - N_SEEN], cost, imbalance, mass, gap, max(near, 0.0)
    )
