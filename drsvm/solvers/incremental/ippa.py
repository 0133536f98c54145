"""IPPA: exact proximal steps on single rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from drsvm.solvers.incremental.phases import Memory, Opening, Phase, Proximal, Track
from drsvm.solvers.incremental.run import Incremental


@dataclass(frozen=True)
class Ippa(Incremental):
    """Settings of the incremental proximal point algorithm.

    Those common to all incremental methods are in `drsvm.solvers.incremental.run.Incremental`.

    Attributes
    ----------
    memory : bool
        Whether, with steps="auto", the run continues with steps that keep the last pulls of all other rows once plain
        steps no longer pay off. The other schemes take plain steps throughout. So does memory=False, which also
        disables the hand-over.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Ippa
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm=2)
    >>> result = solve(problem, Ippa(order="cyclic"))
    >>> result.solver, str(result.status)
    ('ippa', 'optimal')
    """

    name = "ippa"

    memory: bool = True

    @property
    def is_pure(self) -> bool:
        """Whether the run must stay with the pure method."""
        return super().is_pure or not self.memory

    def phases(self, track: Track) -> Iterator[Phase]:
        """Yield plain steps and, if requested, steps with memory."""
        if self.steps == "auto" and self.memory:
            yield Opening(Proximal(track))
            yield Memory(track)
        yield Proximal(track)
