"""GS-ADMM: golden-section search over λ, and ADMM for the classifier at each λ.

    f(λ) = ε λ + min over ‖w‖_q ≤ λ and b of
           Σ_i π_i max(1 − m_i, 1 + m_i − κλ, 0) + (c/2) ‖w‖²

is convex, and its minimiser lies in [0, 1/ε], because the optimum is at most 1. At a
given λ, ADMM encloses f in a shrinking interval; two values are compared as soon as
their intervals are disjoint, so the work at each λ grows as the bracket shrinks. ADMM's
multipliers at any λ give a line below f. A falling and a rising line together bound the
optimum, and a combination of their multipliers proves that bound.

For ε = 0 the price λ costs nothing: there is a single problem, without a ball or flips,
and no search. If there is no ridge either and the gap hardly shrinks, as with columns
of very different scales, the interior-point solver takes over. For κ = 0 the optimum is
1.
"""

import math
from dataclasses import dataclass

import numpy as np

from drsvm.problem.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.fallback import Patience, can_take_over
from drsvm.solvers.paper.admm.ball_qp import EXACT
from drsvm.solvers.paper.admm.subproblem import Subproblem, Trial
from drsvm.solvers.reformulation.costs_as_columns import AS_COLUMNS, CostsAsColumns

# Share of a bracket that a golden section cuts off
GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
# Values of f are compared once they are known to this share of the tolerance, or to
# rounding
ENOUGH = 0.1
FINEST = 1e-13
# Without a search: iterations between certificates, and before it is first judged
# whether ADMM pays off
CERTIFICATE_EVERY = 20
FIRST_LOOK = 400


@dataclass(frozen=True)
class Admm(Solver):
    """Settings of GS-ADMM.

    Parameters
    ----------
    trim : bool
        Whether to also cut the bracket where ADMM's multipliers prove that f is above
        the best objective. This halves the number of values of λ tried; by default the
        search is a plain golden section.
    update : {"auto", "exact", "accelerated"}
        How the quadratic problem in w is solved: by factorisations (an eigenvalue
        decomposition for q = 2, active sets for q = 1 and ∞) or by accelerated
        projected gradient steps; "auto": exactly for up to 1000 features, if there is
        enough time.
    relaxation : float
        Over-relaxation of ADMM, between 0 and 2.
    rho : float
        Initial penalty ρ, later adapted to the residuals. Margins and losses have no
        unit, so 1 is the natural scale.

    Notes
    -----
    `max_iter` limits the total number of ADMM iterations, at all λ. Certificates are
    computed at every new λ and when the gap is likely to be small enough. All work is
    done on one thread.

    References
    ----------
    .. [1] J. Li, S. Huang, A. M.-C. So, A First-Order Algorithmic Framework for
       Distributionally Robust Logistic Regression, NeurIPS 2019.
    .. [2] J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental
       Algorithms for Wasserstein Distributionally Robust Support Vector Machine,
       NeurIPS 2020: Appendix C extends [1]_ to this problem.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> from drsvm.solvers import Admm
    >>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], radius=0.1)
    >>> result = solve(problem, Admm(trim=True))
    >>> result.solver, str(result.status)
    ('admm', 'optimal')
    """

    name = "admm"
    default_tol = 1e-4
    default_max_iter = 20_000
    capabilities = AS_COLUMNS

    trim: bool = False
    update: str = "auto"
    relaxation: float = 1.7
    rho: float = 1.0

    def __post_init__(self):
        if self.update not in ("auto", "exact", "accelerated"):
            raise ValueError(
                "update must be auto, exact or accelerated, got "
                f"update={self.update!r}."
            )
        if not 0 < self.relaxation < 2:
            raise ValueError(
                "relaxation must lie between 0 and 2, got "
                f"relaxation={self.relaxation!r}."
            )
        if not 0 < self.rho < math.inf:
            raise ValueError(f"rho must be positive and finite, got rho={self.rho!r}.")

    def unsupported_reason(self, problem: Problem) -> str | None:
        if self.update == "exact" and type(problem.norm) not in EXACT:
            return (
                f"update='exact' has no factorisation for norm={problem.norm}: "
                "use update='auto'."
            )
        if problem.has_intercept_cost and problem.l2 > 0.0:
            return (
                "solver 'admm' does not support "
                f"intercept_cost={problem.intercept_cost:g} with "
                f"l2={problem.l2:g}: use intercept_cost=inf, l2=0 or "
                "solver='auto'."
            )
        return super().unsupported_reason(problem)

    def start(self, problem: Problem, limits: Limits) -> State:
        if problem.radius > 0:
            return GoldenSection(problem, self, limits)
        run = FreePrice(problem, self, limits)
        may_hand_over = problem.l2 == 0 and limits.tol > 0.0
        run.has_fallback = may_hand_over and can_take_over(problem)
        return run


class _AdmmState(State):
    """Common part of all ADMM runs."""

    def __init__(self, problem: Problem, settings: Admm, limits: Limits):
        self.columns = CostsAsColumns.of(problem)
        self.settings = settings
        self.limits = limits
        self.problem = self.columns.problem
        self.subproblem = Subproblem(
            self.problem, settings.relaxation, settings.update, limits.time.left()
        )

    def first_trial(self, lam: float) -> Trial:
        """Return the first trial, which begins at the start of the run."""
        start = self.columns.to_inner(self.limits.start)
        return self.subproblem.first_trial(lam, self.settings.rho, start)

    def offer(
        self, weights, intercept: float, proof: list[tuple[Trial, float]]
    ) -> Candidate:
        """Return a classifier with the combined multipliers of the given trials.

        `proof` has the trials and the shares of their multipliers.
        """
        alpha = np.zeros(self.problem.n_rows)
        beta = np.zeros(self.problem.n_rows)
        for trial, share in proof:
            if trial.line.slopes is not None:
                hinge, flip = self.subproblem.multipliers(
                    trial.line.slopes, trial.line.lam
                )
                alpha = alpha + share * hinge
                beta = beta + share * flip
        return self.columns.to_outer(Candidate(weights, intercept, alpha, beta))


class FreePrice(_AdmmState):
    """ε = 0: an ordinary SVM."""

    def __init__(self, problem: Problem, settings: Admm, limits: Limits):
        super().__init__(problem, settings, limits)
        self.trial = self.first_trial(math.inf)
        self.patience = Patience(first_look=FIRST_LOOK, limits=limits)

    def step(self) -> None:
        self.subproblem.iterate(self.trial)

    def certificate_due(self) -> bool:
        return self.trial.iteration % CERTIFICATE_EVERY == 0

    def candidate(self) -> Candidate:
        return self.offer(self.trial.weights, self.trial.intercept, [(self.trial, 1.0)])

    def on_certificate(self, gap: float) -> None:
        self.gives_up = self.patience.ends(self.trial.iteration, gap)


class GoldenSection(_AdmmState):
    """ε > 0: the search for λ in an interval, the bracket [low, high].

    There are up to two trials inside. `left` and `right` are the last ones that were
    discarded on each side; their lines still bound f from below.
    """

    def __init__(self, problem: Problem, settings: Admm, limits: Limits):
        super().__init__(problem, settings, limits)
        # Appendix C of the paper: λ ≤ 1/ε
        self.low = 0.0
        self.high = 1.0 / problem.radius
        self.left: Trial | None = None
        self.right: Trial | None = None
        self.inside = [self.first_trial(GOLDEN * self.high)]
        # The best classifier so far, with its objective
        self.best = Candidate(self.inside[0].weights)
        self.objective = 1.0
        # The best lower bound so far, with the trials that prove it and their shares
        self.proof: list[tuple[Trial, float]] = []
        self.bound = 0.0
        # A certificate is due at every new λ, and when the gap has fallen to `due_at`.
        self.due_at = limits.tol
        self.due = False
        self.evaluations = 1

    def step(self) -> None:
        self.due = False
        trial = self._trial_to_improve()
        self.subproblem.iterate(trial)
        if trial.upper < self.objective:
            self.best = Candidate(trial.weights, trial.intercept)
            self.objective = trial.upper
        if len(self.inside) == 2:
            self._cut()
        if self.settings.trim:
            self._trim()
        self._combine()

    def _cut(self) -> None:
        """Cut off the end with the larger value of f, if it is known which one is."""
        first, second = self.inside
        known = max(first.gap, second.gap) <= max(ENOUGH * self.limits.tol, FINEST)
        first_is_lower = second.line.height >= first.upper
        second_is_lower = first.line.height >= second.upper
        if first_is_lower or (known and first.upper <= second.upper):
            self.high = second.lam
            self.right = second
            self.inside = [first]
        elif second_is_lower or known:
            self.low = first.lam
            self.left = first
            self.inside = [second]

    def _trim(self) -> None:
        """Cut off where a line proves that f is above the best objective."""
        low = self.low
        # f(λ) ≥ ελ is a line, too.
        high = min(self.high, self.objective / self.problem.radius)
        trials = self._trials()
        for trial in trials:
            line = trial.line
            if line.tilt != 0.0:
                crossing = line.lam + (self.objective - line.height) / line.tilt
                if line.tilt > 0.0:
                    high = min(high, crossing)
                else:
                    low = max(low, crossing)
        # The optimum is known to rounding.
        if not high - low > FINEST / self.problem.radius:
            return
        self.low = low
        self.high = high
        # Of the trials outside keep the one on each side whose line is highest there.
        self.left = None
        self.right = None
        self.inside = []
        for trial in trials:
            if trial.lam <= low:
                self.left = _higher_at(low, self.left, trial)
            elif trial.lam >= high:
                self.right = _higher_at(high, self.right, trial)
            else:
                self.inside.append(trial)

    @property
    def gap(self) -> float:
        """The gap according to the trials, before the certificate checks it."""
        return self.objective - self.bound

    def _trials(self) -> list[Trial]:
        """Return all trials that are kept, by λ."""
        trials = [self.left, *self.inside, self.right]
        return [trial for trial in trials if trial is not None]

    def _trial_to_improve(self) -> Trial:
        """Return the trial whose f is to be known more accurately.

        It is an end of the bracket that causes most of the gap, an inner trial or a new
        one.
        """
        inside = max((trial.gap for trial in self.inside), default=0.0)
        for trial, share in self.proof:
            if share * trial.gap > 0.5 * self.gap and trial.gap >= inside:
                return trial
        if len(self.inside) == 2:
            return max(self.inside, key=lambda trial: trial.gap)
        # A new one, at the golden section that is not taken
        width = self.high - self.low
        lower = self.low + GOLDEN * width
        upper = self.high - GOLDEN * width
        taken = self.inside[0].lam if self.inside else self.high
        lam = lower
        if abs(upper - taken) > abs(lower - taken):
            lam = upper
        nearest = min(self._trials(), key=lambda trial: abs(trial.lam - lam))
        new = self.subproblem.moved(nearest, lam)
        self.inside = sorted([*self.inside, new], key=lambda trial: trial.lam)
        self.evaluations += 1
        self.due = True
        return new

    def _combine(self) -> None:
        """Find the best lower bound that a line or a combination of two proves.

        The combination of a falling and a rising line is horizontal: its height bounds
        f for all λ.
        """
        self.bound = 0.0
        self.proof = []
        rising = []
        falling = []
        for trial in self._trials():
            if trial.line.tilt < 0.0:
                falling.append(trial)
            else:
                rising.append(trial)
        # A line that rises is lowest at λ = 0.
        for up in rising:
            self._offer_bound(up.line.at(0.0), [(up, 1.0)])
        for down in falling:
            # With the line ελ, which needs no multipliers
            share = self.problem.radius / (self.problem.radius - down.line.tilt)
            self._offer_bound(share * down.line.at(0.0), [(down, share)])
            for up in rising:
                share = up.line.tilt / (up.line.tilt - down.line.tilt)
                rest = 1.0 - share
                height = share * down.line.at(0.0) + rest * up.line.at(0.0)
                self._offer_bound(height, [(down, share), (up, rest)])

    def _offer_bound(self, height: float, proof: list[tuple[Trial, float]]) -> None:
        """Replace the bound if this one is higher."""
        if height > self.bound:
            self.bound = height
            self.proof = proof

    def certificate_due(self) -> bool:
        return self.due or self.gap <= self.due_at

    def on_certificate(self, gap: float) -> None:
        # The certificate is stricter with an intercept: request another one only once
        # the gap is smaller.
        if self.gap <= self.due_at:
            self.due_at = 0.7 * self.gap

    def candidate(self) -> Candidate:
        return self.offer(self.best.weights, self.best.intercept, self.proof)

    def info(self) -> dict:
        return {"evaluations": self.evaluations, "bracket": (self.low, self.high)}


def _higher_at(lam: float, one: Trial | None, other: Trial) -> Trial:
    """Return the trial whose line is higher at λ."""
    if one is None or other.line.at(lam) > one.line.at(lam):
        return other
    return one
