"""Ctrl-C as a real signal, at random times: it quickly leads to an interrupted result or a KeyboardInterrupt."""

import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from thorough import LONG, unless_long

CHILD = """
import signal, sys, warnings
import numpy as np
from drsvm import Problem, WassersteinSVC, WassersteinSVCCV, radius_max, radius_path, solve

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
    rng = np.random.default_rng(0)
    X = rng.normal(size=({rows}, {features}))
    y = X[:, 0] + rng.normal(size=len(X)) > 0
    many = np.digitize(X[:, 0], np.linspace(-1, 1, 7))

    def endless(call):
        for round in range(10**6):
            found = call(round)
            if str(getattr(found, "status", "")) == "interrupted":
                return found
            if hasattr(found, "results") and str(found.results[-1].status) == "interrupted":
                return found.results[-1]

    def problem(round, norm=2):
        return Problem(X[round % 7 :], y[round % 7 :], radius=0.05, flip_cost=1.0, norm=norm, fit_intercept=True)

    def task(round):
        return {task}

    task(0)  # compiles
    print("ready", flush=True)
    try:
        found = endless(task)
        assert np.isfinite(found.objective) and 0 <= found.lower_bound <= found.objective
        print("interrupted", flush=True)
    except KeyboardInterrupt:
        print("KeyboardInterrupt", flush=True)
"""

SOLVERS = ("interior-point", "isg", "ippa", "hybrid", "dual-coordinate", "admm", "conic")

TASKS = {name: f"solve(problem(round), {name!r})" for name in SOLVERS}
TASKS |= {
    "feature-working-set": "solve(problem(round, np.inf), 'feature-working-set')",
    "radius_max": "radius_max(problem(round))",
    "radius_path": "radius_path(problem(round))",
    "fit": "WassersteinSVC().fit(X, y)",
    "fit, many classes": "WassersteinSVC(tol=1e-9).fit(X, many)",
    "fit, many classes, two jobs": "WassersteinSVC(tol=1e-9, n_jobs=2).fit(X, many)",
    "search": "WassersteinSVCCV(radii=5).fit(X, y)",
    "search, two jobs": "WassersteinSVCCV(radii=5, n_jobs=2).fit(X, y)",
    "search, two jobs and a time limit": "WassersteinSVCCV(radii=5, n_jobs=2, max_time=60.0).fit(X, y)",
}
OFTEN = ("interior-point", "ippa", "conic", "search, two jobs")


def interrupted(task, rows=3000, features=30, delay=0.5):
    """Return what a process prints when it ends, the seconds from the signal to that, and its error output."""
    tests = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests.parent), os.environ.get("PYTHONPATH", "")])}
    code = CHILD.format(task=TASKS[task], rows=rows, features=features)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes) as child:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        time.sleep(delay)
        try:
            # Python drops an exception that a signal raises inside a destructor, so more than one may be needed.
            for _ in range(3):
                began = time.monotonic()
                child.send_signal(signal.SIGINT)
                answered, _, _ = select.select([child.stdout], [], [], 10.0)
                if answered:
                    break
            assert answered, "no reaction to three signals"
            said = child.stdout.readline().strip()
            seconds = time.monotonic() - began
            _, complaints = child.communicate(timeout=30)
        finally:
            child.kill()
        return said, seconds, complaints


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize("task", unless_long(OFTEN, TASKS))
def test_a_signal_ends_every_task(task):
    moments = random.Random(task)
    for _ in range(10 if LONG else 1):
        said, _, complaints = interrupted(task, delay=moments.uniform(0.0, 1.0))
        assert said in ("interrupted", "KeyboardInterrupt"), complaints
        assert "Traceback" not in complaints
