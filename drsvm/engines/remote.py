"""Problems whose rows are elsewhere: on the workers of a cluster, or on a graphics card.

Everything with one entry per row stays with the rows; what crosses is as large as a row, or as a Gram matrix. A
subclass answers the questions of `model/row_operations.py` there, and makes the engine for the interior point.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from drsvm.engines.engine import Engine
from drsvm.model.multipliers import Multipliers
from drsvm.model.problem import Problem
from drsvm.model.row_operations import Decisions, PullVariances


class RowsLost(RuntimeError):
    """The rows are gone: the machines that had them do not answer, or have lost what cannot be computed again."""


class RowsElsewhere(NamedTuple):
    """Stands for X: what is known about it here."""

    shape: tuple[int, int]
    dtype: np.dtype
    stored: int  # number of stored entries
    is_sparse: bool

    @property
    def size(self) -> int:
        """Number of stored entries."""
        return self.stored

    def __getitem__(self, _):
        raise TypeError("These rows are elsewhere: ask the problem, or bring them here first.")


BALL = ("radius", "flip_cost", "norm", "l2", "fit_intercept", "intercept_cost", "feature_cost", "monotonic_cst")


class RemoteProblem(Problem):
    """A problem whose `X` only has a shape; `signs` and `sample_weight` are None.

    `flip_cost` is a number, or an array with some of the costs of the rows, the smallest and the largest among them.
    """

    place: str
    """Where the rows are, in words: "on a Dask cluster"."""

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are stored in a sparse format."""
        return self.X.is_sparse

    @property
    def flip_costs(self) -> np.ndarray:
        """Some of the flip costs of the rows."""
        return np.atleast_1d(np.asarray(self.flip_cost, dtype=np.float64))

    @abstractmethod
    def make_engine(self, n_threads: int | None) -> Engine:
        """Return an engine that works where the rows are."""

    @abstractmethod
    def price_and_objective(self, w, b: float = 0.0) -> tuple[float, float]: ...

    @abstractmethod
    def worst_case_hinge(self, w, b: float, size: float, radii) -> np.ndarray:
        """Return the worst-case hinge risk for every radius, where a unit of shift changes a decision by `size`."""

    @abstractmethod
    def worst_case_error(self, w, b: float, size: float, radii) -> np.ndarray:
        """Return the worst-case error rate for every radius."""

    @abstractmethod
    def feasible(self, hinge_dual, flip_dual) -> Multipliers: ...

    @abstractmethod
    def no_multipliers(self) -> Any: ...

    @abstractmethod
    def masses_of_classes(self) -> tuple[float, float]: ...

    @abstractmethod
    def flip_costs_of_classes(self) -> tuple[float, float]: ...

    @abstractmethod
    def masses_by_flip_cost(self, sign: float) -> tuple[np.ndarray, np.ndarray]: ...

    @abstractmethod
    def multiples_of_weights(self, positive: float, negative: float) -> Any: ...

    @abstractmethod
    def pull_of_classes(self, positive: float = 1.0, negative: float = 1.0) -> tuple[np.ndarray, float]: ...

    @abstractmethod
    def decisions(self, w, b: float = 0.0) -> Decisions: ...

    @abstractmethod
    def flips_pay(self, w, b: float = 0.0) -> bool: ...

    @abstractmethod
    def typical_row_norm(self, of_features=None) -> float: ...

    @abstractmethod
    def column_squares(self) -> np.ndarray: ...

    @abstractmethod
    def moments(self) -> tuple[np.ndarray, np.ndarray]: ...

    @abstractmethod
    def pull_variances(self, pilot=None, counts=None) -> PullVariances: ...

    @abstractmethod
    def drawn(self, size: int) -> Problem: ...

    def some_rows(self, size: int) -> Any:
        """Return about so many rows, as an array here."""
        return self.drawn(size).X

    @abstractmethod
    def drawn_by_class(self, size: int) -> Problem: ...

    def nearby(self, most_entries: float) -> Problem:
        return self.fetched() if self.X.stored <= most_entries else self

    @abstractmethod
    def fetched(self) -> Problem:
        """Return the problem with all of its rows in this memory."""

    def _here(self, X, signs, weights, costs) -> Problem:
        """Return the problem on rows that have been fetched."""
        others = {name: getattr(self, name) for name in BALL} | ({} if costs is None else {"flip_cost": costs})
        return Problem.of_checked(X, signs, weights / weights.sum(), classes=self.classes, **others)

    @abstractmethod
    def shifted(self, offset) -> "RemoteProblem": ...

    @abstractmethod
    def relabelled(self, positive, sample_weight=None) -> "RemoteProblem": ...

    @abstractmethod
    def multipliers_from(self, values) -> Any: ...

    def margins(self, w, b: float = 0.0) -> np.ndarray:
        raise TypeError("The rows of this problem are elsewhere: use `decisions`, or predict with the estimator.")

    decision_values = margins

    def to_kept_rows(self, values) -> Any:
        return values

    def to_given_rows(self, values) -> Any:
        return values
