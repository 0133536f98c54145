"""``drsvm compare``: all solvers on one file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli import exit_codes
from drsvm.cli.options import MODEL, BallOptions, DataFile, DataOptions, PlotFile, Positive
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm compare customers.csv --label churned
drsvm compare a9a.svm.xz --no-standardise --solvers interior-point,hybrid --plot convergence.png
drsvm compare train.parquet --max-time 120 --json"""

SECONDS = 60.0


def compare(
    file: DataFile,
    data: DataOptions,
    ball: BallOptions,
    screen: Screen,
    radius: Annotated[float, typer.Option(help="Radius of the ball.", rich_help_panel=MODEL)] = 0.05,
    solvers: Annotated[
        str | None, typer.Option(help="Names, such as interior-point,hybrid. Default: all.", rich_help_panel=MODEL)
    ] = None,
    positive: Positive = None,
    seed: Annotated[int, typer.Option(help="Random seed of the solvers.", rich_help_panel=MODEL)] = 0,
    plot: PlotFile = None,
) -> int:
    """Run every solver on one problem: time, objective, proven bound and gap.

    Each solver has its own tolerance unless --tol is given, and a minute unless --max-time is given, which they share
    evenly. Compiling kernels is not counted. Exit code 1 means that no solver reached its tolerance, 3 that
    none did for all classifiers.
    """
    from drsvm import Problem
    from drsvm.cli import work
    from drsvm.cli.options import SplitOptions
    from drsvm.cli.plots import check_plot
    from drsvm.cli.prices import flip_cost_by_row
    from drsvm.cli.tables import show_table
    from drsvm.persistence.model_files import write_whole

    work.check_outputs([plot], [file])
    check_plot(plot)
    names = _names(solvers, ball.solver)
    parts = work.load_parts(file, data.read_options(), SplitOptions(), screen)
    chosen, (y,) = work.two_classes(parts.y, positive)
    settings = ball.problem()
    settings["flip_cost"] = flip_cost_by_row(settings["flip_cost"], parts.y, None)
    problem = Problem(work.prepared(parts, standardise=ball.standardise).X, y, radius=radius, **settings)
    seconds = SECONDS if ball.max_time is None else ball.max_time / len(names)
    results = _run(problem, names, {**ball.limits(), "max_time": seconds}, seed, screen)
    if not results:
        raise ValueError("none of the solvers could run.")
    columns = _columns(results)
    if plot is not None:
        write_whole(plot, _drawn(results, plot))
    payload: dict[str, Any] = {
        "command": "compare",
        "file": str(file),
        "rows": problem.n_rows,
        "features": problem.n_features,
        "positive": chosen,
        "solvers": columns,
        "plot": None if plot is None else str(plot),
    }
    title = f"{problem.n_rows:,} rows, {problem.n_features:,} features, radius {radius:g}, positive: {chosen}"
    screen.finish(payload, lambda console: show_table(console, columns, title))
    return exit_codes.of_any(columns["status"])


def _names(given: str | None, single: str) -> list[str]:
    from drsvm.solvers import solver_names

    known = [name for name in solver_names() if name != "auto"]
    names = [name.strip() for name in given.split(",") if name.strip()] if given else known
    names = [single] if single != "auto" and not given else names
    for name in names:
        if name not in solver_names():
            raise ValueError(f"--solvers: unknown solver {name!r}; choose from {', '.join(known)}.")
    return names


def _run(problem, names: list[str], limits: dict[str, Any], seed: int, screen: Screen) -> dict[str, Any]:
    from drsvm import solve
    from drsvm.model.result import Status

    results = {}
    with screen.progress("solving", total=len(names)) as advance:
        for name in names:
            try:
                result = solve(problem, name, **limits, random_state=seed, callback=lambda progress: False)
            except (ImportError, ValueError) as error:
                screen.note(f"skipped {name}: {error}")
                continue
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            results[name] = result
            advance()
    return results


def _columns(results: dict[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {"solver": list(results)}
    for name in ("time", "objective", "lower_bound", "gap", "tol"):
        columns[name] = [float(getattr(result, name)) for result in results.values()]
    columns["iterations"] = [result.n_iter for result in results.values()]
    columns["status"] = [str(result.status) for result in results.values()]
    return columns


def _drawn(results: dict[str, Any], plot: Path) -> bytes:
    from drsvm.cli.plots import plot_content
    from drsvm.plotting import ConvergenceDisplay

    return plot_content(ConvergenceDisplay.from_results(results), plot)
