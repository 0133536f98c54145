"""A program that sends itself Ctrl-C at random times of some tasks: ``python
interrupts.py [--cold] [--times N] TASK...``. With ``--cold``, each time is in a process of its own, which loads
compiled functions meanwhile.

It prints how often they raised KeyboardInterrupt, was "interrupted" (the best point so
far), or finished as if nothing had happened. A task is repeated until the signal comes.
"""

import argparse
import json
import os
import random
import signal
import threading
import traceback
import warnings
from collections import Counter
from functools import cache

import numpy as np
from scipy import sparse

from drsvm import (
    Problem,
    Status,
    WassersteinSVC,
    WassersteinSVCCV,
    find_label_issues,
    radius_max,
    radius_path,
    solve,
)

LATEST = 1.0  # the signal comes after at most this many seconds
MAIN = threading.get_ident()
REACTIONS = (str(Status.INTERRUPTED), "KeyboardInterrupt")


@cache
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 30))
    return X, X[:, 0] + rng.normal(size=len(X)) > 0


@cache
def texts():
    """Return sparse rows of many features, as in text, and labels."""
    X = sparse.random(2000, 6000, 0.005, format="csr", random_state=0)
    return X, np.asarray(X[:, :600].sum(axis=1)).ravel() > 1.5


def many_classes():
    X, _ = table()
    return X, np.digitize(X[:, 0], np.linspace(-1, 1, 7))


def dense(norm=2.0):
    return Problem(*table(), radius=0.05, flip_cost=1.0, norm=norm, fit_intercept=True)


def wide(norm=2.0):
    return Problem(*texts(), radius=0.002, flip_cost=1.0, norm=norm, fit_intercept=True)


SOLVERS = (
    "interior-point",
    "isg",
    "ippa",
    "hybrid",
    "dual-coordinate",
    "admm",
    "conic",
)
TASKS = {name: lambda name=name: solve(dense(), name) for name in SOLVERS}
TASKS |= {
    "ippa, norm=1": lambda: solve(dense(1), "ippa"),
    "ippa, norm=inf": lambda: solve(dense(np.inf), "ippa"),
    "dual-coordinate, sparse": lambda: solve(wide(), "dual-coordinate", tol=1e-9),
    "dual-coordinate, sparse, norm=1": lambda: solve(
        wide(1), "dual-coordinate", tol=1e-2
    ),
    "auto, sparse": lambda: solve(wide()),
    "auto, sparse, norm=inf": lambda: solve(wide(np.inf)),
    "feature-working-set": lambda: solve(dense(np.inf), "feature-working-set"),
    "feature-working-set, sparse": lambda: solve(wide(np.inf), "feature-working-set"),
    "radius_max": lambda: radius_max(dense()),
    "radius_path": lambda: radius_path(dense(), np.geomspace(0.2, 0.002, 50)),
    "fit": lambda: WassersteinSVC().fit(*table()),
    "fit, sparse": lambda: WassersteinSVC().fit(*texts()),
    "fit, many classes": lambda: WassersteinSVC(tol=1e-9).fit(*many_classes()),
    "fit, many classes, two jobs": (
        lambda: WassersteinSVC(tol=1e-9, n_jobs=2).fit(*many_classes())
    ),
    "search": lambda: WassersteinSVCCV(radii=5).fit(*table()),
    "search, two jobs": lambda: WassersteinSVCCV(radii=5, n_jobs=2).fit(*table()),
    "search, two jobs and a time limit": (
        lambda: WassersteinSVCCV(radii=5, n_jobs=2, max_time=60.0).fit(*table())
    ),
    "find_label_issues": lambda: find_label_issues(*table()),
}


def reaction(task, delay):
    """Return how a task reacts to a signal after a delay; it is repeated until then."""
    sent = threading.Event()

    def send():
        signal.pthread_kill(MAIN, signal.SIGINT)
        sent.set()

    sender = threading.Timer(delay, send)
    status = Status.OPTIMAL
    try:
        sender.start()
        while status is not Status.INTERRUPTED and not sent.is_set():
            found = task()
            result = found.results[-1] if hasattr(found, "results") else found
            status = getattr(result, "status", Status.OPTIMAL)
            assert (
                not hasattr(result, "status")
                or 0.0 <= result.lower_bound <= result.objective <= 1.0
            )
            assert status is not Status.OPTIMAL or getattr(result, "gap", 0.0) <= (
                getattr(result, "tol", None) or 0.0
            )
        return str(status)
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    finally:
        sender.join()


def cold_reaction(task, delay):
    """Return how a task reacts in a process that has not loaded compiled functions."""
    process = os.fork()
    if process == 0:
        code = len(REACTIONS)
        try:
            code = REACTIONS.index(reaction(task, delay))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return REACTIONS[code] if 0 <= code < len(REACTIONS) else f"exit code {code}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    # Jobs in the background of a shell ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("tasks", nargs="+")
    given = parser.parse_args()
    react = cold_reaction if given.cold else reaction
    reactions = Counter()
    # The signal should not come while the data are made.
    table()
    texts()
    for name in given.tasks:
        moments = random.Random(name)
        if not given.cold:
            TASKS[name]()  # compiles
        for _ in range(given.times):
            reactions[react(TASKS[name], moments.uniform(0.0, LATEST))] += 1
    print(json.dumps(reactions))
