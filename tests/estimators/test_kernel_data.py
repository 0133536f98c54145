"""WassersteinKernelSVC in the span of landmarks: given ones, and on a Dask cluster."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from thorough import unless_long

from drsvm import Status, WassersteinKernelSVC
from drsvm.defaults import kernel_problems
from drsvm.persistence import load_model, save_model

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, at the end of a cluster

CUTS = (100, 1, 199)


@pytest.fixture(autouse=True)
def client(two_workers):
    with two_workers.as_current():
        yield two_workers


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.25, random_state=0)
    return X, np.array(["no", "yes"])[y]


def on_cluster(X, y):
    return da.from_array(X, chunks=(CUTS, -1)), da.from_array(y, chunks=(CUTS,))


@pytest.mark.parametrize(
    "parameters",
    unless_long(
        [{}],
        [
            {},
            {"fit_intercept": False},
            {"kernel": "poly", "coef0": 1.0},
            {"intercept_cost": math.inf},
        ],
    ),
    ids=str,
)
def test_with_all_rows_as_landmarks_it_is_the_classifier_of_the_whole_feature_space(
    moons, parameters
):
    here = WassersteinKernelSVC(**parameters, tol=1e-7).fit(*moons)
    there = WassersteinKernelSVC(**parameters, n_landmarks=300, tol=1e-8).fit(
        *on_cluster(*moons)
    )
    for name in ("gamma_", "radius_", "l2_", "intercept_cost_"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-6)
    assert (
        there.objective_ == pytest.approx(here.objective_, abs=2e-7)
        and there.gap_ <= 1e-8
    )
    assert (
        there.result_.status is Status.OPTIMAL_IN_SPAN
        and "functions of the landmarks" in repr(there.result_)
    )
    # Folds may differ
    values = [
        model.decision_function(moons[0]) + model.threshold_ for model in (there, here)
    ]
    np.testing.assert_allclose(*values, atol=0.02)


@pytest.mark.thorough
def test_the_best_function_of_few_landmarks(moons, tmp_path):
    few = WassersteinKernelSVC(n_landmarks=12, tol=1e-8).fit(*on_cluster(*moons))
    assert few.landmarks_.shape == (12, 2) and few.gap_ <= 1e-8
    assert all((moons[0] == landmark).all(axis=1).any() for landmark in few.landmarks_)
    again = WassersteinKernelSVC(landmarks=few.landmarks_, tol=1e-8)
    assert again.fit(*on_cluster(*moons)).objective_ == pytest.approx(
        few.objective_, abs=2e-8
    )
    assert again.fit(*moons).objective_ == pytest.approx(few.objective_, abs=2e-8)
    in_full = WassersteinKernelSVC(tol=1e-7).fit(*moons)
    assert (
        few.objective_ > in_full.objective_ + 1e-5
        and few.lower_bound_ > in_full.objective_
    )  # of another problem
    values = (
        rbf_kernel(moons[0], few.landmarks_, gamma=few.gamma_) @ few.dual_coef_[0]
        + few.intercept_
    )
    np.testing.assert_allclose(few.decision_function(moons[0]), values, atol=1e-9)
    norm = math.sqrt(
        few.dual_coef_[0]
        @ rbf_kernel(few.landmarks_, gamma=few.gamma_)
        @ few.dual_coef_[0]
    )
    assert norm == pytest.approx(np.linalg.norm(few.result_.weights), rel=1e-6)
    save_model(again, tmp_path / "few.drsvm")
    np.testing.assert_array_equal(
        load_model(tmp_path / "few.drsvm").predict(moons[0]), again.predict(moons[0])
    )


def test_a_claim_about_limited_weights_stays_one(moons):
    model = WassersteinKernelSVC(
        landmarks=moons[0][:20], gamma=1.0, radius=0.0, l2=0.0
    ).fit(*moons)
    assert model.result_.status is Status.OPTIMAL_WITHIN_BOUNDS and np.isfinite(
        model.result_.weight_bound
    )


def test_landmarks_need_not_be_rows_and_may_repeat(moons):
    centres = np.random.default_rng(0).uniform(-1, 2, size=(15, 2))
    model = WassersteinKernelSVC(landmarks=np.vstack([centres, centres])).fit(*moons)
    assert len(model.landmarks_) <= 15 and model.landmark_indices_.tolist() == [
        -1
    ] * len(model.landmarks_)
    assert model.score(*moons) > 0.9


@pytest.mark.thorough
def test_predictions_are_computed_when_they_are_asked_for(moons):
    X, y = on_cluster(*moons)
    model = WassersteinKernelSVC(n_landmarks=20, calibration="sigmoid").fit(X, y)
    values = model.decision_function(X)
    labels = model.predict(X)
    chances = model.predict_proba(X)
    assert (
        isinstance(values, da.Array)
        and isinstance(labels, da.Array)
        and chances.shape == (300, 2)
    )
    np.testing.assert_allclose(
        values.compute(), model.decision_function(moons[0]), rtol=1e-9
    )
    assert (labels.compute() == model.predict(moons[0])).all()
    np.testing.assert_allclose(
        chances.compute(), model.predict_proba(moons[0]), rtol=1e-9
    )
    # A classifier of any rows decides about these
    here = WassersteinKernelSVC(n_landmarks=20).fit(*moons)
    np.testing.assert_allclose(
        here.decision_function(X).compute(), here.decision_function(moons[0]), rtol=1e-9
    )


@pytest.mark.thorough
def test_several_classes_sparse_blocks_and_weights(three_classes, client):
    X, y = three_classes
    weights = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    landmarks = X[::7]
    here = WassersteinKernelSVC(landmarks=landmarks, tol=1e-8).fit(X, y, weights)
    cuts = [slice(0, 60), slice(60, len(y))]
    # Fmt: skip
    blocks = [
        client.scatter([of(column[rows]) for rows in cuts])
        for of, column in (
            (sparse.csr_matrix, X),
            (np.asarray, y),
            (np.asarray, weights),
        )
    ]
    there = WassersteinKernelSVC(landmarks=landmarks, tol=1e-8).fit(*blocks)
    assert there.radius_ == pytest.approx(here.radius_, rel=1e-4)
    np.testing.assert_allclose(there.objective_, here.objective_, atol=1e-6)
    decisions = there.decision_function(blocks[0])
    assert decisions.shape[1] == 3
    np.testing.assert_allclose(
        decisions.compute(), there.decision_function(X), atol=1e-9
    )
    assert (there.predict(blocks[0]).compute() == here.predict(X)).mean() > 0.98


@pytest.mark.thorough
def test_frames_have_names_prices_and_costs_of_flips(moons):
    costs = np.random.default_rng(0).choice([0.5, math.inf], size=300)
    frame = pd.DataFrame(moons[0], columns=["a", "b"]).assign(y=moons[1], cost=costs)
    parts = dd.from_pandas(frame, npartitions=3)
    settings = {"feature_cost": {"b": 2.0}, "tol": 1e-8}
    there = WassersteinKernelSVC(**settings, n_landmarks=300)
    there.fit(
        parts[["a", "b"]],
        parts["y"],
        flip_cost=parts["cost"].to_dask_array(lengths=True),
    )
    here = WassersteinKernelSVC(**settings).fit(
        frame[["a", "b"]], frame["y"], flip_cost=costs
    )
    assert there.feature_names_in_.tolist() == ["a", "b"]
    assert there.objective_ == pytest.approx(here.objective_, abs=1e-6)
    assert (
        there.predict(parts[["a", "b"]]).compute() == there.predict(frame[["a", "b"]])
    ).all()
    with pytest.raises(ValueError, match="feature names"):
        there.predict(parts[["b", "a"]])


@pytest.mark.thorough
def test_of_many_rows_a_sample_chooses(moons, monkeypatch):
    monkeypatch.setattr("drsvm.defaults.kernel_problems.MAX_SAMPLE", 75)
    samples = []
    posed = kernel_problems.problems_in_feature_space

    def problems_of_sample(data, *choices):
        samples.append(data)
        return posed(data, *choices)

    monkeypatch.setattr(
        kernel_problems, "problems_in_feature_space", problems_of_sample
    )
    WassersteinKernelSVC(n_landmarks=12).fit(*on_cluster(*moons))
    assert samples[0].sample_weight.sum() == pytest.approx(
        150
    )  # evidence is that of the rows that are judged
    assert samples[0].counts_for_radius([], 0).sum() == pytest.approx(300)
    some = WassersteinKernelSVC(n_landmarks=12, gamma=1.0).fit(*on_cluster(*moons))
    every = WassersteinKernelSVC(gamma=1.0).fit(*moons)
    assert some.radius_ != every.radius_
    assert some.radius_ == pytest.approx(
        every.radius_, rel=0.3
    )  # and not √2 times that, as of so few rows


def test_errors_say_what_to_do(moons):
    X, y = on_cluster(*moons)
    products = moons[0] @ moons[0].T
    gaps = da.where(moons[0][101, 1] == X, np.nan, X)
    for message, parameters, rows in (
        ("n_landmarks=300", {}, (X, y)),
        (
            "kernel that is a function",
            {"kernel": "precomputed", "n_landmarks": 5},
            (X, y),
        ),
        (
            "kernel that is a function",
            {"kernel": "precomputed", "landmarks": moons[0]},
            (products, moons[1]),
        ),
        ("landmarks must have the 2 features", {"landmarks": np.zeros((3, 4))}, (X, y)),
        (
            "landmarks must be rows like those of X: X has nan at row 0",
            {"landmarks": np.full((3, 2), np.nan)},
            moons,
        ),
        ("In chunk 2: X has nan at row 0, column 1", {"n_landmarks": 5}, (gaps, y)),
    ):
        with pytest.raises(ValueError, match=message):
            WassersteinKernelSVC(**parameters).fit(*rows)
    with pytest.raises(ValueError, match="1 features"):
        WassersteinKernelSVC(n_landmarks=5, gamma=1.0, engine="dask").fit(X, y).predict(
            X[:, :1]
        )
