"""Standard input and pipes as data files: readers pass over a file more than once, so they work on a temporary copy."""

import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from drsvm.datasets import DataFileError, Dataset

STANDARD = Path("-")  # stands for standard input or standard output


def name_of(file: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if file == STANDARD else file.name


def read_from(file: Path, reader: Callable[[Path], Dataset]) -> Dataset:
    """Read a data file, standard input (-) or a pipe."""
    if file != STANDARD and (not file.exists() or file.is_file() or file.is_dir()):
        return reader(file)
    shown = Path(name_of(file)) if file == STANDARD else file
    with TemporaryDirectory(prefix="drsvm-") as folder:
        copy = Path(folder) / shown.name
        with copy.open("wb") as out, nullcontext(sys.stdin.buffer) if file == STANDARD else file.open("rb") as stream:
            shutil.copyfileobj(stream, out)
        try:
            return replace(reader(copy), path=shown)
        except DataFileError as error:
            raise DataFileError(error.what, shown, error.fixes) from None


def check_inputs(model: Path | None, files: Iterable[Path | None]) -> None:
    """Raise an error if standard input would be read twice, or as a model."""
    if model == STANDARD:
        raise ValueError("-: a model cannot be read from standard input: give a file.")
    if sum(file == STANDARD for file in files) > 1:
        raise ValueError("-: standard input can be read only once: save it to a file first.")
