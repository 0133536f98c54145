"""Threads over parts of large arrays."""

import os
import threading

import numpy as np
import pytest

from drsvm.utils import parallel, threads_limited
from drsvm.utils.parallel import (
    PART,
    WORTHWHILE,
    elementwise,
    over,
    over_parts,
    total,
    usable_threads,
)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_do_not_depend_on_the_number_of_threads(n_threads):
    values = np.random.default_rng(0).normal(size=3 * WORTHWHILE + 7)
    with threads_limited(n_threads):
        np.testing.assert_array_equal(
            elementwise(len(values), lambda part: 2.0 * values[part]), 2.0 * values
        )
        found = total(len(values), lambda part: values[part].sum())
    with threads_limited(3):
        assert found == total(len(values), lambda part: values[part].sum())
    assert len(values) > PART


def test_few_entries_are_one_part_and_none_are_no_part():
    assert over_parts(np.zeros(3), lambda part: part) == [slice(0, 3)]
    assert over_parts(0, lambda part: part) == [] and over_parts(
        PART, lambda part: part
    ) == [slice(0, PART)]
    assert over_parts(PART + 1, lambda part: part) == [
        slice(0, PART),
        slice(PART, PART + 1),
    ]


def test_the_threads_of_a_run_are_used_again():
    with threads_limited(2):
        names = {
            name
            for _ in range(20)
            for name in over(range(4), lambda _: threading.current_thread().name)
        }
    assert (
        len(names - {threading.current_thread().name}) <= 1
    )  # the caller does its share


def test_a_part_that_calls_again_does_not_wait_for_its_own_threads():
    with threads_limited(2):
        found = over(
            range(6), lambda k: over(range(3), lambda j: (k + j, usable_threads()))
        )
    assert found == [[(k + j, 1) for j in range(3)] for k in range(6)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads():
    with threads_limited(2):
        over(range(4), abs)
        child = os.fork()
        if child == 0:
            os._exit(0 if over(range(4), abs) == [0, 1, 2, 3] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_memory_is_known_or_assumed(monkeypatch):
    assert 1e8 < parallel.memory_size() < 1e15

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert parallel.memory_size() == 8e9
