"""Time limits, with a simulated clock."""

import math
import pickle

import pytest

from drsvm.utils import Stopwatch, TimeLimit, paused


def test_a_stopwatch_excludes_pauses_and_nested_ones_count_once(clock):
    watch = Stopwatch()
    clock.now += 1.0
    with paused():
        clock.now += 10.0
        with paused():
            clock.now += 1.0
        assert watch.elapsed() == 1.0
        clock.now += 1.0
    clock.now += 2.0
    with pytest.raises(KeyboardInterrupt), paused():
        raise KeyboardInterrupt
    clock.now += 1.0
    assert watch.elapsed() == 4.0


def test_pauses_before_the_start_do_not_count(clock):
    with paused():
        clock.now += 5.0
        watch = Stopwatch()
        clock.now += 5.0
    clock.now += 1.0
    later = pickle.loads(pickle.dumps(Stopwatch()))
    clock.now += 2.0
    assert (watch.elapsed(), later.elapsed()) == (3.0, 2.0)


def test_a_limit_runs_out_and_none_is_never_over(clock):
    limit = TimeLimit.of(None)
    clock.now += 1e9
    assert (
        limit.left() == math.inf
        and not limit.over
        and not limit.long_over
        and not limit.limited
    )
    assert limit.share(3) is limit
    limit = TimeLimit.of(2)
    assert limit.left() == 2.0 and limit.limited and TimeLimit.of(limit) is limit
    for seconds, over, long_over in (
        (1.9, False, False),
        (0.1, True, False),
        (0.2, True, True),
    ):
        clock.now += seconds
        assert (limit.over, limit.long_over) == (over, long_over)


def test_shares_are_even_and_unused_time_goes_to_the_others(clock):
    limit = TimeLimit(12.0)
    first = limit.share(4)
    assert first.left() == 3.0
    clock.now += 1.0
    assert limit.share(3).left() == pytest.approx(11.0 / 3.0)
    assert limit.share(0.5).left() == 11.0  # more workers than parts


def test_only_later_shares_are_spent_when_the_time_is_up(clock):
    limit = TimeLimit(1.0)
    clock.now += 2.0
    first = limit.share(3)
    assert first.over and not first.spent
    second = limit.share(2)
    assert second.spent and second.share(5).spent


@pytest.mark.parametrize("seconds", [None, 5.0])
def test_after_a_stop_everything_is_spent(clock, seconds):
    limit = TimeLimit.of(seconds)
    share = limit.share(1)
    limit.stop()
    assert limit.spent and limit.share(1).spent and limit.long_over
    assert share.over and share.left() == -math.inf


@pytest.mark.parametrize("max_time", [0, -1, math.nan, "long", [3]])
def test_invalid_times_are_rejected(max_time):
    with pytest.raises(
        ValueError, match="max_time must be a number of seconds > 0, got max_time="
    ):
        TimeLimit.of(max_time)
