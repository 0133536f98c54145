"""What do the numbers in the rules of `drsvm.defaults` do: how do results change with
half of each, or twice as much?

Every number in a named constant of `drsvm/defaults` is halved and doubled, one at a time
(whole numbers stay whole), and everything else stays. `WassersteinSVC()` is fitted on
the data sets on which the study decides, with five kinds of labels; if a number is in
modules that choose a ball or a kernel, `WassersteinKernelSVC()` with correct and 20 %
wrong ones; if it is in those about labels, `find_label_issues` ranks the rows with 20 %
wrong ones. Changes are those of accuracy / balanced accuracy / ROC AUC on correct test
rows, in points and averaged over all cases; "labels" is the change of the ROC AUC of
wrong labels among all. Only changes of at least 0.05 are shown.
"""

import argparse
import ast
import importlib
import sys
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import report, table, use_threads
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score

import drsvm
from drsvm import WassersteinKernelSVC, WassersteinSVC, find_label_issues

sys.path.insert(0, str(Path(__file__).parent / "study"))
from cases import DECIDED, NOISE, Case, is_available, sizes
from methods import all_figures

ROOM = Path(drsvm.__file__).parent / "defaults"
KERNEL_NOISE = ("clean", "20 %")
OF_KERNELS = (
    "kernel_parameters",
    "kernel_problems",
    "landmark_basis",
    "radius_rule",
    "select_by_folds",
)
OF_LABELS = ("label_noise", "out_of_fold")
SHOWN = 0.05


class Number(NamedTuple):
    """A number in a constant: its module, the constant, where it is in nested tuples,
    its value and its comment.
    """

    module: str
    name: str
    path: tuple[int, ...]
    value: float
    comment: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    use_threads(1)
    found = list(numbers())
    settings: list[tuple[Number | None, float]] = [(None, 1.0)]
    settings += [(number, factor) for number in found for factor in (0.5, 2.0)]
    outcomes = Parallel(n_jobs=options.jobs, batch_size=1)(
        delayed(measured)(*one, options.seeds) for one in settings
    )
    base = outcomes[0]
    others = iter(outcomes[1:])
    rows = [
        [
            f"`{one.name}`",
            one.module.removeprefix("drsvm.defaults."),
            shown(one.value),
            one.comment,
            *changes,
        ]
        for one in found
        for changes in [[change(next(others), base), change(next(others), base)]]
    ]
    text = (
        f"{len(found)} numbers; {options.seeds} seeds, 400 training rows or those that"
        " a set has."
    )
    sections = [__doc__.split("\n\n", 1)[1].strip(), text]
    report("constants", "The numbers in the rules", [*sections, table([*HEADER], rows)])


HEADER = ("constant", "module", "value", "what it is", "half", "twice")


# --- constants
# ----------------------------------------------------------------------------------------------------


def numbers() -> Iterator[Number]:
    """Yield the numbers in the named constants of all modules."""
    for file in sorted(ROOM.glob("*.py")):
        module = f"drsvm.defaults.{file.stem}"
        comments = comments_of(file)
        comment = ""
        line_before = 0
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.Assign):
                continue
            # Constants without a line between them share a comment.
            if node.lineno != line_before + 1:
                comment = ""
            comment = comment_of(node, comments) or comment
            line_before = node.end_lineno or node.lineno
            for name in names_of(node):
                value = getattr(importlib.import_module(module), name)
                for path, leaf in leaves(value):
                    yield Number(module, name, path, leaf, comment)


def names_of(assignment: ast.Assign) -> list[str]:
    """Return the constants that a statement assigns."""
    found = []
    for target in assignment.targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and node.id.isupper():
                found.append(node.id)
    return found


def comment_of(node: ast.stmt, comments: dict[int, str]) -> str:
    """Return the comment at the end of a statement, or in front of it."""
    if node.end_lineno in comments:
        return comments[node.end_lineno]
    lines = []
    line = node.lineno - 1
    while line in comments:
        lines.insert(0, comments[line])
        line -= 1
    return " ".join(lines)


def leaves(
    value: Any, path: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], float]]:
    if isinstance(value, tuple):
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    elif isinstance(value, int | float) and not isinstance(value, bool) and value:
        yield path, value


def comments_of(file: Path) -> dict[int, str]:
    with open(file, encoding="utf-8") as stream:
        tokens = list(tokenize.generate_tokens(stream.readline))
    return {
        one.start[0]: one.string.lstrip("# ")
        for one in tokens
        if one.type == tokenize.COMMENT
    }


@contextmanager
def changed(number: Number | None, factor: float) -> Iterator[None]:
    """Give a constant another value in all modules that use it."""
    if number is None:
        yield
        return
    old = getattr(importlib.import_module(number.module), number.name)
    new = replaced(old, number.path, factor)
    users = [
        one
        for one in list(sys.modules.values())
        if getattr(one, "__name__", "").startswith("drsvm")
    ]
    users = [
        one
        for one in users
        if number.name in vars(one) and vars(one)[number.name] is old
    ]
    try:
        for user in users:
            setattr(user, number.name, new)
        yield
    finally:
        for user in users:
            setattr(user, number.name, old)


def replaced(value: Any, path: tuple[int, ...], factor: float) -> Any:
    if path:
        parts = list(value)
        parts[path[0]] = replaced(parts[path[0]], path[1:], factor)
        return tuple(parts)
    return max(1, round(factor * value)) if isinstance(value, int) else factor * value


# --- figures
# ------------------------------------------------------------------------------------------------------


def measured(number: Number | None, factor: float, seeds: int) -> dict[str, np.ndarray]:
    """Return the mean figures of classifiers, and the ROC AUC of wrong labels."""
    warnings.simplefilter("ignore")
    linear = []
    kernel = []
    labels = []
    of_kernels, of_labels = (
        number is None or number.module.endswith(some)
        for some in (OF_KERNELS, OF_LABELS)
    )
    with changed(number, factor):
        for name in filter(is_available, DECIDED):
            for noise in NOISE:
                for seed in range(seeds):
                    case = Case(name, sizes(name, [400])[0], noise, seed)
                    X, y, X_test, y_test = case.split()
                    linear.append(figures(WassersteinSVC(), X, y, X_test, y_test))
                    if of_kernels and noise in KERNEL_NOISE and seed == 0:
                        kernel.append(
                            figures(WassersteinKernelSVC(), X, y, X_test, y_test)
                        )
                    if of_labels and noise == "20 %":
                        correct = case._replace(setting="clean").split()[1]
                        labels.append(
                            100
                            * roc_auc_score(
                                y != correct, -find_label_issues(X, y).label_score
                            )
                        )
    found = {"": linear, "kernel": kernel, "labels": [[value] for value in labels]}
    return {name: np.mean(values, axis=0) for name, values in found.items() if values}


def figures(model, X, y, X_test, y_test) -> list[float]:
    try:
        return all_figures(model.fit(X, y), X_test, y_test)
    except Exception:  # a number for which there is no fit
        return [50.0, 50.0, 50.0]


def change(outcome: dict[str, np.ndarray], base: dict[str, np.ndarray]) -> str:
    words = []
    for name, values in outcome.items():
        differences = values - base[name]
        if np.abs(differences).max() >= SHOWN:
            words.append(
                f"{name}"
                f" {' / '.join(f'{one:+.1f}'.replace('-', '−') for one in differences)}".strip()
            )
    return "; ".join(words) or "–"


def shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


if __name__ == "__main__":
    main()
