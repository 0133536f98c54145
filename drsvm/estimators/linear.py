"""`WassersteinSVC`: the robust linear classifier as a scikit-learn estimator.

    X, y → data → problems → ball → solve → fitted attributes → threshold →
    probabilities → warnings

With more than two classes, each class is trained against the rest, with its own problem
and certificate (see `one_vs_rest`).
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from drsvm.defaults import one_vs_rest, prices
from drsvm.defaults.binary_problems import BinaryProblems, Solved
from drsvm.defaults.outliers import warn_of_far_cells
from drsvm.estimators.base import FitMixin, RobustClassifier, shown_as_documented
from drsvm.estimators.fit_data import FitData, RemoteFit, naming_large_entries
from drsvm.estimators.partial_fit import earlier_fit, feed_block, learns_in_blocks
from drsvm.estimators.placement import check_remote_features, on_engine
from drsvm.estimators.regularisation import choose_ball
from drsvm.estimators.solving import FitTask, solve_problems
from drsvm.problem.backends import is_remote, to_numpy
from drsvm.problem.kernel_functions import dense
from drsvm.problem.memory_rows import MemoryRows, must_stay
from drsvm.problem.norms import norm_for
from drsvm.problem.validation import as_rows
from drsvm.solvers.selection import is_auto
from drsvm.utils.annotations import Labels, Matrix, Values, Vector
from drsvm.utils.clock import TimeLimit


@shown_as_documented
@dataclass(eq=False, repr=False)
class WassersteinSVC(FitMixin, RobustClassifier):
    """Linear classifier for data with some wrong labels and shifting features, with a proof attached.

    Its direction minimises the expected hinge loss under the worst distribution within
    a Wasserstein ball around the training data, with the intercept of that problem:
    this is what is proven. Where it decides is chosen afterwards (`threshold`).
    Standardise the features first: shifts are measured in their units, and a warning
    names columns that vary 100 times as much as others. The defaults need no tuning;
    `WassersteinSVCCV` tunes them by cross-validation.

    Parameters
    ----------
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample, in units of the
        features. With "auto" it is computed from the data (see `drsvm.auto_radius`):
        the more labels look wrong and the fewer rows there are, the larger. From 60
        rows on, it is 0.3, 0.1 or 0.03 of that, and the ridge smaller by the square of
        it, if this ranks rows out of fold clearly better.
    flip_cost : float or dict, default=inf
        Cost of flipping a label, in units of a shift: the adversary can flip a share
        ``radius / flip_cost`` of all labels. With ``inf`` it can only shift features;
        the classifier that withstands this also withstands wrong labels, and did so
        better than with a finite cost. A dict has one cost for every class; `fit` takes
        one per row.
    norm : {1, 2, inf}, default=2
        Norm in which shifts are measured; ``inf`` gives sparse weights.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||w||²``. With "auto" it is computed from
        the data: at most 0.04 times the mean squared distance of a row from the centre,
        less the more rows there are and the fewer labels look wrong. It makes the
        optimum unique. 0: the ball alone, also for a solver that takes no ridge ("admm"
        with a priced intercept).
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Price of the intercept, which regularises it as if it were the weight of a
        constant column of this size; the ridge term does not include it. A free
        intercept (``inf``) follows the class shares of wrong labels. The price refers
        to the centre of the data (the weighted means of the columns; unless they are 0,
        the rows are copied), of sparse rows to the origin. With "auto" it is the
        deviation of a typical column, 1 for standardised features (for norm=1 times
        √n_features); for sparse data it is the norm of a typical row.
    feature_cost : array of shape (n_features,) or dict, optional
        Cost of a shift of each feature by 1, or a dict with the costs of some features
        by name. By default 1. With ``inf`` the feature cannot shift, and its weight is
        not regularised (except by `l2`).
    monotonic_cst : array of shape (n_features,) or dict, optional
        1 where the decision function must increase with the feature (towards
        ``classes_[1]``), -1 where it must decrease, 0 where both are allowed; or a dict
        by name. For two classes only.
    class_weight : "auto", "balanced", dict or None, default="auto"
        Weights of the classes. "balanced": inversely proportional to their frequencies;
        "auto": half-way there, the roots of these weights (the rarer of two classes has
        at least 0.3 of the weight), or as much closer as it takes for a classifier of
        two classes not to be constant; None: equal.
    threshold : {"accuracy", "balanced_accuracy", "optimum"} or dict, default="accuracy"
        What the threshold of a classifier for two classes is placed for, once its
        direction is known; see the notes. "optimum": where the problem's own intercept
        puts it, to which the certificate refers. A dict has the cost of missing each of
        two classes, such as ``{"no": 1, "yes": 10}``. For any other score use
        scikit-learn's ``TunedThresholdClassifierCV`` around this classifier.
    cv : int, splitter or iterable, optional
        Folds for threshold and calibration, as in scikit-learn; a classifier of all
        other rows judges each. By default up to 5,000 rows of two classes are judged by
        what the classifier would decide without them (a formula), or where that does
        not apply in five folds that depend on what rows contain, not on the order of
        rows or columns; of more rows, those of one fold, or if there are many per
        feature, the training rows themselves.
    calibration : "sigmoid" or None, default=None
        With "sigmoid", `predict_proba` and `predict_log_proba` are available; see the
        notes.
    solver : str or Solver, default="auto"
        See `drsvm.solve`.
    tol : float, optional
        Proven gap between objective and optimum that is small enough; by default 1e-6
        for solver="auto", otherwise the solver's own default. Where little is missing,
        a run goes on to a smaller one, so that decisions hardly depend on the solver
        (see `polish` of `drsvm.solve`). The order of up to 10,000,000 entries has no
        influence on them.
    max_iter : int, optional
        Iteration limit per class.
    max_time : float, optional
        Time limit for `fit` in seconds, not counting the first compilation of kernels.
        The classes share it evenly. One that starts after the time is up gets weights
        of 0 (with ``warm_start`` those of the previous fit), still with a certificate;
        a ConvergenceWarning states how many classes were cut short.
    warm_start : bool, default=False
        Whether `fit` starts from the classifier of the previous fit, if that has the
        same classes and features.
    random_state : int or Generator, optional
        Seed for randomised solvers.
    verbose : int, default=0
        1: print a line for every class and one when kernels are compiled for the first
        time, which takes a while (interactive sessions always do), and how far a long
        fit is; 2: also print a line for every certificate.
    n_jobs : int, optional
        Number of classes fitted in parallel. A problem with two classes uses all cores
        regardless of `n_jobs`.
    engine : {"auto", "cpu", "gpu", "dask"}, default="auto"
        Where the work is done. With "auto" Dask collections stay on their cluster,
        arrays on a GPU stay there, and other rows are for this machine's cores; "gpu"
        moves them to the GPU. "cpu" and "dask" check where X is.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features), (1 or n_classes,)
        The classifier.
    certified_intercept_ : array of shape (1 or n_classes,)
        The intercept of the problem, with which `coef_` has the certificate:
        `intercept_`, unless the threshold moved.
    classes_ : array
        The labels.
    objective_, lower_bound_, gap_, radius_price_ : float, or arrays of shape (n_classes,)
        The certificate of `coef_` with `certified_intercept_`: worst-case risk plus
        ridge term, a proven lower bound on the best possible value, their difference,
        and the price of one unit of radius. With more than two classes, one entry per
        class. After `partial_fit` there is no certificate: all but the price are NaN.
        If weights cost nothing (``radius=0``, or features that cannot shift, both
        without ridge), the bound is for weights up to a limit, see `Result`; there is
        no warning, because another setting would be another problem.
    radius_, l2_, intercept_cost_ : float
        The radius, the ridge and the price of the intercept that were used.
    class_factors_ : array of shape (n_classes,)
        By what the weights of the rows of each class were multiplied.
    threshold_ : float
        By how much the threshold was moved: `intercept_` is `certified_intercept_`
        minus this. 0 after `partial_fit`, and with more than two classes.
    sigmoids_ : array of shape (1 or n_classes, 2)
        Slope and offset of the sigmoid of every decision, with
        ``calibration="sigmoid"``.
    n_iter_ : int
        Number of iterations (the maximum over the classes); after `partial_fit`, of
        blocks.
    result_ : Result, or list of them
        The full results of the runs, one per class if there are more than two. None
        after `partial_fit`.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Notes
    -----
    What is proven is the direction: `objective_`, `lower_bound_` and `gap_` are those of `result_`, with the intercept
    of the problem. What is chosen is the threshold: decision values of rows that a classifier has not seen are compared
    with their labels, and the threshold is the one nearest to the problem's own at which the accuracy, averaged over
    thresholds around it, is within 0.4 standard errors of the best; the rarer class is predicted for at least half of
    its share, or for 2 % of the rows, and unseen rows are decided no worse than by a constant, if that is possible.
    Class weights that you give count in this accuracy, those of "auto" do not. With costs, the threshold is where the
    rows, without class weights, cost least by the same average; that may be a constant decision.
    `drsvm.worst_case_risk` evaluates the classifier as it stands.

    Probabilities are Platt's sigmoid of the same decision values. For two classes they
    need no further fit; more classes, which have no threshold to place, need five each.
    Sample weights count as numbers of rows, class weights do not count. The predicted
    class always has the largest probability: where the sigmoid prefers the other of two
    classes, between the threshold and its own ½, the probability stays close to ½.
    Probabilities are about labels as they are in training: no method is calibrated for
    the correct labels if it was trained on wrong ones.

    With K > 2 classes there is one problem for each class against the rest. Since a
    class is compared with K − 1 others, each of its rows has K − 1 times the weight of
    a row of the others. With classes of equal size both sides then have half of the
    weight, and `radius` and `flip_cost` mean the same for any K. Classes of unequal
    size stay unequal, unless ``class_weight="balanced"``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from drsvm import ClippedScaler, WassersteinSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(ClippedScaler(), WassersteinSVC()).fit(X, y)
    >>> bool(model[-1].gap_ <= 1e-6)
    True
    """

    radius: float | Literal["auto"] = "auto"
    _: KW_ONLY
    norm: Any = 2
    warm_start: bool = False

    def _data(self, X, y, sample_weight) -> FitData:
        earlier = earlier_fit(self) if self.warm_start else None
        X = on_engine(X, self.engine)
        data = (RemoteFit if is_remote(X) else FitData)(
            self, X, y, sample_weight, self.class_weight
        )
        data.earlier = earlier
        data.share = warn_of_far_cells(data.X, data.sample_weight, self)
        return data

    def _solved(
        self, data: FitData, flip_cost, task: FitTask, time: TimeLimit
    ) -> Solved:
        """Pose the problems with the present weights of the classes, choose the ball, and solve."""
        parameters = self._problem_parameters(data.costs_by_class, flip_cost)
        with naming_large_entries(data):
            posed = BinaryProblems.at_centre(
                data.problems(parameters), in_span=is_auto(self.solver)
            )
            ball = choose_ball(posed, self.radius, self.l2, self.solver, data, time)
        starts = ball.solutions
        if data.earlier is not None:
            starts = data.earlier.starts_for(
                data.classes, self.n_features_in_, otherwise=starts
            )
        return solve_problems(posed, ball, starts, self.solver, task, time)

    def _store(self, data: FitData, solved: Solved) -> None:
        super()._store(data, solved)
        if isinstance(data, RemoteFit):
            self.coef_ = data.like(solved.weights)
        else:
            self.coef_ = solved.weights
        # A later partial_fit starts from this fit
        self.__dict__.pop("_block_fits", None)

    def _problem_parameters(
        self, costs_by_class: Callable[[np.ndarray], Vector], flip_cost
    ) -> dict[str, Any]:
        """Return the parameters of the problems but for the radius.

        X has been checked.
        """
        of_rows = prices.problem_parameters(self, costs_by_class, flip_cost)
        return {"norm": self.norm} | of_rows | prices.feature_prices(self)

    @available_if(learns_in_blocks)
    def partial_fit(
        self,
        X: Matrix,
        y: Labels,
        classes: Labels = None,
        sample_weight: Values = None,
        flip_cost: Values = None,
    ) -> Self:
        """Take one incremental pass over a block of rows.

        All blocks together act as one training set.

        The first block determines what `fit` computes from all rows. An intercept with
        a price is priced at the centre of its rows (of sparse rows, at the origin);
        with ``intercept_cost="auto"`` the price is that of this block. With
        ``radius="auto"``, radius and ridge are what `fit` would use for this block
        alone: for all rows together they would be smaller, about in proportion to the
        root of their number; with a given radius, ``l2="auto"`` is 0.
        ``class_weight="auto"`` means equal weights here, and the threshold is that of
        the optimum. There are no probabilities: it is not available with `calibration`.

        Parameters
        ----------
        X, y, sample_weight, flip_cost
            As in `fit`, for one block. A weight of 1 is that of a typical row in any
            block.
        classes : array, optional
            All labels; required in the first call, unless `fit` was called before.
            After `fit`, training continues from its classifier, with its radius and
            price of the intercept where these are automatic.

        Returns
        -------
        self
            Without a certificate: `objective_`, `lower_bound_` and `gap_` are NaN, and
            `result_` is None. `radius_price_` is that of the method, and `n_iter_` the
            number of blocks.
        """
        feed_block(self, X, y, classes, sample_weight, flip_cost)
        return self

    def decision_function(self, X: Matrix) -> Vector:
        """Return w·x + b for every row, of shape (n_samples,) or (n_samples, n_classes).

        The sign is the decision for two classes, otherwise the largest one decides.
        """
        is_on_disk = (
            (isinstance(X, np.ndarray) or sparse.issparse(X))
            and X.ndim == 2
            and must_stay(X)
        )
        if not (is_on_disk or is_remote(X) or is_remote(getattr(self, "coef_", None))):
            return super().decision_function(X)
        check_is_fitted(self)
        coef = dense(self.coef_)  # after `sparsify`
        if is_remote(X):
            if len(coef) == 1:
                classifier = (coef[0], float(self.intercept_[0]))
            else:
                classifier = (coef, self.intercept_)
            return check_remote_features(self, X).decision_values(X, *classifier)
        # Block by block: a product with float32 rows would copy them all.
        rows = MemoryRows(
            as_rows(validate_data(self, X, reset=False, **one_vs_rest.ROWS))
        )
        values = np.column_stack(
            [rows.dot(weights) for weights in to_numpy(coef)]
        ) + to_numpy(self.intercept_)
        return values.ravel() if len(coef) == 1 else values

    def _trained_ball(self) -> dict[str, Any]:
        """Return the parameters of the ball, for `audit.model_layers.trained_parameters`.

        None: only `fit` knew them.
        """
        if getattr(self, "_flip_cost_by_row", False):
            flip_cost = None
        else:
            flip_cost = self.flip_cost
        norm = norm_for(self.norm).p
        costs = prices.feature_costs(self)
        return {
            "radius": self.radius_,
            "flip_cost": flip_cost,
            "norm": norm,
            "feature_cost": costs,
        }
