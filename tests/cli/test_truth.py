"""Every sentence of ``fit`` and ``report`` on tables of known truth is true there, and the advice is the right one.

A sentence without a check is an error: whoever adds one says here what would make it
false. Figures of the test are compared with those of many fresh rows of the same
population, within what chance explains.
"""

import math
import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from known_truth import TRUTHS, Truth
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from drsvm import load_model

FRESH = 4000
NUMBER = r"([\d,.]+(?:e[-−]\d+)?)"
RIVALS = "LinearSVC", "LogisticRegression", "boosted trees"


def value(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-").rstrip("."))


@dataclass(eq=False)
class World:
    """A table, what is true of its population, and what the commands said about it."""

    truth: Truth
    frame: pd.DataFrame
    wrong: np.ndarray  # labels of the table that were changed
    fresh: pd.DataFrame  # many rows of the population that the test rows are from
    predicted: np.ndarray  # for these
    decisions: np.ndarray
    fitted: str  # what fit printed
    told: str  # what report printed
    page: str
    notes: list[str]

    def costs(self, answers) -> float:
        """Return what answers for the fresh rows cost per row."""
        labels = self.fresh["label"]
        no, yes = self.truth.costs
        dear = np.where(labels == "yes", yes, no)
        return float((dear * (labels != answers)).mean())

    @property
    def share(self) -> dict[str, float]:
        return self.fresh["label"].value_counts(normalize=True).to_dict()

    def near(
        self, shown: float, expected: float, n: float, slack: float = 0.03
    ) -> bool:
        """Return whether a rate of n test rows is what chance and a smaller training set make of the expected one."""
        return (
            abs(shown - expected)
            <= 4.0 * math.sqrt(max(expected * (1 - expected), 0.01) / n) + slack
        )


# Tables that are much like another one take their time in ``make test-long`` only.
ALIKE = (
    "linear",
    "xor",
    "labels correct",
    "10 % wrong",
    "leak",
    "unscaled",
    "circle, 25 % wrong",
    "overlap",
    "rare class",
    "numeric leak",
    "2 % positives",
    "2 % positives, costs",
    "useless label",
    "wide",
    "dated",
    "in order",
    "steps",
    "costs",
)
TABLES = [
    pytest.param(name, marks=pytest.mark.thorough) if name in ALIKE else name
    for name in TRUTHS
]


@pytest.fixture(scope="module", params=TABLES)
def world(request, tmp_path_factory, one_command):
    truth = TRUTHS[request.param]
    rng = np.random.default_rng(list(TRUTHS).index(request.param))
    folder = tmp_path_factory.mktemp("truth")
    frame, wrong = truth.draw(rng, truth.n)
    fresh = truth.draw(rng, FRESH)[0]
    more = []
    frame.to_csv(folder / "table.csv", index=False)
    if request.param == "drifted":
        fresh["x0"] += 1.5
        fresh.iloc[:400].to_csv(folder / "test.csv", index=False)
        more = ["--test", folder / "test.csv"]
    if truth.costs is not None:
        more = ["--costs", "no={:g},yes={:g}".format(*truth.costs)]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(
            "drsvm.report.report.draw_all", lambda analysis: defaultdict(str)
        )
        monkeypatch.setattr("typer.main.get_command", one_command)
        given = [folder / "table.csv", "--label", "label", *more]
        remember_choices(monkeypatch)
        fitted, fit_notes = said(
            monkeypatch, "fit", *given, "--model", folder / "m.drsvm"
        )
        told, report_notes = said(
            monkeypatch, "report", *given, "--output", folder / "r.md"
        )
    model = load_model(folder / "m.drsvm")
    rows = fresh.drop(columns="label")
    page = (folder / "r.md").read_text(encoding="utf-8")
    notes = [
        line.removeprefix("note: ") for line in (fit_notes + report_notes).splitlines()
    ]
    return World(
        truth,
        frame,
        wrong,
        fresh,
        model.predict(rows),
        model.decision_function(rows),
        fitted,
        told,
        page,
        notes,
    )


def remember_choices(monkeypatch) -> None:
    """Let the second of two commands take the kernel that the first has chosen for the same rows."""
    # Both commands are imported here: what they import is to be the function itself.
    from drsvm.cli import choose_kernel, fit_and_test, report_on_file

    known = {}
    choose = choose_kernel.choose_kernel

    def remembered(*given):
        X = given[3].X
        if X.tobytes() not in known:
            known[X.tobytes()] = choose(*given)
        return known[X.tobytes()]

    monkeypatch.setattr(choose_kernel, "choose_kernel", remembered)
    monkeypatch.setattr(fit_and_test, "choose_kernel", remembered)
    monkeypatch.setattr(report_on_file, "choose_kernel", remembered)


def said(monkeypatch, *arguments) -> tuple[str, str]:
    """Return what a command prints, and its notes."""
    import io

    from drsvm.cli import main

    out = io.StringIO()
    err = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code, err.getvalue()
    return out.getvalue(), err.getvalue()


# --- what fit says, by the first word of its lines
# --------------------------------------------------------------------


def data(text, world):
    counts = world.frame["label"].value_counts()
    n_features = {"text": 1}.get(
        "text" if "review" in world.frame else "", world.frame.shape[1] - 1
    )
    plural = "feature" if n_features == 1 else "features"
    classes = f"labels no ({counts['no']:,}), yes ({counts['yes']:,}); positive: yes"
    assert text == f"{len(world.frame):,} rows, {n_features} {plural}, {classes}"


def choice(text, world):
    assert text.startswith(
        "kernel rbf: ROC AUC on unseen rows" if world.truth.curved else "linear: "
    )
    if "does not rank" in text:
        assert not world.truth.curved and "0." in text


def adversary(text, world):
    shifts = [value(number) for number in re.findall(rf"by {NUMBER}", text)]
    assert ("too little to matter in practice" in text) == (shifts[-1] < 0.02)
    assert (
        "all labels are trusted" in text and "numbers clipped and standardised" in text
    )


def proof(text, world):
    # With landmarks that are no rows, two gaps are proven.
    landmarks = rf" for these landmarks and {NUMBER} above that for all functions"
    gap, anywhere, tolerance = re.search(
        rf"at most {NUMBER} above the optimum(?:{landmarks})? "
        rf"\(tolerance {NUMBER}: optimal(?: in span)?\)",
        text,
    ).groups()
    assert world.truth.curved == (anywhere is not None)
    assert value(gap) <= value(tolerance)


def figures(text, world, trained: bool = False):
    pattern = rf"accuracy {NUMBER} \(always (\w+): {NUMBER}\), balanced {NUMBER}, ROC AUC {NUMBER} \({NUMBER} rows\)"
    accuracy, label, always, balanced, area, n = re.search(pattern, text).groups()
    n = value(n)
    truth = world.fresh["label"]
    assert (
        label == max(world.share, key=world.share.get)
        or abs(world.share[label] - 0.5) < 0.1
    )
    assert world.near(value(always), world.share[label], n, 0.02)
    if trained:  # optimistic
        return
    rarer = min(world.share.values()) * n
    few = 0.12 if len(world.frame) < 200 else 0.04  # what fewer training rows cost
    assert world.near(value(accuracy), (world.predicted == truth).mean(), n, few)
    assert world.near(
        value(balanced), balanced_accuracy_score(truth, world.predicted), rarer, few
    )
    assert world.near(
        value(area), roc_auc_score(truth == "yes", world.decisions), rarer, few
    )
    limits = re.search(rf"intervals[^:]*: accuracy {NUMBER} to {NUMBER}", text).groups()
    assert value(limits[0]) <= value(accuracy) <= value(limits[1])


def costs(text, world):
    own, low, high, label, always = re.fullmatch(
        rf"of missing a class: no=1, yes=10; {NUMBER} per test row \(95\s%: {NUMBER} to {NUMBER}; "
        rf"always (\w+): {NUMBER}\)",
        text,
    ).groups()
    assert value(low) <= value(own) <= value(high)
    row_cost(world, "200", own, label, always)


def row_cost(world, n, own, label, always):
    assert world.costs(label) == min(world.costs("no"), world.costs("yes"))
    for shown, answers in ((own, world.predicted), (always, label)):
        rate = world.costs(answers) / max(world.truth.costs)
        assert world.near(value(shown) / max(world.truth.costs), rate, value(n))


def trees(text, world):
    found, own = re.fullmatch(
        rf"boosted trees are clearly ahead in the test, (?:ROC AUC|accuracy) {NUMBER} against {NUMBER}: "
        r"use HistGradientBoostingClassifier, unless you need the proof",
        text,
    ).groups()
    assert world.truth.advice == "use trees" and value(found) > value(own) + 0.01


def training(text, world):
    figures(text, world, trained=True)


def advice(text, world):
    assert (
        text == "do not use it: on the test rows it is not clearly better than guessing"
        and world.truth.useless
    )


def most_missed(text, world):
    label = world.truth.misses
    assert text.startswith(f"most rows of class {label}: ") and is_missed(world, label)
    found = re.findall(
        rf"finds {NUMBER} of {NUMBER} rows? of class {label}, with {NUMBER} false alarms?",
        text,
    )
    assert all(
        0 <= value(hits) <= value(rows) and value(alarms) >= 0
        for hits, rows, alarms in found
    )
    hits = [value(one[0]) for one in found]
    assert label == "no" or (len(hits) == 4 and min(hits[1:]) > hits[0]), (
        "what is offered finds more"
    )


def is_missed(world, label) -> bool:
    return (world.predicted == label)[world.fresh["label"] == label].mean() < 0.55


def weights(text, world):
    assert not world.truth.curved and not world.truth.useless
    largest = re.findall(r"(\w+) ([+-])[\d.e-]+", text)[: len(world.truth.matter)]
    assert {name for name, _ in largest} == set(world.truth.matter)
    assert all((sign == "-") == (name == "x1") for name, sign in largest)


def kernel(text, world):
    assert world.truth.curved and text.startswith("rbf, gamma 0.")


def importance(text, world):
    assert set(re.findall(r"(\w+) 0\.\d{3}", text)) == set(world.truth.matter)


def model(text, world):
    assert text.endswith(f"trained on all {len(world.frame):,} rows")


CHECKS = (
    data,
    choice,
    adversary,
    proof,
    training,
    costs,
    trees,
    advice,
    weights,
    kernel,
    importance,
    model,
)
LINES = {
    "test": figures,
    "missed": most_missed,
    **{check.__name__: check for check in CHECKS},
}


def test_what_fit_says(world):
    lines = re.split(r"\n(?=\S)", world.fitted.strip())
    told = {line[:11].strip(): line[11:] for line in lines}
    for name, text in told.items():
        LINES[name](text, world)
    assert ("advice" in told) == world.truth.useless
    assert ("trees" in told) == (world.truth.advice == "use trees")
    assert ("costs" in told) == (world.truth.costs is not None)
    assert ("missed" in told) == (
        world.truth.misses is not None
    ) or world.truth.advice == "train on such rows"
    table = re.findall(
        r"^ +(no|yes) +([\d,]+) +([\d.]+) +[\d.]+ +([\d,]+) +([\d,]+)$",
        told["test"],
        re.MULTILINE,
    )
    for label, rows, recall, no, yes in table:
        assert value(no) + value(yes) == value(rows)
        assert value(recall) == pytest.approx(
            (value(yes) if label == "yes" else value(no)) / value(rows), abs=1e-4
        )


NOTES = (
    "left out: review (free text",
    "clipped: ",
    "closed alone determines",
    "refund alone determines",
)
NOTES += (
    "half a standard deviation or more between the means of training and test rows, in x0: ",
    "occur more than once",
)
NOTES += (
    "dates as days: day.",
    "dates: day; if",
    "the rows are in an order: x3 differ",
)


def test_notes(world):
    for note in world.notes:
        assert any(known in note for known in NOTES), f"not checked: {note}"
        assert "clipped: " in note or any(
            note.startswith(start) for start in world.truth.notes
        ), note
    assert all(
        any(note.startswith(start) for note in world.notes)
        for start in world.truth.notes
        if len(start) > 1
    )


# --- what report says: patterns of sentences, with what makes them true
# -----------------------------------------------


def decided(world, accuracy, n, name, label, always):
    few = 0.12 if len(world.frame) < 200 else 0.05
    assert world.near(
        value(accuracy) / 100,
        (world.predicted == world.fresh["label"]).mean(),
        value(n),
        few,
    )
    assert world.near(value(always) / 100, world.share[label], value(n), 0.02)


def missed(world, label, found, rows, again, alarms):
    assert (
        label == again == world.truth.misses
        and value(found) < 0.5 * value(rows)
        and is_missed(world, label)
    )


def standing(world, words):
    if world.truth.curved:
        assert re.match(
            r"Ahead of LinearSVC and LogisticRegression, (level with|behind) boosted trees",
            words,
        )
    else:  # nothing is clearly better than a linear classifier there
        assert not re.search(r"[Bb]ehind", words)
    assert set(re.findall("|".join(RIVALS), words)) == set(RIVALS)


def reported_choice(world, words):
    choice(words[0].lower() + words[1:], world)


def worst(world, own, bound, first, second, calm, attacked):
    assert bool(bound) == world.truth.curved
    errors = 100 * (world.predicted != world.fresh["label"]).mean()
    assert value(own) >= errors - 8 and value(first) > 0 and value(second) > 0
    assert errors - 2 <= value(calm) <= errors + 30 and value(own) < value(
        attacked
    ) >= value(calm)


def proven(world, shift, kind, gap, small):
    assert (shift is None or value(shift) >= 0.02) and (
        small is None or value(small) < 0.02
    )
    assert (shift is None) == (small is not None)
    assert ("kernel" in kind) == world.truth.curved
    assert value(gap) <= 1e-4 and world.fitted.count("all labels are trusted") == 1


def none_contradicted(world):
    assert not world.wrong.any()


def contradicted(world, count, total, rows):
    """No label is called wrong, and no classifier praised, where nothing is known but that they disagree."""
    named = [int(row) for row in re.findall(r"\d+", rows)]
    assert world.wrong[np.array(named) - 1].mean() >= 0.8 or not world.wrong.any()
    many = value(count) >= 0.05 * value(total)
    assert (
        many == (world.truth.advice == "check the labels")
        or world.truth.advice == "drop"
    )


def wrong_share(world, share, low, high, rows):
    assert (
        value(low) - 0.5 <= 100 * world.wrong.mean() <= value(high) + 0.5
        and world.wrong.any()
    )
    named = [int(row) for row in re.findall(r"\d+", rows)]
    assert world.wrong[np.array(named) - 1].mean() >= 0.8  # rows are numbered from 1


def carried(world, words):
    columns = re.findall(r"(\w+) \((for|against|0\.\d{3})\)", words)
    assert {name for name, _ in columns} == set(world.truth.matter)
    assert all(
        (side == "against") == (name == "x1")
        for name, side in columns
        if not side.startswith("0")
    )


def determined(world, column):
    assert column in world.truth.matter and world.truth.advice == "drop"


def guess(world, n):
    assert world.truth.useless


def has_moved(world, column):
    assert column == "x0" and world.truth.advice == "train on such rows"


SHOWN = {
    rf"{NUMBER}\s% of the ([\d,]+) (held-out|training) rows are decided correctly; always answering (\w+) would reach "
    rf"{NUMBER}\s%\.": decided,
    rf"Most rows of class (\w+) are missed: it finds {NUMBER} of {NUMBER} rows of class (\w+), with {NUMBER} false alarms?\.": missed,
    r"((?:Ahead of|Level with|Behind) .* in (?:accuracy|balanced accuracy|ROC AUC|cost per row).*)\.": standing,
    rf"On the {NUMBER} held-out rows, a row costs {NUMBER} on average; always answering (\w+) would cost {NUMBER}\.": row_cost,
    r"(Linear: .*|Kernel rbf: .*)\.": reported_choice,
    rf"(?:Under the attack it was trained against|If rows shift by 0\.1 .* on average), up to {NUMBER}\s% of the held-out "
    rf"rows are errors"
    rf"( \(an upper bound\))?; LinearSVC: {NUMBER}\s%, LogisticRegression: {NUMBER}\s%\. With 95\s% confidence, "
    rf"of all rows like the held-out ones at most {NUMBER}\s% are errors, and at most {NUMBER}\s% (?:under this "
    r"attack|after such shifts)\.": worst,
    rf"Proven(?: for shifts of the training rows by {NUMBER} (?:standard deviations|\(in units of each feature\)) on "
    rf"average, with labels as they are)?: no (linear classifier|classifier with this kernel) has a worst-case objective "
    rf"that is lower by more than {NUMBER}(?:, before the threshold is placed)?\."
    rf"(?: The radius, {NUMBER}, is too small for a guarantee about shifts of practical size\.)?": proven,
    r"No training label is clearly contradicted\.": none_contradicted,
    rf"{NUMBER} of {NUMBER} training labels (?:is|are) clearly contradicted: rows? (.*)\. (?:It is|They are) wrong, or "
    r"the classes overlap there\.": contradicted,
    rf"About {NUMBER}\s% of the training labels \({NUMBER}\s% to {NUMBER}\s%\) seem to be wrong: labels are "
    r"contradicted however clearly their rows belong to another class, by a (?:linear|kernel) classifier and by "
    r"boosted trees\. Check these rows first: (.*)\. If as many of the held-out labels are wrong, the figures above "
    r"are too low\.": wrong_share,
    r"(The decision (?:for yes )?rests most on .*)\.": carried,
    r"(\w+) alone determines the label \(99 % or more\)\. If such a column is known only after the label, the figures "
    r"below say nothing about new rows: leave it out\.": determined,
    rf"On the {NUMBER} held-out rows, this classifier is not clearly better than guessing: do not use it\.": guess,
    r"(\w+) has moved: the mean of the held-out rows is half a standard deviation or more from that of the training "
    r"rows\. No guarantee below covers rows of another kind\.": has_moved,
}
NEXT = {
    "save": r"drsvm fit \S+ --label label (--costs no=1,yes=10 )?--model model\.drsvm",
    "use trees": r"Boosted trees are clearly ahead: use HistGradientBoostingClassifier, unless you need the proof\.",
    "mind the rare class": r"drsvm report \S+ --label label --(threshold|class-weight|costs) \S+",
    "check the labels": r"drsvm labels \S+ --label label (--kernel rbf )?--csv labels\.csv",
    "drop": r"drsvm report \S+ --label label --drop (closed|refund)",
    "train on such rows": r"Train it on rows like those it will be applied to: these columns have moved\.",
    "do not use it": r"Do not use it\. Look for columns that say more about the label, or test it on more rows\.",
}


def test_what_report_says(world):
    *lines, step, written = world.told.strip().splitlines()
    for line in lines:
        text = line.removeprefix("- ")
        for pattern, check in SHOWN.items():
            found = re.fullmatch(pattern, text)
            if found:
                check(world, *found.groups())
                break
        else:
            pytest.fail(f"not checked: {text}")
    assert written.startswith("report written to ")
    assert re.fullmatch(f"next: {NEXT[world.truth.advice]}", step), step
    assert ("drsvm labels" in step and "--kernel rbf" in step) == (
        "drsvm labels" in step and world.truth.curved
    )


# --- the sections of the page
# -----------------------------------------------------------------------------------------


def objective(world, terms, moved, value_of_it):
    assert (
        bool(moved) == ("before the threshold is placed" in world.told)
        or world.truth.useless
    )


def lower_bound(world, kind, bound, gap):
    shown = value(re.search(r"is \*\*([\d.]+)\*\*", world.page)[1])
    assert 0 <= shown - value(bound) <= 1.1 * value(gap) + 1e-12 and value(gap) <= 1e-4
    assert ("kernel" in kind) == world.truth.curved


def too_small(world):
    assert "too little to matter in practice" in world.fitted


def largest_radius(world, radius):
    assert value(radius) > 0.0 and not world.truth.curved


def best_radius(world, accuracy, radius, low, high):
    if accuracy is not None:
        assert value(low) <= 0.0 <= value(high) and value(accuracy) <= 100


def better_radius(world, radius, accuracy, lead, low, high):
    assert 0 < value(low) <= value(lead) <= value(high) and world.truth.advice != "save"


def worst_distribution(world, share, shift):
    assert not world.truth.curved and value(share) <= 100 and value(shift) > 0


def hinge(world, calm, attacked, error):
    assert (
        value(calm) <= value(attacked)
        and f"up to {error}\u202f% of the held-out rows are errors;" in world.told
    )


def judged_labels(world, share, total, flagged):
    assert (
        value(flagged) <= value(share) <= value(total) == round(0.75 * len(world.frame))
        or "x0" in world.frame
    )


def multipliers(world, share):
    assert 0 < value(share) <= 100


def offered(world, label):
    assert label == world.truth.misses and is_missed(world, label)


def is_curved(world):
    assert world.truth.curved


def always_true(world, *found):
    """The sentence defines a word, or says how the page was made."""


def in_an_order(world, columns):
    assert any(f"in an order: {columns} differ" in note for note in world.truth.notes)


PERCENT = rf"{NUMBER}\s%"
UNITS = r"(?:features in standard deviations|6 features in standard deviations and the other one, .*, in original units)"
SECTIONS = {
    r"the rows are in an order: (.*) differ between \d blocks of them by more than chance explains\.": in_an_order,
    r"If that is time, test on the last rows: --test-last 0\.25\.": always_true,
    r"What Wasserstein(?:Kernel)?SVC predicts on the [\d,]+ held-out rows\.": always_true,
    r"Settings that find more rows of class (yes|no), on the same rows:": offered,
    r"On the training rows the objective \((.*)\) of this classifier(, with the intercept that belongs to "
    r"this optimum,)? is \*\*([\d.]+)\*\*\.": objective,
    r"No (linear classifier|classifier with this kernel) can go below \*\*([\d.]+)\*\*: none has an "
    rf"objective that is lower by more than {NUMBER}\.": lower_bound,
    r"This is within the requested tolerance\.": always_true,
    r"The proof compares (?:linear classifiers|classifiers with this kernel) only, by their worst case on "
    r"the training rows\.": always_true,
    r"The intercept was then moved by [\d.e-]+, as decisions about unseen rows suggest, which the proof "
    r"does not cover\.": always_true,
    r"Accuracies, error rates and risks are those of the classifier with this intercept, which decides\.": always_true,
    r"The lower bound comes from the dual problem and is computed by the same strict function for every "
    r"solver\.": always_true,
    r"Objective and bound are those of the kernel's feature space, where shifts are at most [\d.]+ times "
    r"as long as those of the features\.": always_true,
    rf"The size of a shift is its Euclidean length, with {UNITS}; the risk is the mean hinge loss, which "
    r"is 1 if all decision values are 0\.": always_true,
    r"LinearSVC and LogisticRegression have default settings(?:, with the costs as class weights)?; all classifiers use the same features\.": always_true,
    r"The adversary is the one Wasserstein(?:Kernel)?SVC was trained against: it shifts the rows by [\d.]+ .* on "
    r"average\.": always_true,
    r"The adversary shifts the rows by 0\.1 .* on average: the radius of the training is too small to matter\.": too_small,
    r"Here it attacks the held-out rows\.": always_true,
    r"WassersteinKernelSVC has an upper bound; the other curves are exact\.": always_true,
    r"The radius in use is [\d.]+\.": always_true,
    r"The same classifier, fitted to the same rows with other radii than [\d.]+, the one in use\.": always_true,
    rf"At {NUMBER}, the largest radius tried, all weights are 0\.": largest_radius,
    rf"On the held-out rows, {NUMBER} has the highest balanced accuracy, {PERCENT}: {NUMBER} points higher than "
    rf"the radius in use \(95\s%: {NUMBER} to {NUMBER}\)\.": better_radius,
    r"It was chosen on these rows, so expect slightly less on others\.": always_true,
    r"On the held-out rows, no other radius has a clearly higher balanced accuracy than the one in use(?:: the "
    rf"highest, {PERCENT} with {NUMBER}, shows no clear difference from the radius in use \(95\s%: ([−+][\d.]+) to "
    r"([−+][\d.]+) points\))?\.": best_radius,
    r"On the [\d,]+ held-out rows, the worst distribution for this classifier flips no label and moves "
    rf"{PERCENT} of the rows by {NUMBER}\.": worst_distribution,
    r"On the [\d,]+ held-out rows, the worst distribution for this classifier flips no label and moves a "
    r"tiny part of the rows very far \(the worst case is approached but not attained\)\.": always_true,
    rf"This raises its hinge risk from {NUMBER} to {NUMBER}, and its error rate can reach {PERCENT}\.": hinge,
    r"A weight is the change of the decision value when its feature grows by one unit\.": always_true,
    r"A positive weight means that larger values favour \*\*yes\*\*, a negative one \*\*no\*\*\.": always_true,
    r"A kernel has no weights\.": always_true,
    r"This is by how much the ROC AUC on the held-out rows falls if a column is shuffled\.": always_true,
    r"Rows are numbered like the rows of the file, from 1, not counting the header\.": always_true,
    rf"{NUMBER} of {NUMBER} labels contradicted by both classifiers, {NUMBER} of them flagged\.": judged_labels,
    r"None of [\d,]+ labels contradicted\.": none_contradicted,
    r"They are wrong, or the classes overlap or the fit is poor there\.": always_true,
    rf"About {NUMBER} labels are estimated to be wrong \(90\s% interval {NUMBER} to {NUMBER}\)\.": always_true,
    r"Every label is judged by classifiers that were trained without its row\.": always_true,
    r"(?:Kernel|Trees|Kernel and trees) decide, since they rank labels clearly better than linear classifiers\.": is_curved,
    r"The score is the probability of the label, small for doubtful ones\.": always_true,
    r"This is a ranking of what to look at first; it proves nothing about a single label\.": always_true,
    r"None\.": always_true,
    rf"{PERCENT} of the training rows have a nonzero multiplier\.": multipliers,
    r"These pull the (?:weights|classifier) most strongly; the figure is their share of all pulls\.": always_true,
    r"The strongest pulls on the (?:weights|classifier) are equal \([\d.]+\s% each\): no row stands out\.": always_true,
    r"The largest error rate on the [\d,]+ held-out rows that each change can cause: exact values, not "
    r"estimates(?:; with shifts, those of WassersteinKernelSVC are upper bounds)?\.": always_true,
    r"All rows count the same, and a row on the boundary is an error\.": always_true,
    rf"Shifts of the rows, on average, with {UNITS}:": always_true,
    r"Made with drsvm .*": always_true,
}


def test_what_the_page_says(world):
    sections = world.page[world.page.index("## Class by class") :]
    paragraphs = [
        line
        for line in sections.splitlines()
        if line and not re.match(r"[|#]|---", line)
    ]
    for text in (
        sentence
        for line in paragraphs
        for sentence in re.split(r"(?<=\.) (?=[A-Z])", line)
    ):
        if text in world.notes:
            continue
        found = [
            (check, match)
            for pattern, check in SECTIONS.items()
            if (match := re.fullmatch(pattern, text))
        ]
        assert found, f"not checked: {text}"
        found[0][0](world, *found[0][1].groups())
    rows = re.findall(r"^\| (no|yes) \| ([\d,]+) \| ([\d.]+)", sections, re.MULTILINE)
    assert {label for label, *_ in rows} == {"no", "yes"}
