"""A model file of one half of a real table, and batches of other rows, through the
command line.
"""

import csv
import json
import lzma
import tempfile
from pathlib import Path

import numpy as np
from _common import LABELS, data_file

TABLES = ("magic04", "adult")  # numbers only; numbers, texts and empty cells
FITTED_ON = 1_500
BATCHES = (100, 400, 500, 1_000)


def false_alarms(name: str, seed: int) -> list[bool]:
    """Return which batches of rows in random order have moved by more than chance, says
    `drsvm drift`.
    """
    from typer.testing import CliRunner

    from drsvm.cli.app import app

    with lzma.open(data_file(name), "rt", encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    order = np.random.default_rng([3, seed]).permutation(len(rows))
    batches = np.repeat(np.arange(len(BATCHES)), BATCHES)
    with tempfile.TemporaryDirectory() as folder:
        old, new, model = (
            str(Path(folder) / file) for file in ("old.csv", "new.csv", "model.drsvm")
        )
        _write(old, header, [rows[i] for i in order[:FITTED_ON]])
        some = order[FITTED_ON : FITTED_ON + len(batches)]
        _write(
            new,
            [*header, "batch"],
            [[*rows[i], f"batch {k}"] for i, k in zip(some, batches, strict=True)],
        )
        _run(
            CliRunner(),
            app,
            ["fit", old, "--label", LABELS.get(name, "label"), "--model", model],
        )
        found = _run(CliRunner(), app, ["drift", model, new, "--by", "batch", "--json"])
    return [
        batch["moved"] > batch["moved_by_chance"]
        for batch in json.loads(found)["batches"]
    ]


def _run(runner, app, words: list[str]) -> str:
    result = runner.invoke(app, words)
    if result.exit_code:
        raise RuntimeError(
            f"drsvm {' '.join(words)}: {result.output}"
        ) from result.exception
    return result.stdout


def _write(file: str, header: list[str], rows: list[list[str]]) -> None:
    with open(file, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
