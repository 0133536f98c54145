"""``drsvm export``: errors; what is exported is tested with the converters."""

import sys


def test_a_missing_extra_is_named(error_of, model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    err = error_of("export", model, "--onnx", tmp_path / "m.onnx")
    assert "pip install skl2onnx" in err and not (tmp_path / "m.onnx").exists()


def test_bad_files(error_of, model, table):
    for arguments, expected in (
        ((table, "--onnx", "m.onnx"), "is not a drsvm model"),
        ((model, "--onnx", model), "is used twice in this command"),
        (("-", "--onnx", "m.onnx"), "a model cannot be read from standard input"),
        ((model,), "Missing option '--onnx'"),
    ):
        assert expected in error_of("export", *arguments)
