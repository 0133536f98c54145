"""Common behaviour of the incremental methods: steps, orders, seeds, extreme parameters, and a common answer.

And what is special about each: its steps and phases, and the optima of the paper's
instances.
"""

import math
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import well_conditioned_instance
from problems import NORMS, STRANGE_DATA, problems, random_rows
from scipy import sparse
from strategies import run_python
from thorough import LONG, examples, for_each, unless_long

from drsvm import Problem, Status, solve
from drsvm.solvers import proximal_step
from drsvm.solvers.paper.incremental import Cycles, Schedule

METHODS = ("isg", "ippa", "hybrid")
A1A = [("a1a", q, c) for q in NORMS for c in (0, 1)]
OF_HYBRID = unless_long(
    [("a1a", 1, 0), ("a1a", 2, 1), ("a1a", math.inf, 0), ("ijcnn1", 2, 0)],
    [*A1A, ("a9a", 1, 0), ("a9a", 2, 0), ("ijcnn1", 2, 0)],
)
INSTANCES = [("isg", *one, math.inf) for one in A1A] + [
    ("ippa", *one, 1e-3) for one in A1A
]
INSTANCES += [("hybrid", *one, 1e-4) for one in OF_HYBRID]

for_each_method = pytest.mark.parametrize("method", METHODS)
for_each_norm = pytest.mark.parametrize("norm", NORMS)


# Always the same one, for given parameters
instance = cache(partial(well_conditioned_instance, 3, 300, 8))
optima = cache(solve)


@for_each(norm=NORMS, method=METHODS)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"l2": 1.0},
        {"fit_intercept": True},
        {"flip_cost": math.inf},
        {"radius": 0.01, "flip_cost": 0.3},
    ],
    ids=["plain", "ridge", "intercept", "trusted labels", "cheap flips"],
)
def test_runs_end_with_a_proof(method, norm, parameters):
    problem = instance(norm=norm, **parameters)
    optimum = optima(problem)
    tol = 1e-3 if method != "isg" else 0.06
    result = solve(problem, method, tol=tol, random_state=0)
    assert result.status is Status.OPTIMAL and result.gap <= tol
    assert (
        result.lower_bound <= optimum.objective + 1e-9
        and result.objective >= optimum.lower_bound - 1e-9
    )
    assert result.objective == pytest.approx(
        problem.objective(result.weights, result.intercept), abs=1e-12
    )


@for_each(norm=NORMS, method=["ippa", "hybrid"])
def test_memory_leads_far_below_the_default_tolerance(method, norm):
    result = solve(instance(norm=norm), method, tol=1e-6, max_iter=2000)
    assert result.status is Status.OPTIMAL


@pytest.mark.thorough
@for_each_method
def test_dense_and_sparse_rows_give_the_same_result(method):
    problem = well_conditioned_instance(1, 100, 5)
    y = problem.signs
    dense = solve(problem, method, max_iter=5, tol=0.0)
    rows = solve(Problem(sparse.csr_array(problem.X), y), method, max_iter=5, tol=0.0)
    np.testing.assert_allclose(dense.weights, rows.weights, rtol=1e-9)
    if not LONG:  # single precision is another kernel
        return
    single = solve(
        Problem(np.asarray(problem.X, dtype=np.float32), y), method, max_iter=5, tol=0.0
    )
    np.testing.assert_allclose(dense.weights, single.weights, rtol=1e-3, atol=1e-5)


@for_each(norm=NORMS, method=METHODS)
def test_equal_problems_have_equal_answers(method, norm):
    rng = np.random.default_rng(7)
    X, y = random_rows(rng, 60, 4, "gaussian")
    ball = {"radius": 0.1, "flip_cost": 1.0, "norm": norm}
    weights = np.where(np.arange(60) < 10, 3.0, 1.0)
    shuffled = rng.permutation(60)
    same = {
        "permuted": Problem(
            X[shuffled], y[shuffled], sample_weight=weights[shuffled], **ball
        ),
        "repeated": Problem(
            np.concatenate([X, X[:10], X[:10]]),
            np.concatenate([y, y[:10], y[:10]]),
            **ball,
        ),
        "scaled": Problem(
            1e4 * X, y, radius=1e3, flip_cost=1e4, norm=norm, sample_weight=weights
        ),
    }
    expected = solve(Problem(X, y, sample_weight=weights, **ball)).objective
    for name, problem in same.items():
        tol = 1e-3 if method != "isg" else 5e-3
        result = solve(problem, method, tol=tol)
        assert result.status is Status.OPTIMAL, name
        assert expected - 1e-8 <= result.objective <= expected + tol, name


@for_each_method
def test_runs_do_not_depend_on_the_unit_of_the_features(method):
    """A power of two changes no rounding: everything but the unit is the same."""
    problem = well_conditioned_instance(5, 80, 4, l2=0.5, fit_intercept=True)
    unit = 2.0**20
    scaled = Problem(
        unit * problem.X,
        problem.signs,
        radius=0.1 * unit,
        flip_cost=unit,
        l2=0.5 * unit**2,
        fit_intercept=True,
    )
    one, other = (solve(p, method, max_iter=6, tol=0.0) for p in (problem, scaled))
    np.testing.assert_allclose(unit * other.weights, one.weights, rtol=1e-6)
    np.testing.assert_allclose(
        other.history.objective, one.history.objective, rtol=1e-9
    )


@for_each(order=["shuffled", "cyclic", "with-replacement"], method=METHODS)
def test_a_seed_determines_every_bit(method, order):
    def run(seed):
        return solve(
            instance(), method, max_iter=8, tol=0.0, random_state=seed, order=order
        ).weights

    assert (run(1) == run(1)).all()
    assert (run(1) == run(2)).all() == (order == "cyclic")


@for_each(order=["cyclic", "with-replacement"], method=METHODS)
def test_other_orders_lead_to_the_optimum(method, order):
    problem = instance()
    result = solve(problem, method, tol=2e-3, order=order)
    assert result.objective <= optima(problem).objective + 2e-3


def test_schedules_match_the_theory():
    assert [Schedule("geometric", 2.0, 0.5).step(k) for k in (1, 2, 3)] == [
        2.0,
        1.0,
        0.5,
    ]
    assert [Schedule("harmonic", 2.0, 0.5).step(k) for k in (1, 2, 4)] == [
        2.0,
        1.0,
        0.5,
    ]
    assert [Schedule("root", 2.0, 0.5).step(k) for k in (1, 4, 16)] == [2.0, 1.0, 0.5]


@pytest.mark.parametrize("epochs", [1, 39, 40, 41, 100, 500, 10_000])
def test_the_last_cycle_ends_with_the_last_epoch(epochs):
    cycles = Cycles(1.0, epochs, 1.0)
    steps = [cycles.step(k) for k in range(1, epochs + 1)]
    tops = [k for k in range(epochs) if steps[k] == 1.0]
    assert tops[0] == 0 and all(0 < step <= 1.0 for step in steps)
    lengths = np.diff([*tops, epochs])
    assert (np.diff(lengths) >= 0).all() and lengths[-1] >= 0.4 * epochs
    assert steps[-1] == pytest.approx(
        1e-3 ** ((lengths[-1] - 1) / lengths[-1]), rel=1e-9
    )


@for_each(steps=["geometric", "harmonic", "root"], method=METHODS)
def test_theoretical_schemes_approach_the_optimum(method, steps):
    problem = instance(norm=2, l2=0.5)
    result = solve(problem, method, steps=steps, tol=0.0, max_iter=150)
    assert result.objective <= optima(problem).objective + (
        0.1 if steps == "harmonic" else 0.01
    )


@for_each(
    steps=["auto", "geometric"],
    first_step=[1e-300, 1e-9, 1e9, 1e300],
    norm=NORMS,
    method=METHODS,
)
def test_no_first_step_is_too_extreme(method, norm, first_step, steps):
    problem = instance(norm=norm, fit_intercept=True)
    result = solve(
        problem, method, first_step=first_step, steps=steps, max_iter=4, tol=0.0
    )
    assert np.isfinite(result.weights).all() and math.isfinite(result.intercept)
    assert 0 <= result.lower_bound <= result.objective <= 1.0


@pytest.fixture(scope="module")
def uneven():
    """Return a function that returns a problem with heavy-tailed columns with scales from 0.01 to 1000."""
    rng = np.random.default_rng(11)
    X = rng.lognormal(sigma=2.0, size=(400, 12)) * np.logspace(-2, 3, 12)
    y = np.where(
        np.log(X) @ rng.normal(size=12) + 3.0 * rng.normal(size=400) > 5.0, 1, -1
    )
    return lambda **parameters: Problem(
        X, y, **{"radius": 0.01, "fit_intercept": True, **parameters}
    )


@for_each(norm=NORMS, method=METHODS)
@pytest.mark.parametrize(
    "parameters", [{}, {"flip_cost": math.inf}, {"l2": 0.01}], ids=str
)
def test_the_interior_point_takes_over_if_epochs_do_not_pay_off(
    uneven, method, norm, parameters
):
    result = solve(uneven(norm=norm, **parameters), method)
    assert result.status is Status.OPTIMAL
    assert (
        result.info["handed_over_to"] == "interior-point"
        and "advice" not in result.info
    )
    assert result.n_iter > sum(result.info["epochs"].values()) >= 64


@for_each_method
@pytest.mark.parametrize(
    "settings",
    [
        {"steps": "root"},
        {"hand_over": False},
        {"memory": False},
        {"tol": 0.0},
        {"max_iter": 60},
    ],
    ids=str,
)
def test_a_method_stays_pure_if_requested(uneven, method, settings):
    if method == "isg" and "memory" in settings:
        pytest.skip("isg has no memory")
    result = solve(uneven(), method, **{"max_iter": 100, **settings})
    assert (
        result.status is Status.ITERATION_LIMIT and "handed_over_to" not in result.info
    )
    assert sum(result.info["epochs"].values()) == result.n_iter


def test_there_is_advice_if_no_solver_can_take_over(uneven, set_values):
    set_values(memory=1.0)  # of the interior point's matrix
    info = solve(uneven(), "hybrid", max_iter=100).info
    assert "scale the features" in info["advice"] and "handed_over_to" not in info


@for_each_norm
def test_no_solver_takes_over_if_epochs_pay_off(norm):
    for method in ("ippa", "hybrid"):
        assert "handed_over_to" not in solve(instance(norm=norm), method).info


@examples(20, 500)
@given(
    problems(max_rows=8, max_features=3), st.sampled_from(METHODS), st.integers(0, 99)
)
def test_every_result_is_finite_and_has_a_proof(problem, method, seed):
    result = solve(problem, method, max_iter=12, random_state=seed)
    assert np.isfinite(result.weights).all() and math.isfinite(result.intercept)
    assert math.isfinite(result.lower_bound) and result.gap >= -1e-9
    assert result.objective <= 1.0 + 1e-12


@for_each(name=STRANGE_DATA, norm=NORMS, method=METHODS)
def test_strange_data_are_accepted(method, norm, name):
    X, y = STRANGE_DATA[name]
    problem = Problem(X, y, radius=0.1, norm=norm, fit_intercept=True)
    result = solve(problem, method)
    optimum = solve(problem)
    assert (
        result.lower_bound <= optimum.objective + 1e-9
        and result.objective >= optimum.lower_bound - 1e-9
    )
    if (
        method != "isg" and name != "unequal columns"
    ):  # their directions differ by 10^12 in curvature
        assert result.objective <= optimum.objective + 1e-2


@for_each(norm=NORMS, method=METHODS)
def test_limits_of_the_parameters(method, norm):
    X, y = random_rows(np.random.default_rng(2), 40, 3, "gaussian")
    for parameters in (
        {"radius": 50.0},
        {"flip_cost": 0.0},
        {"radius": 0.0, "l2": 0.1},
        {"flip_cost": math.inf},
    ):
        problem = Problem(X, y, norm=norm, **parameters)
        tol = 2e-3 if method != "isg" else 1e-2
        result = solve(problem, method, tol=tol)
        assert result.status is Status.OPTIMAL, parameters
        assert result.objective <= solve(problem).objective + tol, parameters


@for_each_method
def test_a_run_continues_from_its_start(method):
    problem = instance()
    optimum = optima(problem)
    assert solve(problem, method, start=optimum).n_iter == 0
    warm = solve(problem, "hybrid", start=(optimum.weights, 0.0), tol=1e-5)
    assert warm.status is Status.OPTIMAL and warm.objective <= optimum.objective + 1e-9


def test_time_limits_and_callbacks_are_obeyed():
    assert solve(instance(), "isg", tol=0.0, max_time=1e-9).n_iter == 1
    seen = []
    solve(
        instance(),
        "hybrid",
        tol=0.0,
        max_iter=7,
        callback=lambda progress: seen.append(progress.iteration),
    )
    assert seen == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"steps": "fast"},
            "steps must be one of auto, geometric, harmonic, root, got steps='fast'",
        ),
        (
            {"first_step": 0.0},
            "first_step must be a positive number or None, got first_step=0.0",
        ),
        ({"first_step": math.nan}, "first_step=nan"),
        ({"decay": 1.5}, r"decay must be a number in \(0, 1\], got decay=1.5"),
        (
            {"order": "random"},
            "order must be one of shuffled, cyclic, with-replacement, got order='random'",
        ),
        (
            {"batch_size": 0},
            "batch_size must be an integer ≥ 1 or None, got batch_size=0",
        ),
        ({"batch_size": 2.5}, "batch_size=2.5"),
    ],
)
def test_bad_settings_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(instance(), "hybrid", **arguments)


@pytest.mark.data
@pytest.mark.parametrize(("method", "name", "q", "c", "tol"), INSTANCES)
def test_optima_are_reached_without_tuning(proven_problem, method, name, q, c, tol):
    """The subgradient method comes near the optimum, but proves little."""
    problem, known = proven_problem(name, q, c)
    result = solve(problem, method, **({} if method == "isg" else {"tol": tol}))
    assert result.gap <= tol and result.objective <= known.optimum + min(tol, 1e-3)
    assert result.lower_bound <= known.optimum + known.certified_gap + 1e-9


@for_each(batch_size=[1, 7, 32, 10_000], norm=NORMS)
def test_every_batch_size_leads_to_the_optimum(norm, batch_size):
    problem = well_conditioned_instance(4, 200, 6, norm=norm, l2=0.2)
    result = solve(problem, "isg", batch_size=batch_size, tol=0.0, max_iter=200)
    assert result.objective <= solve(problem).objective + 5e-3
    assert result.info == {"epochs": {"subgradient": 200}}


def test_a_step_is_a_projected_subgradient_step():
    """One row per class, w = 0: both hinges are active, and the step goes along the mean of y·x."""
    X = np.array([[1.0, 0.0], [0.0, -2.0]])
    problem = Problem(X, [1, -1], radius=0.1, flip_cost=math.inf, norm=2)
    result = solve(
        problem,
        "isg",
        batch_size=2,
        steps="geometric",
        first_step=0.5,
        max_iter=1,
        tol=0.0,
    )
    a = 0.5 * np.array([0.5, 1.0])
    s = -0.5 * 0.1
    length = np.linalg.norm(a)
    np.testing.assert_allclose(
        result.weights, (length + s) / 2 * a / length, rtol=1e-12
    )


def test_polished_multipliers_prove_more():
    problem = well_conditioned_instance(4, 200, 6)
    plain, polished = (
        solve(problem, "isg", tol=0.0, max_iter=40, polish_dual=polish).lower_bound
        for polish in (False, True)
    )
    assert polished > plain > 0.5 * polished


@for_each(
    parameters=[
        {},
        {"l2": 0.7},
        {"flip_cost": math.inf},
        {"flip_cost": 0.2, "radius": 0.02},
    ],
    norm=NORMS,
)
def test_an_epoch_is_a_sequence_of_proximal_steps(norm, parameters):
    problem = well_conditioned_instance(8, 50, 6, norm=norm, **parameters)
    result = solve(
        problem,
        "ippa",
        steps="root",
        first_step=0.05,
        order="cyclic",
        max_iter=1,
        tol=0.0,
    )
    w = np.zeros(6)
    lam = 0.0
    ball = {
        "radius": problem.radius,
        "flip_cost": problem.flip_cost,
        "norm": norm,
        "l2": problem.l2,
    }
    for x, sign in zip(problem.X, problem.signs, strict=True):
        step = proximal_step(x, sign, w, lam, step=0.05, **ball)
        w = step.weights
        lam = step.radius_price
    np.testing.assert_allclose(result.weights, w, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("method", "first"), [("ippa", "proximal"), ("hybrid", "subgradient")]
)
def test_phases_follow_each_other(method, first):
    problem = well_conditioned_instance(6, 400, 10)
    epochs = solve(problem, method, tol=0.0, max_iter=30).info["epochs"]
    assert (
        list(epochs) == [first, "memory"]
        and 2 <= epochs[first] <= 8
        and sum(epochs.values()) == 30
    )
    without_memory = solve(problem, method, tol=0.0, max_iter=30, memory=False).info[
        "epochs"
    ]
    assert list(without_memory) == list(dict.fromkeys([first, "proximal"]))


@pytest.mark.thorough
def test_newton_steps_from_end_to_end_of_an_edge_terminate():
    """Run in a separate process: an infinite loop in a kernel cannot be stopped from within."""
    code = """
import math
from drsvm import Problem, solve
X = [
    [-6.660670627053513e-05, -2.765836258918027e-06, 0, 0, -4.2662216184758435e-05, 0, 7.572078204544693e-05],
    [-5.649952002802806e-06, -2.9437692184748615e-06, 0, 0, -6.831163152649844e-05, -1.9768166105834873e-06, 0],
]
print(solve(Problem(X, [1, -1], radius=1e-10, norm=math.inf), "hybrid").status.name)
"""
    assert run_python(code, timeout=240).strip() == "OPTIMAL"
