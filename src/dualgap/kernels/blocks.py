"""A pass of Prox-SDCA on several threads, each of which owns a range of the features and its part of u; a block of rows is in flight.

    each thread:    the part of its range in the scores of the rows of the block
    meet
    each thread:    the scores, as sums of these parts, and the new alpha, for its share of the rows
    meet
    each thread:    u += the moves of all rows, in its range

No memory is written by two threads, there are no copies of u to merge, and sums run over the ranges in their order: the result does not
depend on which thread did what, and u is X'(s alpha)/S + kappa y at the end of each block as it is with one thread.

The rows of a block do not see one another's moves, which is sound as long as they do not conflict much. With

    A = sum_i s_i/S (phi*(-old_i) - phi*(-new_i) - z_i move_i),    E = R*(u + all moves) - R*(u) - w'(all moves)

the dual objective of the subproblem rises by A - E; without conflicts E would be sum_i s_i/S q_i/2 move_i^2. The caller bounds the length of
a block by what theory allows. As that is an estimate, A and E are measured on the first blocks of a pass, on one in four after that, and on
each again as soon as one was poor. A block that was a loss is taken back in part, by the factor that makes most of it (A is concave along
the moves and E quadratic); one that gained much less than it would have without conflicts makes the next ones shorter.
"""

from typing import Any, NamedTuple

import numpy as np

from dualgap.formulas import conjugate, smoothness, step, value, vector_conjugate, vector_step, vector_value
from dualgap.kernels.compile import jitable, kernel
from dualgap.kernels.parted import GROUP, block_axpy, block_dots, gather, measured_axpy
from dualgap.kernels.prefetch import fetch_at, prefetch
from dualgap.kernels.threads import wait
from dualgap.rows import cost_row

HEAD = 8
# What is summed over a block in each range: what steps gain by themselves, A, E, and a size for rounding.
STEPS, FIRST, CHANGE, SIZE = range(4)
# What conflicts have left of the gain of a block: less makes the next ones shorter, more than the second lets them grow.
LITTLE, ENOUGH = 0.6, 0.8
# The state of `follow`; the poor blocks after which the rest of a pass is left to one thread; good blocks before fewer are measured.
LENGTH, GOOD, POOR = range(3)
MOST_POOR, TRUST, SELDOM = 4, 4, 4


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
    pace: Any
    length: Any
    entries: Any


@jitable
def judge(sums: Any, intercept: float) -> tuple[float, float]:
    """What part of its gain conflicts have left of a block, and what part of the block may stay; `intercept` is its share in E."""
    steps, first, change, size = 0.0, 0.0, intercept, 0.0
    for f in range(sums.shape[0]):
        steps += sums[f, STEPS]
        first += sums[f, FIRST]
        change += sums[f, CHANGE]
        size += sums[f, SIZE]
    gain = first - change + 1e-14 * size
    left = gain / steps if gain < steps else 1.0
    return left, 0.5 * first / change if gain < 0.0 else 1.0


@jitable
def follow(pace: Any, left: float, least: int, most: int, parts: int) -> None:
    """Adapt the length of blocks to what conflicts left of the gain of the last one.

    `pace` holds the length, how many good blocks there were in a row, and how many of the least length where one thread would have gained as
    much in the same time.
    """
    pace[GOOD] = pace[GOOD] + 1 if left > ENOUGH else 0
    pace[POOR] = pace[POOR] + 1 if left * parts < 1.2 and pace[LENGTH] <= least else 0
    if left < LITTLE:
        pace[LENGTH] = max(least, pace[LENGTH] // 2 // GROUP * GROUP)
    elif pace[GOOD] > 0 and pace[GOOD] % TRUST == 0:
        pace[LENGTH] = min(most, 2 * pace[LENGTH])


@jitable
def own_gain(least: float, before: float, after: float, product: float, second: float) -> float:
    """What a step gains by itself: phi*(before) - phi*(after) - z move - q/2 move^2, not less than theory has it.

    The difference of two conjugates is mostly rounding where a step is tiny; `least` is (q + gamma)/2 move^2.
    """
    gain = before - after - product - second
    return gain if gain > least else least


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
def take_step(
    data: Any, prox: Any, alpha: Any, i: Any, z: Any, old: Any, moves: Any, r: int, spare: Any, sums: Any, scores: Any, measured: bool
) -> float:
    """A new dual variable for row i, the r-th of a block: writes the old one, share times the move, and a score; returns the loss.

    If the block is measured, what the step gains by itself is added to `sums`.
    """
    y, share, gamma = data.y[i], data.share[i], smoothness(data.loss)
    q = share * (data.norms2[i] * prox.inverse + prox.free)
    length, product, before, after = 0.0, 0.0, 0.0, 0.0
    if alpha.ndim == 1:
        loss = value(data.loss, z, y)
        old[r] = alpha[i]
        alpha[i] = step(data.rule, data.loss, old[r], y, z, q)
        move = alpha[i] - old[r]
        moves[r] = share * move
        length, product = move * move, z * move
        if measured:
            before, after = conjugate(data.loss, -old[r], y), conjugate(data.loss, -alpha[i], y)
    else:
        k = alpha.shape[1]
        new, work = spare[:k], spare[k : 3 * k]
        costs = data.loss.costs[cost_row(data.loss, y, i)]
        loss = vector_value(data.loss, z, y, costs)
        vector_step(data.rule, data.loss, alpha[i], y, costs, z, q, new, work)
        for m in range(k):
            move = new[m] - alpha[i, m]
            old[r, m], moves[r, m], alpha[i, m] = alpha[i, m], share * move, new[m]
            work[m], work[k + m] = -old[r, m], -new[m]
            length += move * move
            product += z[m] * move
        if measured:
            before, after = vector_conjugate(data.loss, work[:k], y, costs), vector_conjugate(data.loss, work[k : 2 * k], y, costs)
    scores[i] = share * length * (q + gamma)
    if measured:
        gain = share * own_gain(0.5 * length * (q + gamma), before, after, product, 0.5 * q * length)
        sums[STEPS] += gain
        sums[FIRST] += gain + 0.5 * share * q * length
        sums[SIZE] += share * abs(product)
    return float(share * loss)


@jitable
def fetch_steps(data: Any, alpha: Any, rows: Any, low: int, high: int) -> None:
    """Fetch what the steps of some rows read."""
    for r in range(low, high):
        i = np.uint64(rows[r])
        fetch_at(alpha, i)
        prefetch(data.y, i)
        prefetch(data.share, i)
        prefetch(data.norms2, i)


@jitable
def take_steps(
    data: Any, prox: Any, alpha: Any, rows: Any, low: int, high: int, work: Any, f: int, sums: Any, scores: Any, measured: bool
) -> None:
    """New dual variables for rows low to high - 1 of a block."""
    sums[:] = 0.0
    for r in range(low, high):
        fetch_steps(data, alpha, rows, r + HEAD, min(r + HEAD + 1, high))
        i = np.uint64(rows[r])
        loss = take_step(data, prox, alpha, i, work.z[r], work.old, work.moves, r, work.scratch[f], sums, scores, measured)
        work.losses[f, 0] += loss


@jitable
def take_back(kept: float, alpha: Any, rows: Any, low: int, high: int, old: Any, scores: Any) -> None:
    """Keep only a part of the moves of rows low to high - 1 of a block."""
    for r in range(low, high):
        i = np.uint64(rows[r])
        scores[i] *= kept * kept
        if alpha.ndim == 1:
            alpha[i] = old[r] + kept * (alpha[i] - old[r])
        else:
            for m in range(alpha.shape[1]):
                alpha[i, m] = old[r, m] + kept * (alpha[i, m] - old[r, m])


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


@jitable
def start_dots(moves: Any, parts: Any, count: int) -> float:
    """The moves of a block times the part of a range in its scores."""
    total = 0.0
    for r in range(count):
        if moves.ndim == 1:
            total += moves[r] * parts[r]
        else:
            for m in range(moves.shape[1]):
                total += moves[r, m] * parts[r, m]
    return total


@kernel
def block_epoch(
    share: Any, parted: Any, data: Any, prox: Any, alpha: Any, u: Any, order: Any, work: Any, scores: Any, least: int, most: int
) -> int:
    """A pass over the rows of `order` in blocks of at most `most`; how many were done before it was better to go on with one thread.

    `work.length` holds the length of a block from one pass to the next.
    """
    ranges, end, d = work.parts.shape[0], order.shape[0], u.shape[0] - 1
    intercept, pace = work.intercept[share.first], work.pace[share.first]
    pace[LENGTH], pace[GOOD], pace[POOR] = min(work.length[0], most), 0, 0
    if u.ndim == 1:
        intercept[0] = u[d]
    else:
        for m in range(u.shape[1]):
            intercept[m] = u[d, m]
    t, done, page, since, added, measured = 0, 0, 0, 0, 0.0, True
    while True:
        m = 0 if pace[POOR] >= MOST_POOR else min(pace[LENGTH], end - t)
        rows = order[t : t + m]
        for f in range(share.first, share.last):
            gather(parted, order, t, m, np.uint64(f), work.entries)
            block_dots(parted, order, t, m, np.uint64(f), work.entries, prox, u, work.parts[f])
            fetch_steps(data, alpha, order, t + m * f // ranges, min(t + m * f // ranges + HEAD, t + m * (f + 1) // ranges))
        if not wait(share):
            break
        if done > 0 and measured:
            left, kept = judge(work.sums[page], 0.5 * prox.free * added)
            follow(pace, left, least, most, ranges)
            if kept < 1.0:
                move_intercept(intercept, kept - 1.0, work.moves, done)
                for f in range(share.first, share.last):
                    gather(parted, order, t - done, done, np.uint64(f), work.entries)
                    block_axpy(parted, order, t - done, done, np.uint64(f), work.entries, kept - 1.0, work.moves, u)
                    take_back(kept, alpha, order[t - done : t], done * f // ranges, done * (f + 1) // ranges, work.old, scores)
                done = 0
                continue
        if m == 0:
            break
        since = 0 if measured else since + 1
        measured = pace[GOOD] < TRUST or since == SELDOM - 1
        page = 1 - page
        for f in range(share.first, share.last):
            low, high = m * f // ranges, m * (f + 1) // ranges
            sum_scores(prox, intercept, low, high, work.parts, work.z)
            take_steps(data, prox, alpha, rows, low, high, work, f, work.sums[page, f], scores, measured)
        if not wait(share):
            break
        added = move_intercept(intercept, 1.0, work.moves, m)
        for f in range(share.first, share.last):
            if measured:
                change = measured_axpy(parted, order, t, m, np.uint64(f), work.entries, work.moves, prox, u)
                work.sums[page, f, CHANGE] = change - start_dots(work.moves, work.parts[f], m)
            else:
                block_axpy(parted, order, t, m, np.uint64(f), work.entries, 1.0, work.moves, u)
        t += m
        done = m
    if share.first == 0:
        work.length[0] = pace[LENGTH]
        if u.ndim == 1:
            u[d] = intercept[0]
        else:
            for l in range(u.shape[1]):
                u[d, l] = intercept[l]
    return t
