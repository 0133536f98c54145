"""Reports without their plots."""

from collections import defaultdict


def omit_plots(monkeypatch):
    """Let reports have no plots, which take most of the time."""
    monkeypatch.setattr("drsvm.report.draw_all", lambda analysis: defaultdict(str))
