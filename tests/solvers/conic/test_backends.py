"""Ctrl-C while a backend runs."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from drsvm.solvers.conic.backends import postponed_interrupt


def test_a_postponed_interrupt_comes_after_the_block():
    before, reached = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), postponed_interrupt() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted.is_set()
        reached.append(True)
    assert reached and signal.getsignal(signal.SIGINT) is before


def test_an_error_in_the_block_restores_the_handler():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(LookupError), postponed_interrupt():
        raise LookupError
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone():
    def run():
        with postponed_interrupt() as interrupted:
            return interrupted.is_set()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() is False
