"""A shard of the rows with its state: its replies to messages can be added.

A *run* is one solver's work on the rows; each shard has its part of the state of the
run (`ShardRun`). A message first has the changes that bring the state up to date, and
then a query, which changes nothing. Changes are numbered, so a shard knows which of
them it has made already, and whether some are missing: then it raises StateLost, and is
sent all changes. Vectors with an entry per row stay in the shards, in numbered slots.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.certificate.multipliers import ArrayMultipliers
from drsvm.engines.cpu import CpuEngine
from drsvm.problem.memory_rows import MemoryRows, RowView, chosen_columns
from drsvm.problem.norms import Norm
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Summable, Sums
from drsvm.utils.annotations import Matrix
from drsvm.utils.parallel import single_threaded_blas, threads_limited

# Numerical breakdowns, which are a reply like any other
BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError)
# Positions of α and β in pairs of multipliers
HINGE = 0
FLIP = 1


@dataclass(frozen=True, eq=False)
class View:
    """How a problem sees the rows: some of their features, minus an offset."""

    name: str = ""  # unique; that of the rows as they are is empty
    features: np.ndarray | None = None
    offset: np.ndarray | None = None

    def of(self, X: Matrix) -> Matrix:
        """Return the rows with these features.

        Dense rows are computed block by block in every pass; sparse ones are copied.
        """
        features = self.features
        offset = self.offset
        if sparse.issparse(X):
            if features is not None:
                X = chosen_columns(X, features)
            if offset is not None:
                X = MemoryRows(X).shifted(offset).X
            return X
        if features is not None:
            X = RowView(X, lambda rows: chosen_columns(rows, features))
        if offset is not None:
            X = RowView(X, lambda rows: rows - offset)
        return X


class ShardParameters(NamedTuple):
    """What a shard must know of the parameters of a problem."""

    radius: float
    flip_cost: float | None  # None if every row has its own
    norm: Norm
    fit_intercept: bool
    row_radius: float | None  # None if every row has its own
    view: View = View()


class Update(NamedTuple):
    """Some changes of the state of a run, numbered from `first` on.

    A shard that has not made all earlier ones can begin at `base` only: there, the
    state does not depend on earlier changes.
    """

    run: str
    parameters: ShardParameters
    base: int
    first: int
    # Each is the name of a method of `ShardRun`, or of its engine, and the arguments.
    changes: tuple[tuple[str, tuple], ...]


# Takes the shard, its problem and arguments, and returns a value that can be added to
# those of other shards.
Query = Callable[..., Summable]


class Message(NamedTuple):
    """Changes to make, and then a query.

    Without one, the reply is that of the last change.
    """

    updates: tuple[Update, ...]
    parameters: ShardParameters  # for the query
    query: Query | None = None
    arguments: tuple = ()
    # Takes the arguments and a reply, and returns the arguments for the next shard on
    # the same machine; None if they are the same for all
    next_arguments: Callable[..., tuple] | None = None


def total_reply(shards: "Iterable[Shard]", message: Message) -> Summable:
    """Return the sum of the replies of shards on one machine."""
    value = None
    for shard in shards:
        reply = shard.reply(message)
        value = reply if value is None else value + reply
        if message.next_arguments is not None:
            arguments = message.next_arguments(message.arguments, reply)
            message = message._replace(arguments=arguments)
    return value


class StateLost(Exception):
    """The shard does not have the state that a message builds on."""


class Shard:
    """Some of the rows, in a form that has been checked.

    Parameters
    ----------
    number : int
        The number of the shard.
    X : array or CSR matrix of shape (n, d)
        The rows.
    signs, weights : arrays of shape (n,)
        Labels ±1, and weights, which sum to 1 over all shards only.
    flip_costs, radii : arrays of shape (n,), optional
        Their flip costs and radii, if they are not the same for all rows.
    """

    def __init__(self, number: int, X, signs, weights, flip_costs=None, radii=None):
        self.number = number
        self.X = X
        self.signs = signs
        self.weights = weights
        self.flip_costs = flip_costs
        self.radii = radii
        self.runs: dict[str, ShardRun] = {}
        self._views: dict[str, Matrix] = {"": X}
        # A message may still be at work when the next one comes: that of a coordinator
        # which was interrupted, or thought that the worker was lost.
        self._lock = threading.Lock()

    def reply(self, message: Message) -> Summable:
        """Make the changes, and return the value of the query."""
        with (
            self._lock,
            threads_limited(1),
            single_threaded_blas(),
            np.errstate(all="ignore"),
        ):
            for update in message.updates:
                self._make(update)
            if message.query is not None:
                problem = self.problem(message.parameters)
                return message.query(self, problem, *message.arguments)
            reply = self.runs[message.updates[-1].run].reply
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _make(self, update: Update) -> None:
        """Make those changes of a run that have not been made yet."""
        run = self.runs.get(update.run)
        if run is None or run.done < update.first:
            # Changes are missing: only from the base on can it begin again.
            if update.first > update.base:
                raise StateLost
            run = ShardRun(self.problem(update.parameters), update.base)
            self.runs[update.run] = run
        # A message that comes twice must not make its changes twice.
        run.make(update.changes[run.done - update.first :])

    def problem(self, parameters: ShardParameters) -> Problem:
        """Return the problem with the rows of this shard."""
        view = parameters.view
        if view.name not in self._views:
            # Only the latest view is kept, beside the rows themselves.
            self._views = {"": self.X, view.name: view.of(self.X)}
        flip_cost = parameters.flip_cost
        if flip_cost is None:
            flip_cost = self.flip_costs
        row_radius = parameters.row_radius
        if row_radius is None:
            row_radius = self.radii
        return Problem.of_checked(
            rows=MemoryRows(self._views[view.name]),
            signs=self.signs,
            sample_weight=self.weights,
            classes=None,
            radius=parameters.radius,
            flip_cost=flip_cost,
            norm=parameters.norm,
            fit_intercept=parameters.fit_intercept,
            row_radius=row_radius,
        )

    def values(self, vector: "RemoteVector | None") -> np.ndarray | None:
        """Return a vector with one entry per row; None means 0."""
        return None if vector is None else vector.values(self)


class ShardRun:
    """The state of one run on the rows of a shard.

    The methods from `center` on, and those of the engine, are the changes of a log.
    """

    def __init__(self, problem: Problem, done: int):
        self.problem = problem
        self.done = done  # number of changes made, those before the log included
        self.reply: Summable = None  # to the last change: it may be asked for again
        # Saved multipliers α and β, by the number of the slot
        self.slots: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        # Slots of which an engine that cannot repeat its changes has lost the content
        self.forgotten: set[int] = set()
        self.engine: Any = None

    def make(self, changes) -> None:
        """Make changes, and keep the reply to the last one."""
        for name, arguments in changes:
            try:
                self.reply = self.call(name, *arguments)
            except BREAKDOWNS as error:
                self.reply = error
            self.done += 1

    def call(self, name: str, *arguments) -> Summable:
        """Return the value of a method of this class, or else of the engine."""
        if hasattr(ShardRun, name):
            return getattr(self, name)(*arguments)
        values = getattr(self.engine, name)(*arguments)
        if not isinstance(values, tuple):
            return values
        # A number and a named tuple of sums become one flat tuple that can be added.
        flat = []
        for value in values:
            if isinstance(value, tuple):
                flat.extend(value)
            else:
                flat.append(value)
        return Sums(flat)

    def center(self, point, lam: float, mu: float) -> None:
        """Begin an interior-point run, or put it on the central path again."""
        if self.engine is None:
            self.engine = CpuEngine(self.problem, n_threads=1, may_be_wide=False)
        self.engine.center(point, lam, mu)

    def begin(self, engine) -> None:
        """Let a solver's own kind of engine keep the state of the rows."""
        self.engine = engine(self.problem)

    def keep_multipliers(self, slot: int, *options) -> None:
        """Save the current multipliers α and β in a slot."""
        self.slots[slot] = self.engine.multipliers(*options)
        # An engine that cannot repeat its changes says if its state began again.
        if getattr(self.engine, "lost", False):
            self.forgotten.add(slot)

    def drop(self, slot: int) -> None:
        """Free a slot."""
        del self.slots[slot]

    def end(self) -> None:
        """Free the state of the samples; the slots stay."""
        self.engine = None


# --- vectors with one entry per row


class RemoteVector(ABC):
    """A vector whose entries are computed by the shards of the rows.

    It stands for the vector in the coordinator's process; what is sent to the shards
    is how to compute it.
    """

    @abstractmethod
    def values(self, shard: Shard) -> np.ndarray:
        """Return the entries for the rows of a shard."""

    def kept(self) -> "list[Kept]":
        """Return the vectors in the memory of shards that this one is computed from."""
        return []


@dataclass(frozen=True)
class Multiple(RemoteVector):
    """The weights of the rows, times a factor for each class."""

    positive: float
    negative: float

    def values(self, shard):
        factors = np.where(shard.signs > 0, self.positive, self.negative)
        return factors * shard.weights


@dataclass(frozen=True)
class Kept(RemoteVector):
    """Multipliers that a run has kept in a slot.

    `slot_in_use` is an object that exists as long as the slot is in use; it stays with
    the coordinator.
    """

    run: str  # its name
    slot: int
    which: int  # HINGE for α, FLIP for β
    slot_in_use: object = field(default=None, compare=False, repr=False)

    def values(self, shard):
        return shard.runs[self.run].slots[self.slot][self.which]

    def kept(self):
        return [self]

    def __reduce__(self):
        # Without the object that keeps the slot in use: a copy does not.
        return Kept, (self.run, self.slot, self.which)


@dataclass(frozen=True, eq=False)
class Clipped(RemoteVector):
    """One of two vectors of multipliers, after their repair.

    They are clipped to their bounds, and multiplied by a factor for each of the two
    sides that an intercept balances.
    """

    hinge: RemoteVector | None
    flip: RemoteVector | None
    parameters: ShardParameters
    factors: tuple[float, float]
    which: int

    def values(self, shard):
        problem = shard.problem(self.parameters)
        multipliers = ArrayMultipliers(
            problem, shard.values(self.hinge), shard.values(self.flip)
        )
        multipliers.shrink(*self.factors)
        return multipliers.vectors()[self.which]

    def kept(self):
        return kept_vectors([self.hinge, self.flip])


def kept_vectors(vectors: Iterable[RemoteVector | None]) -> list[Kept]:
    """Return the vectors in the memory of shards that others are computed from."""
    found = []
    for vector in vectors:
        if vector is not None:
            found += vector.kept()
    return found
