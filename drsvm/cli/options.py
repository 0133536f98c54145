"""Options that several commands share, and what their values mean.

A command declares its options as parameters. Functions that need many of them take all
values by name, ``context.params``.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from drsvm import WassersteinKernelSVC, WassersteinSVC
    from drsvm.tables import ReadOptions

COLUMN_ROLES = ("trust_column", "increasing", "decreasing")
WIDTHS = ("rule", "scale", "auto")
# Parameters of linear classifiers that do not go with a kernel, and why
FOR_WEIGHTS = {
    "norm": "a kernel measures shifts by their length in its feature space",
    "solver": "there is one solver for kernels",
    "cv": "it chooses between linear classifiers",
    "trust_column": "it takes the weight of a column out of the norm",
    "increasing": "it fixes the sign of a weight",
    "decreasing": "it fixes the sign of a weight",
}

Texts: TypeAlias = list[str] | None
# Parameters of an estimator or of `solve`
Settings: TypeAlias = dict[str, Any]
# Values of options by the names of their parameters
Given: TypeAlias = Mapping[str, Any]
# Arrays or lists by name
Columns: TypeAlias = dict[str, Any]

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
        help="Data: CSV, Parquet or svmlight, or a folder of files; - is standard "
        "input.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model saved by 'drsvm fit --model'.")
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
    str | None, reading(help="csv, parquet or svmlight. Default: detected.")
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
        help="Empty cells: fill (numbers with the median, text as a category of its "
        "own), drop (their rows) or error. Default: fill; for a saved model, as in its "
        "training."
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
    reading(help="The decimal sign, . or , (the other separates thousands)."),
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
TestFile = Annotated[
    Path | None, testing(help="A separate file to test on.", metavar="FILE")
]
SplitSeed = Annotated[int, testing(help="Random seed of the split and the solvers.")]

# The adversary and the classifier
Radius = Annotated[
    str | None,
    classifier(
        help="Average shift per row to be robust to, in units of the (standardised) "
        "features, or auto. Default: auto."
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
    classifier(help="Norm of the shifts: 1, 2, or inf, which gives sparse weights."),
]
Ridge = Annotated[
    str | None,
    classifier(help="Coefficient of a ridge term, or auto. Default: auto."),
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
        help="Weights of the classes: none (every row counts the same), balanced "
        "(every class does), or auto, half-way between them. Default: auto."
    ),
]
Threshold = Annotated[
    str | None,
    classifier(
        help="What the threshold between two classes is placed for: accuracy, "
        "balanced-accuracy, or optimum, where the problem itself has it, to which the "
        "proof refers. Default: accuracy."
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
        help="linear, or rbf for curved boundaries: exp(-gamma |x - z|^2), still with "
        "a proof."
    ),
]
AutomaticKernel = Annotated[
    str,
    classifier(
        help="linear; rbf for curved boundaries: exp(-gamma |x - z|^2), still with a "
        "proof; or auto: linear, unless rbf ranks unseen rows clearly better, which is "
        "tried on up to 20,000 rows."
    ),
]
Gamma = Annotated[
    str | None,
    classifier(
        help="Coefficient of --kernel rbf: a number, rule, scale or auto, as in the "
        "library. Default: rule."
    ),
]
Solver = Annotated[
    str, solving(help="Name of a solver; auto picks one.", metavar="TEXT")
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
    bool,
    output("--json", help="Print one JSON document and nothing else.", metavar=""),
]


def read_options(given: Given, **further: object) -> "ReadOptions":
    """Return the options of a command, and further ones, that are about reading."""
    from drsvm.tables import ReadOptions

    check_choice("--format", given.get("format"), ("csv", "parquet", "svmlight"))
    check_choice("--missing", given.get("missing"), ("fill", "drop", "error"))
    check_choice("--decimal", given.get("decimal"), (".", ","))
    values = {**given, **further}
    wanted = {}
    for field in fields(ReadOptions):
        value = values.get(field.name)
        if isinstance(value, list):
            value = tuple(value)
        if value is not None:
            wanted[field.name] = value
    return ReadOptions(**wanted)


def mentioned_columns(given: Given) -> tuple[tuple[str, str], ...]:
    """Return the columns that must be features, each after its role."""
    mentioned = []
    for role in COLUMN_ROLES:
        for column in given[role] or ():
            mentioned.append((role, column))
    return tuple(mentioned)


def classifier_settings(given: Given) -> Settings:
    """Return the parameters of a classifier under the library's names.

    Flip costs and costs of missing a class are by the text of a label.
    """
    check_choice("--norm", given["norm"], ("1", "2", "inf"))
    settings: Settings = {
        "norm": float(given["norm"]),
        "fit_intercept": given["intercept"],
        "solver": _solver(given["solver"]),
        "tol": given["tol"],
        "max_iter": given["max_iter"],
        "max_time": given["max_time"],
    }
    if given["flip_cost"]:
        settings["flip_cost"] = _flip_cost(given["flip_cost"])
    for name in ("radius", "l2"):
        if given[name] is not None:
            settings[name] = _number_or_auto(option_of(name), given[name])
    if given.get("intercept_cost") is not None:
        settings["intercept_cost"] = given["intercept_cost"]

    weight = given["class_weight"]
    check_choice("--class-weight", weight, ("auto", "balanced", "none"))
    if weight is not None:
        settings["class_weight"] = None if weight == "none" else weight

    goals = ("accuracy", "balanced-accuracy", "optimum")
    goal = check_choice("--threshold", given.get("threshold"), goals)
    costs = given.get("costs")
    if goal is not None and costs is not None:
        raise ValueError("use --threshold or --costs, not both.")
    if goal is not None:
        settings["threshold"] = goal.replace("-", "_")
    if costs is not None:
        settings["threshold"] = costs_of_classes(costs)
    return settings


def _solver(name: str) -> str | None:
    if name == "auto":
        return name
    # Not before: this imports all solvers.
    from drsvm.solvers import solver_names

    return check_choice("--solver", name, solver_names())


def _flip_cost(texts: Sequence[str]) -> float | dict[str, float]:
    """Return one flip cost, or one for each class by the text of its label."""
    try:
        if len(texts) == 1 and "=" not in texts[0]:
            return float(texts[0])
        costs = {}
        for text in texts:
            name, equals, cost = text.rpartition("=")
            if not equals:
                raise ValueError(text)
            costs[name] = float(cost)
        return costs
    except ValueError:
        shown = " ".join(f"--flip-cost {text}" for text in texts)
        raise ValueError(
            f"{shown}: give one number, or one for every class: "
            "--flip-cost yes=5 --flip-cost no=inf."
        ) from None


def _number_or_auto(option: str, text: str) -> float | str:
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise ValueError(f"{option} must be a number or auto, got {text!r}.") from None


def costs_of_classes(text: str, n_classes: int = 2) -> dict[str, float]:
    """Return what it costs to miss each class, by the text of its label."""
    costs = {}
    with suppress(ValueError):
        for entry in text.split(","):
            name, _, cost = entry.rpartition("=")
            costs[name.strip()] = float(cost)
        if len(costs) == n_classes and all(costs):
            return costs
    number = "two" if n_classes == 2 else n_classes
    raise ValueError(
        f"--costs {text}: give the costs of missing each of {number} classes, such as "
        "--costs no=1,yes=10."
    )


@dataclass(frozen=True)
class KernelChoice:
    """The kernel of a classifier, and its coefficient as it was typed."""

    kernel: str
    gamma: str | None

    def kind_and_settings(
        self, settings: Settings
    ) -> "tuple[type[WassersteinSVC | WassersteinKernelSVC], Settings]":
        """Return the class of the classifier, and those settings that it takes."""
        from drsvm import WassersteinKernelSVC, WassersteinSVC

        if self.kernel == "linear":
            return WassersteinSVC, settings
        taken = {"kernel": self.kernel, **settings, "gamma": _width(self.gamma)}
        for name in ("norm", "solver"):
            taken.pop(name, None)
        # The defaults of these are not None.
        for name in ("tol", "gamma"):
            if taken[name] is None:
                del taken[name]
        return WassersteinKernelSVC, taken


def kernel_choice(
    given: Given, allowed: tuple[str, ...] = ("linear", "rbf", "auto")
) -> tuple[KernelChoice, str | None]:
    """Return the kernel, and with ``auto`` an option that asks for a linear classifier.

    Raise an error if options do not go together.
    """
    kernel = given["kernel"]
    gamma = given["gamma"]
    check_choice("--kernel", kernel, allowed)
    defaults = {"norm": "2", "solver": "auto"}
    options = []
    for name in FOR_WEIGHTS:
        value = given.get(name)
        if value and value != defaults.get(name):
            options.append(name)
    # A radius is a shift of the features, not of their images in the feature space of
    # a kernel: whoever gives one wants a linear classifier.
    if not options and kernel == "auto" and given["radius"] not in (None, "auto"):
        options.append("radius")

    is_linear = kernel == "linear" or (kernel == "auto" and options)
    if gamma is not None and is_linear:
        raise ValueError("--gamma is the coefficient of a kernel: add --kernel rbf.")
    if kernel == "rbf" and options:
        option = option_of(options[0])
        reason = FOR_WEIGHTS[options[0]]
        raise ValueError(
            f"{option} does not go with --kernel {kernel}, because {reason}: omit it, "
            "or use --kernel linear."
        )
    _width(gamma)
    return KernelChoice(kernel, gamma), option_of(options[0]) if options else None


def _width(gamma: str | None) -> float | str | None:
    if gamma is None or gamma in WIDTHS:
        return gamma
    with suppress(ValueError):
        if 0.0 < float(gamma) < float("inf"):
            return float(gamma)
    raise ValueError(
        f"--gamma must be a number above 0, {', '.join(WIDTHS)}, got {gamma!r}."
    )


def option_of(parameter: str) -> str:
    """Return the option for a parameter."""
    return f"--{parameter.replace('_', '-')}"


def check_choice(option: str, value: str | None, allowed: Sequence[str]) -> str | None:
    """Return a value if it is allowed or None, with - where Python has _."""
    if value is None:
        return None
    value = value.replace("_", "-")
    if value not in allowed:
        several = "one of " if len(allowed) > 1 else ""
        raise ValueError(
            f"{option} must be {several}{', '.join(allowed)}, got {value!r}."
        )
    return value
