"""The strict bound on every answer.

`certificate` states the dual problem and computes certificates, `multipliers` makes
multipliers feasible for it, `dual_bound` finds the factor with which they prove most.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# `as` marks what is public; the rest is for other folders and for tests.
if TYPE_CHECKING:
    from drsvm.certificate.certificate import (
        NEGLIGIBLE,
        DualPoint,
        dual_point,
        primal_point,
    )
    from drsvm.certificate.certificate import Certificate as Certificate
    from drsvm.certificate.certificate import certify as certify
    from drsvm.certificate.dual_bound import best_dual_scaling, uncharged_features
    from drsvm.certificate.multipliers import clipped_multipliers
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
