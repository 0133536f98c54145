"""Problems whose rows are on a Dask cluster."""

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drsvm.engines.dask.blocks import Columns, columns_of
from drsvm.engines.parts.part import Message
from drsvm.engines.parts.problem import PartedProblem
from drsvm.engines.parts.questions import values as values_of
from drsvm.engines.parts.vectors import Vector
from drsvm.engines.remote import BALL
from drsvm.extras import optional
from drsvm.model.problem import Problem


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DaskProblem(PartedProblem):
    """A problem whose rows are on a Dask cluster, in the memory of its workers.

    The parameters are those of `drsvm.Problem`. X is a Dask array (of dense chunks or CSR chunks), a Dask data frame,
    or a list of futures or delayed values; y, `sample_weight` and `flip_cost` are cut into the same chunks.
    """

    place = "on a Dask cluster"

    columns: Columns = field(repr=False)

    def __init__(self, X, y, *arguments, **options):
        given = inspect.signature(Problem.__init__).bind(self, X, y, *arguments, **options)
        given.apply_defaults()
        ball = {name: value for name, value in given.arguments.items() if name not in ("self", "X", "y")}
        weights, costs = ball.pop("sample_weight"), _costs(ball["flip_cost"])
        self._keep(columns_of(_client_of(X), X, y, weights, costs), ball)

    def _keep(self, columns: Columns, ball: dict[str, Any]) -> None:
        from drsvm.engines.dask.keeper import DaskKeeper

        keeper = DaskKeeper(columns.X[0].client, columns)
        self._set(columns=columns)
        PartedProblem.__init__(self, keeper, keeper.survey, **ball)

    def relabelled(self, positive, sample_weight=None) -> "DaskProblem":
        """Return the problem with other labels and weights; the rows are neither copied nor checked again."""
        costs = self.columns.costs if isinstance(self.flip_cost, np.ndarray) else None
        return self._with(positive, sample_weight, costs)

    def replace(self, **parameters) -> Problem:
        costs = _costs(parameters.get("flip_cost"))
        if costs is None:
            return super().replace(**parameters)
        others = {name: value for name, value in parameters.items() if name != "flip_cost"}
        return self._with(self.columns.y, self.columns.weights, costs).replace(**others)

    def _with(self, y, weights, costs) -> "DaskProblem":
        """Return the problem with other labels, weights or flip costs."""
        X, lengths = self.columns.X, [length for _, length in sorted(self.survey.lengths.items())]
        other = object.__new__(type(self))
        ball = {name: getattr(self, name) for name in BALL}
        other._keep(columns_of(X[0].client, X, y, weights, costs, lengths), ball)
        other._set(view=self.view, X=other.X._replace(shape=(other.n_rows, self.n_features)))
        return other

    def to_given_rows(self, values: Vector) -> Any:
        """Return a Dask array whose blocks are fetched from the workers when it is computed."""
        import dask.array as da
        from dask.delayed import delayed

        keeper: Any = self.keeper
        runs = [keeper.runs[name] for name in dict.fromkeys(kept.run for kept in values.kept())]
        message = delayed(
            Message(tuple(run.whole_log() for run in runs), self.ball, values_of, (values,)), traverse=False
        )
        block_of, nothing = (delayed(function, pure=False) for function in _block_functions())
        blocks = []
        for number, length in sorted(keeper.survey.lengths.items()):
            chunk = self.columns.chunk(number)
            known = keeper.name, number, keeper.units, length, chunk[0].key
            block = block_of(message, *known, *chunk) if keeper.survey.used[number] > 0 else nothing(length)
            blocks.append(da.from_delayed(block, shape=(length,), dtype=np.float64))
        array = da.concatenate(blocks)
        array.drsvm_vector = values
        return array

    def multipliers_from(self, values) -> Vector | None:
        return super().multipliers_from(getattr(values, "drsvm_vector", values))


def _block_functions():
    from drsvm.engines.dask.worker import block_of, nothing

    return block_of, nothing


def _costs(flip_cost) -> Any:
    """Return flip costs that are one per row; None for a number."""
    return None if flip_cost is None or (np.isscalar(flip_cost) or getattr(flip_cost, "ndim", 1) == 0) else flip_cost


def _client_of(X):
    """Return the client of futures, or else the one in use."""
    distributed = optional("distributed", "Rows on a Dask cluster need", "dask", "distributed")
    if isinstance(X, list | tuple) and isinstance(X[0], distributed.Future):
        return X[0].client
    try:
        return distributed.get_client()
    except ValueError:
        raise RuntimeError(
            "X is a Dask collection, and there is no cluster to compute it on: start one first, for instance "
            "`from distributed import Client; client = Client()` for the cores of this machine."
        ) from None
