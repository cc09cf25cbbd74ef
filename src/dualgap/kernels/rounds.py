"""A pass of Prox-SDCA on several threads, each with its own copy of u and its own rows; the copies are merged now and then.

    each thread:    Prox-SDCA on its rows of the round, on its copy of u
    meet
    each thread:    u + the sum of all changes, in its range of the features, written to all copies
    meet

A row sees all moves but those that the other threads made in the same round. The dual objective of the subproblem rises by what the steps
gain by themselves, less

    X = R*(u + sum_g change_g) - R*(u) - sum_g (R*(u + change_g) - R*(u))

which is summed as the copies are merged. A round that was a loss is taken back in part, so that every round ascends, and the length of
rounds follows X as that of blocks does in `blocks`.
"""

from typing import Any, NamedTuple

import numpy as np

from dualgap.kernels.ahead import look_ahead
from dualgap.kernels.blocks import CHANGE, FIRST, GOOD, LENGTH, MOST_POOR, POOR, STEPS, follow, judge, take_back, take_step
from dualgap.kernels.compile import jitable, kernel
from dualgap.kernels.threads import wait
from dualgap.rows import axpy, axpys, dot, dots, weight


class Copies(NamedTuple):
    """What the threads share during a pass: u before and after a round, the copies of it, old alphas, moves, sums and losses met."""

    u: Any
    copies: Any
    old: Any
    moves: Any
    scratch: Any
    sums: Any
    losses: Any
    pace: Any
    length: Any


@jitable
def weight_at(prox: Any, u: Any, j: Any, d: Any) -> Any:
    """w_j, or the intercept for j = d."""
    return u * prox.free if j == d else weight(prox, u, j)


@jitable
def merge(prox: Any, u: Any, merged: Any, copies: Any, low: int, high: int) -> float:
    """Write u + the sum of the changes of all copies to `merged` and to all copies, for some features; returns their share in X."""
    d, cross = u.shape[0] - 1, 0.0
    for j in range(low, high):
        if u.ndim == 1:
            new = u[j]
            for g in range(copies.shape[0]):
                new += copies[g, j] - u[j]
            w = weight_at(prox, new, j, d)
            for g in range(copies.shape[0]):
                cross += (w - weight_at(prox, copies[g, j], j, d)) * (copies[g, j] - u[j])
                copies[g, j] = new
            merged[j] = new
        else:
            for m in range(u.shape[1]):
                new = u[j, m]
                for g in range(copies.shape[0]):
                    new += copies[g, j, m] - u[j, m]
                w = weight_at(prox, new, j, d)
                for g in range(copies.shape[0]):
                    cross += (w - weight_at(prox, copies[g, j, m], j, d)) * (copies[g, j, m] - u[j, m])
                    copies[g, j, m] = new
                merged[j, m] = new
    return 0.5 * cross


@jitable
def copy(u: Any, to: Any, low: int, high: int) -> None:
    """Copy some features."""
    for j in range(low, high):
        if u.ndim == 1:
            to[j] = u[j]
        else:
            for m in range(u.shape[1]):
                to[j, m] = u[j, m]


@jitable
def shrink(u: Any, merged: Any, kept: float, low: int, high: int) -> None:
    """Keep only a part of the change of some features."""
    for j in range(low, high):
        if u.ndim == 1:
            merged[j] = u[j] + kept * (merged[j] - u[j])
        else:
            for m in range(u.shape[1]):
                merged[j, m] = u[j, m] + kept * (merged[j, m] - u[j, m])


@jitable
def work_on(data: Any, prox: Any, alpha: Any, u: Any, rows: Any, f: int, work: Any, sums: Any, scores: Any) -> None:
    """Prox-SDCA on some rows, with what is needed to judge it and to take it back."""
    sums[:] = 0.0
    for r in range(rows.shape[0]):
        look_ahead(data, alpha, u, rows, r)
        i = np.uint64(rows[r])
        if alpha.ndim == 1:
            z = dot(data.rows, i, prox, u)
            work.losses[f, 0] += take_step(data, prox, alpha, i, z, work.old[f], work.moves[f], r, work.scratch[f], sums, scores, True)
            if work.moves[f, r] != 0.0:
                axpy(data.rows, i, work.moves[f, r], prox, u)
        else:
            k = alpha.shape[1]
            zs, spare = work.scratch[f, :k], work.scratch[f, k:]
            dots(data.rows, i, prox, u, zs)
            work.losses[f, 0] += take_step(data, prox, alpha, i, zs, work.old[f], work.moves[f], r, spare, sums, scores, True)
            axpys(data.rows, i, 1.0, work.moves[f, r], prox, u)


@kernel
def round_epoch(share: Any, data: Any, prox: Any, alpha: Any, u: Any, order: Any, work: Any, scores: Any, least: int, most: int) -> int:
    """A pass over the rows of `order`, at most `most` for each thread in a round; how many were done before one thread did better.

    `work.length` holds the number of rows that a thread takes in a round, from one pass to the next.
    """
    parts, end, size = work.copies.shape[0], order.shape[0], u.shape[0]
    t, page, pace = 0, 0, work.pace[share.first]
    pace[LENGTH], pace[GOOD], pace[POOR] = min(work.length[0], most), 0, 0
    for f in range(share.first, share.last):
        low, high = size * f // parts, size * (f + 1) // parts
        copy(u, work.u[page], low, high)
        for g in range(parts):
            copy(u, work.copies[g], low, high)
    came = wait(share)
    while came and t < end and pace[POOR] < MOST_POOR:
        m = min(pace[LENGTH], (end - t + parts - 1) // parts)
        sums, before, merged = work.sums[page], work.u[page], work.u[1 - page]
        for f in range(share.first, share.last):
            rows = order[min(end, t + m * f) : min(end, t + m * (f + 1))]
            work_on(data, prox, alpha, work.copies[f], rows, f, work, sums[f], scores)
        came = wait(share)
        if not came:
            break
        for f in range(share.first, share.last):
            # what the steps gained is known as it is: X takes the place of E
            sums[f, FIRST] = sums[f, STEPS]
            sums[f, CHANGE] = merge(prox, before, merged, work.copies, size * f // parts, size * (f + 1) // parts)
        came = wait(share)
        if not came:
            break
        left, kept = judge(sums, 0.0)
        follow(pace, left, least, most, parts)
        if kept < 1.0:
            for f in range(share.first, share.last):
                rows = order[min(end, t + m * f) : min(end, t + m * (f + 1))]
                take_back(kept, alpha, rows, 0, rows.shape[0], work.old[f], scores)
                low, high = size * f // parts, size * (f + 1) // parts
                shrink(before, merged, kept, low, high)
                for g in range(parts):
                    copy(merged, work.copies[g], low, high)
            came = wait(share)
        t = min(end, t + m * parts)
        page = 1 - page
    for f in range(share.first, share.last):
        copy(work.u[page], u, size * f // parts, size * (f + 1) // parts)
    if share.first == 0:
        work.length[0] = pace[LENGTH]
    return t
