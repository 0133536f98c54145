"""The command line ``drsvm``: one file per command.

Each defers its imports until it runs.

`app` collects the commands, `options` and `files` are their parameters, `work`,
`training` and `predictions` what they share; `screen` (`terminal`, `fit_summary`) is
what the user sees.
"""

import sys

from drsvm.utils.lazy import missing
from drsvm.utils.writing import ends_soon


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 tolerance not reached, 2 bad input, 130 interrupted."""
    try:
        from drsvm.cli.app import app
        from drsvm.cli.screen import ARGUMENTS

        ends_soon.set(arguments is None)
        ARGUMENTS.set(tuple(sys.argv[1:] if arguments is None else arguments))
        app(args=arguments, prog_name="drsvm")
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        print(
            f"error: the command line needs {missing('typer', 'rich', 'pyarrow')}",
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:  # before a command has started
        sys.exit(130)
