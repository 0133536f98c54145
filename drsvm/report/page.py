"""The report as a page of HTML or Markdown: page.html and page.md have the macros, and share everything else."""

import math
import re
from typing import TYPE_CHECKING

import drsvm
from drsvm.plotting.style import short
from drsvm.report import words
from drsvm.report.analysis import Analysis
from drsvm.report.figures import POINTS
from drsvm.report.markup import ROBUST, Html, Markdown, number, percent

if TYPE_CHECKING:
    from jinja2 import Environment

SHIFT_SIZES = {1: "the sum of its changes", 2: "its Euclidean length", math.inf: "its largest change in one feature"}


def document(analysis: Analysis, title: str, style: Html | Markdown, drawn: dict[str, str] | None = None) -> str:
    """Return the report; the plots are SVG elements by name."""
    text = (
        _environment(style)
        .get_template(style.template)
        .render(
            analysis=analysis,
            areas=_areas(analysis),
            colours=("--blue", "--vermillion", "--green"),  # of the classifiers, as in the plots
            # Enough digits to distinguish objective and bound.
            digits=min(max(4, 1 - math.floor(math.log10(max(analysis.result.gap, 1e-12)))), 12),
            drawn=drawn,
            max_points=POINTS,
            opening_notes=_notes(analysis),
            robust=ROBUST,
            settings=" ".join(repr(analysis.material.model).split()),
            shift_size=SHIFT_SIZES[float(analysis.material.ball["norm"])],
            step=words.next_step(analysis),
            style=style,
            title=title,
            version=drsvm.__version__,
            words=words,
        )
    )
    return re.sub(r"\n\s*\n", "\n\n", text).strip() + "\n"


def _environment(style: Html | Markdown) -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    is_html = isinstance(style, Html)
    environment = Environment(loader=PackageLoader("drsvm.report"), autoescape=is_html, undefined=StrictUndefined)
    marked = Markup if is_html else str  # what is not escaped again
    environment.filters |= {
        "text": lambda words: marked(style.text(words)),
        "strong": lambda words: marked(style.strong(words)),
        "code": lambda words: marked(style.code(words)),
        "power": lambda value: marked(style.power(value)),
        "number": number,
        "percent": percent,
        "short": short,
        "thousands": "{:,}".format,
        "unwrapped": lambda text: marked(re.sub(r"\s*\n\s*", " ", text.strip())),
        "without_blank_lines": lambda text: marked(re.sub(r"\n\s*\n", "\n", text.strip())),
    }
    return environment


def _areas(analysis: Analysis) -> list[str]:
    areas = [figures["roc_auc"] for figures in analysis.comparison.values()]
    shown = ["–" if area is None else f"{area:.3f}" for area in areas]
    shown[0] += " (noise)" if analysis.noise and areas[0] is not None else ""
    return shown


def _notes(analysis: Analysis) -> list[str]:
    notes = [note for note in (*analysis.material.notes, words.noise_warning(analysis)) if note]
    if not analysis.judged.held_out:
        notes.append(
            "No rows are held out: the figures are those of the training rows, and optimistic for every classifier."
        )
    return notes
