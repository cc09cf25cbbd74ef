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
from dualgap.kernels.coordinates import column_norms, correlate, promises
from dualgap.problem import Problem
from dualgap.solvers.column_model import ColumnModel
from dualgap.solvers.model import Model, gram_matrix, nearly_dense
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
# In units of a nonzero in a pass: a product of a sparse Gram matrix, and how many of a dense one or of a linear system take as long.
PRODUCT, BLAS, USUAL_SWEEPS = 0.6, 20.0, 50.0
# The size of the first set, how many times the coefficients that are not zero the later ones are, the largest with a Gram matrix, and how
# much stronger correlations are taken than they are, so that a set also holds what the next one would add.
FIRST, GROWTH, MOST, MARGIN = 200, 2.0, 3000, 1.1
# Moves that do not count: for the tolerance asked for, and for a set that is known not to be the last.
PRECISION, ROUGH = 1e-2, 0.03
SUFFICIENT, SHARE = 1e-4, 0.5
BETTER, PATIENCE = 0.1, 50.0


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
        self.zero = problem.mean_floor
        self.w = run.best.w.copy()
        self.z, self.a = np.full(problem.n, self.w[problem.d]), np.empty(problem.shape)
        self.curvature, self.promise, self.counts = np.empty(problem.d), np.empty(problem.d), np.empty(problem.d, dtype=np.int64)
        column_norms(problem.rows, problem.share, self.curvature, self.counts)
        self.curvature /= problem.loss.smoothness
        run.spent(0.5)
        self.known: Columns = np.empty(0, dtype=np.int64)
        self.gram: Array | None = None
        self.size, self.complete = FIRST, True
        self.checked = run.passes
        if run.cold and len(run.history) == 1 and not problem.open_columns.size:
            self._see(run.null, run.correlations)
        else:
            self._look()
        self.accuracy = PRECISION * run.target / run.null * math.sqrt(2.0 * self.largest)

    def step(self) -> bool:
        """Minimize the model over a working set; whether that lowered the objective."""
        run, before = self.run, self.value
        columns = self._choose()
        if len(columns) > MOST and self.counts[columns].sum() > SHARE * self.entries:
            return False
        self._move(columns)
        self._look()
        moved = self.value < before
        if not moved or not run.going or self._worth_a_certificate():
            self.problem.dual_points_at(self.z, self.everything, self.alpha)
            run.certify(self.w.copy(), self.alpha)
            self.checked = run.passes
        return moved

    def _worth_a_certificate(self) -> bool:
        """Whether it is likely to be the last, or one is due and would be much better, or it has been long."""
        run, estimate = self.run, self._gap_estimate()
        return estimate <= run.target or (run.due and (estimate < BETTER * run.gap or run.passes >= self.checked + PATIENCE))

    def _look(self) -> None:
        """The scores, the objective and the correlations, in one pass."""
        problem = self.problem
        loss, self.conjugate = correlate(problem.rows, problem.loss, problem.y, problem.share, self.w, self.z, self.a)
        self.run.spent(1.0)
        self._see(loss + problem.penalty_value(self.w), self.a)

    def _see(self, value: float, a: Array) -> None:
        """What each coefficient promises at an objective with these correlations."""
        self.value, self.a = value, a
        self.largest = promises(self.problem.penalty, MARGIN * a, self.w, self.curvature, self.promise)

    def _choose(self) -> Columns:
        """The columns that are not zero or not penalized, and the most promising of the others."""
        members = self.w[: self.problem.d] != 0.0
        members[self.problem.open_columns] = True
        self.size = int(max(self.size if self.complete else 1.5 * self.size, GROWTH * np.count_nonzero(members)))
        self.promise[members] = np.inf
        chosen = np.flatnonzero(self.promise)
        self.complete = len(chosen) <= self.size
        return chosen if self.complete else np.sort(chosen[np.argpartition(-self.promise[chosen], self.size)[: self.size]])

    def _move(self, columns: Columns) -> None:
        """To the minimizer of the model over some columns, or toward it."""
        rough = 0.0 if self.complete else ROUGH * math.sqrt(2.0 * self.largest)
        minimize = self._by_columns if self._columns_pay(columns) else self._by_products
        inside, v = minimize(columns, max(self.accuracy, rough))
        if self.quadratic:
            self.w[inside] = v
            return
        direction = np.zeros(self.problem.shape)
        direction[inside] = v - self.w[inside]
        self._search(direction)

    def _columns_pay(self, columns: Columns) -> bool:
        """Whether coordinate descent on a copy of the columns costs less than the products of all of them and some linear systems."""
        k, entries = len(columns), float(self.counts[columns].sum())
        products = k * entries / BLAS if nearly_dense(self.problem) else PRODUCT * entries * entries / self.problem.n
        return k > MOST or 2.0 * USUAL_SWEEPS * entries < products + k**3 / BLAS

    def _by_columns(self, columns: Columns, accuracy: float) -> tuple[Columns, Array]:
        """The minimizer of the model by coordinate descent on a copy of the columns."""
        inside = np.append(columns, self.problem.d)
        model = ColumnModel(self.problem, columns, self.counts, self.z, self.w[inside])
        v = model.minimizer(accuracy)
        self.known, self.gram = columns[:0], None
        self.run.spent(1.0 + 2.0 * model.sweeps * float(self.counts[columns].sum()) / self.entries)
        return inside, v

    def _by_products(self, columns: Columns, accuracy: float) -> tuple[Columns, Array]:
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
        return inside, Model(problem.penalty, columns, problem.intercept, gram, -self.a[inside], self.w[inside]).minimizer(accuracy)

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
        a[problem.open_columns] = 0.0
        s = feasible_scale(problem, a)
        return float(self.value + s * self.conjugate + (1.0 - s) * self.zero + problem.penalty_conjugate(a, s))
