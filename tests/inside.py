"""What tests change inside of the package: every name is written here, and only here."""

import itertools
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import pytest

from drsvm.utils import clock as clock_of_limits

# Mostly numbers that decide which way the package takes: a test sets them so that few
# rows take the way of many. A function is replaced by one that returns the value.
VALUES = {
    # engines
    "thread_work": "drsvm.engines.cpu:THREAD_WORK",
    "share_work": "drsvm.engines.cpu:SHARE_WORK",
    "view_bytes": "drsvm.engines.cpu:VIEW_BYTES",
    "wide_from": "drsvm.engines.cpu:WIDE_FROM",
    "small_matrix": "drsvm.engines.matrices:SMALL",
    "rows_for_blas": "drsvm.engines.matrices:MANY_ROWS",
    "features_for_blas": "drsvm.engines.matrices:FEW_FEATURES",
    "gram_block_bytes": "drsvm.engines.matrices:BLOCK_BYTES",
    "gram_block_rows": "drsvm.engines.matrices:MIN_ROWS",
    "own_gram_bytes": "drsvm.engines.matrices:OWN_BYTES",
    "shared_gram_rows": "drsvm.engines.matrices:ROWS_AT_A_TIME",
    "features_at_a_time": "drsvm.engines.matrices:FEATURES_AT_A_TIME",
    "numbers_to_fetch": "drsvm.engines.sharded.quantiles:FEW",
    "n_bins": "drsvm.engines.sharded.quantiles:N_BINS",
    "patience": "drsvm.engines.dask.dask_coordinator:PATIENCE",
    "glance": "drsvm.engines.dask.dask_coordinator:GLANCE",
    "features_on_gpu": "drsvm.engines.gpu.gpu_engine:MAX_FEATURES",
    "features_of_host": "drsvm.engines.gpu.gpu_engine:FEW_FEATURES",
    "memory_of_gpu": "drsvm.engines.gpu.gpu_backend:free_memory",
    "block_bytes_of_gpu": "drsvm.engines.gpu.gpu_backend:BLOCK_BYTES",
    "tile_rows": "drsvm.engines.gpu.gpu_rows:TILE_ROWS",
    "tile_columns": "drsvm.engines.gpu.gpu_rows:TILE_COLUMNS",
    # problem
    "large_array": "drsvm.problem.memory_rows:LARGE",
    "part_entries": "drsvm.problem.memory_rows:PART_ENTRIES",
    "min_noise": "drsvm.problem.memory_rows:MIN_NOISE",
    "stored_values": "drsvm.problem.kernel_rows:MAX_STORED",
    "kernel_block": "drsvm.problem.kernel_rows:BLOCK",
    "kernel_threads": "drsvm.problem.kernel_rows:usable_threads",
    "seconds_per_value": "drsvm.problem.kernel_rows:FunctionRows.seconds_per_value",
    "pairs_for_centre": "drsvm.problem.feature_space:PAIRS_FOR_CENTRE",
    # solvers
    "memory": "drsvm.solvers.selection:memory_size",
    "default_max_iter": "drsvm.solvers:InteriorPoint.default_max_iter",
    "result_of_compiled_steps": "drsvm.compiled.small_interior_point:run",
    "widenings": "drsvm.solvers.interior_point.working_set:MAX_WIDENINGS",
    "all_at_once": "drsvm.solvers.landmarks.landmark_solver:ALL_AT_ONCE",
    "first_landmarks": "drsvm.solvers.landmarks.landmark_solver:FIRST",
    "few_features": "drsvm.solvers.dual_coordinate.feature_working_set:FEW",
    "explored_share": "drsvm.solvers.dual_coordinate.feature_working_set:EXPLORED",
    "dependent": "drsvm.solvers.reformulation.span_of_rows:DEPENDENT",
    "factorised_to": "drsvm.solvers.paper.admm.subproblem:FACTORISED_TO",
    "slice_work": "drsvm.solvers.paper.incremental.epochs:SLICE",
    "slice_work_by_size": "drsvm.solvers.paper.incremental.epochs:SLICE_BY_SIZE",
    "long_pass": "drsvm.solvers.paper.incremental.epochs:LONG_PASS",
    # defaults
    "seconds_of_a_pair": "drsvm.defaults.radius_rule:SECONDS_OF_A_PAIR",
    # audit and report
    "dense_entries": "drsvm.audit.label_issues:DENSE_ENTRIES",
    "n_trees": "drsvm.audit.label_issues:N_TREES",
    "random_splits": "drsvm.audit.movement:MOST_SPLITS",
    "trees_of_reports": "drsvm.report.rivals:SETTINGS",
    "time_for_other_radii": "drsvm.report.computations:_time_left",
    "plots_of_reports": "drsvm.report.report:draw_all",
    # utils
    "block_bytes": "drsvm.utils.parallel:BLOCK_BYTES",
    "part_size": "drsvm.utils.parallel:PART",
    "worthwhile": "drsvm.utils.parallel:WORTHWHILE",
}

# Where tests let Ctrl-C come, or count calls
PLACES = {
    "compiled steps": "drsvm.compiled.small_interior_point:run",
    "prediction": "drsvm.engines:CpuEngine.predict",
    "step lengths": "drsvm.engines:CpuEngine.longest_steps",
    "curvature": "drsvm.engines:CpuEngine.curvature",
    "step": "drsvm.solvers.interior_point:InteriorPointState.step",
    "run": "drsvm.solvers.api:run",
    "run of a path": "drsvm.solvers.path.radius_path:run",
    "all compiled steps": "drsvm.solvers.many:SmallState.run_to_the_end",
    "coordinates": "drsvm.solvers.api:_in_better_coordinates",
    "limits of BLAS": "drsvm.solvers.loop:single_threaded_blas",
    "rounding": "drsvm.solvers.loop:without_rounding",
    "screening": "drsvm.solvers.interior_point:WorkingSetState.__init__",
}


def owner_and_name(place):
    """Return the module or class that has a name, and the name."""
    module, _, path = place.partition(":")
    owner = import_module(module)
    *classes, name = path.split(".")
    for kind in classes:
        owner = getattr(owner, kind)
    return owner, name


@pytest.fixture
def set_values(monkeypatch):
    """Return a function that sets values until the end of the test."""

    return partial(set_values_by, monkeypatch)


def set_values_by(monkeypatch, **values):
    """Set values until a monkeypatch is undone, for fixtures of a wider scope."""
    for key, value in values.items():
        owner, name = owner_and_name(VALUES[key])
        if callable(getattr(owner, name)):
            monkeypatch.setattr(owner, name, partial(returned, value))
        else:
            monkeypatch.setattr(owner, name, value)


def returned(value, *_, **__):
    return value


@pytest.fixture
def clock(monkeypatch):
    """Return a clock whose attribute `now` is the time; a look at it takes a `tick`."""
    hand = SimpleNamespace(now=100.0, tick=0.0)

    def perf_counter():
        hand.now += hand.tick
        return hand.now

    time = SimpleNamespace(perf_counter=perf_counter)
    monkeypatch.setattr(clock_of_limits, "time", time)
    monkeypatch.setattr(clock_of_limits, "pauses", clock_of_limits.Pauses())
    return hand


@pytest.fixture
def count_calls(monkeypatch):
    """Return a function that returns a list, which receives the arguments of calls."""

    def prepare(place):
        owner, name = owner_and_name(PLACES[place])
        genuine = getattr(owner, name)
        calls = []

        def counted(*arguments, **options):
            calls.append(arguments)
            return genuine(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)
        return calls

    return prepare


@pytest.fixture
def interrupt_in(monkeypatch):
    """Return a function that lets Ctrl-C come in a place, from some call on."""

    def prepare(place, call=1):
        owner, name = owner_and_name(PLACES[place])
        genuine = getattr(owner, name)
        calls = itertools.count(1)

        def interrupted(*arguments, **options):
            if next(calls) >= call:
                raise KeyboardInterrupt
            return genuine(*arguments, **options)

        monkeypatch.setattr(owner, name, interrupted)

    return prepare
