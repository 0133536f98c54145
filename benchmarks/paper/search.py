"""Instances of the figures, runs on them, and the recorded search for step sizes.

As in the paper, the figures use step sizes from a grid search. The grid, the trials
with their outcomes, and the winners are stored in results/paper/steps.json; delete the
file to repeat the search.
"""

import json
import math
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from _common import NORM_OF_Q, load
from scipy import sparse

from drsvm import Problem, solve

FLOOR = 1e-13
"""Gaps below this are rounding errors."""

GOAL = 1e-7
"""A run stops at this gap: more than six decades below its start."""

FIRST_STEPS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
"""First steps, in units of the inverse mean square of the rows."""

QUICK_DECAYS = [0.8, 0.9, 0.95, 0.98]
SLOW_DECAYS = [0.99, 0.997, 0.999, 0.9995, 0.9998]
"""Ratios of the steps of successive epochs.

All first steps are tried with the quick decays. If none reaches the goal,
the slow decays follow, with a first step that makes the sum of all steps MARGIN times
that of the best trial."""

MARGIN = 5.0

PATIENCE = 3.0
"""A run is abandoned if its gap has not fallen by a tenth while the steps shrank by
this power of e.
"""


# --- instances
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instance:
    """A problem of the figures: synthetic data as in the paper, or a data set.

    Radius 0.1, flip cost 1.
    """

    q: float
    c: float = 0.0
    data: str = "synthetic"
    unit: float = 1.0
    """Factor on the features: small features give large weights, which puts the optimum
    on the cone's boundary.
    """

    def problem(self) -> Problem:
        X, y = synthetic() if self.data == "synthetic" else load(self.data)
        return Problem(
            self.unit * X,
            y,
            radius=0.1,
            flip_cost=1.0,
            norm=NORM_OF_Q[self.q],
            l2=self.c,
        )

    @property
    def key(self) -> str:
        unit = "" if self.unit == 1.0 else f", features × {self.unit:g}"
        return f"{self.data}, q = {self.q:g}, c = {self.c:g}{unit}"


@lru_cache
def synthetic(n: int = 1000, d: int = 100, noise: float = 0.5):
    """Return Gaussian features, and noisy labels of a Gaussian classifier."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    return X, np.where(X @ w + noise * rng.standard_normal(n) > 0, 1.0, -1.0)


@lru_cache
def solution(instance: Instance) -> tuple[float, float]:
    """Return the optimum, and the share ‖w‖_q / λ at an optimal point (1: on the
    boundary of the cone).
    """
    problem = instance.problem()
    # The second may stall
    results = [solve(problem, "interior-point", tol=tol) for tol in (1e-9, 1e-12)]
    best = min(results, key=lambda result: result.gap)
    return best.lower_bound, problem.norm.value(best.weights) / best.radius_price


# --- runs
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A solver with the settings that are not part of the search."""

    label: str
    solver: str
    scheme: str
    settings: dict = field(default_factory=dict)

    @property
    def key(self) -> str:
        extra = "".join(f", {name} = {value}" for name, value in self.settings.items())
        return f"{self.solver}, {self.scheme}{extra}"


@dataclass(frozen=True)
class Course:
    """Gap between objective and optimum after each epoch, and seconds since the
    start.
    """

    epochs: np.ndarray
    seconds: np.ndarray
    gaps: np.ndarray

    def epochs_to(self, level: float) -> float:
        """Return the first epoch with a gap of at most the level.

        Inf if there is none.
        """
        there = self.epochs[self.gaps <= level]
        return float(there[0]) if len(there) else math.inf


def course(
    instance: Instance, method: Method, steps: dict, epochs: int, goal: float = GOAL
) -> Course:
    """Run a method and record its best objective.

    A run with geometric steps ends when progress stops.
    """
    best, _ = solution(instance)
    patience = PATIENCE / (1.0 - steps["decay"]) if "decay" in steps else math.inf
    mark = math.inf
    since = 0

    def watch(progress) -> bool:
        nonlocal mark, since
        gap = progress.objective - best
        if gap < 0.9 * mark:
            mark = gap
            since = progress.iteration
        return gap <= goal or progress.iteration - since > patience

    settings = {
        "polish_dual": False,
        **method.settings,
        "steps": method.scheme,
        **steps,
    }
    problem = instance.problem()
    run = solve(
        problem,
        method.solver,
        tol=0.0,
        max_iter=epochs,
        callback=watch,
        random_state=0,
        **settings,
    )
    history = run.history
    return Course(
        history.iteration, history.time, np.maximum(history.objective - best, FLOOR)
    )


# --- the search
# ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """The outcome of a run with given steps; a smaller score is better."""

    steps: dict
    course: Course

    @property
    def score(self) -> tuple[float, float]:
        return self.course.epochs_to(GOAL), float(self.course.gaps[-1])

    @property
    def row(self) -> list:
        epochs, gap = self.score
        return [
            *self.steps.values(),
            epochs if math.isfinite(epochs) else None,
            float(f"{gap:.3g}"),
        ]


class Search:
    """Winners of the grid search, stored in a file."""

    def __init__(self, file: Path, quick: bool = False):
        self.file = file
        self.first_steps = FIRST_STEPS[2::2] if quick else FIRST_STEPS
        self.slow = SLOW_DECAYS[:1] if quick else SLOW_DECAYS
        grid = {
            "first_steps": self.first_steps,
            "decays": QUICK_DECAYS + self.slow,
            "goal": GOAL,
        }
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        found = kept.get("found", {}) if kept.get("grid") == grid else {}
        self.record = {"grid": grid, "found": found}

    def best(self, instance: Instance, method: Method, epochs: int) -> Trial:
        """Return the best steps, from the file if available, and a run with them."""
        key = f"{instance.key} | {method.key}"
        if key in self.record["found"]:
            best = self._try(
                instance, method, epochs, **self.record["found"][key]["winner"]
            )
        else:
            trials = self._trials(instance, method, epochs)
            best = min(trials, key=lambda trial: trial.score)
            columns = [*best.steps, "epochs to the goal", "gap"]
            tried = [trial.row for trial in trials]
            self.record["found"][key] = {
                "winner": best.steps,
                "columns": columns,
                "tried": tried,
            }
            self._save()
        print(f"  {key}: {best.row}", flush=True)
        return best

    def _save(self) -> None:
        found = ",\n".join(
            f"{json.dumps(key)}: {json.dumps(value)}"
            for key, value in self.record["found"].items()
        )
        text = (
            f'{{"grid": {json.dumps(self.record["grid"])},\n"found":'
            f" {{\n{found}\n}}}}\n"
        )
        self.file.write_text(text, encoding="utf-8")

    def _trials(self, instance: Instance, method: Method, epochs: int) -> list[Trial]:
        unit = self._unit(instance)
        if method.scheme != "geometric":
            return [
                self._try(instance, method, epochs, first_step=first * unit)
                for first in self.first_steps
            ]
        trials = [
            self._try(instance, method, epochs, first_step=first * unit, decay=decay)
            for decay in QUICK_DECAYS
            for first in self.first_steps
        ]
        best = min(trials, key=lambda trial: trial.score)
        total = best.steps["first_step"] / (1.0 - best.steps["decay"])
        for decay in self.slow:
            if (
                trials[-1].score[0] < math.inf or best.score[0] < math.inf
            ):  # slower decays take longer
                break
            trials.append(
                self._try(
                    instance,
                    method,
                    epochs,
                    first_step=MARGIN * (1.0 - decay) * total,
                    decay=decay,
                )
            )
        return trials

    @staticmethod
    def _unit(instance: Instance) -> float:
        X = instance.problem().X
        return 1.0 / float(
            (X.multiply(X) if sparse.issparse(X) else X * X).sum(axis=1).mean()
        )

    @staticmethod
    def _try(instance: Instance, method: Method, epochs: int, **steps) -> Trial:
        return Trial(steps, course(instance, method, steps, epochs))
