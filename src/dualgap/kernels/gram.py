"""What a Newton step on few features needs: curvatures, the weighted Gram matrix, dual points, and coordinate descent on the model."""

from typing import Any

import numpy as np

from dualgap import formulas
from dualgap.kernels.compile import jitable, kernel
from dualgap.rows import column, entry, first, last

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
def add_gram(rows: Any, weights: Any, gram: Any) -> None:
    """Add sum_i weight_i (x_i, 1)(x_i, 1)' to the lower triangle; the last row belongs to the intercept."""
    d = gram.shape[0] - 1
    for r in range(weights.shape[0]):
        c = weights[r]
        if c > 0.0:
            i = np.uint64(r)
            for t in range(first(rows, i), last(rows, i)):
                j, x = column(rows, t), c * entry(rows, i, t)
                for s in range(first(rows, i), t):
                    k = column(rows, s)
                    if k < j:
                        gram[j, k] += x * entry(rows, i, s)
                    else:
                        # columns out of order, or one that is there twice
                        gram[k, j] += (x + x if k == j else x) * entry(rows, i, s)
                gram[j, j] += x * entry(rows, i, t)
                gram[d, j] += x
            gram[d, d] += c


@kernel
def descend(gram: Any, slope: Any, penalty: Any, v: Any, free: bool, sweeps: int) -> None:
    """Sweeps of coordinate descent on the quadratic with this Gram matrix plus R, from v; `slope` is its gradient at v, and stays so."""
    d = v.shape[0] - 1
    for _ in range(sweeps):
        for j in range(d + 1 if free else d):
            move = coordinate_minimizer(gram, slope, penalty, v, j) - v[j]
            if move != 0.0:
                v[j] += move
                for k in range(d + 1):
                    slope[k] += move * gram[j, k]


@jitable
def coordinate_minimizer(gram: Any, slope: Any, penalty: Any, v: Any, j: int) -> float:
    """The best value of coordinate j with the others fixed."""
    curvature = gram[j, j]
    if curvature <= 0.0:
        return float(v[j] if j == v.shape[0] - 1 else formulas.primal(penalty, -slope[j], TINY, j))
    u = curvature * v[j] - slope[j]
    return float(u / curvature if j == v.shape[0] - 1 else formulas.primal(penalty, u, curvature, j))


@kernel
def fixed_point(gram: Any, slope: Any, penalty: Any, v: Any, free: bool, residual: Any, response: Any) -> float:
    """How far each coordinate is from its best value, and how that value responds to u = H_jj v_j - slope_j; the largest distance."""
    d = v.shape[0] - 1
    largest = 0.0
    for j in range(d + 1 if free else d):
        residual[j] = v[j] - coordinate_minimizer(gram, slope, penalty, v, j)
        curvature = gram[j, j]
        if j == d or curvature <= 0.0:
            response[j] = 1.0 / curvature if curvature > 0.0 else 0.0
        else:
            u = curvature * v[j] - slope[j]
            h = 1e-9 * (abs(u) + 1e-6 * curvature)
            response[j] = (formulas.primal(penalty, u + h, curvature, j) - formulas.primal(penalty, u - h, curvature, j)) / (2.0 * h)
        largest = max(largest, np.sqrt(curvature) * abs(residual[j]))
    return largest
