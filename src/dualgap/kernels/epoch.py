"""One pass of Prox-SDCA over the rows of `order`, for a scalar and for a vector-valued loss: the loop of the paper's first figure.

    for each row i:    z = x_i'w
                       new = argmax over a of -phi_i*(-a) - z (a - alpha_i) - q/2 |a - alpha_i|^2,    q = s_i/S |x_i|^2 / (lambda + kappa)
                       u += s_i/S (new - alpha_i) x_i,    alpha_i = new

The state is alpha and u = X'(s alpha)/S + kappa y. The coefficients w = argmin R(w) + kappa/2 |w|^2 - u'w are nowhere stored: each is read
from its u, through the penalty, where a row meets it. The update rule stands for the argmax, or what the paper's Options II to V put in its
place. The intercept is a feature that is 1 in every row; it comes last in u, and `free` is what 1/(lambda + kappa) is for it.

Neither loop knows the storage of the rows, the loss, the penalty, the update rule, or whether it runs inside the acceleration.
"""

from typing import Any, NamedTuple

import numpy as np

from dualgap.formulas import step, vector_step
from dualgap.kernels.ahead import look_ahead
from dualgap.kernels.compile import kernel
from dualgap.rows import axpy, axpys, cost_row, dot, dots


class Data(NamedTuple):
    """What an epoch reads: rows, targets, s_i/S, |x_i|^2 (in the metric of the penalty) and the loss with the rule to step by."""

    rows: Any
    y: Any
    share: Any
    norms2: Any
    loss: Any
    rule: Any


class Prox(NamedTuple):
    """The regularizer of the subproblem, R(w) + kappa/2 |w|^2: `inverse` is 1/(lambda + kappa), `free` the same of the intercept."""

    penalty: Any
    kappa: float
    inverse: float
    free: float


@kernel
def epoch(data: Any, prox: Any, alpha: Any, u: Any, order: Any) -> None:
    """Prox-SDCA for scalar dual variables."""
    for t in range(order.shape[0]):
        look_ahead(data, alpha, u, order, t)
        i = np.uint64(order[t])
        z = dot(data.rows, i, prox, u)
        q = data.share[i] * (data.norms2[i] * prox.inverse + prox.free)
        new = step(data.rule, data.loss, alpha[i], data.y[i], z, q)
        if new != alpha[i]:
            axpy(data.rows, i, data.share[i] * (new - alpha[i]), prox, u)
            alpha[i] = new


@kernel
def vector_epoch(data: Any, prox: Any, alpha: Any, u: Any, order: Any, scratch: Any) -> None:
    """Prox-SDCA for vector-valued dual variables; `scratch` holds 4 x k numbers."""
    k = u.shape[1]
    z, new, work = scratch[:k], scratch[k : 2 * k], scratch[2 * k :]
    for t in range(order.shape[0]):
        look_ahead(data, alpha, u, order, t)
        i = np.uint64(order[t])
        y = data.y[i]
        dots(data.rows, i, prox, u, z)
        q = data.share[i] * (data.norms2[i] * prox.inverse + prox.free)
        vector_step(data.rule, data.loss, alpha[i], y, data.loss.costs[cost_row(data.loss, y, i)], z, q, new, work)
        for m in range(k):
            work[m] = new[m] - alpha[i, m]
            alpha[i, m] = new[m]
        axpys(data.rows, i, data.share[i], work, prox, u)
