"""The scikit-learn interface: `estimators` (with `base`), and the scaler that prepares features for them.

`fitting` are the steps of a fit, `kernel` is the classifier in a feature space, `choosing` what is chosen after the
data, by rules and by decisions about rows that a classifier has not seen (`out_of_fold`), `search` a cross-validation,
`labels` the labels to check. `scores` are the figures that reports show, with intervals. `batches`
are about movement from batch to batch.
"""

from typing import TYPE_CHECKING

from drsvm.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.learn.batches import BatchShifts as BatchShifts
    from drsvm.learn.batches import radius_from_batches as radius_from_batches
    from drsvm.learn.choosing.radius_rule import auto_radius as auto_radius
    from drsvm.learn.clipped_scaler import ClippedScaler as ClippedScaler
    from drsvm.learn.estimators import WassersteinSVC as WassersteinSVC
    from drsvm.learn.kernel.estimator import WassersteinKernelSVC as WassersteinKernelSVC
    from drsvm.learn.labels.issues import find_label_issues as find_label_issues
    from drsvm.learn.labels.quality import LabelIssues as LabelIssues
    from drsvm.learn.search.estimator import WassersteinSVCCV as WassersteinSVCCV
else:
    _NAMES = {
        ".batches": "BatchShifts radius_from_batches",
        ".clipped_scaler": "ClippedScaler",
        ".estimators": "WassersteinSVC",
        ".kernel.estimator": "WassersteinKernelSVC",
        ".labels.issues": "find_label_issues",
        ".labels.quality": "LabelIssues",
        ".search.estimator": "WassersteinSVCCV",
        ".choosing.radius_rule": "auto_radius",
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
