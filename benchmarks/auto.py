"""Is the solver that `auto` stands for the quickest one? Every candidate over a grid of sizes and parameters.

For each case: seconds to a proven gap of 1e-6 of the interior point and of the method for many features (working sets
for q = 1, dual coordinate ascent otherwise), and how much longer the choice of `auto` takes than the quicker of them.
"""

import argparse
import itertools
import math
import statistics

import numpy as np
from _common import NORM_OF_Q, report, seconds, short, table
from _text import text_like

LIMIT, TOL = 5.0, 1e-6
SIZES = ((500, 20), (2_000, 200), (20_000, 50), (20_000, 500), (300, 3_000), (2_000, 2_000), (4_000, 4_000))
QUICK = SIZES[:3]


def gaussian(n: int, d: int):
    """Return dense rows with a linear rule and 10 % wrong labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y[rng.random(n) < 0.1] *= -1
    return X, y


def cases(sizes):
    for n, d in sizes:
        yield f"text {n:,} × {d:,}", text_like(n, d, words=min(80, d / 5))
        if n * d <= 12_000_000:
            yield f"dense {n:,} × {d:,}", gaussian(n, d)


def timed(problem, solver: str) -> float:
    """Return the seconds to the proven gap, infinite where it is not reached. Hand-overs count as their solver's."""
    from drsvm import solve

    solve(problem, solver, max_time=0.2)  # compiled and warm
    time, result = seconds(lambda: solve(problem, solver, tol=TOL, max_time=LIMIT))
    return time if result.gap <= TOL else math.inf


def rows(sizes):
    """Yield a line of the table for every case, and the loss of `auto`."""
    from drsvm import Problem, radius_max
    from drsvm.solvers.selection import choose, products_per_entry

    for name, (X, y) in cases(sizes):
        for q, fraction, kappa in itertools.product((1, 2, math.inf), (0.01, 0.3), (1.0, math.inf)):
            problem = Problem(X, y, norm=NORM_OF_Q[q], flip_cost=math.inf)
            problem = problem.replace(radius=fraction * radius_max(problem), flip_cost=kappa)
            chosen, other = choose(problem), "feature-working-set" if q == 1 else "dual-coordinate"
            times = {solver: timed(problem, solver) for solver in ("interior-point", other)}
            quickest = min(times.values())
            loss = times[chosen] / quickest if math.isfinite(quickest) else math.nan
            cells = [name, f"{q:g}", fraction, f"{kappa:g}", short(products_per_entry(problem))]
            line = [*cells, short(times["interior-point"]), short(times[other]), chosen, short(loss)]
            print(*line, flush=True)
            yield line, loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    options = parser.parse_args()
    lines, losses = zip(*rows(QUICK if options.quick else SIZES), strict=True)
    finite = [loss for loss in losses if math.isfinite(loss)]
    header = [
        "data",
        "q",
        "radius / max (κ = ∞)",
        "κ",
        "products per entry",
        "interior point",
        "other",
        "auto",
        "auto / quickest",
    ]
    summary = (
        f"`auto` takes {statistics.geometric_mean(finite):.2f} times as long as the quickest in the geometric mean, at "
        f"most {max(finite):.1f} times; its choice misses the gap within {LIMIT:g} s in "
        f"{sum(map(math.isinf, losses))} cases that the other one solves, and neither reaches it in "
        f"{sum(map(math.isnan, losses))}."
    )
    name = "auto-quick" if options.quick else "auto"
    report(name, f"What auto stands for: seconds to a proven gap of {TOL:g}", [table(header, list(lines)), summary])


if __name__ == "__main__":
    main()
