"""Names of features, rows and labels."""

from contextlib import suppress

from sklearn.pipeline import Pipeline


def given_names(X, feature_names) -> list[str] | None:
    """Return the given names of the features, those of a data frame, or None."""
    if feature_names is None:
        return [str(name) for name in X.columns] if hasattr(X, "columns") else None
    names, d = [str(name) for name in feature_names], X.shape[1] if X.ndim == 2 else None
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} entries, but X has shape {X.shape}: give one per column.")
    return names


def names_of_rows(X, given) -> tuple[list[str], str]:
    """Return the names of the rows, and a sentence that explains them."""
    n = X.shape[0] if X.shape else 0  # the fit rejects X without rows
    if given is not None:
        names = [str(name) for name in given]
        if len(names) != n:
            raise ValueError(f"row_names has {len(names)} entries, but X has {n} rows: give one per row.")
        return names, ""
    if hasattr(X, "index"):
        return [str(name) for name in X.index], "Rows are named by the index of the data frame."
    return [str(row) for row in range(n)], "Rows are numbered from 0."


def names_behind(estimator, names: list[str] | None, n_features: int) -> list[str]:
    """Return the names of the features after all steps except the last."""
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1 and names is not None:
        # A step may not name its features; if their number is the same, keep the names.
        with suppress(AttributeError, ValueError, NotImplementedError):
            names = [str(name) for name in estimator[:-1].get_feature_names_out(names)]
    if names is None or len(names) != n_features:
        return [f"feature {k}" for k in range(n_features)]
    return names


def name_of_labels(y) -> str | None:
    """Return what a column of labels is called, if it has a name."""
    name = getattr(y, "name", None)
    return None if name is None else str(name)
