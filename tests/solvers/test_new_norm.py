"""A norm that is added as the documentation says: every solver proves its optimum, or says that it cannot."""

from pathlib import Path

import numpy as np
import pytest
from documents import blocks_of
from instances import well_conditioned_instance

from drsvm import solve, worst_case_distribution, worst_case_risk
from drsvm.problem import L2

PAGE = Path(__file__).parents[2] / "docs" / "extending.rst"
PRICES = {"feature_cost": [0.5, 2.0, np.inf, 1.0], "intercept_cost": 3.0}
SCALE = 3.0


@pytest.fixture(scope="module")
def norm():
    """Return the norm of the page's first block."""
    namespace: dict = {"__name__": "extending"}
    exec(
        next(block.text for block in blocks_of(PAGE) if "class Scaled" in block.text),
        namespace,
    )
    return namespace["Scaled"](SCALE)


@pytest.mark.parametrize("compiled_steps", [True, False])
@pytest.mark.parametrize(
    "parameters", [{}, {"l2": 0.1}, {**PRICES, "monotonic_cst": [1, 0, 0, -1]}]
)
def test_the_interior_point_proves_the_optimum(norm, compiled_steps, parameters):
    """Shifts and flips that cost SCALE times as much are those of the Euclidean norm with a budget of 1 / SCALE."""
    known = well_conditioned_instance(
        0, 80, 4, radius=0.05, flip_cost=0.4, fit_intercept=True, norm=2, **parameters
    )
    problem = known.replace(
        norm=norm, radius=SCALE * known.radius, flip_cost=SCALE * known.flip_cost
    )
    result, expected = (
        solve(each, "interior-point", compiled_steps=compiled_steps)
        for each in (problem, known)
    )
    assert result.status.reached and result.gap <= 1e-8
    assert result.objective == pytest.approx(expected.objective, abs=2e-8)
    assert result.lower_bound <= expected.objective + 1e-12
    assert result.radius_price == pytest.approx(expected.radius_price / SCALE, rel=1e-3)


def test_the_worst_case_is_that_of_the_norm(norm):
    known = well_conditioned_instance(1, 60, 3, radius=0.1, flip_cost=np.inf, norm=2)
    model = solve(known).weights, 0.0
    given = {"X": known.X, "y": known.signs, "flip_cost": np.inf}
    risk = worst_case_risk(model, **given, radius=SCALE * 0.1, norm=norm)
    assert risk == pytest.approx(worst_case_risk(model, **given, radius=0.1, norm=L2()))
    worst = worst_case_distribution(model, **given, radius=SCALE * 0.1, norm=norm)
    assert worst.expected_loss == pytest.approx(
        risk
    ) and worst.transport_cost == pytest.approx(SCALE * 0.1)


def test_auto_picks_the_interior_point_and_others_say_why_not(norm):
    problem = well_conditioned_instance(0, 80, 4, radius=0.05, norm=norm)
    assert solve(problem).solver == "interior-point"
    assert solve(problem, "admm").gap <= 1e-4
    rejecting = (
        "ippa",
        "isg",
        "hybrid",
        "dual-coordinate",
        "feature-working-set",
        "conic",
    )
    for name, settings in [
        *((name, {}) for name in rejecting),
        ("admm", {"update": "exact"}),
    ]:
        with pytest.raises(ValueError, match="norm=2"):
            solve(problem, name, **settings)
