"""The content of a report, as numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin

from drsvm.learn.labels.quality import LabelIssues
from drsvm.learn.scores import are_noise, column_deviations, leads, scores, weights_that_count
from drsvm.model.result import Result
from drsvm.model.validation import row_norms
from drsvm.model.worst_case.worst_risk import WorstCaseDistribution, worst_case_risk
from drsvm.report.inputs import Figures, Material, Rows
from drsvm.report.markup import ROBUST
from drsvm.solvers.path.radius_path import RadiusPath

FLIPS = (0.0, 0.01, 0.05, 0.1, 0.2)  # shares of flipped labels for which bounds are shown
SHIFTS = (0.0, 0.5, 1.0, 2.0, 4.0)  # shifts for which bounds are shown, as multiples of the radius
SAME = 0.99  # from this share of equal predictions on, a classifier may be constant in practice
CARRIES = 0.05  # a feature with less than this share of the largest weight carries nothing
NEGLIGIBLE = 1e-6  # multipliers below this share of their largest possible value count as 0


class BestRadius(NamedTuple):
    """The radius with the highest balanced accuracy, and by how much that exceeds the one of the radius in use."""

    radius: float
    accuracy: float
    gain: float


@dataclass(frozen=True, eq=False)
class Analysis:
    """The results of the analysis, on the transformed features."""

    material: Material
    index: int  # of the decision that is shown (0 for two classes)
    positive: object  # its positive class
    models: dict[str, ClassifierMixin]  # the robust classifier and its rivals
    path: RadiusPath | None  # None if w = 0 is optimal for every radius
    weights: np.ndarray  # of the training rows in that decision, with sum 1
    distribution: WorstCaseDistribution  # its worst case on the rows it is judged by
    label_issues: LabelIssues | None  # None if a class has only one row or the time was up
    provenance: Figures  # digests, versions and the date
    curved: ClassifierMixin | None = None  # a classifier with a kernel, if one is compared on held-out rows

    @property
    def classes(self) -> list[object]:
        return self.material.linear.classes_.tolist()

    @property
    def multiclass(self) -> bool:
        """Whether one class of several is shown against the rest."""
        return len(self.classes) > 2

    @property
    def side_names(self) -> tuple[str, str]:
        """Names of the negative and the positive side."""
        others = [str(label) for label in self.classes if label != self.positive]
        return ("the rest" if self.multiclass else others[0]), str(self.positive)

    @property
    def result(self) -> Result:
        return self.material.results[self.index]

    @property
    def radius(self) -> float:
        return float(self.material.ball["radius"])

    @property
    def judged(self) -> Rows:
        return self.material.judged

    @cached_property
    def adversary(self) -> Figures:
        """The arguments of `worst_case_risk` on these rows; all rows count the same."""
        return self.material.ball_of(self.judged.y)

    @cached_property
    def decisions(self) -> dict[str, np.ndarray]:
        """The decision values of all classifiers on these rows."""
        return {name: np.asarray(model.decision_function(self.judged.X)) for name, model in self.models.items()}

    @cached_property
    def comparison(self) -> dict[str, Figures]:
        """Scores and worst cases of all classifiers on the rows they are judged by; risks are of the shown decision."""
        material, (X, y, held_out) = self.material, self.judged
        return {
            name: {
                **scores(self.decisions[name], y, model.classes_, new_rows=held_out),
                "train_accuracy": float(model.score(material.X, material.y)),
                "worst_case_risk": float(worst_case_risk(model, X, y, positive=self.positive, **self.adversary)),
                "worst_case_error": float(worst_case_risk(model, X, y, loss="zero-one", **self.adversary)),
            }
            for name, model in self.models.items()
        }

    @cached_property
    def leads(self) -> dict[str, Figures]:
        """By how much the figures of the robust classifier exceed those of each rival, with intervals."""
        (_, y, _), classes, own = self.judged, self.material.linear.classes_, self.decisions[ROBUST]
        return {name: leads(own, rival, y, classes) for name, rival in self.decisions.items() if name != ROBUST}

    @cached_property
    def curvature(self) -> Figures | None:
        """What a curved boundary gains in ROC AUC on the held-out rows; None if that was not tried, or has none."""
        if self.curved is None:
            return None
        (X, y, _), classes = self.judged, self.curved.classes_
        decisions = self.curved.decision_function(X)
        lead = leads(decisions, self.decisions[ROBUST], y, classes)["roc_auc"]
        if lead is None:
            return None
        own = scores(decisions, y, classes, new_rows=True)
        return {
            "roc_auc": own["roc_auc"],
            "interval": own["intervals"]["roc_auc"],
            "lead": lead,
            "linear_is_enough": lead["interval"][0] <= 0.0,
        }

    @property
    def own(self) -> Figures:
        """The scores of the robust classifier."""
        return self.comparison[ROBUST]

    @property
    def best_rival(self) -> str:
        rivals = [name for name in self.comparison if name != ROBUST]
        return max(rivals, key=lambda name: self.comparison[name]["accuracy"])

    @cached_property
    def bounds(self) -> Figures:
        """The largest error rates that flipped labels alone, and shifted features alone, can cause."""
        radius, d = self.radius, self.judged.X.shape[1]
        shifts = [factor * radius for factor in SHIFTS] if radius > 0 else [0.0]
        flipped = {"radius": FLIPS, "flip_cost": 1.0, "norm": 2, "feature_cost": np.full(d, np.inf)}
        shifted = {**self.material.ball, "radius": shifts, "flip_cost": math.inf}
        return {
            "flipped_labels": {"share": list(FLIPS), "error": self._errors(**flipped)},
            "shifted_features": {"shift": shifts, "error": self._errors(**shifted)},
        }

    def _errors(self, **ball) -> dict[str, list[float]]:
        ball, judged = {"loss": "zero-one", **ball}, self.judged[:2]
        risks = {name: worst_case_risk(model, *judged, **ball) for name, model in self.models.items()}
        return {name: np.asarray(values).tolist() for name, values in risks.items()}

    @cached_property
    def constant(self) -> tuple[object, float] | None:
        """The label that is predicted for (nearly) all rows, and its share; None for a useful classifier."""
        return constant_label(self.own)

    @cached_property
    def noise(self) -> list[object]:
        """The labels (with two classes, the positive one) whose decision values on the judged rows are noise."""
        constant = are_noise(self.decisions[ROBUST], [(result.gap, result.tol) for result in self.material.results])
        labels = self.classes if self.multiclass else [self.positive]
        return list(compress(labels, constant))

    @property
    def informative(self) -> bool:
        """Whether the shown decision differs between rows, and the predictions do."""
        return self.constant is None and self.positive not in self.noise

    @cached_property
    def deviations(self) -> np.ndarray:
        """The standard deviations of the columns of the training rows."""
        return column_deviations(self.material.X)

    @cached_property
    def best_radius(self) -> BestRadius | None:
        """The best radius of the path for the shown decision, on the rows it is judged by."""
        if self.path is None:
            return None
        radii, truth = self.path.radii, self.judged.y == self.positive
        values = np.asarray(self.judged.X @ self.path.weights.T) + self.path.intercepts
        # scikit-learn's score warns if one of the two sides has no rows.
        recalls = [np.mean((values > 0)[side] == truth[side, None], axis=0) for side in (truth, ~truth) if side.any()]
        accuracy = np.mean(recalls, axis=0)
        best = np.lexsort((radii, accuracy))[-1]  # of several, the largest
        own = np.argmin(np.abs(radii - self.radius))
        return BestRadius(float(radii[best]), float(accuracy[best]), float(accuracy[best] - accuracy[own]))

    @property
    def n_last_weights(self) -> int:
        """The number of weights that count at the largest radius of the path."""
        if self.path is None:
            return 0
        return int(weights_that_count(self.path[int(self.path.radii.argmax())], self.deviations).sum())

    @cached_property
    def used(self) -> np.ndarray:
        """Indices of the features whose weights count, largest weights first; none of a constant decision."""
        order = np.argsort(-np.abs(self.result.weights), kind="stable")
        counts = weights_that_count(self.result, self.deviations) & (self.positive not in self.noise)
        return order[counts[order]]

    @cached_property
    def features(self) -> list[tuple[str, float]]:
        """Names and weights of these features."""
        side = -1.0 if not self.multiclass and self.positive == self.classes[0] else 1.0
        return [(self.material.feature_names[k], side * float(self.result.weights[k])) for k in self.used]

    @property
    def carriers(self) -> list[tuple[str, float]]:
        """The three most important features, without those that carry next to nothing."""
        return [pair for pair in self.features[:3] if abs(pair[1]) >= CARRIES * abs(self.features[0][1])]

    @property
    def carried_share(self) -> float:
        """Their share of all weights."""
        sizes = np.abs([weight for _, weight in self.features])
        return float(sizes[: len(self.carriers)].sum() / sizes.sum())

    @cached_property
    def pulls(self) -> np.ndarray:
        """Share of each sample in Σ ‖(α_i − β_i) x_i‖_p, the forces that determine the weights."""
        norm = float(self.material.ball["norm"])
        forces = np.abs(self.result.hinge_dual - self.result.flip_dual) * row_norms(self.material.X, norm)
        return forces / forces.sum() if forces.sum() > 0 else forces

    def strongest_pulls(self, count: int) -> dict[int, float]:
        """Return the rows that pull most, and their shares."""
        rows = np.argsort(-self.pulls, kind="stable")[:count].tolist()
        return {row: float(self.pulls[row]) for row in rows if self.pulls[row] > 0}

    @property
    def active_share(self) -> float:
        """The share of the training rows with a nonzero multiplier."""
        return float(np.mean(self.result.hinge_dual + self.result.flip_dual > NEGLIGIBLE * self.weights))

    @property
    def flipped_share(self) -> float:
        return float(self.distribution.mass[self.distribution.flipped].sum())

    @property
    def moved_share(self) -> float:
        return float(self.distribution.mass[self.distribution.shift > 0].sum())

    @property
    def calm_risk(self) -> float:
        """The hinge risk without an adversary."""
        return float((1 - self.distribution._data.margins).clip(min=0).mean())

    @property
    def further_terms(self) -> str:
        """What the objective has besides the worst-case risk of the weights."""
        terms = {
            "with the intercept inside the norm": math.isfinite(self.material.setting("intercept_cost")),
            "plus ridge term": float(self.material.setting("l2")) > 0,
        }
        return ", ".join(compress(terms, terms.values()))

    def contradicted(self, count: int) -> np.ndarray:
        """Return the rows whose labels are contradicted most strongly by classifiers that were trained without them."""
        if self.label_issues is None:
            return np.array([], dtype=int)
        issues = self.label_issues
        order = issues.ranking[:count]
        return order[issues.predicted_label[order] != issues.given_label[order]]

    @property
    def wrong_shares(self) -> list[float]:
        """The share of the labels that seem to be wrong, and its interval; empty if nothing is known of that."""
        issues = self.label_issues
        if issues is None or issues.wrong_labels is None or issues.wrong_labels_interval is None:
            return []
        return [count / len(issues.ranking) for count in (issues.wrong_labels, *issues.wrong_labels_interval)]

    def flagged(self, count: int) -> list[str]:
        """Return the names of the rows whose labels are most likely to be wrong."""
        if self.label_issues is None:
            return []
        issues = self.label_issues
        order = issues.ranking[issues.is_label_issue[issues.ranking]]
        return [self.material.row_names[row] for row in order[:count]]

    def summary(self) -> Figures:
        material, issues = self.material, self.label_issues
        names = ("objective", "lower_bound", "gap", "status", "solver", "n_iter", "time")
        certificates = [
            {name: getattr(result, name) for name in names} | {"status": str(result.status)}
            for result in material.results
        ]
        path = None if self.path is None else {k: v.tolist() for k, v in self.path.table().items()}
        return {
            "label": material.label,
            "n_samples": len(material.y),
            "n_held_out": len(self.judged.y) if self.judged.held_out else 0,
            "judged_by": self.judged.name,
            "n_features": material.X.shape[1],
            "n_features_used": len(self.features),
            "classes": self.classes,
            "positive": self.positive,
            "radius": self.radius,
            "flip_cost": _plain(material.ball["flip_cost"]),
            "norm": _plain(material.ball["norm"]),
            "l2": float(material.setting("l2")),
            **certificates[self.index],
            "certificates": certificates,
            "models": self.comparison,
            "leads": self.leads if self.judged.held_out else None,
            "curvature": self.curvature,
            "constant": None if self.constant is None else dict(zip(("label", "share"), self.constant, strict=True)),
            "constant_decisions": self.noise,
            "bounds": self.bounds,
            "provenance": self.provenance,
            "flipped_share": self.flipped_share,
            "moved_share": self.moved_share,
            "largest_shift": float(self.distribution.shift.max(initial=0.0)),
            "contradicted_labels": None if issues is None else issues.n_contradicted,
            "flagged_labels": None if issues is None else int(issues.is_label_issue.sum()),
            "wrong_labels": issues and issues.wrong_labels,
            "wrong_labels_interval": issues and issues.wrong_labels_interval,
            "labels_to_check": [material.row_names[row] for row in self.contradicted(20)],
            "weights": dict(self.features[:20]),
            "radius_path": path,
            "warnings": material.notes,
            "reading": list(material.source.notes),
        }


def constant_label(figures: Figures) -> tuple[object, float] | None:
    """Return the label of (nearly) all predictions, and its share; None if other classes are found too."""
    lines = figures["confusion"].values()
    predicted = {label: sum(line[label] for line in lines) for label in figures["confusion"]}
    most = max(predicted, key=lambda label: predicted[label])
    share = predicted[most] / figures["rows"]
    useful = figures["balanced_accuracy"] > useful_accuracy(len(predicted))
    return None if share < SAME or (useful and share < 1.0) else (most, share)


def useful_accuracy(n_classes: int) -> float:
    """Return the balanced accuracy above which a classifier knows something: a quarter of the way from chance to 1."""
    return (3.0 / n_classes + 1.0) / 4.0


def _plain(value):
    """Return a JSON-compatible number, or one per class; JSON has no infinity."""
    if isinstance(value, Mapping):
        return {str(label): _plain(price) for label, price in value.items()}
    number = float(value)
    return "inf" if math.isinf(number) else number
