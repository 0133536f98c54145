"""Problems whose rows are on a graphics card. Everything with one entry per row stays there."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drsvm.engines.gpu.device import cupy, here, on_device
from drsvm.engines.gpu.engine import GpuEngine, GpuSamples
from drsvm.engines.gpu.given import check_that_both_remain, gpu_rows, labels_on_card, weights_on_card
from drsvm.engines.gpu.multipliers import GpuMultipliers
from drsvm.engines.gpu.rows import GpuRows
from drsvm.engines.remote import RemoteProblem, RowsElsewhere
from drsvm.model.multipliers import Multipliers
from drsvm.model.problem import Problem
from drsvm.model.risk import TIE
from drsvm.model.row_operations import Decisions, PullVariances, drawn_members

QUANTILES = 1001
"""Number of flip costs that are known here if every row has its own."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GpuProblem(RemoteProblem):
    """A problem with rows on a graphics card; the parameters are those of `Problem`.

    X is an array of CuPy, or of any library that shares arrays on the card (DLPack), or a CSR matrix of CuPy; in
    float64 or float32. The labels, weights and costs of the rows may be on the card or not.
    """

    rows: GpuRows = field(repr=False)
    device_signs: Any = field(repr=False)
    device_weights: Any = field(repr=False)
    device_costs: Any = field(repr=False)  # of flips, if every row has its own

    place = "on a graphics card"

    def __init__(self, X, y, radius=0.1, flip_cost: Any = 1.0, norm: Any = 2, l2=0.0, sample_weight=None, **other):
        rows = gpu_rows(X)
        n, d = rows.shape
        classes, signs = labels_on_card(y, n)
        weights = weights_on_card(sample_weight, n)
        kept = None
        if not bool((weights > 0).all()):
            kept = cupy().flatnonzero(weights)
            rows, signs, weights = rows.taken(kept), signs[kept], weights[kept]
            check_that_both_remain(signs, classes)
        shape = (rows.shape[0], d)
        self._set(X=RowsElsewhere(shape, rows.dtype, rows.stored, rows.is_sparse), signs=None, sample_weight=None)
        self._set(classes=classes, kept=kept, n_given=n, rows=rows, device_signs=signs, device_weights=weights)
        self._set_flip_costs(flip_cost)
        defaults = {"fit_intercept": False, "intercept_cost": math.inf, "feature_cost": None, "monotonic_cst": None}
        self._set_parameters(radius=radius, norm=norm, l2=l2, **defaults | other)

    def _set_flip_costs(self, flip_cost) -> None:
        """Keep the costs of all rows on the card, and some of them here."""
        if np.ndim(flip_cost) == 0:
            self._set(device_costs=None)
            self._set_parameters(flip_cost=float(flip_cost))
            return
        costs = on_device(flip_cost)
        if costs.shape != (self.n_given,) or bool((~(costs >= 0)).any()):
            raise ValueError(
                f"flip_cost must have one entry ≥ 0 per row of X ({self.n_given}), got shape {costs.shape}."
            )
        costs = costs if self.kept is None else costs[self.kept]
        some = here(cupy().sort(costs)[cupy().linspace(0, len(costs) - 1, min(len(costs), QUANTILES)).astype(int)])
        same = some[0] == some[-1]
        self._set(device_costs=None if same else costs, flip_cost=float(some[0]) if same else some)

    # --- the interior point -----------------------------------------------------------------------------------------

    def make_engine(self, n_threads: int | None) -> GpuEngine:
        samples = GpuSamples(self.device_signs, self.device_weights, *self.flips())
        return GpuEngine(self.rows, samples, self.fit_intercept)

    def flips(self) -> tuple[Any, Any]:
        """Return whether labels can be flipped (1.0 or 0.0) and at which cost, for every row or for all of them."""
        if self.device_costs is None:
            possible = self.flips_possible
            return on_device([float(possible)]), on_device([self.flip_cost if possible else 0.0])
        can_flip = (self.device_costs == 0) | (cupy().isfinite(self.device_costs) & (self.radius > 0))
        return can_flip.astype(np.float64), cupy().where(can_flip, self.device_costs, 0.0)

    # --- certificates -----------------------------------------------------------------------------------------------

    def device_margins(self, w, b: float = 0.0) -> Any:
        """Return m_i = y_i (w·x_i + b) for every row, on the card."""
        return self.rows.dot(w, b) * self.device_signs

    def price_and_objective(self, w, b: float = 0.0) -> tuple[float, float]:
        margins = self.device_margins(w, b)
        price = self._price(margins, self.norm_of(w, b))
        loss = float(self.device_weights @ self._losses(margins, price))
        return price, self.radius * price + loss + 0.5 * self.l2 * float(w @ w)

    def _losses(self, margins, price: float) -> Any:
        xp = cupy()
        flips, kappa = self._all_flips()
        hinge = xp.maximum(1.0 - margins, 0.0)
        return xp.where(flips > 0, xp.maximum(hinge, 1.0 + margins - kappa * price), hinge)

    def _all_flips(self) -> tuple[Any, Any]:
        """Return which rows have a finite cost of a flip, whether or not it is affordable, and that cost."""
        costs = on_device([self.flip_cost]) if self.device_costs is None else self.device_costs
        finite = cupy().isfinite(costs)
        return finite.astype(np.float64), cupy().where(finite, costs, 0.0)

    def _price(self, margins, least: float) -> float:
        """Return the smallest minimiser λ ≥ ‖w‖: as in `model/risk.py`, a quantile of the breakpoints."""
        xp = cupy()
        finite, costs = self._all_flips()
        priced = (finite > 0) & (costs > 0)
        if not bool(priced.any()):
            return float(least)
        breakpoints = xp.where(priced, xp.minimum(2.0 * margins, 1.0 + margins) / xp.where(priced, costs, 1.0), -np.inf)
        slopes = self.device_weights * costs
        above = xp.flatnonzero(breakpoints > least)
        affordable = self.radius * (1.0 + TIE)
        if affordable >= float(slopes[above].sum()):
            return float(least)
        order = above[xp.argsort(-breakpoints[above])]
        mass = xp.cumsum(slopes[order])
        first_too_many = int(xp.searchsorted(mass, xp.asarray([affordable]), side="right")[0])
        return float(breakpoints[order[min(first_too_many, len(order) - 1)]])

    def worst_case_hinge(self, w, b: float, size: float, radii) -> np.ndarray:
        margins = self.device_margins(w, b)
        risks = []
        for radius in radii:
            problem: Any = self.replace(radius=float(radius))
            price = problem._price(margins, size)
            risks.append(radius * price + float(self.device_weights @ problem._losses(margins, price)))
        return np.array(risks)

    def worst_case_error(self, w, b: float, size: float, radii) -> np.ndarray:
        xp = cupy()
        margins, weights = self.device_margins(w, b), self.device_weights
        costs = xp.full(self.n_rows, self.flip_cost) if self.device_costs is None else self.device_costs.copy()
        costs = xp.minimum(costs, margins / size) if size > 0 else costs
        costs[margins <= 0] = 0.0
        order = xp.argsort(costs)
        order = order[(costs[order] > 0) & xp.isfinite(costs[order])]
        spent, wrong = (xp.concatenate([xp.zeros(1), xp.cumsum(v[order])]) for v in (weights * costs, weights))
        sure = float(weights[costs == 0].sum())
        return np.minimum(sure + here(xp.interp(on_device(np.asarray(radii)), spent, wrong)), 1.0)

    def feasible(self, hinge_dual, flip_dual) -> Multipliers:
        return GpuMultipliers(self, hinge_dual, flip_dual)

    def no_multipliers(self) -> Any:
        return cupy().zeros(self.n_rows)

    def multipliers_from(self, values) -> Any:
        return self.to_kept_rows(on_device(values)) if len(values) == self.n_given else None

    def to_kept_rows(self, values) -> Any:
        return values if self.kept is None else values[self.kept]

    def to_given_rows(self, values) -> Any:
        if self.kept is None:
            return values
        spread = cupy().zeros(self.n_given)
        spread[self.kept] = values
        return spread

    # --- classes and decisions --------------------------------------------------------------------------------------

    def masses_of_classes(self) -> tuple[float, float]:
        positive = float(self.device_weights[self.device_signs > 0].sum())
        return positive, float(self.device_weights[self.device_signs < 0].sum())

    def flip_costs_of_classes(self) -> tuple[float, float]:
        one, other = self.masses_of_classes()
        if self.device_costs is None:
            return self.flip_cost * one, self.flip_cost * other
        priced, positive = self.device_weights * self.device_costs, self.device_signs > 0
        return float(priced[positive].sum()), float(priced[~positive].sum())

    def masses_by_flip_cost(self, sign: float) -> tuple[np.ndarray, np.ndarray]:
        if self.device_costs is None:
            return self.flip_costs, np.array([self.masses_of_classes()[0 if sign > 0 else 1]])
        inside = self.device_signs == sign
        costs, places = cupy().unique(self.device_costs[inside], return_inverse=True)
        return here(costs), here(cupy().bincount(places, self.device_weights[inside], minlength=len(costs)))

    def multiples_of_weights(self, positive: float, negative: float) -> Any:
        return cupy().where(self.device_signs > 0, positive, negative) * self.device_weights

    def pull_of_classes(self, positive: float = 1.0, negative: float = 1.0) -> tuple[np.ndarray, float]:
        return self.signed_sum(self.multiples_of_weights(positive, negative) * self.device_signs)

    def signed_sum(self, signed) -> tuple[np.ndarray, float]:
        return self.rows.sums(signed[None])[0], float(signed.sum())

    def decisions(self, w, b: float = 0.0) -> Decisions:
        values = self.rows.dot(w, b)
        return Decisions(float(values.min()), float(values.max()), float(self.device_weights[values > 0].sum()))

    def flips_pay(self, w, b: float = 0.0) -> bool:
        costs = self.flip_cost if self.device_costs is None else self.device_costs
        return bool((2.0 * self.device_margins(w, b) > costs).any())

    # --- sizes ------------------------------------------------------------------------------------------------------

    def typical_row_norm(self, of_features=None) -> float:
        norms = self.rows.norms(self.norm.p, of_features)
        weights = self.device_weights
        if of_features is not None:
            return float(weights @ norms)
        mass = float(weights[norms > 0].sum())
        return float(weights @ norms) / mass if mass > 0 else 1.0

    def column_squares(self) -> np.ndarray:
        return self.rows.sums_of_squares(self.device_weights)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        weights = self.device_weights / self.device_weights.sum()
        origin = self.some_rows(1)[0].astype(np.float64)
        centred = self.rows.shifted(origin.astype(self.rows.dtype))
        sums, squares = centred.sums(weights[None])[0], centred.sums_of_squares(weights)
        return origin + sums, np.sqrt(np.maximum(squares - sums**2, 0.0))

    def pull_variances(self, pilot=None, counts=None) -> PullVariances:
        variances = self.device_weights**2
        if counts is not None:
            variances = variances / self.to_kept_rows(on_device(counts))
        if pilot is not None:
            variances = cupy().where(self.device_margins(*pilot) < 1.0, variances, 0.0)
        sums, squares = self.rows.sums(variances[None])[0], self.rows.sums_of_squares(variances)
        return PullVariances(sums, squares, float(variances.sum()))

    # --- samples and other rows -------------------------------------------------------------------------------------

    def some_rows(self, size: int) -> Any:
        step = max(1, self.n_rows // size)
        return self.rows.taken(slice(0, step * size, step)).to_host()

    def drawn(self, size: int) -> "GpuProblem":
        """Return the problem on about so many rows, which stay on the card."""
        key = self.device_margins(np.random.default_rng(0).normal(size=self.n_features))
        key *= 1e6 / (float(abs(key).mean()) or 1.0)
        key -= cupy().floor(key)
        order = cupy().argpartition(key, min(size, len(key) - 1))[:size]
        return self._subset(cupy().sort(order))

    def drawn_by_class(self, size: int) -> "GpuProblem":
        xp = cupy()
        members = [xp.flatnonzero(self.device_signs == sign) for sign in (-1.0, 1.0)]
        drawn, weights = [], []
        for places, all_of_class in zip(drawn_members([len(one) for one in members], size), members, strict=True):
            few = all_of_class[on_device(places, np.int64)]
            share = self.device_weights[few]
            drawn.append(few)
            weights.append(share * (self.device_weights[all_of_class].sum() / share.sum()))
        return self._subset(xp.concatenate(drawn), xp.concatenate(weights))

    def fetched(self) -> Problem:
        costs = None if self.device_costs is None else here(self.device_costs)
        return self._here(self.rows.to_host(), here(self.device_signs), here(self.device_weights), costs)

    def _subset(self, taken, weights=None) -> "GpuProblem":
        if weights is None:
            weights = self.device_weights[taken]
            weights = weights / weights.sum()
        costs = None if self.device_costs is None else self.device_costs[taken]
        other = self._on(self.rows.taken(taken))
        other._set(kept=None, n_given=len(taken), device_signs=self.device_signs[taken])
        other._set(device_weights=weights, device_costs=costs)
        return other

    def _on(self, rows: GpuRows) -> "GpuProblem":
        other: Any = self.replace()
        other._set(rows=rows, X=RowsElsewhere(rows.shape, rows.dtype, rows.stored, rows.is_sparse))
        return other

    def shifted(self, offset) -> "GpuProblem":
        return self._on(self.rows.shifted(offset))

    def on_features(self, features) -> "GpuProblem":
        if len(features) == self.n_features:
            return self
        other = self._on(self.rows.on_features(features))
        other._set_parameters(**self.prices_of(features))
        return other

    def relabelled(self, positive, sample_weight=None) -> "GpuProblem":
        weights = weights_on_card(sample_weight, self.n_given)
        signs = cupy().where(on_device(positive, bool), 1.0, -1.0)
        other: Any = self.replace()
        other._set(device_signs=self.to_kept_rows(signs), device_weights=self.to_kept_rows(weights))
        other._set(classes=np.array([False, True]))
        return other
