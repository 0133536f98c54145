"""What is said about new data, against what happens: `coverage` on simulated populations.

coverage   Is the bound for the population above its worst case, and how far?
"""

import argparse
import math
import warnings

import numpy as np
from _common import report, table, use_threads
from _populations import CLASSIFIERS, N_RADII, QUESTIONS, Population, populations
from joblib import Parallel, delayed

CONFIDENCE = 0.95
SIZES, TIGHT_AT = (100, 500, 5_000), 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="smaller populations, fewer samples")
    parser.add_argument("--samples", type=int, default=50, help="of every size, for coverage")
    options = parser.parse_args()
    use_threads(1)
    warnings.simplefilter("ignore")
    title, sections = PARTS[options.part](options)
    report(f"new_data-{options.part}" + "-quick" * options.quick, title, sections)


# --- coverage -----------------------------------------------------------------------------------------------------


def coverage(options) -> tuple[str, list[str]]:
    rows, rows_with_kernel = (20_000, 4_000) if options.quick else (400_000, 400_000)
    samples = min(options.samples, 10) if options.quick else options.samples
    cases = populations(rows, rows_with_kernel)
    order = sorted(range(len(cases)), key=lambda i: cases[i].classifier)  # RBF, which is slow, first
    run = Parallel(n_jobs=options.jobs, verbose=5)
    answers = run(delayed(misses_and_excess)(cases[i], samples) for i in order)
    misses, excess, rates = (np.array(each)[np.argsort(order)] for each in zip(*answers, strict=True))
    intro = (
        f"{len(cases)} populations of {rows:,} rows ({rows_with_kernel:,} with a kernel), the true error rates from "
        f"{rates.min():.1%} to {rates.max():.1%}; {samples} samples each, drawn independently, of every size; "
        f"confidence {CONFIDENCE}, {N_RADII} radii. For a limit per row the radii are prices of rows, where jumps are. "
        f"A sample misses if its bound is below the truth at any radius. For kernels the truth is the certified side."
    )
    title = f"Samples that miss, in percent, and how far the bound of {TIGHT_AT:,} rows is above the truth (mean and "
    title += "largest of a population, in units of the largest cost; means over radii and samples)."
    groups = {name: [i for i, case in enumerate(cases) if case.classifier == name] for name in CLASSIFIERS}
    groups |= {name: [i for i, case in enumerate(cases) if case.question == name] for name in QUESTIONS}
    groups["all"] = list(range(len(cases)))
    header = ["populations", *(f"n = {n:,}" for n in SIZES), "limit", "above, mean", "largest"]
    lines = [[name, *_coverage_line(misses[some], excess[some], samples)] for name, some in groups.items()]
    worst = np.unravel_index(misses.argmax(), misses.shape)
    case = cases[worst[0]]
    notes = (
        f"limit: 5 % and two standard errors of the share if it were 5 %. Of the {misses.size} pairs of population and "
        f"size, the one with most misses: {misses.max():.0%} ({case.classifier}; {case.question}; {case.features}; "
        f"n = {SIZES[worst[1]]:,})."
    )
    return "Bounds for the population", [intro, f"{title}\n\n{table(header, lines)}", notes]


def _coverage_line(misses: np.ndarray, excess: np.ndarray, samples: int) -> list[str]:
    limit = 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / (samples * len(misses)))
    shares = [f"{100.0 * share:.1f}" for share in misses.mean(axis=0)]
    return [*shares, f"{100.0 * limit:.1f}", f"{excess.mean():.4f}", f"{excess.max():.4f}"]


def misses_and_excess(case: Population, samples: int) -> tuple[np.ndarray, float, float]:
    """Return the shares of samples that miss by size, the mean distance above the truth, and the error rate."""
    rng, largest = np.random.default_rng([case.seed, 1]), case.options.levels[-1]

    def above(n: int) -> np.ndarray:
        draws = [rng.integers(0, case.n, n) for _ in range(samples)]
        found = np.array([case.bound(rows, CONFIDENCE) for rows in draws])
        np.testing.assert_allclose(found[0], case.publicly(draws[0], CONFIDENCE), atol=1e-9)
        return (found - case.truth) / largest

    misses = [(above(n) < -1e-12).any(axis=1).mean() for n in SIZES]
    errors = case.options.adversary.data.margins <= 0.0
    return np.array(misses), above(TIGHT_AT).mean(), errors.mean()


PARTS = {"coverage": coverage}


if __name__ == "__main__":
    main()
