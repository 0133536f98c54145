"""``drsvm audit``: what an adversary can do to a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from sklearn.pipeline import Pipeline

EXAMPLES = """drsvm audit churn.drsvm customers.csv
drsvm audit churn.drsvm test.csv --radii 0,0.05,0.1,0.2 --compare --train customers.csv
drsvm audit churn.drsvm test.csv --limit row --costs no=1,yes=10
drsvm audit a9a.drsvm a9a.t.svm.xz --flip-cost 1 --plot risk.png --json"""

# What is also shown of each of several classes against the rest
BY_CLASS = ("risk", "error")
# Multiples of the model's radius, by default
FACTORS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
# Its unit if the model's radius is 0
SMALL_RADIUS = 0.05

Radii = Annotated[
    str | None,
    opt.classifier(
        help="Radii, such as 0,0.05,0.1. Default: multiples of the model's."
    ),
]
FlipCost = Annotated[
    float | None,
    opt.classifier(
        help="Cost of flipping a label. Default: the model's.", metavar="NUMBER"
    ),
]
Norm = Annotated[
    str | None,
    opt.classifier(help="Norm of the shifts: 1, 2 or inf. Default: the model's."),
]
Limit = Annotated[
    str,
    opt.classifier(
        help="What the radii limit: the shift of rows on average, or of each row (then "
        "without the risk).",
        metavar="average|row",
    ),
]
Costs = Annotated[
    str | None,
    opt.classifier(
        help="What it costs to miss each class, such as no=1,yes=10, for the worst "
        "cost. Default: the model's, if any.",
        metavar="CLASS=COST,…",
    ),
]
Confidence = Annotated[
    float,
    opt.classifier(
        help="Confidence of the bounds for the population.", metavar="NUMBER"
    ),
]
Compare = Annotated[
    bool,
    opt.classifier(
        "--compare",
        help="Also evaluate LinearSVC and LogisticRegression.",
        metavar="",
    ),
]
TrainFile = Annotated[
    Path | None,
    opt.classifier(
        help="File to train these two on. Default: the audited file.", metavar="FILE"
    ),
]


def audit(
    context: typer.Context,
    model: opt.ModelFile,
    file: opt.DataFile,
    label: opt.Label = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    missing: opt.Missing = None,
    missing_values: opt.MissingValues = None,
    radii: Radii = None,
    flip_cost: FlipCost = None,
    norm: Norm = None,
    limit: Limit = "average",
    costs: Costs = None,
    confidence: Confidence = 0.95,
    compare: Compare = False,
    train: TrainFile = None,
    csv: opt.TableFile = None,
    plot: opt.PlotFile = None,
    as_json: opt.AsJson = False,
) -> None:
    """Compute the exact worst-case risk and error rate of a saved model over radii.

    They are figures of the rows of the file. The column next to each error rate, or
    cost, says what holds for the population that the rows were drawn from, if the model
    was not trained on them. Shifts are measured in the units of the model's features:
    standard deviations for numbers, if it standardises them, while 0/1 columns stay as
    they are. With more than two classes, the risk of each class against the rest
    follows.
    """
    from drsvm.cli.class_labels import known_labels
    from drsvm.cli.command_files import (
        check_inputs,
        check_table_and_plot,
        save_table_and_plot,
    )
    from drsvm.cli.training_rows import load_for_model

    screen: Screen = context.obj
    check_table_and_plot(csv, plot, [model, file, train])
    check_inputs(model, [file, train])
    opt.check_choice("--norm", norm, ("1", "2", "inf"))
    opt.check_choice("--limit", limit, ("average", "row"))
    wanted = _numbers(radii)
    options = opt.read_options(context.params)
    saved, dataset = load_for_model(model, file, options, screen)
    X = dataset.X
    y = known_labels(dataset, saved.model.classes_, "an audit")
    adversary = _adversary(saved.model[-1], model, wanted, flip_cost, norm)
    asked = {
        "limit": limit,
        "confidence": confidence,
        "costs": _costs(costs, saved.model),
    }
    models = {"drsvm": saved.model}
    if compare:
        rows = (X, y)
        if train is not None:
            rows = _rows_to_train_on(train, saved, dataset, options)
        models |= _rivals(saved, rows, train, screen)

    columns = _risks(models, X, y, adversary, **asked)
    # The others have not seen these rows either.
    are_new = train is not None and train.resolve() != file.resolve()
    figures = _figures(models, X, y, are_new)
    files = save_table_and_plot(
        csv, plot, columns, lambda: _curves(models, X, y, adversary, asked)
    )
    payload = {
        "command": "audit",
        "model": model,
        "file": file,
        "rows": dataset.shape[0],
        "flip_cost": adversary["flip_cost"],
        "norm": adversary["norm"],
        **asked,
        **figures,
        "risks": columns,
        **files,
    }
    tables = _tables(columns, saved.model.classes_.tolist())
    about = (
        "population: what is not exceeded for all rows like these, with "
        f"{confidence:.0%} confidence, if the model was not trained on them"
    )
    if saved.metadata.get("training", {}).get("file") == file.name:
        about += "; it was trained on a file of this name"
    title = _title(saved.model[-1], payload)
    screen.finish(payload, *_lines(figures), title, *tables, about)


def _numbers(radii: str | None) -> list[float]:
    words = (radii or "").replace(";", ",").split(",")
    try:
        return [float(word) for word in words if word.strip()]
    except ValueError:
        raise ValueError(
            "--radii must be comma-separated numbers, such as 0,0.05,0.1; got "
            f"{radii!r}."
        ) from None


def _adversary(
    classifier,
    model: Path,
    radii: list[float],
    flip_cost: float | None,
    norm: str | None,
) -> opt.Settings:
    """Return the adversary's parameters, those of the model where none are given."""
    from drsvm.audit.model_layers import trained_parameters

    own = trained_parameters(classifier)
    if not own:
        raise ValueError(
            f"{model}: the worst case of a classifier with kernel {classifier.kernel} "
            "is not known: audit a linear one (drsvm fit --kernel linear); drsvm "
            "predict gives the figures of this one."
        )
    if flip_cost is None:
        flip_cost = own["flip_cost"]
    if not isinstance(flip_cost, int | float):
        raise ValueError(
            "--flip-cost is required: this model was trained with flip costs per class "
            "or per row."
        )
    if not radii:
        unit = float(own["radius"]) or SMALL_RADIUS
        radii = [factor * unit for factor in FACTORS]
    return {
        "radius": radii,
        "flip_cost": float(flip_cost),
        "norm": float(norm or own["norm"]),
    }


def _costs(given: str | None, model) -> dict[object, float] | None:
    """Return what it costs to miss each class, that of the model by default."""
    from drsvm.cli.class_labels import label_called

    if given is None:
        threshold = model[-1].threshold
        return dict(threshold) if isinstance(threshold, dict) else None
    classes = model.classes_
    costs = opt.costs_of_classes(given, len(classes))
    return {
        label_called(classes, name, "--costs"): cost for name, cost in costs.items()
    }


def _rows_to_train_on(train: Path, saved, dataset, options):
    from drsvm.cli.class_labels import known_labels
    from drsvm.cli.command_files import read_from
    from drsvm.tables import read_like

    rows = read_from(train, lambda path: read_like(path, dataset.schema, options))
    return rows.X, known_labels(rows, saved.model.classes_, "an audit")


def _rivals(saved, rows, train: Path | None, screen: Screen) -> "dict[str, Pipeline]":
    """Return two classifiers of scikit-learn behind the preparation of the model."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    if train is None:
        screen.note(
            "LinearSVC and LogisticRegression are trained on the audited file; use "
            "--train for another one."
        )
    X, y = rows
    steps = [step for _, step in saved.model.steps[:-1]]
    rivals = {}
    with screen.progress("training the other classifiers"), screen.warnings_as_notes():
        if steps:
            X = saved.model[:-1].transform(X)
        for rival in (LinearSVC(random_state=0), LogisticRegression(max_iter=1000)):
            rivals[type(rival).__name__] = make_pipeline(*steps, rival.fit(X, y))
    return rivals


def _risks(
    models: "dict[str, Pipeline]",
    X,
    y,
    adversary: opt.Settings,
    limit: str,
    confidence: float,
    costs: dict[object, float] | None,
) -> opt.Columns:
    """Return risks, error rates and costs by radius, of all models and by class."""
    from drsvm import worst_case_risk

    errors = {"loss": "zero-one", "limit": limit}
    asked: dict[str, opt.Settings] = {}
    if limit == "average":
        asked["risk"] = {"loss": "hinge"}
    asked["error"] = errors
    asked["population"] = {**errors, "confidence": confidence}
    if costs is not None:
        asked["cost"] = {**errors, "costs": costs}
        asked["population_cost"] = {**asked["cost"], "confidence": confidence}

    columns: opt.Columns = {"radius": adversary["radius"]}
    for word, what in asked.items():
        for name, model in models.items():
            # The others may have been trained on these rows, and need not be
            # one-vs-rest.
            is_own = name == "drsvm"
            is_about_population = word.startswith("population")
            if is_about_population and not is_own:
                continue
            column = word
            if len(models) > 1 and not is_about_population:
                column = f"{word}_{name}"
            columns[column] = worst_case_risk(model, X, y, **adversary, **what)
            if not is_own or word not in BY_CLASS or len(model.classes_) == 2:
                continue
            for label in model.classes_.tolist():
                columns[_of_class(word, label)] = worst_case_risk(
                    model, X, y, **adversary, **what, positive=label
                )
    return columns


def _of_class(word: str, label: object) -> str:
    return f"{word}_drsvm_{label}"


def _figures(models: "dict[str, Pipeline]", X, y, are_new: bool) -> Payload:
    """Return the scores of the model, and its lead over the others on new rows."""
    from drsvm.estimators.scores import leads, scores

    decisions = {name: model.decision_function(X) for name, model in models.items()}
    own = decisions.pop("drsvm")
    classes = models["drsvm"].classes_
    lead = None
    if are_new and decisions:
        lead = {name: leads(own, each, y, classes) for name, each in decisions.items()}
    return {"scores": scores(own, y, classes, new_rows=True), "leads": lead}


def _curves(models, X, y, adversary: opt.Settings, asked: opt.Settings) -> "Figure":
    import numpy as np

    from drsvm.plotting import RiskCurveDisplay

    shown = {**adversary, "radii": np.linspace(0.0, max(adversary["radius"]), 61)}
    shown["radius"] = None
    # The hinge risk has neither costs nor a limit for each row.
    if asked["limit"] == "row" or asked["costs"] is not None:
        shown |= {**asked, "loss": "zero-one"}
    return RiskCurveDisplay.from_estimators(models, X, y, **shown).figure_


def _title(classifier, payload: Payload) -> str:
    worst = "upper bounds of the worst case"
    if hasattr(classifier, "coef_"):
        worst = "worst case"
    shifts = "rows shifted by the radius on average"
    if payload["limit"] == "row":
        shifts = "each row shifted by at most the radius"
    return (
        f"{worst} on {payload['rows']:,} rows, {shifts}, flip cost "
        f"{payload['flip_cost']:g}, norm {payload['norm']:g}"
    )


def _lines(figures: Payload) -> list[str]:
    """Return the scores as text, and the comparison with the others."""
    from drsvm.estimators import scores

    own = figures["scores"]
    lines = [scores.summary(own), scores.interval_line(own, scores.IF_NEW)]
    compared = []
    for key, name in scores.SHORT_NAMES.items():
        words = []
        for rival, lead in (figures["leads"] or {}).items():
            if lead[key]:
                words.append(scores.compared(key, lead[key], rival))
        if words:
            compared.append(f"  {name}: {', '.join(words)}")
    if compared:
        lines.append("beside the others, if the rows are new to them, too:")
    return lines + compared


def _tables(columns: opt.Columns, classes: list[object]) -> list[str | opt.Columns]:
    """Return the risks by radius.

    With several classes, also tables with a line for each against the rest.
    """
    overall = dict(columns)
    tables: list[str | opt.Columns] = [overall]
    for word in BY_CLASS:
        if len(classes) == 2 or _of_class(word, classes[0]) not in columns:
            continue
        lines = [overall.pop(_of_class(word, label)) for label in classes]
        by_radius: opt.Columns = {"class": [str(label) for label in classes]}
        for k, radius in enumerate(columns["radius"]):
            by_radius[f"{radius:.4g}"] = [line[k] for line in lines]
        title = f"\n{word} of each class against the rest, by radius"
        tables += [title, by_radius]
    return tables
