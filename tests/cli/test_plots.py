"""Plots as files, and their optional dependency."""

import sys

import pytest


@pytest.mark.parametrize(("command", "display"), [("audit", "RiskCurveDisplay"), ("path", "RadiusPathDisplay")])
def test_a_failed_plot_leaves_no_table(drsvm_command, model, table, tmp_path, monkeypatch, command, display):
    pytest.importorskip("matplotlib")

    def fail(*_, **__):
        raise ValueError("no ink")

    monkeypatch.setattr(f"drsvm.plotting.{display}.plot", fail)
    files = [model, table] if command == "audit" else [table, "--n-radii", 2]
    code, _, err = drsvm_command(command, *files, "--csv", tmp_path / "r.csv", "--plot", tmp_path / "r.png")
    assert code == 2 and "no ink" in err and not (tmp_path / "r.csv").exists()


def test_a_missing_extra_is_named(drsvm_command, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = drsvm_command("path", table, "--plot", tmp_path / "p.png")
    assert code == 2 and "pip install matplotlib" in err
