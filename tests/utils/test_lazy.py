"""Properties that are computed on first use."""

import threading
from pathlib import Path

import drsvm
from drsvm.utils.lazy import cached_property


class Slow:
    """An object whose property takes as long as its event is not set."""

    def __init__(self):
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.n_computed = 0

    @cached_property
    def value(self) -> int:
        """What is computed."""
        self.begun.set()
        assert self.may_end.wait(20.0)
        self.n_computed += 1
        return 7


def test_a_property_is_computed_once():
    slow = Slow()
    slow.may_end.set()
    assert [slow.value, slow.value] == [7, 7]
    assert slow.n_computed == 1
    assert Slow.value.__doc__ == "What is computed."


def test_no_object_waits_for_the_property_of_another():
    # After a fork, it would wait forever.
    slow, quick = Slow(), Slow()
    quick.may_end.set()
    first = threading.Thread(target=lambda: slow.value)
    second = threading.Thread(target=lambda: quick.value)
    first.start()
    assert slow.begun.wait(20.0)
    second.start()
    second.join(1.0)
    waits = second.is_alive()
    slow.may_end.set()
    first.join()
    second.join()
    assert not waits


def test_the_properties_with_a_lock_are_not_used():
    for path in Path(drsvm.__file__).parent.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            is_import = line.startswith("from functools import")
            assert not (is_import and "cached_property" in line), path
