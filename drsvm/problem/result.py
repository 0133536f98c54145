"""The result of a solver call: classifier, certificate, status and history."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from drsvm.utils.lazy import optional
from drsvm.utils.messages import right_aligned


class Status(Enum):
    """How a run ended; the value is the message.

    Examples
    --------
    >>> from drsvm import Status
    >>> str(Status.OPTIMAL), Status.OPTIMAL.message, Status.OPTIMAL.reached
    ('optimal', 'the proven gap is at most the tolerance', True)
    """

    OPTIMAL = "the proven gap is at most the tolerance"
    OPTIMAL_WITHIN_BOUNDS = (
        "among classifiers with limited weights, the proven gap is at most the "
        "tolerance"
    )
    OPTIMAL_IN_SPAN = (
        "among functions of the landmarks, the proven gap is at most the tolerance"
    )
    STALLED = "no further progress is possible in floating point"
    ITERATION_LIMIT = "the iteration limit was reached"
    TIME_LIMIT = "the time limit was reached"
    STOPPED = "the callback stopped the run"
    INTERRUPTED = "the run was interrupted"
    LOST = "the rows were lost during the run"

    @property
    def message(self) -> str:
        """The status as a sentence."""
        return self.value

    @property
    def reached(self) -> bool:
        """Whether the tolerance was reached, possibly for some classifiers only."""
        return self.name.startswith("OPTIMAL")

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Progress:
    """The best certified values so far, as passed to callbacks.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> gaps = []
    >>> result = solve(problem, callback=lambda progress: gaps.append(progress.gap))
    >>> gaps[-1] <= result.tol
    True
    """

    iteration: int
    time: float
    objective: float
    lower_bound: float
    radius_price: float

    @property
    def gap(self) -> float:
        """Objective minus lower bound, at least 0."""
        return max(self.objective - self.lower_bound, 0.0)


_RECORDED = ("iteration", "time", "objective", "lower_bound", "radius_price")


class History:
    """The progress of a run, one entry per certificate.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> history = solve(problem).history
    >>> sorted(history.to_dict())
    ['gap', 'iteration', 'lower_bound', 'objective', 'radius_price', 'time']
    >>> bool((history.objective >= history.lower_bound).all())
    True
    """

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {name: [] for name in _RECORDED}

    def append(self, progress: Progress) -> None:
        """Add one entry."""
        # A history that was stored has arrays, to which nothing can be added.
        if isinstance(self._columns["time"], np.ndarray):
            self._columns = {name: self._columns[name].tolist() for name in _RECORDED}
        for name, column in self._columns.items():
            column.append(getattr(progress, name))

    def __len__(self) -> int:
        return len(self._columns["iteration"])

    def to_dict(self) -> dict[str, np.ndarray]:
        """Return the columns as arrays.

        Returns
        -------
        dict of arrays
            iteration, time, objective, lower_bound, gap and radius_price, with an entry
            for each certificate.
        """
        columns = {name: np.array(self._columns[name]) for name in _RECORDED}
        prices = columns.pop("radius_price")
        gaps = columns["objective"] - columns["lower_bound"]
        columns["gap"] = np.maximum(gaps, 0.0)
        columns["radius_price"] = prices
        return columns

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Return plain arrays, which any serialisation format can store."""
        return self.to_dict()

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        self._columns = {name: np.asarray(state[name]) for name in _RECORDED}
        if {column.shape for column in self._columns.values()} != {(len(self),)}:
            raise ValueError("the columns of a history are vectors of one length.")

    def __getattr__(self, name: str) -> np.ndarray:
        # Columns are attributes. Private names are left out: unpickling asks for them
        # before there are any columns.
        columns = {} if name.startswith("_") else self.to_dict()
        if name not in columns:
            raise AttributeError(f"a history has no column {name!r}")
        return columns[name]

    def to_frame(self):
        """Return the columns as a pandas DataFrame (pandas must be installed).

        Returns
        -------
        DataFrame
            One row for each certificate.
        """
        pandas = optional(
            "pandas", "to_frame needs", remark=" to_dict works without it."
        )
        return pandas.DataFrame(self.to_dict())

    def to_json(self) -> str:
        """Return the columns as JSON.

        Returns
        -------
        str
            An object with a list for each column.
        """
        return json.dumps(
            {name: column.tolist() for name, column in self.to_dict().items()}
        )


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """A classifier and its certificate.

    Attributes
    ----------
    weights, intercept : array of shape (d,), float
        The classifier: w·x + b > 0 predicts the larger label.
    radius_price : float
        Price λ of one unit of radius, the smallest optimal one for this classifier.
    objective, lower_bound : float
        Objective of the classifier and a proven lower bound on the optimum.
    hinge_dual, flip_dual : arrays
        The multipliers α and β that prove the bound, one entry per given row.
    contribution_bound, weight_bound : float
        Infinite if the lower bound holds for all classifiers. Where weights cost
        nothing (radius = l2 = 0, or features that cannot shift, without ridge) or next
        to nothing, rounding allows no good bound for all. It holds for those with ``Σ_j
        s_j |w_j|`` up to `contribution_bound` (at least 10⁶); s_j is the root mean
        square of feature j, centred if the intercept is free and the feature far from
        0. This includes all with ‖w‖_q up to `weight_bound`. The status is then
        OPTIMAL_WITHIN_BOUNDS instead of OPTIMAL.
    status, solver, n_iter, time, tol, history
        How the run ended, the solver, its iterations, seconds and tolerance, and the
        progress of the run.

    Examples
    --------
    >>> from drsvm import Problem, solve
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> problem = Problem(X, [-1, -1, 1, 1], radius=0.1, fit_intercept=True)
    >>> result = solve(problem)
    >>> result.gap <= result.tol
    True
    >>> result.lower_bound <= result.objective
    True
    """

    weights: np.ndarray
    intercept: float
    radius_price: float
    objective: float
    lower_bound: float
    hinge_dual: np.ndarray
    flip_dual: np.ndarray
    status: Status
    solver: str
    n_iter: int
    time: float
    tol: float
    history: History
    weight_bound: float = float("inf")
    contribution_bound: float = float("inf")
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Objective minus lower bound.

        The optimum is at most this far below the objective.
        """
        return max(self.objective - self.lower_bound, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap divided by the objective (0 if both are 0)."""
        if self.objective > 0:
            return self.gap / self.objective
        return 0.0

    @property
    def condition(self) -> str:
        """For which classifiers the lower bound holds, in words; empty if for all."""
        if np.isinf(self.weight_bound):
            return ""
        return (
            f"weights of norm up to {self.weight_bound:.4g} (in fact sum_j s_j |w_j| "
            f"up to {self.contribution_bound:.0e}, s_j the root mean square of "
            "feature j)"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, with the name of the status.

        Some serialisation formats cannot store an enum.
        """
        return {**self.__dict__, "status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, status=Status[state["status"]])

    def to_json(self) -> str:
        """Return everything except the multipliers and `info` as JSON.

        Returns
        -------
        str
            An object; infinite bounds of the weights become null.
        """
        values: dict[str, Any] = {"weights": self.weights.tolist()}
        for name in _IN_JSON:
            values[name] = getattr(self, name)
        for name in ("weight_bound", "contribution_bound"):
            if np.isinf(values[name]):
                values[name] = None
        values["status"] = str(self.status)
        values["message"] = self.status.message
        values["history"] = json.loads(self.history.to_json())
        return json.dumps(values)

    def __repr__(self) -> str:
        used = np.count_nonzero(self.weights)
        lines = [f"Result: {self.status}: {self.status.message}"]
        if self.condition:
            lines.append(f"  only for      {self.condition}")
        lines += [
            f"  objective     {self.objective:.10f}",
            f"  lower bound   {self.lower_bound:.10f}",
            f"  gap           {self.gap:.2e}  (tolerance {self.tol:.0e})",
            f"  radius price  {self.radius_price:.6g}",
            f"  weights       {used} of {self.weights.size} not zero, "
            f"intercept {self.intercept:.6g}",
            f"  run           {self.solver}, {self.n_iter} iterations, "
            f"{self.time:.3g} s",
        ]
        return "\n".join(lines)


# The attributes of a result in JSON, besides arrays and the status
_IN_JSON = (
    "intercept",
    "radius_price",
    "objective",
    "lower_bound",
    "gap",
    "weight_bound",
    "contribution_bound",
    "solver",
    "n_iter",
    "time",
    "tol",
)


class Results(list[Result]):
    """The results of several problems: each class, by its label, against the rest.

    This list prints as a table.
    """

    def __init__(self, results: Iterable[Result] = (), labels: Iterable[Any] = ()):
        super().__init__(results)
        self.labels = [str(label) for label in labels]

    def __repr__(self) -> str:
        labels = self.labels
        # A list may have been changed since.
        if len(labels) != len(self):
            labels = [str(index) for index in range(len(self))]
        rows = [_HEAD]
        for label, one in zip(labels, self, strict=True):
            cells = (
                label,
                f"{one.objective:.8f}",
                f"{one.gap:.1e}",
                f"{one.radius_price:.5g}",
                str(np.count_nonzero(one.weights)),
                str(one.n_iter),
                str(one.status),
            )
            rows.append(cells)
        width = max(len(row[0]) for row in rows)
        numbers = right_aligned([row[1:-1] for row in rows])
        reached = sum(result.status.reached for result in self)
        lines = [
            f"Results: {len(self)} classes, each against the rest; "
            f"{reached} reached the tolerance"
        ]
        for row, aligned in zip(rows, numbers, strict=True):
            lines.append(f"{row[0].ljust(width)}  {aligned}  {row[-1]}")
        return "\n  ".join(lines)


_HEAD: tuple[str, ...] = (
    "class",
    "objective",
    "gap",
    "radius price",
    "nonzero",
    "iterations",
    "status",
)
