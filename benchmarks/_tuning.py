"""The best a rival can do: for every case the fastest variant and the loosest tolerance
that is accurate enough.

Accurate enough means that the objective of its classifier, with the best λ, is within
ACCURACY of the optimum. The search is slow, so its results are stored in
results/tuning.json; delete the file to repeat the search.
"""

import json
import multiprocessing
from dataclasses import asdict, dataclass

import numpy as np
from _common import (
    NORM_OF_Q,
    RESULTS,
    clock_of_process,
    load,
    optimum,
    seconds,
    use_threads,
)
from _rivals import RIVALS, TIME_LIMIT, Rival, Variant

CACHE = RESULTS / "tuning.json"
ACCURACY = 1e-6
TOLERANCES = [10.0**-k for k in range(2, 12)]
SLOWER = 1.5
"""A variant is dropped if it is slower than the best one so far by this factor."""
CLOSE = 1.3
"""Variants within this factor of the best one are all timed at the end: one run cannot
tell them apart.
"""
REPEATED_BELOW = 5.0
"""Runs shorter than this many seconds are repeated, and the fastest counts."""
FAILED = (0.0, np.inf)
WAIT = 8.0
"""A machine that is not idle may take this many times as long as the process."""


@dataclass(frozen=True)
class Case:
    """A data set with norm q and ridge coefficient c.

    Radius 0.1, flip cost 1, no intercept.
    """

    data: str
    q: float
    c: float

    def problem(self):
        from drsvm import Problem

        return Problem(*load(self.data), **self.parameters())

    def parameters(self) -> dict:
        return {
            "radius": 0.1,
            "flip_cost": 1.0,
            "norm": NORM_OF_Q[self.q],
            "l2": self.c,
        }

    def __str__(self) -> str:
        return (
            f"{self.data}, q = {'∞' if np.isinf(self.q) else f'{self.q:g}'}, c ="
            f" {self.c:g}"
        )


@dataclass(frozen=True)
class Contender:
    """A variant of a rival that is accurate enough, and how it did while tuning."""

    formulation: str
    settings: dict
    tolerance: float
    seconds: float
    distance: float

    @property
    def variant(self) -> Variant:
        return Variant(self.formulation, self.settings)


@dataclass(frozen=True)
class Tuned:
    """The contenders of a rival in a case, fastest first, or the reason why there are
    none.
    """

    contenders: list[Contender]
    note: str = ""


def distance_of(problem, weights, best: float) -> float:
    """Return how far the objective of a classifier is above the optimum."""
    if weights is None or not np.isfinite(weights).all():
        return np.inf
    return abs(problem.objective(np.asarray(weights, dtype=float)) - best)


# --- a process that can be stopped: not every solver has a time limit
# ---------------------------------------------


def _serve(pipe, n_threads: int) -> None:
    use_threads(n_threads)
    rivals = {rival.name: rival for rival in RIVALS}
    while True:
        case, name, variant, tolerance = pipe.recv()
        try:
            _solve_once(pipe, case, rivals[name], variant, tolerance, n_threads)
        except Exception as error:
            print(f"    {name} {variant} failed: {error}", flush=True)
            pipe.send(FAILED)


def _solve_once(
    pipe, case: "Case", rival: Rival, variant: Variant, tolerance: float, n_threads: int
) -> None:
    problem = case.problem()
    best, _ = optimum(problem, case.data)
    run = rival.prepare(problem, variant, tolerance, n_threads)
    pipe.send("ready")
    duration, answer = seconds(run.solve)
    pipe.send((duration, distance_of(problem, run.weights(answer), best)))


class Worker:
    """Runs attempts one by one in another process, which is killed if an attempt takes
    too long.
    """

    def __init__(self, n_threads: int):
        self.n_threads = n_threads
        self._process = self._pipe = None

    def attempt(
        self, case: Case, rival: Rival, variant: Variant, tolerance: float, limit: float
    ):
        """Return seconds and distance from the optimum, or None after `limit`
        seconds.
        """
        if self._process is None:
            self._start()
        self._pipe.send((case, rival.name, variant, tolerance))
        try:
            answer = self._pipe.recv()
            if answer == "ready":  # timing starts here
                patience = limit * (WAIT if clock_of_process() else 1.0)
                answer = self._pipe.recv() if self._pipe.poll(patience) else None
        except EOFError:  # the solver crashed the process
            answer = FAILED
            self.close()
        if answer is None:
            self.close()
        return answer

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self.n_threads), daemon=True
        )
        self._process.start()
        theirs.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = None


# --- the search
# ---------------------------------------------------------------------------------------------------


def tune(case: Case, rival: Rival, worker: Worker) -> Tuned:
    """Return the contenders of a rival, from the cache if available."""
    variants = ", ".join(str(variant) for variant in rival.variants)
    key = (
        f"{case} | {rival.name} {rival.version()} | {worker.n_threads} threads |"
        f" {variants}"
    )
    cache = json.loads(CACHE.read_text(encoding="utf-8")) if CACHE.exists() else {}
    if key not in cache:
        cache[key] = asdict(_search(case, rival, worker))
        RESULTS.mkdir(exist_ok=True)
        CACHE.write_text(
            json.dumps(cache, indent=1, ensure_ascii=False), encoding="utf-8"
        )
    known = cache[key]
    return Tuned([Contender(**found) for found in known["contenders"]], known["note"])


def _search(case: Case, rival: Rival, worker: Worker) -> Tuned:
    found: list[Contender] = []
    note = f"not within {ACCURACY:.0e}"
    for variant in rival.variants:
        best = min((contender.seconds for contender in found), default=np.inf)
        contender, slow = _loosest(
            case, rival, variant, worker, min(TIME_LIMIT, SLOWER * best + 0.1)
        )
        if contender is not None:
            found.append(contender)
            print(
                f"    {case}: {rival.name} {variant}, tolerance"
                f" {contender.tolerance:.0e}: {contender.seconds:.3f} s"
            )
        elif slow and not found:
            note = f"over {TIME_LIMIT:.0f} s"
    found.sort(key=lambda contender: contender.seconds)
    kept = [
        contender
        for contender in found[:2]
        if contender.seconds <= CLOSE * found[0].seconds
    ]
    return Tuned(kept, "" if kept else note)


def _loosest(
    case, rival, variant, worker, limit: float
) -> tuple[Contender | None, bool]:
    """Return the contender with the loosest sufficient tolerance, and whether the
    search ran out of time.
    """
    for tolerance in TOLERANCES:
        outcome = worker.attempt(case, rival, variant, tolerance, limit)
        if outcome is None or outcome[0] > limit:
            return None, True
        duration, distance = outcome
        if distance <= ACCURACY:
            again = range(2 if duration < REPEATED_BELOW else 0)
            more = [
                worker.attempt(case, rival, variant, tolerance, TIME_LIMIT)
                for _ in again
            ]
            fastest = min(
                [duration, *(outcome[0] for outcome in more if outcome is not None)]
            )
            return (
                Contender(
                    variant.formulation, variant.settings, tolerance, fastest, distance
                ),
                False,
            )
    return None, False
