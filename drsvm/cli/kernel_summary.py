"""What ``drsvm fit`` says about a classifier with a kernel in place of weights."""

from typing import Any

MAX_COLUMNS, MAX_ROWS, REPEATS = 100, 1000, 5
"""Columns up to which importances are computed, test rows for that, and how often a column is shuffled."""

SHOWN = 5


def kernel_figures(model: Any, tested: Any) -> dict[str, Any]:
    """Return the kernel and the importances as plain values, from the model and from the one with test rows, if any."""
    classifier = model.classifier
    kernel = {
        "gamma": classifier.gamma_,
        "landmarks": len(classifier.landmark_indices_),
        "radius_in_features": classifier.radius_ / classifier._function().lipschitz,
    }
    return {"kernel": kernel, "importances": importances(tested)}


def importances(tested: Any) -> dict[str, float] | None:
    """Return by how much the ROC AUC of test rows falls if a column is shuffled, largest first; None without a test.

    All features of a column, such as the levels of a category, are shuffled together.
    """
    import numpy as np

    from drsvm.learn.scores import scores
    from drsvm.model.kernel_functions import dense

    y, columns = tested.parts.y_test, _columns(tested)
    if y is None or len(set(columns)) > MAX_COLUMNS:
        return None
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:MAX_ROWS]
    X, y = dense(tested.prepared.X_test[rows]), y[rows]

    def area(X) -> float:
        return scores(tested.decisions(X), y, tested.classifier.classes_)["roc_auc"] or np.nan

    def without(column: str) -> float:
        shuffled, places = X.copy(), [place for place, name in enumerate(columns) if name == column]
        shuffled[:, places] = X[rng.permutation(len(X))][:, places]
        return area(shuffled)

    whole = area(X)
    found = {name: whole - float(np.mean([without(name) for _ in range(REPEATS)])) for name in dict.fromkeys(columns)}
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def _columns(fitted: Any) -> list[str]:
    """Return the column of the file that every feature comes from."""
    features, first = fitted.prepared.features, fitted.parts.data.schema.index_base
    if features is None:
        return [str(index + first) for index in range(fitted.prepared.X.shape[1])]
    return [feature.column for feature in features]


def kernel_lines(payload: dict[str, Any]) -> dict[str, str]:
    """Return the kernel and the importances as text."""
    kernel, found = payload["kernel"], payload["importances"]
    name = f"{payload['parameters']['kernel']}, gamma {kernel['gamma']:.4g}"
    lines = {"kernel": f"{name}; made of {kernel['landmarks']:,} of the {payload['rows']:,} rows (landmarks)"}
    if found:
        largest = ", ".join(f"{' '.join(name.split())} {fall:.3f}" for name, fall in list(found.items())[:SHOWN])
        lines["importance"] = f"{largest}: how much the ROC AUC of the test falls if a column is shuffled"
    return lines


def choice_line(choice: dict[str, Any]) -> str:
    """Return which classifier was kept, and why."""
    from drsvm.learn.scores import compared

    best, other, areas = choice["kernel"], choice["other"], choice["roc_auc"]
    if choice["lead"] is None:
        return f"{best}; the test rows have no ROC AUC that could tell it from {other}"
    shown = f"{best}, ROC AUC {areas[best]:.4f}; {other} {areas[other]:.4f}"
    return (
        f"{shown}; {compared('roc_auc', choice['lead'], other)}. The test rows made this choice: they are not new to it"
    )
