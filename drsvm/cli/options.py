"""Options that several commands share, in groups: dataclasses whose fields are command-line options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

NORMS = ("1", "2", "inf")
COLUMN_ROLES = ("trust_column", "increasing", "decreasing")


def _panel(title: str) -> Callable[..., Any]:
    """Return a function that declares an option of a panel of the help; options have the names of their parameters."""
    return lambda help, *names, **settings: typer.Option(*names, help=help, rich_help_panel=title, **settings)


reading, testing, classifier = _panel("Reading the file"), _panel("Testing"), _panel("The classifier")
known, solving, output = _panel("What is known about the data"), _panel("The solver"), _panel("Output")

Texts = list[str] | None

DataFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Data: CSV, Parquet or svmlight, may be compressed; - is standard input."),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved by 'drsvm fit --model'.")]
Radius = Annotated[
    str | None,
    classifier(
        "Average shift per row to be robust to, in units of the (standardised) features, or auto. Default: auto."
    ),
]
Positive = Annotated[
    str | None,
    reading(
        "The positive class. Default: the yes of yes and no, otherwise the later in the alphabet. With more than two "
        "classes: the one to separate from the others."
    ),
]
ClassWeight = Annotated[
    str | None,
    classifier(
        "Weights of the classes: none (every row counts the same), balanced (every class does), or auto, half-way "
        "between them. Default: auto."
    ),
]
Threshold = Annotated[
    str | None,
    classifier(
        "What the threshold between two classes is placed for: accuracy, balanced-accuracy, or optimum, where the "
        "problem itself has it. Default: accuracy."
    ),
]


@dataclass(frozen=True)
class FileOptions:
    """How to read a file that a saved model is applied to."""

    label: Annotated[
        str | None,
        reading(
            "Label column: name or index (0: first, -1: last). Default: the one called label, target, y or class, "
            "otherwise the last; for a saved model, the one it was trained with."
        ),
    ] = None
    format: Annotated[str | None, reading("csv, parquet or svmlight. Default: detected.")] = None
    delimiter: Annotated[str | None, reading("Delimiter of CSV columns, such as ';' or tab. Default: detected.")] = None
    header: Annotated[bool | None, reading("Whether a CSV file starts with column names. Default: detected.")] = None
    missing: Annotated[
        str | None,
        reading(
            "Empty cells: fill (numbers with the median, text as a category of its own), drop (their rows) or error. "
            "Default: fill; for a saved model, as in its training."
        ),
    ] = None
    missing_values: Annotated[
        Texts, reading("A text that counts as empty, besides ?, NA, NaN, null, None and blanks; repeat for more.")
    ] = None

    def read_options(self, **further: Any) -> Any:
        """Return these and further options as `drsvm.datasets.ReadOptions`, which have the same names."""
        from drsvm.datasets import ReadOptions

        check_choice("--format", self.format, (None, "csv", "parquet", "svmlight"))
        check_choice("--missing", self.missing, (None, "fill", "drop", "error"))
        check_choice("--decimal", getattr(self, "decimal", None), (None, ".", ","))
        given: dict[str, Any] = vars(self) | further
        given |= {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return ReadOptions(**{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class DataOptions(FileOptions):
    """How to read a new file."""

    features: Annotated[
        Texts, reading("Columns to use, by name or index: a,b,c, or repeat the option. Default: all that can be used.")
    ] = None
    drop: Annotated[Texts, reading("Columns to ignore: a,b,c, or repeat the option.")] = None
    id: Annotated[Texts, reading("Columns that identify a row, not used as features. Default: detected.")] = None
    categorical: Annotated[Texts, reading("Columns to treat as categories, such as codes that are numbers.")] = None
    numeric: Annotated[Texts, reading("Columns to treat as numbers; other cells in them count as empty.")] = None
    decimal: Annotated[str | None, reading("The decimal sign, . or , (the other separates thousands).")] = None
    index_base: Annotated[
        int | None, reading("First index of an svmlight file, 0 or 1. Default: detected.", min=0, max=1)
    ] = None
    max_features: Annotated[int, reading("Reject an svmlight file with more features than this.", min=1)] = 5_000_000


@dataclass(frozen=True)
class SplitOptions:
    """What to hold out for testing."""

    test_size: Annotated[
        float | None,
        testing(
            "Share (0.3) or number (200) of rows to hold out for testing; 0: none. fit holds out 0.25 by default, and "
            "saves a model of all rows."
        ),
    ] = None
    test: Annotated[Path | None, testing("A separate file to test on.", metavar="FILE")] = None
    seed: Annotated[int, testing("Random seed of the split and the solvers.")] = 0


@dataclass(frozen=True)
class BallOptions:
    """The adversary and the classifier."""

    flip_cost: Annotated[
        Texts,
        classifier(
            "Cost of flipping a label: up to radius / flip cost of the labels may be wrong; inf: trust them all. A "
            "number, or CLASS=NUMBER for every class. Default: inf."
        ),
    ] = None
    norm: Annotated[str, classifier("Norm of the shifts: 1, 2, or inf, which gives sparse weights.")] = "2"
    l2: Annotated[str | None, classifier("Coefficient of a ridge term, or auto. Default: auto.")] = None
    intercept: Annotated[bool, classifier("Whether to fit an intercept.")] = True
    standardise: Annotated[
        bool, classifier("Clip numbers far from the others, scale to variance 1 (and mean 0, unless sparse).")
    ] = True
    solver: Annotated[str, solving("Name of a solver ('drsvm compare' lists them); auto picks one.")] = "auto"
    tol: Annotated[float | None, solving("Stop once the proven gap to the optimum is this small.")] = None
    max_iter: Annotated[int | None, solving("Stop after this many iterations.")] = None
    max_time: Annotated[
        float | None, solving("Stop after this many seconds in total, excluding reading files and compiling kernels.")
    ] = None

    def ball(self) -> dict[str, Any]:
        """Return the given parameters under the library's names."""
        check_choice("--norm", self.norm, NORMS)
        cost = flip_cost_of(self.flip_cost)
        given = {} if cost is None else {"flip_cost": cost}
        given |= {} if self.l2 is None else {"l2": number_or_auto("--l2", self.l2)}
        return {**given, "norm": float(self.norm), "fit_intercept": self.intercept}

    def with_radius(self, radius: str | None) -> dict[str, Any]:
        """Return the given parameters, and the radius if it was given."""
        ball = self.ball()
        return ball if radius is None else {"radius": number_or_auto("--radius", radius), **ball}

    def run(self) -> dict[str, Any]:
        """Return the solver and the limits of a run."""
        if self.solver != "auto":
            from drsvm.solvers import solver_names  # it imports all solvers

            check_choice("--solver", self.solver, solver_names())
        return {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}


@dataclass(frozen=True)
class PriceOptions:
    """What is known about labels, features and the intercept."""

    trust_column: Annotated[Texts, known("A column that cannot shift, such as a year of birth; repeat for more.")] = (
        None
    )
    increasing: Annotated[Texts, known("A numeric column whose larger values may only favour the positive class.")] = (
        None
    )
    decreasing: Annotated[Texts, known("A numeric column whose larger values may only count against it.")] = None
    intercept_cost: Annotated[
        float | None,
        known("Price of the intercept; inf: it is not regularised. Default: the size of a typical feature."),
    ] = None

    def mentioned(self) -> tuple[tuple[str, str], ...]:
        """Return the options that name columns, with the columns."""
        return tuple((role, column) for role in COLUMN_ROLES for column in getattr(self, role) or ())

    def for_weights(self) -> dict[str, Any]:
        """Return the options that are about weights."""
        return {f"--{role.replace('_', '-')}": getattr(self, role) for role in COLUMN_ROLES}

    def intercept(self) -> dict[str, float]:
        """Return the price of the intercept if it was given."""
        return {} if self.intercept_cost is None else {"intercept_cost": self.intercept_cost}


@dataclass(frozen=True)
class PlotOptions:
    """The plot that a command draws."""

    plot: Annotated[Path | None, output("Save a plot (.png, .svg, .pdf).", metavar="OUT")] = None

    def check(self, *inputs: Path | None) -> None:
        """Raise an error, before any work is done, if a file cannot be written."""
        from drsvm.cli.files import check_outputs, check_plot

        check_outputs(vars(self).values(), inputs)
        check_plot(self.plot)

    def save(self, columns: dict[str, Any], draw: Callable[[], Any]) -> dict[str, Path | None]:
        """Write the table and the plot, a Display that is drawn if it is wanted; return the files."""
        from drsvm.cli.files import save_outputs

        save_outputs(columns, getattr(self, "csv", None), self.plot, draw)
        return dict(vars(self))


@dataclass(frozen=True)
class TableOptions(PlotOptions):
    """The table and the plot of a command."""

    csv: Annotated[Path | None, output("Save the table as CSV.", metavar="OUT")] = None


def flip_cost_of(given: Texts) -> float | dict[str, float] | None:
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


def number_or_auto(option: str, text: str) -> float | str:
    """Return a number, or the word auto."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise ValueError(f"{option} must be a number or auto, got {text!r}.") from None


def chosen_classes_and_threshold(class_weight: str | None, threshold: str | None = None) -> dict[str, Any]:
    """Return class weights and threshold as parameters of a classifier, if they were given."""
    check_choice("--class-weight", class_weight, (None, "auto", "balanced", "none"))
    check_choice("--threshold", threshold, (None, "accuracy", "balanced-accuracy", "optimum"))
    given = {} if class_weight is None else {"class_weight": None if class_weight == "none" else class_weight}
    return given if threshold is None else {**given, "threshold": threshold.replace("-", "_")}


def check_choice(option: str, value: str | None, allowed: Sequence[str | None]) -> None:
    """Raise an error if a value is not allowed."""
    if value not in allowed:
        names = [choice for choice in allowed if choice is not None]
        raise ValueError(f"{option} must be {'one of ' if len(names) > 1 else ''}{', '.join(names)}, got {value!r}.")


def numbers_in(option: str, text: str | None) -> list[float] | None:
    """Return the numbers of a list such as 0,0.05,0.1."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.replace(";", ",").split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{option} must be comma-separated numbers, such as 0,0.05,0.1; got {text!r}.") from None
