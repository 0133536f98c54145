"""The content of a report, as numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
from sklearn.base import ClassifierMixin

from drsvm.audit.label_scores import LabelIssues
from drsvm.audit.worst_case import worst_case_risk
from drsvm.audit.worst_distribution import WorstCaseDistribution
from drsvm.estimators.importances import importances
from drsvm.estimators.scores import (
    are_noise,
    column_deviations,
    leads,
    scores,
    weights_that_count,
)
from drsvm.problem.memory_rows import MemoryRows
from drsvm.report.inputs import Figures, Material, results_of
from drsvm.report.verdict import (
    CARRIES,
    Alternative,
    important,
    is_guess,
    is_negligible,
    missed_class,
    moved_columns,
)
from drsvm.solvers.path.radius_path import RadiusPath
from drsvm.utils.messages import plain

CONFIDENCE = 0.95  # of what is said about rows like the held-out ones
# Shares of flipped labels for which bounds are shown
FLIPS = (
    0.0,
    0.01,
    0.05,
    0.1,
    0.2,
)
# Shifts for which bounds are shown, as multiples of the radius
SHIFTS = (
    0.0,
    0.5,
    1.0,
    2.0,
    4.0,
)
# From this share of equal predictions on, a classifier may be constant in practice
SAME = 0.99
# Multipliers below this share of their largest possible value, or below the tolerance,
# count as 0
NEGLIGIBLE = 1e-6
AHEAD = 0.01  # a rival is ahead by this much at least, in accuracy or in ROC AUC
TREES = "boosted trees"
# how many of the rows that pull most, and of the flagged labels, are named
PULLS = 8
FLAGGED = 5


@dataclass(eq=False)
class Analysis:
    """The results of the analysis, on the transformed features, and all that the page says about them."""

    material: Material
    index: int  # of the decision that is shown (0 for two classes)
    positive: object  # its positive class
    models: dict[str, ClassifierMixin]  # the robust classifier and its rivals
    # It and others like it by radius; empty if none has weights, and with a kernel
    path: dict[float, ClassifierMixin]
    weights: np.ndarray  # of the training rows in that decision, with sum 1
    # Its worst case on the rows it is judged by; unknown with a kernel
    distribution: WorstCaseDistribution | None
    # None if a class has only one row or the time was up
    label_issues: LabelIssues | None
    provenance: Figures  # digests, versions and the date
    trees: ClassifierMixin | None = None  # boosted trees, which have no worst case
    # That find more of a rare class
    others: Mapping[Alternative, ClassifierMixin] = field(default_factory=dict)

    def __post_init__(self):
        self.judged = self.material.judged
        self.result = self.material.results[self.index]
        self.radius = float(self.material.ball["radius"])
        self.classes: list[object] = self.material.classifier.classes_.tolist()
        # One class of several is shown against the rest
        self.multiclass = len(self.classes) > 2
        others = [str(label) for label in self.classes if label != self.positive]
        self.side_names = (
            ("the rest" if self.multiclass else others[0]),
            str(self.positive),
        )
        # For `worst_case_risk`; all rows count the same
        self.adversary = self.material.ball_of(self.judged.y)
        self._compare()
        self._weigh_features()
        self._try_radii()
        self._weigh_rows()
        self._attack()

    def _compare(self) -> None:
        material = self.material
        (X, y, held_out) = self.judged
        classes = self.material.classifier.classes_
        if self.trees is None:
            judged = self.models
        else:
            judged = {**self.models, TREES: self.trees}
        decisions = {
            name: np.asarray(model.decision_function(X))
            for name, model in judged.items()
        }
        # Risks are of the shown decision
        self.comparison: dict[str, Figures] = {
            name: {
                **scores(decisions[name], y, model.classes_, new_rows=held_out),
                "train_accuracy": float(model.score(material.X, material.y)),
                **self._worst_figures(model),
            }
            for name, model in judged.items()
        }
        # Of the classifier that the report is about
        self.name = next(iter(self.models))
        robust = decisions.pop(self.name)
        self.own = self.comparison[self.name]
        # By how much the figures of the robust classifier exceed those of each rival,
        # with intervals.
        self.leads: dict[str, Figures] = {
            name: leads(robust, rival, y, classes) for name, rival in decisions.items()
        }
        self.constant = constant_label(self.own)
        constant = are_noise(
            robust, [(result.gap, result.tol) for result in material.results]
        )
        # The labels (with two classes, the positive one) whose decision values on the
        # judged rows are noise.
        self.noise = list(
            compress(self.classes if self.multiclass else [self.positive], constant)
        )
        self.is_guess = held_out and is_guess(self.own)
        # Whether the shown decision differs between rows, the predictions do, and they
        # are better than a coin's.
        self.informative = (
            self.constant is None
            and self.positive not in self.noise
            and not self.is_guess
        )
        if self.informative and held_out:
            self.missed = missed_class(self.own)
        else:
            self.missed = None
        self.alternatives = {
            one: scores(
                np.asarray(model.decision_function(X)), y, classes, new_rows=held_out
            )
            for one, model in self.others.items()
        }
        self.too_small = is_negligible(self.radius, material.X)
        if held_out:
            self.moved = moved_columns(material.X, X, material.columns)
        else:
            self.moved = []

    def _worst_figures(self, model: ClassifierMixin) -> Figures:
        if model is self.trees:
            return {"worst_case_risk": None, "worst_case_error": None}
        X, y, _ = self.judged
        risk = worst_case_risk(model, X, y, positive=self.positive, **self.adversary)
        error = worst_case_risk(model, X, y, loss="zero-one", **self.adversary)
        return {"worst_case_risk": float(risk), "worst_case_error": float(error)}

    def behind(self, *names: str) -> str | None:
        """Return the first of these rivals that is clearly ahead, by a point or more, and nowhere clearly behind.

        Ahead in ROC AUC, or in what the threshold was placed for.
        """
        goal = self.material.setting("threshold")
        equal = self.material.setting("class_weight") == "balanced"
        if equal or goal == "balanced_accuracy":
            key = "balanced_accuracy"
        else:
            key = goal
        for name in (
            filter(self.leads.__contains__, names) if self.judged.held_out else ()
        ):
            known = {
                figure: lead
                for figure, lead in self.leads[name].items()
                if lead is not None
            }
            aims = [
                known[figure]
                for figure in (key, "roc_auc")
                if isinstance(figure, str) and figure in known
            ]
            ahead = any(
                lead["difference"] <= -AHEAD and lead["interval"][1] < 0
                for lead in aims
            )
            if ahead and not any(lead["interval"][0] > 0 for lead in known.values()):
                return name
        return None

    def _weigh_features(self) -> None:
        """Find the features whose weights count; with a kernel, the columns."""
        terms = {
            "with the intercept inside the norm": math.isfinite(
                self.material.setting("intercept_cost")
            ),
            "plus ridge term": float(self.material.setting("l2")) > 0,
        }
        # Of the objective
        self.further_terms = ", ".join(compress(terms, terms.values()))
        self.features = []
        self.carriers = []
        self.importances = None
        if self.material.curved:
            X, y, held_out = self.judged
            if held_out:
                self.importances = importances(
                    self.material.classifier, X, y, self.material.columns
                )
            self.carriers = important(self.importances or {})[:3]
            return
        weights = self.result.weights
        deviations = column_deviations(self.material.X)
        order = np.argsort(-np.abs(weights), kind="stable")
        counts = weights_that_count(self.result, deviations) & (
            self.positive not in self.noise
        )
        # Largest weights first; none of a constant decision
        self.used = order[counts[order]]
        if not self.multiclass and self.positive == self.classes[0]:
            side = -1.0
        else:
            side = 1.0
        self.features = [
            (self.material.feature_names[k], side * float(weights[k]))
            for k in self.used
        ]
        # The three most important ones, without those that carry next to nothing, and
        # their share of all weights.
        self.carriers = [
            pair
            for pair in self.features[:3]
            if abs(pair[1]) >= CARRIES * abs(self.features[0][1])
        ]
        sizes = np.abs([weight for _, weight in self.features])
        if self.features:
            self.carried_share = float(sizes[: len(self.carriers)].sum() / sizes.sum())
        else:
            self.carried_share = 0.0

    def _try_radii(self) -> None:
        """Judge the classifiers of other radii like the own one: by all classes, each deciding as it was fitted."""
        self.best_radius = None
        self.radius_path = {}
        if not self.path:
            return
        (X, y, held_out) = self.judged
        classes = self.material.classifier.classes_
        decisions = {
            radius: np.asarray(model.decision_function(X))
            for radius, model in self.path.items()
        }
        accuracy = {
            radius: scores(values, y, classes)["balanced_accuracy"]
            for radius, values in decisions.items()
        }
        # Of several, the largest
        best = max(accuracy, key=lambda radius: (accuracy[radius], radius))
        lead = leads(decisions[best], decisions[self.radius], y, classes)[
            "balanced_accuracy"
        ]
        self.best_radius = {
            "radius": best,
            "accuracy": accuracy[best],
            "gain": lead["difference"],
            "lead": lead,
        }
        self.best_radius["is_better"] = held_out and lead["interval"][0] > 0.0
        shown = RadiusPath(
            np.array(list(self.path)),
            [results_of(model)[self.index] for model in self.path.values()],
        )
        self.radius_path = {
            "balanced_accuracy": np.array(list(accuracy.values())),
            **shown.table(),
        }
        last = self.path[max(self.path)]
        deviations = column_deviations(self.material.X)
        self.n_last_weights = np.any(
            [weights_that_count(one, deviations) for one in results_of(last)], axis=0
        ).sum()

    def _weigh_rows(self) -> None:
        """Find the rows that determine the weights, and those whose labels are most likely to be wrong."""
        result = self.result
        issues = self.label_issues
        names = self.material.row_names
        norm = float(self.material.ball["norm"])
        if self.material.curved:
            sizes = 1.0
        else:
            sizes = MemoryRows(self.material.X).norms(norm)
        forces = np.abs(result.hinge_dual - result.flip_dual) * sizes
        # Shares in Σ ‖(α_i − β_i) x_i‖_p, the forces that determine the weights
        gradients = forces / (forces.sum() or 1.0)
        strongest = np.argsort(-gradients, kind="stable")[:PULLS].tolist()
        self.largest_gradients = {
            row: float(gradients[row]) for row in strongest if gradients[row] > 0
        }
        self.active_share = float(
            np.mean(
                result.hinge_dual + result.flip_dual
                > max(NEGLIGIBLE, result.tol) * self.weights
            )
        )
        if issues is None:
            flagged = ()
        else:
            flagged = issues.ranking[issues.is_label_issue[issues.ranking]]
        self.flagged = [names[row] for row in flagged[:FLAGGED]]
        self.flagged_share = len(flagged) / len(names)
        # The share of the labels that seem to be wrong, and its interval; empty if
        # nothing is known of that.
        self.wrong_shares: list[float] = []
        if (
            issues is not None
            and issues.wrong_labels is not None
            and issues.wrong_labels_interval is not None
        ):
            counts = issues.wrong_labels, *issues.wrong_labels_interval
            self.wrong_shares = [count / len(issues.ranking) for count in counts]

    def contradicted(self, count: int) -> np.ndarray:
        """Return the rows whose labels are contradicted most strongly by classifiers that were trained without them."""
        issues = self.label_issues
        if issues is None:
            return np.array([], dtype=int)
        order = issues.ranking[:count]
        return order[issues.predicted_label[order] != issues.given_label[order]]

    def _attack(self) -> None:
        """Find what an adversary can do: the worst case, and the largest errors from flips and from shifts alone."""
        worst = self.distribution
        # The hinge risk without an adversary
        self.worst_case: Figures | None = worst and {
            "flipped_share": float(worst.mass[worst.flipped].sum()),
            "moved_share": float(worst.mass[worst.shift > 0].sum()),
            "largest_shift": float(worst.shift.max(initial=0.0)),
            "calm_risk": float((1 - worst._data.margins).clip(min=0).mean()),
        }

        self.population: Figures | None = None
        if self.judged.held_out:
            ball = {
                **self.adversary,
                "radius": [0.0, self.radius],
                "loss": "zero-one",
                "confidence": CONFIDENCE,
            }
            calm, attacked = np.ravel(
                worst_case_risk(self.models[self.name], *self.judged[:2], **ball)
            ).tolist()
            self.population = {
                "confidence": CONFIDENCE,
                "error": calm,
                "worst_case_error": attacked,
            }

        def errors(**ball) -> dict[str, list[float]]:
            ball = {"loss": "zero-one", **ball}
            judged = self.judged[:2]
            risks = {
                name: worst_case_risk(model, *judged, **ball)
                for name, model in self.models.items()
            }
            return {name: np.asarray(values).tolist() for name, values in risks.items()}

        if self.radius > 0:
            shifts = [factor * self.radius for factor in SHIFTS]
        else:
            shifts = [0.0]
        fixed = np.full(self.judged.X.shape[1], np.inf)
        flipped = errors(radius=FLIPS, flip_cost=1.0, norm=2, feature_cost=fixed)
        shifted = errors(
            **{**self.material.ball, "radius": shifts, "flip_cost": math.inf}
        )
        self.bounds: Figures = {
            "flipped_labels": {"share": list(FLIPS), "error": flipped},
            "shifted_features": {"shift": shifts, "error": shifted},
        }

    def summary(self) -> Figures:
        material = self.material
        issues = self.label_issues
        names = (
            "objective",
            "lower_bound",
            "gap",
            "status",
            "solver",
            "n_iter",
            "time",
        )
        certificates = [
            {name: getattr(result, name) for name in names}
            | {"status": str(result.status)}
            for result in material.results
        ]
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
            "flip_cost": plain(material.ball["flip_cost"]),
            "norm": plain(float(material.ball["norm"])),
            "l2": float(material.setting("l2")),
            **certificates[self.index],
            "certificates": certificates,
            "models": self.comparison,
            "leads": self.leads if self.judged.held_out else None,
            "choice": material.source.choice,
            "is_guess": self.is_guess,
            "missed_class": self.missed,
            "alternatives": {
                str(one): found for one, found in self.alternatives.items()
            },
            "constant": None
            if self.constant is None
            else dict(zip(("label", "share"), self.constant, strict=True)),
            "constant_decisions": self.noise,
            "bounds": self.bounds,
            "population": self.population,
            "provenance": self.provenance,
            **{
                name: (self.worst_case or {}).get(name)
                for name in ("flipped_share", "moved_share", "largest_shift")
            },
            "contradicted_labels": issues and issues.n_contradicted,
            "flagged_labels": issues and int(issues.is_label_issue.sum()),
            "wrong_labels": issues and issues.wrong_labels,
            "wrong_labels_interval": issues and issues.wrong_labels_interval,
            "labels_to_check": [
                material.row_names[row] for row in self.contradicted(20)
            ],
            "weights": None if material.curved else dict(self.features[:20]),
            "importances": self.importances,
            "radius_path": plain(self.radius_path) or None,
            "warnings": material.notes,
            "reading": list(material.source.notes),
        }


def constant_label(figures: Figures) -> tuple[object, float] | None:
    """Return the label of (nearly) all predictions, and its share.

    None if other classes are found too.
    """
    lines = figures["confusion"].values()
    predicted = {
        label: sum(line[label] for line in lines) for label in figures["confusion"]
    }
    most = max(predicted, key=lambda label: predicted[label])
    share = predicted[most] / figures["rows"]
    useful = figures["balanced_accuracy"] > useful_accuracy(len(predicted))
    if share < SAME or (useful and share < 1.0):
        return None
    return (most, share)


def useful_accuracy(n_classes: int) -> float:
    """Return the balanced accuracy above which a classifier knows something: a quarter of the way from chance to 1."""
    return (3.0 / n_classes + 1.0) / 4.0
