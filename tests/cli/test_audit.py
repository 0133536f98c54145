"""``drsvm audit``."""

import csv
import io
import re

import numpy as np
import pytest
from cli_tables import PETS, letters, rows, write_csv, write_table

from drsvm.persistence import load_model


def test_audit(answer_of, error_of, model, table):
    from drsvm import worst_case_risk

    answer = answer_of("audit", model, table, "--radii", "0,0.1")
    X, y = rows()
    labels = PETS[y]
    saved = load_model(model)
    ball = {"radius": [0.0, 0.1], "flip_cost": saved[-1].flip_cost, "norm": 2}
    np.testing.assert_allclose(
        answer["risks"]["risk"], worst_case_risk(saved, X, labels, **ball)
    )
    np.testing.assert_allclose(
        answer["risks"]["error"],
        worst_case_risk(saved, X, labels, loss="zero-one", **ball),
    )
    low, high = answer["scores"]["intervals"]["accuracy"]
    assert low < answer["scores"]["accuracy"] < high and answer["leads"] is None
    assert answer["scores"]["accuracy"] == pytest.approx(
        1 - answer["risks"]["error"][0]
    )
    assert "--norm must be one of 1, 2, inf, got 'foo'" in error_of(
        "audit", model, table, "--norm", "foo"
    )


@pytest.mark.parametrize("radius", [0.001, 0.3])
def test_radii_are_of_practical_size(answer_of, table, tmp_path, radius):
    path = tmp_path / "m.drsvm"
    fit = ("fit", table, "--radius", radius, "--kernel", "linear", "--model", path)
    answer_of(*fit, "--test-size", 0)
    found = answer_of("audit", path, table)["risks"]["radius"]
    assert found == [0.0, 0.05, 0.1, 0.2] + [0.3] * (radius == 0.3)


def test_audit_with_other_classifiers(drsvm_command, model, table, tmp_path):
    pytest.importorskip("matplotlib")
    audit = ("audit", model, table, "--compare")
    code, out, err = drsvm_command(
        *audit, "--plot", tmp_path / "r.svg", "--csv", tmp_path / "r.csv"
    )
    assert code == 0 and "risk LinearSVC" in out and "error LogisticRegression" in out
    assert "are trained on the audited file" in err
    read = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    own = read[3]  # the training radius
    assert float(own["risk_drsvm"]) <= min(
        float(own["risk_LinearSVC"]), float(own["risk_LogisticRegression"])
    )
    assert (tmp_path / "r.svg").read_text().startswith("<?xml")
    code, _, err = drsvm_command(*audit, "--train", table)
    assert code == 0 and "audited file" not in err


def test_leads_are_said_only_if_the_others_have_not_seen_the_rows(
    drsvm_command, model, table, tmp_path
):
    X, y = rows(seed=5)
    other = write_csv(tmp_path / "other.csv", X, PETS[y])
    out = drsvm_command("audit", model, other, "--compare", "--train", table)[1]
    assert (
        "  accuracy: " in out
        and "LinearSVC (95\u202f%: " in out
        and "if the rows are new to them" in out
    )
    for more in ((), ("--train", other)):
        assert (
            "LinearSVC (95"
            not in drsvm_command("audit", model, other, "--compare", *more)[1]
        )


def test_no_column_of_the_table_is_cut(drsvm_command, model, table, monkeypatch):
    from rich.console import Console

    audit = ("audit", model, table, "--compare", "--costs", "cat=1,dog=10")
    out = drsvm_command(*audit)[1]
    assert "…" not in out and "population cost" in out
    [header] = [line for line in out.splitlines() if "radius  " in line]
    # On a terminal, a wide table is several, each with the radius.
    monkeypatch.setattr(
        "drsvm.cli.screen._console", lambda stderr: Console(stderr=stderr, width=60)
    )
    narrow = drsvm_command(*audit)[1]
    assert "…" not in narrow
    tables = [line for line in narrow.splitlines() if "radius  " in line]
    assert len(tables) > 2 and max(map(len, tables)) <= 60
    names = re.findall(r"\S+(?: \S+)*", header)
    for name in [*names, *re.findall(r"\d\.\d{4}", out)]:
        assert name in narrow


def test_audit_of_three_classes(drsvm_command, answer_of, tmp_path):
    from drsvm import worst_case_risk

    pytest.importorskip("matplotlib")
    table, X, labels = letters(tmp_path, 60)
    drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    audit = ("audit", tmp_path / "m.drsvm", table, "--radii", "0,0.2")
    alone = answer_of(*audit)["risks"]
    assert list(alone)[1:5] == ["risk", "risk_drsvm_a", "risk_drsvm_b", "risk_drsvm_c"]
    shown = drsvm_command(*audit)[1]
    assert (
        "drsvm" not in shown
        and "error of each class against the rest, by radius" in shown
    )
    lines = [line.split() for line in shown.splitlines() if line.startswith("c ")]
    assert lines == [
        ["c", *(f"{value:.4f}" for value in alone[f"{word}_drsvm_c"])]
        for word in ("risk", "error")
    ]
    saved = load_model(tmp_path / "m.drsvm")
    errors = worst_case_risk(saved, X, labels, radius=[0.0, 0.2], loss="zero-one")
    np.testing.assert_allclose(alone["error"], errors)
    assert errors[0] == pytest.approx(1 - saved.score(X, labels))
    compared = answer_of(*audit, "--compare", "--plot", tmp_path / "r.svg")["risks"]
    assert (
        compared["error_drsvm"] == alone["error"]
        and "error_LogisticRegression" in compared
    )
    assert (tmp_path / "r.svg").read_text().startswith("<?xml")


def test_audit_by_row_with_costs_for_the_population(
    drsvm_command, answer_of, error_of, model, table
):
    audit = ("audit", model, table, "--radii", "0,0.1")
    plain = answer_of(*audit)["risks"]
    assert all(
        more >= own
        for own, more in zip(plain["error"], plain["population"], strict=True)
    )
    by_row = answer_of(
        *audit, "--limit", "row", "--costs", "cat=1,dog=4", "--confidence", "0.8"
    )["risks"]
    assert (
        "risk" not in by_row
        and by_row["error"][1] <= by_row["cost"][1] <= 4 * by_row["error"][1]
    )
    assert by_row["cost"][1] <= by_row["population_cost"][1] <= 4
    shown = drsvm_command(*audit, "--limit", "row", "--confidence", "0.8")[1]
    assert (
        "each row shifted by at most the radius" in shown
        and "with 80% confidence" in shown
    )
    assert "--limit must be one of average, row, got 'rows'" in error_of(
        *audit, "--limit", "rows"
    )
    assert "give the costs of missing each of two classes" in error_of(
        *audit, "--costs", "yes"
    )
    assert "confidence must be at least 0.5" in error_of(*audit, "--confidence", "95")


def test_groups_of_a_column_that_is_no_feature(
    drsvm_command, answer_of, error_of, model, tmp_path
):
    from drsvm import worst_case_risk

    pytest.importorskip("matplotlib")
    X, y = rows(seed=3)
    names = ("height", "width", "depth")
    site = np.where(X[:, 2] > 0.5, 10, 9)
    owner = np.where(np.arange(len(y)) % 3, "Ann", "")
    columns = dict(zip(names, X.T, strict=True))
    columns |= {"kind": PETS[y], "site": site, "owner": owner}
    path = write_table(tmp_path / "sites.csv", columns)
    audit = ("audit", model, path, "--radii", "0,0.1", "--flip-cost", "inf")
    answer = answer_of(*audit, "--by", "site", "--confidence", 0.9)
    assert answer["by"] == "site"
    found = answer["groups"]
    # In the order of numbers, and not that of the rows or of texts
    assert found["names"] == ["9", "10"]
    assert found["rows"] == [np.sum(site == 9), np.sum(site == 10)]
    ball = {"radius": [0.0, 0.1], "flip_cost": np.inf, "loss": "zero-one"}
    saved = load_model(model)
    for name, confidence in (("error", None), ("population", 0.9)):
        expected = worst_case_risk(
            saved, X, PETS[y], groups=site, confidence=confidence, **ball
        )
        np.testing.assert_allclose(found[name], expected.risks)
        np.testing.assert_allclose(found[f"{name}_difference"], expected.difference)
    assert answer["risks"] == answer_of(*audit, "--confidence", 0.9)["risks"]

    plot = tmp_path / "g.svg"
    out = drsvm_command(*audit, "--by", "owner", "--plot", plot)[1]
    assert "each group of owner alone, by radius" in out
    assert re.search(r"^Ann +80 ", out, re.MULTILINE)
    assert re.search(r"^\(empty\) +40 ", out, re.MULTILINE)
    assert "largest difference" in out and "population 0.1" in out
    assert plot.read_text().startswith("<?xml")
    costs = answer_of(*audit, "--by", "4", "--costs", "cat=1,dog=3", "--limit", "row")
    assert {"cost", "population"} < set(costs["groups"]) and not (
        {"error"} & set(costs["groups"])
    )
    assert "note" not in drsvm_command(*audit, "--by", "kind")[2]

    assert "--by depth: has 120 different values in 120 rows: choose" in error_of(
        *audit, "--by", "depth"
    )
    assert "there is no column 'sex' (--by)" in error_of(*audit, "--by", "sex")


def test_groups_are_not_asked_of_the_training_file(
    drsvm_command, model, table, tmp_path
):
    X, y = rows(seed=3)
    names = ("height", "width", "depth")
    columns = dict(zip(names, X.T, strict=True))
    path = write_table(
        tmp_path / "s.csv",
        {**columns, "kind": PETS[y], "site": y % 2 + X[:, 0].round()},
    )
    compare = ("--compare", "--train", table)
    code, out, err = drsvm_command("audit", model, path, "--by", "site", *compare)
    assert code == 0, err
    assert "largest difference" in out
