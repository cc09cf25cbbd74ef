"""The driver of every solver: it owns the clock, the limits, the certificates, the best points and the history."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dualgap.certificate import DualPoint, PrimalPoint, Seen, dual_point, points_in_one_reading, primal_point
from dualgap.problem import Problem, is_ridge
from dualgap.solution import History, Record, Solution, Status

Array = npt.NDArray[np.float64]
NONE: Array = np.empty(0)


class Iterate(Protocol):
    """What a solver offers for certification: a primal point when asked, and a dual one."""

    alpha: Array

    def weights(self) -> Array: ...


class Run:
    """One solve in progress.

    It begins with the null model as its best primal point. A solver loops `while run.going`, tells `spent` how many passes each step took,
    and offers its iterate; the run certifies it when a certificate is due, keeps the best primal and the best dual point, and ends the
    loop.
    """

    def __init__(
        self,
        problem: Problem,
        null: PrimalPoint,
        *,
        tol: float,
        max_passes: float,
        time_limit: float | None,
        random_state: Any,
        callback: Callable[[Record], Any] | None = None,
    ) -> None:
        self.problem = problem
        self.null = null.value
        self.target = tol * null.value
        self.max_passes = max_passes
        self.started = time.perf_counter()
        self.deadline = np.inf if time_limit is None else self.started + time_limit
        self.callback = callback
        self.watcher: Callable[[Iterate], None] | None = None
        self.rng = np.random.default_rng(random_state)
        self.status: Status | None = None
        self.history = History()
        self.notes: list[str] = []
        self.passes = self.evaluations = 0.0
        self.next_check = 0.0
        self.pending_note = ""
        self.best = null
        self.best_dual: DualPoint | None = None
        self.checkpoint: Any = None
        self.working: Array | None = None
        self.memories: dict[str, Callable[[], dict[str, Any]]] = {}
        self.recalled: dict[str, dict[str, Array]] = {}
        self.correlations = NONE
        self.cold = False

    @property
    def going(self) -> bool:
        """Whether the solver should take another step."""
        return self.status is None

    @property
    def best_dual_value(self) -> float:
        """The best dual objective so far."""
        return -math.inf if self.best_dual is None else self.best_dual.value

    @property
    def due(self) -> bool:
        """Whether a certificate is due: when the last two predict that it will be enough, and at the latest after 1.4 times the passes."""
        return not self.going or self.passes >= self.next_check

    def _plan(self) -> None:
        """When the next certificate is due, on the line through the logarithms of the last two gaps."""
        latest = 0.4 * self.passes + 3.0
        if len(self.history) >= 2 and self.target > 0.0:
            before, last = self.history[-2:]
            fall = math.log(before.gap / last.gap) / (last.passes - before.passes) if 0.0 < last.gap < before.gap else 0.0
            if fall > 0.0:
                latest = min(latest, math.log(max(last.gap / self.target, 1.0)) / fall - 1.0)
        self.next_check = self.passes + max(1.0, latest)

    @property
    def gap(self) -> float:
        """The certified gap of the best points."""
        assert self.best_dual is not None
        p, d = self.best, self.best_dual
        return float(max(p.value - d.value, 0.0) + p.doubt + d.doubt)

    def cold_point(self) -> Array:
        """Certify the null model, and return alpha = 0, from which a cold solve starts.

        Where the null model may be optimal, as with an L1 penalty, it is with the dual point it suggests; with a ridge, alpha = 0 will do.
        """
        alpha = np.zeros(self.problem.alpha_shape)
        if not (is_ridge(self.problem.penalty) and math.isfinite(self.problem.mean_floor)):
            self.problem.dual_points(self.best.w, alpha)
        self.certify(self.best.w, alpha)
        alpha[:] = 0.0
        self.cold = True
        return alpha

    def dual_start(self, alpha: Array) -> Array:
        """Write the best dual point to alpha, for a solver to go on from."""
        assert self.best_dual is not None
        alpha[:] = self.best_dual.alpha
        return alpha

    def exhaust(self, steps: Iterator[None]) -> None:
        """Take the steps of a solver until the run ends."""
        for _ in steps:
            pass

    def note(self, text: str) -> None:
        """Remark on the next record of the history, and in the solution."""
        self.pending_note = text
        if text not in self.notes:
            self.notes.append(text)

    def interrupt(self) -> None:
        """End the solve at the next opportunity."""
        self.status = self.status or Status.INTERRUPTED

    def spent(self, passes: float) -> None:
        """Account for work, and end the solve at a limit."""
        self.passes += passes
        if self.going and self.passes >= self.max_passes:
            self.status = Status.MAX_PASSES
        if self.going and time.perf_counter() >= self.deadline:
            self.status = Status.TIME_LIMIT
        if self.checkpoint is not None:
            self.checkpoint.keep(self)

    def take_up(self, history: list[Record], passes: float, seconds: float) -> None:
        """Go on with a solve that has come this far."""
        self.history[:] = history
        self.passes = passes
        self.started -= seconds

    def remember(self, name: str, memory: Callable[[], dict[str, Any]]) -> dict[str, Array]:
        """Have checkpoints keep what a solver goes by beside its dual variables, numbers and arrays; what it was in the solve resumed."""
        self.memories[name] = memory
        return self.recalled.pop(name, {})

    def forget(self, names: frozenset[str]) -> None:
        """Have checkpoints keep nothing but what goes by these names: another solver takes over."""
        self.memories = {name: memory for name, memory in self.memories.items() if name in names}

    def evaluated(self, passes: float) -> None:
        """Account for work that moves nothing, such as the gap of an inner problem."""
        self.evaluations += passes
        self.spent(passes)

    def show(self, iterate: Iterate) -> None:
        """Show the iterate after a pass to whoever watches; what they do with it is not counted as work."""
        if self.watcher is not None:
            self.watcher(iterate)

    def offer(self, iterate: Iterate) -> None:
        """Certify the iterate if that is due."""
        if self.due:
            self.certify(iterate.weights(), iterate.alpha)

    def certify(self, w: Array, alpha: Array, *, ends: bool = True, seen: Seen | None = None) -> float:
        """Evaluate a primal and a dual point, keep what is better than before, end the solve if the gap is small enough; P(w).

        w is kept as it is, so it must not be written to afterwards; alpha is copied. What a solver has `seen` of both is not computed anew.
        """
        if self.problem.resident or w is self.best.w:
            point = self.best if w is self.best.w else primal_point(self.problem, w, seen)
            self.best = point if point.value < self.best.value else self.best
            dual = dual_point(self.problem, alpha, self.best, self.null, seen, self.target)
        else:
            point, dual = points_in_one_reading(self.problem, w, alpha, self.best, self.null)
            self.best = point if point.value < self.best.value else self.best
        self.correlations = dual.a if self.best_dual is None else NONE
        if self.best_dual is None:
            self.best_dual = DualPoint(dual.alpha * dual.scale, 1.0, dual.value, dual.doubt, NONE)
        elif dual.value - dual.doubt > self.best_dual.value - self.best_dual.doubt:
            kept = np.multiply(dual.alpha, dual.scale, out=self.best_dual.alpha)
            self.best_dual = DualPoint(kept, 1.0, dual.value, dual.doubt, NONE)
        self.passes += 1.0
        self.evaluations += 1.0
        self._record()
        self._plan()
        if ends and self.gap <= self.target:
            self.status = Status.CERTIFIED
        elif self.going and self.gap <= 2.0 * (self.best.doubt + self.best_dual.doubt):
            self.status = Status.CERTIFIED if self.gap <= self.target else Status.ROUNDING
        return point.value

    def accept(self) -> None:
        """End the solve because the solver has a proof of its own that it is done."""
        self.status = Status.CERTIFIED

    def solution(self, loss: Any, penalty: Any, solver: Any) -> Solution:
        """The best points with their certificate."""
        assert self.best_dual is not None
        assert self.status is not None
        problem, w = self.problem, self.best.w
        intercept: Any = 0.0
        if problem.intercept:
            intercept = w[problem.d].copy() if problem.outputs else float(w[problem.d])
        return Solution(
            w=w[: problem.d],
            alpha=self.best_dual.alpha,
            intercept=intercept,
            primal=self.best.value,
            dual=self.best_dual.value,
            gap=self.gap,
            relative_gap=self.gap / self.null if self.null > 0.0 else (0.0 if self.gap == 0.0 else math.inf),
            null=self.null,
            convexity=0.0 if problem.unpenalized.size else float(problem.penalty.convexity),
            status=self.status,
            passes=self.passes,
            seconds=time.perf_counter() - self.started,
            history=self.history,
            loss=loss,
            penalty=penalty,
            solver=solver,
            notes=tuple(self.notes),
        )

    def _record(self) -> None:
        assert self.best_dual is not None
        seconds = time.perf_counter() - self.started
        record = Record(self.passes, seconds, self.best.value, self.best_dual.value, self.gap, self.pending_note)
        self.pending_note = ""
        self.history.append(record)
        if self.callback is not None and self.callback(record):
            self.status = self.status or Status.CALLBACK


def euclidean(problem: Problem) -> str:
    """What acceleration needs, if the problem has it not: for other norms it is an open problem."""
    if getattr(problem.penalty, "norm", 2.0) == 2.0:
        return ""
    return "a penalty that is strongly convex in the Euclidean norm (acceleration is an open problem for others)"


@contextmanager
def interruptible(run: Run) -> Iterator[None]:
    """Turn Ctrl-C into the end of the solve; in a thread other than the main one signals are not ours to handle."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: run.interrupt())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
