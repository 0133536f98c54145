"""Hybrid: subgradient steps on batches as long as they pay, then exact proximal steps on single rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from drsvm.solvers.incremental import check_batch_size
from drsvm.solvers.ippa import Ippa
from drsvm.solvers.phases import Memory, Opening, Phase, Proximal, Subgradient, Track

FIRST_PROXIMAL = 0.01
"""First plain proximal step, in natural steps: the subgradient steps have come near already."""


@dataclass(frozen=True)
class Hybrid(Ippa):
    """Settings of the hybrid method; see `Ippa` and `Incremental`.

    Attributes
    ----------
    batch_size : int, optional
        Rows in a batch of the first phase; None: as for `Isg`.
    """

    name = "hybrid"

    batch_size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch_size(self.batch_size)

    def phases(self, track: Track) -> Iterator[Phase]:
        """Yield subgradient steps while they pay, then proximal steps, with memory where it is wanted."""
        yield Opening(Subgradient(track, self.batch_size))
        yield Memory(track) if self.steps == "auto" and self.memory else Proximal(track, FIRST_PROXIMAL)
