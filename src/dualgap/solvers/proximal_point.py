"""The proximal point method for losses that are not smooth, on few features, each step by Newton's method.

    (w, alpha) = the saddle point of    P - kappa-term    with    gamma/2 mean |alpha - alpha_c|^2    and    kappa/2 |w - w_c|^2

A loss that is not smooth is made smooth around the last dual point alpha_c rather than around 0, which is the paper's smoothing at a
shifted score: max over b of b z - phi*(b) - gamma/2 (b + alpha_c)^2 is Smoothed(phi, gamma) at z - gamma alpha_c, up to a constant. So the
width gamma does not limit the accuracy: the centers converge to the optimum for any gamma, in finitely many steps where everything is
piecewise linear, and faster the smaller gamma and kappa are. Each step is a smooth problem for proximal Newton on the Gram matrix, from the
last one's solution a matter of a few steps. gamma and kappa shrink where a step has gained too little.

This is the proximal method of multipliers (Rockafellar, 1976) with semismooth Newton steps (Li, Sun and Toh, 2018).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels.gram import linear_dual_points
from dualgap.losses import Smoothed
from dualgap.problem import Problem
from dualgap.solvers.joint_newton import JointModel, joint, joint_price
from dualgap.solvers.model import Model, gram_matrix
from dualgap.solvers.newton import gram_price
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
STEPS, MOST_STEPS, STALLED = 45.0, 50, 12
PROXIMAL, NEGLIGIBLE = 1e-6, 1e-6
SHRINK, GAINED, LITTLE = 0.3, 0.3, 0.7
ACCURATE, SUFFICIENT = 1e-3, 1e-4


@dataclass(frozen=True)
class ProximalPoint:
    """The proximal point method with Newton's: losses that are not smooth, penalties on each coefficient, few features (times classes).

    Should it stall, which rounding may make it do, `AdaptiveProxSDCA` goes on from where it is.

    Examples
    --------
    >>> ProximalPoint()
    ProximalPoint()
    """

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        if not problem.resident:
            return "rows in memory"
        scalar = problem.outputs == 0 and hasattr(problem.loss, "dual_step") and not formulas.penalty_is_coupled(problem.penalty)
        fits = scalar or (joint(problem) and hasattr(problem.loss, "smoothed"))
        return "" if fits else "a loss that can be smoothed and a penalty on each coefficient"

    def steps_from(self, problem: Problem) -> float:  # noqa: ARG002
        """About how many Newton steps a solution from a rough start takes."""
        return STEPS

    def price(self, problem: Problem) -> float:
        """About how many passes of dual ascent a solution from a rough start costs."""
        return STEPS * (joint_price(problem) if problem.outputs else gram_price(problem))

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the best primal point and alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """Steps of the proximal point method from the best primal point and alpha, one at a time."""
        point = _Point(problem, run, alpha)
        stalled = 0
        while run.going and stalled < STALLED:
            stalled = 0 if point.step() else stalled + 1
            yield
        if run.going:
            from dualgap.solvers.adaptive import AdaptiveProxSDCA

            run.note("AdaptiveProxSDCA took over.")
            yield from AdaptiveProxSDCA().steps(problem, run, run.dual_start(alpha))


class _ScalarModel:
    """The quadratic model of a problem with one output, and what a Newton step needs of it."""

    def points(self, problem: Problem, z: Array, alpha: Array) -> None:
        """Write the dual points of scores."""
        problem.dual_points_at(z, slice(0, problem.n), alpha)

    def minimizer(self, problem: Problem, z: Array, alpha: Array, slope: Array, w: Array, ridge: Array) -> Array:  # noqa: ARG002
        """The minimizer of the model at w with a ridge on each coefficient added to its matrix."""
        columns = np.arange(problem.d)
        gram, _ = gram_matrix(problem, z, columns)
        gram[np.diag_indices_from(gram)] += ridge
        return Model(problem.penalty, columns, problem.intercept, gram, slope, w).minimizer()

    def step_points(self, problem: Problem, z: Array, along: Array, alpha: Array) -> None:
        """Write the dual points of the model at scores after a step along."""
        linear_dual_points(problem.loss, z, along, problem.y, alpha)

    def shift(self, problem: Problem, alpha: Array, gamma: float) -> Array:  # noqa: ARG002
        """What the smoothing of a loss around alpha takes from the scores."""
        return gamma * alpha


class _Point:
    """The pair (w, alpha), the scores of w, and the two weights."""

    def __init__(self, problem: Problem, run: Run, alpha: Array) -> None:
        self.problem, self.run, self.alpha = problem, run, alpha.copy()
        self.model: Any = JointModel(problem) if problem.outputs else _ScalarModel()
        self.everything = slice(0, problem.n)
        self.w = run.best.w
        self.scores = problem.scores(self.w, self.everything)
        if not run.history:
            run.certify(self.w, self.alpha)
        spread = 1.0 if problem.outputs else float(problem.share @ np.abs(self.scores - problem.y))
        self.gamma = spread if spread > 0.0 else 1.0
        self.kappa = PROXIMAL / self.gamma * self._column_norms2()

    def step(self) -> bool:
        """A step of the proximal point method and its certificate; whether the gap has fallen."""
        problem, run, before = self.problem, self.run, self.run.gap
        smooth = problem.with_loss(problem.loss.smoothed(self.gamma) if problem.outputs else Smoothed(problem.loss, self.gamma))
        shift = self.model.shift(problem, self.alpha, self.gamma)
        self._minimize(smooth, shift, self.w.copy())
        run.certify(self.w, self.alpha)
        if run.gap > LITTLE * before and run.going:
            run.certify(self.w, self._dual_point(smooth, self.scores - shift))
        if run.gap > GAINED * before:
            self.gamma *= SHRINK
            self.kappa *= SHRINK
        return run.gap < LITTLE * before

    def _minimize(self, smooth: Problem, shift: Array, center: Array) -> None:
        """Newton's method on the smooth problem at scores less `shift`, with kappa/2 |w - center|^2, and its dual point."""
        problem, run = self.problem, self.run
        z = self.scores - shift
        value = self._objective(smooth, self.w, z, center)
        for _ in range(MOST_STEPS):
            self.model.points(smooth, z, self.alpha)
            slope = (self.kappa * (self.w - center).T).T - problem.transposed(self.alpha)
            v = self.model.minimizer(smooth, z, self.alpha, slope, self.w, self.kappa)
            direction = v - self.w
            along = problem.scores(direction, self.everything)
            self.model.step_points(smooth, z, along, self.alpha)
            run.spent(3.0)
            decrease = problem.penalty_value(self.w) - problem.penalty_value(v) - float(np.sum(slope * direction))
            step, rounding = 1.0, 4e-16 * abs(value)
            for _ in range(30):
                trial = self._objective(smooth, self.w + step * direction, z + step * along, center)
                if trial <= value - SUFFICIENT * step * max(decrease, 0.0) + rounding:
                    break
                step *= 0.5
            self.w = self.w + step * direction
            z += step * along
            value, moved = min(trial, value), trial < value
            if not moved or decrease <= ACCURATE * max(run.gap, run.target) or not run.going:
                break
        self.scores = z + shift

    def _dual_point(self, smooth: Problem, z: Array) -> Array:
        """The dual point of the model with next to no kappa: then X'(s alpha)/S is a subgradient of the penalty, not off by kappa(w - w_c).

        A penalty of small modulus, or none, magnifies that; where one is large it does not matter.
        """
        problem, alpha = self.problem, np.empty(self.problem.alpha_shape)
        self.model.points(smooth, z, alpha)
        v = self.model.minimizer(smooth, z, alpha, -problem.transposed(alpha), self.w, NEGLIGIBLE * self.kappa)
        self.model.step_points(smooth, z, problem.scores(v - self.w, self.everything), alpha)
        self.run.spent(3.0)
        return alpha

    def _objective(self, smooth: Problem, w: Array, z: Array, center: Array) -> float:
        away = w - center
        return (
            smooth.mean_loss_of(z, self.everything)[0] + self.problem.penalty_value(w) + 0.5 * float(np.sum(self.kappa * (away * away).T))
        )

    def _column_norms2(self) -> Array:
        """The weighted means of the squares of each column, 1 for the intercept: the scale on which kappa is meant."""
        problem = self.problem
        if isinstance(problem.X, np.ndarray):
            norms2 = sum(
                (problem.share[rows] @ np.square(problem.X[rows], dtype=np.float64) for rows in problem.blocks()), np.zeros(problem.d)
            )
        else:
            norms2 = problem.X.multiply(problem.X).T @ problem.share
        return np.append(np.where(norms2 > 0.0, norms2, 1.0), 1.0)
