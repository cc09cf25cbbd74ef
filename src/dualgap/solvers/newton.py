"""Proximal Newton's method on the Gram matrix, for smooth losses and few features.

    minimize over v    g'(v - w) + 1/2 (v - w)'H (v - w) + R(v),        H = X'diag(s phi'')X/S,    g = X'(s phi')/S
    w = w + t (v - w), t by backtracking on P

A step reads the data once for H and once for the scores, whatever the conditioning, so this is what badly scaled data with few columns
wants. alpha = -phi'(X w) is the dual point.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels import gap
from dualgap.kernels.gram import add_gram, curvatures, descend, fixed_point
from dualgap.problem import Problem, with_free
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
RELIEF = 1e-13
FEW_SWEEPS, MANY_SWEEPS, ROUNDS = 10, 1000, 60


@dataclass(frozen=True)
class GramNewton:
    """Proximal Newton's method with the Gram matrix: scalar smooth losses, penalties that treat each coefficient on its own, few features.

    Examples
    --------
    >>> GramNewton()
    GramNewton()
    """

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        fits = problem.outputs == 0 and problem.loss.smoothness > 0.0 and not formulas.penalty_is_coupled(problem.penalty)
        return "" if fits else "a smooth scalar loss and a penalty on each coefficient"

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the primal point of the run's start until the run ends."""
        w, everything = run.start_weights(), slice(0, problem.n)
        z = problem.scores(w, everything)
        value = problem.mean_loss_of(z, everything)[0] + problem.penalty_value(w)
        while run.going:
            direction = self._direction(problem, w, z, alpha) - w
            run.spent(2.0)
            along = problem.scores(direction, everything)
            w, z, value = self._search(problem, w, z, value, direction, along)
            gap.dual_points(problem.loss, z, problem.y, alpha)
            run.certify(w, alpha)

    def _direction(self, problem: Problem, w: Array, z: Array, alpha: Array) -> Array:
        """The minimizer of the quadratic model."""
        gap.dual_points(problem.loss, z, problem.y, alpha)
        slope = -problem.transposed(alpha)
        gram = gram_matrix(problem, z)
        gram[np.diag_indices_from(gram)] *= 1.0 + RELIEF
        return model_minimizer(problem, gram, slope, w)

    def _search(self, problem: Problem, w: Array, z: Array, value: float, direction: Array, along: Array) -> tuple[Array, Array, float]:
        """The first of the steps 1, 1/2, 1/4, ... that lowers the objective."""
        everything = slice(0, problem.n)
        step = 1.0
        for _ in range(40):
            new, new_z = w + step * direction, z + step * along
            new_value = problem.mean_loss_of(new_z, everything)[0] + problem.penalty_value(new)
            if new_value <= value:
                return new, new_z, new_value
            step *= 0.5
        return w, z, value


def gram_matrix(problem: Problem, z: Array) -> Array:
    """(X, 1)'diag(s phi''/S)(X, 1), in blocks of rows where X is dense."""
    d = problem.d
    weights = np.empty(problem.n)
    curvatures(problem.loss, z, problem.y, problem.share, weights)
    gram = np.zeros((d + 1, d + 1))
    X: Any = problem.X
    if isinstance(X, np.ndarray):
        block = max(1, (1 << 20) // d)
        root = np.sqrt(weights)
        for start in range(0, problem.n, block):
            rows = slice(start, start + block)
            part = X[rows] * root[rows, None]
            gram[:d, :d] += part.T @ part
            gram[d, :d] += root[rows] @ part
        gram[d, d] = weights.sum()
        gram[:d, d] = gram[d, :d]
        return gram
    add_gram(problem.rows, weights, gram)
    return np.asarray(np.tril(gram) + np.tril(gram, -1).T)


def model_minimizer(problem: Problem, gram: Array, slope: Array, w: Array) -> Array:
    """The minimizer of slope'(v - w) + 1/2 (v - w)'gram (v - w) + R(v).

    Coordinate descent finds which coefficients are zero or at a bound; semismooth Newton steps on v_j = argmin over coordinate j, which are
    exact once that is known, do the rest. A Newton step that does not lower the model is left for more sweeps.
    """
    penalty, free = with_free(problem.penalty, 0.0), problem.intercept
    size = len(w) if free else len(w) - 1
    residual, response = np.zeros(size), np.zeros(size)

    def value(v: Array) -> float:
        return float(slope @ (v - w) + 0.5 * (v - w) @ gram @ (v - w)) + problem.penalty_value(v)

    v, at, sweeps = w.copy(), slope.copy(), FEW_SWEEPS
    descend(gram, at, penalty, v, free, sweeps)
    best = value(v)
    first = left = fixed_point(gram, at, penalty, v, free, residual, response)
    for _ in range(ROUNDS):
        if left <= 1e-13 * first:
            break
        trial = v.copy()
        matrix = response[:, None] * gram[:size, :size]
        matrix[np.diag_indices(size)] += 1.0 - response * np.diag(gram)[:size]
        trial[:size] -= np.linalg.lstsq(matrix, residual, rcond=1e-15)[0]
        trial_value = value(trial)
        if trial_value < best:
            v, best = trial, trial_value
            at = slope + gram @ (v - w)
        else:
            descend(gram, at, penalty, v, free, sweeps)
            new = value(v)
            if new >= best:
                break
            best, sweeps = new, min(2 * sweeps, MANY_SWEEPS)
        left = fixed_point(gram, at, penalty, v, free, residual, response)
    return v
