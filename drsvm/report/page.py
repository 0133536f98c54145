"""The page: sections with text, tables and plots. Every string from the user passes through `escape`."""

from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

import drsvm
from drsvm.plotting.style import short
from drsvm.report.analysis import ROBUST, Analysis
from drsvm.report.elements import bars, figure, number, percent, power, table, tiles
from drsvm.report.figures import POINTS
from drsvm.report.words import adversary, adversary_did, proof, sentence, unit

FEATURES, SAMPLES = 12, 8

_BREAKABLE = {
    ROBUST: "Wasserstein<wbr>SVC",
    "LinearSVC": "LinearSVC",
    "LogisticRegression": "Logistic<wbr>Regression",
}


def render(analysis: Analysis, figures: dict[str, str], title: str) -> str:
    """Return the page."""
    sections = (_comparison, _radius, _worst_case, _features, _samples)
    body = "\n".join(section(analysis, figures) for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="drsvm {drsvm.__version__}">
<title>{escape(title)}</title>
<style>
{files("drsvm.report").joinpath("page.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{_opening(analysis)}
</header>
<main>
{_certificate(analysis)}
{body}
</main>
<footer>
<p>Made with drsvm {drsvm.__version__}: <code>{escape(" ".join(repr(analysis.material.model).split()))}</code></p>
</footer>
</body>
</html>
"""


def _opening(analysis: Analysis) -> str:
    own = analysis.comparison[ROBUST]
    rivals = {name: row for name, row in analysis.comparison.items() if name != ROBUST}
    which = "test_accuracy" if own["test_accuracy"] is not None else "train_accuracy"
    where = "held-out" if which == "test_accuracy" else "training"
    best = max(rivals, key=lambda name: rivals[name][which])
    used, d = len(analysis.features), len(analysis.data.coef)
    rows = len(analysis.data.signs)
    items = [
        (f"accuracy, {where} data", percent(own[which]), f"{best}: {percent(rivals[best][which])}"),
        ("worst-case risk", number(own["worst_case_risk"]), "hinge loss, training data"),
        (
            "proven gap",
            power(analysis.result.gap),
            f"{analysis.result.solver}, {number(analysis.result.time, 2)}\u202fs",
        ),
        ("features used", f"{used}", f"of {d}, {rows:,} samples"),
    ]
    notes = "".join(f"<li>{escape(note)}</li>" for note in analysis.material.notes)
    return f'<p class="lead">{sentence(analysis)}</p>\n{tiles(items)}' + (
        f'\n<ul class="notes" aria-label="Warnings">{notes}</ul>' if notes else ""
    )


def _certificate(analysis: Analysis) -> str:
    text = f'<h2>What is proven</h2>\n<div class="card proof">{proof(analysis)}</div>'
    if not analysis.multiclass:
        return text
    rows = [
        [escape(str(label)), number(r.objective, 6), number(r.lower_bound, 6), power(r.gap), str(r.status)]
        for label, r in zip(analysis.classes, analysis.results, strict=True)
    ]
    head = ["class against the rest", "objective", "lower bound", "gap", "status"]
    return (
        f"{text}\n<p>Each class has its own decision and proof. The rest of this page shows "
        f"<strong>{escape(str(analysis.positive))}</strong> against the rest; accuracies are those of all classes.</p>"
        + table(head, rows, own=analysis.index)
    )


def _comparison(analysis: Analysis, figures: dict[str, str]) -> str:
    held_out = analysis.material.X_test is not None
    colours = ("--blue", "--vermillion", "--green")
    rows = []
    for (name, row), colour in zip(analysis.comparison.items(), colours, strict=True):
        cells = [f'<span class="key" style="border-color:var({colour})">{_BREAKABLE[name]}</span>']
        cells += [percent(row["train_accuracy"])]
        cells += [percent(row["test_accuracy"])] if held_out else []
        rows.append([*cells, number(row["worst_case_risk"]), percent(row["worst_case_error"])])
    head = [
        "",
        "accuracy, training",
        *(["accuracy, held out"] if held_out else []),
        "worst-case risk",
        "worst-case error rate",
    ]
    ridge = ", up to its ridge term" if float(analysis.material.setting("l2")) > 0 else ""
    captions = (
        "Worst-case risk around the training data. At the radius it was trained for, the robust classifier has the "
        f"lowest risk of all linear classifiers{ridge}; at other radii, others may have a lower risk.",
        "Worst-case error rate: the share of errors that the adversary can force. None of the classifiers was trained "
        "for it, so no ranking is proven. It does not depend on the scale of the weights.",
    )
    return f"""<h2>Comparison with LinearSVC and LogisticRegression</h2>
<p>Both have default settings and use the same features. The adversary is {adversary(analysis)}.</p>
{table(head, rows, own=0)}
<div class="pair">
{figure(figures["risk-hinge"], "Worst-case hinge risk over the radius, three classifiers", captions[0])}
{figure(figures["risk-error"], "Worst-case error rate over the radius, three classifiers", captions[1])}
</div>"""


def _radius(analysis: Analysis, figures: dict[str, str]) -> str:
    if analysis.path is None:
        return "<h2>The radius</h2>\n<p>Weights of 0 are optimal for every radius, so there is no path.</p>"
    against = " (this class against the rest)" if analysis.multiclass else ""
    captions = (
        "Weights over the radius. A larger radius gives a more cautious classifier, until all weights are 0.",
        f"Accuracy over the radius{against}. If the training data may have wrong labels, use held-out data with "
        "labels you trust.",
    )
    return f"""<h2>The radius</h2>
<p>The same classifier for other radii. At {number(analysis.largest_radius, 3)} and above, all weights are 0.
The vertical line marks the radius in use, {number(float(analysis.ball["radius"]), 3)}.</p>
<div class="pair">
{figure(figures["path-weights"], "Weights of the features over the radius", captions[0])}
{figure(figures["path-scores"], "Accuracy over the radius", captions[1])}
</div>"""


def _worst_case(analysis: Analysis, figures: dict[str, str]) -> str:
    some = f" ({POINTS} of them, chosen at random)" if len(analysis.data.signs) > POINTS else ""
    caption = (
        f"Each marker is a sample{some}. Rings: flipped labels. Arrows: moved samples. Moving pays only for samples "
        "inside the margins or on the wrong side; flipping pays only for samples far on the correct side."
    )
    return f"""<h2>The worst case</h2>
<p>{adversary_did(analysis)}</p>
{figure(figures["worst-case"], "Samples, the decision line and what the adversary does", caption, wide=True)}"""


def _features(analysis: Analysis, figures: dict[str, str]) -> str:
    shown = analysis.features[:FEATURES]
    if not shown:
        return "<h2>Features</h2>\n<p>All weights are 0: the classifier predicts the same class for every sample.</p>"
    against, towards = (escape(name) for name in analysis.side_names)
    left, right = (escape(short(name, 14)) for name in analysis.side_names)
    ends = f'<span class="ends"><span>← {left}</span><span>{right} →</span></span>'
    largest = abs(shown[0][1])
    rows = [[escape(name), number(weight), bars(weight / largest)] for name, weight in shown]
    more = len(analysis.features) - len(shown)
    rest = f" {more} more have smaller weights." if more else ""
    return f"""<h2>Most important features</h2>
<p>Weights for {unit(analysis)}. A bar to the right means that larger values favour <strong>{towards}</strong>, a bar to
the left <strong>{against}</strong>.{rest}</p>
<div class="narrow">{table(["feature", "weight", ends], rows)}</div>"""


def _samples(analysis: Analysis, figures: dict[str, str]) -> str:
    pulls = _rows(analysis, analysis.hardest_pulls(SAMPLES), lambda row: percent(analysis.pulls[row], 2))
    flips = _rows(analysis, analysis.first_flipped(SAMPLES), lambda row: percent(float(analysis.flipped[row]), 0))
    cards = [
        _doubtful_labels(analysis),
        _card(
            "Most influential samples",
            f"{percent(analysis.carried_by)} of the samples have a nonzero multiplier. These pull the weights most "
            "strongly; the figure is their share of all pulls.",
            ["sample", "label", "pull"],
            pulls,
        ),
        _card(
            "Labels the adversary flips",
            "The labels that the classifier relies on most: every flip costs the same, and these do most harm.",
            ["sample", "label", "flipped"],
            flips,
        ),
    ]
    note = analysis.material.row_note
    numbered = f"<p>{escape(note)}</p>\n" if note else ""
    return f'<h2>Most important samples</h2>\n{numbered}<div class="trio">{"".join(cards)}</div>'


def _doubtful_labels(analysis: Analysis) -> str:
    title, issues = "Labels worth checking", analysis.label_issues
    if issues is None:
        return _card(title, "Not judged: a class has only one row, or there was no time left.", [], [])
    text = (
        f"{escape(issues.summary())} Every label is judged by a classifier trained without its row. This is a ranking "
        "of what to look at first; it proves nothing about a single label."
    )
    shown = analysis.contradicted(SAMPLES)
    rows = [
        [*cells[:2], escape(str(issues.predicted_label[row])), cells[2]]
        for row, cells in zip(shown, _rows(analysis, shown, lambda row: f"{issues.label_score[row]:.3f}"), strict=True)
    ]
    return _card(title, text, ["sample", "label", "predicted", "score"], rows, text_columns=3)


def _rows(analysis: Analysis, rows: np.ndarray, figure_of) -> list[list[str]]:
    names, labels = analysis.material.row_names, analysis.material.y
    return [[escape(names[row]), escape(str(labels[row])), figure_of(row)] for row in rows]


def _card(title: str, text: str, head: list[str], rows: list[list[Any]], text_columns: int = 2) -> str:
    body = table(head, rows, text=text_columns) if rows else '<p class="soft">None.</p>'
    return f'<section class="card"><h3>{title}</h3><p class="soft">{text}</p>{body}</section>\n'
