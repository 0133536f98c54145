"""Plots as files."""

import io
from pathlib import Path

from drsvm.extras import optional

FORMATS = (".png", ".svg", ".pdf")


def check_plot(path: Path | None) -> None:
    """Raise an error, before any work is done, if a plot cannot be drawn or saved."""
    if path is None:
        return
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: the name of a plot must end in {', '.join(FORMATS)}.")
    optional("matplotlib", "plots need").use("Agg")


def plot_content(display, path: Path) -> bytes:
    """Return the figure of a Display as the content of a file, and close it."""
    from matplotlib import pyplot as plt

    content = io.BytesIO()
    display.figure_.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    plt.close(display.figure_)
    return content.getvalue()
