"""How a pass of Prox-SDCA is done by a team: in blocks, in rounds, or not at all.

    blocks    each thread owns a range of the features; for sparse rows long enough to be cut into as many pieces as there are threads
    rounds    each thread has its own rows and a copy of u; where there are few coefficients

Rows in flight at the same time do not see one another's moves. For rows of mean square length R^2 that costs next to nothing as long as
there are no more than about (R^2 + gamma (lambda + kappa) n) / sigma^2 of them, sigma^2 the largest eigenvalue of X'X/n: with so many, what
all of them do along the leading eigenvector is what one of them does by itself. Where only so few may be in flight that threads would
mostly wait for one another, a pass is done by one.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels import gap
from dualgap.kernels.blocks import Work, block_epoch
from dualgap.kernels.parted import GROUP, Entries, Slabs, Split, expand_groups
from dualgap.kernels.rounds import Copies, round_epoch
from dualgap.kernels.threads import Share
from dualgap.problem import Problem
from dualgap.rows import Csr
from dualgap.team import SMALL

Array = npt.NDArray[np.float64]
# How many times what the bound says may be in flight: measured on text, where this is still free and twice as many cost a pass in ten.
MARGIN = 1.5
# The longest block, and what a block or a round should at least take, in entries: as long as its meetings.
LONGEST, WORTH = 1024, 1500.0
# A row is cut into pieces of at least so many entries; shorter pieces than LONG are gathered; so many coefficients are cheap to merge.
PIECE, LONG, SHORT = 2.0, 12.0, 4096
# Entries of the list of a block, for each range, and rows from which sigma is estimated, in so many steps.
MOST_ENTRIES, SAMPLE, STEPS = 1 << 22, 2048, 12
LINE = 16


class Passes:
    """A team at work on the passes over a problem; `slabs` is the copy of X for passes over all rows, where there is one."""

    def __init__(self, problem: Problem, kernel: Any, leading: tuple[Any, ...], work: Any, least: int, slabs: Slabs | None = None) -> None:
        self.problem, self.kernel, self.leading, self.work, self.least, self.slabs = problem, kernel, leading, work, least, slabs
        self.longest = work.moves.shape[-2 if problem.outputs else -1]
        self.others = 1 if kernel is block_epoch else work.copies.shape[0] - 1
        self.few = SMALL * problem.n // max(1, problem.entries * max(1, problem.outputs)) // 4
        self.groups = np.arange(problem.n // GROUP, dtype=np.uint32)

    def in_flight(self, ratio: float) -> float:
        """How many rows may be in flight where gamma is so many times q of a row of mean length."""
        problem = self.problem
        value = problem.team.kept(("eigenvalue", id(problem.rows)), problem.rows, lambda: leading_eigenvalue(problem.X))
        return MARGIN * problem.mean_norm2 * (1.0 + ratio) / max(value, 1e-300) / self.others

    @property
    def free_factor(self) -> float:
        """How much larger the proximal weight of a coefficient that all rows have, such as the intercept, must be than for one row at a time.

        All rows in flight push it at once. With all rows behind it, it moves far enough with a larger weight too.
        """
        usual = 1.0 if self.problem.loss.smoothness > 0.0 else 0.0
        return max(1.0, self.others * min(self.longest, self.in_flight(usual)))

    def shuffle(self, order: npt.NDArray[Any], seed: npt.NDArray[Any]) -> None:
        """A random order of all rows, with groups of rows together where there are slabs."""
        if self.slabs is None:
            gap.shuffle(order, seed)
            return
        gap.shuffle(self.groups, seed)
        stride, groups = self.slabs.stride, self.groups
        self.problem.team.each(lambda part: expand_groups(groups, stride, part.start, part.stop, order), stride)
        order[GROUP * stride :] = np.arange(GROUP * stride, len(order))

    def mix(self, rows: npt.NDArray[Any], seed: npt.NDArray[Any]) -> None:
        """Put rows, which are in a random order already, into another one: each part of them by itself."""
        team = self.problem.team
        parts, seeds = team.parts_of(len(rows)), np.empty((team.parts, 1), np.uint64)
        for k in range(team.parts):
            gap.draw(seeds[k], 0xFFFFFFFF, seed)
        seeds = seeds * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
        team.map(lambda k: gap.shuffle(rows[parts[k]], seeds[k]), range(team.parts))

    def run(
        self, data: Any, prox: Any, alpha: Array, u: Array, order: npt.NDArray[Any], scores: Array, *, grouped: bool
    ) -> tuple[int, float]:
        """Work on rows in this order, `grouped` if it is from `shuffle`; how many rows were done, and the losses met on the way."""
        work, done = self.work, [0]
        q = float(self.problem.share @ data.norms2) * prox.inverse / self.problem.n
        most = int(min(self.longest, self.in_flight(float(data.loss.smoothness) / q))) // GROUP * GROUP
        if most < self.least:
            return 0, 0.0
        leading = (self.slabs,) if grouped and self.slabs is not None else self.leading
        work.losses[:] = 0.0
        work.length[0] = max(work.length[0], self.least)

        def job(share: Share) -> None:
            done[0] = self.kernel(share, *leading, data, prox, alpha, u, order, work, scores, self.least, most)

        self.problem.team.run(job, work.sums.shape[1])
        return done[0], float(work.losses[:, 0].sum())


def threaded_passes(problem: Problem, sampling: str) -> Passes | None:
    """How the problem's team makes passes; None where that is better left to one thread."""
    team = problem.team
    if team.parts == 1 or sampling != "permuted" or formulas.penalty_is_coupled(problem.penalty):
        return None
    if isinstance(problem.rows, Csr) and problem.entries >= PIECE * team.parts * problem.n and problem.split is not None:
        return _blocks(problem, *problem.split)
    if problem.d * max(1, problem.outputs) <= SHORT:
        return _rounds(problem)
    return None


def _blocks(problem: Problem, source: Split, longest: int) -> Passes:
    parts, tail, outputs = problem.team.parts, problem.shape[1:], max(1, problem.outputs)
    length = problem.entries / problem.n
    size = max(GROUP, min(LONGEST, MOST_ENTRIES // max(1, longest)) // GROUP * GROUP)
    room = size * longest + 2 * LINE if length < LONG * parts else 0
    entries = Entries(
        columns=np.empty((parts, room), source.rows.indices.dtype),
        values=np.empty((parts, room), source.rows.data.dtype),
        row=np.empty((parts, room), np.uint16),
        count=_lines(parts, 1, np.uint64),
    )
    work = Work(
        parts=np.empty((parts, size + LINE, *tail)),
        z=np.empty((size, *tail)),
        old=np.empty((size, *tail)),
        moves=np.empty((size, *tail)),
        intercept=_lines(parts, outputs),
        scratch=_lines(parts, 4 * outputs),
        sums=np.zeros((2, parts, LINE)),
        losses=_lines(parts, 1),
        pace=_lines(parts, 3, np.int64),
        length=np.array([size]),
        entries=entries,
    )
    least = int(WORTH / (length * outputs)) // GROUP * GROUP + GROUP
    return Passes(problem, block_epoch, (source,), work, min(size, least), problem.slabs)


def _rounds(problem: Problem) -> Passes:
    parts, tail, outputs = problem.team.parts, problem.shape[1:], max(1, problem.outputs)
    merging = 2.0 * problem.d * outputs
    least = int((merging + WORTH) * problem.n / (problem.entries * outputs)) // GROUP * GROUP + GROUP
    size = max(least, LONGEST)
    work = Copies(
        u=np.empty((2, *problem.shape)),
        copies=np.empty((parts, *problem.shape)),
        old=np.empty((parts, size, *tail)),
        moves=np.empty((parts, size, *tail)),
        scratch=_lines(parts, 4 * outputs),
        sums=np.zeros((2, parts, LINE)),
        losses=_lines(parts, 1),
        pace=_lines(parts, 3, np.int64),
        length=np.array([size]),
    )
    return Passes(problem, round_epoch, (), work, least)


def _lines(parts: int, numbers: int, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """Room for some numbers of each part, in cache lines of their own."""
    return np.zeros((parts, -(-numbers // LINE) * LINE), dtype)


def leading_eigenvalue(X: Any) -> float:
    """About the largest eigenvalue of X'X/n, from some rows."""
    rows = X[:: max(1, X.shape[0] // SAMPLE)]
    v = np.random.default_rng(0).standard_normal(X.shape[1])
    value = 0.0
    for _ in range(STEPS):
        v = rows.T @ (rows @ (v / np.linalg.norm(v))) / rows.shape[0]
        value = float(np.linalg.norm(v))
        if value == 0.0:
            break
    return value
