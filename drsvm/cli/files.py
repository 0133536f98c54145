"""Files of a command: standard input and pipes as data files.

Outputs are checked first and written whole.
"""

import csv
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from drsvm.persistence.checks import require
from drsvm.tables import DataFileError, Dataset
from drsvm.utils.writing import written

STANDARD = Path("-")  # stands for standard input or standard output


def name_of(file: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if file == STANDARD else file.name


def read_from(file: Path, reader: Callable[[Path], Dataset]) -> Dataset:
    """Read a data file, or a copy of standard input (-) or of a pipe: readers pass over a file more than once."""
    if file != STANDARD and (not file.exists() or file.is_file() or file.is_dir()):
        return reader(file)
    shown = Path(name_of(file)) if file == STANDARD else file
    with TemporaryDirectory(prefix="drsvm-") as folder, written(folder):
        copy = Path(folder) / shown.name
        with (
            copy.open("wb") as out,
            nullcontext(sys.stdin.buffer)
            if file == STANDARD
            else file.open("rb") as stream,
        ):
            shutil.copyfileobj(stream, out)
        try:
            return replace(reader(copy), path=shown)
        except DataFileError as error:
            raise DataFileError(error.what, shown, error.fixes) from None


def check_inputs(model: Path | None, files: Iterable[Path | None]) -> None:
    """Raise an error if standard input would be read twice, or as a model."""
    require(
        model != STANDARD, "-: a model cannot be read from standard input: give a file."
    )
    n_times = sum(file == STANDARD for file in files)
    require(
        n_times < 2, "-: standard input can be read only once: save it to a file first."
    )


def check_outputs(
    outputs: Iterable[Path | None], inputs: Iterable[Path | None]
) -> None:
    """Raise an error if an output file cannot be written or is an input file."""
    taken = [path for path in inputs if path is not None]
    for output in (path for path in outputs if path is not None):
        require(
            output != STANDARD,
            "-: only predictions can be written to standard output: give a file.",
        )
        both = (other for other in taken if output.exists() and other.exists())
        twice = output.resolve() in [other.resolve() for other in taken] or any(
            map(output.samefile, both)
        )
        require(
            not twice,
            f"{output}: is used twice in this command and would be overwritten: choose another name.",
        )
        folder = output.resolve().parent
        require(not output.is_dir(), f"{output}: is a folder: give a file in it.")
        require(
            folder.is_dir(),
            f"{output}: the folder {folder} does not exist: create it first.",
        )
        require(
            os.access(folder, os.W_OK),
            f"{output}: the folder {folder} is not writable: choose another one.",
        )
        taken.append(output)


def csv_text(columns: dict[str, Any]) -> str:
    """Return columns as the text of a CSV file, numbers with all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
    )
    return out.getvalue()
