"""The result of a run: values, history, JSON and printing."""

import copy
import json
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from drsvm import Problem, Result, Status, solve
from drsvm.problem import History, Progress, Results

X = np.array([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.0], [0.5, -1.0], [0.1, 0.1]])
Y = ["good", "good", "bad", "bad", "bad"]
COLUMNS = ["iteration", "time", "objective", "lower_bound", "gap", "radius_price"]


@pytest.fixture(scope="module")
def result():
    return solve(Problem(X, Y, radius=0.1, fit_intercept=True), "conic")


def history():
    made = History()
    made.append(Progress(1, 0.1, 0.9, 0.2, 1.0))
    made.append(Progress(3, 0.2, 0.7, 0.5, 2.0))
    return made


def a_result(**changes):
    found = {
        "weights": np.array([1.0, 0.0]),
        "intercept": 0.5,
        "radius_price": 1.5,
        "objective": 0.8,
    }
    proof = {
        "lower_bound": 0.6,
        "hinge_dual": np.array([0.1, 0.2]),
        "flip_dual": np.array([0.0, 0.1]),
    }
    run = {
        "status": Status.ITERATION_LIMIT,
        "solver": "made up",
        "n_iter": 12,
        "time": 0.25,
        "tol": 1e-6,
    }
    return Result(**{**found, **proof, **run, "history": history(), **changes})


def test_gaps_are_differences():
    made = a_result()
    assert made.gap == pytest.approx(0.2) and made.relative_gap == pytest.approx(0.25)
    assert a_result(objective=0.0, lower_bound=0.0).relative_gap == 0.0


def test_a_solved_problem_fits_together(result):
    assert result.gap == result.objective - result.lower_bound
    assert result.weights.shape == (
        2,
    ) and result.hinge_dual.shape == result.flip_dual.shape == (5,)
    numbers = (
        result.intercept,
        result.radius_price,
        result.objective,
        result.lower_bound,
    )
    assert all(isinstance(number, float) for number in numbers)
    assert (
        result.history.objective[-1] == result.objective
        and result.history.gap[-1] == result.gap
    )
    assert len(result.history) == result.n_iter == 1


def test_a_history_has_its_columns_as_arrays():
    made = history()
    assert len(made) == 2 and list(made.to_dict()) == COLUMNS
    assert made.iteration.tolist() == [1, 3] and made.objective.tolist() == [0.9, 0.7]
    np.testing.assert_allclose(made.gap, [0.7, 0.2])
    assert all(
        isinstance(column, np.ndarray) and column.shape == (2,)
        for column in made.to_dict().values()
    )
    with pytest.raises(AttributeError, match="a history has no column 'loss'"):
        _ = made.loss
    assert History().gap.shape == (0,)


def test_a_history_goes_to_json_and_to_a_data_frame(monkeypatch):
    back = json.loads(history().to_json())
    assert list(back) == COLUMNS
    for name, column in history().to_dict().items():
        np.testing.assert_array_equal(back[name], column)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    assert list(history().to_frame()) == COLUMNS
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        history().to_frame()


def test_a_result_goes_to_json_and_back(result):
    back = json.loads(result.to_json())
    assert (
        back["weights"] == result.weights.tolist()
        and back["intercept"] == result.intercept
    )
    for name in (
        "radius_price",
        "objective",
        "lower_bound",
        "gap",
        "solver",
        "n_iter",
        "time",
        "tol",
    ):
        assert back[name] == getattr(result, name)
    assert (
        back["status"] == str(result.status) == "optimal"
        and back["message"] == result.status.message
    )
    assert back["history"] == json.loads(result.history.to_json())


def test_infinity_is_null_in_json():
    assert (
        "Infinity" not in a_result().to_json()
        and json.loads(a_result().to_json())["weight_bound"] is None
    )
    assert json.loads(a_result(weight_bound=7.5).to_json())["weight_bound"] == 7.5


def test_a_result_prints_readably():
    title, *lines = repr(a_result()).splitlines()
    assert title == "Result: iteration limit: the iteration limit was reached"
    shown = (
        "0.8000000000",
        "0.6000000000",
        "2.00e-01  (tolerance 1e-06)",
        "1.5",
        "1 of 2 not zero, intercept 0.5",
    )
    assert [line[16:] for line in lines] == [*shown, "made up, 12 iterations, 0.25 s"]
    assert "weights of norm up to 7.5" in repr(a_result(weight_bound=7.5))


def test_results_can_be_compared_pickled_and_copied(result):
    assert result == result and result != a_result()
    for twin in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert twin.objective == result.objective and twin.status is result.status
        assert (twin.weights == result.weights).all() and (
            twin.history.gap == result.history.gap
        ).all()


def test_every_status_has_a_name_and_a_sentence():
    names = "optimal, optimal within bounds, optimal in span, stalled, iteration limit, time limit"
    assert ", ".join(map(str, Status)) == f"{names}, stopped, interrupted, lost"
    assert all(len(status.message.split()) >= 4 for status in Status)


def test_results_of_several_classes_print_as_a_table():
    made = Results(
        [a_result(), a_result(status=Status.OPTIMAL, lower_bound=0.8, n_iter=7)],
        ["cat", "a dog"],
    )
    title, head, *lines = repr(made).splitlines()
    assert title == "Results: 2 classes, each against the rest; 1 reached the tolerance"
    assert head.split() == [
        "class",
        "objective",
        "gap",
        "radius",
        "price",
        "nonzero",
        "iterations",
        "status",
    ]
    assert lines[0].split() == [
        "cat",
        "0.80000000",
        "2.0e-01",
        "1.5",
        "1",
        "12",
        "iteration",
        "limit",
    ]
    assert lines[1].split() == [
        "a",
        "dog",
        "0.80000000",
        "0.0e+00",
        "1.5",
        "1",
        "7",
        "optimal",
    ]
    assert made == list(made) and isinstance(made, list)
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert repr(copied) == repr(made)
    made.append(made[0])
    assert [line.split()[0] for line in repr(made).splitlines()[2:]] == [
        "0",
        "1",
        "2",
    ]  # without their classes
