"""Passes of Prox-SDCA that set rows aside, and the step along the last of these passes.

A row is set aside when its dual variable stays where it is at its score and at all within a margin of it: then it is at an end of its
interval, or at a kink between, and its loss is linear nearby.
"""

from typing import Any, NamedTuple

import numpy as np

from dualgap import formulas
from dualgap.formulas import conjugate, domain, smoothness, step, value
from dualgap.kernels.ahead import look_ahead
from dualgap.kernels.compile import jitable, kernel
from dualgap.rows import axpy, dot, first, last, weight


class Trail(NamedTuple):
    """What the last passes have left: the slope of phi* at each -alpha, and how far each pass moved alpha (n x m) and u (d+1 x m)."""

    slopes: Any
    moves: Any
    shifts: Any


@jitable
def stays(data: Any, old: Any, y: Any, z: Any, q: Any, margin: Any) -> Any:
    """Whether a dual variable would stay where it is at all scores within the margin."""
    return step(data.rule, data.loss, old, y, z + margin, q) == old and step(data.rule, data.loss, old, y, z - margin, q) == old


@kernel
def shrinking_epoch(
    data: Any, prox: Any, alpha: Any, u: Any, order: Any, rows: Any, aside: Any, margin: float, trail: Any, slot: int
) -> tuple[int, int, Any, float, float]:
    """Prox-SDCA over order[rows[0]:rows[1]]; rows that stay are moved to `aside`, from rows[3] on, and the others to order[rows[2]:].

    Returns where these two end, the entries read, the largest move of a score that a step stands for, and the gap of the rows when met.
    """
    kept, found, largest, gap = rows[2], rows[3], 0.0, 0.0
    entries = np.int64(0)
    part = order[: rows[1]]
    for t in range(rows[0], rows[1]):
        look_ahead(data, alpha, u, part, t)
        i = np.uint64(order[t])
        entries += np.int64(last(data.rows, i) - first(data.rows, i))
        z = dot(data.rows, i, prox, u)
        q = data.share[i] * (data.norms2[i] * prox.inverse + prox.free)
        old, y = alpha[i], data.y[i]
        gap += data.share[i] * (value(data.loss, z, y) + conjugate(data.loss, -old, y) + old * z)
        new = step(data.rule, data.loss, old, y, z, q)
        trail.moves[i, slot] = new - old
        trail.slopes[i] = z + q * (new - old)
        if new != old:
            largest = max(largest, abs(new - old) * q)
            axpy(data.rows, i, data.share[i] * (new - old), prox, u)
            alpha[i] = new
        elif margin < np.inf and stays(data, old, y, z, q, margin):
            aside[found] = order[t]
            found += 1
            continue
        order[kept] = order[t]
        kept += 1
    return kept, found, entries, largest, gap


@kernel
def choose_rows(data: Any, prox: Any, alpha: Any, z: Any, margin: float, order: Any, aside: Any) -> int:
    """Rows that do not stay put at scores within a margin of z come first in `order`; how many these are."""
    kept = found = 0
    for t in range(order.shape[0]):
        i = order[t]
        q = data.share[i] * (data.norms2[i] * prox.inverse + prox.free)
        if margin < np.inf and stays(data, alpha[i], data.y[i], z[i], q, margin):
            aside[found] = i
            found += 1
        else:
            order[kept] = i
            kept += 1
    for t in range(found):
        order[kept + t] = aside[t]
    return kept


@kernel
def clear(trail: Any, order: Any, slot: int) -> None:
    """Forget the moves of a pass."""
    for t in range(order.shape[0]):
        trail.moves[order[t], slot] = 0.0


@kernel
def quadratic_model(data: Any, prox: Any, u: Any, before: Any, order: Any, trail: Any, slot: int, slope: Any, curvature: Any) -> None:
    """The dual objective as a quadratic of the coefficients of the moves: its slope, and minus its second derivatives.

    The pass just made went from `before` to u. How w follows u is taken from it, coordinate by coordinate.
    """
    m = slope.shape[0]
    slope[:] = 0.0
    curvature[:] = 0.0
    end = u.shape[0] - 1
    for j in range(u.shape[0]):
        shift = u[j] - before[j]
        trail.shifts[j, slot] = shift
        if j < end:
            w = weight(prox, u[j], j)
            gain = (w - weight(prox, before[j], j)) / shift if shift != 0.0 else 0.0
        else:
            w, gain = u[j] * prox.free, prox.free
        for k in range(m):
            slope[k] -= w * trail.shifts[j, k]
            for l in range(k + 1):
                curvature[k, l] += gain * trail.shifts[j, k] * trail.shifts[j, l]
    gamma = smoothness(data.loss)
    for t in range(order.shape[0]):
        i = order[t]
        for k in range(m):
            p = data.share[i] * trail.moves[i, k]
            slope[k] += trail.slopes[i] * p
            for l in range(k + 1):
                curvature[k, l] += gamma * p * trail.moves[i, l]
    for k in range(m):
        for l in range(k):
            curvature[l, k] = curvature[k, l]


@kernel
def combine(
    data: Any, prox: Any, alpha: Any, u: Any, order: Any, active: int, trail: Any, c: Any, step: Any, ahead: Any
) -> tuple[float, float]:
    """A step along the moves with coefficients c that stays in the domain: `step` is that of alpha, `ahead` where it takes u.

    Only the first `active` rows make it: the others have moved of late, but are set aside. Returns the slope of the dual objective along
    it, and minus its second derivative.
    """
    m = c.shape[0]
    for j in range(u.shape[0]):
        total = u[j]
        for k in range(m):
            total += c[k] * trail.shifts[j, k]
        ahead[j] = total
    slope, curvature, gamma = 0.0, 0.0, smoothness(data.loss)
    for t in range(order.shape[0]):
        i = np.uint64(order[t])
        p = 0.0
        for k in range(m):
            p += c[k] * trail.moves[i, k]
        low, high = domain(data.loss, alpha[i], data.y[i])
        new = max(low, min(high, alpha[i] + p)) if t < active else alpha[i]
        step[i] = new - alpha[i]
        if new != alpha[i] + p:
            axpy(data.rows, i, data.share[i] * (step[i] - p), prox, ahead)
        slope += data.share[i] * trail.slopes[i] * step[i]
        curvature += data.share[i] * gamma * step[i] * step[i]
    for j in range(u.shape[0] - 1):
        shift, w = ahead[j] - u[j], weight(prox, u[j], j)
        slope -= w * shift
        curvature += (weight(prox, ahead[j], j) - w) * shift
    shift = ahead[u.shape[0] - 1] - u[u.shape[0] - 1]
    return slope - u[u.shape[0] - 1] * prox.free * shift, curvature + prox.free * shift * shift


@jitable
def held(prox: Any, u: Any, j: Any) -> Any:
    """The conjugate of the regularizer of a coefficient at its u."""
    w = weight(prox, u, j)
    return u * w - formulas.penalty_value(prox.penalty, w, j) - 0.5 * prox.kappa * w * w


@kernel
def gained(data: Any, prox: Any, alpha: Any, u: Any, order: Any, step: Any, ahead: Any, t: float) -> float:
    """What t times a step adds to the dual objective."""
    total, end = 0.0, u.shape[0] - 1
    for r in range(order.shape[0]):
        i = order[r]
        if step[i] != 0.0:
            new = within(data, alpha[i], data.y[i], t * step[i])
            total += data.share[i] * (conjugate(data.loss, -alpha[i], data.y[i]) - conjugate(data.loss, -new, data.y[i]))
    for j in range(end):
        total += held(prox, u[j], j) - held(prox, u[j] + t * (ahead[j] - u[j]), j)
    there = u[end] + t * (ahead[end] - u[end])
    return float(total + 0.5 * prox.free * (u[end] * u[end] - there * there))


@jitable
def within(data: Any, alpha: Any, y: Any, step: Any) -> Any:
    """alpha + step, in the domain whatever rounding does."""
    low, high = domain(data.loss, alpha, y)
    return max(low, min(high, alpha + step))


@kernel
def take(data: Any, alpha: Any, u: Any, order: Any, trail: Any, slot: int, step: Any, ahead: Any, t: float) -> None:
    """Make t times a step, as a part of the last pass."""
    for r in range(order.shape[0]):
        i = order[r]
        if step[i] != 0.0:
            new = within(data, alpha[i], data.y[i], t * step[i])
            trail.moves[i, slot] += new - alpha[i]
            alpha[i] = new
    for j in range(u.shape[0]):
        shift = t * (ahead[j] - u[j])
        trail.shifts[j, slot] += shift
        u[j] += shift
