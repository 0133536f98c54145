"""Small helpers that know nothing of support vector machines.

- `arguments`: errors that name them.
- `clock`: time limits; `interrupts`: Ctrl-C; `progress`: shares that are done.
- `parallel`: threads, and sums over parts of arrays; `compensated_sums`: exact ones.
- `messages` and `user_warnings`: texts for users; `writing`: files.
- `lazy`: what is done on first use; `annotations`: names for types.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.utils.clock import Stopwatch, TimeLimit, paused
    from drsvm.utils.compensated_sums import compensated_transposed_dot
    from drsvm.utils.messages import Message, Parameter, number
    from drsvm.utils.parallel import (
        available_cores,
        row_blocks,
        spare_cores,
        threads_limited,
    )
    from drsvm.utils.progress import (
        capture_progress,
        duration,
        following,
        report_progress,
        stage,
    )
    from drsvm.utils.writing import ends_soon, write_files
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
