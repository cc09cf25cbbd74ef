"""The sums of which objectives and certificates are made, each in one pass over rows or coefficients, compensated.

Every sum carries the rounding error of its additions along (Neumaier's variant of Kahan's summation), so that what remains is the rounding
of the terms, which `certificate` bounds.
"""

from typing import Any

import numpy as np

from dualgap import formulas
from dualgap.kernels.compile import exact_jitable, exact_kernel, kernel
from dualgap.rows import column, cost_row, entry, first, last

ONE = np.uint64(1)


@exact_jitable
def lost(total: float, term: float) -> float:
    """What is lost to rounding in total + term; nothing where that is infinite."""
    new = total + term
    if abs(new) == np.inf:
        return 0.0
    return (total - new) + term if abs(total) >= abs(term) else (term - new) + total


@kernel
def scores(rows: Any, start: int, w: Any, z: Any) -> None:
    """z = X w + b for the rows from `start` on, w holding the intercept last."""
    for r in range(z.shape[0]):
        i = np.uint64(start + r)
        total = w[w.shape[0] - 1]
        for t in range(first(rows, i), last(rows, i)):
            total += entry(rows, i, t) * w[column(rows, t)]
        z[r] = total


@kernel
def vector_scores(rows: Any, start: int, w: Any, z: Any) -> None:
    """Z = X W + b for the rows from `start` on."""
    for r in range(z.shape[0]):
        i = np.uint64(start + r)
        for m in range(w.shape[1]):
            z[r, m] = w[w.shape[0] - 1, m]
        for t in range(first(rows, i), last(rows, i)):
            j, x = column(rows, t), entry(rows, i, t)
            for m in range(w.shape[1]):
                z[r, m] += x * w[j, m]


@exact_kernel
def transposed(rows: Any, share: Any, alpha: Any, a: Any, low: Any) -> None:
    """a + low = X'(share alpha), the sum of share alpha last; `low` holds what is lost to rounding."""
    d = a.shape[0] - 1
    for r in range(alpha.shape[0]):
        c = share[r] * alpha[r]
        if c != 0.0:
            i = np.uint64(r)
            for t in range(first(rows, i), last(rows, i)):
                j, term = column(rows, t), c * entry(rows, i, t)
                low[j] += lost(a[j], term)
                a[j] += term
            low[d] += lost(a[d], c)
            a[d] += c


@kernel
def transposed_roughly(rows: Any, share: Any, alpha: Any, a: Any) -> None:
    """a = X'(share alpha), the sum of share alpha last, by plain sums."""
    d = a.shape[0] - 1
    total = 0.0
    for r in range(alpha.shape[0]):
        c = share[r] * alpha[r]
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            a[column(rows, t)] += c * entry(rows, i, t)
        total += c
    a[d] = total


@exact_kernel
def vector_transposed(rows: Any, share: Any, alpha: Any, a: Any, low: Any) -> None:
    """The same for alpha with k columns."""
    d, k = a.shape[0] - 1, a.shape[1]
    for r in range(alpha.shape[0]):
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            j, x = column(rows, t), share[r] * entry(rows, i, t)
            for m in range(k):
                term = x * alpha[r, m]
                low[j, m] += lost(a[j, m], term)
                a[j, m] += term
        for m in range(k):
            term = share[r] * alpha[r, m]
            low[d, m] += lost(a[d, m], term)
            a[d, m] += term


@exact_kernel
def transposed_in_blocks(rows: Any, share: Any, alpha: Any, size: int, a: Any, low: Any, part: Any) -> None:
    """The same as `transposed`, with plain sums over blocks of so many rows, which alone are added compensated; `part` holds zeros."""
    d = a.shape[0] - 1
    for start in range(0, alpha.shape[0], size):
        for r in range(start, min(start + size, alpha.shape[0])):
            i, c = np.uint64(r), share[r] * alpha[r]
            for t in range(first(rows, i), last(rows, i)):
                part[column(rows, t)] += c * entry(rows, i, t)
            low[d] += lost(a[d], c)
            a[d] += c
        for j in range(d):
            low[j] += lost(a[j], part[j])
            a[j] += part[j]
            part[j] = 0.0


@exact_kernel
def vector_transposed_in_blocks(rows: Any, share: Any, alpha: Any, size: int, a: Any, low: Any, part: Any) -> None:
    """The same for alpha with k columns."""
    d, k = a.shape[0] - 1, a.shape[1]
    for start in range(0, alpha.shape[0], size):
        for r in range(start, min(start + size, alpha.shape[0])):
            i = np.uint64(r)
            for t in range(first(rows, i), last(rows, i)):
                j, x = column(rows, t), share[r] * entry(rows, i, t)
                for m in range(k):
                    part[j, m] += x * alpha[r, m]
            for m in range(k):
                term = share[r] * alpha[r, m]
                low[d, m] += lost(a[d, m], term)
                a[d, m] += term
        for j in range(d):
            for m in range(k):
                low[j, m] += lost(a[j, m], part[j, m])
                a[j, m] += part[j, m]
                part[j, m] = 0.0


@exact_kernel
def add_compensated(terms: Any, a: Any, low: Any) -> None:
    """a += terms, with what is lost to rounding added to `low`."""
    for j in range(a.shape[0]):
        low[j] += lost(a[j], terms[j])
        a[j] += terms[j]


@exact_kernel
def loss_sum(loss: Any, z: Any, y: Any, share: Any, norms2: Any) -> tuple[float, float]:
    """The weighted mean of phi, and that of |phi'| |x|, its sensitivity to rounding of the scores."""
    total, low, sensitivity = 0.0, 0.0, 0.0
    for r in range(z.shape[0]):
        term = share[r] * formulas.value(loss, z[r], y[r])
        low += lost(total, term)
        total += term
        sensitivity += share[r] * abs(formulas.derivative(loss, z[r], y[r])) * np.sqrt(norms2[r] + 1.0)
    return total + low, sensitivity


@exact_kernel
def shifted_derivative(loss: Any, z: Any, side: float, size: Any, t: float, y: Any, share: Any) -> tuple[float, float]:
    """The weighted mean of phi'(z + side size + t), and that of its absolute value."""
    total, low, scale = 0.0, 0.0, 0.0
    for r in range(z.shape[0]):
        term = share[r] * formulas.derivative(loss, z[r] + side * size[r] + t, y[r])
        low += lost(total, term)
        total += term
        scale += abs(term)
    return total + low, scale


@exact_kernel
def vector_loss_sum(loss: Any, start: int, z: Any, y: Any, share: Any, norms2: Any, g: Any) -> tuple[float, float]:
    """The same for a vector-valued loss; `g` holds k numbers."""
    total, low, sensitivity = 0.0, 0.0, 0.0
    k = z.shape[1]
    for r in range(z.shape[0]):
        c = loss.costs[cost_row(loss, y[r], start + r)]
        term = share[r] * formulas.vector_value(loss, z[r], y[r], c)
        low += lost(total, term)
        total += term
        formulas.vector_derivative(loss, z[r], y[r], c, g)
        size = 0.0
        for m in range(k):
            size += abs(g[m])
        sensitivity += share[r] * size * np.sqrt(norms2[r] + 1.0)
    return total + low, sensitivity


@exact_kernel
def conjugate_sum(loss: Any, alpha: Any, scale: float, y: Any, share: Any, norms2: Any) -> tuple[float, float, float]:
    """The weighted means of phi*(-scale alpha), of its absolute value, and of |alpha| |x|."""
    total, low, size, sensitivity = 0.0, 0.0, 0.0, 0.0
    for r in range(alpha.shape[0]):
        term = share[r] * formulas.conjugate(loss, -scale * alpha[r], y[r])
        low += lost(total, term)
        total += term
        size += abs(term)
        sensitivity += share[r] * abs(alpha[r]) * np.sqrt(norms2[r] + 1.0)
    return total + low, size, sensitivity


@exact_kernel
def vector_conjugate_sum(
    loss: Any, start: int, alpha: Any, scale: float, y: Any, share: Any, norms2: Any, b: Any
) -> tuple[float, float, float]:
    """The same for a vector-valued loss and the rows from `start` on; `b` holds k numbers."""
    total, low, size, sensitivity = 0.0, 0.0, 0.0, 0.0
    k = alpha.shape[1]
    for r in range(alpha.shape[0]):
        length = 0.0
        for m in range(k):
            b[m] = -scale * alpha[r, m]
            length += abs(alpha[r, m])
        term = share[r] * formulas.vector_conjugate(loss, b, y[r], loss.costs[cost_row(loss, y[r], start + r)])
        low += lost(total, term)
        total += term
        size += abs(term)
        sensitivity += share[r] * length * np.sqrt(norms2[r] + 1.0)
    return total + low, size, sensitivity


@exact_kernel
def dual_points(loss: Any, z: Any, y: Any, alpha: Any) -> None:
    """alpha = -phi'(z), the dual point of a primal one; it may take the place of z."""
    for r in range(z.shape[0]):
        alpha[r] = -formulas.derivative(loss, z[r], y[r])


@exact_kernel
def vector_dual_points(loss: Any, start: int, z: Any, y: Any, alpha: Any, g: Any) -> None:
    """The same for a vector-valued loss; `g` holds k numbers."""
    k = z.shape[1]
    for r in range(z.shape[0]):
        c = loss.costs[cost_row(loss, y[r], start + r)]
        formulas.vector_derivative(loss, z[r], y[r], c, g)
        for m in range(k):
            alpha[r, m] = -g[m]


@exact_kernel
def balance(loss: Any, alpha: Any, y: Any, share: Any, columns: Any, t: Any, excess: Any, slope: Any, out: Any) -> None:
    """Move each alpha by its room times columns'(t), clipped to its domain: `out`, sum of share out columns, and the slope of that in t.

    A dual variable inside its interval has the most room, one at an end little, so that what is optimal at a bound tends to stay there.
    """
    p = columns.shape[1]
    excess[:] = 0.0
    slope[:] = 0.0
    for r in range(alpha.shape[0]):
        low, high = formulas.domain(loss, alpha[r], y[r])
        below, above = alpha[r] - low, high - alpha[r]
        if below == np.inf and above == np.inf:
            room = 1.0
        elif below == np.inf or above == np.inf:
            room = min(1.0, below, above) + 1e-3
        else:
            width = max(high - low, 1e-300)
            room = 4.0 * below * above / width + 1e-3 * width
        move = 0.0
        for m in range(p):
            move += columns[r, m] * t[m]
        new = alpha[r] + room * move
        inside = low < new < high
        new = max(low, min(high, new))
        out[r] = new
        for m in range(p):
            excess[m] += share[r] * new * columns[r, m]
            if inside:
                for l in range(p):
                    slope[m, l] += share[r] * room * columns[r, m] * columns[r, l]


@exact_kernel
def penalty_sum(penalty: Any, w: Any) -> float:
    """R(w) of a separable penalty; w has two dimensions."""
    total, low = 0.0, 0.0
    for j in range(w.shape[0]):
        for m in range(w.shape[1]):
            term = formulas.penalty_value(penalty, w[j, m], j)
            low += lost(total, term)
            total += term
    return total + low


@exact_kernel
def penalty_conjugate_sum(penalty: Any, a: Any, scale: float) -> float:
    """R*(scale a) of a separable penalty; a has two dimensions."""
    total, low = 0.0, 0.0
    for j in range(a.shape[0]):
        for m in range(a.shape[1]):
            term = formulas.penalty_conjugate(penalty, scale * a[j, m], j)
            if term == np.inf:
                return np.inf
            low += lost(total, term)
            total += term
    return total + low


@kernel
def differences(p: Any, q: Any, r: Any, s: Any) -> float:
    """The inner product of p - q and r - s, without an array for either; all have two dimensions."""
    total = 0.0
    for j in range(p.shape[0]):
        for m in range(p.shape[1]):
            total += (p[j, m] - q[j, m]) * (r[j, m] - s[j, m])
    return total


@kernel
def penalty_conjugate_estimate(penalty: Any, a: Any, scale: float) -> float:
    """R*(scale a) for a search: its sum is plain, several elements at a time."""
    total = 0.0
    for j in range(a.shape[0]):
        for m in range(a.shape[1]):
            total += formulas.penalty_conjugate(penalty, scale * a[j, m], j)
    return total


@kernel
def read_weights(prox: Any, u: Any, w: Any) -> None:
    """The w that belongs to u; both have two dimensions and the intercept last."""
    d = u.shape[0] - 1
    for m in range(u.shape[1]):
        for j in range(d):
            w[j, m] = formulas.primal(prox.penalty, u[j, m], prox.kappa, j)
        w[d, m] = u[d, m] * prox.free


@kernel
def row_norms(rows: Any, width: int, norms2: Any) -> bool:
    """|x_i|^2 of each row; False if a row has unsorted or repeated columns, or one outside 0 .. width - 1 (its norm is set to nan)."""
    canonical = True
    for r in range(norms2.shape[0]):
        i = np.uint64(r)
        begin, end = first(rows, i), last(rows, i)
        total = 0.0
        for t in range(begin, end):
            x = np.float64(entry(rows, i, t))
            total += x * x
        inside = ordered = True
        for t in range(begin, end):
            # an index that was negative is a large one as an unsigned number
            inside &= column(rows, t) < np.uint64(width)
        for t in range(begin + ONE, end):
            ordered &= column(rows, t - ONE) < column(rows, t)
        canonical &= ordered
        norms2[r] = total if inside else np.nan
    return canonical


@kernel
def merged_row_norms(rows: Any, sums: Any, norms2: Any) -> None:
    """|x_i|^2 where a row may hold a column several times; `sums` holds d zeros, and does so again afterwards."""
    for r in range(norms2.shape[0]):
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            sums[column(rows, t)] += entry(rows, i, t)
        total = 0.0
        for t in range(first(rows, i), last(rows, i)):
            x = sums[column(rows, t)]
            total += x * x
            sums[column(rows, t)] = 0.0
        norms2[r] = total


@kernel
def metric_row_norms(rows: Any, metric: Any, p: float, norms2: Any) -> None:
    """sum_j metric_j x_ij^2 of each row, or |x_i|_p^2 for p other than 2 (metric then is not read)."""
    for r in range(norms2.shape[0]):
        i = np.uint64(r)
        total, top = 0.0, 0.0
        for t in range(first(rows, i), last(rows, i)):
            top = max(top, abs(np.float64(entry(rows, i, t))))
        if top > 0.0 and p < np.inf:
            for t in range(first(rows, i), last(rows, i)):
                x = np.float64(entry(rows, i, t))
                if p == 2.0:
                    total += metric[column(rows, t)] * x * x
                elif x != 0.0:
                    total += np.exp(p * np.log(abs(x) / top))
            norms2[r] = total if p == 2.0 else top * top * total ** (2.0 / p)
        else:
            norms2[r] = top * top


@kernel
def shuffle(order: Any, seed: Any) -> None:
    """A random permutation of `order` (Fisher and Yates); `seed` holds the state of an xorshift generator."""
    x = seed[0]
    for t in range(order.shape[0] - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        r = np.int64(((x >> np.uint64(32)) * np.uint64(t + 1)) >> np.uint64(32))
        order[t], order[r] = order[r], order[t]
    seed[0] = x


@kernel
def draw(order: Any, rows: int, seed: Any) -> None:
    """Rows drawn uniformly and independently."""
    x = seed[0]
    for t in range(order.shape[0]):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        order[t] = ((x >> np.uint64(32)) * np.uint64(rows)) >> np.uint64(32)
    seed[0] = x
