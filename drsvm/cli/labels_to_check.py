"""The labels of a file that ``drsvm labels`` judges."""

import numpy as np
from sklearn.pipeline import Pipeline

from drsvm.audit.label_issues import (
    find_label_issues,
    has_rows_of_one_length,
    robust_classifier,
)
from drsvm.audit.label_scores import LabelIssues
from drsvm.cli.options import Columns, free_name
from drsvm.cli.screen import Screen
from drsvm.cli.settings import KernelChoice, Settings
from drsvm.cli.training_rows import TrainTestRows, about_clipped, prepare
from drsvm.tables.preparation import preparation


def judged(
    parts: TrainTestRows,
    kernel: KernelChoice,
    settings: Settings,
    screen: Screen,
    *,
    standardise: bool,
    **folds,
) -> tuple[LabelIssues, tuple[int, int]]:
    """Return how doubtful each label is, and the shape of the prepared rows.

    `folds` are parameters of `find_label_issues`. Both classifiers are trained behind
    the preparation, which is fitted in every fold.
    """
    # Such rows, of texts for instance, are on a scale of their own.
    standardise = standardise and not has_rows_of_one_length(parts.X)
    prepared = prepare(parts, standardise=standardise)
    screen.note(*about_clipped(prepared, parts))
    kind, settings = kernel.kind_and_settings(settings)
    if kernel.kernel != "linear":
        settings["kind"] = kind
    # The robust classifier scales sparse rows itself.
    scaled_there = parts.data.schema.kind == "sparse" and standardise
    steps = preparation(parts.data.schema, standardise and not scaled_there)
    robust = robust_classifier(prepared.X, standardise=scaled_there, **settings)
    judging = screen.whole("judging the labels")
    with judging as report_progress, screen.warnings_as_notes():
        issues = find_label_issues(
            parts.X,
            parts.y,
            estimator=Pipeline([*steps, *robust.steps]),
            second_opinion="auto",
            callback=lambda done, total: report_progress(done / total),
            **folds,
        )
    return issues, prepared.X.shape


def columns_of(parts: TrainTestRows, issues: LabelIssues) -> Columns:
    """Return the columns of the file, and what is found about every row."""
    rank = np.empty(len(parts.y), dtype=int)
    rank[issues.ranking] = np.arange(1, len(rank) + 1)
    columns = dict(parts.ids)
    found = {"row": parts.row_numbers, "rank": rank, **issues.to_dict()}
    for name, values in found.items():
        columns[free_name(name, parts.ids)] = values
    return columns
