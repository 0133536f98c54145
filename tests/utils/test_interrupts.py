"""Ctrl-C as a real signal: an interrupted result or a KeyboardInterrupt follows."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from interrupts import TASKS
from numba.core.compiler_lock import global_compiler_lock
from thorough import LONG, unless_long

from drsvm.compiled.compiling import pauses

OFTEN = ("ippa",)
COLD = ("--cold", "fit")
TIMES = 20 if LONG else 1


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize(
    "tasks",
    unless_long(
        [OFTEN, COLD], [[*mode, task] for task in TASKS for mode in ([], ["--cold"])]
    ),
    ids=", ".join,
)
def test_a_signal_ends_every_task(tasks):
    program = Path(__file__).parents[1] / "interrupts.py"
    path = os.pathsep.join([str(program.parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, program, *tasks, "--times", str(TIMES)]
    environment = {**os.environ, "PYTHONPATH": path}
    child = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr  # negative: killed by a signal
    # Joblib's workers may complain below when they are ended
    reactions = json.loads(child.stdout.splitlines()[0])
    assert set(reactions) <= {"interrupted", "KeyboardInterrupt"}, (
        reactions,
        child.stderr,
    )
    assert "Traceback" not in child.stderr


@pytest.fixture
def python_raises_interrupts():
    """Restore what Python does on Ctrl-C, which jobs in the background of a shell ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_numba_is_not_interrupted_at_work(python_raises_interrupts):
    done = []
    before = pauses.now()
    with pytest.raises(KeyboardInterrupt), global_compiler_lock:
        with global_compiler_lock:
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    # The clock goes on, and the next Ctrl-C raises again.
    assert pauses.now() > before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with global_compiler_lock:
        pass  # nothing is left of the first one


def test_other_handlers_are_called_after_the_work():
    found = []
    before = signal.signal(signal.SIGINT, lambda number, frame: found.append(number))
    try:
        with global_compiler_lock:
            signal.raise_signal(signal.SIGINT)
            assert not found
        assert found == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with global_compiler_lock:
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
