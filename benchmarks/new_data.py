"""What is said about new data, against what happens.

coverage: is the bound for the population above the worst case of simulated populations,
and how far? tables: are the errors expected on the next block of real tables close to
the true ones? batches and drift: how often has a batch from the same population moved
by more than chance, by `measure_shift` and by `drsvm drift`? radius: when does training
with a measured radius help?
"""

import argparse
import math
import os
import tempfile
import warnings
from pathlib import Path

import _drift
import numpy as np
from _blocks import (
    METHODS,
    MOST_ROWS,
    N_BLOCKS,
    WITHOUT_ORDER,
    Pair,
    pairs_of,
    tables,
    trained_with,
)
from _common import report, seconds, table, use_threads
from _populations import CLASSIFIERS, N_RADII, QUESTIONS, Population, populations
from joblib import Parallel, delayed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC, measure_shift
from drsvm.persistence import audits, load_audit, model_files

CONFIDENCE = 0.95
SIZES = (100, 500, 5_000)
TIGHT_AT = 1_000
NEAR = 0.15  # a movement up to which the bound should say something
BATCH_SIZES = ((100, 100), (400, 1_500), (2_000, 200))
BATCH_KINDS = ("0/1 columns", "four classes", "heavy tails")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--quick", action="store_true", help="smaller populations, fewer samples"
    )
    parser.add_argument(
        "--samples", type=int, default=50, help="of every size, for coverage"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=5,
        help="random halves of a block, for tables and radius",
    )
    parser.add_argument(
        "--draws", type=int, default=500, help="of samples, for batches and drift"
    )
    parser.add_argument(
        "--tables",
        type=Path,
        help="folder with further NAME.csv.xz in time order, label in `label`",
    )
    options = parser.parse_args()
    use_threads(1)
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"  # of other processes, too
    title, sections = PARTS[options.part](options)
    report(f"new_data-{options.part}" + "-quick" * options.quick, title, sections)


# --- coverage
# -----------------------------------------------------------------------------------------------------


def coverage(options) -> tuple[str, list[str]]:
    rows, rows_with_kernel = (20_000, 4_000) if options.quick else (400_000, 400_000)
    samples = min(options.samples, 10) if options.quick else options.samples
    cases = populations(rows, rows_with_kernel)
    # RBF, which is slow, first
    order = sorted(range(len(cases)), key=lambda i: cases[i].classifier)
    run = Parallel(n_jobs=options.jobs, verbose=5)
    answers = run(delayed(misses_and_excess)(cases[i], samples) for i in order)
    misses, excess, rates = (
        np.array(each)[np.argsort(order)] for each in zip(*answers, strict=True)
    )
    intro = (
        f"{len(cases)} populations of {rows:,} rows ({rows_with_kernel:,} with a"
        f" kernel), the true error rates from {rates.min():.1%} to {rates.max():.1%};"
        f" {samples} samples each, drawn independently, of every size; confidence"
        f" {CONFIDENCE}, {N_RADII} radii. For a limit per row the radii are prices of"
        " rows, where jumps are. A sample misses if its bound is below the truth at"
        " any radius. For kernels the truth is the certified side."
    )
    title = (
        f"Samples that miss, in percent, and how far the bound of {TIGHT_AT:,} rows is"
        " above the truth (mean and "
    )
    title += (
        "largest of a population, in units of the largest cost; means over radii and"
        " samples)."
    )
    groups = {
        name: [i for i, case in enumerate(cases) if case.classifier == name]
        for name in CLASSIFIERS
    }
    groups |= {
        name: [i for i, case in enumerate(cases) if case.question == name]
        for name in QUESTIONS
    }
    groups["all"] = list(range(len(cases)))
    header = [
        "populations",
        *(f"n = {n:,}" for n in SIZES),
        "limit",
        "above, mean",
        "largest",
    ]
    lines = [
        [name, *_coverage_line(misses[some], excess[some], samples)]
        for name, some in groups.items()
    ]
    worst = np.unravel_index(misses.argmax(), misses.shape)
    case = cases[worst[0]]
    notes = (
        "limit: 5 % and two standard errors of the share if it were 5 %. Of the"
        f" {misses.size} pairs of population and size, the one with most misses:"
        f" {misses.max():.0%} ({case.classifier}; {case.question}; {case.features}; n ="
        f" {SIZES[worst[1]]:,})."
    )
    return "Bounds for the population", [
        intro,
        f"{title}\n\n{table(header, lines)}",
        notes,
    ]


def _coverage_line(misses: np.ndarray, excess: np.ndarray, samples: int) -> list[str]:
    limit = 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / (samples * len(misses)))
    shares = [f"{100.0 * share:.1f}" for share in misses.mean(axis=0)]
    return [
        *shares,
        f"{100.0 * limit:.1f}",
        f"{excess.mean():.4f}",
        f"{excess.max():.4f}",
    ]


def misses_and_excess(
    case: Population, samples: int
) -> tuple[np.ndarray, float, float]:
    """Return the shares of samples that miss by size, the mean distance above the
    truth, and the error rate.
    """
    rng = np.random.default_rng([case.seed, 1])
    largest = case.options.levels[-1]

    def above(n: int) -> np.ndarray:
        draws = [rng.integers(0, case.n, n) for _ in range(samples)]
        found = np.array([case.bound(rows, CONFIDENCE) for rows in draws])
        np.testing.assert_allclose(
            found[0], case.publicly(draws[0], CONFIDENCE), atol=1e-9
        )
        return (found - case.truth) / largest

    misses = [(above(n) < -1e-12).any(axis=1).mean() for n in SIZES]
    errors = case.options.adversary.data.margins <= 0.0
    return np.array(misses), above(TIGHT_AT).mean(), errors.mean()


# --- tables
# -------------------------------------------------------------------------------------------------------


def of_tables(function, options) -> dict[str, list]:
    """Return what a function of a table and a seed finds, for every table."""
    found = tables(options.tables)
    seeds = 1 if options.quick else options.seeds
    runs = [(name, file, seed) for name, file in found.items() for seed in range(seeds)]
    answers = Parallel(n_jobs=options.jobs)(delayed(function)(*run) for run in runs)
    return {
        name: [
            each
            for run, answer in zip(runs, answers, strict=True)
            if run[0] == name
            for each in answer
        ]
        for name in found
    }


def errors_on_tables(options) -> tuple[str, list[str]]:
    found = of_tables(pairs_of, options)
    ordered = [
        pair
        for name, pairs in found.items()
        if name not in WITHOUT_ORDER
        for pair in pairs
    ]
    every = [pair for pairs in found.values() for pair in pairs]
    far = [pair for pair in ordered if pair.moved >= NEAR]
    near = [pair for pair in ordered if pair.moved < NEAR]
    groups = {
        **found,
        "in time order": ordered,
        f"of them, moved ≥ {NEAR}": far,
        f"moved < {NEAR}": near,
        "all": every,
    }
    intro = (
        f"{N_BLOCKS} consecutive blocks of every table, of at most {MOST_ROWS:,} rows"
        f" each, in file order; {', '.join(WITHOUT_ORDER)} are shuffled. ClippedScaler"
        " and WassersteinSVC with their defaults are trained on half of a block,"
        " audited on the other half and applied to the next block; random halves with"
        f" {1 if options.quick else options.seeds} seeds."
        f" {len({(pair.table, pair.block) for pair in ordered})} pairs of blocks in"
        f" time order, {len({(pair.table, pair.block) for pair in every})} in all."
    )
    sections = [
        intro,
        f"{_methods_text()}\n\n{_errors_table(groups)}",
        _gain_by_table(found),
        _bounds_table(groups),
    ]
    return "Errors expected on the next block", sections


def _methods_text() -> str:
    return (
        "Distance of the expected error rate from the true one on the next block, in"
        " points: mean of its size, and its mean with its sign. `expected_error` is"
        " that of `measure_shift`. CBPE, the difference of confidences (DoC) and"
        " average thresholded confidence (ATC) use probabilities that are calibrated on"
        " the audited rows."
    )


def _errors_table(groups: dict[str, list[Pair]]) -> str:
    header = ["table", "pairs", "true error, %", *METHODS.values()]
    lines = []
    for name, pairs in groups.items():
        true = np.array([pair.true for pair in pairs])
        off = {
            key: np.array([getattr(pair, key) for pair in pairs]) - true
            for key in METHODS
        }
        cells = [
            f"{100 * np.abs(each).mean():.1f} ({100 * each.mean():+.1f})"
            for each in off.values()
        ]
        lines.append(
            [
                name,
                len({(p.table, p.block) for p in pairs}),
                f"{100 * true.mean():.1f}",
                *cells,
            ]
        )
    return table(header, lines)


def _gain_by_table(found: dict[str, list[Pair]]) -> str:
    """Return by how much `expected_error` is closer than the others, with what the
    choice of tables leaves open.
    """
    size = {
        key: np.array(
            [
                np.mean([abs(getattr(p, key) - p.true) for p in found[name]])
                for name in found
            ]
        )
        for key in METHODS
    }
    ordered = np.array([name not in WITHOUT_ORDER for name in found])
    texts = []
    for key, name in list(METHODS.items())[1:]:
        gain = 100.0 * (size[key] - size["expected"])[ordered]
        error = gain.std(ddof=1) / math.sqrt(len(gain)) if len(gain) > 1 else math.nan
        texts.append(
            f"{name}: {gain.mean():+.1f} ± {error:.1f} (closer on {(gain > 0).sum()} of"
            f" {len(gain)})"
        )
    title = (
        "Points by which `expected_error` is closer, means and standard errors over"
        " tables in time order"
    )
    return f"{title}: {'; '.join(texts)}."


def _bounds_table(groups: dict[str, list[Pair]]) -> str:
    header = [
        "table",
        "moved, median",
        "above chance, %",
        "bound exceeded, %",
        f"bound, median where moved < {NEAR}",
    ]
    lines = []
    for name, pairs in groups.items():
        moved, chance, worst, true = np.array(
            [(p.moved, p.by_chance, p.worst, p.true) for p in pairs]
        ).T
        near = worst[moved < NEAR]
        shares = [f"{100 * each.mean():.1f}" for each in (moved > chance, true > worst)]
        lines.append(
            [
                name,
                f"{np.median(moved):.3f}",
                *shares,
                f"{np.median(near):.3f}" if len(near) else "none",
            ]
        )
    return (
        "How far rows moved, and `worst_error`, the bound of"
        f" {CONFIDENCE:.0%}.\n\n{table(header, lines)}"
    )


# --- radius
# -------------------------------------------------------------------------------------------------------


def radii_on_tables(options) -> tuple[str, list[str]]:
    found = {
        name: runs for name, runs in of_tables(trained_with, options).items() if runs
    }
    intro = (
        "Trained on half of a block with the default radius, or with the median or the"
        " largest movement between earlier blocks (two or more of them,"
        " `radius_from_batches`). Error on the next block; worst-case error on the"
        " other half of the block itself, at the largest of the earlier movements;"
        " movement to the next block, as each classifier sees it. Means over blocks and"
        " seeds."
    )
    header = [
        "table",
        "radius: default",
        "median",
        "largest",
        "error, %: default",
        "median",
        "largest",
    ]
    header += [
        "worst case, %: default",
        "median",
        "largest",
        "moved: default",
        "median",
        "largest",
    ]
    lines = [[name, *_radius_cells(runs)] for name, runs in found.items()]
    ordered = [
        run for name, runs in found.items() if name not in WITHOUT_ORDER for run in runs
    ]
    lines.append(["in time order", *_radius_cells(ordered)])
    return "Training with a measured radius", [
        intro,
        table(header, lines),
        _gains(ordered),
    ]


def _radius_cells(runs) -> list[str]:
    radii, errors, audited, moved = (
        np.array([getattr(run, name) for run in runs]).mean(axis=0)
        for name in ("radii", "errors", "audited", "moved")
    )
    percent = [f"{100 * value:.1f}" for value in (*errors, *audited)]
    return [
        *(f"{value:.3f}" for value in radii),
        *percent,
        *(f"{value:.3f}" for value in moved),
    ]


def _gains(runs) -> str:
    """Return where radii that are larger lead to fewer errors: by how much more errors
    the default has than before.
    """
    gains = np.array(
        [[run.errors[0] - error for error in run.errors[1:]] for run in runs]
    )
    rise = np.array([run.errors[0] - run.before for run in runs])
    groups = {
        "5 points or more": rise >= 0.05,
        "less": (rise > 0.0) & (rise < 0.05),
        "none": rise <= 0.0,
    }
    lines = [
        [
            name,
            some.sum(),
            *(f"{100 * gain:+.1f}" for gain in gains[some].mean(axis=0)),
            *_better(gains[some]),
        ]
        for name, some in groups.items()
        if some.any()
    ]
    header = [
        "rise of the default's errors",
        "runs",
        "points gained: median",
        "largest",
    ]
    title = (
        "Errors that are avoided on the next block, by how many more the default has"
        " there than in its audit."
    )
    return f"{title}\n\n{table([*header, 'better in, %: median', 'largest'], lines)}"


def _better(gains: np.ndarray) -> list[str]:
    return [f"{100 * share:.0f}" for share in (gains > 0.0).mean(axis=0)]


# --- batches
# ------------------------------------------------------------------------------------------------------


def false_alarms(options) -> tuple[str, list[str]]:
    cases = [(kind, *sizes) for kind in BATCH_KINDS for sizes in BATCH_SIZES]
    draws = 40 if options.quick else options.draws
    at_once = 20
    runs = [
        (*case, range(first, min(first + at_once, draws)))
        for case in cases
        for first in range(0, draws, at_once)
    ]
    answers = Parallel(n_jobs=options.jobs)(delayed(alarms)(*run) for run in runs)
    lines = []
    for case in cases:
        found = np.concatenate(
            [
                answer
                for run, answer in zip(runs, answers, strict=True)
                if run[:3] == case
            ]
        )
        lines.append(
            [
                case[0],
                f"{case[1]:,}",
                f"{case[2]:,}",
                *(f"{100 * share:.1f}" for share in found.mean(axis=0)),
            ]
        )
    header = [
        "rows",
        "audited",
        "new",
        "moved above chance, %",
        "from a model file, %",
        "relation, %",
    ]
    intro = (
        f"A classifier of 1,000 rows; {draws} draws of audited and of new rows from the"
        f" same population, both with labels; confidence {CONFIDENCE}. From a model"
        " file: with what is kept there of the audited rows. 5 % are to be expected,"
        f" with a standard error of {100 * math.sqrt(0.05 * 0.95 / draws):.1f} points."
    )
    return "Batches from the same population", [
        intro,
        table(header, lines),
        _time_of_shift(),
    ]


def batch_rows(kind: str, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a population, and their labels."""
    if kind == "0/1 columns":
        X = (rng.random((n, 6)) < np.linspace(0.2, 0.8, 6)).astype(float)
    else:
        X = (
            rng.standard_t(1.5, size=(n, 6))
            if kind == "heavy tails"
            else rng.normal(size=(n, 6))
        )
    n_classes = 4 if kind == "four classes" else 2
    scores = X @ np.random.default_rng(0).normal(size=(6, n_classes))
    return X, (scores + rng.normal(size=scores.shape)).argmax(axis=1)


def alarms(kind: str, n: int, n_new: int, draws: range) -> np.ndarray:
    """Return whether rows, and whether their relation to labels, have moved by more
    than chance.

    Also whether rows have, by what a model file keeps, from which `drsvm drift` reads.
    """
    warnings.simplefilter("ignore")
    model = make_pipeline(StandardScaler(), WassersteinSVC()).fit(
        *batch_rows(kind, 1_000, np.random.default_rng(1))
    )
    found = []
    for draw in draws:
        rng = np.random.default_rng([2, draw, n, BATCH_KINDS.index(kind)])
        old = batch_rows(kind, n, rng)
        new = batch_rows(kind, n_new, rng)
        shift = measure_shift(model, *old, *new, random_state=draw)
        relation = (shift.relation or 0.0) > (shift.relation_by_chance or 0.0)
        kept = _as_saved(model, *old).shift(new[0], random_state=draw)
        found.append((shift.more_than_chance, kept.more_than_chance, relation))
    return np.array(found)


def _as_saved(model, X: np.ndarray, y: np.ndarray) -> audits.Audit:
    audit = audits.Audit(model, audits.sample_of(model, X, y, []))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.drsvm"
        model_files.save(model_files.SavedModel(model, {}, audit), file)
        return load_audit(file)


def _time_of_shift() -> str:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 50))
    y = rng.integers(0, 2, 100_000)
    model = (rng.normal(size=50), 0.1)
    without = np.median(
        [seconds(lambda: measure_shift(model, X, y, X))[0] for _ in range(5)]
    )
    known = np.median(
        [seconds(lambda: measure_shift(model, X, y, X, y))[0] for _ in range(5)]
    )
    return (
        f"`measure_shift` of 100,000 × 50 rows, audited and new: {without:.2f} s, with"
        f" new labels {known:.2f} s."
    )


# --- drift
# --------------------------------------------------------------------------------------------------------


def drift_alarms(options) -> tuple[str, list[str]]:
    fits = (8 if options.quick else options.draws) // len(_drift.BATCHES)
    runs = [(name, seed) for name in _drift.TABLES for seed in range(fits)]
    found = np.array(
        Parallel(n_jobs=options.jobs)(
            delayed(_drift.false_alarms)(*run) for run in runs
        )
    )
    shares = found.reshape(len(_drift.TABLES), fits, -1)
    header = ["table", *(f"{n:,} rows, %" for n in _drift.BATCHES), "all, %"]
    lines = [
        [name, *(f"{100 * share:.1f}" for share in (*each.mean(axis=0), each.mean()))]
        for name, each in zip(
            (*_drift.TABLES, "both"),
            (*shares, shares.reshape(-1, shares.shape[-1])),
            strict=True,
        )
    ]
    intro = (
        f"`drsvm fit` on {_drift.FITTED_ON:,} rows in random order, {fits} times for"
        " each table; `drsvm drift` of the model file with batches of other rows."
        f" Batches that have moved by more than chance: {found.size} draws, of which"
        " those of one fit share the rows of its test."
    )
    return "False alarms of drsvm drift", [intro, table(header, lines)]


PARTS = {
    "coverage": coverage,
    "tables": errors_on_tables,
    "batches": false_alarms,
    "radius": radii_on_tables,
}
PARTS["drift"] = drift_alarms


if __name__ == "__main__":
    main()
