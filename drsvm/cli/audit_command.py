"""``drsvm audit``: what an adversary can do to a saved model."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen

EXAMPLES = """\
drsvm audit churn.drsvm customers.csv
drsvm audit churn.drsvm test.csv --radii 0,0.05,0.1,0.2 --compare --train customers.csv
drsvm audit churn.drsvm test.csv --limit row --costs no=1,yes=10
drsvm audit churn.drsvm test.csv --by gender --plot groups.png
drsvm audit a9a.drsvm a9a.t.svm.xz --flip-cost 1 --plot risk.png --json"""


def numbers(value: str | None) -> list[float]:
    """Convert numbers with commas between them."""
    if value is None:
        return []
    words = value.replace(";", ",").split(",")
    with suppress(ValueError):
        return [float(word) for word in words if word.strip()]
    raise ValueError(
        f"--radii must be comma-separated numbers, such as 0,0.05,0.1; got {value!r}."
    )


Radii = Annotated[
    str | None,
    opt.classifier(
        help="Radii, such as 0,0.05,0.1. Default: 0, 0.05, 0.1 and 0.2 standard "
        "deviations of a feature, and the model's radius unless it is too small to "
        "matter.",
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
    opt.classifier(
        callback=opt.one_of("1", "2", "inf"),
        help="Norm of the shifts: 1, 2 or inf. Default: the model's.",
    ),
]
Limit = Annotated[
    str,
    opt.classifier(
        callback=opt.one_of("average", "row"),
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
By = Annotated[
    str | None,
    opt.classifier(
        help="A column of groups: also the worst case of each group alone, and the "
        "largest difference between two of them. It need not be a feature.",
        metavar="COLUMN",
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
    decimal: opt.Decimal = None,
    trust: opt.Trust = None,
    radii: Radii = None,
    flip_cost: FlipCost = None,
    norm: Norm = None,
    limit: Limit = "average",
    costs: Costs = None,
    confidence: Confidence = 0.95,
    by: By = None,
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
    from drsvm.cli.settings import read_options
    from drsvm.cli.skops_models import load_any_model, rows_for

    screen: Screen = context.obj
    chosen_radii = numbers(radii)
    check_table_and_plot(csv, plot, [model, file, train])
    check_inputs(model, [file, train])
    options = read_options(context.params)
    saved, dataset = load_any_model(model, file, options, screen, trust)
    classes = saved.model.classes_
    X = dataset.X
    y = known_labels(dataset, classes, "an audit")
    # Not before: these imports take long, and input errors should come quickly.
    import numpy as np

    from drsvm.audit.model_layers import layers, trained_parameters
    from drsvm.cli import worst_cases
    from drsvm.plotting import RiskCurveDisplay

    *_, classifier = layers(saved.model)
    deviation = worst_cases.deviation_of_features(saved.model, X)
    adversary = worst_cases.adversary(
        classifier, model, chosen_radii, flip_cost, norm, deviation
    )
    asked = {
        "limit": limit,
        "confidence": confidence,
        "costs": worst_cases.costs_of_errors(costs, classifier),
    }
    name = "drsvm" if trained_parameters(classifier) else "model"
    models = {name: saved.model}
    if compare:
        known = dataset
        if train is not None:
            known = rows_for(train, replace(options, by=None), dataset.schema)
        y_known = known_labels(known, classes, "an audit")
        models |= worst_cases.rivals(saved.model, known.X, y_known, screen)
        if train is None:
            screen.note(
                "LinearSVC and LogisticRegression are trained on the audited file; use "
                "--train for another one."
            )

    columns = worst_cases.risks(models, X, y, adversary, **asked)
    # The others have not seen these rows either.
    are_new = train is not None and train.resolve() != file.resolve()
    figures = worst_cases.scores_and_leads(models, X, y, are_new)
    curves = worst_cases.parameters_of_curves(adversary, asked)
    of_groups = None
    tables = worst_cases.tables(columns, classes.tolist(), name)
    if by is not None:
        groups = worst_cases.groups_of(dataset, by)
        of_groups, table = worst_cases.risks_of_groups(
            saved.model, X, y, groups, adversary, asked
        )
        tables += [f"\neach group of {by} alone, by radius", table]
        curves |= {**asked, "groups": np.array(groups[0])[groups[1]]}
        curves["loss"] = "zero-one"
    draw = partial(RiskCurveDisplay.from_estimators, models, X, y, **curves)
    files = save_table_and_plot(csv, plot, columns, draw)
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
        "by": by,
        "groups": of_groups,
        **files,
    }
    about = (
        "population: what is not exceeded for all rows like these, with "
        f"{confidence:.0%} confidence, if the model was not trained on them"
    )
    if saved.metadata.get("training", {}).get("file") == file.name:
        about += "; it was trained on a file of this name"
    screen.finish(
        payload,
        *worst_cases.lines_of_figures(figures),
        worst_cases.title(classifier, payload),
        *tables,
        about,
    )
