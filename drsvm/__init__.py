"""Wasserstein distributionally robust support vector machines, with a proof attached.

The public names are imported on first use, so that ``import drsvm`` is fast and imports
neither scikit-learn nor an optional dependency.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

__version__ = "1.0.0rc2.dev0"

# Type checkers see plain imports and no __getattr__, so that they report misspelt
# names. At run time, the same names are imported on first use.
if TYPE_CHECKING:
    from drsvm.audit import Shift as Shift
    from drsvm.audit import certified_accuracy as certified_accuracy
    from drsvm.audit import certified_scorer as certified_scorer
    from drsvm.audit import explain as explain
    from drsvm.audit import find_label_issues as find_label_issues
    from drsvm.audit import measure_shift as measure_shift
    from drsvm.audit import radius_from_batches as radius_from_batches
    from drsvm.audit import worst_case_distribution as worst_case_distribution
    from drsvm.audit import worst_case_risk as worst_case_risk
    from drsvm.certificate import certify as certify
    from drsvm.defaults import auto_radius as auto_radius
    from drsvm.estimators import ClippedScaler as ClippedScaler
    from drsvm.estimators import WassersteinKernelSVC as WassersteinKernelSVC
    from drsvm.estimators import WassersteinSVC as WassersteinSVC
    from drsvm.estimators import WassersteinSVCCV as WassersteinSVCCV
    from drsvm.persistence import load_model as load_model
    from drsvm.persistence import save_model as save_model
    from drsvm.plotting import BatchShiftsDisplay as BatchShiftsDisplay
    from drsvm.plotting import ConvergenceDisplay as ConvergenceDisplay
    from drsvm.plotting import LabelIssuesDisplay as LabelIssuesDisplay
    from drsvm.plotting import RadiusPathDisplay as RadiusPathDisplay
    from drsvm.plotting import RiskCurveDisplay as RiskCurveDisplay
    from drsvm.plotting import ShiftDisplay as ShiftDisplay
    from drsvm.plotting import WorstCaseDisplay as WorstCaseDisplay
    from drsvm.problem import Problem as Problem
    from drsvm.problem import Result as Result
    from drsvm.problem import Status as Status
    from drsvm.solvers import radius_max as radius_max
    from drsvm.solvers import radius_path as radius_path
    from drsvm.solvers import row_radius_max as row_radius_max
    from drsvm.solvers import solve as solve
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)

    # This registers the places where rows may be.
    from drsvm import engines as _engines
