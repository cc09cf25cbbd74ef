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
def column_norms(rows: Any, share: Any, norms2: Any) -> None:
    """sum_i share_i x_ij^2 of each column."""
    norms2[:] = 0.0
    for r in range(share.shape[0]):
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            x = np.float64(entry(rows, i, t))
            norms2[column(rows, t)] += share[r] * x * x


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
