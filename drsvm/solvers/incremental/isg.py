"""ISG: projected subgradient steps on rows or batches of rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from drsvm.solvers.incremental.phases import Phase, Subgradient, Track
from drsvm.solvers.incremental.run import Incremental, check_batch_size


@dataclass(frozen=True)
class Isg(Incremental):
    """Settings of the incremental subgradient method.

    Those common to all incremental methods are in `drsvm.solvers.incremental.run.Incremental`.

    Attributes
    ----------
    batch_size : int, optional
        Rows per batch. 1: the classical method; more than there are rows: full subgradients; None: 32, or fewer if an
        epoch would have too few batches.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Isg
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1, norm=2)
    >>> result = solve(problem, Isg(batch_size=1))
    >>> result.solver, str(result.status)
    ('isg', 'optimal')
    """

    name = "isg"

    batch_size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch_size(self.batch_size)

    def phases(self, track: Track) -> Iterator[Phase]:
        yield Subgradient(track, self.batch_size)
