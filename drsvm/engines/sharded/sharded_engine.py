"""The interior point's engine for sharded rows: the sums of the replies of all shards.

The shards have an engine of their own for their rows.
"""

from drsvm.certificate.multipliers import DualSums
from drsvm.engines.engine import Engine, Prediction, Rates, Steps
from drsvm.engines.newton_matrix import Curvature
from drsvm.engines.sharded import queries
from drsvm.engines.sharded.coordinator import Coordinator, Run
from drsvm.engines.sharded.shard import Kept, ShardParameters
from drsvm.problem.reducers import Summable


class ShardedEngine(Engine):
    """One run on all shards."""

    small = False  # a round may cost more than a pass

    def __init__(
        self, coordinator: Coordinator, parameters: ShardParameters, n_linear: int
    ):
        self.run = Run(coordinator, parameters)
        self.n_linear = n_linear
        self.mass, flippable = coordinator.ask(parameters, queries.targets)
        self.weight = 2.0 * self.mass + flippable

    def close(self) -> None:
        self.run.end()

    def center(self, point, lam, mu) -> None:
        self.run.send("center", point, lam, mu)

    def total_slack(self) -> float:
        return self.run.query(queries.of_engine, "total_slack")

    def curvature(self, steps=None) -> tuple[float, Curvature]:
        products, *samples = self._after("curvature", steps)
        return products, Curvature(*samples)

    def predict(self, direction, lam_change) -> tuple[Rates, Prediction]:
        rates, *sums = self.run.ask("predict", direction, lam_change)
        return rates, Prediction(*sums)

    def longest_steps(self, direction, lam_change, target) -> Rates:
        return self.run.ask("longest_steps", direction, lam_change, target)

    def dual_sums(self, steps=None) -> tuple[float, DualSums]:
        products, *sums = self._after("dual_sums", steps)
        return products, DualSums(*sums)

    def multipliers(self) -> tuple[Kept, Kept]:  # pyright: ignore
        return self.run.keep("keep_multipliers")

    def _after(self, name: str, steps: Steps | None) -> Summable:
        """Return the sum of a method's values, after steps if there are any.

        Without steps the state does not change, so nothing is logged.
        """
        if steps is None:
            return self.run.query(queries.of_engine, name)
        return self.run.ask(name, steps)
