"""Pictures as files."""

import io
from pathlib import Path

FORMATS = (".png", ".svg", ".pdf")


def check_picture(path: Path | None) -> None:
    """Refuse, before any work, a picture that could not be drawn or saved."""
    if path is None:
        return
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: a picture must end in {', '.join(FORMATS)}.")
    try:
        import matplotlib
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'drsvm[plot]'.") from None
    matplotlib.use("Agg")


def save_picture(display, path: Path) -> None:
    """Save the figure of a Display and close it."""
    from matplotlib import pyplot as plt

    from drsvm.persistence import write_whole

    content = io.BytesIO()
    display.figure_.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    plt.close(display.figure_)
    write_whole(path, content.getvalue())
