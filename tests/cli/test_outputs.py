"""Output files: what must not be overwritten, and what cannot be written."""

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


def test_an_input_file_is_not_overwritten(drsvm_command, table, model, tmp_path):
    content = table.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for arguments in (
        ("fit", table, "--model", table),
        ("fit", table, "--model", link),
        ("predict", model, table, "--output", table),
        ("predict", model, table, "--output", model),
        ("path", table, "--csv", table),
        ("path", table, "--csv", tmp_path / "x.png", "--plot", tmp_path / "x.png"),
    ):
        code, _, err = drsvm_command(*arguments)
        assert code == 2 and "choose another name" in err
    assert table.read_bytes() == content


def test_a_model_does_not_replace_another_kind_of_file(drsvm_command, table, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    code, _, err = drsvm_command("fit", table, "--model", tmp_path / "thesis.txt")
    assert code == 2 and "exists and is not a drsvm model" in err
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_outputs_that_cannot_be_written(drsvm_command, table, tmp_path):
    for output, expected in ((tmp_path / "no" / "m.drsvm", "does not exist"), (tmp_path, "is a folder")):
        code, _, err = drsvm_command("fit", table, "--model", output)
        assert code == 2 and expected in err
    code, _, err = drsvm_command("path", table, "--plot", tmp_path / "p.bmp")
    assert code == 2 and "must end in .png" in err
