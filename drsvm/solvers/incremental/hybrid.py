"""Hybrid: subgradient steps on batches as long as they pay off, then exact proximal steps on single rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from drsvm.solvers.incremental.ippa import Ippa
from drsvm.solvers.incremental.phases import Memory, Opening, Phase, Proximal, Subgradient, Track
from drsvm.solvers.incremental.run import check_batch_size


@dataclass(frozen=True)
class Hybrid(Ippa):
    """Settings of the hybrid method; see `Ippa` and `drsvm.solvers.incremental.run.Incremental`.

    Attributes
    ----------
    batch_size : int, optional
        Rows per batch in the first phase; None: as for `Isg`.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Hybrid
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm=2)
    >>> result = solve(problem, Hybrid(batch_size=2))
    >>> result.solver, str(result.status)
    ('hybrid', 'optimal')
    """

    name = "hybrid"

    batch_size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch_size(self.batch_size)

    def phases(self, track: Track) -> Iterator[Phase]:
        """Yield subgradient steps while they pay off, then proximal steps, with memory if requested."""
        yield Opening(Subgradient(track, self.batch_size))
        # Plain steps are short from the first, because the subgradient steps are already close to the optimum.
        yield Memory(track) if self.steps == "auto" and self.memory else Proximal(track, first=0.01)
