"""The mathematics of one problem.

`problem` has the data and parameters, checked by `validation` and frozen; `centring` shifts columns far from 0. Its
`rows` may be in memory (`memory_rows`), elsewhere (`backends`), or functions of a kernel (`kernel_rows`,
`kernel_functions`); `row_operations` and `reducers` are what is computed from all of them. `norms` and `risk` give the
objective. A `certificate` makes `multipliers` feasible, finds their best multiple (`dual_scale`) and adds them up
without growing errors (`careful_sums`); a `result` carries what it proves. `proximal` has the steps for a sample and
for a batch. `worst_case/` and `new_data/` are about any given classifier, also of other libraries.
"""

from typing import TYPE_CHECKING

from drsvm.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.model.certificate import Certificate as Certificate
    from drsvm.model.certificate import certify as certify
    from drsvm.model.new_data.explanation import Explanation as Explanation
    from drsvm.model.new_data.explanation import explain as explain
    from drsvm.model.new_data.shift import Shift as Shift
    from drsvm.model.new_data.shift import measure_shift as measure_shift
    from drsvm.model.problem import Problem as Problem
    from drsvm.model.proximal import ProximalBatchStep as ProximalBatchStep
    from drsvm.model.proximal import ProximalStep as ProximalStep
    from drsvm.model.proximal import proximal_batch_step as proximal_batch_step
    from drsvm.model.proximal import proximal_step as proximal_step
    from drsvm.model.result import History as History
    from drsvm.model.result import Progress as Progress
    from drsvm.model.result import Result as Result
    from drsvm.model.result import Status as Status
    from drsvm.model.worst_case.distribution import WorstCaseDistribution as WorstCaseDistribution
    from drsvm.model.worst_case.distribution import worst_case_distribution as worst_case_distribution
    from drsvm.model.worst_case.worst_risk import attacked_risk as attacked_risk
    from drsvm.model.worst_case.worst_risk import worst_case_risk as worst_case_risk
else:
    _NAMES = {
        ".certificate": "Certificate certify",
        ".new_data.explanation": "Explanation explain",
        ".new_data.shift": "Shift measure_shift",
        ".problem": "Problem",
        ".proximal": "ProximalBatchStep ProximalStep proximal_batch_step proximal_step",
        ".result": "History Progress Result Status",
        ".worst_case.distribution": "WorstCaseDistribution worst_case_distribution",
        ".worst_case.worst_risk": "attacked_risk worst_case_risk",
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
