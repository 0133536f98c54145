"""Legends of plots, and reports in little time."""

from collections import defaultdict

from inside import set_values_by

# A name that would do harm if it were not escaped
NASTY = "<script>alert('&')</script>"


def labels(ax):
    """Return the texts of a legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def omit_plots(monkeypatch):
    """Let reports have no plots, and few trees judge the labels: these take most of the
    time.
    """
    set_values_by(monkeypatch, plots_of_reports=defaultdict(str))
    use_few_trees(monkeypatch)


def use_few_trees(monkeypatch):
    """Let few trees give the second opinion about labels, and compete with a classifier
    in reports.
    """
    trees = {"max_iter": 20, "max_leaf_nodes": 8}
    set_values_by(monkeypatch, trees_of_reports=trees, n_trees=10)
