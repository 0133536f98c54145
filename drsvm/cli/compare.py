"""``drsvm compare``: all solvers on one file."""

from typing import TYPE_CHECKING

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen, exit_code

if TYPE_CHECKING:
    from drsvm import Problem
    from drsvm.problem.result import Result

EXAMPLES = """drsvm compare customers.csv --label churned
drsvm compare a9a.svm.xz --no-standardise --solvers interior-point,hybrid --plot convergence.png
drsvm compare train.parquet --max-time 120 --json"""


def compare(
    file: opt.DataFile,
    data: opt.DataOptions,
    ball: opt.BallOptions,
    prices: opt.PriceOptions,
    outputs: opt.PlotOptions,
    screen: Screen,
    radius: float = opt.classifier("Radius of the ball.", 0.05),
    solvers: str | None = opt.classifier(
        "Names, such as interior-point,hybrid. Default: all."
    ),
    positive: str | None = opt.POSITIVE,
    seed: int = opt.classifier("Random seed of the solvers.", 0),
) -> int:
    """Run every solver on one problem, priced as in fit: time, objective, proven bound and gap.

    Each solver has its own tolerance unless --tol is given, and a minute unless
    --max-time is given, which they share evenly. Compiling kernels is not counted. Exit
    code 1 means that no solver reached its tolerance, 3 that none did for all
    classifiers.
    """
    from drsvm.cli import tasks as work
    from drsvm.solvers import solver_names

    outputs.check(file)
    known = [name for name in solver_names() if name != "auto"]
    names = known if ball.solver == "auto" else [ball.solver]
    if solvers:
        names = [name.strip() for name in solvers.split(",") if name.strip()]
    else:
        names = names
    for name in names:
        if name not in (*known, "auto"):
            raise ValueError(
                f"--solvers: unknown solver {name!r}; choose from {', '.join(known)}."
            )
    parts = work.load_parts(
        file, data.read_options(mentioned=prices.mentioned()), screen
    )
    classes = [str(label) for label in sorted(set(parts.y.tolist()))]
    if positive is None and len(classes) > 2:
        listed = f"{', '.join(classes[:6])}{', ...' if len(classes) > 6 else ''}"
        remedy = f"choose the one to separate from the rest, for instance --positive {classes[0]}."
        raise ValueError(f"there are {len(classes)} classes ({listed}): {remedy}")
    chosen = str(work.positive_class(parts.y, positive))
    # Not before: input errors should come quickly.
    from drsvm.defaults.binary_problems import at_centre
    from drsvm.plotting import ConvergenceDisplay

    prepared = work.prepared(parts, standardise=ball.standardise)
    problem = at_centre(
        _problem(
            parts, prepared, parts.y.astype(str) == chosen, radius, ball, prices, screen
        )
    ).problem
    if ball.max_time is None:
        seconds = 60.0
    else:
        seconds = ball.max_time / len(names)
    results = _run(
        problem,
        names,
        {**ball.run(), "max_time": seconds, "random_state": seed},
        screen,
    )
    if not results:
        raise ValueError("none of the solvers could run.")
    columns: opt.Columns = {"solver": list(results)}
    for name in ("time", "objective", "lower_bound", "gap", "tol"):
        columns[name] = [float(getattr(result, name)) for result in results.values()]
    columns["iterations"] = [result.n_iter for result in results.values()]
    columns["status"] = [str(result.status) for result in results.values()]
    files = outputs.save(
        columns, lambda: ConvergenceDisplay.from_results(results).figure_
    )
    n, d = prepared.X.shape
    payload = {
        "command": "compare",
        "file": file,
        "rows": n,
        "features": d,
        "positive": chosen,
    }
    payload |= {"solvers": columns, **files}
    screen.finish(
        payload,
        f"{n:,} rows, {d:,} features, radius {radius:g}, positive: {chosen}",
        columns,
    )
    return exit_code(columns["status"], choose=min)


def _problem(
    parts, prepared, y, radius, ball: opt.BallOptions, prices: opt.PriceOptions, screen
) -> "Problem":
    """Return the problem of two classes that a `WassersteinSVC` with the given options would solve, without weights."""
    import numpy as np

    from drsvm import Problem, WassersteinSVC
    from drsvm.cli import tasks as work
    from drsvm.defaults.prices import flip_costs_of_rows, with_intercept_cost

    names = (
        "flip_cost",
        "norm",
        "l2",
        "fit_intercept",
        "intercept_cost",
        "feature_cost",
        "monotonic_cst",
    )
    settings: opt.Settings = {name: getattr(WassersteinSVC(), name) for name in names}
    settings |= (
        work.by_label(ball.ball(), parts.y, screen)
        | prices.intercept()
        | work.feature_prices(parts, prepared)
    )
    # the ball alone
    if settings["l2"] == "auto":
        settings["l2"] = 0.0
    else:
        settings["l2"] = settings["l2"]
    settings["flip_cost"] = flip_costs_of_rows(
        settings["flip_cost"], parts.y, np.unique(parts.y)
    )
    cost = settings.pop("intercept_cost")
    return with_intercept_cost(Problem(prepared.X, y, radius=radius, **settings), cost)


def _run(
    problem: "Problem", names: list[str], settings: opt.Settings, screen: Screen
) -> "dict[str, Result]":
    from drsvm import solve
    from drsvm.problem.result import Status

    results = {}
    with screen.whole("solving") as report_progress:
        for number, name in enumerate(names):
            report_progress(number / len(names))
            try:
                result = solve(
                    problem,
                    **{**settings, "solver": name},
                    callback=lambda progress: False,
                )
            except (ImportError, ValueError) as error:
                screen.note(f"skipped {name}: {error}")
                continue
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            results[name] = result
    return results
