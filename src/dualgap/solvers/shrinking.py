"""Dual coordinate ascent with shrinking, for losses whose dual variables end up at the ends of an interval.

    pass:    Prox-SDCA over the rows of interest; a row that stays put, and would at any score within the largest move of the last pass, is
             set aside
    leap:    the best combination of the last passes' moves, as far as it stays in the domain and raises the dual objective
    return:  at each certificate, which computes the scores of all rows, those that would move are of interest again

Nothing is lost by setting a row aside: a wrong guess costs the passes until the next certificate. A pass is a linear map of the free dual
variables once the others have settled, so that its moves are what a Krylov method makes use of: the leap is a step of conjugate gradients
that Prox-SDCA preconditions, costs sums over rows and columns but no entries, and is what ill-conditioned problems need (a pair of equal
rows with opposite labels takes 1/(lambda n) passes, or one leap). D never falls, so that the passes keep the rate they have alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap.kernels.shrink import Trail, choose_rows, clear, combine, gained, quadratic_model, shrinking_epoch, take
from dualgap.problem import Problem
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.prox_sdca import update_rule
from dualgap.solvers.run import Run, euclidean
from dualgap.solvers.surrogate import ridge

Array = npt.NDArray[np.float64]
ALONE, FARTHEST, LITTLE = 3, 1e6, 0.7


@dataclass(frozen=True)
class Shrinking:
    """Prox-SDCA on the rows whose dual variables still move, with leaps along its moves.

    Parameters
    ----------
    memory : int
        How many passes a leap combines; 0 for none.

    Examples
    --------
    >>> Shrinking().memory
    3
    """

    memory: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.memory, int) or self.memory < 0:
            raise ValueError(f"memory must be a number of passes, 0 or more, got {self.memory!r}")

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        fits = problem.outputs == 0 and hasattr(problem.loss, "dual_step")
        return euclidean(problem) if fits else "a scalar loss with an exact step"

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """The method from alpha, a pass at a time."""
        separable = not getattr(problem.penalty, "coupled", False) and not problem.unpenalized.size
        return _Shrinking(problem, run, alpha, self.memory if separable else 0).steps()


class _Shrinking:
    """A solve in progress: the first `count` rows of the order are of interest, and only the first `span` have moved of late."""

    def __init__(self, problem: Problem, run: Run, alpha: Array, memory: int) -> None:
        self.problem, self.run, self.memory = problem, run, memory
        self.ascent = Ascent(problem, alpha, run, ridge=ridge(problem, run))
        self.ascent.settle(np.zeros(problem.shape), 0.0)
        self.ascent.use(update_rule(None, problem.loss, self.ascent.largest_step))
        n, slots = problem.n, max(memory, 1)
        self.trail = Trail(np.zeros(n), np.zeros((n, slots)), np.zeros((problem.d + 1, slots)))
        self.aside = np.empty_like(self.ascent.order)
        self.step, self.ahead = np.empty(n), np.empty(problem.shape)
        self.count = n
        self.spans = [n] * slots
        self.margin = np.inf
        self.passes = self.checked = 0
        self.gap, self.ratio = np.inf, 1.0

    def steps(self) -> Iterator[None]:
        """Passes and leaps until the run ends, and certificates when they are due."""
        while self.run.going:
            before = self.ascent.u.copy() if self.memory else self.ascent.u
            self._pass()
            if self.memory and self.run.going:
                self._leap(before)
            self.ascent.follow()
            if self._due():
                self._check()
            yield

    def _pass(self) -> None:
        """Prox-SDCA over the rows of interest, in slices short enough that a limit is noticed."""
        ascent, run, order = self.ascent, self.run, self.ascent.order
        run.working = ascent.alpha
        ascent.refresh()
        slot = self.passes % len(self.spans)
        clear(self.trail, order[: max(self.spans)], slot)
        ascent.mix(order[: self.count])
        self.spans[slot] = self.count
        kept = found = 0
        largest = self.gap = 0.0
        for start in range(0, self.count, ascent.step):
            stop = min(start + ascent.step, self.count)
            kept, found, entries, move, gap = shrinking_epoch(
                ascent.data,
                ascent.prox,
                ascent.alpha,
                ascent.u,
                order,
                (start, stop, kept, found),
                self.aside,
                self.margin,
                self.trail,
                slot,
            )
            largest, self.gap = max(largest, move), self.gap + gap
            run.spent((entries + stop - start) / (self.problem.n + ascent._entries()))
            if not run.going:
                break
        else:
            order[kept : self.count] = self.aside[:found]
            self.count = kept
        self.margin = largest or np.inf
        self.passes += 1
        run.show(ascent)

    def _leap(self, before: Array) -> None:
        """Make the step along the moves of the last passes that a quadratic model of the dual objective takes for the best."""
        ascent, trail = self.ascent, self.trail
        rows, slot, m = ascent.order[: max(self.spans)], (self.passes - 1) % self.memory, self.memory
        state = (ascent.data, ascent.prox, ascent.alpha, ascent.u)
        slope, curvature = np.empty(m), np.empty((m, m))
        quadratic_model(ascent.data, ascent.prox, ascent.u, before, rows, trail, slot, slope, curvature)
        if self.passes <= ALONE:
            return
        if not (np.all(np.isfinite(curvature)) and np.all(np.isfinite(slope))):
            return
        c = np.linalg.lstsq(curvature, slope, rcond=1e-13)[0]
        c *= min(1.0, FARTHEST / max(float(np.abs(c).max()), 1.0))
        rise, bend = combine(*state, rows, self.count, trail, c, self.step, self.ahead)
        t = min(1.0, rise / bend) if bend > 0.0 else 1.0
        if rise > 0.0 and gained(*state, rows, self.step, self.ahead, t) > 0.0:
            take(ascent.data, ascent.alpha, ascent.u, rows, trail, slot, self.step, self.ahead, t)

    def _due(self) -> bool:
        """Whether a certificate is worth its pass: it is likely to be the last, there is nothing else to do, or it has been long."""
        run = self.run
        return run.due or not self.count or (self.passes >= self.checked + 2 and self.ratio * self.gap <= run.target)

    def _check(self) -> None:
        """Certify, and see which rows are of interest."""
        ascent, run = self.ascent, self.run
        w, before = ascent.weights(), run.gap
        run.certify(w, ascent.alpha)
        self.checked = self.passes
        self.ratio = run.gap / self.gap if self.gap > 0.0 else 1.0
        if run.going:
            z = self.problem.scores(w, slice(0, self.problem.n))
            self.count = choose_rows(ascent.data, ascent.prox, ascent.alpha, z, self.margin, ascent.order, self.aside)
            self.spans = [self.problem.n] * len(self.spans)
            if run.gap > LITTLE * before:
                # rounding may have moved u away from alpha
                ascent.return_to(ascent.alpha)
