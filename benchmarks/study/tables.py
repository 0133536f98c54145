"""Tables of the study: where a method is behind, its worst data set, its mean gains,
and every data set by itself.
"""

import numpy as np
from _common import table
from cases import DECIDED, ERRORS, ERRORS_IN_TEST, NOISE, REPORTED, SHIFTS
from methods import (
    BALANCED_REFERENCE,
    DEFAULT,
    KERNEL,
    LOGISTIC,
    REFERENCE,
    SEARCHED,
    TUNED_KERNEL,
    TUNED_RIVALS,
    gains_of,
)

MEASURES = ("Accuracy", "Balanced accuracy", "Area under the ROC curve")
OVER_TUNED = [
    (measure, rival)
    for rival in (REFERENCE, TUNED_KERNEL)
    for measure in range(len(MEASURES))
]
OVER_OTHERS = [(1, BALANCED_REFERENCE), (0, LOGISTIC), (1, LOGISTIC)]
BEHIND = """Cells (data set × kind of noise, means over the seeds) in which a method is behind its tuned rival: accuracy
more than 5 points and balanced accuracy more than 2, or AUC more than 5. Beside them, those more than 5 points behind
in accuracy, whatever the others say. In brackets: gains in accuracy / balanced accuracy / AUC."""


def sections(found) -> list[str]:
    """Return the tables of every number of training rows.

    Over all data sets, and over the two halves apart.
    """
    text = []
    for size in sorted({case.n_rows for case in found}):
        of_size = {
            case: values for case, values in found.items() if case.n_rows == size
        }
        parts = parts_of(of_size)
        text += [
            f"## {size} training rows, {len({case.seed for case in of_size})} seeds",
            "\n".join(
                f"- {name}: {'; '.join(data_of(part))}"
                for name, part in list(parts.items())[-2:]
            ),
            *behind_section(parts),
        ]
        for place, (name, part) in enumerate(parts.items()):
            text += [f"### {name.capitalize()}"] if len(parts) > 1 else []
            text += worst_section(part) + gain_tables(
                part, OVER_TUNED if place else OVER_TUNED + OVER_OTHERS
            )
        text += (["### Every data set"] if len(parts) > 1 else []) + data_tables(
            of_size
        )
    return text


def parts_of(found) -> dict[str, dict]:
    """Return all outcomes and, unless these are all, those of the deciding and of the
    reporting data sets.
    """
    parts = {f"all {len(data_of(found))} data sets": found}
    for name, half in (("deciding", DECIDED), ("reporting", REPORTED)):
        part = {case: values for case, values in found.items() if case.data in half}
        if 0 < len(part) < len(found):
            parts[f"{len(data_of(part))} {name} data sets"] = part
    return parts


def data_of(found) -> list[str]:
    return list(dict.fromkeys(case.data for case in found))


# --- what means hide
# ----------------------------------------------------------------------------------------------


def cells_of(found, name: str) -> dict[tuple[str, str], np.ndarray]:
    """Return the mean gains of a method over its tuned rival, in all measures, by data
    set and kind of noise.
    """
    gains = gains_of(found, name, TUNED_RIVALS[name], NOISE)
    return {cell: of_seeds.mean(axis=0) for cell, of_seeds in gains.items()}


def with_rivals(found) -> list[str]:
    """Return the methods of this library that were tried together with their tuned
    rivals.
    """
    tried = methods_of(found, NOISE)
    return [name for name, rival in TUNED_RIVALS.items() if {name, rival} <= set(tried)]


def is_behind(gain) -> bool:
    accuracy, balanced, auc = gain
    return bool((accuracy < -5 and balanced < -2) or auc < -5)


def is_less_accurate(gain) -> bool:
    return bool(gain[0] < -5)


def behind_section(parts) -> list[str]:
    found = next(iter(parts.values()))
    names = with_rivals(found)
    header = [
        "method",
        *(f"{rule}, {part}" for rule in ("behind", "in accuracy") for part in parts),
    ]
    rows = [
        [
            f"{name} against {TUNED_RIVALS[name]}",
            *(
                count(cells_of(part, name), rule)
                for rule in (is_behind, is_less_accurate)
                for part in parts.values()
            ),
        ]
        for name in names
    ]
    listed = "\n".join(
        f"- {name}: {behind_by_name(cells_of(found, name))}" for name in names
    )
    return [BEHIND, table(header, rows), listed] if names else []


def count(cells, rule) -> str:
    return f"{sum(map(rule, cells.values()))} of {len(cells)}"


def behind_by_name(cells) -> str:
    behind = {cell: gain for cell, gain in cells.items() if is_behind(gain)}
    others = {
        cell: gain
        for cell, gain in cells.items()
        if is_less_accurate(gain) and cell not in behind
    }
    text = "; ".join(map(described, behind, behind.values())) or "nowhere"
    return (
        f"{text}. In accuracy only:"
        f" {'; '.join(map(described, others, others.values())) or 'nowhere'}."
    )


def described(cell, gain) -> str:
    return f"{cell[0]}, {cell[1]} ({' / '.join(f'{value:+.1f}' for value in gain)})"


def worst_section(found) -> list[str]:
    rows = []
    for name in with_rivals(found):
        cells = cells_of(found, name)
        for measure, label in enumerate(MEASURES):
            by_noise = [
                {
                    cell: gain[measure]
                    for cell, gain in cells.items()
                    if cell[1] == noise
                }
                for noise in NOISE
            ]
            if np.isfinite(
                list(by_noise[0].values())
            ).all():  # no AUC of several classes
                worst = [min(gains, key=gains.__getitem__) for gains in by_noise]
                shown = [
                    f"{gains[cell]:+.1f} ({cell[0]})"
                    for cell, gains in zip(worst, by_noise, strict=True)
                ]
                rows.append([f"{name}, {label[0].lower()}{label[1:]}", *shown])
    title = (
        "The worst data set: the mean gain over the tuned rival, LinearSVC or, for the"
        " kernel, SVC."
    )
    return [f"{title}\n\n{table(['method', *NOISE], rows)}"] if rows else []


# --- means
# --------------------------------------------------------------------------------------------------------


def gain_tables(found, comparisons) -> list[str]:
    tried = {case.setting for case in found}
    shifts, errors = (
        [one for one in of if one in tried]
        for of in (SHIFTS, (*ERRORS, *ERRORS_IN_TEST))
    )
    return [
        f"{MEASURES[measure]}, gain over"
        f" {reference}{where}.\n\n{gains(found, measure, reference, settings)}"
        for settings, where in (
            (NOISE, ""),
            (shifts, ", shifted rows"),
            (errors, ", gross errors"),
        )
        if settings
        for measure, reference in comparisons
        if reference in methods_of(found, settings)
        and np.isfinite(next(iter(found.values()))[reference][measure])
    ]


def methods_of(found, settings) -> list[str]:
    """Return the methods that were tried in all of these settings."""
    inside = [values for case, values in found.items() if case.setting in settings]
    return [name for name in inside[0] if all(name in values for values in inside)]


def gains(found, measure: int, reference: str, settings) -> str:
    rows = []
    for name in methods_of(found, settings):
        cells = gains_of(found, name, reference, settings)
        by_setting = [
            [gain[:, measure].mean() for cell, gain in cells.items() if cell[1] == s]
            for s in settings
        ]
        rows += [[name, *map(mean_and_error, by_setting)]] if name != reference else []
    return table(["method", *settings], rows)


def mean_and_error(gains) -> str:
    error = (
        f" ± {np.std(gains, ddof=1) / np.sqrt(len(gains)):.1f}"
        if len(gains) > 1
        else ""
    )
    return f"{np.mean(gains):+.1f}{error}"


def data_tables(found) -> list[str]:
    names = (REFERENCE, DEFAULT, SEARCHED, KERNEL, TUNED_KERNEL)
    compared = [name for name in names if name in next(iter(found.values()))]
    return [
        f"{label} by data set: {', '.join(compared)}, in"
        f" percent.\n\n{by_data(found, measure, compared)}"
        for measure, label in enumerate(MEASURES)
    ]


def by_data(found, measure: int, names) -> str:
    rows = [
        [data, *(means(found, (data, noise), names, [measure]) for noise in NOISE)]
        for data in data_of(found)
    ]
    return table(["data", *NOISE], rows)


def means(found, cell, names, measures) -> str:
    """Return means over the seeds in percent, or a dash for what was not tried."""
    inside = [
        values for case, values in found.items() if (case.data, case.setting) == cell
    ]
    tried = [name for name in names if name in inside[0]]
    figures = [
        np.mean([values[name][measure] for values in inside])
        for name in tried
        for measure in measures
    ]
    return " / ".join(f"{figure:.1f}" for figure in figures) or "–"


# --- text
# ---------------------------------------------------------------------------------------------------------


def text_section(found) -> list[str]:
    """Return a table with all measures of every method on text, if it was tried."""
    if not found:
        return []
    names = list(max(found.values(), key=len))
    rows = []
    for data, n_rows, setting in dict.fromkeys(case[:3] for case in found):
        of_size = {
            case: values for case, values in found.items() if case.n_rows == n_rows
        }
        figures = (
            means(of_size, (data, setting), [name], range(len(MEASURES)))
            for name in names
        )
        rows.append([f"{data}, {n_rows} rows, {setting}", *figures])
    seeds = len({case.seed for case in found})
    title = (
        "Sparse rows as they are, not standardised: accuracy / balanced accuracy / AUC"
        " in percent"
    )
    return [f"## Text\n\n{title}, {seeds} seeds.\n\n{table(['data', *names], rows)}"]
