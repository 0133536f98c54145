"""Simulated populations whose worst case is known, for the bounds that samples of them
give.

Every population has one of five kinds of classifier and one of eight questions;
features, error rates, norms and prices take turns.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from drsvm import WassersteinKernelSVC, worst_case_risk
from drsvm.audit.decision_values import decision_values
from drsvm.audit.error_costs import ErrorCosts, check_costs
from drsvm.audit.worst_case import adversary_for

CLASSIFIERS = {"linear, 2 classes": 2, "linear, 3 classes": 3, "linear, 6 classes": 6}
CLASSIFIERS |= {"RBF, 2 classes": 2, "RBF, 3 classes": 3}
FEATURES = ("normal", "heavy tails", "0/1", "rounded")
ERROR_RATES = (0.01, 0.4, 0.1, 0.03, 0.2, 0.05, 0.3)
COSTS = (1.0, 5.0, 2.0, 3.0, 0.0, 4.0)
RARE_COSTS = (1.0, 20.0, 1.0, 1.0, 1.0, 1.0)  # of the class that is made rare
QUESTIONS: dict[str, dict[str, Any]] = {
    "average": {},
    "row": {"limit": "row"},
    "average, flips": {"flip": True},
    "row, flips": {"limit": "row", "flip": True},
    "average, costs": {"costs": COSTS},
    "row, costs": {"limit": "row", "costs": COSTS},
    "average, costs, flips": {"costs": COSTS, "flip": True},
    "average, a rare class of high cost": {"costs": RARE_COSTS, "rare": True},
}
N_FEATURES = 4
N_RADII = 20
TRAINED_ON = 300


@dataclass(frozen=True)
class Population:
    """Rows with labels, a classifier, and what is asked of it.

    All of it follows from the seed.
    """

    classifier: str
    question: str
    seed: int
    n: int

    @property
    def features(self) -> str:
        return FEATURES[self.seed % len(FEATURES)]

    @property
    def error_rate(self) -> float:
        return ERROR_RATES[self.seed % len(ERROR_RATES)]

    @cached_property
    def _rows(self):
        """A classifier, and rows of which it misses the share of the error rate."""
        rng = np.random.default_rng(self.seed)
        asked = QUESTIONS[self.question]
        n_classes = CLASSIFIERS[self.classifier]
        X = _features(self.features, (self.n + TRAINED_ON, N_FEATURES), rng)
        coef = rng.normal(size=(n_classes, N_FEATURES))
        intercept = np.zeros(n_classes)
        scores = X @ coef.T + (np.sin(2.0 * X) @ coef.T if self._curved else 0.0)
        scores -= np.median(scores, axis=0)
        intercept -= np.median(X @ coef.T, axis=0)
        if asked.get("rare"):
            shift = np.quantile(
                scores[:, 1] - np.delete(scores, 1, axis=1).max(axis=1), 0.97
            )
            scores[:, 1] -= shift
            intercept[1] -= shift
        model = _Linear(coef, intercept)
        if self._curved:
            some = slice(self.n, None)
            y = scores[some].argmax(axis=1)
            y[:n_classes] = range(n_classes)
            model = WassersteinKernelSVC(n_landmarks=40).fit(X[some], y)
        noise = rng.standard_normal(scores.shape)
        predicted = model.predict(X)
        low = 0.0
        high = 64.0 * scores.std()
        for _ in range(30):  # how much noise of the labels has this error rate
            scale = 0.5 * (low + high)
            missed = (scores + scale * noise).argmax(axis=1)[:20_000] != predicted[
                :20_000
            ]
            low, high = (
                (low, scale) if missed.mean() > self.error_rate else (scale, high)
            )
        y = (scores + scale * noise).argmax(axis=1)
        return model, X[: self.n], y[: self.n]

    @property
    def _curved(self) -> bool:
        return self.classifier.startswith("RBF")

    @cached_property
    def asked(self) -> dict[str, Any]:
        """The arguments of `worst_case_risk`, without a radius."""
        asked = QUESTIONS[self.question]
        norm = 2 if self._curved else (1, 2, np.inf)[self.seed % 3]
        prices = (None, [1.0, 0.5, 2.0, 1.0], [1.0, 1.0, np.inf, 3.0])[
            self.seed // 3 % 3
        ]
        found = {
            "loss": "zero-one",
            "norm": norm,
            "feature_cost": prices,
            "limit": asked.get("limit", "average"),
        }
        found["costs"] = (
            asked["costs"][: CLASSIFIERS[self.classifier]] if "costs" in asked else None
        )
        found["flip_cost"] = 0.3 if asked.get("flip") else np.inf
        return found

    @cached_property
    def options(self) -> ErrorCosts:
        """The prices of all rows, as the library computes them."""
        ball = {name: self.asked[name] for name in ("norm", "flip_cost")}
        prices = self.asked["feature_cost"]
        ball["feature_cost"] = None if prices is None else np.array(prices)
        data = decision_values(*self._rows, None, None)
        return ErrorCosts(
            adversary_for(data, {**ball, "radius": 0.0}),
            check_costs(self.asked["costs"], data.classes),
        )

    @cached_property
    def radii(self) -> np.ndarray:
        """Radii between 0 and where the worst case is as bad as it can be.

        For a limit per row, just above prices.
        """
        prices = self.options.attack_costs[self.options.costs > 0.0].min(axis=0)
        finite = prices[np.isfinite(prices)]
        if self.asked["limit"] == "row":
            return (1.0 + 1e-9) * np.quantile(
                finite, np.linspace(0.01, 0.99, N_RADII), method="inverted_cdf"
            )
        return np.append(0.0, np.geomspace(0.005, 1.0, N_RADII - 1) * finite.mean())

    @cached_property
    def truth(self) -> np.ndarray:
        return self.options.in_sample(self.radii, self.asked["limit"])

    def bound(self, rows: np.ndarray, confidence: float) -> np.ndarray:
        """Return the bounds from some rows, whose prices are known already."""
        data = self.options.adversary.data
        adversary = self.options.adversary
        ball = {
            name: getattr(adversary.problem, name)
            for name in ("norm", "flip_cost", "feature_cost", "radius")
        }
        weights = np.full(len(rows), 1.0 / len(rows))
        some = replace(
            data,
            X=data.X[rows],
            codes=data.codes[rows],
            values=data.values[:, rows],
            weights=weights,
        )
        options = ErrorCosts(adversary_for(some, ball), self.options.costs)
        vars(options)["attack_costs"] = self.options.attack_costs[:, rows]
        return options.in_population(
            self.radii, self.asked["limit"], confidence, len(rows)
        )

    def publicly(self, rows: np.ndarray, confidence: float) -> np.ndarray:
        """Return the same bounds by the public function, which computes the prices
        again.
        """
        model, X, y = self._rows
        return worst_case_risk(
            model,
            X[rows],
            y[rows],
            radius=self.radii,
            confidence=confidence,
            **self.asked,
        )


@dataclass(frozen=True)
class _Linear:
    """A given classifier, as scikit-learn's linear ones look."""

    scores: np.ndarray
    offsets: np.ndarray

    @property
    def classes_(self) -> np.ndarray:
        return np.arange(len(self.scores))

    @property
    def coef_(self) -> np.ndarray:
        return (
            self.scores if len(self.scores) > 2 else self.scores[1:] - self.scores[:1]
        )

    @property
    def intercept_(self) -> np.ndarray:
        return (
            self.offsets
            if len(self.scores) > 2
            else self.offsets[1:] - self.offsets[:1]
        )

    def predict(self, X: np.ndarray) -> np.ndarray:
        return (X @ self.scores.T + self.offsets).argmax(axis=1)


def _features(kind: str, shape, rng) -> np.ndarray:
    if kind == "heavy tails":
        return rng.standard_t(3, size=shape)
    if kind == "0/1":
        return (rng.random(shape) < rng.uniform(0.2, 0.8, shape[1])).astype(float)
    X = rng.standard_normal(shape)
    return X if kind == "normal" else X.round()


def populations(n: int, n_with_kernel: int) -> list[Population]:
    """Return one population per classifier and question."""
    pairs = [
        (classifier, question) for classifier in CLASSIFIERS for question in QUESTIONS
    ]
    sizes = [n_with_kernel if pair[0].startswith("RBF") else n for pair in pairs]
    return [
        Population(*pair, seed, size)
        for seed, (pair, size) in enumerate(zip(pairs, sizes, strict=True))
    ]
