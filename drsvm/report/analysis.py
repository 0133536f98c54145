"""The content of a report, as numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from drsvm.audit.label_scores import LabelIssues
from drsvm.audit.performance import leads, scores
from drsvm.audit.precision import are_noise, column_deviations, weights_that_count
from drsvm.audit.worst_case import worst_case_risk
from drsvm.audit.worst_distribution import WorstCaseDistribution
from drsvm.problem.memory_rows import MemoryRows
from drsvm.report.column_importances import column_importances
from drsvm.report.inputs import (
    SHIFTS,
    Figures,
    Material,
    certificate_of,
    results_of,
)
from drsvm.report.rivals import TREES, clearly_ahead, costs_of
from drsvm.report.verdict import (
    NEGLIGIBLE_SHARE,
    Alternative,
    important,
    is_guess,
    is_negligible,
    missed_class,
    moved_columns,
)
from drsvm.solvers.path.radius_path import RadiusPath
from drsvm.utils.messages import plain

# The confidence of what is said about rows like the held-out ones.
CONFIDENCE = 0.95
# Shares of flipped labels for which bounds are shown.
FLIPS = (0.0, 0.01, 0.05, 0.1, 0.2)
# From this share of equal predictions on, a classifier may be constant in practice.
SAME = 0.99
# Multipliers below this share of their largest possible value, or below the tolerance,
# count as 0.
NEGLIGIBLE = 1e-6
# How many of the rows with the largest gradients, and of the flagged labels, are named.
LARGEST = 8
FLAGGED = 5
# A decision is said to rest on this many features.
MAIN_FEATURES = 3
# How many weights and labels to check are in the summary.
LISTED = 20


@dataclass(eq=False)
class Analysis:
    """The results of the analysis, and all that the page says about them.

    They are on the transformed features. The fields are what `computations` has fitted.
    Everything else follows from them in the steps of `__post_init__`, each of which
    sets the attributes that its docstring names; the templates of the page read them.

    Attributes
    ----------
    material : the fitted model and the rows
    index : the number of the decision that is shown, 0 for two classes
    positive : the positive class of that decision
    models : the robust classifier and its rivals
    path : the classifier and others like it by radius; empty if none has weights
    weights : of the training rows in the shown decision, with sum 1
    distribution : the worst case on the judged rows, unknown with a kernel
    label_issues : None if a class has only one row or the time was up
    provenance : digests, versions and the date
    trees : boosted trees, which have no worst case
    others : classifiers that find more rows of a rare class
    """

    material: Material
    index: int
    positive: object
    models: dict[str, ClassifierMixin]
    path: dict[float, ClassifierMixin]
    weights: np.ndarray
    distribution: WorstCaseDistribution | None
    label_issues: LabelIssues | None
    provenance: Figures
    trees: ClassifierMixin | None = None
    others: Mapping[Alternative, ClassifierMixin] = field(default_factory=dict)

    def __post_init__(self):
        material = self.material
        self.judged = material.judged
        self.result = material.results[self.index]
        self.radius = float(material.trained_for["radius"])
        # None: one for each row
        own = getattr(material.classifier, "row_radius", 0.0)
        self.row_radius = getattr(material.classifier, "_row_radius", own)
        self.classes: list[object] = material.classifier.classes_.tolist()
        # One class of several is shown against the rest.
        self.multiclass = len(self.classes) > 2
        negative: object = "the rest"
        if not self.multiclass:
            [negative] = [label for label in self.classes if label != self.positive]
        self.side_names = (str(negative), str(self.positive))
        # For `worst_case_risk`; all rows count the same.
        self.adversary = material.adversary_of(self.judged.y)
        self.audit_radius = float(self.adversary["radius"])
        # The average shifts that worst cases are shown for
        shifts = {0.0, *(share * material.deviation for share in SHIFTS)}
        if not is_negligible(self.radius, material.deviation):
            shifts.add(self.radius)
        self.shifts = sorted(shifts)
        self._compare()
        self._find_constant_decisions()
        self._weigh_features()
        self._try_radii()
        self._weigh_rows()
        self._check_labels()
        self._attack()
        self._bound_errors()

    def _compare(self) -> None:
        """Judge the classifier, its rivals and the alternatives by the same rows.

        Sets `comparison` (figures by classifier), `name` and `own` (of the robust one),
        `decisions` (its decision values), `costs` (of missing a row of each class),
        `leads` and `alternatives`.
        """
        material = self.material
        X, y, held_out = self.judged
        classes = material.classifier.classes_
        self.costs = costs_of(material.classifier)
        models = dict(self.models)
        if self.trees is not None:
            models[TREES] = self.trees
        decisions = {}
        self.comparison: dict[str, Figures] = {}
        for name, model in models.items():
            values = np.asarray(model.decision_function(X))
            decisions[name] = values
            self.comparison[name] = {
                **scores(values, y, classes, new_rows=held_out, costs=self.costs),
                "train_accuracy": float(model.score(material.X, material.y)),
                **self._worst_figures(model),
            }

        # The classifier that the report is about comes first.
        self.name = next(iter(models))
        self.own = self.comparison[self.name]
        self.decisions = decisions.pop(self.name)
        # By how much the figures of the robust classifier exceed those of each rival,
        # with intervals.
        self.leads: dict[str, Figures] = {}
        for name, rival in decisions.items():
            self.leads[name] = leads(self.decisions, rival, y, classes, self.costs)
        self.alternatives: dict[Alternative, Figures] = {}
        for alternative, model in self.others.items():
            values = np.asarray(model.decision_function(X))
            self.alternatives[alternative] = scores(
                values, y, classes, new_rows=held_out
            )

    def _worst_figures(self, model: ClassifierMixin) -> Figures:
        """Return the worst case of a linear classifier or kernel; trees have none."""
        if model is self.trees:
            return {"worst_case_risk": None, "worst_case_error": None}
        X, y, _ = self.judged
        risk = worst_case_risk(model, X, y, positive=self.positive, **self.adversary)
        error = worst_case_risk(model, X, y, loss="zero-one", **self.adversary)
        return {"worst_case_risk": float(risk), "worst_case_error": float(error)}

    def _find_constant_decisions(self) -> None:
        """Find out whether there is anything to say about the decision.

        Sets `constant` (label and share of all predictions), `noise`, `is_guess`,
        `informative`, `missed` (a rare class) and `moved` (columns).
        """
        material = self.material
        X, _, held_out = self.judged
        self.constant = constant_label(self.own)
        precision = [(result.gap, result.tol) for result in material.results]
        # With two classes, there is one decision, that for the positive class.
        names = [self.positive]
        if self.multiclass:
            names = self.classes
        # The labels whose decision values on the judged rows are noise.
        self.noise = list(compress(names, are_noise(self.decisions, precision)))
        self.is_guess = held_out and is_guess(self.own)
        # The shown decision differs between rows, and so do the predictions, and they
        # are better than those of a coin.
        self.informative = (
            self.constant is None
            and self.positive not in self.noise
            and not self.is_guess
        )
        self.missed = None
        if self.informative and held_out:
            self.missed = missed_class(self.own)
        self.moved = []
        if held_out:
            self.moved = moved_columns(material.X, X, material.columns)

    def rival_ahead(self, *names: str) -> str | None:
        """Return the first of these rivals that is clearly ahead, if there is one."""
        if not self.judged.held_out:
            return None
        for name in names:
            known = self.leads.get(name)
            if known is None:
                continue
            if clearly_ahead(known, self.comparison[name], self.material.classifier):
                return name
        return None

    def _weigh_features(self) -> None:
        """Find the features whose weights count; with a kernel, the columns.

        Sets `features` (names and weights, the largest first), `used` (the indices of
        these features), `importances` (of columns), `main_features`,
        `share_of_main_features` and `further_terms` (of the objective).
        """
        material = self.material
        further_terms = []
        if math.isfinite(material.setting("intercept_cost")):
            further_terms.append("with the intercept inside the norm")
        if float(material.setting("l2")) > 0:
            further_terms.append("plus ridge term")
        # Of the objective, beside the risk.
        self.further_terms = ", ".join(further_terms)
        self.features = []
        self.main_features = []
        self.importances = None
        if material.has_kernel:
            X, y, held_out = self.judged
            if held_out:
                self.importances = column_importances(
                    material.classifier, X, y, material.columns
                )
            self.main_features = important(self.importances or {})[:MAIN_FEATURES]
            return
        weights = self.result.weights
        order = np.argsort(-np.abs(weights), kind="stable")
        counts = weights_that_count(self.result, column_deviations(material.X))
        if self.positive in self.noise:
            counts = np.zeros_like(counts)
        # Largest weights first; none of a constant decision.
        self.used = order[counts[order]]
        # Weights speak for the positive class, which may be the first of two.
        sign = 1.0
        if not self.multiclass and self.positive == self.classes[0]:
            sign = -1.0
        for k in self.used:
            self.features.append((material.feature_names[k], sign * float(weights[k])))
        # The most important ones, without those that carry next to nothing, and their
        # share of all weights.
        sizes = np.abs(weights[self.used])
        self.share_of_main_features = 0.0
        if len(sizes):
            n_main = np.count_nonzero(
                sizes[:MAIN_FEATURES] >= NEGLIGIBLE_SHARE * sizes[0]
            )
            self.main_features = self.features[:n_main]
            self.share_of_main_features = float(sizes[:n_main].sum() / sizes.sum())

    def _try_radii(self) -> None:
        """Judge the classifiers of other radii like the own one.

        All classes count, and each classifier decides as it was fitted. Sets
        `best_radius`, `radius_path` and `n_last_weights`.
        """
        self.best_radius = None
        self.radius_path = {}
        if not self.path:
            return
        X, y, held_out = self.judged
        classes = self.material.classifier.classes_
        decisions = {}
        accuracy = {}
        for radius, model in self.path.items():
            decisions[radius] = np.asarray(model.decision_function(X))
            figures = scores(decisions[radius], y, classes)
            accuracy[radius] = figures["balanced_accuracy"]
        # The largest of several equally good ones.
        best = max(accuracy, key=lambda radius: (accuracy[radius], radius))
        all_leads = leads(decisions[best], decisions[self.radius], y, classes)
        lead = all_leads["balanced_accuracy"]
        self.best_radius = {
            "radius": best,
            "accuracy": accuracy[best],
            "gain": lead["difference"],
            "lead": lead,
            "is_better": held_out and lead["interval"][0] > 0.0,
        }
        shown = [results_of(model)[self.index] for model in self.path.values()]
        table = RadiusPath(np.array(list(self.path)), shown).table()
        self.radius_path = {
            "balanced_accuracy": np.array(list(accuracy.values())),
            **table,
        }
        # The number of features that the classifier of the largest radius still uses.
        last = self.path[max(self.path)]
        deviations = column_deviations(self.material.X)
        used = [weights_that_count(result, deviations) for result in results_of(last)]
        self.n_last_weights = np.any(used, axis=0).sum()

    def _weigh_rows(self) -> None:
        """Find the rows that determine the weights.

        Sets `largest_gradients` (by row) and `active_share`.
        """
        result = self.result
        sizes: Any = 1.0
        if not self.material.has_kernel:
            norm = float(self.material.trained_for["norm"])
            sizes = MemoryRows(self.material.X).norms(norm)
        # Shares in Σ ‖(α_i − β_i) x_i‖_p, the gradients that determine the weights.
        gradients = np.abs(result.hinge_dual - result.flip_dual) * sizes
        gradients /= gradients.sum() or 1.0
        self.largest_gradients = {}
        for row in np.argsort(-gradients, kind="stable")[:LARGEST].tolist():
            if gradients[row] > 0:
                self.largest_gradients[row] = float(gradients[row])
        least = max(NEGLIGIBLE, result.tol) * self.weights
        self.active_share = float(np.mean(result.hinge_dual + result.flip_dual > least))

    def _check_labels(self) -> None:
        """Name the labels most likely to be wrong, and estimate their share.

        Sets `flagged` (names of rows), `flagged_share` and `wrong_shares`.
        """
        issues = self.label_issues
        self.flagged = []
        self.flagged_share = 0.0
        # The share of the labels that seem to be wrong, and its interval; empty if
        # nothing is known of that.
        self.wrong_shares: list[float] = []
        if issues is None:
            return
        names = self.material.row_names
        flagged = issues.ranking[issues.is_label_issue[issues.ranking]]
        self.flagged = [names[row] for row in flagged[:FLAGGED]]
        self.flagged_share = len(flagged) / len(names)
        wrong = issues.wrong_labels
        interval = issues.wrong_labels_interval
        if wrong is not None and interval is not None:
            n = len(issues.ranking)
            self.wrong_shares = [wrong / n, interval[0] / n, interval[1] / n]

    def contradicted(self, count: int) -> np.ndarray:
        """Return the rows whose labels are contradicted most strongly.

        They are contradicted by classifiers that were trained without them.
        """
        issues = self.label_issues
        if issues is None:
            return np.array([], dtype=int)
        first = issues.ranking[:count]
        return first[issues.is_contradicted[first]]

    def _attack(self) -> None:
        """Describe the worst distribution of the rows.

        Sets `worst_case`.
        """
        worst = self.distribution
        self.worst_case: Figures | None = None
        if worst is not None:
            nothing = {**self.adversary, "radius": 0.0, "flip_cost": math.inf}
            risk = worst_case_risk(
                self.models[self.name],
                *self.judged[:2],
                positive=self.positive,
                **nothing,
            )
            self.worst_case = {
                "flipped_share": float(worst.mass[worst.flipped].sum()),
                "moved_share": float(worst.mass[worst.shift > 0].sum()),
                "largest_shift": float(worst.shift.max(initial=0.0)),
                "risk_without_adversary": float(risk),
            }

    def _bound_errors(self) -> None:
        """Bound the error rates.

        Sets `population` (bounds for rows like the held-out ones) and `bounds` (the
        largest errors from flips and from shifts alone).
        """
        self.population: Figures | None = None
        if self.judged.held_out:
            adversary = {**self.adversary, "radius": [0.0, self.audit_radius]}
            errors = worst_case_risk(
                self.models[self.name],
                *self.judged[:2],
                loss="zero-one",
                confidence=CONFIDENCE,
                **adversary,
            )
            error, worst_error = np.asarray(errors).tolist()
            self.population = {
                "confidence": CONFIDENCE,
                "error": error,
                "worst_case_error": worst_error,
            }

        # Flips alone: no feature can shift. Shifts alone: all labels are trusted.
        fixed = np.full(self.judged.X.shape[1], np.inf)
        flips = {"radius": FLIPS, "flip_cost": 1.0, "norm": 2, "feature_cost": fixed}
        trusted = {"radius": self.shifts, "flip_cost": math.inf}
        self.bounds: Figures = {
            "flipped_labels": {"share": list(FLIPS), "error": self._errors(flips)},
            "shifted_features": {
                "shift": self.shifts,
                "error": self._errors({**self.material.trained_for, **trusted}),
            },
        }

    def _errors(self, adversary: Figures) -> dict[str, list[float]]:
        """Return the worst-case error rates of all classifiers, for several radii."""
        X, y, _ = self.judged
        errors = {}
        for name, model in self.models.items():
            rates = worst_case_risk(model, X, y, loss="zero-one", **adversary)
            errors[name] = np.asarray(rates).tolist()
        return errors

    def summary(self) -> Figures:
        """Return everything as plain numbers, strings, lists and dicts."""
        material = self.material
        adversary = material.trained_for
        certificates = list(map(certificate_of, material.results))
        constant = None
        if self.constant is not None:
            label, share = self.constant
            constant = {"label": label, "share": share}
        weights = None
        if not material.has_kernel:
            weights = dict(self.features[:LISTED])
        n_held_out = 0
        # On training rows, a lead may only show who has learned them by heart.
        leads_on_new_rows = None
        if self.judged.held_out:
            n_held_out = len(self.judged.y)
            leads_on_new_rows = self.leads
        worst = self.worst_case or {}
        contradicted = self.contradicted(LISTED)
        return {
            "label": material.label,
            "n_samples": len(material.y),
            "n_held_out": n_held_out,
            "judged_by": self.judged.name,
            "n_features": material.X.shape[1],
            "n_features_used": len(self.features),
            "classes": self.classes,
            "positive": self.positive,
            "radius": self.radius,
            "row_radius": self.row_radius,
            "flip_cost": plain(adversary["flip_cost"]),
            "norm": plain(float(adversary["norm"])),
            "audit_radius": self.audit_radius,
            # That of a kernel is an upper bound.
            "worst_case_is_exact": not material.has_kernel,
            "l2": float(material.setting("l2")),
            **certificates[self.index],
            "certificates": certificates,
            "models": self.comparison,
            "leads": leads_on_new_rows,
            "choice": material.source.choice,
            "is_guess": self.is_guess,
            "missed_class": self.missed,
            "alternatives": {str(one): by for one, by in self.alternatives.items()},
            "constant": constant,
            "constant_decisions": self.noise,
            "bounds": self.bounds,
            "population": self.population,
            "provenance": self.provenance,
            "flipped_share": worst.get("flipped_share"),
            "moved_share": worst.get("moved_share"),
            "largest_shift": worst.get("largest_shift"),
            **self._label_summary(),
            "labels_to_check": [material.row_names[row] for row in contradicted],
            "weights": weights,
            "importances": self.importances,
            "radius_path": plain(self.radius_path) or None,
            "warnings": material.notes,
            "reading": list(material.source.notes),
        }

    def _label_summary(self) -> Figures:
        """Return the numbers of doubtful labels, each None if they were not checked."""
        issues = self.label_issues
        if issues is None:
            names = "contradicted_labels flagged_labels wrong_labels"
            return dict.fromkeys([*names.split(), "wrong_labels_interval"])
        return {
            "contradicted_labels": issues.n_contradicted,
            "flagged_labels": int(issues.is_label_issue.sum()),
            "wrong_labels": issues.wrong_labels,
            "wrong_labels_interval": issues.wrong_labels_interval,
        }


def constant_label(figures: Figures) -> tuple[object, float] | None:
    """Return the label of (nearly) all predictions, and its share.

    None if other classes are found too.
    """
    confusion = figures["confusion"]
    predicted = dict.fromkeys(confusion, 0)
    for line in confusion.values():
        for label, count in line.items():
            predicted[label] += count
    most = max(predicted, key=lambda label: predicted[label])
    share = predicted[most] / figures["rows"]
    useful = figures["balanced_accuracy"] > useful_accuracy(len(predicted))
    if share < SAME or (useful and share < 1.0):
        return None
    return (most, share)


def useful_accuracy(n_classes: int) -> float:
    """Return the balanced accuracy above which a classifier knows something.

    It is a quarter of the way from chance to 1.
    """
    chance = 1.0 / n_classes
    return chance + (1.0 - chance) / 4.0
