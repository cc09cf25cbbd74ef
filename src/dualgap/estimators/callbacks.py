"""scikit-learn's callbacks, where the installed version has them (1.9 and later): a task for each certificate of a fit.

A certificate is a leaf below the task "fit"; a callback that asks to stop ends the fit like a limit does. Several solves may run side by
side, so that a lock keeps their certificates in one sequence.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from dualgap.solution import Record

Report = Callable[[Record], bool]
# Calls that stand between a fit and its caller.
WRAPPERS: int

__all__ = ["WRAPPERS", "CallbackSupport", "Report", "reporting", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks

    WRAPPERS = 1
except ImportError:
    WRAPPERS = 0

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing, since the installed scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method as it is."""
        return method


@contextmanager
def reporting(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Report | None]:
    """What `dualgap.solve` is to call with each record: None where no callbacks are set."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield None
        return
    data: dict[str, Any] = {"X": X, "y": y, "metadata": {} if sample_weight is None else {"sample_weight": sample_weight}}
    fit = estimator._init_callback_context(max_subtasks=None)
    fit.call_on_fit_task_begin(estimator=estimator, **data)
    lock, stopped = Lock(), False

    def report(_record: Record) -> bool:
        nonlocal stopped
        with lock:
            certificate = fit.subcontext(task_name="certificate")
            certificate.call_on_fit_task_begin(estimator=estimator, **data)
            stopped = bool(certificate.call_on_fit_task_end(estimator=estimator, **data)) or stopped
        return stopped

    yield report
    fitted = {name: getattr(estimator, name) for name in ("coef_", "intercept_")}
    fit.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=fitted, **data)
