"""What happens if the work is to be done on a graphics card, and there is none."""

import numpy as np
import pytest

from drsvm import WassersteinSVC
from drsvm.engines.gpu import device


def test_a_missing_card_is_explained():
    try:
        device.cupy()
    except device.GpuError:
        pass
    else:
        pytest.skip("there is a card")
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(device.GpuError, match=r"install CuPy .* or use engine='cpu'"):
        WassersteinSVC(radius=0.1, engine="gpu").fit(X, y)
    assert WassersteinSVC(radius=0.1, engine="cpu").fit(X, y).gap_ <= 1e-6
