"""Tables of known truth: what their columns say about the label, and what should be done with a classifier of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

GOOD = ["excellent", "lovely", "superb", "great", "fine", "charming"]
BAD = ["dreadful", "dull", "awful", "poor", "boring", "weak"]
WORDS = [f"word{k}" for k in range(200)]
# Columns of a linear boundary, of which the second speaks against the label
MEANINGFUL = (
    "x0",
    "x1",
    "x2",
)


@dataclass(frozen=True)
class Truth:
    """A kind of table: `draw` returns rows of its population, and which of the labels were changed."""

    draw: Callable[[np.random.Generator, int], tuple[pd.DataFrame, np.ndarray]]
    n: int
    advice: str  # the kind of the next step
    # The columns that say something about the label
    matter: tuple[str, ...] = MEANINGFUL
    curved: bool = False
    useless: bool = False
    misses: str | None = None  # a class of which most rows are missed
    notes: tuple[str, ...] = ()  # beginnings of the notes that must be there
    costs: tuple[float, float] | None = None  # of missing no and yes


def linear_rows(rng: np.random.Generator, n: int, noise: float = 0.5):
    X = rng.normal(size=(n, 6))
    return X, X @ [2.0, -1.5, 1.0, 0.0, 0.0, 0.0] + noise * rng.normal(size=n)


def table(X, score, wrong=None, **columns) -> tuple[pd.DataFrame, np.ndarray]:
    """Return features, further columns and the label, yes for a positive score unless it is wrong."""
    wrong = np.zeros(len(score), dtype=bool) if wrong is None else wrong
    frame = pd.DataFrame(
        np.round(X, 4), columns=[f"x{k}" for k in range(X.shape[1])]
    ).assign(**columns)
    return frame.assign(label=np.where((score > 0) ^ wrong, "yes", "no")), wrong


def linear(rng, n):
    return table(*linear_rows(rng, n))


def dated(rng, n):
    day = np.datetime64("2023-01-01") + rng.integers(0, 700, n)
    return table(*linear_rows(rng, n), day=day)


def in_order(rng, n):
    X, score = linear_rows(rng, n)
    X[:, 3] += np.linspace(0, 2, n)
    return table(X, score)


def overlap(rng, n):
    return table(*linear_rows(rng, n, noise=2.5))


def circle(rng, n):
    X = rng.normal(size=(n, 3))
    return table(X, np.square(X[:, :2]).sum(axis=1) - 1.4)


def wrong_labels_of_a_circle(rng, n):
    X = rng.normal(size=(n, 2))
    return table(X, np.square(X).sum(axis=1) - 1.4, rng.random(n) < 0.25)


def xor(rng, n):
    X = rng.normal(size=(n, 4))
    return table(X, X[:, 0] * X[:, 1])


def rare(rng, n):
    X, score = linear_rows(rng, n, noise=2.0)
    return table(X, score - 5.2)


def few(rng, n):
    X, score = linear_rows(rng, n, noise=1.0)
    return table(X, score - 5.8)


def dear(rng, n):
    X, score = linear_rows(rng, n, noise=2.0)
    return table(X, score - 2.5)


def steps(rng, n):
    X = rng.normal(size=(n, 6))
    right = (X[:, 0] > 0) ^ (X[:, 1] > 0.3)
    return table(X, np.where(right, 1.0, -1.0))


def wrong_labels(share):
    def draw(rng, n):
        X, score = linear_rows(rng, n, noise=0.3)
        return table(X, score, rng.random(n) < share)

    return draw


def leak(rng, n):
    X, score = linear_rows(rng, n, noise=2.5)
    return table(X, score, closed=(score > 0).astype(int))


def numeric_leak(rng, n):
    X, score = linear_rows(rng, n, noise=2.5)
    # With a few exceptions
    refund = np.where((score > 0) ^ (rng.random(n) < 0.004), 20.0, 0.0)
    return table(X, score, refund=np.round(refund + rng.random(n), 2))


def unscaled(rng, n):
    X, score = linear_rows(rng, n)
    return table(X * [1, 1, 1, 1000, 1, 1], score)


def useless(rng, n):
    return table(linear_rows(rng, n)[0], rng.normal(size=n))


def text(rng, n):
    score = rng.normal(size=n)
    kinds = [GOOD if (one > 0) == (rng.random() < 0.9) else BAD for one in score]
    reviews = [
        " ".join(rng.permutation([*rng.choice(WORDS, 12), *rng.choice(kind, 3)]))
        for kind in kinds
    ]
    frame = pd.DataFrame({"review": reviews, "stars": rng.integers(1, 6, n)})
    return frame.assign(label=np.where(score > 0, "yes", "no")), np.zeros(n, dtype=bool)


def duplicates(rng, n):
    frame, wrong = linear(rng, n // 3)
    places = np.r_[np.arange(n // 3), rng.integers(0, n // 3, n - n // 3)]
    return frame.iloc[places], wrong[places]


def wide(rng, n):
    X = rng.normal(size=(n, 300))
    return table(X, X[:, :10].sum(axis=1) + rng.normal(size=n))


TRUTHS = {
    "linear": Truth(linear, 400, "save"),
    "circle": Truth(circle, 400, "save", matter=("x0", "x1"), curved=True),
    "xor": Truth(xor, 600, "save", matter=("x0", "x1"), curved=True),
    "rare class": Truth(rare, 1600, "mind the rare class", misses="yes"),
    "labels correct": Truth(wrong_labels(0.0), 600, "save"),
    "10 % wrong": Truth(wrong_labels(0.1), 800, "check the labels"),
    "25 % wrong": Truth(wrong_labels(0.25), 800, "check the labels"),
    "leak": Truth(
        leak,
        400,
        "drop",
        matter=("closed",),
        notes=("closed alone determines the label",),
    ),
    "numeric leak": Truth(
        numeric_leak,
        400,
        "drop",
        matter=("refund",),
        notes=("refund alone determines the label",),
    ),
    "drifted": Truth(
        linear,
        400,
        "train on such rows",
        misses="no",
        notes=("half a standard deviation or more",),
    ),
    "unscaled": Truth(unscaled, 400, "save"),
    "useless label": Truth(useless, 400, "do not use it", matter=(), useless=True),
    "text column": Truth(
        text,
        400,
        "do not use it",
        matter=(),
        useless=True,
        notes=("left out: review (free text",),
    ),
    "duplicates": Truth(duplicates, 600, "save", notes=("5", "6")),
    "wide": Truth(
        wide,
        120,
        "do not use it",
        matter=tuple(f"x{k}" for k in range(10)),
        useless=True,
    ),
    "circle, 25 % wrong": Truth(
        wrong_labels_of_a_circle,
        800,
        "check the labels",
        matter=("x0", "x1"),
        curved=True,
    ),
    "overlap": Truth(overlap, 400, "check the labels"),
    "steps": Truth(steps, 800, "use trees", matter=("x0", "x1"), curved=True),
    "costs": Truth(dear, 800, "save", costs=(1.0, 10.0)),
    "2 % positives": Truth(few, 3000, "mind the rare class", misses="yes"),
    "2 % positives, costs": Truth(few, 3000, "save", costs=(1.0, 10.0)),
    "dated": Truth(dated, 400, "save", notes=("dates: day", "dates as days: day")),
    "in order": Truth(
        in_order, 600, "save", notes=("the rows are in an order: x3 differ",)
    ),
}
