"""The summary of ``drsvm fit``, as plain values and as text."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

import drsvm
from drsvm.audit import performance, precision
from drsvm.audit.model_layers import trained_parameters
from drsvm.cli.fit_and_test import Fitted, Trained
from drsvm.cli.options import typed
from drsvm.cli.screen import Payload, exit_code
from drsvm.defaults.group_landmarks import LEAST
from drsvm.problem.result import Result
from drsvm.report.column_importances import column_importances
from drsvm.report.inputs import certificate_of, chosen_value, results_of
from drsvm.report.rivals import FIGURES, TREES, USE_TREES, saves_costs
from drsvm.report.verdict import (
    finds,
    important,
    is_guess,
    is_negligible,
    missed_class,
    share_of_flips,
    typical_deviation,
)
from drsvm.utils.messages import counted

# How many labels and columns are named
SHOWN_LABELS = 10
SHOWN_COLUMNS = 5
# The width of the names of lines
MARGIN = 11


def fit_payload(trained: Trained, file: Path, standardise: bool) -> Payload:
    """Return the summary as plain values."""
    model = trained.model
    tested = trained.tested
    classifier, prepared, parts = model
    results = results_of(classifier)
    labels, counts = np.unique(parts.y, return_counts=True)
    classes = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    # Of the training rows: the test has figures of its own.
    decisions = model.decisions(prepared.X)
    # Two classes have one certificate, more have one for each against the rest.
    positive = [parts.positive]
    if len(results) > 1:
        positive = list(classes)
    accuracies = [(result.gap, result.tol) for result in results]
    constant = precision.are_noise(decisions, accuracies)
    certificates = list(map(_certificate, results, positive, constant))
    n_features = int(classifier.n_features_in_)
    scaled = prepared.scaled(standardise)
    n_scaled = int(sum(scaled))
    # The radius as a shift of the features: with a kernel it is another one.
    radius = trained_parameters(classifier)["radius"]
    held_out = None
    if tested is not None:
        held_out = {
            "rows": tested.prepared.X_test.shape[0],
            "trained_on": len(tested.parts.y),
        }
    alternatives = {}
    for alternative, fitted in trained.others.items():
        name = typed(alternative.option, alternative.value)
        alternatives[name] = fitted.test_scores()
    negligible = False
    if not parts.on_disk:
        negligible = is_negligible(radius, typical_deviation(prepared.X, scaled))
    payload = {
        "command": "fit",
        "drsvm": drsvm.__version__,
        "file": str(file),
        "rows": len(parts.y),
        "features": n_features,
        "label": parts.data.schema.label,
        "classes": classes,
        "positive": parts.positive,
        "parameters": _parameters(classifier, standardise),
        "units": {"standard_deviations": n_scaled, "original": n_features - n_scaled},
        "certificates": certificates,
        "proven": exit_code(certificates) == 0,
        "train": performance.scores(decisions, parts.y, classifier.classes_),
        "test": (tested or model).test_scores(),
        "held_out": held_out,
        "alternatives": alternatives,
        "trees_ahead": trained.ahead,
        "negligible": negligible,
    }
    if hasattr(classifier, "coef_"):
        payload["weights"] = _weights(model, results, constant)
    else:
        payload["kernel"] = {
            "gamma": classifier.gamma_,
            "landmarks": len(classifier.landmark_indices_),
            "made_of": made_of(classifier),
            "radius_in_features": radius,
        }
        payload["importances"] = _importances(tested or model)
    return payload


def _parameters(classifier, standardise: bool) -> Payload:
    parameters = {
        "radius": chosen_value(classifier, "radius"),
        "l2": chosen_value(classifier, "l2"),
        # A kernel has no norm: shifts are measured by their length.
        "norm": getattr(classifier, "norm", 2.0),
        "kernel": getattr(classifier, "kernel", "linear"),
        "standardise": standardise,
        "moved_by": classifier.threshold_,
    }
    names = ("row_radius", "flip_cost", "fit_intercept", "class_weight", "threshold")
    for name in names:
        parameters[name] = getattr(classifier, name)
    return parameters


def _certificate(result: Result, positive: object, constant: bool) -> Payload:
    return {
        "positive": positive,
        **certificate_of(result),
        "only_for": result.condition or None,
        "constant": constant,
        "tol": result.tol,
        "radius_price": result.radius_price,
        # With landmarks that are no rows: how far it is from the best function of all
        "gap_anywhere": _gap_anywhere(result),
    }


def _gap_anywhere(result: Result) -> float | None:
    bound = result.info.get("bound_anywhere")
    if bound is None:
        return None
    return result.objective - bound


def made_of(classifier: Any) -> str:
    """Return what the landmarks of a classifier with a kernel are."""
    if classifier.landmarks is None:
        return "rows of the training data, which a model file contains"
    return f"means of at least {LEAST} rows, and random points around them"


def _weights(model: Fitted, results: list[Result], constant: list[bool]) -> Payload:
    """Return the number of weights that count, and the largest of one classifier.

    Those of constant classifiers do not count.
    """
    # Weights speak for the positive class, which may be the first of two.
    coef = model.parts.side * model.classifier.coef_
    deviations = precision.column_deviations(model.prepared.X)
    counts = np.zeros(len(deviations), dtype=bool)
    for result, is_constant in zip(results, constant, strict=True):
        if not is_constant:
            counts |= precision.weights_that_count(result, deviations)
    largest = {}
    if len(coef) == 1:
        order = np.argsort(-np.abs(coef[0]))
        names = model.prepared.names or model.columns
        for index in order[counts[order]][:SHOWN_COLUMNS].tolist():
            largest[names[index]] = float(coef[0, index])
    return {
        "nonzero": int(np.count_nonzero(counts)),
        "below_accuracy": int(np.count_nonzero(coef.any(axis=0) & ~counts)),
        "largest": largest,
    }


def _importances(fitted: Fitted) -> dict[str, float] | None:
    y = fitted.parts.y_test
    if y is None:
        return None
    X = fitted.prepared.X_test
    return column_importances(fitted.classifier, X, y, fitted.columns)


def summary_lines(payload: Payload) -> list[Text]:
    """Return the summary as text."""
    lines = {"data": _data_line(payload)}
    if "choice" in payload:
        lines["choice"] = payload["choice"]["words"]
    lines["adversary"] = _adversary_line(payload)
    costs = payload["parameters"]["threshold"]
    if isinstance(costs, dict):
        lines["costs"] = _cost_line(costs, payload["test"])
    proofs = [proof_line(payload, one) for one in payload["certificates"]]
    lines["proof"] = "\n".join(proofs)
    lines |= _score_lines(payload)
    verdict = _verdict(payload["test"], payload["alternatives"])
    lines |= verdict
    if payload["trees_ahead"]:
        lines["trees"] = _about_trees(payload["trees_ahead"])
    # The features that a guess rests on mean nothing.
    if "advice" not in verdict:
        lines |= _feature_lines(payload)
    lines |= _constant_line(payload["certificates"])
    if "cv" in payload:
        found = payload["cv"]
        lines["selection"] = (
            f"chosen from {found['candidates']} candidates by cross-validation, mean "
            f"score {found['score']:.4f}"
        )
    lines["model"] = "not saved; use --model FILE to save it"
    if "model" in payload:
        lines["model"] = f"{payload['model']}, trained on all {payload['rows']:,} rows"
    texts = []
    for name, text in lines.items():
        # Further lines stand below the first.
        text = text.replace("\n", "\n" + MARGIN * " ")
        texts.append(Text.assemble((f"{name:<{MARGIN}}", "bold"), text))
    return texts


def _data_line(payload: Payload) -> str:
    counts = payload["classes"]
    shown = [f"{label} ({count:,})" for label, count in counts.items()]
    labels = ", ".join(shown[:SHOWN_LABELS])
    if len(shown) > SHOWN_LABELS:
        labels += f" and {len(shown) - SHOWN_LABELS:,} more"
    side = "one-vs-rest"
    if payload["positive"] is not None:
        side = f"positive: {payload['positive']}"
    features = counted(payload["features"], "feature")
    return f"{payload['rows']:,} rows, {features}, labels {labels}; {side}"


def _adversary_line(payload: Payload) -> str:
    """Return what the adversary may do, and in which units."""
    parameters = payload["parameters"]
    radius = parameters["radius"]
    small = ", too little to matter in practice" if payload["negligible"] else ""
    line = f"may shift a row by {radius:.4g} on average"
    own = parameters["row_radius"]
    if own > 0.0:
        line = f"may shift every row by {own:.4g}"
        if radius > 0.0:
            line += f", and further by {radius:.4g} on average"
        else:
            small = ""
    if "kernel" in payload:
        shift = payload["kernel"]["radius_in_features"]
        line += " in the feature space, which covers shifts of the features by "
        line += f"{shift:.4g}{small}"
    else:
        line += f"{small} (norm {parameters['norm']:g})"

    cost = parameters["flip_cost"]
    if isinstance(cost, dict):
        costs = ", ".join(f"{label} {each:g}" for label, each in cost.items())
        line += f", or flip labels (flip costs {costs}), or a mix of both"
    elif math.isinf(cost):
        line += "; all labels are trusted"
    else:
        share = share_of_flips(radius, cost)
        line += f", or flip up to {share:.1%} of the labels (flip cost {cost:g}), or a "
        line += "mix of both"

    if not parameters["standardise"]:
        return f"{line}; numbers not scaled"
    line += "; numbers clipped and standardised"
    if payload["units"]["original"]:
        line += ", 0/1 columns as they are"
    return line


def _cost_line(costs: dict[object, float], tested: Payload | None) -> str:
    """Return the costs of missing a class, and what a row of the test costs."""
    shown = ", ".join(f"{label}={cost:g}" for label, cost in costs.items())
    line = f"of missing a class: {shown}"
    if tested is None:
        return line
    low, high = tested["intervals"]["cost"]
    constant = tested["constant"]
    return (
        f"{line}; {tested['cost']:.4g} per test row (95\u202f%: {low:.4g} to "
        f"{high:.4g}; always {constant['label']}: {constant['cost']:.4g})"
    )


def proof_line(payload: Payload, certificate: Payload) -> str:
    """Return what is proven of one decision, and how it was found."""
    name = ""
    if len(payload["classes"]) > 2:
        name = f"{certificate['positive']}: "
    placed = ""
    if payload["parameters"]["moved_by"]:
        placed = " before the threshold is placed"
    optimum = "the optimum"
    if certificate["status"] == "optimal in span":
        optimum += " for these landmarks"
    if certificate.get("gap_anywhere") is not None:
        optimum += (
            f" and {certificate['gap_anywhere']:.1e} above that for all functions"
        )
    if certificate["only_for"]:
        optimum = f"the optimum for {certificate['only_for']}"
    n_iter = certificate["n_iter"]
    steps = counted(n_iter, "iteration")
    return (
        f"{name}worst-case risk {certificate['objective']:.8f}{placed}, at most "
        f"{certificate['gap']:.1e} above {optimum} (tolerance "
        f"{certificate['tol']:.0e}: {certificate['status']}); "
        f"{certificate['solver']}, {steps}, {certificate['time']:.2f} s"
    )


def _score_lines(payload: Payload) -> dict[str, str]:
    """Return how well the classifier does on the test rows and the training rows."""
    tested = payload["test"]
    held_out = payload["held_out"]
    train = payload["train"]
    summary = performance.summary(train)
    if tested is None:
        optimistic = f"{summary}, on the training rows, so optimistic"
        return {"training": "\n".join([optimistic, *performance.by_class(train)])}
    how = "of the test file"
    condition = performance.IF_NEW
    if held_out:
        how = f"held out; trained on the other {held_out['trained_on']:,}"
        condition = ""
    lines = [
        f"{performance.summary(tested)}, {how}",
        performance.interval_line(tested, condition),
        *performance.by_class(tested),
    ]
    return {"test": "\n".join(lines), "training": summary}


def _verdict(
    tested: Payload | None, alternatives: dict[str, Payload]
) -> dict[str, str]:
    """Return a line if the classifier should not be used as it is."""
    if tested is None:
        return {}
    if is_guess(tested):
        return {
            "advice": "do not use it: on the test rows it is not clearly better than "
            "guessing"
        }
    if not saves_costs(tested):
        answer = tested["constant"]["label"]
        return {
            "advice": f"do not use it: always answering {answer} does not cost clearly "
            "more"
        }
    label = missed_class(tested)
    if label is None:
        return {}
    first = f"most rows of class {label}: {finds(tested, label)}"
    if not alternatives:
        return {"missed": first}
    lines = [f"{first}; others, on the same rows:"]
    width = max(map(len, alternatives))
    for option, found in alternatives.items():
        lines.append(
            f"{option:<{width}}  accuracy {found['accuracy']:.4f}, balanced "
            f"{found['balanced_accuracy']:.4f}, {finds(found, label)}"
        )
    return {"missed": "\n".join(lines)}


def _about_trees(ahead: Payload) -> str:
    name = FIGURES[ahead["figure"]]
    return (
        f"{TREES} are clearly ahead in the test, {name} {ahead['trees']:.4f} against "
        f"{ahead['own']:.4f}: {USE_TREES}"
    )


def _feature_lines(payload: Payload) -> dict[str, str]:
    """Return the columns that the classifier rests on."""
    if "weights" in payload:
        weights = payload["weights"]
        line = f"{weights['nonzero']:,} of {payload['features']:,} nonzero"
        n_below = weights["below_accuracy"]
        if n_below:
            line += f"; {n_below:,} below the accuracy of the solution"
        if weights["largest"]:
            line += f"; largest: {_by_column(weights['largest'].items(), '+.3g')}"
        return {"weights": line}
    kernel = payload["kernel"]
    lines = {
        "kernel": f"{payload['parameters']['kernel']}, gamma {kernel['gamma']:.4g}; "
        f"{kernel['landmarks']:,} landmarks: {kernel['made_of']}"
    }
    first = important(payload["importances"] or {})[:SHOWN_COLUMNS]
    if first:
        lines["importance"] = (
            f"{_by_column(first, '.3f')}: how much the ROC AUC of the test falls if a "
            "column is shuffled"
        )
    return lines


def _by_column(values: Iterable[tuple[str, float]], digits: str) -> str:
    """Return names of columns, each in one line, with a number."""
    shown = [f"{' '.join(name.split())} {value:{digits}}" for name, value in values]
    return ", ".join(shown)


def _constant_line(certificates: list[Payload]) -> dict[str, str]:
    """Return a line about classifiers that give all rows the same decision value."""
    constant = [str(one["positive"]) for one in certificates if one["constant"]]
    if not constant:
        return {}
    which = "this classifier"
    if len(certificates) > 1:
        which = f"{', '.join(constant)} against the rest"
    return {"constant": f"{which}: {precision.NOISE}"}
