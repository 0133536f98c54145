"""The strict bound on every answer."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.certificate.certificate import Certificate as Certificate
    from drsvm.certificate.certificate import certify as certify
else:
    _NAMES = {
        ".certificate": "Certificate certify",
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
