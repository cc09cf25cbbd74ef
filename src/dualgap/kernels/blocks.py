"""A pass of Prox-SDCA on several threads, each of which owns a range of the features and its part of u; a block of rows is in flight.

    each thread:    the part of its range in the scores of the rows of the block
    meet
    each thread:    the scores, as sums of these parts, and the new alpha, for its share of the rows
    meet
    each thread:    u += the moves of all rows, in its range

No memory is written by two threads, there are no copies of u to merge, and sums run over the ranges in their order: the result does not
depend on which thread did what, and u is X'(s alpha)/S + kappa y at the end of each block as it is with one thread.

The rows of a block do not see one another's moves, which is sound as long as they do not conflict much. By itself a step gains at least
(q + gamma)/2 |move|^2; together with E = R*(u + all moves) - R*(u) - w'(all moves), which the threads sum on the way, the dual objective of
the subproblem rises by at least

    sum_i s_i/S (q_i + gamma/2) |move_i|^2 - E

That is known when the block is done. Where it is negative the block is taken back in part, by the factor that makes most of it, so that
every block ascends; where it is less than half of what it would be without conflicts, the next blocks are shorter; otherwise they grow.
"""

from typing import Any, NamedTuple

import numpy as np

from dualgap.formulas import smoothness, step, value, vector_step, vector_value
from dualgap.kernels.compile import jitable, kernel
from dualgap.kernels.parted import block_axpy, block_dots, gather
from dualgap.kernels.prefetch import prefetch
from dualgap.kernels.threads import wait
from dualgap.rows import cost_row

HEAD = 8
# What is summed over a block in each range: the gains of the steps, what is certain of them, the change of R*, and a size for rounding.
STEPS, SURE, CHANGE, SIZE = range(4)
# A block grows after so many good ones in a row.
GOOD = 4
SHORTER, KEEP, LONGER = -1.0, 1.0, 2.0


class Work(NamedTuple):
    """What the threads share during a pass: parts of scores, scores, old alphas and moves of a block, sums over it, and losses met."""

    parts: Any
    z: Any
    old: Any
    moves: Any
    intercept: Any
    scratch: Any
    sums: Any
    losses: Any
    block: Any
    entries: Any


@jitable
def judge(sums: Any, intercept: float) -> float:
    """What part of a block may stay if not all, and otherwise whether the next blocks should be shorter or may be longer.

    `intercept` is its share in the change of R*.
    """
    steps, sure, change, size = 0.0, 0.0, intercept, 0.0
    for f in range(sums.shape[0]):
        steps += sums[f, STEPS]
        sure += sums[f, SURE]
        change += sums[f, CHANGE]
        size += sums[f, SIZE]
    change -= 1e-14 * size
    if change > sure:
        return 0.5 * sure / change
    if sure - change < 0.5 * steps:
        return SHORTER
    return LONGER if sure - change > 0.75 * steps else KEEP


@jitable
def sum_scores(prox: Any, intercept: Any, low: int, high: int, parts: Any, z: Any) -> None:
    """The scores of some rows of a block, as the sums of their parts."""
    for r in range(low, high):
        if z.ndim == 1:
            z[r] = intercept[0] * prox.free
        else:
            for m in range(z.shape[1]):
                z[r, m] = intercept[m] * prox.free
    for g in range(parts.shape[0]):
        for r in range(low, high):
            if z.ndim == 1:
                z[r] += parts[g, r]
            else:
                for m in range(z.shape[1]):
                    z[r, m] += parts[g, r, m]


@jitable
def take_steps(data: Any, prox: Any, alpha: Any, rows: Any, low: int, high: int, f: int, work: Any, sums: Any, scores: Any) -> None:
    """New dual variables for rows low to high - 1 of a block."""
    gamma = smoothness(data.loss)
    steps, sure, size, losses = 0.0, 0.0, 0.0, 0.0
    for r in range(low, high):
        if r + HEAD < high:
            ahead = np.uint64(rows[r + HEAD])
            prefetch(data.y, ahead)
            prefetch(data.norms2, ahead)
            if alpha.ndim == 1:
                prefetch(alpha, ahead)
        i = np.uint64(rows[r])
        y, share = data.y[i], data.share[i]
        q = share * (data.norms2[i] * prox.inverse + prox.free)
        length = 0.0
        if alpha.ndim == 1:
            z, old = work.z[r], alpha[i]
            alpha[i] = step(data.rule, data.loss, old, y, z, q)
            work.old[r], work.moves[r] = old, share * (alpha[i] - old)
            length = (alpha[i] - old) * (alpha[i] - old)
            losses += share * value(data.loss, z, y)
            size += abs(work.moves[r] * z)
        else:
            k = alpha.shape[1]
            new, spare = work.scratch[f, :k], work.scratch[f, k : 3 * k]
            costs = data.loss.costs[cost_row(data.loss, y, i)]
            losses += share * vector_value(data.loss, work.z[r], y, costs)
            vector_step(data.rule, data.loss, alpha[i], y, costs, work.z[r], q, new, spare)
            for m in range(k):
                move = new[m] - alpha[i, m]
                work.old[r, m], work.moves[r, m], alpha[i, m] = alpha[i, m], share * move, new[m]
                length += move * move
                size += abs(work.moves[r, m] * work.z[r, m])
        scores[i] = share * length * (q + gamma)
        steps += 0.5 * scores[i]
        sure += share * length * (q + 0.5 * gamma)
    sums[f, STEPS], sums[f, SURE], sums[f, SIZE] = steps, sure, size
    work.losses[f, 0] += losses


@jitable
def take_back(kept: float, alpha: Any, rows: Any, low: int, high: int, work: Any, scores: Any) -> None:
    """Keep only a part of the moves of rows low to high - 1 of a block."""
    for r in range(low, high):
        i = np.uint64(rows[r])
        scores[i] *= kept * kept
        if alpha.ndim == 1:
            alpha[i] = work.old[r] + kept * (alpha[i] - work.old[r])
        else:
            for m in range(alpha.shape[1]):
                alpha[i, m] = work.old[r, m] + kept * (alpha[i, m] - work.old[r, m])


@jitable
def move_intercept(intercept: Any, scale: float, moves: Any, count: int) -> float:
    """Add scaled moves to this thread's copy of the intercept; the square of what was added."""
    total, square = 0.0, 0.0
    if moves.ndim == 1:
        for r in range(count):
            total += moves[r]
        intercept[0] += scale * total
        return scale * scale * total * total
    for m in range(moves.shape[1]):
        total = 0.0
        for r in range(count):
            total += moves[r, m]
        intercept[m] += scale * total
        square += scale * scale * total * total
    return square


@kernel
def block_epoch(share: Any, parted: Any, data: Any, prox: Any, alpha: Any, u: Any, order: Any, work: Any, scores: Any, least: int) -> int:
    """A pass over the rows of `order`; returns how many were done before blocks became shorter than `least`, where threads do not pay.

    `work.block` holds the length of a block from one pass to the next.
    """
    ranges, end, d = work.parts.shape[0], order.shape[0], u.shape[0] - 1
    intercept = work.intercept[share.first]
    if u.ndim == 1:
        intercept[0] = u[d]
    else:
        for m in range(u.shape[1]):
            intercept[m] = u[d, m]
    block, good, t, done, page, added = work.block[0], 0, 0, 0, 0, 0.0
    while True:
        m = 0 if block < least else min(block, end - t)
        rows = order[t : t + m]
        for f in range(share.first, share.last):
            gather(parted, rows, np.uint64(f), work.entries)
            block_dots(parted, rows, np.uint64(f), work.entries, prox, u, work.parts[f])
        if not wait(share):
            break
        if done > 0:
            verdict = judge(work.sums[page], 0.5 * prox.free * added)
            good = good + 1 if verdict == LONGER else 0
            if good == GOOD:
                block, good = min(2 * block, work.moves.shape[0]), 0
            if verdict < KEEP:
                block //= 2
            if 0.0 <= verdict < KEEP:
                rows = order[t - done : t]
                move_intercept(intercept, verdict - 1.0, work.moves, done)
                for f in range(share.first, share.last):
                    gather(parted, rows, np.uint64(f), work.entries)
                    block_axpy(parted, rows, np.uint64(f), work.entries, verdict - 1.0, work.moves, prox, u)
                    take_back(verdict, alpha, rows, done * f // ranges, done * (f + 1) // ranges, work, scores)
                done = 0
                continue
        if m == 0:
            break
        page = 1 - page
        for f in range(share.first, share.last):
            low, high = m * f // ranges, m * (f + 1) // ranges
            sum_scores(prox, intercept, low, high, work.parts, work.z)
            take_steps(data, prox, alpha, rows, low, high, f, work, work.sums[page], scores)
        if not wait(share):
            break
        added = move_intercept(intercept, 1.0, work.moves, m)
        for f in range(share.first, share.last):
            change = block_axpy(parted, rows, np.uint64(f), work.entries, 1.0, work.moves, prox, u)
            for r in range(m):
                if u.ndim == 1:
                    change -= work.moves[r] * work.parts[f, r]
                else:
                    for l in range(u.shape[1]):
                        change -= work.moves[r, l] * work.parts[f, r, l]
            work.sums[page, f, CHANGE] = change
        t += m
        done = m
    if share.first == 0:
        work.block[0] = block
        if u.ndim == 1:
            u[d] = intercept[0]
        else:
            for l in range(u.shape[1]):
                u[d, l] = intercept[l]
    return t
