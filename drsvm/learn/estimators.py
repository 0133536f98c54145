"""`WassersteinSVC`: the robust linear classifier as a scikit-learn estimator (see `fitting`)."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from scipy import sparse

from drsvm.clock import TimeLimit
from drsvm.learn import prices
from drsvm.learn.base import RobustClassifier
from drsvm.learn.deciding import DecidingMixin
from drsvm.learn.fit_data import FitData, fit_data
from drsvm.learn.fitting import FittingMixin
from drsvm.learn.partial_fit import PartialFitMixin
from drsvm.model.centring import Centred
from drsvm.model.norms import norm_for
from drsvm.model.problem import Problem
from drsvm.model.result import Result
from drsvm.solvers.base import Solver
from drsvm.solvers.registry import is_auto


class WassersteinSVC(PartialFitMixin, FittingMixin, DecidingMixin, RobustClassifier):
    """Linear classifier for data with some wrong labels and shifting features, with a proof attached.

    It minimises the expected hinge loss under the worst distribution within a Wasserstein ball around the training
    data. Standardise the features first: shifts are measured in their units. The defaults need no tuning;
    `WassersteinSVCCV` tunes them by cross-validation.

    Parameters
    ----------
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample, in units of the features. With "auto" it is computed
        from the data (see `drsvm.auto_radius`): the more labels look wrong and the fewer rows there are, the larger.
        From 1,000 rows of two classes on, it is 0.3 or 0.1 of that if this ranks rows out of fold clearly better.
    flip_cost : float or dict, default=inf
        Cost of flipping a label, in units of a shift: the adversary can flip a share ``radius / flip_cost`` of all
        labels. With ``inf`` it can only shift features; the classifier that withstands this also withstands wrong
        labels, and did so better than with a finite cost. A dict has one cost for every class; `fit` takes one per row.
    norm : {1, 2, inf}, default=2
        Norm in which shifts are measured; ``inf`` gives sparse weights.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||w||²``. With "auto" it is computed from the data: at most 0.04 times
        the mean squared distance of a row from the centre, less the more rows there are and the fewer labels look
        wrong. It makes the optimum unique. 0: the ball alone, also for a solver that takes no ridge ("admm" with a
        priced intercept).
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Price of the intercept, which regularises it as if it were the weight of a constant column of this size; the
        ridge term does not include it. A free intercept (``inf``) follows the class shares of wrong labels. The price
        refers to the centre of the data (the weighted means of the columns; unless they are 0, the rows are copied), of
        sparse rows to the origin. With "auto" it is the deviation of a typical column, 1 for standardised features (for
        norm=1 times √n_features); for sparse data it is the norm of a typical row.
    feature_cost : array of shape (n_features,) or dict, optional
        Cost of a shift of each feature by 1, or a dict with the costs of some features by name. By default 1. With
        ``inf`` the feature cannot shift, and its weight is not regularised (except by `l2`).
    monotonic_cst : array of shape (n_features,) or dict, optional
        1 where the decision function must increase with the feature (towards ``classes_[1]``), -1 where it must
        decrease, 0 where both are allowed; or a dict by name. For two classes only.
    class_weight : "auto", "balanced", dict or None, default="auto"
        Weights of the classes. "balanced": inversely proportional to their frequencies; "auto": half-way there, the
        roots of these weights (the rarer of two classes has at least 0.3 of the weight), or as much closer as it takes
        for a classifier of two classes not to be constant; None: equal.
    threshold : {"accuracy", "balanced_accuracy", "optimum"}, default="accuracy"
        What the threshold of a classifier for two classes is placed for, once its direction is known; see the notes.
        "optimum": where the problem's own intercept puts it, to which the certificate refers. For costs of errors use
        scikit-learn's ``TunedThresholdClassifierCV`` around this classifier.
    cv : int, splitter or iterable, optional
        Folds for threshold and calibration, as in scikit-learn; a classifier of all other rows judges each. By default
        up to 5,000 rows of two classes are judged by what the classifier would decide without them (a formula), or
        where that does not apply in five folds that depend on what rows contain, not on the order of rows or columns;
        of more rows, those of one fold, or if there are many per feature, the training rows themselves.
    calibration : "sigmoid" or None, default=None
        With "sigmoid", `predict_proba` and `predict_log_proba` are available; see the notes.
    solver : str or Solver, default="auto"
        See `drsvm.solve`.
    tol : float, optional
        Proven gap between objective and optimum that is small enough; by default 1e-6 for solver="auto", otherwise the
        solver's own default. Where little is missing, a run goes on to a smaller one, so that decisions hardly depend
        on the solver (see `polish` of `drsvm.solve`). The order of up to 10,000,000 entries has no influence on them.
    max_iter : int, optional
        Iteration limit per class.
    max_time : float, optional
        Time limit for `fit` in seconds, not counting the first compilation of kernels. The classes share it evenly. One
        that starts after the time is up gets weights of 0 (with ``warm_start`` those of the previous fit), still with a
        certificate; a ConvergenceWarning states how many classes were cut short.
    warm_start : bool, default=False
        Whether `fit` starts from the classifier of the previous fit, if that has the same classes and features.
    random_state : int or Generator, optional
        Seed for randomised solvers.
    verbose : int, default=0
        1: print a line for every class and one when kernels are compiled for the first time, which takes 10 to 20 s
        (interactive sessions always do), and how far a long fit is; 2: also print a line for every certificate.
    n_jobs : int, optional
        Number of classes fitted in parallel. A problem with two classes uses all cores regardless of `n_jobs`.
    engine : {"auto", "cpu", "gpu", "dask"}, default="auto"
        Where the work is done. With "auto" Dask collections stay on their cluster, arrays on a card stay there,
        and other rows are for this machine's cores; "gpu" moves them to the card. "cpu" and "dask" check where X is.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features), (1 or n_classes,)
        The classifier.
    classes_ : array
        The labels.
    objective_, lower_bound_, gap_, radius_price_ : float, or arrays of shape (n_classes,)
        The certificate: worst-case risk plus ridge term, a proven lower bound on the best possible value, their
        difference, and the price of one unit of radius. With more than two classes, one entry per class. After
        `partial_fit` there is no certificate: all but the price are NaN. If weights cost nothing (``radius=0``, or
        features that cannot shift, both without ridge), the bound is for weights up to a limit, see `Result`; there is
        no warning, because another setting would be another problem.
    radius_, l2_, intercept_cost_ : float
        The radius, the ridge and the price of the intercept that were used.
    class_factors_ : array of shape (n_classes,)
        By what the weights of the rows of each class were multiplied.
    threshold_ : float
        By how much the threshold was moved: `intercept_` is that of `result_` minus this, and the certificate refers
        to that of `result_`. 0 after `partial_fit`, and with more than two classes.
    sigmoids_ : array of shape (1 or n_classes, 2)
        Slope and offset of the sigmoid of every decision, with ``calibration="sigmoid"``.
    n_iter_ : int
        Number of iterations (the maximum over the classes); after `partial_fit`, of blocks.
    result_ : Result, or list of them
        The full results of the runs, one per class if there are more than two. None after `partial_fit`.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Notes
    -----
    What is proven is the direction: `objective_`, `lower_bound_` and `gap_` are those of `result_`, with the intercept
    of the problem. What is chosen is the threshold: decision values of rows that a classifier has not seen are compared
    with their labels, and the threshold is the one nearest to the problem's own at which the accuracy, averaged over
    thresholds around it, is within 0.4 standard errors of the best; the rarer class is predicted for at least half of
    its share, or for 2 % of the rows, and unseen rows are decided no worse than by a constant, if that is possible.
    Class weights that you give count in this accuracy, those of "auto" do not.
    `drsvm.worst_case_risk` evaluates the classifier as it stands.

    Probabilities are Platt's sigmoid of the same decision values. For two classes they need no further fit; more
    classes, which have no threshold to place, need five each. Sample weights count as numbers of rows, class weights do
    not count. The predicted class always has the largest probability: where the sigmoid prefers the other of two
    classes, between the threshold and its own ½, the probability stays close to ½. Probabilities are about labels as
    they are in training: no method is calibrated for the correct labels if it was trained on wrong ones.

    With K > 2 classes there is one problem for each class against the rest. Since a class is compared with K − 1
    others, each of its rows has K − 1 times the weight of a row of the others. With classes of equal size both
    sides then have half of the weight, and `radius` and `flip_cost` mean the same for any K. Classes of unequal size
    stay unequal, unless ``class_weight="balanced"``.

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

    def __init__(
        self,
        radius: float | Literal["auto"] = "auto",
        *,
        flip_cost: float | Mapping[Any, float] = math.inf,
        norm: Any = 2,
        l2: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_cost: float | Literal["auto"] = "auto",
        feature_cost: Any = None,
        monotonic_cst: Any = None,
        class_weight: Mapping[Any, float] | Literal["auto", "balanced"] | None = "auto",
        threshold: Literal["accuracy", "balanced_accuracy", "optimum"] = "accuracy",
        cv: Any = None,
        calibration: Literal["sigmoid"] | None = None,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        max_time: float | TimeLimit | None = None,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        engine: Literal["auto", "cpu", "gpu", "dask"] = "auto",
    ):
        self.radius = radius
        self.flip_cost = flip_cost
        self.norm = norm
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.intercept_cost = intercept_cost
        self.feature_cost = feature_cost
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.calibration = calibration
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine

    def _trained_ball(self) -> dict[str, Any]:
        """Return the parameters of the ball, for `worst_case.linear_model.own_ball`; None: only `fit` knew them."""
        flip_cost = None if getattr(self, "_flip_cost_by_row", False) else self.flip_cost
        return {
            "radius": self.radius_,
            "flip_cost": flip_cost,
            "norm": norm_for(self.norm).p,
            "feature_cost": prices.feature_costs(self),
        }

    # --- what is linear about a fit ---------------------------------------------------------------------------------

    def _data(self, X, y, sample_weight) -> FitData:
        return fit_data(self, X, y, sample_weight)

    def _prices(self) -> dict[str, Any]:
        return {"norm": self.norm} | prices.feature_prices(self)

    def _at_centre(self, problems: list[Problem]) -> Callable[[Problem], Centred]:
        return prices.centres(problems, in_span=is_auto(self.solver))

    def _earlier_classifier(self) -> tuple[np.ndarray, list[Any]] | None:
        """Return the classes of an earlier fit and its results (with multipliers), or else its classifiers."""
        if not hasattr(self, "coef_"):
            return None
        if self.result_ is not None:
            return self.classes_, [self.result_] if isinstance(self.result_, Result) else list(self.result_)
        coef: Any = self.coef_
        coef = coef.toarray() if sparse.issparse(coef) else coef  # after `sparsify`
        return self.classes_, list(zip(coef, self.intercept_, strict=True))

    def _starts(self, earlier, otherwise: list[Any]) -> list[Any]:
        if earlier is not None and np.array_equal(earlier[0], self.classes_):
            weights = [start.weights if isinstance(start, Result) else start[0] for start in earlier[1]]
            if all(len(w) == self.n_features_in_ for w in weights):
                return earlier[1]
        return otherwise

    def _store_classifier(self, problems: list[Problem], results: list[Result]) -> None:
        self.__dict__.pop("_block_fits", None)  # a later partial_fit starts from this fit
        self.coef_ = np.stack([result.weights for result in results])
