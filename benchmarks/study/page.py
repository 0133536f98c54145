"""Runs the cases and writes the report: tables of every number of training rows, text,
and all rows.
"""

import argparse
import gzip
import json
import warnings

import numpy as np
from _common import RESULTS, report, table, use_threads
from cases import (
    BIASED,
    DECIDED,
    ERRORS,
    MULTICLASS,
    NOISE,
    REPORTED,
    TEXT,
    Case,
    is_available,
    rows_of,
    sizes,
)
from joblib import Parallel, delayed
from methods import (
    CORE,
    DEFAULT,
    KERNELS,
    REFERENCE,
    RIVALS,
    families_on_text,
    outcomes,
    quality,
)
from pictures import draw
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tables import sections, text_section

from drsvm import WassersteinSVC

GROUPS = {"reported": REPORTED, "decided": DECIDED, "multiclass": MULTICLASS}
ABOUT = """Training rows are drawn at random and standardised; the test rows (up to 5,000) have correct labels. Noise: a
share of all labels (20 %, 35 %), 40 % of the larger class ("class"), or labels near the boundary ("boundary": with
probability 0.5·max(0, 1 − r/0.8), r the rank of the row's distance from the boundary of a clean logistic regression).
Reference: LinearSVC (squared hinge) with C from 1e-5 to 100 in 8 decades and class weights None or "balanced", chosen
on five folds with the same noisy labels (80 fits and a refit). Gains are in percentage points; ± is the standard error
over the data sets' mean differences.

Shifts, after training with correct labels: every test row is moved by 0.5 (in standard deviations, Euclidean length)
against its label, along the weights of the very classifier ("against the model") or along the difference of the class
means ("towards the other class"); Gaussian noise with a standard deviation of 0.5 is added to every feature; a fifth of
the columns is missing (set to their mean); training rows are drawn mostly from one end of the first principal component
("biased sample": with a probability proportional to exp(4 r), r the rank from 0 to 1).

Gross errors, in deviations of the correct rows: every feature of one row is off by 1,000; 2 % of the rows are replaced
by 100 times Cauchy numbers; 1 % of the cells are off by 100. They are in the training rows, which are standardised
afterwards, or ("tested") in the test rows of a classifier that was trained on correct ones."""


def main() -> None:
    options = parse_options()
    use_threads(1)
    if not options.kept:
        run(options)
    found = kept(options.name)  # rounded, so that --kept makes the very same tables
    text, tabular = (
        {case: of for case, of in found.items() if (case.data in TEXT) == side}
        for side in (True, False)
    )
    if tabular:
        draw(tabular, RESULTS / f"study-{options.name}.png", DEFAULT, REFERENCE)
    parts = [
        ABOUT,
        *sections(tabular),
        *text_section(text),
        *([all_rows(options)] if options.all_rows else []),
    ]
    report(f"study-{options.name}", "Study of label noise and shift", parts)


def run(options) -> None:
    """Run all cases and keep what came out."""
    families = KERNELS if options.kernels else CORE if options.core else CORE + RIVALS
    trained_on = (
        NOISE
        if options.kernels or options.groups == ["multiclass"]
        else (*NOISE, BIASED, *ERRORS)
    )
    cases = cases_of(names_of(options), options, trained_on)
    texts = (
        cases_of(filter(is_available, TEXT), options, ("clean", "20 %"))
        if options.text
        else []
    )
    plans = [(case, families) for case in cases] + [
        (case, families_on_text(case)) for case in texts
    ]
    ran = Parallel(n_jobs=options.jobs, verbose=1)(
        delayed(run_one)(*plan) for plan in plans
    )
    found = {
        case._replace(setting=setting): values
        for (case, _), by_setting in zip(plans, ran, strict=True)
        for setting, values in by_setting.items()
    }
    keep(found, options.name)


def names_of(options) -> list[str]:
    names = [name for group in options.groups for name in GROUPS[group]]
    return [
        name for name in names if is_available(name) and name in (options.data or names)
    ]


def cases_of(names, options, settings) -> list[Case]:
    sized = [(name, n) for name in names for n in sizes(name, options.sizes)]
    return [
        Case(*one, setting, seed)
        for seed in range(options.seeds)
        for one in sized
        for setting in settings
    ]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--groups",
        nargs="*",
        choices=list(GROUPS),
        default=["reported"],
        help="data sets",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        choices=sum(GROUPS.values(), ()),
        help="only these of the groups",
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[400], help="numbers of training rows"
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--core",
        action="store_true",
        help="leave out the rivals other than the reference",
    )
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="compare with flexible rivals, on unshifted rows only",
    )
    parser.add_argument(
        "--text",
        action="store_true",
        help="also compare on text, as it is, with LinearSVC()",
    )
    parser.add_argument(
        "--all-rows",
        action="store_true",
        help="also compare on all rows, clean, with LinearSVC()",
    )
    parser.add_argument(
        "--name", default=None, help="name of the results (default: the groups)"
    )
    parser.add_argument(
        "--kept",
        action="store_true",
        help="make tables and pictures of kept results again",
    )
    options = parser.parse_args()
    options.name = options.name or "-".join(options.groups) or "text"
    return options


def run_one(case, families) -> dict:
    warnings.simplefilter("ignore")  # iterations of rivals, constant classifiers
    return outcomes(case, families)


def keep(found, name: str) -> None:
    """Save the figures of every case, for other tables and pictures."""
    RESULTS.mkdir(exist_ok=True)
    with gzip.open(RESULTS / f"study-{name}.json.gz", "wt", encoding="utf-8") as stream:
        json.dump(
            [
                {**case._asdict(), "outcomes": rounded(values)}
                for case, values in found.items()
            ],
            stream,
        )


def rounded(outcomes: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return percentages to a thousandth: the file stays small."""
    return {
        name: [round(value, 3) for value in values] for name, values in outcomes.items()
    }


def kept(name: str) -> dict:
    """Return the outcomes that were saved under a name."""
    with gzip.open(RESULTS / f"study-{name}.json.gz", "rt", encoding="utf-8") as stream:
        return {
            Case(*(one[field] for field in Case._fields)): one["outcomes"]
            for one in json.load(stream)
        }


# --- all rows, clean
# ----------------------------------------------------------------------------------------------


def all_rows(options) -> str:
    names = names_of(options)
    found = Parallel(n_jobs=options.jobs)(delayed(on_all_rows)(name) for name in names)
    rows = [
        [name, *(f"{value:.2f}" for value in values)]
        for name, values in zip(names, found, strict=True)
    ]
    text = (
        "Accuracy in percent on clean labels, five folds over all rows, standardised;"
        " both without tuning."
    )
    return (
        "## All"
        f" rows\n\n{text}\n\n{table(['data', 'LinearSVC()', 'WassersteinSVC()', 'gain'], rows)}"
    )


def on_all_rows(name: str) -> list[float]:
    warnings.simplefilter("ignore")
    X, y = rows_of(name)
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(X, y):
        models = [
            make_pipeline(StandardScaler(), model)
            for model in (LinearSVC(dual=False), WassersteinSVC())
        ]
        scores.append(
            [
                quality(model.fit(X[train], y[train]).predict(X[test]), y[test])[0]
                for model in models
            ]
        )
    first, second = np.mean(scores, axis=0)
    return [float(first), float(second), float(second - first)]
