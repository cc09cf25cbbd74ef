"""What a Newton step on few features needs: curvatures, the weighted Gram matrix, dual points, and coordinate descent on the model.

The features are chosen columns of X, all of them or a working set. `columns` holds their numbers, by which the penalty knows them.
"""

from typing import Any

import numpy as np

from dualgap import formulas
from dualgap.kernels.compile import jitable, kernel
from dualgap.rows import column, entry, first, last

ONE = np.uint64(1)
TINY = 1e-300


@kernel
def curvatures(loss: Any, z: Any, y: Any, share: Any, out: Any) -> None:
    """Share times phi'' of each row."""
    for r in range(z.shape[0]):
        out[r] = share[r] * max(formulas.curvature(loss, z[r], y[r]), 0.0)


@kernel
def linear_dual_points(loss: Any, z: Any, along: Any, y: Any, out: Any) -> None:
    """alpha = -(phi'(z) + phi''(z) along), brought into its domain: the dual point of the quadratic model after a step."""
    for r in range(z.shape[0]):
        old = -formulas.derivative(loss, z[r], y[r])
        low, high = formulas.domain(loss, old, y[r])
        out[r] = max(low, min(high, old - max(formulas.curvature(loss, z[r], y[r]), 0.0) * along[r]))


@kernel
def moved_dual_points(loss: Any, z: Any, along: Any, y: Any, alpha: Any) -> None:
    """alpha - phi''(z) along, brought into its domain."""
    for r in range(z.shape[0]):
        low, high = formulas.domain(loss, alpha[r], y[r])
        alpha[r] = max(low, min(high, alpha[r] - max(formulas.curvature(loss, z[r], y[r]), 0.0) * along[r]))


@kernel
def weighted_columns(X: Any, columns: Any, root: Any, out: Any) -> None:
    """Some columns of dense rows and a column of ones, each row times its number."""
    for r in range(X.shape[0]):
        for m in range(columns.shape[0]):
            out[r, m] = root[r] * X[r, columns[m]]
        out[r, columns.shape[0]] = root[r]


@kernel
def add_gram(rows: Any, weights: Any, position: Any, known: int, places: Any, values: Any, gram: Any) -> float:
    """Add sum_i weight_i (x_i, 1)(x_i, 1)' to the lower triangle, for the columns that have a position in it; the intercept's is the last.

    Products of the first `known` columns with one another, and with the intercept, are left out. `places` and `values` hold one number more
    than the longest row, twice; returns how many products were made.
    """
    k, half = gram.shape[0] - 1, np.uint64(places.shape[0] // 2)
    products = 0.0
    for r in range(weights.shape[0]):
        c = weights[r]
        if c > 0.0:
            i, old, end = np.uint64(r), np.uint64(0), half
            for t in range(first(rows, i), last(rows, i)):
                # without a branch, which could not be foreseen: what has no position is overwritten by the next entry
                p, x = position[column(rows, t)], entry(rows, i, t)
                places[old] = places[end] = np.uint32(p)
                values[old] = values[end] = x
                old += np.uint64(0 <= p < known)
                end += np.uint64(p >= known)
            ordered = True
            for s in range(half + ONE, end):
                ordered &= places[s] > places[s - ONE]
            for s in range(half, end):
                p, x = places[s], c * values[s]
                for t in range(old):
                    gram[p, places[t]] += x * values[t]
                if ordered:
                    for t in range(half, s):
                        gram[p, places[t]] += x * values[t]
                else:
                    # columns out of order, or one that is there twice
                    for t in range(half, s):
                        q = places[t]
                        gram[max(p, q), min(p, q)] += (x + x if q == p else x) * values[t]
                gram[p, p] += x * values[s]
                gram[k, p] += x
            gram[k, k] += c
            products += (end - half) * (old + 0.5 * (end - half))
    return products


@kernel
def spread(rows: Any, chosen: Any, root: Any, position: Any, out: Any) -> None:
    """The chosen rows as dense ones, times their roots, which come last; columns go where `position` says, or nowhere."""
    k = out.shape[1] - 1
    for r in range(chosen.shape[0]):
        i, c = np.uint64(chosen[r]), root[r]
        for m in range(k):
            out[r, m] = 0.0
        out[r, k] = c
        for t in range(first(rows, i), last(rows, i)):
            p = position[column(rows, t)]
            if p >= 0:
                out[r, p] += c * entry(rows, i, t)


@kernel
def descend(gram: Any, slope: Any, penalty: Any, columns: Any, v: Any, free: bool, sweeps: int, steady: int) -> int:
    """Coordinate descent on the quadratic with this Gram matrix plus R, from v: sweeps until `steady` of them leave the zeros as they are.

    `slope` is the gradient of the quadratic at v, and stays so. Returns the number of sweeps.
    """
    k = v.shape[0] - 1
    same = 0
    for sweep in range(sweeps):
        moved, changed = False, False
        for j in range(k + 1 if free else k):
            old = v[j]
            new = coordinate_minimizer(gram, slope, penalty, columns, v, j)
            if new != old:
                moved = True
                changed = changed or (new == 0.0) != (old == 0.0)
                v[j] = new
                for l in range(k + 1):
                    slope[l] += (new - old) * gram[j, l]
        same = 0 if changed else same + 1
        if same >= steady or not moved:
            return sweep + 1
    return sweeps


@jitable
def coordinate_minimizer(gram: Any, slope: Any, penalty: Any, columns: Any, v: Any, j: int) -> float:
    """The best value of coordinate j with the others fixed."""
    curvature = gram[j, j]
    if curvature <= 0.0:
        return float(v[j] if j == v.shape[0] - 1 else formulas.primal(penalty, -slope[j], TINY, columns[j]))
    u = curvature * v[j] - slope[j]
    return float(u / curvature if j == v.shape[0] - 1 else formulas.primal(penalty, u, curvature, columns[j]))


@kernel
def fixed_point(gram: Any, slope: Any, penalty: Any, columns: Any, v: Any, free: bool, residual: Any, response: Any) -> float:
    """How far each coordinate is from its best value, and how that value responds to u = H_jj v_j - slope_j; the largest distance."""
    k = v.shape[0] - 1
    largest = 0.0
    for j in range(k + 1 if free else k):
        residual[j] = v[j] - coordinate_minimizer(gram, slope, penalty, columns, v, j)
        curvature = gram[j, j]
        if j == k or curvature <= 0.0:
            response[j] = 1.0 / curvature if curvature > 0.0 else 0.0
        else:
            u = curvature * v[j] - slope[j]
            h = 1e-9 * (abs(u) + 1e-6 * curvature)
            low, high = formulas.primal(penalty, u - h, curvature, columns[j]), formulas.primal(penalty, u + h, curvature, columns[j])
            response[j] = (high - low) / (2.0 * h)
        largest = max(largest, np.sqrt(curvature) * abs(residual[j]))
    return largest


@kernel
def go(penalty: Any, columns: Any, v: Any, step: Any, length: float, out: Any) -> float:
    """out = v + length step, with 0 for what would change its sign, and brought into the domain of the penalty; its R."""
    k = v.shape[0] - 1
    total = 0.0
    for j in range(k + 1):
        new = v[j]
        if j < step.shape[0] and step[j] != 0.0:
            new += length * step[j]
            if j < k and new * v[j] < 0.0:
                new = 0.0
        out[j] = new
        if j < k:
            total += formulas.penalty_value(penalty, new, columns[j])
    return total


@kernel
def model_gap(penalty: Any, columns: Any, v: Any, at: Any) -> float:
    """R(v) + R*(-at) + v'at: how far v is from the minimizer of a convex function plus R, whose gradient there is `at`."""
    total = 0.0
    for k in range(columns.shape[0]):
        j = columns[k]
        total += formulas.penalty_value(penalty, v[k], j) + formulas.penalty_conjugate(penalty, -at[k], j) + v[k] * at[k]
    return total


@kernel
def line_search(penalty: Any, columns: Any, v: Any, step: Any, linear: float, square: float, out: Any) -> float:
    """out = v + length step for the length in 0 .. 1 with the least linear length + square/2 length^2 + R, to a part in 1e5; R there."""
    k = v.shape[0] - 1
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    low, high = 0.0, 1.0
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a = linear * a + 0.5 * square * a * a + value_along(penalty, columns, v, step, a)
    at_b = linear * b + 0.5 * square * b * b + value_along(penalty, columns, v, step, b)
    for _ in range(24):
        if at_a > at_b:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = linear * b + 0.5 * square * b * b + value_along(penalty, columns, v, step, b)
        else:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = linear * a + 0.5 * square * a * a + value_along(penalty, columns, v, step, a)
    length = a if at_a < at_b else b
    for j in range(k + 1):
        out[j] = v[j] + (length * step[j] if j < step.shape[0] else 0.0)
    return float(value_along(penalty, columns, v, step, length))


@jitable
def value_along(penalty: Any, columns: Any, v: Any, step: Any, length: float) -> float:
    """R of v + length step."""
    total = 0.0
    for j in range(columns.shape[0]):
        total += formulas.penalty_value(penalty, v[j] + length * step[j], columns[j])
    return float(total)
