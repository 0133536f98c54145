"""Wasserstein distributionally robust support vector machines, with a proof attached.

The public names are imported on first use, so that ``import drsvm`` stays quick and pulls in neither scikit-learn nor
an optional dependency.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "ConvergenceDisplay": "plotting",
    "Problem": "problem",
    "RadiusPathDisplay": "plotting",
    "Result": "result",
    "RiskCurveDisplay": "plotting",
    "Status": "result",
    "WassersteinSVC": "estimators",
    "WassersteinSVCCV": "model_selection",
    "WorstCaseDisplay": "plotting",
    "auto_radius": "radius_rule",
    "certify": "certificate",
    "load_model": "persistence",
    "proximal_step": "proximal",
    "radius_max": "path",
    "radius_path": "path",
    "save_model": "persistence",
    "solve": "solvers",
    "worst_case_distribution": "worst_case",
    "worst_case_risk": "worst_case",
}

__all__ = [
    "ConvergenceDisplay",
    "Problem",
    "RadiusPathDisplay",
    "Result",
    "RiskCurveDisplay",
    "Status",
    "WassersteinSVC",
    "WassersteinSVCCV",
    "WorstCaseDisplay",
    "auto_radius",
    "certify",
    "load_model",
    "proximal_step",
    "radius_max",
    "radius_path",
    "save_model",
    "solve",
    "worst_case_distribution",
    "worst_case_risk",
]

if TYPE_CHECKING:
    from drsvm.certificate import certify
    from drsvm.estimators import WassersteinSVC
    from drsvm.model_selection import WassersteinSVCCV
    from drsvm.path import radius_max, radius_path
    from drsvm.persistence import load_model, save_model
    from drsvm.plotting import ConvergenceDisplay, RadiusPathDisplay, RiskCurveDisplay, WorstCaseDisplay
    from drsvm.problem import Problem
    from drsvm.proximal import proximal_step
    from drsvm.radius_rule import auto_radius
    from drsvm.result import Result, Status
    from drsvm.solvers import solve
    from drsvm.worst_case import worst_case_distribution, worst_case_risk


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'drsvm' has no attribute {name!r}")
    value = getattr(import_module(f"drsvm.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
