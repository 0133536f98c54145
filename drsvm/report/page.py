"""The report as a page of HTML or Markdown, or as plain sentences: markup, phrases, and what to try next.

page.html and page.md have the macros, and share the other templates. Filters make
strings of the user harmless.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np

import drsvm
from drsvm.estimators.scores import compared
from drsvm.plotting.style import short
from drsvm.report.analysis import TREES, Analysis, useful_accuracy
from drsvm.report.figures import POINTS
from drsvm.report.inputs import Figures, NextStep
from drsvm.report.verdict import aims_at_accuracy, finds

if TYPE_CHECKING:
    from jinja2 import Template

SHIFT_SIZES = {
    1: "the sum of its changes",
    2: "its Euclidean length",
    math.inf: "its largest change in one feature",
}
FIGURES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC AUC",
}
# From this share of clearly contradicted labels on, they are worth a look before
# anything else
MANY_FLAGS = 0.05
# From this share of the largest class on, classes of equal weight are worth a try
UNEQUAL = 0.7


def document(
    analysis: Analysis, title: str, template: str, drawn: dict[str, str] | None = None
) -> str:
    """Return the report, by page.html or page.md.

    The plots are SVG elements by name.
    """
    areas = [figures["roc_auc"] for figures in analysis.comparison.values()]
    shown = ["–" if area is None else f"{area:.3f}" for area in areas]
    if analysis.noise and areas[0] is not None:
        shown[0] += " (noise)"
    else:
        shown[0] += ""
    text = _template(template).render(
        _phrases(analysis),
        areas=shown,
        colours=(
            "--blue",
            "--vermillion",
            "--green",
            "--purple",
        ),  # of the classifiers, as in the plots
        # Enough digits to distinguish objective and bound.
        digits=min(
            max(4, 1 - math.floor(math.log10(max(analysis.result.gap, 1e-12)))), 12
        ),
        drawn=drawn,
        max_points=POINTS,
        robust=analysis.name,
        settings=" ".join(repr(analysis.material.model).split()),
        shift_size=SHIFT_SIZES[float(analysis.material.ball["norm"])],
        step=next_step(analysis),
        title=title,
        version=drsvm.__version__,
    )
    return re.sub(r"\n\s*\n", "\n\n", text).strip() + "\n"


def plain_words(analysis: Analysis) -> Figures:
    """Return the sentences of the opening without markup."""
    sentences = vars(_template("words.jinja").make_module(_phrases(analysis)))
    names = {
        "warning": "constant_warning",
        "tell_tale": "tell_tale_warning",
        "noise": "noise_warning",
    }
    names |= {"guess": "guess_warning", "moved": "moved_warning"}
    warnings = {key: sentences[name] or None for key, name in names.items()}
    return {**warnings, "in_plain_words": sentences["lines"]}


def _phrases(analysis: Analysis) -> Figures:
    """Return what the templates know about an analysis."""
    phrases = {
        "unit": unit(analysis),
        "shift": shift(analysis),
        "adversary": adversary(analysis),
    }
    return {"analysis": analysis, "phrases": phrases, "standings": standings(analysis)}


@cache  # templates are compiled once
def _template(file: str) -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    is_html = file == "page.html"
    environment = Environment(
        loader=PackageLoader("drsvm.report"),
        autoescape=is_html,
        undefined=StrictUndefined,
    )
    safe = Markup if is_html else str  # what is not escaped again
    marks: Mapping[str, Callable[..., str]] = {
        **MARKS[file],
        "listed": listed,
        "unwrapped": lambda text: re.sub(r"\s*\n\s*", " ", text.strip()),
        "without_blank_lines": lambda text: re.sub(r"\n\s*\n", "\n", text.strip()),
    }
    environment.filters |= {
        name: lambda value, mark=mark: safe(mark(value)) for name, mark in marks.items()
    }
    environment.filters |= {
        "number": number,
        "percent": percent,
        "short": short,
        "thousands": "{:,}".format,
    }
    environment.globals |= {
        "compared": compared,
        "finds": finds,
        "intervals": intervals,
        "inf": math.inf,
    }
    environment.globals |= {"percent": percent, "three_digits": "{:.3f}".format}
    return environment.get_template(file)


def _markdown_text(words: object) -> str:
    return re.sub(r"([\\`*_\[\]<>#|&$])", r"\\\1", " ".join(str(words).splitlines()))


def _markdown_code(words: object) -> str:
    fence = "``" if "`" in str(words) else "`"
    return f"{fence}{' '.join(str(words).splitlines())}{fence}"


def _power(value: float) -> str:
    """Return a small number with its power of ten.

    Negative rounding errors count as 0.
    """
    return "0" if value <= 0 else f"{value:.1e}"


def _html_power(value: float) -> str:
    mantissa, _, exponent = _power(value).partition("e")
    shown = f'<span class="power">{mantissa} · 10<sup>{int(exponent or 0)}</sup></span>'.replace(
        "-", "−"
    )
    return shown if exponent else mantissa


MARKS: Mapping[str, Mapping[str, Callable[..., str]]] = {
    "words.jinja": {"text": str, "strong": str, "code": str, "power": _power},
    "page.md": {
        "text": _markdown_text,
        "strong": lambda words: f"**{_markdown_text(words)}**",
        "code": _markdown_code,
        "power": _power,
    },
    "page.html": {
        "text": lambda words: escape(str(words)),
        "strong": lambda words: f"<strong>{escape(str(words))}</strong>",
        "code": lambda words: f"<code>{escape(str(words))}</code>",
        "power": _html_power,
    },
}


def number(value: float, digits: int = 4) -> str:
    """Return a formatted number."""
    return f"{float(value):.{digits}g}".replace("-", "−")


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share as a percentage."""
    # a narrow non-breaking space
    if share is None:
        return "–"
    return f"{100 * float(share):.{digits}f}\u202f%"


def listed(items: Iterable[str]) -> str:
    """Return items as an enumeration: a, b and c."""
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def unit(analysis: Analysis) -> str:
    """Return the units of the features."""
    scaled = analysis.material.scaled
    if scaled.any() and not scaled.all():
        if (~scaled).sum() == 1:
            others = "one, which is"
        else:
            others = f"{int((~scaled).sum()):,}, which are"
        return (
            f"{int(scaled.sum()):,} features in standard deviations and the other {others} not scaled (such as 0/1 "
            "columns), in original units"
        )
    if scaled.all():
        return "features in standard deviations"
    return "features in their original units"


def shift(analysis: Analysis) -> str:
    """Return the radius with its unit."""
    scaled = analysis.material.scaled
    if scaled.any():
        if scaled.all():
            units = " standard deviations"
        else:
            units = " (in units of each feature)"
    else:
        units = ""
    return f"{number(analysis.radius, 3)}{units}"


def adversary(analysis: Analysis) -> str:
    """Return the powers of the adversary, without a subject."""
    radius = analysis.radius
    flip_cost = analysis.material.flip_cost
    if radius == 0 and flip_cost > 0:
        return "can do nothing: the radius is 0"
    shifts = f"shifts the rows by {shift(analysis)} on average"
    if math.isinf(flip_cost):
        return shifts
    if flip_cost > 0:
        share = percent(min(1.0, radius / flip_cost))
    else:
        share = percent(1.0, 0)
    return f"{shifts}, or spends the same budget on flipping up to {share} of the labels, or on a mix of both"


def standings(analysis: Analysis) -> list[str]:
    """Return how the classifier compares with its rivals, a line for each conclusion.

    The table has the figures.
    """
    lines: dict[str, list[str]] = {}
    for key, name in FIGURES.items() if analysis.judged.held_out else ():
        groups: dict[str, list[str]] = {"ahead of": [], "level with": [], "behind": []}
        for rival, lead in analysis.leads.items():
            if lead[key] is not None and not (key == "roc_auc" and analysis.noise):
                low, high = lead[key]["interval"]
                groups[
                    "ahead of" if low > 0 else "behind" if high < 0 else "level with"
                ].append(rival)
        words = ", ".join(
            f"{how} {listed(rivals)}" for how, rivals in groups.items() if rivals
        )
        lines.setdefault(words, []).append(name)
    return [
        f"{words[0].upper()}{words[1:]} in {listed(names)}."
        for words, names in lines.items()
        if words
    ]


def intervals(analysis: Analysis, key: str) -> list[str]:
    """Return a line of the table: the interval of a figure, and those of its lead over the rivals."""
    scale, digits = (1, 3) if key == "roc_auc" else (100, 1)

    def shown(limits: Sequence[float] | None, sign: str, before: str = "") -> str:
        if limits is None:
            return "–"
        low, high = (f"{scale * limit:{sign}.{digits}f}" for limit in limits)
        return f"{before}{low} to {high}".replace("-", "−")

    rivals = (lead[key] and lead[key]["interval"] for lead in analysis.leads.values())
    return [
        "95\u202f% interval",
        shown(analysis.own["intervals"][key], ""),
        *(shown(one, "+", "lead ") for one in rivals),
    ]


def next_step(analysis: Analysis) -> NextStep:
    """Return the most useful thing to try next.

    Without a command if it is to use something else.
    """
    names = list(analysis.material.source.leaky_columns)
    curved = analysis.material.curved
    if names:
        why = (
            "Leave out what is known only after the label, and make this report again."
        )
        python = f"make_report(model, X.drop(columns={names!r}), y)"
        return NextStep(
            "report", why, python, keeps_settings=True, changes={"drop": names}
        )
    is_constant = analysis.constant is not None or (
        bool(analysis.noise) and not analysis.multiclass
    )
    if is_constant:
        step = _smaller_radius(analysis) or _equal_weights(analysis)
    else:
        step = None
    if step is not None:
        return step
    if analysis.alternatives and not analysis.moved and not analysis.wrong_shares:
        return _rare_class(analysis)
    rival = analysis.behind(*(name for name in analysis.leads if name != TREES))
    if (
        rival is not None
        and not curved
        and aims_at_accuracy(analysis.material.classifier)
    ):
        why = f"{rival} is clearly ahead here: let cross-validation choose the parameters."
        return NextStep("cross-validate", why, "WassersteinSVCCV().fit(X, y)")
    if (
        analysis.behind(TREES)
        and not curved
        and analysis.material.source.choice is None
    ):
        why = f"{TREES.capitalize()} are clearly ahead, so the boundary is not linear: try a kernel."
        python = "make_report(WassersteinKernelSVC(), X, y)"
        return NextStep("report", why, python, changes={"kernel": "rbf"})
    if is_constant:
        why = "Let cross-validation choose the parameters, and look for more informative features."
        return NextStep("cross-validate", why, "WassersteinSVCCV().fit(X, y)")
    if analysis.behind(TREES):
        why = f"{TREES.capitalize()} are clearly ahead: use HistGradientBoostingClassifier, unless you need the proof."
        return NextStep("none", why, "")
    if analysis.is_guess:
        why = "Do not use it. Look for columns that say more about the label, or test it on more rows."
        return NextStep("none", why, "")
    if analysis.moved:
        return NextStep(
            "none",
            "Train it on rows like those it will be applied to: these columns have moved.",
            "",
        )
    if analysis.wrong_shares or analysis.flagged_share >= MANY_FLAGS:
        why = "Check the doubtful labels first; correct those that are wrong, and make this report again."
        if not analysis.wrong_shares:
            why = "Look at the contradicted labels. Correct them if many are wrong; otherwise, save the classifier."
        python = 'find_label_issues(X, y, second_opinion="auto").to_frame()'
        return NextStep(
            "check labels", why, python, changes={"kernel": "rbf"} if curved else {}
        )
    why = "Save the classifier, fitted to all rows, and apply it to new ones."
    return NextStep(
        "fit", why, 'save_model(model.fit(X, y), "model.drsvm")', keeps_settings=True
    )


def _rare_class(analysis: Analysis) -> NextStep:
    best = max(
        analysis.alternatives,
        key=lambda one: analysis.alternatives[one]["balanced_accuracy"],
    )
    found = finds(analysis.alternatives[best], analysis.missed)
    why = f"If {analysis.missed} must not be missed, decide for it more often; on the same rows, this {found}."
    name = type(analysis.material.classifier).__name__
    return NextStep(
        "report",
        why,
        f"make_report({name}({best}), X, y)",
        True,
        {best.option: best.value},
    )


def _smaller_radius(analysis: Analysis) -> NextStep | None:
    """Return a radius at which the classifier is not constant, if there is one."""
    best = analysis.best_radius
    if (
        best is None
        or best["radius"] >= analysis.radius
        or best["accuracy"] <= useful_accuracy(len(analysis.classes))
    ):
        return None
    radius = f"{best['radius']:.3g}"
    why = (
        f"The radius of {number(analysis.radius, 3)} is too large for these data. On the radius path, {radius} has "
        f"the highest balanced accuracy, {percent(best['accuracy'])} on the {analysis.judged.name}."
    )
    python = f"make_report(WassersteinSVC({radius}), X, y)"
    return NextStep("report", why, python, changes={"radius": radius})


def _equal_weights(analysis: Analysis) -> NextStep | None:
    """Return equal weights of the classes, if most rows are of one."""
    largest = max(np.unique(analysis.material.y, return_counts=True)[1]) / len(
        analysis.material.y
    )
    if largest < UNEQUAL or analysis.material.setting("class_weight") not in (
        None,
        "auto",
    ):
        return None
    why = f"{percent(largest)} of the rows are of one class: give the classes equal weight."
    python = 'make_report(WassersteinSVC(class_weight="balanced"), X, y)'
    return NextStep("report", why, python, changes={"class_weight": "balanced"})
