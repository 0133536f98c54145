"""The summary of ``drsvm fit``, as plain values and as text."""

import math
from pathlib import Path

import numpy as np
from rich.text import Text

import drsvm
from drsvm.audit.model_layers import trained_parameters
from drsvm.cli.fit_and_test import Fitted, Trained
from drsvm.cli.screen import Payload, exit_code
from drsvm.estimators import scores as figures
from drsvm.problem.result import Result
from drsvm.report.column_importances import column_importances
from drsvm.report.inputs import results_of
from drsvm.report.verdict import finds, important, is_guess, is_negligible, missed_class

NOISE = (
    "decision values differ by less than the accuracy of the solution; ranks, ROC AUC "
    "and probabilities are noise"
)
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
    classes, counts = np.unique(parts.y, return_counts=True)
    decisions = model.decisions(prepared.X)
    accuracies = [(result.gap, result.tol) for result in results]
    constant = figures.are_noise(decisions, accuracies)
    positive = classes.tolist() if len(results) > 1 else [parts.positive]
    n_scaled = int(sum(prepared.scaled(standardise)))
    # The radius as a shift of the features
    radius = trained_parameters(classifier)["radius"]
    held_out = None
    if tested is not None:
        held_out = {
            "rows": tested.prepared.X_test.shape[0],
            "trained_on": len(tested.parts.y),
        }
    others = trained.others.items()
    payload = {
        "command": "fit",
        "drsvm": drsvm.__version__,
        "file": str(file),
        "rows": int(parts.X.shape[0]),
        "features": int(classifier.n_features_in_),
        "label": parts.data.schema.label,
        "classes": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        "positive": parts.positive,
        "parameters": _parameters(classifier, standardise),
        "units": {
            "standard_deviations": n_scaled,
            "original": prepared.X.shape[1] - n_scaled,
        },
        "certificates": list(map(_certificate, results, positive, constant)),
        "proven": exit_code(str(result.status) for result in results) == 0,
        "train": figures.scores(decisions, parts.y, classifier.classes_),
        "test": (tested or model).test_scores(),
        "held_out": held_out,
        "alternatives": {one.typed: own.test_scores() for one, own in others},
        "negligible": parts.ready is None and is_negligible(radius, prepared.X),
    }
    if hasattr(classifier, "coef_"):
        payload["weights"] = _weights(model, results, constant)
        return payload
    payload["kernel"] = {
        "gamma": classifier.gamma_,
        "landmarks": len(classifier.landmark_indices_),
        "radius_in_features": radius,
    }
    payload["importances"] = _importances(tested or model)
    return payload


def _parameters(classifier, standardise: bool) -> Payload:
    is_linear = hasattr(classifier, "coef_")
    return {
        "radius": getattr(classifier, "radius_", classifier.radius),
        "l2": getattr(classifier, "l2_", classifier.l2),
        "norm": classifier.norm if is_linear else 2.0,
        "kernel": "linear" if is_linear else classifier.kernel,
        "flip_cost": classifier.flip_cost,
        "fit_intercept": classifier.fit_intercept,
        "class_weight": classifier.class_weight,
        "threshold": classifier.threshold,
        "standardise": standardise,
        "moved_by": classifier.threshold_,
    }


def _certificate(result: Result, positive: object, constant: bool) -> Payload:
    return {
        "positive": positive,
        "status": str(result.status),
        "only_for": result.condition or None,
        "constant": constant,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "tol": result.tol,
        "radius_price": result.radius_price,
        "solver": result.solver,
        "n_iter": result.n_iter,
        "time": result.time,
    }


def _weights(model: Fitted, results: list[Result], constant: list[bool]) -> Payload:
    """Return the number of weights that count, and the largest of one classifier.

    Those of constant classifiers do not count.
    """
    coef = model.parts.side * model.classifier.coef_
    index_base = model.parts.data.schema.index_base
    deviations = figures.column_deviations(model.prepared.X)
    counts = np.zeros(len(deviations), dtype=bool)
    for result, is_constant in zip(results, constant, strict=True):
        if not is_constant:
            counts |= figures.weights_that_count(result, deviations)
    largest = {}
    if len(coef) == 1:
        order = np.argsort(-np.abs(coef[0]))
        names = model.prepared.names
        for index in order[counts[order]][:SHOWN_COLUMNS].tolist():
            name = names[index] if names else str(index + index_base)
            largest[name] = float(coef[0, index])
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
        shown = ", ".join(f"{label}={cost:g}" for label, cost in costs.items())
        lines["costs"] = f"of missing a class: {shown}{_cost_of_rows(payload)}"
    lines["proof"] = _below([_proof(payload, one) for one in payload["certificates"]])
    lines |= _figures(payload)
    verdict = _verdict(payload["test"], payload["alternatives"])
    lines |= verdict
    # The features that a guess rests on mean nothing.
    if "advice" not in verdict:
        lines |= _feature_lines(payload)
    constant = _constant_line(payload)
    if constant:
        lines["constant"] = constant
    if "cv" in payload:
        found = payload["cv"]
        lines["selection"] = (
            f"chosen from {found['candidates']} candidates by cross-validation, mean "
            f"score {found['score']:.4f}"
        )
    lines["model"] = "not saved; use --model FILE to save it"
    if "model" in payload:
        lines["model"] = f"{payload['model']}, trained on all {payload['rows']:,} rows"
    return [
        Text.assemble((f"{name:<{MARGIN}}", "bold"), text)
        for name, text in lines.items()
    ]


def _below(lines: list[str]) -> str:
    return ("\n" + MARGIN * " ").join(lines)


def _data_line(payload: Payload) -> str:
    counts = payload["classes"]
    shown = [f"{label} ({count:,})" for label, count in counts.items()]
    labels = ", ".join(shown[:SHOWN_LABELS])
    if len(shown) > SHOWN_LABELS:
        labels += f" and {len(shown) - SHOWN_LABELS:,} more"
    side = "one-vs-rest"
    if payload["positive"] is not None:
        side = f"positive: {payload['positive']}"
    features = "feature" if payload["features"] == 1 else "features"
    return (
        f"{payload['rows']:,} rows, {payload['features']:,} {features}, labels "
        f"{labels}; {side}"
    )


def _adversary_line(payload: Payload) -> str:
    """Return what the adversary may do, and in which units."""
    parameters = payload["parameters"]
    radius = parameters["radius"]
    small = ", too little to matter in practice" if payload["negligible"] else ""
    line = f"may shift a row by {radius:.4g} on average"
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
        share = 1.0 if cost == 0 else min(1.0, radius / cost)
        line += f", or flip up to {share:.1%} of the labels (flip cost {cost:g}), or a "
        line += "mix of both"

    if not parameters["standardise"]:
        return f"{line}; numbers not scaled"
    line += "; numbers clipped and standardised"
    if payload["units"]["original"]:
        line += ", 0/1 columns as they are"
    return line


def _cost_of_rows(payload: Payload) -> str:
    """Return what a row of the test costs on average, here and with one answer."""
    tested = payload["test"]
    if tested is None:
        return ""
    confusion = tested["confusion"]
    missed = {}
    cost_here = 0.0
    for name, cost in payload["parameters"]["threshold"].items():
        n_rows = sum(confusion[name].values())
        missed[name] = cost * n_rows
        cost_here += cost * (n_rows - confusion[name][name])
    # To give always the answer whose rows are dearest to miss is the cheaper one.
    always = max(missed, key=missed.__getitem__)
    cost_always = sum(missed.values()) - missed[always]
    n = tested["rows"]
    return (
        f"; {cost_here / n:.4g} per test row (always {always}: {cost_always / n:.4g})"
    )


def _proof(payload: Payload, certificate: Payload) -> str:
    name = ""
    if len(payload["classes"]) > 2:
        name = f"{certificate['positive']}: "
    placed = ""
    if payload["parameters"]["moved_by"]:
        placed = " before the threshold is placed"
    optimum = "the optimum"
    if certificate["only_for"]:
        optimum = f"the optimum for {certificate['only_for']}"
    n_iter = certificate["n_iter"]
    steps = "1 iteration" if n_iter == 1 else f"{n_iter:,} iterations"
    return (
        f"{name}worst-case risk {certificate['objective']:.8f}{placed}, at most "
        f"{certificate['gap']:.1e} above {optimum} (tolerance "
        f"{certificate['tol']:.0e}: {certificate['status']}); "
        f"{certificate['solver']}, {steps}, {certificate['time']:.2f} s"
    )


def _figures(payload: Payload) -> dict[str, str]:
    tested = payload["test"]
    held_out = payload["held_out"]
    train = payload["train"]
    summary = figures.summary(train)
    if tested is None:
        optimistic = f"{summary}, on the training rows, so optimistic"
        return {"training": _below([optimistic, *figures.by_class(train)])}
    how = "of the test file"
    condition = figures.IF_NEW
    if held_out:
        how = f"held out; trained on the other {held_out['trained_on']:,}"
        condition = ""
    lines = [
        f"{figures.summary(tested)}, {how}",
        figures.interval_line(tested, condition),
        *figures.by_class(tested),
    ]
    return {"test": _below(lines), "training": summary}


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
    label = missed_class(tested)
    if label is None:
        return {}
    first = f"most {label}: {finds(tested, label)}"
    if not alternatives:
        return {"missed": first}
    lines = [f"{first}; others, on the same rows:"]
    width = max(map(len, alternatives))
    for option, found in alternatives.items():
        lines.append(
            f"{option:<{width}}  accuracy {found['accuracy']:.4f}, balanced "
            f"{found['balanced_accuracy']:.4f}, {finds(found, label)}"
        )
    return {"missed": _below(lines)}


def _feature_lines(payload: Payload) -> dict[str, str]:
    """Return the columns that the classifier rests on."""
    if "weights" in payload:
        weights = payload["weights"]
        line = f"{weights['nonzero']:,} of {payload['features']:,} nonzero"
        if weights["below_accuracy"]:
            n_below = weights["below_accuracy"]
            line += f"; {n_below:,} below the accuracy of the solution"
        if weights["largest"]:
            shown = [
                f"{_in_one_line(name)} {value:+.3g}"
                for name, value in weights["largest"].items()
            ]
            line += f"; largest: {', '.join(shown)}"
        return {"weights": line}
    kernel = payload["kernel"]
    lines = {
        "kernel": f"{payload['parameters']['kernel']}, gamma {kernel['gamma']:.4g}; "
        f"made of {kernel['landmarks']:,} of the {payload['rows']:,} rows (landmarks)"
    }
    first = important(payload["importances"] or {})[:SHOWN_COLUMNS]
    if first:
        shown = [f"{_in_one_line(name)} {fall:.3f}" for name, fall in first]
        lines["importance"] = (
            f"{', '.join(shown)}: how much the ROC AUC of the test falls if a column "
            "is shuffled"
        )
    return lines


def _in_one_line(name: str) -> str:
    return " ".join(name.split())


def _constant_line(payload: Payload) -> str | None:
    certificates = payload["certificates"]
    constant = [str(one["positive"]) for one in certificates if one["constant"]]
    if not constant:
        return None
    if len(certificates) == 1:
        return f"this classifier: {NOISE}"
    return f"{', '.join(constant)} against the rest: {NOISE}"
