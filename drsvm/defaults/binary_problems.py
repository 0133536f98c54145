"""The binary problems of a fit, and where solvers see their rows from.

The cost of the intercept is that at the centre x̄ of the data: b + w·x̄ is inside the
norm instead of b, so that a shift of the columns changes nothing. For that, dense
columns are shifted by their weighted means before a problem is solved; with several
classes, the rows of one class weigh as much as all others, and every class has its own
centre.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drsvm.problem.problem import Problem
from drsvm.problem.result import Result, Status
from drsvm.problem.row_sums import Decisions, column_moments, range_of_decisions
from drsvm.solvers.reformulation.reformulation import Reformulation, Unchanged
from drsvm.solvers.reformulation.shifted_columns import (
    ShiftedColumns,
    without_far_columns,
)
from drsvm.solvers.reformulation.span_of_rows import in_span_of_rows, span_pays
from drsvm.utils.lazy import cached_property

# Decision values that differ by less are equal: solutions have no more digits. It is in
# units of a margin, which is 1, and for distances in units of a row's norm.
NEGLIGIBLE = 1e-5
# Columns whose means are all below this share of their deviations are centred already
CENTRED = 1e-5
# Entries of the rows of all classes that are kept at the same time, 160 MB
MAX_COPIED = 20_000_000

# Where a run begins: a result, or weights and an intercept
Start = Result | tuple[np.ndarray, float] | None


def centre_of(problem: Problem) -> np.ndarray | None:
    """Return the weighted means of the columns, where the intercept has its cost.

    None if the rows stay where they are: sparse ones, which would become dense, those
    with means of 0, and those of a problem whose intercept is free or missing.
    """
    if not problem.has_intercept_cost or problem.is_sparse:
        return None
    means, deviations = column_moments(problem)
    # This saves a copy of the rows.
    if (np.abs(means) <= CENTRED * deviations).all():
        return None
    # Rounded to the type of the rows, so that subtracting them leaves that type and is
    # nearly exact.
    return means.astype(problem.rows.dtype).astype(np.float64)


def at_centre(problem: Problem) -> Reformulation:
    """Return the problem with rows relative to the centre.

    Dense rows in memory are copied; large rows in a file are shifted as they are read.
    """
    centre = centre_of(problem)
    if centre is None:
        return Unchanged(problem)
    shifted = problem.shifted(centre.astype(problem.rows.dtype))
    return ShiftedColumns(shifted, centre)


@dataclass(frozen=True, eq=False)
class BinaryProblems:
    """The problems of a fit, as they are given and as they are solved."""

    given: list[Problem]
    """One problem per class, or one for two classes."""

    moved: list[Reformulation] | None = None
    """The problems relative to their centres, perhaps in the span of their rows.

    None: they are copied whenever they are needed, one at a time.
    """

    rough_solutions: Sequence[Start] = ()
    """What the rules have found on their way: a rough solution or None for each.

    Empty without rules.
    """

    @classmethod
    def at_centre(
        cls, problems: list[Problem], *, in_span: bool = False
    ) -> "BinaryProblems":
        """Return the problems with rows relative to their centres.

        Rows of two classes are moved once. Those of several classes have a centre for
        each: they are moved here if the copies are small, else when they are needed.

        Parameters
        ----------
        problems : list of Problem
            The problems.
        in_span : bool
            Whether wide rows may have coordinates in the span of the rows.

        Returns
        -------
        BinaryProblems
            The problems as they are given and as they are solved.
        """
        # In the span of n rows, a row has n coordinates: for wide rows, that is a
        # smaller problem with the same solution.
        first = problems[0]
        is_wide = first.n_rows < first.n_features
        narrow = is_wide and in_span and span_pays(first)
        entries = len(problems) * first.n_rows * first.n_features
        if len(problems) > 1 and not (narrow and entries <= MAX_COPIED):
            return cls(problems)
        moved = []
        for problem in problems:
            centred = at_centre(problem)
            if narrow:
                # Products of rows lose digits where columns are far from 0, which they
                # are not relative to a centre.
                if isinstance(centred, Unchanged):
                    centred = without_far_columns(problem)
                centred = in_span_of_rows(centred)
            moved.append(centred)
        return cls(problems, moved)

    @classmethod
    def as_given(cls, problems: list[Problem]) -> "BinaryProblems":
        """Leave the rows where they are."""
        return cls(problems, [Unchanged(problem) for problem in problems])

    @property
    def radius(self) -> float:
        """The radius of all problems."""
        return self.given[0].radius

    @property
    def l2(self) -> float:
        """The ridge of all problems."""
        return self.given[0].l2

    def starts(self) -> Sequence[Start]:
        """Return a rough solution of each problem, None where there is none."""
        return self.rough_solutions or [None] * len(self.given)

    def centred(self, index: int) -> Reformulation:
        """Return one of the problems relative to the centre of its rows."""
        if self.moved is None:
            return at_centre(self.given[index])
        return self.moved[index]

    def with_regularisation(self, radius: float, l2: float) -> "BinaryProblems":
        """Return the problems with another radius and ridge."""
        return self.with_checked(radius=radius, l2=l2)

    def with_checked(self, **attributes: Any) -> "BinaryProblems":
        """Return the problems with other radii or another ridge, which are checked.

        Rows that have been moved are shared.
        """
        given = [problem.with_checked(**attributes) for problem in self.given]
        moved = None
        if self.moved is not None:
            moved = []
            for old, new, at in zip(self.given, given, self.moved, strict=True):
                # A problem that has not been moved stays the given one.
                if at.problem is old:
                    moved.append(Unchanged(new))
                else:
                    moved.append(at.with_checked(**attributes))
        return replace(self, given=given, moved=moved)

    def scaled(self, radius: float, l2: float) -> "BinaryProblems":
        """Return the problems with radius and ridge multiplied."""
        return self.with_regularisation(self.radius * radius, self.l2 * l2)


@dataclass(frozen=True, eq=False)
class Solved:
    """The problems of a fit, with radius and ridge, and their results."""

    problems: BinaryProblems
    results: list[Result]

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights of all classifiers, of shape (n_problems, n_features)."""
        return np.stack([result.weights for result in self.results])

    @cached_property
    def decisions(self) -> list[Decisions]:
        """The range of the decision values of each classifier on training rows."""
        ranges = []
        for problem, result in zip(self.problems.given, self.results, strict=True):
            ranges.append(range_of_decisions(problem, result.weights, result.intercept))
        return ranges

    @property
    def are_constant(self) -> bool:
        """Whether the decisions of every classifier are constant."""
        ranges = [values.highest - values.lowest for values in self.decisions]
        return max(ranges) <= NEGLIGIBLE

    @property
    def cut_short(self) -> bool:
        """Whether a run has ended without what it should have done."""
        statuses = {result.status for result in self.results}
        return Status.INTERRUPTED in statuses or Status.LOST in statuses
