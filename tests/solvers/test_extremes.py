"""All solvers at the ends of all scales: every run ends in time, without a fuss, and claims nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest
from extremes import (
    Watched,
    complaints_about,
    contradictions,
    extreme_instance,
    solvers_for,
)
from thorough import unless_long

from drsvm import Status, solve

CHUNKS = unless_long(
    [(1,)], [range(first, first + 100) for first in range(0, 300, 100)]
)
"""Seeds of instances; each is given to all eight or nine solvers."""

PATIENCE = 3.0
"""By how much a busy machine may stretch what a run may be late by."""


@pytest.mark.parametrize("seeds", CHUNKS)
def test_every_answer_holds(seeds):
    with Watched(seeds, PATIENCE) as solving:
        found = {
            seed: complaints
            for seed in seeds
            if (complaints := solving.complaints(seed))
        }
    assert not found, "\n".join(
        f"seed {seed}: {text}" for seed, texts in found.items() for text in texts
    )


def test_instances_cover_the_range():
    problems = [extreme_instance(seed) for seed in range(300)]
    sizes = [float(np.abs(problem.X).max()) for problem in problems]
    assert min(size for size in sizes if size > 0) < 1e-9 and max(sizes) > 1e9
    for name, values in {
        "radius": (0.0, 1e-12, 1e8),
        "flip_cost": (0.0, np.inf),
        "l2": (0.0, 1e-10, 1e6),
    }.items():
        assert {getattr(problem, name) for problem in problems}.issuperset(values)
    assert {problem.X.dtype.name for problem in problems} == {"float32", "float64"}
    assert {problem.fit_intercept for problem in problems} == {False, True}
    assert {hasattr(problem.X, "toarray") for problem in problems} == {False, True}
    assert (
        min(problem.n_rows for problem in problems) == 2
        and min(problem.n_features for problem in problems) == 1
    )
    assert {len(solvers_for(problem)) for problem in problems} == {8, 9}


# The checks would see what is wrong.


@pytest.fixture(scope="module")
def solved():
    problem = next(
        p
        for p in map(extreme_instance, range(100))
        if p.radius > 0 == p.l2 and 0 < p.flip_cost < np.inf
    )
    return problem, solve(problem, "interior-point", tol=1e-6)


def test_a_good_answer_gives_no_cause_for_complaint(solved):
    assert not list(complaints_about(*solved, max_time=60.0, patience=1.0))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (
            lambda result: {"lower_bound": result.objective + 1e-6},
            "above the objective",
        ),
        (lambda result: {"objective": result.objective + 1e-6}, "recomputed"),
        (lambda result: {"hinge_dual": 0.5 * result.hinge_dual}, "multipliers prove"),
        (lambda result: {"status": Status.STALLED}, "stalled with the gap"),
        (lambda result: {"time": 70.0}, "late"),
        (lambda result: {"weights": np.nan * result.weights}, "finite"),
    ],
    ids=["bound", "objective", "multipliers", "status", "time", "weights"],
)
def test_a_wrong_answer_does(solved, wrong, complaint):
    problem, result = solved
    found = complaints_about(
        problem, replace(result, **wrong(result)), max_time=60.0, patience=1.0
    )
    assert any(complaint in text for text in found)


def test_solvers_must_not_contradict_each_other():
    low = {
        "objective": 0.5,
        "lower_bound": 0.4,
        "norm": 1.0,
        "noise": 1e-12,
        "weight_bound": np.inf,
    }
    high = {
        "objective": 0.8,
        "lower_bound": 0.6,
        "norm": 1.0,
        "noise": 1e-12,
        "weight_bound": np.inf,
    }
    assert list(contradictions({"one": low, "other": high})) == [
        "other bounds by 0.6, one reaches 0.5"
    ]
    assert not list(
        contradictions({"one": low, "other": {**high, "weight_bound": 0.9}})
    )
