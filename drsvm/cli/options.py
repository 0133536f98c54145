"""Options that several commands share, in groups: dataclasses whose fields are command-line options."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

READING, SPLITTING, MODEL, LIMITS, OUTPUT = "Reading the file", "Testing", "The classifier", "The solver", "Output"
KNOWN = "What is known about the data"

NORMS = ("1", "2", "inf")

DataFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Data: CSV, Parquet or svmlight, may be compressed; - is standard input."),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved by 'drsvm fit --model'.")]
TestFile = Annotated[
    Path | None, typer.Option("--test", metavar="FILE", help="A separate file to test on.", rich_help_panel=SPLITTING)
]
Radius = Annotated[
    str | None,
    typer.Option(
        help="Average shift per row to be robust to, in units of the (standardised) features, or auto. Default: auto.",
        rich_help_panel=MODEL,
    ),
]
TableFile = Annotated[
    Path | None, typer.Option("--csv", metavar="OUT", help="Save the table as CSV.", rich_help_panel=OUTPUT)
]
PlotFile = Annotated[
    Path | None,
    typer.Option("--plot", metavar="OUT", help="Save a plot (.png, .svg, .pdf).", rich_help_panel=OUTPUT),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="The positive class. Default: the yes of yes and no, otherwise the later in the alphabet. With more than "
        "two classes: the one to separate from the others.",
        rich_help_panel=READING,
    ),
]
ClassWeight = Annotated[
    str | None, typer.Option(help="balanced: all classes have the same total weight.", rich_help_panel=MODEL)
]


def _option(*names: str, help: str, panel: str, **settings) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


@dataclass(frozen=True)
class FileOptions:
    """How to read a file that a saved model is applied to."""

    label: Annotated[
        str | None,
        _option(
            "--label",
            help="Label column: name or index (0: first, -1: last). Default: the one called label, target, y or class, "
            "otherwise the last; for a saved model, the one it was trained with.",
            panel=READING,
        ),
    ] = None
    format: Annotated[
        str | None, _option("--format", help="csv, parquet or svmlight. Default: detected.", panel=READING)
    ] = None
    delimiter: Annotated[
        str | None,
        _option("--delimiter", help="Delimiter of CSV columns, such as ';' or tab. Default: detected.", panel=READING),
    ] = None
    header: Annotated[
        bool | None,
        _option(
            "--header/--no-header",
            help="Whether a CSV file starts with column names. Default: detected.",
            panel=READING,
        ),
    ] = None
    missing: Annotated[
        str | None,
        _option(
            "--missing",
            help="Empty cells: fill (numbers with the median, text as a category of its own), drop (their rows) or "
            "error. Default: fill; for a saved model, as in its training.",
            panel=READING,
        ),
    ] = None
    missing_values: Annotated[
        list[str] | None,
        _option(
            "--missing-values",
            help="A text that counts as empty, besides ?, NA, NaN, null, None and blanks; repeat for more.",
            panel=READING,
        ),
    ] = None

    def read_options(self):
        """Return the options in the words of `drsvm.datasets`."""
        from drsvm.datasets import ReadOptions

        check_choice("--format", self.format, (None, "csv", "parquet", "svmlight"))
        check_choice("--missing", self.missing, (None, "fill", "drop", "error"))
        return ReadOptions(
            format=self.format,
            label=self.label,
            delimiter=self.delimiter,
            header=self.header,
            missing=self.missing,
            missing_values=tuple(self.missing_values or ()),
        )


@dataclass(frozen=True)
class DataOptions(FileOptions):
    """How to read a new file."""

    features: Annotated[
        list[str] | None,
        _option(
            "--features",
            help="Columns to use, by name or index: a,b,c, or repeat the option. Default: all that can be used.",
            panel=READING,
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        _option("--drop", help="Columns to ignore: a,b,c, or repeat the option.", panel=READING),
    ] = None
    id: Annotated[
        list[str] | None,
        _option("--id", help="Columns that identify a row, not used as features. Default: detected.", panel=READING),
    ] = None
    categorical: Annotated[
        list[str] | None,
        _option("--categorical", help="Columns to treat as categories, such as codes that are numbers.", panel=READING),
    ] = None
    numeric: Annotated[
        list[str] | None,
        _option("--numeric", help="Columns to treat as numbers; other cells in them count as empty.", panel=READING),
    ] = None
    decimal: Annotated[
        str | None,
        _option("--decimal", help="The decimal sign, . or , (the other separates thousands).", panel=READING),
    ] = None
    index_base: Annotated[
        int | None,
        _option(
            "--index-base",
            help="First index of an svmlight file, 0 or 1. Default: detected.",
            min=0,
            max=1,
            panel=READING,
        ),
    ] = None
    max_features: Annotated[
        int,
        _option("--max-features", help="Reject an svmlight file with more features than this.", min=1, panel=READING),
    ] = 5_000_000

    def read_options(self):
        """Return the options in the words of `drsvm.datasets`."""
        from dataclasses import replace

        check_choice("--decimal", self.decimal, (None, ".", ","))
        return replace(
            super().read_options(),
            features=tuple(self.features or ()),
            drop=tuple(self.drop or ()),
            id=tuple(self.id or ()),
            categorical=tuple(self.categorical or ()),
            numeric=tuple(self.numeric or ()),
            decimal=self.decimal,
            index_base=self.index_base,
            max_features=self.max_features,
        )


@dataclass(frozen=True)
class SplitOptions:
    """What to hold out for testing."""

    test_size: Annotated[
        float | None,
        _option(
            "--test-size",
            help="Share (0.3) or number (200) of rows to hold out for testing; 0: none. fit holds out 0.25 by default, "
            "and saves a model of all rows.",
            panel=SPLITTING,
        ),
    ] = None
    test: TestFile = None
    seed: Annotated[int, _option("--seed", help="Random seed of the split and the solvers.", panel=SPLITTING)] = 0


@dataclass(frozen=True)
class BallOptions:
    """The adversary and the classifier."""

    flip_cost: Annotated[
        list[str] | None,
        _option(
            "--flip-cost",
            help="Cost of flipping a label: up to radius / flip cost of the labels may be wrong; inf: trust them all. "
            "A number, or CLASS=NUMBER for every class. Default: inf.",
            panel=MODEL,
        ),
    ] = None
    norm: Annotated[
        str,
        _option("--norm", help="Norm of the shifts: 1, 2, or inf, which gives sparse weights.", panel=MODEL),
    ] = "2"
    l2: Annotated[float, _option("--l2", help="Coefficient of an additional ridge term.", panel=MODEL)] = 0.0
    intercept: Annotated[
        bool, _option("--intercept/--no-intercept", help="Whether to fit an intercept.", panel=MODEL)
    ] = True
    standardise: Annotated[
        bool,
        _option(
            "--standardise/--no-standardise",
            help="Scale numbers to variance 1 (and mean 0, unless sparse); categories are 0 or 1.",
            panel=MODEL,
        ),
    ] = True
    solver: Annotated[
        str,
        _option("--solver", help="Name of a solver ('drsvm compare' lists them); auto picks one.", panel=LIMITS),
    ] = "auto"
    tol: Annotated[
        float | None, _option("--tol", help="Stop once the proven gap to the optimum is this small.", panel=LIMITS)
    ] = None
    max_iter: Annotated[int | None, _option("--max-iter", help="Stop after this many iterations.", panel=LIMITS)] = None
    max_time: Annotated[
        float | None,
        _option(
            "--max-time",
            help="Stop after this many seconds in total, excluding reading files and compiling kernels.",
            panel=LIMITS,
        ),
    ] = None

    def ball(self) -> dict[str, Any]:
        """Return the given parameters under the library's names."""
        check_choice("--norm", self.norm, NORMS)
        cost = flip_cost_of(self.flip_cost)
        given = {} if cost is None else {"flip_cost": cost}
        return {**given, "norm": float(self.norm), "l2": self.l2, "fit_intercept": self.intercept}

    def with_radius(self, radius: str | None) -> dict[str, Any]:
        """Return the given parameters, and the radius if it was given."""
        ball = self.ball()
        if radius is None:
            return ball
        try:
            return {"radius": radius if radius == "auto" else float(radius), **ball}
        except ValueError:
            raise ValueError(f"--radius must be a number or auto, got {radius!r}.") from None

    def problem(self) -> dict[str, Any]:
        """Return the parameters of a Problem, with the estimator's default flip cost."""
        from drsvm import WassersteinSVC

        return {"flip_cost": WassersteinSVC().flip_cost, **self.ball()}

    def checked_solver(self) -> str:
        """Return the name of the solver after checking it."""
        from drsvm.solvers import solver_names

        check_choice("--solver", self.solver, solver_names())
        return self.solver

    def limits(self) -> dict[str, Any]:
        """Return the limits of a run."""
        return {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}


@dataclass(frozen=True)
class PriceOptions:
    """What is known about labels, features and the intercept."""

    trust_column: Annotated[
        list[str] | None,
        _option(
            "--trust-column",
            help="A column that cannot shift, such as a year of birth; repeat for more.",
            panel=KNOWN,
        ),
    ] = None
    increasing: Annotated[
        list[str] | None,
        _option(
            "--increasing", help="A numeric column whose larger values may only favour the positive class.", panel=KNOWN
        ),
    ] = None
    decreasing: Annotated[
        list[str] | None,
        _option("--decreasing", help="A numeric column whose larger values may only count against it.", panel=KNOWN),
    ] = None
    intercept_cost: Annotated[
        float | None,
        _option(
            "--intercept-cost",
            help="Price of the intercept; inf: it is not regularised. Default: the size of a typical feature.",
            panel=KNOWN,
        ),
    ] = None

    def mentioned(self) -> tuple[tuple[str, str], ...]:
        """Return the options that name columns, with the columns."""
        roles = ("trust_column", "increasing", "decreasing")
        return tuple((role, column) for role in roles for column in getattr(self, role) or ())

    def intercept(self) -> dict[str, float]:
        """Return the price of the intercept if it was given."""
        return {} if self.intercept_cost is None else {"intercept_cost": self.intercept_cost}


def flip_cost_of(given: list[str] | None) -> float | dict[str, float] | None:
    """Return one price, or one for each class by its text."""
    if not given:
        return None
    pairs = [text.rpartition("=") for text in given]
    by_class = all(equals for _, equals, _ in pairs)
    try:
        if not by_class and len(given) == 1:
            return float(given[0])
        if by_class:
            return {name: float(price) for name, _, price in pairs}
    except ValueError:
        pass
    shown = " ".join(f"--flip-cost {text}" for text in given)
    raise ValueError(f"{shown}: give one number, or one for every class: --flip-cost yes=5 --flip-cost no=inf.")


def check_choice(option: str, value, allowed: Sequence) -> None:
    """Raise an error if a value is not allowed."""
    if value not in allowed:
        names = ", ".join(str(choice) for choice in allowed if choice is not None)
        raise ValueError(f"{option} must be one of {names}, got {value!r}.")


def check_class_weight(value: str | None) -> None:
    """Raise an error if the weights of the classes are not allowed."""
    if value not in (None, "balanced"):
        raise ValueError(f"--class-weight must be balanced, got {value!r}.")


def numbers_in(option: str, text: str | None) -> list[float] | None:
    """Return the numbers of a list such as 0,0.05,0.1."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.replace(";", ",").split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{option} must be comma-separated numbers, such as 0,0.05,0.1; got {text!r}.") from None
