"""scikit-learn's callbacks; before version 1.9 there are none, and nobody hears what a fit tells."""

from typing import TYPE_CHECKING, Any

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:
    if not TYPE_CHECKING:

        class CallbackSupportMixin:
            """A fit has a context that tells nobody."""

            def _init_callback_context(self, **_: Any) -> "_Unheard":
                return _Unheard()

        class _Unheard:
            def subcontext(self, **_: Any) -> "_Unheard":
                return self

            def call_on_fit_task_begin(self, **_: Any) -> bool:
                return False

            call_on_fit_task_end = call_on_fit_task_begin

        def with_callbacks(method):
            """Return the method as it is."""
            return method
