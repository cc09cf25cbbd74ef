"""Threads that work on one solve, and how a job is cut so that its result does not depend on who did it.

a. A job is cut into parts, as many as `n_threads` says; each is computed in the same way whichever thread takes it, and what the parts give
   is put together in their order. So a solve can be repeated bit by bit with the same seed and `n_threads`, while the number of threads
   that really run may change from job to job.
b. That number is never more than the cores at hand, which the solves in progress in this process share.
c. They are plain threads of Python that run compiled code without the interpreter's lock. They start with the first job of a solve and end
   with the solve. After a fork the child starts its own; there is no OpenMP that could break.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from dualgap.cores import cores, default_threads, pools

T = TypeVar("T")
S = TypeVar("S")
Job = Callable[[int, int], None]
# With fewer entries a pass takes a millisecond, and threads would mostly wait for one another.
SMALL = 1 << 20


class Team:
    """The threads of a solve; with one part the caller does everything, as if there were no threads."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self._depth = 0
        self._workers: list[_Worker] = []
        self._process = os.getpid()

    def parts_for(self, entries: int) -> int:
        """Into how many parts a pass over so many entries is cut."""
        return self.parts if entries >= SMALL else 1

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While this lasts the team has its threads, and linear algebra none of its own, which would spin where those of the team work."""
        if self is SOLO:
            yield
            return
        self._depth += 1
        _offices.open(self)
        try:
            with pools.at_most(1):
                yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                _offices.close(self)
                self._dismiss()

    def map(self, function: Callable[[S], T], things: Sequence[S]) -> list[T]:
        """The results of a function of each thing, in their order; no function may use the team."""
        if self.parts == 1 or len(things) == 1:
            return [function(thing) for thing in things]
        results: list[Any] = [None] * len(things)

        def work(first: int, last: int) -> None:
            for t in range(first, last):
                results[t] = function(things[t])

        self._share(work, len(things))
        return results

    def _share(self, work: Job, parts: int) -> None:
        """Do a job of so many parts, each of the threads at hand some that follow one another."""
        threads = self._assemble(parts) if parts > 1 and self._depth > 0 else 1
        cuts = [parts * k // threads for k in range(threads + 1)]
        done: SimpleQueue[BaseException | None] = SimpleQueue()
        error: BaseException | None = None
        given = 0
        try:
            for worker, first, last in zip(self._workers, cuts[1:], cuts[2:], strict=False):
                worker.jobs.put(partial(_attend, work, first, last, done))
                given += 1
            work(0, cuts[1])
        except BaseException as raised:
            error = raised
        for _ in range(given):
            error = _finished(done) or error
        if error is not None:
            raise error

    def _assemble(self, parts: int) -> int:
        """Have threads for so many parts, as far as the cores at hand go; how many there are, the caller's included."""
        if self._process != os.getpid():
            self._process, self._workers = os.getpid(), []
            _offices.open(self)
        threads = min(parts, max(1, cores() // _offices.number))
        while len(self._workers) < threads - 1:
            try:
                self._workers.append(_Worker())
            except RuntimeError:
                # the system allows no more threads: those that are there do
                return 1 + len(self._workers)
        return threads

    def _dismiss(self) -> None:
        for worker in self._workers:
            worker.jobs.put(None)
        if self._process == os.getpid():
            for worker in self._workers:
                worker.thread.join()
        self._workers = []


class _Worker:
    """A thread that does jobs until it is sent home."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, name="dualgap", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            job()
            del job  # the arrays of a job do not wait for the next one


def _attend(work: Job, first: int, last: int, done: SimpleQueue[BaseException | None]) -> None:
    """A worker's side of a job."""
    try:
        work(first, last)
    except BaseException as error:
        done.put(error)
    else:
        done.put(None)


def _finished(done: SimpleQueue[BaseException | None]) -> BaseException | None:
    """Wait for one of the others: they use arrays of the solve, so that nothing, Ctrl-C included, may end it before them."""
    interrupted: BaseException | None = None
    while True:
        try:
            return done.get() or interrupted
        except KeyboardInterrupt as error:
            interrupted = error


class _Offices:
    """The teams that are at work in this process."""

    def __init__(self) -> None:
        self.after_fork()

    @property
    def number(self) -> int:
        """How many there are."""
        return max(1, len(self._teams))

    def open(self, team: Team) -> None:
        """Count a team in."""
        if team.parts > 1:
            with self._lock:
                self._teams.add(id(team))

    def close(self, team: Team) -> None:
        """Count a team out."""
        with self._lock:
            self._teams.discard(id(team))

    def after_fork(self) -> None:
        """In a child no team is at work until it says so, and the lock may have been held by a thread that is not there."""
        self._lock = threading.Lock()
        self._teams: set[int] = set()


_offices = _Offices()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_offices.after_fork)
SOLO = Team(1)


def alike(team: Team) -> Team:
    """Another team that cuts jobs in the same way, for a solve beside one that has this team."""
    return team if team is SOLO else Team(team.parts)


def team_for(n_threads: int | None, entries: int) -> Team:
    """The team for a problem of so many entries, times the outputs of its loss: nobody but the caller if there is little to do."""
    if entries < SMALL:
        return SOLO
    return Team(n_threads or default_threads())
