"""Files of a command: standard input, standard output and pipes, outputs that are not written, and ``drsvm export``."""

import gzip
import hashlib
import io
import json
import os
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from drsvm.persistence import load_metadata


@pytest.fixture
def pipe_in(monkeypatch):
    return lambda content: monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(content))
    )


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_standard_input_is_a_data_file(
    drsvm_command, answer_of, table, model, pipe_in, packed
):
    content = packed(table.read_bytes())
    expected = answer_of("fit", table, "--label", "kind", "--test-size", 0.25)
    pipe_in(content)
    code, out, err = drsvm_command(
        "fit", "-", "--label", "kind", "--test-size", 0.25, "--json"
    )
    answer = json.loads(out)
    assert (code, err, answer["file"]) == (0, "", "-")
    assert (
        answer["weights"] == expected["weights"] and answer["test"] == expected["test"]
    )
    printed = drsvm_command("predict", model, table)[1]
    for arguments in ([], ["--output", "-"]):
        pipe_in(content)
        assert drsvm_command("predict", model, "-", *arguments)[:2] == (0, printed)
    assert not Path("-").exists()


def test_standard_input_as_a_test_file(
    drsvm_command, answer_of, table, tmp_path, pipe_in
):
    pipe_in(table.read_bytes())
    out = tmp_path / "m.drsvm"
    answer = answer_of("fit", table, "--test", "-", "--model", out)
    # Only of rows that the model has not seen
    intervals = answer["test"].pop("intervals")
    assert (
        intervals.keys() == {"accuracy", "balanced_accuracy", "roc_auc"}
        and answer["test"] == answer["train"]
    )
    pipe_in(table.read_bytes())
    drsvm_command("fit", "-", "--model", out)
    assert load_metadata(out)["training"]["file"] == "standard input"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "standard input: is empty."),
        (
            b"a,b,label\n1,2,x\n3,oops,y\n5,6,x\n",
            "standard input: column 'b' contains the text 'oops' (line 3)",
        ),
        (b"a,b,label\n1,2,x\n3,4,x\n", "standard input: all 2 rows have the label 'x'"),
    ],
)
def test_errors_name_standard_input(error_of, pipe_in, content, expected):
    pipe_in(content)
    assert f"error: {expected}" in error_of("fit", "-")


def test_invalid_uses_of_a_dash(error_of, table, model):
    for arguments, expected in (
        (("fit", "-", "--test", "-"), "standard input can be read only once"),
        (
            ("audit", model, "-", "--compare", "--train", "-"),
            "standard input can be read only once",
        ),
        (("predict", "-", table), "a model cannot be read from standard input"),
        (
            ("fit", table, "--model", "-"),
            "only predictions can be written to standard output",
        ),
        (
            ("audit", model, table, "--csv", "-"),
            "only predictions can be written to standard output",
        ),
    ):
        assert expected in error_of(*arguments)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_a_data_file(drsvm_command, table, model, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[table.read_bytes()])
    writer.start()
    assert (
        drsvm_command("predict", model, pipe)[:2]
        == drsvm_command("predict", model, table)[:2]
    )
    writer.join()


def test_a_failed_plot_leaves_no_table(error_of, model, table, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")

    def fail(*_, **__):
        raise ValueError("no ink")

    monkeypatch.setattr("drsvm.plotting.RiskCurveDisplay.plot", fail)
    err = error_of(
        "audit", model, table, "--csv", tmp_path / "r.csv", "--plot", tmp_path / "r.png"
    )
    assert "no ink" in err and not (tmp_path / "r.csv").exists()


def test_an_input_file_is_not_overwritten(error_of, table, model, tmp_path):
    content = table.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for arguments in (
        ("fit", table, "--model", table),
        ("fit", table, "--model", link),
        ("predict", model, table, "--output", table),
        ("predict", model, table, "--output", model),
        ("audit", model, table, "--csv", table),
        (
            "audit",
            model,
            table,
            "--csv",
            tmp_path / "x.png",
            "--plot",
            tmp_path / "x.png",
        ),
    ):
        assert "choose another name" in error_of(*arguments)
    assert table.read_bytes() == content


def test_outputs_that_cannot_be_written(error_of, table, tmp_path, monkeypatch):
    (tmp_path / "thesis.txt").write_text("years of work")
    assert "exists and is not a drsvm model" in error_of(
        "fit", table, "--model", tmp_path / "thesis.txt"
    )
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    for output, expected in (
        (tmp_path / "no" / "m.drsvm", "does not exist"),
        (tmp_path, "is a folder"),
    ):
        assert expected in error_of("fit", table, "--model", output)
    assert "must end in .png" in error_of("labels", table, "--plot", tmp_path / "p.bmp")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install matplotlib" in error_of(
        "labels", table, "--plot", tmp_path / "p.png"
    )


def test_a_model_with_a_damaged_array_is_bad_input(error_of, model, table):
    """The header of an array does not end, which numpy reports by an error of Python's tokenizer."""
    content = model.read_bytes()
    head, _, archive = content.partition(b"\n")
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(packed, "w") as new,
    ):
        for name in old.namelist():
            new.writestr(
                name,
                old.read(name).replace(b")", b" ", 1)
                if name.endswith(".npy")
                else old.read(name),
            )
    checksum = hashlib.sha256(packed.getvalue()).hexdigest().encode()
    model.write_bytes(
        head[: head.index(b":") + 1] + checksum + b"\n" + packed.getvalue()
    )
    for command in ("predict", "audit"):
        assert "is not a drsvm model" in error_of(command, table, table)
        assert f"{model}: its content is not that of a drsvm model" in error_of(
            command, model, table
        )


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
