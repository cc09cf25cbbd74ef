"""Proximal Newton's method on the Gram matrix, for smooth losses and few features.

    v = argmin over v    g'(v - w) + 1/2 (v - w)'H (v - w) + R(v),        H = X'diag(s phi'')X/S,    g = X'(s phi')/S
    w = w + t (v - w), t by backtracking on P

A step reads the data once for H and once for the scores, whatever the conditioning, so this is what badly scaled data with few columns
wants. The dual point is that of the model, alpha = -(phi' + phi'' x'(v - w)): its X'(s alpha)/S is a subgradient of R at v, so that its
error is that of the model in phi* alone and not magnified by 1/lambda, as it is for -phi'(X w).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels.gram import linear_dual_points, moved_dual_points
from dualgap.problem import Problem, is_ridge
from dualgap.rows import as_rows, frozen
from dualgap.solvers.model import RELIEF, Model, gram_matrix, nearly_dense
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
# In units of a nonzero in a pass: the products of a sparse Gram matrix, and how many of a dense one or of a linear system take as long.
PRODUCT, BLAS = 0.08, 20.0
STEPS, MOST_STEPS, ROUNDS = 4.0, 40, 3.0
SUFFICIENT = 1e-4
# How well a model is minimized, as a part of the accuracy asked for.
ENOUGH = 0.05
# Steps without a certificate, and how rough a point is not worth one: what its step promises, as a part of the objective.
UNPROVED, ROUGH = 6, 0.1
# How often a dual point is tried and corrected, and how much smaller the gap must be after a correction for another.
CORRECTIONS, WORTH = 4, 0.5
# A cold start: one row of so many, if these are enough for each feature and most features are met, and at most how many steps on them.
SAMPLES, ROWS_EACH, FULL, SAMPLE_STEPS = (64, 8), 20, 0.1, 10


@dataclass(frozen=True)
class GramNewton:
    """Proximal Newton's method with the Gram matrix: scalar smooth losses, penalties that treat each coefficient on its own, few features.

    Should it find no step that lowers the objective, or take more than 40, `ProximalPoint` goes on from where it is, which does not mind a
    loss with hardly any curvature, or `AdaptiveProxSDCA` if that does not suit the problem.

    Examples
    --------
    >>> GramNewton()
    GramNewton()
    """

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        if not problem.resident:
            return "rows in memory"
        fits = problem.outputs == 0 and problem.loss.smoothness > 0.0 and not formulas.penalty_is_coupled(problem.penalty)
        return "" if fits else "a smooth scalar loss and a penalty on each coefficient"

    def price(self, problem: Problem) -> float:
        """About how many passes of dual ascent a solution from a rough start costs: some steps with a Gram matrix and linear systems each.

        A quadratic loss is its own model, so one step solves it.
        """
        return self.steps_from(problem) * gram_price(problem)

    def steps_from(self, problem: Problem) -> float:
        """About how many steps a solution from a rough start takes."""
        return 1.0 if getattr(problem.loss, "quadratic", False) else STEPS

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the best primal point until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """Newton steps from the best primal point, one at a time."""
        newton, unproved = _Newton(problem, rough_start(problem, run), alpha, ENOUGH * run.target), 0
        for _ in range(MOST_STEPS):
            moved = newton.step()
            run.spent(3.0)
            run.show(newton)
            unproved += 1
            if not moved or not run.going or unproved >= UNPROVED or newton.nearly_proved(0.999 * run.target):
                run.certify(newton.w, newton.alpha)
                unproved = 0
            if not (moved and run.going):
                break
            yield
        if run.going:
            from dualgap.solvers.adaptive import AdaptiveProxSDCA
            from dualgap.solvers.proximal_point import ProximalPoint

            other = AdaptiveProxSDCA() if ProximalPoint().requirement(problem) else ProximalPoint()
            run.note(f"{type(other).__name__} took over.")
            yield from other.steps(problem, run, run.dual_start(alpha))


def rough_start(problem: Problem, run: Run) -> Array:
    """The run's start or, from a cold one with many rows for each feature, the solution of ever larger samples of the rows.

    A sample of m rows puts w about d/m from the optimum in objective, for a small part of the work; from there two or three steps on all
    rows are enough.
    """
    w = run.best.w
    if getattr(problem.loss, "quadratic", False) or np.any(w[: problem.d]) or not tall(problem):
        return w
    for stride in SAMPLES:
        if problem.n < stride * ROWS_EACH * (problem.d + 1) or not run.going:
            continue
        some = sampled(problem, np.sort(run.rng.choice(problem.n, problem.n // stride, replace=False)))
        newton = _Newton(some, w, np.empty(some.n), ENOUGH * problem.d / some.n * run.null)
        for _ in range(SAMPLE_STEPS):
            moved = newton.step()
            run.spent(3.0 / stride)
            if not moved or newton.decrease <= problem.d / some.n * newton.value:
                break
        w = newton.w
    return w


def tall(problem: Problem) -> bool:
    """Whether an eighth of the rows says much about each feature."""
    entries = getattr(problem.X, "nnz", problem.n * problem.d)
    return problem.n >= SAMPLES[-1] * ROWS_EACH * (problem.d + 1) and entries >= FULL * problem.n * problem.d


def sampled(problem: Problem, rows: npt.NDArray[np.intp]) -> Problem:
    """The problem of some rows."""
    X, share = problem.X[rows], problem.share[rows]
    share = np.broadcast_to(1.0 / len(rows), len(rows)) if problem.share.strides == (0,) else frozen(share / (np.sum(share) or 1.0))
    return replace(problem, X=X, rows=as_rows(X), y=frozen(problem.y[rows]), share=share, norms2=frozen(problem.norms2[rows]))


class _Newton:
    """The iterate, its scores and its objective; `alpha` becomes the dual point of the last model, and `decrease` what that promised."""

    def __init__(self, problem: Problem, w: Array, alpha: Array, enough: float) -> None:
        self.problem, self.alpha, self.w, self.enough = problem, alpha, w, enough
        self.everything, self.columns = slice(0, problem.n), np.arange(problem.d)
        self.z = problem.scores(w, self.everything)
        self.value = self._objective(w, self.z)
        self.decrease = math.inf

    def step(self) -> bool:
        """A Newton step; whether it lowered the objective."""
        problem = self.problem
        problem.dual_points_at(self.z, self.everything, self.alpha)
        slope = -problem.transposed_roughly(self.alpha)
        gram, _ = gram_matrix(problem, self.z, self.columns)
        v = Model(problem.penalty, self.columns, problem.intercept, gram, slope, self.w).minimizer(enough=self.enough)
        direction = v - self.w
        along = problem.scores(direction, self.everything)
        problem.each(lambda r: linear_dual_points(problem.loss, self.z[r], along[r], problem.y[r], self.alpha[r]))
        self.before, self.gram, self.wanted = self.z, gram, -(slope + gram @ direction)
        self.decrease = problem.penalty_value(self.w) - problem.penalty_value(v) - float(slope @ direction)
        return self._search(direction, along)

    def weights(self) -> Array:
        """The primal point of the state."""
        return self.w

    def nearly_proved(self, target: float) -> bool:
        """Whether the gap is likely to be this small, perhaps once the dual point of the model is corrected."""
        problem, quadratic = self.problem, getattr(self.problem.loss, "quadratic", False)
        if self.decrease > ROUGH * abs(self.value) + target and not quadratic:
            return False
        left = math.inf
        for _ in range(CORRECTIONS):
            a = problem.transposed_roughly(self.alpha)
            a[problem.open_columns] = 0.0
            before, left = left, self.value + problem.mean_conjugate(self.alpha)[0] + problem.penalty_conjugate_estimate(a, 1.0)
            if left <= target or quadratic or left > WORTH * before:
                break
            self._correct(a - self.wanted)
        return left <= target

    def _correct(self, excess: Array) -> None:
        """Take from X'(s alpha)/S what variables that had to be brought into their domain have added, by those with a curvature."""
        from scipy.linalg.lapack import dposv

        problem, size = self.problem, self.problem.d + int(self.problem.intercept)
        matrix = self.gram[:size, :size].copy()
        matrix.flat[:: size + 1] += problem.penalty.convexity + RELIEF
        _, move, failed = dposv(matrix.T, excess[:size])
        if not failed:
            along = problem.scores(np.append(move, np.zeros(problem.d + 1 - size)), self.everything)
            problem.each(lambda r: moved_dual_points(problem.loss, self.before[r], along[r], problem.y[r], self.alpha[r]))

    def _search(self, direction: Array, along: Array) -> bool:
        """Go the first of the steps 1, 1/2, 1/4, ... that lowers the objective by a part of what the model promises."""
        step, rounding = 1.0, 4.0 * np.finfo(float).eps * abs(self.value)
        for _ in range(40):
            w, z = self.w + step * direction, self.z + step * along
            value = self._objective(w, z)
            if value <= self.value - SUFFICIENT * step * max(self.decrease, 0.0) + rounding:
                moved = value < self.value
                self.w, self.z, self.value = w, z, value
                return moved
            step *= 0.5
        return False

    def _objective(self, w: Array, z: Array) -> float:
        return self.problem.mean_loss_of(z, self.everything)[0] + self.problem.penalty_value(w)


def gram_price(problem: Problem) -> float:
    """What a step with a Gram matrix and linear systems costs, in passes of dual ascent."""
    d = problem.d
    entries, products = max(getattr(problem.X, "nnz", problem.n * d), 1), problem.n * d * d / BLAS
    if not nearly_dense(problem):
        lengths = np.diff(problem.X.indptr).astype(np.float64)
        products = PRODUCT * float(lengths @ lengths)
    return 1.0 + (products + (1 / 3 if is_ridge(problem.penalty) else ROUNDS) * d**3 / BLAS) / entries
