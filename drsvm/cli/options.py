"""Options that several commands share, in groups: dataclasses whose fields are command-line options."""

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from drsvm import WassersteinKernelSVC, WassersteinSVC
    from drsvm.tables import ReadOptions

NORMS = ("1", "2", "inf")
PLOTS = (".png", ".svg", ".pdf")
COLUMN_ROLES = ("trust_column", "increasing", "decreasing")
WIDTHS = ("rule", "scale", "auto")
FOR_WEIGHTS = {  # options that do not go with a kernel, and why
    "--norm": "a kernel measures shifts by their length in its feature space",
    "--solver": "there is one solver for kernels",
    "--cv": "it chooses between linear classifiers",
    "--trust-column": "it takes the weight of a column out of the norm",
    **dict.fromkeys(("--increasing", "--decreasing"), "it fixes the sign of a weight"),
}

Texts: TypeAlias = list[str] | None
Settings: TypeAlias = dict[str, Any]  # parameters of an estimator or of `solve`
Columns: TypeAlias = dict[str, Any]  # arrays or lists by name


def _panel(title: str) -> Callable[..., Any]:
    # Options have the names of their fields or parameters, unless others are given; the
    # default ``...`` is no default.

    def option(help: str, default: object = None, *names: str, **settings: Any) -> Any:
        declared = typer.Option(*names, help=help, rich_help_panel=title, **settings)
        return field(default=default, metadata={"option": declared})

    return option


reading = _panel("Reading the file")
testing = _panel("Testing")
classifier = _panel("The classifier")
known = _panel("What is known about the data")
solving = _panel("The solver")
output = _panel("Output")

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Data: CSV, Parquet or svmlight, or a folder of files; - is standard input.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model saved by 'drsvm fit --model'.")
]

RADIUS = classifier(
    "Average shift per row to be robust to, in units of the (standardised) features, or auto. Default: auto."
)
POSITIVE = reading(
    "The positive one of two classes. Default: the yes of yes and no, otherwise the larger, or the later in the "
    "alphabet. Of more than two, report and compare take the one to set against the others; fit takes none."
)
CLASS_WEIGHT = classifier(
    "Weights of the classes: none (every row counts the same), balanced (every class does), or auto, half-way "
    "between them. Default: auto."
)
THRESHOLD = classifier(
    "What the threshold between two classes is placed for: accuracy, balanced-accuracy, or optimum, where the "
    "problem itself has it, to which the proof refers. Default: accuracy."
)
COSTS = classifier(
    "What it costs to miss each of two classes, such as no=1,yes=10: the threshold is placed where errors cost least. "
    "Replaces --threshold.",
    metavar="CLASS=COST,CLASS=COST",
)


@dataclass(frozen=True)
class FileOptions:
    """How to read a file that a saved model is applied to."""

    label: str | None = reading(
        "Label column: name or index (0: first, -1: last). Default: the one called label, target, y or class, "
        "otherwise the last; for a saved model, the one it was trained with."
    )
    format: str | None = reading("csv, parquet or svmlight. Default: detected.")
    delimiter: str | None = reading(
        "Delimiter of CSV columns, such as ';' or tab. Default: detected."
    )
    header: bool | None = reading(
        "Whether a CSV file starts with column names. Default: detected."
    )
    missing: str | None = reading(
        "Empty cells: fill (numbers with the median, text as a category of its own), drop (their rows) or error. "
        "Default: fill; for a saved model, as in its training."
    )
    missing_values: Texts = reading(
        "A text that counts as empty, besides ?, NA, NaN, null, None and blanks; repeat for more."
    )

    def read_options(self, **further: object) -> "ReadOptions":
        """Return these and further options as `drsvm.tables.ReadOptions`, which have the same names."""
        from drsvm.tables import ReadOptions

        check_choice("--format", self.format, (None, "csv", "parquet", "svmlight"))
        check_choice("--missing", self.missing, (None, "fill", "drop", "error"))
        check_choice("--decimal", getattr(self, "decimal", None), (None, ".", ","))
        given: Settings = vars(self) | further
        given |= {
            name: tuple(value)
            for name, value in given.items()
            if isinstance(value, list)
        }
        return ReadOptions(
            **{name: value for name, value in given.items() if value is not None}
        )


@dataclass(frozen=True)
class DataOptions(FileOptions):
    """How to read a new file."""

    features: Texts = reading(
        "Columns to use, by name or index: a,b,c, or repeat the option. Default: all that can be used."
    )
    drop: Texts = reading("Columns to ignore: a,b,c, or repeat the option.")
    id: Texts = reading(
        "Columns that identify a row, not used as features. Default: detected."
    )
    categorical: Texts = reading(
        "Columns to treat as categories, such as codes that are numbers."
    )
    numeric: Texts = reading(
        "Columns to treat as numbers; other cells in them count as empty."
    )
    decimal: str | None = reading(
        "The decimal sign, . or , (the other separates thousands)."
    )
    index_base: int | None = reading(
        "First index of an svmlight file, 0 or 1. Default: detected.", min=0, max=1
    )
    max_features: int = reading(
        "Reject an svmlight file with more features than this.", 5_000_000, min=1
    )


@dataclass(frozen=True)
class SplitOptions:
    """What to hold out for testing."""

    test_size: float | None = testing(
        "Share (0.3) or number (200) of rows to hold out for testing; 0: none. fit holds out 0.25 by default, and "
        "saves a model of all rows."
    )
    test: Path | None = testing("A separate file to test on.", metavar="FILE")
    seed: int = testing("Random seed of the split and the solvers.", 0)

    def check(self) -> None:
        """Raise an error if a test file and a part of the rows are both wanted."""
        if self.test is not None and self.test_size is not None:
            raise ValueError("use --test or --test-size, not both.")


@dataclass(frozen=True)
class BallOptions:
    """The adversary and the classifier."""

    flip_cost: Texts = classifier(
        "Cost of flipping a label: up to radius / flip cost of the labels may be wrong; inf: trust them all. A "
        "number, or CLASS=NUMBER for every class. Default: inf."
    )
    norm: str = classifier(
        "Norm of the shifts: 1, 2, or inf, which gives sparse weights.", "2"
    )
    l2: str | None = classifier("Coefficient of a ridge term, or auto. Default: auto.")
    intercept: bool = classifier("Whether to fit an intercept.", True)
    standardise: bool = classifier(
        "Clip numbers far from the others, scale to variance 1 (and mean 0, unless sparse).",
        True,
    )
    solver: str = solving(
        "Name of a solver ('drsvm compare' lists them); auto picks one.", "auto"
    )
    tol: float | None = solving(
        "Stop once the proven gap to the optimum is this small."
    )
    max_iter: int | None = solving("Stop after this many iterations.")
    max_time: float | None = solving(
        "Stop after this many seconds in total, excluding reading files and compiling kernels."
    )

    def ball(self, radius: str | None = None) -> Settings:
        """Return the given parameters, and the radius if it was given, under the library's names."""
        check_choice("--norm", self.norm, NORMS)
        given: Settings = {}
        if self.flip_cost:  # one price, or one for each class by its text
            pairs = [text.rpartition("=") for text in self.flip_cost]
            try:
                given["flip_cost"] = {
                    name: float(price) for name, equals, price in pairs
                }
                if not all(equals for _, equals, _ in pairs):
                    [text] = self.flip_cost
                    given["flip_cost"] = float(text)
            except ValueError:
                shown = " ".join(f"--flip-cost {text}" for text in self.flip_cost)
                remedy = "give one number, or one for every class: --flip-cost yes=5 --flip-cost no=inf."
                raise ValueError(f"{shown}: {remedy}") from None
        if self.l2 is None:
            given |= {}
        else:
            given |= {"l2": number_or_auto("--l2", self.l2)}
        if radius is None:
            given |= {}
        else:
            given |= {"radius": number_or_auto("--radius", radius)}
        return {**given, "norm": float(self.norm), "fit_intercept": self.intercept}

    def run(self) -> Settings:
        solver = self.solver
        if self.solver != "auto":
            from drsvm.solvers import solver_names  # it imports all solvers

            solver = check_choice("--solver", self.solver, solver_names())
        return {
            "solver": solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "max_time": self.max_time,
        }


@dataclass(frozen=True)
class KernelOptions:
    """The kernel of a classifier."""

    kernel: str = classifier(
        "linear, or rbf for curved boundaries: exp(-gamma |x - z|^2), still with a proof.",
        "linear",
    )
    gamma: str | None = classifier(
        "Coefficient of --kernel rbf: a number, rule, scale or auto, as in the library. Default: rule."
    )

    allowed = ("linear", "rbf")

    def check(
        self,
        ball: BallOptions,
        further: Mapping[str, object] | None = None,
        radius: str | None = None,
    ) -> str | None:
        """Raise an error if options do not go together.

        `further` are values of some of `FOR_WEIGHTS`.

        With ``auto``, the first option that asks for a linear classifier is returned
        instead, such as a radius: it is a shift of the features.
        """
        check_choice("--kernel", self.kernel, self.allowed)
        given = {
            "--norm": ball.norm != "2",
            "--solver": ball.solver != "auto",
            **(further or {}),
        }
        given |= {"--radius": self.kernel == "auto" and radius not in (None, "auto")}
        option = next((name for name, value in given.items() if value), None)
        if self.gamma is not None and (
            self.kernel == "linear" or (self.kernel == "auto" and option)
        ):
            raise ValueError(
                "--gamma is the coefficient of a kernel: add --kernel rbf."
            )
        if self.kernel == "rbf" and option:
            what = f"{option} does not go with --kernel {self.kernel}, because {FOR_WEIGHTS[option]}"
            raise ValueError(f"{what}: omit it, or use --kernel linear.")
        self._width()
        return option

    def _width(self) -> float | str | None:
        if self.gamma in (None, *WIDTHS):
            return self.gamma
        with suppress(ValueError):
            if 0.0 < (number := float(self.gamma or "")) < float("inf"):
                return number
        raise ValueError(
            f"--gamma must be a number above 0, {', '.join(WIDTHS)}, got {self.gamma!r}."
        )

    def kind_and_settings(
        self, settings: Settings
    ) -> "tuple[type[WassersteinSVC | WassersteinKernelSVC], Settings]":
        """Return the class of the classifier, and those of the settings of a linear one that it takes."""
        from drsvm import WassersteinKernelSVC, WassersteinSVC

        if self.kernel == "linear":
            return WassersteinSVC, settings
        kept = {
            name: value
            for name, value in settings.items()
            if name not in ("norm", "solver")
        }
        kept["gamma"] = self._width()
        kept = {
            name: value
            for name, value in kept.items()
            if value is not None or name not in ("tol", "gamma")
        }
        return WassersteinKernelSVC, {"kernel": self.kernel, **kept}


@dataclass(frozen=True)
class KernelChoice(KernelOptions):
    """The kernel of a classifier, which may be chosen by unseen rows."""

    kernel: str = classifier(
        "linear; rbf for curved boundaries: exp(-gamma |x - z|^2), still with a proof; or auto: linear, unless rbf "
        "ranks unseen rows clearly better, which is tried on up to 20,000 rows.",
        "auto",
    )

    allowed = ("linear", "rbf", "auto")


@dataclass(frozen=True)
class PriceOptions:
    """What is known about labels, features and the intercept."""

    trust_column: Texts = known(
        "A column that cannot shift, such as a year of birth; repeat for more."
    )
    increasing: Texts = known(
        "A numeric column whose larger values may only favour the positive class."
    )
    decreasing: Texts = known(
        "A numeric column whose larger values may only count against it."
    )
    intercept_cost: float | None = known(
        "Price of the intercept; inf: it is not regularised. Default: the size of a typical feature."
    )

    def mentioned(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (role, column)
            for role in COLUMN_ROLES
            for column in getattr(self, role) or ()
        )

    def of_columns(self) -> dict[str, Texts]:
        """Return the columns with a role, by option."""
        return {option_of(role): getattr(self, role) for role in COLUMN_ROLES}

    def intercept(self) -> dict[str, float]:
        if self.intercept_cost is None:
            return {}
        return {"intercept_cost": self.intercept_cost}


@dataclass(frozen=True)
class PlotOptions:
    """The plot that a command draws."""

    plot: Path | None = output("Save a plot (.png, .svg, .pdf).", metavar="OUT")

    def check(self, *inputs: Path | None) -> None:
        """Raise an error, before any work is done, if a file cannot be written or a plot cannot be drawn."""
        from drsvm.cli.files import check_outputs
        from drsvm.utils.lazy import optional

        check_outputs(vars(self).values(), inputs)
        if self.plot is not None:
            if self.plot.suffix.lower() not in PLOTS:
                raise ValueError(
                    f"{self.plot}: the name of a plot must end in {', '.join(PLOTS)}."
                )
            optional("matplotlib", "plots need").use("Agg")

    def save(
        self, columns: Columns, draw: "Callable[[], Figure]"
    ) -> dict[str, Path | None]:
        """Write the table and the plot, which is drawn first, so that a failure leaves no file; return the files."""
        from drsvm.cli.files import csv_text
        from drsvm.utils.writing import write_files

        table = getattr(self, "csv", None)
        if table is None:
            contents = {}
        else:
            contents = {table: csv_text(columns).encode()}
        if self.plot is not None:
            from matplotlib import pyplot as plt

            figure = draw()
            drawn = io.BytesIO()
            figure.savefig(drawn, format=self.plot.suffix[1:].lower(), dpi=150)
            plt.close(figure)
            contents[self.plot] = drawn.getvalue()
        write_files(contents)
        return dict(vars(self))


@dataclass(frozen=True)
class TableOptions(PlotOptions):
    """The table and the plot of a command."""

    csv: Path | None = output("Save all rows of the table as CSV.", metavar="OUT")


def option_of(parameter: str) -> str:
    """Return the option for a parameter."""
    return f"--{parameter.replace('_', '-')}"


def number_or_auto(option: str, text: str) -> float | str:
    """Return a number, or the word auto."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise ValueError(f"{option} must be a number or auto, got {text!r}.") from None


def chosen_classes_and_threshold(
    class_weight: str | None, threshold: str | None = None, costs: str | None = None
) -> Settings:
    """Return class weights and threshold as parameters of a classifier, if given.

    Costs are by the text of a label.
    """
    check_choice("--class-weight", class_weight, (None, "auto", "balanced", "none"))
    threshold = check_choice(
        "--threshold", threshold, (None, "accuracy", "balanced-accuracy", "optimum")
    )
    if threshold is not None and costs is not None:
        raise ValueError("use --threshold or --costs, not both.")
    given: Settings = (
        {}
        if class_weight is None
        else {"class_weight": None if class_weight == "none" else class_weight}
    )
    if threshold is None:
        given |= {}
    else:
        given |= {"threshold": threshold.replace("-", "_")}
    if costs is None:
        return given
    return {**given, "threshold": costs_of_classes(costs)}


def costs_of_classes(text: str, n_classes: int = 2) -> dict[str, float]:
    """Return what it costs to miss each class, by the text of its label."""
    pairs = [entry.rpartition("=") for entry in text.split(",")]
    with suppress(ValueError):
        costs = {name.strip(): float(cost) for name, _, cost in pairs}
        if len(costs) == n_classes and all(costs):
            return costs
    number = "two" if n_classes == 2 else n_classes
    what = f"give the costs of missing each of {number} classes, such as --costs no=1,yes=10."
    raise ValueError(f"--costs {text}: {what}")


def check_choice(
    option: str, value: str | None, allowed: Sequence[str | None]
) -> str | None:
    """Return a value if it is allowed, with - where it may have _ as in Python, or raise an error."""
    value = value and value.replace("_", "-")
    if value not in allowed:
        names = [choice for choice in allowed if choice is not None]
        raise ValueError(
            f"{option} must be {'one of ' if len(names) > 1 else ''}{', '.join(names)}, got {value!r}."
        )
    return value
