"""Workers, schedulers and rows of a Dask cluster that are lost: what was proven stands, and the rest is done again."""

import os
import time

import numpy as np
import pytest
from thorough import unless_long

from drsvm import Problem, Status, solve
from drsvm.problem import RowsLost

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from tests.cluster import BALL, D, N, both, new_cluster, samples  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, at the end of a cluster


@pytest.fixture
def own_client(two_workers):
    """A cluster whose workers a test may kill: they are replaced for the next test."""
    with two_workers.as_current():
        yield two_workers
    two_workers.wait_for_workers(2)


@pytest.fixture
def client_here():
    """A cluster in this process, which starts quickly."""
    cluster = new_cluster(processes=False, host=None, n_workers=1, threads_per_worker=2)
    with (
        cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield client


@pytest.fixture
def impatient(set_values):
    set_values(patience=1.0, glance=0.5)


def end_process():
    os._exit(1)


def kill(client, address):
    """End a worker's process, without warning."""
    client.run(end_process, workers=[address], on_error="ignore")


def once_at(iteration, act, *arguments):
    """Return a callback that does something once."""
    acts = [act]

    def callback(progress):
        if progress.iteration == iteration and acts:
            acts.pop()(*arguments)

    return callback


@pytest.mark.parametrize("mapped", unless_long([True], [False, True]))
def test_a_killed_worker_costs_its_chunks_and_no_more(own_client, mapped):
    X, y = samples()
    rows = da.from_array(X, chunks=(200, D)), da.from_array(y, chunks=200)
    problem = Problem(*rows, **BALL)
    if mapped:  # and what it had computed of them
        problem = problem.with_rows(problem.rows.mapped(np.tanh, problem.flip_cost))
        X = np.tanh(X)
    expected = solve(Problem(X, y, **BALL), "interior-point", tol=1e-9)
    places = dict(problem.rows.coordinator.places)
    victim = places[0]
    result = solve(problem, tol=1e-9, callback=once_at(5, kill, own_client, victim))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(expected.objective, abs=1e-9)
    assert result.weights == pytest.approx(expected.weights, abs=1e-6)
    assert sorted(problem.rows.coordinator.restored) == sorted(
        k for k, place in places.items() if place == victim
    )


@pytest.mark.thorough
def test_workers_that_are_gone(client_here, impatient):
    problem, _ = both()

    def dismiss_all():
        client_here.cluster.scale(0)
        while client_here.nthreads():
            time.sleep(0.05)

    result = solve(problem, tol=1e-9, callback=once_at(5, dismiss_all))
    assert (
        result.status is Status.LOST
        and "no worker at work for 1 s" in result.info["lost"]
    )
    assert result.n_iter == 5 and 0 < result.gap < 1
    with pytest.raises(RowsLost):
        problem.price_and_objective(np.ones(D))


@pytest.mark.thorough
def test_a_killed_worker_does_not_stop_a_federated_run(own_client):
    """Its rows are computed again elsewhere, and begin with multipliers 0."""
    problem, here = both()
    victim = next(iter(problem.rows.coordinator.places.values()))
    result = solve(
        problem, "federated", tol=1e-3, callback=once_at(3, kill, own_client, victim)
    )
    optimum = solve(here, "interior-point", tol=1e-8).objective
    assert problem.rows.coordinator.restored and result.gap <= 1e-3
    assert result.lower_bound - 1e-8 <= optimum <= result.objective + 1e-8


@pytest.mark.thorough
def test_a_worker_that_joins_does_not_disturb(client_here):
    problem, _ = both()

    def hire():
        client_here.cluster.scale(2)
        client_here.wait_for_workers(2)

    result = solve(problem, "federated", tol=1e-3, callback=once_at(3, hire))
    assert (
        len(client_here.nthreads()) == 2
        and result.gap <= 1e-3
        and not problem.rows.coordinator.restored
    )


def test_errors_of_the_shards_are_raised_as_they_are(own_client):
    problem, _ = both()
    with pytest.raises(ValueError, match="invalid literal"):
        problem.query(lambda _: int("x"))
    assert not problem.rows.coordinator.restored


@pytest.mark.thorough
def test_rows_that_cannot_be_computed_again(own_client):
    X, y = samples()
    workers = list(own_client.nthreads())
    places = list(zip([slice(0, 500), slice(500, N)], workers, strict=True))
    X, y = (
        [
            own_client.scatter(values[half], workers=[worker], hash=False)
            for half, worker in places
        ]
        for values in (X, y)
    )
    result = solve(
        Problem(X, y, **BALL),
        tol=1e-9,
        callback=once_at(4, kill, own_client, workers[0]),
    )
    assert (
        result.status is Status.LOST
        and "pass rows that Dask can compute again" in result.info["lost"]
    )


def test_a_scheduler_that_is_gone(client_here, impatient):
    problem, _ = both()
    assert problem.rows.coordinator.groups(range(3)) == [
        (0, 2),
        (1,),
    ]  # one task for each thread

    result = solve(problem, tol=1e-9, callback=once_at(3, client_here.cluster.close))
    assert (
        result.status is Status.LOST and "start another cluster" in result.info["lost"]
    )
