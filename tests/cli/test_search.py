"""Cross-validation of a table: the preparation is fitted in every fold."""

import numpy as np

from drsvm.cli import work
from drsvm.cli.options import SplitOptions
from drsvm.cli.screen import Screen
from drsvm.cli.search import PreparedFold, PreparedSearch
from drsvm.datasets import ReadOptions


def parts_of(tmp_path, lines, header="a,town,label"):
    path = tmp_path / "table.csv"
    path.write_text(header + "\n" + "\n".join(lines) + "\n")
    return work.load_parts(path, ReadOptions(label="label"), SplitOptions(), Screen())


def test_a_fold_knows_only_its_training_rows(tmp_path):
    """The last ten rows have other numbers, and a level that the training rows lack."""
    lines = [f"{k % 7},{'Rome' if k % 3 else 'Oslo'},{k % 2}" for k in range(40)]
    lines += [f"{1000 + k},Bonn,{k % 2}" for k in range(10)]
    parts = parts_of(tmp_path, lines)
    prepared = work.prepared(parts, standardise=True)
    assert prepared.names == ["a", "town=Bonn", "town=Oslo", "town=Rome"]
    fold = PreparedFold(0, np.arange(40), np.arange(40, 50), parts.X, prepared.steps, parts.data.schema, prepared.names)
    train, test = fold.rows(prepared.X)
    assert train.shape == (40, 4) and test.shape == (10, 4)
    np.testing.assert_allclose([train[:, 0].mean(), train[:, 0].std()], [0, 1], atol=1e-12)
    assert test[:, 0].min() > 100 and not train[:, 1].any() and not test[:, 1:].any()


def test_a_search_scores_prepared_folds(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal() + k % 2:.3f},{rng.choice(['x', 'y', 'z'])},{k % 2}" for k in range(90)]
    parts = parts_of(tmp_path, lines)
    prepared = work.prepared(parts, standardise=True)
    search = PreparedSearch(radii=[0.1, 0.01], cv=3, class_weight=None).of(parts, prepared).fit(prepared.X, parts.y)
    assert 0.5 < search.best_score_ <= 1 and search.n_splits_ == 3
    parallel = PreparedSearch(radii=[0.1, 0.01], cv=3, class_weight=None, n_jobs=2).of(parts, prepared)
    parallel.fit(prepared.X, parts.y)
    np.testing.assert_allclose(parallel.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
    # The features of the folds come from the table, not from those of all rows together.
    other = PreparedSearch(radii=[0.1, 0.01], cv=3, class_weight=None, refit=False).of(parts, prepared)
    other.fit(rng.normal(size=prepared.X.shape), parts.y)
    np.testing.assert_allclose(other.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
