"""Timing in a process of its own, which ends at a limit whatever runs in it."""

import math
import os
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

MOST_RUNS, ENOUGH, LOOK = 20, 0.1, 0.02


def timed(run: Callable[[], Any], limit: float) -> tuple[float, Any]:
    """The least seconds of some runs (of one that takes long) and what the first gave; infinity and None where it took more than the limit.

    The process is a fork of this one, so that what was imported and compiled before is there, and nothing that the run leaves behind is.
    Seconds are those of the processor: all runs have one thread, and what else the machine does must not count.
    """
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(run, sender), daemon=True)
    process.start()
    sender.close()
    try:
        # a timer of the process itself would make its clock as coarse as the scheduler's
        while not receiver.poll(LOOK):
            if _spent(process.pid) > limit + LOOK:
                return math.inf, None
        first, out = receiver.recv()
        if isinstance(out, Exception):
            raise out
        return min(first, receiver.recv()), out
    except EOFError:
        process.join()
        raise RuntimeError(f"its process ended with {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        receiver.close()


def _spent(pid: int | None) -> float:
    """Seconds of the processor that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _report(run: Callable[[], Any], sender: Any) -> None:
    """Send the time and the outcome of a first run, then the least time of those after it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        start = time.process_time()
        out = run()
        first = time.process_time() - start
    except Exception as error:  # it belongs to whoever asked
        sender.send((math.inf, RuntimeError(f"{type(error).__name__}: {error}")))
        return
    sender.send((first, out))
    least, spent = first, first
    for _ in range(MOST_RUNS):
        if spent > ENOUGH:
            break
        start = time.process_time()
        run()
        taken = time.process_time() - start
        least, spent = min(least, taken), spent + taken
    sender.send(least)
