"""Machines of the benchmarks: the rounds of the solver on another clock.

Gossip, simulated and on a real cluster.
"""

import math
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sharded_here import sharded
from thorough import unless_long

from drsvm import Problem, solve

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from _cluster_simulator import PASS, Network, even_cuts, simulated
from _gossip import GRAPHS, Gossip, LinkedMachines, metropolis

N_MACHINES = 4
TOL = 1e-3


@pytest.fixture(scope="module", params=[False, True], ids=["no intercept", "intercept"])
def problem(request):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.4, 1, -1)
    X = (rng.random((600, 300)) < 0.05) * rng.random((600, 300))
    X[:, :10] += 0.3 * (y[:, None] > 0) * (rng.random((600, 10)) < 0.3)
    return Problem(sparse.csr_array(X), y, radius=0.02, fit_intercept=request.param)


@pytest.fixture(scope="module")
def optimum(problem):
    return solve(problem, "interior-point", tol=1e-8).objective


def test_another_clock_changes_nothing(problem):
    network = Network(seconds=0.1)
    here = solve(
        sharded(problem, even_cuts(problem.n_rows, N_MACHINES)), "federated", tol=TOL
    )
    cluster = simulated(problem, N_MACHINES, network)
    there = solve(cluster, "federated", tol=TOL)
    assert there.info == here.info
    assert there.objective == pytest.approx(here.objective, abs=1e-9)
    n_rounds = cluster.rows.coordinator.n_rounds
    n_passes = cluster.rows.coordinator.n_rounds - there.n_iter
    assert network.n_messages == 2 * N_MACHINES * n_rounds
    work = 0.1 * (there.n_iter + PASS * n_passes)
    assert network.now == pytest.approx(work + n_rounds * 2 * network.latency, rel=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("problem", [False], indirect=True)
def test_slow_and_failing_machines(problem, optimum):
    def run(patience=4.0, **troubles):
        network = Network(seconds=0.1, **troubles)
        result = solve(
            simulated(problem, 12, network), "federated", tol=TOL, patience=patience
        )
        assert result.gap <= TOL
        assert result.lower_bound <= optimum + 1e-8 <= result.objective + 2e-8
        return network

    slow = {0: 10.0}
    assert run(factors=slow).now < 0.5 * run(factors=slow, patience=math.inf).now
    assert not run(failures={1: 1.0}).failures  # it has failed


@pytest.mark.parametrize("graph", unless_long(list(GRAPHS)[:1], list(GRAPHS)))
def test_gossip_proves_the_same(problem, optimum, graph):
    network = Network(seconds=0.1)
    there = simulated(
        problem, N_MACHINES, network, partial(LinkedMachines, graph=GRAPHS[graph])
    )
    result = solve(there, Gossip(), tol=TOL, max_iter=300)
    assert result.gap <= TOL
    assert result.lower_bound <= optimum + 1e-8 <= result.objective + 2e-8


@pytest.mark.thorough
def test_so_do_workers_of_a_cluster_that_talk_to_their_neighbours(problem, optimum):
    distributed = pytest.importorskip("distributed")
    from _ring import solve_on_ring
    from cluster import new_cluster

    with new_cluster(n_workers=3) as cluster, distributed.Client(cluster) as client:
        proof, rounds, _ = solve_on_ring(
            client, problem, GRAPHS["ring"], tol=TOL, n_workers=3
        )
    assert proof.gap <= TOL and rounds < 400
    assert proof.lower_bound <= optimum + 1e-8 <= proof.objective + 2e-8


@pytest.mark.parametrize("graph", GRAPHS)
def test_averages_keep_the_mean_and_agree(graph):
    values = np.random.default_rng(0).normal(size=(12, 3))
    machines = LinkedMachines(Network(seconds=0.1), [None] * 12, GRAPHS[graph])
    weights = metropolis(machines.linked)
    now = values
    for _ in range(200):
        now = machines.average(now, weights)
    np.testing.assert_allclose(
        now, np.broadcast_to(values.mean(axis=0), now.shape), atol=1e-6
    )
    assert machines.network.n_messages == 200 * machines.linked.sum()
