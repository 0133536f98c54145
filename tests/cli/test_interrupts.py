"""Ctrl-C at the end of a command: either nothing is written, or everything, and the command succeeds."""

import json
import os
import signal
import subprocess
import sys
from contextvars import copy_context
from pathlib import Path

import pytest

from drsvm.cli import main
from drsvm.cli.screen import Screen

COMMANDS = {
    "fit": ("fit", "TABLE", "--model", "OUT.drsvm"),
    "predict": ("predict", "MODEL", "TABLE", "--output", "OUT.csv"),
    "export": ("export", "MODEL", "--onnx", "OUT.onnx"),
    "audit": ("audit", "MODEL", "TABLE", "--csv", "OUT.csv", "--plot", "OUT.svg"),
    "drift": ("drift", "MODEL", "TABLE", "--csv", "OUT.csv", "--plot", "OUT.svg"),
    "labels": ("labels", "TABLE", "--csv", "OUT.csv"),
    "report": ("report", "TABLE", "--output", "OUT.json"),
}

SLOW = ("report",)


def sends_signal(monkeypatch, owner, name, before=False):
    """Let a function send Ctrl-C to this process before or after it does its work."""
    function = getattr(owner, name)

    def sending(*given, **options):
        if before:
            signal.raise_signal(signal.SIGINT)
        found = function(*given, **options)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(owner, name, sending)


@pytest.fixture
def command_of_a_process(capsys, monkeypatch, one_command):
    """Return a function that runs the command line like a process of its own, which ends afterwards."""
    monkeypatch.setattr("typer.main.get_command", one_command)
    handler = signal.getsignal(signal.SIGINT)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["drsvm", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            copy_context().run(main)
        signal.signal(signal.SIGINT, handler)
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run


@pytest.fixture
def arguments(request, model, table, tmp_path, monkeypatch):
    """Return the arguments of a command, and the files that it writes."""
    if request.param == "export":
        pytest.importorskip("skl2onnx")
    words = [
        word.replace("OUT", str(tmp_path / "out")) for word in COMMANDS[request.param]
    ]
    words = [{"TABLE": table, "MODEL": model}.get(word, word) for word in words]
    return words, [
        Path(word) for word in words if str(word).startswith(str(tmp_path / "out"))
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name in SLOW else [])
        for name in COMMANDS
    ],
    indirect=True,
)
@pytest.mark.parametrize(
    "moment", ["first file", "last file", "before the first", "output"]
)
def test_a_command_that_is_interrupted_at_its_end(
    command_of_a_process, arguments, moment, tmp_path, monkeypatch
):
    words, files = arguments
    before = set(tmp_path.iterdir())
    if moment == "first file":
        sends_signal(monkeypatch, os, "fsync")
    elif moment == "output":
        sends_signal(monkeypatch, Screen, "finish", before=True)
    else:
        sends_signal(monkeypatch, Path, "replace", before=moment == "before the first")
    code, _, err = command_of_a_process(*words)
    if moment == "first file":
        assert code == 130 and "nothing was written" in err
        assert set(tmp_path.iterdir()) == before
    else:
        assert code in (0, 3) and set(tmp_path.iterdir()) == before | set(files)


PROCESS = """
import atexit, signal, sys, types
import drsvm.cli
from pathlib import Path
from drsvm.utils.writing import write_files

def app(args, prog_name):
    write_files({Path("out.csv"): b"x"})
    sys.exit(0)

sys.modules["drsvm.cli.app"] = types.SimpleNamespace(app=app)
signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(signal.raise_signal, signal.SIGINT)
drsvm.cli.main()
"""


def test_a_process_that_has_written_its_files_ends_as_usual_in_spite_of_ctrl_c(
    tmp_path,
):
    done = subprocess.run(
        [sys.executable, "-c", PROCESS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (
        done.returncode == 0 and done.stderr == "" and (tmp_path / "out.csv").exists()
    )


def test_an_interrupted_fit_leaves_no_spool(
    command_of_a_process, table, tmp_path, monkeypatch
):
    from pyarrow import csv, parquet

    path = tmp_path / "table.parquet"
    spool = tmp_path / "spool"
    parquet.write_table(csv.read_csv(table), path)
    sends_signal(monkeypatch, os, "fsync")
    code, _, err = command_of_a_process(
        "fit", path, "--spool", spool, "--model", tmp_path / "m.drsvm"
    )
    assert code == 130 and "nothing was written" in err and not spool.exists()


WRITING = """
import resource, sys, typer
from drsvm.cli.screen import Screen, reported_errors
from pathlib import Path
from drsvm.utils.writing import write_files

try:
    with reported_errors(Screen()):
        {}
except typer.Exit as ended:
    sys.exit(ended.exit_code)
"""


def ended(line, folder, stdout=subprocess.PIPE):
    command = [sys.executable, "-c", WRITING.format(line)]
    return subprocess.run(
        command,
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )


def test_a_file_that_exceeds_a_limit_is_named(tmp_path):
    pytest.importorskip("resource")
    line = "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, -1)); write_files({Path('out.csv'): bytes(5000)})"
    done = ended(line, tmp_path)
    message = "error: out.csv: cannot be written (File too large): free some space, or choose another disk.\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("size", [10, 100_000])
def test_a_full_disk_behind_standard_output(tmp_path, size):
    """Little text is written when the process ends, much at once."""
    with open("/dev/full", "w") as full:
        done = ended(f"print('x' * {size})", tmp_path, full)
    message = "error: standard output: No space left on device"
    assert (
        done.returncode == 2
        and done.stderr.startswith(message)
        and len(done.stderr.splitlines()) == 1
    )


def test_a_full_disk_as_json(drsvm_command, table, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, out, _ = drsvm_command(
        "fit", table, "--model", tmp_path / "m.drsvm", "--json"
    )
    assert code == 2 and str(tmp_path / "m.drsvm") in json.loads(out)["error"]
    assert list(tmp_path.iterdir()) == [table]
