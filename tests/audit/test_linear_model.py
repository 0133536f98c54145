"""Reading one linear decision function from any classifier."""

import inspect

import numpy as np
import pandas as pd
import pytest
from problems import PLAIN, plain_svc
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import compute_sample_weight

from drsvm import (
    Problem,
    WassersteinSVC,
    WassersteinSVCCV,
    solve,
    worst_case_distribution,
    worst_case_risk,
)
from drsvm.audit import DEFAULT_BALL, decision_functions

CLASSES = ["ant", "bee", "cat"]
MULTICLASS = [
    LinearSVC(),
    LogisticRegression(),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
]
MULTICLASS += [WassersteinSVC(flip_cost=np.inf), OneVsRestClassifier(LinearSVC())]


@pytest.fixture(scope="module")
def three():
    """Return rows and labels of three classes."""
    rng = np.random.default_rng(4)
    y = np.repeat(CLASSES, 30)
    centres = {"ant": [2, 0, 0], "bee": [-1, 2, 0], "cat": [-1, -2, 1]}
    return rng.normal(size=(90, 3)) + [centres[label] for label in y], y


@pytest.mark.parametrize("model", MULTICLASS, ids=lambda model: type(model).__name__)
def test_a_class_is_evaluated_against_the_rest_by_its_own_decision_value(model, three):
    rows, y = three
    fitted = model.fit(rows, y)
    for k, label in enumerate(CLASSES):
        values = np.where(y == label, 1, -1) * fitted.decision_function(rows)[:, k]
        loss = worst_case_risk(fitted, rows, y, radius=0, positive=label)
        assert loss == pytest.approx(np.maximum(1 - values, 0).mean(), rel=1e-10)
        error = worst_case_risk(
            fitted, rows, y, radius=0, positive=label, loss="zero-one"
        )
        assert error == pytest.approx((values <= 0).mean())


def test_a_class_behind_a_pipeline_and_a_sparsified_model(three):
    rows, y = three
    pipeline = make_pipeline(StandardScaler(), SGDClassifier(random_state=0)).fit(
        rows, y
    )
    scaled = pipeline[0].transform(rows)
    bee = pipeline[-1].coef_[1], pipeline[-1].intercept_[1]
    expected = worst_case_risk(bee, scaled, y == "bee", radius=0.2, flip_cost=2.0)
    ball = {"radius": 0.2, "flip_cost": 2.0, "positive": "bee"}
    assert worst_case_risk(pipeline, rows, y, **ball) == pytest.approx(
        expected, rel=1e-12
    )
    pipeline[-1].sparsify()
    assert worst_case_risk(
        pipeline[-1], sparse.csr_array(scaled), y, **ball
    ) == pytest.approx(expected, rel=1e-12)


def test_the_distribution_of_a_class_against_the_rest(three):
    rows, y = three
    model = LinearSVC().fit(rows, y)
    ball = {"radius": 0.1, "flip_cost": 1.0, "positive": "cat"}
    distribution = worst_case_distribution(model, rows, y, **ball)
    assert distribution.labels.dtype == bool and distribution.flipped.any()
    np.testing.assert_array_equal(
        distribution.labels != (y == "cat")[distribution.rows], distribution.flipped
    )
    assert distribution.expected_loss == pytest.approx(
        worst_case_risk(model, rows, y, **ball), rel=1e-10
    )


def test_two_classes_have_one_decision_for_either_positive_label(three):
    rows = three[0][:60]
    y = three[1][:60]
    model = OneVsRestClassifier(LinearSVC()).fit(rows, y)
    expected = worst_case_risk(LinearSVC().fit(rows, y), rows, y, radius=0.1)
    for positive in (None, "ant", "bee"):
        assert worst_case_risk(
            model, rows, y, radius=0.1, positive=positive
        ) == pytest.approx(expected)
    with pytest.raises(
        ValueError, match=r"positive='cow' is not one of the classes \['ant', 'bee'\]"
    ):
        worst_case_risk(model, rows, y, radius=0.1, positive="cow")


def test_a_result_is_a_model(three):
    rows, y = three
    result = solve(
        Problem(rows, y == "ant", radius=0.1, flip_cost=2.0, fit_intercept=True)
    )
    ball = {"radius": 0.1, "flip_cost": 2.0}
    assert worst_case_risk(result, rows, y == "ant", **ball) == pytest.approx(
        result.objective, rel=1e-12
    )
    assert worst_case_risk(result, rows, y, positive="ant", **ball) == pytest.approx(
        result.objective, rel=1e-12
    )


FREE = {"intercept_cost": np.inf}  # then the objective is the worst-case risk
OURS = {
    "classifier": plain_svc(radius="auto", flip_cost=2.0, norm=1, **FREE),
    "cross-validation": WassersteinSVCCV(
        radii=[0.3, 0.2],
        flip_costs=[0.5, 2.0],
        norms=[np.inf, 1],
        intercept_costs=np.inf,
        cv=2,
        **PLAIN,
    ),
    "pipeline": make_pipeline(
        StandardScaler(), plain_svc(radius=0.2, flip_cost=np.inf, norm=np.inf, **FREE)
    ),
    "search": GridSearchCV(
        make_pipeline(StandardScaler(), plain_svc(norm=1, **FREE)),
        {"wassersteinsvc__radius": [0.1, 0.2]},
        cv=2,
    ),
}


@pytest.mark.parametrize("kind", OURS)
def test_the_ball_is_by_default_that_of_the_model(kind, three):
    rows = three[0][:60]
    y = three[1][:60]
    model = clone(OURS[kind]).fit(rows, y)
    last = getattr(model, "best_estimator_", model)
    last = last[-1] if hasattr(last, "steps") else last
    if kind == "cross-validation":
        ball = {
            "radius": last.radius_,
            "flip_cost": last.flip_cost_,
            "norm": last.norm_,
        }
        weights = compute_sample_weight(last.class_weight_, y)
    else:
        ball = {"radius": last.radius_, "flip_cost": last.flip_cost, "norm": last.norm}
        weights = None
    assert worst_case_risk(model, rows, y, sample_weight=weights) == pytest.approx(
        last.objective_, rel=1e-9
    )
    for loss in ("hinge", "zero-one"):
        assert worst_case_risk(model, rows, y, loss=loss) == worst_case_risk(
            model, rows, y, loss=loss, **ball
        )
    for given in (
        {"radius": 0.4},
        {"flip_cost": 0.1},
        {"flip_cost": np.inf, "norm": 2},
    ):  # given values win
        mixed = worst_case_risk(model, rows, y, **{**ball, **given})
        assert (
            worst_case_risk(model, rows, y, **given)
            == mixed
            != worst_case_risk(model, rows, y)
        )
    distribution = worst_case_distribution(model, rows, y)
    assert distribution.risk == worst_case_risk(model, rows, y)
    assert distribution.transport_cost == pytest.approx(last.radius_, rel=1e-9)


def test_the_default_prices_are_those_of_the_estimator():
    parameters = inspect.signature(WassersteinSVC).parameters
    assert {name: parameters[name].default for name in DEFAULT_BALL} == DEFAULT_BALL


def test_other_models_need_a_radius_and_use_the_default_costs(three):
    rows = three[0][:60]
    y = three[1][:60] == "ant"
    linear = LinearSVC().fit(rows, y)
    result = solve(Problem(rows, y, radius=0.2, flip_cost=3.0, norm=1))
    for model, name in (
        (linear, "LinearSVC"),
        (result, "Result"),
        ((linear.coef_, linear.intercept_), "tuple"),
    ):
        for judge in (worst_case_risk, worst_case_distribution):
            with pytest.raises(
                ValueError,
                match=f"radius is required for a {name}: pass one, for instance radius=0.1",
            ):
                judge(model, rows, y)
        risk = worst_case_risk(model, rows, y, radius=0.1, flip_cost=np.inf, norm=2)
        assert worst_case_risk(model, rows, y, radius=0.1) == risk
        assert worst_case_distribution(model, rows, y, radius=0.1).risk == risk


@pytest.mark.parametrize(
    "model",
    [WassersteinSVC(), WassersteinSVCCV(radii=[0.1], cv=2, refit=False)],
    ids=str,
)
def test_a_model_without_weights_has_no_worst_case(model, three):
    rows = three[0][:60]
    y = three[1][:60]
    model = model if isinstance(model, WassersteinSVC) else model.fit(rows, y)
    with pytest.raises(TypeError, match="has no coef_"):
        worst_case_risk(model, rows, y)


def test_arrays_take_the_positive_label_by_name(three):
    rows, y = three
    coef = np.array([1.0, -1.0, 0.0])
    intercept = 0.5
    by_name = worst_case_risk((coef, intercept), rows, y, radius=0.1, positive="ant")
    assert by_name == worst_case_risk((coef, intercept), rows, y == "ant", radius=0.1)
    two = y[:60]
    turned = worst_case_risk(
        (-coef, -intercept), rows[:60], two, radius=0.1, positive="ant"
    )
    assert turned == worst_case_risk((coef, intercept), rows[:60], two, radius=0.1)
    labels = worst_case_distribution(
        (coef, intercept), rows[:60], two, radius=0.0, positive="ant"
    ).labels
    np.testing.assert_array_equal(labels, two)
    with pytest.raises(ValueError, match="positive='cow' is not among the labels of y"):
        worst_case_risk((coef, intercept), rows, y, radius=0.1, positive="cow")


def test_data_frames_are_accepted_and_unknown_columns_rejected(three):
    rows, y = three
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    model = LinearSVC().fit(frame, y)
    expected = worst_case_risk(
        (model.coef_[0], model.intercept_[0]), rows, y, radius=0.1, positive="ant"
    )
    assert (
        worst_case_risk(model, frame, pd.Series(y), radius=0.1, positive="ant")
        == expected
    )
    with pytest.raises(
        ValueError, match=r"only their order differs.*\['a', 'b', 'c'\]"
    ):
        worst_case_risk(model, frame[["b", "a", "c"]], y, radius=0.1, positive="ant")
    with pytest.raises(
        ValueError, match=r"different columns from those the model was fitted with: 'z'"
    ):
        worst_case_risk(
            model, frame.rename(columns={"a": "z"}), y, radius=0.1, positive="ant"
        )


def test_missing_decision_functions_are_rejected(three):
    rows, y = three
    with pytest.raises(
        ValueError,
        match=r"SVC compares pairs of classes .* 'ant' against the rest: use LinearSVC",
    ):
        decision_functions(SVC(kernel="linear").fit(rows, y), rows, positive="ant")
    with pytest.raises(TypeError, match="DecisionTreeClassifier has no coef_"):
        decision_functions(DecisionTreeClassifier().fit(rows, y), rows, positive="ant")
    with pytest.raises(
        ValueError,
        match=r"separates 3 classes: pass one row, \(coef\[k\], intercept\[k\]\)",
    ):
        decision_functions((np.ones((3, 3)), np.ones(3)), rows, positive="ant")


def test_prices_by_name_are_those_in_the_order_of_the_features():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = X["a"] + X["b"] > 0.3 * rng.normal(size=60)
    plain = LinearSVC().fit(X, y)
    scaled = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    search = GridSearchCV(scaled, {"linearsvc__C": [1.0]}, cv=2).fit(X, y)
    ball = {"radius": 0.1, "flip_cost": np.inf}
    for model in (plain, scaled, search):
        named = worst_case_risk(model, X, y, feature_cost={"b": np.inf}, **ball)
        assert named == worst_case_risk(
            model, X, y, feature_cost=[1.0, np.inf, 1.0], **ball
        )
        assert named < worst_case_risk(model, X, y, **ball)
        moved = worst_case_distribution(
            model, X, y, feature_cost={"b": np.inf}, **ball
        ).direction
        assert moved[1] == 0 and (moved[[0, 2]] != 0).all()
    with pytest.raises(
        ValueError,
        match="feature_cost names 'd', which is not among the features a, b, c",
    ):
        worst_case_risk(scaled, X, y, feature_cost={"d": 2.0}, **ball)
    with pytest.raises(
        ValueError,
        match="X has no names: pass a data frame, or feature_cost as an array",
    ):
        worst_case_risk(
            (plain.coef_, plain.intercept_),
            X.to_numpy(),
            y,
            feature_cost={"a": 2.0},
            **ball,
        )
