"""A shard of the rows with its state, wherever it is: its replies to messages can be added.

A message first brings the state of runs up to date, and then has a query. Engines of
the rows' state, saved states and multipliers stay in the shard. The number of changes
made so far shows whether it has the state that the coordinator expects; a shard that
has lost it makes the changes again, from the beginning.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
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

# Numerical ones, which are a reply like any other
BREAKDOWNS = (
    ArithmeticError,
    np.linalg.LinAlgError,
)


@dataclass(frozen=True, eq=False)
class View:
    """Which features there are, and how far they are shifted."""

    name: str = ""
    features: np.ndarray | None = None
    offset: np.ndarray | None = None

    def of(self, X: Matrix) -> Matrix:
        """Return the rows as seen: dense ones are computed block by block in every pass, sparse ones are a copy."""
        features = self.features
        offset = self.offset
        if sparse.issparse(X):
            X = X if features is None else chosen_columns(X, features)
            if offset is None:
                return X
            return MemoryRows(X).shifted(offset).X
        if features is None:
            X = X
        else:
            X = RowView(X, lambda rows: chosen_columns(rows, features))
        if offset is None:
            return X
        return RowView(X, lambda rows: rows - offset)


class ShardParameters(NamedTuple):
    """What a shard must know of the parameters of a problem."""

    radius: float
    flip_cost: float | None  # None: every row has its own
    norm: Norm
    fit_intercept: bool
    view: View = View()


class Update(NamedTuple):
    """Changes of the state of a run: those after the first `first` ones.

    The log goes back to `base`.
    """

    run: str
    ball: ShardParameters
    base: int
    first: int
    changes: tuple[tuple[str, tuple], ...]


# Takes the shard, its problem and arguments, and returns a value that can be added to
# those of other shards.
Query = Callable[..., Summable]


class Message(NamedTuple):
    """Changes to make, and then a query.

    Without one, the reply is that of the last change.
    """

    updates: tuple[Update, ...]
    ball: ShardParameters
    query: Query | None = None
    arguments: tuple = ()
    # Arguments for the next shard on the same machine, after a reply
    follow: Callable[..., tuple] | None = None


def total_reply(shards: "Iterable[Shard]", message: Message) -> Summable:
    """Return the sum of the replies of shards on one machine.

    A message may tell each of them what others replied.
    """
    value = None
    for shard in shards:
        reply = shard.reply(message)
        value = reply if value is None else value + reply
        if message.follow is not None:
            message = message._replace(
                arguments=message.follow(message.arguments, reply)
            )
    return value


class StateLost(Exception):
    """The shard does not have the state that a message builds on."""


class Shard:
    """Some of the rows, in a form that has been checked.

    Their weights sum to 1 over all shards only.
    """

    def __init__(self, number: int, X, signs, weights, flip_costs=None):
        self.number = number
        self.X = X
        self.signs = signs
        self.weights = weights
        self.flip_costs = flip_costs
        self.runs: dict[str, ShardRun] = {}
        self._views: dict[str, Matrix] = {"": X}
        # A message that was given up may still be at work
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
                run = self.runs.get(update.run)
                if run is None or run.done < update.first:
                    if update.first > update.base:
                        raise StateLost
                    run = self.runs[update.run] = ShardRun(
                        self.problem(update.ball), update.base
                    )
                run.make(update.changes[run.done - update.first :])
            if message.query is not None:
                return message.query(
                    self, self.problem(message.ball), *message.arguments
                )
            reply = self.runs[message.updates[-1].run].reply
        if isinstance(reply, Exception):
            raise reply
        return reply

    def problem(self, ball: ShardParameters) -> Problem:
        view = ball.view
        if view.name not in self._views:
            self._views = {"": self.X, view.name: view.of(self.X)}
        return Problem.of_checked(
            rows=MemoryRows(self._views[view.name]),
            signs=self.signs,
            sample_weight=self.weights,
            classes=None,
            radius=ball.radius,
            flip_cost=self.flip_costs if ball.flip_cost is None else ball.flip_cost,
            norm=ball.norm,
            fit_intercept=ball.fit_intercept,
        )

    def values(self, vector: "RemoteVector | None") -> np.ndarray | None:
        """Return a vector with one entry per row; None means 0."""
        return None if vector is None else vector.values(self)


class ShardRun:
    """The state of one run on the rows of a shard.

    Changes and queries are its methods, or those of its engine.
    """

    def __init__(self, problem: Problem, done: int):
        self.problem = problem
        self.done = done
        self.reply: Summable = None  # to the last change: it may be asked for again
        self.slots: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        # Slots of which an engine that cannot repeat its changes has lost the content
        self.forgotten: set[int] = set()
        self.engine: Any = None

    def make(self, changes) -> None:
        for name, arguments in changes:
            try:
                self.reply = getattr(self, name)(*arguments)
            except BREAKDOWNS as error:
                self.reply = error
            self.done += 1

    def center(self, point, lam: float, mu: float) -> None:
        self.engine = self.engine or CpuEngine(
            self.problem, n_threads=1, may_be_wide=False
        )
        self.engine.center(point, lam, mu)

    def begin(self, engine) -> None:
        """Let the method of a solver keep the state of the rows: an engine of its own kind."""
        self.engine = engine(self.problem)

    def keep_multipliers(self, slot: int, *options) -> None:
        self.slots[slot] = self.engine.multipliers(*options)
        if getattr(self.engine, "lost", False):
            self.forgotten.add(slot)

    def drop(self, slot: int) -> None:
        del self.slots[slot]

    def end(self) -> None:
        self.engine = None

    def __getattr__(self, name: str) -> Any:
        """Return a method of the engine, whose values can be added."""
        method = getattr(self.engine, name)

        def summable(*arguments) -> Sums | None:
            """Return the value, or the values, one of which may be a tuple itself, as one flat tuple."""
            values = method(*arguments)
            if values is None:
                return None
            nested = values if isinstance(values, tuple) else (values,)
            return Sums(
                chain.from_iterable(
                    value if isinstance(value, tuple) else (value,) for value in nested
                )
            )

        return summable


# --- vectors with one entry per row stay in the shards: only how to compute them there
# crosses ----------------------

# positions of α and β in pairs of multipliers
HINGE = 0
FLIP = 1


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
    """Multipliers that a run has kept in a slot.

    `slot_in_use` is a slot that is free when nothing refers to it.
    """

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
    ball: ShardParameters
    factors: tuple[float, float]
    which: int

    def values(self, shard: "Shard") -> np.ndarray:
        multipliers = ArrayMultipliers(
            shard.problem(self.ball), shard.values(self.hinge), shard.values(self.flip)
        )
        multipliers.shrink(*self.factors)
        return multipliers.vectors()[self.which]

    def kept(self) -> list[Kept]:
        return [
            kept
            for vector in (self.hinge, self.flip)
            if vector is not None
            for kept in vector.kept()
        ]
