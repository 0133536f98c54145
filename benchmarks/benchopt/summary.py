"""The results of a run as a Markdown page: how long every solver takes, and where drsvm
is not the fastest.

Usage: python benchmarks/benchopt/summary.py RESULTS.parquet PAGE.md
"""

import sys
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).resolve().parents[1]))
from _common import head, short, table

LEVELS = (1e-3, 1e-6)
PACKAGES = (
    "benchopt",
    "clarabel",
    "ecos",
    "scs",
    "piqp",
    "highspy",
    "ortools",
    "cvxpy",
)
ABOUT = """Seconds until the classifier is within 1e-3 and 1e-6 of the optimum, and until the solver's own multipliers
prove 1e-6; – if no run got there. Best excess: the smallest distance from the proven optimum of any run (values around
1e-8 are the accuracy of the reference). Accuracy is that on the training data."""
COLUMNS = [
    "solver",
    *(f"{level:.0e}" for level in LEVELS),
    f"{LEVELS[-1]:.0e}, proven",
    "best excess",
    "accuracy",
]


def seconds_to(runs: pd.DataFrame, column: str, level: float) -> float:
    """Return the time of the shortest run that reaches a level, the median over the
    repetitions; infinite if none.
    """
    times = runs[runs[f"objective_{column}"] <= level].groupby("idx_rep")["time"].min()
    return times.median() if len(times) == runs["idx_rep"].nunique() else float("inf")


def figures(solver: str, runs: pd.DataFrame) -> list:
    """Return the times to each level, the time to a proof, the smallest distance and
    its accuracy.
    """
    best = runs.loc[runs["objective_excess"].idxmin()]
    times = [seconds_to(runs, "excess", level) for level in LEVELS] + [
        seconds_to(runs, "gap", LEVELS[-1])
    ]
    return [solver, *times, best["objective_excess"], best["objective_accuracy"]]


def cells(row: list) -> list:
    """Return the figures of a solver as text."""
    solver, *times, excess, accuracy = row
    shown = ["–" if time == float("inf") else short(time) for time in times]
    return [solver, *shown, f"{excess:.0e}", f"{accuracy:.3f}"]


def verdict(rows: list[list]) -> str:
    """Say which solver is the fastest at every level, and how far behind the best of
    the other side is.
    """
    sentences = []
    for position, level in enumerate(COLUMNS[1:4], start=1):
        ours, theirs = (
            [row for row in rows if row[0].startswith("drsvm") == own]
            for own in (True, False)
        )
        best, rival = (
            min(side, key=lambda row: row[position]) for side in (ours, theirs)
        )
        ratio = rival[position] / best[position]
        state = (
            f"{short(ratio)} × faster than"
            if ratio > 1
            else f"**not first**: {short(1 / ratio)} × slower than"
        )
        sentences.append(f"{level}: {best[0]} is {state} {rival[0]}.")
    return " ".join(sentences)


def page(results: pd.DataFrame, name: str) -> str:
    """Return the whole page."""
    command = (
        f"benchopt run benchmarks/benchopt --config benchmarks/benchopt/{name}.yml"
    )
    sections = [*head(f"benchopt: {name}", command, PACKAGES), ABOUT]
    for (data, objective), group in results.groupby(
        ["dataset_name", "objective_name"], sort=False
    ):
        rows = sorted(
            (figures(*pair) for pair in group.groupby("solver_name")),
            key=lambda row: (row[2], row[1]),
        )
        sections.append(
            f"## {data},"
            f" {objective}\n\n{verdict(rows)}\n\n{table(COLUMNS, [cells(row) for row in rows])}"
        )
    return "\n\n".join(sections) + "\n"


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(page(pd.read_parquet(source), target.stem), encoding="utf-8")
