"""Audits with a limit for every row beside that of the average, and of groups of rows."""

import math

import numpy as np
import pytest
from attacks import attacked, values_of_two
from scipy import sparse
from sklearn.svm import SVC, LinearSVC
from thorough import unless_long

from drsvm import (
    Problem,
    WassersteinSVC,
    certified_accuracy,
    load_model,
    save_model,
    worst_case_distribution,
    worst_case_risk,
)
from drsvm.audit import GroupRisks

NORMS = (1, 2, math.inf)
RADII = [0.0, 0.05, 0.3]


def rows_of(seed, n=120, d=3):
    """Return rows with labels that a linear classifier gets mostly right, and two groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ np.arange(1, d + 1) + rng.normal(size=n) > 0.3, 1, -1)
    return X, y, rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])


# Both limits at once


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("intercept_cost", [math.inf, 2.0])
@pytest.mark.parametrize("one_for_all", [True, False])
def test_the_objective_is_the_audited_risk_and_the_ridge(
    norm, l2, intercept_cost, one_for_all
):
    X, y, _ = rows_of(0)
    # The intercept is priced where the average row is.
    X -= X.mean(axis=0)
    radii = 0.2 if one_for_all else np.random.default_rng(1).uniform(0, 0.4, len(y))
    model = WassersteinSVC(
        radius=0.05,
        norm=norm,
        l2=l2,
        intercept_cost=intercept_cost,
        threshold="optimum",
        class_weight=None,
    ).fit(X, y, row_radius=radii)
    ball = {"radius": 0.05, "row_radius": radii, "intercept_cost": intercept_cost}
    risk = worst_case_risk(model, X, y, **ball)
    ridge = 0.5 * l2 * float(np.sum(model.coef_**2))
    assert risk + ridge == pytest.approx(model.objective_, abs=1e-9)


def test_radii_of_the_training_are_used_together(tmp_path):
    X, y, _ = rows_of(1)
    own = WassersteinSVC(radius=0.05, row_radius=0.2).fit(X, y)
    save_model(own, tmp_path / "own.drsvm")
    both = worst_case_risk(own, X, y, radius=0.05, row_radius=0.2)
    for model in (own, load_model(tmp_path / "own.drsvm")):
        assert worst_case_risk(model, X, y) == both
        assert worst_case_distribution(model, X, y).risk == both
    alone = worst_case_risk(own, X, y, radius=0.05)
    assert alone == worst_case_risk(own, X, y, radius=0.05, row_radius=0.0) < both
    assert worst_case_risk(own, X, y, limit="row") == worst_case_risk(
        own, X, y, radius=0.05, limit="row"
    )
    by_row = WassersteinSVC(radius=0.05).fit(X, y, row_radius=np.full(len(y), 0.2))
    save_model(by_row, tmp_path / "by_row.drsvm")
    for model in (by_row, load_model(tmp_path / "by_row.drsvm")):
        with pytest.raises(ValueError, match="row_radius is required for this Wass"):
            worst_case_risk(model, X, y)
        assert worst_case_risk(model, X, y, row_radius=0.2) == pytest.approx(both)


@pytest.mark.parametrize("loss", ["hinge", "zero-one"])
def test_a_limit_for_each_row_is_a_row_radius_without_an_average(loss):
    X, y, _ = rows_of(2)
    model = LinearSVC().fit(X, y)
    asked = {"loss": loss, "norm": 1}
    by_limit = worst_case_risk(model, X, y, radius=RADII, limit="row", **asked)
    one_by_one = [
        worst_case_risk(model, X, y, radius=0.0, row_radius=r, **asked) for r in RADII
    ]
    np.testing.assert_allclose(by_limit, one_by_one, rtol=1e-14)
    if loss == "zero-one":
        certified = certified_accuracy(model, X, y, 0.05, norm=1)
        assert by_limit[1] == pytest.approx(1 - certified)


def test_the_radius_of_certified_accuracy_is_one_number():
    X, y, _ = rows_of(2)
    for radius in ([0.1, 0.2], np.array([0.1, 0.2]), "0.1"):
        with pytest.raises(TypeError, match="radius must be a number"):
            certified_accuracy(LinearSVC().fit(X, y), X, y, radius=radius)


@pytest.mark.parametrize("norm", NORMS)
def test_a_problem_has_the_same_worst_case(norm):
    """Rows on a GPU have theirs from the problem."""
    X, y, _ = rows_of(3)
    w = np.array([1.0, -0.5, 2.0])
    for row_radius in (0.1, np.random.default_rng(0).uniform(0, 0.3, len(y))):
        ball = {"row_radius": row_radius, "norm": norm, "flip_cost": math.inf}
        problem = Problem(X, y, radius=0.0, **ball)
        for loss in ("hinge", "zero-one"):
            found = problem.worst_case(
                loss, w, 0.2, problem.norm_of(w), np.array(RADII)
            )
            risks = worst_case_risk((w, 0.2), X, y, radius=RADII, loss=loss, **ball)
            np.testing.assert_allclose(risks, found, atol=1e-14)


def test_bounds_of_a_kernel_hold_for_rows_that_have_shifted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, 0)
    model = SVC(gamma=0.7).fit(X, y)
    values = values_of_two(model)
    for free in (0.05, rng.choice([0.0, 0.1, 0.4], len(y))):
        steps = rng.normal(size=X.shape)
        steps *= (free / np.linalg.norm(steps, axis=1))[:, None]
        for loss in ("hinge", "zero-one"):
            radii = [0.0, 0.02, 0.2]
            asked = {"radius": radii, "loss": loss}
            bound = worst_case_risk(model, X, y, row_radius=free, **asked)
            ball = {"row_radius": free}
            found = attacked(values, X, y, radii, loss, ball)
            moved = attacked(values, X + steps, y, radii, loss, {})
            assert (found <= bound + 1e-9).all()
            assert (moved <= bound + 1e-9).all()
            # The attack uses what is free, and the bound does not give it all away.
            plain = worst_case_risk(model, X, y, **asked)
            assert found[0] >= plain[0] - 1e-12 and (plain <= bound).all()


# Groups


def test_the_risk_of_a_group_is_that_of_its_rows_alone():
    X, y, groups = rows_of(4)
    rng = np.random.default_rng(4)
    several = np.digitize(X[:, 0], [-0.5, 0.5])
    free = rng.uniform(0.0, 0.2, len(y))
    flips = rng.choice([0.5, 2.0, math.inf], len(y))
    cases = [
        (LinearSVC().fit(X, y), y, {"row_radius": free}),
        (LinearSVC().fit(X, y), y, {"flip_cost": flips}),
        (LinearSVC().fit(X, y), y, {"flip_cost": flips, "costs": {-1: 1.0, 1: 3.0}}),
        (LinearSVC().fit(X, several), several, {"row_radius": free}),
        (SVC().fit(X, y), y, {"limit": "row"}),
    ]
    weights = rng.integers(0, 3, len(y))
    for model, labels, ball in cases:
        for loss in ("hinge", "zero-one")["costs" in ball :]:
            asked = {"radius": RADII, "loss": loss}
            found = worst_case_risk(
                model,
                sparse.csr_array(X),
                labels,
                groups=groups,
                sample_weight=weights,
                **ball,
                **asked,
            )
            assert found.risks.shape == (3, len(RADII))
            for name, n_rows, risks in zip(
                found.groups, found.rows, found.risks, strict=True
            ):
                rows = groups == name
                of_rows = {
                    key: value[rows] if np.ndim(value) else value
                    for key, value in ball.items()
                }
                alone = worst_case_risk(
                    model,
                    X[rows],
                    labels[rows],
                    sample_weight=weights[rows],
                    **of_rows,
                    **asked,
                )
                np.testing.assert_allclose(risks, alone, rtol=1e-12, atol=1e-14)
                assert n_rows == rows.sum()
            spread = found.risks.max(axis=0) - found.risks.min(axis=0)
            np.testing.assert_allclose(found.difference, spread)


def test_groups_in_any_form_and_of_any_kind():
    pandas = pytest.importorskip("pandas")
    X, y, groups = rows_of(5)
    model = LinearSVC().fit(X, y)
    names = list(dict.fromkeys(groups.tolist()))
    found = worst_case_risk(model, X, y, radius=0.1, groups=groups)
    assert isinstance(found, GroupRisks) and isinstance(found.difference, float)
    assert found.groups == names and found.risks.shape == (3,)
    assert repr(found) == (
        f"GroupRisks: 3 groups, largest difference {found.difference:.4g}"
    )
    for given in (groups.tolist(), pandas.Series(groups, index=y), groups[:, None]):
        again = worst_case_risk(model, X, y, radius=0.1, groups=given)
        np.testing.assert_array_equal(again.risks, found.risks)
    one = worst_case_risk(model, X, y, radius=RADII, groups=np.ones(len(y), int))
    np.testing.assert_allclose(one.risks[0], worst_case_risk(model, X, y, radius=RADII))
    assert one.groups == [1] and not one.difference.any()
    numbers = worst_case_risk(model, X, y, radius=0.1, groups=-y)
    assert numbers.groups == [-1, 1]  # in order, whatever comes first


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"groups": [1, 2]}, "groups has 2 entries, but X has 6 rows"),
        ({"groups": range(6)}, "groups has 6 groups of one row each: cut numbers"),
        ({"groups": [1, 1, 2, 2, 2, None]}, "None in place of a group in 1 of 6 rows"),
        ({"groups": [1, 1, 2, 2, 2, math.nan]}, "groups has nan in place of a group"),
        (
            {"groups": list("aabbbb"), "sample_weight": [0, 0, 1, 1, 1, 1]},
            "groups: 'a' has no row with a weight above 0: leave its rows out",
        ),
        (
            {"groups": list("aabbbb"), "confidence": 0.9, "loss": "hinge"},
            "confidence=0.9 is for error rates",
        ),
    ],
)
def test_groups_that_make_no_sense_are_refused(asked, message):
    X = [[-2.0], [-1.0], [0.5], [1.0], [2.0], [3.0]]
    y = [0, 0, 0, 1, 1, 1]
    asked = {"loss": "zero-one", **asked}
    with pytest.raises(ValueError, match=message):
        worst_case_risk(([1.0], 0.0), X, y, radius=0.1, **asked)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"limit": "row"},
        {"row_radius": 0.2},
        {"costs": {-1: 1.0, 1: 3.0}},
        {"costs": {-1: 1.0, 1: 3.0}, "flip_cost": 1.0},
    ],
)
def test_what_is_said_about_groups_holds_for_all_populations_at_once(asked):
    X, y, groups = rows_of(6, n=60_000)
    # Groups that are as different as possible miss independently of each other.
    y = np.where((groups == "west") & (X[:, 1] > 0), -y, y)
    model = (np.array([1.0, 2.0, 3.0]), -0.3)
    asked = {"radius": np.geomspace(0.01, 2.0, 12), "loss": "zero-one", **asked}
    truth = worst_case_risk(model, X, y, groups=groups, **asked)
    rng = np.random.default_rng(0)
    n_samples = unless_long(40, 1_000)
    misses = 0
    widest = 0.0
    for _ in range(n_samples):
        rows = rng.choice(len(y), 300, replace=False)
        found = worst_case_risk(
            model, X[rows], y[rows], groups=groups[rows], confidence=0.8, **asked
        )
        order = [found.groups.index(name) for name in truth.groups]
        is_missed = (found.risks[order] < truth.risks).any()
        misses += is_missed or (found.difference < truth.difference).any()
        widest = max(widest, np.max(found.difference - truth.difference))
    assert misses <= 0.2 * n_samples + 3 * math.sqrt(0.16 * n_samples)
    largest = max(asked.get("costs", {0: 1.0}).values())
    assert 0.0 < widest <= largest
    # Each group alone would be bounded more sharply.
    alone = groups[rows] == "west"
    bound = worst_case_risk(
        model, X[rows][alone], y[rows][alone], confidence=0.8, **asked
    )
    assert (bound <= found.risks[found.groups.index("west")] + 1e-12).all()
