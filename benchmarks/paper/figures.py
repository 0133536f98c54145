"""Figure 1 of the paper, and the growth of the counter-example, as PNG files."""

from pathlib import Path

import numpy as np
from rates import Growth, Measured
from search import Course, Instance, Method, Search, course

COLOURS = {
    "ISG": "#D55E00",
    "IPPA": "#0072B2",
    "Hybrid": "#009E73",
    "Hybrid, automatic steps": "#000000",
    "IPPA, automatic steps": "#000000",
}
"""Colours that are distinguishable with any colour vision; line styles differ too."""

STYLES = {
    "ISG": "--",
    "IPPA": "-",
    "Hybrid": "-.",
    "Hybrid, automatic steps": ":",
    "IPPA, automatic steps": ":",
}
BATCHES = {1: ("#D55E00", "-"), 32: ("#0072B2", "--"), 256: ("#009E73", "-.")}

PANELS = {
    0: "(a) q = 1",
    1: "(b) q = ∞",
    4: "(c) q = 2, inside the cone",
    5: "(d) q = 2, on its boundary",
}
"""Panels of the figure, by the row of the table of rates that they show."""

SMALLEST = 1e-10
FOLLOWED = 15_000
"""Maximum number of epochs with automatic steps to show."""

AUTOMATIC = Method("IPPA, automatic steps", "ippa", "auto")


def plot_library():
    """Return matplotlib's pyplot with a backend that only writes files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.grid": True,
            "grid.alpha": 0.3,
            "axes.spines.top": False,
        }
    )
    plt.rcParams.update(
        {"axes.spines.right": False, "lines.linewidth": 1.8, "savefig.dpi": 130}
    )
    return plt


def draw(axes, x, gaps, label: str, colour: str, style: str) -> None:
    axes.semilogy(
        x, np.maximum(gaps, SMALLEST), color=colour, linestyle=style, label=label
    )


def finish(axes, title: str, x_label: str) -> None:
    axes.set(title=title, xlabel=x_label, ylabel="objective − optimum")
    axes.legend(framealpha=0.9, edgecolor="none")


# --- (a) to (d)
# ---------------------------------------------------------------------------------------------------


def synthetic_figure(found: list[Measured], file: Path) -> None:
    """Draw ISG against IPPA on synthetic data, with the steps found by the search and
    with automatic ones.
    """
    plt = plot_library()
    figure, all_axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for axes, (index, title) in zip(all_axes.flat, PANELS.items(), strict=True):
        for one in found[2 * index : 2 * index + 2]:
            name = one.method.label
            draw(
                axes,
                one.course.epochs,
                one.course.gaps,
                labelled(one),
                COLOURS[name],
                STYLES[name],
            )
        last = max(one.course.epochs[-1] for one in found[2 * index : 2 * index + 2])
        free = course(
            found[2 * index].row.instance,
            AUTOMATIC,
            {},
            min(int(last), FOLLOWED),
            goal=SMALLEST,
        )
        draw(
            axes,
            free.epochs,
            free.gaps,
            AUTOMATIC.label,
            COLOURS[AUTOMATIC.label],
            STYLES[AUTOMATIC.label],
        )
        root = found[2 * index].row.scheme == "root"
        finish(axes, title, "epochs, logarithmic" if root else "epochs")
        axes.set_xscale("log" if root else "linear")
    figure.suptitle("Figure 1, (a) to (d): synthetic data, n = 1000, d = 100, c = 0")
    figure.savefig(file)
    plt.close(figure)


def labelled(one: Measured) -> str:
    """Return the name of a method with its steps."""
    rule = f"ρ = {one.steps['decay']:g}" if "decay" in one.steps else "steps γ/(n√k)"
    return f"{one.method.label}, {rule}"


# --- (e) and (f)
# --------------------------------------------------------------------------------------------------


def data_figure(search: Search, epochs: int, file: Path, data: str = "a1a") -> None:
    """Draw batch sizes over epochs, and the hybrid method over time."""
    plt = plot_library()
    instance = Instance(1.0, data=data)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    figure.suptitle(f"Figure 1, (e) and (f): {data}, q = 1, c = 0")
    for size, (colour, style) in BATCHES.items():
        method = Method(f"batch {size}", "isg", "geometric", {"batch_size": size})
        run, steps = searched(search, instance, method, epochs)
        draw(
            left,
            run.epochs,
            run.gaps,
            f"batch {size}, ρ = {steps['decay']:g}",
            colour,
            style,
        )
    finish(left, "(e) ISG with three batch sizes", "epochs")
    for name, solver, settings in (
        ("ISG", "isg", {"batch_size": 32}),
        ("IPPA", "ippa", {}),
        ("Hybrid", "hybrid", {}),
    ):
        run, _ = searched(
            search, instance, Method(name, solver, "geometric", settings), epochs
        )
        label = "M-ISG, batch 32" if name == "ISG" else name
        draw(right, 1000 * run.seconds, run.gaps, label, COLOURS[name], STYLES[name])
    name = "Hybrid, automatic steps"
    run = course(instance, Method(name, "hybrid", "auto"), {}, epochs, goal=SMALLEST)
    draw(right, 1000 * run.seconds, run.gaps, name, COLOURS[name], STYLES[name])
    finish(
        right,
        "(f) Hybrid against M-ISG and IPPA",
        "milliseconds, with a certificate after every epoch",
    )
    right.set_xscale("log")
    figure.savefig(file)
    plt.close(figure)


def searched(
    search: Search, instance: Instance, method: Method, epochs: int
) -> tuple[Course, dict]:
    """Return a longer run than that of the search, with the steps that it found."""
    steps = search.best(instance, method, epochs).steps
    return course(instance, method, steps, epochs, goal=SMALLEST), steps


# --- the counter-example
# ------------------------------------------------------------------------------------------


def growth_figure(growth: Growth, file: Path) -> None:
    """Draw the distance from the optimum against the gap."""
    plt = plot_library()
    figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
    largest = f"largest at this gap: slope {growth.slope:.3f}"
    axes.loglog(
        growth.gaps, growth.largest, color="#D55E00", linestyle="--", label=largest
    )
    shown = growth.run_gaps > 1e-13
    course_label = f"IPPA, epoch by epoch: slope {growth.run_slope:.3f}"
    axes.loglog(
        growth.run_gaps[shown],
        growth.run_distances[shown],
        "o-",
        color="#0072B2",
        ms=4,
        label=course_label,
    )
    axes.set(
        title="Counter-example, q = 2: not sharp",
        xlabel="objective − optimum",
        ylabel="distance to the optimum",
    )
    axes.legend(framealpha=0.9, edgecolor="none")
    figure.savefig(file)
    plt.close(figure)
