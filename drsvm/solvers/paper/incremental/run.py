"""The incremental methods: their settings, and runs that consist of phases.

    minimise over ‖w‖_q ≤ λ    (1/n) Σ_i f_i(w, b, λ),
    f_i = nπ_i max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²

An iteration is an epoch, one pass over the rows. Every method is a sequence of phases
(`phases.py`): `Isg` takes subgradient steps, `Ippa` exact proximal steps, and `Hybrid`
first the former and then the latter. Columns of very different scales slow down all
of them. If epochs do not pay off, the interior-point solver takes over.

The methods are those of the paper (Li, Chen and So, NeurIPS 2020, sections 2 and 3);
steps with memory, steps on batches for `Ippa`, the intercept and certificates are not
in it.
"""

import math
import numbers
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State, check_count
from drsvm.solvers.fallback import Patience, can_take_over
from drsvm.solvers.paper.incremental.epochs import ORDERS
from drsvm.solvers.paper.incremental.phases import (
    Batches,
    FirstEpochs,
    Memory,
    Phase,
    Proximal,
    Subgradient,
    Workspace,
)
from drsvm.solvers.paper.incremental.step_sizes import SCHEMES, StepSizes
from drsvm.solvers.reformulation.costs_as_columns import AS_COLUMNS

ADVICE = (
    "epochs hardly reduce the gap: scale the features to similar ranges, or use "
    "solver='auto'"
)
# First plain step after subgradient steps, in natural ones: they are already close to
# the optimum.
FIRST_AFTER_SUBGRADIENT = 0.01
# Number of epochs after which it is first judged whether they pay off
FIRST_LOOK = 64


def _is_number(value) -> bool:
    """Return whether a value is a real number, which True and False are not here."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class Incremental(Solver):
    """Settings common to all incremental methods.

    Parameters
    ----------
    steps : {"auto", "geometric", "harmonic", "root"}
        Step-size scheme; "auto" needs no tuning, the others are the theoretical
        schemes.
    first_step : float, optional
        Step size of the first epoch; None: computed from the data.
    decay : float
        Ratio of the step sizes of consecutive epochs, for "geometric".
    order : {"shuffled", "cyclic", "with-replacement"}
        Order of the rows in an epoch.
    polish_dual : bool
        Whether to improve the multipliers by an epoch of steps with memory for every
        certificate. This does not change the classifier, but averages of plain
        multipliers prove much less.
    hand_over : bool
        Whether, with steps="auto", the interior-point solver takes over if progress is
        slow and its matrices are of moderate size. With tol=0 there is nothing to
        reach, and the epochs continue.

    References
    ----------
    .. [1] J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental
       Algorithms for Wasserstein Distributionally Robust Support Vector Machine,
       NeurIPS 2020 (section 4 for the theoretical schemes).

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1)
    >>> result = solve(problem, "ippa", steps="geometric", decay=0.9, order="cyclic")
    >>> result.solver, str(result.status)
    ('ippa', 'optimal')
    """

    default_tol = 1e-4
    default_max_iter = 500
    capabilities = AS_COLUMNS

    steps: str = "auto"
    first_step: float | None = None
    decay: float = 0.97
    order: str = "shuffled"
    polish_dual: bool = True
    hand_over: bool = True

    def __post_init__(self) -> None:
        if self.steps not in SCHEMES:
            raise ValueError(
                f"steps must be one of {', '.join(SCHEMES)}, got steps={self.steps!r}."
            )
        if self.first_step is not None and not (
            _is_number(self.first_step) and 0 < self.first_step < math.inf
        ):
            raise ValueError(
                "first_step must be a positive number or None, got "
                f"first_step={self.first_step!r}."
            )
        if not (_is_number(self.decay) and 0 < self.decay <= 1):
            raise ValueError(
                f"decay must be a number in (0, 1], got decay={self.decay!r}."
            )
        if self.order not in ORDERS:
            raise ValueError(
                f"order must be one of {', '.join(ORDERS)}, got order={self.order!r}."
            )
        for name in ("batch_size", "proximal_batch_size"):
            if getattr(self, name, None) is not None:
                check_count(getattr(self, name), name, "an integer ≥ 1 or None")

    def unsupported_reason(self, problem: Problem) -> str | None:
        if problem.norm.geometry is None:
            return (
                f"solver {self.name!r} has no proximal step for "
                f"norm={problem.norm}: use solver='interior-point'."
            )
        return super().unsupported_reason(problem)

    def start(self, problem: Problem, limits: Limits) -> State:
        run = IncrementalState(problem, self, limits)
        may_hand_over = limits.tol > 0.0 and not self.is_pure
        run.has_fallback = may_hand_over and can_take_over(problem)
        return run

    @property
    def is_pure(self) -> bool:
        """Whether the run must stay with the pure method."""
        return not self.hand_over or self.steps != "auto"

    @abstractmethod
    def phases(self, shared: Workspace) -> Iterator[Phase]:
        """Yield the phases of a run; the last one never ends."""


@dataclass(frozen=True)
class Isg(Incremental):
    """Settings of ISG: projected subgradient steps on rows or batches of rows.

    Those common to all incremental methods are in
    `drsvm.solvers.paper.incremental.run.Incremental`.

    Parameters
    ----------
    batch_size : int, optional
        Rows per batch. 1: the classical method; more than there are rows: full
        subgradients; None: 32, or fewer if an epoch would have too few batches.

    References
    ----------
    .. [1] J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental
       Algorithms for Wasserstein Distributionally Robust Support Vector Machine,
       NeurIPS 2020: equation 5.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Isg
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1)
    >>> result = solve(problem, Isg(batch_size=1))
    >>> result.solver, str(result.status)
    ('isg', 'optimal')
    """

    name = "isg"

    batch_size: int | None = None

    def phases(self, shared: Workspace) -> Iterator[Phase]:
        yield Subgradient(shared, self.batch_size)


@dataclass(frozen=True)
class Ippa(Incremental):
    """Settings of IPPA: proximal steps on single rows or on batches of them.

    Those common to all incremental methods are in
    `drsvm.solvers.paper.incremental.run.Incremental`.

    Parameters
    ----------
    memory : bool
        Whether, with steps="auto", the run continues with steps that keep the last
        contributions of all other rows once plain steps no longer pay off. The other
        schemes take plain steps throughout. So does memory=False; the interior-point
        solver then does not take over.
    batch_size : int, optional
        Rows per batch, on whose mean each step is taken; 1: single rows. Larger batches
        have no memory; with steps="auto" they follow a few epochs on single rows. None,
        or more than there are rows: all rows, the proximal point method.

    References
    ----------
    .. [1] J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental
       Algorithms for Wasserstein Distributionally Robust Support Vector Machine,
       NeurIPS 2020: equation 6, and section 3 for a step on one row.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Ippa
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1)
    >>> result = solve(problem, Ippa(order="cyclic"))
    >>> result.solver, str(result.status)
    ('ippa', 'optimal')
    """

    name = "ippa"

    memory: bool = True
    batch_size: int | None = 1

    @property
    def is_pure(self) -> bool:
        return super().is_pure or not self.memory

    def phases(self, shared: Workspace) -> Iterator[Phase]:
        if self.batch_size != 1:
            if self.steps == "auto":
                yield FirstEpochs(Proximal(shared))
            yield Batches(shared, self.batch_size)
        elif self.steps == "auto" and self.memory:
            yield FirstEpochs(Proximal(shared))
            yield Memory(shared)
        else:
            yield Proximal(shared)


@dataclass(frozen=True)
class Hybrid(Ippa):
    """Settings of the hybrid method: first ISG, then IPPA.

    See `Ippa` and `drsvm.solvers.paper.incremental.run.Incremental`.

    Parameters
    ----------
    batch_size : int, optional
        Rows per batch in the first phase; None: as for `Isg`.
    proximal_batch_size : int, optional
        Rows per batch in the second phase, as `batch_size` of `Ippa`.

    References
    ----------
    .. [1] J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental
       Algorithms for Wasserstein Distributionally Robust Support Vector Machine,
       NeurIPS 2020: section 5.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Hybrid
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1)
    >>> result = solve(problem, Hybrid(batch_size=2))
    >>> result.solver, str(result.status)
    ('hybrid', 'optimal')
    """

    name = "hybrid"

    batch_size: int | None = None
    proximal_batch_size: int | None = 1

    def phases(self, shared: Workspace) -> Iterator[Phase]:
        yield FirstEpochs(Subgradient(shared, self.batch_size))
        if self.proximal_batch_size != 1:
            yield Batches(shared, self.proximal_batch_size)
        elif self.steps == "auto" and self.memory:
            yield Memory(shared)
        else:
            yield Proximal(shared, first=FIRST_AFTER_SUBGRADIENT)


class IncrementalState(State):
    """One run: the phases in turn, and whether they still pay off."""

    def __init__(self, problem: Problem, settings: Incremental, limits: Limits):
        self.problem = problem
        self.limits = limits
        step_sizes = StepSizes(settings.steps, settings.first_step, settings.decay)
        self.shared = Workspace(
            problem, limits, settings.order, step_sizes, settings.polish_dual
        )
        self.epoch = 0
        self.next_certificate = 1
        self.seen = Counter[str]()  # number of epochs by the name of their phase
        self.patience = Patience(first_look=FIRST_LOOK, limits=limits)
        self._phases = settings.phases(self.shared)
        self.phase = next(self._phases)

    def step(self) -> None:
        self.epoch += 1
        if self.phase.finished:
            self.phase = next(self._phases)
        self.seen[self.phase.name] += 1
        self.phase.epoch()

    def candidate(self) -> Candidate:
        # After every epoch at first, then less often
        self.next_certificate = self.epoch + max(1, self.epoch // 10)
        hinge, flip = self.phase.multipliers()
        weights = self.problem.sample_weight
        return self.shared.classifier(
            self.phase.point(), weights * hinge, weights * flip
        )

    def certificate_due(self) -> bool:
        return self.limits.watched or self.epoch >= self.next_certificate

    def on_certificate(self, gap: float) -> None:
        self.gives_up = self.patience.ends(self.epoch, gap)

    def info(self) -> dict:
        info: dict = {"epochs": dict(self.seen)}
        if self.gives_up and self.limits.tol > 0.0:
            info["advice"] = ADVICE
        return info
