"""``drsvm audit``: what an adversary can do to a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
BY_CLASS = (
    "risk",
    "error",
)


def audit(
    model: opt.ModelFile,
    file: opt.DataFile,
    options: opt.FileOptions,
    outputs: opt.TableOptions,
    screen: Screen,
    radii: str | None = opt.classifier(
        "Radii, such as 0,0.05,0.1. Default: multiples of the model's."
    ),
    flip_cost: float | None = opt.classifier(
        "Cost of flipping a label. Default: the model's."
    ),
    norm: str | None = opt.classifier(
        "Norm of the shifts: 1, 2 or inf. Default: the model's."
    ),
    limit: str = opt.classifier(
        "What the radii limit: the shift of rows on average, or of each row (then without the risk).",
        "average",
        metavar="average|row",
    ),
    costs: str | None = opt.classifier(
        "What it costs to miss each class, such as no=1,yes=10, for the worst cost. Default: the model's, if any.",
        metavar="CLASS=COST,…",
    ),
    confidence: float = opt.classifier(
        "Confidence of the bounds for the population.", 0.95
    ),
    compare: bool = opt.classifier(
        "Also evaluate LinearSVC and LogisticRegression.", False, "--compare"
    ),
    train: Path | None = opt.classifier(
        "File to train these two on. Default: the audited file.", metavar="FILE"
    ),
) -> None:
    """Compute the exact worst-case risk and error rate of a saved model for several radii.

    They are figures of the rows of the file. The column next to each error rate, or
    cost, says what holds for the population that the rows were drawn from, if the model
    was not trained on them. Shifts are measured in the units of the model's features:
    standard deviations for numbers, if it standardises them, while 0/1 columns stay as
    they are. With more than two classes, the risk of each class against the rest
    follows.
    """
    from drsvm.cli import tasks as work
    from drsvm.cli.files import check_inputs

    outputs.check(model, file, train)
    check_inputs(model, [file, train])
    opt.check_choice("--norm", norm, (None, *opt.NORMS))
    try:
        wanted = [
            float(part)
            for part in (radii or "").replace(";", ",").split(",")
            if part.strip()
        ]
    except ValueError:
        raise ValueError(
            f"--radii must be comma-separated numbers, such as 0,0.05,0.1; got {radii!r}."
        ) from None
    saved, dataset = work.load_for_model(model, file, options, screen)
    y = work.known_labels(dataset, saved.model.classes_, "an audit")
    ball = _ball(saved.model[-1], model, wanted, flip_cost, norm)
    opt.check_choice("--limit", limit, ("average", "row"))
    asked = {
        "limit": limit,
        "confidence": confidence,
        "costs": _costs(costs, saved.model),
    }
    models = {"drsvm": saved.model}
    if compare:
        models |= _rivals(saved, dataset, y, train, options, screen)
    from drsvm.estimators.scores import leads, scores

    columns = _risks(models, dataset.X, y, ball, **asked)
    (_, own), *rivals = (
        (name, each.decision_function(dataset.X)) for name, each in models.items()
    )
    classes = saved.model.classes_
    lead = None
    if (
        train is not None and train.resolve() != file.resolve()
    ):  # the others have not seen these rows either
        lead = {name: leads(own, rival, y, classes) for name, rival in rivals} or None
    figures = {"scores": scores(own, y, classes, new_rows=True), "leads": lead}

    def draw() -> "Figure":
        import numpy as np

        from drsvm.plotting import RiskCurveDisplay

        shown = {
            **ball,
            "radius": None,
            "radii": np.linspace(0.0, max(ball["radius"]), 61),
        }
        if limit == "row" or costs is not None:
            shown |= {**asked, "loss": "zero-one"}
        else:
            shown |= {}
        return RiskCurveDisplay.from_estimators(models, dataset.X, y, **shown).figure_

    files = outputs.save(columns, draw)
    payload = {
        "command": "audit",
        "model": model,
        "file": file,
        "rows": dataset.shape[0],
    }
    payload |= {
        "flip_cost": ball["flip_cost"],
        "norm": ball["norm"],
        **asked,
        **figures,
        "risks": columns,
        **files,
    }
    if hasattr(saved.model[-1], "coef_"):
        worst = "worst case"
    else:
        worst = "upper bounds of the worst case"
    if limit == "row":
        shifts = "each row shifted by at most the radius"
    else:
        shifts = "rows shifted by the radius on average"
    title = f"{worst} on {dataset.shape[0]:,} rows, {shifts}, flip cost {ball['flip_cost']:g}, norm {ball['norm']:g}"
    about = f"population: what is not exceeded for all rows like these, with {confidence:.0%} confidence, if the model "
    about += "was not trained on them"
    if saved.metadata.get("training", {}).get("file") == file.name:
        about += "; it was trained on a file of this name"
    screen.finish(
        payload, *_lines(figures), title, *_tables(columns, classes.tolist()), about
    )


def _ball(
    classifier,
    model: Path,
    radii: list[float],
    flip_cost: float | None,
    norm: str | None,
):
    from drsvm.audit.model_layers import trained_parameters

    own = trained_parameters(classifier)
    if not own:
        raise ValueError(
            f"{model}: the worst case of a classifier with kernel {classifier.kernel} is not known: audit a linear one "
            "(drsvm fit --kernel linear); drsvm predict gives the figures of this one."
        )
    if flip_cost is None and not isinstance(own["flip_cost"], int | float):
        raise ValueError(
            "--flip-cost is required: this model was trained with flip costs per class or per row."
        )
    unit = float(own["radius"]) or 0.05
    return {
        "radius": radii
        or [factor * unit for factor in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)],
        "flip_cost": float(own["flip_cost"] if flip_cost is None else flip_cost),
        "norm": float(own["norm"] if norm is None else norm),
    }


def _rivals(
    saved, dataset, y, train: Path | None, options: opt.FileOptions, screen: Screen
) -> "dict[str, Pipeline]":
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from drsvm.cli import tasks as work
    from drsvm.cli.files import read_from
    from drsvm.tables import read_like

    X = dataset.X
    if train is None:
        screen.note(
            "LinearSVC and LogisticRegression are trained on the audited file; use --train for another one."
        )
    else:
        training = read_from(
            train, lambda path: read_like(path, dataset.schema, options.read_options())
        )
        X = training.X
        y = work.known_labels(training, saved.model.classes_, "an audit")
    steps = [step for _, step in saved.model.steps[:-1]]
    with screen.progress("training the other classifiers"), screen.warnings_as_notes():
        rows = saved.model[:-1].transform(X) if steps else X
        rivals = (LinearSVC(random_state=0), LogisticRegression(max_iter=1000))
        return {
            type(rival).__name__: make_pipeline(*steps, rival.fit(rows, y))
            for rival in rivals
        }


def _lines(figures: Payload) -> list[str]:
    from drsvm.estimators.scores import (
        IF_NEW,
        SHORT_NAMES,
        compared,
        interval_line,
        summary,
    )

    own = figures["scores"]
    rivals = figures["leads"] or {}
    verdicts = {
        name: [
            compared(key, lead[key], rival)
            for rival, lead in rivals.items()
            if lead[key]
        ]
        for key, name in SHORT_NAMES.items()
    }
    lines = [
        f"  {name}: {', '.join(words)}" for name, words in verdicts.items() if words
    ]
    if lines:
        header = ["beside the others, if the rows are new to them, too:"]
    else:
        header = []
    return [summary(own), interval_line(own, IF_NEW), *header, *lines]


def _costs(given: str | None, model) -> dict[object, float] | None:
    from drsvm.cli.tasks import label_called

    if given is not None:
        costs = opt.costs_of_classes(given, len(model.classes_))
        return {
            label_called(model.classes_, name, "--costs"): cost
            for name, cost in costs.items()
        }
    if isinstance(model[-1].threshold, dict):
        return dict(model[-1].threshold)
    return None


def _risks(
    models: "dict[str, Pipeline]", X, y, ball: opt.Settings, limit, confidence, costs
) -> opt.Columns:
    from drsvm import worst_case_risk

    columns: opt.Columns = {"radius": ball["radius"]}
    errors = {"loss": "zero-one", "limit": limit}
    asked: dict[str, dict[str, Any]] = (
        {"risk": {"loss": "hinge"}} if limit == "average" else {}
    )
    asked |= {"error": errors, "population": {**errors, "confidence": confidence}}
    if costs is not None:
        errors = {**errors, "costs": costs}
        asked |= {
            "cost": errors,
            "population_cost": {**errors, "confidence": confidence},
        }
    for word, what in asked.items():
        if "confidence" in what:  # the others may have been trained on these rows
            columns[word] = worst_case_risk(models["drsvm"], X, y, **ball, **what)
            continue
        for name, model in models.items():
            columns[f"{word}_{name}" if len(models) > 1 else word] = worst_case_risk(
                model, X, y, **ball, **what
            )
            if (
                len(model.classes_) > 2 and name == "drsvm" and word in BY_CLASS
            ):  # others need not be one-vs-rest
                for label in model.classes_.tolist():
                    columns[f"{word}_{name}_{label}"] = worst_case_risk(
                        model, X, y, **ball, **what, positive=label
                    )
    return columns


def _tables(columns: opt.Columns, classes: list[object]) -> list[str | opt.Columns]:
    """Return the risks by radius.

    With several classes, also tables with a line for each against the rest.
    """
    if len(classes) == 2:
        return [columns]
    overall = dict(columns)
    parts = []
    for word in (word for word in BY_CLASS if f"{word}_drsvm_{classes[0]}" in columns):
        lines = [overall.pop(f"{word}_drsvm_{label}") for label in classes]
        by_radius = {
            f"{radius:.4g}": [line[k] for line in lines]
            for k, radius in enumerate(columns["radius"])
        }
        parts += [
            f"\n{word} of each class against the rest, by radius",
            {"class": [*map(str, classes)], **by_radius},
        ]
    return [overall, *parts]
