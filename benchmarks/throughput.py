"""The time of an epoch of the incremental methods, as a multiple of an epoch of
SGDClassifier on the same matrix.

An epoch is one `step` of a run, as `solve` takes them: all steps over the rows, the
shuffling and the averages; the certificates, which become less frequent, are timed
separately. SGDClassifier: the difference between a fit of many epochs and one of few,
divided by the difference in epochs, so that its setup time cancels.
"""

import argparse
import math
import statistics
from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np
from _common import NORM_OF_Q, load, report, seconds, short, table, use_threads
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from drsvm import Problem
from drsvm.certificate.certificate import dual_point, primal_point
from drsvm.solvers import make_solver
from drsvm.solvers.base import check_limits

ROWS = 20_000
PER_ROW = 80
NARROW = 50_000
WIDE = 1_000_000
POLISHED = 10
"""Epochs of a run before timing starts: by then the methods with memory use it."""

LONG = 2.0
"""Seconds: a method whose epochs take longer in total is not timed again, and its
epochs are timed one by one.
"""

AUTOMATIC = {}
FEW = 2
"""Epochs of the short fit of SGDClassifier."""


@dataclass(frozen=True)
class Method:
    """A method whose epochs are timed, and its limit as a multiple of SGDClassifier's
    (None: no limit).
    """

    label: str
    solver: str
    q: float
    settings: dict
    limit: float | None

    @property
    def key(self) -> str:
        return f"{self.label}, q = {'∞' if math.isinf(self.q) else f'{self.q:g}'}"

    def steps_alone(self, run) -> None:
        """Take only the steps of an epoch, on a copy of the point of a run."""
        track = run.track
        point = track.point.copy()
        step = 0.1 * track.epochs.natural_step
        if self.settings == AUTOMATIC:
            track.epochs.memory(point, step)
        elif self.solver == "isg":
            track.epochs.subgradient(point, step, 0.1, self.settings["batch_size"])
        else:
            track.epochs.proximal(point, step, 0.1)


def methods(n_features: int) -> list[Method]:
    """Return the methods.

    With very many features without q = ∞, where a step may cost O(features).
    """
    plain = {"steps": "geometric"}
    batch = plain | {"batch_size": 32}
    found = [
        Method("ISG, batch 32", "isg", q, batch, limit)
        for q, limit in ((1, 1.5), (2, 1.5), (math.inf, None))
    ]
    found += [
        Method("IPPA", "ippa", q, plain, limit)
        for q, limit in ((1, 8.0), (2, 3.0), (math.inf, None))
    ]
    found += [
        Method("IPPA with memory", "ippa", q, AUTOMATIC, None) for q in (1, 2, math.inf)
    ]
    return [method for method in found if n_features < WIDE or math.isfinite(method.q)]


def main() -> None:
    options = parse_options()
    use_threads(1)
    matrices = {f"{options.data}, CSR": load(options.data)}
    if not options.quick:
        matrices |= {
            f"{ROWS:,} × {NARROW:,}, CSR": sparse_matrix(NARROW),
            f"{ROWS:,} × {WIDE:,}, CSR": sparse_matrix(WIDE),
            "50,000 × 100, dense": dense_matrix(50_000, 100),
        }
    times = {name: measure(name, *data, options) for name, data in matrices.items()}
    write_report(options, times)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="data set (default: a9a)")
    parser.add_argument(
        "--repeats", type=int, default=5, help="rounds; the median counts"
    )
    parser.add_argument("--epochs", type=int, default=10, help="epochs per timing")
    parser.add_argument("--quick", action="store_true", help="a1a alone")
    options = parser.parse_args()
    options.data = options.data or ("a1a" if options.quick else "a9a")
    return options


# --- data
# ---------------------------------------------------------------------------------------------------------


def sparse_matrix(n_features: int):
    """Return random rows with the same number of nonzeros each, of length about 1, and
    noisy linear labels.
    """
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, n_features, (ROWS, PER_ROW)), axis=1).astype(
        np.int32
    )
    values = rng.standard_normal((ROWS, PER_ROW)) / math.sqrt(PER_ROW)
    indptr = np.arange(0, ROWS * PER_ROW + 1, PER_ROW, dtype=np.int32)
    X = sparse.csr_array(
        (values.ravel(), columns.ravel(), indptr), shape=(ROWS, n_features)
    )
    X.sum_duplicates()
    return X, labels(X, rng)


def dense_matrix(n_rows: int, n_features: int):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features)) / math.sqrt(n_features)
    return X, labels(X, rng)


def labels(X, rng) -> np.ndarray:
    values = X @ rng.standard_normal(X.shape[1])
    return np.where(values + 0.5 * rng.standard_normal(len(values)) > 0, 1.0, -1.0)


# --- measuring
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Epoch:
    """Seconds of an epoch, of the steps over the rows in it, and of a certificate."""

    seconds: float
    steps: float = math.nan
    certificate: float = math.nan


def measure(name: str, X, y, options) -> dict[str, Epoch]:
    """Return the median times of all methods, which take turns.

    Slow methods get fewer turns.
    """
    print(f"{name} …", flush=True)
    clocks: dict[str, Callable[[], Epoch]] = {
        "SGDClassifier": sgd_clock(X, y, options.epochs)
    }
    for method in methods(X.shape[1]):
        problem = Problem(X, y, radius=0.1, flip_cost=1.0, norm=NORM_OF_Q[method.q])
        preparation, clocks[method.key] = seconds(
            lambda p=problem, m=method: own_clock(p, m, options.epochs)
        )
        print(f"  {method.key}: ready after {preparation:.1f} s", flush=True)
    times: dict[str, list[Epoch]] = {key: [] for key in clocks}
    for _ in range(options.repeats):
        for key, clock in clocks.items():
            if sum(epoch.seconds for epoch in times[key]) < LONG:
                times[key].append(clock())
    return {
        key: Epoch(
            *(
                statistics.median(values)
                for values in zip(*map(astuple, found), strict=True)
            )
        )
        for key, found in times.items()
    }


def sgd_clock(X, y, epochs: int) -> Callable[[], Epoch]:
    """Return a call that times an epoch of SGDClassifier."""

    def fit(max_iter: int):
        return SGDClassifier(
            loss="hinge",
            tol=None,
            max_iter=max_iter,
            fit_intercept=False,
            random_state=0,
        ).fit(X, y)

    fit(FEW)

    def clock() -> Epoch:
        few, _ = seconds(lambda: fit(FEW))
        many, _ = seconds(lambda: fit(FEW + epochs))
        return Epoch((many - few) / epochs)

    return clock


def own_clock(problem: Problem, method: Method, epochs: int) -> Callable[[], Epoch]:
    """Return a call that times an epoch of a method.

    The run continues from round to round.
    """
    solver = make_solver(method.solver, problem, **method.settings)
    run = solver.start(
        problem,
        check_limits(
            problem, solver, tol=0.0, max_iter=500, n_threads=1, random_state=0
        ),
    )
    for _ in range(POLISHED if method.settings == AUTOMATIC else 1):
        run.step()
    probe, _ = seconds(run.step)
    few = max(1, min(epochs, int(LONG / probe)))

    def all_of_it() -> None:
        for _ in range(few):
            run.step()

    def steps_alone() -> None:
        for _ in range(few):
            method.steps_alone(run)

    def certificate() -> None:
        offer = run.candidate()
        primal_point(problem, offer.weights, offer.intercept)
        dual_point(problem, offer.hinge_dual, offer.flip_dual, reference=offer.weights)

    def clock() -> Epoch:
        return Epoch(
            seconds(all_of_it)[0] / few,
            seconds(steps_alone)[0] / few,
            seconds(certificate)[0],
        )

    return clock


# --- reporting
# ----------------------------------------------------------------------------------------------------


def write_report(options, times: dict[str, dict[str, Epoch]]) -> None:
    sections = [
        (
            f"Medians of {options.repeats} rounds of {options.epochs} epochs in which"
            " all methods take turns, one thread, radius 0.1, flip cost 1, no"
            " intercept, shuffled rows. An epoch is what `solve` does between two"
            " certificates: the steps over all rows, the shuffling and the averages."
            ' “IPPA” takes plain proximal steps (`steps="geometric"`), “IPPA with'
            ' memory” those that `steps="auto"` switches to. “× SGD” means multiples'
            ' of an epoch of `SGDClassifier(loss="hinge")` on the same matrix; “steps'
            " only” excludes the averages. A certificate follows every epoch at first;"
            " later, the interval is a tenth of the epochs so far."
        ),
        summary(times),
    ]
    for name, found in times.items():
        sections += [f"## {name}", epoch_table(found, f"{WIDE:,}" not in name)]
    names = [name for name in times if name.startswith(f"{ROWS:,}")]
    if len(names) == 2:
        sections += [
            "## Twenty times the features",
            growth_table(*(times[name] for name in names)),
        ]
    report(
        "throughput-quick" if options.quick else "throughput",
        "Throughput of the incremental methods",
        sections,
    )


def summary(times: dict[str, dict[str, Epoch]]) -> str:
    """Return how many of the limits are met."""
    judged = [
        (method, name, found[method.key].seconds / found["SGDClassifier"].seconds)
        for name, found in times.items()
        for method in methods(0)
        if method.limit is not None and f"{WIDE:,}" not in name
    ]
    missed = [
        f"{method.key} on {name} ({short(ratio)}×)"
        for method, name, ratio in judged
        if ratio > method.limit
    ]
    met = f"**{len(judged) - len(missed)} of {len(judged)} limits are met.**"
    return f"{met} Missed: {'; '.join(missed)}." if missed else met


def epoch_table(found: dict[str, Epoch], limited: bool) -> str:
    """Return the times on one matrix."""
    sgd = found["SGDClassifier"].seconds
    rows: list[list[object]] = [["SGDClassifier", short(1000 * sgd), "1", "", "", ""]]
    for method in [method for method in methods(0) if method.key in found]:
        epoch = found[method.key]
        limit = f"{method.limit:g}" if limited and method.limit is not None else "–"
        cells = [
            f"**{short(epoch.seconds / sgd)}**",
            limit,
            short(epoch.steps / sgd),
            short(epoch.certificate / sgd),
        ]
        rows.append([method.key, short(1000 * epoch.seconds), *cells])
    return table(
        [
            "method",
            "ms per epoch",
            "× SGD",
            "limit",
            "steps only, × SGD",
            "certificate, × SGD",
        ],
        rows,
    )


def growth_table(narrow: dict[str, Epoch], wide: dict[str, Epoch]) -> str:
    """Return the growth of an epoch's time with many more features, also relative to
    that of SGDClassifier.
    """
    sgd = wide["SGDClassifier"].seconds / narrow["SGDClassifier"].seconds
    rows: list[list[object]] = [["SGDClassifier", short(sgd), "1", "", ""]]
    for method in methods(WIDE):
        before = narrow[method.key]
        after = wide[method.key]
        growth = after.seconds / before.seconds
        limit = "–" if method.settings == AUTOMATIC else "1.5"
        alone = after.steps / before.steps / sgd
        rows.append(
            [
                method.key,
                short(growth),
                f"**{short(growth / sgd)}**",
                limit,
                short(alone),
            ]
        )
    return table(
        [
            "method",
            "growth per epoch",
            "relative to SGD",
            "limit",
            "steps only, relative to SGD",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
