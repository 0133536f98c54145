"""``drsvm compare``."""

import json

import pytest


def test_compare(drsvm_command, table, tmp_path):
    pytest.importorskip("matplotlib")
    arguments = ("compare", table, "--solvers", "interior-point,ippa", "--plot", tmp_path / "c.png")
    answer = json.loads(drsvm_command(*arguments, "--json")[1])
    columns = answer["solvers"]
    assert columns["solver"] == ["interior-point", "ippa"]
    assert columns["gap"][0] <= 1e-8 and columns["gap"][1] <= 1e-4
    assert abs(columns["objective"][0] - columns["objective"][1]) <= 1e-4
    assert (tmp_path / "c.png").stat().st_size > 5000
    code, out, _ = drsvm_command("compare", table, "--solver", "interior-point")
    assert code == 0 and "interior-point" in out and "hybrid" not in out
    assert drsvm_command("compare", table, "--solvers", "isg", "--max-iter", 1)[0] == 1
    code, _, err = drsvm_command("compare", table, "--solvers", "simplex")
    assert code == 2 and "unknown solver 'simplex'" in err
