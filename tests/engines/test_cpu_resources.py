"""What an engine of this machine takes: threads, memory and files; and tiny numbers."""

import gc
import math

import numpy as np
import pytest
from instances import well_conditioned_instance

from drsvm import Problem, solve
from drsvm.engines.cpu import CpuEngine, room_for
from drsvm.model.memory_rows import is_mapped
from drsvm.solvers import InteriorPoint


def test_threads_are_used_only_for_enough_work():
    problem = well_conditioned_instance(0, 3000, 5)
    assert CpuEngine(problem, 8).n_threads == 1
    assert CpuEngine(problem, 8).small
    large = well_conditioned_instance(0, 40_000, 5)
    engine = CpuEngine(large, 8)
    assert 1 < engine.n_threads <= 4 and not engine.small


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


@pytest.mark.thorough
def test_tiny_multipliers_do_not_stop_a_step():
    """They are lost if 1 is added and taken away again, as a compiler may that changes the order of sums."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.choice([-1, 1], 300)
    problem = Problem(X, y, radius=0.1, flip_cost=rng.choice([100.0, math.inf], 300))
    engine = CpuEngine(problem)
    direction = 1e-9 * rng.normal(size=4), 1e-9
    engine.center(np.full(4, 0.1), 2.0, 1e-12)
    assert 0 < np.min(engine.multipliers()[1][problem.flip_cost < math.inf]) < 1e-16
    engine.predict(*direction)
    assert np.isfinite(engine.longest_steps(*direction, 1e-13)).all()
