"""The figures of `drsvm.learn.scores` as text."""

from typing import Any

MOST_CLASSES = 12  # a confusion matrix of more classes is not printed


def summary(found: dict[str, Any]) -> str:
    """Return the figures in one line."""
    auc = "" if found["roc_auc"] is None else f", ROC AUC {found['roc_auc']:.4f}"
    return f"accuracy {found['accuracy']:.4f}, balanced {found['balanced_accuracy']:.4f}{auc} ({found['rows']:,} rows)"


def by_class(found: dict[str, Any]) -> list[str]:
    """Return a table with one line per class: recall, precision, and how many of its rows got which prediction."""
    confusion = found["confusion"]
    if len(confusion) > MOST_CLASSES:
        return []
    table = [["label", "rows", "recall", "precision", *(f"predicted {name}" for name in confusion)]]
    for name, row in confusion.items():
        known = found["recall"][name], found["precision"][name]
        ratios = ["-" if value is None else f"{value:.4f}" for value in known]
        table.append([str(name), f"{sum(row.values()):,}", *ratios, *(f"{count:,}" for count in row.values())])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in table]
    return ["  ".join(line) for line in lines]
