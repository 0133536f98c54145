"""Probabilities from decision values, by Platt's sigmoid.

    p(class k | decision f) = 1 / (1 + exp(−(slope_k · f_k + offset_k))),   normalised over more than two classes

The sigmoids are fitted to decisions about rows that their classifiers were not trained on: on training rows decisions
are too confident. They do not decide: where the labels of one class are often wrong, p = ½ is in another place than
f = 0, and predictions by p would follow the wrong labels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

CONSTANT = 1e-9  # decisions that differ by less than this carry no information about single rows


@dataclass(frozen=True)
class Sigmoids:
    """One sigmoid for two classes, or one per class against the rest; `rows` is the number they were fitted to."""

    slopes: list[float]
    offsets: list[float]
    rows: int

    @classmethod
    def fitted(cls, decisions: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> "Sigmoids":
        """Return sigmoids for decision values of rows that were not in training: one per row, or one per class."""
        columns = np.reshape(decisions, (len(labels), -1)).T
        pairs = [_fit(column, labels == label) for column, label in zip(columns, classes[-len(columns) :], strict=True)]
        return cls([slope for slope, _ in pairs], [offset for _, offset in pairs], len(labels))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Sigmoids":
        """Return sigmoids from the metadata of a model file."""
        return cls(**values)

    def probabilities(self, decisions: np.ndarray) -> np.ndarray:
        """Return the probability of every class, of shape (n, n_classes), from values of the decision function."""
        columns = np.reshape(decisions, (len(decisions), -1))
        found = expit(columns * np.array(self.slopes) + np.array(self.offsets))
        if found.shape[1] == 1:
            return np.hstack([1.0 - found, found])
        found = np.maximum(found, np.finfo(float).tiny)  # all may be 0 far from all classes
        return found / found.sum(axis=1, keepdims=True)


def _fit(decisions: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """Return slope and offset by maximum likelihood, with Platt's targets, which keep both finite."""
    from sklearn.linear_model import LogisticRegression

    n_positive = int(positive.sum())
    high, low = (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (len(positive) - n_positive + 2.0)
    targets = np.where(positive, high, low)
    share = float(targets.mean())
    constant = 0.0, float(np.log(share / (1.0 - share)))
    centre, scale = float(decisions.mean()), float(decisions.std())
    if scale <= CONSTANT * max(1.0, abs(centre)):
        return constant
    rows = (np.concatenate([decisions, decisions])[:, None] - centre) / scale
    sides = np.repeat([1, 0], len(decisions))
    model = LogisticRegression(C=np.inf, tol=1e-8, solver="newton-cholesky")
    model.fit(rows, sides, sample_weight=np.concatenate([targets, 1.0 - targets]))
    slope = float(model.coef_[0, 0]) / scale  # if it is not positive, every row has the share of the class
    return (slope, float(model.intercept_[0]) - slope * centre) if slope > 0 else constant
