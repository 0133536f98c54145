"""The backends: what they report, limits, Ctrl-C while they run, and runs in a process of their own."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from problems import random_rows
from thorough import unless_long

from drsvm import Problem, Status, solve
from drsvm.solvers.conic import conic_solver as conic
from drsvm.solvers.conic.backends import postponed_interrupt
from drsvm.utils.clock import TimeLimit

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
    assert solve(problem, "conic", backend="highs").info == {
        "backend": "highs",
        "backend_status": "Optimal",
    }


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


@pytest.mark.parametrize("backend", ["clarabel", "highs"])
def test_a_time_limit_is_kept(backend):
    result = solve(
        gaussian(15, 300, 30, norm=1), "conic", backend=backend, max_time=1e-6
    )
    assert result.status is Status.TIME_LIMIT
    assert 0 <= result.lower_bound <= result.objective <= 1


def test_unsuitable_backends_are_rejected():
    problem = Problem(*TWO_ROWS)
    with pytest.raises(
        ValueError, match="backend must be 'clarabel' or 'highs', got backend='ecos'"
    ):
        solve(problem, "conic", backend="ecos")
    for quadratic in (problem, problem.replace(norm=1, l2=1.0)):
        with pytest.raises(
            ValueError,
            match=r"norm=1 or norm=inf with l2=0, got norm=.*: use backend='clarabel'",
        ):
            solve(quadratic, "conic", backend="highs")


@pytest.mark.parametrize("module", ["clarabel", "highspy"])
def test_a_missing_extra_is_named(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)  # makes its import fail
    problem = Problem(*TWO_ROWS, norm=1)
    with pytest.raises(ImportError, match=f"needs {module}: pip install {module}"):
        solve(
            problem,
            "conic",
            backend={"clarabel": "clarabel", "highspy": "highs"}[module],
        )


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


@pytest.fixture
def child_finds(monkeypatch, tmp_path):
    """Return a function that replaces a module for the backend process, which is used for models of any size."""
    monkeypatch.setattr(conic, "LARGE", 0)

    def put(name, code):
        __import__(name)  # the real one remains here
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(code))
        monkeypatch.syspath_prepend(tmp_path)

    return put


FOREVER = """
    import pathlib, time
    pathlib.Path(__file__).with_suffix(".started").touch()
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("backend", "norm"),
    unless_long(
        [("clarabel", 2)], [("clarabel", 2), ("clarabel", math.inf), ("highs", 1)]
    ),
)
def test_a_separate_process_gives_the_same_answer(monkeypatch, backend, norm):
    problem = gaussian(18, 40, 3, norm=norm, fit_intercept=True)
    here = solve(problem, "conic", backend=backend, n_threads=1)
    monkeypatch.setattr(conic, "LARGE", 0)
    # It must not be called in this process
    monkeypatch.setitem(conic.BACKENDS, backend, None)
    there = solve(problem, "conic", backend=backend, n_threads=1)
    assert there.status is Status.OPTIMAL and there.info == here.info
    assert there.objective == here.objective and there.lower_bound == here.lower_bound
    np.testing.assert_array_equal(there.weights, here.weights)


def test_a_backend_that_ignores_its_limit_is_terminated(child_finds):
    child_finds("clarabel", FOREVER)
    result = solve(gaussian(19, 12, 2), "conic", max_time=0.5)
    assert result.status is Status.TIME_LIMIT
    assert result.info == {
        "backend": "clarabel",
        "backend_status": "terminated at the time limit",
    }
    assert result.objective == pytest.approx(1.0) and not result.weights.any()


def test_a_shared_limit_can_end_a_backend_from_another_thread(child_finds, tmp_path):
    child_finds("clarabel", FOREVER)
    limit = TimeLimit()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(solve, gaussian(19, 12, 2), "conic", max_time=limit)
        while not (tmp_path / "clarabel.started").exists():
            time.sleep(0.01)
        limit.stop()
        assert waiting.result(timeout=60).status is Status.TIME_LIMIT


def test_the_error_of_a_failed_process_is_shown(child_finds):
    child_finds("clarabel", "raise MemoryError('no room for the factors')")
    with pytest.raises(
        RuntimeError, match=r"exit status 1: (?s:.*)no room for the factors"
    ):
        solve(Problem(*TWO_ROWS), "conic")


def test_output_printed_by_a_backend_does_not_affect_its_answer(child_finds):
    child_finds(
        "highspy",
        """
        import os, sys
        os.write(1, b"HiGHS says hello")
        sys.path.remove(os.path.dirname(__file__))
        del sys.modules["highspy"]
        sys.modules["highspy"] = __import__("highspy")
        """,
    )
    assert (
        solve(Problem(*TWO_ROWS, norm=1), "conic", backend="highs").status
        is Status.OPTIMAL
    )


INTERRUPTED_PROCESS = """
    import os, signal, sys, threading, time
    import clarabel
    from drsvm import Problem, solve
    from drsvm.solvers.conic import conic_solver as conic

    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
    conic.LARGE = 0
    sys.path.insert(0, {folder!r})

    def interrupt():
        while not os.path.exists({folder!r} + "/clarabel.started"):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    print("status", solve(Problem([[1.0], [-1.0]], [1, -1]), "conic").status)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("children none")
"""


@pytest.mark.skipif(
    os.name != "posix", reason="a process cannot send itself Ctrl-C elsewhere"
)
def test_control_c_ends_the_process_of_a_backend(tmp_path):
    (tmp_path / "clarabel.py").write_text(textwrap.dedent(FOREVER))
    script = [
        sys.executable,
        "-c",
        textwrap.dedent(INTERRUPTED_PROCESS).format(folder=str(tmp_path)),
    ]
    run = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and run.stderr == ""
    assert dict(line.split() for line in run.stdout.splitlines()) == {
        "status": "interrupted",
        "children": "none",
    }


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
