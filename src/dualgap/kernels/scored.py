"""A pass of Prox-SDCA that also notes, for each row, how much its step gained, and sums the losses it meets on the way.

The square of a score, share (new - old)^2 (q + gamma), bounds twice what the step added to the dual objective; the rows that carry most of
it are worth another visit before the rest. Scores are kept in single precision, whose range they as roots do not leave. The losses are
those at the iterates of the pass, so their sum is an estimate of the primal loss that costs no pass.
"""

import math
from typing import Any

import numpy as np

from dualgap.formulas import smoothness, step, value, vector_step, vector_value
from dualgap.kernels.ahead import look_ahead
from dualgap.kernels.compile import kernel
from dualgap.rows import axpy, axpys, cost_row, dot, dots, first, last

BUCKETS, ENOUGH = 4096, 1 << 14


@kernel
def scored_epoch(data: Any, prox: Any, alpha: Any, u: Any, order: Any, scores: Any) -> float:
    """Prox-SDCA for scalar dual variables, with scores; returns the sum of share times loss."""
    gamma = smoothness(data.loss)
    total = 0.0
    for t in range(order.shape[0]):
        look_ahead(data, alpha, u, order, t)
        i = np.uint64(order[t])
        z = dot(data.rows, i, prox, u)
        q = data.share[i] * (data.norms2[i] * prox.inverse + prox.free)
        old = alpha[i]
        new = step(data.rule, data.loss, old, data.y[i], z, q)
        scores[i] = abs(new - old) * math.sqrt(data.share[i] * (q + gamma))
        total += data.share[i] * value(data.loss, z, data.y[i])
        if new != old:
            axpy(data.rows, i, data.share[i] * (new - old), prox, u)
            alpha[i] = new
    return total


@kernel
def vector_scored_epoch(data: Any, prox: Any, alpha: Any, u: Any, order: Any, scratch: Any, scores: Any) -> float:
    """The same for vector-valued dual variables; `scratch` holds 4 x k numbers."""
    k = u.shape[1]
    gamma = smoothness(data.loss)
    z, new, work = scratch[:k], scratch[k : 2 * k], scratch[2 * k :]
    total = 0.0
    for t in range(order.shape[0]):
        look_ahead(data, alpha, u, order, t)
        i = np.uint64(order[t])
        y = data.y[i]
        row = cost_row(data.loss, y, i)
        dots(data.rows, i, prox, u, z)
        q = data.share[i] * (data.norms2[i] * prox.inverse + prox.free)
        total += data.share[i] * vector_value(data.loss, z, y, data.loss.costs[row])
        vector_step(data.rule, data.loss, alpha[i], y, data.loss.costs[row], z, q, new, work)
        length = 0.0
        for m in range(k):
            work[m] = new[m] - alpha[i, m]
            length += work[m] * work[m]
            alpha[i, m] = new[m]
        scores[i] = math.sqrt(length * data.share[i] * (q + gamma))
        if length > 0.0:
            axpys(data.rows, i, data.share[i], work, prox, u)
    return total


@kernel
def small_scores(scores: Any, part: float, buckets: Any) -> tuple[float, float]:
    """A threshold below which the squares carry about `part` of their total, and the total.

    The threshold comes from a histogram of the exponents of some ten thousand squares.
    """
    buckets[:] = 0.0
    total, some = 0.0, 0.0
    for i in range(scores.shape[0]):
        total += np.float64(scores[i]) * np.float64(scores[i])
    for i in range(0, scores.shape[0], 1 + scores.shape[0] // ENOUGH):
        square = np.float64(scores[i]) * np.float64(scores[i])
        if square > 0.0:
            some += square
            mantissa, exponent = math.frexp(square)
            buckets[2 * (exponent + 1023) + (1 if mantissa >= 0.75 else 0)] += square
    carried = 0.0
    for b in range(buckets.shape[0]):
        carried += buckets[b]
        if carried > part * some:
            return math.sqrt(math.ldexp(0.75 if b % 2 else 0.5, b // 2 - 1023)), total
    return 0.0, total


@kernel
def carried_by(scores: Any, chosen: Any) -> float:
    """The sum of the squares of the scores of some rows."""
    total = 0.0
    for t in range(chosen.shape[0]):
        total += np.float64(scores[chosen[t]]) * np.float64(scores[chosen[t]])
    return total


@kernel
def entries_of(rows: Any, chosen: Any) -> int:
    """How many entries some rows have."""
    total = 0
    for t in range(chosen.shape[0]):
        i = np.uint64(chosen[t])
        total += int(last(rows, i) - first(rows, i))
    return total


@kernel
def rows_above(scores: Any, threshold: float, out: Any) -> int:
    """The rows whose score is above the threshold."""
    count = 0
    for i in range(scores.shape[0]):
        out[count] = i
        count += scores[i] > threshold
    return count
