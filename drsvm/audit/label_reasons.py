"""Reasons why a label is doubtful, in words: computed for the rows that are asked for.

Each states what was found and nothing else: votes of classifiers that have not seen the
row, its margin, and the labels nearby.
"""

from typing import Any

import numpy as np

# Rows nearby that are looked at
NEIGHBOURS = 10


def reason(issues: Any, row: int) -> str:
    """Return what speaks for the predicted label of a row, and what does not.

    `issues` are `LabelIssues`.
    """
    label = issues.predicted_label[row]
    classes = np.unique(issues.given_label)
    # 1. The classifiers that know the row: the values of others are 0.
    votes = []
    for decisions in issues.decisions:
        values = decisions[row]
        if values.any():
            votes.append(classes[values.argmax()] == label)
    text = f"decided as {label} by {sum(votes)} of {len(votes)} classifiers"

    # 2. The margin, which is negative if another label than the given one leads
    margin = issues.margin[row]
    if label != issues.given_label[row]:
        margin = -margin
    if margin > 0.0:
        unit = np.sqrt(np.mean(issues.margin**2))
        text += f", {margin / unit:.1f} deviations from the boundary"

    # 3. The rows nearby, without the row itself
    if issues.rows is not None:
        squares = ((issues.rows - issues.rows[row]) ** 2).sum(axis=1)
        squares[row] = -1.0
        nearest = np.argsort(squares, kind="stable")[1 : NEIGHBOURS + 1]
        alike = (issues.given_label[nearest] == label).sum()
        text += f"; {alike} of its {len(nearest)} neighbours are {label}"
    return text
