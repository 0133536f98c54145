"""The summary of ``drsvm fit``: as plain values and as text, with weights or, for a kernel, importances of columns."""

import math
from pathlib import Path

import numpy as np
from rich.text import Text

import drsvm
from drsvm.audit.model_layers import trained_parameters
from drsvm.cli.screen import Payload, exit_code
from drsvm.cli.training import Fitted, Trained
from drsvm.estimators import scores as figures
from drsvm.estimators.importances import importances
from drsvm.problem.result import Result
from drsvm.report.inputs import results_of
from drsvm.report.verdict import finds, important, is_guess, is_negligible, missed_class

NOISE = "decision values differ by less than the accuracy of the solution; ranks, ROC AUC and probabilities are noise"
SHOWN_LABELS = 10
SHOWN_COLUMNS = 5


def fit_payload(trained: Trained, file: Path, standardise: bool) -> Payload:
    """Return the summary as plain values."""
    model = trained.model
    tested = trained.tested
    classifier, prepared, parts = model
    results = results_of(classifier)
    classes, counts = np.unique(parts.y, return_counts=True)
    decisions = model.decisions(prepared.X)
    constant = figures.are_noise(
        decisions, [(result.gap, result.tol) for result in results]
    )
    if len(results) > 1:
        positive = classes.tolist()
    else:
        positive = [parts.positive]
    scaled = int(sum(prepared.scaled(standardise)))
    is_linear = hasattr(classifier, "coef_")
    names = ("flip_cost", "fit_intercept", "class_weight", "threshold")
    parameters = {
        "radius": getattr(classifier, "radius_", classifier.radius),
        "l2": getattr(classifier, "l2_", classifier.l2),
        "norm": classifier.norm if is_linear else 2.0,
        "kernel": "linear" if is_linear else classifier.kernel,
        **{name: getattr(classifier, name) for name in names},
        "standardise": standardise,
        "moved_by": classifier.threshold_,
    }
    payload = {
        "command": "fit",
        "drsvm": drsvm.__version__,
        "file": str(file),
        "rows": int(parts.X.shape[0]),
    }
    payload |= {
        "features": int(classifier.n_features_in_),
        "label": parts.data.schema.label,
        "classes": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        "positive": parts.positive,
        "parameters": parameters,
        "units": {
            "standard_deviations": scaled,
            "original": prepared.X.shape[1] - scaled,
        },
        "certificates": [
            _certificate(*entry)
            for entry in zip(results, positive, constant, strict=True)
        ],
        "proven": exit_code(str(result.status) for result in results) == 0,
        "train": figures.scores(decisions, parts.y, classifier.classes_),
        "test": (tested or model).test_scores(),
        "held_out": tested
        and {
            "rows": tested.prepared.X_test.shape[0],
            "trained_on": len(tested.parts.y),
        },
        "alternatives": {
            one.typed: own.test_scores() for one, own in trained.others.items()
        },
    }
    radius = trained_parameters(classifier)["radius"]  # as a shift of the features
    payload["negligible"] = parts.ready is None and is_negligible(radius, prepared.X)
    if is_linear:
        return {**payload, "weights": _weights(model, results, constant)}
    kernel = {
        "gamma": classifier.gamma_,
        "landmarks": len(classifier.landmark_indices_),
        "radius_in_features": radius,
    }
    judged = tested or model
    X = judged.prepared.X_test
    y = judged.parts.y_test
    falls = None
    if y is not None:
        falls = importances(judged.classifier, X, y, judged.columns)
    return {**payload, "kernel": kernel, "importances": falls}


def _certificate(result: Result, positive: object, constant: bool) -> Payload:
    names = (
        "objective",
        "lower_bound",
        "gap",
        "tol",
        "radius_price",
        "solver",
        "n_iter",
        "time",
    )
    known = {name: getattr(result, name) for name in names}
    status = {"status": str(result.status), "only_for": result.condition or None}
    return {"positive": positive, **status, "constant": constant, **known}


def _weights(model: Fitted, results: list[Result], constant: list[bool]) -> Payload:
    """Return the number of weights that count, of classifiers that are not constant, and the largest of one."""
    coef = model.parts.side * model.classifier.coef_
    index_base = model.parts.data.schema.index_base
    deviations = figures.column_deviations(model.prepared.X)
    counts = np.zeros(len(deviations), dtype=bool)
    for result, same in zip(results, constant, strict=True):
        counts |= figures.weights_that_count(result, deviations) & (not same)
    names = model.prepared.names or [
        str(index + index_base) for index in range(len(counts))
    ]
    if len(coef) == 1:
        order = np.argsort(-np.abs(coef[0])).tolist()
    else:
        order = []
    first = [index for index in order if counts[index]][:SHOWN_COLUMNS]
    return {
        "nonzero": int(np.count_nonzero(counts)),
        "below_accuracy": int(np.count_nonzero(coef.any(axis=0) & ~counts)),
        "largest": {names[index]: float(coef[0, index]) for index in first},
    }


def summary_lines(payload: Payload) -> list[Text]:
    """Return the summary as text."""
    ball = payload["parameters"]
    counts = payload["classes"]
    labels = ", ".join(
        f"{label} ({count:,})" for label, count in list(counts.items())[:SHOWN_LABELS]
    )
    if len(counts) > SHOWN_LABELS:
        labels += f" and {len(counts) - SHOWN_LABELS:,} more"
    else:
        labels += ""
    if payload["positive"] is not None:
        side = f"; positive: {payload['positive']}"
    else:
        side = "; one-vs-rest"
    if payload["features"] == 1:
        features = "feature"
    else:
        features = "features"
    if ball["standardise"]:
        scaling = "numbers clipped and standardised"
    else:
        scaling = "numbers not scaled"
    if ball["standardise"] and payload["units"]["original"]:
        scaling += ", 0/1 columns as they are"
    else:
        scaling += ""
    if payload["negligible"]:
        small = ", too little to matter in practice"
    else:
        small = ""
    verdict = _verdict(payload["test"], payload["alternatives"])
    if isinstance(ball["threshold"], dict):
        costs = ball["threshold"]
    else:
        costs = {}
    costs = ", ".join(f"{label}={cost:g}" for label, cost in costs.items())
    if ball["moved_by"]:
        placed = " before the threshold is placed"
    else:
        placed = ""
    lines = {
        "data": f"{payload['rows']:,} rows, {payload['features']:,} {features}, labels {labels}{side}",
        **({"choice": payload["choice"]["words"]} if "choice" in payload else {}),
        "adversary": _adversary(ball, payload.get("kernel"), small) + f"; {scaling}",
        **(
            {"costs": f"of missing a class: {costs}{_cost_of_rows(payload)}"}
            if costs
            else {}
        ),
        "proof": _below(
            [
                _proof(certificate, len(counts) > 2, placed)
                for certificate in payload["certificates"]
            ]
        ),
        **_figures(payload),
        **verdict,
        **(
            {} if "advice" in verdict else _feature_lines(payload)
        ),  # what carries a guess means nothing
    }
    constant = [
        str(proof["positive"]) for proof in payload["certificates"] if proof["constant"]
    ]
    if constant:
        if len(payload["certificates"]) > 1:
            of = f"{', '.join(constant)} against the rest"
        else:
            of = "this classifier"
        lines["constant"] = f"{of}: {NOISE}"
    if "cv" in payload:
        candidates = payload["cv"]["candidates"]
        score = payload["cv"]["score"]
        lines["selection"] = (
            f"chosen from {candidates} candidates by cross-validation, mean score {score:.4f}"
        )
    lines["model"] = "not saved; use --model FILE to save it"
    if "model" in payload:
        lines["model"] = f"{payload['model']}, trained on all {payload['rows']:,} rows"
    return [
        Text.assemble((f"{name:<11}", "bold"), text) for name, text in lines.items()
    ]


def _adversary(ball: Payload, kernel: Payload | None, small: str) -> str:
    radius = ball["radius"]
    cost = ball["flip_cost"]
    shift = f"may shift a row by {radius:.4g} on average{small} (norm {ball['norm']:g})"
    if kernel is not None:
        shift = f"may shift a row by {radius:.4g} on average in the feature space, which covers shifts of the "
        shift += f"features by {kernel['radius_in_features']:.4g}{small}"
    if isinstance(cost, dict):
        prices = ", ".join(f"{label} {price:g}" for label, price in cost.items())
        return f"{shift}, or flip labels (flip costs {prices}), or a mix of both"
    if math.isinf(cost):
        return f"{shift}; all labels are trusted"
    share = 1.0 if cost == 0 else min(1.0, radius / cost)
    return f"{shift}, or flip up to {share:.1%} of the labels (flip cost {cost:g}), or a mix of both"


def _cost_of_rows(payload: Payload) -> str:
    """Return what a row of the test costs on average, and with the cheaper of the two constant answers."""
    costs = payload["parameters"]["threshold"]
    tested = payload["test"]
    if tested is None:
        return ""
    missed = {
        name: cost * (sum(tested["confusion"][name].values()))
        for name, cost in costs.items()
    }
    always = max(missed, key=lambda name: missed[name])
    hits = sum(cost * tested["confusion"][name][name] for name, cost in costs.items())
    total = sum(missed.values())
    n = tested["rows"]
    return f"; {(total - hits) / n:.4g} per test row (always {always}: {(total - missed[always]) / n:.4g})"


def _proof(certificate: Payload, named: bool, placed: str = "") -> str:
    name = f"{certificate['positive']}: " if named else ""
    if certificate["only_for"]:
        optimum = f"the optimum for {certificate['only_for']}"
    else:
        optimum = "the optimum"
    if certificate["n_iter"] == 1:
        steps = "1 iteration"
    else:
        steps = f"{certificate['n_iter']:,} iterations"
    return (
        f"{name}worst-case risk {certificate['objective']:.8f}{placed}, at most {certificate['gap']:.1e} above "
        f"{optimum} (tolerance {certificate['tol']:.0e}: {certificate['status']}); {certificate['solver']}, "
        f"{steps}, {certificate['time']:.2f} s"
    )


def _figures(payload: Payload) -> dict[str, str]:
    tested = payload["test"]
    held_out = payload["held_out"]
    train = payload["train"]
    if tested is None:
        lines = [
            f"{figures.summary(train)}, on the training rows, so optimistic",
            *figures.by_class(train),
        ]
        return {"training": _below(lines)}
    if held_out:
        how = f"held out; trained on the other {held_out['trained_on']:,}"
    else:
        how = "of the test file"
    intervals = figures.interval_line(tested, "" if held_out else figures.IF_NEW)
    lines = [f"{figures.summary(tested)}, {how}", intervals, *figures.by_class(tested)]
    return {"test": _below(lines), "training": figures.summary(train)}


def _verdict(
    tested: Payload | None, alternatives: dict[str, Payload]
) -> dict[str, str]:
    """Return a line if the classifier should not be used as it is."""
    if tested is None:
        return {}
    if is_guess(tested):
        return {
            "advice": "do not use it: on the test rows it is not clearly better than guessing"
        }
    label = missed_class(tested)
    if label is None:
        return {}
    lines = [
        f"most {label}: {finds(tested, label)}{'; others, on the same rows:' if alternatives else ''}"
    ]
    width = max(map(len, alternatives), default=0)
    for option, found in alternatives.items():
        shown = f"accuracy {found['accuracy']:.4f}, balanced {found['balanced_accuracy']:.4f}"
        lines.append(f"{option:<{width}}  {shown}, {finds(found, label)}")
    return {"missed": _below(lines)}


def _below(lines: list[str]) -> str:
    return ("\n" + 11 * " ").join(lines)


def _feature_lines(payload: Payload) -> dict[str, str]:
    if "weights" in payload:
        weights = payload["weights"]
        largest = ", ".join(
            f"{' '.join(name.split())} {value:+.3g}"
            for name, value in weights["largest"].items()
        )
        n_below = weights["below_accuracy"]
        if n_below:
            below = f"; {n_below:,} below the accuracy of the solution"
        else:
            below = ""
        counted = f"{weights['nonzero']:,} of {payload['features']:,} nonzero{below}"
        return {"weights": counted + (f"; largest: {largest}" if largest else "")}
    kernel = payload["kernel"]
    importances = payload["importances"] or {}
    name = f"{payload['parameters']['kernel']}, gamma {kernel['gamma']:.4g}"
    lines = {
        "kernel": f"{name}; made of {kernel['landmarks']:,} of the {payload['rows']:,} rows (landmarks)"
    }
    if important(importances):
        first = important(importances)[:SHOWN_COLUMNS]
        largest = ", ".join(
            f"{' '.join(name.split())} {fall:.3f}" for name, fall in first
        )
        lines["importance"] = (
            f"{largest}: how much the ROC AUC of the test falls if a column is shuffled"
        )
    return lines
