"""What the values of options mean for the library.

Functions that need many options take all of them by name, ``context.params``.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from drsvm.cli.options import option_of
from drsvm.tables import ReadOptions

if TYPE_CHECKING:
    # At run time, this would import scikit-learn.
    from drsvm import WassersteinKernelSVC, WassersteinSVC

# Values of options by the names of their parameters
OptionValues: TypeAlias = Mapping[str, Any]
# Parameters of an estimator or of `solve`
Settings: TypeAlias = dict[str, Any]

# Parameters of linear classifiers that do not go with a kernel, and why
FOR_WEIGHTS = {
    "norm": "a kernel measures shifts by their length in its feature space",
    "solver": "there is one solver for kernels",
    "cv": "it chooses between linear classifiers",
    "trust_column": "it takes the weight of a column out of the norm",
    "increasing": "it fixes the sign of a weight",
    "decreasing": "it fixes the sign of a weight",
}
# The values of these options if they are not given; of the others they are empty.
DEFAULTS = {"norm": "2", "solver": "auto"}


def read_options(given: OptionValues, **further: object) -> ReadOptions:
    """Return the options of a command, and further ones, that are about reading."""
    values = {**given, **further}
    wanted = {}
    for field in fields(ReadOptions):
        value = values.get(field.name)
        if isinstance(value, list):
            value = tuple(value)
        if value is not None:
            wanted[field.name] = value
    return ReadOptions(**wanted)


def mentioned_columns(given: OptionValues) -> tuple[tuple[str, str], ...]:
    """Return the columns that must be features, each after its role."""
    mentioned = []
    for role in ("trust_column", "increasing", "decreasing"):
        for column in given[role] or ():
            mentioned.append((role, column))
    return tuple(mentioned)


def classifier_settings(given: OptionValues) -> Settings:
    """Return the parameters of a classifier under the library's names.

    Flip costs and costs of missing a class are by the text of a label.
    """
    settings = {"norm": float(given["norm"]), "fit_intercept": given["intercept"]}
    for name in ("solver", "tol", "max_iter", "max_time"):
        settings[name] = given[name]
    # Without these options, the library's defaults hold.
    for name in ("radius", "row_radius", "l2", "intercept_cost", "class_weight"):
        if given.get(name) is not None:
            settings[name] = given[name]
    if given["class_weight"] == "none":
        settings["class_weight"] = None
    if given["flip_cost"]:
        settings["flip_cost"] = _flip_cost(given["flip_cost"])

    goal = given.get("threshold")
    costs = given.get("costs")
    if goal is not None and costs is not None:
        raise ValueError("use --threshold or --costs, not both.")
    if goal is not None:
        settings["threshold"] = goal.replace("-", "_")
    if costs is not None:
        settings["threshold"] = costs_of_classes(costs)
    return settings


def _flip_cost(texts: Sequence[str]) -> float | dict[str, float]:
    """Return one flip cost, or one for each class by the text of its label."""
    with suppress(ValueError):
        if len(texts) == 1 and "=" not in texts[0]:
            return float(texts[0])
        costs = _by_class(texts)
        # Every number has the name of its class.
        if all(costs):
            return costs
    shown = " ".join(f"--flip-cost {text}" for text in texts)
    raise ValueError(
        f"{shown}: give one number, or one for every class: --flip-cost yes=5 "
        "--flip-cost no=inf."
    )


def costs_of_classes(text: str, n_classes: int = 2) -> dict[str, float]:
    """Return what it costs to miss each class, by the text of its label."""
    with suppress(ValueError):
        costs = _by_class(text.split(","))
        if len(costs) == n_classes and all(costs):
            return costs
    number = "two" if n_classes == 2 else n_classes
    raise ValueError(
        f"--costs {text}: give the costs of missing each of {number} classes, such as "
        "--costs no=1,yes=10."
    )


def _by_class(entries: Sequence[str]) -> dict[str, float]:
    """Return numbers by class, from CLASS=NUMBER; without =, the name is empty."""
    numbers = {}
    for entry in entries:
        name, _, number = entry.rpartition("=")
        numbers[name.strip()] = float(number)
    return numbers


@dataclass(frozen=True)
class KernelChoice:
    """The kernel of a classifier.

    Attributes
    ----------
    kernel : {"linear", "rbf", "auto"}
    gamma : its coefficient, None for the default
    linear_option : a given option that only a linear classifier has, if there is one
    landmarks : "means", or "rows" of the training
    """

    kernel: str
    gamma: float | str | None
    linear_option: str | None = None
    landmarks: str = "rows"

    def kind_and_settings(
        self, settings: Settings
    ) -> "tuple[type[WassersteinSVC | WassersteinKernelSVC], Settings]":
        """Return the class of the classifier, and those settings that it takes."""
        from drsvm import WassersteinKernelSVC, WassersteinSVC

        if self.kernel == "linear":
            return WassersteinSVC, settings
        taken = {"kernel": self.kernel, **settings, "gamma": self.gamma}
        for name in ("norm", "solver"):
            taken.pop(name, None)
        # None stands for the default here, but is no value of these parameters.
        for name in ("tol", "gamma"):
            if taken[name] is None:
                del taken[name]
        if self.landmarks == "means":
            taken["landmarks"] = "means"
        return WassersteinKernelSVC, taken


def kernel_choice(given: OptionValues) -> KernelChoice:
    """Return the kernel, or raise an error if options do not go together."""
    kernel = given["kernel"]
    gamma = given["gamma"]
    # Given parameters that only a linear classifier has
    linear_only = []
    for name in FOR_WEIGHTS:
        if given.get(name) and given[name] != DEFAULTS.get(name):
            linear_only.append(name)
    if kernel == "rbf" and linear_only:
        reason = FOR_WEIGHTS[linear_only[0]]
        raise ValueError(
            f"{option_of(linear_only[0])} does not go with --kernel rbf, because "
            f"{reason}: omit it, or use --kernel linear."
        )
    # A radius is a shift of the features, not of their images in the feature space of
    # a kernel: whoever gives one wants a linear classifier.
    if kernel == "auto" and given["radius"] not in (None, "auto"):
        linear_only.append("radius")
    # The rules for kernels do not look at shifts of single rows.
    if kernel == "auto" and given.get("row_radius"):
        linear_only.append("row_radius")
    is_linear = kernel == "linear" or (kernel == "auto" and linear_only)
    if gamma is not None and is_linear:
        raise ValueError("--gamma is the coefficient of a kernel: add --kernel rbf.")
    option = option_of(linear_only[0]) if linear_only else None
    # What saves no classifier has no such option, and takes rows.
    landmarks = given.get("landmarks", "rows")
    return KernelChoice(kernel, gamma, option, landmarks)
