"""The report as a page of HTML or Markdown, or as plain sentences.

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
from drsvm.audit.performance import compared
from drsvm.plotting.style import short
from drsvm.report.analysis import Analysis, useful_accuracy
from drsvm.report.inputs import Figures, NextStep
from drsvm.report.plots import POINTS
from drsvm.report.rivals import FIGURES, TREES, USE_TREES, saves_costs
from drsvm.report.verdict import aims_at_accuracy, finds, share_of_flips
from drsvm.utils.messages import counted

if TYPE_CHECKING:
    from jinja2 import Template

# What the size of a shift is, by the norm
SHIFT_SIZES = {
    1: "the sum of its changes",
    2: "its Euclidean length",
    math.inf: "its largest change in one feature",
}
# From this share of clearly contradicted labels on, they are worth a look before
# anything else.
MANY_FLAGS = 0.05
# Colours of the classifiers, as in the plots
COLOURS = ("--blue", "--vermillion", "--green", "--purple")
# From this share of the largest class on, classes of equal weight are worth a try.
UNEQUAL = 0.7


def document(
    analysis: Analysis, title: str, template: str, drawn: dict[str, str] | None = None
) -> str:
    """Return the report, by page.html or page.md.

    The plots are SVG elements by name.
    """
    areas = []
    for figures in analysis.comparison.values():
        if figures["roc_auc"] is None:
            areas.append("–")
        else:
            areas.append(f"{figures['roc_auc']:.3f}")
    if analysis.noise and analysis.own["roc_auc"] is not None:
        areas[0] += " (noise)"
    # Enough digits to distinguish objective and bound.
    gap = max(analysis.result.gap, 1e-12)
    digits = min(max(4, 1 - math.floor(math.log10(gap))), 12)
    text = _template(template).render(
        _phrases(analysis),
        areas=areas,
        colours=COLOURS,
        digits=digits,
        drawn=drawn,
        max_points=POINTS,
        robust=analysis.name,
        settings=" ".join(repr(analysis.material.model).split()),
        shift_size=SHIFT_SIZES[float(analysis.material.trained_for["norm"])],
        step=next_step(analysis),
        title=title,
        version=drsvm.__version__,
    )
    return re.sub(r"\n\s*\n", "\n\n", text).strip() + "\n"


def plain_words(analysis: Analysis) -> Figures:
    """Return the sentences at the top of the page without markup."""
    sentences = vars(_template("words.jinja").make_module(_phrases(analysis)))
    words: Figures = {"warning": sentences["constant_warning"] or None}
    for name in ("tell_tale", "noise", "guess", "moved"):
        words[name] = sentences[f"{name}_warning"] or None
    words["in_plain_words"] = sentences["lines"]
    return words


def _phrases(analysis: Analysis) -> Figures:
    """Return what the templates know about an analysis."""
    phrases = {
        "unit": unit(analysis),
        "shift": shift(analysis),
        "adversary": powers(analysis),
    }
    return {"analysis": analysis, "phrases": phrases, "standings": standings(analysis)}


@cache
def _template(file: str) -> "Template":
    """Return a template with the filters of its format, compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    is_html = file == "page.html"
    environment = Environment(
        loader=PackageLoader("drsvm.report"),
        autoescape=is_html,
        undefined=StrictUndefined,
    )
    safe: Callable[[str], str] = str
    if is_html:
        # What a filter for markup returns is not escaped again.
        safe = Markup
    for name, mark in {**MARKS[file], **FILTERS}.items():
        environment.filters[name] = _marked(mark, safe)
    environment.filters.update(
        counted=counted,
        percent=percent,
        rounded=rounded,
        short=short,
        thousands="{:,}".format,
    )
    environment.globals.update(
        compared=compared,
        finds=finds,
        intervals=intervals,
        inf=math.inf,
        worst_cells=worst_cells,
        percent=percent,
        saves_costs=saves_costs,
        three_digits="{:.3f}".format,
    )
    return environment.get_template(file)


def _marked(mark: Callable[..., str], safe: Callable[[str], str]) -> Callable[..., str]:
    # Made here rather than in the loop over the filters: there, all would use the last.
    return lambda value: safe(mark(value))


def _unwrapped(text: str) -> str:
    """Return a text in one line."""
    return re.sub(r"\s*\n\s*", " ", text.strip())


def _without_blank_lines(text: str) -> str:
    return re.sub(r"\n\s*\n", "\n", text.strip())


def _markdown_text(words: object) -> str:
    """Return words in one line in which nothing counts as markup."""
    return re.sub(r"([\\`*_\[\]<>#|&$])", r"\\\1", " ".join(str(words).splitlines()))


def _markdown_code(words: object) -> str:
    """Return words as code; what contains a backtick is put between two of them."""
    line = " ".join(str(words).splitlines())
    if "`" in line:
        return f"``{line}``"
    return f"`{line}`"


def _power(value: float) -> str:
    """Return a small number with its power of ten.

    Negative rounding errors count as 0.
    """
    if value <= 0:
        return "0"
    return f"{value:.1e}"


def _html_power(value: float) -> str:
    """Return the same number as 1.5 · 10⁻⁸ with markup."""
    mantissa, _, exponent = _power(value).partition("e")
    if not exponent:
        return mantissa
    shown = f"{mantissa} · 10<sup>{int(exponent)}</sup>".replace("-", "−")
    return f'<span class="power">{shown}</span>'


# Filters for texts of the user and for numbers, as the format of a template shows them
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


def rounded(value: float, digits: int = 4) -> str:
    """Return a number with this many significant digits."""
    return f"{float(value):.{digits}g}".replace("-", "−")


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share as a percentage, with a narrow space that does not break."""
    if share is None:
        return "–"
    return f"{100 * float(share):.{digits}f}\u202f%"


def _breakable(cell: object) -> str:
    """Return the HTML of a cell, in which names may break behind _ and =."""
    from markupsafe import escape

    return re.sub(r"(?<=\w[_=])(?=\w)", "<wbr>", escape(cell))


def listed(items: Iterable[str]) -> str:
    """Return items as an enumeration: a, b and c."""
    *others, last = items
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


# Filters that are the same for all formats.
FILTERS: Mapping[str, Callable[..., str]] = {
    "breakable": _breakable,
    "listed": listed,
    "unwrapped": _unwrapped,
    "without_blank_lines": _without_blank_lines,
}


def unit(analysis: Analysis) -> str:
    """Return the units of the features in words."""
    scaled = analysis.material.scaled
    if scaled.all():
        return "features in standard deviations"
    if not scaled.any():
        return "features in their original units"
    n_scaled = int(scaled.sum())
    n_others = len(scaled) - n_scaled
    others = "one, which is"
    if n_others > 1:
        others = f"{n_others:,}, which are"
    return (
        f"{counted(n_scaled, 'feature')} in standard deviations and the other "
        f"{others} not scaled (such as 0/1 columns), in original units"
    )


def shift(analysis: Analysis) -> str:
    """Return the radius of the audit with its unit."""
    scaled = analysis.material.scaled
    radius = rounded(analysis.audit_radius, 3)
    if not scaled.any():
        return radius
    if scaled.all():
        return f"{radius} standard deviations"
    return f"{radius} (in units of each feature)"


def powers(analysis: Analysis) -> str:
    """Return what the adversary can do, as a sentence without its subject."""
    radius = analysis.audit_radius
    flip_cost = analysis.material.flip_cost
    shifts = f"shifts the rows by {shift(analysis)} on average"
    if analysis.material.too_small or math.isinf(flip_cost):
        return shifts
    digits = 1
    if flip_cost == 0:
        # Flips cost nothing: these are all labels.
        digits = 0
    share = percent(share_of_flips(radius, flip_cost), digits)
    return (
        f"{shifts}, or spends the same budget on flipping up to {share} of the labels, "
        "or on a mix of both"
    )


def standings(analysis: Analysis) -> list[str]:
    """Return how the classifier compares with its rivals, a line for each conclusion.

    The table has the figures.
    """
    if not analysis.judged.held_out:
        return []
    # The names of the figures by the conclusion that they lead to.
    conclusions: dict[str, list[str]] = {}
    for key, name in FIGURES.items():
        # Where errors have costs, these alone count.
        if (key == "cost") != (analysis.costs is not None):
            continue
        conclusion = _conclusion(analysis, key)
        if conclusion:
            conclusions.setdefault(conclusion, []).append(name)
    lines = []
    for words, names in conclusions.items():
        lines.append(f"{words[0].upper()}{words[1:]} in {listed(names)}.")
    return lines


def _conclusion(analysis: Analysis, key: str) -> str:
    """Return which rivals the classifier is ahead of, level with and behind."""
    if key == "roc_auc" and analysis.noise:
        return ""
    groups: dict[str, list[str]] = {"ahead of": [], "level with": [], "behind": []}
    for rival, lead in analysis.leads.items():
        if lead[key] is None:
            continue
        low, high = lead[key]["interval"]
        if low > 0:
            groups["ahead of"].append(rival)
        elif high < 0:
            groups["behind"].append(rival)
        else:
            groups["level with"].append(rival)
    parts = [f"{how} {listed(rivals)}" for how, rivals in groups.items() if rivals]
    return ", ".join(parts)


def intervals(analysis: Analysis, key: str) -> list[str]:
    """Return a line of the table.

    It has the interval of a figure, and those of its lead over the rivals.
    """
    cells = ["95\u202f% interval", _interval(analysis.own["intervals"][key], key)]
    for lead in analysis.leads.values():
        if lead[key] is None:
            cells.append("–")
        else:
            cells.append(f"lead {_interval(lead[key]['interval'], key, sign='+')}")
    return cells


def worst_cells(
    analysis: Analysis, rates: Iterable[float | None], digits: int = 1
) -> list[str]:
    """Return worst cases of all classifiers as cells; that of a kernel is a bound."""
    cells = [percent(rate, digits) for rate in rates]
    if analysis.material.has_kernel:
        cells[0] = f"≤ {cells[0]}"
    return cells


def _interval(limits: Sequence[float] | None, key: str, sign: str = "") -> str:
    """Return an interval, in per cent unless it is of a ROC AUC."""
    if limits is None:
        return "–"
    scale = 1
    digits = ".3f"
    if key == "cost":
        digits = ".3g"
    elif key != "roc_auc":
        scale = 100
        digits = ".1f"
    shown = [f"{scale * limit:{sign}{digits}}" for limit in limits]
    return " to ".join(shown).replace("-", "−")


def next_step(analysis: Analysis) -> NextStep:
    """Return the most useful thing to try next.

    It has no command if that is to use something else. The order is: what is wrong
    with the data, what makes the classifier useless, what would do better, what to
    check, and at last what to do with a good classifier.
    """
    material = analysis.material
    leaks = list(material.source.leaky_columns)
    if leaks:
        return _without_leaks(leaks)
    decides_nothing = bool(analysis.noise) and not analysis.multiclass
    is_constant = analysis.constant is not None or decides_nothing
    if analysis.costs is not None:
        step = _cheaper(analysis)
        if step is not None:
            return step
    elif is_constant:
        step = _smaller_radius(analysis) or _equal_weights(analysis)
        if step is not None:
            return step
    if analysis.alternatives and not analysis.moved and not analysis.wrong_shares:
        return _rare_class(analysis)
    step = _better_rival(analysis)
    if step is not None:
        return step
    if is_constant:
        return _cross_validate(
            "Let cross-validation choose the parameters, and look for more informative "
            "features."
        )
    if analysis.rival_ahead(TREES):
        return NextStep(
            "none",
            f"{TREES.capitalize()} are clearly ahead: {USE_TREES}.",
        )
    if analysis.is_guess:
        return NextStep(
            "none",
            "Do not use it. Look for columns that say more about the label, or test it "
            "on more rows.",
        )
    if analysis.moved:
        return NextStep(
            "none",
            "Train it on rows like those it will be applied to: these columns have "
            "moved.",
        )
    if analysis.wrong_shares or analysis.flagged_share >= MANY_FLAGS:
        return _check_labels(analysis)
    return NextStep(
        "fit",
        "Save the classifier, fitted to all rows, and apply it to new ones.",
        'save_model(model.fit(X, y), "model.drsvm")',
        keeps_settings=True,
    )


def _without_leaks(leaks: list[str]) -> NextStep:
    return NextStep(
        "report",
        "Leave out what is known only after the label, and make this report again.",
        f"make_report(model, X.drop(columns={leaks!r}), y)",
        keeps_settings=True,
        changes={"drop": leaks},
    )


def _cheaper(analysis: Analysis) -> NextStep | None:
    """Return what costs less than the classifier, if there is something."""
    rival = analysis.rival_ahead(*analysis.leads)
    if rival is not None:
        how = USE_TREES
        if rival != TREES:
            how = "use it, unless you need the proof"
        return NextStep(
            "none",
            f"With the costs as class weights, {rival} cost clearly less per row: "
            f"{how}.",
        )
    if not saves_costs(analysis.own):
        label = analysis.own["constant"]["label"]
        return NextStep(
            "none",
            f"Do not use it: always answering {label} does not cost clearly more. Look "
            "for columns that say more about the label, or test it on more rows.",
        )
    return None


def _cross_validate(why: str) -> NextStep:
    return NextStep("cross-validate", why, "WassersteinSVCCV().fit(X, y)")


def _better_rival(analysis: Analysis) -> NextStep | None:
    """Return what a linear classifier may learn from a rival that is ahead."""
    material = analysis.material
    if material.has_kernel:
        return None
    linear = [name for name in analysis.leads if name != TREES]
    rival = analysis.rival_ahead(*linear)
    if rival is not None and aims_at_accuracy(material.classifier):
        return _cross_validate(
            f"{rival} is clearly ahead here: let cross-validation choose the "
            "parameters."
        )
    if analysis.rival_ahead(TREES) and material.source.choice is None:
        return NextStep(
            "report",
            f"{TREES.capitalize()} are clearly ahead, so the boundary is not linear: "
            "try a kernel.",
            "make_report(WassersteinKernelSVC(), X, y)",
            changes={"kernel": "rbf"},
        )
    return None


def _check_labels(analysis: Analysis) -> NextStep:
    why = (
        "Look at the contradicted labels. Correct them if many are wrong; otherwise, "
        "save the classifier."
    )
    if analysis.wrong_shares:
        why = (
            "Check the doubtful labels first; correct those that are wrong, and make "
            "this report again."
        )
    changes = {}
    if analysis.material.has_kernel:
        changes["kernel"] = "rbf"
    python = 'find_label_issues(X, y, second_opinion="auto").to_frame()'
    return NextStep("check labels", why, python, changes=changes)


def _rare_class(analysis: Analysis) -> NextStep:
    """Return the settings that find a missed class best."""
    figures = analysis.alternatives
    best = max(figures, key=lambda one: figures[one]["balanced_accuracy"])
    name = type(analysis.material.classifier).__name__
    return NextStep(
        "report",
        f"If rows of class {analysis.missed} must not be missed, decide for it more "
        f"often; on the same rows, this {finds(figures[best], analysis.missed)}.",
        f"make_report({name}({best}), X, y)",
        keeps_settings=True,
        changes={best.option: best.value},
    )


def _smaller_radius(analysis: Analysis) -> NextStep | None:
    """Return a radius at which the classifier is not constant, if there is one."""
    best = analysis.best_radius
    if best is None or best["radius"] >= analysis.radius:
        return None
    if best["accuracy"] <= useful_accuracy(len(analysis.classes)):
        return None
    radius = f"{best['radius']:.3g}"
    why = (
        f"The radius of {rounded(analysis.radius, 3)} is too large for these data. On "
        f"the radius path, {radius} has the highest balanced accuracy, "
        f"{percent(best['accuracy'])} on the {analysis.judged.name}."
    )
    python = f"make_report(WassersteinSVC({radius}), X, y)"
    return NextStep("report", why, python, changes={"radius": radius})


def _equal_weights(analysis: Analysis) -> NextStep | None:
    """Return equal weights of the classes, if most rows are of one."""
    if analysis.material.setting("class_weight") not in (None, "auto"):
        return None
    y = analysis.material.y
    largest = max(np.unique(y, return_counts=True)[1]) / len(y)
    if largest < UNEQUAL:
        return None
    return NextStep(
        "report",
        f"{percent(largest)} of the rows are of one class: give the classes equal "
        "weight.",
        'make_report(WassersteinSVC(class_weight="balanced"), X, y)',
        changes={"class_weight": "balanced"},
    )
