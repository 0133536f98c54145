"""Solvers that cannot be imported here, in a process of their own: both sides of the
conversation.

The programs in this folder run on the other side, possibly in another environment, and
import only this module.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
SOLVE = "solve"


class OtherProcess:
    """A process that prepares and solves one task after another.

    It starts with the first, and ends with this one.
    """

    def __init__(self, python: str, program: str):
        self._command = [python, str(HERE / program)]
        self._process = None

    def prepare(self, *task) -> None:
        """Hand over a task, and wait until only the call of the solver is left."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        self._ask(task)

    def solve(self):
        """Return the answer to the task."""
        return self._ask(SOLVE)

    def _ask(self, message):
        _send(message, self._process.stdin)
        return pickle.load(self._process.stdout)


def serve(prepare: Callable) -> None:
    """Answer until the input ends.

    `prepare(*task)` returns the call that solves the task.
    """
    # what a solver prints must not mix with the answers
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    with suppress(EOFError):
        while True:
            message = pickle.load(sys.stdin.buffer)
            if isinstance(message, tuple):
                solve = prepare(*message)
                _send("ready", answers)
            else:
                _send(solve(), answers)


def _send(message, stream) -> None:
    pickle.dump(message, stream)
    stream.flush()
