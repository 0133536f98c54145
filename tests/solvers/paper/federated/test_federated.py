"""Dual ascent on sharded rows, in this process: proven bounds, whoever is late or lost."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import NORMS, problems
from scipy import sparse
from sharded_here import ChannelHere, ShardsHere, sharded
from thorough import examples, for_each

from drsvm import Problem, certify, solve
from drsvm.solvers import choose
from drsvm.solvers.dual_coordinate import losses_along
from drsvm.solvers.paper.federated import Block, Work, global_ascent_for

TOL = 1e-3


def text(n=600, d=300, seed=0):
    """Return sparse rows with more features than they need, sorted by class."""
    rng = np.random.default_rng(seed)
    y = np.sort(np.where(rng.random(n) < 0.4, 1, -1))
    X = (rng.random((n, d)) < 0.05) * rng.random((n, d))
    X[:, :10] += 0.3 * (y[:, None] > 0) * (rng.random((n, 10)) < 0.3)
    return sparse.csr_array(X), y


def text_problem(norm=2):
    return Problem(*text(), radius=0.02, norm=norm, fit_intercept=True)


def check_bounds(result, problem):
    """Assert that the optimum lies between the bounds.

    Norm=1 takes many more rounds than it gets.
    """
    assert result.gap <= (0.1 if problem.norm.p == 1 else TOL)
    optimum = solve(problem, "interior-point", tol=1e-8).objective
    assert result.lower_bound - 1e-8 <= optimum <= result.objective + 1e-8


@for_each(
    intercept=["none", "free", "priced"],
    flip_cost=[1.0, math.inf],
    l2=[0.0, 0.01],
    norm=NORMS,
)
@for_each(cuts=[[], [10, 10, 300], list(range(60, 600, 60))])
def test_the_same_optimum(norm, l2, flip_cost, intercept, cuts):
    """The first shards have rows of one class only."""
    ball = {
        "radius": 0.02,
        "norm": norm,
        "flip_cost": flip_cost,
        "l2": l2,
        "fit_intercept": intercept != "none",
    }
    ball["intercept_cost"] = 2.0 if intercept == "priced" else math.inf
    weights = np.random.default_rng(1).integers(0, 3, size=600)
    problem = Problem(*text(), sample_weight=weights, **ball)
    check_bounds(
        solve(sharded(problem, cuts), "federated", tol=TOL, max_iter=300), problem
    )


@examples(15, 500)
@given(st.data())
def test_no_bound_is_false(data):
    problem = data.draw(problems(scales=(1.0,), l2=1.0))
    cuts = sorted(data.draw(st.sets(st.integers(1, problem.n_rows - 1), max_size=5)))
    result = solve(
        sharded(problem, cuts),
        "federated",
        max_iter=data.draw(st.integers(1, 40)),
        tol=1e-4,
    )
    optimum = solve(problem, "interior-point", tol=1e-8)
    assert result.lower_bound <= optimum.objective + 1e-9
    assert result.objective >= optimum.lower_bound - 1e-9


class Late(ChannelHere):
    """The first group replies to every fifth call only, where calls have a time limit."""

    calls = 0

    def receive(self, seconds=math.inf):
        self.calls += 1
        slow = self.groups[0]
        if slow in self.waiting and self.calls % 5:
            if len(self.waiting) > 1:
                self.waiting[slow] = self.waiting.pop(slow)  # behind all others
            elif math.isfinite(seconds):
                return (), None
        return super().receive(seconds)


class Lost(ChannelHere):
    """The first group loses its state at some calls."""

    calls = 0

    def receive(self, seconds=math.inf):
        self.calls += 1
        if self.calls in (7, 20):
            self.coordinator.shards[0].runs.clear()
        return super().receive(seconds)


def solve_over(kind, problem, cuts, **settings):
    """Solve a sharded problem.

    Return the result, and the channel of a given kind that it used.
    """
    channels = []

    class Shards(ShardsHere):
        def channel(self):
            channels.append(kind(self))
            return channels[-1]

    there = sharded(problem, cuts, Shards)
    return solve(there, "federated", tol=TOL, **settings), channels[0]


@for_each(kind=[Late, Lost], norm=[2, math.inf])
def test_groups_that_are_late_or_lost(norm, kind):
    problem = text_problem(norm)
    result, channel = solve_over(kind, problem, [200, 400])
    check_bounds(result, problem)
    assert channel.calls > 20


class Clocked(ChannelHere):
    """A pass over the rows takes some `seconds`, which depend on the group."""

    now = 0.0

    def __init__(self, coordinator):
        super().__init__(coordinator)
        self.due = {}

    def send(self, group, message):
        super().send(group, message)
        [share] = [one.share for one in message.arguments if isinstance(one, Work)]
        self.due[group] = self.now + 0.1 + share * self.seconds(group)

    def receive(self, seconds=math.inf):
        group = min(self.waiting, key=self.due.__getitem__)
        if self.due[group] > self.now + seconds:
            self.now += max(seconds, 0.0)
            return (), None
        self.now = max(self.now, self.due[group])
        self.waiting = {group: self.waiting[group]} | self.waiting
        return super().receive()

    def stopwatch(self):
        return SimpleNamespace(elapsed=lambda began=self.now: self.now - began)


class OneSlow(Clocked):
    """The first group takes ten times as long as others."""

    def seconds(self, group):
        return 10.0 if group == self.groups[0] else 1.0


class Unsteady(Clocked):
    """Every group is slow now and then, and sometimes all are."""

    def __init__(self, coordinator):
        super().__init__(coordinator)
        self.rng = np.random.default_rng(0)

    def seconds(self, group):
        return float(self.rng.choice([1.0, 1.0, 30.0]))


@pytest.mark.parametrize(
    "norm", [2, math.inf, pytest.param(1, marks=pytest.mark.thorough)]
)
def test_a_slow_group_does_not_set_the_pace_unless_late_proposals_do_harm(
    norm,
):
    problem = text_problem(norm)
    cuts = [150, 300, 450]
    result, channel = solve_over(OneSlow, problem, cuts)
    waiting, patient = solve_over(OneSlow, problem, cuts, patience=math.inf)
    if norm == 1:  # every round waits for all
        assert result.n_iter == waiting.n_iter and channel.now == pytest.approx(
            patient.now
        )
    else:
        assert max(result.gap, waiting.gap) <= TOL and channel.now < 0.5 * patient.now


@for_each(cuts=[[300], [150, 300, 450]], norm=NORMS)
def test_no_bound_is_false_if_speeds_change(norm, cuts):
    problem = text_problem(norm)
    check_bounds(solve_over(Unsteady, problem, cuts, max_iter=200)[0], problem)


def test_rows_at_a_bound_stay_exactly_there():
    """Otherwise they would not count as firm, and be visited in every pass."""
    X, y = text(2000)
    weights = 0.5 + np.random.default_rng(3).random(2000)
    there = sharded(
        Problem(X, y, radius=0.02, norm=math.inf, sample_weight=weights), [1000]
    )
    block = Block(
        there.rows.coordinator.shards[0].problem(
            there.rows.shard_parameters(there.sum_parameters)
        )
    )
    shared = global_ascent_for(there, None, 2)
    for number, share in enumerate([1.0, 0.7, 1.0, 1.0]):
        block.propose(
            shared.work(number, {number - 1: share}, number == 0)._replace(
                factor=1.9 - 0.3 * number
            )
        )
    for name, bound in (("hinge", 1.0), ("flip", 0.0)):
        values = getattr(block, name)
        near = np.abs(values - bound) < 1e-9
        assert near.sum() > 50 and (values[near] == bound).all()


def test_losses_of_multiples():
    costs = np.where(np.arange(600) % 3, 0.5, math.inf)
    problem = Problem(*text(), radius=0.02, norm=2, flip_cost=costs)
    w = np.random.default_rng(2).normal(size=300)
    scales = np.array([0.5, 1.0, 2.0])
    for lam in (0.0, 3.0):
        [losses] = losses_along(problem, scales, [(w, 0.1, lam)])
        for loss, scale in zip(losses, scales, strict=True):
            margins = problem.margins(scale * w, scale * 0.1)
            flipped = np.where(costs < math.inf, 1.0 + margins - 0.5 * lam * scale, 0.0)
            assert loss == pytest.approx(
                np.maximum.reduce([1.0 - margins, flipped, 0.0 * margins]).mean(),
                rel=1e-12,
            )


def test_a_bound_is_that_of_the_multipliers_that_are_left():
    problem = text_problem()
    there = sharded(problem, [200, 400])
    shards = there.rows.coordinator.shards

    def lose_and_stop(progress):
        if progress.iteration == 12:
            shards[0].runs.clear()
        return progress.iteration == 13

    result = solve(there, "federated", tol=1e-9, callback=lose_and_stop)
    duals = (
        np.concatenate([dual.values(shard) for shard in shards])
        for dual in (result.hinge_dual, result.flip_dual)
    )
    assert (
        0
        < result.lower_bound
        <= certify(problem, result.weights, result.intercept, *duals).lower_bound + 1e-9
    )


def test_many_features_on_a_cluster_need_no_matrix():
    X = sparse.eye_array(4, 200_000, format="csr")
    problem = Problem(X, [1, 1, -1, -1], radius=0.01)
    assert choose(sharded(problem, [2])) == "federated"
    with pytest.raises(
        ValueError,
        match=r"200,000 × 200,000 numbers .*use solver='auto' or 'federated'",
    ):
        solve(sharded(problem, [2]), "interior-point")
    with pytest.raises(ValueError, match="is for rows on a cluster"):
        solve(problem, "federated")
