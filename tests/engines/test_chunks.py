"""Chunks of given data: errors, weights and chunks without rows."""

import numpy as np
import pytest
from sharded_here import check, samples, sharded_problem

from drsvm import Problem


@pytest.fixture
def data():
    return samples()


def test_errors_name_the_chunk(data):
    X, y = data
    broken = X.copy()
    broken[150, 2] = np.nan
    for columns, message in [
        ((broken, y), "In chunk 1: X has nan at row 50, column 2"),
        ((X, np.arange(400) % 3), "exactly two labels, got 3"),
        ((X, np.ones(400)), "exactly two labels, got 1"),
        ((X, y, -np.ones(400)), "In chunk 0: sample_weight has -1"),
        ((X, y, np.zeros(400)), "sample_weight is 0 for every row"),
    ]:
        with pytest.raises(ValueError, match=message):
            sharded_problem(*columns[:2], [100], *columns[2:])


def test_chunks_must_have_the_same_features():
    class Uneven:
        def __getitem__(self, rows):
            return np.ones((rows.stop - rows.start, 2 if rows.start == 0 else 3))

    with pytest.raises(ValueError, match="Chunk 1 of X has 3 columns, but chunk 0 has 2"):
        sharded_problem(Uneven(), np.array([1, -1, 1, -1]), [2])


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_huge_and_tiny_weights(data, scale):
    check(sharded_problem(*data, [100], np.full(400, scale)), Problem(*data))


def test_empty_chunks_and_chunks_without_weight(data):
    weights = np.ones(400)
    weights[100:200] = 0.0
    problem = sharded_problem(*data, [0, 100, 200, 200], weights)
    assert (problem.n_given, problem.n_rows, len(problem.rows.coordinator.shards)) == (400, 300, 2)
    check(problem, Problem(*data, sample_weight=weights))
