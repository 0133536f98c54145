"""What happens if the work is to be done on a graphics card, and there is none."""

import numpy as np
import pytest

from drsvm import WassersteinKernelSVC, WassersteinSVC
from drsvm.engines.gpu import device


def test_a_missing_card_is_explained():
    try:
        device.cupy()
    except device.GpuError:
        pass
    else:
        pytest.skip("there is a card")
    X, y = np.eye(4), [0, 1, 0, 1]
    for estimator in (WassersteinSVC(threshold="optimum"), WassersteinKernelSVC(threshold="optimum")):
        with pytest.raises(device.GpuError, match=r"install CuPy .* or use engine='cpu'"):
            estimator.set_params(engine="gpu").fit(X, y)
        assert estimator.set_params(engine="cpu").fit(X, y).gap_ <= 1e-4
