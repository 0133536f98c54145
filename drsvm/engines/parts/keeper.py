"""The asker's side of rows in parts: who passes messages on to all parts, and the log of a run."""

import itertools
import uuid
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from drsvm.engines.parts.part import Ball, Message, Part, StateLost, Update
from drsvm.engines.parts.vectors import Vector


class Keeper(ABC):
    """Passes messages on to all parts of the rows, and adds their answers. Every call of `ask` is one round."""

    def __init__(self):
        self.n_rounds = 0
        self.runs: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()

    def ask(self, ball: Ball, question: Callable[..., Any], *arguments, vectors: Iterable[Vector | None] = ()) -> Any:
        """Return the sum of the answers to a question, which may be about vectors that runs have kept."""
        kept = [kept for vector in vectors if vector is not None for kept in vector.kept()]
        runs = [self.runs[name] for name in dict.fromkeys(kept.run for kept in kept)]
        return self.send(runs, ball, question, arguments)

    def send(self, runs: "list[Run]", ball: Ball, question: Callable[..., Any] | None = None, arguments=()) -> Any:
        """Bring runs up to date, and return the sum of the answers to a question, or to the last change."""
        self.n_rounds += 1
        updates = tuple(run.news() for run in runs)
        try:
            answer = self.round(Message(updates, ball, question, arguments))
        except StateLost:
            complete = tuple(run.whole_log() for run in runs)
            answer = self.round(Message(complete, ball, question, arguments))
        for run, update in zip(runs, updates, strict=True):
            run.known = update.first + len(update.changes)
        return answer

    @abstractmethod
    def round(self, message: Message) -> Any:
        """Return the sum of the answers of all parts; raise StateLost if a part lacks the state.

        All parts exist when that is raised: they can make all changes again.
        """

    @abstractmethod
    def post(self, message: Message) -> None:
        """Pass a message on without waiting for an answer, or for a cluster that is gone."""

    @abstractmethod
    def forget(self, run: str) -> None:
        """Free what the parts keep for a run, without waiting. It may be called from any thread."""


class PartsHere(Keeper):
    """Parts in this process."""

    def __init__(self, parts: list[Part]):
        super().__init__()
        self.parts = parts

    def round(self, message: Message) -> Any:
        return total(part.answer(message) for part in self.parts)

    def post(self, message: Message) -> None:
        for part in self.parts:
            part.answer(message)

    def forget(self, run: str) -> None:
        for part in self.parts:
            part.runs.pop(run, None)


def total(answers: Iterable[Any]) -> Any:
    """Return the sum of the answers; None if there are none."""
    return reduce(lambda one, two: None if one is None else one + two, answers)


class Run:
    """The changes made so far to the state of a run, in the parts. Those without an answer wait for the next round.

    A log begins anew when all samples are centred, as nothing before that matters, unless something is kept from then.
    """

    def __init__(self, keeper: Keeper, ball: Ball):
        self.name, self.keeper, self.ball = uuid.uuid4().hex, keeper, ball
        self.base = self.known = 0
        self.log: list[tuple[str, tuple]] = []
        self._slots, self._used, self._free = itertools.count(), set(), deque()
        keeper.runs[self.name] = self
        weakref.finalize(self, keeper.forget, self.name).atexit = False

    def tell(self, change: str, *arguments) -> None:
        """Make a change without an answer."""
        self._drop_free_slots()
        if change == "center" and not self._used:
            self.base += len(self.log)
            self.known = self.base
            self.log.clear()
        self.log.append((change, arguments))

    def ask(self, change: str, *arguments) -> Any:
        """Make a change and return the sum of the answers."""
        self.tell(change, *arguments)
        return self.keeper.send([self], self.ball)

    def query(self, question: Callable[..., Any], *arguments) -> Any:
        """Ask a question about the state."""
        self._drop_free_slots()
        return self.keeper.send([self], self.ball, question, (self.name, *arguments))

    def keep(self, change: str, *arguments) -> "Slot":
        """Make a change that fills a new slot, which is in use as long as somebody refers to it."""
        number = next(self._slots)
        self.tell(change, number, *arguments)
        self._used.add(number)
        slot = Slot(self, number)
        weakref.finalize(slot, self._free.append, number)
        return slot

    def end(self) -> None:
        """Free the state of all samples; what is in slots stays."""
        self.tell("end")
        self.keeper.post(Message((self.news(),), self.ball))
        self.known = self.base + len(self.log)

    def news(self) -> Update:
        """Return the changes that the parts may not know yet."""
        return self._since(self.known)

    def whole_log(self) -> Update:
        """Return all changes."""
        return self._since(self.base)

    def _since(self, first: int) -> Update:
        return Update(self.name, self.ball, self.base, first, tuple(self.log[first - self.base :]))

    def _drop_free_slots(self) -> None:
        # Slots may be freed in any thread and at any time: only here are they taken off the list.
        while self._free:
            number = self._free.popleft()
            self._used.discard(number)
            self.log.append(("drop", (number,)))


class Slot:
    """A place in the memory of the parts of a run."""

    def __init__(self, run: Run, number: int):
        self.run, self.number = run, number
