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


def picture(display, path: Path) -> bytes:
    """Return the figure of a Display in the format of a file, and close it."""
    from matplotlib import pyplot as plt

    content = io.BytesIO()
    display.figure_.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    plt.close(display.figure_)
    return content.getvalue()
