"""What working sets of coefficients need: all correlations in one pass over the rows, and which coefficients would move.

X is stored by rows and stays so. A pass gives the scores and, with a row still at hand, adds its part to X'(s alpha)/S, so that the
correlations of all features with the dual point -phi'(X w), which certify w as well, cost one reading of X.
"""

from typing import Any

import numpy as np

from dualgap import formulas
from dualgap.kernels.compile import exact_kernel, jitable, kernel
from dualgap.kernels.gap import lost
from dualgap.rows import column, entry, first, last

TINY = 1e-300


@jitable
def score(rows: Any, i: Any, w: Any) -> float:
    """x_i'w + b, w holding the intercept last."""
    total = w[w.shape[0] - 1]
    for t in range(first(rows, i), last(rows, i)):
        total += entry(rows, i, t) * w[column(rows, t)]
    return float(total)


@exact_kernel
def look(rows: Any, loss: Any, y: Any, share: Any, w: Any, size: int, z: Any, alpha: Any, a: Any, low: Any, part: Any) -> None:
    """z = X w + b, alpha = -phi'(z) and a + low = X'(share alpha) with the sum last, each row while it is at hand.

    Sums are plain over blocks of so many rows, which alone are added compensated; `a`, `low` and `part` hold zeros.
    """
    d = w.shape[0] - 1
    for start in range(0, z.shape[0], size):
        for r in range(start, min(start + size, z.shape[0])):
            i = np.uint64(r)
            z[r] = score(rows, i, w)
            alpha[r] = -formulas.derivative(loss, z[r], y[r])
            c = share[r] * alpha[r]
            if c != 0.0:
                for t in range(first(rows, i), last(rows, i)):
                    part[column(rows, t)] += c * entry(rows, i, t)
                low[d] += lost(a[d], c)
                a[d] += c
        for j in range(d):
            low[j] += lost(a[j], part[j])
            a[j] += part[j]
            part[j] = 0.0


@kernel
def column_norms(rows: Any, share: Any, step: int, norms2: Any, counts: Any) -> None:
    """sum_i share_i x_ij^2 of each column, and how many entries it has, from every so many rows."""
    norms2[:] = 0.0
    counts[:] = 0
    for r in range(0, share.shape[0], step):
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            x = np.float64(entry(rows, i, t))
            norms2[column(rows, t)] += share[r] * x * x
            counts[column(rows, t)] += 1


@kernel
def count(rows: Any, position: Any, counts: Any) -> None:
    """How many entries each of the columns has that have a position."""
    for t in range(rows.indptr[rows.indptr.shape[0] - 1]):
        p = position[rows.indices[t]]
        if p >= 0:
            counts[p] += 1


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
def descend_columns(
    columns: Any, names: Any, penalty: Any, weights: Any, curvature: Any, free: bool, v: Any, p: Any, inner: int, path: Any
) -> float:
    """For each row of `path`, a sweep of coordinate descent and some over the coefficients that are not zero; the row keeps v after them.

    The model has the gradient -X'p at v. Returns the largest move of the last whole sweep, in the root of what it gains.
    """
    k = v.shape[0] - 1
    largest = 0.0
    for sweep in range((inner + 1) * path.shape[0]):
        whole = sweep % (inner + 1) == 0
        largest = 0.0 if whole else largest
        for m in range(k):
            if whole or v[m] != 0.0:
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
                    if whole:
                        largest = max(largest, np.sqrt(c) * abs(move))
        if free and curvature[k] > 0.0:
            move = p.sum() / curvature[k]
            v[k] += move
            for i in range(p.shape[0]):
                p[i] -= weights[i] * move
            if whole:
                largest = max(largest, np.sqrt(curvature[k]) * abs(move))
        if sweep % (inner + 1) == inner:
            for m in range(k + 1):
                path[sweep // (inner + 1), m] = v[m]
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
