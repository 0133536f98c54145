"""Seconds to the optimum, against general-purpose solvers in the formulation and at the
tolerance that suit them best.

drsvm runs until it has proven a gap of 1e-8; a rival may stop as soon as its objective
is within 1e-6 of the optimum, which only the benchmark knows. Modelling time is
excluded for all.
"""

import argparse
import math
import statistics
import warnings
from dataclasses import dataclass, replace
from typing import Any

from _common import (
    interleaved,
    load,
    median_seconds,
    optimum,
    report,
    short,
    table,
    usable_cores,
    use_clock,
    use_threads,
)
from _rivals import RIVALS, Run
from _tuning import ACCURACY, Case, Contender, Tuned, Worker, distance_of, tune
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from drsvm import Problem, Result, solve

TOLERANCE = 1e-8
CLOCKS = {"wall": "", "cpu": " seconds of all cores together,"}


def main() -> None:
    options = parse_options()
    use_threads(options.threads)
    use_clock(options.clock)
    cases = [
        Case(name, q, c)
        for name in options.data
        for c in (0.0, 1.0)
        for q in options.norms
    ]
    worker = Worker(options.threads)
    outcomes = []
    try:
        for case in cases:
            print(f"{case} …", flush=True)
            tuned = {
                rival.name: tuned_rival(case, rival, worker, options.like)
                for rival in options.rivals
            }
            worker.close()  # nothing else runs during the timing
            outcomes.append(measure(case, tuned, options.repeats, options.threads))
    finally:
        worker.close()
    write_report(options, outcomes)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=lambda text: text.split(","),
        help="data sets (default: a9a,ijcnn1)",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        help="runs of each solver; the median counts (default: 5)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=usable_cores(),
        help="threads for every solver that can use them",
    )
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: seconds of all cores together, for a machine that is not idle",
    )
    parser.add_argument(
        "--rivals", type=lambda text: text.split(","), help="only these, by name"
    )
    parser.add_argument(
        "--norms",
        type=lambda text: [float(q) for q in text.split(",")],
        help="only these q",
    )
    parser.add_argument(
        "--like",
        help=(
            "try only what was best on this data set: quick, but not fair (see README)"
        ),
    )
    parser.add_argument(
        "--name", help="name of the file with the results (default: speed)"
    )
    parser.add_argument("--quick", action="store_true", help="a1a with 3 repeats")
    options = parser.parse_args()
    options.norms = options.norms or [1.0, 2.0, math.inf]
    options.data = options.data or (["a1a"] if options.quick else ["a9a", "ijcnn1"])
    options.repeats = options.repeats or (3 if options.quick else 5)
    options.rivals = [
        rival for rival in RIVALS if not options.rivals or rival.name in options.rivals
    ]
    return options


def tuned_rival(case: Case, rival, worker: Worker, like: str | None) -> Tuned:
    """Return the contenders of a rival; none if it cannot take part."""
    if not rival.takes(case.q, case.c):
        return Tuned([], "–")
    if rival.version() is None:
        return Tuned([], "not installed")
    if like is not None and like != case.data:
        best = tune(Case(like, case.q, case.c), rival, worker).contenders
        rival = replace(rival, variants=[contender.variant for contender in best])
    return tune(case, rival, worker)


# --- measuring
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Time:
    """The time of a rival in its fastest variant."""

    seconds: float
    contender: Contender
    distance: float

    def __str__(self) -> str:
        return f"{short(self.seconds)} ({self.contender.formulation})"


@dataclass(frozen=True)
class Outcome:
    """All times of one case; a rival that has none has a note instead."""

    case: Case
    building: float
    seconds: float
    result: Result
    distance: float
    rivals: dict[str, Time | str]
    linear_svc: dict[str, float]

    @property
    def fastest(self) -> tuple[str, float]:
        """The fastest rival and its time."""
        times = {
            name: time.seconds
            for name, time in self.rivals.items()
            if isinstance(time, Time)
        }
        return (
            min(times.items(), key=lambda item: item[1])
            if times
            else ("none", math.nan)
        )

    @property
    def ratio(self) -> float:
        """Time of the fastest rival as a multiple of drsvm's."""
        return self.fastest[1] / self.seconds


def measure(
    case: Case, tuned: dict[str, Tuned], repeats: int, n_threads: int
) -> Outcome:
    """Time drsvm, the contenders and LinearSVC in turn."""
    X, y = load(case.data)
    problem = case.problem()
    best, _ = optimum(problem, case.data)
    runs = prepare(problem, tuned, n_threads)
    calls = {
        "drsvm": lambda: solve(
            problem, "interior-point", tol=TOLERANCE, n_threads=n_threads
        )
    }
    calls |= {name: run.solve for name, run in runs.items()}
    timings = interleaved(calls | linear_svc(X, y), repeats)

    def time_of(name: str, contender: Contender) -> Time:
        weights = runs[name].weights(timings[name].answer)
        return Time(
            timings[name].seconds, contender, distance_of(problem, weights, best)
        )

    rivals: dict[str, Time | str] = {}
    for rival, found in tuned.items():
        times = [
            time_of(f"{rival} {i}", contender)
            for i, contender in enumerate(found.contenders)
        ]
        rivals[rival] = (
            min(times, key=lambda time: time.seconds) if times else found.note
        )
    result: Any = timings["drsvm"].answer
    return Outcome(
        case=case,
        building=median_seconds(case.problem, repeats),
        seconds=timings["drsvm"].seconds,
        result=result,
        distance=distance_of(problem, result.weights, best),
        rivals=rivals,
        linear_svc={name: timings[name].seconds for name in linear_svc(X, y)},
    )


def prepare(
    problem: Problem, tuned: dict[str, Tuned], n_threads: int
) -> dict[str, Run]:
    """Return a call for each contender."""
    rivals = {rival.name: rival for rival in RIVALS}
    return {
        f"{name} {i}": (
            rivals[name].prepare(
                problem, contender.variant, contender.tolerance, n_threads
            )
        )
        for name, found in tuned.items()
        for i, contender in enumerate(found.contenders)
    }


def linear_svc(X, y) -> dict[str, Any]:
    """Return calls of scikit-learn's SVM, which solves an easier problem, without
    adversary and proof.
    """

    def fit(**settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return LinearSVC(random_state=0, **settings).fit(X, y)

    return {"hinge": lambda: fit(loss="hinge", dual=True), "squared hinge": fit}


# --- reporting
# ----------------------------------------------------------------------------------------------------


def write_report(options, outcomes: list[Outcome]) -> None:
    ratios = [outcome.ratio for outcome in outcomes if math.isfinite(outcome.ratio)]
    summary = "No rival took part."
    if ratios:
        summary = (
            f"**The fastest rival takes {short(statistics.geometric_mean(ratios))}"
            f" times as long as drsvm (geometric mean of {len(ratios)} cases; smallest"
            f" {short(min(ratios))}, largest {short(max(ratios))}).**"
        )
    building = max(outcome.building for outcome in outcomes)
    sections = [
        (
            f"Medians of {options.repeats} runs, {options.threads} threads,"
            f"{CLOCKS[options.clock]} radius 0.1, flip cost 1, no intercept. drsvm: to"
            f" a proven gap of {TOLERANCE:.0e}, on"
            f" an existing Problem (building one takes at most {short(1000 * building)}"
            f" ms). Rivals: loosest tolerance with an objective within {ACCURACY:.0e}"
            " of the optimum, best formulation, without modelling. LinearSVC:"
            " defaults, not robust."
        ),
        main_table(outcomes),
        summary,
        "## Settings of the rivals",
        detail_table(outcomes),
    ]
    name = options.name or ("speed-quick" if options.quick else "speed")
    report(name, "Speed", sections, {rival.package for rival in RIVALS})


def main_table(outcomes: list[Outcome]) -> str:
    names = list(outcomes[0].rivals)
    header = [
        "case",
        "drsvm s",
        "iterations",
        "proven gap",
        *(f"{name} s" for name in names),
    ]
    header += ["fastest rival", "ratio", "LinearSVC hinge s", "squared hinge s"]
    rows = []
    for outcome in outcomes:
        cells = [str(time) for time in outcome.rivals.values()]
        own = [
            short(outcome.seconds),
            outcome.result.n_iter,
            f"{outcome.result.gap:.1e}",
        ]
        svc = [short(value) for value in outcome.linear_svc.values()]
        rows.append(
            [
                outcome.case,
                *own,
                *cells,
                outcome.fastest[0],
                f"**{short(outcome.ratio)}**",
                *svc,
            ]
        )
    return table(header, rows)


def detail_table(outcomes: list[Outcome]) -> str:
    rows = [
        [
            outcome.case,
            name,
            time.contender.variant,
            f"{time.contender.tolerance:.0e}",
            f"{time.distance:.1e}",
        ]
        for outcome in outcomes
        for name, time in [*outcome.rivals.items()]
        if isinstance(time, Time)
    ]
    rows += [
        [outcome.case, "drsvm", "", f"{TOLERANCE:.0e}", f"{outcome.distance:.1e}"]
        for outcome in outcomes
    ]
    return table(
        [
            "case",
            "solver",
            "formulation and settings",
            "tolerance",
            "distance from the optimum",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
