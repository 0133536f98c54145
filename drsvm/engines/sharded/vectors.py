"""Vectors with one entry per row that stay in the parts: only how to compute them there crosses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drsvm.model.multipliers import ArrayMultipliers

HINGE, FLIP = 0, 1
"""Positions of α and β in pairs of multipliers."""


class Vector(ABC):
    """A vector whose entries are computed by the parts of the rows."""

    @abstractmethod
    def values(self, part) -> np.ndarray:
        """Return the entries for the rows of a part."""

    def kept(self) -> "list[Kept]":
        """Return the vectors in the memory of parts that this one is computed from."""
        return []


@dataclass(frozen=True)
class Multiple(Vector):
    """The weights of the rows, times a factor for each class."""

    positive: float
    negative: float

    def values(self, part) -> np.ndarray:
        return np.where(part.signs > 0, self.positive, self.negative) * part.weights


@dataclass(frozen=True)
class Kept(Vector):
    """Multipliers that a run has kept in a slot; `slot_in_use` is a slot that is free when nothing refers to it."""

    run: str
    slot: int
    which: int
    slot_in_use: Any = field(default=None, compare=False, repr=False)

    def values(self, part) -> np.ndarray:
        return part.runs[self.run].slots[self.slot][self.which]

    def kept(self) -> "list[Kept]":
        return [self]

    def __reduce__(self):
        return Kept, (self.run, self.slot, self.which)


@dataclass(frozen=True, eq=False)
class Clipped(Vector):
    """One of two vectors of multipliers, clipped to their bounds, with a factor for each side of the balance."""

    hinge: Vector | None
    flip: Vector | None
    ball: Any
    factors: tuple[float, float]
    which: int

    def values(self, part) -> np.ndarray:
        multipliers = ArrayMultipliers(part.problem(self.ball), part.values(self.hinge), part.values(self.flip))
        multipliers.shrink(*self.factors)
        return multipliers.vectors()[self.which]

    def kept(self) -> list[Kept]:
        return [kept for vector in (self.hinge, self.flip) if vector is not None for kept in vector.kept()]
