"""Options that several commands share.

A command declares its options as parameters of its function, with one of these
annotations each. `settings` has what their values mean for the library.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

Texts: TypeAlias = list[str] | None
# Arrays or lists by name
Columns: TypeAlias = dict[str, Any]


def option_of(parameter: str) -> str:
    """Return the option for a parameter."""
    return f"--{parameter.replace('_', '-')}"


def free_name(name: str, taken: Columns) -> str:
    """Return the name of a new column, with a prefix if the name is taken."""
    if name in taken:
        return f"drsvm_{name}"
    return name


def typed(option: str, value: str) -> str:
    """Return an option with its value, as a user types them."""
    return f"{option_of(option)} {value}"


def check_choice(option: str, value: str, allowed: Sequence[str]) -> str:
    """Return a value if it is allowed, with - where Python has _."""
    value = value.replace("_", "-")
    if value not in allowed:
        raise ValueError(
            f"{option} must be one of {', '.join(allowed)}, got {value!r}."
        )
    return value


# Callbacks: typer calls them with the value of an option, and passes on what they
# return. An error is reported before the command starts.


def one_of(*allowed: str) -> Callable[..., str | None]:
    """Return a callback that checks a choice."""

    def check(option: typer.CallbackParam, value: str | None) -> str | None:
        if value is None:
            return None
        return check_choice(option_of(str(option.name)), value, allowed)

    return check


def number_or_auto(
    option: typer.CallbackParam, value: str | None
) -> float | str | None:
    """Convert a number, unless it is to be found."""
    if value in (None, "auto"):
        return value
    try:
        return float(value)
    except ValueError:
        name = option_of(str(option.name))
        raise ValueError(f"{name} must be a number or auto, got {value!r}.") from None


def kernel_coefficient(value: str | None) -> float | str | None:
    """Convert the coefficient of a kernel, unless it is the name of a rule."""
    rules = ("rule", "scale", "auto")
    if value is None or value in rules:
        return value
    with suppress(ValueError):
        if 0.0 < float(value) < float("inf"):
            return float(value)
    raise ValueError(
        f"--gamma must be a number above 0, {', '.join(rules)}, got {value!r}."
    )


def name_of_solver(value: str) -> str:
    """Check the name of a solver."""
    if value == "auto":
        return value
    # Not before: this imports all solvers.
    from drsvm.solvers import solver_names

    return check_choice("--solver", value, solver_names())


# Constructors of options by their panels in the help. Options have the names of their
# parameters, unless others are given.
reading = partial(typer.Option, rich_help_panel="Reading the file", metavar="TEXT")
testing = partial(typer.Option, rich_help_panel="Testing", metavar="NUMBER")
classifier = partial(typer.Option, rich_help_panel="The classifier", metavar="TEXT")
known = partial(
    typer.Option, rich_help_panel="What is known about the data", metavar="COLUMN"
)
solving = partial(typer.Option, rich_help_panel="The solver", metavar="NUMBER")
output = partial(typer.Option, rich_help_panel="Output", metavar="OUT")

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Data: CSV, Parquet, svmlight, JSON lines or Excel, or a folder of files; "
        "- is standard input.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model saved by 'drsvm fit --model'.")
]

Trust = Annotated[
    Texts,
    reading(
        help="A type that a model saved with skops may contain; repeat for more. Types "
        "of scikit-learn need not be named."
    ),
]

# How to read a file
Label = Annotated[
    str | None,
    reading(
        help="Label column: name or index (0: first, -1: last). Default: the one "
        "called label, target, y or class, otherwise the last; for a saved model, the "
        "one it was trained with."
    ),
]
Format = Annotated[
    str | None,
    reading(
        callback=one_of("csv", "parquet", "svmlight", "json", "excel"),
        help="csv, parquet, svmlight, json or excel. Default: detected.",
    ),
]
Delimiter = Annotated[
    str | None,
    reading(help="Delimiter of CSV columns, such as ';' or tab. Default: detected."),
]
Header = Annotated[
    bool | None,
    reading(
        help="Whether a CSV file starts with column names. Default: detected.",
        metavar="",
    ),
]
Missing = Annotated[
    str | None,
    reading(
        callback=one_of("fill", "drop", "error"),
        help="Empty cells: fill (numbers with the median, text as a category of its "
        "own), drop (their rows) or error. Default: fill; for a saved model, as in its "
        "training.",
    ),
]
MissingValues = Annotated[
    Texts,
    reading(
        help="A text that counts as empty, besides ?, NA, NaN, null, None and blanks; "
        "repeat for more."
    ),
]
Features = Annotated[
    Texts,
    reading(
        help="Columns to use, by name or index: a,b,c, or repeat the option. Default: "
        "all that can be used."
    ),
]
Drop = Annotated[Texts, reading(help="Columns to ignore: a,b,c, or repeat the option.")]
Id = Annotated[
    Texts,
    reading(
        help="Columns that identify a row, not used as features. Default: detected."
    ),
]
Categorical = Annotated[
    Texts,
    reading(help="Columns to treat as categories, such as codes that are numbers."),
]
Numeric = Annotated[
    Texts,
    reading(help="Columns to treat as numbers; other cells in them count as empty."),
]
Decimal = Annotated[
    str | None,
    reading(
        callback=one_of(".", ","),
        help="The decimal sign, . or , (the other separates thousands).",
    ),
]
IndexBase = Annotated[
    int | None,
    reading(
        help="First index of an svmlight file, 0 or 1. Default: detected.",
        min=0,
        max=1,
        metavar="NUMBER",
    ),
]
MaxFeatures = Annotated[
    int,
    reading(
        help="Reject an svmlight file with more features than this.",
        min=1,
        metavar="NUMBER",
    ),
]
MAX_FEATURES = 5_000_000
Positive = Annotated[
    str | None,
    reading(
        help="The positive one of two classes. Default: the yes of yes and no, "
        "otherwise the larger, or the later in the alphabet. Of more than two, report "
        "takes the one to set against the others; fit takes none."
    ),
]

# What to hold out for testing
TestSize = Annotated[
    float | None,
    testing(
        help="Share (0.3) or number (200) of rows to hold out for testing; 0: none. "
        "fit holds out 0.25 by default, and saves a model of all rows."
    ),
]
TestLast = Annotated[
    float | None,
    testing(
        help="Hold out the last rows, not random ones: a share (0.25) or a number, in "
        "the order of --test-by or of the file."
    ),
]
TestBy = Annotated[
    str | None,
    testing(
        help="Hold out the last rows, in the order of this column of dates, months or "
        "numbers: 0.25 of them, or what --test-last says. Rows of one value stay "
        "together. The column is not a feature.",
        metavar="COLUMN",
    ),
]
TestFile = Annotated[
    Path | None, testing(help="A separate file to test on.", metavar="FILE")
]
SplitSeed = Annotated[int, testing(help="Random seed of the split and the solvers.")]

# The adversary and the classifier
Radius = Annotated[
    str | None,
    classifier(
        callback=number_or_auto,
        help="Average shift per row to be robust to, in units of the (standardised) "
        "features, or auto. Default: auto.",
    ),
]
RowRadius = Annotated[
    float | None,
    classifier(
        help="By how much every row may shift on its own, beyond the average shift, in "
        "the same units. Labels are then trusted. Default: 0.",
        metavar="NUMBER",
    ),
]
FlipCost = Annotated[
    Texts,
    classifier(
        help="Cost of flipping a label: up to radius / flip cost of the labels may be "
        "wrong; inf: trust them all. A number, or CLASS=NUMBER for every class. "
        "Default: inf."
    ),
]
Norm = Annotated[
    str,
    classifier(
        callback=one_of("1", "2", "inf"),
        help="Norm of the shifts: 1, 2, or inf, which gives sparse weights.",
    ),
]
Ridge = Annotated[
    str | None,
    classifier(
        callback=number_or_auto,
        help="Coefficient of a ridge term, or auto. Default: auto.",
    ),
]
Intercept = Annotated[bool, classifier(help="Whether to fit an intercept.", metavar="")]
Standardise = Annotated[
    bool,
    classifier(
        help="Clip numbers far from the others, scale to variance 1 (and mean 0, "
        "unless sparse).",
        metavar="",
    ),
]
ClassWeight = Annotated[
    str | None,
    classifier(
        callback=one_of("auto", "balanced", "none"),
        help="Weights of the classes: none (every row counts the same), balanced "
        "(every class does), or auto, half-way between them. Default: auto.",
    ),
]
Threshold = Annotated[
    str | None,
    classifier(
        callback=one_of("accuracy", "balanced-accuracy", "optimum"),
        help="What the threshold between two classes is placed for: accuracy, "
        "balanced-accuracy, or optimum, where the problem itself has it, to which the "
        "proof refers. Default: accuracy.",
    ),
]
Costs = Annotated[
    str | None,
    classifier(
        help="What it costs to miss each of two classes, such as no=1,yes=10: the "
        "threshold is placed where errors cost least. Replaces --threshold.",
        metavar="CLASS=COST,CLASS=COST",
    ),
]
Kernel = Annotated[
    str,
    classifier(
        callback=one_of("linear", "rbf"),
        help="linear, or rbf for curved boundaries: exp(-gamma |x - z|^2), still with "
        "a proof.",
    ),
]
AutomaticKernel = Annotated[
    str,
    classifier(
        callback=one_of("linear", "rbf", "auto"),
        help="linear; rbf for curved boundaries: exp(-gamma |x - z|^2), still with a "
        "proof; or auto: linear, unless rbf ranks unseen rows clearly better, which is "
        "tried on up to 200,000 rows.",
    ),
]
Gamma = Annotated[
    str | None,
    classifier(
        callback=kernel_coefficient,
        help="Coefficient of --kernel rbf: a number, rule, scale or auto, as in the "
        "library. Default: rule.",
    ),
]
Landmarks = Annotated[
    str,
    classifier(
        callback=one_of("means", "rows"),
        help="What a classifier with a kernel consists of: means of at least five "
        "similar rows and random points around them, or rows of the file, which "
        "whoever has the model can then read.",
    ),
]
Solver = Annotated[
    str,
    solving(
        callback=name_of_solver,
        help="Name of a solver; auto picks one.",
        metavar="TEXT",
    ),
]
Tol = Annotated[
    float | None, solving(help="Stop once the proven gap to the optimum is this small.")
]
MaxIter = Annotated[int | None, solving(help="Stop after this many iterations.")]
MaxTime = Annotated[
    float | None,
    solving(
        help="Stop after this many seconds in total, excluding reading files and "
        "compiling."
    ),
]

# What is known about labels, features and the intercept
TrustColumn = Annotated[
    Texts,
    known(
        help="A column that cannot shift, such as a year of birth; repeat for more.",
        metavar="TEXT",
    ),
]
Increasing = Annotated[
    Texts,
    known(
        help="A numeric column whose larger values may only favour the positive class.",
        metavar="TEXT",
    ),
]
Decreasing = Annotated[
    Texts,
    known(
        help="A numeric column whose larger values may only count against it.",
        metavar="TEXT",
    ),
]
InterceptCost = Annotated[
    float | None,
    known(
        help="Cost of the intercept; inf: it is not regularised. Default: the size of "
        "a typical feature.",
        metavar="NUMBER",
    ),
]

TableFile = Annotated[Path | None, output(help="Save all rows of the table as CSV.")]
PlotFile = Annotated[Path | None, output(help="Save a plot (.png, .svg, .pdf).")]
AsJson = Annotated[
    bool, output("--json", help="Print one JSON document and nothing else.", metavar="")
]
