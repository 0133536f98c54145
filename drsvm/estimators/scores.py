"""Labels by decision values."""

import numpy as np


def codes_of(decisions: np.ndarray) -> np.ndarray:
    """Return the places of the predicted classes.

    They go by the sign of decision values, or by the largest one.
    """
    if decisions.ndim == 1:
        return (decisions > 0).astype(int)
    return decisions.argmax(axis=1)


def predictions(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the labels for decision values."""
    return classes[codes_of(decisions)]
