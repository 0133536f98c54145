"""Training for a test, for folds and for all rows."""

import numpy as np
import pytest
from cli_tables import rows, write_table
from thorough import LONG

from drsvm.cli import training_rows
from drsvm.cli.fit_and_test import PreparedFold, PreparedSearch
from drsvm.cli.screen import Screen
from drsvm.tables import ReadOptions


@pytest.mark.thorough
def test_verified_labels_and_costs_by_class_hold_in_every_fit(answer_of, tmp_path):
    X, y = rows(80)
    columns = {
        "a": X[:, 0],
        "b": X[:, 1],
        "sure": np.arange(80) % 3 == 0,
        "churn": np.array(["no", "yes"])[y],
    }
    table = write_table(tmp_path / "t.csv", columns)
    costs = (
        "--flip-cost",
        "yes=5",
        "--flip-cost",
        "no=2",
        "--verified",
        "sure",
        "--trust-column",
        "a",
    )
    for more in ((), ("--cv", "--folds", 2)):
        # The ridge limits the weight of a trusted column.
        answer = answer_of(
            "fit",
            table,
            "--label",
            "churn",
            *costs,
            *more,
            "--model",
            tmp_path / "m.drsvm",
        )
        assert (
            answer["held_out"]["trained_on"] == 60
            and answer["probability"]["slopes"][0] > 0
        )


def test_without_time_there_are_no_figures_of_useless_classifiers(
    answer_of, table, monkeypatch
):
    from drsvm.utils import TimeLimit

    monkeypatch.setattr(TimeLimit, "over", property(lambda limit: limit.seconds == 1e6))
    answer = answer_of("fit", table, "--max-time", 1e6)
    assert answer["test"] is None and answer["proven"]
    assert [note[:16] for note in answer["notes"][1:]] == ["no test: the tim"]


def parts_of(tmp_path, lines, header="a,town,label"):
    path = tmp_path / "table.csv"
    path.write_text(header + "\n" + "\n".join(lines) + "\n")
    return training_rows.load_rows(path, ReadOptions(label="label"), Screen())


def test_a_fold_knows_only_its_training_rows(tmp_path):
    """The last ten rows have other numbers, and a level that the training rows lack: it has a column of zeros there."""
    lines = [f"{k % 7},{'Rome' if k % 3 else 'Oslo'},{k % 2}" for k in range(40)]
    lines += [f"{1000 + k},Bonn,{k % 2}" for k in range(10)]
    parts = parts_of(tmp_path, lines)
    prepared = training_rows.prepare(parts, standardise=True)
    assert prepared.names == ["a", "town=Bonn", "town=Oslo", "town=Rome"]
    fold = PreparedFold(0, np.arange(40), np.arange(40, 50), parts.X, prepared.steps)
    train, test = fold.rows(prepared.X)
    assert train.shape == (40, 4) and test.shape == (10, 4)
    np.testing.assert_allclose(
        [train[:, 0].mean(), train[:, 0].std()], [0, 1], atol=1e-12
    )
    assert (
        test[:, 0].min() > 4
        and not train[:, 1].any()
        and (test[:, 1:] == [1, 0, 0]).all()
    )


def search_of(parts, prepared, **options):
    search = PreparedSearch(
        radii=[0.1, 0.01], cv=3, l2=0.0, class_weight=None, **options
    )
    search.source = parts.X, prepared.steps
    return search


def test_a_search_scores_prepared_folds(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.normal() + k % 2:.3f},{rng.choice(['x', 'y', 'z'])},{k % 2}"
        for k in range(90)
    ]
    parts = parts_of(tmp_path, lines)
    prepared = training_rows.prepare(parts, standardise=True)
    search = search_of(parts, prepared).fit(prepared.X, parts.y)
    assert 0.5 < search.best_score_ <= 1 and search.n_splits_ == 3
    if LONG:
        parallel = search_of(parts, prepared, n_jobs=2).fit(prepared.X, parts.y)
        np.testing.assert_allclose(
            parallel.cv_results_["mean_test_score"],
            search.cv_results_["mean_test_score"],
        )
    # The features of the folds come from the table, not from those of all rows
    # together.
    other = search_of(parts, prepared, refit=False).fit(
        rng.normal(size=prepared.X.shape), parts.y
    )
    np.testing.assert_allclose(
        other.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )
