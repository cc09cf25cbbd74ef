"""How many threads a solve may use: what the machine has, what the process may have of it, and what others have asked to be left.

By default that is all cores of the affinity mask and the control group, but no more than OMP_NUM_THREADS, NUMBA_NUM_THREADS (joblib sets
both in its worker processes) and LOKY_MAX_CPU_COUNT say, nor than threadpoolctl allows the thread pools of this process; and one in a
daemonic process, as those of multiprocessing.Pool are.
"""

import math
import multiprocessing
import numbers
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
QUOTAS = (
    ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu.max"),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def check_n_threads(n_threads: Any) -> int | None:
    """A positive number of threads, or None."""
    if n_threads is None:
        return None
    if isinstance(n_threads, bool) or not isinstance(n_threads, numbers.Integral) or n_threads < 1:
        raise ValueError(f"n_threads must be a positive integer, or None for all cores at hand, got {n_threads!r}")
    return int(n_threads)


def cores() -> int:
    """The processors this process may run on."""
    mask = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(mask, _quota())


@cache
def _quota() -> int:
    """The processors' worth of time that the control group grants, as a whole number."""
    for quota, period in QUOTAS:
        with suppress(OSError, ValueError, ZeroDivisionError):
            granted, of = Path(quota).read_text().split()[0], Path(period).read_text().split()[-1]
            if granted not in ("max", "-1"):
                return max(1, math.ceil(int(granted) / int(of)))
    return os.cpu_count() or 1


def default_threads() -> int:
    """What `n_threads=None` means here and now."""
    if multiprocessing.current_process().daemon:
        return 1
    allowed = [cores(), *pools.allowed()]
    for name in VARIABLES:
        # OMP_NUM_THREADS may be a list, with a number for each level of nesting
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            allowed.append(int(first))
    return min(allowed)


class _Pools:
    """The thread pools of the libraries of this process, linear algebra above all: their size is one for all who use them.

    Solves may limit it at the same time and end in any order: the least limit holds, and when none is left what was there before returns.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limits: list[int] = []
        self._before: list[tuple[Any, int]] = []

    def allowed(self) -> list[int]:
        """The sizes of the pools before any solve limited them."""
        with self._lock:
            return [size for _, size in (self._before if self._limits else self._sizes())]

    @contextmanager
    def at_most(self, n: int) -> Iterator[None]:
        """While this lasts, linear algebra runs with at most so many threads."""
        with self._lock:
            if not self._limits:
                self._before = self._sizes()
            self._limits.append(n)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._limits.remove(n)
                self._apply()

    def _apply(self) -> None:
        for library, size in self._before:
            if library.user_api == "blas":
                library.set_num_threads(min([size, *self._limits]))

    def _sizes(self) -> list[tuple[Any, int]]:
        return [(library, library.num_threads) for library in _libraries() if library.num_threads is not None]

    def after_fork(self) -> None:
        """In a child nobody else is at work, and the lock may have been held by a thread that is not there."""
        self._lock = threading.Lock()


@cache
def _libraries() -> list[Any]:
    """The thread pools of the libraries loaded so far."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().lib_controllers)


pools = _Pools()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pools.after_fork)
