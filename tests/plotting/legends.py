"""Legends of plots."""


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
