"""Pictures, as scikit-learn draws them: a Display holds the numbers, `plot(ax=None)` draws them with matplotlib.

Every display keeps its axes in `ax_` and its figure in `figure_` after `plot`. The colours are those of Okabe and Ito,
which are told apart with any colour vision; lines differ in their strokes too.
"""

from drsvm.plotting.convergence import ConvergenceDisplay
from drsvm.plotting.radius_path import RadiusPathDisplay
from drsvm.plotting.risk_curve import RiskCurveDisplay
from drsvm.plotting.worst_case import WorstCaseDisplay

__all__ = ["ConvergenceDisplay", "RadiusPathDisplay", "RiskCurveDisplay", "WorstCaseDisplay"]
