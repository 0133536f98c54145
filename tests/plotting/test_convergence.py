"""Plots of convergence."""

import numpy as np
import pytest
from plots import labels
from sklearn.svm import LinearSVC

from drsvm import solve
from drsvm.plotting import ConvergenceDisplay


def test_convergence_draws_the_gaps_of_several_solvers(problem, ax):
    display = ConvergenceDisplay.from_problem(problem, ["interior-point", "ippa"], max_iter=15, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert labels(ax) == ["interior-point", "ippa"]
    for name, (line,) in display.lines_.items():
        gaps = display.histories[name].to_dict()["gap"]
        assert len(gaps) > 3
        np.testing.assert_allclose(line.get_ydata(), np.maximum(gaps, 1e-12))
    assert ax.get_yscale() == "log" and ax.get_xlabel() == "time in seconds"


def test_convergence_draws_objective_above_bound(problem, ax):
    result = solve(problem, callback=lambda progress: False)
    display = ConvergenceDisplay.from_results({"mine": result}, x="iteration", y="bounds", ax=ax)
    above, below = display.lines_["mine"]
    assert (above.get_ydata() >= below.get_ydata() - 1e-12).all()
    np.testing.assert_array_equal(above.get_xdata(), result.history.iteration)
    assert labels(ax) == ["mine"]


def test_runs_of_one_solver_have_different_names(problem, ax):
    result = solve(problem)
    display = ConvergenceDisplay.from_results([result, result], ax=ax)
    assert list(display.lines_) == [result.solver, f"{result.solver} (2)"]
    assert len(ConvergenceDisplay.from_results(result, ax=ax).lines_) == 1


def test_every_solver_looks_different_even_with_a_single_point(problem, ax):
    result = solve(problem)
    display = ConvergenceDisplay.from_results({f"solver {k}": result for k in range(12)}, ax=ax)
    lines = [line for (line,) in display.lines_.values()]
    assert len({line.get_marker() for line in lines}) == 12
    assert len({(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in lines}) == 12
    assert len(labels(ax)) == 12
    with pytest.raises(ValueError, match="x must be 'time' or 'iteration', got x='epoch'"):
        ConvergenceDisplay.from_results(result, x="epoch", ax=ax)
    with pytest.raises(ValueError, match="y must be 'gap' or 'bounds', got y='loss'"):
        ConvergenceDisplay.from_results(result, y="loss", ax=ax)
    with pytest.raises(TypeError, match="must be returned by solve, got LinearSVC for 'svm'"):
        ConvergenceDisplay.from_results({"svm": LinearSVC()}, ax=ax)
