"""Timing in a process of its own, which ends at a limit whatever runs in it."""

import math
import os
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

MOST_RUNS, ENOUGH = 7, 0.3


def timed(run: Callable[[], Any], limit: float) -> tuple[float, Any]:
    """The least seconds of some runs (of one that takes long) and what the first gave; infinity and None where it took more than the limit.

    The process is a fork of this one, so that what was imported and compiled before is there, and nothing that the run leaves behind is.
    """
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(run, sender), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit + 0.05):
            return math.inf, None
        first, out = receiver.recv()
        if isinstance(out, Exception):
            raise out
        return min(first, receiver.recv()), out
    except EOFError:
        raise RuntimeError("its process died") from None
    finally:
        process.kill()
        process.join()
        receiver.close()


def _report(run: Callable[[], Any], sender: Any) -> None:
    """Send the time and the outcome of a first run, then the least time of those after it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        start = time.perf_counter()
        out = run()
        first = time.perf_counter() - start
    except Exception as error:  # it belongs to whoever asked
        sender.send((math.inf, RuntimeError(f"{type(error).__name__}: {error}")))
        return
    sender.send((first, out))
    least, spent = first, first
    for _ in range(MOST_RUNS):
        if spent > ENOUGH:
            break
        start = time.perf_counter()
        run()
        least, spent = min(least, time.perf_counter() - start), spent + time.perf_counter() - start
    sender.send(least)
