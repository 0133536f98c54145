"""Problems whose rows are in parts: the questions of `model/row_operations.py` are answered by sums over the parts."""

import math
import pickle
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from drsvm.engines.parts import questions
from drsvm.engines.parts.chunks import Survey
from drsvm.engines.parts.engine import PartedEngine
from drsvm.engines.parts.keeper import Keeper
from drsvm.engines.parts.part import Ball, View
from drsvm.engines.parts.spread import MASS, MOMENT, Level, crossing
from drsvm.engines.parts.vectors import FLIP, HINGE, Clipped, Multiple, Vector
from drsvm.engines.remote import RemoteProblem, RowsElsewhere
from drsvm.model.dual_scale import uncharged_features
from drsvm.model.multipliers import ROUNDING_OF_MASSES, DualSums, Multipliers, Totals
from drsvm.model.problem import Problem
from drsvm.model.risk import TIE
from drsvm.model.row_operations import Decisions, PullVariances, drawn_members


class CountsElsewhere(NamedTuple):
    """How many rows each row counts for in the automatic radius.

    If a row counts for as many as its given weight w says, and has f times this weight in a problem, its pull has a
    variance in proportion to w f². A problem with these weights has them where the rows are.
    """

    problem: Any
    scale: float  # the variance of the pull of a row, divided by its weight in that problem
    total: float

    def sum(self) -> float:
        """Return how many rows all rows together count for."""
        return self.total


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PartedProblem(RemoteProblem):
    """A problem whose rows are in parts, to which a keeper passes messages on."""

    place = "in parts"

    keeper: Keeper = field(repr=False)
    survey: Survey = field(repr=False)
    view: View = field(repr=False)
    known: dict[bytes, Any] = field(repr=False)

    def __init__(self, keeper: Keeper, survey: Survey, **ball):
        self._set(keeper=keeper, survey=survey, view=View(), known={})
        self._set(signs=None, sample_weight=None, classes=survey.classes, kept=None, n_given=survey.n_given)
        shape = survey.n_rows, survey.n_features
        self._set(X=RowsElsewhere(shape, survey.dtype, survey.stored, survey.is_sparse))
        self._set_parameters(**{name: value for name, value in ball.items() if name != "flip_cost"})
        if survey.costs is None:
            self._set_parameters(flip_cost=ball["flip_cost"])
        else:
            same = survey.costs[0] == survey.costs[-1]
            self._set(flip_cost=float(survey.costs[0]) if same else survey.costs)

    @property
    def ball(self) -> Ball:
        """What the parts must know of the parameters."""
        cost = None if isinstance(self.flip_cost, np.ndarray) else self.flip_cost
        return Ball(self.radius, cost, self.norm, self.fit_intercept, self.view)

    def ask(self, question, *arguments, **options) -> Any:
        """Ask all parts in one round."""
        return self.keeper.ask(self.ball, question, *arguments, **options)

    def ask_once(self, question, *arguments) -> Any:
        """Ask all parts, or return what they answered before; also problems with another radius know it.

        For questions whose answers are small and do not depend on the radius.
        """
        key = pickle.dumps((question.__name__, self.view.name, self.norm.p, self.ball.flip_cost is None, arguments))
        if key not in self.known:
            self.known[key] = self.ask(question, *arguments)
        return self.known[key]

    def make_engine(self, n_threads: int | None) -> PartedEngine:
        return PartedEngine(self.keeper, self.ball, self.n_features + self.fit_intercept)

    # --- other rows -------------------------------------------------------------------------------------------------

    def shifted(self, offset) -> "PartedProblem":
        """Return the problem with x − offset for x: dense rows are shifted in every pass, sparse ones are copied."""
        before = 0.0 if self.view.offset is None else self.view.offset
        return self._seen(View(uuid.uuid4().hex, self.view.features, before + offset))

    def on_features(self, features) -> "PartedProblem":
        """Return the problem with some of the features: dense ones are selected in every pass, sparse ones copied."""
        if len(features) == self.n_features:
            return self
        chosen = features if self.view.features is None else self.view.features[features]
        offset = None if self.view.offset is None else self.view.offset[features]
        other = self._seen(View(uuid.uuid4().hex, chosen, offset))
        other._set(X=self.X._replace(shape=(self.n_rows, len(features))))
        other._set_parameters(**self.prices_of(features))
        return other

    def _seen(self, view: View) -> "PartedProblem":
        other: Any = self.replace()
        other._set(view=view)
        return other

    # --- certificates -----------------------------------------------------------------------------------------------

    def price_and_objective(self, w, b: float = 0.0) -> tuple[float, float]:
        [price], [risk] = self._prices_and_risks(w, b, self.norm_of(w, b), [self.radius])
        return price, risk + 0.5 * self.l2 * float(w @ w)

    def worst_case_hinge(self, w, b: float, size: float, radii) -> np.ndarray:
        return np.array(self._prices_and_risks(w, b, size, radii)[1])

    def _prices_and_risks(self, w, b: float, size: float, radii) -> tuple[list[float], list[float]]:
        """Return the smallest optimal λ ≥ size and the risk, for every radius."""
        looks = _Looks(self, questions.breakpoints, w, b, size)
        level = Level(size, math.inf, max(size, 1.0 / self.typical_flip_cost(), 1e-300), descending=True)
        spread, loss = looks.first(level)
        prices, risks = [], []
        for radius in radii:
            affordable = radius * (1.0 + TIE)
            price, (mass, moment) = size, spread.total
            if affordable < mass:
                price, mass, moment = crossing(looks, level, affordable, MASS)
            prices.append(price)
            risks.append(radius * price + loss + max(moment - price * mass, 0.0))
        return prices, risks

    def worst_case_error(self, w, b: float, size: float, radii) -> np.ndarray:
        looks = _Looks(self, questions.costs_of_errors, w, b, size)
        level = Level(0.0, math.inf, 1.0 / size if size > 0 else min(self.typical_flip_cost(), 1e300))
        spread, sure = looks.first(level)
        errors = []
        for radius in radii:
            wrong, spent = spread.total
            if radius < spent:
                cost, wrong, spent = crossing(looks, level, radius, MOMENT)
                wrong += (radius - spent) / cost
            errors.append(min(sure + wrong, 1.0))
        return np.array(errors)

    def feasible(self, hinge_dual, flip_dual) -> "PartedMultipliers":
        return PartedMultipliers(self, hinge_dual, flip_dual)

    def no_multipliers(self) -> Vector:
        return Multiple(0.0, 0.0)

    def multiples_of_weights(self, positive: float, negative: float) -> Vector:
        return Multiple(positive, negative)

    # --- classes ----------------------------------------------------------------------------------------------------

    def masses_of_classes(self) -> tuple[float, float]:
        negative, positive = self.survey.shares
        return positive, negative

    def flip_costs_of_classes(self) -> tuple[float, float]:
        if isinstance(self.flip_cost, np.ndarray):
            return tuple(self.ask_once(questions.costs_of_classes))
        positive, negative = self.masses_of_classes()
        return self.flip_cost * positive, self.flip_cost * negative

    def masses_by_flip_cost(self, sign: float) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(self.flip_cost, np.ndarray):
            return np.array([self.flip_cost]), np.array([self.masses_of_classes()[int(sign < 0)]])
        return self.ask_once(questions.masses_by_cost, sign)

    def pull_of_classes(self, positive: float = 1.0, negative: float = 1.0) -> tuple[np.ndarray, float]:
        one, other = self.ask_once(questions.pulls_of_classes)
        mass, mass_of_other = self.masses_of_classes()
        return positive * one - negative * other, positive * mass - negative * mass_of_other

    # --- decisions and sizes ----------------------------------------------------------------------------------------

    def decisions(self, w, b: float = 0.0) -> Decisions:
        highest, lowest, mass = self.ask(questions.decisions, w, b)
        return Decisions(-float(lowest), float(highest), mass)

    def flips_pay(self, w, b: float = 0.0) -> bool:
        return self.ask(questions.flips_pay, w, b) > 0

    def typical_row_norm(self, of_features=None) -> float:
        norms, mass = self.ask_once(questions.row_norms, of_features)
        if of_features is not None:
            return norms
        return norms / mass if mass > 0 else 1.0

    def column_squares(self) -> np.ndarray:
        return self.ask_once(questions.column_squares)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        found = self.ask_once(questions.moments)
        return found.means, np.sqrt(np.maximum(found.variances, 0.0))

    def pull_variances(self, pilot=None, counts=None) -> PullVariances:
        if not isinstance(counts, CountsElsewhere | None):
            raise TypeError(
                f"counts of rows that are {self.place} are not supported: pass sample_weight to WassersteinSVC.fit, or "
                "repeat rows."
            )
        if counts is None:
            return PullVariances(*self.ask(questions.pull_variances, pilot, None))
        other = counts.problem._seen(self.view)
        return PullVariances(*other.ask(questions.pull_variances, pilot, counts.scale))

    # --- samples ----------------------------------------------------------------------------------------------------

    def drawn(self, size: int) -> Problem:
        direction = np.random.default_rng(0).normal(size=self.n_features)
        [keys] = self.ask_once(questions.size_of_keys, direction)
        scale = 1e6 / (keys / self.n_rows or 1.0)
        drawn = self.ask_once(questions.rows_with_small_keys, direction, scale, size / self.n_rows)
        if not size / 2 < len(drawn[1]) < 2 * size:  # with many equal rows the keys are not uniform
            drawn = self.ask_once(questions.rows_at_a_stride, max(1, self.n_rows // size))
        return self._here(*drawn)

    def drawn_by_class(self, size: int) -> Problem:
        numbers, *counts = self.ask_once(questions.sizes_of_classes)
        order = np.argsort(numbers)
        before = [dict(zip(numbers[order].tolist(), np.cumsum(one[order]) - one[order], strict=True)) for one in counts]
        places = drawn_members([int(one.sum()) for one in counts], size)
        X, signs, weights, costs = self.ask(questions.rows_at_places, before, places)
        for sign, mass in zip((-1.0, 1.0), self.survey.shares, strict=True):
            weights[signs == sign] *= mass / weights[signs == sign].sum()
        return self._here(X, signs, weights, costs)

    def fetched(self) -> Problem:
        return self.drawn_by_class(self.n_rows)

    # --- vectors ----------------------------------------------------------------------------------------------------

    def multipliers_from(self, values) -> Vector | None:
        known = isinstance(values, Vector) and all(kept.run in self.keeper.runs for kept in values.kept())
        return values if known else None

    def relabelled(self, positive, sample_weight=None) -> "PartedProblem":
        raise TypeError(f"The labels of rows that are {self.place} cannot be changed.")


class _Looks:
    """How numbers of all rows are spread; nothing is asked twice."""

    def __init__(self, problem: PartedProblem, question, *arguments):
        self.problem, self.question, self.arguments = problem, question, arguments
        self.known: dict[Any, Any] = {}

    def __call__(self, path, level):
        return self._ask(path, level)[0]

    def first(self, level):
        """Return the spread of all numbers, and what comes with it."""
        return self._ask((), level)

    def _ask(self, path, level):
        if (path, level) not in self.known:
            self.known[path, level] = self.problem.ask(self.question, *self.arguments, path, level)
        return self.known[path, level]


class PartedMultipliers(Multipliers):
    """Clipped multipliers; factors of the two sides apply to their sums, and to the vectors when these are used."""

    def __init__(self, problem: PartedProblem, hinge_dual: Vector | None, flip_dual: Vector | None):
        self.given, self.ball = (hinge_dual, flip_dual), problem.ball
        careful = bool(uncharged_features(problem)[1].any())
        *sums, rounding = problem.ask(questions.sums_of_multipliers, *self.given, careful, vectors=self.given)
        self.sums, self.rounding = DualSums(*sums), rounding + ROUNDING_OF_MASSES  # also of the sums over the parts
        self.factors = np.ones(2)

    def sides(self) -> tuple[float, float]:
        one, other = self.factors * self.sums.mass
        return float(one), float(other)

    def shrink(self, one: float, other: float) -> None:
        self.factors = self.factors * (one, other)

    def totals(self, careful: bool = False) -> Totals:
        one, other = self.sides()
        pull = self.sums.rows @ (self.factors * (1.0, -1.0))
        return Totals(one + other, float(self.factors @ self.sums.flip_cost), pull, one - other, self.rounding)

    def vectors(self) -> tuple[Clipped, Clipped]:
        factors = float(self.factors[0]), float(self.factors[1])
        one, other = (Clipped(*self.given, self.ball, factors, which) for which in (HINGE, FLIP))
        return one, other
