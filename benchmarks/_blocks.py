"""Consecutive blocks of real tables, and what is expected of the errors on the next
block without its labels.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from _common import _load_table, data_file, load
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from drsvm import (
    ClippedScaler,
    WassersteinSVC,
    measure_shift,
    radius_from_batches,
    worst_case_risk,
)

IN_ORDER = ("electricity",)  # of the tables in DRSVM_DATA
WITHOUT_ORDER = ("magic04", "adult")  # whose rows are shuffled
N_BLOCKS = 8
MOST_ROWS = 4_000
FEW = 20
METHODS = {
    "expected": "expected_error",
    "before": "as before",
    "cbpe": "CBPE",
    "doc": "DoC",
    "atc": "ATC",
}


# --- tables
# -------------------------------------------------------------------------------------------------------


def tables(folder: Path | None) -> dict[str, Path | None]:
    """Return the names of the tables in time order, those of a folder last, and the
    controls; None: in DRSVM_DATA.
    """
    further = sorted(folder.glob("*.csv.xz")) if folder else []
    named = {file.name.removesuffix(".csv.xz"): file for file in further}
    return {
        **{name: None for name in IN_ORDER if data_file(name)},
        **named,
        **{name: None for name in WITHOUT_ORDER if data_file(name)},
    }


@lru_cache(maxsize=1)
def blocks(name: str, file: Path | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows and labels of consecutive blocks of equal size, of which some rows
    are drawn if they are large.
    """
    X, y = load(name) if file is None else _load_table(file, "label", ())
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y)) if name in WITHOUT_ORDER else np.arange(len(y))
    parts = [
        np.sort(rng.permutation(part)[:MOST_ROWS])
        for part in np.array_split(order, N_BLOCKS)
    ]
    return [(np.asarray(X[part], dtype=float), y[part]) for part in parts]


def classifier(radius="auto"):
    return make_pipeline(ClippedScaler(), WassersteinSVC(radius=radius))


# --- errors without labels
# ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A block, and the next one, on which the error is to be expected."""

    table: str
    block: int
    true: float
    expected: float
    before: float
    cbpe: float
    doc: float
    atc: float
    worst: float
    moved: float
    by_chance: float


def pairs_of(name: str, file: Path | None, seed: int) -> list[Pair]:
    """Return what is expected on every block after the first, by a classifier of the
    block before it.
    """
    parts = blocks(name, file)
    return [
        pair
        for block, (here, there) in enumerate(pairwise(parts))
        if (pair := _pair(name, block, here, there, seed)) is not None
    ]


def _pair(name: str, block: int, here, there, seed: int) -> Pair | None:
    X, y = here
    X_new, y_new = there
    if np.bincount(y, minlength=2).min() < FEW:  # no classifier without two classes
        return None
    X_train, X_audit, y_train, y_audit = train_test_split(
        X, y, test_size=0.5, random_state=seed
    )
    model = classifier().fit(X_train, y_train)
    shift = measure_shift(model, X_audit, y_audit, X_new, random_state=seed)
    scores = model.decision_function(X_audit)
    new_scores = model.decision_function(X_new)
    return Pair(
        name,
        block,
        float((model.predict(X_new) != y_new).mean()),
        shift.expected_error,
        shift.error_before,
        **by_confidence(scores, y_audit, new_scores),
        worst=shift.worst_error,
        moved=shift.moved,
        by_chance=shift.moved_by_chance,
    )


def by_confidence(
    scores: np.ndarray, y: np.ndarray, new_scores: np.ndarray
) -> dict[str, float]:
    """Return the errors that three methods expect from probabilities, calibrated on
    audited rows.

    CBPE calibrates by isotonic regression and counts the probability that the predicted
    class is wrong (as NannyML does for accuracy). DoC adds the change of the mean
    confidence to the error before; ATC counts new rows below the confidence below which
    as many audited rows are as there are errors. Their probabilities are those of a
    sigmoid.
    """
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(scores, y)
    chances = isotonic.predict(new_scores)
    sigmoid = LogisticRegression(C=np.inf).fit(scores[:, None], y)
    sure, new_sure = (
        sigmoid.predict_proba(each[:, None]).max(axis=1)
        for each in (scores, new_scores)
    )
    error = ((scores > 0.0) != y).mean()
    threshold = (
        np.quantile(sure, error, method="inverted_cdf") if error > 0.0 else -np.inf
    )
    return {
        "cbpe": float(np.where(new_scores > 0.0, 1.0 - chances, chances).mean()),
        "doc": float(error + sure.mean() - new_sure.mean()),
        "atc": float((new_sure < threshold).mean()),
    }


# --- training with a measured radius
# ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """Classifiers of a block with several radii, on the next block."""

    table: str
    block: int
    # The default's, the median and the largest of earlier movements
    radii: tuple[float, ...]
    before: float  # the error rate of the default in the audit
    errors: tuple[float, ...]
    # The worst cases of the block itself, at the largest of earlier movements
    audited: tuple[float, ...]
    moved: tuple[float, ...]  # to the next block


def trained_with(name: str, file: Path | None, seed: int) -> list[Trained]:
    """Return what radii that were measured on earlier blocks change."""
    parts = blocks(name, file)
    moves = []
    found = []
    for block, ((X, y), (X_new, y_new)) in enumerate(pairwise(parts)):
        if np.bincount(y, minlength=2).min() < FEW:
            continue
        if len(moves) >= 2:
            X_train, X_audit, y_train, y_audit = train_test_split(
                X, y, test_size=0.5, random_state=seed
            )
            models = [
                classifier(radius).fit(X_train, y_train)
                for radius in ("auto", np.median(moves), max(moves))
            ]
            asked = {"radius": max(moves), "loss": "zero-one"}
            new = [
                measure_shift(model, X_audit, y_audit, X_new, random_state=seed).moved
                for model in models
            ]
            found.append(
                Trained(
                    name,
                    block,
                    (float(models[0][-1].radius_), float(np.median(moves)), max(moves)),
                    float((models[0].predict(X_audit) != y_audit).mean()),
                    tuple(
                        float((model.predict(X_new) != y_new).mean())
                        for model in models
                    ),
                    tuple(
                        worst_case_risk(model, X_audit, y_audit, **asked)
                        for model in models
                    ),
                    tuple(new),
                )
            )
        both = np.concatenate([X, X_new]), np.concatenate([y, y_new])
        batches = np.repeat([0, 1], [len(y), len(y_new)])
        moves.append(
            radius_from_batches(classifier(), *both, batches, random_state=seed).radius
        )
    return found
