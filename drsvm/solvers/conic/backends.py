"""The backends of `conic`, and the process that runs them on large models.

A backend checks its time limit only between iterations, and no exception may propagate
through it, so Ctrl-C has to wait just as long. An iteration on a large model takes
minutes; a process can be killed at any time.

This file is also the program of that process. It imports next to nothing of drsvm,
whose solvers would take longer to import than many of the models to solve.
"""

import ctypes
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.utils.lazy import optional

if TYPE_CHECKING:
    from drsvm.utils.clock import TimeLimit

NEEDED_BY = "solver 'conic' needs"  # packages of the extra


class Model(NamedTuple):
    """minimise ½ xᵀPx + costᵀx subject to Ax ≤ bound.

    The last `n_cone` rows lie in a second-order cone instead.
    """

    P: sparse.csc_array
    cost: np.ndarray
    A: sparse.csc_array
    bound: np.ndarray
    n_cone: int
    # Of the features: without it, the backends fail on small features (large weights)
    unit: float
    accuracy: float = 1e-11
    n_threads: int = 0  # 0: chosen by the backend
    seconds: float = math.inf


class Answer(NamedTuple):
    """Variables, multipliers of the rows, and what the backend reported."""

    x: np.ndarray
    multipliers: np.ndarray
    info: dict


def _clarabel(model: Model, should_stop: Callable[[], bool]) -> Answer:
    clarabel = optional("clarabel", NEEDED_BY)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = model.accuracy
    settings.max_iter = 200
    settings.time_limit = model.seconds
    settings.max_threads = model.n_threads
    cones = [clarabel.NonnegativeConeT(len(model.bound) - model.n_cone)]
    if model.n_cone:
        cones.append(clarabel.SecondOrderConeT(model.n_cone))
    P = sparse.csc_matrix(model.P)
    A = sparse.csc_matrix(model.A)
    solver = clarabel.DefaultSolver(P, model.cost, A, model.bound, cones, settings)
    solver.set_termination_callback(lambda _: should_stop())
    answer = solver.solve()
    info = {
        "backend": "clarabel",
        "backend_status": str(answer.status),
        "backend_iterations": answer.iterations,
    }
    return Answer(np.array(answer.x), np.array(answer.z), info)


def _highs(model: Model, should_stop: Callable[[], bool]) -> Answer:
    highspy = optional("highspy", NEEDED_BY)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", float(min(model.seconds, 1e30)))
    highs.setOptionValue("threads", model.n_threads)
    for side in ("primal", "dual"):
        highs.setOptionValue(
            f"{side}_feasibility_tolerance", max(model.accuracy, 1e-10)
        )
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = model.A.shape
    lp.col_cost_ = model.cost
    lp.row_upper_ = model.bound
    lp.col_lower_, lp.col_upper_ = np.full(
        (2, lp.num_col_), [[-highspy.kHighsInf], [highspy.kHighsInf]]
    )
    lp.row_lower_ = np.full(lp.num_row_, -highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = model.A.indptr
    lp.a_matrix_.index_ = model.A.indices
    lp.a_matrix_.value_ = model.A.data
    highs.passModel(lp)
    highs.cbSimplexInterrupt += lambda event: event.interrupt(should_stop())
    highs.cbIpmInterrupt += lambda event: event.interrupt(should_stop())
    highs.run()
    solution = highs.getSolution()
    info = {
        "backend": "highs",
        "backend_status": highs.modelStatusToString(highs.getModelStatus()),
    }
    return Answer(np.array(solution.col_value), -np.array(solution.row_dual), info)


BACKENDS: dict[str, Callable[[Model, Callable[[], bool]], Answer]] = {
    "clarabel": _clarabel,
    "highs": _highs,
}


@contextmanager
def postponed_interrupt():
    """Postpone Ctrl-C while code runs that no exception may propagate through.

    Yield an event that Ctrl-C sets.
    """
    event = threading.Event()
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # Python delivers Ctrl-C only to the main thread
        yield event
        return
    previous = signal.signal(signal.SIGINT, lambda number, frame: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)
    if event.is_set():
        raise KeyboardInterrupt


def answer_of_process(backend: str, model: Model, limit: "TimeLimit") -> Answer | None:
    """Return the answer of a separate process, or None if it was terminated at the time limit."""
    # Report a missing extra here
    optional("highspy" if backend == "highs" else backend, NEEDED_BY)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
    }
    # -P: nothing is imported from the folder of this file. A new session: Ctrl-C does
    # not reach the child.
    program = [sys.executable, "-P", __file__]
    pipe = subprocess.PIPE
    with tempfile.TemporaryFile() as message:
        pickle.dump((backend, tuple(model), time.time()), message, protocol=5)
        message.seek(0)
        with subprocess.Popen(
            program,
            stdin=message,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            start_new_session=True,
        ) as child:
            try:
                while (
                    not limit.long_over
                ):  # the backend's own limit comes first, if it keeps to it
                    try:
                        answer, errors = child.communicate(timeout=0.05)
                    except subprocess.TimeoutExpired:
                        continue
                    if child.returncode != 0:
                        reason = (
                            errors.decode(errors="replace").strip()
                            or "possibly not enough memory"
                        )
                        status = child.returncode
                        raise RuntimeError(
                            f"the backend process ended with exit status {status}: {reason}"
                        )
                    return Answer(*pickle.loads(answer))
                return None
            finally:
                child.kill()
                child.wait()


if __name__ == "__main__":  # the process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":  # end with the parent
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    backend, values, sent = pickle.load(sys.stdin.buffer)
    channel = os.dup(1)
    os.dup2(2, 1)  # keeps what a backend prints out of the answer
    model = Model(*values)
    model = model._replace(seconds=max(model.seconds - (time.time() - sent), 1e-3))
    answer = BACKENDS[backend](model, lambda: False)
    with os.fdopen(channel, "wb") as parent:
        pickle.dump(tuple(answer), parent, protocol=5)
