"""A pass of Prox-SDCA over the rows that are still of interest, which sets aside those whose dual variable is sure to stay where it is."""

from typing import Any

import numpy as np

from dualgap.formulas import conjugate, step, value
from dualgap.kernels.compile import kernel
from dualgap.kernels.epoch import look_ahead
from dualgap.rows import axpy, dot


@kernel
def shrinking_epoch(data: Any, prox: Any, alpha: Any, u: Any, order: Any, margin: float) -> tuple[int, float, float]:
    """Prox-SDCA over `order`; rows whose step stays put for all scores within `margin` of theirs go to the end of it.

    Returns how many rows are left, the largest move of a score that a step stands for, and the gap that the rows had when they were met.
    """
    count, t, largest, gap = order.shape[0], 0, 0.0, 0.0
    while t < count:
        look_ahead(data, alpha, order, t)
        i = np.uint64(order[t])
        z = dot(data.rows, i, prox, u)
        q = data.share[i] * (data.norms2[i] * prox.inverse + prox.free)
        old, y = alpha[i], data.y[i]
        gap += data.share[i] * (value(data.loss, z, y) + conjugate(data.loss, -old, y) + old * z)
        new = step(data.rule, data.loss, old, y, z, q)
        if new != old:
            largest = max(largest, abs(new - old) * q)
            axpy(data.rows, i, data.share[i] * (new - old), prox, u)
            alpha[i] = new
        elif step(data.rule, data.loss, old, y, z + margin, q) == old and step(data.rule, data.loss, old, y, z - margin, q) == old:
            count -= 1
            order[t], order[count] = order[count], order[t]
            continue
        t += 1
    return count, largest, gap
