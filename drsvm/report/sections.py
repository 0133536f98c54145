"""The sections of a report, in order, written with the markup of a `writers` class."""

import math

import numpy as np

import drsvm
from drsvm.learn.scores import weights_that_count
from drsvm.plotting.style import short
from drsvm.report import words
from drsvm.report.analysis import NEGLIGIBLE, Analysis
from drsvm.report.figures import POINTS
from drsvm.report.writers import ROBUST, Bars, Figure, Writer, number, percent

FEATURES, SAMPLES = 12, 8

SHIFT_SIZES = {1: "the sum of its changes", 2: "its Euclidean length", math.inf: "its largest change in one feature"}


def document(analysis: Analysis, title: str, writer: Writer) -> str:
    """Return the report; of a constant decision, only what is not noise."""
    useful = analysis.informative
    sections = [_per_class, _certificate, *([_comparison] if useful else []), _radius]
    sections += [_worst_case, _features, _samples] if useful else []
    sections += [_reading] if analysis.material.source.notes else []
    settings = " ".join(repr(analysis.material.model).split())
    return writer.document(
        title=writer.text(title),
        opening=_opening(analysis, writer),
        sections=[section(analysis, writer) for section in (*sections, _audit)],
        footer=f"Made with drsvm {drsvm.__version__}: {writer.code(settings)}",
    )


def _opening(analysis: Analysis, writer: Writer) -> list:
    step = words.next_step(analysis)
    warning = words.constant_warning(analysis, writer) or words.tell_tale_warning(analysis, writer)
    notes = [writer.text(note) for note in (*analysis.material.notes, words.noise_warning(analysis)) if note]
    if not analysis.judged.held_out:
        notes.append(
            "No rows are held out: the figures are those of the training rows, and optimistic for every classifier."
        )
    return [
        writer.notes([warning] if warning else []),
        writer.paragraph(_first_sentences(analysis, writer), "lead"),
        _figures_of_merit(analysis, writer),
        writer.notes(notes),
        writer.items(words.in_plain_words(analysis, writer)),
        writer.paragraph(f"Next: {writer.text(step.why)}"),
        writer.command(analysis.material.source.command(step)),
    ]


def _first_sentences(analysis: Analysis, writer: Writer) -> str:
    against, towards = (writer.strong(name) for name in analysis.side_names)
    label = analysis.material.label
    of = f"The label is {writer.strong(label)}" if label else "The label"
    if analysis.multiclass:
        what = f"has {len(analysis.classes)} classes, each told apart from the rest; {towards} is shown as positive"
    else:
        what = f"is {towards} (the positive class) or {against}"
    subject = f"{of}: it {what}." if label else f"{of} {what}."
    (rows, features), held_out = analysis.material.X.shape, len(analysis.judged.y)
    tested = f" and judged by {held_out:,} others" if analysis.judged.held_out else ""
    return (
        f"{subject} A linear classifier was trained on {rows:,} rows with {features:,} features{tested}"
        f", to do well even if {words.adversary(analysis, 'an adversary')}."
    )


def _figures_of_merit(analysis: Analysis, writer: Writer) -> str:
    columns = list(analysis.comparison.values())

    def row(name: str, key: str) -> list:
        return [name, *(_share(figures[key]) for figures in columns)]

    auc = ["ROC AUC", *("–" if one["roc_auc"] is None else f"{one['roc_auc']:.3f}" for one in columns)]
    auc[1] += " (noise)" if analysis.noise and auc[1] != "–" else ""
    rows = [row("accuracy", "accuracy"), row("balanced accuracy", "balanced_accuracy"), auc]
    rows.append(row("worst-case error rate", "worst_case_error"))
    head = [analysis.judged.counted, *map(writer.key, analysis.comparison)]
    return writer.table(head, rows, own=0)


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _per_class(analysis: Analysis, writer: Writer) -> str:
    own, lines = analysis.own, analysis.own["confusion"]
    shown = [writer.text(short(str(label), 20)) for label in lines]
    per_class = [
        [name, f"{sum(line.values()):,}", _share(own["recall"][label]), _share(own["precision"][label])]
        for name, (label, line) in zip(shown, lines.items(), strict=True)
    ]
    tables = [writer.table(["class", "rows", "recall", "precision"], per_class)]
    if len(lines) <= 6:
        rows = zip(shown, lines.values(), strict=True)
        counts = [[name, *(f"{count:,}" for count in line.values())] for name, line in rows]
        tables.append(writer.table(["actual \\ predicted", *shown], counts))
    text = f"What {ROBUST} predicts on the {analysis.judged.counted}."
    return writer.section("Class by class", text, *tables)


def _certificate(analysis: Analysis, writer: Writer) -> str:
    details = (
        "The lower bound comes from the dual problem and is computed by the same strict function for every solver. "
        f"The size of a shift is {SHIFT_SIZES[float(analysis.material.ball['norm'])]}, with {words.unit(analysis)}; "
        "the risk is the mean hinge loss, which is 1 if all decision values are 0."
    )
    proof = writer.paragraph(_proof(analysis, writer))
    box = writer.card("", proof, writer.paragraph(details, "soft"), kind="proof")
    if not analysis.multiclass:
        return writer.section("What is proven", "", box)
    rows = [
        [writer.text(label), number(r.objective, 6), number(r.lower_bound, 6), writer.power(r.gap), str(r.status)]
        for label, r in zip(analysis.classes, analysis.material.results, strict=True)
    ]
    text = (
        "Each class has its own decision and proof. Hinge risks, path, features and pulls are those of "
        f"{writer.strong(analysis.positive)} against the rest; accuracies and error rates are those of all classes."
    )
    head = ["class against the rest", "objective", "lower bound", "gap", "status"]
    table = writer.table(head, rows, own=analysis.index)
    return writer.section("What is proven", "", box, writer.paragraph(text), table)


def _proof(analysis: Analysis, writer: Writer) -> str:
    result = analysis.result
    parts = {
        "with the intercept inside the norm": math.isfinite(analysis.material.setting("intercept_cost")),
        "plus ridge term": float(analysis.material.setting("l2")) > 0,
    }
    further = ", ".join(part for part, holds in parts.items() if holds)
    objective = f"objective (worst-case risk {further})" if further else "worst-case risk"
    bound = f" (only for {result.condition})" if result.condition else ""
    # Enough digits to distinguish objective and bound.
    digits = min(max(4, 1 - math.floor(math.log10(max(result.gap, 1e-12)))), 12)
    value, lowest = (writer.strong(f"{one:.{digits}f}") for one in (result.objective, result.lower_bound))
    ending = "This is within the requested tolerance."
    if not result.status.reached:
        ending = f"The run ended early: {result.status.message}. The statement above is still valid."
    whose = f"the decision for {writer.strong(analysis.positive)}" if analysis.multiclass else "this classifier"
    return (
        f"On the training rows the {objective} of {whose} is {value}. No linear classifier{bound} can go below "
        f"{lowest}. So no method can improve on it by more than {writer.power(result.gap)}. {ending}"
    )


def _comparison(analysis: Analysis, writer: Writer) -> str:
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
    figures = writer.figures(
        Figure("risk-hinge", "Worst-case hinge risk over the radius, three classifiers", captions[0]),
        Figure("risk-error", "Worst-case error rate over the radius, three classifiers", captions[1]),
    )
    return writer.section("Under attack, beside LinearSVC and LogisticRegression", text, figures)


def _radius(analysis: Analysis, writer: Writer) -> str:
    best = analysis.best_radius
    if analysis.path is None or best is None:
        return writer.section("The radius", "Weights of 0 are optimal for every radius, so there is no path.")
    against = " (this class against the rest)" if analysis.multiclass else ""
    last = int(analysis.path.radii.argmax())
    left = int(weights_that_count(analysis.path[last], analysis.deviations).sum())
    end = "all weights are 0" if left == 0 else f"{left:,} features still have weights"
    text = (
        f"The same classifier for other radii than the one in use, {number(analysis.radius, 3)}. At "
        f"{number(analysis.path.radii[last], 3)}, the largest radius tried, {end}."
    )
    if best.gain > 0:
        text += (
            f" On the {analysis.judged.name}, {number(best.radius, 3)} has the highest balanced accuracy{against}, "
            f"{percent(best.accuracy)}. It was chosen on these rows, so expect slightly less on others."
        )
    caption = "Weights over the radius. A larger radius gives a more cautious classifier."
    weights = Figure("path-weights", "Weights of the features over the radius", caption)
    caption = f"Balanced accuracy over the radius{against}. If the training data may have wrong labels, use held-out "
    scores = Figure("path-scores", "Balanced accuracy over the radius", caption + "data with labels you trust.")
    shown = [weights, scores] if analysis.informative else [scores]
    line = writer.caption("The vertical line marks the radius in use.")
    return writer.section("The radius", text, line, writer.figures(*shown))


def _worst_case(analysis: Analysis, writer: Writer) -> str:
    distribution = analysis.distribution
    flipped, moving = float(distribution.mass[distribution.flipped].sum()), distribution.shift > 0
    moved = float(distribution.mass[moving].sum())
    deeds = [f"flips {percent(flipped)} of the labels" if flipped > 0 else "flips no label"]
    if moved > 0 and distribution.attained:
        deeds.append(f"moves {percent(moved)} of the rows by {number(distribution.shift.max(), 3)}")
    elif moved > 0:
        deeds.append("moves a tiny part of the rows very far (the worst case is approached but not attained)")
    else:
        deeds.append("moves no row")
    whose = "the overall" if analysis.multiclass else "its"
    calm = float((1 - distribution._data.margins).clip(min=0).mean())
    text = (
        f"On the {analysis.judged.counted}, the worst distribution for this classifier "
        f"{' and '.join(deeds)}. This raises its hinge risk from {number(calm)} to {number(distribution.risk)}, and "
        f"{whose} error rate can reach {percent(analysis.own['worst_case_error'])}."
    )
    some = f" ({POINTS} of them, chosen at random)" if len(analysis.judged.y) > POINTS else ""
    caption = (
        f"Each marker is one of the {analysis.judged.name}{some}. Rings: flipped labels. Arrows: moved rows. Moving "
        "pays only for rows inside the margins or on the wrong side; flipping pays only far on the correct side."
    )
    figure = Figure("worst-case", "Rows, the decision line and what the adversary does", caption)
    return writer.section("The worst case", text, writer.figures(figure))


def _features(analysis: Analysis, writer: Writer) -> str:
    shown = analysis.features[:FEATURES]
    if not shown:
        return writer.section("Features", "All weights are 0: the classifier predicts the same class for every row.")
    against, towards = (writer.strong(name) for name in analysis.side_names)
    against_end, towards_end = (writer.text(short(name, 14)) for name in analysis.side_names)
    bars = Bars((against_end, towards_end), [weight / abs(shown[0][1]) for _, weight in shown])
    units = ["1 standard deviation" if analysis.material.scaled[k] else "1" for k in analysis.used]
    rows = [[writer.text(name), unit, number(weight)] for (name, weight), unit in zip(shown, units, strict=False)]
    more = len(analysis.features) - len(shown)
    rest = f" {more:,} more {'has a smaller weight' if more == 1 else 'have smaller weights'}." if more else ""
    text = (
        "A weight is the change of the decision value when its feature grows by one unit. A positive weight means that "
        f"larger values favour {towards}, a negative one {against}.{rest}"
    )
    table = writer.table(["feature", "unit", "weight"], rows, n_text=2, bars=bars)
    return writer.section("Most important features", text, table)


def _samples(analysis: Analysis, writer: Writer) -> str:
    cards = writer.side_by_side(_doubtful_labels(analysis, writer), _pulls(analysis, writer))
    return writer.section("Rows to look at", writer.text(analysis.material.row_note), cards)


def _pulls(analysis: Analysis, writer: Writer) -> str:
    title = "Most influential rows"
    active = analysis.result.hinge_dual + analysis.result.flip_dual > NEGLIGIBLE * analysis.weights
    carried = f"{percent(active.mean())} of the training rows have a nonzero multiplier."
    rows = np.argsort(-analysis.pulls, kind="stable")[:SAMPLES]
    rows = rows[analysis.pulls[rows] > 0]
    figures = [percent(analysis.pulls[row], 2) for row in rows]
    if len(rows) > 1 and len(set(figures)) == 1:
        text = f"{carried} The strongest pulls on the weights are equal ({figures[0]} each): no row stands out."
        return writer.card(title, writer.paragraph(text, "soft"))
    text = f"{carried} These pull the weights most strongly; the figure is their share of all pulls."
    return _card_of_rows(analysis, writer, title, text, rows, {"pull": figures})


def _doubtful_labels(analysis: Analysis, writer: Writer) -> str:
    title, issues = "Labels worth checking", analysis.label_issues
    if issues is None:
        text = "Not judged: a class has only one row, or there was no time left."
        return writer.card(title, writer.paragraph(text, "soft"))
    judges = "a classifier that was trained without its row"
    if issues.second_label is not None:
        judges = "a linear classifier and by boosted trees, trained without its row; what both contradict comes first"
    text = (
        f"{writer.text(issues.summary())} Every label is judged by {judges}. The score also counts the linear "
        "classifier of all rows. This is a ranking of what to look at first; it proves nothing about a single label."
    )
    rows = analysis.contradicted(SAMPLES)
    predicted = [writer.text(issues.predicted_label[row]) for row in rows]
    columns = {"predicted": predicted, "score": [f"{issues.label_score[row]:.3f}" for row in rows]}
    return _card_of_rows(analysis, writer, title, text, rows, columns)


def _card_of_rows(analysis: Analysis, writer: Writer, title: str, text: str, rows, columns) -> str:
    """Return a box with a table of rows: their names and labels, and further columns, the last one of figures."""
    names = [writer.text(analysis.material.row_names[row]) for row in rows]
    labels = [writer.text(analysis.material.y[row]) for row in rows]
    cells = list(zip(names, labels, *columns.values(), strict=True))
    table = writer.table(["row", "label", *columns], cells, n_text=1 + len(columns))
    return writer.card(title, writer.paragraph(text, "soft"), table if cells else writer.paragraph("None.", "soft"))


def _reading(analysis: Analysis, writer: Writer) -> str:
    notes = [writer.paragraph(writer.text(note)) for note in analysis.material.source.notes]
    return writer.section("How the file was read", "", *notes)


def _audit(analysis: Analysis, writer: Writer) -> str:
    flips, shifts = analysis.bounds["flipped_labels"], analysis.bounds["shifted_features"]
    text = (
        f"The largest error rate on the {analysis.judged.counted} that each change can cause: "
        f"exact values, not estimates. All rows count the same, and a row on the boundary is an error."
    )
    return writer.section(
        "For auditors",
        text,
        _bounds(writer, "labels flipped", [percent(share, 0) for share in flips["share"]], flips["error"]),
        writer.paragraph(f"Shifts of the rows, on average, with {words.unit(analysis)}:"),
        _bounds(writer, "average shift", [number(shift, 3) for shift in shifts["shift"]], shifts["error"]),
        writer.table(["", ""], _identity(analysis, writer), n_text=2),
    )


def _bounds(writer: Writer, name: str, budgets: list[str], errors: dict[str, list[float]]) -> str:
    rows = [[budget, *(percent(values[k], 2) for values in errors.values())] for k, budget in enumerate(budgets)]
    return writer.table([name, *map(writer.key, errors)], rows)


def _identity(analysis: Analysis, writer: Writer) -> list[tuple[str, str]]:
    known = analysis.provenance
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    file = known["data_file"] or {"name": "", "sha256": None}
    digests = {
        file["name"]: file["sha256"],
        "the training rows": known["training_rows_sha256"],
        "the held-out rows": known["held_out_rows_sha256"],
        "the model": known["model_sha256"],
    }
    return [
        ("date (UTC)", writer.text(known["date"])),
        ("versions", writer.text(versions)),
        *((f"SHA-256 of {writer.text(name)}", writer.code(digest)) for name, digest in digests.items() if digest),
    ]
