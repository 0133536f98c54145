"""What ``drsvm audit`` computes and shows: worst cases of models by radius."""

from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from drsvm import WassersteinKernelSVC
from drsvm.audit import performance
from drsvm.audit.model_layers import trained_parameters, transformed
from drsvm.audit.worst_case import worst_case_risk
from drsvm.cli.class_labels import costs_by_label
from drsvm.cli.options import Columns
from drsvm.cli.screen import Payload, Screen
from drsvm.cli.settings import Settings, costs_of_classes
from drsvm.cli.shifts_of_files import batches_of
from drsvm.problem.validation import check_rows
from drsvm.report.inputs import SHIFTS, columns_behind
from drsvm.report.verdict import is_negligible, typical_deviation
from drsvm.tables.dataset import Dataset
from drsvm.utils.messages import counted

# What is also shown of each of several classes against the rest
BY_CLASS = ("risk", "error")
# A column with more values than this hardly names groups.
MOST_GROUPS = 50


def adversary(
    classifier,
    model: Path,
    radii: list[float],
    flip_cost: float | None,
    norm: str | None,
    deviation: float,
) -> Settings:
    """Return the adversary's parameters, those of the model where none are given.

    Without radii, there are some of practical size, in units of the standard
    `deviation` of a typical feature. That of the training is among them if it has one.
    """
    own = trained_parameters(classifier)
    if not own and isinstance(classifier, WassersteinKernelSVC):
        raise ValueError(
            f"{model}: the worst case of a classifier with kernel {classifier.kernel} "
            "is not known: audit a linear one (drsvm fit --kernel linear); drsvm "
            "predict gives the figures of this one."
        )
    # A classifier of another library was not trained against any adversary.
    own = {"radius": 0.0, "flip_cost": np.inf, "norm": 2.0, **own}
    if flip_cost is None:
        # One for each class or row cannot be shown with a single number.
        flip_cost = own["flip_cost"]
    if not isinstance(flip_cost, int | float):
        raise ValueError(
            "--flip-cost is required: this model was trained with flip costs per class "
            "or per row."
        )
    if not radii:
        radii = [0.0, *(share * deviation for share in SHIFTS)]
        if not is_negligible(own["radius"], deviation):
            radii = sorted({*radii, float(own["radius"])})
    return {
        "radius": radii,
        "flip_cost": float(flip_cost),
        "norm": float(norm or own["norm"]),
    }


def deviation_of_features(model: Pipeline, X) -> float:
    """Return the standard deviation of a typical feature of the rows of a file."""
    rows = check_rows(transformed(model, X))
    _, scaled = columns_behind(model, None, rows.shape[1])
    return typical_deviation(rows, scaled)


def costs_of_errors(given: str | None, classifier) -> dict[object, float] | None:
    """Return what it costs to miss each class, that of the model by default."""
    if given is not None:
        classes = classifier.classes_
        costs = costs_of_classes(given, len(classes))
        return costs_by_label(costs, classes, "--costs")
    threshold = getattr(classifier, "threshold", None)
    return dict(threshold) if isinstance(threshold, dict) else None


def rivals(model: Pipeline, X, y: np.ndarray, screen: Screen) -> dict[str, Pipeline]:
    """Return two classifiers of scikit-learn behind the preparation of a model."""
    preparation = getattr(model, "steps", [model])[:-1]
    fitted = {}
    with screen.progress("training the other classifiers"), screen.warnings_as_notes():
        if preparation:
            # Fitted already: they see what the model sees.
            X = model[:-1].transform(X)
        for rival in (LinearSVC(random_state=0), LogisticRegression(max_iter=1000)):
            name = type(rival).__name__
            fitted[name] = Pipeline([*preparation, (name, rival.fit(X, y))])
    return fitted


def risks(
    models: dict[str, Pipeline],
    X,
    y: np.ndarray,
    adversary: Settings,
    limit: str,
    confidence: float,
    costs: dict[object, float] | None,
) -> Columns:
    """Return worst cases by radius, as columns of a table.

    Columns are `risk`, `error` and `cost`, one for each model if there are others, and
    `population` and `population_cost`, which bound the last two for all rows like
    these. With several classes, there is also one for each class against the rest.

    Parameters
    ----------
    models : dict of Pipeline
        The audited model by its name, and those that it is compared with.
    X, y : table or matrix and array of shape (n,)
        The rows and their labels.
    adversary : dict
        Radii, flip cost and norm.
    limit, confidence, costs
        As in `worst_case_risk`. Without costs, there are no columns of them.

    Returns
    -------
    dict of arrays
        Values by radius.
    """
    errors = {"loss": "zero-one", "limit": limit}
    # Parameters of `worst_case_risk` by the name of the column
    asked: dict[str, Settings] = {}
    if limit == "average":
        asked["risk"] = {"loss": "hinge"}
    asked["error"] = errors
    asked["population"] = {**errors, "confidence": confidence}
    if costs is not None:
        asked["cost"] = {**errors, "costs": costs}
        asked["population_cost"] = {**asked["cost"], "confidence": confidence}

    first, own = next(iter(models.items()))
    classes = own.classes_.tolist()
    columns: Columns = {"radius": adversary["radius"]}
    for word, what in asked.items():
        given = {**adversary, **what}
        if word.startswith("population") or len(models) == 1:
            # The others may have been trained on these rows.
            columns[word] = worst_case_risk(own, X, y, **given)
        else:
            for name, model in models.items():
                columns[f"{word}_{name}"] = worst_case_risk(model, X, y, **given)
        # The others need not be one-vs-rest.
        if word in BY_CLASS and len(classes) > 2:
            for label in classes:
                columns[_of_class(word, first, label)] = worst_case_risk(
                    own, X, y, **given, positive=label
                )
    return columns


def groups_of(dataset: Dataset, by: str) -> tuple[list[str], np.ndarray]:
    """Return the groups that a column names, and the place of each row's group."""
    groups = batches_of(dataset, by, MOST_GROUPS, "regions")
    places = np.zeros(dataset.shape[0], dtype=int)
    for place, rows in enumerate(groups.values()):
        places[rows] = place
    return list(groups), places


def risks_of_groups(
    model: Pipeline,
    X,
    y: np.ndarray,
    groups: tuple[list[str], np.ndarray],
    adversary: Settings,
    asked: Settings,
) -> tuple[Payload, Columns]:
    """Return the worst cases of groups of rows, for JSON and as columns of a table.

    `asked` is what `risks` takes.
    """
    names, places = groups
    of_groups = {**adversary, **asked, "loss": "zero-one", "groups": places}
    n_rows = np.bincount(places).tolist()
    payload: Payload = {"names": names, "rows": n_rows}
    shown: Columns = {
        "group": [*names, "largest difference"],
        "rows": [*map(str, n_rows), ""],
    }
    word = "error" if asked["costs"] is None else "cost"
    for name, confidence in ((word, None), ("population", asked["confidence"])):
        of_groups["confidence"] = confidence
        found = worst_case_risk(model, X, y, **of_groups)
        payload[name] = found.risks
        payload[f"{name}_difference"] = found.difference
        figures = np.vstack([found.risks, found.difference])
        for radius, values in zip(adversary["radius"], figures.T, strict=True):
            shown[f"{name} {radius:.4g}"] = values
    return payload, shown


def _of_class(word: str, name: str, label: object) -> str:
    return f"{word}_{name}_{label}"


def parameters_of_curves(adversary: Settings, asked: Settings) -> Settings:
    """Return what is drawn: worst cases up to the largest radius."""
    # Curves look smooth with this many points.
    radii = np.linspace(0.0, max(adversary["radius"]), 61)
    shown = {**adversary, "radii": radii, "radius": None}
    # The hinge risk has neither costs nor a limit for each row.
    if asked["limit"] == "row" or asked["costs"] is not None:
        shown |= {**asked, "loss": "zero-one"}
    return shown


def scores_and_leads(
    models: dict[str, Pipeline], X, y: np.ndarray, are_new: bool
) -> Payload:
    """Return the scores of the model, and its lead over the others on new rows."""
    others = dict(models)
    model = others.pop(next(iter(models)))
    classes = model.classes_
    decisions = model.decision_function(X)
    leads = None
    if are_new and others:
        leads = {}
        for name, other in others.items():
            rival = other.decision_function(X)
            leads[name] = performance.leads(decisions, rival, y, classes)
    found = performance.scores(decisions, y, classes, new_rows=True)
    return {"scores": found, "leads": leads}


def title(classifier, payload: Payload) -> str:
    """Return the title of the table."""
    worst = "upper bounds of the worst case"
    if hasattr(classifier, "coef_"):
        worst = "worst case"
    shifts = "rows shifted by the radius on average"
    if payload["limit"] == "row":
        shifts = "each row shifted by at most the radius"
    return (
        f"{worst} on {counted(payload['rows'], 'row')}, {shifts}, flip cost "
        f"{payload['flip_cost']:g}, norm {payload['norm']:g}"
    )


def lines_of_figures(figures: Payload) -> list[str]:
    """Return the scores as text, and the comparison with the others."""
    own = figures["scores"]
    lines = [
        performance.summary(own),
        performance.interval_line(own, performance.IF_NEW),
    ]
    compared = []
    for key, name in performance.SHORT_NAMES.items():
        words = []
        for rival, lead in (figures["leads"] or {}).items():
            if lead[key]:
                words.append(performance.compared(key, lead[key], rival))
        if words:
            compared.append(f"  {name}: {', '.join(words)}")
    if compared:
        lines.append("beside the others, if the rows are new to them, too:")
    return lines + compared


def tables(columns: Columns, classes: list[object], name: str) -> list[str | Columns]:
    """Return the risks by radius.

    With several classes, also tables with a line for each against the rest.
    """
    overall = dict(columns)
    shown: list[str | Columns] = [overall]
    for word in BY_CLASS:
        if _of_class(word, name, classes[0]) not in columns:
            continue
        # Out of the table of all radii, whose lines would be too long
        lines = [overall.pop(_of_class(word, name, label)) for label in classes]
        by_radius: Columns = {"class": list(map(str, classes))}
        for radius, values in zip(columns["radius"], np.transpose(lines), strict=True):
            by_radius[f"{radius:.4g}"] = values
        shown += [f"\n{word} of each class against the rest, by radius", by_radius]
    return shown
