"""Proximal Newton's method on working sets of coefficients, for penalties that make most of them zero.

    look:    z = X w, alpha = -phi'(z), a = X'(s alpha)/S in one pass over the rows, which certifies w
    choose:  the coefficients that are not zero, and those of the others that promise most
    move:    to the minimizer of the quadratic model over the chosen ones, exact in one step where the loss is quadratic

A working set costs a pass for its Gram matrix, after which nothing depends on the number of rows: the model is minimized to rounding error,
so that alpha is feasible on the chosen columns, and as good a dual point as the columns left out allow. Where rows are few it is minimized
on a copy of the columns instead.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.certificate import Seen
from dualgap.kernels.coordinates import column_norms, promises
from dualgap.problem import Problem
from dualgap.solvers.column_model import ColumnModel
from dualgap.solvers.model import Model, gram_matrix, nearly_dense
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
# In units of a nonzero in a pass: a product of a sparse Gram matrix, an entry in a sweep, and how many products of a dense Gram matrix or
# of a linear system take as long.
PRODUCT, SWEEP, BLAS, USUAL_SWEEPS = 0.6, 0.6, 20.0, 160.0
# The products of a set are worth so many passes, within these sizes; it has at least so many times the coefficients that are not zero. The
# largest with a Gram matrix, and how much stronger correlations are taken than they are, so that a set also holds what the next
# one would add.
WORTH, LEAST, FIRST, GROWTH, MOST, MARGIN = 1.0, 20, 1000, 3.0, 3000, 1.1
# The part of the tolerance that a model may be off by, and what is rough: for a set that is known not to be the last. The least of the
# first part before it is said that nothing moves.
ENOUGH, PRECISION, ROUGH, FINEST = 0.3, 1e-2, 0.03, 1e-4
SUFFICIENT, SHARE = 1e-4, 0.5
# About how many entries tell the norms of columns well enough to choose by.
SAMPLE = 1 << 19


@dataclass(frozen=True)
class WorkingSet:
    """Working sets of coefficients: scalar smooth losses, penalties that treat each coefficient on its own; l2 = 0 is no difficulty.

    X is not copied but for the columns of a large working set, and these only while they hold less than half of its entries: beyond that,
    or should no step lower the objective, `AdaptiveProxSDCA` goes on from where it is.

    Examples
    --------
    >>> WorkingSet()
    WorkingSet()
    """

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        if not problem.resident:
            return "rows in memory"
        fits = problem.outputs == 0 and problem.loss.smoothness > 0.0 and not formulas.penalty_is_coupled(problem.penalty)
        return "" if fits else "a smooth scalar loss and a penalty on each coefficient"

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the best primal point until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """A working set at a time."""
        sets = _Sets(problem, run, alpha)
        while run.going and sets.step():
            yield
        if run.going:
            from dualgap.solvers.adaptive import AdaptiveProxSDCA

            run.note("AdaptiveProxSDCA took over.")
            yield from AdaptiveProxSDCA().steps(problem, run, run.dual_start(alpha))


class _Sets:
    """The iterate, its scores, and what they say about each coefficient."""

    def __init__(self, problem: Problem, run: Run, alpha: Array) -> None:
        self.problem, self.run, self.alpha = problem, run, alpha
        self.quadratic = bool(getattr(problem.loss, "quadratic", False))
        self.everything = slice(0, problem.n)
        self.entries = float(getattr(problem.X, "nnz", problem.n * problem.d)) or 1.0
        self.block = problem.block_rows or problem.n
        self.w = run.best.w.copy()
        self.z, self.a = np.full(problem.n, self.w[problem.d]), np.zeros(problem.shape)
        self._measure_columns()
        self.promise = np.empty(problem.d)
        self.known: Columns = np.empty(0, dtype=np.int64)
        self.gram: Array | None = None
        self.size, self.complete, self.finer = 0, True, 1.0
        if run.cold and run.correlations.size and not problem.open_columns.size:
            self._see(run.null, run.correlations)
        else:
            self._look()
        self.accuracy = PRECISION * run.target / run.null * math.sqrt(2.0 * self.largest)

    def _measure_columns(self) -> None:
        """About how much curvature and how many entries each column has, from some of the rows; those not met there count as met once."""
        problem = self.problem
        step = max(1, min(int(self.entries / SAMPLE), problem.n // 64))
        self.curvature, counts = np.empty(problem.d), np.empty(problem.d, dtype=np.int64)
        column_norms(problem.rows, problem.share, step, self.curvature, counts)
        if step > 1:
            self.curvature *= step
            unmet = counts == 0
            self.curvature[unmet] = float(self.curvature.sum()) / max(int(counts.sum()), 1)
            counts[unmet] = 1
        self.counts = counts.astype(np.float64) * step
        self.curvature /= problem.loss.smoothness
        self.run.spent(0.5 / step)

    def step(self) -> bool:
        """Minimize the model over a working set; whether there is more to gain."""
        before = self.value
        columns = self._choose()
        if len(columns) > MOST and self.counts[columns].sum() > SHARE * self.entries:
            return False
        self._move(columns)
        self._look()
        if self.complete and before - self.value < self.run.target:
            self.finer *= 0.1
        return self.value < before or self.finer > FINEST

    def _look(self) -> None:
        """The scores, the objective and the correlations in one pass, and the certificate."""
        a = self.problem.look(self.w, self.block, self.z, self.alpha)
        self._see(self.run.certify(self.w.copy(), self.alpha, seen=Seen(self.z, a, self.block)), a)

    def _see(self, value: float, a: Array) -> None:
        """What each coefficient promises at an objective with these correlations."""
        self.value, self.a = value, a
        self.largest = promises(self.problem.penalty, MARGIN * a, self.w, self.curvature, self.promise)

    def _choose(self) -> Columns:
        """The columns that are not zero or not penalized, and the most promising of the others."""
        members = self.w[: self.problem.d] != 0.0
        members[self.problem.open_columns] = True
        self.promise[members] = np.inf
        chosen = np.flatnonzero(self.promise)
        size = self.size if self.complete else int(1.5 * self.size)
        self.size = max(size, int(GROWTH * np.count_nonzero(members)), self._affordable(chosen))
        self.complete = len(chosen) <= self.size
        return chosen if self.complete else np.sort(self._most_promising(chosen, self.size))

    def _most_promising(self, chosen: Columns, size: int) -> Columns:
        return chosen[np.argpartition(-self.promise[chosen], size)[:size]] if size < len(chosen) else chosen

    def _affordable(self, chosen: Columns) -> int:
        """How many columns, the most promising first, have products that are worth their time."""
        problem = self.problem
        if nearly_dense(problem):
            affordable = math.sqrt(WORTH * BLAS * problem.d)
        else:
            first = self._most_promising(chosen, FIRST)
            entries = np.cumsum(self.counts[first[np.argsort(-self.promise[first])]])
            affordable = float(np.searchsorted(entries, math.sqrt(2.0 * WORTH * problem.n * self.entries / PRODUCT)))
        return int(min(max(affordable, LEAST), FIRST))

    def _move(self, columns: Columns) -> None:
        """To the minimizer of the model over some columns, or toward it."""
        rough = 0.0 if self.complete else ROUGH * math.sqrt(2.0 * self.largest)
        inside, v = self._by_columns(columns, rough) if self._columns_pay(columns) else self._by_products(columns, rough)
        if self.quadratic:
            self.w[inside] = v
            return
        direction = np.zeros(self.problem.shape)
        direction[inside] = v - self.w[inside]
        self._search(direction)

    def _columns_pay(self, columns: Columns) -> bool:
        """Whether coordinate descent on a copy of the columns costs less than the products of all of them and some linear systems."""
        k, n, entries = len(columns), self.problem.n, float(self.counts[columns].sum())
        products = k * entries / BLAS if nearly_dense(self.problem) else 0.5 * PRODUCT * entries * entries / n
        return k > MOST or SWEEP * USUAL_SWEEPS * entries < products + min(k, n) ** 3 / BLAS

    def _by_columns(self, columns: Columns, rough: float) -> tuple[Columns, Array]:
        """The minimizer of the model by coordinate descent on a copy of the columns."""
        inside = np.append(columns, self.problem.d)
        model = ColumnModel(self.problem, columns, self.z, self.w[inside])
        v = model.minimizer(ENOUGH * self.finer * self.run.target, rough)
        self.known, self.gram = columns[:0], None
        self.run.spent(1.0 + SWEEP * model.sweeps * float(self.counts[columns].sum()) / self.entries)
        return inside, v

    def _by_products(self, columns: Columns, rough: float) -> tuple[Columns, Array]:
        """The minimizer of the model from its Gram matrix; of a quadratic loss, products that the last working set had are used again."""
        problem, known = self.problem, None
        if self.quadratic and self.gram is not None:
            old, new = np.zeros(problem.d, dtype=bool), np.zeros(problem.d, dtype=bool)
            old[self.known], new[columns] = True, True
            kept = np.append(new[self.known], True)
            known = self.gram[kept][:, kept]
            columns = np.concatenate([self.known[kept[:-1]], np.flatnonzero(new & ~old)])
        gram, products = gram_matrix(problem, self.z, columns, known)
        self.known, self.gram = columns, gram
        self.run.spent(1.0 + products * (1.0 / BLAS if nearly_dense(problem) else PRODUCT) / self.entries)
        inside = np.append(columns, problem.d)
        model = Model(problem.penalty, columns, problem.intercept, gram, -self.a[inside], self.w[inside])
        return inside, model.minimizer(max(self.finer * self.accuracy, rough))

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
