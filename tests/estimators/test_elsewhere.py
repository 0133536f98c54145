"""The estimator on rows that are on a Dask cluster."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from thorough import unless_long

from drsvm import (
    ClippedScaler,
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    load_model,
    save_model,
    worst_case_risk,
)
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.probability import fitted_sigmoids
from drsvm.estimators.checks import checked_data, checked_data_anywhere

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, at the end of a cluster

CUTS = (200, 130, 270)


@pytest.fixture(autouse=True)
def client(two_workers):
    with two_workers.as_current():
        yield two_workers


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.4, "yes", "no")
    return rng.normal(size=(600, 4)) + 0.7 * (y == "yes")[:, None] + 2.0, y


def on_cluster(X, y):
    return da.from_array(X, chunks=(CUTS, -1)), da.from_array(y, chunks=(CUTS,))


@pytest.mark.parametrize(
    "parameters",
    unless_long(
        [{}], [{}, {"norm": math.inf, "radius": 0.05}, {"norm": 1, "flip_cost": 2.0}]
    ),
    ids=str,
)
def test_it_is_the_same_classifier(data, parameters):
    here = WassersteinSVC(**parameters, tol=1e-9).fit(*data)
    there = WassersteinSVC(**parameters, tol=1e-9).fit(*on_cluster(*data))
    assert there.classes_.tolist() == ["no", "yes"] and there.n_features_in_ == 4
    assert there.radius_ == pytest.approx(here.radius_, rel=1e-6)
    assert there.intercept_cost_ == pytest.approx(here.intercept_cost_, rel=1e-9)
    assert (
        there.objective_ == pytest.approx(here.objective_, rel=1e-3)
        and there.gap_ <= 1e-9
    )
    np.testing.assert_allclose(
        there.coef_, here.coef_, atol=2e-3 * np.abs(here.coef_).max()
    )
    np.testing.assert_allclose(there.mean_, here.mean_, rtol=1e-9)


@pytest.mark.thorough
def test_rows_may_each_shift(data):
    X, y = data
    radii = np.random.default_rng(0).uniform(0.0, 0.5, 600)
    svc = WassersteinSVC(0.05, l2=0.01, tol=1e-9)
    here = svc.fit(X, y, row_radius=radii).objective_
    there = svc.fit(*on_cluster(X, y), row_radius=da.from_array(radii, chunks=CUTS[1]))
    assert there.objective_ == pytest.approx(here, abs=2e-9)


@pytest.mark.thorough
def test_rows_may_each_shift_in_the_span_of_landmarks(data):
    X, y = data
    kernel = WassersteinKernelSVC(
        gamma=0.1, radius=0.05, l2=0.01, landmarks=X[:20], intercept_cost=1.0, tol=1e-8
    )
    here = kernel.set_params(row_radius=0.3).fit(X, y).objective_
    there = kernel.fit(*on_cluster(X, y)).objective_
    assert there == pytest.approx(here, abs=1e-2)
    with pytest.raises(ValueError, match="in memory only"):
        kernel.fit(*on_cluster(X, y), row_radius=da.ones(600, chunks=CUTS[1]))


@pytest.mark.parametrize(
    "model", [WassersteinSVC(0.1), WassersteinKernelSVC(n_landmarks=5, radius=0.1)]
)
def test_the_average_row_is_that_of_the_given_weights(data, model):
    X, y = data
    counts = np.random.default_rng(1).integers(1, 4, 600).astype(float)
    y = y if hasattr(model, "kernel") else np.where(X[:, 0] > 3.5, "other", y)
    model.fit(*on_cluster(X, y), da.from_array(counts, chunks=(CUTS,)))
    expected = np.average(X, axis=0, weights=counts)
    np.testing.assert_allclose(model.mean_, expected, rtol=1e-9)


@pytest.mark.parametrize("n_classes", unless_long([2], [2, 3]))
def test_evidence_is_that_of_a_sample(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 20))
    y = (X @ rng.normal(size=20) + rng.normal(size=600) > 0).astype(int)
    X *= np.logspace(-3, 0, 20)  # columns of a small scale decide
    y = y if n_classes == 2 else np.where(X[:, -1] > 1.0, 2, y)
    here = WassersteinSVC().fit(X, y)
    there = WassersteinSVC().fit(*on_cluster(X, y))
    monkeypatch.setattr("drsvm.defaults.fit_data.MIN_SAMPLE", np.inf)
    assert there.radius_ == pytest.approx(here.radius_, rel=1e-6)
    assert there.radius_ < 0.5 * WassersteinSVC().fit(*on_cluster(X, y)).radius_


@pytest.mark.parametrize(
    "kind", ["array", "unknown lengths", "frame", "futures", "sparse"]
)
def test_a_scaler_in_front(data, client, kind, monkeypatch):
    X = data[0].copy()
    X[5] = 1e6
    blocks = np.split(X, np.cumsum(CUTS)[:-1])
    there = da.from_array(X, chunks=(CUTS, -1))
    there = {
        "array": lambda: there,
        "unknown lengths": lambda: there[there[:, 0] > -np.inf],
        "frame": lambda: dd.from_dask_array(there, columns=[*"abcd"]),
        "futures": lambda: client.scatter(blocks),
        "sparse": lambda: client.scatter(
            [sparse.csr_matrix(block) for block in blocks]
        ),  # older Dask joins no arrays
    }[kind]()
    here = ClippedScaler(with_mean=kind != "sparse").fit(X)
    scaler = ClippedScaler().fit(there)
    np.testing.assert_allclose(scaler.upper_, here.upper_)
    assert list(getattr(scaler, "feature_names_in_", "")) == (
        [*"abcd"] if kind == "frame" else []
    )
    found = scaler.transform(there).compute()
    np.testing.assert_allclose(
        found.toarray() if kind == "sparse" else found, here.transform(X), atol=1e-9
    )
    monkeypatch.setattr("drsvm.estimators.clipped_scaler.SAMPLE_ROWS", 50)
    np.testing.assert_allclose(ClippedScaler().fit(there).upper_, here.upper_, rtol=0.5)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        ClippedScaler().fit(there, sample_weight=np.ones(600))


def test_it_is_saved_without_what_belongs_to_the_rows(data, tmp_path):
    here, there = (
        WassersteinSVC(radius=0.05, l2=0.01, threshold={"no": 1, "yes": 5}).fit(*rows)
        for rows in (data, on_cluster(*data))
    )
    assert (
        there.threshold_ == pytest.approx(here.threshold_, abs=0.15)
        and there.threshold_ < -0.3
    )
    assert there.certified_intercept_ == pytest.approx(
        here.certified_intercept_, abs=0.02
    )
    save_model(there, tmp_path / "model.drsvm")
    loaded = load_model(tmp_path / "model.drsvm")
    assert (
        loaded.threshold == here.threshold
        and loaded.certified_intercept_ == there.certified_intercept_
    )
    np.testing.assert_array_equal(loaded.predict(data[0]), there.predict(data[0]))
    assert loaded.gap_ == there.gap_ and loaded.result_.hinge_dual.shape == (0,)


@pytest.mark.thorough
def test_predictions_are_computed_when_they_are_asked_for(data):
    X, y = on_cluster(*data)
    model = WassersteinSVC(radius=0.05, calibration="sigmoid").fit(X, y)
    values = model.decision_function(X)
    labels = model.predict(X)
    chances = model.predict_proba(X)
    assert (
        isinstance(values, da.Array)
        and isinstance(labels, da.Array)
        and chances.shape == (600, 2)
    )
    np.testing.assert_allclose(
        chances.compute(), model.predict_proba(data[0]), rtol=1e-12
    )
    np.testing.assert_allclose(
        model.predict_log_proba(X).compute(), np.log(chances.compute()), atol=1e-12
    )
    here = WassersteinSVC(radius=0.05, calibration="sigmoid").fit(*data)
    np.testing.assert_allclose(
        chances.compute(), here.predict_proba(data[0]), atol=2e-3
    )
    np.testing.assert_allclose(
        values.compute(), model.decision_function(data[0]), rtol=1e-12
    )
    assert (labels.compute() == model.predict(data[0])).all()
    risks = [worst_case_risk(model, *rows) for rows in ((X, y), data)]
    np.testing.assert_allclose(*risks, rtol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "parameters", [{}, {"norm": math.inf}, {"flip_cost": 1.0, "n_jobs": 3}]
)
def test_three_classes_are_three_problems(three_classes, parameters):
    X, y = three_classes
    here = WassersteinSVC(**parameters).fit(X, y)
    there = WassersteinSVC(**parameters).fit(
        da.from_array(X, chunks=(60, -1)), da.from_array(y, chunks=60)
    )
    assert there.classes_.tolist() == here.classes_.tolist() and len(there.result_) == 3
    assert (there.radius_, there.l2_) == pytest.approx(
        (here.radius_, here.l2_), rel=1e-9
    )
    for name in (
        "coef_",
        "intercept_",
        "objective_",
        "lower_bound_",
        "gap_",
        "radius_price_",
    ):
        assert getattr(there, name).shape == getattr(here, name).shape
    assert (
        there.gap_.max() <= 1e-6
        and there.threshold_ == here.threshold_ == 0.0
        and there.n_iter_ > 0
    )
    exact = here.decision_function(X)
    decided = there.decision_function(da.from_array(X, chunks=(60, -1))).compute()
    np.testing.assert_allclose(decided, exact, atol=1e-3 * exact.std())


def places_of_rows(names):
    """Return where some parts of this worker have their rows, by chunk."""
    from drsvm.engines.dask import dask_worker as worker

    places = {}
    for name in names:
        for number, part in worker._shards.get(name, {}).items():
            places.setdefault(number, []).append(id(part.X))
    return places


@pytest.mark.thorough
def test_problems_of_classes_share_their_rows(three_classes, client):
    X, y = three_classes
    # Must be converted, which is a copy
    rows = da.from_array(X[:, ::-1], chunks=(73, -1)).astype(np.int64)
    data = checked_data_anywhere(
        WassersteinSVC(), rows, da.from_array(y, chunks=73), None, None, np.inf
    )
    problems = data.problems(
        {"radius": 0.1, "intercept_cost": 1.0, "fit_intercept": True}
    )
    names = [problem.rows.coordinator.name for problem in problems]
    shared = [
        places
        for of_worker in client.run(places_of_rows, names).values()
        for places in of_worker.values()
    ]
    assert (
        len(problems) == 3 and max(map(len, shared)) > 1
    )  # a block may be on both workers
    assert all(len(set(places)) == 1 for places in shared)


@pytest.mark.thorough
def test_three_classes_and_their_weights(three_classes):
    X, y = three_classes
    parts = da.from_array(X, chunks=(60, -1)), da.from_array(y, chunks=60)
    here = WassersteinSVC(
        radius=0.1,
        class_weight={"setosa": 1.0, "versicolor": 3.0, "virginica": 2.0},
        tol=1e-8,
    )
    there = (
        WassersteinSVC(**here.get_params())
        .set_params(calibration="sigmoid")
        .fit(*parts)
    )
    here.fit(X, y)
    judged = OutOfFoldDecisions(
        here.decision_function(X), np.searchsorted(here.classes_, y), np.ones(len(y))
    )
    # Class weights do not count
    np.testing.assert_allclose(there.sigmoids_, fitted_sigmoids(judged, 3), rtol=0.02)
    chances = there.predict_proba(parts[0]).compute()
    np.testing.assert_array_equal(
        there.classes_[chances.argmax(axis=1)], there.predict(parts[0]).compute()
    )
    np.testing.assert_allclose(there.objective_, here.objective_, atol=1e-7)
    assert (there.predict(parts[0]).compute() == here.predict(X)).mean() > 0.99


@pytest.mark.thorough
def test_costs_by_class_weights_and_balance(data):
    weights = np.random.default_rng(1).random(600) + 0.5
    here = WassersteinSVC(
        radius=0.05,
        flip_cost={"yes": 1.0, "no": math.inf},
        class_weight="balanced",
        tol=1e-8,
    )
    there = WassersteinSVC(**here.get_params()).fit(
        *on_cluster(*data), da.from_array(weights, chunks=(CUTS,))
    )
    here.fit(*data, weights)
    assert there.objective_ == pytest.approx(here.objective_, abs=1e-7)


@pytest.mark.thorough
def test_classes_are_equalised_as_far(data):
    X, y = data
    rng = np.random.default_rng(4)
    y = np.where(
        rng.random(600) < 0.3,
        np.where(y == "yes", "no", "yes"),
        np.where(rng.random(600) < 0.6, "no", y),
    )
    here, there = (WassersteinSVC(threshold="optimum", tol=1e-8) for _ in range(2))
    here.fit(X, y)
    there.fit(*on_cluster(X, y))
    assert here.coef_.any()
    half_way = checked_data(here, X, y, None, "auto").class_factors
    assert (here.class_factors_ != half_way).all(), "half-way weights are not enough"
    np.testing.assert_allclose(there.class_factors_, here.class_factors_)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("class_weight", unless_long(["balanced"], [None, "balanced"]))
def test_weights_count_as_rows_in_the_automatic_radius(data, class_weight):
    weights = np.random.default_rng(1).integers(0, 5, size=600).astype(float)
    model = WassersteinSVC(class_weight=class_weight)
    there = model.fit(
        *on_cluster(*data), da.from_array(weights, chunks=(CUTS,))
    ).radius_
    assert there == pytest.approx(model.fit(*data, weights).radius_, rel=1e-6)
    repeated = [np.repeat(column, weights.astype(int), axis=0) for column in data]
    assert there == pytest.approx(model.fit(*repeated).radius_, rel=1e-6)
    assert there != pytest.approx(model.fit(*data).radius_, rel=0.1)


@pytest.mark.thorough
def test_weights_count_as_rows_of_three_classes_too(three_classes):
    X, y = three_classes
    weights = np.random.default_rng(1).integers(1, 5, size=len(y)).astype(float)
    model = WassersteinSVC(
        class_weight={"setosa": 1.0, "versicolor": 3.0, "virginica": 0.5}
    )
    there = model.fit(
        da.from_array(X, chunks=(60, -1)), da.from_array(y, chunks=60), weights
    ).radius_
    assert there == pytest.approx(model.fit(X, y, weights).radius_, rel=1e-6)


@pytest.mark.thorough
def test_data_frames_have_names(data):
    frame = pd.DataFrame(data[0], columns=[*"abcd"])
    parts = dd.from_pandas(frame.assign(y=data[1]), npartitions=3)
    model = WassersteinSVC(radius=0.05).fit(parts[[*"abcd"]], parts["y"])
    assert model.feature_names_in_.tolist() == [*"abcd"]
    assert (model.predict(parts[[*"abcd"]]).compute() == model.predict(frame)).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(parts[[*"bacd"]])


def test_blocks_may_be_sparse_futures(data, client):
    X = np.where(np.abs(data[0] - 2.0) > 1.0, data[0] - 2.0, 0.0)
    y = data[1]
    blocks = [
        client.scatter(sparse.csr_matrix(X[rows]))
        for rows in (slice(0, 200), slice(200, 600))
    ]
    labels = [client.scatter(y[rows]) for rows in (slice(0, 200), slice(200, 600))]
    there, here = (
        WassersteinSVC(tol=1e-8).fit(*rows)
        for rows in ((blocks, labels), (sparse.csr_matrix(X), y))
    )
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-3)


def test_an_engine_that_does_not_fit_the_data_says_what_to_do(data):
    X, y = on_cluster(*data)
    cases = (
        ("cpu", (X, y), "compute X first"),
        ("dask", data, "from_array"),
        ("spark", data, "auto, cpu, gpu, dask"),
    )
    for engine, rows, message in cases:
        with pytest.raises(ValueError, match=message):
            WassersteinSVC(engine=engine).fit(*rows)
    with pytest.raises(ValueError, match="3 features"):
        WassersteinSVC(radius=0.1, engine="dask").fit(X, y).predict(X[:, :3])
    with pytest.raises(TypeError, match="WassersteinSVCCV"):
        WassersteinSVCCV().fit(X, y)
