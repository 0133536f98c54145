"""Sharded rows, and the interior point's engine for them: everything is the sum of its values for the shards."""

import math
import pickle
import uuid
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from drsvm.certificate.dual_bound import uncharged_features
from drsvm.certificate.multipliers import (
    ROUNDING_OF_MASSES,
    DualSums,
    Multipliers,
    Totals,
)
from drsvm.engines.engine import Curvature, Engine, Prediction, Rates
from drsvm.engines.sharded import queries
from drsvm.engines.sharded.chunks import Survey
from drsvm.engines.sharded.coordinator import Coordinator, Run
from drsvm.engines.sharded.quantiles import MASS, MOMENT, Bins, crossing
from drsvm.engines.sharded.shard import (
    FLIP,
    HINGE,
    Clipped,
    Kept,
    Multiple,
    Query,
    RemoteVector,
    ShardParameters,
    View,
)
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.norms import norm_for
from drsvm.problem.problem import PARAMETERS, Problem
from drsvm.problem.reducers import Summable
from drsvm.problem.risk import TIE
from drsvm.problem.rows import Attributes, Rows, drawn_members
from drsvm.problem.validation import check_flip_cost
from drsvm.utils.annotations import Costs


class RemoteCounts(NamedTuple):
    """How many rows each row counts for in the automatic radius: as many as its given weight w."""

    # With weights w f² where the rows are: if a row has the weight w f, its pull has
    # such a variance
    problem: Problem
    # The variance of the pull of a row, divided by its weight in that problem
    scale: float
    total: float

    def sum(self) -> float:
        return self.total


class ShardedRows(Rows):
    """Rows in shards, which a coordinator sends messages to.

    A problem with them has neither signs nor weights.
    """

    place = "in shards"
    is_sharded = True
    selectable = False
    most_distinct = 1 << 14

    def __init__(
        self, coordinator: Coordinator, survey: Survey, view: View | None = None
    ):
        self.coordinator = coordinator
        self.survey = survey
        self.known = {}
        self.dtype = survey.dtype
        self.stored = survey.stored
        self.is_sparse = survey.is_sparse
        self.view = view or View()
        self.shape = (
            survey.n_rows,
            survey.n_features
            if self.view.features is None
            else len(self.view.features),
        )

    def attributes(self, flip_cost: Costs | None) -> Attributes:
        """Return the attributes of a problem that depend on its data: some of the costs if every row has its own."""
        survey = self.survey
        costs = self.survey.costs
        if costs is None:
            costs = check_flip_cost(flip_cost)
        elif costs[0] == costs[-1]:
            costs = float(costs[0])
        vectors = {
            "signs": None,
            "sample_weight": None,
            "kept": None,
            "flip_cost": costs,
        }
        return {
            "rows": self,
            **vectors,
            "classes": survey.classes,
            "n_given": sum(survey.lengths.values()),
        }

    # --- queries
    # ----------------------------------------------------------------------------------------------------

    def ball(self, problem: Problem) -> ShardParameters:
        """Return what the shards must know of the parameters."""
        if np.ndim(problem.flip_cost):
            cost = None
        else:
            cost = problem.flip_cost
        return ShardParameters(
            problem.radius, cost, problem.norm, problem.fit_intercept, self.view
        )

    def query(self, problem, function, *arguments, once=False):
        ask = self._ask_once if once else self._ask
        return ask(problem, queries.of_problem, function, *arguments)

    def _ask(self, problem: Problem, query: Query, *arguments, vectors=()) -> Summable:
        return self.coordinator.ask(
            self.ball(problem), query, *arguments, vectors=vectors
        )

    def _ask_once(self, problem: Problem, query: Query, *arguments) -> Summable:
        own_costs = np.ndim(problem.flip_cost) > 0
        key = pickle.dumps(
            (query, self.view.name, problem.norm.p, own_costs, arguments)
        )
        if key not in self.known:
            self.known[key] = self._ask(problem, query, *arguments)
        return self.known[key]

    def engine(self, problem, n_threads):
        return ShardedEngine(
            self.coordinator,
            self.ball(problem),
            problem.n_features + problem.fit_intercept,
        )

    # --- other rows
    # -------------------------------------------------------------------------------------------------

    def shifted(self, offset):
        """Return x − offset for every row: dense rows are shifted in every pass, sparse ones are copied."""
        before = 0.0 if self.view.offset is None else self.view.offset
        return self.seen(View(uuid.uuid4().hex, self.view.features, before + offset))

    def on_features(self, features):
        if self.view.features is None:
            chosen = features
        else:
            chosen = self.view.features[features]
        if self.view.offset is None:
            offset = None
        else:
            offset = self.view.offset[features]
        return self.seen(View(uuid.uuid4().hex, chosen, offset))

    def seen(self, view: View) -> "ShardedRows":
        other = type(self)(self.coordinator, self.survey, view)
        other.known = self.known
        return other

    def with_flip_costs(self, problem, flip_cost):
        return {"flip_cost": check_flip_cost(flip_cost)}

    def counted(self, problem, counts):
        if not isinstance(counts, RemoteCounts):
            raise TypeError(
                f"counts of rows that are {self.place} are not supported: pass sample_weight to WassersteinSVC.fit, or "
                "repeat rows."
            )
        return (
            counts.problem._with(rows=counts.problem.rows.seen(self.view)),
            None,
            counts.scale,
        )

    # --- certificates
    # -----------------------------------------------------------------------------------------------

    def price_and_risk(self, problem, w, b, size):
        return self._prices_and_risks(problem, w, b, size, [problem.radius])[0]

    def worst_case(self, problem, loss, w, b, size, radii):
        if loss == "hinge":
            return np.array(
                [risk for _, risk in self._prices_and_risks(problem, w, b, size, radii)]
            )
        histograms = cache(
            partial(self._ask, problem, queries.costs_of_errors, w, b, size)
        )
        bins = Bins(
            0.0,
            math.inf,
            1.0 / size if size > 0 else min(problem.typical_flip_cost(), 1e300),
        )
        whole, sure = histograms((), bins)
        errors = []
        for radius in radii:
            wrong, spent = whole.total
            if radius < spent:
                cost, wrong, spent = crossing(histograms, bins, radius, MOMENT)
                wrong += (radius - spent) / cost
            errors.append(min(sure + wrong, 1.0))
        return np.array(errors)

    def _prices_and_risks(
        self, problem: Problem, w, b: float, size: float, radii
    ) -> list[tuple[float, float]]:
        """Return the smallest optimal λ ≥ size and the risk, for every radius."""
        histograms = cache(partial(self._ask, problem, queries.breakpoints, w, b, size))
        bins = Bins(
            size,
            math.inf,
            max(size, 1.0 / problem.typical_flip_cost(), 1e-300),
            descending=True,
        )
        whole, loss = histograms((), bins)
        prices_and_risks = []
        for radius in radii:
            affordable = radius * (1.0 + TIE)
            price = size
            (mass, moment) = whole.total
            if affordable < mass:
                price, mass, moment = crossing(histograms, bins, affordable, MASS)
            prices_and_risks.append(
                (price, radius * price + loss + max(moment - price * mass, 0.0))
            )
        return prices_and_risks

    def multipliers(self, problem, hinge_dual, flip_dual):
        vectors = (hinge_dual, flip_dual)
        compensated = bool(uncharged_features(problem)[1].any())
        *sums, rounding = self._ask(
            problem, queries.sums_of_multipliers, *vectors, compensated, vectors=vectors
        )
        return ShardedMultipliers(
            vectors, self.ball(problem), DualSums(*sums), rounding
        )

    # --- vectors
    # ----------------------------------------------------------------------------------------------------

    def zeros(self) -> Multiple:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Multiple(0.0, 0.0)

    def multiples_of_weights(self, problem, positive, negative) -> Multiple:  # pyright: ignore
        return Multiple(positive, negative)

    def multipliers_from(self, problem, values) -> RemoteVector | None:  # pyright: ignore
        known = isinstance(values, RemoteVector) and all(
            kept.run in self.coordinator.runs for kept in values.kept()
        )
        return values if known else None

    def to_given_rows(self, problem, values):
        return values

    # --- samples
    # ----------------------------------------------------------------------------------------------------

    def some(self, size):
        # Of which only the view matters
        ball = ShardParameters(0.0, 1.0, norm_for(2), False, self.view)
        return self.coordinator.ask(
            ball, queries.rows_at_a_stride, max(1, self.survey.n_rows // size)
        )[0]

    def drawn(self, problem, size):
        return self._drawn(
            problem,
            lambda counts: [-(-size * count // sum(counts)) for count in counts],
        )

    def drawn_by_class(self, problem, size):
        return self._drawn(problem, lambda _: [size, size])

    def _drawn(
        self, problem: Problem, sizes_of: Callable[[list[int]], list[int]]
    ) -> Problem:
        """Return the problem on random members of each class, as many as a function of all their numbers says."""
        numbers, *counts = self._ask_once(problem, queries.sizes_of_classes)
        order = np.argsort(numbers)
        ordered = [count[order] for count in counts]
        before = [
            dict(zip(numbers[order].tolist(), np.cumsum(count) - count, strict=True))
            for count in ordered
        ]
        totals = [int(count.sum()) for count in counts]
        places = drawn_members(totals, sizes_of(totals))
        X, signs, weights, costs = self._ask(
            problem, queries.rows_at_places, before, places
        )
        masses = (self.survey.masses / self.survey.masses.sum()).tolist()
        for sign, mass in zip((-1.0, 1.0), masses, strict=True):
            weights[signs == sign] *= mass / weights[signs == sign].sum()
        parameters = {name: getattr(problem, name) for name in PARAMETERS}
        if costs is not None:
            parameters["flip_cost"] = costs
        data = {
            "rows": MemoryRows(X),
            "signs": signs,
            "sample_weight": weights / weights.sum(),
        }
        return Problem.of_checked(**data, classes=problem.classes, **parameters)

    def to_host(self, problem):
        return self.drawn_by_class(problem, problem.n_rows)


class ShardedMultipliers(Multipliers):
    """Clipped multipliers.

    Factors of the two sides apply to their sums, and to the vectors when these are
    used.
    """

    def __init__(
        self,
        unclipped: tuple[RemoteVector | None, RemoteVector | None],
        ball: ShardParameters,
        sums: DualSums,
        rounding: float,
    ):
        self.unclipped = unclipped
        self.ball = ball
        self.sums = sums
        # Also of the sums over the shards
        self.rounding = rounding + ROUNDING_OF_MASSES
        self.factors = np.ones(2)

    def sides(self) -> tuple[float, float]:
        one, other = self.factors * self.sums.mass
        return float(one), float(other)

    def shrink(self, one: float, other: float) -> None:
        self.factors = self.factors * (one, other)

    def totals(self, compensated: bool = False) -> Totals:
        one, other = self.sides()
        v = self.sums.rows @ (self.factors * (1.0, -1.0))
        return Totals(
            one + other,
            float(self.factors @ self.sums.flip_cost),
            v,
            one - other,
            self.rounding,
        )

    def vectors(self) -> tuple[Clipped, Clipped]:
        factors = float(self.factors[0]), float(self.factors[1])
        hinge, flip = (
            Clipped(*self.unclipped, self.ball, factors, which)
            for which in (HINGE, FLIP)
        )
        return hinge, flip


class ShardedEngine(Engine):
    """Sums of the replies of all shards, which have an engine of their own for their rows."""

    small = False  # a round may cost more than a pass

    def __init__(self, coordinator: Coordinator, ball: ShardParameters, n_linear: int):
        self.run = Run(coordinator, ball)
        self.n_linear = n_linear
        self.mass, flippable = coordinator.ask(ball, queries.targets)
        self.weight = 2.0 * self.mass + flippable

    def close(self) -> None:
        self.run.end()

    def center(self, point, lam: float, mu: float) -> None:
        self.run.send("center", point, lam, mu)

    def total_slack(self) -> float:
        return self.run.query(queries.of_engine, "total_slack")[0]

    def curvature(self, *steps: float) -> tuple[float, Curvature]:
        products, *samples = self._after("curvature", steps)
        return products, Curvature(*samples)

    def predict(self, direction, lam_change) -> tuple[Rates, Prediction]:
        rates, *sums = self.run.ask("predict", direction, lam_change)
        return rates, Prediction(*sums)

    def longest_steps(self, direction, lam_change, target) -> Rates:
        return self.run.ask("longest_steps", direction, lam_change, target)[0]

    def dual_sums(self, *steps: float) -> tuple[float, DualSums]:
        products, *sums = self._after("dual_sums", steps)
        return products, DualSums(*sums)

    def multipliers(self) -> tuple[Kept, Kept]:  # pyright: ignore
        return self.run.keep("keep_multipliers")

    def _after(self, name: str, steps: tuple[float, ...]):
        """Return values of all shards after some steps: without any, their state does not change."""
        if steps:
            return self.run.ask(name, *steps)
        return self.run.query(queries.of_engine, name)
