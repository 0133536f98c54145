"""Vectors with one entry per row that stay in the shards: only how to compute them there crosses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from drsvm.model.multipliers import ArrayMultipliers

if TYPE_CHECKING:
    from drsvm.engines.sharded.shard import Ball, Shard

HINGE, FLIP = 0, 1
"""Positions of α and β in pairs of multipliers."""


class RemoteVector(ABC):
    """A vector whose entries are computed by the shards of the rows."""

    @abstractmethod
    def values(self, shard: "Shard") -> np.ndarray:
        """Return the entries for the rows of a shard."""

    def kept(self) -> "list[Kept]":
        """Return the vectors in the memory of shards that this one is computed from."""
        return []


@dataclass(frozen=True)
class Multiple(RemoteVector):
    """The weights of the rows, times a factor for each class."""

    positive: float
    negative: float

    def values(self, shard: "Shard") -> np.ndarray:
        return np.where(shard.signs > 0, self.positive, self.negative) * shard.weights


@dataclass(frozen=True)
class Kept(RemoteVector):
    """Multipliers that a run has kept in a slot; `slot_in_use` is a slot that is free when nothing refers to it."""

    run: str
    slot: int
    which: int
    slot_in_use: object = field(default=None, compare=False, repr=False)

    def values(self, shard: "Shard") -> np.ndarray:
        return shard.runs[self.run].slots[self.slot][self.which]

    def kept(self) -> "list[Kept]":
        return [self]

    def __reduce__(self):
        return Kept, (self.run, self.slot, self.which)


@dataclass(frozen=True, eq=False)
class Clipped(RemoteVector):
    """One of two vectors of multipliers, clipped to their bounds, with a factor for each side of the balance."""

    hinge: RemoteVector | None
    flip: RemoteVector | None
    ball: "Ball"
    factors: tuple[float, float]
    which: int

    def values(self, shard: "Shard") -> np.ndarray:
        multipliers = ArrayMultipliers(shard.problem(self.ball), shard.values(self.hinge), shard.values(self.flip))
        multipliers.shrink(*self.factors)
        return multipliers.vectors()[self.which]

    def kept(self) -> list[Kept]:
        return [kept for vector in (self.hinge, self.flip) if vector is not None for kept in vector.kept()]
