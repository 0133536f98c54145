"""``drsvm compare``."""

import pytest


def test_compare(drsvm_command, answer_of, error_of, table, tmp_path):
    pytest.importorskip("matplotlib")
    arguments = (
        "compare",
        table,
        "--solvers",
        "interior-point,ippa",
        "--plot",
        tmp_path / "c.png",
    )
    columns = answer_of(*arguments)["solvers"]
    assert columns["solver"] == ["interior-point", "ippa"]
    assert columns["gap"][0] <= 1e-8 and columns["gap"][1] <= 1e-4
    assert abs(columns["objective"][0] - columns["objective"][1]) <= 1e-4
    assert (tmp_path / "c.png").stat().st_size > 5000
    code, out, _ = drsvm_command("compare", table, "--solver", "interior-point")
    assert code == 0 and "interior-point" in out and "hybrid" not in out
    assert drsvm_command("compare", table, "--solvers", "isg", "--max-iter", 1)[0] == 1
    assert "unknown solver 'simplex'" in error_of(
        "compare", table, "--solvers", "simplex"
    )


def test_the_problem_is_that_of_the_estimator(answer_of, table):
    for more in (
        (),
        ("--flip-cost", 0.5, "--intercept-cost", "inf", "--increasing", "height"),
    ):
        options = (table, "--radius", 0.05, "--solver", "interior-point", *more)
        compared = answer_of("compare", *options)["solvers"]
        fitted = answer_of(
            "fit", *options, "--l2", 0, "--class-weight", "none", "--test-size", 0
        )["certificates"]
        assert compared["objective"][0] == pytest.approx(
            fitted[0]["objective"], abs=1e-6
        )
