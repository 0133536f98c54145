"""The style sheet for plots beside the displays."""

from matplotlib import pyplot as plt

from drsvm.plotting.style import COLOURS


def test_the_style_sheet_has_the_colours_of_the_displays():
    with plt.style.context("drsvm.plotting.quiet"):
        cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    assert tuple(f"#{colour.lstrip('#')}" for colour in cycle) == COLOURS
