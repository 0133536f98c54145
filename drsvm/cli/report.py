"""``drsvm report``: a page about a classifier and what an adversary could do to it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from drsvm.cli.options import OUTPUT, BallOptions, DataFile, DataOptions, Positive, PriceOptions, Radius, SplitOptions
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm report customers.csv --label churned --output report.html
drsvm report train.csv --test test.csv --radius 0.1 --title "Churn, spring" --output churn.html"""


def report(
    file: DataFile,
    data: DataOptions,
    split: SplitOptions,
    ball: BallOptions,
    prices: PriceOptions,
    screen: Screen,
    radius: Radius = None,
    positive: Positive = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.", rich_help_panel=OUTPUT)] = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="OUT", help="The HTML file.", rich_help_panel=OUTPUT)
    ] = Path("drsvm-report.html"),
) -> int:
    """Train a classifier and write a self-contained HTML page about it: proof, path, risks, worst case.

    Samples are numbered like the rows of the file, from 1, as in predict. The exit code is 1 if the tolerance was not
    reached.
    """
    from drsvm import WassersteinSVC
    from drsvm.cli import work
    from drsvm.cli.prices import feature_prices, flip_cost_by_label
    from drsvm.cli.streams import name_of
    from drsvm.report import make_report

    work.check_outputs([output], [file, split.test])
    if output.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{output}: the name of a report must end in .html.")
    settings = {**ball.with_radius(radius), **ball.limits(), "solver": ball.checked_solver()}
    settings |= {**prices.intercept(), "random_state": split.seed}
    parts = work.load_parts(file, replace(data.read_options(), mentioned=prices.mentioned()), split, screen)
    if "flip_cost" in settings:
        settings["flip_cost"] = flip_cost_by_label(settings["flip_cost"], parts.y)
    prepared = work.prepared(parts, standardise=ball.standardise)
    model = WassersteinSVC(**settings, **feature_prices(parts, prepared))
    with screen.progress("report", total=100) as advance, screen.warnings_as_notes():
        page = make_report(
            prepared.X,
            parts.y,
            model=model,
            X_test=prepared.X_test,
            y_test=parts.y_test,
            feature_names=prepared.names,
            row_names=(parts.rows + 1).tolist(),
            row_note="Samples are numbered like the rows of the file, from 1, not counting the header.",
            title=title or name_of(file),
            standardise=False,  # they are prepared
            positive=None if positive is None else work.label_called(parts.y, positive),
            progress=lambda share, words: advance(words, completed=100 * share),
        )
    page.save(output)
    proven = all(certificate["status"] == "optimal" for certificate in page.summary["certificates"])
    payload: dict[str, Any] = {
        "command": "report",
        "file": str(file),
        "output": str(output),
        "proven": proven,
        "summary": page.summary,
    }
    message = f"report written to {output.resolve()}"
    screen.finish(payload, lambda console: console.print(message, markup=False, highlight=False, soft_wrap=True))
    return 0 if proven else 1
