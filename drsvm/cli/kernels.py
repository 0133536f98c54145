"""Linear classifiers and those with a kernel, for the commands that offer both: the options and what they exclude."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from drsvm.cli.options import BallOptions, Settings, check_choice, classifier

if TYPE_CHECKING:
    from drsvm import WassersteinKernelSVC, WassersteinSVC

WIDTHS = ("rule", "scale", "auto")
FOR_WEIGHTS = {
    "--norm": "a kernel measures shifts by their length in its feature space",
    "--solver": "there is one solver for kernels",
    "--cv": "it chooses between linear classifiers",
    "--trust-column": "it takes the weight of a column out of the norm",
    "--increasing": "it fixes the sign of a weight",
    "--decreasing": "it fixes the sign of a weight",
}
"""Options that do not go with a kernel, and why."""


@dataclass(frozen=True)
class KernelOptions:
    """The kernel of a classifier."""

    kernel: str = classifier(
        "linear, or rbf for curved boundaries: exp(-gamma |x - z|^2), still with a proof.", "linear"
    )
    gamma: str | None = classifier(
        "Coefficient of --kernel rbf: a number, rule, scale or auto, as in the library. Default: rule."
    )

    allowed = ("linear", "rbf")

    def check(self, ball: BallOptions, further: Mapping[str, object] | None = None) -> None:
        """Raise an error if options do not go together; `further` are values of some of `FOR_WEIGHTS`."""
        check_choice("--kernel", self.kernel, self.allowed)
        if self.kernel == "linear":
            if self.gamma is not None:
                raise ValueError("--gamma is the coefficient of a kernel: add --kernel rbf.")
            return
        given = {"--norm": ball.norm != "2", "--solver": ball.solver != "auto", **(further or {})}
        for option in (name for name, value in given.items() if value):
            raise ValueError(
                f"{option} does not go with --kernel {self.kernel}, because {FOR_WEIGHTS[option]}: omit it, or use "
                "--kernel linear."
            )
        if self.gamma not in (None, *WIDTHS):
            self._number()

    def _number(self) -> float:
        try:
            number = float(self.gamma or "")
        except ValueError:
            number = 0.0
        if not 0.0 < number < float("inf"):
            raise ValueError(f"--gamma must be a number above 0, {', '.join(WIDTHS)}, got {self.gamma!r}.")
        return number

    def kind_and_settings(self, settings: Settings) -> "tuple[type[WassersteinSVC | WassersteinKernelSVC], Settings]":
        """Return the class of the classifier, and those of the settings of a linear one that it takes."""
        from drsvm import WassersteinKernelSVC, WassersteinSVC

        if self.kernel == "linear":
            return WassersteinSVC, settings
        kept = {name: value for name, value in settings.items() if name not in ("norm", "solver")}
        if kept.get("tol") is None:
            kept.pop("tol", None)
        if self.gamma is not None:
            kept["gamma"] = self.gamma if self.gamma in WIDTHS else self._number()
        return WassersteinKernelSVC, {"kernel": self.kernel, **kept}


@dataclass(frozen=True)
class KernelChoice(KernelOptions):
    """The kernel of a classifier, which may be chosen by test rows."""

    kernel: str = classifier(
        "linear; rbf for curved boundaries: exp(-gamma |x - z|^2), still with a proof; or auto: of these two, the "
        "one with the larger ROC AUC on the test rows.",
        "linear",
    )

    allowed = ("linear", "rbf", "auto")

    def each(self) -> list[KernelOptions]:
        """Return the kernels to compare."""
        return [KernelOptions(), replace(self, kernel="rbf")]
