"""Sharded problems, in this process."""

import math
from functools import reduce
from itertools import pairwise
from operator import add
from types import SimpleNamespace

import numpy as np

from drsvm import solve
from drsvm.engines.sharded import (
    Chunk,
    Coordinator,
    ShardedRows,
    Survey,
    WorkerChannel,
    total,
)
from drsvm.problem import PARAMETERS, Problem


def samples(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


def check(there, here, solver="interior-point", tol=1e-8):
    """Return the result for a sharded problem, which has the same proven optimum as one
    in memory.
    """
    result = solve(there, tol=tol)
    assert result.gap <= tol
    assert abs(result.objective - solve(here, solver, tol=tol).objective) <= 2.0 * tol
    return result


class ShardsHere(Coordinator):
    """Shards in this process."""

    def __init__(self, shards):
        super().__init__()
        self.shards = shards

    def round(self, message):
        return total(shard.reply(message) for shard in self.shards)

    def post(self, message):
        for shard in self.shards:
            shard.reply(message)

    def channel(self):
        return ChannelHere(self)

    def forget(self, run):
        for shard in self.shards:
            shard.runs.pop(run, None)


class ChannelHere(WorkerChannel):
    """Every shard is a group, and replies in turn."""

    def __init__(self, coordinator):
        self.coordinator = coordinator
        self.waiting = {}
        self.groups = [(shard.number,) for shard in coordinator.shards]

    def send(self, group, message):
        self.waiting[group] = message

    def receive(self, seconds=math.inf):
        group = next(iter(self.waiting))
        message = self.waiting.pop(group)
        [shard] = [
            shard for shard in self.coordinator.shards if shard.number == group[0]
        ]
        return group, shard.reply(message)

    def stopwatch(self):
        return SimpleNamespace(elapsed=lambda: 0.0)  # replies take no time


def sharded_problem(
    X,
    y,
    cuts,
    sample_weight=None,
    flip_costs=None,
    row_radii=None,
    coordinator=ShardsHere,
    **ball,
):
    """Return the problem on rows that are cut before some of them."""
    columns = X, y, sample_weight, flip_costs, row_radii
    ends = pairwise([0, *cuts, len(y)])
    chunks = [
        Chunk.checked(
            number,
            *(None if column is None else column[first:last] for column in columns),
        )
        for number, (first, last) in enumerate(ends)
    ]
    survey = reduce(add, map(Survey.of, chunks))
    units = survey.units()
    shards = [chunk.shard(units) for chunk in chunks if survey.used[chunk.number] > 0]
    problem = object.__new__(Problem)
    problem._set(row_radius=ball.pop("row_radius", 0.0))
    problem._set(
        **ShardedRows(coordinator(shards), survey).attributes(
            ball.pop("flip_cost", 1.0)
        )
    )
    defaults = {
        "radius": 0.1,
        "norm": 2,
        "l2": 0.0,
        "fit_intercept": False,
        "intercept_cost": math.inf,
    }
    problem._set_parameters(
        **defaults | {"feature_cost": None, "monotonic_cst": None} | ball
    )
    return problem


def sharded(problem, cuts, coordinator=ShardsHere):
    """Return a problem with its rows in shards."""
    ball = {name: getattr(problem, name) for name in PARAMETERS} | {
        "coordinator": coordinator
    }
    for number, by_row in (("flip_cost", "flip_costs"), ("row_radius", "row_radii")):
        if getattr(ball[number], "ndim", 0):
            ball[by_row] = ball.pop(number)
    return sharded_problem(
        problem.X, problem.signs, cuts, problem.sample_weight, **ball
    )
