"""Model files on the way out and back."""

import numpy as np
import pytest

from drsvm import load_model, save_model


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.drsvm"


@pytest.fixture
def round_trip(file):
    """Return a function that saves and loads a fitted model and checks that it decides in the same way."""

    def round_trip(model, rows, metadata=None):
        save_model(model, file, metadata)
        loaded = load_model(file)
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
        decide = (
            "decision_function"
            if hasattr(model, "decision_function")
            else "predict_proba"
        )
        np.testing.assert_array_equal(
            getattr(loaded, decide)(rows), getattr(model, decide)(rows)
        )
        return loaded

    return round_trip
