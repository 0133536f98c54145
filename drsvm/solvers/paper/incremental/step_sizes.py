"""Step sizes of the incremental methods.

Epoch k = 1, 2, … uses one step size η_k for all its steps. The schemes of convergence
theory (section 4 of the paper) are

    "geometric"   η_k = η₁ ρ^(k−1)      for sharp problems: linear convergence
    "harmonic"    η_k = η₁ / k          for quadratic growth; γ/(nk) with γ = n η₁
    "root"        η_k = η₁ / √k         in general; γ/(n√k) with γ = n η₁

and "auto" runs through cycles of geometric decay, each slower than the previous one;
for batches, steps decay when an epoch does not lower the objective. If no first step is
given, η₁ is a multiple of the natural step, the inverse mean square of the
subgradients, so that the unit of the features does not matter.

A problem is sharp if its objective grows at least in proportion to the distance from
the set of optima, and has quadratic growth if it grows at least like its square.
"""

import math
from dataclasses import dataclass

SCHEMES = ("auto", "geometric", "harmonic", "root")
# Epochs in the first cycle of "auto", and ratio of the lengths of consecutive cycles
SHORTEST = 40
CYCLES = 3
SPAN = 1e-3  # ratio of the last to the first step of a cycle
# Ratio of consecutive objectives below which steps on batches become longer
QUICKLY = 0.98
# Limits of step sizes, in natural steps: beyond them there is only rounding error
LARGEST = 1e6
SMALLEST = 1e-14


@dataclass(frozen=True)
class Schedule:
    """A step size for every epoch, fixed in advance."""

    scheme: str
    first: float
    decay: float

    def step(self, epoch: int) -> float:
        """Return η of an epoch, counted from 1."""
        if self.scheme == "geometric":
            return max(self.first * self.decay ** (epoch - 1), 1e-300)
        if self.scheme == "harmonic":
            return self.first / epoch
        return self.first / math.sqrt(epoch)


@dataclass(frozen=True)
class Cycles:
    """Cycles of step sizes that decrease by a factor of 1000.

    Every cycle starts from the top again and has three times as many epochs as the one
    before. Easy problems are solved in the first cycle; hard ones in the last, slow
    one, which has about two thirds of all epochs.
    """

    first: float
    epochs: int
    # The first step of all cycles except the first, which has the longest way to go
    usual: float

    def step(self, epoch: int) -> float:
        start = 0
        length = SHORTEST
        # Cycles grow geometrically, so this takes about log₃(epochs) passes.
        while epoch > start + length and self.epochs - start >= (1 + CYCLES) * length:
            start += length
            length *= CYCLES
        left = self.epochs - start
        if left < (1 + CYCLES) * length:  # no room for a longer cycle after this one
            length = max(left, 1)
        position = (epoch - 1 - start) % length
        top = self.first if epoch == position + 1 else self.usual
        return top * SPAN ** (position / length)


@dataclass(frozen=True)
class StepSizes:
    """The settings of step sizes.

    They are the scheme, η₁ (None: from the data) and the ratio ρ of "geometric".
    """

    scheme: str
    first: float | None
    decay: float

    def schedule(
        self, usual: float, natural: float, max_epochs: int
    ) -> Schedule | Cycles:
        """Return the step sizes of all epochs; by default the first is `usual`."""
        first = usual if self.first is None else self.first
        first = sensible(first, natural)  # the user's number may be of any size
        if self.scheme == "auto":
            return Cycles(first, max_epochs, first)
        return Schedule(self.scheme, first, self.decay)


@dataclass
class Descent:
    """Step sizes that depend on the objective after each epoch.

    They increase while it falls quickly or hardly changes, and decrease when it rises:
    batches leave noise proportional to the step size. Very short steps are followed by
    long ones, which decrease more slowly.
    """

    first: float
    slack: float  # a change of the objective that does not matter
    lowest: float  # objective so far
    ratio: float  # of steps that decrease; 1: they never do

    def __post_init__(self) -> None:
        self.now = self.first  # the current step size

    def step(self, epoch: int) -> float:
        return self.now

    def judge(self, objective: float) -> None:
        """Take note of the objective after an epoch."""
        change = objective - self.lowest
        # It rises: shorter steps or, after very short ones, long ones again
        if change > self.slack or not math.isfinite(change):
            self.now *= self.ratio
            if self.now < SPAN * self.first:
                self.now = self.first
                self.ratio = self.ratio ** (1.0 / CYCLES)
        elif change > -self.slack or objective < QUICKLY * self.lowest:
            self.now *= 2.0
            self.first = max(self.first, self.now)
        self.lowest = min(self.lowest, objective)


def sensible(step: float, natural: float) -> float:
    """Return the step size, clipped to the range that arithmetic can handle."""
    return min(max(step, SMALLEST * natural), LARGEST * natural)
