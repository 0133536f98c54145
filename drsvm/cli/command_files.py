"""Files of a command: standard input and pipes as data files, and what it writes.

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

from drsvm.cli.options import Columns
from drsvm.persistence.checks import require
from drsvm.tables import DataFileError, Dataset, ReadOptions, Schema, read, read_like
from drsvm.utils.lazy import optional
from drsvm.utils.writing import write_files, written

# Stands for standard input or standard output
STANDARD = Path("-")
# The names of plots end in one of these.
PLOTS = (".png", ".svg", ".pdf")


def name_of(file: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if file == STANDARD else file.name


def read_from(
    file: Path, options: ReadOptions, schema: Schema | None = None
) -> Dataset:
    """Read a data file, standard input (-) or a pipe.

    With the `schema` of another file, it is read in the same way as that file.
    """
    # Also a file that does not exist: the reader says so.
    if file != STANDARD and (not file.exists() or file.is_file() or file.is_dir()):
        return _read(file, options, schema)
    if file == STANDARD:
        # As it is called in messages
        shown = Path(name_of(file))
        source = nullcontext(sys.stdin.buffer)
    else:
        shown = file
        source = file.open("rb")
    # Reading passes over a file more than once, which takes a copy of a stream.
    with TemporaryDirectory(prefix="drsvm-") as folder, written(folder):
        copy = Path(folder) / shown.name
        with copy.open("wb") as out, source as stream:
            shutil.copyfileobj(stream, out)
        try:
            return replace(_read(copy, options, schema), path=shown)
        except DataFileError as error:
            # The user does not know the copy.
            raise DataFileError(error.what, shown, error.fixes) from None


def _read(path: Path, options: ReadOptions, schema: Schema | None) -> Dataset:
    if schema is None:
        return read(path, options)
    return read_like(path, schema, options)


def check_inputs(model: Path | None, files: Iterable[Path | None]) -> None:
    """Raise an error if standard input would be read twice, or as a model."""
    require(
        model != STANDARD, "-: a model cannot be read from standard input: give a file."
    )
    require(
        list(files).count(STANDARD) < 2,
        "-: standard input can be read only once: save it to a file first.",
    )


def check_outputs(
    outputs: Iterable[Path | None], inputs: Iterable[Path | None]
) -> None:
    """Raise an error if an output file cannot be written or is an input file."""
    # No output may be an input, or another output.
    taken = [path for path in inputs if path is not None]
    for output in outputs:
        if output is None:
            continue
        require(
            output != STANDARD,
            "-: only predictions can be written to standard output: give a file.",
        )
        require(
            not any(_is_same(output, other) for other in taken),
            f"{output}: is used twice in this command and would be overwritten: "
            "choose another name.",
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


def _is_same(one: Path, other: Path) -> bool:
    # Links to a file have other names.
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def check_table_and_plot(
    table: Path | None, plot: Path | None, inputs: Iterable[Path | None]
) -> None:
    """Raise an error, before any work, if a file cannot be written or a plot drawn."""
    check_outputs([plot, table], inputs)
    if plot is None:
        return
    if plot.suffix.lower() not in PLOTS:
        raise ValueError(f"{plot}: the name of a plot must end in {', '.join(PLOTS)}.")
    # Without a window: the plot goes to a file, also where there is no display.
    optional("matplotlib", "plots need").use("Agg")


def save_table_and_plot(
    table: Path | None, plot: Path | None, columns: Columns, draw: Callable[[], Any]
) -> dict[str, Path | None]:
    """Write the table and the plot, and return the files.

    The plot is that of the display that `draw` returns. It is drawn first, so that a
    failure leaves no file.
    """
    contents = {}
    if table is not None:
        contents[table] = csv_text(columns).encode()
    if plot is not None:
        from matplotlib import pyplot as plt

        figure = draw().figure_
        drawn = io.BytesIO()
        figure.savefig(drawn, format=plot.suffix[1:].lower(), dpi=150)
        plt.close(figure)
        contents[plot] = drawn.getvalue()
    # Both or none of them
    write_files(contents)
    return {"plot": plot, "csv": table}


def csv_text(columns: Columns) -> str:
    """Return columns as the text of a CSV file, numbers with all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    lists = [np.asarray(values).tolist() for values in columns.values()]
    writer.writerows(zip(*lists, strict=True))
    return out.getvalue()
