"""Models of other libraries, saved with skops, and the rows for them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from drsvm.cli.command_files import check_inputs, read_from
from drsvm.cli.screen import Screen
from drsvm.cli.training_rows import load_for_model
from drsvm.persistence.model_files import SavedModel
from drsvm.persistence.skops_models import is_skops_file, load_skops
from drsvm.tables import DataFileError, Dataset, ReadOptions, Schema
from drsvm.tables.arrow_columns import columns_of
from drsvm.tables.cell_styles import Style
from drsvm.tables.values import NotANumber, numbers_of
from drsvm.utils.lazy import optional


def load_any_model(
    model: Path,
    file: Path,
    options: ReadOptions,
    screen: Screen,
    trusted: Sequence[str] | None,
) -> tuple[SavedModel, Dataset]:
    """Load a model, also one of skops, and the rows of a file as it takes them."""
    if not is_skops_file(model):
        return load_for_model(model, file, options, screen)
    check_inputs(model, [file])
    loaded = load_skops(model, trusted or ())
    # Without names, the features are all columns but the label.
    names = list(map(str, getattr(loaded, "feature_names_in_", ())))
    schema = Schema("table" if names else "array", len(names))
    dataset = rows_for(file, options, schema.as_it_is(names))
    screen.note(*dataset.notes)
    return SavedModel(loaded, {}), dataset


def rows_for(file: Path, options: ReadOptions, schema: Schema) -> Dataset:
    """Read a file as the model of a schema takes it.

    For a model of another library that is a data frame, or an array of numbers.
    """
    dataset = read_from(file, options, schema)
    if Style.AS_IT_IS not in dataset.schema.styles.values():
        return dataset
    X: Any = None
    if schema.kind == "table":
        optional("pandas", "models with names of columns need")
        X = dataset.X.to_pandas()
        X = X.where(X.notna(), np.nan)
    else:
        numbers = []
        for name, column in columns_of(dataset.X).items():
            try:
                numbers.append(numbers_of(column, Style.PLAIN))
            except NotANumber as wrong:
                raise DataFileError(
                    f"column {name!r}, {wrong}: the model needs numbers; if that is "
                    "the label, name it with --label.",
                    dataset.path,
                ) from None
        X = np.column_stack(numbers)
    return replace(dataset, X=X)
