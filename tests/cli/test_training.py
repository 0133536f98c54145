"""Training for a test, for folds and for all rows."""

import json

import numpy as np
import pytest
from cli_tables import rows, write_csv

from drsvm.cli.training import _folds
from drsvm.learn.probability import Sigmoids
from drsvm.persistence import load_metadata


def test_small_tables_have_folds_and_large_ones_a_single_split():
    y = np.arange(200) % 2
    folds = _folds(y, 100, seed=0)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(200))
    assert all(not set(train) & set(test) for train, test in folds)
    assert len(_folds(y, 3, seed=0)) == 3  # a class of three rows
    assert len(_folds(np.array([0, 1, 0, 1]), 2, seed=0)) == 2
    [(train, test)] = _folds(np.arange(8000) % 2, 4000, seed=0)
    assert len(train) == 6000 and len(test) == 2000
    rare = (np.arange(8000) < 80).astype(int)
    assert len(_folds(rare, 80, seed=0)) == 5  # 20 rows of a class are too few for a sigmoid


def test_a_large_test_serves_the_sigmoid_too(drsvm_command, tmp_path, monkeypatch):
    """The decisions that the sigmoid is fitted to are those behind the figures of the test, at no further fit."""
    X, y = rows(8000)
    seen = []
    fitted = Sigmoids.fitted
    monkeypatch.setattr(Sigmoids, "fitted", lambda *given: seen.append(given) or fitted(*given))
    table = write_csv(tmp_path / "t.csv", X, np.array(["cat", "dog"])[y])
    answer = json.loads(drsvm_command("fit", table, "--model", tmp_path / "m.drsvm", "--json")[1])
    [(decisions, labels, classes)] = seen
    assert len(labels) == answer["held_out"]["rows"] == answer["probability"]["rows"] == 2000
    assert np.mean(classes[(decisions > 0).astype(int)] == labels) == pytest.approx(answer["test"]["accuracy"])
    assert load_metadata(tmp_path / "m.drsvm")["probability"] == answer["probability"]


def test_verified_labels_and_prices_by_class_hold_in_every_fit(drsvm_command, tmp_path):
    X, y = rows(80)
    lines = [
        f"{a!r},{b!r},{k % 3 == 0},{['no', 'yes'][c]}"
        for k, ((a, b, _), c) in enumerate(zip(X.tolist(), y, strict=True))
    ]
    table = tmp_path / "t.csv"
    table.write_text("a,b,sure,churn\n" + "\n".join(lines) + "\n")
    prices = ("--flip-cost", "yes=5", "--flip-cost", "no=2", "--verified", "sure", "--trust-column", "a")
    for more in ((), ("--cv", "--folds", 2)):
        out = tmp_path / "m.drsvm"
        code, shown, err = drsvm_command("fit", table, "--label", "churn", *prices, *more, "--model", out, "--json")
        assert code == 3, err  # the weight of a trusted column is limited
        answer = json.loads(shown)
        assert answer["held_out"]["trained_on"] == 60 and answer["probability"]["rows"] == 80


def test_without_time_there_are_no_figures_of_useless_classifiers(drsvm_command, tmp_path, monkeypatch):
    from drsvm.clock import TimeLimit

    X, y = rows(80)
    table = write_csv(tmp_path / "t.csv", X, np.array(["cat", "dog"])[y])
    monkeypatch.setattr(TimeLimit, "over", property(lambda limit: limit.seconds == 1e6))
    arguments = ("fit", table, "--max-time", 1e6, "--model", tmp_path / "m.drsvm", "--json")
    answer = json.loads(drsvm_command(*arguments)[1])
    assert answer["test"] is None and answer["probability"] is None and answer["proven"]
    assert [note[:16] for note in answer["notes"][1:]] == ["no test: the tim", "no probabilities"]
