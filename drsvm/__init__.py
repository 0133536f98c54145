"""Wasserstein distributionally robust support vector machines, with a proof attached.

The public names are imported on first use, so that ``import drsvm`` is fast and imports neither scikit-learn nor an
optional dependency.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

# Type checkers see plain imports and no __getattr__, so that they report misspelt names. At run time the same names
# come from a table; a test compares the two.
if TYPE_CHECKING:
    from drsvm.learn.estimators import WassersteinSVC as WassersteinSVC
    from drsvm.learn.label_issues import find_label_issues as find_label_issues
    from drsvm.learn.label_quality import LabelIssues as LabelIssues
    from drsvm.learn.model_selection import WassersteinSVCCV as WassersteinSVCCV
    from drsvm.learn.radius_rule import auto_radius as auto_radius
    from drsvm.model.certificate import Certificate as Certificate
    from drsvm.model.certificate import certify as certify
    from drsvm.model.problem import Problem as Problem
    from drsvm.model.proximal import ProximalStep as ProximalStep
    from drsvm.model.proximal import proximal_step as proximal_step
    from drsvm.model.result import History as History
    from drsvm.model.result import Progress as Progress
    from drsvm.model.result import Result as Result
    from drsvm.model.result import Status as Status
    from drsvm.model.worst_case import WorstCaseDistribution as WorstCaseDistribution
    from drsvm.model.worst_case import worst_case_distribution as worst_case_distribution
    from drsvm.model.worst_case import worst_case_risk as worst_case_risk
    from drsvm.persistence import ModelFileError as ModelFileError
    from drsvm.persistence import load_metadata as load_metadata
    from drsvm.persistence import load_model as load_model
    from drsvm.persistence import save_model as save_model
    from drsvm.plotting import ConvergenceDisplay as ConvergenceDisplay
    from drsvm.plotting import LabelIssuesDisplay as LabelIssuesDisplay
    from drsvm.plotting import RadiusPathDisplay as RadiusPathDisplay
    from drsvm.plotting import RiskCurveDisplay as RiskCurveDisplay
    from drsvm.plotting import WorstCaseDisplay as WorstCaseDisplay
    from drsvm.solvers import solve as solve
    from drsvm.solvers.admm.solver import Admm as Admm
    from drsvm.solvers.conic.solver import Conic as Conic
    from drsvm.solvers.dual_coordinate.feature_working_set import FeatureWorkingSet as FeatureWorkingSet
    from drsvm.solvers.dual_coordinate.solver import DualCoordinate as DualCoordinate
    from drsvm.solvers.incremental.hybrid import Hybrid as Hybrid
    from drsvm.solvers.incremental.ippa import Ippa as Ippa
    from drsvm.solvers.incremental.isg import Isg as Isg
    from drsvm.solvers.interior_point.solver import InteriorPoint as InteriorPoint
    from drsvm.solvers.path.radius_max import radius_max as radius_max
    from drsvm.solvers.path.radius_path import RadiusPath as RadiusPath
    from drsvm.solvers.path.radius_path import radius_path as radius_path
else:
    _NAMES = {
        "learn.estimators": ("WassersteinSVC",),
        "learn.label_issues": ("find_label_issues",),
        "learn.label_quality": ("LabelIssues",),
        "learn.model_selection": ("WassersteinSVCCV",),
        "learn.radius_rule": ("auto_radius",),
        "model.certificate": ("Certificate", "certify"),
        "model.problem": ("Problem",),
        "model.proximal": ("ProximalStep", "proximal_step"),
        "model.result": ("History", "Progress", "Result", "Status"),
        "model.worst_case": ("WorstCaseDistribution", "worst_case_distribution", "worst_case_risk"),
        "persistence": ("ModelFileError", "load_metadata", "load_model", "save_model"),
        "plotting": (
            "ConvergenceDisplay",
            "LabelIssuesDisplay",
            "RadiusPathDisplay",
            "RiskCurveDisplay",
            "WorstCaseDisplay",
        ),
        "solvers": ("solve",),
        "solvers.admm.solver": ("Admm",),
        "solvers.conic.solver": ("Conic",),
        "solvers.dual_coordinate.solver": ("DualCoordinate",),
        "solvers.dual_coordinate.feature_working_set": ("FeatureWorkingSet",),
        "solvers.incremental.hybrid": ("Hybrid",),
        "solvers.interior_point.solver": ("InteriorPoint",),
        "solvers.incremental.ippa": ("Ippa",),
        "solvers.incremental.isg": ("Isg",),
        "solvers.path.radius_path": ("RadiusPath", "radius_path"),
        "solvers.path.radius_max": ("radius_max",),
    }
    _HOME = {name: module for module, names in _NAMES.items() for name in names}
    __all__ = sorted(_HOME)

    def __getattr__(name: str):
        if name not in _HOME:
            raise AttributeError(f"module 'drsvm' has no attribute {name!r}")
        value = getattr(import_module(f"drsvm.{_HOME[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOME})

    from drsvm import engines as _engines  # noqa: F401  # registers the places where rows may be
