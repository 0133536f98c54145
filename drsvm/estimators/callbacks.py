"""scikit-learn's callbacks, and the lines of ``verbose=2``.

Before version 1.9 of scikit-learn there are no callbacks.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from drsvm.defaults.one_vs_rest import name_of
from drsvm.problem.result import Progress

Method = TypeVar("Method", bound=Callable[..., Any])


class NoContext:
    """The context of a fit without callbacks, with the methods of scikit-learn's."""

    def subcontext(self, **_: Any) -> "NoContext":
        """Return the context of a part of the fit."""
        return self

    def call_on_fit_task_begin(self, **_: Any) -> bool:
        """Return that the fit goes on."""
        return False

    call_on_fit_task_end = call_on_fit_task_begin


class CallbackSupportMixin:
    """An estimator without callbacks, in place of scikit-learn's mixin."""

    def _init_callback_context(self, **_: Any) -> NoContext:
        return NoContext()


def with_callbacks(method: Method) -> Method:
    """Return the method as it is."""
    return method


# scikit-learn's own from version 1.9 on; type checkers see those above.
if not TYPE_CHECKING:
    with suppress(ImportError):
        from sklearn.callback import CallbackSupportMixin, with_callbacks  # noqa: F401


class FitCallbacks:
    """A fit, as callbacks see it: a task with one subtask for every run of a solver."""

    def __init__(self, estimator: Any, X, y, *, may_solve_again: bool):
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self.classes = estimator.classes_
        self.has_callbacks = bool(getattr(estimator, "_skl_callbacks", ()))
        # One run for every problem; for two classes an unknown number (None) if class
        # weights may change.
        n_classes = len(self.classes)
        if n_classes > 2:
            n_tasks = n_classes
        elif may_solve_again:
            n_tasks = None
        else:
            n_tasks = 1
        self.context = estimator._init_callback_context(
            max_subtasks=n_tasks, sequential_subtasks=n_classes == 2
        )
        self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def end(self) -> None:
        """Tell callbacks that the fit has ended."""
        self.context.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes={}
        )

    @contextmanager
    def run(self, index: int) -> Iterator[Callable[[Progress], bool] | None]:
        """Yield the solver's callback for one of the problems.

        It is None if there is nothing to report: the solver then computes only a final
        certificate.
        """
        estimator = self.estimator
        task = self.context.subcontext(
            task_name="binary problem",
            task_id=index if len(self.classes) > 2 else None,
            max_subtasks=None,
        )
        task.call_on_fit_task_begin(estimator=estimator)

        def report(progress: Progress) -> bool:
            """Print a line if asked for; return whether a callback stops the run."""
            if estimator.verbose >= 2:
                print(
                    f"[{name_of(index, self.classes)}] iteration {progress.iteration}, "
                    f"{progress.time:.2f} s: objective {progress.objective:.8f}, "
                    f"gap {progress.gap:.1e}",
                    flush=True,
                )
            if not self.has_callbacks:
                return False
            step = task.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=estimator)
            return bool(step.call_on_fit_task_end(estimator=estimator))

        yield report if self.has_callbacks or estimator.verbose >= 2 else None
        task.call_on_fit_task_end(estimator=estimator)
