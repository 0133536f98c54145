"""``drsvm fit``: train a classifier from a file, with a proof, and save it."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from drsvm.cli import exit_codes
from drsvm.cli.fit_summary import fit_payload, show_fit
from drsvm.cli.options import (
    KNOWN,
    LIMITS,
    MODEL,
    OUTPUT,
    READING,
    BallOptions,
    ClassWeight,
    DataFile,
    DataOptions,
    Positive,
    PriceOptions,
    Radius,
    SplitOptions,
    check_class_weight,
)
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm fit customers.csv --label churned --model churn.drsvm
drsvm fit export.csv --label status --drop remark --categorical branch --trust-column age
drsvm fit train.svm.xz --test test.svm.xz --radius 0.1 --flip-cost 1
drsvm fit noisy.parquet --label y --cv --json"""

FITTED = (
    *("coef_", "intercept_", "classes_", "n_iter_", "radius_", "result_", "n_features_in_"),
    *("objective_", "lower_bound_", "gap_", "radius_price_", "intercept_cost_"),
)
"""The fitted attributes."""

COMMON = (
    *("l2", "fit_intercept", "feature_cost", "monotonic_cst"),
    *("solver", "tol", "max_iter", "max_time", "random_state", "n_jobs"),
)
"""The parameters that a cross-validation does not choose."""


def fit(
    file: DataFile,
    data: DataOptions,
    split: SplitOptions,
    ball: BallOptions,
    prices: PriceOptions,
    screen: Screen,
    radius: Radius = None,
    verified: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A yes/no column: labels that were verified cannot be flipped. It is not a feature.",
            rich_help_panel=KNOWN,
        ),
    ] = None,
    positive: Positive = None,
    class_weight: ClassWeight = None,
    cv: Annotated[
        bool,
        typer.Option(
            "--cv",
            help="Choose the radius by cross-validation, and intercept cost and class weights unless they are given.",
            rich_help_panel=MODEL,
        ),
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
    spool: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Read a Parquet or Arrow table in blocks, and write its features to this new folder, which is kept. "
            "Default: only if the table does not fit into memory, and to a temporary folder.",
            rich_help_panel=READING,
        ),
    ] = None,
) -> int:
    """Train a classifier on a file, prove how close it is to the optimum, test it and save it.

    A table may contain text categories, empty cells, dates and ids: what is done with them is said, and is part of the
    saved model. A quarter of the rows is held out first, for a test of a classifier of the others; the model that is
    saved is then trained on all rows. A Parquet or Arrow table may be a folder, and need not fit into memory.
    """
    from drsvm.cli import work

    work.check_outputs([model], [file, split.test])
    work.check_model_output(model)
    work.check_split(split)
    _check_choices(ball, radius, class_weight, verified, cv)
    options = replace(data.read_options(), verified=verified, mentioned=prices.mentioned())
    with _rows(file, options, split, spool, positive, ball.standardise, cv, screen) as (whole, held):
        # Not before: this imports all solvers, and an error in the file should come quickly.
        settings = {"class_weight": class_weight, "solver": ball.checked_solver(), "random_state": split.seed}
        settings |= {"n_jobs": jobs, **prices.intercept(), **ball.limits()}
        estimator = _cross_validation(ball, folds, settings) if cv else _classifier(radius, ball, settings, whole.y)
        training = _training(estimator, ball, cv)
        found = _searched(training, whole, held, screen) if cv else _trained(training, whole, held, screen)
        with screen.progress("testing"):
            payload = fit_payload(found.model, found.tested, file, ball.standardise)
        if cv:
            payload["cv"] = found.search
        if model is not None:
            _save(found, model, payload, split.seed, screen)
    screen.finish(payload, lambda console: show_fit(console, payload))
    return exit_codes.of_all(certificate["status"] for certificate in payload["certificates"])


@contextmanager
def _rows(
    file: Path,
    options,
    split: SplitOptions,
    spool: Path | None,
    positive: str | None,
    standardise: bool,
    cv: bool,
    screen: Screen,
):
    """Yield all rows of a file, and the same with some held out, or None; rows that do not fit stay on disk."""
    from drsvm.cli import large_tables, work

    if not large_tables.is_to_stream(file, spool):
        whole = work.with_positive(work.load_parts(file, options, replace(split, test_size=None), screen), positive)
        yield whole, work.held_out(whole, split, screen)
        return
    if cv:
        raise ValueError(f"{file}: --cv needs all rows in memory: omit it, or use it on a sample of the rows.")
    with large_tables.streamed(file, options, split, spool, standardise, screen) as rows:
        whole, held = rows
        yield work.with_positive(whole, positive), held and work.with_positive(held, positive)


def _check_choices(ball: BallOptions, radius: str | None, class_weight: str | None, verified: str | None, cv: bool):
    """Raise an error for options that do not go together, before anything is read."""
    given = ball.with_radius(radius)
    check_class_weight(class_weight)
    if cv and radius is not None:
        raise ValueError("--cv chooses the radius: omit --radius or --cv.")
    if verified is not None and "flip_cost" not in given:
        raise ValueError("--verified changes nothing while all labels are trusted: price the others with --flip-cost.")


def _classifier(radius: str | None, ball: BallOptions, settings: dict[str, Any], labels) -> Any:
    from drsvm import WassersteinSVC
    from drsvm.cli.prices import flip_cost_by_label

    given = ball.with_radius(radius)
    if "flip_cost" in given:
        given["flip_cost"] = flip_cost_by_label(given["flip_cost"], labels)
    return WassersteinSVC(**given, **settings)


def _cross_validation(ball: BallOptions, folds: int, settings: dict[str, Any]) -> Any:
    from drsvm.cli.search import PreparedSearch

    several = {"flip_cost": "flip_costs", "norm": "norms", "intercept_cost": "intercept_costs"}
    given = {**ball.ball(), **{name: value for name, value in settings.items() if value is not None}}
    if isinstance(given.get("flip_cost"), dict):
        del given["flip_cost"]  # prices by row take its place
    return PreparedSearch(cv=folds, **{several.get(name, name): value for name, value in given.items()})


class Found(NamedTuple):
    """The classifier of all rows, the one that was tested on held-out rows, and how they were trained."""

    model: Any
    tested: Any
    training: Any
    search: dict[str, Any] | None = None


def _training(estimator: Any, ball: BallOptions, cv: bool) -> Any:
    from drsvm.cli.training import Training
    from drsvm.clock import TimeLimit

    return Training(estimator, ball.standardise, ball.ball().get("flip_cost"), cv, TimeLimit.of(ball.max_time))


def _trained(training, whole, held, screen: Screen) -> Found:
    """Train on all rows first, which may take half of the time, then for the test."""
    with screen.following(f"fitting {len(whole.y):,} rows"), screen.warnings_as_notes():
        model = training.fitted(whole, 2)
    if held is not None and training.time.over:
        screen.note("no test: the time was up after the fit of all rows; allow more with --max-time.")
        held = None
    if held is None:
        return Found(model, None, training)
    with screen.following(f"fitting {len(held.y):,} rows for the test"):
        return Found(model, training.quietly(held, 2), training)


def _searched(training, whole, held, screen: Screen) -> Found:
    """Cross-validate on the rows that are not held out, then train on all rows with what was chosen."""
    from drsvm.cli.training import as_trained

    def prepare(search, parts, prepared) -> None:
        search.of(parts, prepared)
        if screen.on_terminal:
            search.set_callbacks(PathsDone(advance))

    rows = whole if held is None else held
    text = f"cross-validating {len(rows.y):,} rows"
    with screen.progress(text, total=100) as advance, screen.warnings_as_notes():
        found = training.fitted(rows, 2, prepare)
        search = found.classifier
        best = found._replace(classifier=_chosen(search))
        training = as_trained(training, best.classifier)
        figures = {"score": search.best_score_, "candidates": len(search.cv_results_["params"]), "rows": len(rows.y)}
        if held is None:
            return Found(best, None, training, figures)
        return Found(training.fitted(whole, 2), best, training, figures)


def _save(found: Found, path: Path, payload: dict[str, Any], seed: int, screen: Screen) -> None:
    """Save the model of all rows with sigmoids for its probabilities."""
    from drsvm.cli.training import sigmoids
    from drsvm.persistence.model_files import save_model

    with screen.progress("probabilities"):
        probability = sigmoids(found.training, found.model.parts, found.tested, seed)
    reason = probability if isinstance(probability, str) else None
    if reason:
        screen.note(f"no probabilities: {reason}")
    payload["probability"] = None if isinstance(probability, str) else probability.to_dict()
    save_model(found.model.pipeline, path, {**_metadata(found.model, payload), "no_probability": reason})
    payload["model"] = str(path)


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

    best = {name: value.item() if hasattr(value, "item") else value for name, value in search.best_params_.items()}
    model = WassersteinSVC(**{name: getattr(search, name) for name in COMMON} | best)
    for name in FITTED:
        if hasattr(search, name):
            setattr(model, name, getattr(search, name))
    model._flip_cost_by_row = "flip_cost" not in best
    return model


def _metadata(model, payload: dict[str, Any]) -> dict[str, Any]:
    data = model.parts.data
    kept = ("rows", "classes", "positive", "certificates", "train", "test", "held_out")
    return {
        "schema": data.schema.to_dict(),
        "feature_names": model.prepared.names,
        "label": data.schema.label,
        "probability": payload["probability"],
        "training": {"file": data.path.name, **{name: payload[name] for name in kept}},
    }
