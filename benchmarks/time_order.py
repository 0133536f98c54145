"""Kernel or linear on rows in time order: `drsvm fit` on the past, tested on the next
block of rows.

Two tables are natural. The others are made: rows that are ordered by a column and as
much noise, rows of which a group becomes more frequent, and generated days. Then: are
shuffled rows called ordered?

python benchmarks/time_order.py
"""

import argparse
import io
import json
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np
from _common import load, report, table, use_threads

from drsvm.cli import main as drsvm
from drsvm.tables.row_order import columns_in_order

BLOCKS = 8
FIRST = 4  # blocks that are trained on at least
ROWS_OF_BLOCK = 400
SHUFFLES = 200
SHUFFLED = (
    "adult",
    "titanic",
    "phoneme",
    "magic04",
    "mammography",
    "wilt",
    "jm1",
    "electricity",
    "spambase",
    "german.numer",
)


# --- tables
# -------------------------------------------------------------------------------------------------------


def natural(name, left_out=()):
    """Return a table in the order of its file."""
    X, y = load(name)
    if hasattr(X, "toarray"):
        X = X.toarray()
    X = np.delete(X, left_out, axis=1)
    return _thinned(_columns(X), y)


def ordered_by(name, column):
    """Return a table in the order of a column, with noise of half of its ranks."""
    X, y = load(name)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))
    ranks = np.argsort(np.argsort(X[rows, column])) / len(y)
    rows = rows[np.argsort(ranks + rng.normal(scale=0.5, size=len(y)))]
    return _thinned(_columns(X[rows]), y[rows])


def growing_group(name, column):
    """Return a table in which the rows above the median of a column become more
    frequent: 10 % of the first block, 90 % of the last.
    """
    X, y = load(name)
    rng = np.random.default_rng(0)
    n = BLOCKS * ROWS_OF_BLOCK
    share = np.linspace(0.1, 0.9, n)
    in_group = rng.random(n) < share
    is_above = X[:, column] > np.median(X[:, column])
    rows = np.zeros(n, dtype=int)
    for group in (False, True):
        pool = rng.permutation(np.flatnonzero(is_above == group))
        wanted = np.flatnonzero(in_group == group)
        rows[wanted] = np.resize(pool, len(wanted))
    return _columns(X[rows]), y[rows]


def dated():
    """Return generated days: a price that rises, and whether it is above its trend and
    what the season gives.
    """
    rng = np.random.default_rng(0)
    n = BLOCKS * ROWS_OF_BLOCK
    day = np.sort(rng.integers(0, 730, n))
    season = np.sin(2 * np.pi * day / 365)
    price = 0.01 * day + rng.normal(size=n)
    demand = season + rng.normal(size=n)
    y = price - 0.01 * day + 0.5 * demand + 0.3 * rng.normal(size=n) > 0.2
    dates = np.datetime64("2022-01-01") + day
    return {"date": dates, "price": price, "demand": demand}, y.astype(int)


def _columns(X):
    return {f"x{place}": column for place, column in enumerate(X.T)}


def _thinned(columns, y):
    rows = np.linspace(0, len(y) - 1, BLOCKS * ROWS_OF_BLOCK).astype(int)
    return {name: column[rows] for name, column in columns.items()}, y[rows]


TABLES = {
    "electricity, natural": lambda: natural("electricity"),
    "electricity without its date, natural": lambda: natural("electricity", 0),
    "ijcnn1, natural": lambda: natural("ijcnn1"),
    "adult by age": lambda: ordered_by("adult", 0),
    "magic04 by fAlpha": lambda: ordered_by("magic04", 8),
    "phoneme by V1": lambda: ordered_by("phoneme", 0),
    "mammography, a growing group": lambda: growing_group("mammography", 1),
    "phoneme, a growing group": lambda: growing_group("phoneme", 1),
    "generated days": dated,
}


# --- figures
# ------------------------------------------------------------------------------------------------------


def _write(file, columns, y, rows):
    cells = [np.asarray(column)[rows].tolist() for column in columns.values()]
    lines = zip(*cells, y[rows].tolist(), strict=True)
    text = [",".join([*columns, "label"])]
    text += [",".join(map(str, line)) for line in lines]
    file.write_text("\n".join(text) + "\n")


def fitted(past, *options):
    """Return the answer of ``drsvm fit``."""
    words = ["fit", past, "--json", *options]
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()), suppress(SystemExit):
        drsvm(list(map(str, words)))
    return json.loads(printed.getvalue())


def blocks_of(name, folder):
    """Return what is chosen before each later block, and accuracies on it.

    These are those of the linear classifier, the one that is chosen, the one that is
    chosen if the same rows are shuffled, and the kernel.
    """
    columns, y = TABLES[name]()
    edges = np.linspace(0, len(y), BLOCKS + 1).astype(int)
    past = folder / "past.csv"
    shuffled = folder / "shuffled.csv"
    following = folder / "next.csv"
    random = np.random.default_rng(1)
    choices = []
    accuracies = []
    for start, stop in zip(edges[FIRST:-1], edges[FIRST + 1 :], strict=True):
        _write(past, columns, y, np.arange(start))
        _write(shuffled, columns, y, random.permutation(start))
        _write(following, columns, y, np.arange(start, stop))
        of_kernel = {}
        for kernel in ("linear", "rbf"):
            tested = fitted(past, "--test", following, "--kernel", kernel)["test"]
            of_kernel[kernel] = 100 * tested["accuracy"]
        # The next block is not seen by the choice.
        chosen = [fitted(file)["choice"]["kernel"] for file in (past, shuffled)]
        choices.append(chosen[0])
        taken = ["linear", *chosen, "rbf"]
        accuracies.append([of_kernel[kernel] for kernel in taken])
    return choices, np.array(accuracies)


def accuracy_table(names):
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            choices, accuracies = blocks_of(name, Path(folder))
        lead = (accuracies[:, 1] - accuracies[:, 0]).min()
        means = [f"{mean:.1f}" for mean in accuracies.mean(axis=0)]
        rows.append([name, *means, f"{lead:+.1f}", ", ".join(choices)])
    header = [
        "table",
        "linear",
        "automatic",
        "automatic, rows shuffled",
        "kernel",
        "automatic − linear, worst block",
        "choices",
    ]
    title = (
        f"Accuracy in percent on the next block, mean over the last {BLOCKS - FIRST} of"
        f" {BLOCKS} blocks of {ROWS_OF_BLOCK} rows; all blocks before are trained on."
    )
    return f"{title}\n\n{table(header, rows)}"


def shuffled_table():
    rows = []
    for name in SHUFFLED:
        X, y = load(name)
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        in_file = "yes" if columns_in_order(X, y) else "no"
        found = 0
        for seed in range(SHUFFLES):
            order = np.random.default_rng(seed).permutation(len(y))
            found += columns_in_order(X[order], y[order]) is not None
        rows.append([name, in_file, found])
    title = (
        "Are rows called ordered as they are in the file, and how often of"
        f" {SHUFFLES} times if they are shuffled?"
    )
    return f"{title}\n\n{table(['table', 'as in the file', 'shuffled'], rows)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    options = parser.parse_args()
    use_threads(1)
    sections = [accuracy_table(options.tables), shuffled_table()]
    report("time_order", "Rows in time order", sections)


if __name__ == "__main__":
    main()
