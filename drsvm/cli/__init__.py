"""The command line ``drsvm``.

    arguments → app → fit_command, report_command, ... → screen

A command is a function with typer's annotations, most of which are in `options`; its
file imports what it needs when it runs, so that ``drsvm --help`` is quick. `settings`
turns options into parameters of the library, `training_rows` (or `streamed_rows`, if
memory is too small) reads and splits a file. What a command computes is in

- `time_order`, `choose_kernel`, `fit_and_test` and `fit_summary` for ``drsvm fit``,
- `prediction_table` for ``drsvm predict``,
- `worst_cases` for ``drsvm audit``,
- `shifts_of_files` for ``drsvm drift``,
- `skops_models`, which loads models of other libraries, for both,
- `labels_to_check` for ``drsvm labels``,
- `report_on_file` for ``drsvm report``.

`screen` has what the user sees: results, notes, progress and errors.
"""

import sys

from drsvm.utils.lazy import missing
from drsvm.utils.writing import ends_soon


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    The exit codes are 0: done, 1: tolerance not reached, 2: bad input, 3: tolerance
    reached for limited weights only, 4: rows have moved, 130: interrupted.

    Parameters
    ----------
    arguments : list of str, optional
        The words after ``drsvm``; by default those of this process.
    """
    try:
        from drsvm.cli.app import app

        # A process that only runs a command ignores Ctrl-C once its files are written
        # (see `write_files`); one that calls this function goes on afterwards.
        ends_soon.set(arguments is None)
        app(args=arguments, prog_name="drsvm")
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        remedy = missing("typer", "rich", "pyarrow")
        print(f"error: the command line needs {remedy}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        # Before a command has started
        sys.exit(130)
