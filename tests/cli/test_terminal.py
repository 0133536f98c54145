"""Progress bars: what they show, and the time left by a simulated clock."""

import io

import pytest


@pytest.fixture
def bar_of():
    """Return a function that makes a bar, and one that draws it."""
    from rich.console import Console

    from drsvm.cli.terminal import Bar

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)

    def draw(bar):
        console.print(bar.get_renderable())
        return stream.getvalue().splitlines()[-1]

    return lambda text: Bar(console, text), draw


def test_stages_begin_at_zero_and_the_time_left_follows(bar_of, clock):
    make, draw = bar_of
    bar = make("fitting [b]")
    assert "fitting [b]" in draw(bar) and "time left" not in draw(bar) and "%" not in draw(bar), "nothing is known"
    tell = bar.begin("choosing the radius")
    assert " 0%" in draw(bar) and "time left -:--:--" in draw(bar)
    clock.now += 100.0  # longer than a bar usually remembers
    tell(0.25)
    assert "fitting [b]: choosing the radius" in draw(bar)
    assert "25%" in draw(bar) and "time left 0:05:00" in draw(bar)
    clock.now += 40.0
    assert "time left 0:04:20" in draw(bar)
    tell(0.1)
    assert "25%" in draw(bar), "a bar does not shrink"
    tell(1.0)
    bar.begin("")
    assert "fitting [b] " in draw(bar) and " 0%" in draw(bar) and "time left -:--:--" in draw(bar)
