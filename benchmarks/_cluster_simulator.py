"""A cluster in this process, with a clock of its own: the solver and the workers' code
are the real ones.

A centre has one line in each direction, which carries one message after another. A
machine takes `seconds` for a message, times its own factor; what the centre does itself
takes no time. Messages are as long as their pickles.
"""

import heapq
import itertools
import math
import pickle
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from _common import seconds

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from sharded_here import ChannelHere, ShardsHere, sharded

from drsvm.solvers.paper.federated.federated_block import Block, Work
from drsvm.solvers.paper.federated.global_ascent import global_ascent_for

PASS = 0.4
"""What a pass over the rows takes, for a certificate, as a share of an epoch."""


@dataclass
class Network:
    """Machines and the lines between them, and what they have been used for so far."""

    seconds: float  # of an epoch of one machine
    latency: float = 1e-3
    bandwidth: float = 125e6  # bytes per second
    # Of slow machines, by number
    factors: dict[int, float] = field(default_factory=dict)
    failures: dict[int, float] = field(default_factory=dict)  # when machines fail
    # Seconds until the rows of a machine that failed are there again
    recovery: float = 1.0
    now: float = 0.0
    n_bytes: int = 0
    n_messages: int = 0

    def work_of(self, shard, begin: float, share: float = 1.0) -> float:
        """Return when a machine has worked for a share of an epoch.

        Its state is lost if it fails meanwhile.
        """
        end = begin + share * self.seconds * self.factors.get(shard.number, 1.0)
        if self.failures.get(shard.number, math.inf) > end:
            return end
        del self.failures[shard.number]
        shard.runs.clear()
        return end + self.recovery

    def sent(self, n_bytes: int, n_messages: int = 1) -> float:
        """Count messages, and return how long a line is busy with one of them."""
        self.n_bytes = self.n_bytes + n_messages * n_bytes
        self.n_messages = self.n_messages + n_messages
        return n_bytes / self.bandwidth


class SimulatedCluster(ShardsHere):
    """Shards in this process, each on a machine of a network, with a centre that talks
    to all of them.
    """

    def __init__(self, network: Network, shards):
        super().__init__(shards)
        self.network = network

    def channel(self):
        return SimulatedChannel(self)

    def round(self, message):
        return self.channel().round(message)


class SimulatedChannel(ChannelHere):
    """Replies arrive in the order of the simulated clock."""

    def __init__(self, cluster: SimulatedCluster):
        super().__init__(cluster)
        self.network = cluster.network
        self.shards = {shard.number: shard for shard in cluster.shards}
        # When the lines of the centre are free
        self.outgoing = self.incoming = self.network.now
        self.replies = []
        self.order = itertools.count()

    def send(self, group, message):
        shard = self.shards[group[0]]
        network = self.network
        self.waiting[group] = message
        self.outgoing = max(self.outgoing, network.now) + network.sent(
            len(pickle.dumps(message))
        )
        end = network.work_of(shard, self.outgoing + network.latency, share_of(message))
        reply = shard.reply(message)
        heapq.heappush(
            self.replies, (end + network.latency, next(self.order), group, reply)
        )

    def receive(self, seconds=math.inf):
        network = self.network
        if (
            not self.replies
            or max(self.replies[0][0], self.incoming) > network.now + seconds
        ):
            network.now += max(seconds, 0.0)
            return (), None
        arrival, _, group, reply = heapq.heappop(self.replies)
        self.incoming = max(arrival, self.incoming) + network.sent(
            len(pickle.dumps(reply))
        )
        network.now = max(network.now, self.incoming)
        del self.waiting[group]
        return group, reply

    def stopwatch(self):
        return SimulatedWatch(self.network)


def share_of(message) -> float:
    """Return what share of an epoch the work on a message takes."""
    return next((one.share for one in message.arguments if isinstance(one, Work)), PASS)


class SimulatedWatch:
    """Simulated seconds since creation."""

    def __init__(self, network: Network):
        self.network = network
        self.start = network.now

    def elapsed(self) -> float:
        return self.network.now - self.start


def simulated(problem, n_machines: int, network: Network, cluster=SimulatedCluster):
    """Return the problem with its rows on the machines of a network."""
    return sharded(
        problem,
        even_cuts(problem.n_rows, n_machines),
        lambda shards: cluster(network, shards),
    )


def even_cuts(n_rows: int, n_machines: int) -> list[int]:
    return [n_rows * number // n_machines for number in range(1, n_machines)]


def epoch_seconds(problem, n_machines: int) -> float:
    """Measure an epoch of one of several machines, here."""
    there = sharded(problem, even_cuts(problem.n_rows, n_machines))
    work = global_ascent_for(there, None, n_machines).work(0, {}, True)
    block = Block(
        there.rows.coordinator.shards[0].problem(
            there.rows.shard_parameters(there.sum_parameters)
        )
    )
    block.propose(work)
    return statistics.median(seconds(lambda: block.propose(work))[0] for _ in range(9))
