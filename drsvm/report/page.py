"""The report as a page of HTML or Markdown: page.html and page.md have the macros, and share everything else."""

import math
import re
from typing import TYPE_CHECKING

import drsvm
from drsvm.learn.scores import compared
from drsvm.plotting.style import short
from drsvm.report import words
from drsvm.report.analysis import Analysis
from drsvm.report.figures import POINTS
from drsvm.report.inputs import Figures
from drsvm.report.markup import ROBUST, Html, Markdown, Plain, listed, number, percent

if TYPE_CHECKING:
    from jinja2 import Environment

SHIFT_SIZES = {1: "the sum of its changes", 2: "its Euclidean length", math.inf: "its largest change in one feature"}


def document(analysis: Analysis, title: str, style: Html | Markdown, drawn: dict[str, str] | None = None) -> str:
    """Return the report; the plots are SVG elements by name."""
    template = _environment(analysis, style).get_template(style.template)
    text = template.render(
        areas=_areas(analysis),
        colours=("--blue", "--vermillion", "--green"),  # of the classifiers, as in the plots
        # Enough digits to distinguish objective and bound.
        digits=min(max(4, 1 - math.floor(math.log10(max(analysis.result.gap, 1e-12)))), 12),
        drawn=drawn,
        max_points=POINTS,
        robust=ROBUST,
        settings=" ".join(repr(analysis.material.model).split()),
        shift_size=SHIFT_SIZES[float(analysis.material.ball["norm"])],
        step=words.next_step(analysis),
        title=title,
        version=drsvm.__version__,
    )
    return re.sub(r"\n\s*\n", "\n\n", text).strip() + "\n"


def plain_words(analysis: Analysis) -> Figures:
    """Return the sentences of the opening without markup."""
    sentences = vars(_environment(analysis, Plain()).get_template("words.jinja").module)
    names = {"warning": "constant_warning", "tell_tale": "tell_tale_warning", "noise": "noise_warning"}
    warnings = {key: sentences[name] or None for key, name in names.items()}
    return {**warnings, "in_plain_words": sentences["lines"]}


def _environment(analysis: Analysis, style: Plain) -> "Environment":
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
        "listed": lambda items: marked(listed(list(items))),
        "number": number,
        "percent": percent,
        "short": short,
        "thousands": "{:,}".format,
        "unwrapped": lambda text: marked(re.sub(r"\s*\n\s*", " ", text.strip())),
        "without_blank_lines": lambda text: marked(re.sub(r"\n\s*\n", "\n", text.strip())),
    }
    environment.globals |= {"analysis": analysis, "phrases": words, "compared": compared, "inf": math.inf}
    environment.globals |= {"percent": percent, "three_digits": "{:.3f}".format}
    return environment


def _areas(analysis: Analysis) -> list[str]:
    areas = [figures["roc_auc"] for figures in analysis.comparison.values()]
    shown = ["–" if area is None else f"{area:.3f}" for area in areas]
    shown[0] += " (noise)" if analysis.noise and areas[0] is not None else ""
    return shown
