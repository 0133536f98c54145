"""Rows on a Dask cluster of processes on this machine, which talk over the loopback address."""

import gc
import math
import time

import numpy as np
import pytest
from scipy import sparse
from sharded_here import check
from thorough import for_each, unless_long

from drsvm import Problem, measure_shift, solve, worst_case_risk
from drsvm.problem import gradient_of_classes

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

from drsvm.engines import DaskBackend, DaskChannel, DaskCoordinator  # noqa: E402
from drsvm.engines.dask import dask_worker as dask_worker  # noqa: E402
from tests.cluster import BALL, CUTS, D, N, both, new_cluster, on_cluster, samples  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, at the end of a cluster


@pytest.fixture(
    scope="module", params=unless_long([2], [2, 4]), ids="{} workers".format
)
def client(request, two_workers):
    if request.param == 2:
        with two_workers.as_current():
            yield two_workers
        return
    with (
        new_cluster(n_workers=request.param) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@for_each(
    norm=unless_long((2,), (1, 2, math.inf)),
    l2=unless_long((1.0,), (0.0, 1.0)),
    flip_cost=unless_long((1.0,), (1.0, math.inf)),
    intercept_cost=unless_long((2.0,), (2.0, math.inf)),
)
def test_the_same_optimum(client, norm, l2, flip_cost, intercept_cost):
    ball = {
        "norm": norm,
        "l2": l2,
        "flip_cost": flip_cost,
        "intercept_cost": intercept_cost,
    }
    check(*both(**ball, fit_intercept=True))


@pytest.mark.thorough
def test_weights_and_prices(client):
    X, y = samples()
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, size=N)
    costs = rng.choice([0.5, 1.0, math.inf], size=N)
    ball = {
        "feature_cost": [0.5, 1.0, 2.0, math.inf],
        "radius": 0.05,
        "fit_intercept": True,
        "intercept_cost": 3.0,
    }
    columns = {"sample_weight": weights, "flip_cost": costs}
    there = {
        name: da.from_array(values, chunks=250) for name, values in columns.items()
    }
    result = check(
        Problem(*on_cluster(X, y), **ball, **there), Problem(X, y, **ball, **columns)
    )
    alpha = result.hinge_dual.compute()
    assert (
        alpha.shape == (N,)
        and (alpha[weights == 0] == 0).all()
        and (alpha[weights > 0] > 0).any()
    )


def rows_of_kind(kind, client, X, y):
    """Return X, y on the cluster."""
    import pandas as pd

    cuts = np.cumsum(CUTS)[:-1]
    dX, dy = on_cluster(X, y)
    if kind == "CSR":
        return dX.rechunk({1: -1}).map_blocks(sparse.csr_array), dy
    if kind == "float32":
        return dX.astype(np.float32), y
    if kind == "frame":
        import dask.dataframe as dd

        frame = dd.from_pandas(
            pd.DataFrame(X, columns=list("abcd")).assign(y=y), npartitions=3
        )
        return frame[list("abcd")], frame["y"]
    if kind == "futures":
        return client.scatter(np.split(X, cuts)), client.scatter(np.split(y, cuts))
    if kind == "delayed":
        return [dask.delayed(part) for part in np.split(X, cuts)], [
            dask.delayed(part) for part in np.split(y, cuts)
        ]
    # Lengths that are not known, and chunks without rows
    first = da.arange(2 * N, chunks=(2 * CUTS,)) < N
    return [da.concatenate([half, half])[first] for half in (dX, dy.rechunk((CUTS,)))]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind", ["CSR", "float32", "frame", "futures", "delayed", "unknown lengths"]
)
def test_kinds_of_rows(client, kind):
    X, y = samples()
    X = np.round(X, 1) if kind == "CSR" else X.astype(np.float32).astype(np.float64)
    problem = Problem(*rows_of_kind(kind, client, X, y), **BALL)
    known = Problem(X, y, **BALL)
    assert problem.rows.shape == (N, D)
    assert problem.is_sparse == (kind == "CSR") and (
        problem.rows.dtype == np.float32
    ) == (kind == "float32")
    w = np.array([0.3, 0.1, -0.2, 0.4])
    assert problem.price_and_objective(w) == pytest.approx(known.price_and_objective(w))
    assert gradient_of_classes(problem)[0] == pytest.approx(
        gradient_of_classes(known)[0]
    )
    if kind == "CSR":
        check(problem, known)


def problems_with_radii():
    """Return the same problem on the cluster and in this process."""
    X, y = samples()
    rng = np.random.default_rng(1)
    columns = {
        "sample_weight": rng.integers(0, 3, size=N),
        "row_radius": rng.uniform(0.0, 0.5, size=N),
    }
    remote = {
        name: da.from_array(values, chunks=250) for name, values in columns.items()
    }
    ball = {"radius": 0.05, "fit_intercept": True, "flip_cost": math.inf}
    return Problem(*on_cluster(X, y), **remote, **ball), Problem(
        X, y, **columns, **ball
    )


def test_radii_of_rows_travel_with_them(client):
    there, here = problems_with_radii()
    w = np.array([0.3, 0.1, -0.2, 0.4])
    expected = here.price_and_objective(w, 0.1)
    assert there.price_and_objective(w, 0.1) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="row_radius needs flip_cost=inf"):
        there.replace(flip_cost=1.0)


@pytest.mark.thorough
def test_rows_that_each_shift(client):
    there, here = problems_with_radii()
    weights = np.random.default_rng(1).integers(0, 3, size=N)
    positive = samples(seed=1)[1] > 0
    pairs = (
        (there, here),
        (there.relabelled(positive, weights), here.relabelled(positive, weights)),
        (there.replace(row_radius=0.2), here.replace(row_radius=0.2)),
        (there.replace(radius=0.0), here.replace(radius=0.0)),
    )
    for one, two in pairs:
        found = solve(one, tol=1e-10)
        assert found.gap <= 1e-7
        expected = solve(two, tol=1e-10).objective
        assert found.objective == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match="finite and ≥ 0"):
        there.replace(row_radius=-da.from_array(weights + 1.0, chunks=250))


def test_other_features_for_the_same_samples(client):
    X, y = samples()
    columns = {"sample_weight": np.arange(N) % 3, "flip_cost": 0.5 + (np.arange(N) % 2)}
    problem = Problem(*on_cluster(X, y), radius=0.05, **columns)
    one, two = (problem.rows.mapped(np.tanh, problem.flip_cost) for _ in range(2))
    check(problem.with_rows(one), Problem(np.tanh(X), y, radius=0.05, **columns))
    assert [block.key for block in one.columns.X] == [
        block.key for block in two.columns.X
    ]  # computed once


@pytest.mark.thorough
def test_other_labels_weights_and_costs(client):
    X, y = samples()
    problem = Problem(*on_cluster(X, y), **BALL)
    mask = X[:, 0] > 0.3
    weights = np.linspace(1, 2, N)
    costs = np.where(y > 0, 0.5, 2.0)
    other = problem.relabelled(da.from_array(mask, chunks=(CUTS,)), weights)
    check(other, Problem(X, mask, **BALL, sample_weight=weights))
    with_costs = problem.replace(flip_cost=da.from_array(costs, chunks=(CUTS,)))
    check(with_costs, Problem(X, y, radius=0.05, flip_cost=costs))


@pytest.mark.parametrize("loss", ["hinge", "zero-one"])
def test_worst_cases(client, loss):
    X, y = samples()
    model = np.array([0.3, 0.1, 0.2, 0.4]), 0.1
    for options in ({"radius": [0.0, 0.05, 0.3, 5.0]}, {"radius": 0.1, "positive": -1}):
        data = on_cluster(X, y), (X, y)
        there, here = (
            worst_case_risk(model, *columns, loss=loss, **options) for columns in data
        )
        assert there == pytest.approx(here, abs=1e-12)


def test_bounds_for_the_population(client):
    X, y = samples()
    model = (np.array([0.3, 0.1, 0.2, 0.4]), 0.1)
    data = (on_cluster(X, y), samples())
    asked = {"radius": [0.0, 0.05, 5.0], "loss": "zero-one", "confidence": 0.95}
    there, here = (worst_case_risk(model, *columns, **asked) for columns in data)
    assert there == pytest.approx(here, abs=1e-12)
    with pytest.raises(
        ValueError, match="limit='row' needs rows in memory: a random sample"
    ):
        worst_case_risk(model, *data[0], limit="row", **asked)


def test_movement(client):
    X, y = samples()
    model = (np.array([0.3, 0.1, 0.2, 0.4]), 0.1)
    moved = X + 0.5
    there = measure_shift(
        model,
        *on_cluster(X, y),
        *on_cluster(moved, y),
        feature_cost=[1, 1, 1, np.inf],
        random_state=0,
    )
    here = measure_shift(
        model, X, y, moved, y, feature_cost=[1, 1, 1, np.inf], random_state=0
    )
    assert there.to_dict() == here.to_dict()
    several = np.eye(3, D), np.zeros(3)
    with pytest.raises(ValueError, match="more than two classes need rows in memory"):
        measure_shift(several, *on_cluster(X, y), *on_cluster(moved, y))
    with pytest.raises(
        ValueError, match="separates 3 classes: on rows outside of memory, choose"
    ):
        worst_case_risk(several, *on_cluster(X, y), radius=0.1)


def pickled_size(value):
    return len(distributed.protocol.pickle.dumps(value))


@pytest.mark.thorough
def test_nothing_with_an_entry_per_row_crosses(client, monkeypatch):
    n = 40_000
    X, y = samples(n)
    sent = []
    received = []
    channel = DaskChannel
    coordinator = DaskCoordinator
    send = channel.send
    receive = channel.receive
    results_of = coordinator._results

    def measured_send(channel, group, message):
        sent.append(pickled_size(message))
        send(channel, group, message)

    def measured_receive(channel, *seconds):
        group, value = receive(channel, *seconds)
        received.append(pickled_size(value))
        return group, value

    def measured_results(coordinator, futures):
        found = results_of(coordinator, futures)
        received.extend(map(pickled_size, found))
        return found

    monkeypatch.setattr(channel, "send", measured_send)
    monkeypatch.setattr(channel, "receive", measured_receive)
    monkeypatch.setattr(coordinator, "_results", measured_results)
    problem = Problem(
        da.from_array(X, chunks=(5000, D)), da.from_array(y, chunks=5000), radius=0.3
    )
    solve(problem, callback=lambda progress: None)
    assert problem.rows.coordinator.n_rounds > 30
    assert (
        len(received) > 30 and max(received) < 8 * n
    )  # samples of rows, and histograms
    assert np.median(received) < 20_000 and max(sent) < 20_000


@pytest.mark.thorough
def test_an_iteration_takes_three_rounds(client):
    problem, here = both()
    before = problem.rows.coordinator.n_rounds
    result = check(problem, here)
    assert problem.rows.coordinator.n_rounds - before <= 3 * result.n_iter + 12


@pytest.mark.thorough
def test_multipliers_are_fetched_when_they_are_computed(client):
    problem, here = both()
    result = solve(problem, tol=1e-9)
    expected = solve(here, "interior-point", tol=1e-9)
    assert isinstance(result.hinge_dual, da.Array) and result.hinge_dual.chunks == (
        CUTS,
    )
    assert result.hinge_dual.compute() == pytest.approx(expected.hinge_dual, abs=1e-7)
    assert float(result.flip_dual.sum().compute()) == pytest.approx(
        expected.flip_dual.sum(), abs=1e-7
    )
    assert solve(problem, tol=1e-9, start=result).n_iter == 0


@pytest.mark.thorough
def test_workers_forget_what_is_not_needed(client):
    problem, _ = both()
    name = problem.rows.coordinator.name
    result = solve(problem)
    assert has_shards(client, name)
    del problem
    gc.collect()
    assert float(result.hinge_dual.sum().compute()) > 0
    del result
    gc.collect()
    until = time.monotonic() + 60.0
    while has_shards(client, name):
        assert time.monotonic() < until
        time.sleep(0.05)


def has_shards(client, coordinator):
    """Return whether a worker has shards of a coordinator."""
    return any(
        coordinator in names
        for names in client.run(lambda: list(dask_worker._shards)).values()
    )


@pytest.mark.thorough
def test_workers_forget_the_shards_of_a_client_that_is_gone(client):
    with (
        distributed.Client(client.scheduler.address, set_as_default=False) as other,
        other.as_current(),
    ):
        problem, _ = both()
    name = problem.rows.coordinator.name
    assert has_shards(client, name)
    until = time.monotonic() + 60.0
    while has_shards(client, name):
        both(*samples(seed=1))
        assert time.monotonic() < until


@pytest.mark.parametrize(
    "kind", unless_long(["frame"], ["dense", "CSR", "frame", "futures"])
)
def test_predictions_are_lazy(client, kind):
    X, y = samples()
    rows = (
        on_cluster(X, y)[0] if kind == "dense" else rows_of_kind(kind, client, X, y)[0]
    )
    coef = np.array([[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 0, -1, 0]])
    intercept = np.array([0.0, 0.5, 1.0])
    one = DaskBackend().decision_values(rows, coef[0], 0.5)
    assert isinstance(one, da.Array) and one.ndim == 1
    assert one.compute() == pytest.approx(X @ coef[0] + 0.5)
    assert (
        DaskBackend().labels(one, [-1, 1]).compute().tolist()
        == np.where(X @ coef[0] + 0.5 > 0, 1, -1).tolist()
    )
    several = DaskBackend().decision_values(rows, coef, intercept)
    names = np.array(["a", "b", "c"])
    expected = X @ coef.T + intercept
    assert several.compute() == pytest.approx(expected)
    assert (
        DaskBackend().labels(several, names).compute().tolist()
        == names[np.argmax(expected, axis=1)].tolist()
    )


def test_errors_name_the_chunk(client):
    X, y = samples()
    broken = X.copy()
    broken[310, 2] = np.nan
    halves = [dask.delayed(y[:500]), dask.delayed(y[500:])]
    for error, columns, message in [
        (ValueError, on_cluster(broken, y), "In chunk 2: X has nan at row 9, column 2"),
        (ValueError, on_cluster(X, np.arange(N) % 3), "exactly two labels, got 3"),
        (ValueError, on_cluster(X, y[:-1]), "y has 999 entries, but X has 1000 rows"),
        (
            ValueError,
            (rows_of_kind("delayed", client, X, y)[0], halves),
            "y has 2 chunks, but X has 3",
        ),
        (
            TypeError,
            (rows_of_kind("frame", client, X, y)[0], y),
            r"call X\.compute_chunk_sizes",
        ),
    ]:
        with pytest.raises(error, match=message):
            Problem(*columns)
    with pytest.raises(
        ValueError,
        match="solver 'ippa' reads the rows one by one, and these are on a Dask cluster",
    ):
        solve(Problem(*on_cluster(X, y)), "ippa")


def test_an_error_while_rows_are_computed_is_not_a_loss(client):
    def read():
        raise FileNotFoundError("no rows.parquet")

    with pytest.raises(FileNotFoundError, match="no rows"):
        Problem([dask.delayed(read)()], [dask.delayed([1, -1])])


def test_without_a_cluster(monkeypatch):
    def none():
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(RuntimeError, match=r"client = Client\(\)"):
        Problem(*on_cluster(*samples()))


def test_another_version(client, monkeypatch):
    worker = next(iter(client.nthreads()))
    found = client.get_versions(packages=["drsvm", "numba", "numpy"])
    here = found["client"]["packages"]["drsvm"]
    found["workers"][worker]["packages"]["drsvm"] = "0.0.7"
    monkeypatch.setattr(client, "get_versions", lambda **_: found)
    with pytest.raises(
        RuntimeError,
        match=f"{worker} has drsvm 0.0.7, but this process has drsvm {here}",
    ):
        Problem(*on_cluster(*samples()))
