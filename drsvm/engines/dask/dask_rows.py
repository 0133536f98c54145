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
from drsvm.problem.rows import Attributes
from drsvm.utils.annotations import Costs, Labels, Matrix


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

    def with_flip_costs(self, flip_cost, n_given, kept):
        if not _is_vector(flip_cost):
            return super().with_flip_costs(flip_cost, n_given, kept)
        return self._with(self.columns.y, self.columns.weights, flip_cost)

    def relabelled(self, positive, sample_weight, flip_cost, n_given, kept):
        return self._with(positive, sample_weight, self._costs(flip_cost))

    def mapped(self, function, flip_cost):
        X = mapped_blocks(function, self.columns.X)
        costs = self._costs(flip_cost)
        return self._with(self.columns.y, self.columns.weights, costs, X)["rows"]

    def _costs(self, flip_cost: Costs) -> Any:
        return self.columns.costs if np.ndim(flip_cost) else flip_cost

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

    def to_given_rows(self, values: RemoteVector, n_given, kept) -> Any:
        """Return a Dask array whose blocks are fetched from the workers when it is computed."""
        coordinator = self.coordinator
        logs = tuple(
            run.changes_since(run.base) for run in coordinator.runs_of([values])
        )
        message = delayed(
            Message(logs, self.view_only(), values_of, (values,)),
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

    def multipliers_from(self, values, n_given, kept):
        values = getattr(values, "drsvm_vector", values)
        return super().multipliers_from(values, n_given, kept)
