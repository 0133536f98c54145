"""Numbers that stand for empty cells are named, and no others."""

import lzma
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drsvm.tables import ReadOptions, read

N = 300


def credit(rng):
    """Return a table with codes: -9 in every column of some rows, -8 and -7 in a few."""
    table = pd.DataFrame(
        rng.integers(0, 90, (N, 6)), columns=[f"f{k}" for k in range(6)]
    )
    table.loc[: N // 10] = -9
    for column in ("f1", "f2", "f3"):
        table.loc[rng.choice(N, 20), column] = -8
    table.loc[rng.choice(N, 20), "f4"] = -7
    table["pdays"] = np.where(rng.random(N) < 0.8, 999, rng.integers(0, 27, N))
    table["label"] = rng.integers(0, 2, N)
    return table


def about_sentinels(path, **options):
    notes = read(path, ReadOptions(**options)).notes
    return [note for note in notes if note.startswith("may stand for empty cells")]


def test_codes_are_named_with_the_remedy(write):
    path = write("t.csv", credit(np.random.default_rng(0)).to_csv(index=False))
    [note] = about_sentinels(path)
    assert note == (
        "may stand for empty cells: 999 (pdays), -9 (6 columns), -8 (3 columns); if so, "
        "add missing_values='999' missing_values='-9' missing_values='-8'."
    )
    assert about_sentinels(path, missing_values=("-9", "-8", "999")) == []


@pytest.mark.parametrize(
    "column",
    {
        "one column may have -1 for a reason": lambda rng: rng.integers(-1, 30, N),
        "answers": lambda rng: rng.integers(-1, 2, (N, 4)),
        "negative numbers": lambda rng: rng.normal(0, 9, (N, 4)).round(),
        "amounts up to 999": lambda rng: rng.integers(0, 1000, N),
        "top-coded": lambda rng: np.minimum(rng.exponential(3e4, N).round(), 99999),
        "a single error": lambda rng: np.append(rng.integers(18, 90, N - 1), 999),
        "nines with gaps": lambda rng: np.where(rng.random(N) < 0.5, 99, np.nan),
    }.values(),
)
def test_other_numbers_are_not(write, column):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(np.reshape(column(rng), (N, -1))).add_prefix("f")
    path = write("t.csv", table.assign(label=rng.integers(0, 2, N)).to_csv(index=False))
    assert about_sentinels(path) == []


@pytest.mark.data
@pytest.mark.parametrize("name", ["adult", "titanic", "wilt"])
def test_real_tables_have_none(name, tmp_path):
    if "DRSVM_DATA" not in os.environ:
        pytest.skip("DRSVM_DATA is not set")
    path = tmp_path / "t.csv"
    with lzma.open(Path(os.environ["DRSVM_DATA"]) / f"{name}.csv.xz") as source:
        path.write_bytes(b"".join(source.readlines()[:3000]))
    assert about_sentinels(path) == []
