"""The plots of a report.

They are SVG that takes its colours from the page, so that it is legible in light and in
dark mode.
"""

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from drsvm.plotting import RadiusPathDisplay, RiskCurveDisplay, WorstCaseDisplay, style
from drsvm.plotting.radius_path_display import HELD_OUT
from drsvm.report.analysis import Analysis

# The names of colours in the page's style sheet.
VARIABLES = {
    style.BLUE: "--blue",
    style.VERMILLION: "--vermillion",
    style.GREEN: "--green",
    style.ORANGE: "--orange",
    style.PURPLE: "--purple",
    style.SKY: "--sky",
    style.GREY: "--grey",
    style.FAINT: "--faint",
    style.INK: "--ink",
}

# Text stays text, in the font of the page, which `svg` puts in front of this one.
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 11.5,
    "axes.titlesize": 11.5,
    "text.color": style.INK,
    "xtick.color": style.INK,
    "ytick.color": style.INK,
    "axes.labelcolor": style.INK,
    "axes.edgecolor": style.INK,
}
# Width and height in inches: two plots are side by side on the page.
SIZE = (5.6, 4.0)
# The plot of the worst case has a marker for this many rows at most.
POINTS = 350


def draw_all(analysis: Analysis) -> dict[str, str]:
    """Return the plots by name.

    Of a constant decision there is only the accuracy over the radius.
    """
    plots = {}
    if analysis.path:
        plots |= _draw_path(analysis)
    if analysis.informative:
        plots |= _draw_risks(analysis)
        if not analysis.material.has_kernel:
            plots["worst-case"] = _draw_worst_case(analysis)
    return plots


def _draw_path(analysis: Analysis) -> dict[str, str]:
    """Draw weights and accuracy over the radius."""
    material = analysis.material
    judged = analysis.judged
    data = {"training data": (material.X, material.y)}
    if judged.held_out:
        data[HELD_OUT] = (judged.X, judged.y)
    # These warnings are about classes without held-out rows.
    with warnings.catch_warnings(action="ignore"):
        path = RadiusPathDisplay.of_fitted(
            list(analysis.path.values()),
            data,
            balanced_accuracy_score,
            feature_names=material.feature_names,
            positive=analysis.positive,
            radius=analysis.radius,
        )
    plots = {"path-scores": svg("path-scores", path.plot, kind="scores")}
    if analysis.informative:
        plots["path-weights"] = svg("path-weights", path.plot, kind="weights")
    return plots


def _draw_risks(analysis: Analysis) -> dict[str, str]:
    """Draw the worst-case risk and error rate of all classifiers over the radius."""
    judged = analysis.judged
    radii = np.linspace(0.0, analysis.shifts[-1], 81)
    adversary = {**analysis.adversary, "radii": radii}
    draw = RiskCurveDisplay.from_estimators
    rows = (analysis.models, judged.X, judged.y)
    hinge = {"loss": "hinge", "positive": analysis.positive}
    return {
        "risk-hinge": svg("risk-hinge", draw, *rows, **hinge, **adversary),
        "risk-error": svg("risk-error", draw, *rows, loss="zero-one", **adversary),
    }


def _draw_worst_case(analysis: Analysis) -> str:
    """Draw the rows and where the adversary moves them."""
    adversary = dict(analysis.adversary)
    # The model has its own.
    del adversary["feature_cost"]
    return svg(
        "worst-case",
        WorstCaseDisplay.from_estimator,
        analysis.material.classifier,
        analysis.judged.X,
        analysis.judged.y,
        max_points=POINTS,
        size=(6.8, 4.8),
        feature_names=analysis.material.feature_names,
        positive=analysis.positive,
        **adversary,
    )


def svg(
    name: str, draw: Callable, *arguments, size: tuple[float, float] = SIZE, **options
) -> str:
    """Draw on new axes, and return the plot as an SVG element.

    Its ids start with the name.
    """
    import matplotlib
    from matplotlib.figure import Figure

    # Warnings are about missing glyphs; the browser has them.
    with (
        matplotlib.rc_context({**STYLE, "svg.hashsalt": name}),
        warnings.catch_warnings(action="ignore"),
    ):
        figure = Figure(figsize=size, layout="constrained")
        draw(*arguments, ax=figure.subplots(), **options)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    # The file becomes an element: no header, no fixed size, unique ids, colours of the
    # page.
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head, body = text.split(">", 1)
    view = "".join(re.findall(r'viewBox="[^"]*"', head))
    head = f'<svg {view} aria-hidden="true" focusable="false"'
    # Plots on one page must not share ids.
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", body)
    body = body.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans', sans-serif")
    for colour, variable in VARIABLES.items():
        body = body.replace(colour.lower(), f"var({variable})")
    return f"{head}>{body}"
