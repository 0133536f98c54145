"""Rows in shards: what depends on all rows is the sum of its values for the shards."""

import math
import pickle
import uuid
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
from drsvm.engines.sharded import queries
from drsvm.engines.sharded.chunks import Survey
from drsvm.engines.sharded.coordinator import Coordinator
from drsvm.engines.sharded.quantiles import MASS, MOMENT, Bins, crossing
from drsvm.engines.sharded.shard import (
    FLIP,
    HINGE,
    Clipped,
    Multiple,
    Query,
    RemoteVector,
    ShardParameters,
    View,
)
from drsvm.engines.sharded.sharded_engine import ShardedEngine
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.norms import norm_for
from drsvm.problem.problem import Problem
from drsvm.problem.reducers import Joined, Summable
from drsvm.problem.risk import TIE, typical_flip_cost
from drsvm.problem.rows import Attributes, Rows, SumParameters, drawn_members
from drsvm.problem.validation import check_flip_cost, check_number
from drsvm.utils.annotations import Costs


class RemoteCounts(NamedTuple):
    """How many rows each row counts for in the automatic radius: its given weight.

    A row with the given weight w, whose class has the factor f, has the weight
    w f / Σ w f in a problem. As it represents w rows, the variance of its gradient is
    that weight squared, divided by w, which is w f² / (Σ w f)². These numbers are where
    the rows are: as the weights of a problem, up to a factor.
    """

    problem: Problem  # with the weights w f² / Σ w f²
    scale: float  # Σ w f² / (Σ w f)²
    total: float  # Σ w

    def sum(self) -> float:
        return self.total


class Sample(NamedTuple):
    """Rows in this process's memory, with what a problem has for each."""

    rows: MemoryRows
    signs: np.ndarray
    weights: np.ndarray
    flip_cost: Costs
    row_radius: Costs


class ShardedRows(Rows):
    """Rows in shards, which a coordinator sends messages to.

    A problem with them has neither signs nor weights, as these are in the shards, and
    instead of arrays with an entry per row there are objects that stand for them
    (`RemoteVector`). `given` are the parameters of such a problem.
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
        # Replies to queries that are sent once (`_ask_once`), for all views of the rows
        self.replies = {}
        self.dtype = survey.dtype
        self.stored = survey.stored
        self.is_sparse = survey.is_sparse
        self.view = view or View()
        n_features = survey.n_features
        if self.view.features is not None:
            n_features = len(self.view.features)
        self.shape = (survey.n_rows, n_features)

    def attributes(self, flip_cost: Costs | None) -> Attributes:
        """Return the attributes of a problem that depend on its data.

        If every row has its own flip cost, `flip_cost` has only some of them, and
        likewise the radii of the rows, which are otherwise none of these attributes.
        """
        survey = self.survey
        costs = survey.costs
        if costs is None:
            costs = check_flip_cost(flip_cost)
        elif costs[0] == costs[-1]:
            costs = float(costs[0])
        attributes = {
            "rows": self,
            "signs": None,
            "sample_weight": None,
            "kept": None,
            "flip_cost": costs,
            "classes": survey.classes,
            "n_given": sum(survey.lengths.values()),
        }
        radii = survey.radii
        if radii is not None:
            if radii[0] == radii[-1]:
                radii = float(radii[0])
            attributes["row_radius"] = radii
        return attributes

    # --- queries ---

    def shard_parameters(self, given: SumParameters) -> ShardParameters:
        """Return what the shards must know of the parameters."""
        flip_cost = given.flip_cost
        if isinstance(flip_cost, np.ndarray):
            flip_cost = None
        row_radius = given.row_radius
        if isinstance(row_radius, np.ndarray):
            row_radius = None
        return ShardParameters(
            given.radius,
            flip_cost,
            given.norm,
            given.fit_intercept,
            row_radius,
            self.view,
        )

    def query(
        self, given: SumParameters, function, *arguments, once: bool = False
    ) -> Summable:
        """Return the sum of the values of a function of the shards' problems."""
        ask = self._ask_once if once else self._ask
        return ask(given, queries.of_problem, function, *arguments)

    def _ask(
        self, given: SumParameters, query: Query, *arguments, vectors=()
    ) -> Summable:
        """Return the sum of the values of a query, which may use kept vectors."""
        return self.coordinator.ask(
            self.shard_parameters(given), query, *arguments, vectors=vectors
        )

    def _ask_once(self, given: SumParameters, query: Query, *arguments) -> Summable:
        """Return the value of a query, which is sent once only and then kept.

        It depends on the rows, the view and the norm only.
        """
        own_costs = np.ndim(given.flip_cost) > 0
        # As bytes, since arrays among the arguments could not be a key
        key = pickle.dumps((query, self.view.name, given.norm.p, own_costs, arguments))
        if key not in self.replies:
            self.replies[key] = self._ask(given, query, *arguments)
        return self.replies[key]

    def engine(self, problem, n_threads):
        n_linear = problem.n_features + problem.fit_intercept
        parameters = self.shard_parameters(problem.sum_parameters)
        return ShardedEngine(self.coordinator, parameters, n_linear)

    # --- other rows ---

    def shifted(self, offset):
        """Return x − offset for every row (see `View.of`)."""
        if self.view.offset is not None:
            offset = self.view.offset + offset
        return self.seen(View(uuid.uuid4().hex, self.view.features, offset))

    def on_features(self, features):
        offset = self.view.offset
        if offset is not None:
            offset = offset[features]
        if self.view.features is not None:
            features = self.view.features[features]
        return self.seen(View(uuid.uuid4().hex, features, offset))

    def seen(self, view: View) -> "ShardedRows":
        """Return the same rows with other features."""
        other = type(self)(self.coordinator, self.survey, view)
        other.replies = self.replies
        return other

    def with_flip_costs(self, flip_cost, n_given, kept):
        return {"flip_cost": check_flip_cost(flip_cost)}

    def with_row_radius(self, row_radius, n_given, kept):
        return {"row_radius": check_number(row_radius, "row_radius")}

    def counted(self, counts: RemoteCounts) -> tuple[Problem, float]:
        """Return a problem for variances of gradients, and its scale (RemoteCounts)."""
        if not isinstance(counts, RemoteCounts):
            raise TypeError(
                f"counts of rows that are {self.place} are not supported: "
                "pass sample_weight to WassersteinSVC.fit, or repeat rows."
            )
        rows = counts.problem.rows.seen(self.view)
        return counts.problem.with_rows(rows), counts.scale

    # --- certificates ---

    def price_and_risk(
        self, given: SumParameters, w, b: float, norm_of_weights: float
    ) -> tuple[float, float]:
        """Return the smallest optimal λ ≥ ‖w‖_q, and the worst-case risk with it."""
        return self._prices_and_risks(given, w, b, norm_of_weights, [given.radius])[0]

    def worst_case(
        self,
        given: SumParameters,
        loss: str,
        w,
        b: float,
        norm_of_weights: float,
        radii,
    ) -> np.ndarray:
        """Return the worst-case risk for every radius (see `Problem.worst_case`)."""
        if loss == "zero-one":
            return self._worst_case_errors(given, w, b, norm_of_weights, radii)
        found = self._prices_and_risks(given, w, b, norm_of_weights, radii)
        return np.array([risk for _, risk in found])

    def _worst_case_errors(
        self, given: SumParameters, w, b: float, norm_of_weights: float, radii
    ) -> np.ndarray:
        """Return the worst-case error for every radius.

        The adversary turns the cheapest rows until the radius is spent, and the next
        one in part (`problem/risk.py` has the same for rows in memory). What turning
        the first rows costs is a sum of mass · cost, so `crossing` finds the last one.
        """
        ask = partial(self._ask, given, queries.costs_of_errors, w, b, norm_of_weights)
        # Several radii begin with the same histogram, and may share more.
        histograms = cache(ask)
        # A cost is a margin divided by the norm of the weights, or a flip cost.
        unit = min(typical_flip_cost(given.flip_cost), 1e300)
        if norm_of_weights > 0:
            unit = 1.0 / norm_of_weights
        bins = Bins(0.0, math.inf, unit)
        whole, sure = histograms((), bins)
        errors = []
        for radius in radii:
            wrong, spent = whole.total
            if radius < spent:
                cost, wrong, spent = crossing(histograms, bins, radius, MOMENT)
                # A part of the row for which the radius is not enough
                wrong += (radius - spent) / cost
            errors.append(min(sure + wrong, 1.0))
        return np.array(errors)

    def _prices_and_risks(
        self, given: SumParameters, w, b: float, norm_of_weights: float, radii
    ) -> list[tuple[float, float]]:
        """Return the smallest optimal λ ≥ ‖w‖_q and the risk, for every radius.

        As a function of λ, the expected loss has a breakpoint for every row whose flip
        has a cost, and to the left of it a slope that is steeper by π_i κ_i, the mass
        of the breakpoint. So the optimal λ is the largest breakpoint at which the mass
        of those from there up exceeds the radius, or ‖w‖_q if there is none above it.
        """
        ask = partial(self._ask, given, queries.breakpoints, w, b, norm_of_weights)
        # Several radii begin with the same histogram, and may share more.
        histograms = cache(ask)
        # Breakpoints are about 1 / κ, if not smaller than ‖w‖_q.
        unit = max(norm_of_weights, 1.0 / typical_flip_cost(given.flip_cost), 1e-300)
        bins = Bins(norm_of_weights, math.inf, unit, descending=True)
        whole, loss = histograms((), bins)
        prices_and_risks = []
        for radius in radii:
            affordable = radius * (1.0 + TIE)
            price = norm_of_weights
            mass, moment = whole.total
            if affordable < mass:
                price, mass, moment = crossing(histograms, bins, affordable, MASS)
            # Each flip adds π_i κ_i (λ_i − λ) to the loss, with λ_i the breakpoint.
            risk = radius * price + loss + max(moment - price * mass, 0.0)
            prices_and_risks.append((price, risk))
        return prices_and_risks

    def multipliers(self, problem, hinge_dual, flip_dual):
        vectors = (hinge_dual, flip_dual)
        compensated = bool(uncharged_features(problem)[1].any())
        given = problem.sum_parameters
        *sums, rounding = self._ask(
            given, queries.sums_of_multipliers, *vectors, compensated, vectors=vectors
        )
        return ShardedMultipliers(
            vectors, self.shard_parameters(given), DualSums(*sums), rounding
        )

    # --- vectors ---

    def zeros(self) -> Multiple:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Multiple(0.0, 0.0)

    def multiples_of_weights(self, signs, weights, positive, negative) -> Multiple:  # pyright: ignore
        return Multiple(positive, negative)

    def multipliers_from(self, values, n_given, kept) -> RemoteVector | None:  # pyright: ignore
        if not isinstance(values, RemoteVector):
            return None
        known = all(kept.run in self.coordinator.runs for kept in values.kept())
        return values if known else None

    def to_given_rows(self, values, n_given, kept):
        return values

    # --- samples ---

    def view_only(self) -> ShardParameters:
        """Return parameters of which only the view matters."""
        return ShardParameters(0.0, 1.0, norm_for(2), False, 0.0, self.view)

    def some(self, size):
        stride = max(1, self.survey.n_rows // size)
        [rows] = self.coordinator.ask(
            self.view_only(), queries.rows_at_a_stride, stride
        )
        return rows

    def drawn(self, given: SumParameters, size: int) -> Sample:
        """Return about `size` random rows, each class by its share."""
        _, *counts = self._sizes_of_classes(given)
        totals = [int(count.sum()) for count in counts]
        sizes = [-(-size * total // sum(totals)) for total in totals]  # rounded up
        return self._drawn(given, sizes)

    def drawn_by_class(self, given: SumParameters, size: int) -> Sample:
        """Return `size` random rows of each class, or all if it is smaller."""
        return self._drawn(given, [size, size])

    def _sizes_of_classes(self, given: SumParameters) -> Joined:
        """Return the numbers of the shards, and of their rows of each class."""
        return self._ask_once(given, queries.sizes_of_classes)

    def _drawn(self, given: SumParameters, sizes: list[int]) -> Sample:
        """Return some random rows of the negative class, and some of the positive."""
        numbers, *counts = self._sizes_of_classes(given)
        # The rows of a class are numbered in the order of the shards, which may have
        # replied in any order.
        order = np.argsort(numbers)
        before = []
        for count in counts:
            ordered = count[order]
            earlier = np.cumsum(ordered) - ordered
            before.append(dict(zip(numbers[order].tolist(), earlier, strict=True)))
        totals = [int(count.sum()) for count in counts]
        places = drawn_members(totals, sizes)
        X, signs, weights, costs, radii = self._ask(
            given, queries.rows_at_places, before, places
        )
        # Each class has the weight that it has among all rows.
        masses = (self.survey.masses / self.survey.masses.sum()).tolist()
        for sign, mass in zip((-1.0, 1.0), masses, strict=True):
            weights[signs == sign] *= mass / weights[signs == sign].sum()
        if costs is None:
            costs = given.flip_cost
        if radii is None:
            radii = given.row_radius
        return Sample(MemoryRows(X), signs, weights / weights.sum(), costs, radii)


class ShardedMultipliers(Multipliers):
    """Clipped multipliers, which stay in the shards.

    To shrink them, factors of the two sides are applied to their sums at once, and to
    the vectors when these are used.
    """

    def __init__(
        self,
        unclipped: tuple[RemoteVector | None, RemoteVector | None],
        parameters: ShardParameters,
        sums: DualSums,
        rounding: float,
    ):
        self.unclipped = unclipped
        self.parameters = parameters
        self.sums = sums
        # Also of the sums over the shards
        self.rounding = rounding + ROUNDING_OF_MASSES
        self.factors = np.ones(2)

    def sides(self) -> tuple[float, float]:
        one, other = self.factors * self.sums.mass
        return float(one), float(other)

    def shrink(self, one, other) -> None:
        self.factors = self.factors * (one, other)

    def totals(self, compensated=False) -> Totals:
        one, other = self.sides()
        v = self.sums.rows @ (self.factors * (1.0, -1.0))
        flip_cost = float(self.factors @ self.sums.flip_cost)
        return Totals(one + other, flip_cost, v, one - other, self.rounding)

    def vectors(self) -> tuple[Clipped, Clipped]:
        factors = float(self.factors[0]), float(self.factors[1])
        hinge = Clipped(*self.unclipped, self.parameters, factors, HINGE)
        flip = Clipped(*self.unclipped, self.parameters, factors, FLIP)
        return hinge, flip
