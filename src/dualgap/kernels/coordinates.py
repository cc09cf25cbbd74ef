"""What working sets of coefficients need: all correlations in one pass over the rows, and which coefficients would move.

X is stored by rows and stays so. A pass gives the scores and, with a row still at hand, adds its part to X'(s alpha)/S, so that the
correlations of all features with the dual point -phi'(X w) cost one reading of X.
"""

from typing import Any

import numpy as np

from dualgap import formulas
from dualgap.kernels.compile import kernel
from dualgap.rows import column, entry, first, last

TINY = 1e-300


@kernel
def correlate(rows: Any, loss: Any, y: Any, share: Any, w: Any, z: Any, a: Any) -> tuple[float, float]:
    """z = X w + b, a = -X'(share phi'(z)) with the sum last, the mean loss, and the mean of phi* at phi'(z)."""
    d = w.shape[0] - 1
    a[:] = 0.0
    total, conjugate = 0.0, 0.0
    for r in range(z.shape[0]):
        i = np.uint64(r)
        score = w[d]
        for t in range(first(rows, i), last(rows, i)):
            score += entry(rows, i, t) * w[column(rows, t)]
        z[r] = score
        slope, value = formulas.derivative(loss, score, y[r]), formulas.value(loss, score, y[r])
        total += share[r] * value
        conjugate += share[r] * (score * slope - value)
        c = -share[r] * slope
        if c != 0.0:
            for t in range(first(rows, i), last(rows, i)):
                a[column(rows, t)] += c * entry(rows, i, t)
            a[d] += c
    return total, conjugate


@kernel
def column_norms(rows: Any, share: Any, norms2: Any, counts: Any) -> None:
    """sum_i share_i x_ij^2 of each column, and how many entries it has."""
    norms2[:] = 0.0
    counts[:] = 0
    for r in range(share.shape[0]):
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            x = np.float64(entry(rows, i, t))
            norms2[column(rows, t)] += share[r] * x * x
            counts[column(rows, t)] += 1


@kernel
def gather(rows: Any, position: Any, place: Any, numbers: Any, values: Any) -> None:
    """Copy the columns that have a position, each to where `place` says, which moves on to its end."""
    for r in range(rows.indptr.shape[0] - 1):
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            p = position[column(rows, t)]
            if p >= 0:
                numbers[place[p]] = r
                values[place[p]] = entry(rows, i, t)
                place[p] += 1


@kernel
def weighted_norms(columns: Any, weights: Any, norms2: Any) -> None:
    """sum_i weight_i x_ij^2 of gathered columns, the sum of the weights last."""
    k = norms2.shape[0] - 1
    for m in range(k):
        j, total = np.uint64(m), 0.0
        for t in range(first(columns, j), last(columns, j)):
            x = np.float64(entry(columns, j, t))
            total += weights[column(columns, t)] * x * x
        norms2[m] = total
    norms2[k] = weights.sum()


@kernel
def descend_columns(columns: Any, names: Any, penalty: Any, weights: Any, curvature: Any, free: bool, v: Any, p: Any, path: Any) -> float:
    """A sweep of coordinate descent for each row of `path`, which keeps v after it, on the model whose gradient at v is -X'p.

    Returns the largest move of the last sweep, in the root of what it gains.
    """
    k = v.shape[0] - 1
    largest = 0.0
    for sweep in range(path.shape[0]):
        largest = 0.0
        for m in range(k):
            j, g = np.uint64(m), 0.0
            for t in range(first(columns, j), last(columns, j)):
                g += entry(columns, j, t) * p[column(columns, t)]
            c = max(curvature[m], TINY)
            move = formulas.primal(penalty, c * v[m] + g, c, names[m]) - v[m]
            if move != 0.0:
                v[m] += move
                for t in range(first(columns, j), last(columns, j)):
                    i = column(columns, t)
                    p[i] -= weights[i] * move * entry(columns, j, t)
                largest = max(largest, np.sqrt(c) * abs(move))
        if free and curvature[k] > 0.0:
            move = p.sum() / curvature[k]
            v[k] += move
            for i in range(p.shape[0]):
                p[i] -= weights[i] * move
            largest = max(largest, np.sqrt(curvature[k]) * abs(move))
        for m in range(k + 1):
            path[sweep, m] = v[m]
    return largest


@kernel
def combine(columns: Any, move: Any, along: Any) -> None:
    """along = X move over gathered columns, the intercept's part included."""
    k = move.shape[0] - 1
    along[:] = move[k]
    for m in range(k):
        if move[m] != 0.0:
            j = np.uint64(m)
            for t in range(first(columns, j), last(columns, j)):
                along[column(columns, t)] += move[m] * entry(columns, j, t)


@kernel
def promises(penalty: Any, a: Any, w: Any, curvature: Any, out: Any) -> float:
    """What a step on each coefficient alone promises to gain: curvature/2 move^2; the largest."""
    largest = 0.0
    for j in range(out.shape[0]):
        c = max(curvature[j], TINY)
        move = formulas.primal(penalty, c * w[j] + a[j], c, j) - w[j]
        out[j] = 0.5 * c * move * move
        largest = max(largest, out[j])
    return largest
