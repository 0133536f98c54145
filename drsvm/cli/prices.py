"""Prices of labels and features, from the options to the parameters of an estimator or a problem."""

from typing import TypeAlias

import numpy as np

from drsvm import Problem, WassersteinSVC
from drsvm.annotations import Costs
from drsvm.cli.options import BallOptions, PriceOptions, Settings
from drsvm.cli.work import Parts, Prepared, label_called
from drsvm.learn.fitting.prices import flip_costs_of_rows, with_intercept_cost

FlipCost: TypeAlias = Costs | dict[str, float] | None  # a price, or prices by row or by the text of a label


def feature_prices(parts: Parts, prepared: Prepared) -> Settings:
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


def problem_of(parts: Parts, prepared: Prepared, y, radius: float, ball: BallOptions, prices: PriceOptions) -> Problem:
    """Return the problem of two classes that a `WassersteinSVC` with the given options would solve, without weights."""
    names = ("flip_cost", "norm", "l2", "fit_intercept", "intercept_cost", "feature_cost", "monotonic_cst")
    settings: Settings = {name: getattr(WassersteinSVC(), name) for name in names}
    settings |= ball.ball() | prices.intercept() | feature_prices(parts, prepared)
    settings["l2"] = 0.0 if settings["l2"] == "auto" else settings["l2"]  # the ball alone
    settings["flip_cost"] = flip_cost_by_row(settings["flip_cost"], parts.y, None)
    cost = settings.pop("intercept_cost")
    return with_intercept_cost(Problem(prepared.X, y, radius=radius, **settings), cost)


def with_flip_costs(settings: Settings, labels: np.ndarray) -> Settings:
    """Return settings with prices by label in place of prices by the text of a label; a number stays as it is."""
    cost = settings.get("flip_cost")
    if not isinstance(cost, dict):
        return settings
    return {**settings, "flip_cost": {label_called(labels, name, "--flip-cost"): cost[name] for name in cost}}


def flip_cost_by_row(flip_cost: FlipCost, labels: np.ndarray, verified: np.ndarray | None) -> Costs:
    """Return one price per row where rows differ: by their label, or because it was verified."""
    by_label = with_flip_costs({"flip_cost": flip_cost}, labels)["flip_cost"]
    costs = flip_costs_of_rows(by_label, labels, np.unique(labels))
    return costs if verified is None else np.where(verified, np.inf, costs)
