"""Proximal Newton's method on working sets of coefficients, for penalties that make most of them zero.

    look:    z = X w, alpha = -phi'(z), a = X'(s alpha)/S in one pass over the rows
    choose:  the coefficients that are not zero, and those of the others that promise most
    move:    to the minimizer of the quadratic model over the chosen ones, exact in one step where the loss is quadratic

A working set costs a pass for its Gram matrix, after which nothing depends on the number of rows: the model is minimized to rounding error,
so that alpha is feasible on the chosen columns, and as good a dual point as the columns left out allow.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.certificate import feasible_scale
from dualgap.kernels import gap
from dualgap.kernels.coordinates import column_norms, correlate, promises
from dualgap.problem import Problem
from dualgap.solvers.model import Model, gram_matrix
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
PRODUCT, BLAS = 0.6, 20.0
PRECISION = 1e-3
FIRST, GROWTH, MOST, MARGIN = 256, 2.0, 3000, 1.1
SUFFICIENT = 1e-4


@dataclass(frozen=True)
class WorkingSet:
    """Working sets: scalar smooth losses, penalties that treat each coefficient on its own and make most of them zero."""

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        fits = problem.outputs == 0 and problem.loss.smoothness > 0.0 and not formulas.penalty_is_coupled(problem.penalty)
        return "" if fits else "a smooth scalar loss and a penalty on each coefficient"

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the primal point of the run's start until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """A working set at a time."""
        sets = _Sets(problem, run, alpha)
        while run.going and sets.step():
            yield
        if run.going:
            from dualgap.solvers.adaptive import AdaptiveProxSDCA

            run.note("AdaptiveProxSDCA took over.")
            run.start = run.best.w.copy()
            yield from AdaptiveProxSDCA().steps(problem, run, run.dual_start())


class _Sets:
    """The iterate, its scores, and what they say about each coefficient."""

    def __init__(self, problem: Problem, run: Run, alpha: Array) -> None:
        self.problem, self.run, self.alpha = problem, run, alpha
        self.quadratic = bool(getattr(problem.loss, "quadratic", False))
        self.everything = slice(0, problem.n)
        self.entries = float(getattr(problem.X, "nnz", problem.n * problem.d)) or 1.0
        self.zero = run.floor(alpha)
        self.w = run.start_weights()
        self.z, self.a = np.empty(problem.n), np.empty(problem.shape)
        self.curvature, self.promise = np.empty(problem.d), np.empty(problem.d)
        column_norms(problem.rows, problem.share, self.curvature)
        self.curvature /= problem.loss.smoothness
        run.spent(0.5)
        self.columns, self.gram = np.empty(0, dtype=np.int64), np.zeros((1, 1))
        self.certified = run.gap
        self.look()
        self.accuracy = PRECISION * run.target / run.null.value * math.sqrt(2.0 * self.largest)

    def step(self) -> bool:
        """Minimize the model over a working set; whether that lowered the objective."""
        run, before = self.run, self.value
        columns = self._choose()
        if len(columns) > MOST:
            return False
        self._move(columns)
        self.look()
        estimate = self._gap_estimate()
        if DEBUG:
            print(f"   k {len(columns)} supp {np.count_nonzero(self.w[:-1])} P {self.value:.12f} est {estimate/run.target*1e-6:.2e} passes {run.passes:.1f}")
        moved = self.value < before
        if estimate <= run.target or not moved or not run.going or (run.due and estimate < 0.1 * self.certified):
            gap.dual_points(self.problem.loss, self.z, self.problem.y, self.alpha)
            run.certify(self.w, self.alpha)
            self.certified = run.gap
        return moved

    def look(self) -> None:
        """The scores, the objective, the correlations, and what each coefficient promises."""
        problem = self.problem
        loss, self.conjugate = correlate(problem.rows, problem.loss, problem.y, problem.share, self.w, self.z, self.a)
        self.value = loss + problem.penalty_value(self.w)
        self.largest = promises(problem.penalty, MARGIN * self.a, self.w, self.curvature, self.promise)
        self.run.spent(1.0)

    def _choose(self) -> Columns:
        """The columns that are not zero or not penalized, and the most promising of the others; those of the last working set first."""
        members = self.w[: self.problem.d] != 0.0
        members[self.problem.free_columns] = True
        size = max(FIRST, min(MOST, int(GROWTH * np.count_nonzero(members))))
        promise = np.where(members, np.inf, self.promise)
        chosen = np.flatnonzero(promise)
        if len(chosen) > size:
            chosen = np.sort(chosen[np.argpartition(-promise[chosen], size)[:size]])
        if not self.quadratic:
            return chosen
        kept = np.isin(self.columns, chosen, assume_unique=True)
        self.gram = self.gram[np.ix_(np.append(kept, True), np.append(kept, True))]
        return np.concatenate([self.columns[kept], np.setdiff1d(chosen, self.columns, assume_unique=True)])

    def _move(self, columns: Columns) -> None:
        """To the minimizer of the model over some columns, or toward it."""
        problem = self.problem
        gram, products = gram_matrix(problem, self.z, columns, self.gram if self.quadratic and len(self.gram) > 1 else None)
        self.columns, self.gram = columns, gram
        self.run.spent(1.0 + products * (1.0 / BLAS if isinstance(problem.X, np.ndarray) else PRODUCT) / self.entries)
        inside = np.append(columns, problem.d)
        model = Model(problem.penalty, columns, problem.intercept, gram, -self.a[inside], self.w[inside])
        v = model.minimizer(self.accuracy)
        if self.quadratic:
            self.w[inside] = v
        else:
            direction = np.zeros(problem.shape)
            direction[inside] = v - self.w[inside]
            self._search(direction)

    def _search(self, direction: Array) -> None:
        """Go the first of the steps 1, 1/2, 1/4, ... that lowers the objective by a part of what the model promises."""
        problem = self.problem
        along = problem.scores(direction, self.everything)
        self.run.spent(0.5)
        decrease = problem.penalty_value(self.w) - problem.penalty_value(self.w + direction) + float(self.a @ direction)
        step, rounding = 1.0, 4.0 * np.finfo(float).eps * abs(self.value)
        for _ in range(40):
            w, z = self.w + step * direction, self.z + step * along
            value = problem.mean_loss_of(z, self.everything)[0] + problem.penalty_value(w)
            if value <= self.value - SUFFICIENT * step * max(decrease, 0.0) + rounding:
                self.w = w
                return
            step *= 0.5

    def _gap_estimate(self) -> float:
        """The gap of alpha scaled into its domain, with the line between phi*(-alpha) and phi*(0), which lies above phi*."""
        problem, a = self.problem, self.a.copy()
        a[problem.free_columns] = 0.0
        s = feasible_scale(problem, a)
        return self.value + s * self.conjugate + (1.0 - s) * self.zero + problem.penalty_conjugate(a, s)

DEBUG = False
