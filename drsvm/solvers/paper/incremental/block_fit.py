"""Fitting to rows that arrive in blocks and need not fit into memory together."""

import math

import numpy as np
from scipy import sparse

from drsvm.compiled.proximal_epochs import Iterate, Terms
from drsvm.problem import validation
from drsvm.problem.norms import norm_for
from drsvm.problem.risk import affordable_flips
from drsvm.solvers.paper.incremental.epochs import Epochs, Samples
from drsvm.solvers.reformulation.costs_as_columns import with_constant

# The step size is FIRST_STEP / (number of blocks)^EXPONENT, in natural steps (see
# `step_sizes.py`). Averages of stochastic steps converge for exponents from 1/2 to 1.
FIRST_STEP = 0.1
EXPONENT = 0.75
# The average over the blocks gives the k-th the share (1 + RECENT)/(k + RECENT) instead
# of the 1/k of a plain mean: early blocks were seen with poor classifiers.
RECENT = 4.0


class BlockFit:
    """A classifier that is improved by every block of rows that it is given.

    It makes one pass of exact proximal steps over each block.
    All blocks together represent one problem, of which each block is a sample; a block
    may be fed repeatedly. Steps shrink with the number of blocks fed, and the
    classifier is an average that favours recent blocks. Nothing is proven about it
    until it is certified on data.

    Parameters
    ----------
    n_features : int
        Number of features of all blocks.
    radius, flip_cost, norm, l2, fit_intercept
        As in `drsvm.Problem`; the flip cost is one number.
    random_state : int, optional
        Seed for the order of the rows within a block.
    start : (weights, intercept, radius_price), optional
        Starting point; by default 0.
    intercept_cost : float
        As in `drsvm.Problem`.
    centre : array of shape (n_features,), optional
        Where the intercept has its cost: w·centre + b is inside the norm. By default
        the origin. Rows are shifted by it, which makes sparse ones dense.

    Attributes
    ----------
    weights, intercept, radius_price : array, float, float
        The classifier.
    n_blocks, n_rows : int
        Number of blocks and rows fed so far.
    """

    # Nothing is proven, as a result without a certificate states it
    lower_bound = math.nan
    gap = math.nan

    def __init__(
        self,
        n_features: int,
        radius=0.1,
        flip_cost=1.0,
        norm=2,
        l2=0.0,
        fit_intercept=False,
        random_state=None,
        start=None,
        intercept_cost=math.inf,
        centre=None,
    ):
        radius = validation.check_number(radius, "radius")
        self.flip_cost = validation.check_flip_cost(flip_cost)
        self.intercept_cost = validation.check_intercept_cost(intercept_cost)
        self.centre = centre
        # An intercept with a cost is the weight of a constant column, the last one,
        # which has no ridge.
        has_intercept = bool(fit_intercept)
        self.has_constant = has_intercept and math.isfinite(self.intercept_cost)
        ridged = n_features
        if self.has_constant and l2 == 0.0:
            ridged = n_features + 1
        self.norm = norm_for(norm)
        kappa, flips = affordable_flips(self.flip_cost, radius)
        self.terms = Terms(
            radius,
            kappa,
            flips,
            validation.check_number(l2, "l2"),
            ridged,
            float(has_intercept and not self.has_constant),
        )
        self.rng = np.random.default_rng(0 if random_state is None else random_state)
        if start is None:
            weights = np.zeros(n_features)
            intercept = 0.0
            lam = 0.0
        else:
            weights, intercept, lam = start
        self.weights = np.array(weights, dtype=float)
        self.radius_price = float(lam)
        # w·centre + b, the intercept of shifted rows
        self.value_at_centre = float(intercept) + self._shift()
        self.n_blocks = 0
        self.n_rows = 0
        self._mean_square = 0.0  # of the norms of all rows so far
        # The last point of the steps; the classifier is an average of such points.
        self._point: Iterate | None = None

    @property
    def intercept(self) -> float:
        """The intercept b."""
        return self.value_at_centre - self._shift()

    def _shift(self) -> float:
        """Return w·centre."""
        if self.centre is None:
            return 0.0
        return float(self.weights @ self.centre)

    def feed(self, X, signs, sample_weight=None, flip_cost=None) -> "BlockFit":
        """Make one pass over a block.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows of the block.
        signs : array of shape (n,)
            Labels ±1; a block may contain only one class.
        sample_weight : array of shape (n,), optional
            Weights of the rows: 1 is the weight of a typical row, in this block and in
            all others.
        flip_cost : float or array of shape (n,), optional
            Flip costs of the rows, instead of that of all blocks.

        Returns
        -------
        BlockFit
            This object.
        """
        X, signs, importance = validation.check_signed_rows(X, signs, sample_weight)
        n, d = X.shape
        if d != len(self.weights):
            raise ValueError(
                f"X has {d} features, but BlockFit expects {len(self.weights)}."
            )
        if flip_cost is None:
            flip_cost = self.flip_cost
        else:
            flip_cost = validation.check_flip_costs(flip_cost, n)
        kappa, flips = affordable_flips(flip_cost, self.terms.radius)
        terms = self.terms._replace(kappa=kappa, flips=flips)
        samples = Samples(self._inner_rows(X), signs, importance / n)
        self.n_blocks += 1
        self.n_rows += n
        self._mean_square += (samples.mean_square - self._mean_square) * n / self.n_rows
        epochs = Epochs(
            samples, self.norm, terms, "shuffled", self.rng, self._mean_square
        )
        point = self._start_of_block(epochs.origin())
        step = FIRST_STEP * epochs.natural_step / self.n_blocks**EXPONENT
        epochs.proximal(point, step, 1.0)
        self._point = point
        self._average(point)
        return self

    def _inner_rows(self, X):
        """Return rows around the centre, with the constant column if there is one."""
        if self.centre is not None:
            if sparse.issparse(X):
                X = X.toarray()
            X = X - self.centre.astype(X.dtype)
        if self.has_constant:
            X = with_constant(X, self.intercept_cost)
        return X

    def _start_of_block(self, origin: Iterate) -> Iterate:
        """Return the last point, or the first one, with new multipliers.

        `origin` is the point 0 with the multipliers for the rows of the block.
        """
        if self._point is not None:
            return Iterate(
                self._point.w, self._point.scalars, origin.hinge, origin.flip
            )
        if self.weights.any():
            # Without a radius λ is at its upper limit
            lam = origin.scalars[0]
            if self.terms.radius > 0.0:
                lam = self.radius_price
            origin.w[: len(self.weights)] = self.weights
            if self.has_constant:
                origin.w[-1] = self.value_at_centre / self.intercept_cost
                origin.scalars[:] = lam, 0.0, lam
            else:
                origin.scalars[:] = lam, self.value_at_centre, lam
        return origin

    def _average(self, point: Iterate) -> None:
        """Move the classifier towards a point, as the average over the blocks does."""
        share = min(1.0, (1.0 + RECENT) / (self.n_blocks + RECENT))
        if self.has_constant:
            value = self.intercept_cost * point.w[-1]
        else:
            value = point.scalars[1]
        self.weights += share * (point.w[: len(self.weights)] - self.weights)
        self.value_at_centre += share * (float(value) - self.value_at_centre)
        self.radius_price += share * (float(point.scalars[0]) - self.radius_price)
