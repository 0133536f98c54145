"""Prices of labels and features, from the options to the parameters of an estimator or a problem."""

from typing import Any

import numpy as np

from drsvm.cli.work import Parts, Prepared, label_called


def feature_prices(parts: Parts, prepared: Prepared) -> dict[str, Any]:
    """Return ``feature_cost`` and ``monotonic_cst``, one entry per feature; a text column has several features."""
    mentioned = parts.data.mentioned
    if not mentioned or prepared.features is None:
        return {}
    columns = np.array([feature.column for feature in prepared.features], dtype=object)
    values = np.array([feature.part != "gaps" for feature in prepared.features])  # being empty has no order
    costs, signs = np.ones(len(columns)), np.zeros(len(columns), dtype=np.int8)
    for role, name in mentioned:
        if role == "trust_column":
            costs[columns == name] = np.inf
            continue
        sign = parts.side if role == "increasing" else -parts.side
        if (signs[(columns == name) & values] == -sign).any():
            raise ValueError(f"{name}: a column cannot be both --increasing and --decreasing.")
        signs[(columns == name) & values] = sign
    given = {"feature_cost": costs if np.isinf(costs).any() else None, "monotonic_cst": signs if signs.any() else None}
    return {name: value for name, value in given.items() if value is not None}


def flip_cost_by_label(flip_cost: Any, labels: np.ndarray) -> Any:
    """Return prices by label from prices by the text of a label; a number stays as it is."""
    if not isinstance(flip_cost, dict):
        return flip_cost
    return {label_called(labels, name, "--flip-cost"): price for name, price in flip_cost.items()}


def flip_cost_by_row(flip_cost: Any, labels: np.ndarray, verified: np.ndarray | None) -> Any:
    """Return one price per row where rows differ: by their label, or because it was verified."""
    from drsvm.learn.prices import flip_costs_of_rows

    costs = flip_costs_of_rows(flip_cost_by_label(flip_cost, labels), labels, np.unique(labels))
    return costs if verified is None else np.where(verified, np.inf, costs)
