"""The scikit-learn interface."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.estimators.clipped_scaler import ClippedScaler as ClippedScaler
    from drsvm.estimators.kernel import WassersteinKernelSVC as WassersteinKernelSVC
    from drsvm.estimators.linear import WassersteinSVC as WassersteinSVC
    from drsvm.estimators.search import WassersteinSVCCV as WassersteinSVCCV
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
