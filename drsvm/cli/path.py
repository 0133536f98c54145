"""``drsvm path``: solutions over a grid of radii."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli import exit_codes
from drsvm.cli.options import (
    MODEL,
    BallOptions,
    DataFile,
    DataOptions,
    PlotFile,
    Positive,
    PriceOptions,
    SplitOptions,
    TableFile,
    numbers_in,
)
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm path customers.csv --label churned --test-size 0.3 --plot path.png
drsvm path train.svm.xz --norm inf --n-radii 50 --csv path.csv
drsvm path wine.csv --positive 2 --radii 0.2,0.1,0.05,0.02"""

NAMES = {"n_nonzero": "nonzero", "n_iter": "iterations"}


def path(
    file: DataFile,
    data: DataOptions,
    split: SplitOptions,
    ball: BallOptions,
    prices: PriceOptions,
    screen: Screen,
    radii: Annotated[
        str | None, typer.Option(help="Radii, such as 0.2,0.1,0.05. Default: a grid.", rich_help_panel=MODEL)
    ] = None,
    n_radii: Annotated[int, typer.Option(help="Number of radii in the grid.", min=1, rich_help_panel=MODEL)] = 30,
    smallest: Annotated[
        float, typer.Option(help="Smallest radius of the grid, as a share of the largest.", rich_help_panel=MODEL)
    ] = 1e-3,
    positive: Positive = None,
    csv: TableFile = None,
    plot: PlotFile = None,
) -> int:
    """Solve for a grid of radii: how objective, weights and accuracy change as the adversary grows stronger."""
    import numpy as np

    from drsvm import Problem
    from drsvm.cli import work
    from drsvm.cli.plots import check_plot
    from drsvm.cli.prices import feature_prices, flip_cost_by_row
    from drsvm.cli.tables import save_outputs, show_table
    from drsvm.learn.prices import at_centre, with_intercept_cost
    from drsvm.learn.resolution import column_deviations, weights_that_count

    if not 0 < smallest < 1:
        raise ValueError(f"--smallest must be between 0 and 1, got {smallest:g}.")
    work.check_outputs([csv, plot], [file, split.test])
    check_plot(plot)
    settings: dict[str, Any] = {**ball.problem(), "feature_cost": None, "intercept_cost": "auto"}
    settings |= prices.intercept()
    limits = {"solver": ball.checked_solver(), **ball.limits(), "random_state": split.seed}
    grid = {"radii": numbers_in("--radii", radii), "n_radii": n_radii, "smallest": smallest}
    parts = work.load_parts(file, replace(data.read_options(), mentioned=prices.mentioned()), split, screen)
    chosen, (y, y_test) = work.two_classes(parts.y, positive, parts.y_test)
    prepared = work.prepared(parts, standardise=ball.standardise)
    settings |= feature_prices(parts, prepared)
    settings["flip_cost"] = flip_cost_by_row(settings["flip_cost"], parts.y, None)
    X, X_test = prepared.X, prepared.X_test
    intercept_cost = settings.pop("intercept_cost")
    centred = at_centre(with_intercept_cost(Problem(X, y, radius=0.0, **settings), intercept_cost))
    found = _solve(centred.problem, grid, limits, screen)
    found = replace(found, results=[centred.back(result) for result in found.results])
    columns = {NAMES.get(name, name): values for name, values in found.table().items()}
    deviations = column_deviations(X)
    columns["nonzero"] = np.array([weights_that_count(result, deviations).sum() for result in found.results])
    columns |= _scores(found, X, y, "train_accuracy")
    if X_test is not None:
        columns |= _scores(found, X_test, y_test, "test_accuracy")
    save_outputs(columns, csv, plot, lambda target: _drawn(found, target, X, y, X_test, y_test, prepared.names))
    best = _best(columns)
    code = exit_codes.of_all(columns["status"])
    payload: dict[str, Any] = {
        "command": "path",
        "file": str(file),
        "rows": int(X.shape[0]),
        "features": int(X.shape[1]),
        "positive": chosen,
        "proven": code == 0,
        "path": columns,
        "best": None if best is None else {"row": best + 1, "radius": float(found.radii[best])},
        "csv": None if csv is None else str(csv),
        "plot": None if plot is None else str(plot),
    }
    title = f"{X.shape[0]:,} rows, {X.shape[1]:,} features, positive: {chosen}"
    screen.finish(
        payload, lambda console: show_table(console, _marked(columns, best), f"{title}\n{_words(found, best)}")
    )
    return code


def _solve(problem, grid: dict[str, Any], limits: dict[str, Any], screen: Screen):
    from drsvm import radius_path

    total = grid["n_radii"] if grid["radii"] is None else len(grid["radii"])
    with screen.progress("radius path", total=total) as advance:
        found = radius_path(problem, **grid, **limits, callback=lambda index, result: advance())
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def _scores(found, X, y, name: str) -> dict[str, Any]:
    import numpy as np

    values = np.asarray(X @ found.weights.T) + found.intercepts
    return {name: np.mean((values > 0) == y[:, None], axis=0)}


def _best(columns: dict[str, Any]) -> int | None:
    """Return the position of the best radius on test rows; training rows would favour the smallest ones."""
    from drsvm.solvers.path.radius_path import best_index

    return best_index(columns["radius"], columns["test_accuracy"]) if "test_accuracy" in columns else None


def _marked(columns: dict[str, Any], best: int | None) -> dict[str, Any]:
    if best is None:
        return columns
    return {**columns, "": ["best" if place == best else "" for place in range(len(columns["radius"]))]}


def _words(found, best: int | None) -> str:
    if best is None:
        return "which radius is best, test rows would show: --test-size 0.25"
    return f"highest accuracy on the test rows: radius {found.radii[best]:.4g}"


def _drawn(found, plot: Path, X, y, X_test, y_test, names) -> bytes:
    from drsvm.cli.plots import plot_content
    from drsvm.plotting import RadiusPathDisplay

    display = RadiusPathDisplay.from_path(found, X=X, y=y, X_test=X_test, y_test=y_test, feature_names=names)
    return plot_content(display, plot)
