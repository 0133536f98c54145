"""Measured and theoretical rates of convergence, and the growth of the
counter-example.
"""

import math
from dataclasses import dataclass

import numpy as np
from _common import short, table
from search import Course, Instance, Method, Search, solution

from drsvm import Problem, solve

DECADES = 6
"""Decades of the gap over which sharp instances must converge linearly."""

STRAIGHT = 1.5
"""Convergence is not linear if a decade of the gap takes more than this many times the
epochs of a decade of steps.
"""

SMALL = 0.25
"""Factor on the features that puts the optimum on the boundary of the cone for q =
2.
"""

ISG = {"batch_size": 1}


@dataclass(frozen=True)
class Row:
    """A row of the paper's table of rates, on an instance with the growth of that
    row.
    """

    growth: str
    scheme: str
    instance: Instance

    @property
    def label(self) -> str:
        q = "∞" if math.isinf(self.instance.q) else f"{self.instance.q:g}"
        place = ""
        if self.instance.q == 2:
            place = (
                ", inside the cone"
                if self.instance.unit == 1.0
                else ", on its boundary"
            )
        return f"q = {q}, c = {self.instance.c:g}{place}"

    def methods(self) -> list[Method]:
        return [
            Method("ISG", "isg", self.scheme, ISG),
            Method("IPPA", "ippa", self.scheme),
        ]


ROWS = [
    Row("sharp", "geometric", Instance(1.0)),
    Row("sharp", "geometric", Instance(math.inf)),
    Row("quadratic", "harmonic", Instance(1.0, c=0.1)),
    Row("quadratic", "harmonic", Instance(math.inf, c=0.1)),
    Row("sharp", "geometric", Instance(2.0)),
    Row("not known", "root", Instance(2.0, unit=SMALL)),
    Row("quadratic", "harmonic", Instance(2.0, c=0.1)),
    Row("not known", "root", Instance(2.0, c=0.1, unit=SMALL)),
]

EPOCHS = {"geometric": 60_000, "harmonic": 1000, "root": 1000}
STEPS = {"geometric": "α₀ρᵏ", "harmonic": "γ/(nk)", "root": "γ/(n√k)"}
PROMISED = {"harmonic": -1.0, "root": -0.5}


@dataclass(frozen=True)
class Measured:
    """A row of the table, a method, its steps and its run."""

    row: Row
    method: Method
    steps: dict
    course: Course


def measure(search: Search, epochs: dict[str, int]) -> list[Measured]:
    """Run ISG and IPPA on every row, with the steps that the search found."""
    found = []
    for row in ROWS:
        _, share = solution(row.instance)
        if row.instance.q == 2 and (share < 0.999) != (row.instance.unit == 1.0):
            raise RuntimeError(
                f"{row.label}: the optimum is not where expected, ‖w‖/λ = {share:.3f}."
            )
        for method in row.methods():
            trial = search.best(row.instance, method, epochs[row.scheme])
            found.append(Measured(row, method, trial.steps, trial.course))
    return found


# --- slopes
# -------------------------------------------------------------------------------------------------------


def factor_per_epoch(run: Course) -> float:
    """Return the factor of the gap per epoch, fitted to the first decades of the
    run.
    """
    used = run.gaps >= 10.0**-DECADES * run.gaps[0]
    return math.exp(np.polyfit(run.epochs[used], np.log(run.gaps[used]), 1)[0])


def slowest_decade(run: Course) -> float:
    """Return the largest number of epochs in which the gap falls to a tenth, anywhere
    in the first decades.
    """
    levels = run.gaps[0] * 10.0 ** -np.arange(0.0, DECADES - 0.99, 0.25)
    durations = [
        run.epochs_to(level / 10.0) - run.epochs_to(level)
        for level in levels
        if level >= run.gaps[-1]
    ]
    return max((value for value in durations if math.isfinite(value)), default=math.nan)


def power_of_epochs(run: Course, first: int = 30) -> float:
    """Return the log-log slope of the gap over the epochs, after the first epochs."""
    late = run.epochs >= min(first, len(run.epochs) // 3)
    return float(np.polyfit(np.log(run.epochs[late]), np.log(run.gaps[late]), 1)[0])


def rate_table(found: list[Measured]) -> str:
    """Return the table of rates."""
    header = [
        "instance",
        "growth",
        "method",
        "steps",
        "theory",
        "measured",
        "decades of the gap",
        "epochs",
    ]
    rows: list[list[object]] = []
    for one in found:
        run = one.course
        scheme = one.row.scheme
        steps = f"{STEPS[scheme]}, first {one.steps['first_step']:.2g}"
        if scheme == "geometric":
            decay = one.steps["decay"]
            promised = f"ρ = {decay:g} per epoch"
            measured = f"{factor_per_epoch(run):.5f} per epoch"
        else:
            promised = f"k^{PROMISED[scheme]:g}"
            measured = f"k^{power_of_epochs(run):.2f}"
        decades = f"{math.log10(run.gaps[0] / run.gaps[-1]):.1f}"
        rows.append(
            [
                one.row.label,
                one.row.growth,
                one.method.label,
                steps,
                promised,
                measured,
                decades,
                int(run.epochs[-1]),
            ]
        )
    return table(header, rows)


def sharp_summary(found: list[Measured]) -> str:
    """Summarise for each sharp instance over how many decades the gap falls, and how
    much slower than ρ at worst.
    """
    lines = []
    for one in found:
        if one.row.scheme == "geometric":
            run = one.course
            decay = one.steps["decay"]
            decades = math.log10(run.gaps[0] / run.gaps[-1])
            ideal = math.log(10.0) / -math.log(decay)
            slowest = slowest_decade(run) / ideal
            verdict = "yes" if decades >= DECADES and slowest <= STRAIGHT else "**no**"
            lines.append(
                f"- {one.row.label}, {one.method.label}: {decades:.1f} decades; the"
                f" slowest takes {short(slowest)} times the epochs in which the steps"
                f" shrink by a decade; linear over {DECADES} decades: {verdict}"
            )
    return "\n".join(lines)


# --- the counter-example
# ------------------------------------------------------------------------------------------


RADIUS = 0.1
FLIP_COST = 3.0


def counter_example() -> Problem:
    """Return the rows e₁ with +1 and −e₁ with −1: the optimum w = (1, 0), λ = 1 is not
    sharp for q = 2.
    """
    X = np.array([[1.0, 0.0], [-1.0, 0.0]])
    return Problem(X, np.array([1.0, -1.0]), radius=RADIUS, flip_cost=FLIP_COST, norm=2)


def largest_distances(gaps: np.ndarray) -> np.ndarray:
    """Return the largest distance to the optimum of any (w, λ) with at most the given
    gap.

    The objective near the optimum is ε‖w‖ + max(1 − w₁, 0) with λ = ‖w‖; for given w₁
    the gap limits the length of w.
    """
    farthest = []
    for gap in gaps:
        w1 = 1.0 + np.linspace(-gap / (1.0 - RADIUS), gap / RADIUS, 2001)
        length = 1.0 + (gap - np.maximum(1.0 - w1, 0.0)) / RADIUS
        w2_squared = np.maximum((length - w1) * (length + w1), 0.0)
        farthest.append(
            np.sqrt(np.max((w1 - 1.0) ** 2 + w2_squared + (length - 1.0) ** 2))
        )
    return np.array(farthest)


def distances_of_a_run(epochs: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Return gaps and distances along a run of IPPA that starts next to the optimum."""
    problem = counter_example()
    counts = np.unique(np.geomspace(1, epochs, 40).astype(int))
    gaps = []
    distances = []
    for count in counts:  # the same run each time, a little longer
        start = (np.array([0.5, 0.5]), 0.0)
        result = solve(
            problem,
            "ippa",
            start=start,
            tol=0.0,
            max_iter=int(count),
            random_state=0,
            steps="root",
            first_step=1.0,
        )
        gaps.append(result.objective - RADIUS)
        distances.append(
            math.hypot(
                result.weights[0] - 1.0, result.weights[1], result.radius_price - 1.0
            )
        )
    return np.array(gaps), np.array(distances)


@dataclass(frozen=True)
class Growth:
    """Distance from the optimum against the gap, on the counter-example."""

    gaps: np.ndarray
    largest: np.ndarray
    run_gaps: np.ndarray
    run_distances: np.ndarray

    @property
    def slope(self) -> float:
        return slope(self.gaps, self.largest)

    @property
    def run_slope(self) -> float:
        return slope(self.run_gaps, self.run_distances)


def slope(gaps: np.ndarray, distances: np.ndarray) -> float:
    """Return the log-log slope of distance over gap, where the gap is small but above
    rounding.
    """
    used = (gaps > 1e-12) & (gaps < 1e-2) & (distances > 0)
    return (
        float(np.polyfit(np.log(gaps[used]), np.log(distances[used]), 1)[0])
        if used.sum() > 2
        else math.nan
    )


def growth() -> Growth:
    """Measure the growth of the counter-example."""
    gaps = np.geomspace(1e-12, 1e-2, 41)
    return Growth(gaps, largest_distances(gaps), *distances_of_a_run())
