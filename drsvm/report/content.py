"""What a report says, in order; `page` and `text` write it down."""

import drsvm
from drsvm.plotting.style import short
from drsvm.report import words
from drsvm.report.advice import constant_warning, next_step, noise_warning, paragraph, tell_tale_warning
from drsvm.report.analysis import ROBUST, Analysis
from drsvm.report.audit import audit_section
from drsvm.report.blocks import (
    Bar,
    Caption,
    Card,
    Cards,
    Command,
    Document,
    Figure,
    Figures,
    Key,
    Notes,
    Section,
    Table,
    Text,
)
from drsvm.report.figures import POINTS
from drsvm.report.styles import Style, number, percent

FEATURES, SAMPLES = 12, 8


def document(analysis: Analysis, title: str, style: Style) -> Document:
    """Return the report; of a constant decision, only what is not noise."""
    useful = analysis.informative
    sections = [_per_class, _certificate, *([_comparison] if useful else []), _radius]
    sections += [_worst_case, _features, _samples] if useful else []
    sections += [_reading] if analysis.material.shell and analysis.material.shell.notes else []
    settings = " ".join(repr(analysis.material.model).split())
    return Document(
        title=style.text(title),
        opening=_opening(analysis, style),
        sections=[section(analysis, style) for section in (*sections, audit_section)],
        footer=f"Made with drsvm {drsvm.__version__}: {style.code(settings)}",
    )


def _opening(analysis: Analysis, style: Style) -> list:
    step, warning = next_step(analysis), constant_warning(analysis, style) or tell_tale_warning(analysis, style)
    notes = [style.text(note) for note in (*analysis.material.notes, noise_warning(analysis)) if note]
    if not analysis.judged.held_out:
        notes.append(
            "No rows are held out: the figures are those of the training rows, and optimistic for every classifier."
        )
    return [
        *([Notes([warning])] if warning else []),
        Text(words.sentence(analysis, style), "lead"),
        _figures_of_merit(analysis, style),
        *([Notes(notes)] if notes else []),
        Text(paragraph(analysis, style)),
        Text(f"Next: {style.text(step.why)}"),
        Command(step.command),
    ]


def _figures_of_merit(analysis: Analysis, style: Style) -> Table:
    columns = list(analysis.comparison.values())

    def row(name: str, key: str) -> list:
        return [name, *(_share(figures[key]) for figures in columns)]

    auc = ["ROC AUC", *("–" if one["roc_auc"] is None else f"{one['roc_auc']:.3f}" for one in columns)]
    auc[1] += " (noise)" if analysis.noise and auc[1] != "–" else ""
    rows = [row("accuracy", "accuracy"), row("balanced accuracy", "balanced_accuracy"), auc]
    side = f", {style.text(short(analysis.positive, 14))} against the rest" if analysis.multiclass else ""
    rows.append(row(f"worst-case error rate{side}", "worst_case_error"))
    return Table([f"{len(analysis.judged.y):,} {analysis.judged.name}", *map(Key, analysis.comparison)], rows, own=0)


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _per_class(analysis: Analysis, style: Style) -> Section:
    own, lines = analysis.own, analysis.own["confusion"]
    shown = [style.text(short(str(label), 20)) for label in lines]
    per_class = [
        [name, f"{sum(line.values()):,}", _share(own["recall"][label]), _share(own["precision"][label])]
        for name, (label, line) in zip(shown, lines.items(), strict=True)
    ]
    blocks = [Table(["class", "rows", "recall", "precision"], per_class)]
    if len(lines) <= 6:
        rows = zip(shown, lines.values(), strict=True)
        counts = [[name, *(f"{count:,}" for count in line.values())] for name, line in rows]
        blocks.append(Table(["actual \\ predicted", *shown], counts))
    text = f"What {ROBUST} predicts on the {len(analysis.judged.y):,} {analysis.judged.name}."
    return Section("Class by class", [Text(text), *blocks])


def _certificate(analysis: Analysis, style: Style) -> Section:
    box = Card("", [Text(words.proof(analysis, style)), Text(words.proof_details(analysis), "soft")], "proof")
    if not analysis.multiclass:
        return Section("What is proven", [box])
    rows = [
        [style.text(label), number(r.objective, 6), number(r.lower_bound, 6), style.power(r.gap), str(r.status)]
        for label, r in zip(analysis.classes, analysis.results, strict=True)
    ]
    text = (
        f"Each class has its own decision and proof. Worst cases, path, features and pulls are those of "
        f"{style.strong(analysis.positive)} against the rest; accuracies are those of all classes."
    )
    table = Table(["class against the rest", "objective", "lower bound", "gap", "status"], rows, own=analysis.index)
    return Section("What is proven", [box, Text(text), table])


def _comparison(analysis: Analysis, style: Style) -> Section:
    where = analysis.judged.name
    text = (
        f"LinearSVC and LogisticRegression have default settings and use the same features. The adversary is "
        f"{words.adversary(analysis)}; here it attacks the {where}."
    )
    captions = (
        f"Worst-case risk on the {where}. Only {ROBUST} was trained to minimise this, on the training rows.",
        f"Worst-case error rate on the {where}: the share of errors that the adversary can force. None of the "
        "classifiers was trained to minimise this. It does not depend on the scale of the weights.",
    )
    figures = [
        Figure("risk-hinge", "Worst-case hinge risk over the radius, three classifiers", captions[0]),
        Figure("risk-error", "Worst-case error rate over the radius, three classifiers", captions[1]),
    ]
    return Section("Under attack, beside LinearSVC and LogisticRegression", [Text(text), Figures(figures)])


def _radius(analysis: Analysis, style: Style) -> Section:
    best = analysis.best_radius
    if analysis.path is None or best is None:
        return Section("The radius", [Text("Weights of 0 are optimal for every radius, so there is no path.")])
    against = " (this class against the rest)" if analysis.multiclass else ""
    use = number(analysis.radius, 3)
    text = f"The same classifier for other radii than the one in use, {use}. {words.end_of_path(analysis)}"
    if analysis.gain_of_best_radius > 0:
        text += (
            f" On the {analysis.judged.name}, {number(best[0], 3)} has the highest balanced accuracy{against}, "
            f"{percent(best[1])}. It was chosen on these rows, so expect slightly less on others."
        )
    weights = Figure(
        "path-weights",
        "Weights of the features over the radius",
        "Weights over the radius. A larger radius gives a more cautious classifier.",
    )
    scores = Figure(
        "path-scores",
        "Balanced accuracy over the radius",
        f"Balanced accuracy over the radius{against}. If the training data may have wrong labels, use held-out data "
        "with labels you trust.",
    )
    shown = [weights, scores] if analysis.informative else [scores]
    return Section("The radius", [Text(text), Caption("The vertical line marks the radius in use."), Figures(shown)])


def _worst_case(analysis: Analysis, style: Style) -> Section:
    some = f" ({POINTS} of them, chosen at random)" if len(analysis.judged.y) > POINTS else ""
    caption = (
        f"Each marker is one of the {analysis.judged.name}{some}. Rings: flipped labels. Arrows: moved rows. Moving "
        "pays only for rows inside the margins or on the wrong side; flipping pays only far on the correct side."
    )
    figure = Figure("worst-case", "Rows, the decision line and what the adversary does", caption)
    return Section("The worst case", [Text(words.adversary_did(analysis)), Figures([figure])])


def _features(analysis: Analysis, style: Style) -> Section:
    shown = analysis.features[:FEATURES]
    if not shown:
        return Section("Features", [Text("All weights are 0: the classifier predicts the same class for every row.")])
    against, towards = (style.strong(name) for name in analysis.side_names)
    ends = [style.text(short(name, 14)) for name in analysis.side_names]
    largest = abs(shown[0][1])
    units = ["1 standard deviation" if analysis.material.scaled[k] else "1" for k in analysis.used]
    rows = [
        [style.text(name), unit, number(weight), Bar(weight / largest)]
        for (name, weight), unit in zip(shown, units, strict=False)
    ]
    more = len(analysis.features) - len(shown)
    rest = f" {more:,} more {'has a smaller weight' if more == 1 else 'have smaller weights'}." if more else ""
    text = (
        "A weight is the change of the decision value when its feature grows by one unit. A positive weight means that "
        f"larger values favour {towards}, a negative one {against}.{rest}"
    )
    return Section("Most important features", [Text(text), Table(["feature", "unit", "weight", ends], rows, text=2)])


def _samples(analysis: Analysis, style: Style) -> Section:
    note = analysis.material.row_note
    cards = Cards([_doubtful_labels(analysis, style), _pulls(analysis, style)])
    return Section("Rows to look at", [*([Text(style.text(note))] if note else []), cards])


def _pulls(analysis: Analysis, style: Style) -> Card:
    title = "Most influential rows"
    carried = f"{percent(analysis.carried_by)} of the training rows have a nonzero multiplier."
    rows = analysis.hardest_pulls(SAMPLES)
    figures = [percent(analysis.pulls[row], 2) for row in rows]
    if len(rows) > 1 and len(set(figures)) == 1:
        text = f"{carried} The strongest pulls on the weights are equal ({figures[0]} each): no row stands out."
        return Card(title, [Text(text, "soft")])
    text = f"{carried} These pull the weights most strongly; the figure is their share of all pulls."
    cells = [[*_name_and_label(analysis, row, style), figure] for row, figure in zip(rows, figures, strict=True)]
    return Card(title, [Text(text, "soft"), _table_or_none(["row", "label", "pull"], cells, 2)])


def _doubtful_labels(analysis: Analysis, style: Style) -> Card:
    title, issues = "Labels worth checking", analysis.label_issues
    if issues is None:
        return Card(title, [Text("Not judged: a class has only one row, or there was no time left.", "soft")])
    text = (
        f"{style.text(issues.summary())} Every label is judged by classifiers trained without its row: a linear one, "
        "and boosted trees. This is a ranking of what to look at first; it proves nothing about a single label."
    )
    cells = [
        [
            *_name_and_label(analysis, row, style),
            style.text(issues.predicted_label[row]),
            f"{issues.label_score[row]:.3f}",
        ]
        for row in analysis.contradicted(SAMPLES)
    ]
    return Card(title, [Text(text, "soft"), _table_or_none(["row", "label", "predicted", "score"], cells, 3)])


def _reading(analysis: Analysis, style: Style) -> Section:
    shell = analysis.material.shell
    return Section("How the file was read", [Text(style.text(note)) for note in (shell.notes if shell else ())])


def _name_and_label(analysis: Analysis, row: int, style: Style) -> list[str]:
    return [style.text(analysis.material.row_names[row]), style.text(analysis.material.y[row])]


def _table_or_none(head: list[str], rows: list, text: int) -> Table | Text:
    return Table(head, rows, text=text) if rows else Text("None.", "soft")
