"""Rows on a Dask cluster, in the memory of its workers."""

from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client

from drsvm.engines.dask.dask_blocks import Columns, columns_of, mapped_blocks
from drsvm.engines.dask.dask_coordinator import DaskCoordinator
from drsvm.engines.dask.dask_worker import block_of
from drsvm.engines.sharded.queries import values as values_of
from drsvm.engines.sharded.shard import Message, RemoteVector
from drsvm.engines.sharded.sharded_rows import ShardedRows
from drsvm.problem.problem import Problem
from drsvm.problem.rows import Attributes
from drsvm.utils.annotations import Labels, Matrix


def dask_data(
    client: Client, X: Matrix, y: Labels, weights, flip_cost, lengths=None, view=None
) -> Attributes:
    """Return the attributes of a problem whose data are on a cluster.

    All columns are cut into the chunks of X.
    """
    costs = flip_cost if _is_vector(flip_cost) else None
    columns = columns_of(client, X, y, weights, costs, lengths)
    coordinator = DaskCoordinator(columns.X[0].client, columns)
    return DaskRows(coordinator, coordinator.survey, view).attributes(flip_cost)


def _is_vector(flip_cost) -> bool:
    return not (
        flip_cost is None
        or np.isscalar(flip_cost)
        or getattr(flip_cost, "ndim", 1) == 0
    )


class DaskRows(ShardedRows):
    """Rows on a Dask cluster: dense or CSR chunks."""

    place = "on a Dask cluster"

    coordinator: DaskCoordinator

    @property
    def columns(self) -> Columns:
        return self.coordinator.columns

    def with_flip_costs(self, problem, flip_cost):
        if not _is_vector(flip_cost):
            return super().with_flip_costs(problem, flip_cost)
        return self._with(self.columns.y, self.columns.weights, flip_cost)

    def relabelled(self, problem, positive, sample_weight):
        return self._with(positive, sample_weight, self._costs(problem))

    def mapped(self, problem, function):
        X = mapped_blocks(function, self.columns.X)
        return self._with(
            self.columns.y, self.columns.weights, self._costs(problem), X
        )["rows"]

    def _costs(self, problem: Problem) -> Any:
        if np.ndim(problem.flip_cost):
            return self.columns.costs
        return problem.flip_cost

    def _with(self, y, weights, costs, X=None) -> Attributes:
        """Return the attributes of a problem with other labels, weights or flip costs, or with other features."""
        lengths = [length for _, length in sorted(self.survey.lengths.items())]
        if X is None:
            rows = self.columns.X
            view = self.view
        else:
            rows = X
            view = None
        return dask_data(
            self.columns.X[0].client, rows, y, weights, costs, lengths, view
        )

    def to_given_rows(self, problem, values: RemoteVector) -> Any:
        """Return a Dask array whose blocks are fetched from the workers when it is computed."""
        coordinator = self.coordinator
        logs = tuple(
            run.changes_since(run.base) for run in coordinator.runs_of([values])
        )
        message = delayed(
            Message(logs, self.parameters(problem), values_of, (values,)),
            traverse=False,
        )
        make, zeros = (
            delayed(function, pure=False) for function in (block_of, np.zeros)
        )
        blocks = []
        for number, length in sorted(coordinator.survey.lengths.items()):
            chunk = self.columns.chunk(number)
            known = coordinator.name, number, coordinator.units, length, chunk[0].key
            if coordinator.survey.used[number] > 0:
                block = make(message, *known, *chunk)
            else:
                block = zeros(length)
            blocks.append(da.from_delayed(block, shape=(length,), dtype=np.float64))
        array = da.concatenate(blocks)
        array.drsvm_vector = values
        return array

    def multipliers_from(self, problem, values):
        return super().multipliers_from(
            problem, getattr(values, "drsvm_vector", values)
        )
