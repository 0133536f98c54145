"""One binary problem: its data, parameters, norms and rows, and the result of solving it."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.problem.problem import Problem as Problem
    from drsvm.problem.result import History as History
    from drsvm.problem.result import Progress as Progress
    from drsvm.problem.result import Result as Result
    from drsvm.problem.result import Status as Status
else:
    _NAMES = {
        ".problem": "Problem",
        ".result": "History Progress Result Status",
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
