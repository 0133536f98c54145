"""The plots of a report: SVG that takes its colours from the page, so that it is legible in light and dark mode."""

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from drsvm.plotting import RadiusPathDisplay, RiskCurveDisplay, WorstCaseDisplay
from drsvm.plotting.style import BLUE, FAINT, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILLION
from drsvm.report.analysis import Analysis
from drsvm.solvers.path.radius_path import RadiusPath

VARIABLES = {
    BLUE: "--blue",
    VERMILLION: "--vermillion",
    GREEN: "--green",
    ORANGE: "--orange",
    PURPLE: "--purple",
    SKY: "--sky",
    GREY: "--grey",
    FAINT: "--faint",
    INK: "--ink",
}
"""Colours of the plots and their names in the style sheet of the page."""

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 11.5,
    "axes.titlesize": 11.5,
    **{f"{part}.color": INK for part in ("text", "xtick", "ytick")},
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
}
SIZE = (5.6, 4.0)
POINTS = 350


def draw_all(analysis: Analysis) -> dict[str, str]:
    """Return the plots by name; of a constant decision, only the accuracy over the radius."""
    material, radius = analysis.material, analysis.radius
    judged, adversary = (analysis.judged.X, analysis.judged.y), analysis.adversary
    radii = np.linspace(0.0, 4.0 * radius, 81) if radius > 0 else None

    def draw_risk(loss: str) -> Callable:
        return lambda ax: RiskCurveDisplay.from_estimators(
            analysis.models, *judged, radii=radii, radius=radius, loss=loss, ax=ax, **adversary
        )

    def draw_worst_case(ax):
        names = material.feature_names
        own = {name: value for name, value in adversary.items() if name != "feature_cost"}  # the model has its own
        return WorstCaseDisplay.from_estimator(
            material.linear, *judged, radius=radius, feature_names=names, max_points=POINTS, ax=ax, **own
        )

    paths = {} if analysis.path is None else _path_figures(analysis, analysis.path, radius)
    if not analysis.informative:
        return paths
    return {
        "risk-hinge": svg("risk-hinge", draw_risk("hinge")),
        "risk-error": svg("risk-error", draw_risk("zero-one")),
        "worst-case": svg("worst-case", draw_worst_case, size=(5.8, 4.6)),
        **paths,
    }


def _path_figures(analysis: Analysis, path: RadiusPath, radius: float) -> dict[str, str]:
    material = analysis.material
    scores = {"X": material.X, "y": material.y == analysis.positive}
    if material.X_test is not None:
        scores |= {"X_test": material.X_test, "y_test": material.y_test == analysis.positive}

    def draw(kind: str) -> Callable:
        return lambda ax: RadiusPathDisplay.from_path(
            path,
            **scores,
            metric=balanced_accuracy_score,  # the one that the text speaks of
            feature_names=material.feature_names,
            radius=radius,
            kind=kind,
            ax=ax,
        )

    kinds = ("weights", "scores") if analysis.informative else ("scores",)
    return {f"path-{kind}": svg(f"path-{kind}", draw(kind)) for kind in kinds}


def svg(name: str, draw: Callable, size: tuple[float, float] = SIZE) -> str:
    """Draw on new axes and return the plot as an SVG element whose ids start with the name."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing glyphs; the browser has them
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _for_the_page(name, buffer.getvalue())


def _for_the_page(name: str, text: str) -> str:
    """Turn a file into an element: no header, no fixed size, unique ids, colours of the page."""
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
