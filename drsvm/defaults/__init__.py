"""What is chosen for the user: radius and ridge, threshold, probabilities, outliers."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.defaults.radius_rule import auto_radius as auto_radius
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
