"""Plots in the style of scikit-learn: a Display holds the numbers, `plot(ax=None)` draws them with matplotlib.

After `plot`, every display has its axes in `ax_` and its figure in `figure_`. The
colours are those of Okabe and Ito, which are distinguishable with any colour vision;
line styles differ too. One file per display; `worst_case_contents` chooses what one of
them shows, and in which plane, and `style` has what all share.
"""

from drsvm.plotting.convergence import ConvergenceDisplay
from drsvm.plotting.label_issues import LabelIssuesDisplay
from drsvm.plotting.radius_path import RadiusPathDisplay
from drsvm.plotting.risk_curve import RiskCurveDisplay
from drsvm.plotting.shift import BatchShiftsDisplay, ShiftDisplay
from drsvm.plotting.worst_case import WorstCaseDisplay

__all__ = [
    "BatchShiftsDisplay",
    "ConvergenceDisplay",
    "LabelIssuesDisplay",
    "RadiusPathDisplay",
    "RiskCurveDisplay",
    "ShiftDisplay",
    "WorstCaseDisplay",
]
