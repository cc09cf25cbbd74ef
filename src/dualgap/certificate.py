"""Certificates: a feasible dual point, the tightest bound it gives, and what rounding may take from it.

For any w and any feasible alpha, P(w) - min P <= P(w) - D(alpha). What makes that a proof in floating point as well:

a. D is evaluated from alpha alone: X'(s alpha)/S is recomputed with compensated sums, never taken from an updated vector.
b. An intercept (or any unpenalized column) needs sum_i s_i alpha_i = 0. `balanced` moves alpha there inside its domain; what rounding
   leaves of the sum is priced with the coefficient it belongs to.
c. A penalty that is not strongly convex has an infinite conjugate outside a set. alpha is scaled into that set; or, for a norm, the
   coefficients are bounded instead: l1 |w*|_1 <= P(w) + mean phi*(0) =: M, since no loss is below -phi*(0), so that R* may be replaced by
   M max(0, polar - 1), which is finite everywhere.
d. s alpha for s in [0, 1] is feasible where alpha is, and is the better point while the gap is large. The search for s uses the line
   between phi*(-alpha) and phi*(0), which lies above the conjugate; its result is then evaluated exactly.
e. The gap carries an allowance for the rounding of the terms: EPS times the sums of their sizes, and times |w| sum_i s_i |phi'| |x_i| and
   the same with |alpha|, which bound what a relative error in each product does.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap import multiclass
from dualgap.kernels import gap
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]
EPS = 4.0 * float(np.finfo(np.float64).eps)
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class PrimalPoint:
    """w (intercept last), its objective, and the allowance for rounding."""

    w: Array
    value: float
    doubt: float


@dataclass(frozen=True)
class DualPoint:
    """A feasible alpha, given as `scale` times an array, its objective, the allowance for rounding, and X'(s alpha)/S of the array."""

    alpha: Array
    scale: float
    value: float
    doubt: float
    a: Array


def primal_point(problem: Problem, w: Array) -> PrimalPoint:
    """Evaluate P at w."""
    loss = problem.mean_loss(w)
    penalty = problem.penalty_value(w)
    doubt = EPS * (abs(loss.value) + problem.penalty_size(penalty) + float(np.linalg.norm(w)) * loss.doubt)
    return PrimalPoint(w, loss.value + penalty, doubt)


def dual_point(problem: Problem, alpha: Array, best: PrimalPoint) -> DualPoint:
    """The best dual point that alpha gives, with the help of the best primal point known."""
    alpha = balanced(problem, alpha)
    a = problem.transposed(alpha)
    unheld = [*map(int, problem.free_columns), *([problem.d] if problem.intercept else [])]
    unbalanced = 2.0 * float(np.sum(np.abs(a[unheld] * best.w[unheld])))
    a[unheld] = 0.0
    zero = problem.mean_conjugate(alpha, 0.0)[0]
    budget = best.value + zero
    radius = problem.radius(budget)

    def at(scale: float) -> DualPoint:
        conjugate, size, sensitivity = problem.mean_conjugate(alpha, scale)
        penalty = _penalty_conjugate(problem, a, scale, budget)
        doubt = EPS * (size + problem.penalty_size(penalty) + (min(radius, _reach(problem, penalty)) * sensitivity if scale > 0.0 else 0.0))
        return DualPoint(alpha, scale, -conjugate - penalty, doubt + unbalanced, a)

    points = [at(1.0)]
    points += [at(scale) for scale in _scales(problem, alpha, a, zero)]
    return max(points, key=lambda point: point.value - point.doubt)


def _reach(problem: Problem, penalty_conjugate: float) -> float:
    """A bound on the w at which R* is attained: R*(a) >= lambda/2 |w|^2 where R is strongly convex and R(0) = 0."""
    modulus = problem.penalty.convexity
    return math.sqrt(2.0 * max(penalty_conjugate, 0.0) / modulus) if modulus > 0.0 else math.inf


def _penalty_conjugate(problem: Problem, a: Array, scale: float, budget: float) -> float:
    """R*(scale a), or what may stand for it where the penalty is a norm and R(w*) <= budget."""
    value = problem.penalty_conjugate(a, scale)
    if math.isfinite(value) or not problem.penalty_is_norm:
        return value
    return budget * max(0.0, scale * float(problem.penalty.polar(a[: problem.d])) - 1.0)


def _scales(problem: Problem, alpha: Array, a: Array, zero: float) -> list[float]:
    """Scales below 1 that may give a better dual objective."""
    if math.isfinite(problem.penalty_conjugate(a)):
        slope = problem.mean_conjugate(alpha)[0] - zero

        def bound(s: float) -> float:
            return -s * slope - problem.penalty_conjugate(a, s)

        return [golden(bound, 0.0, 1.0)] if bound(0.99) > bound(1.0) else []
    largest = feasible_scale(problem, a)
    half = problem.mean_conjugate(alpha, 0.5 * largest)[0]
    whole = problem.mean_conjugate(alpha, largest)[0]
    curvature = whole - 2.0 * half + zero
    vertex = largest * (0.5 - 0.25 * (whole - zero) / curvature) if curvature > 0.0 else largest
    return [largest, vertex] if 0.0 < vertex < largest else [largest]


def feasible_scale(problem: Problem, a: Array) -> float:
    """The largest scale up to 1, up to rounding, with R*(scale a) finite."""
    if math.isfinite(problem.penalty_conjugate(a)):
        return 1.0
    if problem.penalty_is_norm:
        scale = 1.0 / float(problem.penalty.polar(a[: problem.d]))
        for shrunk in (scale, scale * (1.0 - EPS)):
            if math.isfinite(problem.penalty_conjugate(a, shrunk)):
                return shrunk
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if math.isfinite(problem.penalty_conjugate(a, middle)):
            low = middle
        else:
            high = middle
    return low


def golden(f: Callable[[float], float], low: float, high: float, evaluations: int = 20) -> float:
    """The maximizer of a concave function, by golden-section search."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = f(a), f(b)
    for _ in range(evaluations - 2):
        if at_a > at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = f(b)
    return a if at_a > at_b else b


def balanced(problem: Problem, alpha: Array) -> Array:
    """A feasible alpha near the one given with sum_i s_i alpha_i c_i = 0 for each column c that no penalty holds; 0 is such a point."""
    if not problem.intercept and not problem.free_columns.size:
        return alpha
    if problem.outputs and not problem.free_columns.size:
        return multiclass.column_balanced(alpha, problem.y, problem.share)
    columns = problem.unheld_columns
    if problem.outputs:
        return multiclass.columns_balanced(alpha, problem.y, problem.share, columns)
    p = columns.shape[1]
    t, excess, slope, out = np.zeros(p), np.empty(p), np.empty((p, p)), np.empty(problem.n)

    def move(t: Array) -> float:
        gap.balance(problem.loss, alpha, problem.y, problem.share, columns, t, excess, slope, out)
        return float(np.max(np.abs(excess) / scale))

    scale = np.maximum(np.sqrt(problem.share @ columns**2), 1e-300)
    left = move(t)
    for _ in range(60):
        if left <= 1e-16:
            break
        step = np.linalg.lstsq(slope, -excess, rcond=1e-14)[0]
        for _ in range(40):
            trial = move(t + step)
            if trial < left:
                break
            step *= 0.5
        else:
            break
        t, left = t + step, trial
    move(t)
    return out if left <= 1e-9 else np.zeros_like(alpha)
