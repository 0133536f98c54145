"""Wrong training labels and shifted rows at once: how well are rows ranked?

The protocol is that of Fault Lines (Jackson, Groth and Harmouch, PVLDB 19(4);
fault-lines/fault_lines_benchmark on GitHub, results/random.csv):

1. A column divides the rows of a table into a training domain and a shifted one, and is
   then left out.
2. Of the training domain, 80 % of the rows are for training, 10 % for validation and
   10 % for tests ("id"); the shifted rows are all for tests ("ood").
3. Each training label is wrong with probability 0, 0.1, 0.2, 0.3 or 0.4.
   The labels of validation and test rows are correct.
4. Every rival is tuned on the validation rows, by their area under the ROC curve.
5. What counts is the area under the ROC curve on the id and on the ood rows, in %.

The published figures are single runs of up to 17 models, neural networks for the most
part, each tuned by up to 100 trials. Here, rivals are scikit-learn's, with small grids.
`WassersteinSVC()` and `WassersteinKernelSVC()` have their defaults behind a
`ClippedScaler`; "the better" of them is chosen on the validation rows. Numbers are
standardised for rivals, a text is a column for each value that is in more than 1 % of
the training rows.

The published tables are read from a folder: diabetic_data.csv (UCI, "Diabetes 130-US
hospitals") and heloc_dataset_v1.csv (FICO). Without one, tables at hand are divided in
the same way; what divides them was fixed before anything was measured. They are cut to
the size of the smaller published one.
"""

import argparse
import csv
import lzma
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

sys.path.insert(0, str(Path(__file__).parent.parent))  # where _common is
from _common import LABELS, LEFT_OUT, data_file, report, table, use_threads

from drsvm import ClippedScaler, WassersteinKernelSVC, WassersteinSVC

NOISE = (0.0, 0.1, 0.2, 0.3, 0.4)
RARE = 0.01
# Of the tables at hand: the training rows of the smaller published one, and test rows
MOST_TRAINED = 2220
MOST_TESTED = 5000
WIDTHS = (0.3, 1.0, 3.0)
"""γ of the rival SVC, in units of 1 / number of columns."""


@dataclass(frozen=True)
class Source:
    """A table: its file, its label, and the column that divides it.

    Without a value, rows above the median of the column are shifted.
    """

    file: str
    label: str
    positive: str | None
    column: str
    is_shifted: Callable[[str], bool] | None = None
    left_out: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    known: str | None = None
    """A column whose "?" leave a row out."""
    n_trained: int | None = None
    """Training rows of the published runs."""


PUBLISHED = {
    "diabetes_readmission": Source(
        "diabetic_data.csv",
        "readmitted",
        None,
        "admission_source_id",
        lambda cell: cell == "7",
        ("encounter_id", "patient_nbr"),
        ("admission_type_id", "discharge_disposition_id"),
        "race",
        34_288,
    ),
    "heloc": Source(
        "heloc_dataset_v1.csv",
        "RiskPerformance",
        "Good",
        "ExternalRiskEstimate",
        lambda cell: float(cell) > 63,
        n_trained=2220,
    ),
}
# Median and best of the published models: id, ood
FIGURES = {
    ("diabetes_readmission", 0.0): ((67.0, 68.9), (64.6, 66.3)),
    ("diabetes_readmission", 0.1): ((65.1, 68.7), (64.2, 66.4)),
    ("diabetes_readmission", 0.2): ((64.9, 68.7), (63.8, 65.9)),
    ("diabetes_readmission", 0.3): ((65.5, 67.5), (62.7, 65.3)),
    ("diabetes_readmission", 0.4): ((63.3, 66.7), (61.5, 64.2)),
    ("heloc", 0.0): ((70.9, 72.8), (68.5, 70.6)),
    ("heloc", 0.1): ((71.4, 72.5), (67.4, 70.4)),
    ("heloc", 0.2): ((70.4, 71.7), (67.6, 71.8)),
    ("heloc", 0.3): ((68.1, 69.8), (65.9, 67.5)),
    ("heloc", 0.4): ((67.5, 70.7), (63.0, 68.2)),
}
AT_HAND = {
    "adult": Source("adult", LABELS["adult"], None, "age"),
    "electricity": Source("electricity", "label", "1", "Date"),
    "magic04": Source("magic04", "label", "1", "fDist"),
    "phoneme": Source("phoneme", "label", "1", "V1"),
    "jm1": Source("jm1", "label", "1", "loc"),
    "titanic": Source(
        "titanic",
        LABELS["titanic"],
        "1",
        "pclass",
        lambda cell: cell == "3",
        (*LEFT_OUT["titanic"], "class"),
    ),
}


# --- the tables
# ---------------------------------------------------------------------------------------------------


def columns_of(file: Path) -> dict[str, np.ndarray]:
    """Return the columns of a table as texts."""
    opened = lzma.open if file.suffix == ".xz" else open
    with opened(file, "rt", encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    cells = np.array([row for row in rows if row], dtype=object)
    return dict(zip(header, cells.T, strict=True))


@dataclass(frozen=True)
class Domains:
    """Columns as texts, labels 0 and 1, and which rows are shifted."""

    columns: dict[str, np.ndarray]
    texts: frozenset[str]
    y: np.ndarray
    shifted: np.ndarray


def domains(columns: dict[str, np.ndarray], source: Source) -> Domains:
    """Divide a table into the training domain and the shifted one."""
    if source.known is not None:
        kept = columns[source.known] != "?"
        columns = {name: cells[kept] for name, cells in columns.items()}
    label = columns[source.label]
    if source.positive is None:
        # The published label is "readmitted at all"; that of adult, the larger income
        least = "NO" if "NO" in label else np.unique(label.astype(str))[0]
        y = (label != least).astype(int)
    else:
        y = (label == source.positive).astype(int)
    at = columns[source.column]
    if source.is_shifted is None:
        shifted = at.astype(float) > np.median(at.astype(float))
    else:
        shifted = np.array([source.is_shifted(cell) for cell in at])
    gone = {source.label, source.column, *source.left_out}
    rest = {name: cells for name, cells in columns.items() if name not in gone}
    texts = {name for name, cells in rest.items() if not _are_numbers(cells)}
    return Domains(rest, frozenset(texts | {*source.texts}), y, shifted)


def _are_numbers(cells: np.ndarray) -> bool:
    try:
        _numbers(cells)
    except ValueError:
        return False
    return True


def _numbers(cells: np.ndarray) -> np.ndarray:
    return np.where((cells == "") | (cells == "?"), "nan", cells).astype(float)


def features(data: Domains, train: np.ndarray) -> np.ndarray:
    """Return numbers, empty cells as the median of the training rows, and a 0/1 column
    for each text that is not rare among these.
    """
    blocks = []
    for name, cells in data.columns.items():
        if name in data.texts:
            values, counts = np.unique(cells[train].astype(str), return_counts=True)
            common = values[counts > RARE * len(train)]
            blocks.append((cells[:, None] == common).astype(float))
        else:
            numbers = _numbers(cells)
            middle = np.nanmedian(numbers[train])
            blocks.append(np.where(np.isnan(numbers), middle, numbers)[:, None])
    return np.hstack(blocks)


@dataclass(frozen=True)
class Split:
    """Rows for training, validation and tests (id, ood)."""

    train: np.ndarray
    valid: np.ndarray
    tests: tuple[np.ndarray, np.ndarray]


def split(shifted: np.ndarray, seed: int, most: int | None) -> Split:
    """Divide the training domain 80/10/10 at random, and cut it to at most `most`
    training rows.
    """
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.flatnonzero(~shifted))
    other = rng.permutation(np.flatnonzero(shifted))
    train, valid, test = np.split(own, [int(0.8 * len(own)), int(0.9 * len(own))])
    if most is None:
        return Split(train, valid, (test, other))
    return Split(
        train[:most],
        valid[: most // 8],
        (test[:MOST_TESTED], other[:MOST_TESTED]),
    )


# --- the methods
# --------------------------------------------------------------------------------------------------


def rivals(n_features: int) -> dict[str, tuple[Callable, dict]]:
    """Return a classifier and the grid of its settings for each name."""
    decades = {"C": [0.001, 0.01, 0.1, 1.0, 10.0]}
    return {
        "LogisticRegression": (
            lambda **given: LogisticRegression(max_iter=2000, **given),
            decades,
        ),
        "LinearSVC": (LinearSVC, decades),
        "SVC": (
            SVC,
            {
                "C": [0.1, 1.0, 10.0],
                "gamma": [width / n_features for width in WIDTHS],
            },
        ),
        "RandomForest": (
            lambda **given: RandomForestClassifier(200, random_state=0, **given),
            {"min_samples_leaf": [1, 5, 20]},
        ),
        "HistGradientBoosting": (
            lambda **given: HistGradientBoostingClassifier(random_state=0, **given),
            {"learning_rate": [0.03, 0.1], "min_samples_leaf": [20, 80]},
        ),
    }


OURS = {
    "WassersteinSVC()": WassersteinSVC,
    "WassersteinKernelSVC()": WassersteinKernelSVC,
}
BETTER = "the better"


def score(model, X: np.ndarray, y: np.ndarray) -> float:
    """Return the area under the ROC curve in %."""
    decide = getattr(model, "decision_function", None)
    decisions = decide(X) if decide else model.predict_proba(X)[:, 1]
    return 100 * roc_auc_score(y, decisions)


def fitted(scaler, classifier, X, y):
    """Fit a classifier behind a scaler; what does not converge within its iterations
    counts as it is.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(scaler, classifier).fit(X, y)


def measured(data: Domains, noise: float, seed: int, most: int | None) -> dict:
    """Return the areas on id and ood rows by method."""
    parts = split(data.shifted, seed, most)
    X = features(data, parts.train)
    y = data.y
    rng = np.random.default_rng([seed, round(100 * noise)])
    wrong = rng.random(len(parts.train)) < noise
    X_train = X[parts.train]
    y_train = np.where(wrong, 1 - y[parts.train], y[parts.train])

    def judged(model) -> tuple[float, tuple[float, float]]:
        valid = score(model, X[parts.valid], y[parts.valid])
        own, other = (score(model, X[rows], y[rows]) for rows in parts.tests)
        return valid, (own, other)

    found = {}
    for name, classifier in OURS.items():
        found[name] = judged(fitted(ClippedScaler(), classifier(), X_train, y_train))
    found[BETTER] = max(found.values(), key=lambda one: one[0])
    for name, (make, grid) in rivals(X.shape[1]).items():
        tried = [
            judged(fitted(StandardScaler(), make(**chosen), X_train, y_train))
            for chosen in ParameterGrid(grid)
        ]
        found[name] = max(tried, key=lambda one: one[0])
    return {name: tests for name, (_, tests) in found.items()}


# --- the page
# -----------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="with the files of the published tables"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--name", default="label_noise_shift")
    options = parser.parse_args()
    use_threads(1)
    tables, most = read(options.folder)
    cells = [(name, noise) for name in tables for noise in NOISE]
    runs = Parallel(n_jobs=options.jobs)(
        delayed(measured)(tables[name], noise, seed, most)
        for name, noise in cells
        for seed in range(options.seeds)
    )
    means = {}
    for place, cell in enumerate(cells):
        own = runs[place * options.seeds : (place + 1) * options.seeds]
        means[cell] = {
            method: np.mean([run[method] for run in own], axis=0) for method in own[0]
        }
    report(options.name, "Wrong labels and shift", page(tables, means, options.seeds))


def read(folder: Path | None) -> tuple[dict[str, Domains], int | None]:
    """Return the tables, and how many of their training rows are used."""
    if folder is None:
        files = {name: data_file(one.file) for name, one in AT_HAND.items()}
        sources = AT_HAND
        most = MOST_TRAINED
    else:
        files = {name: folder / one.file for name, one in PUBLISHED.items()}
        files = {name: file for name, file in files.items() if file.exists()}
        sources = PUBLISHED
        most = None
    tables = {
        name: domains(columns_of(file), sources[name])
        for name, file in files.items()
        if file is not None
    }
    if not tables:
        names = ", ".join(one.file for one in sources.values())
        sys.exit(f"none of these is in {folder or 'DRSVM_DATA'}: {names}")
    return tables, most


def page(tables: dict[str, Domains], means: dict, seeds: int) -> list[str]:
    """Return the sections of the page."""
    sections = [
        __doc__.split("\n\n", 1)[1].strip(),
        f"{seeds} seeds.",
        rows_table(tables),
    ]
    for place, rows in enumerate(("id rows", "ood rows")):
        sections += [f"## Area under the ROC curve, {rows}", cells_table(means, place)]
    missing = [name for name in PUBLISHED if name not in tables]
    if missing:
        sections += ["## Published, not run here", published_table(missing)]
    return [*sections, "## All tables", summary(means)]


def published_table(names: list[str]) -> str:
    """Return the published figures of tables whose files are missing."""
    rows = []
    for (name, noise), areas in FIGURES.items():
        if name in names:
            cells = [f"{area:.1f}" for pair in areas for area in pair]
            rows.append([f"{name}, {noise:g}", *cells])
    header = ["table, noise", "id rows, median", "best", "ood rows, median", "best"]
    return table(header, rows)


def rows_table(tables: dict[str, Domains]) -> str:
    """Return what was read, beside the published number of training rows."""
    rows = []
    for name, one in tables.items():
        source = {**AT_HAND, **PUBLISHED}[name]
        own = ~one.shifted
        rows.append(
            [
                name,
                source.column,
                int(own.sum()),
                int(0.8 * own.sum()),
                source.n_trained or "–",
                f"{100 * one.y[own].mean():.0f} %",
                f"{100 * one.y[one.shifted].mean():.0f} %",
            ]
        )
    header = ["table", "divided by", "rows of the domain", "80 %", "published"]
    return table([*header, "positives", "of the shifted"], rows)


def cells_table(means: dict, place: int) -> str:
    """Return a row for each table and probability: the published median and best, ours,
    and the rivals.
    """
    methods = list(next(iter(means.values())))
    rows = []
    for (name, noise), found in means.items():
        published = FIGURES.get((name, noise))
        known = [f"{one:.1f}" for one in published[place]] if published else ["–", "–"]
        areas = [f"{found[method][place]:.1f}" for method in methods]
        rows.append([f"{name}, {noise:g}", *known, *areas])
    return table(["table, noise", "published median", "best", *methods], rows)


def summary(means: dict) -> str:
    """Return means over the tables for each probability, and in how many cells the
    better of ours is at or above the median and the best rival.
    """
    methods = list(next(iter(means.values())))
    others = [method for method in methods if method not in (*OURS, BETTER)]
    rows = []
    for place, kind in enumerate(("id", "ood")):
        for noise in NOISE:
            cells = [found for (_, at), found in means.items() if at == noise]
            areas = [
                np.mean([found[method][place] for found in cells]) for method in methods
            ]
            ahead = []
            for level in (np.median, np.max):
                leads = [
                    found[BETTER][place] >= level([found[m][place] for m in others])
                    for found in cells
                ]
                ahead.append(f"{sum(leads)} of {len(cells)}")
            rows.append([f"{kind}, {noise:g}", *(f"{a:.1f}" for a in areas), *ahead])
    header = ["rows, noise", *methods, "≥ median rival", "≥ best rival"]
    return table(header, rows)


if __name__ == "__main__":
    main()
