"""``drsvm path``: solutions over a grid of radii."""

from typing import Annotated, Any

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen, exit_code

EXAMPLES = """drsvm path customers.csv --label churned --test-size 0.3 --plot path.png
drsvm path train.svm.xz --norm inf --n-radii 50 --csv path.csv
drsvm path wine.csv --positive 2 --radii 0.2,0.1,0.05,0.02"""

NAMES = {"n_nonzero": "nonzero", "n_iter": "iterations"}


def path(
    file: opt.DataFile,
    data: opt.DataOptions,
    split: opt.SplitOptions,
    ball: opt.BallOptions,
    prices: opt.PriceOptions,
    outputs: opt.TableOptions,
    screen: Screen,
    radii: Annotated[str | None, opt.classifier("Radii, such as 0.2,0.1,0.05. Default: a grid.")] = None,
    n_radii: Annotated[int, opt.classifier("Number of radii in the grid.", min=1)] = 30,
    smallest: Annotated[float, opt.classifier("Smallest radius of the grid, as a share of the largest.")] = 1e-3,
    positive: opt.Positive = None,
) -> int:
    """Solve for a grid of radii: how objective, weights and accuracy change as the adversary grows stronger."""
    from drsvm.cli import work

    if not 0 < smallest < 1:
        raise ValueError(f"--smallest must be between 0 and 1, got {smallest:g}.")
    outputs.check(file, split.test)
    limits = {**ball.run(), "random_state": split.seed}
    grid = {"radii": opt.numbers_in("--radii", radii), "n_radii": n_radii, "smallest": smallest}
    parts = work.load_parts(file, data.read_options(mentioned=prices.mentioned()), split, screen)
    chosen, (y, y_test) = work.two_classes(parts.y, positive, parts.y_test)
    # Not before: input errors should come quickly.
    from drsvm.cli.prices import problem_of
    from drsvm.plotting import RadiusPathDisplay
    from drsvm.solvers.path.radius_path import best_index

    prepared = work.prepared(parts, standardise=ball.standardise)
    found = _solve(problem_of(parts, prepared, y, 0.0, ball, prices), grid, limits, screen)
    rows = {"X": prepared.X, "y": y, "X_test": prepared.X_test, "y_test": y_test}
    columns = _columns(found, **rows)
    files = outputs.save(columns, lambda: RadiusPathDisplay.from_path(found, **rows, feature_names=prepared.names))
    best = None
    if "test_accuracy" in columns:  # training rows would favour small radii
        place = best_index(columns["radius"], columns["test_accuracy"])
        best = place, float(columns["radius"][place])
    code = exit_code(columns["status"])
    n, d = prepared.X.shape
    payload = {"command": "path", "file": file, "rows": n, "features": d, "positive": chosen, "proven": code == 0}
    payload |= {"path": columns, "best": best and {"row": best[0] + 1, "radius": best[1]}, **files}
    title = f"{n:,} rows, {d:,} features, positive: {chosen}\n"
    if best is None:
        title += "which radius is best, test rows would show: --test-size 0.25"
    else:
        title += f"highest accuracy on the test rows: radius {best[1]:.4g}"
        columns = {**columns, "": ["best" if place == best[0] else "" for place in range(len(found.radii))]}
    screen.finish(payload, title, columns)
    return code


def _solve(problem, grid: dict[str, Any], limits: dict[str, Any], screen: Screen) -> Any:
    from drsvm.learn.prices import path_at_centre

    total = grid["n_radii"] if grid["radii"] is None else len(grid["radii"])
    with screen.whole("radius path") as tell:
        found = path_at_centre(problem, **grid, **limits, callback=lambda index, result: tell((index + 1) / total))
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def _columns(found, X, y, X_test, y_test) -> dict[str, Any]:
    import numpy as np

    from drsvm.learn.scores import column_deviations, weights_that_count

    columns: dict[Any, Any] = {NAMES.get(name, name): values for name, values in found.table().items()}
    deviations = column_deviations(X)
    columns["nonzero"] = np.array([weights_that_count(result, deviations).sum() for result in found.results])
    for name, rows, labels in (("train_accuracy", X, y), ("test_accuracy", X_test, y_test)):
        if rows is not None:
            decisions = np.asarray(rows @ found.weights.T) + found.intercepts
            columns[name] = np.mean((decisions > 0) == labels[:, None], axis=0)
    return columns
