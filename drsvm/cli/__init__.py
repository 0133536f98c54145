"""The command line ``drsvm``: one file per command.

Each defers its imports until it runs. `app` collects the commands, `options` has their
shared parameters, `training_rows` and `fit_and_test` what commands that train share;
`screen` (`terminal`, `fit_summary`) is what the user sees.
"""

import sys

from drsvm.utils.lazy import missing
from drsvm.utils.writing import ends_soon


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    Exit codes are 0: done, 1: tolerance not reached, 2: bad input, 130: interrupted.
    """
    try:
        from drsvm.cli.app import app

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
