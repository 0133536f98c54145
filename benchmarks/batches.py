"""Batches of the proximal method: epochs and seconds to a proven gap, by batch size.

The same problems for all: radius 0.1 (for the text-like data, a tenth of the largest
one), flip cost 1, no intercept. The columns of spambase are scaled to mean square 1. "b
= 1" are plain steps on single rows; "with memory" is what `solve(problem, "ippa")`
does. Every gap is a run of its own, and one that was not reached in time is not
followed by a smaller one. The averaged SGDClassifier minimises another objective and
proves nothing: its column is the time of as many epochs as the slowest batch size of at
least 8 took.
"""

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import NORM_OF_Q, data_file, load, report, seconds, short, table
from _text import text_like

from drsvm import Problem, radius_max, solve

GAPS = (1e-3, 1e-4, 1e-6)
EPOCHS = 450
SECONDS = 2.0
"""Limits of a run."""

LONGER = 8.0
LONGER_GAP = 1e-4
"""Limit of the seconds of single rows for gaps down to that at which batches are
compared with them.
"""

BATCH_SIZES = (8, 64, 512, None)
TEXT = "text, 5,000 × 20,000"
DATA_SETS = ("a9a", "ijcnn1", "spambase", TEXT)


@dataclass(frozen=True)
class Method:
    """A method and its settings."""

    name: str
    solver: str
    settings: dict[str, Any]


def methods() -> list[Method]:
    """Return all methods."""
    pure = {"hand_over": False}
    batches = [
        Method(f"b = {size or 'n'}", "ippa", pure | {"batch_size": size})
        for size in BATCH_SIZES
    ]
    rivals = [
        Method("interior point", "interior-point", {}),
        Method("dual coordinate", "dual-coordinate", pure),
    ]
    single = Method("b = 1", "ippa", pure | {"memory": False})
    return [single, *batches, Method("b = 1 with memory", "ippa", pure), *rivals]


def problem_of(data: str, q: float, c: float) -> Problem:
    """Return a problem."""
    if data != TEXT:
        X, y = load(data)
        if (
            data == "spambase"
        ):  # otherwise none of the incremental methods gets anywhere
            X = X / np.sqrt(X.multiply(X).mean(axis=0))
        return Problem(X, y, radius=0.1, flip_cost=1.0, norm=NORM_OF_Q[q], l2=c)
    problem = Problem(*text_like(5_000, 20_000), norm=NORM_OF_Q[q], l2=c)
    return problem.replace(radius=0.1 * radius_max(problem))


def outcome(problem: Problem, method: Method) -> list[tuple[int, float] | None] | None:
    """Return the iterations and seconds to each gap, or None for a method that cannot
    solve the problem.
    """
    limits = {"random_state": 0, "n_threads": 1}
    if method.solver == "ippa":
        limits |= {"max_iter": EPOCHS}
    found: list[tuple[int, float] | None] = []
    try:
        # Compiles
        solve(problem, method.solver, **limits | {"max_iter": 5}, **method.settings)
        for gap in GAPS:
            time = LONGER if method.name == "b = 1" and gap >= LONGER_GAP else SECONDS
            duration, result = seconds(
                lambda gap=gap, time=time: solve(
                    problem,
                    method.solver,
                    tol=gap,
                    max_time=time,
                    **limits,
                    **method.settings,
                )
            )
            reached = result.gap <= gap  # pyright: ignore[reportAttributeAccessIssue]
            found.append((result.n_iter, duration) if reached else None)  # pyright: ignore[reportAttributeAccessIssue]
            if not reached:
                break
    except ValueError:
        return None
    return found + [None] * (len(GAPS) - len(found))


def sgd_seconds(problem: Problem, epochs: int) -> float:
    """Return the time of averaged stochastic gradient descent on the hinge loss."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="hinge",
        average=True,
        max_iter=epochs,
        tol=None,
        random_state=0,
        fit_intercept=False,
    )
    return seconds(lambda: model.fit(problem.X, problem.signs))[0]


def cell(found: tuple[int, float] | None) -> str:
    """Return iterations and seconds."""
    return "–" if found is None else f"{found[0]} / {short(found[1])}"


def summary(outcomes: dict[tuple, dict[str, Any]]) -> str:
    """Return how the batch of all rows compares with single rows at a gap of 1e-4, on
    a9a and ijcnn1.
    """
    rows: list[list[object]] = []
    for key, found in outcomes.items():
        if key[0] in ("a9a", "ijcnn1"):
            single = found["b = 1"][1]
            epochs, time = (None, LONGER) if single is None else single
            ratios = [
                share(found["b = n"][1], which, whole)
                for which, whole in enumerate((epochs, time))
            ]
            rows.append(
                [
                    label(*key),
                    *(
                        f"< {ratio}" if single is None and ratio != "–" else ratio
                        for ratio in ratios
                    ),
                ]
            )
    return table(["to 1e-4, relative to b = 1", "epochs of b = n", "its seconds"], rows)


def share(found: tuple[int, float] | None, which: int, whole: float | None) -> str:
    """Return iterations (0) or seconds (1) as a fraction."""
    return "–" if found is None or whole is None else f"{found[which] / whole:.2f}"


def label(data: str, q: float, c: float) -> str:
    return f"{data}, q = {'∞' if math.isinf(q) else f'{q:g}'}, c = {c:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA_SETS, default=list(DATA_SETS))
    parser.add_argument("--quick", action="store_true", help="spambase only")
    options = parser.parse_args()
    chosen = ["spambase"] if options.quick else options.data
    chosen = [name for name in chosen if name == TEXT or data_file(name) is not None]
    runs = methods()
    outcomes = {}
    sections = []
    for data in chosen:
        rows = []
        for q in (1, 2, math.inf):
            for c in (0.0, 1.0):
                problem = problem_of(data, q, c)
                found = {
                    run.name: outcome(problem, run) or [None] * len(GAPS)
                    for run in runs
                }
                outcomes[data, q, c] = found
                reached = [
                    found[run.name][1] for run in runs[1:] if run.solver == "ippa"
                ]
                epochs = [pair[0] for pair in reached if pair is not None]
                sgd = short(sgd_seconds(problem, max(epochs, default=EPOCHS)))
                for k, gap in enumerate(GAPS):
                    cells = [cell(found[run.name][k]) for run in runs]
                    rows.append(
                        [
                            f"{label(data, q, c)}, {gap:g}",
                            *cells,
                            sgd if gap == 1e-4 else "",
                        ]
                    )
                    print(*rows[-1], flush=True)
        size = f"{problem.n_rows:,} rows, {problem.n_features:,} features."
        sections += [
            f"## {data}",
            size,
            table(["problem, gap", *(run.name for run in runs), "SGD"], rows),
        ]
    text = (
        f"Iterations / seconds to a proven gap; –: not in {EPOCHS} epochs or"
        f" {SECONDS:g} s"
    )
    text += f" (b = 1, down to {LONGER_GAP:g}: {LONGER:g} s)."
    whole = chosen == list(DATA_SETS)
    report(
        "batches" if whole else "batches-quick",
        "Batches",
        [str(__doc__).split("\n\n", 1)[1].strip(), text, summary(outcomes), *sections],
    )


if __name__ == "__main__":
    main()
