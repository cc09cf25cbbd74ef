"""A pass of Prox-SDCA on a few threads, each with its own copy of u and its own rows; the copies are merged now and then.

    each thread:    Prox-SDCA on its rows of the round, on its copy of u
    meet
    each thread:    u + the sum of all changes, in its range of the features, written to all copies
    meet

There is next to nothing to wait for, and a row sees all moves but those that the other threads made in the same round. By themselves the
steps of a round gain at least half the sum of their scores; the dual objective of the subproblem rises by that less

    X = R*(u + sum_g change_g) - R*(u) - sum_g (R*(u + change_g) - R*(u))

which is summed as the copies are merged. Where X is more, the round is taken back in part, so that every round ascends, and the length of
rounds follows X as that of blocks does in `blocks`.
"""

from typing import Any, NamedTuple

import numpy as np

from dualgap.kernels.blocks import CHANGE, GOOD, KEEP, LONGER, SIZE, STEPS, SURE, judge
from dualgap.kernels.compile import jitable, kernel
from dualgap.kernels.scored import scored_epoch, vector_scored_epoch
from dualgap.kernels.threads import wait
from dualgap.rows import weight


class Copies(NamedTuple):
    """What the threads share during a pass: u before and after a round, the copies of it, old alphas, sums, losses met and scratch."""

    u: Any
    copies: Any
    old: Any
    scratch: Any
    sums: Any
    losses: Any
    block: Any


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
    """Prox-SDCA on some rows, with what is needed to judge and to take back."""
    old = work.old[f]
    for r in range(rows.shape[0]):
        i = np.uint64(rows[r])
        if alpha.ndim == 1:
            old[r] = alpha[i]
        else:
            for m in range(alpha.shape[1]):
                old[r, m] = alpha[i, m]
    if alpha.ndim == 1:
        work.losses[f, 0] += scored_epoch(data, prox, alpha, u, rows, scores)
    else:
        work.losses[f, 0] += vector_scored_epoch(data, prox, alpha, u, rows, work.scratch[f], scores)
    total = 0.0
    for r in range(rows.shape[0]):
        total += scores[rows[r]]
    sums[f, STEPS], sums[f, SURE], sums[f, SIZE] = 0.5 * total, 0.5 * total, 0.0


@jitable
def take_back(kept: float, alpha: Any, rows: Any, old: Any, scores: Any) -> None:
    """Keep only a part of the moves of some rows."""
    for r in range(rows.shape[0]):
        i = np.uint64(rows[r])
        scores[i] *= kept * kept
        if alpha.ndim == 1:
            alpha[i] = old[r] + kept * (alpha[i] - old[r])
        else:
            for m in range(alpha.shape[1]):
                alpha[i, m] = old[r, m] + kept * (alpha[i, m] - old[r, m])


@kernel
def round_epoch(share: Any, data: Any, prox: Any, alpha: Any, u: Any, order: Any, work: Any, scores: Any, least: int) -> int:
    """A pass over the rows of `order`; returns how many were done before rounds became shorter than `least`, where threads do not pay.

    `work.block` holds the number of rows that a thread takes in a round, from one pass to the next.
    """
    parts, end, size = work.copies.shape[0], order.shape[0], u.shape[0]
    block, good, t, page, came = work.block[0], 0, 0, 0, True
    for f in range(share.first, share.last):
        low, high = size * f // parts, size * (f + 1) // parts
        copy(u, work.u[page], low, high)
        for g in range(parts):
            copy(u, work.copies[g], low, high)
    came = wait(share)
    while came and block >= least and t < end:
        m = min(block, (end - t + parts - 1) // parts)
        sums, before, merged = work.sums[page], work.u[page], work.u[1 - page]
        for f in range(share.first, share.last):
            rows = order[min(end, t + m * f) : min(end, t + m * (f + 1))]
            work_on(data, prox, alpha, work.copies[f], rows, f, work, sums, scores)
        came = wait(share)
        if not came:
            break
        for f in range(share.first, share.last):
            sums[f, CHANGE] = merge(prox, before, merged, work.copies, size * f // parts, size * (f + 1) // parts)
        came = wait(share)
        if not came:
            break
        verdict = judge(sums, 0.0)
        good = good + 1 if verdict == LONGER else 0
        if good == GOOD:
            block, good = min(2 * block, work.old.shape[1]), 0
        if verdict < KEEP:
            block //= 2
        if 0.0 <= verdict < KEEP:
            for f in range(share.first, share.last):
                rows = order[min(end, t + m * f) : min(end, t + m * (f + 1))]
                take_back(verdict, alpha, rows, work.old[f], scores)
                low, high = size * f // parts, size * (f + 1) // parts
                shrink(before, merged, verdict, low, high)
                for g in range(parts):
                    copy(merged, work.copies[g], low, high)
            came = wait(share)
        t = min(end, t + m * parts)
        page = 1 - page
    for f in range(share.first, share.last):
        copy(work.u[page], u, size * f // parts, size * (f + 1) // parts)
    if share.first == 0:
        work.block[0] = block
    return t
