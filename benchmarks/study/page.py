"""Runs the cases and prints the tables: gains over the reference with their errors, and every data set by itself."""

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
    ERRORS_IN_TEST,
    MULTICLASS,
    NOISE,
    REPORTED,
    SHIFTS,
    Case,
    is_available,
    rows_of,
    sizes,
)
from joblib import Parallel, delayed
from methods import (
    BALANCED_REFERENCE,
    CORE,
    KERNEL,
    KERNELS,
    LOGISTIC,
    REFERENCE,
    RIVALS,
    TUNED_KERNEL,
    gains_by_data,
    outcomes,
    quality,
)
from pictures import draw
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC

MEASURES = ("Accuracy", "Balanced accuracy", "Area under the ROC curve")
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
    found = kept(options.name) if options.kept else run(options)
    draw(found, RESULTS / f"study-{options.name}.png", "WassersteinSVC()", REFERENCE)
    report(f"study-{options.name}", "Study of label noise and shift", sections(found, options))


def run(options) -> dict:
    """Run all cases and keep what came out."""
    families = KERNELS if options.kernels else CORE if options.core else CORE + RIVALS
    names = [name for group in options.groups for name in GROUPS[group] if is_available(name)]
    trained_on = NOISE if options.kernels or options.groups == ["multiclass"] else (*NOISE, BIASED, *ERRORS)
    cases = [
        Case(name, n, setting, seed)
        for seed in range(options.seeds)
        for name in names
        for n in sizes(name, options.sizes)
        for setting in trained_on
    ]
    ran = run_all(cases, families, options.jobs)
    found = {
        case._replace(setting=setting): values
        for case, by_setting in zip(cases, ran, strict=True)
        for setting, values in by_setting.items()
    }
    keep(found, options.name)
    return found


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=["reported"], help="data sets")
    parser.add_argument("--sizes", nargs="+", type=int, default=[400], help="numbers of training rows")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--core", action="store_true", help="leave out the rivals other than the reference")
    parser.add_argument("--kernels", action="store_true", help="compare with flexible rivals, on unshifted rows only")
    parser.add_argument("--all-rows", action="store_true", help="also compare on all rows, clean, with LinearSVC()")
    parser.add_argument("--name", default=None, help="name of the results (default: the groups)")
    parser.add_argument("--kept", action="store_true", help="make tables and pictures of kept results again")
    options = parser.parse_args()
    options.name = options.name or "-".join(options.groups)
    return options


def run_all(cases, families, jobs: int) -> list[dict]:
    return Parallel(n_jobs=jobs, verbose=1)(delayed(run_one)(case, families) for case in cases)


def run_one(case, families) -> dict:
    warnings.simplefilter("ignore")  # iterations of rivals, constant classifiers
    return outcomes(case, families)


def keep(found, name: str) -> None:
    """Save the figures of every case, for other tables and pictures."""
    RESULTS.mkdir(exist_ok=True)
    with gzip.open(RESULTS / f"study-{name}.json.gz", "wt", encoding="utf-8") as stream:
        json.dump([{**case._asdict(), "outcomes": rounded(values)} for case, values in found.items()], stream)


def rounded(outcomes: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return percentages to a thousandth: the file stays small."""
    return {name: [round(value, 3) for value in values] for name, values in outcomes.items()}


def kept(name: str) -> dict:
    """Return the outcomes that were saved under a name."""
    with gzip.open(RESULTS / f"study-{name}.json.gz", "rt", encoding="utf-8") as stream:
        return {Case(*(one[field] for field in Case._fields)): one["outcomes"] for one in json.load(stream)}


# --- tables -------------------------------------------------------------------------------------------------------


def sections(found, options) -> list[str]:
    text = [ABOUT, f"{', '.join(dict.fromkeys(case.data for case in found))}."]
    for size in dict.fromkeys(case.n_rows for case in found):
        part = {case: values for case, values in found.items() if case.n_rows == size}
        text += [
            f"## {size} training rows, {len({case.seed for case in part})} seeds",
            *gain_tables(part),
            *data_tables(part),
        ]
    return text + ([all_rows(options)] if options.all_rows else [])


def gain_tables(found) -> list[str]:
    tried = {case.setting for case in found}
    shifts, errors = ([one for one in of if one in tried] for of in (SHIFTS, (*ERRORS, *ERRORS_IN_TEST)))
    return [
        f"{label}, gain over {reference}{where}.\n\n{gains(found, measure, reference, settings)}"
        for settings, where in ((NOISE, ""), (shifts, ", shifted rows"), (errors, ", gross errors"))
        if settings
        for label, measure, reference in (
            ("Accuracy", 0, REFERENCE),
            ("Balanced accuracy", 1, REFERENCE),
            ("Balanced accuracy", 1, BALANCED_REFERENCE),
            ("Area under the ROC curve", 2, REFERENCE),
            *(("Accuracy", 0, LOGISTIC), ("Balanced accuracy", 1, LOGISTIC)),
            *((label, measure, TUNED_KERNEL) for measure, label in enumerate(MEASURES)),
        )
        if reference in methods_of(found, settings) and np.isfinite(next(iter(found.values()))[reference][measure])
    ]


def methods_of(found, settings) -> list[str]:
    """Return the methods that were tried in all of these settings."""
    inside = [values for case, values in found.items() if case.setting in settings]
    return [name for name in inside[0] if all(name in values for values in inside)]


def gains(found, measure: int, reference: str, settings) -> str:
    names = [name for name in methods_of(found, settings) if name != reference]
    rows = []
    for name in names:
        cells = []
        for setting in settings:
            means = np.array([one.mean() for one in gains_by_data(found, setting, name, measure, reference).values()])
            error = f" ± {means.std(ddof=1) / np.sqrt(len(means)):.1f}" if len(means) > 1 else ""
            cells.append(f"{means.mean():+.1f}{error}")
        rows.append([name, *cells])
    return table(["method", *settings], rows)


def data_tables(found) -> list[str]:
    return [
        f"{label} by data set: {', '.join(compared(found))}, in percent.\n\n{by_data(found, measure)}"
        for measure, label in enumerate(MEASURES)
    ]


def compared(found) -> list[str]:
    names = (REFERENCE, "WassersteinSVC()", "WassersteinSVCCV()", KERNEL, TUNED_KERNEL)
    return [name for name in names if name in next(iter(found.values()))]


def by_data(found, measure: int) -> str:
    names, rows = compared(found), []
    for data in dict.fromkeys(case.data for case in found):
        cells = []
        for noise in NOISE:
            inside = [values for case, values in found.items() if (case.data, case.setting) == (data, noise)]
            cells.append(" / ".join(f"{np.mean([values[name][measure] for values in inside]):.1f}" for name in names))
        rows.append([data, *cells])
    return table(["data", *NOISE], rows)


# --- all rows, clean ----------------------------------------------------------------------------------------------


def all_rows(options) -> str:
    names = [name for group in options.groups for name in GROUPS[group] if is_available(name)]
    found = Parallel(n_jobs=options.jobs)(delayed(on_all_rows)(name) for name in names)
    rows = [[name, *(f"{value:.2f}" for value in values)] for name, values in zip(names, found, strict=True)]
    text = "Accuracy in percent on clean labels, five folds over all rows, standardised; both without tuning."
    return f"## All rows\n\n{text}\n\n{table(['data', 'LinearSVC()', 'WassersteinSVC()', 'gain'], rows)}"


def on_all_rows(name: str) -> list[float]:
    warnings.simplefilter("ignore")
    X, y = rows_of(name)
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(X, y):
        models = [make_pipeline(StandardScaler(), model) for model in (LinearSVC(dual=False), WassersteinSVC())]
        scores.append([quality(model.fit(X[train], y[train]).predict(X[test]), y[test])[0] for model in models])
    first, second = np.mean(scores, axis=0)
    return [float(first), float(second), float(second - first)]
