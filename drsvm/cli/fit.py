"""``drsvm fit``: train a classifier from a file, with a proof, and save it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli.fit_summary import fit_payload, show_fit
from drsvm.cli.options import LIMITS, MODEL, OUTPUT, BallOptions, DataFile, DataOptions, Radius, SplitOptions
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm fit customers.csv --label churned --test-size 0.3 --model churn.drsvm
drsvm fit export.csv --label status --drop id --one-hot --missing median
drsvm fit train.svm.xz --test test.svm.xz --radius 0.1 --flip-cost 1
drsvm fit noisy.parquet --label y --cv --json"""

FITTED = (
    *("coef_", "intercept_", "classes_", "n_iter_", "radius_", "result_", "n_features_in_"),
    *("objective_", "lower_bound_", "gap_", "radius_price_"),
)
"""The fitted attributes."""


def fit(
    file: DataFile,
    data: DataOptions,
    split: SplitOptions,
    ball: BallOptions,
    screen: Screen,
    radius: Radius = None,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced: all classes have the same total weight.", rich_help_panel=MODEL)
    ] = None,
    cv: Annotated[
        bool, typer.Option("--cv", help="Choose radius and flip cost by cross-validation.", rich_help_panel=MODEL)
    ] = False,
    folds: Annotated[int, typer.Option(help="Number of folds of --cv.", min=2, rich_help_panel=MODEL)] = 5,
    jobs: Annotated[
        int | None,
        typer.Option(help="Paths of --cv, or classes, to fit in parallel (-1: one per core).", rich_help_panel=LIMITS),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="OUT", help="Save the classifier to this file.", rich_help_panel=OUTPUT),
    ] = None,
) -> int:
    """Train a classifier on a file, prove how close it is to the optimum, test it and save it."""
    from drsvm.cli import work

    work.check_outputs([model], [file, split.test])
    work.check_model_output(model)
    solver = ball.checked_solver()
    settings = {"class_weight": class_weight, "solver": solver, "random_state": split.seed, "n_jobs": jobs}
    estimator = _cross_validation(radius, ball, folds, settings) if cv else _classifier(radius, ball, settings)
    parts = work.load_parts(file, data, split, screen)
    pipeline = _fitted(estimator, parts, ball, data.missing == "median", screen)
    payload = fit_payload(pipeline, parts, file, ball.standardise)
    if cv:
        payload["cv"] = {"score": estimator.best_score_, "candidates": len(estimator.cv_results_["params"])}
    if model is not None:
        from drsvm.persistence.model_files import save_model

        save_model(pipeline, model, _metadata(parts, payload))
        payload["model"] = str(model)
    screen.finish(payload, lambda console: show_fit(console, payload))
    return 0 if payload["proven"] else 1


def _classifier(radius: str | None, ball: BallOptions, settings: dict[str, Any]) -> Any:
    from drsvm import WassersteinSVC

    return WassersteinSVC(**ball.with_radius(radius), **_checked(settings), **ball.limits())


def _cross_validation(radius: str | None, ball: BallOptions, folds: int, settings: dict[str, Any]) -> Any:
    from drsvm.learn.model_selection import WassersteinSVCCV

    if radius is not None:
        raise ValueError("--cv chooses the radius: omit --radius or --cv.")
    given = ball.ball()
    grid = {"flip_costs": given.pop("flip_cost")} if "flip_cost" in given else {}
    grid |= {"norms": given.pop("norm"), **given}
    chosen = {name: value for name, value in _checked(settings).items() if value is not None}
    return WassersteinSVCCV(cv=folds, **grid, **chosen, **ball.limits())


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    if settings["class_weight"] not in (None, "balanced"):
        raise ValueError(f"--class-weight must be balanced, got {settings['class_weight']!r}.")
    return settings


def _fitted(estimator, parts, ball: BallOptions, fill: bool, screen: Screen):
    """Return a fitted pipeline that ends in a WassersteinSVC, even after cross-validation."""
    from sklearn.pipeline import make_pipeline

    from drsvm.cli import work

    steps, X = work.preprocessing_steps(parts.X, ball.standardise, fill), parts.X
    searching = hasattr(estimator, "radii")
    text = f"{'cross-validating' if searching else 'fitting'} {X.shape[0]:,} rows"
    with screen.progress(text, total=100 if searching else None) as advance, screen.warnings_as_notes():
        for step in steps:
            X = step.fit_transform(X)
        if searching and screen.on_terminal:
            estimator.set_callbacks(PathsDone(advance))
        estimator.fit(X, parts.y)
    return make_pipeline(*steps, _chosen(estimator) if searching else estimator)


class PathsDone:
    """A scikit-learn callback that advances a progress bar with every path of a cross-validation."""

    def __init__(self, advance):
        self.advance, self.done = advance, 0

    def setup(self, estimator, context):
        """Do nothing."""

    def teardown(self, estimator, context):
        """Do nothing."""

    def on_fit_task_begin(self, estimator, context):
        """Do nothing: only finished paths are reported."""

    def on_fit_task_end(self, estimator, context):
        """Advance by one path, in percent of all."""
        if context.task_name == "path":
            self.done += 1
            self.advance(completed=100.0 * self.done / (context.parent.max_subtasks or 1))


def _chosen(search) -> Any:
    """Return the classifier that a cross-validation selected and fitted."""
    from drsvm import WassersteinSVC

    names = ("l2", "fit_intercept", "solver", "tol", "max_iter", "max_time", "random_state", "n_jobs")
    best = {name: value.item() if hasattr(value, "item") else value for name, value in search.best_params_.items()}
    model = WassersteinSVC(**best, **{name: getattr(search, name) for name in names})
    for name in FITTED:
        if hasattr(search, name):
            setattr(model, name, getattr(search, name))
    return model


def _metadata(parts, payload: dict[str, Any]) -> dict[str, Any]:
    schema = parts.data.schema
    kept = ("rows", "classes", "positive", "certificates", "train", "test")
    return {
        "schema": schema.to_dict(),
        "feature_names": schema.feature_names,
        "label": schema.label,
        "training": {"file": parts.data.path.name, **{name: payload[name] for name in kept}},
    }
