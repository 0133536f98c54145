"""WassersteinSVC: scikit-learn's own checks, and what a user expects beyond them."""

import inspect
import math
import re
import warnings
from importlib.util import find_spec
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from problems import PLAIN
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)
from thorough import unless_long

from drsvm import (
    Problem,
    Status,
    WassersteinKernelSVC,
    WassersteinSVC,
    WassersteinSVCCV,
    auto_radius,
    find_label_issues,
    radius_max,
    solve,
    worst_case_risk,
)
from drsvm.report import make_report
from drsvm.solvers import InteriorPoint
from drsvm.utils import progress

CONSTANT = ("ignore:The fitted classifier is constant", "ignore:radius / flip_cost")


@pytest.mark.filterwarnings(*CONSTANT)
@parametrize_with_checks(
    [
        WassersteinSVC(calibration="sigmoid"),
        *(WassersteinSVC(norm=p) for p in unless_long([2], [1, 2, np.inf])),
    ]
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


VARIANTS = [
    WassersteinSVC(solver="interior-point"),
    WassersteinSVC(solver="dual-coordinate"),
    WassersteinSVC(solver="feature-working-set", norm=np.inf),
    WassersteinSVC(solver="hybrid", tol=1e-3, max_iter=60),
    WassersteinSVC(solver="ippa", tol=1e-3, max_iter=60),
    WassersteinSVC(solver="admm", tol=1e-2),
    WassersteinSVC(solver="conic"),
    WassersteinSVC(intercept_cost=1.0),
]
CHECKS = [
    [
        pytest.param(*case, id=f"{model.solver}-{case[1].func.__name__}")
        for case in estimator_checks_generator(model)
    ]
    for model in VARIANTS
]
ONE_VARIANT_EACH = [
    cases[k % len(cases)] for k, cases in enumerate(zip(*CHECKS, strict=True))
]


@pytest.mark.thorough
@pytest.mark.filterwarnings(
    *CONSTANT, "ignore::sklearn.exceptions.ConvergenceWarning"
)  # features are not scaled there
@pytest.mark.parametrize(
    ("estimator", "check"), unless_long(ONE_VARIANT_EACH, list(chain(*CHECKS)))
)
def test_scikit_learn_finds_nothing_wrong_with_other_settings(estimator, check):
    if estimator.solver == "conic":
        pytest.importorskip("clarabel")
    if (
        estimator.solver not in ("auto", "interior-point")
        and "sample_weight_equivalence" in check.func.__name__
    ):
        pytest.skip(
            "compares weights to 1e-7; what is proven is the objective, and many weights may attain it"
        )
    check(estimator)


@pytest.fixture
def two_classes():
    X, y = make_classification(200, 6, n_informative=4, flip_y=0.1, random_state=0)
    return StandardScaler().fit_transform(X), np.where(y, "yes", "no")


# Input


@pytest.mark.parametrize("check", [WassersteinSVC().fit, find_label_issues])
def test_columns_without_numbers_are_named_with_a_remedy(two_classes, check):
    X, y = two_classes
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    text = frame.assign(job="clerk")
    dates = pd.date_range("2024-05-01", periods=len(frame))
    for rows, where in (
        (text, "column 'job'"),
        (text.to_numpy(), "X"),
        (text.astype({"job": "category"}), "column"),
    ):
        with pytest.raises(
            ValueError,
            match=f"{where}.* has text .*'clerk'.*: encode it first, .* with OneHotEncoder",
        ):
            check(rows, y)
    for day in (dates, dates.date, dates - dates[0]):  # the last ones are durations
        for rows in (frame.assign(day=day), frame.assign(day=day)[["day"]]):
            with pytest.raises(
                ValueError,
                match=r"column 'day' has dates .*: convert them to numbers first",
            ):
                check(rows, y)
    huge = pytest.raises(
        ValueError, match=r"X has 1e\+308, which is too large, at row 0, column 1"
    )
    with huge, np.errstate(all="ignore"):
        check(
            frame.assign(b=np.where(np.arange(len(frame)) % 9 == 0, 1e308, frame["b"])),
            y,
        )


def test_free_flips_are_named_as_the_reason_of_a_constant_classifier(two_classes):
    with pytest.warns(UserWarning) as told:
        WassersteinSVC(flip_cost=0).fit(*two_classes)
    assert any(
        "constant" in str(one.message)
        and "flip_cost=0 lets the adversary" in str(one.message)
        for one in told
    )


# Fitted attributes


@pytest.mark.parametrize(
    ("estimator", "first"),
    [
        (WassersteinSVC, ["radius", "flip_cost", "norm", "l2", "fit_intercept"]),
        (WassersteinSVCCV, ["radii", "flip_costs", "norms", "l2", "intercept_costs"]),
        (WassersteinKernelSVC, ["kernel", "gamma", "degree", "coef0", "n_landmarks"]),
    ],
)
def test_signatures_have_the_order_of_the_docstring(estimator, first):
    shown = inspect.signature(estimator).parameters
    assert list(shown)[:5] == first and set(shown) == set(estimator().get_params())
    assert [
        name for name, each in shown.items() if each.kind is each.POSITIONAL_OR_KEYWORD
    ] == first[:1]


def test_two_classes_are_one_problem(two_classes):
    X, y = two_classes
    ball = {
        "radius": 0.1,
        "flip_cost": 2.0,
        "norm": 1,
        "l2": 0.01,
        "intercept_cost": np.inf,
    }
    model = WassersteinSVC(**PLAIN | ball).fit(X, y)
    result = solve(Problem(X, y, fit_intercept=True, **ball), polish=True)
    np.testing.assert_array_equal(model.coef_, [result.weights])
    np.testing.assert_array_equal(model.intercept_, [result.intercept])
    assert (model.objective_, model.lower_bound_, model.gap_) == (
        result.objective,
        result.lower_bound,
        result.gap,
    )
    assert model.radius_price_ == result.radius_price and model.n_iter_ == result.n_iter
    assert model.gap_ <= 1e-6 and model.result_.solver == "interior-point"
    assert list(model.classes_) == ["no", "yes"] and set(model.predict(X)) == {
        "no",
        "yes",
    }


def test_the_objective_is_the_worst_case_risk_of_the_model(two_classes):
    X, y = two_classes
    free = WassersteinSVC(0.05, flip_cost=5.0, intercept_cost=np.inf, **PLAIN).fit(X, y)
    assert worst_case_risk(free, X, y) == pytest.approx(free.objective_, abs=1e-12)
    # The columns of X are centred, so that the intercept is priced where it is.
    model = WassersteinSVC(**PLAIN).fit(X, y)
    price = model.intercept_cost_
    assert worst_case_risk(model, X, y, intercept_cost=price) == pytest.approx(
        model.objective_, abs=1e-9
    )
    assert worst_case_risk(model, X, y) == pytest.approx(
        model.objective_
        - model.radius_ * (model.radius_price_ - np.linalg.norm(model.coef_)),
        abs=1e-9,
    )


def test_classes_in_parallel_give_the_same_model(three_classes):
    one, two = (WassersteinSVC(n_jobs=n).fit(*three_classes) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize(
    "solver", ["interior-point", "hybrid", "admm", InteriorPoint(step_fraction=0.9)]
)
def test_any_solver_can_be_used(two_classes, solver):
    X, y = two_classes
    model = WassersteinSVC(solver=solver, tol=1e-4, l2=0.0).fit(X, y)
    assert model.gap_ <= 1e-4
    assert model.objective_ == pytest.approx(
        WassersteinSVC(l2=0.0).fit(X, y).objective_, abs=1e-4
    )


# Automatic radius


def test_an_automatic_radius_is_the_smallest_over_the_classes(three_classes):
    X, y = three_classes
    model = WassersteinSVC(**PLAIN).fit(X, y)
    ball = {
        "flip_cost": np.inf,
        "fit_intercept": True,
        "intercept_cost": model.intercept_cost_,
    }
    sides = [np.where(y == label, 2.0, 1.0) for label in model.classes_]
    problems = [
        Problem(
            X - np.average(X, axis=0, weights=side),
            y == label,
            sample_weight=side,
            **ball,
        )
        for label, side in zip(model.classes_, sides, strict=True)
    ]
    assert model.radius_ == pytest.approx(
        min(auto_radius(problem) for problem in problems), rel=1e-6
    )
    by_hand = WassersteinSVC(radius=model.radius_, **PLAIN).fit(X, y)
    np.testing.assert_allclose(by_hand.objective_, model.objective_, atol=1e-6)
    assert by_hand.radius_ == model.radius_ == by_hand.radius


def test_an_automatic_radius_of_blocks_is_that_of_the_first_one(
    two_classes, three_classes
):
    for X, y in (two_classes, three_classes):
        half = len(y) // 2
        first = WassersteinSVC(class_weight=None).fit(X[:half], y[:half])
        model = WassersteinSVC().partial_fit(X[:half], y[:half], classes=np.unique(y))
        assert (model.radius_, model.l2_) == (first.radius_, first.l2_)
        assert model.partial_fit(X[half:], y[half:]).radius_ == first.radius_


def test_an_automatic_radius_needs_two_classes_in_the_first_block(two_classes):
    X, y = two_classes
    model = WassersteinSVC(radius="auto")
    only = y == "no"
    with pytest.raises(
        ValueError,
        match=r"radius='auto' is computed from the first block, which has .* 'no' only",
    ):
        model.partial_fit(X[only], y[only], classes=["no", "yes"])
    # A failed first block leaves nothing behind
    model.partial_fit(X[:, :2], y, classes=["no", "yes"])
    assert model.radius_ > 0 and model.n_features_in_ == 2


# Warnings and errors


def test_an_unreached_tolerance_is_a_warning_with_advice(two_classes):
    with pytest.warns(
        ConvergenceWarning,
        match=r"proven gap is .* above the tolerance 1.0e-06 \(iteration limit",
    ):
        model = WassersteinSVC(max_iter=2).fit(*two_classes)
    assert model.gap_ > 1e-6 and np.isfinite(model.coef_).all()


def test_a_constant_classifier_is_a_warning(two_classes):
    X, y = two_classes
    with pytest.warns(UserWarning, match="fitted classifier is constant") as caught:
        model = WassersteinSVC(radius=50.0).fit(X, y)
    assert not model.coef_.any()
    advice = re.search(
        r"radius=50 is too large .* largest useful radius is ([0-9.]+); use half",
        str(caught[0].message),
    )
    problem = Problem(
        X, y, flip_cost=np.inf, fit_intercept=True, intercept_cost=model.intercept_cost_
    )
    assert advice is not None and float(advice[1]) == pytest.approx(
        radius_max(problem), rel=5e-3
    )


def test_a_radius_is_not_blamed_where_none_helps():
    X = np.tile(np.arange(10.0), 6)[:, None]  # equal in both classes
    with pytest.warns(
        UserWarning,
        match="constant .* no radius gives a better one, because the features hardly",
    ):
        WassersteinSVC(radius=0.1, intercept_cost=np.inf).fit(
            X, np.repeat([0, 1, 0], 20)
        )


def test_a_class_that_is_outweighed_is_not_blamed_on_the_radius():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 10 == 0
    X = rng.normal(size=(300, 2)) + 0.5 * y[:, None]
    with pytest.warns(
        UserWarning,
        match="constant .* do not outweigh the others at radius=.* class_weight=",
    ):
        model = WassersteinSVC(radius=0.01, class_weight=None).fit(X, y)
    assert not model.predict(X).any()


def test_good_fits_do_not_warn(two_classes, three_classes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WassersteinSVC().fit(*two_classes)
        WassersteinSVC().fit(*three_classes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": -1}, "radius=-1"),
        ({"radius": "big"}, "or 'auto', got radius='big'"),
        ({"norm": 3}, "norm"),
        ({"solver": "magic"}, "magic"),
        ({"tol": -1.0}, "tol=-1.0"),
    ],
)
def test_errors_name_wrong_settings(two_classes, settings, message):
    with pytest.raises(ValueError, match=message):
        WassersteinSVC(**settings).fit(*two_classes)


def test_errors_name_the_class(two_classes):
    X, y = two_classes
    with pytest.raises(ValueError, match="got one class: 'yes'"):
        WassersteinSVC().fit(X, np.full(len(y), "yes"))
    with pytest.raises(ValueError, match="All samples of class 'no' have weight 0"):
        WassersteinSVC().fit(X, y, sample_weight=(y == "yes").astype(float))


# Callbacks, interrupts, progress


class Recorder:
    """A scikit-learn callback that counts its calls, and stops or interrupts the fit on request."""

    def __init__(self, stop_after=None, interrupt_after=None):
        self.stop_after = stop_after
        self.interrupt_after = interrupt_after
        self.names = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.names.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)
        done = self.names.count("iteration")
        if context.task_name != "iteration":
            return False
        if done == self.interrupt_after:
            raise KeyboardInterrupt
        return done == self.stop_after


needs_callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="scikit-learn 1.9 has callbacks"
)


@needs_callbacks
def test_callbacks_are_called_at_every_iteration(three_classes):
    recorder = Recorder()
    model = WassersteinSVC().set_callbacks(recorder).fit(*three_classes)
    assert recorder.names.count("binary problem") == 3
    assert recorder.names.count("iteration") == sum(
        result.n_iter for result in model.result_
    )
    assert recorder.names[-2:] == ["fit", "teardown"]


@needs_callbacks
def test_a_callback_can_stop_a_fit(two_classes):
    model = WassersteinSVC().set_callbacks(Recorder(stop_after=3)).fit(*two_classes)
    assert model.n_iter_ == 3 and model.gap_ > 1e-8


@needs_callbacks
def test_an_interrupt_stores_the_best_classifier_first(two_classes):
    model = WassersteinSVC().set_callbacks(Recorder(interrupt_after=4))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*two_classes)
    assert model.n_iter_ == 4 and model.coef_.any() and model.gap_ < 1.0


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_after_an_interrupt_no_further_class_is_solved(three_classes, n_jobs):
    model = WassersteinSVC(n_jobs=n_jobs).set_callbacks(Recorder(interrupt_after=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*three_classes)
    if n_jobs is None:
        assert [result.n_iter for result in model.result_] == [2, 0, 0]


@pytest.mark.parametrize("settings", [{}, {"n_jobs": 2}, {"radius": 0.05}], ids=str)
def test_the_time_limit_is_that_of_the_whole_fit(three_classes, settings):
    message = "3 of 3 classes did not reach the tolerance 1.0e-06, 3 of them for lack of time; .* max_time"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = WassersteinSVC(max_time=1e-9, **settings).fit(*three_classes)
    assert len(caught) == 1  # none about constant classifiers
    assert caught[0].filename == __file__
    assert {result.status for result in model.result_} == {Status.TIME_LIMIT}
    assert sum(result.n_iter for result in model.result_) <= 1
    assert (
        (model.objective_ <= 1.0).all()
        and (model.lower_bound_ >= 0.0).all()
        and (model.gap_ > 0.0).all()
    )
    assert model.predict(three_classes[0]).shape == three_classes[1].shape


def test_two_classes_always_get_a_step(two_classes):
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = WassersteinSVC(max_time=1e-9).fit(*two_classes)
    assert model.n_iter_ == 1 and model.coef_.any()


def test_an_error_in_one_class_reaches_the_caller(three_classes):
    with pytest.raises(ValueError, match="norm=inf"):
        WassersteinSVC(solver="feature-working-set", n_jobs=2).fit(*three_classes)


def test_verbose_fits(two_classes, capsys):
    WassersteinSVC(verbose=2).fit(*two_classes)
    lines = capsys.readouterr().out.splitlines()
    assert (
        len(lines) > 5 and "gap" in lines[0] and lines[-1].startswith("[all] optimal")
    )


def test_a_fit_tells_how_far_it_is(two_classes, told):
    steps = InteriorPoint(compiled_steps=False)
    fitted = WassersteinSVC(max_iter=7, tol=1e-12, solver=steps, threshold="optimum")
    with pytest.warns(ConvergenceWarning):
        fitted.fit(*two_classes)
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == ["choosing the radius", "solving"]
    for name in stages:
        shares = [share for stage, share in told if stage == name]
        assert (
            len(shares) > 3
            and 0.0 < shares[0] < 1.0
            and shares[-1] == 1.0
            and max(shares) == 1.0
        )


def test_listening_changes_nothing(two_classes, told):
    model = WassersteinSVC(radius=0.05, solver=InteriorPoint(compiled_steps=False))
    heard = clone(model).fit(*two_classes)
    n_told = len(told)
    with progress.capture_progress():
        silent = clone(model).fit(*two_classes)
    assert n_told > 3 and len(told) == n_told
    assert len(heard.result_.history) == len(silent.result_.history), (
        "no certificate more"
    )
    assert (heard.coef_ == silent.coef_).all() and heard.n_iter_ == silent.n_iter_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_classes_are_parts_of_a_fit(three_classes, told, n_jobs):
    WassersteinSVC(radius=0.05, l2=0.0, n_jobs=n_jobs).fit(*three_classes)
    shares = [share for _, share in told]
    assert shares == sorted(shares) and all(
        any(share == pytest.approx(k / 3) for share in shares) for k in (1, 2, 3)
    )


def test_long_verbose_fits_say_how_far_they_are(
    two_classes, capsys, clock, monkeypatch
):
    WassersteinSVC(verbose=1).fit(*two_classes)
    assert " left" not in capsys.readouterr().out, "no time has passed"
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    WassersteinSVC(verbose=1, solver=InteriorPoint(compiled_steps=False)).fit(
        *two_classes
    )
    lines = capsys.readouterr().out.splitlines()
    for name in ("choosing the radius", "solving"):
        assert any(
            re.fullmatch(name + r": \d+% after 0 s, about 0 s left", line)
            for line in lines
        )
    assert lines[-1].startswith("[all] optimal")


# Warm starts and blocks


def test_a_warm_start_is_short(two_classes):
    X, y = two_classes
    model = WassersteinSVC(warm_start=True).fit(X, y)
    assert model.n_iter_ > 3
    assert model.fit(X, y).n_iter_ == 0  # the proof of the previous fit still holds
    near = model.set_params(radius=0.051).fit(X, y).objective_
    assert near == pytest.approx(
        WassersteinSVC(radius=0.051).fit(X, y).objective_, abs=1e-6
    )
    model.fit(X[:, :4], y)  # other features: no start
    assert model.coef_.shape == (1, 4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_blocks_lead_near_the_classifier_of_all_rows(container):
    X, y = make_classification(
        2000, 10, n_informative=5, flip_y=0.1, class_sep=1.5, random_state=3
    )
    X = StandardScaler().fit_transform(X)
    fixed = {"radius": 0.05, "flip_cost": 5.0, "intercept_cost": np.inf}
    whole = WassersteinSVC(**fixed).fit(X, y)
    model = WassersteinSVC(**fixed, random_state=0)
    for epoch in range(10):
        for rows in np.array_split(
            np.random.default_rng(epoch).permutation(len(y)), 10
        ):
            model.partial_fit(container(X[rows]), y[rows], classes=[0, 1])
    assert (
        np.isnan([model.objective_, model.lower_bound_, model.gap_]).all()
        and model.n_iter_ == 100
    )
    risk = worst_case_risk(model, X, y)
    assert risk <= whole.objective_ + 0.02


def test_blocks_continue_from_a_fit(three_classes):
    X, y = three_classes
    model = WassersteinSVC().fit(X, y)
    before = model.coef_.copy()
    automatic = (model.radius_, model.intercept_cost_)
    model.partial_fit(X[:50], y[:50])  # of one class
    assert (model.radius_, model.intercept_cost_) == automatic
    assert model.coef_.shape == before.shape
    unknown = np.array([model.objective_, model.lower_bound_, model.gap_])
    assert unknown.shape == (3, 3) and np.isnan(unknown).all() and model.result_ is None
    assert (
        model.n_iter_ == 1
        and model.radius_price_.shape == (3,)
        and (model.radius_price_ >= 0).all()
    )
    assert 0 < np.abs(model.coef_ - before).max() < 1.0
    model.fit(X, y)
    assert (model.gap_ <= 1e-6).all() and len(
        model.result_
    ) == 3  # it has a certificate again


def test_blocks_need_the_classes(two_classes):
    X, y = two_classes
    with pytest.raises(ValueError, match="classes is required in the first call"):
        WassersteinSVC().partial_fit(X, y)
    model = WassersteinSVC(radius=0.05, intercept_cost=np.inf).partial_fit(
        X, y, classes=["no", "yes"]
    )
    with pytest.raises(ValueError, match="'perhaps'"):
        model.partial_fit(X[:2], ["no", "perhaps"])
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, y, classes=["no", "yes", "perhaps"])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        WassersteinSVC(class_weight="balanced").partial_fit(X, y, classes=["no", "yes"])


def test_blocks_continue_from_a_model_without_a_result(two_classes):
    """As after loading a model that was fitted with blocks."""
    X, y = two_classes
    fixed = {"radius": 0.05, "intercept_cost": np.inf, "random_state": 0}
    model = WassersteinSVC(**fixed).partial_fit(X, y, classes=np.unique(y))
    del model._block_fits
    weights = model.coef_.copy()
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.7 and (model.coef_ != weights).any()


def test_sparse_rows_without_any_entry_are_like_zeros():
    y = np.arange(20) % 2
    with pytest.warns(UserWarning, match="constant"):
        model = WassersteinSVC().fit(sparse.csr_array((20, 3)), y)
    with pytest.warns(UserWarning, match="constant"):
        same = WassersteinSVC().fit(np.zeros((20, 3)), y)
    assert model.objective_ == pytest.approx(same.objective_) and not model.coef_.any()


GAPS = {
    "None": lambda y: [None, *y[1:]],
    "nan": lambda y: np.array([np.nan, *y[1:]], dtype=object),
    "nan among numbers": lambda y: np.array([np.nan, *(y[1:] == "b")]),
    "<NA>": lambda y: pd.Series([pd.NA, *y[1:]], dtype="string"),
    "<NA> among truth values": lambda y: pd.Series(
        [pd.NA, *(y[1:] == "b")], dtype="boolean"
    ),
}


@pytest.mark.parametrize("kind", GAPS)
def test_labels_that_are_missing_are_named_with_a_remedy(kind):
    X = np.arange(20.0)[:, None]
    y = np.array(["a", "b"] * 10)
    model = WassersteinSVC(0.1).fit(X, y)
    gaps = GAPS[kind](y)
    calls = [
        lambda: WassersteinSVC().fit(X, gaps),
        lambda: WassersteinSVCCV().fit(X, gaps),
        lambda: WassersteinKernelSVC().fit(X, gaps),
        lambda: WassersteinSVC(0.1).partial_fit(X, gaps, classes=["a", "b"]),
        lambda: find_label_issues(X, gaps),
        lambda: make_report(WassersteinSVC(), X, gaps),
    ]
    calls += (
        []
        if kind == "nan among numbers"
        else [lambda: worst_case_risk(model, X, gaps, radius=0.1)]
    )
    for call in calls:
        with pytest.raises(
            ValueError,
            match=r"in place of a label in 1 of 20 rows, the first of them row 0: leave",
        ):
            call()


def test_columns_of_the_same_name_are_named_with_a_remedy():
    X = pd.DataFrame(np.eye(4), columns=["a", "b", "a", "c"])
    y = [0, 1, 0, 1]
    for call in (
        WassersteinSVC().fit,
        WassersteinKernelSVC().fit,
        WassersteinSVCCV().fit,
        find_label_issues,
    ):
        with pytest.raises(
            ValueError,
            match=r"2 columns are called 'a': rename them, or leave out all but one\.",
        ):
            call(X, y)
    assert WassersteinSVC(0.1).fit(X.to_numpy(), y).coef_.shape == (1, 4)


@pytest.mark.parametrize(
    "kind", [WassersteinSVC, WassersteinKernelSVC, WassersteinSVCCV]
)
def test_errors_about_classes_name_what_was_given(kind):
    X = np.arange(12.0)[:, None]
    y = np.arange(12) % 2
    for factor, shown in ((-2, "-2"), (math.nan, "nan"), (math.inf, "inf")):
        with pytest.raises(ValueError, match=f"class_weight has {shown} for class 1"):
            kind(class_weight={0: 1, 1: factor}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight: .*'a'"):
        kind(class_weight={0: 1, 1: "a"}).fit(X, y)
    with pytest.raises(TypeError, match=r"y mixes labels .* \(int, str\): use only"):
        kind().fit(X, np.array([1, "a"], dtype=object)[y])


@pytest.mark.filterwarnings(
    *CONSTANT, "ignore:Far-off rows", "ignore:Different scales", "error::RuntimeWarning"
)
@pytest.mark.parametrize(
    "kind", [WassersteinSVC, WassersteinKernelSVC, WassersteinSVCCV]
)
def test_numpy_does_not_warn_of_large_columns(kind):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    settings = {"radii": [0.1]} if kind is WassersteinSVCCV else {}
    for wide in (False, True):
        rows = np.repeat(X, 25, axis=1) if wide else X.copy()
        rows[:, 1] *= 1e99
        kind(**settings).fit(rows, y)
    rows[0, 1] = 1e155
    with pytest.raises(ValueError, match="too large"):
        kind(**settings).fit(rows, y)
