"""scikit-learn's callbacks.

Before version 1.9 there are none, and nobody hears what a fit tells.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


class Unheard:
    """The context of a fit that nobody follows."""

    def subcontext(self, **_: Any) -> "Unheard":
        return self

    def call_on_fit_task_begin(self, **_: Any) -> bool:
        return False

    call_on_fit_task_end = call_on_fit_task_begin


class CallbackSupportMixin:
    """An estimator without callbacks."""

    def _init_callback_context(self, **_: Any) -> Unheard:
        return Unheard()


def with_callbacks(method: Method) -> Method:
    """Return the method as it is."""
    return method


if not TYPE_CHECKING:
    with suppress(ImportError):
        from sklearn.callback import CallbackSupportMixin, with_callbacks  # noqa: F401
