"""``drsvm audit``: what an adversary can do to a saved model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli.options import (
    MODEL,
    NORMS,
    DataFile,
    FileOptions,
    ModelFile,
    PictureFile,
    TableFile,
    check_choice,
    numbers_in,
)
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm audit churn.drsvm customers.csv
drsvm audit churn.drsvm test.csv --radii 0,0.05,0.1,0.2 --compare --train customers.csv
drsvm audit a9a.drsvm a9a.t.svm.xz --flip-cost 1 --plot risk.png --json"""


def audit(
    model: ModelFile,
    file: DataFile,
    options: FileOptions,
    screen: Screen,
    radii: Annotated[
        str | None,
        typer.Option(help="Radii, such as 0,0.05,0.1. Default: multiples of the model's own.", rich_help_panel=MODEL),
    ] = None,
    flip_cost: Annotated[
        float | None, typer.Option(help="Price of a wrong label. Default: the model's.", rich_help_panel=MODEL)
    ] = None,
    norm: Annotated[
        str | None, typer.Option(help="Norm of a shift: 1, 2 or inf. Default: the model's.", rich_help_panel=MODEL)
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Also judge LinearSVC and LogisticRegression.", rich_help_panel=MODEL),
    ] = False,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File to train these two on. Default: the audited one.", rich_help_panel=MODEL
        ),
    ] = None,
    csv: TableFile = None,
    plot: PictureFile = None,
) -> None:
    """Compute the exact worst-case risk and error rate of a saved model for several radii, beside other classifiers.

    Shifts are measured in the units in which the model sees the features (standard deviations, if it standardises).
    """
    from drsvm.cli import work
    from drsvm.cli.pictures import check_picture
    from drsvm.cli.streams import check_inputs
    from drsvm.cli.tables import show_table

    work.check_outputs([csv, plot], [model, file, train])
    check_picture(plot)
    check_inputs(model, [file, train])
    check_choice("--norm", norm, (None, *NORMS))
    wanted = numbers_in("--radii", radii)
    saved, dataset = work.load_for_model(model, file, options, screen)
    _check_classes(saved.model, {"--plot": plot, "--compare": compare})
    y = _labels(saved.model, dataset)
    ball = _ball(saved.model[-1], wanted, flip_cost, norm)
    models = {"drsvm": saved.model}
    if compare:
        models |= _rivals(saved, dataset, y, train, options, screen)
    columns = _risks(models, dataset.X, y, ball)
    work.write_outputs(csv, columns, plot, lambda target: _drawn(target, models, dataset.X, y, ball))
    payload: dict[str, Any] = {
        "command": "audit",
        "model": str(model),
        "file": str(file),
        "rows": dataset.shape[0],
        "flip_cost": ball["flip_cost"],
        "norm": ball["norm"],
        "risks": columns,
        "csv": None if csv is None else str(csv),
        "plot": None if plot is None else str(plot),
    }
    title = f"worst case on {dataset.shape[0]:,} rows, flip cost {ball['flip_cost']:g}, norm {ball['norm']:g}"
    screen.finish(payload, lambda console: show_table(console, columns, title))


def _check_classes(model, options: dict[str, Any]) -> None:
    """Refuse options for two classes if the model has more."""
    for option, given in options.items():
        if given and len(model.classes_) > 2:
            raise ValueError(f"{option} is for two classes; this model has {len(model.classes_)}: leave it out.")


def _labels(model, dataset):
    import numpy as np

    if dataset.y is None:
        raise ValueError(
            f"{dataset.path}: has no label column {dataset.schema.label!r}, which an audit needs: name it with --label."
        )
    unknown = np.setdiff1d(dataset.y.astype(str), model.classes_.astype(str))
    if len(unknown):
        known = ", ".join(map(str, model.classes_.tolist()[:10]))
        raise ValueError(f"{dataset.path}: has the label {str(unknown[0])!r}, but the model knows {known} only.")
    return dataset.y.astype(model.classes_.dtype)


def _ball(classifier, radii: list[float] | None, flip_cost: float | None, norm: str | None) -> dict[str, Any]:
    from drsvm.model.linear_model import own_ball

    own = own_ball(classifier)
    unit = float(own["radius"]) or 0.05
    return {
        "radius": radii or [factor * unit for factor in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)],
        "flip_cost": float(own["flip_cost"] if flip_cost is None else flip_cost),
        "norm": float(own["norm"] if norm is None else norm),
    }


def _rivals(saved, dataset, y, train: Path | None, options: FileOptions, screen: Screen) -> dict[str, Any]:
    """Return the classifiers that the model is compared with, behind the same preprocessing."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from drsvm.cli import work

    X = dataset.X
    if train is None:
        screen.note("LinearSVC and LogisticRegression are trained on the audited file itself; give --train otherwise.")
    else:
        training = work.read_for(saved, train, options)
        X, y = training.X, _labels(saved.model, training)
    steps = [step for _, step in saved.model.steps[:-1]]
    with screen.progress("training the classifiers to compare with", total=2) as advance, screen.warnings_as_notes():
        fitted = {}
        for rival in (LinearSVC(random_state=0), LogisticRegression(max_iter=1000)):
            rows = saved.model[:-1].transform(X) if steps else X
            fitted[type(rival).__name__] = make_pipeline(*steps, rival.fit(rows, y))
            advance()
    return fitted


def _risks(models: dict[str, Any], X, y, ball: dict[str, Any]) -> dict[str, Any]:
    """Return the risks, one column per classifier, class and loss."""
    from drsvm import worst_case_risk

    columns: dict[str, Any] = {"radius": ball["radius"]}
    for loss, word in (("hinge", "risk"), ("zero-one", "error")):
        for name, model in models.items():
            classes = model.classes_.tolist()
            sides: dict[str, Any] = {"": None} if len(classes) == 2 else {f"_{label}": label for label in classes}
            for side, positive in sides.items():
                values = worst_case_risk(model, X, y, **ball, loss=loss, positive=positive)
                columns[f"{word}_{name}{side}" if len(models) > 1 or side else word] = values
    return columns


def _drawn(plot: Path, models, X, y, ball: dict[str, Any]) -> bytes:
    import numpy as np

    from drsvm.cli.pictures import picture
    from drsvm.plotting import RiskCurveDisplay

    radii = np.linspace(0.0, max(ball["radius"]), 61)
    display = RiskCurveDisplay.from_estimators(models, X, y, **{**ball, "radius": None, "radii": radii})
    return picture(display, plot)
