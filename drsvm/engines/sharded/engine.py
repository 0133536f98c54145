"""The interior point's engine for sharded rows: every method is at most one round."""

import numpy as np

from drsvm.engines.engine import Curvature, Engine
from drsvm.engines.sharded import queries
from drsvm.engines.sharded.coordinator import Coordinator, Run
from drsvm.engines.sharded.shard import Ball, Kept
from drsvm.model.multipliers import DualSums


class ShardedEngine(Engine):
    """Sums of the replies of all shards, which have an engine of their own for their rows."""

    small = False  # a round may cost more than a pass
    light = True  # for the same reason correctors do not pay

    def __init__(self, coordinator: Coordinator, ball: Ball, n_linear: int):
        self.run, self.n_linear = Run(coordinator, ball), n_linear
        self.mass, flippable = coordinator.ask(ball, queries.targets)
        self.weight = 2.0 * self.mass + flippable

    def close(self) -> None:
        self.run.end()

    def center(self, point, lam: float, mu: float) -> None:
        self.run.tell("center", point, lam, mu)

    def total_slack(self) -> float:
        return self._query("total_slack")

    def curvature(self) -> Curvature:
        return Curvature(*self._query("curvature"))

    def prediction(self, direction, lam_change):
        rates, *sums = self.run.ask("prediction", direction, lam_change)
        return rates, sums

    def rates(self, direction, lam_change, target):
        [rates] = self.run.ask("rates", direction, lam_change, target)
        return rates

    def recorrect(self, primal: float, dual: float) -> tuple[np.ndarray, float]:
        return self.run.ask("recorrect", primal, dual)

    def swap(self) -> None:
        self.run.tell("swap")

    def advance(self, primal: float, dual: float, left: float = 0.0) -> tuple[float, Curvature]:
        products, *samples = self.run.ask("advance", primal, dual, left)
        return products, Curvature(*samples)

    def arrive(self, primal: float, dual: float, left: float = 0.0) -> tuple[float, DualSums]:
        products, *sums = self.run.ask("arrive", primal, dual, left)
        return products, DualSums(*sums)

    def dual_sums(self) -> DualSums:
        return DualSums(*self._query("dual_sums"))

    def restoring_rate(self, direction, lam_change):
        return self._query("restoring_rate", direction, lam_change)

    def restored(self, direction, lam_change, step) -> tuple[Kept, Kept]:  # pyright: ignore
        return self.run.keep("keep_restored_multipliers", direction, lam_change, step)

    def multipliers(self) -> tuple[Kept, Kept]:  # pyright: ignore
        return self.run.keep("keep_multipliers")

    def _query(self, name: str, *arguments):
        return self.run.query(queries.of_engine, name, *arguments)
