"""A pass of Prox-SDCA that also sums its iterates, for the paper's averaging option.

The sums are exact and lazy: a dual variable, or a coefficient, enters its sum when it is about to change, times the number of steps it
stood.
"""

from typing import Any

import numpy as np

from dualgap.kernels.compile import kernel
from dualgap.kernels.epoch import epoch, vector_epoch
from dualgap.rows import column, first, last, weight


@kernel
def averaging_epoch(data: Any, prox: Any, alpha: Any, u: Any, order: Any, scratch: Any, begun: int, sums: Any, dense: bool) -> None:
    """One pass from step `begun` on; `sums` is (alphas, alpha_times, weights, weight_times); `dense` if each step may move all of w."""
    alphas, alpha_times, weights, weight_times = sums
    for t in range(order.shape[0]):
        i = np.uint64(order[t])
        now = begun + t
        stood = now - alpha_times[i]
        alpha_times[i] = now
        if alpha.ndim == 1:
            alphas[i] += stood * alpha[i]
        else:
            for m in range(alpha.shape[1]):
                alphas[i, m] += stood * alpha[i, m]
        if dense:
            for j in range(u.shape[0] - 1):
                add_weight(prox, u, j, now, weights, weight_times)
        else:
            for e in range(first(data.rows, i), last(data.rows, i)):
                add_weight(prox, u, column(data.rows, e), now, weights, weight_times)
        add_weight(prox, u, u.shape[0] - 1, now, weights, weight_times)
        if alpha.ndim == 1:
            epoch(data, prox, alpha, u, order[t : t + 1])
        else:
            vector_epoch(data, prox, alpha, u, order[t : t + 1], scratch)


@kernel
def add_weight(prox: Any, u: Any, j: int, now: int, weights: Any, weight_times: Any) -> None:
    """Bring the sum of coefficient j up to date; the last one is the intercept."""
    stood = now - weight_times[j]
    weight_times[j] = now
    if stood > 0:
        if u.ndim == 1:
            weights[j] += stood * (u[j] * prox.free if j == u.shape[0] - 1 else weight(prox, u[j], j))
        else:
            for m in range(u.shape[1]):
                weights[j, m] += stood * (u[j, m] * prox.free if j == u.shape[0] - 1 else weight(prox, u[j, m], j))


@kernel
def finish(prox: Any, alpha: Any, u: Any, now: int, sums: Any) -> None:
    """Bring all sums up to date."""
    alphas, alpha_times, weights, weight_times = sums
    for i in range(alpha.shape[0]):
        stood = now - alpha_times[i]
        alpha_times[i] = now
        if alpha.ndim == 1:
            alphas[i] += stood * alpha[i]
        else:
            for m in range(alpha.shape[1]):
                alphas[i, m] += stood * alpha[i, m]
    for j in range(u.shape[0]):
        add_weight(prox, u, j, now, weights, weight_times)
