"""Processes that are forked while another thread is at work: none waits for it."""

import os
import signal
import sys
import threading
import time
import warnings

import pytest
from instances import well_conditioned_instance
from numba.core.compiler_lock import global_compiler_lock
from thorough import unless_long

from drsvm import WassersteinSVC
from drsvm.utils import parallel
from drsvm.utils.clock import Stopwatch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")

PATIENCE = 20.0


def exit_code_of_child(work):
    """Return how a forked process ends that does some work; −9 if it hangs."""
    with warnings.catch_warnings(action="ignore"):
        process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.parametrize("lock", [global_compiler_lock, parallel._lock])
def test_a_child_waits_for_no_thread_that_it_does_not_have(lock):
    begun = threading.Event()

    def hold():
        with lock:
            begun.set()
            time.sleep(0.1)

    def work():
        watch = Stopwatch()
        with lock:
            pass
        time.sleep(0.01)
        # The clock goes on, though the other thread's pause has no end here.
        assert watch.elapsed() > 0.0

    other = threading.Thread(target=hold)
    other.start()
    assert begun.wait(PATIENCE)
    code = exit_code_of_child(work)
    other.join()
    assert code == 0


def test_children_of_a_fit_in_another_thread_fit_too():
    problem = well_conditioned_instance(0, 300, 5)
    X, y = problem.X, problem.signs
    WassersteinSVC().fit(X, y)
    ends = threading.Event()

    def fit():
        while not ends.is_set():
            WassersteinSVC().fit(X, y)

    other = threading.Thread(target=fit)
    other.start()
    try:
        codes = []
        for _ in range(unless_long(5, 40)):
            time.sleep(0.013)
            codes.append(exit_code_of_child(lambda: WassersteinSVC().fit(X, y)))
    finally:
        ends.set()
        other.join()
    assert set(codes) == {0}
