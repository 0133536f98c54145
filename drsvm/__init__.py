"""Wasserstein distributionally robust support vector machines, with a proof attached.

The public names are imported on first use, so that ``import drsvm`` is fast and imports neither scikit-learn nor an
optional dependency.
"""

from typing import TYPE_CHECKING

from drsvm.lazy import lazy_names

__version__ = "1.0.0rc2.dev0"

# Type checkers see plain imports and no __getattr__, so that they report misspelt names. At run time the same names
# come from a table; a test compares the two.
if TYPE_CHECKING:
    from drsvm.learn import ClippedScaler as ClippedScaler
    from drsvm.learn import WassersteinKernelSVC as WassersteinKernelSVC
    from drsvm.learn import WassersteinSVC as WassersteinSVC
    from drsvm.learn import WassersteinSVCCV as WassersteinSVCCV
    from drsvm.learn import auto_radius as auto_radius
    from drsvm.learn import find_label_issues as find_label_issues
    from drsvm.learn import radius_from_batches as radius_from_batches
    from drsvm.model import Problem as Problem
    from drsvm.model import Result as Result
    from drsvm.model import Shift as Shift
    from drsvm.model import Status as Status
    from drsvm.model import certify as certify
    from drsvm.model import explain as explain
    from drsvm.model import measure_shift as measure_shift
    from drsvm.model import worst_case_distribution as worst_case_distribution
    from drsvm.model import worst_case_risk as worst_case_risk
    from drsvm.persistence import load_model as load_model
    from drsvm.persistence import save_model as save_model
    from drsvm.plotting import BatchShiftsDisplay as BatchShiftsDisplay
    from drsvm.plotting import ConvergenceDisplay as ConvergenceDisplay
    from drsvm.plotting import LabelIssuesDisplay as LabelIssuesDisplay
    from drsvm.plotting import RadiusPathDisplay as RadiusPathDisplay
    from drsvm.plotting import RiskCurveDisplay as RiskCurveDisplay
    from drsvm.plotting import ShiftDisplay as ShiftDisplay
    from drsvm.plotting import WorstCaseDisplay as WorstCaseDisplay
    from drsvm.solvers import radius_max as radius_max
    from drsvm.solvers import radius_path as radius_path
    from drsvm.solvers import solve as solve
else:
    _NAMES = {
        ".learn": "ClippedScaler WassersteinKernelSVC WassersteinSVC WassersteinSVCCV auto_radius find_label_issues "
        "radius_from_batches",
        ".model": "Problem Result Shift Status certify explain measure_shift worst_case_distribution worst_case_risk",
        ".persistence": "load_model save_model",
        ".plotting": "BatchShiftsDisplay ConvergenceDisplay LabelIssuesDisplay RadiusPathDisplay RiskCurveDisplay "
        "ShiftDisplay WorstCaseDisplay",
        ".solvers": "radius_max radius_path solve",
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)

    from drsvm import engines as _engines  # noqa: F401  # registers the places where rows may be
