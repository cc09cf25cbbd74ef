"""FISTA, accelerated proximal gradient descent: the batch method that the paper compares with.

    alpha = -phi'(X y),  u = L y + X'(s alpha)/S,  w = argmin R(w) + L/2 |w|^2 - u'w,  y = w + beta_k (w - w_previous)

L is found by backtracking, from margins that are kept: X y is a combination of two of them. The momentum restarts when it points uphill.
alpha is feasible, so the certificate is the same as everywhere: that of w before the step and the alpha of the step.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels.epoch import Prox
from dualgap.problem import Problem, with_free
from dualgap.solvers.run import Run, euclidean
from dualgap.solvers.surrogate import smoothed

Array = npt.NDArray[np.float64]
KEPT = ("w", "y", "momentum", "lipschitz")


@dataclass(frozen=True)
class FISTA:
    """Accelerated proximal gradient descent with backtracking.

    Parameters
    ----------
    restart : bool
        Whether the momentum restarts when it points uphill.

    Notes
    -----
    One iteration takes a product with X and one with its transpose, and counts as one pass.

    Examples
    --------
    >>> FISTA().restart
    True
    """

    restart: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.restart, bool):
            raise ValueError(f"restart must be True or False, got {self.restart!r}")

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        return euclidean(problem)

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the best primal point until the run ends."""
        problem = smoothed(problem, run)
        state = _State(problem, run.best.w, alpha)
        state.recall(run.remember("FISTA", state.memory))
        while run.going:
            state.step(run, self.restart)
            run.show(state)
        if run.history[-1].passes < run.passes:
            run.certify(state.w, problem.dual_points(state.w, alpha))


class _State:
    """The iterate w and the point y from which the next gradient step is taken, each with its scores.

    alpha needs no memory of its own: it takes the place of the scores of y, which a step needs no more.
    """

    def __init__(self, problem: Problem, w: Array, alpha: Array) -> None:
        self.problem = problem
        self.w = self.y = w
        self.z = problem.scores(w, slice(0, problem.n))
        self.alpha = self.z_y = alpha
        self.z_y[:] = self.z
        self.momentum = 1.0
        stretch = formulas.stretch(problem.loss, problem.outputs) if problem.outputs else 1.0
        self.largest = stretch * (problem.mean_norm2 + float(problem.intercept)) / problem.loss.smoothness
        self.lipschitz = self.largest / 64.0

    def memory(self) -> dict[str, Any]:
        """What the method goes by."""
        return {name: getattr(self, name) for name in KEPT}

    def recall(self, memory: dict[str, Array]) -> None:
        """Go on from there, if there is anything."""
        if memory:
            self.w, self.y = memory["w"], memory["y"]
            self.z, self.z_y[:] = (self.problem.scores(w, slice(0, self.problem.n)) for w in (self.w, self.y))
            self.momentum, self.lipschitz = float(memory["momentum"]), float(memory["lipschitz"])

    def weights(self) -> Array:
        return self.w

    def step(self, run: Run, restart: bool) -> None:
        """One gradient step from y, and the next y."""
        problem, everything = self.problem, slice(0, self.problem.n)
        at_y = problem.mean_loss_of(self.z_y, everything)[0]
        problem.dual_points_at(self.z_y, everything, self.alpha)
        run.offer(self)
        if not run.going:
            return
        a = problem.transposed(self.alpha)
        if not problem.intercept:
            a[problem.d] = 0.0
        run.spent(0.5)
        while True:
            w = self._prox(self.lipschitz * self.y + a)
            z = problem.scores(w, everything)
            run.spent(0.5)
            move = w - self.y
            bound = at_y - float(np.sum(a * move)) + 0.5 * self.lipschitz * float(np.sum(move * move))
            if self.lipschitz >= self.largest or problem.mean_loss_of(z, everything)[0] <= bound + 1e-14 * abs(at_y):
                break
            del w, z
            self.lipschitz = min(2.0 * self.lipschitz, self.largest)
        following = 0.5 + sqrt(0.25 + self.momentum**2)
        beta = (self.momentum - 1.0) / following
        self.momentum = following
        if restart and float(np.sum((self.y - w) * (w - self.w))) > 0.0:
            self.momentum, beta = 1.0, 0.0
        self.y = w + beta * (w - self.w)
        np.subtract(z, self.z, out=self.z_y)
        self.z_y *= beta
        self.z_y += z
        self.w, self.z = w, z
        self.lipschitz *= 0.95

    def _prox(self, u: Array) -> Array:
        penalty = with_free(self.problem.penalty, 0.0)
        if formulas.penalty_is_coupled(penalty):
            penalty = penalty.prepared(u[: self.problem.d], self.lipschitz)
        free = 1.0 / self.lipschitz if self.problem.intercept else 0.0
        return self.problem.weights(Prox(penalty, float(self.lipschitz), 0.0, free), u)
