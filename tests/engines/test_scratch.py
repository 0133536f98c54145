"""The state of the rows in a file."""

import gc

import numpy as np
import pytest

from drsvm import Problem, solve
from drsvm.engines.cpu import room_for
from drsvm.model.memory_rows import is_mapped
from drsvm.solvers import InteriorPoint


def test_arrays_are_in_memory_by_default():
    assert not is_mapped(room_for((3, 4), None))


def test_a_file_holds_what_is_written_and_has_no_name(tmp_path):
    room = room_for((300, 6, 128), str(tmp_path))
    assert is_mapped(room) and room.flags.writeable and not list(tmp_path.iterdir())
    room[:] = np.arange(room.size).reshape(room.shape)
    gc.collect()
    assert room.sum() == room.size * (room.size - 1) / 2


def test_the_answer_is_the_same(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    problem = Problem(X, np.where(X[:, 0] + random.normal(size=3000) > 0, 1, -1))
    found = solve(problem, InteriorPoint(state_folder=str(tmp_path)))
    expected = solve(problem, InteriorPoint(compiled_steps=False))
    assert found.objective == expected.objective and found.lower_bound == expected.lower_bound
    assert not list(tmp_path.iterdir())


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(ValueError, match="is not a folder: create it first"):
        InteriorPoint(state_folder=str(tmp_path / "none"))
