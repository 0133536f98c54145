"""``drsvm demo``: the demonstration."""

import io
from contextlib import redirect_stdout

from drsvm.cli.screen import Screen

EXAMPLES = "drsvm demo"


def demo(screen: Screen) -> None:
    """Train on data with wrong labels, prove the result, and write a report into the current folder."""
    from drsvm.demo import main

    if not screen.as_json:
        main()
        return
    printed = io.StringIO()
    with redirect_stdout(printed):
        main()
    screen.finish({"command": "demo", "text": printed.getvalue()})
