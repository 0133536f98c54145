"""Random instances with extreme scales, conditions on every solver's result, and a
monitored process.

A solve that hangs in compiled code ignores time limits and alarms, so solves run in a
child process, which is killed when one of them takes too long.
"""

import math
import multiprocessing
import traceback
import warnings

import numpy as np
from exact import exact_bound
from instances import log_uniform_integer, power
from problems import DUAL_ORDER, NORMS, Plain
from scipy import sparse
from thorough import LONG

from drsvm import Problem, Status, solve
from drsvm.certificate import NEGLIGIBLE

SOLVERS = (
    "auto",
    "interior-point",
    "dual-coordinate",
    "feature-working-set",
    "isg",
    "ippa",
    "hybrid",
    "admm",
    "conic",
)

# time limits in seconds for one solve and for compiling all kernels
WATCHDOG = 60.0
WARM_UP = 600.0
EPS = 2.0**-52


def extreme_instance(seed):
    """Return a small problem: features from 1e-12 to 1e12, parameters from 0 to huge,
    often degenerate data.
    """
    rng = np.random.default_rng((seed, 2))
    X, y = extreme_rows(rng)
    single = rng.random() < 0.3
    flip_cost = float(
        rng.choice(
            [0.0, 1e-8, 1e-3, 1.0, 1e3, 1e8, math.inf, math.inf, power(rng, -8, 8)]
        )
    )
    dense = X.astype(np.float32) if single else X
    # Kernels are compiled for each of these types
    rows = sparse.csr_array(X) if rng.random() < 0.4 else dense
    if rng.random() < 1 / 3:  # on the scale of the features
        radius = float(
            power(rng, -4, 1) * min(np.abs(X).mean(dtype=float), flip_cost or 1.0)
        )
    else:
        radius = float(
            rng.choice([0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 1e8, power(rng, -12, 8)])
        )
    return Problem(
        rows,
        y,
        radius=radius,
        flip_cost=flip_cost,
        norm=rng.choice(NORMS),
        l2=float(
            rng.choice([0.0, 0.0, 0.0, 1e-10, 1e-3, 1.0, 1e6, power(rng, -10, 6)])
        ),
        sample_weight=power(rng, -12, 0, len(y)) if rng.random() < 0.3 else None,
        fit_intercept=rng.random() < 0.5,
    )


def extreme_rows(rng):
    """Return rows and labels of both classes."""
    n = 1 + log_uniform_integer(rng, 29)
    d = int(rng.integers(1, 16))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:  # entries of different magnitudes, many of them 0
        X *= power(rng, -2, 0, (n, d)) * (rng.random((n, d)) < rng.uniform(0.2, 1.0))
    y = np.where(
        X @ rng.normal(size=d) + rng.choice([0.0, 1.0]) * rng.normal(size=n) > 0, 1, -1
    )
    y = np.full(n, rng.choice([-1, 1])) if rng.random() < 0.2 else y
    # often the only rows of their classes
    y[0] = 1
    y[-1] = -1
    if rng.random() < 0.3:
        X = np.round(X)
    if rng.random() < 0.3:
        X[n // 2 :] = X[: n - n // 2]
    for kind, size in ((np.s_[:, None], n), (np.s_[None, :], d)):
        if rng.random() < 0.3:
            X *= power(rng, *rng.choice([(-12, 12), (-3, 3)]), size)[kind]
        if rng.random() < 0.3:
            X *= (rng.random(size) < 0.7)[kind]
    return X * rng.choice([1.0, 1.0, 1e-12, 1e12, power(rng, -12, 12)]), y


def solvers_for(problem):
    """Return the solvers that accept a problem: feature working sets need sparse
    weights.
    """
    return [
        name
        for name in SOLVERS
        if name != "feature-working-set" or math.isinf(problem.norm.p)
    ]


def complaints_about(problem, result, max_time, patience):
    """Yield what is wrong with a result."""
    figures = [
        result.objective,
        result.lower_bound,
        result.gap,
        result.radius_price,
        result.intercept,
        result.time,
    ]
    arrays = [
        result.weights,
        result.hinge_dual,
        result.flip_dual,
        *result.history.to_dict().values(),
    ]
    if not all(np.isfinite(values).all() for values in [*figures, *arrays]):
        yield "not all figures are finite"
        return
    if result.status.reached != (result.gap <= result.tol):
        yield (
            f"{result.status} with the gap {result.gap} and the tolerance {result.tol}"
        )
    if result.status is Status.OPTIMAL and math.isfinite(result.weight_bound):
        yield f"optimal, but only for weights of norm up to {result.weight_bound}"
    late = result.time - max_time
    if late > patience * max(0.3, 0.1 * max_time):
        yield f"{late:.2f} s late"
    noise = primal_noise(problem, result.weights, result.intercept)
    if result.lower_bound > result.objective + noise:
        yield f"lower bound {result.lower_bound} above the objective {result.objective}"
    plain = Plain.of(problem).best_value(result.weights, result.intercept)
    if abs(plain - result.objective) > noise:
        yield f"objective {result.objective}, recomputed {plain}"
    # What the multipliers prove in exact arithmetic, and the effect of their own
    # rounding.
    kept = slice(None) if problem.kept is None else problem.kept
    alpha = result.hinge_dual[kept]
    beta = result.flip_dual[kept]
    noise = 4.0 * EPS * float(((alpha + beta) @ np.abs(Plain.of(problem).X)).sum())
    again = float(max(exact_bound(problem, result), 0))
    slack = NEGLIGIBLE
    if problem.l2 > 0:
        slack += noise * math.sqrt(2.0 / problem.l2) + noise**2 / problem.l2
    elif problem.radius > 0:
        slack += noise / problem.radius
    if again < result.lower_bound - slack:
        yield f"lower bound {result.lower_bound}, but the multipliers prove {again}"


def primal_noise(problem, weights, intercept):
    """Return the size of rounding errors in the objective of a classifier, and in
    bounds compared with it.
    """
    X = np.abs(Plain.of(problem).X)
    terms = 1.0 + problem.sample_weight @ (X @ np.abs(weights)) + abs(intercept)
    return 16.0 * sum(X.shape) * EPS * float(terms)


def contradictions(answers):
    """Yield the cases in which the bound of one solver lies above the objective of
    another.
    """
    for name, answer in answers.items():
        for other, rival in answers.items():
            within = rival["norm"] <= answer["weight_bound"]
            if within and answer["lower_bound"] > rival["objective"] + rival["noise"]:
                yield (
                    f"{name} bounds by {answer['lower_bound']}, {other} reaches"
                    f" {rival['objective']}"
                )


def answer_to(seed, solver, patience):
    """Return the figures of one solve and the complaints about it."""
    problem = extreme_instance(seed)
    rng = np.random.default_rng((seed, SOLVERS.index(solver), 3))
    limits = {
        "tol": float(power(rng, -8, -1)),
        "max_time": float(rng.uniform(0.5, 2.0)),
    }
    if rng.random() < 0.5:
        limits["max_iter"] = int(rng.choice([1, 3, 30, 300]))
    try:
        result = solve(problem, solver, random_state=0, **limits)
        complaints = list(
            complaints_about(problem, result, limits["max_time"], patience)
        )
    except Exception:
        return {"complaints": [traceback.format_exc(limit=-3)]}
    return {
        "complaints": complaints,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "weight_bound": result.weight_bound,
        "norm": float(np.linalg.norm(result.weights, DUAL_ORDER[problem.norm.p])),
        "noise": primal_noise(problem, result.weights, result.intercept),
        "status": str(result.status),
        "time": result.time,
    }


def warm_up(seeds):
    """Compile or load all kernels for the types and norms of these instances, which
    takes longer than a solve.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.where(np.arange(30) % 3 == 0, 1, -1)
    instances = map(extreme_instance, seeds)
    for norm, dtype, is_sparse in {
        (given.norm.p, given.X.dtype, given.is_sparse) for given in instances
    }:
        rows = X.astype(dtype)
        ball = {"radius": 0.1, "norm": norm, "l2": 0.1, "fit_intercept": True}
        problem = Problem(sparse.csr_array(rows) if is_sparse else rows, y, **ball)
        for solver in solvers_for(problem):
            solve(problem, solver, tol=1e-3, max_iter=50)


def child(connection, seeds):
    """Answer requests (seed, solver, patience) until the connection closes."""
    warnings.simplefilter("error")
    warm_up(seeds)
    connection.send("ready")
    while True:
        try:
            connection.send(answer_to(*connection.recv()))
        except (EOFError, BrokenPipeError):
            return


class Watched:
    """A child process that solves the instances of some seeds.

    It is replaced when one hangs. For a few instances, ``make test`` does without.
    """

    def __init__(self, seeds, patience):
        self.seeds = seeds
        self.patience = patience
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
            self.process = None

    def answer(self, seed, solver):
        if not LONG:
            return answer_to(seed, solver, self.patience)
        if self.process is None:
            spawn = multiprocessing.get_context("spawn")
            self.connection, others = spawn.Pipe()
            self.process = spawn.Process(
                target=child, args=(others, self.seeds), daemon=True
            )
            self.process.start()
            others.close()
            assert self.connection.poll(WARM_UP) and self.connection.recv() == "ready"
        self.connection.send((seed, solver, self.patience))
        try:
            if self.connection.poll(WATCHDOG):
                return self.connection.recv()
        except EOFError:
            return {"complaints": ["the process died"]}
        self.end()
        return {"complaints": [f"no answer after {WATCHDOG:g} s"]}

    def complaints(self, seed):
        """Return everything that is wrong with the results of the solvers for one
        instance.
        """
        solvers = solvers_for(extreme_instance(seed))
        answers = {solver: self.answer(seed, solver) for solver in solvers}
        found = [
            f"{solver}: {text}"
            for solver, answer in answers.items()
            for text in answer["complaints"]
        ]
        complete = {
            solver: answer
            for solver, answer in answers.items()
            if "objective" in answer
        }
        return found + list(contradictions(complete))
