"""Cross-validation of a table: the preparation is fitted to the training rows of every fold."""

from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from drsvm import WassersteinSVCCV
from drsvm.cli.work import Parts, Prepared, rows_of
from drsvm.datasets import Schema
from drsvm.datasets.preparation import aligned, features_of


class PreparedFold(NamedTuple):
    """Training rows and test rows of a table, with the preparation to fit to the former."""

    number: int
    train: Any
    test: Any
    table: Any
    steps: list[tuple[str, Any]]
    schema: Schema
    names: list[str] | None

    def rows(self, X) -> tuple[Any, Any]:
        """Return the features of the training rows and of the test rows; X are those of all rows together.

        A level may be rare in the fold only: its column is then 0, so that prices refer to the same columns.
        """
        if not self.steps:
            return X[self.train], X[self.test]
        pipeline = clone(Pipeline(self.steps))
        train = pipeline.fit_transform(rows_of(self.table, self.train))
        test = pipeline.transform(rows_of(self.table, self.test))
        given = [feature.name for feature in features_of(pipeline, self.schema) or ()]
        if self.names is None or given == self.names:
            return train, test
        return aligned(train, given, self.names), aligned(test, given, self.names)


class PreparedSearch(WassersteinSVCCV):
    """A cross-validation whose folds are prepared separately."""

    def of(self, parts: Parts, prepared: Prepared):
        """Set the table that the features come from."""
        self._source = (parts.X, prepared.steps, parts.data.schema, prepared.names)
        return self

    def _folds(self, X, y, sample_weight, groups) -> list[Any]:
        folds = super()._folds(X, y, sample_weight, groups)
        return [PreparedFold(*fold, *self._source) for fold in folds]
