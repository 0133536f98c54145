"""What previous radii tell about the next one."""

import math

import numpy as np
import pytest
from instances import well_conditioned_instance

from drsvm.solvers.interior_point.working_set import CAUTION, MIN_ERROR, Sample
from drsvm.solvers.path.radius_path import Forecast


@pytest.fixture
def forecast():
    return Forecast(Sample(well_conditioned_instance(0, 100, 2)))


def test_solutions_are_extrapolated_in_the_logarithm_of_the_radius(forecast):
    def at(radius):
        return np.array([1.0, -2.0]) * math.log(radius), 3.0 - math.log(radius)

    for radius in (1.0, 0.5):
        assert forecast.at(radius) is None  # nothing to extrapolate
        forecast.add(radius, *at(radius))
    estimate = forecast.at(0.2)
    np.testing.assert_allclose(estimate.point, at(0.2)[0])
    assert estimate.lam == pytest.approx(at(0.2)[1])
    assert estimate.lam_error == pytest.approx(CAUTION * math.log(2.0))  # that of no change at all


def test_errors_are_those_of_the_last_forecast(forecast):
    points = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.5], [3.0, 1.0]])
    for power, point in enumerate(points[:3]):
        forecast.at(0.5**power)
        forecast.add(0.5**power, point, 2.0 + 0.1 * power**2)
    estimate = forecast.at(0.5**3)
    np.testing.assert_allclose(estimate.point, points[3])
    error = np.abs(forecast.sample.problem.X @ [0.0, 0.5]).max()
    assert estimate.margin_error == pytest.approx(CAUTION * max(error, MIN_ERROR / CAUTION))
    assert estimate.lam_error == pytest.approx(CAUTION * 0.2)


@pytest.mark.parametrize("radii", [[1.0, 1.0, 0.5, 0.1], [1.0, 0.9, 0.8, 0.1], [1.0, 0.5, 0.5, 0.5]])
def test_nothing_is_expected_far_away(forecast, radii):
    for radius in radii[:3]:
        forecast.at(radius)
        forecast.add(radius, np.ones(2), 1.0)
    assert forecast.at(radii[3]) is None


def test_there_is_no_forecast_where_the_weights_vanish(forecast):
    for power in range(3):
        forecast.at(0.5**power)
        forecast.add(0.5**power, np.zeros(2), 0.0)
    assert forecast.at(0.5**3) is None
