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

# in natural steps, and the power of the number of blocks by which steps decay
FIRST_STEP = 0.1
EXPONENT = 0.75
# The average gives a new block about this much more weight than a plain mean would
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
    radius, flip_cost, norm, l2, fit_intercept, intercept_cost
        As in `drsvm.Problem`; the flip cost is one number.
    random_state : int, optional
        Seed for the order of the rows within a block.
    start : (weights, intercept, radius_price), optional
        Starting point; by default 0.
    centre : array of shape (n_features,), optional
        Where the intercept is priced: w·centre + b is inside the norm. By default the
        origin. Rows are shifted by it, which makes sparse ones dense.

    Attributes
    ----------
    weights, intercept, radius_price : array, float, float
        The classifier.
    n_blocks, n_rows : int
        Number of blocks and rows fed so far.
    """

    lower_bound = gap = math.nan

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
        self.priced = bool(fit_intercept) and math.isfinite(self.intercept_cost)
        ridged = n_features + int(self.priced and l2 == 0.0)
        free = float(bool(fit_intercept) and not self.priced)
        flips = affordable_flips(self.flip_cost, radius)
        self.norm = norm_for(norm)
        self.terms = Terms(
            radius, *flips, validation.check_number(l2, "l2"), ridged, free
        )
        self.rng = np.random.default_rng(0 if random_state is None else random_state)
        if start is None:
            weights = np.zeros(n_features)
            intercept = 0.0
            price = 0.0
        else:
            weights, intercept, price = start
        self.weights = np.array(weights, dtype=float)
        self.radius_price = float(price)
        self.value_at_centre = float(intercept) + (
            0.0 if centre is None else float(self.weights @ centre)
        )
        self.n_blocks = self.n_rows = 0
        self._mean_square = 0.0
        self._point: Iterate | None = None

    @property
    def intercept(self) -> float:
        """The intercept b."""
        return self.value_at_centre - (
            0.0 if self.centre is None else float(self.weights @ self.centre)
        )

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
        if self.centre is not None:
            X = (X.toarray() if sparse.issparse(X) else X) - self.centre.astype(X.dtype)
        if self.priced:
            X = with_constant(X, self.intercept_cost)
        else:
            X = X
        samples = Samples(X, signs, importance / n)
        terms = self.terms._replace(kappa=kappa, flips=flips)
        self.n_blocks += 1
        self.n_rows += n
        self._mean_square += (samples.mean_square - self._mean_square) * n / self.n_rows
        epochs = Epochs(
            samples, self.norm, terms, "shuffled", self.rng, self._mean_square
        )
        point = epochs.origin()
        if self._point is not None:
            point = Iterate(self._point.w, self._point.scalars, point.hinge, point.flip)
        elif self.weights.any():
            if terms.radius > 0.0:
                lam = self.radius_price
            else:
                lam = point.scalars[0]
            point.w[: len(self.weights)], point.scalars[:] = (
                self.weights,
                (lam, self.value_at_centre, lam),
            )
            if self.priced:
                point.w[-1] = self.value_at_centre / self.intercept_cost
                point.scalars[1] = 0.0
        step = FIRST_STEP * epochs.natural_step / self.n_blocks**EXPONENT
        epochs.proximal(point, step, 1.0)
        self._point = point
        share = min(1.0, (1.0 + RECENT) / (self.n_blocks + RECENT))
        if self.priced:
            value = self.intercept_cost * point.w[-1]
        else:
            value = point.scalars[1]
        self.weights += share * (point.w[: len(self.weights)] - self.weights)
        self.value_at_centre += share * (float(value) - self.value_at_centre)
        self.radius_price += share * (float(point.scalars[0]) - self.radius_price)
        return self
