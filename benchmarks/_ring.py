"""Federated ascent without a centre on a real cluster: actors on workers that talk to
their neighbours only.

Each worker keeps its rows, their multipliers and its own estimate of all sums, and
fetches those of its neighbours from them directly (see `_gossip.py` for the method).
The client starts the rounds, and no sum passes through it until it fetches the
multipliers to prove how far the machines are.
"""

import copy
import time
from typing import Any

import numpy as np
from _gossip import N_CHANGES, N_SEEN, averages_to_shrink, change_of, metropolis, settle

from drsvm.certificate import certify
from drsvm.solvers.paper.federated.federated_block import Block
from drsvm.solvers.paper.federated.global_ascent import global_ascent_for

PAUSE = 2e-4  # seconds between two looks at a neighbour


class Whole:
    """The problem of all rows, as far as an ascent needs it where only some of them
    are.
    """

    def __init__(self, part, n_rows: int):
        self.part = part
        self.n_rows = n_rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)


class Machine:
    """One of the machines.

    What neighbours may look at has a name here, as Dask demands.
    """

    published = 0
    outgoing = None

    def __init__(
        self,
        part,
        n_rows: int,
        ascent,
        weights: np.ndarray,
        number: int,
        n_averages: int,
    ):
        self.block = Block(part, seed=number)
        self.ascent = ascent
        self.ascent.problem = Whole(part, n_rows)
        self.weights = weights
        self.number = number
        self.n_averages = n_averages
        self.epochs = 0
        self.estimate = np.zeros(part.n_features + N_CHANGES + N_SEEN)
        self.last_seen = np.zeros(N_SEEN)
        self.outgoing = {}

    def run(self, neighbours: dict[int, Any], n_rounds: int) -> None:
        """Make epochs, and average estimates and centres with the neighbours after each
        of them.
        """
        for _ in range(n_rounds):
            n_machines = len(self.weights)
            proposal = self.block.propose(
                self.ascent.work(self.epochs, {}, self.epochs == 0)
            )
            step, change, self.last_seen = change_of(
                self.ascent, proposal, n_machines, self.last_seen
            )
            self.block.accept({self.epochs: step})
            self.epochs += 1
            values = np.concatenate(
                [
                    self.estimate + change,
                    self.ascent.w,
                    [self.ascent.b, self.ascent.lam],
                ]
            )
            for _ in range(self.n_averages):
                values = self._averaged(values, neighbours)
            self.estimate, centre = np.split(values, [len(self.estimate)])
            settle(self.ascent, n_machines * self.estimate, centre)

    def _averaged(self, values: np.ndarray, neighbours: dict[int, Any]) -> np.ndarray:
        """Publish values, and return their average with those of the neighbours, once
        these are there.
        """
        count = self.published + 1
        # A neighbour may be one behind
        self.outgoing = {
            count - 1: self.outgoing.get(count - 1),
            count: values,
        }
        self.published = count
        average = self.weights[self.number] * values
        for number, neighbour in neighbours.items():
            while neighbour.published < count:
                time.sleep(PAUSE)
            average += self.weights[number] * neighbour.outgoing[count]
        return average

    def found(self) -> dict[str, Any]:
        """Return the classifier, and its average over the last rounds."""
        return {name: getattr(self.ascent, name) for name in ("w", "b", "lam", "means")}

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β of the rows that are here."""
        return self.block.multipliers()


def solve_on_ring(
    client,
    problem,
    graph,
    *,
    tol: float,
    n_workers: int,
    between: int = 10,
    most: int = 400,
):
    """Return the certificate, the number of rounds and the seconds.

    Proofs, every few rounds, are the client's.
    """
    linked = graph(n_workers)
    weights = metropolis(linked)
    observer = global_ascent_for(problem, None, n_workers)
    ends = np.linspace(0, problem.n_rows, n_workers + 1).astype(int)
    ascent = copy.copy(observer)
    ascent.problem = None
    machines = []
    for number, worker in enumerate(sorted(client.nthreads())[:n_workers]):
        rows = np.arange(*ends[number : number + 2])
        part = problem.subset(rows, problem.sample_weight[rows])
        arguments = (
            part,
            problem.n_rows,
            copy.copy(ascent),
            weights[number],
            number,
            averages_to_shrink(weights, 0.5),
        )
        machines.append(
            client.submit(Machine, *arguments, actor=True, workers=[worker]).result()
        )
    neighbours = [
        {int(other): machines[other] for other in np.flatnonzero(row)} for row in linked
    ]
    rounds = 0
    began = time.perf_counter()
    proof = certify(problem, np.zeros(problem.n_features))
    while rounds < most and proof.gap > tol:
        running = [
            one.run(near, between)
            for one, near in zip(machines, neighbours, strict=True)
        ]
        for each in running:
            each.result()
        rounds += between
        parts = [one.multipliers().result() for one in machines]
        alpha, beta = (np.concatenate(each) for each in zip(*parts, strict=True))
        vars(observer).update(machines[0].found().result())
        # A multiple of what the first one has found
        proof = certify(problem, *observer.classifier(), alpha, beta)
    return proof, rounds, time.perf_counter() - began
