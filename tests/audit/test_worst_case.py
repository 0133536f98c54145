"""The worst case: its risk against linear programs, and its distribution recomputed atom by atom."""

import math

import numpy as np
import pytest
from audits import check_distribution, error_program, hinge_program, two_classes
from hypothesis import example, given
from hypothesis import strategies as st
from problems import amounts, classifiers, problems
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from drsvm import worst_case_distribution, worst_case_risk

X = np.array(
    [[2.0, 1.0], [1.0, 1.5], [-1.0, 0.5], [-2.0, -1.0], [0.5, -0.5], [-0.25, 0.0]]
)
Y = np.array([1, 1, -1, -1, 1, -1])
MODEL = (np.array([0.8, -0.3]), 0.1)


@st.composite
def audits(draw, **fixed):
    """Draw the arguments of an audit: a classifier, data and a ball."""
    problem = draw(problems(l2=0.0, **fixed))
    ball = {
        "classes": [-1, 1],  # one of them may not occur
        "radius": problem.radius,
        "flip_cost": problem.flip_cost,
        "norm": problem.norm.p,
    }
    ball["sample_weight"] = problem.sample_weight
    if np.isinf(problem.flip_cost).all():
        radii = st.sampled_from([0.0, 0.1, 1.0])
        n = len(problem.signs)
        ball["row_radius"] = draw(radii | st.lists(radii, min_size=n, max_size=n))
    return draw(classifiers(problem)), np.array(problem.X), problem.signs, ball


# The risk

LARGE_MARGINS = (
    (np.array([5572.0]), 0.0),
    np.array([[4.44073536905238], [3.843297580596712], [-3.0547305605056554]]),
    np.array([1.0, 1.0, -1.0]),
    {"radius": 0.0, "flip_cost": 2.5, "norm": 2, "sample_weight": np.full(3, 1 / 3)},
)
"""The risk is 0, and 1 + m − κλ at the best λ was left with the rounding of a margin of 24,744."""


@given(audits(scales=(1.0,), max_rows=7))
@example(LARGE_MARGINS)
def test_risks_are_those_of_the_linear_programs(audit):
    model, X, y, ball = audit
    classes, codes = two_classes(model, y)
    assert worst_case_risk(model, X, y, **ball) == pytest.approx(
        hinge_program(classes, X, codes, ball), rel=1e-8
    )
    error = worst_case_risk(model, X, y, loss="zero-one", **ball)
    assert error == pytest.approx(
        error_program(classes, X, codes, ball), rel=1e-8, abs=1e-9
    )


@given(
    audits(),
    st.lists(amounts(0.0, 0.1), min_size=1, max_size=5),
    st.sampled_from(["hinge", "zero-one"]),
)
def test_an_array_of_radii_is_one_radius_at_a_time(audit, radii, loss):
    model, X, y, ball = audit
    radii = np.array(radii) * max(np.abs(X).max(), 1e-6)
    together = worst_case_risk(model, X, y, loss=loss, **{**ball, "radius": radii})
    one_by_one = [
        worst_case_risk(model, X, y, loss=loss, **{**ball, "radius": r})
        for r in radii.tolist()
    ]
    assert together.shape == radii.shape
    np.testing.assert_array_equal(together, one_by_one)


@given(audits(), st.sampled_from(["hinge", "zero-one"]))
def test_the_risk_grows_and_bends_down_with_the_radius(audit, loss):
    model, X, y, ball = audit
    radii = np.linspace(0, 2, 9) * max(np.abs(X).max(), 1e-6)
    risks = worst_case_risk(model, X, y, loss=loss, **{**ball, "radius": radii})
    slack = 1e-12 * (1 + risks.max())
    assert (np.diff(risks) >= -slack).all()
    assert (np.diff(risks, 2) <= slack).all()
    if loss == "zero-one":
        assert (risks >= 0).all() and (risks <= 1).all()


def test_shapes_of_the_answer():
    assert isinstance(worst_case_risk(MODEL, X, Y, radius=0.1), float)
    assert worst_case_risk(MODEL, X, Y, radius=[[0.1, 0.2], [0.3, 0.4]]).shape == (2, 2)
    for loss in ("hinge", "zero-one"):
        assert worst_case_risk(
            MODEL, X, Y, radius=[], flip_cost=0.5, loss=loss
        ).shape == (0,)


# The distribution


def check(distribution, model, X, y, slack=1e-3, **ball):
    classes, codes = two_classes(model, y)
    check_distribution(distribution, classes, X, codes, ball, slack)


@given(audits())
def test_the_attributes_of_the_distribution_are_correct(audit):
    model, X, y, ball = audit
    distribution = worst_case_distribution(model, X, y, **ball)
    check(distribution, model, X, y, **ball)
    assert distribution.risk == worst_case_risk(model, X, y, **ball)


@given(audits())
def test_a_sparse_distribution_equals_the_dense_one(audit):
    model, X, y, ball = audit
    dense = worst_case_distribution(model, X, y, **ball)
    compressed = worst_case_distribution(model, sparse.csr_array(X), y, **ball)
    assert sparse.issparse(compressed.features)
    check(compressed, model, sparse.csr_array(X), y, **ball)
    assert compressed.risk == pytest.approx(dense.risk, rel=1e-11)


@given(audits(scales=(1.0,)), st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_where_no_maximum_exists_the_slack_is_kept(audit, slack):
    (w, _), X, _, ball = audit
    if not w.any():
        w = np.ones_like(w)
    # Far from the boundary, so that scaling makes all margins large
    X[np.abs(X @ w) < 1e-3] += 10 * np.sign(w)
    w = w * 2 / np.abs(X @ w).min()
    y = np.sign(X @ w)
    ball = {**ball, "radius": ball["radius"] + 0.01, "flip_cost": math.inf}
    # Margins remain above 1.
    ball["row_radius"] = np.minimum(ball.get("row_radius", 0), 0.5 / np.abs(w).sum())
    distribution = worst_case_distribution((w, 0.0), X, y, slack=slack, **ball)
    assert not distribution.attained
    check(distribution, (w, 0.0), X, y, slack=slack, **ball)
    assert distribution.expected_loss < distribution.risk


def test_a_flip_that_gains_as_much_as_a_move_attains_the_risk():
    """All margins are 3 and a flip at κ = 4 gains 4: as much per unit as a move, which no margin above 1 can attain."""
    rows = np.array([[3.0], [-3.0]])
    labels = np.array([1, -1])
    model = (np.array([1.0]), 0.0)
    for radius in (0.5, 4.0, 7.0):
        ball = {"radius": radius, "flip_cost": 4.0, "norm": 2}
        distribution = worst_case_distribution(model, rows, labels, **ball)
        assert distribution.attained
        check(distribution, model, rows, labels, **ball)
        assert distribution.expected_loss == pytest.approx(radius, rel=1e-12)


def test_what_rounding_leaves_of_the_budget_moves_and_flips_nothing():
    """Flips take all of it: 0.1 is not a sum of tenths in floating point."""
    rng = np.random.default_rng(0)
    for n in range(30, 400, 10):
        rows = rng.normal(size=(n, 2))
        labels = rng.choice([-1, 1], size=n)
        rows += 2 * labels[:, None]
        distribution = worst_case_distribution(
            ([0.3, 0.3], 0.0), rows, labels, radius=0.1, flip_cost=1.0
        )
        assert (
            distribution.mass[distribution.flipped].sum() == pytest.approx(0.1)
            and not distribution.shift.any()
        )
        assert np.count_nonzero(distribution.flipped) == n // 10


def test_with_zero_weights_nothing_moves():
    for flip_cost in (0.0, 1.0, math.inf):
        ball = {"radius": 0.2, "flip_cost": flip_cost, "norm": 2}
        distribution = worst_case_distribution((np.zeros(2), 0.5), X, Y, **ball)
        assert distribution.attained and not distribution.shift.any()
        np.testing.assert_array_equal(distribution.features, X[distribution.rows])
        check(distribution, (np.zeros(2), 0.5), X, Y, **ball)


def test_without_a_radius_the_distribution_is_the_data_and_a_row_of_weight_zero_has_no_atom():
    distribution = worst_case_distribution(MODEL, X, Y, radius=0, flip_cost=1)
    assert (
        distribution.transport_cost == 0
        and distribution.attained
        and not distribution.flipped.any()
    )
    np.testing.assert_array_equal(distribution.features, X)
    weights = np.array([1.0, 0.0, 1.0, 2.0, 0.0, 1.0])
    ball = {"radius": 0.3, "flip_cost": 0.5, "norm": 1, "sample_weight": weights}
    distribution = worst_case_distribution(MODEL, X, Y, **ball)
    assert not np.isin(distribution.rows, [1, 4]).any()
    check(distribution, MODEL, X, Y, **ball)


def test_labels_keep_their_names_and_a_distribution_prints_readably():
    names = np.where(Y > 0, "yes", "no")
    distribution = worst_case_distribution(MODEL, X, names, radius=0.3, flip_cost=0.5)
    assert set(distribution.labels.tolist()) <= {"yes", "no"}
    np.testing.assert_array_equal(
        distribution.labels != names[distribution.rows], distribution.flipped
    )
    assert distribution.flipped.any()
    assert all(word in repr(distribution) for word in ("atoms", "flips", "attained"))


def test_the_given_data_are_not_modified():
    rows = np.asfortranarray(X)
    distribution = worst_case_distribution(MODEL, rows, Y, radius=3.0, flip_cost=2.0)
    distribution.features[:] = 0.0
    np.testing.assert_array_equal(rows, X)
    assert rows.flags.writeable


# Models


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(60, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    return rows, np.where(
        rows[:, 0] + 0.1 * rows[:, 1] + 0.3 * rng.normal(size=60) > 0.5, "up", "down"
    )


MODELS = [
    LinearSVC(),
    LogisticRegression(max_iter=10_000),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
]


@pytest.mark.parametrize(
    "model", [*MODELS, SVC(kernel="linear")], ids=lambda model: type(model).__name__
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_linear_models_of_scikit_learn_are_read(model, container, labelled):
    rows, y = labelled
    scaled = StandardScaler().fit_transform(rows)
    fitted = model.fit(scaled, y)
    values = np.where(y == fitted.classes_[1], 1, -1) * fitted.decision_function(scaled)
    audit = {"radius": 0, "flip_cost": math.inf}
    loss = worst_case_risk(fitted, container(scaled), y, **audit)
    assert loss == pytest.approx(np.maximum(1 - values, 0).mean(), rel=1e-10)
    error = worst_case_risk(fitted, container(scaled), y, loss="zero-one", **audit)
    assert error == pytest.approx(1 - fitted.score(scaled, y), abs=1e-12)
    by_hand = worst_case_risk(
        (fitted.coef_, fitted.intercept_), container(scaled), y, radius=0.2
    )
    assert worst_case_risk(fitted, container(scaled), y, radius=0.2) == by_hand
    distribution = worst_case_distribution(fitted, scaled, y, radius=0.2)
    assert distribution.expected_loss == pytest.approx(by_hand, rel=1e-10)


def test_a_pipeline_is_evaluated_after_its_transformers(labelled):
    rows, y = labelled
    pipeline = make_pipeline(StandardScaler(), LinearSVC()).fit(rows, y)
    scaled = pipeline[0].transform(rows)
    assert worst_case_risk(pipeline, rows, y, radius=0.2) == worst_case_risk(
        pipeline[-1], scaled, y, radius=0.2
    )
    nested = make_pipeline(
        StandardScaler(), make_pipeline(StandardScaler(), LinearSVC())
    ).fit(rows, y)
    twice, once = (
        worst_case_risk(model, rows, y, radius=0) for model in (nested, pipeline)
    )
    assert twice == pytest.approx(once, rel=1e-6)
    alone = make_pipeline(LinearSVC()).fit(scaled, y)
    assert worst_case_risk(alone, scaled, y, radius=0.2) == worst_case_risk(
        alone[-1], scaled, y, radius=0.2
    )


def test_one_class_of_the_data_is_enough_for_a_model_that_knows_both(labelled):
    rows, y = labelled
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, y)
    assert worst_case_risk(model, rows[y == "up"], y[y == "up"], radius=0.1) > 0
    # (coef, intercept) is told, since 1 may be the smaller label
    risk = worst_case_risk(MODEL, X[:2], [1, 1], radius=0.1, classes=[-1, 1])
    assert risk == worst_case_risk(MODEL, X[:2], [2, 2], radius=0.1, classes=[1, 2])
    assert risk == worst_case_risk(MODEL, X[:2], [2, 2], radius=0.1, classes=(2, 1))
    turned = worst_case_risk(MODEL, X[:2], [1, 1], radius=0.1, classes=[1, 2])
    assert turned == worst_case_risk(
        MODEL, X[:2], [1, 1], radius=0.1, classes=[1, 2], positive=2
    )
    assert turned > risk
    with pytest.raises(
        ValueError, match=r"y has one label, 1, .* pass both as classes"
    ):
        worst_case_risk(MODEL, X[:2], [1, 1], radius=0.1)
    with pytest.raises(ValueError, match=r"label 7, but the model only knows \[1, 2\]"):
        worst_case_risk(MODEL, X[:2], [1, 7], radius=0.1, classes=[1, 2])


def test_of_several_classes_some_may_be_missing():
    model = (
        np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]),
        np.array([0.1, 0.0, 0.3]),
    )
    y = np.array(["b", "a", "b", "a", "a", "b"])
    risk = worst_case_risk(
        model, X, y, radius=0.2, loss="zero-one", classes=["c", "b", "a"]
    )
    values = X @ model[0].T + model[1]
    wrong = np.array(["a", "b", "c"])[values.argmax(axis=1)] != y
    assert risk > wrong.mean()
    assert (
        worst_case_distribution(
            model, X, y, radius=0.0, classes=["a", "b", "c"]
        ).labels.tolist()
        == y.tolist()
    )
    with pytest.raises(ValueError, match="Pass all labels as classes="):
        worst_case_risk(model, X, y, radius=0.2)


def test_a_column_of_labels_is_accepted():
    expected = worst_case_risk(MODEL, X, Y, radius=0.1)
    for labels in (Y[:, None], Y > 0, (Y > 0).astype(int), np.where(Y > 0, "b", "a")):
        assert worst_case_risk(MODEL, X, labels, radius=0.1) == expected
    assert (
        worst_case_risk([MODEL[0].tolist(), 0.1], X.tolist(), Y.tolist(), radius=0.1)
        == expected
    )


def test_unsuitable_models_are_rejected(labelled):
    rows, y = labelled
    with pytest.raises(
        TypeError, match=r"LinearSVC has no coef_\. It is not fitted, or not linear"
    ):
        worst_case_risk(LinearSVC(), rows, y, radius=0.1)
    with pytest.raises(TypeError, match="model must be a fitted linear classifier"):
        worst_case_risk(DecisionTreeClassifier().fit(rows, y), rows, y, radius=0.1)
    with pytest.raises(ValueError, match="not fitted"):
        worst_case_risk(
            make_pipeline(StandardScaler(), LinearSVC()), rows, y, radius=0.1
        )
    three = LinearSVC().fit(StandardScaler().fit_transform(rows), np.arange(60) % 3)
    with pytest.raises(
        ValueError, match=r"y has the label '.*', but the model only knows \[0, 1, 2\]"
    ):
        worst_case_risk(three, rows, y, radius=0.1)
    model = LogisticRegression().fit(rows / 100, y)
    others = np.where(y == "up", "up", "sideways")
    with pytest.raises(
        ValueError,
        match=r"y has the label 'sideways', but the model only knows .*'down', 'up'",
    ):
        worst_case_risk(model, rows, others, radius=0.1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"model": ([1.0], 0.0)},
            ValueError,
            r"the model's coef must have one entry per feature of X \(2\)",
        ),
        ({"model": ([1.0, math.nan], 0.0)}, ValueError, "the model's coef has NaN"),
        (
            {"model": ([1.0, 2.0], math.nan)},
            ValueError,
            r"intercept must be one finite number, got \[nan\]",
        ),
        (
            {"model": ([1.0, 2.0], [0.0, 1.0])},
            ValueError,
            "intercept must be one finite number",
        ),
        ({"model": (np.ones((3, 2)), np.ones(3))}, ValueError, "separates 3 classes"),
        ({"model": None}, TypeError, "NoneType has no coef_"),
        ({"radius": -1}, ValueError, "radius=-1"),
        ({"radius": "wide"}, TypeError, "radius must be a number"),
        ({"flip_cost": 1e-300}, ValueError, "use 0"),
        (
            {"flip_cost": {-1: 1.0, 1: 2.0}},
            TypeError,
            r"got a dict: for costs by class, pass \[costs\[label\]",
        ),
        ({"norm": 3}, ValueError, "got norm=3"),
        (
            {"sample_weight": [1, 1, 1, 1, 1, -1]},
            ValueError,
            "sample_weight has -1 at row 5",
        ),
        ({"y": Y[:3]}, ValueError, "X has 6 rows, y has shape"),
        ({"y": [1, 2, 3, 1, 2, 3]}, ValueError, "exactly two labels, got 3"),
        ({"X": X * np.nan}, ValueError, "X has nan at row 0, column 0"),
    ],
)
@pytest.mark.parametrize("audit", [worst_case_risk, worst_case_distribution])
def test_bad_input_is_rejected(audit, arguments, error, message):
    with pytest.raises(error, match=message):
        audit(**{"model": MODEL, "X": X, "y": Y, "radius": 0.1, **arguments})


def test_bad_loss_and_slack_are_rejected():
    with pytest.raises(
        ValueError, match="loss must be 'hinge' or 'zero-one', got loss='log'"
    ):
        worst_case_risk(MODEL, X, Y, radius=0.1, loss="log")
    with pytest.raises(ValueError, match="slack must be positive"):
        worst_case_distribution(MODEL, X, Y, radius=0.1, slack=0)
