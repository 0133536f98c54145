"""The scikit-learn interface.

`estimators`, `kernel_svc` (`fitting`, `base`, `fit_data`, `kernel_data`, `one_vs_rest`, `partial_fit`) and
`model_selection` (`search`, `cross_validation`) are the classifiers; `prices`, `radius_rule` (`spread`),
`kernel_width` and `evidence` their parameters, `deciding`, `kernel_deciding`, `threshold` and `probability` what they
decide, `column_errors`, `gross_errors` and `warning` what they tell. `out_of_fold` are decisions about rows that a
classifier has not seen: by them, thresholds, probabilities and balls are chosen, and `label_issues` ranks labels, flags
them (`label_quality`) and estimates how many are wrong (`label_noise`). `scores` are the figures that reports show,
with `intervals`. `clipped_scaler` prepares features for the classifiers.
"""

from typing import TYPE_CHECKING

from drsvm.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.learn.choosing.radius_rule import auto_radius as auto_radius
    from drsvm.learn.clipped_scaler import ClippedScaler as ClippedScaler
    from drsvm.learn.estimators import WassersteinSVC as WassersteinSVC
    from drsvm.learn.kernel.estimator import WassersteinKernelSVC as WassersteinKernelSVC
    from drsvm.learn.labels.issues import find_label_issues as find_label_issues
    from drsvm.learn.labels.quality import LabelIssues as LabelIssues
    from drsvm.learn.search.estimator import WassersteinSVCCV as WassersteinSVCCV
else:
    _NAMES = {
        ".clipped_scaler": "ClippedScaler",
        ".estimators": "WassersteinSVC",
        ".kernel.estimator": "WassersteinKernelSVC",
        ".labels.issues": "find_label_issues",
        ".labels.quality": "LabelIssues",
        ".search.estimator": "WassersteinSVCCV",
        ".choosing.radius_rule": "auto_radius",
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
