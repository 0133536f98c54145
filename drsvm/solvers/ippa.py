"""IPPA: exact proximal steps on single rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from drsvm.solvers.incremental import Incremental
from drsvm.solvers.phases import Memory, Opening, Phase, Proximal, Track


@dataclass(frozen=True)
class Ippa(Incremental):
    """Settings of the incremental proximal point algorithm; see `Incremental` for those that all methods share.

    Attributes
    ----------
    memory : bool
        Whether, with steps="auto", the run goes on with steps that keep the last pulls of all other rows once plain
        steps no longer pay. The other schemes take plain steps throughout, and so does memory=False; then nobody takes
        over either.
    """

    name = "ippa"

    memory: bool = True

    @property
    def is_pure(self) -> bool:
        """Whether the method must remain what its name says."""
        return super().is_pure or not self.memory

    def phases(self, track: Track) -> Iterator[Phase]:
        """Yield plain steps, and steps with memory where these are wanted."""
        if self.steps == "auto" and self.memory:
            yield Opening(Proximal(track))
            yield Memory(track)
        yield Proximal(track)
