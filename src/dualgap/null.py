"""The null model, w = 0 with the best intercept: the scale on which tolerances are meant, and where a solve starts."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels import gap
from dualgap.problem import Problem
from dualgap.rows import frozen

Array = npt.NDArray[np.float64]


def null_weights(problem: Problem) -> Array:
    """Coefficients of the null model, intercept last."""
    w = np.zeros(problem.shape)
    w[: problem.d].T[...] = problem.center
    if problem.intercept:
        w[problem.d] = _vector_intercept(problem) if problem.outputs else _scalar_intercept(problem)
    return w


def _scalar_intercept(problem: Problem) -> float:
    """The root of the mean derivative, which increases with b."""
    values, counts = _compressed(problem.y, problem.share)
    alpha = np.empty(len(values))

    def slope(b: float) -> float:
        gap.dual_points(problem.loss, np.full(len(values), b), values, alpha)
        return -float(counts @ alpha)

    low, high = -1.0, 1.0
    while slope(low) > 0.0 and low > -1e300:
        low *= 4.0
    while slope(high) < 0.0 and high < 1e300:
        high *= 4.0
    return increasing_root(slope, low, high)


def _compressed(y: Array, share: Array) -> tuple[Array, Array]:
    """Targets and their weights, each target once where they are the two labels of a classifier."""
    if np.all(np.abs(y) == 1.0):
        positive = float(share @ (y > 0.0))
        return frozen(np.array([-1.0, 1.0])), np.array([1.0 - positive, positive])
    return y, share


def increasing_root(f: Callable[[float], float], low: float, high: float) -> float:
    """A root of an increasing function, which may jump: bisection, sped up by secants that keep the bracket (Illinois)."""
    at_low, at_high = f(low), f(high)
    for k in range(200):
        if high - low <= 1e-14 * max(1.0, abs(low), abs(high)) or at_low >= 0.0 or at_high <= 0.0:
            break
        middle = low - at_low * (high - low) / (at_high - at_low) if k % 3 else 0.5 * (low + high)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        at_middle = f(middle)
        if at_middle == 0.0:
            return middle
        if at_middle < 0.0:
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    return low if abs(at_low) < abs(at_high) else high


def _vector_intercept(problem: Problem) -> Array:
    """The minimizer of the mean loss over k intercepts, found on one row per class where costs depend on the class alone."""
    from scipy.optimize import minimize

    k = problem.outputs
    small = problem
    if problem.loss.costs.shape[0] == k:
        masses = np.bincount(problem.y, problem.share, minlength=k).astype(np.float64)
        small = replace(problem, X=np.empty((k, 0)), y=np.arange(k), share=masses, norms2=np.zeros(k))

    def objective(loss: Any) -> Callable[[Array], tuple[float, Array]]:
        stated = small.with_loss(loss)
        rows = slice(0, small.n)

        def evaluate(b: Array) -> tuple[float, Array]:
            z = np.ascontiguousarray(np.broadcast_to(b, (small.n, k)))
            alpha = np.empty_like(z)
            stated.dual_points_at(z, rows, alpha)
            return stated.mean_loss_of(z, rows)[0], -(small.share @ alpha)

        return evaluate

    b = np.zeros(k)
    widths = [0.0] if problem.loss.smoothness > 0.0 else [1.0, 0.1, 1e-2, 1e-3, 1e-4]
    best = math.inf
    for width in widths:
        loss = problem.loss.smoothed(width) if width else problem.loss
        result = minimize(objective(loss), b, jac=True, method="BFGS", options={"gtol": 1e-10})
        value = objective(problem.loss)(result.x)[0]
        if value < best:
            best, b = value, result.x - result.x.mean()
    return b
