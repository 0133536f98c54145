"""Is `auto` ever a bad choice? `solve(problem, "auto")` against every solver it could
have picked.

For each case: seconds to a proven gap of 1e-6 for `auto` itself, for the interior-point
solver and for the method for many features (working sets for q = 1, dual coordinate
ascent otherwise), and how much longer `auto` takes than the fastest. A run that does
not prove the gap counts as the time limit. The others are stopped once they are slower
than `auto`.
"""

import argparse
import itertools
import math
import statistics

import numpy as np
from _common import NORM_OF_Q, report, seconds, short, table
from _text import text_like
from scipy import sparse

TOL = 1e-6
SIZES = (
    (500, 20),
    (2_000, 200),
    (20_000, 50),
    (20_000, 500),
    (300, 3_000),
    (2_000, 2_000),
    (4_000, 4_000),
)
MORE_DENSE = ((500, 20_000), (50, 100_000), (300_000, 30))
QUICK = SIZES[:3]
LARGEST_DENSE = 12_000_000
NOISE = 0.3
DISPUTED = 1.2
"""Runs below NOISE seconds, or above DISPUTED times those of the fastest, are repeated.

Medians count.
"""


def gaussian(n: int, d: int):
    """Return dense rows with linearly separable labels, 10 % of them flipped."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y[rng.random(n) < 0.1] *= -1
    return X, y


def binary(n: int, d: int, density: float = 0.04):
    """Return sparse rows of zeros and ones with few positive labels."""
    rng = np.random.default_rng(0)
    X = sparse.random_array(
        (n, d),
        density=density,
        rng=rng,
        format="csr",
        data_sampler=lambda size: np.ones(size),
    )
    scores = X @ rng.normal(size=d) + rng.normal(size=n)
    return X, np.where(scores > np.quantile(scores, 0.9), 1, -1)


def cases(quick: bool):
    for n, d in QUICK if quick else SIZES:
        yield f"text {n:,} × {d:,}", text_like(n, d, words=min(80, d / 5))
        if n * d <= LARGEST_DENSE:
            yield f"dense {n:,} × {d:,}", gaussian(n, d)
    yield "binary 2,477 × 300", binary(2_477, 300)
    for n, d in () if quick else MORE_DENSE:
        yield f"dense {n:,} × {d:,}", gaussian(n, d)


def timed(problem, others: list[str], limit: float) -> tuple[float, str, list[float]]:
    """Return the seconds `auto` needs to prove the gap, the solver that finished, and
    the seconds of the others.

    Short runs are repeated, taking turns.
    """
    from drsvm import solve

    def run(solver, limit):
        time, result = seconds(lambda: solve(problem, solver, tol=TOL, max_time=limit))
        return (time if result.gap <= TOL else limit), result

    times: dict[str, list[float]] = {solver: [] for solver in ("auto", *others)}
    for _ in range(3):
        time, result = run("auto", limit)
        times["auto"].append(time)
        for solver in others:
            times[solver].append(run(solver, min(limit, 1.5 * time + 0.1))[0])
        if time > NOISE and time <= DISPUTED * min(
            min(runs) for runs in times.values()
        ):
            break
    medians = {solver: statistics.median(runs) for solver, runs in times.items()}
    return (
        medians.pop("auto"),
        result.info.get("handed_over_to", result.solver),
        list(medians.values()),
    )


def rows(options):
    """Yield a line of the table for every case, and the slowdown of `auto`."""
    from drsvm import Problem, radius_max, solve

    grid = list(
        itertools.product((1, 2, math.inf), (0.01, 0.3), (1.0, math.inf), (False, True))
    )
    for name, (X, y) in cases(options.quick):
        if options.only and options.only not in f"{name} ":
            continue
        for q, fraction, kappa, intercept in grid:
            problem = Problem(X, y, norm=NORM_OF_Q[q], flip_cost=math.inf)
            radius = fraction * radius_max(problem)
            problem = problem.replace(
                radius=radius, flip_cost=kappa, fit_intercept=intercept
            )
            others = [
                "interior-point",
                "feature-working-set" if q == 1 else "dual-coordinate",
            ]
            for solver in ("auto", *others):
                solve(problem, solver, tol=0.1, max_time=0.2)  # compiled and warm
            time, chosen, times = timed(problem, others, options.limit)
            loss = time / min(time, *times)
            cells = [
                name,
                f"{q:g}",
                fraction,
                f"{kappa:g}",
                "yes" if intercept else "no",
                short(time),
                chosen,
            ]
            line = [
                *cells,
                *(short(other) if other < 1.4 * time else "slower" for other in times),
                short(loss),
            ]
            print(*line, flush=True)
            yield line, time, loss


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        help="time limit per case in seconds (default: 60)",
    )
    parser.add_argument("--only", help="cases whose name contains this")
    options = parser.parse_args()
    lines, times, losses = zip(*rows(options), strict=True)
    header = [
        "data",
        "q",
        "radius / max (κ = ∞)",
        "κ",
        "intercept",
        "auto",
        "final solver",
        "interior point",
        "other",
        "auto / fastest",
    ]
    unsolved = sum(time >= options.limit for time in times)
    summary = (
        f"`auto` takes {statistics.geometric_mean(losses):.2f} times as long as the"
        f" fastest solver (geometric mean of {len(losses)} cases; at most"
        f" {max(losses):.1f} times); it does not prove the gap within {options.limit:g}"
        f" s in {unsolved} of them."
    )
    name = "auto-quick" if options.quick else "auto"
    report(
        name,
        f"The choice of auto: seconds to a proven gap of {TOL:g}",
        [table(header, list(lines)), summary],
    )


if __name__ == "__main__":
    main()
