"""Rows on a Dask cluster, in the memory of its workers."""

import math
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client

from drsvm.engines.dask.dask_blocks import Columns, columns_of, mapped_blocks
from drsvm.engines.dask.dask_coordinator import DaskCoordinator
from drsvm.engines.dask.dask_worker import block_of
from drsvm.engines.sharded.queries import values as values_of
from drsvm.engines.sharded.shard import Message
from drsvm.engines.sharded.sharded_rows import ShardedRows
from drsvm.problem.rows import Attributes
from drsvm.utils.annotations import Costs, Labels, Matrix


def dask_data(
    client: Client,
    X: Matrix,
    y: Labels,
    sample_weight,
    flip_cost,
    row_radius=None,
    lengths=None,
    view=None,
) -> Attributes:
    """Return the attributes of a problem whose data are on a cluster.

    All columns are cut into the chunks of X.
    """
    costs = flip_cost if _is_vector(flip_cost) else None
    columns = columns_of(client, X, y, sample_weight, costs, row_radius, lengths)
    coordinator = DaskCoordinator(columns.X[0].client, columns)
    return DaskRows(coordinator, coordinator.survey, view).attributes(flip_cost)


def _is_vector(values) -> bool:
    """Return whether every row has its own flip cost, or its own radius."""
    if values is None or np.isscalar(values):
        return False
    # Data frames' columns and lists of futures have no dimensions.
    return getattr(values, "ndim", 1) > 0


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
        return self._with(self.columns._replace(flip_cost=flip_cost))

    def with_row_radius(self, row_radius, n_given, kept):
        if not _is_vector(row_radius):
            return super().with_row_radius(row_radius, n_given, kept)
        # Flip costs of single rows would be an error: the problem has the number.
        columns = self.columns._replace(flip_cost=math.inf, row_radius=row_radius)
        attributes = self._with(columns)
        del attributes["flip_cost"]
        return attributes

    def relabelled(self, positive, sample_weight, flip_cost, n_given, kept):
        columns = self._columns(flip_cost)
        return self._with(columns._replace(y=positive, sample_weight=sample_weight))

    def mapped(self, function, flip_cost):
        X = mapped_blocks(function, self.columns.X)
        columns = self._columns(flip_cost)._replace(X=X)
        return self._with(columns, seen=False)["rows"]

    def _columns(self, flip_cost: Costs) -> Columns:
        """Return the columns with a flip cost, unless every row has its own."""
        if np.ndim(flip_cost):
            return self.columns
        return self.columns._replace(flip_cost=flip_cost)

    def _with(self, columns: Columns, *, seen: bool = True) -> Attributes:
        """Return the attributes of a problem with other columns.

        If `seen`, the rows have the view of these rows.
        """
        lengths = [length for _, length in sorted(self.survey.lengths.items())]
        view = None
        if seen:
            view = self.view
        return dask_data(self.coordinator.client, *columns, lengths, view)

    def to_given_rows(self, values, n_given, kept) -> Any:
        """Return a Dask array, whose blocks the workers return when it is computed."""
        coordinator = self.coordinator
        # The tasks may run when the shards are gone, so they have all that is needed to
        # build them again: the whole log, and the chunk.
        runs = coordinator.runs_of([values])
        logs = tuple(run.changes_since(run.base) for run in runs)
        message = Message(logs, self.view_only(), values_of, (values,))
        message = delayed(message, traverse=False)
        # Not pure: names of their arguments would be long to compute
        make = delayed(block_of, pure=False)
        zeros = delayed(np.zeros, pure=False)
        blocks = []
        for number, length in sorted(coordinator.survey.lengths.items()):
            if coordinator.survey.used[number] > 0:
                name = coordinator.chunk_name(number)
                chunk = self.columns.chunk(number)
                block = make(message, name, coordinator.units, length, *chunk)
            else:
                block = zeros(length)
            blocks.append(da.from_delayed(block, shape=(length,), dtype=np.float64))
        array = da.concatenate(blocks)
        # `multipliers_from` takes the vector, if the array comes back in a result.
        array.drsvm_vector = values
        return array

    def multipliers_from(self, values, n_given, kept):
        vector = getattr(values, "drsvm_vector", values)
        return super().multipliers_from(vector, n_given, kept)
