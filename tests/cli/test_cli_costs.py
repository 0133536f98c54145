"""Costs of labels, features and the intercept as options."""

import numpy as np
import pandas
import pandas as pd
import pytest
from cli_tables import write_table

from drsvm import WassersteinSVC, certified_accuracy
from drsvm.persistence import load_metadata, load_model

N = 160


@pytest.fixture
def people(tmp_path):
    """Return a table with two numbers, a category and a column of verified labels, and the parts of it."""
    rng = np.random.default_rng(3)
    left = np.arange(N) % 2 == 1
    age = rng.normal(size=N) - left
    calls = rng.normal(size=N) + 0.3 * left
    town = np.where(rng.random(N) < 0.3 + 0.3 * left, "Oslo", "Rome")
    checked = rng.random(N) < 0.4
    columns = {
        "age": age.round(4),
        "calls": calls.round(4),
        "town": town,
        "checked": np.where(checked, "yes", "no"),
    }
    path = write_table(
        tmp_path / "people.csv", {**columns, "state": np.where(left, "gone", "here")}
    )
    return path, left, checked


@pytest.fixture
def fitted(drsvm_command, people, tmp_path):
    """Return a function that fits with options and returns the pipeline and the names of the features."""

    def fitted(*options):
        out = tmp_path / "m.drsvm"
        path = people[0]
        options = (
            options if "--verified" in options else ("--drop", "checked", *options)
        )
        radius = () if "--cv" in options else ("--radius", 0.1)
        code, _, err = drsvm_command(
            "fit", path, "--label", "state", *radius, "--model", out, *options
        )
        assert code == 0, err
        return load_model(out), load_metadata(out)["feature_names"]

    return fitted


def test_a_text_column_is_trusted_with_all_its_categories(fitted):
    model, names = fitted(
        "--trust-column", "town", "--trust-column", "age", "--l2", 0.01
    )
    assert names == ["age", "calls", "town=Oslo", "town=Rome"]
    np.testing.assert_array_equal(model[-1].feature_cost, [np.inf, 1, np.inf, np.inf])


def test_signs(fitted):
    free, names = fitted()
    signs = dict(zip(names, free[-1].coef_[0], strict=True))
    assert signs["age"] > 0 > signs["calls"]  # the positive class is "here"
    model, _ = fitted("--decreasing", "age", "--increasing", "calls")
    np.testing.assert_array_equal(model[-1].monotonic_cst, [-1, 1, 0, 0])
    np.testing.assert_allclose(model[-1].coef_[0, :2], 0.0, atol=1e-6)


def test_verified_labels_and_costs_by_class(fitted, people):
    _, left, checked = people
    labels = np.where(left, "gone", "here")
    plain, names = fitted()
    assert "checked" not in names
    X = plain[:-1].transform(pandas.read_csv(people[0]))
    model, names = fitted(
        "--verified", "checked", "--flip-cost", "gone=0.4", "--flip-cost", "here=2"
    )
    assert model[-1].flip_cost == {"gone": 0.4, "here": 2.0} and "checked" not in names
    costs = np.where(checked, np.inf, np.where(left, 0.4, 2.0))
    expected = WassersteinSVC(radius=0.1).fit(X, labels, flip_cost=costs)
    np.testing.assert_allclose(model[-1].coef_, expected.coef_, atol=1e-4)
    assert model[-1].objective_ == pytest.approx(expected.objective_, abs=2e-6)


def test_the_cost_of_the_intercept(fitted):
    free = fitted()[0][-1]
    costly = fitted("--intercept-cost", 0.01)[0][-1]
    assert costly.intercept_cost == 0.01 and costly.objective_ > free.objective_


@pytest.mark.parametrize("further", [(), ("--cv", "--folds", 2)], ids=str)
def test_rows_that_may_each_shift(
    fitted, drsvm_command, answer_of, people, tmp_path, further
):
    model, _ = fitted("--row-radius", 0.2, *further)
    svc = model[-1]
    assert svc.row_radius == 0.2
    path, left, _ = people
    X = model[:-1].transform(pandas.read_csv(path))
    labels = np.where(left, "gone", "here")
    alone = WassersteinSVC(svc.radius, l2=svc.l2, row_radius=0.2).fit(X, labels)
    np.testing.assert_allclose(svc.coef_, alone.coef_, atol=1e-4)
    out = tmp_path / "m.drsvm"
    assert drsvm_command("predict", out, path)[0] == 0
    audit = answer_of("audit", out, path, "--limit", "row", "--radii", "0.2")
    certified = certified_accuracy(svc, X, labels, 0.2)
    assert 1.0 - audit["risks"]["error"][0] == pytest.approx(certified)


def test_row_radii_are_shown_with_the_radius(
    drsvm_command, answer_of, people, tmp_path
):
    asked = ("--label", "state", "--drop", "checked", "--row-radius", 0.2)
    answer = answer_of("fit", people[0], *asked)
    assert answer["parameters"]["row_radius"] == 0.2
    _, shown, _ = drsvm_command("fit", people[0], *asked)
    assert "may shift every row by 0.2, and further by" in shown
    assert "no kernel is tried with --row-radius" in shown
    _, shown, _ = drsvm_command("fit", people[0], *asked, "--radius", 0)
    assert "may shift every row by 0.2 (norm 2);" in shown
    page = tmp_path / "page.html"
    drsvm_command("report", people[0], *asked, "--radius", 0, "--output", page)
    text = page.read_text(encoding="utf-8")
    assert "Proven for shifts of every training row by up to 0.2:" in text
    assert "nothing is guaranteed" not in text


@pytest.mark.parametrize(
    "further",
    [(), ("--cv", "--folds", 2), ("--kernel", "rbf", "--gamma", 0.1)],
    ids=str,
)
def test_costs_of_missing_a_class(fitted, further):
    model, _ = fitted("--costs", "gone=10, here=1", *further)
    assert model[-1].threshold == {"gone": 10.0, "here": 1.0}
    assert (
        model[-1].threshold_ > 0.2
        and model[-1].certified_intercept_ > model[-1].intercept_
    )


def test_costs_are_named(drsvm_command, answer_of, people, svmlight):
    options = (
        "--label",
        "state",
        "--drop",
        "checked",
        "--kernel",
        "linear",
        "--costs",
        "gone=10,here=1",
    )
    assert answer_of("fit", people[0], *options)["parameters"]["threshold"] == {
        "gone": 10.0,
        "here": 1.0,
    }
    shown = " ".join(drsvm_command("fit", people[0], *options)[1].split())
    assert "costs of missing a class: gone=10, here=1; " in shown
    # Labels may be numbers.
    assert answer_of("fit", svmlight, "--costs", "0=1,1=3")["parameters"][
        "threshold"
    ] == {"0": 1.0, "1": 3.0}


def test_costs_need_two_classes(error_of, tmp_path):
    columns = {"a": np.arange(30.0), "kind": np.array(["x", "y", "z"]).repeat(10)}
    path = write_table(tmp_path / "three.csv", columns)
    assert (
        "give a cost for each of the two classes of y, ['x', 'y', 'z']; for more, leave it out."
        in error_of("fit", path, "--costs", "x=1,y=2")
    )


@pytest.mark.thorough
def test_costs_with_cross_validation(fitted):
    """The preparation is fitted in the folds.

    Costs refer to the columns of all rows.
    """
    search = ("--cv", "--folds", 3, "--flip-cost", 5)
    model, _ = fitted(
        *search, "--trust-column", "town", "--increasing", "age", "--l2", 0.01
    )
    np.testing.assert_array_equal(model[-1].feature_cost, [1, 1, np.inf, np.inf])
    np.testing.assert_array_equal(model[-1].monotonic_cst, [1, 0, 0, 0])


@pytest.mark.thorough
def test_comparisons_and_reports_with_costs(answer_of, people, tmp_path):
    path = people[0]
    options = (
        "--label",
        "state",
        "--drop",
        "checked",
        "--trust-column",
        "town",
        "--increasing",
        "age",
        "--l2",
        0.01,
    )
    columns = pd.read_csv(path)
    # No label looks wrong
    columns["state"] = np.where(columns["age"] < columns["calls"], "gone", "here")
    columns.to_csv(path, index=False)
    made = answer_of(
        "report",
        path,
        *options,
        "--costs",
        "gone=10,here=1",
        "--output",
        tmp_path / "r.html",
    )
    assert "--costs gone=10,here=1" in made["summary"]["next"]["command"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--flip-cost", "1", "--flip-cost", "2"],
            "give one number, or one for every class",
        ),
        (["--flip-cost", "gone=much"], "give one number, or one for every class"),
        (
            ["--flip-cost", "lost=2", "--flip-cost", "here=1"],
            "lost: unknown label; the labels are gone, here",
        ),
        (["--flip-cost", "gone=2"], "no price for the classes ['here']"),
        (
            ["--increasing", "age", "--decreasing", "age"],
            "cannot be both --increasing and --decreasing",
        ),
        (["--increasing", "town"], "has categories, which have no order"),
        (["--trust-column", "ages"], "did you mean 'age'?"),
        (["--verified", "checked"], "changes nothing while all labels are trusted"),
        (["--verified", "calls", "--flip-cost", "2"], "must contain yes or no"),
        (["--intercept-cost", "0"], "intercept_cost=0.0 is out of range"),
        (["--row-radius", "-1"], "row_radius must be finite and at least 0"),
        (["--row-radius", "0.1", "--flip-cost", "1"], "row_radius needs flip_cost=inf"),
        (
            ["--costs", "gone=1,lost=2"],
            "--costs lost: unknown label; the labels are gone, here",
        ),
        (["--costs", "gone=1,here=2", "--no-intercept"], "use fit_intercept=True"),
        (
            ["--costs", "gone=1,here=2", "--threshold", "accuracy"],
            "use --threshold or --costs, not both",
        ),
        (
            ["--costs", "5"],
            "--costs 5: give the costs of missing each of two classes, such as --costs no=1,yes=10.",
        ),
        (
            ["--costs", "gone=1"],
            "--costs gone=1: give the costs of missing each of two classes",
        ),
        (
            ["--costs", "gone=1,here=much"],
            "--costs gone=1,here=much: give the costs of missing each of two classes",
        ),
        (
            ["--costs", "gone=1,gone=2"],
            "--costs gone=1,gone=2: give the costs of missing each",
        ),
        (
            ["--costs", "gone=-1,here=2"],
            "threshold['gone'] must be finite and at least 0, got threshold['gone']=-1",
        ),
        (["--costs", "gone=0,here=0"], "one of the costs must be above 0"),
    ],
)
def test_bad_costs(error_of, people, options, expected):
    assert expected in error_of("fit", people[0], "--label", "state", *options)
