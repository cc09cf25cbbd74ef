"""Threads that work on one solve: where they come from, and how a job is cut so that the result does not depend on who did it.

a. A job is cut into a number of parts that is fixed for a solve (`n_threads`), and each part is computed in the same way whichever thread
   takes it, results being put together in the order of the parts. So a solve is reproducible from its seed and `n_threads`, while the
   number of threads that really run may change from job to job.
b. That number is never more than the cores at hand, shared among the solves that are in progress in this process. A team whose members
   keep falling asleep at meetings, because somebody else uses the cores, is halved for a while: it is as fast as its slowest member.
c. They are plain threads of Python that run compiled code without the interpreter's lock; no OpenMP, so nothing breaks after a fork: the
   child finds an empty pool and starts its own threads.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from dualgap.cores import blas, cores, default_threads
from dualgap.kernels.threads import MICROSECONDS, NAPS, STOPPED, Share, meet, new_sync

T = TypeVar("T")
S = TypeVar("S")
# With fewer entries an epoch takes a millisecond or two, and threads would mostly wait for one another.
SMALL = 1 << 20
# A team that sleeps more than this part of its time is halved for so many jobs, twice as many each time up to a limit.
ASLEEP, SHORT, LONG = 0.2, 4, 256


class _Worker:
    """A thread that waits for jobs."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, name="dualgap", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.jobs.get()()


class _Pool:
    """The threads of this process that no team has, and the number of teams that want them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process = os.getpid()
        self.idle: list[_Worker] = []
        self.teams = 0

    def enter(self) -> None:
        """Count a team in."""
        with self.lock:
            self.teams += 1

    def leave(self, workers: list[_Worker]) -> None:
        """Count a team out and take its workers back."""
        with self.lock:
            self.teams -= 1
            self.idle += workers
            workers.clear()

    def adjust(self, workers: list[_Worker], most: int, processors: int) -> None:
        """Bring the workers of a team to its share of the processors, and with the caller to at most `most`."""
        with self.lock:
            wanted = min(most, max(1, processors // max(1, self.teams))) - 1
            while len(workers) > wanted:
                self.idle.append(workers.pop())
            while len(workers) < wanted:
                try:
                    workers.append(self.idle.pop() if self.idle else _Worker())
                except RuntimeError:
                    # the system allows no more threads: those that are there do
                    break


_pool = _Pool()


def _after_fork() -> None:
    """A child has none of the threads, and the lock may have been held by one of them."""
    global _pool  # noqa: PLW0603
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Team:
    """The threads of a solve; with one part, everything is done by the caller as if there were no threads."""

    def __init__(self, parts: int, asked: int | None = None) -> None:
        self.parts = parts
        self.asked = asked
        self.processors = cores() if parts > 1 else 1
        self.pool = _pool
        self.workers: list[_Worker] = []
        self.most = parts
        self.rest = 0
        self.penalty = SHORT
        self.memory: dict[Any, tuple[Any, Any]] = {}

    def kept(self, key: Any, subject: Any, make: Callable[[], T]) -> T:
        """What was made of a subject, made at the first call; the subject is kept, so that its identity can be in the key."""
        if key not in self.memory:
            self.memory[key] = (subject, make())
        found: T = self.memory[key][1]
        return found

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While this lasts, the team has its share of the processors, and linear algebra no more threads than were asked for."""
        with blas.at_most(self.asked) if self.asked else nullcontext():
            if self.parts > 1:
                self.pool.enter()
            try:
                yield
            finally:
                if self.parts > 1:
                    self.pool.leave(self.workers)

    def parts_of(self, length: int) -> list[slice]:
        """0 .. length cut into parts."""
        cuts = [length * part // self.parts for part in range(self.parts + 1)]
        return [slice(*ends) for ends in zip(cuts, cuts[1:], strict=False)]

    def each(self, function: Callable[[slice], T], length: int) -> list[T]:
        """The results of a function of a slice of 0 .. length, for each part."""
        return self.map(function, self.parts_of(length))

    def map(self, function: Callable[[S], T], things: Sequence[S]) -> list[T]:
        """The results of a function of each thing, in their order."""
        if self.parts == 1 or len(things) == 1:
            return [function(thing) for thing in things]
        results: list[Any] = [None] * len(things)

        def work(share: Share) -> None:
            for t in range(share.first, share.last):
                results[t] = function(things[t])

        self._run(work, len(things))
        return results

    def run(self, job: Callable[[Share], Any], parts: int) -> None:
        """Do a job of so many parts whose threads meet on the way, its shares at the same time; returns when all are done."""
        begun = time.perf_counter()
        threads, naps = self._run(job, parts)
        self._review(threads, naps, time.perf_counter() - begun)

    def _run(self, job: Callable[[Share], Any], parts: int) -> tuple[int, int]:
        """Do a job; how many threads did it and how often one fell asleep."""
        self._assemble(parts)
        threads, sync = 1 + len(self.workers), new_sync()
        shares = [Share(parts * k // threads, parts * (k + 1) // threads, threads, sync) for k in range(threads)]
        if threads == 1:
            job(shares[0])
            return 1, 0
        errors: list[BaseException] = []
        try:
            for worker, share in zip(self.workers, shares[1:], strict=True):
                worker.jobs.put(partial(_attend, job, share, errors))
            job(shares[0])
            meet(shares[0])
        except BaseException:
            sync[STOPPED] = 1
            raise
        if errors:
            raise errors[0]
        return threads, int(sync[NAPS])

    def _assemble(self, parts: int) -> None:
        """Get workers, or send some home."""
        if self.pool.process != os.getpid():
            self.pool, self.workers = _pool, []
            self.pool.enter()
        self.pool.adjust(self.workers, min(parts, self.most), self.processors)

    def _review(self, threads: int, naps: int, seconds: float) -> None:
        """Halve a team that has slept much, and call all back when the time is up."""
        if naps * MICROSECONDS * 1e-6 > ASLEEP * threads * seconds:
            self.most = max(1, threads // 2)
            self.rest, self.penalty = self.penalty, min(2 * self.penalty, LONG)
        elif self.rest > 0:
            self.rest -= 1
        elif self.most < self.parts:
            self.most = min(2 * self.most, self.parts)


def _attend(job: Callable[[Share], Any], share: Share, errors: list[BaseException]) -> None:
    """A worker's side of a job."""
    try:
        job(share)
        meet(share)
    except BaseException as error:  # noqa: BLE001
        errors.append(error)
        share.sync[STOPPED] = 1


SOLO = Team(1)


def team_for(n_threads: int | None, entries: int) -> Team:
    """The team for a problem of so many entries, times the outputs of its loss: one member if there is little to do."""
    if entries < SMALL:
        return Team(1, n_threads)
    return Team(n_threads or default_threads(), n_threads)
