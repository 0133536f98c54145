"""``drsvm labels``: which labels of a file to check first."""

from dataclasses import replace

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm labels customers.csv --label churned
drsvm labels customers.csv --label churned --drop id --csv checked.csv --plot scores.png
drsvm labels customers.csv --label churned --kernel rbf
drsvm labels train.svm.xz --top 50 --json"""

CAVEAT = (
    "This is a ranking of what to look at first; it proves nothing about a single label. A low score means that the "
    "other rows contradict the label: it may be wrong, or the row may be unusual."
)


def labels(
    file: opt.DataFile,
    data: opt.DataOptions,
    ball: opt.BallOptions,
    kernel: opt.KernelOptions,
    outputs: opt.TableOptions,
    screen: Screen,
    radius: float | None = opt.classifier("Radius of the ball. Default: automatic."),
    class_weight: str | None = opt.CLASS_WEIGHT,
    folds: int = opt.classifier("Number of folds.", 5, min=2),
    seed: int = opt.classifier("Random seed of the folds.", 0),
    jobs: int | None = opt.solving("Folds to fit in parallel (-1: one per core)."),
    top: int = opt.output("Number of rows to print.", 20, min=1),
) -> None:
    """Rank the rows of a file by how doubtful their labels are.

    Every row is judged by a robust classifier, linear unless --kernel says otherwise,
    and by boosted trees that were trained without it. The ranking shows which labels to
    check first; it proves nothing about a single label. Rows are counted from 1, not
    counting the header, as in predict; --csv has the columns of the file, too.
    """
    from drsvm.cli import tasks as work

    outputs.check(file)
    kernel.check(ball)
    settings = {
        **ball.ball(),
        **ball.run(),
        **opt.chosen_classes_and_threshold(class_weight),
    }
    parts = work.load_parts(
        file, data.read_options(name_rows=True, whole=outputs.csv is not None), screen
    )
    import numpy as np

    from drsvm import find_label_issues  # not before: input errors should come quickly
    from drsvm.audit.label_issues import has_rows_of_one_length
    from drsvm.plotting import LabelIssuesDisplay

    ball = replace(
        ball, standardise=ball.standardise and not has_rows_of_one_length(parts.X)
    )
    prepared = work.prepared(parts, standardise=ball.standardise)
    X = prepared.X
    screen.note(*work.about_clipped(prepared, parts))
    judges = _judges(
        parts,
        X,
        ball,
        kernel,
        {"radius": radius, **work.by_label(settings, parts.y, screen)},
        folds,
    )
    given = {"cv": folds, "random_state": seed, "n_jobs": jobs, **judges}
    with (
        screen.whole("judging the labels") as report_progress,
        screen.warnings_as_notes(),
    ):
        issues = find_label_issues(
            parts.X,
            parts.y,
            callback=lambda done, total: report_progress(done / total),
            **given,
        )
    rank = np.empty(len(parts.rows), dtype=int)
    rank[issues.ranking] = np.arange(1, len(rank) + 1)
    new = {"row": parts.rows + 1, "rank": rank, **issues.to_dict()}
    columns = parts.ids | {
        name if name not in parts.ids else f"drsvm_{name}": values
        for name, values in new.items()
    }
    files = outputs.save(
        columns, lambda: LabelIssuesDisplay.from_result(issues).figure_
    )
    order = issues.ranking[:top]
    names = ("given_label", "predicted_label", "label_score", "is_label_issue")
    worst = {
        "row": parts.rows[order] + 1,
        **{name: parts.ids[name][order] for name in parts.data.schema.id},
    }
    worst |= {name: getattr(issues, name)[order] for name in names}
    payload = {
        "command": "labels",
        "file": file,
        "rows": X.shape[0],
        "features": X.shape[1],
    }
    payload |= {
        "contradicted": issues.n_contradicted,
        "flagged": issues.is_label_issue.sum(),
    }
    payload |= {
        "wrong_labels": issues.wrong_labels,
        "wrong_labels_interval": issues.wrong_labels_interval,
    }
    payload |= {"worst": worst, "caveat": CAVEAT, **files}
    title = (
        f"{len(worst['row'])} of {payload['rows']:,} rows, most doubtful label first"
    )
    if issues.second_label is None:
        title += ""
    else:
        title += " (those that both classifiers contradict on top)"
    screen.finish(payload, title, worst, f"\n{issues.summary()}\n{CAVEAT}")


def _judges(
    parts,
    X,
    ball: opt.BallOptions,
    kernel: opt.KernelOptions,
    settings: opt.Settings,
    folds: int,
) -> opt.Settings:
    """Return both classifiers behind the preparation; folds share the time."""
    from sklearn.pipeline import Pipeline

    from drsvm.audit.label_issues import flexible_classifier, robust_classifier
    from drsvm.tables.preparation import preparation

    kind, settings = kernel.kind_and_settings(settings)
    given = {name: value for name, value in settings.items() if value is not None}
    given |= {} if kernel.kernel == "linear" else {"kind": kind}
    if "max_time" in given:
        # All at once, or one by one if that takes too long, and on all rows
        given["max_time"] /= folds + 2
    scaled_there = parts.data.schema.kind == "sparse" and ball.standardise
    steps = preparation(parts.data.schema, ball.standardise and not scaled_there)
    robust = Pipeline(
        [*steps, *robust_classifier(X, standardise=scaled_there, **given).steps]
    )
    return {"estimator": robust, "second_opinion": flexible_classifier(X, steps)}
