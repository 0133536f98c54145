"""Plots in the style of scikit-learn: displays hold numbers, `plot(ax)` draws them.

matplotlib draws them. After `plot`, every display has its axes in `ax_` and its figure
in `figure_`. The colours are those of Okabe and Ito, which are distinguishable with any
colour vision; line styles differ too. One file per display; `worst_case_contents`
chooses what one of them shows, and in which plane, and `style` has what all share.
"""

from drsvm.plotting.convergence_display import ConvergenceDisplay
from drsvm.plotting.label_issues_display import LabelIssuesDisplay
from drsvm.plotting.radius_path_display import RadiusPathDisplay
from drsvm.plotting.risk_curve_display import RiskCurveDisplay
from drsvm.plotting.shift_display import BatchShiftsDisplay, ShiftDisplay
from drsvm.plotting.style import COLOURS, line_styles
from drsvm.plotting.worst_case_contents import plane_for
from drsvm.plotting.worst_case_display import WorstCaseDisplay, class_looks

# The displays are public; the rest is for tests.
__all__ = [
    "BatchShiftsDisplay",
    "ConvergenceDisplay",
    "LabelIssuesDisplay",
    "RadiusPathDisplay",
    "RiskCurveDisplay",
    "ShiftDisplay",
    "WorstCaseDisplay",
]
