"""The plots of a report: SVG that takes its colours from the page, so that it is legible in light and dark mode."""

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from drsvm.plotting import RadiusPathDisplay, RiskCurveDisplay, WorstCaseDisplay, style
from drsvm.plotting.radius_path_display import HELD_OUT
from drsvm.plotting.style import INK
from drsvm.report.analysis import Analysis
from drsvm.report.inputs import Figures

COLOURS = (
    "BLUE",
    "VERMILLION",
    "GREEN",
    "ORANGE",
    "PURPLE",
    "SKY",
    "GREY",
    "FAINT",
    "INK",
)
# Their names in the page's style sheet
VARIABLES = {getattr(style, name): f"--{name.lower()}" for name in COLOURS}

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 11.5,
    "axes.titlesize": 11.5,
    **dict.fromkeys(
        (
            "text.color",
            "xtick.color",
            "ytick.color",
            "axes.labelcolor",
            "axes.edgecolor",
        ),
        INK,
    ),
}
SIZE = (5.6, 4.0)
POINTS = 350


def draw_all(analysis: Analysis) -> dict[str, str]:
    """Return the plots by name.

    Of a constant decision, only the accuracy over the radius.
    """
    material = analysis.material
    rows = analysis.judged
    radius = analysis.radius
    names: Figures = {"feature_names": material.feature_names}
    plots = {}
    if analysis.path:
        data = {"training data": (material.X, material.y)} | (
            {HELD_OUT: rows[:2]} if rows.held_out else {}
        )
        models = list(analysis.path.values())
        shown = {**names, "positive": analysis.positive, "radius": radius}
        with warnings.catch_warnings(
            action="ignore"
        ):  # of classes without held-out rows
            path = RadiusPathDisplay.of_fitted(
                models, data, balanced_accuracy_score, **shown
            )
        for kind in ("weights", "scores") if analysis.informative else ("scores",):
            plots[f"path-{kind}"] = svg(f"path-{kind}", path.plot, kind=kind)
    if not analysis.informative:
        return plots
    attack = {"X": rows.X, "y": rows.y, **analysis.adversary}
    if radius > 0:
        radii = np.linspace(0.0, 4.0 * radius, 81)
    else:
        radii = None
    side = {"positive": analysis.positive}
    for name, risk in (
        ("risk-hinge", {"loss": "hinge", **side}),
        ("risk-error", {"loss": "zero-one"}),
    ):
        plots[name] = svg(
            name,
            RiskCurveDisplay.from_estimators,
            analysis.models,
            radii=radii,
            **risk,
            **attack,
        )
    if material.curved:
        return plots
    del attack["feature_cost"]  # the model has its own
    draw = WorstCaseDisplay.from_estimator
    shown = {"max_points": POINTS, "size": (6.8, 4.8), **names}
    return plots | {
        "worst-case": svg(
            "worst-case", draw, material.classifier, **shown, **side, **attack
        )
    }


def svg(
    name: str, draw: Callable, *arguments, size: tuple[float, float] = SIZE, **options
) -> str:
    """Draw on new axes and return the plot as an SVG element whose ids start with the name."""
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
    view = re.search(r'viewBox="[^"]*"', head)
    head = f'<svg {view[0] if view else ""} aria-hidden="true" focusable="false"'
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", body)
    body = body.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans', sans-serif")
    for colour, variable in VARIABLES.items():
        body = body.replace(colour.lower(), f"var({variable})")
    return f"{head}>{body}"
