"""What `auto` stands for."""

import numpy as np
from instances import well_conditioned_instance
from scipy import sparse

import drsvm.solvers as solvers
from drsvm import Problem, radius_path, solve


def sparse_problem(n, d):
    X = sparse.csr_array((np.ones(n), (np.arange(n), np.arange(n) % d)), shape=(n, d))
    return Problem(X, np.where(np.arange(n) % 2, 1, -1))


def test_auto_is_the_interior_point():
    problem = well_conditioned_instance(0, 30, 3)
    assert solvers.choose(problem) == "interior-point"
    assert solve(problem).solver == solve(problem, "auto").solver == "interior-point"
    assert solve(problem, correctors=0).gap <= 1e-8  # settings reach the chosen solver


def test_a_matrix_beyond_the_memory_is_left_alone(monkeypatch):
    monkeypatch.setattr(solvers, "memory_size", lambda: 2e9)
    result = solve(sparse_problem(30_000, 20_000))
    assert result.solver == "hybrid" and result.gap <= 1e-4


def test_few_rows_need_little_memory_whatever_the_features(monkeypatch):
    monkeypatch.setattr(solvers, "memory_size", lambda: 2e9)
    assert solvers.choose(sparse_problem(100, 200_000)) == "interior-point"
    assert solvers.choose(sparse_problem(9_500, 20_000)) == "hybrid"


def test_features_below_the_wide_form_count_as_they_are(monkeypatch):
    monkeypatch.setattr(solvers, "memory_size", lambda: 1e7)
    assert solvers.choose(sparse_problem(500, 500)) == "interior-point"
    assert solvers.choose(sparse_problem(20, 1000)) == "hybrid"


def test_a_path_follows_the_same_rule(monkeypatch):
    monkeypatch.setattr(solvers, "memory_size", lambda: 100.0)
    path = radius_path(well_conditioned_instance(0, 30, 3), [0.1, 0.2])
    assert [result.solver for result in path.results] == ["hybrid", "hybrid"]
    assert max(result.gap for result in path.results) <= 1e-4


def test_a_named_solver_is_not_asked_for_its_memory(monkeypatch):
    monkeypatch.setattr(solvers, "memory_size", lambda: 1.0)
    assert solve(well_conditioned_instance(0, 30, 3), "interior-point").gap <= 1e-8


def test_the_memory_is_known_or_assumed(monkeypatch):
    assert 1e8 < solvers.memory_size() < 1e15

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(solvers.os, "sysconf", unknown, raising=False)
    assert solvers.memory_size() == 8e9
