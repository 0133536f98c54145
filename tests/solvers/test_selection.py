"""The solver that `auto` picks."""

import math

import pytest
from instances import sparse_problem, well_conditioned_instance

from drsvm import radius_path, solve
from drsvm.solvers import (
    choose,
    epoch_seconds,
    interior_point_pays,
    interior_point_seconds,
    system_size,
)


def test_auto_picks_the_interior_point():
    problem = well_conditioned_instance(0, 30, 3)
    assert choose(problem) == "interior-point"
    assert solve(problem).solver == solve(problem, "auto").solver == "interior-point"
    assert (
        solve(problem, step_fraction=0.9).gap <= 1e-6
    )  # settings reach the chosen solver


@pytest.mark.parametrize(
    ("norm", "name"),
    [(1, "dual-coordinate"), (2, "dual-coordinate"), (math.inf, "feature-working-set")],
)
def test_many_features_are_for_other_solvers(norm, name):
    problem = sparse_problem(20_000, 60_000, 4, norm=norm)
    assert choose(problem) == name
    result = solve(problem, tol=1e-3)
    assert result.solver == name and result.gap <= 1e-3


def test_small_problems_of_any_shape_are_for_the_interior_point():
    assert choose(well_conditioned_instance(0, 10, 100)) == "interior-point"


def test_the_interior_point_is_avoided_if_its_matrix_exceeds_memory(set_values):
    problem = well_conditioned_instance(0, 30, 3)
    set_values(memory=100.0)
    assert choose(problem) == "dual-coordinate"
    assert not interior_point_pays(problem)


def test_the_size_of_the_matrix_is_that_of_the_features_or_of_few_rows():
    assert system_size(sparse_problem(100, 200_000)) == 100
    assert system_size(sparse_problem(20, 1000)) == 1000
    assert system_size(sparse_problem(9_000, 20)) == 20


def test_the_cost_of_an_iteration_grows_with_its_work():
    """Twice the rows, features or entries never cost less, and a Gram matrix counts if there is one."""
    seconds = interior_point_seconds
    for small, large in [
        ((1000, 100), (2000, 100)),
        ((1000, 100), (1000, 200)),
        ((200, 4000), (400, 4000)),
    ]:
        assert seconds(well_conditioned_instance(0, *small)) < seconds(
            well_conditioned_instance(0, *large)
        )
    assert seconds(sparse_problem(1000, 50, 5)) < seconds(sparse_problem(1000, 50, 10))
    wide = well_conditioned_instance(0, 300, 3000)
    assert seconds(wide) < seconds(wide.replace(norm=1))
    # A factorisation of 2,000³/3 multiplications takes far longer than passes over few
    # entries.
    many = sparse_problem(2000, 2000, 4)
    assert seconds(many) > 100 * epoch_seconds(many)


def test_a_path_follows_the_same_rule(set_values):
    set_values(memory=100.0)
    path = radius_path(well_conditioned_instance(0, 30, 3), [0.1, 0.2], tol=1e-4)
    assert [result.solver for result in path.results] == ["dual-coordinate"] * 2
    assert max(result.gap for result in path.results) <= 1e-4


def test_a_named_solver_is_used_regardless_of_memory(set_values):
    set_values(memory=1.0)
    assert solve(well_conditioned_instance(0, 30, 3), "interior-point").gap <= 1e-8
