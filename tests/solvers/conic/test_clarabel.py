"""Clarabel: what it reports, limits, and Ctrl-C while it runs."""

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from problems import random_rows

from drsvm import Problem, Status, solve
from drsvm.solvers import postponed_interrupt

TWO_ROWS = [[1.0], [-1.0]], [1, -1]


def gaussian(seed, n, d, **parameters):
    return Problem(
        *random_rows(np.random.default_rng(seed), n, d, "gaussian"), **parameters
    )


def test_the_report_of_the_backend_is_kept():
    problem = Problem(*TWO_ROWS, norm=1)
    info = solve(problem, "conic").info
    assert (
        info["backend"] == "clarabel"
        and info["backend_status"] == "Solved"
        and info["backend_iterations"] > 0
    )


def test_an_inaccurate_backend_is_not_trusted():
    problem = gaussian(14, 30, 3)
    inaccurate = solve(problem, "conic", accuracy=1e-2)
    assert inaccurate.info["backend_status"] == "Solved"
    assert inaccurate.status is Status.STALLED and inaccurate.gap > 1e-7
    assert (
        inaccurate.lower_bound
        <= solve(problem, "conic").objective
        <= inaccurate.objective
    )


def test_a_time_limit_is_kept():
    result = solve(gaussian(15, 300, 30, norm=1), "conic", max_time=1e-6)
    assert result.status is Status.TIME_LIMIT
    assert 0 <= result.lower_bound <= result.objective <= 1


@pytest.mark.parametrize("backend", ["ecos", "highs"])
def test_other_backends_are_rejected(backend):
    said = f"backend must be 'clarabel', got backend='{backend}'"
    with pytest.raises(ValueError, match=said):
        solve(Problem(*TWO_ROWS), "conic", backend=backend)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)  # makes its import fail
    with pytest.raises(ImportError, match="needs clarabel: pip install clarabel"):
        solve(Problem(*TWO_ROWS, norm=1), "conic")


INTERRUPTED_SOLVE = """
    import os, signal
    import clarabel
    import numpy as np
    from drsvm import Problem, solve

    given = clarabel.DefaultSolver

    class Interrupted:
        '''Clarabel, with a Ctrl-C in its third iteration.'''

        def __init__(self, *arguments):
            self.solver, self.calls = given(*arguments), 0

        def set_termination_callback(self, should_stop):
            def interrupt_then_ask(info):
                self.calls += 1
                if self.calls == 3:
                    os.kill(os.getpid(), signal.SIGINT)
                return should_stop(info)

            self.solver.set_termination_callback(interrupt_then_ask)

        def solve(self):
            answer = self.solver.solve()
            print("iterations", answer.iterations)
            return answer

    clarabel.DefaultSolver = Interrupted
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    result = solve(Problem(X, X[:, 0] + rng.normal(size=60) > 0), "conic")
    print("status", result.status)
    print("bounds", 0 <= result.lower_bound <= result.objective <= 1 + 1e-12)
"""


@pytest.mark.thorough
@pytest.mark.skipif(
    os.name != "posix", reason="a process cannot send itself Ctrl-C elsewhere"
)
def test_control_c_ends_a_solve_with_a_result():
    script = [sys.executable, "-c", textwrap.dedent(INTERRUPTED_SOLVE)]
    run = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    said = dict(line.split() for line in run.stdout.splitlines())
    assert said["status"] == "interrupted" and said["bounds"] == "True"
    assert int(said["iterations"]) < 6  # it stopped soon, not at the end


def test_a_postponed_interrupt_comes_after_the_block_and_the_handler_is_restored():
    before = signal.getsignal(signal.SIGINT)
    reached = []
    with pytest.raises(KeyboardInterrupt), postponed_interrupt() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted.is_set()
        reached.append(True)
    assert reached and signal.getsignal(signal.SIGINT) is before
    with pytest.raises(LookupError), postponed_interrupt():
        raise LookupError
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone():
    def run():
        with postponed_interrupt() as interrupted:
            return interrupted.is_set()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() is False
