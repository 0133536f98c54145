"""Wasserstein distributionally robust support vector machines, with a proof attached.

The public names are imported on first use, so that ``import drsvm`` stays quick and pulls in neither scikit-learn nor
an optional dependency.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "ConvergenceDisplay": "plotting",
    "Problem": "model.problem",
    "RadiusPathDisplay": "plotting",
    "Result": "model.result",
    "RiskCurveDisplay": "plotting",
    "Status": "model.result",
    "WassersteinSVC": "learn.estimators",
    "WassersteinSVCCV": "learn.model_selection",
    "WorstCaseDisplay": "plotting",
    "auto_radius": "learn.radius_rule",
    "certify": "model.certificate",
    "load_model": "persistence.model_files",
    "proximal_step": "model.proximal",
    "radius_max": "solvers.radius_max",
    "radius_path": "solvers.path",
    "save_model": "persistence.model_files",
    "solve": "solvers",
    "worst_case_distribution": "model.worst_case",
    "worst_case_risk": "model.worst_case",
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
    from drsvm.learn.estimators import WassersteinSVC
    from drsvm.learn.model_selection import WassersteinSVCCV
    from drsvm.learn.radius_rule import auto_radius
    from drsvm.model.certificate import certify
    from drsvm.model.problem import Problem
    from drsvm.model.proximal import proximal_step
    from drsvm.model.result import Result, Status
    from drsvm.model.worst_case import worst_case_distribution, worst_case_risk
    from drsvm.persistence.model_files import load_model, save_model
    from drsvm.plotting import ConvergenceDisplay, RadiusPathDisplay, RiskCurveDisplay, WorstCaseDisplay
    from drsvm.solvers import solve
    from drsvm.solvers.path import radius_path
    from drsvm.solvers.radius_max import radius_max


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'drsvm' has no attribute {name!r}")
    value = getattr(import_module(f"drsvm.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
