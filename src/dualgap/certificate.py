"""Certificates: a feasible dual point, the tightest bound it gives, and what rounding may take from it.

For any w and any feasible alpha, P(w) - min P <= P(w) - D(alpha). What makes that a proof in floating point as well:

a. D is evaluated from alpha alone: X'(s alpha)/S is recomputed, never taken from an updated vector. Where there are many rows, its sums
   are plain over blocks of m rows, which have a relative error of at most m/2 eps, and compensated over the blocks; if what that may be
   wrong by is more than a hundredth of the gap, they are compensated throughout.
b. An intercept (or any unpenalized column) needs sum_i s_i alpha_i = 0. `balanced` moves alpha there inside its domain; what rounding
   leaves of the sum is priced with the coefficient it belongs to, and that alpha is rounded with EPS times the null objective.
c. A penalty that is not strongly convex has an infinite conjugate outside a set. alpha is scaled into that set; or, for a norm, the
   coefficients are bounded instead: l1 |w*|_1 <= P(w) + mean phi*(0) =: M, since no loss is below -phi*(0), so that R* may be replaced by
   M max(0, polar - 1), which is finite everywhere.
d. s alpha for s in [0, 1] is feasible where alpha is, and is the better point while the gap is large. The search for s uses the line
   between phi*(-alpha) and phi*(0), which lies above the conjugate; its result is then evaluated exactly.
e. The gap carries an allowance for the rounding of the terms: EPS times the sums of their sizes, and times |w| sum_i s_i |phi'| |x_i| and
   the same with |alpha|, which bound what a relative error in each product does; beyond the first order, what the smoothness of the loss
   allows, or its steepest slope where it has kinks.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap import multiclass
from dualgap.kernels import gap
from dualgap.problem import Problem, Total, is_ridge

Array = npt.NDArray[np.float64]
EPS = 4.0 * float(np.finfo(np.float64).eps)
UNBALANCED = 1e-6
DOUBTFUL = 0.01
NEARLY_ONE = 0.99
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


class Seen(NamedTuple):
    """What a pass over the rows found for w and alpha: the scores, and X'(s alpha)/S from plain sums over blocks of so many rows."""

    z: Array
    a: Array
    block: int


def primal_point(problem: Problem, w: Array, seen: Seen | None = None) -> PrimalPoint:
    """Evaluate P at w, or at the point of the penalty's domain that rounding has moved w from."""
    if hasattr(problem.penalty, "settled"):
        settled = problem.penalty.settled(w[: problem.d])
        seen = seen if np.array_equal(settled, w[: problem.d]) else None
        w = np.append(settled, w[problem.d])
    return _primal_point(problem, w, problem.mean_loss(w) if seen is None else problem.mean_loss_at(seen.z))


def _primal_point(problem: Problem, w: Array, loss: Total) -> PrimalPoint:
    """The same from the mean loss there."""
    penalty = problem.penalty_value(w)
    doubt = EPS * (abs(loss.value) + problem.penalty_size(penalty)) + _loss_doubt(problem, EPS * float(np.linalg.norm(w)), loss.doubt)
    return PrimalPoint(w, loss.value + penalty, doubt)


def _loss_doubt(problem: Problem, error: float, slope: float) -> float:
    """What errors of `error` |x_i| in the scores do to the mean loss, whose slopes times |x_i| have the mean given.

    To second order; a slope says nothing of what lies behind a kink, and is the largest there is where a loss has kinks.
    """
    gamma, size2 = float(problem.loss.smoothness), problem.mean_norm2 + 1.0
    if gamma > 0.0:
        return error * slope + 0.5 * error * error * size2 / gamma
    steepest = float(getattr(problem.loss, "lipschitz", 0.0)) * (2.0 if problem.outputs else 1.0)  # a margin has the errors of two scores
    return error * max(slope, steepest * math.sqrt(size2))


def dual_point(problem: Problem, alpha: Array, best: PrimalPoint, null: float, seen: Seen | None = None, target: float = 0.0) -> DualPoint:
    """The best dual point that alpha gives, with the help of the best primal point and of the objective of the null model.

    An allowance for rounding that is small beside the gap, or beside the `target` for it, is not made smaller.
    """
    seen = None if len(problem.unheld) else seen  # it may have to be another alpha there
    block = problem.block_rows if seen is None else seen.block
    if block and not problem.open_columns.size:
        point = _dual_point(problem, alpha, best, null, block, seen)
        if point.doubt <= DOUBTFUL * max(best.value - point.value, target):
            return point
        del point  # and its dual variables, which are an array of their own where they had to be balanced
    return _dual_point(problem, alpha, best, null, 0)


def _dual_point(problem: Problem, alpha: Array, best: PrimalPoint, null: float, block: int, seen: Seen | None = None) -> DualPoint:
    """The same with X'(s alpha)/S from plain sums over blocks of so many rows, or compensated if that is 0."""
    if seen is None:
        alpha, a = balanced(problem, alpha, problem.transposed_in_blocks if block else problem.transposed)
    else:
        a = seen.a
    return _best_scaled(problem, alpha, a, best, null, block)


def points_in_one_reading(problem: Problem, w: Array, alpha: Array, best: PrimalPoint, null: float) -> tuple[PrimalPoint, DualPoint]:
    """The primal point at w and the dual one that alpha gives beside it, or beside the best one; rows on disk are read once for both."""
    if hasattr(problem.penalty, "settled"):
        w = np.append(problem.penalty.settled(w[: problem.d]), w[problem.d])
    losses: list[Total] = []

    def transposed(alpha: Array) -> Array:
        if losses:
            return problem.transposed(alpha)
        loss, a = problem.loss_and_transposed(w, alpha)
        losses.append(loss)
        return a

    alpha, a = balanced(problem, alpha, transposed)
    point = _primal_point(problem, w, losses[0])
    return point, _best_scaled(problem, alpha, a, point if point.value < best.value else best, null, 0)


def _best_scaled(problem: Problem, alpha: Array, a: Array, best: PrimalPoint, null: float, block: int) -> DualPoint:
    """The best point s alpha of a feasible alpha, from its X'(s alpha)/S, of plain sums over blocks of so many rows where that is not 0."""
    relative = EPS * (1.0 + 0.125 * block)
    unheld = problem.unheld
    unbalanced = 0.0
    if len(unheld):
        excess = np.where(_infinite(problem, a), a[unheld], 0.0)  # what rounding leaves
        unbalanced = 2.0 * float(np.sum(np.abs(excess * best.w[unheld]))) + EPS * null
        a[unheld] -= excess
    budget = best.value + problem.mean_floor
    radius = problem.radius(budget)

    def at(scale: float, conjugate: float, size: float, sensitivity: float) -> DualPoint:
        penalty = _penalty_conjugate(problem, a, scale, budget)
        reach = math.hypot(min(radius, _reach(problem, penalty, a, scale)), problem.edge)
        doubt = EPS * (size + problem.penalty_size(penalty)) + unbalanced
        if scale > 0.0:
            error, modulus = relative * sensitivity, float(problem.penalty.convexity)
            doubt += error * (reach + (0.5 * error / modulus if block and modulus > 0.0 else 0.0))
        return DualPoint(alpha, scale, -conjugate - penalty, doubt, a)

    sums = problem.mean_conjugate(alpha)
    points = [at(1.0, *sums)]
    points += [at(scale, *problem.mean_conjugate(alpha, scale)) for scale in _scales(problem, alpha, a, sums[0])]
    return max(points, key=lambda point: point.value - point.doubt)


def _reach(problem: Problem, conjugate: float, a: Array, scale: float) -> float:
    """A bound on the penalized part of the w at which R*(scale a) is attained: R(c) + R*(a) >= a'c + lambda/2 |w - c|^2 for any c."""
    modulus, c = problem.penalty.convexity, problem.center
    if modulus == 0.0:
        return math.inf
    if np.ndim(c) == 0:
        return math.sqrt(2.0 * max(conjugate, 0.0) / modulus)
    at_c = np.zeros(problem.shape)
    at_c[: problem.d].T[...] = c
    room = conjugate + problem.penalty_value(at_c) - scale * float(np.sum(at_c * a))
    return float(np.linalg.norm(at_c)) + math.sqrt(2.0 * max(room, 0.0) / modulus)


def _penalty_conjugate(problem: Problem, a: Array, scale: float, budget: float) -> float:
    """R*(scale a), or what may stand for it where the penalty is a norm and R(w*) <= budget."""
    value = problem.penalty_conjugate(a, scale)
    if math.isfinite(value) or not problem.penalty_is_norm:
        return value
    return budget * max(0.0, scale * float(problem.penalty.polar(a[: problem.d])) - 1.0)


def _scales(problem: Problem, alpha: Array, a: Array, conjugate: float) -> list[float]:
    """Scales below 1 that may give a better dual objective, whose loss part at scale 1 is minus `conjugate`."""
    zero = problem.mean_floor
    if math.isfinite(problem.penalty_conjugate_estimate(a, 1.0)):
        slope = conjugate - zero
        if is_ridge(problem.penalty):
            vertex = -0.5 * slope / (problem.penalty_conjugate_estimate(a, 1.0) or math.inf)
            return [vertex] if 0.0 < vertex < NEARLY_ONE else []

        def bound(s: float) -> float:
            return -s * slope - problem.penalty_conjugate_estimate(a, s)

        return [golden(bound, 0.0, 1.0)] if bound(NEARLY_ONE) > bound(1.0) else []
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
        if math.isfinite(problem.penalty_conjugate_estimate(a, middle)):
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


def balanced(problem: Problem, alpha: Array, transposed: Callable[[Array], Array] | None = None) -> tuple[Array, Array]:
    """A feasible alpha near the one given, and its X'(s alpha)/S, which is 0 for a coefficient that no penalty and no bound holds.

    `transposed` computes the latter, compensated if it is not given. Where a coefficient is bounded on one side its sum must have a sign,
    and is made 0 only if it has the wrong one. alpha = 0 is always feasible and stands in where none is found whose sums are small beside
    their terms: where classes are separable it is all that is left but rounding.
    """
    transposed = transposed or problem.transposed
    if not len(problem.unheld):
        return alpha, transposed(alpha)
    lower, upper = problem.unheld_bounds
    free = np.isinf(lower) & np.isinf(upper)
    zeroed = np.array(np.broadcast_to(free, (*problem.shape[1:], len(free))).T)
    while True:
        moved = _orthogonal(problem, alpha, zeroed) if np.any(zeroed) else alpha
        a = transposed(moved)
        if np.any(np.where(zeroed, np.abs(a[problem.unheld]), 0.0) > UNBALANCED * problem.unheld_size(moved)):
            return np.zeros_like(alpha), np.zeros(problem.shape)
        wrong = _infinite(problem, a) & ~zeroed
        if not np.any(wrong):
            return moved, a
        zeroed |= wrong


def _infinite(problem: Problem, a: Array) -> npt.NDArray[np.bool_]:
    """Where R* is infinite among the coefficients that are not held."""
    lower, upper = problem.unheld_bounds
    there = a[problem.unheld].T
    return np.asarray(((there > 0.0) & (upper == np.inf) | (there < 0.0) & (lower == -np.inf)).T)


def _orthogonal(problem: Problem, alpha: Array, zeroed: npt.NDArray[np.bool_]) -> Array:
    """An alpha of the domain near the one given, orthogonal to the columns asked for if there is one."""
    if problem.outputs and not problem.open_columns.size:
        return multiclass.column_balanced(alpha, problem.y, problem.share)
    if problem.outputs:
        return multiclass.columns_balanced(alpha, problem.y, problem.share, problem.unheld_columns, zeroed)
    columns = problem.unheld_columns if np.all(zeroed) else np.ascontiguousarray(problem.unheld_columns[:, zeroed])
    lengths2, size = problem.moments(alpha)
    p = columns.shape[1]
    t, excess, slope, out = np.zeros(p), np.empty(p), np.empty((p, p)), np.empty(problem.n)

    def move(t: Array) -> float:
        sums = problem.each(lambda rows: _balanced_part(problem, alpha, columns, t, rows, out))
        excess[:] = sum(part[0] for part in sums)
        slope[:] = sum(part[1] for part in sums)
        return float(np.max(np.abs(excess) / scale))

    # an excess counts against the variables that should cancel: where only 0 is feasible, small ones are not nearly so
    scale = np.maximum(np.sqrt(lengths2[zeroed]) * min(size, 1.0), 1e-300)
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
    return out


def _balanced_part(problem: Problem, alpha: Array, columns: Array, t: Array, rows: slice, out: Array) -> tuple[Array, Array]:
    """Some rows of the alpha that t leads to, their excess and its slope."""
    p = columns.shape[1]
    excess, slope = np.empty(p), np.empty((p, p))
    gap.balance(problem.loss, alpha[rows], problem.y[rows], problem.share[rows], columns[rows], t, excess, slope, out[rows])
    return excess, slope
