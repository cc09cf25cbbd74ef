"""Prox-SDCA inside an accelerated proximal-point method whose steps are as sloppy as the ledger allows.

    y = (A w + a z)/(A + a),    w = the primal point of E epochs of Prox-SDCA on P(x) + kappa/2 |x - y|^2,    z from the ledger

One epoch is most often enough for a step (E = 1), where the theory asks for several; kappa starts at what a row of average weight needs,
not the longest. What keeps this from diverging is measured, not assumed: whenever a certificate is computed, eps = P(w) - c is known
exactly, and with it the ratio r = eps / (kappa/2 |w - y|^2), which an exact method keeps below 1, and the deficit of the ledger.

a. A deficit above the credit means that the steps have lost the accelerated rate: back to the best point if P(w) is above it, a segment
   anew, and more effort. After five of these a step is repeated until eps <= kappa/2 |w - y|^2, which is the method with the theorem.
b. r far above 1 raises the effort: a larger kappa where the error is of the start-up kind, a second epoch where it is not; r far below 1
   lowers it.
c. Momentum restarts when it points uphill, not before half the longest segment so far.
d. After a full epoch the rows that carried 98 % of the gain get another step of their own, if they are few.
e. With fewer rows than twice the columns plain Prox-SDCA is tried first, and later whenever the gap stagnates, and kept while it is faster.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.problem import Problem
from dualgap.solvers.active import ActiveRows
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.ledger import Ledger
from dualgap.solvers.prox_sdca import update_rule
from dualgap.solvers.run import Run, euclidean

Array = npt.NDArray[np.float64]
PATIENCE = 5


@dataclass(frozen=True)
class AdaptiveProxSDCA:
    """Accelerated Prox-SDCA with measured instead of assumed accuracy: what `solver="auto"` uses on smooth losses.

    Examples
    --------
    >>> AdaptiveProxSDCA()
    AdaptiveProxSDCA()
    """

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        return euclidean(problem)

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """The method from alpha, an outer step at a time."""
        return _Adaptive(problem, run, alpha).steps()


class _Effort:
    """kappa and the number of epochs of a step, and how they follow what is measured."""

    def __init__(self, problem: Problem) -> None:
        gamma = float(problem.loss.smoothness) or 1.0
        stretch = min(float(formulas.stretch(problem.loss, problem.outputs)), 2.0) if problem.outputs else 1.0
        total, squares, largest = _row_weights(problem)
        lam = problem.penalty.convexity
        # a pass that is worth more solves its subproblem as well with a smaller kappa
        self.base = stretch * (squares / total if total > 0.0 else 1.0) / (gamma * problem.worth)
        self.most = 2.0 * stretch * (largest if total > 0.0 else 1.0) / gamma
        self.kappa = max(self.base - lam, 0.1 * self.base)
        self.epochs = 1
        self.rho: float | None = None
        self.high = self.low = 0

    def memory(self) -> dict[str, Any]:
        """kappa and the number of epochs."""
        return {"kappa": self.kappa, "epochs": self.epochs}

    def recall(self, memory: dict[str, Array]) -> None:
        """Go on with these."""
        self.kappa, self.epochs = float(memory["kappa"]), int(memory["epochs"])

    def lift(self, r: float) -> None:
        """More accurate steps: a larger kappa, or another epoch where the last one gained much."""
        slow = self.epochs > 1 and self.rho is not None and self.rho < 0.4
        if r > 10.0 and self.kappa < self.most and not slow:
            self._scale(min(10.0, sqrt(2.0 * r)))
        elif self.epochs == 1 and self.kappa >= 0.7 * self.base:
            self.epochs = 2
        elif self.epochs < 4 and self.rho is not None and self.rho < 0.5:
            self.epochs += 1
        elif self.kappa < self.most:
            self._scale(min(4.0, max(1.4, sqrt(2.0 * r))))
        elif self.epochs < 4:
            self.epochs += 1

    def follow(self, r: float) -> None:
        """Adapt to a measured ratio r."""
        if r > 1.5:
            self.high += 1
            self.low = min(self.low, 0)
            if self.high >= 2:
                self.high = 0
                self.lift(r)
        elif self.epochs > 1 and self.rho is not None:
            self.high = 0
            if r < min(0.05, 0.75 * self.rho) or (r < 0.15 and self.rho > 0.6):
                self.epochs -= 1
            elif self.rho < 0.3:
                self._scale(max(0.1, 0.8 * sqrt(max(self.rho, 1e-4) / 0.3)))
        elif r < 0.15:
            self.high = 0
            self.low += 1
            if self.low >= 1:
                self._scale(min(0.7, max(sqrt(2.0 * r), 0.3 if self.low < 2 else 0.1)))
        else:
            self.high = 0
            self.low = min(self.low, 0)

    def _scale(self, factor: float) -> None:
        self.kappa = min(max(self.kappa * factor, 1e-7 * self.base), max(self.most, self.kappa))


def _row_weights(problem: Problem) -> tuple[float, float, float]:
    """The sum of s_i/S |x_i|^2, the intercept's share included, that of their squares, and the largest."""
    total = squares = largest = 0.0
    one = problem.mean_norm2 if problem.intercept else 0.0
    for rows in problem.blocks():
        weight = problem.share[rows] * (problem.norms2[rows] + one)
        total += float(weight.sum())
        squares += float(weight @ weight)
        largest = max(largest, float(weight.max()))
    return total, squares, largest


class _Adaptive:
    """A solve in progress."""

    def __init__(self, problem: Problem, run: Run, alpha: Array) -> None:
        self.problem = problem
        self.run = run
        self.effort = _Effort(problem)
        self.ascent = Ascent(problem, alpha, run, free_ratio=1.0 / problem.mean_norm2)
        self.active = ActiveRows(problem, self.ascent.order)
        self.alone = False
        self.w = run.best.w
        self.ascent.settle(self.w, self.effort.kappa)
        self.ascent.use(update_rule(None, problem.loss, self.ascent.largest_step))
        self.ledger = Ledger(float(problem.penalty.convexity), self.ascent.moving, self.ascent.held / self.effort.kappa)
        self.ledger.restart(self.w, run.best.value)
        self.setbacks = 0
        self.estimate, self.excess = 0.0, 0.5
        self.checked = run.passes
        self.probe_at = 10.0
        self.gaps: list[tuple[float, float]] = []
        self.plain: list[tuple[float, float]] = []
        memory = run.remember("AdaptiveProxSDCA", self.memory)
        self.resumed = bool(memory)
        if memory:
            self.recall(memory)

    def memory(self) -> dict[str, Any]:
        """What the method goes by beside alpha."""
        times = {"checked": self.checked, "probe_at": self.probe_at, "gaps": self.gaps, "plain": self.plain, "setbacks": self.setbacks}
        return {"w": self.w, **times, **self.effort.memory(), **self.ledger.memory()}

    def recall(self, memory: dict[str, Array]) -> None:
        """Go on with that."""
        self.w, self.setbacks = memory["w"], int(memory["setbacks"])
        self.checked, self.probe_at = float(memory["checked"]), float(memory["probe_at"])
        self.gaps, self.plain = ([(p, g) for p, g in memory[name].reshape(-1, 2).tolist()] for name in ("gaps", "plain"))
        self.effort.recall(memory)
        self.ledger.recall(memory)

    def steps(self) -> Iterator[None]:
        """Steps until the run ends, after a try with plain Prox-SDCA where there are few rows."""
        if self.plain:
            self.ascent.settle(self.run.best.w.copy(), 0.0)
            self._stay_plain(first=True)
        elif self.problem.n <= 2 * self.problem.d and not self.resumed:
            self._try_plain(first=True)
        while self.run.going:
            self._step()
            yield

    def _step(self) -> None:
        """One step of the outer method, and a certificate if one is due."""
        ledger, ascent, kappa = self.ledger, self.ascent, self.effort.kappa
        a = ledger.step_length(kappa)
        y = ledger.center(self.w, a)
        ascent.settle(y, kappa)
        whole = not self.alone
        loss = self._work_on_all() if whole else self._work_on_active()
        uphill = self._move_on(y)
        conjugate, penalty = self.problem.mean_conjugate(ascent.alpha)[0], self.problem.penalty_value(self.w)
        c = penalty - float(np.vdot(ascent.a, self.w)) - conjugate
        ledger.enter(a, kappa, c, y, self.w)
        uphill = uphill and ledger.steps >= max(3, 0.5 * ledger.longest)
        if not self.run.going:
            self.run.certify(self.w, ascent.alpha)
        elif whole and self._due(loss + penalty, conjugate):
            uphill = self._check(c, y) and uphill
        if uphill:
            ledger.restart(self.w, ledger.reference, known=False)

    def _move_on(self, y: Array) -> bool:
        """Read the new w; whether the momentum that led to y points uphill."""
        before, self.w = self.w, self.ascent.weights()
        return self.ledger.inner(y, self.w, self.w, before) > 0.0

    def _work_on_all(self) -> float:
        """E epochs, the first over all rows and the others over the active ones if these are few; the losses met in the first."""
        ascent, effort, active = self.ascent, self.effort, self.active
        duals = [ascent.subproblem_dual()] if effort.epochs > 1 else []
        loss = ascent.scored_sweep(ascent.shuffle(), active.scores)
        self.alone = active.choose()
        for epoch in range(1, effort.epochs):
            if epoch <= 2:
                duals.append(ascent.subproblem_dual())
            if active.few:
                ascent.scored_sweep(ascent.mix(active.chosen()), active.scores, active.part)
            else:
                ascent.scored_sweep(ascent.shuffle(), active.scores)
        if effort.epochs == 2:
            duals.append(ascent.subproblem_dual())
        if len(duals) == 3 and duals[1] > duals[0]:
            effort.rho = max(0.0, (duals[2] - duals[1]) / (duals[1] - duals[0]))
        if self.setbacks >= PATIENCE:
            self._work_until_accurate()
        return loss

    def _work_on_active(self) -> float:
        """E epochs over the active rows."""
        self.alone = False
        for _ in range(self.effort.epochs):
            self.ascent.scored_sweep(self.ascent.mix(self.active.chosen()), self.active.scores, self.active.part)
        return 0.0

    def _work_until_accurate(self) -> None:
        """More epochs until eps <= kappa/2 |w - y|^2, which makes the step one of the method with the theorem."""
        ascent = self.ascent
        for _ in range(60):
            w, y = ascent.weights(), ascent.center
            eps = ascent.gap()
            self.run.evaluated(0.5)
            if not self.run.going or eps <= 0.5 * self.effort.kappa * self.ledger.inner(w, y, w, y):
                break
            ascent.sweep()

    def _due(self, primal: float, conjugate: float) -> bool:
        """Whether a certificate is worth its pass: it is likely to be the last, the objective has risen, or it has been long."""
        run = self.run
        dual = -conjugate - self.problem.penalty_conjugate(self.ascent.a)
        self.estimate = primal - max(dual, run.best_dual_value)
        if self.excess * self.estimate <= run.target:
            return True
        risen = primal > run.best.value + 1e-3 * abs(run.best.value) and run.passes >= self.checked + 4.0
        return risen or run.due

    def _check(self, c: float, y: Array) -> bool:
        """Certify, settle accounts with the ledger, and adapt the effort; False if the segment was abandoned."""
        run, ledger, effort = self.run, self.ledger, self.effort
        best_before = run.best.value
        value = run.certify(self.w, self.ascent.alpha)
        self.checked = run.passes
        self.excess = min(1.5, max(0.5, run.gap / self.estimate if self.estimate > 0.0 else 0.5))
        r = max(value - c, 0.0) / (0.5 * effort.kappa * ledger.inner(self.w, y, self.w, y) + 1e-300)
        deficit, credit = ledger.deficit(value), ledger.credit(min(value, best_before))
        if deficit > credit and run.gap > 1e-13 * abs(value):
            effort.lift(4.0)
            effort.low = -1
            if value > best_before * (1.0 + 1e-15):
                self.setbacks += 1
                self._go_back()
                return False
            ledger.forgive(deficit - 0.5 * credit)
        elif ledger.steps >= 2:
            effort.follow(r)
        return not self._probe()

    def _go_back(self) -> None:
        """Continue from the best point so far, with the dual variables at hand."""
        self.w = self.run.best.w
        self.ledger.restart(self.w, self.run.best.value)
        self.alone = False

    def _probe(self) -> bool:
        """Try plain Prox-SDCA if the gap has not halved over seven passes; True if it moved the iterate."""
        run = self.run
        old = [gap for passes, gap in self.gaps if passes <= run.passes - 7.0]
        self.gaps.append((run.passes, run.gap))
        if not (old and run.gap > 0.5 * old[-1] and run.passes >= self.probe_at):
            return False
        moved = self._try_plain(first=False)
        self.gaps.clear()
        return moved

    def _try_plain(self, *, first: bool) -> bool:
        """Plain Prox-SDCA for three epochs, and for as long as it goes well after that; True if it went well."""
        run, ascent = self.run, self.ascent
        if self.problem.penalty.convexity == 0.0 or not run.going:
            return False
        gap_before = run.gap
        ascent.settle(run.best.w.copy(), 0.0)
        well = self._plain_epochs(3, gap_before * 0.4)
        if not well and not first and run.going:
            ascent.return_to(run.dual_start(ascent.alpha))
        self.plain = [(run.passes, run.gap)] if well and run.going else []
        return self._stay_plain(first=first)

    def _stay_plain(self, *, first: bool) -> bool:
        """Plain Prox-SDCA for as long as it goes well, if it did; whether it moved the iterate."""
        run, moved = self.run, bool(self.plain)
        while self.plain and run.going:
            self._plain_epochs(max(1, ceil(run.next_check - run.passes)), 0.0)
            old = [gap for passes, gap in self.plain if passes <= run.passes - 6.0]
            self.plain = [*self.plain, (run.passes, run.gap)] if not old or run.gap * 1.5**6 <= old[-1] else []
        self.checked = run.passes
        self.probe_at = 2.0 * run.passes if not first else run.passes + 10.0
        if moved:
            self._go_back()
        return moved

    def _plain_epochs(self, epochs: int, goal: float) -> bool:
        """Epochs of Prox-SDCA and a certificate; whether the gap came down to the goal."""
        for _ in range(epochs):
            if self.run.going:
                self.ascent.sweep()
                self.ascent.follow()
        self.run.certify(self.ascent.weights(), self.ascent.alpha)
        return self.run.gap <= goal
