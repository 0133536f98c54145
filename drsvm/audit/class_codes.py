"""Labels as codes: their places among the classes of a model.

A model may not know its classes, as (coef, intercept); then they come from the labels.
Batches and groups of rows have codes, too.
"""

from typing import Any

import numpy as np

from drsvm.audit.model_layers import index_of
from drsvm.problem import validation
from drsvm.utils.annotations import Labels, Values
from drsvm.utils.arguments import about

# In place of labels: those that the model predicts
PREDICTED: Any = object()
# The classes where one of several is evaluated against the rest
REST_AND_CLASS = np.array([False, True])


def codes_of_two(
    y: Labels,
    values: np.ndarray,
    classes: np.ndarray | None,
    positive: object,
    all_labels: Values = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes, and the place of each row's label among them.

    `values` are the decision values of both sides. The classes of the model may be
    unknown (None) or several, of which `positive` is evaluated against the rest. Those
    that are unknown are among `all_labels`, by default the labels of these rows.
    """
    if y is PREDICTED:
        if classes is None:
            classes = np.array([-1, 1])
        elif len(classes) != 2:
            classes = REST_AND_CLASS
        return classes, values.argmax(axis=0)
    labels = validation.check_label_vector(y, values.shape[1])
    if classes is None:
        return _codes_by_labels(labels, positive, all_labels)
    check_known(labels, classes)
    if len(classes) > 2:
        return REST_AND_CLASS, (labels == positive).astype(int)
    if positive is not None:
        # With two classes, either choice gives the same decisions.
        index_of(positive, classes)
    return classes, (labels == classes[1]).astype(int)


def _codes_by_labels(
    labels: np.ndarray, positive: object, all_labels: Values
) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes and codes for a model that does not know its classes."""
    if all_labels is None:
        all_labels = labels
    classes = validation.distinct_labels(all_labels)
    check_known(labels, classes)
    if positive is None:
        if len(classes) == 1:
            raise ValueError(
                f"y has one label, {classes[0].item()!r}, and whether it is that of "
                "positive decision values is not known: pass both as classes=."
            )
        validation.check_classes(classes)
        positive = classes[1]
    is_positive = labels == positive
    others = classes[classes != positive]
    if len(others) == len(classes):
        raise ValueError(
            f"positive={positive!r} is not among the labels of y "
            f"({others.tolist()[:5]} …)."
        )
    if len(others) == 1:
        return np.array([others[0], positive]), is_positive.astype(int)
    return REST_AND_CLASS, is_positive.astype(int)


def codes_of_several(
    y: Labels,
    values: np.ndarray,
    classes: np.ndarray | None,
    all_labels: Values = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in the order of the weights, and the codes of the labels.

    Classes that the model does not know are the sorted labels, by default of y.
    """
    n_classes = len(values)
    if y is PREDICTED:
        if classes is None:
            classes = np.arange(n_classes)
        return classes, values.argmax(axis=0)
    labels = validation.check_label_vector(y, values.shape[1])
    if classes is None:
        classes = _classes_of_labels(
            labels if all_labels is None else all_labels, n_classes
        )
    check_known(labels, classes)
    # The classes of a model need not be sorted.
    order = np.argsort(classes)
    return classes, order[np.searchsorted(classes, labels, sorter=order)]


def _classes_of_labels(labels: Labels, n_classes: int) -> np.ndarray:
    """Return the sorted labels as the classes of a model that does not know them."""
    classes = validation.distinct_labels(labels)
    if len(classes) != n_classes:
        raise ValueError(
            f"model separates {n_classes} classes, but y has {len(classes)} labels: "
            "which weights belong to which label is not known. Pass all labels as "
            "classes=, or one row (coef[k], intercept[k]) and its label as positive=."
        )
    return classes


def check_known(labels: np.ndarray, classes: np.ndarray) -> None:
    """Raise an error if a label is not among the classes of a model."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y has the label {labels[unknown].tolist()[0]!r}, but the model only "
            f"knows {classes.tolist()}."
        )


def parts_of_rows(
    parts: Values, n: int, name: str, what: str
) -> tuple[list[Any], np.ndarray]:
    """Return the names of batches or groups in their order, and each row's place.

    Errors have the `name` of the argument, and say `what` its entries are.
    """
    with about(name):
        parts = np.ravel(parts)
    if len(parts) != n:
        raise ValueError(
            f"{name} has {len(parts)} entries, but X has {n} rows: give one for every "
            "row."
        )
    validation.check_that_labels_are_given(parts, name, what)
    cells = parts.tolist()
    names = list(dict.fromkeys(cells))
    # Only numbers and dates have an order of their own.
    if parts.dtype.kind in "biufM":
        names.sort()
    places = {each: place for place, each in enumerate(names)}
    return names, np.array([places[cell] for cell in cells])
