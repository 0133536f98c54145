"""Movement of new rows, against linear programs, and what follows from it for errors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from drsvm import WassersteinKernelSVC, WassersteinSVC, measure_shift, worst_case_risk
from drsvm.audit import Pooled, band, by_chance, expected_errors, summaries
from drsvm.audit.column_shifts import Summary, column_shifts

numbers = st.lists(
    st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=9
).map(np.array)


@given(numbers, numbers, st.randoms(use_true_random=False))
def test_the_distance_is_that_of_optimal_transport(old, new, random):
    pooled = Pooled(old[None], new[None])
    assert pooled.distances(pooled.masses())[0] == pytest.approx(
        wasserstein_distance(old, new), abs=1e-12
    )
    weights = np.array([random.random() + 0.01 for _ in new])
    masses = np.concatenate([np.full(len(old), 1 / len(old)), -weights / weights.sum()])
    expected = wasserstein_distance(old, new, v_weights=weights)
    assert pooled.distances(masses)[0] == pytest.approx(expected, abs=1e-12)


def coupled_errors(old, codes, new):
    """Return the errors of the coupling that pairs equal numbers alike, as a program over masses between the rows.

    Of all plans of least cost with a convex cost of moves, the one with least squares
    divides equal rows alike.
    """
    rows = np.unique(old)
    places = np.unique(new)
    masses = [(old == value).mean() for value in rows]
    arriving = [(new == value).mean() for value in places]
    # Strictly convex: only the monotone plan is optimal
    cost = (rows[:, None] - places) ** 2
    equal = [
        np.kron(np.eye(len(rows)), np.ones(len(places))),
        np.kron(np.ones(len(rows)), np.eye(len(places))),
    ]
    plan = linprog(
        cost.ravel(), A_eq=np.vstack(equal), b_eq=[*masses, *arriving]
    ).x.reshape(cost.shape)
    positive = np.array([codes[old == value].mean() for value in rows])
    return positive @ plan @ (places <= 0) + (1 - positive) @ plan @ (places >= 0)


@given(numbers, numbers, st.randoms(use_true_random=False))
def test_expected_errors_are_those_of_the_monotone_coupling(old, new, random):
    codes = np.array([random.randrange(2) for _ in old])
    found = expected_errors(np.stack([-old, old]), codes, np.stack([-new, new]))
    assert found == pytest.approx(min(coupled_errors(old, codes, new), 1.0), abs=1e-7)


def test_tied_rows_share_alike():
    """60/40 rows at ±1 before and 59/41 after, all right before: one in a hundred is expected to be wrong."""
    before = np.repeat([-1.0, 1.0], [60, 40])
    after = np.repeat([-1.0, 1.0], [59, 41])
    codes = (before > 0).astype(int)
    assert expected_errors(
        np.stack([-before, before]), codes, np.stack([-after, after])
    ) == pytest.approx(0.01)


def rows(n=300, seed=0, apart=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + apart * y[:, None], y


@pytest.fixture(scope="module")
def model():
    return WassersteinSVC(radius=0.1).fit(*rows())


def test_equal_rows_have_not_moved(model):
    X, y = rows(seed=1)
    shift = measure_shift(model, X, y, X[::-1], y[::-1], random_state=0)
    assert shift.moved == 0.0 and not shift.more_than_chance and shift.columns == []
    assert shift.error_before == shift.error_now == pytest.approx(1 - model.score(X, y))
    assert shift.expected_error == pytest.approx(shift.error_before)
    assert shift.worst_error == pytest.approx(shift.error_before + band(0.95, len(y)))
    assert (
        shift.relation == pytest.approx(0.0, abs=1e-7)
        and shift.shares_now == shift.shares_before
    )


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_a_shift_along_the_weights_is_measured_exactly(norm):
    X, y = rows(seed=1)
    model = WassersteinSVC(radius=0.1, norm=norm, feature_cost=[0.5, 1.0, 2.0]).fit(
        *rows()
    )
    priced = np.linalg.norm(
        model.coef_[0] / [0.5, 1.0, 2.0], {1: math.inf, 2: 2, math.inf: 1}[norm]
    )
    step = np.array([0.2, -0.1, 0.3])
    shift = measure_shift(model, X, y, X + step, y, random_state=0)
    assert shift.moved == pytest.approx(abs(model.coef_[0] @ step) / priced, rel=1e-5)
    assert shift.moved <= np.linalg.norm(step * [0.5, 1.0, 2.0], norm) * (1 + 1e-6)
    worst = worst_case_risk(
        model, X, y, radius=shift.moved, loss="zero-one", confidence=0.95
    )
    assert (
        shift.worst_error == pytest.approx(worst, abs=1e-6)
        and shift.error_now <= shift.worst_error
    )
    assert [each.name for each in shift.columns] == ["2", "0", "1"]


def test_the_order_of_rows_does_not_matter(model):
    X, y = rows(60, seed=1)
    X = np.round(X)  # rows of both classes that are seen alike
    new, labels = rows(40, seed=2)
    found = measure_shift(model, X, y, new, labels, random_state=0)
    assert found.before.codes.tolist() == y.tolist()
    order = np.random.default_rng(0).permutation(60)
    again = measure_shift(
        model, X[order], y[order], new[::-1], labels[::-1], random_state=0
    ).to_dict()
    for name, figure in found.to_dict().items():
        if isinstance(figure, float):
            figure = pytest.approx(figure, rel=1e-9)
        assert again[name] == figure, name
    unlabelled = measure_shift(model, X, y, new, random_state=0)
    assert unlabelled.moved_by_chance == pytest.approx(found.moved_by_chance)


def test_rows_that_change_places_are_seen_with_labels_only(model):
    X, y = rows(600, seed=1, apart=2.0)
    # symmetric: labels can be exchanged without a trace
    X = np.vstack([X, 2.0 - X])
    y = np.append(y, 1 - y)
    shift = measure_shift(model, X, y, X, 1 - y, random_state=0)
    assert shift.moved == 0.0 and shift.relation > 10 * shift.relation_by_chance
    assert shift.error_now > 1 - shift.error_before - 0.05 and "change places" in str(
        shift
    )


def test_other_shares_are_no_change_of_the_relation(model):
    X, y = rows(3_000, seed=1)
    kept = np.flatnonzero((y == 0) | (np.arange(len(y)) % 4 == 0))
    before = kept[::2]
    after = np.setdiff1d(np.arange(len(y)), kept[::2])
    shift = measure_shift(
        model, X[before], y[before], X[after], y[after], random_state=0
    )
    assert shift.more_than_chance and shift.relation < shift.relation_by_chance
    assert shift.shares_before[1] < 0.3 < 0.6 < shift.shares_now[1]
    # Without labels, the predictions hint at that.
    unlabelled = measure_shift(model, X[before], y[before], X[after], random_state=0)
    assert unlabelled.predicted_now == shift.predicted_now
    for predicted, rows_of_it in (
        (shift.predicted_before, X[before]),
        (shift.predicted_now, X[after]),
    ):
        assert predicted[1] == pytest.approx((model.predict(rows_of_it) == 1).mean())
    assert unlabelled.predicted_now[1] > unlabelled.predicted_before[1] + 0.2
    assert f"1: {unlabelled.predicted_before[1]:.1%} → " in str(unlabelled)
    assert "a change of these breaks it" in str(unlabelled)
    gone = measure_shift(model, X, y, X[y == 0], y[y == 0], random_state=0)
    assert gone.relation is None and gone.shares_now[1] == 0.0


def test_several_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    X = rng.normal(size=(900, 2)) + np.array([[0, 0], [3, 0], [0, 3]])[y]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], y[:300])
    near, far = (
        measure_shift(model, X[300:600], y[300:600], X[600:] + by, random_state=0)
        for by in (0.0, [1.0, 0.5])
    )
    assert near.moved < far.moved and far.more_than_chance
    assert near.error_before == pytest.approx(1 - model.score(X[300:600], y[300:600]))
    truth = 1 - model.score(np.add(X[600:], [1.0, 0.5]), y[600:])
    assert (
        abs(far.expected_error - truth) < abs(far.error_before - truth)
        and truth <= far.worst_error
    )


@pytest.mark.parametrize(
    "kind", [WassersteinKernelSVC(radius=0.05), SVC()], ids=["own", "SVC"]
)
def test_kernels(kind):
    X, y = rows(400)
    model = kind.fit(X[:100], y[:100])
    shift = measure_shift(
        model, X[100:250], y[100:250], X[250:] + 0.4, y[250:], random_state=0
    )
    assert (
        0 < shift.moved <= 0.4 * math.sqrt(3) + 0.2
        and shift.error_now <= shift.worst_error
    )
    bound = worst_case_risk(
        model,
        X[100:250],
        y[100:250],
        radius=shift.moved,
        loss="zero-one",
        confidence=0.95,
    )
    assert shift.worst_error == pytest.approx(bound, abs=1e-5)


def test_columns_that_cannot_shift_have_a_figure_of_their_own(model):
    X, y = rows(seed=1)
    fixed = measure_shift(
        model,
        X,
        y,
        np.add(X, [0.0, 0.0, 0.5]),
        feature_cost=[1.0, 1.0, math.inf],
        random_state=0,
    )
    w = model.coef_[0]
    assert fixed.moved_fixed == pytest.approx(
        0.5 * abs(w[2]) / np.hypot(w[0], w[1]), rel=1e-5
    )
    assert "by columns that cannot shift" in str(fixed)
    nothing = measure_shift(([0.0, 0.0, 0.0], 1.0), X, y, X + 1.0, random_state=0)
    assert nothing.moved == 0.0 and nothing.error_before == pytest.approx(
        (y == 0).mean()
    )
    assert nothing.expected_error == pytest.approx(nothing.error_before)


def test_where_no_shift_turns_a_decision_there_is_no_bound():
    X = np.repeat([[1.0, 0.0]], 40, axis=0)
    y = np.repeat([-1, 1], [1, 39])
    kept = {"feature_cost": [math.inf, 1.0], "random_state": 0}
    shift = measure_shift(([1.0, 0.0], 0.0), X, y, -X, y, **kept)
    assert shift.moved == math.inf and shift.expected_error == shift.error_now == 0.975
    assert shift.worst_error == 1.0 and shift.relation is None
    assert "inf, since no shift leads" in str(shift)
    # Classes change places: together they have not moved
    X[1:21] *= -1.0
    y = np.sign(X[:, 0])
    shift = measure_shift(([1.0, 0.0], 0.0), X, y, -X, y, **kept)
    assert shift.moved == 0.0 and shift.error_now == 1.0
    assert shift.relation == shift.relation_by_chance == math.inf


@pytest.mark.parametrize("size", [1e-50, 1e30, 1e39, 1e95])
def test_distances_of_any_size_are_finite(size):
    X = size * np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    model = ([1.0, 0.0], 0.0)
    shift = measure_shift(model, X, y, X + 9.0 * size, y, random_state=0)
    assert shift.moved == pytest.approx(9.0 * size) and shift.more_than_chance
    assert shift.error_before == 0.0 and shift.error_now == (y < 0).mean()
    assert shift.error_now <= shift.worst_error
    # A few wrong cells
    X[0] = -1e99
    shift = measure_shift(model, X, y, np.add(X, [5.0, 0.0]), random_state=0)
    assert shift.moved < 10.0 and shift.moved_by_chance < math.inf


def test_chance_is_exceeded_as_often_as_it_should():
    """Both samples are drawn again, with heavy tails or with ties only."""
    rng = np.random.default_rng(0)
    for draw in (
        lambda n: rng.standard_t(2, size=(1, n)),
        lambda n: rng.integers(0, 2, (1, n)) * 1.0,
    ):
        alarms = 0
        for _ in range(200):
            pooled = Pooled(draw(40), draw(60))
            chance = by_chance(
                lambda each, pooled=pooled: pooled.distances(each)[0],
                pooled.masses(),
                200_000,
                0.95,
                rng,
            )
            alarms += pooled.distances(pooled.masses())[0] > chance
        assert alarms <= 10 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_distances_that_are_equal_up_to_rounding_are_no_more_than_chance():
    for n in range(3, 40):
        # Wherever the one row that differs is, it moved by 1/n
        pooled = Pooled(np.zeros((1, n)), np.eye(1, n))
        chance = by_chance(
            lambda split, pooled=pooled: pooled.distances(split)[0],
            pooled.masses(),
            10**6,
            0.9,
            np.random.default_rng(0),
        )
        assert pooled.distances(pooled.masses())[0] <= chance == pytest.approx(1.0 / n)


def test_rows_that_are_infinitely_far_away_have_moved_there():
    before = np.array([[-np.inf, -np.inf, 0.0, 1.0]])
    after = np.array([[-np.inf, 0.0, 0.0, 1.0]])
    for old, new, expected in (
        (before, before, 0.0),
        (before, after, np.inf),
        (before + 1.0, before + 1.0, 0.0),
    ):
        pooled = Pooled(old, new)
        assert pooled.distances(pooled.masses())[0] == expected


@given(arrays.arrays(np.float64, (8, 2), elements=st.floats(-5, 5, width=32)))
def test_columns_move_in_their_own_units(X):
    shifts = {
        each.name: each.distance
        for each in column_shifts(summaries(X), summaries(np.add(X, [2.0, 0.0])))
    }
    assert shifts == {"0": pytest.approx(2.0)}


def test_levels_that_are_not_known_count_together():
    shares = {"a": 0.5, "b": 0.3}
    before = Summary("town", 100, None, shares)
    for now, moved in (
        ({**shares, "c": 0.1, "d": 0.1}, 0.0),
        ({"a": 0.5, "c": 0.4, "d": 0.1}, 0.3),
    ):
        shifts = column_shifts([before], [Summary("town", 100, None, now)])
        assert sum(each.distance for each in shifts) == pytest.approx(moved, abs=1e-9)


def test_columns_of_tables(model):
    pandas = pytest.importorskip("pandas")
    old = pandas.DataFrame(
        {
            "age": [20.0, 30.0, 40.0, None],
            "town": ["a", "a", "b", None],
            "on": [True, False] * 2,
        }
    )
    old["day"] = pandas.to_datetime(
        ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    )
    new = old.assign(
        age=[30.0, 40.0, 50.0, 60.0],
        town=["b", "b", "b", "c"],
        day=old["day"] + pandas.Timedelta("1D"),
    )
    shifts = {
        each.name: each.distance
        for each in column_shifts(summaries(old), summaries(new))
    }
    assert shifts == {
        "age": pytest.approx(15.0, rel=0.1),
        "age (empty)": 0.25,
        "town": 0.75,
        "day": 86_400.0,
    }


def test_results_are_printed_and_returned(model):
    pytest.importorskip("pandas")
    X, y = rows(seed=1)
    shift = measure_shift(model, X, y, X + 1.0, y, random_state=0)
    assert "more than chance explains" in str(shift)
    assert "more than chance explains" in shift._repr_html_()
    assert list(shift.to_frame().columns) == ["name", "distance", "by_chance", "size"]
    assert (
        shift.to_dict()["moved"] == shift.moved and len(shift.to_dict()["columns"]) == 3
    )
    assert (
        measure_shift(model, X, y, X + 1.0, y, random_state=0).to_dict()
        == shift.to_dict()
    )


@pytest.mark.parametrize("labels", [(-1, 1), (1, 2), (0, 1), ("no", "yes")], ids=str)
def test_classes_of_weights_are_those_of_the_audited_rows(labels):
    """Labels of a batch may lack one, which must not give the other another sign."""
    X = np.random.default_rng(0).normal(size=(50, 1))
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = ([1.0], 0.0)
    for label, other in (labels, labels[::-1]):
        own = y == label
        shift = measure_shift(model, X, y, X[own], y[own], random_state=0)
        assert shift.error_now == 0.0 and shift.shares_now == {label: 1.0, other: 0.0}
        one = measure_shift(model, X, y, X[own][:1], [other], random_state=0)
        assert one.error_now == 1.0 and one.shares_now == {label: 0.0, other: 1.0}
        given = measure_shift(
            model, X[own], y[own], X, y, classes=labels, random_state=0
        )
        assert given.error_before == given.error_now == 0.0
        with pytest.raises(ValueError, match=r"label 7|label '7'"):
            measure_shift(model, X, y, X[:1], np.array([7]).astype(y.dtype))


def test_classes_of_several_weights_are_those_of_the_audited_rows():
    X = np.random.default_rng(0).normal(size=(50, 1))
    model = (np.array([[1.0], [0.0], [-1.0]]), np.array([-0.5, 0.2, -0.5]))
    y = np.array([5, 6, 7])[(X @ model[0].T + model[1]).argmax(axis=1)]
    some = y < 7
    shift = measure_shift(model, X, y, X[some], y[some], random_state=0)
    assert shift.error_now == 0.0 and shift.shares_now[7] == 0.0
    assert shift.moved > 0.0 and shift.relation is None


@pytest.mark.parametrize(
    ("X_new", "y_new", "message"),
    [
        (np.ones((4, 2)), None, "entry per feature"),
        (np.full((4, 3), np.nan), None, "X has nan at row 0"),
        (np.ones((0, 3)), None, "row"),
        (np.ones((2, 3)), [0, 7], "label 7"),
    ],
)
def test_what_makes_no_sense_is_refused(model, X_new, y_new, message):
    with pytest.raises(ValueError, match=message):
        measure_shift(model, *rows(), X_new, y_new)
    with pytest.raises(ValueError, match="confidence must be"):
        measure_shift(model, *rows(), rows()[0], confidence=2.0)
