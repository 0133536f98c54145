"""Reports in little time."""

from collections import defaultdict


def omit_plots(monkeypatch):
    """Let reports have no plots, and few trees judge the labels: these take most of the time."""
    monkeypatch.setattr("drsvm.report.draw_all", lambda analysis: defaultdict(str))
    use_few_trees(monkeypatch)


def use_few_trees(monkeypatch):
    """Let few trees give the second opinion about labels."""
    monkeypatch.setattr("drsvm.learn.label_issues.N_TREES", 10)
