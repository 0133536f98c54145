"""Ctrl-C as a real signal: an interrupted result or a KeyboardInterrupt follows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from interrupts import TASKS
from thorough import LONG, unless_long

OFTEN = ("ippa",)
TIMES = 20 if LONG else 1


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize(
    "tasks", unless_long([OFTEN], [[task] for task in TASKS]), ids=", ".join
)
def test_a_signal_ends_every_task(tasks):
    program = Path(__file__).parents[1] / "interrupts.py"
    path = os.pathsep.join([str(program.parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, program, str(TIMES), *tasks]
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
