"""Proximal Newton's method on the Gram matrix, for smooth losses and few features.

    v = argmin over v    g'(v - w) + 1/2 (v - w)'H (v - w) + R(v),        H = X'diag(s phi'')X/S,    g = X'(s phi')/S
    w = w + t (v - w), t by backtracking on P

A step reads the data once for H and once for the scores, whatever the conditioning, so this is what badly scaled data with few columns
wants. The dual point is that of the model, alpha = -(phi' + phi'' x'(v - w)): its X'(s alpha)/S is a subgradient of R at v, so that its
error is that of the model in phi* alone and not magnified by 1/lambda, as it is for -phi'(X w).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels import gap
from dualgap.kernels.gram import linear_dual_points
from dualgap.problem import Problem
from dualgap.solvers.model import Model, gram_matrix
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
# In units of a nonzero in a pass: the products of a sparse Gram matrix, and how many of a dense one or of a linear system take as long.
PRODUCT, BLAS = 0.08, 20.0
STEPS, MOST_STEPS, ROUNDS = 4.0, 40, 3.0
SUFFICIENT = 1e-4


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
        newton = _Newton(problem, run, alpha)
        for _ in range(MOST_STEPS):
            if not (run.going and newton.step()):
                break
            yield
        if run.going:
            from dualgap.solvers.adaptive import AdaptiveProxSDCA
            from dualgap.solvers.proximal_point import ProximalPoint

            other = AdaptiveProxSDCA() if ProximalPoint().requirement(problem) else ProximalPoint()
            run.note(f"{type(other).__name__} took over.")
            yield from other.steps(problem, run, run.dual_start(alpha))


class _Newton:
    """The iterate, its scores and its objective."""

    def __init__(self, problem: Problem, run: Run, alpha: Array) -> None:
        self.problem, self.run, self.alpha = problem, run, alpha
        self.everything, self.columns = slice(0, problem.n), np.arange(problem.d)
        self.w = run.best.w
        self.z = problem.scores(self.w, self.everything)
        self.value = self._objective(self.w, self.z)

    def step(self) -> bool:
        """A Newton step; whether it lowered the objective."""
        problem, run = self.problem, self.run
        gap.dual_points(problem.loss, self.z, problem.y, self.alpha)
        slope = -problem.transposed(self.alpha)
        gram, _ = gram_matrix(problem, self.z, self.columns)
        v = Model(problem.penalty, self.columns, problem.intercept, gram, slope, self.w).minimizer()
        direction = v - self.w
        along = problem.scores(direction, self.everything)
        linear_dual_points(problem.loss, self.z, along, problem.y, self.alpha)
        run.spent(3.0)
        decrease = problem.penalty_value(self.w) - problem.penalty_value(v) - float(slope @ direction)
        moved = self._search(direction, along, decrease)
        run.show(self)
        if not moved or run.due or self.value - self._dual_estimate(slope + gram @ direction) <= 2.0 * run.target:
            run.certify(self.w, self.alpha)
        return moved

    def weights(self) -> Array:
        """The primal point of the state."""
        return self.w

    def _dual_estimate(self, slope: Array) -> float:
        """The dual objective of the model's dual point, if it did not have to be brought into its domain."""
        slope[self.problem.open_columns] = 0.0
        return -self.problem.mean_conjugate(self.alpha)[0] - self.problem.penalty_conjugate(-slope)

    def _search(self, direction: Array, along: Array, decrease: float) -> bool:
        """Go the first of the steps 1, 1/2, 1/4, ... that lowers the objective by a part of what the model promises."""
        step, rounding = 1.0, 4.0 * np.finfo(float).eps * abs(self.value)
        for _ in range(40):
            w, z = self.w + step * direction, self.z + step * along
            value = self._objective(w, z)
            if value <= self.value - SUFFICIENT * step * max(decrease, 0.0) + rounding:
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
    if isinstance(problem.X, np.ndarray):
        entries, products = problem.n * d, problem.n * d * d / BLAS
    else:
        lengths = np.diff(problem.X.indptr).astype(np.float64)
        entries, products = max(problem.X.nnz, 1), PRODUCT * float(lengths @ lengths)
    return 1.0 + (products + ROUNDS * d**3 / BLAS) / entries
