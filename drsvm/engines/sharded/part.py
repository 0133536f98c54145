"""A part of the rows with its state, wherever it is: its replies to messages can be added.

A message first brings the state of runs up to date, and then has a query. Engines of the rows' state, saved states and
multipliers stay in the part. The number of changes made so far shows whether a part has the state that the coordinator
expects; a part that has lost it makes the changes again, from the beginning.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from drsvm.engines.cpu import CpuEngine
from drsvm.engines.sharded.vectors import Vector
from drsvm.engines.threads import single_threaded_blas
from drsvm.model.memory_rows import MemoryRows, RowView
from drsvm.model.norms import Norm
from drsvm.model.problem import Problem
from drsvm.model.reducers import Largest, Sums
from drsvm.parallel import threads_limited

BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError)
"""Exceptions of a numerical breakdown, which are a reply like any other."""


@dataclass(frozen=True, eq=False)
class View:
    """Which features there are, and how far they are shifted."""

    name: str = ""
    features: np.ndarray | None = None
    offset: np.ndarray | None = None

    def of(self, X) -> Any:
        """Return the rows as seen: dense ones are computed block by block in every pass, sparse ones are a copy."""
        if self.features is not None:
            chosen = self.features
            X = RowView(X, lambda rows: np.ascontiguousarray(rows[:, chosen])) if _is_dense(X) else X[:, chosen]
        if self.offset is not None:
            offset = self.offset
            X = RowView(X, lambda rows: rows - offset) if _is_dense(X) else MemoryRows(X).shifted(offset).X
        return X


def _is_dense(X) -> bool:
    return isinstance(X, np.ndarray | RowView)


class Ball(NamedTuple):
    """What a part must know of the parameters of a problem."""

    radius: float
    flip_cost: float | None  # None: every row has its own
    norm: Norm
    fit_intercept: bool
    view: View = View()


class Update(NamedTuple):
    """Changes of the state of a run: those after the first `first` ones; the log goes back to `base`."""

    run: str
    ball: Ball
    base: int
    first: int
    changes: tuple[tuple[str, tuple], ...]


class Message(NamedTuple):
    """Changes to make, and then a query; without one, the reply is that of the last change."""

    updates: tuple[Update, ...]
    ball: Ball
    query: Callable[..., Any] | None = None
    arguments: tuple = ()
    follow: Callable[..., tuple] | None = None

    def after(self, reply) -> "Message":
        """Return the message to the next part on the same machine, once one has replied."""
        return self if self.follow is None else self._replace(arguments=self.follow(self.arguments, reply))


def total_reply(parts: "Iterable[Part]", message: Message) -> Any:
    """Return the sum of the replies of parts on one machine; a message may tell each of them what others replied."""
    value = None
    for part in parts:
        reply = part.reply(message)
        value = reply if value is None else value + reply
        message = message.after(reply)
    return value


class StateLost(Exception):
    """The part does not have the state that a message builds on."""


class Part:
    """Some of the rows, in a form that has been checked; their weights sum to 1 over all parts only."""

    def __init__(self, number: int, X, signs, weights, flip_costs=None):
        self.number = number
        self.X, self.signs, self.weights, self.flip_costs = X, signs, weights, flip_costs
        self.runs: dict[str, PartRun] = {}
        self._views: dict[str, Any] = {"": X}
        self._lock = threading.Lock()  # a message that was given up may still be at work

    def reply(self, message: Message) -> Any:
        """Make the changes, and return the value of the query."""
        with self._lock, threads_limited(1), single_threaded_blas(), np.errstate(all="ignore"):
            for update in message.updates:
                self._catch_up(update)
            if message.query is not None:
                return message.query(self, self.problem(message.ball), *message.arguments)
            reply = self.runs[message.updates[-1].run].reply
        if isinstance(reply, Exception):
            raise reply
        return reply

    def problem(self, ball: Ball) -> Problem:
        """Return the problem on the rows of this part."""
        view, known = ball.view, self._views
        if view.name not in known:
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

    def values(self, vector: Vector | None) -> np.ndarray | None:
        """Return a vector with one entry per row; None means 0."""
        return None if vector is None else vector.values(self)

    def _catch_up(self, update: Update) -> None:
        run = self.runs.get(update.run)
        if run is None or run.done < update.first:
            if update.first > update.base:
                raise StateLost
            run = self.runs[update.run] = PartRun(self.problem(update.ball), update.base)
        run.make(update.changes[run.done - update.first :])


class PartRun:
    """The state of one run on the rows of a part. Changes and queries are its methods, or those of its engine."""

    def __init__(self, problem: Problem, done: int):
        self.problem, self.done = problem, done
        self.reply: Any = None  # to the last change: it may be asked for again
        self.slots: dict[int, Any] = {}
        self.forgotten: set[int] = set()  # slots of which an engine that cannot repeat its changes has lost the content
        self.engine: Any = None

    def make(self, changes) -> None:
        """Make changes."""
        for name, arguments in changes:
            try:
                self.reply = getattr(self, name)(*arguments)
            except BREAKDOWNS as error:
                self.reply = error
            self.done += 1

    def center(self, point, lam: float, mu: float) -> None:
        self.engine = self.engine or CpuEngine(self.problem, n_threads=1, may_be_wide=False)
        self.engine.center(point, lam, mu)

    def begin(self, engine) -> None:
        """Let the method of a solver keep the state of the rows: an engine of its own kind."""
        self.engine = engine(self.problem)

    def keep_multipliers(self, slot: int, *options) -> None:
        self.slots[slot] = self.engine.multipliers(*options)
        if getattr(self.engine, "lost", False):
            self.forgotten.add(slot)

    def keep_restored_multipliers(self, slot: int, direction, lam_change: float, step: float) -> None:
        self.slots[slot] = self.engine.restored(direction, lam_change, step)

    def drop(self, slot: int) -> None:
        del self.slots[slot]

    def end(self) -> None:
        self.engine = None

    def restoring_rate(self, direction, lam_change: float) -> Largest:
        return Largest(self.engine.restoring_rate(direction, lam_change))

    def __getattr__(self, name: str) -> Any:
        """Return a method of the engine, whose values can be added."""
        method = getattr(self.engine, name)
        return lambda *arguments: _summable(method(*arguments))


def _summable(found: Any) -> Sums | None:
    if found is None:
        return None
    flat = ((one if isinstance(one, tuple) else (one,)) for one in (found if isinstance(found, tuple) else (found,)))
    return Sums(chain.from_iterable(flat))
