"""How runs of the interior-point solver end: limits, callbacks, interrupts and breakdowns."""

import math
import threading
from contextlib import nullcontext

import numpy as np
import pytest
from instances import well_conditioned_instance
from problems import NORMS
from threadpoolctl import threadpool_info, threadpool_limits

from drsvm import Status, solve
from drsvm.engines import CpuEngine

for_each_norm = pytest.mark.parametrize("norm", NORMS)


def check_certificate(problem, result):
    assert 0 <= result.lower_bound <= result.objective <= 1 + 1e-12
    assert result.objective == pytest.approx(
        problem.objective(result.weights, result.intercept), rel=1e-12
    )
    assert np.isfinite(result.weights).all() and math.isfinite(result.intercept)


def test_callbacks_see_the_progress():
    problem = well_conditioned_instance(8, 100, 5, fit_intercept=True)
    seen = []
    result = solve(problem, "interior-point", callback=seen.append)
    assert [progress.iteration for progress in seen] == list(
        range(1, result.n_iter + 1)
    )
    gaps, bounds, objectives = (
        [getattr(p, name) for p in seen] for name in ("gap", "lower_bound", "objective")
    )
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] == result.gap <= 1e-8
    assert bounds == sorted(bounds) and objectives == sorted(objectives, reverse=True)
    assert seen[-1].radius_price == result.radius_price
    unseen = solve(problem, "interior-point")
    assert (
        result.objective == pytest.approx(unseen.objective, abs=1e-8)
        and unseen.n_iter == result.n_iter
    )


ENDS = {
    Status.STOPPED: ({"callback": lambda progress: progress.iteration == 3}, 3),
    Status.ITERATION_LIMIT: ({"max_iter": 3}, 3),
    Status.TIME_LIMIT: ({"max_time": 1e-9}, 1),
}


@for_each_norm
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("status", ENDS)
def test_limits_leave_a_certificate(norm, l2, status):
    problem = well_conditioned_instance(9, 200, 8, norm=norm, l2=l2, fit_intercept=True)
    (limit, n_iter) = ENDS[status]
    result = solve(problem, "interior-point", **limit)
    assert (result.status, result.n_iter) == (status, n_iter)
    check_certificate(problem, result)
    assert n_iter < 3 or (result.objective < 1 and result.lower_bound > 0)


@pytest.mark.parametrize("place", ["prediction", "step lengths", "curvature"])
@pytest.mark.parametrize("with_start", [False, True])
def test_an_interrupt_leaves_the_best_point_so_far(interrupt_in, place, with_start):
    problem = well_conditioned_instance(10, 200, 8, fit_intercept=True)
    start = solve(problem.replace(radius=0.2), "interior-point") if with_start else None
    interrupt_in(place, call=3)
    result = solve(problem, "interior-point", start=start, compiled_steps=False)
    assert result.status is Status.INTERRUPTED
    check_certificate(problem, result)
    if with_start:
        assert result.objective <= problem.objective(start.weights, start.intercept)


def test_threads_end_with_the_run(set_values):
    set_values(thread_work=1)
    before = threading.active_count()
    during = []
    problem = well_conditioned_instance(11, 300, 4)
    watch = {"callback": lambda _: during.append(threading.active_count())}
    solve(problem, "interior-point", n_threads=2, compiled_steps=False, **watch)
    assert max(during) > before and threading.active_count() == before


def test_blas_gets_its_threads_back():
    with threadpool_limits(2, user_api="blas"):
        before = threadpool_info()
        solve(well_conditioned_instance(11, 300, 4), "interior-point")
        # One run inside another
        solve(well_conditioned_instance(11, 10_500, 2), "interior-point")
        assert threadpool_info() == before


def test_an_interrupt_before_the_first_certificate_keeps_the_steps_so_far(interrupt_in):
    """Without a callback, certificates come only at the end.

    The steps before Ctrl-C are not lost.
    """
    interrupt_in("step", call=6)
    result = solve(
        well_conditioned_instance(2, 400, 200), "interior-point", compiled_steps=False
    )
    assert result.status is Status.INTERRUPTED and len(result.history) == 0
    assert result.objective < 0.9 and 0 < result.gap < 0.5


@pytest.mark.parametrize(
    "error", [np.linalg.LinAlgError, FloatingPointError, ValueError]
)
def test_a_numerical_breakdown_ends_the_run_with_a_status(monkeypatch, error):
    """Other errors are not taken for one."""

    def fail(self, *arguments):
        raise error("operands could not be broadcast together")

    monkeypatch.setattr(CpuEngine, "predict", fail)
    with (
        pytest.raises(ValueError, match="broadcast")
        if error is ValueError
        else nullcontext()
    ):
        result = solve(
            well_conditioned_instance(0, 40, 3), "interior-point", compiled_steps=False
        )
        assert result.status is Status.STALLED
